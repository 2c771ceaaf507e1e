"""Repairs a flagged answer: searches, rewrites, checks, and keeps the best candidate."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, ClassVar, Literal

import anyio

from resay._internal.event_loops import compute
from resay._internal.telemetry import AttributeValue, span
from resay.core.documents import Document
from resay.core.mentions import mentions_name
from resay.core.non_claims import non_claim_kind
from resay.core.passage import Passage, Sentence
from resay.core.query import Query
from resay.core.standalone import standalone_question
from resay.core.usage import Usage
from resay.core.verdict import (
    Attempt,
    Edit,
    Part,
    Regeneration,
    SentenceVerdict,
    Verdict,
    over,
    tally,
)
from resay.engine.actions import Regenerated
from resay.engine.check import Check
from resay.engine.regeneration.prompts import (
    CitedText,
    RepairedText,
    Replacement,
    abstention,
    fits,
    in_form_of,
    parse_citations,
    parse_replacement,
    repair_prompt,
    rewrite_query,
    shortened_question,
    without_repeats,
)
from resay.engine.regeneration.rechecking import (
    Rechecker,
    claims_more,
    combined,
    nearest,
    sources_of,
)
from resay.engine.regeneration.search import (
    DocumentSearch,
    SearchResult,
    full_text,
    named_first,
    search_queries,
)
from resay.engine.regeneration.topics import (
    nearest_question,
    questions_in,
    subject_of,
    topic_of,
    without_values,
)
from resay.errors import ConfigurationError, ProviderError, ScorerError
from resay.policy import Policy, Regenerate, Threshold
from resay.retrieval import AdaptedRetriever
from resay.scorers.common.judging import judge_for
from resay.scorers.samples import SPLITTING

_RANKS = {"consistent": 0, "flagged": 1, "inconclusive": 2, "skipped": 2}


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer that may be returned.

    Attributes:
        passage: The answer.
        verdict: The verdict on it.
        named: Its sentences that were written from documents, by index, with the ids of the
            documents that the model cited for each.
        repairs: Replacements of the draft's sentences, by their indices there.
        places: The spans of the draft's sentences in it, if it is a repaired draft.
        abstains: Its sentences that say that the documents have no answer, and claim nothing.
        attempt: The attempt that wrote it, from 0; None for the draft.
        unsaid: The sentences of the draft that were removed because no document mentions them.
        is_abstention: Whether it claims nothing at all.
    """

    passage: Passage
    verdict: Verdict
    named: Mapping[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])
    repairs: Mapping[int, Replacement] = field(default_factory=dict[int, Replacement])
    places: tuple[tuple[int, int], ...] = ()
    abstains: frozenset[int] = frozenset()
    attempt: int | None = None
    unsaid: frozenset[int] = frozenset()
    is_abstention: bool = False

    @property
    def rank(self) -> tuple[int, int, float]:
        """The sort key, best first: decision, flagged sentences, passage score."""
        verdict = self.verdict
        if self.is_abstention:
            return 0, 0, 1.0
        score = 1.0 if verdict.score is None else verdict.score
        return _RANKS[verdict.decision], len(verdict.flagged_sentences), score


def in_doubt(verdict: Verdict, threshold: Threshold) -> tuple[int, ...]:
    """Return the sentences of a flagged answer to repair.

    If none is flagged by itself, those over the passage threshold; failing that, all.
    """
    sentences = verdict.sentences
    flagged = tuple(i for i, s in enumerate(sentences) if s.flagged)
    above = tuple(i for i, s in enumerate(sentences) if over(s.score, threshold.passage))
    return flagged or above or tuple(range(len(sentences)))


def unchanged_verdicts(
    passage: Passage, known: Verdict, doubtful: Collection[int]
) -> dict[int, SentenceVerdict]:
    """Return the sentences of an answer that need no second check.

    Args:
        passage: The answer.
        known: The verdict on another version of it.
        doubtful: The sentences of that version that are in doubt.

    Returns:
        The verdicts on the sentences that the other version contains and that were not in doubt
        there, by sentence index.
    """
    sure = {s.text: s for i, s in enumerate(known.sentences) if i not in doubtful}
    for i in doubtful:
        sure.pop(known.sentences[i].text, None)
    return {i: sure[s.text] for i, s in enumerate(passage.sentences) if s.text in sure}


