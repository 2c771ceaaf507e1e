"""Repairs a flagged answer from documents."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from resay._internal.telemetry import span
from resay.core.documents import Document
from resay.core.mentions import mentions_name
from resay.core.non_claims import non_claim_kind
from resay.core.passage import Passage, Sentence
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.verdict import Verdict
from resay.engine.actions import Regenerated
from resay.engine.check import Check
from resay.engine.regeneration.asked_questions import (
    asked_about,
    nearest_question,
    with_names,
)
from resay.engine.regeneration.candidate import Candidate, in_doubt, split_text, unchanged_verdicts
from resay.engine.regeneration.prompts import abstention
from resay.engine.regeneration.queries import search_queries
from resay.engine.regeneration.rechecking import (
    Rechecker,
    claims_more,
    combined,
)
from resay.engine.regeneration.record import attributes_of
from resay.engine.regeneration.repair import Repair
from resay.engine.regeneration.replacements import RepairedText, Replacement, without_repeats
from resay.engine.regeneration.search import DocumentSearch, SearchResult, full_text
from resay.engine.regeneration.standalone_question import StandaloneQuestion, standalone_question
from resay.engine.regeneration.subjects import (
    is_proper,
    names_of,
    questions_in,
    subject_of,
    without_values,
)
from resay.engine.regeneration.writer import DocumentWriter
from resay.policy import Policy, Regenerate
from resay.retrieval import AdaptedRetriever

_MAX_SUBJECTS = 2
_SHORT_QUESTION = 300


class DocumentRegenerator:
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

    async def run(self, text: str, verdict: Verdict, check: Check, *, shown: int) -> Regenerated:
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
        with span("resay.regenerate", {"resay.regenerate.mode": self._action.mode}) as active_span:
            draft = Candidate(await split_text(text, self._policy), verdict)
            document_search = DocumentSearch(self._action, self._retriever, check.request.tenant)
            work = _DocumentRepair(
                self._policy, self._action, check, draft, shown, self._rechecker, document_search
            )
            best = await work.run()
            active_span.set(attributes_of(best.verdict))
            return best


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
        self._writer = DocumentWriter(action.writer, check, action.edition)
        self._standalone: StandaloneQuestion | None = None
        self._is_about_it = True
        self._written: Mapping[int, Replacement] = {}

    async def _try(self, number: int) -> bool:
        doubtful = self._doubtful()
        if not doubtful:
            self._errors.append("what is in doubt was shown already")
            return False
        if self._standalone is None:
            check = self._check
            self._standalone = await standalone_question(
                check.request, self._action.writer, check.evidence
            )
            if self._standalone.error:
                self._errors.append(self._standalone.error)
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
        repaired = RepairedText(candidate.passage.text, candidate.spans)
        undone: set[int] = set()
        for sentence in candidate.verdict.sentences:
            if sentence.flagged:
                undone.update(repaired.origin(sentence.start, sentence.end))
        remaining = {i: repair for i, repair in self._written.items() if i not in undone}
        if not remaining or len(remaining) == len(self._written):
            return candidate
        partial = await self._with_repairs(candidate.attempt, remaining, documents)
        return await self._checked(replace(partial, verdict=candidate.verdict), documents)

    def _doubtful(self) -> tuple[int, ...]:
        """Return the sentences of the best answer to repair that were not shown yet."""
        sentences = self._best.verdict.sentences
        doubtful = in_doubt(self._best.verdict, self._policy.threshold)
        return tuple(i for i in doubtful if sentences[i].start >= self._shown)

    @property
    def _question(self) -> str:
        return self._standalone.text if self._standalone else ""

    async def _search(self, doubtful: Sequence[int]) -> tuple[Document, ...]:
        sentences = self._best.passage.sentences
        texts = [sentences[i].text for i in doubtful]
        message = self._standalone.search_text if self._standalone else ""
        entity = self._check.context.entity
        names = names_of(message, entity)
        topic = asked_about(message, names)
        bare = [
            without_values(text, self._question, self._contradicted_words(i)) or topic
            for i, text in zip(doubtful, texts, strict=True)
        ]
        # Documents may use the words of a short question, with another answer.
        questions = questions_in(self._question) if len(self._question) <= _SHORT_QUESTION else []
        searched = [
            *search_queries(topic, bare),
            *search_queries("", [with_names(question, names) for question in questions]),
            *search_queries(topic, texts),
        ]
        queries = tuple(dict.fromkeys(searched))
        named = [subject for text in bare if (subject := subject_of(text))]
        subjects = tuple(dict.fromkeys([*names, *named]))
        result = await self._document_search.search(queries, subjects)
        if subjects and not result.failures and not _names_any(result, subjects):
            # Pages about the subject may contain none of the question's words.
            queries = tuple(dict.fromkeys([*queries, *subjects[:_MAX_SUBJECTS]]))
            result = await self._document_search.search(queries, subjects)
        # A question that names nothing, such as "How do I get a refund?", is about the documents.
        has_proper_name = bool(entity) or any(is_proper(name, message) for name in names)
        self._is_about_it = not has_proper_name or _names_any(result, subjects)
        if result.error:
            self._errors.append(result.error)
        self._documents |= {document.id: document for document in result.documents}
        self._record(queries=queries, documents=tuple(d.id for d in result.documents))
        return result.documents

    def _contradicted_words(self, index: int) -> list[str]:
        """Return the words of a sentence of the best answer that evidence contradicts."""
        text, claims = self._best.passage.text, self._best.verdict.claims
        contradictions = [
            c.contradicted_by for c in claims if c.sentence == index and c.contradicted_by
        ]
        return [
            text[slice(*contradiction.claim_span)]
            for contradiction in contradictions
            if contradiction.claim_span
        ]

    async def _measure_draft(self, doubtful: Sequence[int], documents: Sequence[Document]) -> bool:
        """Check the draft against the documents; return whether it is still flagged.

        Only scores measured in the same way are comparable, and the first flag may have been wrong.
        """
        passage = self._draft.passage
        unchanged = unchanged_verdicts(passage, self._draft.verdict, doubtful)
        verdict = await self._rechecker.measure(self._check, passage, unchanged, documents)
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
        reason = candidate and self._unfit(candidate)
        if reason:
            self._errors.append(reason)
            return None
        return candidate

    async def _rewritten(self, number: int, documents: Sequence[Document]) -> Candidate | None:
        written = await self._writer.answer(documents, index=number)
        passage = await split_text(written.text, self._policy)
        citations = {
            i: tuple(documents[n - 1].id for n in written.citations(s.start, s.end))
            for i, s in enumerate(passage.sentences)
        }
        allowed = " ".join([self._question, *(document.text for document in documents)])
        abstains = frozenset(
            i
            for i, s in enumerate(passage.sentences)
            if (written.abstains(s.start, s.end) or self._is_refusal(s.text))
            and not claims_more(s.text, allowed)
        )
        return replace(
            Candidate(passage, self._best.verdict, citations, abstains=abstains, attempt=number),
            is_abstention=self._claims_nothing(passage, abstains),
        )

    async def _repaired(self, number: int, documents: Sequence[Document]) -> Candidate | None:
        now = RepairedText.of(self._draft.passage, self._best.repairs, floor=self._shown)
        spans = [self._best.passage.sentences[i] for i in self._doubtful()]
        targets = sorted({i for s in spans for i in now.origin(s.start, s.end)})
        flagged = self._best.verdict.flagged_claims
        self._written, error = await self._writer.repairs(
            self._question,
            self._best.passage,
            {i: now.spans[i] for i in targets},
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
        removed = self._best.removed.difference(written).union(
            i for i, repair in written.items() if not repair.text
        )
        abstentions = self._abstentions(removed)
        repairs |= {i: Replacement(says) for i, says in abstentions.items()}
        repaired = RepairedText.of(draft, repairs, floor=self._shown)
        passage = await split_text(repaired.text, self._policy)
        citations = _citations_by_sentence(
            passage, repaired, {i: repair.citations for i, repair in repairs.items()}
        )
        allowed = " ".join([self._question, *(document.text for document in documents)])
        abstains = frozenset(
            i
            for i, s in enumerate(passage.sentences)
            if (origin := repaired.origin(s.start, s.end))
            and (
                all(o in abstentions for o in origin)
                or (
                    any(o in repairs for o in origin)
                    and self._is_refusal(s.text)
                    and not claims_more(s.text, allowed)
                )
            )
        )
        return Candidate(
            passage,
            self._best.verdict,
            citations,
            repairs,
            repaired.spans,
            abstains,
            number,
            removed,
            self._claims_nothing(passage, abstains),
        )

    def _abstentions(self, removed: frozenset[int]) -> dict[int, str]:
        """Return abstentions in place of draft sentences that no document mentions.

        Users are told if nothing is left, or if one of several questions is no longer answered. If
        the documents are about something else, nothing is said, because they do not show that.
        """
        chosen, draft = self._action.abstention, self._draft.passage
        if chosen is None or not removed or not self._is_about_it:
            return {}
        questions = questions_in(self._question)
        if len(questions) < 2 and not self._claiming <= set(removed):
            return {}
        if len(questions) < 2 or chosen != "auto":
            return {min(removed): abstention(self._question) if chosen == "auto" else chosen}
        abstentions: dict[int, str] = {}
        claiming = sorted(self._claiming)
        for i in sorted(removed.intersection(claiming)):
            if draft.sentences[i].unit in ("sentence", "item"):
                position = claiming.index(i) if len(claiming) == len(questions) else None
                part = nearest_question(draft.sentences[i].text, questions, position)
                sentence = abstention(self._question, part)
                abstentions |= {} if sentence in abstentions.values() else {i: sentence}
        return abstentions

    def _is_refusal(self, text: str) -> bool:
        return non_claim_kind(text, is_open=True, question=self._question) == "refusal"

    def _claims_nothing(self, passage: Passage, abstains: Collection[int]) -> bool:
        """Return whether an answer says that the documents have no answer, and nothing else."""
        return bool(abstains) and all(
            i in abstains or non_claim_kind(s.text, is_open=True, question=self._question)
            for i, s in enumerate(passage.sentences)
        )

    async def _checked(self, candidate: Candidate, documents: Sequence[Document]) -> Candidate:
        """Check a new answer; undoubted sentences of the best one keep their verdicts."""
        best, passage = self._best.verdict, candidate.passage
        if candidate.is_abstention:
            self._record(decision="skipped")
            verdict = Verdict(
                decision="skipped",
                score=None,
                reason="the documents do not say what was asked",
                sentences=tuple(map(_abstention_verdict, passage.sentences)),
            )
            return replace(candidate, verdict=verdict)
        unchanged: dict[int, SentenceVerdict] = {}
        for earlier in (best, candidate.verdict):
            doubtful = in_doubt(earlier, self._policy.threshold)
            unchanged |= unchanged_verdicts(passage, earlier, doubtful)
        for i in candidate.abstains:
            unchanged[i] = _abstention_verdict(passage.sentences[i])
        verdict = await self._rechecker.measure(self._check, passage, unchanged, documents)
        if not verdict.flagged:
            question = self._writer.question(documents)
            resampled = await self._rechecker.resample(self._check, passage, unchanged, question)
            verdict = combined(verdict, resampled)
        self._record(score_after=verdict.score, decision=verdict.decision)
        return replace(candidate, verdict=verdict)


def _names_any(result: SearchResult, names: Sequence[str]) -> bool:
    texts = [full_text(document) for document in result.documents]
    return any(mentions_name(name, text) for text in texts for name in names)


def _abstention_verdict(sentence: Sentence) -> SentenceVerdict:
    reason = "states that the documents do not contain the answer"
    return SentenceVerdict(sentence.text, sentence.start, sentence.end, reason=reason)


def _citations_by_sentence(
    passage: Passage, repaired: RepairedText, citations: Mapping[int, tuple[str, ...]]
) -> dict[int, tuple[str, ...]]:
    """Return the sentences that were written from documents, with the documents cited for them."""
    by_sentence: dict[int, tuple[str, ...]] = {}
    for i, sentence in enumerate(passage.sentences):
        documents: dict[str, None] = {}
        for origin in repaired.origin(sentence.start, sentence.end):
            if origin in citations:
                by_sentence[i] = ()
                documents |= dict.fromkeys(citations[origin])
        if i in by_sentence:
            by_sentence[i] = tuple(documents)
    return by_sentence
