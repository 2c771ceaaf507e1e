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

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import log
from typing import ClassVar, Literal

from pydantic import Field

from resay._internal.event_loops import compute
from resay.core.citation_marks import MarkKind, citation_marks
from resay.core.citations import Citation
from resay.core.editions import newness
from resay.core.links import addresses_in, links_in, normal_link
from resay.core.normalization import normalized
from resay.core.passage import Passage, Sentence
from resay.core.quantities import negations
from resay.core.quotes import Span, find_quote, quoted_pieces
from resay.core.quoting import quotable
from resay.core.references import Reference
from resay.core.tokens import tokenize
from resay.core.verdict import Grounds, Scores, UnsupportedSpan
from resay.lang.language import load
from resay.providers.base import Completion
from resay.scorers.base import Need, ScorerTraits, Unit
from resay.scorers.common.document_subjects import DocumentSubjects, Stretch
from resay.scorers.common.document_verdicts import DocumentVerdict, read_document_verdicts
from resay.scorers.common.documents_by_words import DocumentComparison, WordComparison
from resay.scorers.common.fact_comparison import compare_sentences, comparison_cost, index_texts
from resay.scorers.common.fences import Fences
from resay.scorers.common.judging import (
    JudgedConfig,
    ParsedAnswer,
    ask,
    ask_each,
    claims_by_prompt,
    judge_for,
)
from resay.scorers.common.words import stance
from resay.scorers.evidence import Evidence
from resay.scorers.samples import Samples