def final_verdict(
    best: Candidate,
    draft: Candidate,
    first: Verdict,
    documents: Mapping[str, Document],
    regeneration: Regeneration,
) -> Verdict:
    """Return the verdict on the best answer.

    Args:
        best: The answer.
        draft: The model's first answer.
        first: The first check's verdict on it.
        documents: All documents found, by id.
        regeneration: The record of the attempts, without the edits and the sources.
    """
    verdict = _cited(best, list(documents.values()))
    cited = dict.fromkeys(chain.from_iterable(s.citations for s in verdict.sentences))
    steps = first.steps if best.verdict is first else (*first.steps, *verdict.steps)
    return replace(
        verdict,
        samples=max(first.samples, verdict.samples),
        steps=steps,
        via=first.via,
        regeneration=replace(
            regeneration,
            adopted=best.attempt,
            edits=_edits(best, draft, verdict),
            sources=tuple(_serializable(documents[name]) for name in cited),
            removed=_share_of(draft.passage, best.unsaid),
            abstains=best.is_abstention,
            conflicts=_conflicts(verdict),
        ),
    )


def _share_of(passage: Passage, places: Collection[int]) -> float:
    """Return the share of a passage's sentences that the given ones make up, by characters."""
    lengths = [len(sentence.text) for sentence in passage.sentences]
    return sum(lengths[i] for i in places) / sum(lengths) if places else 0.0


def _conflicts(verdict: Verdict) -> tuple[str, ...]:
    """Return the ids of the documents that contradict each other about a claim."""
    disputed = [c.grounds for c in verdict.claims if len({g.supports for g in c.grounds}) > 1]
    places = dict.fromkeys(ground.reference for grounds in disputed for ground in grounds)
    return tuple(verdict.references[place].source for place in places)


def _serializable(document: Document) -> Document:
    """Return a document with metadata that can be serialized in a verdict."""
    # Retrievers may add anything: vectors, dates, objects of their own.
    plain = {k: v for k, v in document.metadata.items() if isinstance(v, (str, int, float))}
    return replace(document, metadata=plain)


def _cited(best: Candidate, documents: Sequence[Document]) -> Verdict:
    sentences = tuple(
        replace(sentence, citations=sources_of(sentence.text, best.named[i], documents))
        if i in best.named and not sentence.flagged and i not in best.abstains
        else sentence
        for i, sentence in enumerate(best.verdict.sentences)
    )
    return replace(best.verdict, sentences=sentences)


def _edits(best: Candidate, draft: Candidate, verdict: Verdict) -> tuple[Edit, ...]:
    return tuple(
        Edit(old.text, new.text, old.start, old.end, _within(verdict, *best.places[i]))
        for i, new in sorted(best.repairs.items())
        if (old := draft.passage.sentences[i]).text != new.text
    )


def _within(verdict: Verdict, start: int, end: int) -> tuple[str, ...]:
    inside = (s.citations for s in verdict.sentences if s.start < end and s.end > start)
    return tuple(dict.fromkeys(chain.from_iterable(inside)))


_TOKENS_AROUND_SENTENCE = 512
_CONTEXT_CHARS = 300
_MAX_SUBJECTS = 2
_SHORT_QUESTION = 300


