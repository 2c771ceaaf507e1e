"""Compares claims with the documents of a request (`references`).

One call asks a judge about all claims of an answer and all documents together: which documents
support a claim, alone or together, which say something else about the same matter, and in which
words. A claim that documents together support scores 0; one that a document contradicts, and none
supports, scores 1, and so does one that a newer edition contradicts; one that no document mentions,
or not all of it, scores `unmentioned`, or has no score, so that the next step handles it. The judge
also names the words of the claim that no document says, or that one contradicts: if none of the
documents that support the claim says them, it scores 1 where another contradicts it. The judge
knows the question, so that a page about another product supports nothing. Its quotes must appear in
documents that it names, or its answer is rejected.

With `words_first`, words settle the claims that a document has word for word, or with another
number (`plain_comparison`), and the judge is asked about the others.

With `by: words` there is no judge: the numbers, names and words of a claim are compared with the
documents about its subject, each alone and then together (`documents_by_words`).

Citations in the answer, such as [2], are checked against the result: one of a document that does
not exist, or says no part of the claim, is wrong however true the claim, and so is a link that
appears neither in the documents nor in the conversation.

The judge sees at most `max_chars` of the documents: of longer ones the passages that share most
words with the claims and the question (BM25, Robertson and Zaragoza, "The Probabilistic Relevance
Framework", 2009, equation 3.15).

Cost: one call per answer; none with `by: words`. Good at: answers written from documents. Bad at:
conclusions that no document states, `by: words` also at paraphrase.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import ClassVar, Literal

from pydantic import Field

from resay._internal.event_loops import compute
from resay._internal.patterns import lazy_pattern
from resay.core.grounds import Grounds
from resay.core.normalization import normalized
from resay.core.passage import Passage, Sentence
from resay.core.quotes import find_quote, quoted_pieces
from resay.core.quoting import quotable
from resay.core.references import Reference
from resay.core.scores import Scores, UnsupportedSpan
from resay.lang.detection import is_in_other_language
from resay.lang.language import load
from resay.providers.base import Completion
from resay.scorers.base import Need, ScorerTraits, Unit, WordsFirst
from resay.scorers.common.arithmetic.passage import CheckedNumbers, check_numbers
from resay.scorers.common.arithmetic.verdict import apply_numbers
from resay.scorers.common.cited_documents import (
    check_citations,
    source_entries,
    source_entry,
    without_citations,
)
from resay.scorers.common.document_prompt import excerpts, render
from resay.scorers.common.document_records import Record, records_of
from resay.scorers.common.document_subjects import DocumentSubjects, Stretch
from resay.scorers.common.document_verdicts import DocumentVerdict, read_document_verdicts
from resay.scorers.common.documents_by_words import DocumentComparison, WordComparison
from resay.scorers.common.exchanged_fields import ExchangedFields
from resay.scorers.common.fact_comparison import compare_sentences, comparison_cost, index_texts
from resay.scorers.common.grounded_claims import (
    GroundedClaim,
    are_newer,
    columns_of,
    contradicting,
    scores_of_claims,
    supporting,
)
from resay.scorers.common.judge_calls import ParsedAnswer, ask, ask_each, claims_by_prompt
from resay.scorers.common.judge_config import JudgedConfig, judge_for
from resay.scorers.common.plain_comparison import settle_plainly
from resay.scorers.common.words import stance
from resay.scorers.evidence import Evidence
from resay.scorers.samples import Samples

_DIGITS = lazy_pattern(r"\d+")
_SENTENCE_END = lazy_pattern(r"(?<=[.!?])\s+|\n+")
# References up to this length are compared as a whole.
_SHORT = 1_500
_STEM = 4
# Cost of looking for links in a character of a reference, in characters; see `compute`.
_LINK_COST = 4
# An object with the numbers of documents and a quote.
_TOKENS_OF_CLAIM = 256
# A longer list says nothing more.
_MAX_MISSING = 3


class References:
    """Compares claims with the references of a request."""

    name: ClassVar[str] = "references"
    traits: ClassVar[ScorerTraits] = ScorerTraits(by_sentence=True)

    class Config(JudgedConfig):
        """Settings of `references`."""

        method: Literal["references"] = "references"
        by: Literal["judge", "words"] = Field(
            default="judge",
            description="How to compare: with a judge, in one call per answer, or by numbers, names"
            " and words.",
        )
        words_first: WordsFirst = False
        unmentioned: Unit | None = Field(
            default=1.0,
            description="The score of a claim that no reference mentions; null = none, so that the"
            " next step scores it.",
        )
        max_chars: int = Field(
            default=24_000,
            ge=1_000,
            description="The maximum number of characters that the judge reads of the references:"
            " the excerpts closest to the claims.",
        )
        conversation_chars: int = Field(
            default=4_000,
            ge=0,
            description="The number of characters that the judge reads from the end of the"
            " conversation.",
        )

        @property
        def asks_response_model(self) -> bool:
            """Whether the step's judge is the model that wrote the response."""
            return self.by == "judge" and super().asks_response_model

    def __init__(self, config: References.Config | None = None) -> None:
        self.config = config or self.Config()
        judged: frozenset[Need] = frozenset({"references", "judge"})
        self.needs = judged if self.config.by == "judge" else frozenset({"references"})

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Compare each claim with the references.

        Args:
            passage: The claims, as its `sentences`.
            evidence: The references with their origins, the conversation, and the judge's
                provider.

        Returns:
            Scores with a column for each reference, 0 if it supports the claim, 1 if it
            contradicts it, and the grounds of each claim.

        Raises:
            ScorerError: No judge is available.
        """
        references = references_of(evidence)
        if not references:
            return Scores(sentences=(None,) * len(passage.sentences))
        if self.config.by == "words":
            return await self._by_words(passage, references, evidence)
        return await self._by_judge(passage, references, evidence)

    async def _by_judge(
        self, passage: Passage, references: Sequence[Reference], evidence: Evidence
    ) -> Scores:
        sources = source_entries(passage)
        plain: Sequence[GroundedClaim | None] = (None,) * len(passage.sentences)
        if self.config.words_first:
            plain = await settle_plainly(passage, references, evidence.question)
        asked = [i for i, claim in enumerate(plain) if claim is None and i not in sources]
        answers: list[ParsedAnswer[DocumentVerdict]] = []
        if asked:
            sentences = [passage.sentences[index] for index in asked]
            answers = await self._ask(sentences, references, evidence)
        slots = [verdict for parsed in answers for verdict in parsed.slots]
        verdicts = dict(zip(asked, slots, strict=True))
        claims: list[GroundedClaim] = []
        for index, sentence in enumerate(passage.sentences):
            verdict, settled = verdicts.get(index), plain[index]
            if settled is not None:
                claims.append(settled)
            elif verdict is not None:
                claims.append(self._judged(sentence, verdict, references))
            elif index in sources:
                claims.append(source_entry(sentence.text, references))
            else:
                claims.append(GroundedClaim())
        await check_claims(passage, claims, references, evidence)
        columns = columns_of(claims, len(references))
        return replace(
            scores_of_claims(claims, columns, [claim.is_denied for claim in claims]),
            failures=tuple(failure for parsed in answers for failure in parsed.failures),
            lost=tuple(index for index, verdict in verdicts.items() if verdict is None),
            undetermined=sum(parsed.undetermined for parsed in answers),
        )

    async def _ask(
        self, sentences: Sequence[Sentence], references: Sequence[Reference], evidence: Evidence
    ) -> list[ParsedAnswer[DocumentVerdict]]:
        """Ask a judge about claims, in as few calls as it can answer."""
        config = self.config
        claims = [without_citations(sentence) for sentence in sentences]
        relevant_to = [*claims, evidence.question]
        cut = partial(excerpts, references, relevant_to, config.max_chars)
        cut_texts = await compute(cut, chars=2 * _total_chars(references))
        # Orders to a model are no evidence. Quotes are searched in the texts themselves.
        documents = [(index, quotable(text)) for index, text in cut_texts]
        shown = [index for index, _ in documents]
        judge = judge_for(config.judge, evidence)
        conversation = evidence.conversation(config.conversation_chars)

        async def ask_about(group: Sequence[int]) -> ParsedAnswer[DocumentVerdict]:
            def parse(answer: Completion) -> list[DocumentVerdict | None]:
                verdicts = read_document_verdicts(
                    answer.text, len(group), shown, was_cut=answer.was_cut
                )
                return [
                    verdict if verdict and _quotes_are_real(verdict, references) else None
                    for verdict in verdicts
                ]

            return await ask(
                judge.about(sentences[index].standalone for index in group),
                render([claims[index] for index in group], documents, conversation),
                parse,
                load("en").prompts.documents.again if config.restate else None,
                tokens=_TOKENS_OF_CLAIM,
            )

        return await ask_each(claims_by_prompt(range(len(claims))), ask_about)

    def _judged(
        self, claim: Sentence, verdict: DocumentVerdict, references: Sequence[Reference]
    ) -> GroundedClaim:
        """Return what documents say of a claim by the verdict of a judge."""
        wrong = verdict.spans_in(claim.text)
        score, reason = self._decided(
            verdict, [claim.text[start:end] for start, end in wrong], references
        )
        return GroundedClaim(
            score=score,
            reason=reason,
            grounds=_grounds_of(verdict, references),
            spans=tuple(
                UnsupportedSpan(claim.start + start, claim.start + end, 1.0) for start, end in wrong
            ),
        )

    def _decided(
        self, verdict: DocumentVerdict, words: Sequence[str], references: Sequence[Reference]
    ) -> tuple[float | None, str]:
        """Return the score of a claim, and the reason.

        Args:
            verdict: The judge's verdict.
            words: The claim's words that the judge finds wrong or unsupported.
            references: The references.
        """
        supports, contradicts = verdict.supports, verdict.contradicts
        if supports and contradicts:
            # What one document says of the words in question, another may say anew.
            with_words = [
                document
                for document in supports
                if all(find_quote(word, references[document].text) for word in words)
            ]
            if are_newer(contradicts, with_words or supports, references):
                newer = contradicting(contradicts, newer=True)
                return 1.0, f"{newer}; {supporting(supports)}"
            if words and not with_words:
                beside = f"{supporting(supports)} except for {words[0]!r}"
                return 1.0, f"{beside}; {contradicting(contradicts)}"
            return 0.0, f"{supporting(supports)}; {contradicting(contradicts)}"
        if contradicts:
            return 1.0, contradicting(contradicts)
        if supports and not words:
            return 0.0, supporting(supports)
        if supports:
            return self.config.unmentioned, f"{supporting(supports)} except for {words[0]!r}"
        return self.config.unmentioned, "no reference mentions it"

    async def _by_words(
        self, passage: Passage, references: Sequence[Reference], evidence: Evidence
    ) -> Scores:
        divide = partial(_records, references)
        records, owners = await compute(divide, chars=_total_chars(references))
        check = partial(_check_values, passage, records, owners, evidence.question)
        checked = await compute(check, chars=_total_chars(references))
        compared = await self._compare_words(
            passage.with_sentences(numbers.sentence for numbers in checked),
            [
                replace(references[owner], text=record.text)
                for record, owner in zip(records, owners, strict=True)
            ],
            evidence,
            [numbers.operands for numbers in checked],
            records,
        )
        comparisons = [result and result.of_documents(owners) for result in compared]
        claims: list[GroundedClaim] = []
        for index, (comparison, numbers) in enumerate(zip(comparisons, checked, strict=True)):
            if comparison is None:
                claims.append(source_entry(passage.sentences[index].text, references))
                continue
            claim = self._compared(comparison, passage, references)
            apply_numbers(claim, numbers, records, owners, references)
            claims.append(claim)
        _score_bare_answers(passage, claims)
        _leave_labels_open(passage, claims)
        await check_claims(passage, claims, references, evidence)

        def column(document: int) -> tuple[float | None, ...]:
            return tuple(c and c.by_document.get(document) for c in comparisons)

        columns = [column(document) for document in range(len(references))]
        return scores_of_claims(claims, columns, [claim.is_denied for claim in claims])

    async def _compare_words(
        self,
        passage: Passage,
        references: Sequence[Reference],
        evidence: Evidence,
        operands: Sequence[frozenset[int]],
        records: Sequence[Record],
    ) -> list[WordComparison | None]:
        """Compare each claim with the documents about its subject; None for a list of sources."""
        rows = frozenset(i for i, record in enumerate(records) if record.cells)
        heads = frozenset(head.casefold() for record in records for head in record.heads)
        question = evidence.question
        chars = _total_chars(references) + len(passage.text) + len(question)
        texts: list[str] = []
        claims: list[str] = []

        def find_subjects() -> tuple[DocumentSubjects, list[list[int]], list[list[Stretch]]]:
            texts.extend(without_citations(claim) for claim in passage.sentences)
            claims.extend(normalized(text) for text in texts)
            subjects = DocumentSubjects(references, question, rows, heads)
            about = [subjects.of(claim) for claim in claims]
            befores = ["", *claims[:-1]]
            return subjects, about, list(map(subjects.stretches, claims, about, befores))

        subjects, about, stretches = await compute(find_subjects, chars=chars)
        # Indexing takes long, so only these are indexed, and only the parts relevant to a claim.
        relevant = set(subjects.of_question()).union(*operands)
        for of_claim, stretches_of_claim in zip(about, stretches, strict=True):
            relevant.update(of_claim)
            for stretch in stretches_of_claim:
                relevant |= stretch.documents | stretch.related
        documents = sorted(relevant)
        shorten = partial(
            _relevant_sentences,
            " ".join([*texts, question]),
            [references[document].text for document in documents],
        )
        pool = Samples(await compute(shorten, chars=chars))
        positions_of_rows = [k for k, document in enumerate(documents) if document in rows]
        index = await index_texts(replace(evidence, samples=pool), positions_of_rows)

        def compare() -> list[WordComparison | None]:
            is_translated = is_in_other_language(
                passage.text, [reference.text for reference in references]
            )
            indexed = DocumentComparison(index, documents, is_translated=is_translated)
            compared: list[WordComparison | None] = []
            of_sentences = compare_sentences(passage, index, with_answers=False)
            for i, comparison in enumerate(of_sentences):
                if comparison is None or not index.count:
                    compared.append(None)
                    continue
                stretch_texts = [
                    (claims[i][stretch.start : stretch.end], stretch) for stretch in stretches[i]
                ]
                is_same_subject = partial(subjects.have_same_subject, claims[i])
                result = indexed.compare(
                    comparison,
                    about[i],
                    stretch_texts,
                    is_same_subject,
                    partial(are_newer, references=references),
                    operands[i],
                )
                others = [document for document in about[i] if document not in result.supports]
                # A supported claim may be out of date.
                if not result.supports or are_newer(others, result.decides, references):
                    denials = indexed.denials(comparison, others) | result.denials
                    result = replace(result, denials=denials)
                compared.append(result)
            return compared

        return await compute(compare, chars=comparison_cost(passage, index))

    def _compared(
        self, comparison: WordComparison, passage: Passage, references: Sequence[Reference]
    ) -> GroundedClaim:
        """Return what documents say of a claim by a comparison of words."""
        against = list(comparison.denials)
        claim = GroundedClaim(
            score=comparison.score,
            spans=tuple(UnsupportedSpan(start, end, 1.0) for start, end in comparison.unsupported),
        )
        grounds = [Grounds(document, supports=True) for document in comparison.supports]
        for document, text in comparison.denials.items():
            start, end = find_quote(text, references[document].text) or (None, None)
            grounds.append(Grounds(document, supports=False, start=start, end=end))
        claim.grounds = tuple(grounds)
        if comparison.score is None:
            claim.reason = "it is in another language than the references"
            return claim
        if not comparison.supports:
            if self.config.unmentioned is None:
                claim.score = None
            missing = [passage.text[start:end] for start, end in comparison.unsupported]
            claim.reason = contradicting(against) if against else _without_facts(missing)
            if comparison.is_undecided and not against:
                claim.leave_open("references may say it in other words, which words cannot tell")
        elif are_newer(against, comparison.decides, references):
            newer = contradicting(against, newer=True)
            claim.flag(f"{newer}; {supporting(comparison.decides)}")
        elif comparison.is_undecided and against:
            of_both = f"{supporting(comparison.decides)}, {contradicting(against)}"
            claim.leave_open(f"{of_both}; words cannot tell which is about the same")
        else:
            claim.reason = supporting(comparison.decides)
        return claim


def references_of(evidence: Evidence) -> tuple[Reference, ...]:
    """Return the references to compare with."""
    return evidence.sources or tuple(
        Reference(sample.text, f"references[{i}]")
        for i, sample in enumerate(evidence.references.arrived)
    )


async def check_claims(
    passage: Passage,
    claims: Sequence[GroundedClaim],
    references: Sequence[Reference],
    evidence: Evidence,
) -> None:
    """Flag claims with wrong citations or links; see `check_citations`."""
    check = partial(check_citations, passage, claims, references, evidence)
    await compute(check, chars=_LINK_COST * _total_chars(references))


def _records(references: Sequence[Reference]) -> tuple[list[Record], list[int]]:
    """Return the records of references, and for each the index of its reference."""
    records: list[Record] = []
    owners: list[int] = []
    for index, reference in enumerate(references):
        for record in records_of(reference.text):
            records.append(record)
            owners.append(index)
    return records, owners


def _check_values(
    passage: Passage, records: Sequence[Record], owners: Sequence[int], question: str
) -> list[CheckedNumbers]:
    """Return what documents give for the numbers of each claim, and for what another entry has."""
    checked = check_numbers(passage, records, owners, question)
    exchanged = ExchangedFields(records, owners).find(passage, question)
    for index, result in enumerate(exchanged):
        if result is not None and not checked[index].wrong:
            checked[index] = replace(checked[index], wrong=(result,))
    return checked


def _total_chars(references: Iterable[Reference]) -> int:
    return sum(len(reference.text) for reference in references)


def _quotes_are_real(verdict: DocumentVerdict, references: Sequence[Reference]) -> bool:
    """Return whether all that a verdict quotes stands in references that it names."""
    texts = [references[k].text for k in (*verdict.supports, *verdict.contradicts)]

    def is_real(quote: str) -> bool:
        return any(find_quote(quote, text) for text in texts)

    # An ellipsis may lead from one document to the next.
    return not texts or all(
        is_real(quote) or all(map(is_real, quoted_pieces(quote))) for quote in verdict.quotes
    )


def _grounds_of(verdict: DocumentVerdict, references: Sequence[Reference]) -> tuple[Grounds, ...]:
    """Return which references a verdict names for and against a claim, and where they say so."""
    quotes: list[str] = []
    for quote in verdict.quotes:
        quotes += [piece for piece in (quote, *quoted_pieces(quote)) if piece]
    grounds: list[Grounds] = []
    for supports, documents in ((True, verdict.supports), (False, verdict.contradicts)):
        for document in documents:
            spans = (find_quote(quote, references[document].text) for quote in quotes)
            start, end = next((span for span in spans if span is not None), (None, None))
            grounds.append(Grounds(document, supports=supports, start=start, end=end))
    return tuple(grounds)


def _relevant_sentences(text: str, documents: Sequence[str]) -> list[str]:
    """Return the sentences of documents that share the beginning of a word, or a number.

    Args:
        text: The claims, and the question.
        documents: The documents. One without spaces between words is returned as a whole.
    """
    text = normalized(text).casefold()
    stems = {word[:_STEM] for word in text.split() if len(word) >= _STEM}
    numbers = frozenset(_DIGITS.findall(text))

    def is_relevant(sentence: str) -> bool:
        comparable = normalized(sentence).casefold()
        if sentence.startswith("#"):
            # What is below it is about what it names.
            return True
        if numbers and not numbers.isdisjoint(_DIGITS.findall(comparable)):
            return True
        return not stems.isdisjoint(word[:_STEM] for word in comparable.split())

    shortened: list[str] = []
    for document in documents:
        has_no_spaces = document.count(" ") * 20 < len(document)
        if len(document) <= _SHORT or not stems or has_no_spaces:
            shortened.append(document)
        else:
            relevant = "\n".join(filter(is_relevant, _SENTENCE_END.split(document)))
            # An empty text would be left out, and later documents be taken for those before them.
            shortened.append(relevant or document.strip()[:_SHORT])
    return shortened


def _without_facts(missing: Sequence[str]) -> str:
    """Say that no document has a claim's facts, or which of them.

    Args:
        missing: Its words that no document about its subject has, if they can be told from others.
    """
    if not missing:
        return "no reference has its facts"
    # Another document may have them of something else.
    return f"no reference about its subject has {' or '.join(map(repr, missing[:_MAX_MISSING]))}"


def _leave_labels_open(passage: Passage, claims: Sequence[GroundedClaim]) -> None:
    """Leave open a word that only says what the next claims are about, as the first cell of a row.

    It may be the answer's own word for what documents call otherwise.
    """
    for index, (sentence, following) in enumerate(pairwise(passage.sentences)):
        is_word = len(sentence.text.split()) == 1 and sentence.text.isalpha()
        is_label = is_word and following.standalone.startswith(f"{sentence.text}: ")
        if is_label and claims[index].is_flagged:
            claims[index].leave_open("it says what the next claims are about")


def _score_bare_answers(passage: Passage, claims: Sequence[GroundedClaim]) -> None:
    """Give a bare "Yes." or "No.", which has no words to compare, the score of its explanation."""
    for index, (sentence, _) in enumerate(pairwise(passage.sentences)):
        if stance(sentence.text) is not None and len(sentence.text.split()) == 1:
            bare, explained = claims[index], claims[index + 1]
            bare.score, bare.reason = explained.score, explained.reason
            bare.grounds = explained.grounds