_DIGITS = re.compile(r"\d+")
_DIGITS_AT_END = re.compile(r"(?<![\d:.])\d{1,6}$")
_CHUNK = 1_200
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
# References up to this length are compared as a whole.
_SHORT = 1_500
_STEM = 4
_K1, _B = 1.2, 0.75
# Cost of looking for links in a character of a reference, in characters; see `compute`.
_LINK_COST = 4
# An object with the numbers of documents and a quote.
_TOKENS_OF_CLAIM = 256


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
        unmentioned: Unit | None = Field(
            default=1.0,
            description="The score of a claim that no reference mentions; null = none, so that the"
            " next step scores it.",
        )
        max_chars: int = Field(
            default=24_000,
            ge=1_000,
            description="The maximum number of characters that the judge reads of the references:"
            " the passages closest to the claims.",
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

    def __init__(self, config: Config | None = None) -> None:
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
        references = evidence.sources or tuple(
            Reference(sample.text, f"references[{i}]")
            for i, sample in enumerate(evidence.references.arrived)
        )
        if not references:
            return Scores(sentences=(None,) * len(passage.sentences))
        if self.config.by == "words":
            return await self._by_words(passage, references, evidence)
        return await self._by_judge(passage, references, evidence)

    async def _by_judge(
        self, passage: Passage, references: Sequence[Reference], evidence: Evidence
    ) -> Scores:
        config, sources = self.config, _naming_sources(passage)
        asked = [i for i in range(len(passage.sentences)) if i not in sources]
        if not asked:
            return Scores(
                sentences=(None,) * len(passage.sentences),
                reasons=("it only names sources",) * len(passage.sentences),
                lost=(),
            )
        claims = [_without_citations(passage.sentences[i]) for i in asked]
        query = evidence.user_query or evidence.query
        wanted = [*claims, query.question if query else ""]
        chars = sum(len(reference.text) for reference in references)
        cut = partial(excerpts, references, wanted, config.max_chars)
        # Orders to a model are no evidence. Quotes are searched in the texts themselves.
        shown = [(place, quotable(text)) for place, text in await compute(cut, chars=2 * chars)]
        places = [place for place, _ in shown]

        judge = judge_for(config.judge, evidence)
        conversation = evidence.conversation(config.conversation_chars)

        async def ask_about(group: Sequence[int]) -> ParsedAnswer[DocumentVerdict]:
            def parse(answer: Completion) -> list[DocumentVerdict | None]:
                verdicts = read_document_verdicts(
                    answer.text, len(group), places, was_cut=answer.was_cut
                )
                return [
                    verdict if verdict and _quotes_are_real(verdict, references) else None
                    for verdict in verdicts
                ]

            return await ask(
                judge,
                render([claims[i] for i in group], shown, conversation),
                parse,
                load("en").prompts.documents.again if config.restate else None,
                tokens=_TOKENS_OF_CLAIM,
            )

        answers = await ask_each(claims_by_prompt(range(len(claims))), ask_about)
        verdicts = [verdict for parsed in answers for verdict in parsed.slots]
        slots = dict(zip(asked, verdicts, strict=True))
        scores: list[float | None] = []
        why: list[str | None] = []
        grounds: list[tuple[Grounds, ...]] = []
        spans: list[tuple[UnsupportedSpan, ...]] = []
        for i, claim in enumerate(passage.sentences):
            score, reason = None, "it only names sources" if i in sources else None
            of_claim: tuple[Grounds, ...] = ()
            missing: tuple[UnsupportedSpan, ...] = ()
            verdict = slots.get(i)
            if verdict is not None:
                wrong = verdict.spans_in(claim.text)
                score, reason = self._judged(verdict, references, wrong, claim.text)
                of_claim = _grounds_of(verdict, references)
                missing = tuple(
                    UnsupportedSpan(claim.start + start, claim.start + end, 1.0)
                    for start, end in wrong
                )
            scores.append(score)
            why.append(reason)
            grounds.append(of_claim)
            spans.append(missing)
        check = partial(_check_citations, passage, references, evidence, scores, why, grounds)
        await compute(check, chars=_LINK_COST * chars)
        unread = tuple(i for i in asked if slots[i] is None)
        return Scores(
            sentences=tuple(scores),
            columns=_columns(grounds, len(references)),
            reasons=tuple(why),
            grounds=tuple(grounds),
            denied=_denied(grounds),
            failures=tuple(failure for parsed in answers for failure in parsed.failures),
            lost=unread,
            undetermined=sum(parsed.undetermined for parsed in answers),
            spans=tuple(spans),
        )

    def _judged(
        self,
        verdict: DocumentVerdict,
        references: Sequence[Reference],
        wrong: Sequence[Span],
        claim: str,
    ) -> tuple[float | None, str]:
        """Return the score of a claim, and the reason.

        Args:
            verdict: The judge's verdict.
            references: The references.
            wrong: The spans of the claim's words that the judge finds wrong or unsupported.
            claim: The claim.
        """
        supports, contradicts = verdict.supports, verdict.contradicts
        words = [claim[start:end] for start, end in wrong]
        if supports and contradicts:
            # What one document says of the words in question, another may say anew.
            own = [
                place
                for place in supports
                if all(find_quote(word, references[place].text) for word in words)
            ]
            if _is_newer(contradicts, own or supports, references):
                newer = _contradicting(contradicts, newer=True)
                return 1.0, f"{newer}; {_supporting(supports)}"
            if words and not own:
                beside = f"{_supporting(supports)} except for {words[0]!r}"
                return 1.0, f"{beside}; {_contradicting(contradicts)}"
            return 0.0, f"{_supporting(supports)}; {_contradicting(contradicts)}"
        if contradicts:
            return 1.0, _contradicting(contradicts)
        if supports and not words:
            return 0.0, _supporting(supports)
        if supports:
            return self.config.unmentioned, f"{_supporting(supports)} except for {words[0]!r}"
        return self.config.unmentioned, "no reference mentions it"

    async def _by_words(
        self, passage: Passage, references: Sequence[Reference], evidence: Evidence
    ) -> Scores:
        query = evidence.user_query or evidence.query
        question = query.question if query else ""
        chars = sum(len(reference.text) for reference in references)
        claims = [normalized(_without_citations(claim)) for claim in passage.sentences]

        def find_subjects() -> tuple[DocumentSubjects, list[list[int]], list[list[Stretch]]]:
            subjects = DocumentSubjects(references, question)
            return subjects, list(map(subjects.of, claims)), list(map(subjects.stretches, claims))

        subjects, about, stretches = await compute(find_subjects, chars=chars)
        # Indexing takes long, so only these are indexed, and only the parts relevant to a claim.
        wanted = sorted(
            {place for places in about for place in places}.union(
                *(stretch.documents | stretch.related for each in stretches for stretch in each)
            )
        )
        wanted_text = " ".join([*map(_without_citations, passage.sentences), question])
        shorten = partial(
            _relevant_sentences, wanted_text, [references[place].text for place in wanted]
        )
        pool = Samples(await compute(shorten, chars=chars))
        index = await index_texts(replace(evidence, samples=pool))

        def compare() -> list[WordComparison | None]:
            documents = DocumentComparison(index, wanted)
            compared: list[WordComparison | None] = []
            comparisons = compare_sentences(passage, index, with_answers=False)
            for i, comparison in enumerate(comparisons):
                if comparison is None or not index.count:
                    compared.append(None)
                    continue
                texts = [
                    (claims[i][stretch.start : stretch.end], stretch) for stretch in stretches[i]
                ]
                is_one = partial(subjects.are_of_one, claims[i])
                result = documents.compare(comparison, about[i], texts, is_one)
                others = [place for place in about[i] if place not in result.supports]
                # A supported claim may be out of date.
                if not result.supports or _is_newer(others, result.decides, references):
                    denials = documents.denials(comparison, others)
                    result = replace(result, denials=denials)
                compared.append(result)
            return compared

        compared = await compute(compare, chars=comparison_cost(passage, index))
        scores: list[float | None] = []
        why: list[str | None] = []
        grounds: list[tuple[Grounds, ...]] = []
        for result in compared:
            if result is None:
                scores.append(None)
                why.append("it only names sources")
                grounds.append(())
                continue
            against = result.denials
            denying = tuple(
                Grounds(place, False, *_place_of(text, references[place].text))
                for place, text in against.items()
            )
            supporting = tuple(Grounds(place, supports=True) for place in result.supports)
            grounds.append((*supporting, *denying))
            if not supporting:
                scores.append(None if self.config.unmentioned is None else result.score)
                why.append(_contradicting([*against]) if against else "no reference has its facts")
            elif _is_newer([*against], result.decides, references):
                scores.append(1.0)
                newer = _contradicting([*against], newer=True)
                why.append(f"{newer}; {_supporting(result.decides)}")
            else:
                scores.append(result.score)
                why.append(_supporting(result.decides))
        _score_bare_answers(passage, scores, why, grounds)
        check = partial(_check_citations, passage, references, evidence, scores, why, grounds)
        await compute(check, chars=_LINK_COST * chars)
        columns = (
            tuple(result and result.by_document.get(k) for result in compared)
            for k in range(len(references))
        )
        return Scores(
            sentences=tuple(scores),
            columns=tuple(columns),
            reasons=tuple(why),
            grounds=tuple(grounds),
            denied=_denied(grounds),
            spans=tuple(
                tuple(UnsupportedSpan(start, end, 1.0) for start, end in result.unsupported)
                if result
                else ()
                for result in compared
            ),
        )


def _denied(grounds: Sequence[Sequence[Grounds]]) -> tuple[bool, ...]:
    """Return for each claim whether a document says something else."""
    return tuple(any(not ground.supports for ground in of_claim) for of_claim in grounds)


def render(
    claims: Sequence[str], documents: Sequence[tuple[int, str]], conversation: str = ""
) -> str:
    """Return the prompt about the claims of an answer and documents.

    Args:
        claims: The claims, to be numbered from 1.
        documents: The index of each document, which the prompt shows plus 1, with its excerpt.
        conversation: The conversation the answer belongs to; empty if unknown.
    """
    wording = load("en").prompts.documents
    listed = "\n".join(f"{i}. {' '.join(claim.split())}" for i, claim in enumerate(claims, 1))
    fences = Fences.around(conversation, listed, *(text for _, text in documents))
    shown = "\n".join(
        fences.enclose("document", text.strip(), number=place + 1) for place, text in documents
    )
    parts = [
        wording.task,
        *([fences.enclose("conversation", conversation)] if conversation else []),
        fences.enclose("documents", shown),
        fences.enclose("claims", listed),
        (wording.about if conversation else "") + wording.rules,
    ]
    return "\n\n".join(parts)


def excerpts(
    references: Sequence[Reference], wanted: Sequence[str], max_chars: int
) -> list[tuple[int, str]]:
    """Return the text of references to show a judge: all, or the passages relevant to the claims.

    Args:
        references: The references.
        wanted: The claims, and the question.
        max_chars: Maximum number of characters in total.

    Returns:
        The index of each reference with an excerpt, in order, and the excerpt.
    """
    if sum(len(reference.text) for reference in references) <= max_chars:
        return [(i, reference.text) for i, reference in enumerate(references)]
    chunks = [
        (i, chunk) for i, reference in enumerate(references) for chunk in _chunks(reference.text)
    ]
    ranked = _ranked([chunk for _, chunk in chunks], wanted)
    chosen: set[int] = set()
    left = max_chars
    for place in ranked:
        if len(chunks[place][1]) <= left:
            chosen.add(place)
            left -= len(chunks[place][1])
    shown: dict[int, list[str]] = {}
    for place in sorted(chosen):
        reference, chunk = chunks[place]
        shown.setdefault(reference, []).append(chunk.strip())
    return [(i, "\n[...]\n".join(parts)) for i, parts in shown.items()]


def _chunks(text: str) -> Iterator[str]:
    """Yield a text in chunks of limited length, cut at paragraphs, lines, sentences or spaces."""
    position = 0
    while position < len(text):
        end = min(position + _CHUNK, len(text))
        if end < len(text):
            for mark in ("\n\n", "\n", ". ", " "):
                cut = text.rfind(mark, position + _CHUNK // 2, end)
                if cut > 0:
                    end = cut + len(mark)
                    break
        yield text[position:end]
        position = end


def _ranked(texts: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return the indexes of texts by their BM25 score for the wanted texts, highest first."""
    counts = [Counter(tokenize(text)) for text in texts]
    lengths = [sum(count.values()) for count in counts]
    mean = sum(lengths) / max(len(lengths), 1) or 1.0
    holders = Counter(word for count in counts for word in count)
    total = len(texts)
    words = {word for text in wanted for word in tokenize(text) if word in holders}
    weights = {w: log(1 + (total - holders[w] + 0.5) / (holders[w] + 0.5)) for w in words}

    def score(place: int) -> float:
        count, norm = counts[place], _K1 * (1 - _B + _B * lengths[place] / mean)
        return sum(
            weight * count[word] * (_K1 + 1) / (count[word] + norm)
            for word, weight in weights.items()
            if word in count
        )

    scores = [score(place) for place in range(total)]
    return sorted(range(total), key=lambda place: (-scores[place], place))


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
    quotes = [
        piece for quote in verdict.quotes for piece in (quote, *quoted_pieces(quote)) if piece
    ]
    grounds: list[Grounds] = []
    for supports, places in ((True, verdict.supports), (False, verdict.contradicts)):
        for place in places:
            found = (find_quote(quote, references[place].text) for quote in quotes)
            span = next((span for span in found if span is not None), (None, None))
            grounds.append(Grounds(place, supports, *span))
    return tuple(grounds)


def _place_of(quote: str, text: str) -> tuple[int | None, int | None]:
    """Return the start and end of a quote in a text; None if it is missing."""
    return find_quote(quote, text) or (None, None)


def _supporting(places: Sequence[int]) -> str:
    return f"{_named(places)} {'supports' if len(places) == 1 else 'support'} it"


def _contradicting(places: Sequence[int], *, newer: bool = False) -> str:
    several = len(places) != 1
    text = f"{_named(places)} {'contradict' if several else 'contradicts'} it"
    return f"{text} and {'are' if several else 'is'} newer" if newer else text


def _named(places: Sequence[int]) -> str:
    numbers = [str(place + 1) for place in places]
    if len(numbers) == 1:
        return f"reference {numbers[0]}"
    return f"references {', '.join(numbers[:-1])} and {numbers[-1]}"


def _is_newer(
    places: Sequence[int], others: Sequence[int], references: Sequence[Reference]
) -> bool:
    """Return whether some references have an edition newer than those of others."""
    editions = [references[place].edition for place in places]
    known = [newness(edition) for edition in editions if edition]
    older = [newness(edition) for place in others if (edition := references[place].edition)]
    return bool(known and older) and max(known) > max(older)


def _columns(
    grounds: Sequence[Sequence[Grounds]], count: int
) -> tuple[tuple[float | None, ...], ...]:
    rows = [{g.reference: 0.0 if g.supports else 1.0 for g in places} for places in grounds]
    return tuple(tuple(row.get(k) for row in rows) for k in range(count))


def _relevant_sentences(wanted: str, texts: Sequence[str]) -> list[str]:
    """Return the sentences of each text that share the beginning of a word, or a number."""
    # If spaces do not separate words, return the whole text.
    wanted = normalized(wanted).casefold()
    words = {word[:_STEM] for word in wanted.split() if len(word) >= _STEM}
    numbers = frozenset(_DIGITS.findall(wanted))

    def bears(sentence: str) -> bool:
        comparable = normalized(sentence).casefold()
        if numbers and not numbers.isdisjoint(_DIGITS.findall(comparable)):
            return True
        return not words.isdisjoint(word[:_STEM] for word in comparable.split())

    return [
        text
        if len(text) <= _SHORT or not words or text.count(" ") * 20 < len(text)
        else " ".join(filter(bears, _SENTENCE_END.split(text)))
        for text in texts
    ]


def _naming_sources(passage: Passage) -> frozenset[int]:
    """Return the indexes of the sentences that are entries of a list of sources."""
    marks = [mark for mark in citation_marks(passage.text) if mark.kind == "source"]
    return frozenset(
        i
        for i, sentence in enumerate(passage.sentences)
        if any(mark.start < sentence.end and sentence.start < mark.end for mark in marks)
    )


def _without_citations(claim: Sentence) -> str:
    """Return a claim without its citation marks, which are no part of what it says."""
    pieces: list[str] = []
    end = 0
    for mark in citation_marks(claim.standalone):
        pieces.append(claim.standalone[end : mark.start])
        end = mark.end
    bare = "".join([*pieces, claim.standalone[end:]]).strip()
    return bare if any(map(str.isalnum, bare)) else claim.standalone


def _score_bare_answers(
    passage: Passage,
    scores: list[float | None],
    why: list[str | None],
    grounds: list[tuple[Grounds, ...]],
) -> None:
    """Give a bare "Yes." or "No.", which has no words to compare, the score of the next sentence.

    A yes followed by a negated reason, or a no by one that is not, is left as it is.
    """
    for i, (claim, reason) in enumerate(pairwise(passage.sentences)):
        answer = stance(claim.text)
        if answer is None or len(claim.text.split()) > 1:
            continue
        if bool(negations(reason.text)) == (answer == "no"):
            scores[i], why[i], grounds[i] = scores[i + 1], why[i + 1], grounds[i + 1]


def _check_citations(
    passage: Passage,
    references: Sequence[Reference],
    evidence: Evidence,
    scores: list[float | None],
    why: list[str | None],
    grounds: Sequence[Sequence[Grounds]],
) -> None:
    """Check the citations and links of claims against the references; wrong ones score 1."""
    _check_attached(passage, references, evidence, scores, why, grounds)
    query = evidence.query
    known = set(addresses_in(query.conversation(1_000_000))) if query else set[str]()
    for reference in references:
        known |= addresses_in(reference.text)
        if reference.url:
            known.add(normal_link(reference.url))
    for i, claim in enumerate(passage.sentences):
        for link in links_in(claim.text):
            if normal_link(link) not in known:
                scores[i], why[i] = 1.0, "its link is in no reference"
        cited = [
            (name, _cited_places(name, mark.kind, references))
            for mark in citation_marks(claim.text)
            for name in mark.names
        ]
        # A name that no document could have is the answer's own, such as that of a book.
        if not cited or any(places is None for _, places in cited):
            continue
        missing = [name for name, places in cited if not places]
        supporting = {g.reference for g in grounds[i] if g.supports}
        # Of a claim from several documents each of them says a part.
        wrong = [name for name, places in cited if places and not supporting & places]
        if missing:
            scores[i], why[i] = 1.0, f"it cites [{missing[0]}], which does not exist"
        elif supporting and wrong:
            others = _supporting(sorted(supporting))
            scores[i] = 1.0
            why[i] = f"it cites [{wrong[0]}], which does not support it; {others}"


def _cited_places(
    name: str, kind: MarkKind, references: Sequence[Reference]
) -> frozenset[int] | None:
    """Return the indexes of the references that a citation names; None if it cannot be resolved.

    A number or label is resolved where the references have labels, and a title where one has it as
    its title, its id or the end of its address.
    """
    named = name.casefold()
    if kind == "title":
        places = frozenset(
            i for i, reference in enumerate(references) if named in _titles_of(reference)
        )
        return places or None
    labels: dict[str, int] = {}
    for i, reference in enumerate(references):
        if reference.label:
            labels[reference.label.casefold()] = i
    if not labels or kind not in ("label", "number"):
        return None
    number = _DIGITS_AT_END.search(named)
    for written in (named, number[0] if number else ""):
        if written in labels:
            return frozenset({labels[written]})
    # Labels that are no numbers have nothing to do with a number in the answer.
    return frozenset() if named.isdigit() else None


def _titles_of(reference: Reference) -> set[str]:
    names = [reference.title, reference.id, reference.url and reference.url.rsplit("/", 1)[-1]]
    return {" ".join(name.casefold().split()) for name in names if name}


def _check_attached(
    passage: Passage,
    references: Sequence[Reference],
    evidence: Evidence,
    scores: list[float | None],
    why: list[str | None],
    grounds: Sequence[Sequence[Grounds]],
) -> None:
    """Check the citations that a provider attached to an answer against the references."""
    of_claim: dict[int, list[tuple[str, frozenset[int]]]] = {}
    for citation in evidence.citations:
        cited = _cited_by(citation, references)
        if cited is not None:
            for i in _cited_claims(passage, citation):
                of_claim.setdefault(i, []).append(cited)
    for i, citations in of_claim.items():
        missing = [name for name, places in citations if not places]
        supporting = {g.reference for g in grounds[i] if g.supports}
        if missing:
            scores[i], why[i] = 1.0, f"it cites {missing[0]}, which does not exist"
        elif supporting and not any(supporting & places for _, places in citations):
            others = _supporting(sorted(supporting))
            name = citations[0][0]
            scores[i], why[i] = 1.0, f"it cites {name}, which does not support it; {others}"


def _cited_by(
    citation: Citation, references: Sequence[Reference]
) -> tuple[str, frozenset[int]] | None:
    """Return the name of a cited document and the matching references; None if undecidable.

    It is if no reference has an id, title or address to compare with the citation's, or if its
    quote is from a document that cannot be read, such as a scan.
    """
    quote = citation.quote
    if quote:
        texts = enumerate(reference.text for reference in references)
        places = frozenset(i for i, text in texts if _place_of(quote, text)[0] is not None)
        if places:
            return citation.title or "a document", places
    for key in ("id", "url", "title"):
        named: str | None = getattr(citation, key)
        known: list[str | None] = [getattr(reference, key) for reference in references]
        if named and any(known):
            places = frozenset(i for i, own in enumerate(known) if own == named)
            name = citation.title or named
            if not quote:
                return name, places
            if places:
                return f"words of {name}", frozenset()
    return None


def _cited_claims(passage: Passage, citation: Citation) -> list[int]:
    """Return the claims a citation belongs to: those it spans, or the sentence before it."""
    start, end = citation.start, citation.end
    spanned = [i for i, s in enumerate(passage.sentences) if s.start < end and start < s.end]
    if spanned and start < end:
        return spanned
    last = max((s.end for s in passage.sentences if s.start < max(start, 1)), default=None)
    return [i for i, s in enumerate(passage.sentences) if s.end == last]