class Writer:
    """Writes text on behalf of one answer.

    Args:
        model: The writing model, in litellm's notation; None for the one that wrote the answer.
        check: The check of the request, with its limits, budget and metering.
        edition: The metadata key of the documents' edition; None for the usual keys.
    """

    def __init__(self, model: str | None, check: Check, edition: str | None = None) -> None:
        self._model = model
        self._check = check
        self._edition = edition

    def question(self, documents: Sequence[Document], *, index: int = 0) -> Query:
        """Return the main call's question, to be answered from documents.

        Args:
            documents: The documents to answer from.
            index: The number of the answer, if several are wanted for the same query.
        """
        query = self._check.query or Query(())
        model = self._model or query.model
        rewritten = rewrite_query(query, documents, self._edition)
        params: Mapping[str, Any] = rewritten.params if self._model is None else {}
        return replace(rewritten, model=model, params=params, index=index)

    async def answer(self, documents: Sequence[Document], *, index: int = 0) -> CitedText:
        """Write a whole answer.

        Args:
            documents: The documents to answer from.
            index: The number of the answer, if several are wanted for the same query.

        Raises:
            ProviderError: The model gave no answer.
        """
        query = self.question(documents, index=index)
        judge = replace(judge_for(self._model, self._check.evidence), query=query)
        return parse_citations((await judge.ask(query.messages)).strip(), len(documents))

    async def repairs(
        self,
        passage: Passage,
        places: Mapping[int, tuple[int, int]],
        parts: Sequence[Part],
        documents: Sequence[Document],
    ) -> tuple[dict[int, Replacement], str | None]:
        """Write replacements for sentences.

        Args:
            passage: The answer that contains them.
            places: Their spans in it, by any key that identifies them.
            parts: The parts of the answer that are in doubt.
            documents: The documents to correct them by; each prompt shows the nearest ones.

        Returns:
            The replacements obtained, and one line about failures, without content, or None.
        """
        written: dict[int, Replacement] = {}
        failures: list[str] = []

        async def repair(key: int, start: int, end: int) -> None:
            inside = [part for part in parts if start <= part.start and part.end <= end]
            try:
                found = await self._sentence(passage.text, start, end, inside, documents)
            except ProviderError as error:
                failures.append(type(error).__name__)
            else:
                if found is not None:
                    written[key] = found

        async with anyio.create_task_group() as tasks:
            for key, (start, end) in places.items():
                tasks.start_soon(repair, key, start, end)
        left = len(places) - len(written)
        why = tally(failures) or "no usable sentence came back"
        error = f"{left} of {len(places)} sentences could not be rewritten: {why}" if left else None
        return written, error

    async def _sentence(
        self,
        text: str,
        start: int,
        end: int,
        parts: Sequence[Part],
        documents: Sequence[Document],
    ) -> Replacement | None:
        query, sentence = self._check.query or Query(()), text[start:end]
        question = standalone_question(query.messages)
        topic, bare = topic_of(question, query.entity), without_values(sentence, question)
        subject = subject_of(bare)
        about = [subject] if subject else topic.names
        shown = nearest(f"{topic.full_text} {bare}", named_first(documents, about))
        prompt = repair_prompt(
            shortened_question(question),
            text[max(start - _CONTEXT_CHARS, 0) : start],
            sentence,
            text[end : end + _CONTEXT_CHARS],
            shown,
            self._edition,
            doubted=[text[part.start : part.end] for part in parts],
        )
        judge = judge_for(self._model, self._check.evidence)
        most = _TOKENS_AROUND_SENTENCE + 2 * len(sentence)
        found = parse_replacement(await judge.ask(prompt, max_tokens=most), shown)
        if not found or not found.text:
            return found
        evidence = " ".join(map(full_text, shown))
        if not fits(found.text, sentence, evidence, f"{text} {evidence}".casefold()):
            return None
        written = in_form_of(found.text, sentence)
        # With another number of bars, a table's row would have other columns.
        is_row = written.count("|") == sentence.count("|")
        return replace(found, text=written) if is_row else None


class Regenerator:
    """Repairs flagged answers from documents, without keeping state between them.

    Args:
        policy: The policy.
        action: Its action.
        retriever: The source of documents.
        rechecker: Checks an answer against them.
    """

    def __init__(
        self,
        policy: Policy,
        action: Regenerate,
        retriever: AdaptedRetriever,
        rechecker: Rechecker,
    ) -> None:
        self._policy = policy
        self._action = action
        self._retriever = retriever
        self._rechecker = rechecker

    async def prepare(self) -> None:
        """Load everything the first regeneration would otherwise wait for.

        Raises:
            ConfigurationError: The retriever, or a model, is not available as configured.
        """
        await self._retriever.prepare()
        await self._rechecker.prepare()

    async def run(
        self, text: str, verdict: Verdict, check: Check, *, shown: int = 0
    ) -> Regenerated:
        """Repair an answer.

        Failures never lose the answer: the best one so far is returned.

        Args:
            text: The flagged answer.
            verdict: The result of the check.
            check: The check, whose limits, deadline and metering continue.
            shown: The length of the text already shown, which cannot change, in code points.

        Returns:
            The best answer, with its verdict.
        """
        with span("resay.regenerate", {"resay.regenerate.mode": self._action.mode}) as around:
            draft = Candidate(await split_text(text, self._policy), verdict)
            document_search = DocumentSearch(
                self._action, self._retriever, check.query and check.query.tenant
            )
            work = _DocumentRepair(
                self._policy, self._action, check, draft, shown, self._rechecker, document_search
            )
            found = await work.run()
            around.set(attributes_of(found.verdict))
            return found


class Repair:
    """The repair of one flagged answer: its attempts, and the best answer so far.

    Args:
        policy: The policy.
        action: Its action.
        check: The check, whose limits, deadline and metering continue.
        draft: The flagged answer.
        shown: The length of the text already shown, which cannot change, in code points.
    """

    by: ClassVar[Literal["documents", "samples"]] = "documents"
    unchanged: ClassVar[str] = "the model changed nothing"

    def __init__(
        self, policy: Policy, action: Regenerate, check: Check, draft: Candidate, shown: int
    ) -> None:
        self._policy = policy
        self._action = action
        self._check = check
        self._draft = self._best = draft
        self._shown = shown
        self._attempts: list[Attempt] = []
        self._errors: list[str] = []
        self._documents: dict[str, Document] = {}

    async def run(self) -> Regenerated:
        """Make up to `attempts` attempts; return the best answer despite any failure."""
        with anyio.CancelScope(deadline=self._check.deadline):
            for number in range(self._action.attempts):
                if not await self._attempt(number):
                    break
        first = self._draft.verdict
        record = Regeneration(
            self._action.mode,
            tuple(self._attempts),
            reason=first.reason,
            score=first.score,
            draft=self._draft.passage.text,
            by=self.by,
        )
        verdict = final_verdict(self._best, self._draft, first, self._documents, record)
        return Regenerated(self._best.passage.text, self._check.with_totals(verdict))

    async def _attempt(self, number: int) -> bool:
        started, spent = anyio.current_time(), self._check.usage
        before = self._best.verdict
        self._attempts.append(Attempt(before.reason, score_before=before.score))
        self._errors.clear()
        goes_on = over = False
        try:
            goes_on = await self._try(number)
            over = True
        # An answer exists already, so no failure in here may lose it.
        except Exception as error:
            # Only our own messages are sure not to contain words of the answer.
            is_own = isinstance(error, (ConfigurationError, ScorerError))
            why = f": {error}" if is_own else ""
            self._errors.append(f"it failed with {type(error).__name__}{why}")
            over = True
        finally:
            errors = self._errors if over else [*self._errors, "there was no time left"]
            self._record(
                error="; ".join(errors) or None,
                usage=self._check.usage.since(spent),
                elapsed_s=anyio.current_time() - started,
            )
        return goes_on

    async def _try(self, number: int) -> bool:
        """Try for a better answer; return whether to try again."""
        raise NotImplementedError

    def _record(self, **found: Any) -> None:
        self._attempts[-1] = replace(self._attempts[-1], **found)

    def _unfit(self, candidate: Candidate) -> str | None:
        if not candidate.passage.sentences:
            return "nothing was left of the answer"
        removed, most = _share_of(self._draft.passage, candidate.unsaid), self._action.max_removed
        if removed > most and not candidate.is_abstention:
            return f"{removed:.0%} of the answer would be removed, more than {most:.0%}"
        if candidate.passage.text == self._best.passage.text:
            return self.unchanged
        return None

    def _is_better(self, candidate: Candidate) -> bool:
        """Return whether an answer is better than the best so far.

        A still flagged answer is better only if a strict subset is flagged in it: adding sentences
        lowers the passage score, whatever they say.
        """
        before, after = self._best.verdict, candidate.verdict
        if candidate.rank >= self._best.rank or not after.flagged:
            return candidate.rank < self._best.rank
        if before.flagged_sentences:
            return _flagged_in(after) < _flagged_in(before)
        left, doubtful = (
            {verdict.sentences[i].text for i in in_doubt(verdict, self._policy.threshold)}
            for verdict in (after, before)
        )
        return left < doubtful

    @property
    def _claiming(self) -> frozenset[int]:
        """The sentences of the draft that claim something."""
        claims = self._draft.verdict.claims
        found = frozenset(c.sentence for c in claims if c.kind in ("fact", "hedged"))
        return found or frozenset(range(len(self._draft.passage.sentences)))


def _flagged_in(verdict: Verdict) -> set[str]:
    """Return the flagged claims, and the flagged sentences without a flagged claim."""
    claims = [claim for claim in verdict.claims if claim.flagged]
    covered = {claim.sentence for claim in claims}
    others = {s.text for i, s in enumerate(verdict.sentences) if s.flagged and i not in covered}
    return others.union(claim.text for claim in claims)


class _DocumentRepair(Repair):
    """Repairs an answer from documents."""

    def __init__(
        self,
        policy: Policy,
        action: Regenerate,
        check: Check,
        draft: Candidate,
        shown: int,
        rechecker: Rechecker,
        document_search: DocumentSearch,
    ) -> None:
        super().__init__(policy, action, check, draft, shown)
        self._rechecker = rechecker
        self._document_search = document_search
        self._writer = Writer(action.writer, check, action.edition)
        self._is_about_it = True
        self._written: Mapping[int, Replacement] = {}

    async def _try(self, number: int) -> bool:
        doubtful = self._doubtful()
        if not doubtful:
            self._errors.append("what is in doubt was shown already")
            return False
        documents = await self._search(doubtful)
        if not documents:
            return False
        if number == 0 and not await self._measure_draft(doubtful, documents):
            return False
        candidate = await self._write(number, documents)
        if candidate is None:
            return False
        candidate = await self._checked(candidate, documents)
        if not self._is_better(candidate):
            candidate = await self._without_flagged(candidate, documents)
        if self._is_better(candidate):
            self._best = candidate
        return self._best.verdict.flagged

    async def _without_flagged(
        self, candidate: Candidate, documents: Sequence[Document]
    ) -> Candidate:
        """Undo the repairs that are flagged in an answer, if others are not."""
        places = RepairedText(candidate.passage.text, candidate.places)
        flagged = [s for s in candidate.verdict.sentences if s.flagged]
        back = {i for s in flagged for i in places.origin(s.start, s.end)}
        good = {i: repair for i, repair in self._written.items() if i not in back}
        if not good or len(good) == len(self._written):
            return candidate
        fewer = await self._with_repairs(candidate.attempt, good, documents)
        return await self._checked(replace(fewer, verdict=candidate.verdict), documents)

    def _doubtful(self) -> tuple[int, ...]:
        """Return the sentences of the best answer to repair that were not shown yet."""
        sentences = self._best.verdict.sentences
        doubtful = in_doubt(self._best.verdict, self._policy.threshold)
        return tuple(i for i in doubtful if sentences[i].start >= self._shown)

    @property
    def _question(self) -> str:
        return standalone_question(self._check.query.messages) if self._check.query else ""

    async def _search(self, doubtful: Sequence[int]) -> tuple[Document, ...]:
        sentences = self._best.passage.sentences
        texts = [sentences[i].text for i in doubtful]
        bare = [
            without_values(text, self._question, self._contradicted_words(i)) or self._question
            for i, text in zip(doubtful, texts, strict=True)
        ]
        query = self._check.query
        topic = topic_of(self._question, query.entity if query else None)
        # Documents may use the words of a short question, with another answer.
        asked = questions_in(self._question) if len(self._question) <= _SHORT_QUESTION else []
        searches = [search_queries(topic, wanted) for wanted in (bare, asked, texts)]
        queries = tuple(dict.fromkeys(chain.from_iterable(searches)))
        begun = [subject for one in bare if (subject := subject_of(one))]
        subjects = tuple(dict.fromkeys([*topic.names, *begun]))
        found = await self._document_search.search(queries, subjects)
        if subjects and not found.failures and not _names_any(found, subjects):
            # Pages about the subject may contain none of the question's words.
            queries = tuple(dict.fromkeys([*queries, *subjects[:_MAX_SUBJECTS]]))
            found = await self._document_search.search(queries, subjects)
        # A question that names nothing, such as "How do I get a refund?", is about the documents.
        self._is_about_it = not topic.is_named or _names_any(found, subjects)
        if found.error:
            self._errors.append(found.error)
        self._documents |= {document.id: document for document in found.documents}
        self._record(queries=queries, documents=tuple(d.id for d in found.documents))
        return found.documents

    def _contradicted_words(self, place: int) -> list[str]:
        """Return the words of a sentence of the best answer that evidence contradicts."""
        text, claims = self._best.passage.text, self._best.verdict.claims
        found = [c.contradicted_by for c in claims if c.sentence == place and c.contradicted_by]
        return [text[slice(*one.claimed)] for one in found if one.claimed]

    async def _measure_draft(self, doubtful: Sequence[int], documents: Sequence[Document]) -> bool:
        """Check the draft against the documents; return whether it is still flagged.

        Only scores measured in the same way are comparable, and the first flag may have been wrong.
        """
        passage = self._draft.passage
        kept = unchanged_verdicts(passage, self._draft.verdict, doubtful)
        verdict = await self._rechecker.measure(self._check, passage, kept, documents)
        self._record(score_before=verdict.score)
        if verdict.inconclusive:
            self._errors.append(f"the draft could not be compared with documents: {verdict.reason}")
            return False
        self._best = replace(self._best, verdict=verdict)
        if not verdict.flagged:
            self._errors.append("the documents support what was flagged")
        return verdict.flagged

    async def _write(self, number: int, documents: Sequence[Document]) -> Candidate | None:
        if self._action.mode == "rewrite":
            candidate = await self._rewritten(number, documents)
        else:
            candidate = await self._repaired(number, documents)
        why = candidate and self._unfit(candidate)
        if why:
            self._errors.append(why)
            return None
        return candidate

    async def _rewritten(self, number: int, documents: Sequence[Document]) -> Candidate | None:
        written = await self._writer.answer(documents, index=number)
        passage = await split_text(written.text, self._policy)
        named = {
            i: tuple(documents[n - 1].id for n in written.named(s.start, s.end))
            for i, s in enumerate(passage.sentences)
        }
        known = " ".join([self._question, *(document.text for document in documents)])
        abstains = frozenset(
            i
            for i, s in enumerate(passage.sentences)
            if (written.abstains(s.start, s.end) or self._is_refusal(s.text))
            and not claims_more(s.text, known)
        )
        return replace(
            Candidate(passage, self._best.verdict, named, abstains=abstains, attempt=number),
            is_abstention=self._claims_nothing(passage, abstains),
        )

    async def _repaired(self, number: int, documents: Sequence[Document]) -> Candidate | None:
        now = RepairedText.of(self._draft.passage, self._best.repairs, floor=self._shown)
        spans = [self._best.passage.sentences[i] for i in self._doubtful()]
        targets = sorted({i for s in spans for i in now.origin(s.start, s.end)})
        flagged = self._best.verdict.flagged_claims
        self._written, error = await self._writer.repairs(
            self._best.passage,
            {i: now.places[i] for i in targets},
            [part for claim in flagged for part in claim.flagged_parts],
            documents,
        )
        if error:
            self._errors.append(error)
        if not self._written:
            return None
        return await self._with_repairs(number, self._written, documents)

    async def _with_repairs(
        self,
        number: int | None,
        written: Mapping[int, Replacement],
        documents: Sequence[Document],
    ) -> Candidate:
        """Return the best answer with further repairs, not yet checked."""
        draft = self._draft.passage
        repairs = without_repeats(draft, {**self._best.repairs, **written})
        unsaid = self._best.unsaid.difference(written).union(
            i for i, repair in written.items() if not repair.text
        )
        abstentions = self._abstentions(unsaid)
        repairs |= {i: Replacement(says) for i, says in abstentions.items()}
        repaired = RepairedText.of(draft, repairs, floor=self._shown)
        passage = await split_text(repaired.text, self._policy)
        named = _named(passage, repaired, {i: r.named for i, r in repairs.items()})
        known = " ".join([self._question, *(document.text for document in documents)])
        abstains = frozenset(
            i
            for i, s in enumerate(passage.sentences)
            if (origin := repaired.origin(s.start, s.end))
            and (
                all(o in abstentions for o in origin)
                or (
                    any(o in repairs for o in origin)
                    and self._is_refusal(s.text)
                    and not claims_more(s.text, known)
                )
            )
        )
        return Candidate(
            passage,
            self._best.verdict,
            named,
            repairs,
            repaired.places,
            abstains,
            number,
            unsaid,
            self._claims_nothing(passage, abstains),
        )

    def _abstentions(self, unsaid: frozenset[int]) -> dict[int, str]:
        """Return abstentions in place of draft sentences that no document mentions.

        Users are told if nothing is left, or if one of several questions is no longer answered. If
        the documents are about something else, nothing is said, because they do not show that.
        """
        chosen, draft = self._action.abstention, self._draft.passage
        if chosen is None or not unsaid or not self._is_about_it:
            return {}
        asked = questions_in(self._question)
        if len(asked) < 2 and not self._claiming <= set(unsaid):
            return {}
        if len(asked) < 2 or chosen != "auto":
            return {min(unsaid): abstention(self._question) if chosen == "auto" else chosen}
        abstentions: dict[int, str] = {}
        claiming = sorted(self._claiming)
        for i in sorted(unsaid.intersection(claiming)):
            if draft.sentences[i].unit in ("sentence", "item"):
                place = claiming.index(i) if len(claiming) == len(asked) else None
                part = nearest_question(draft.sentences[i].text, asked, place)
                said = abstention(self._question, part)
                abstentions |= {} if said in abstentions.values() else {i: said}
        return abstentions

    def _is_refusal(self, text: str) -> bool:
        return non_claim_kind(text, is_open=True, asked=self._question) == "refusal"

    def _claims_nothing(self, passage: Passage, abstains: Collection[int]) -> bool:
        """Return whether an answer says that the documents have no answer, and nothing else."""
        return bool(abstains) and all(
            i in abstains or non_claim_kind(s.text, is_open=True, asked=self._question)
            for i, s in enumerate(passage.sentences)
        )

    async def _checked(self, candidate: Candidate, documents: Sequence[Document]) -> Candidate:
        """Check a new answer; undoubted sentences of the best one keep their verdicts."""
        best, passage = self._best.verdict, candidate.passage
        if candidate.is_abstention:
            said = tuple(map(_abstention_verdict, passage.sentences))
            reason = "the documents do not say what was asked"
            self._record(decision="skipped")
            return replace(candidate, verdict=Verdict("skipped", None, reason, sentences=said))
        kept: dict[int, SentenceVerdict] = {}
        for known in (best, candidate.verdict):
            kept |= unchanged_verdicts(passage, known, in_doubt(known, self._policy.threshold))
        kept |= {i: _abstention_verdict(passage.sentences[i]) for i in candidate.abstains}
        measure, resample = self._rechecker.measure, self._rechecker.resample
        verdict = await measure(self._check, passage, kept, documents)
        if not verdict.flagged:
            question = self._writer.question(documents)
            verdict = combined(verdict, await resample(self._check, passage, kept, question))
        self._record(score_after=verdict.score, decision=verdict.decision)
        return replace(candidate, verdict=verdict)


def _names_any(found: SearchResult, names: Sequence[str]) -> bool:
    return any(mentions_name(name, full_text(one)) for one in found.documents for name in names)


def _abstention_verdict(sentence: Sentence) -> SentenceVerdict:
    why = "says what the documents do not tell"
    return SentenceVerdict(sentence.text, sentence.start, sentence.end, reason=why)


def _named(
    passage: Passage, repaired: RepairedText, named: Mapping[int, tuple[str, ...]]
) -> dict[int, tuple[str, ...]]:
    """Return the sentences that were written from documents, with the documents cited for them."""
    found: dict[int, tuple[str, ...]] = {}
    for i, sentence in enumerate(passage.sentences):
        origins = [o for o in repaired.origin(sentence.start, sentence.end) if o in named]
        if origins:
            found[i] = tuple(dict.fromkeys(name for o in origins for name in named[o]))
    return found


async def split_text(text: str, policy: Policy) -> Passage:
    """Split an answer into sentences, as the policy says."""
    split = partial(Passage.of, text, splitter=policy.splitter)
    return await compute(split, chars=SPLITTING * len(text))


def attributes_of(verdict: Verdict) -> dict[str, AttributeValue]:
    """Return a span's attributes for a regeneration."""
    attempts = verdict.regeneration.attempts if verdict.regeneration else ()
    usage = sum((attempt.usage for attempt in attempts), Usage())
    return {
        "resay.regenerate.attempts": len(attempts),
        "resay.regenerate.adopted": verdict.regenerated,
        "resay.decision": verdict.decision,
        "resay.score": verdict.score,
        "resay.calls": usage.calls,
        "resay.cost_usd": usage.cost_usd,
    }
