"""The result of a check: scores, decision, reasons, cost, and how the answer was repaired."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from html import escape
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, cast

from resay._internal.notify import collecting, last
from resay.core.documents import Document
from resay.core.former_keys import with_current_keys
from resay.core.references import Reference
from resay.core.usage import Usage
from resay.errors import ConfigurationError, ResayError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Decision = Literal["consistent", "flagged", "inconclusive", "skipped"]


UnscoredKind = Literal[
    "prose",
    "heading",
    "code",
    "table",
    "rule",
    "math",
    "html",
    "definition",
    "sentence",
    "field",
    "reasoning",
]
_UNSCORED_NAMES: Mapping[UnscoredKind, str] = {
    "prose": "text fragment",
    "code": "code block",
    "math": "formula",
    "html": "HTML block",
    "definition": "link definition",
}


@dataclass(frozen=True, slots=True)
class Unscored:
    """A span of the response, with a letter or a digit in it, that was not scored.

    Attributes:
        text: The span, exactly `response[start:end]`.
        start: Code-point offset of its first character in the response.
        end: Code-point offset after its last character.
        kind: A block without sentences (`heading`, `code`, `table`, `rule`, `math`, `html`,
            `definition`); a `sentence` that no method scored; a `field` of an object that the
            policy does not compare; the model's `reasoning` in the text, with the marks around it
            and around the answer; or other `prose`, such as the label of a footnote.
    """

    text: str
    start: int
    end: int
    kind: UnscoredKind

    @property
    def called(self) -> str:
        """The name of its kind in a sentence."""
        return _UNSCORED_NAMES.get(self.kind, self.kind)

    def moved(self, by: int) -> Unscored:
        """Return the same span after `by` more code points."""
        return replace(self, start=self.start + by, end=self.end + by)


def counted(unscored: Iterable[Unscored]) -> str:
    """Return the number of spans of each kind, without reasoning: `1 table, 2 headings`."""
    counts = Counter(stretch.called for stretch in unscored if stretch.kind != "reasoning")
    return ", ".join(f"{n} {name}{'s' * (n > 1)}" for name, n in counts.items())


Mode = Literal["repair", "rewrite", "verify", "consistent"]
"""How an answer is regenerated: doubtful sentences are replaced, from documents or samples
(repair), the whole answer is rewritten (rewrite), sentences are replaced by short answers to
questions about them (verify), or they are dropped or hedged (consistent)."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A sentence that was replaced or removed.

    Attributes:
        before: The sentence as the model first wrote it, exactly `draft[start:end]`.
        after: Its replacement; empty if it was removed.
        start: Code-point offset of its first character in the draft.
        end: Code-point offset after its last character.
        sources: The ids of the documents that support the replacement.
    """

    before: str
    after: str
    start: int
    end: int
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt at a better answer.

    Attributes:
        reason: The reason of the verdict that it tries to improve, in one line without content.
        queries: The search queries. Contain words of the answer.
        documents: The ids of the documents found, best first.
        score_before: The passage score of the answer to repair, measured with the documents as soon
            as there are any; None if it has none.
        score_after: The passage score of the new answer; None if it has none.
        decision: The decision on the new answer; None if there is no new answer.
        error: What failed or was left out, in one line without content, or None.
        usage: The cost of the attempt: writing and checking.
        elapsed_s: Wall-clock seconds.
    """

    reason: str
    queries: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    score_before: float | None = None
    score_after: float | None = None
    decision: Decision | None = None
    error: str | None = None
    usage: Usage = field(default_factory=Usage)
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Regeneration:
    """The repair, or attempted repair, of a flagged answer.

    Attributes:
        mode: The mode of the regeneration.
        attempts: The attempts, in order.
        adopted: The attempt whose answer was returned, from 0; None if none was better than the
            first answer.
        reason: Why the first answer was flagged.
        score: The passage score of the first answer, according to the chain.
        draft: The first answer.
        edits: The changes to it, in order; empty if the answer was rewritten as a whole.
        sources: The documents that the new answer cites, in the order of their first mention; their
            metadata is reduced to texts and numbers.
        removed: The share of the first answer that was removed because no document mentions it, by
            characters, in [0, 1].
        abstains: Whether the new answer only says that the requested information is not known.
        conflicts: The ids of documents that contradict each other about a claim of the answer.
        by: The evidence used for the repair.
    """

    mode: Mode
    attempts: tuple[Attempt, ...]
    adopted: int | None = None
    reason: str = ""
    score: float | None = None
    draft: str = field(default="", repr=False)
    edits: tuple[Edit, ...] = ()
    sources: tuple[Document, ...] = ()
    removed: float = 0.0
    abstains: bool = False
    conflicts: tuple[str, ...] = ()
    by: Literal["documents", "samples"] = "documents"

    def without_draft(self) -> Regeneration:
        """Return a copy without the words of the first answer."""
        return replace(
            self,
            # Search queries contain words of the answer.
            attempts=tuple(replace(attempt, queries=()) for attempt in self.attempts),
            draft="",
            edits=tuple(replace(edit, before="") for edit in self.edits),
        )

    def without_content(self) -> Regeneration:
        """Return a copy without the text of answers, searches and documents."""
        bare = self.without_draft()
        return replace(
            bare,
            edits=tuple(replace(edit, after="") for edit in bare.edits),
            sources=tuple(replace(source, text="", metadata={}) for source in self.sources),
        )


EvidenceKind = Literal["sample", "reference", "second_opinion", "answer"]
"""A sample of the model that wrote the response, a trusted text, another model's statement, or a
short answer of the model to a question about a claim."""


@dataclass(frozen=True, slots=True)
class UnsupportedSpan:
    """A span of the response for which a method found no support.

    Attributes:
        start: Code-point offset of its first character in the response.
        end: Code-point offset after its last character.
        score: In [0, 1], 1 = surely unsupported.
    """

    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Scores:
    """One scorer's result for a passage.

    Scores are in [0, 1], 1 = surely hallucinated; None means that the method has no opinion.

    Attributes:
        sentences: One score per sentence of the passage; empty if the method only scores passages.
        passage: The passage score; None means the mean of the sentence scores (SelfCheckGPT, Eq.
            12).
        raw: The method's own unbounded sentence values, if it has any.
        raw_passage: The same for the passage.
        columns: For methods that compare with one sample at a time, one column per sample, each as
            long as `sentences`.
        silent: Per sentence, the indexes of the columns whose sample does not mention it; empty if
            the method does not report it, or if all samples mention all sentences.
        parts: Further scores that contributed to those of the sentences, by name, for the verdict's
            `scores`; each as long as `sentences`.
        spans: For word-level methods, the unsupported spans of each sentence.
        reasons: Per sentence, the reason for its score in one line, or None. Contains words of the
            passage.
        passage_reason: The same for the passage.
        failures: Kinds of failed calls, such as `ProviderTimeoutError`, one entry per call.
        lost: The indexes of sentences without a score because calls failed or answers could not be
            parsed; None for all without a score if there are failures. Excludes sentences about
            which the method has no opinion.
        unanswered: Per sentence, why it has no score until a question about it is answered, without
            content, or None; empty if nothing is asked.
        undetermined: Number of judge answers that could not be parsed.
        error: Why these scores support no decision, without content; None if they do.
        grounds: Per sentence, the references that mention it; empty if the method has none.
        contradictions: Per sentence, the contradicting statement, if the method knows it; or empty.
        denied: Per sentence, whether a text that it was compared with says something else, as
            opposed to nothing; empty if the method does not tell these apart.
        verdict_reason: A phrase without content for the verdict's reason, or None.
    """

    sentences: tuple[float | None, ...] = ()
    passage: float | None = None
    raw: tuple[float, ...] = ()
    raw_passage: float | None = None
    columns: tuple[tuple[float | None, ...], ...] = ()
    silent: tuple[tuple[int, ...], ...] = ()
    parts: Mapping[str, tuple[float | None, ...]] = field(
        default_factory=dict[str, tuple[float | None, ...]]
    )
    spans: tuple[tuple[UnsupportedSpan, ...], ...] = ()
    reasons: tuple[str | None, ...] = ()
    passage_reason: str | None = None
    failures: tuple[str, ...] = ()
    lost: tuple[int, ...] | None = None
    unanswered: tuple[str | None, ...] = ()
    undetermined: int = 0
    error: str | None = None
    grounds: tuple[tuple[Grounds, ...], ...] = ()
    contradictions: tuple[Contradiction | None, ...] = ()
    denied: tuple[bool, ...] = ()
    verdict_reason: str | None = None

    def __post_init__(self) -> None:
        for score in (*self.sentences, self.passage):
            # NaN fails the comparison too
            if score is not None and not 0.0 <= score <= 1.0:
                raise ValueError(f"a score must lie in [0, 1] or be None, not {score!r}")

    @property
    def undecided(self) -> tuple[int, ...]:
        """The indexes of the sentences whose score was lost."""
        if self.lost is not None:
            return self.lost
        was_lost = bool(self.failures or self.undetermined)
        return tuple(i for i, s in enumerate(self.sentences) if s is None and was_lost)

    @property
    def values(self) -> tuple[float | None, ...]:
        """The method's own unbounded sentence values if it has any, else the scores."""
        return self.raw or self.sentences

    @property
    def passage_value(self) -> float | None:
        """The method's own unbounded passage value if it has one, else the passage score."""
        return self.passage_score if self.raw_passage is None else self.raw_passage

    @property
    def passage_score(self) -> float | None:
        """The passage score; by default the mean of the available sentence scores (Eq. 12)."""
        if self.passage is not None:
            return self.passage
        return mean_score(self.sentences)


# Digits behind these are noise of floating-point arithmetic.
_DECIMALS = 12


def mean_score(scores: Sequence[float | None]) -> float | None:
    """Return the mean of the available scores, or None if there are none."""
    known = [s for s in scores if s is not None]
    return without_noise(fmean(known)) if known else None


def without_noise(score: float) -> float:
    """Return a score without the digits that floating-point arithmetic leaves behind its own."""
    return round(score, _DECIMALS)


def over(score: float | None, threshold: float | None) -> bool:
    """Return whether a score exceeds a threshold; False if either is missing.

    Three claims of 0.4 do not exceed 0.4, though the last bit of their mean does.
    """
    if score is None or threshold is None:
        return False
    return without_noise(score) > without_noise(threshold)


def digits_to_tell(score: float, threshold: float) -> int:
    """Return how many decimals, at least two, tell a score from a threshold that it exceeds."""
    for digits in range(2, _DECIMALS):
        if round(score, digits) != round(threshold, digits):
            return digits
    return 2


def tally(kinds: Iterable[str]) -> str:
    """Return the count of each kind, most frequent first: `TimeoutError x3, KeyError x1`."""
    return ", ".join(f"{kind} x{count}" for kind, count in Counter(kinds).most_common())


Band = Literal["supported", "doubtful", "unsupported", "contradicted"]
"""The band of a score. Up to `threshold.doubtful` it is supported, above it doubtful. Above
`threshold.sentence` it is flagged: unsupported if nobody says it, contradicted if somebody denies
it."""
FLAGGED: frozenset[Band | None] = frozenset({"unsupported", "contradicted"})
"""The bands of what is flagged."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """A reference that mentions a claim.

    Attributes:
        reference: Its index among the verdict's references.
        supports: Whether it supports the claim; otherwise it says something else.
        start: The start of the relevant words in its text, in code points, if known.
        end: Their end (exclusive).
    """

    reference: int
    supports: bool
    start: int | None = None
    end: int | None = None


ContraryKind = Literal["number", "date", "name", "negation", "other"]
"""The kind of difference between two sentences."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A statement of a sample, a reference or another model that differs from a flagged claim.

    Attributes:
        source: Its origin: a sample, a reference, the policy's second model, or a short answer to a
            question about the claim.
        index: The index of the sample or reference, from 0.
        text: The sentence nearest to the flagged claim.
        kind: The kind of difference: a `number`, a `date`, a `name`, the `negation`, or `other`.
        claimed: The span of the words in question in the response, in code points: "1923". None if
            no words can be singled out, or if the other side says more.
        said: The span of the words in `text` that differ from them: "1932".
        model: The name of the policy's second model, if it made the statement.
    """

    source: EvidenceKind
    index: int
    text: str
    kind: ContraryKind = "other"
    claimed: tuple[int, int] | None = None
    said: tuple[int, int] | None = None
    model: str | None = None

    @property
    def speaker(self) -> str:
        """The source of the statement: `sample 2`, `reference 1`, or a model's name."""
        if self.source == "answer":
            return "the model, asked about it,"
        return self.model or f"{self.source} {self.index + 1}"

    def moved(self, by: int) -> Contradiction:
        """Return the contradiction of the same words after `by` more code points."""
        if self.claimed is None:
            return self
        start, end = self.claimed
        return replace(self, claimed=(start + by, end + by))


PartKind = Literal["number", "date", "name", "negation", "link", "other"]
"""What the words of a part are."""


@dataclass(frozen=True, slots=True)
class Part:
    """Words of a flagged claim that the evidence speaks for or against.

    Attributes:
        start: Code-point offset of their first character in the response.
        end: Code-point offset after their last character.
        band: The verdict on them; what contradicts them is the claim's `contradicted_by`.
        kind: What they are.
        score: In [0, 1], 1 = surely unsupported; None if the method gives words no scores.
    """

    start: int
    end: int
    band: Band
    kind: PartKind = "other"
    score: float | None = None

    @property
    def flagged(self) -> bool:
        """Whether nobody says them, or somebody denies them."""
        return self.band in FLAGGED

    def moved(self, by: int) -> Part:
        """Return the same part after `by` more code points."""
        return replace(self, start=self.start + by, end=self.end + by)


@dataclass(frozen=True, slots=True)
class SentenceVerdict:
    """The verdict on a sentence of the passage.

    Attributes:
        text: The sentence, exactly `response[start:end]`.
        start: Code-point offset of its first character in the response.
        end: Code-point offset after its last character.
        score: In [0, 1], 1 = surely hallucinated; None if no scorer had an opinion.
        flagged: Whether the score is above `threshold.sentence`.
        by: The method that gave the score.
        reason: That method's reason for the score, in one line.
        contradicted_by: For a flagged sentence, the nearest statement that says something else;
            None if there is none, or if the method found that nobody speaks of it.
        citations: The ids of the supporting documents; only for sentences written from documents.
        scores: The score of each method, in [0, 1], in the order in which they ran; for a method
            that occurs twice in the chain, the last one. `probe` is the share of the short answers
            to a question about the sentence that contradict it.
        band: If flagged, `contradicted` where a text that it was compared with says something
            else, and `unsupported` where none says it. Else `doubtful` if the score is above
            `threshold.doubtful`, or `supported`. None if nothing was decided; the score is then
            what was found so far.
    """

    text: str
    start: int
    end: int
    score: float | None = None
    flagged: bool = False
    by: str | None = None
    reason: str | None = None
    contradicted_by: Contradiction | None = None
    citations: tuple[str, ...] = ()
    scores: dict[str, float] = field(default_factory=dict[str, float], hash=False)
    band: Band | None = None

    @property
    def has_text(self) -> bool:
        """Whether the verdict has the text of the sentence."""
        return len(self.text) == self.end - self.start

    def moved(self, by: int) -> SentenceVerdict:
        """Return the verdict on the same sentence after `by` more code points."""
        return replace(
            self,
            start=self.start + by,
            end=self.end + by,
            contradicted_by=self.contradicted_by and self.contradicted_by.moved(by),
        )


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """The verdict on a claim: a unit of the response, such as a sentence, an item or a cell.

    Attributes:
        text: The claim, completed with words from elsewhere in the response: the lead-in of its
            list, the heads of its row and column.
        start: Code-point offset of the first of its own words in the response.
        end: Code-point offset after the last of them.
        unit: The kind of its sentence: `sentence`, an `item` of a list, a `heading`, the `head` or
            a `row` of a table; or `code` for a name in code. A claim in a code block is in no
            sentence, and its `sentence` is -1.
        kind: `fact`; `hedged` if stated as uncertain; or a kind that claims nothing and is not
            scored: `filler`, `refusal`, `question`, `creative`, `label`.
        score: In [0, 1], 1 = surely hallucinated; None if no scorer had an opinion.
        flagged: Whether the score is above `threshold.sentence`.
        by: The method that gave the score.
        reason: That method's reason for the score, in one line.
        contradicted_by: As for a sentence.
        scores: The score of each method, as for a sentence.
        sentence: The index of its sentence among the verdict's sentences.
        band: As for a sentence.
        grounds: The references that mention it.
        parts: Of a flagged claim, the words for and against which there is evidence, in order;
            empty if all of it is in doubt.
    """

    text: str
    start: int
    end: int
    unit: str = "sentence"
    kind: str = "fact"
    score: float | None = None
    flagged: bool = False
    by: str | None = None
    reason: str | None = None
    contradicted_by: Contradiction | None = None
    scores: dict[str, float] = field(default_factory=dict[str, float], hash=False)
    sentence: int = 0
    band: Band | None = None
    grounds: tuple[Grounds, ...] = ()
    parts: tuple[Part, ...] = ()

    @property
    def flagged_parts(self) -> tuple[Part, ...]:
        """The parts that are in doubt; none if the evidence does not tell them from the others."""
        return tuple(part for part in self.parts if part.flagged)

    @property
    def spans_in_doubt(self) -> tuple[tuple[int, int], ...]:
        """The stretches of the response that are in doubt, in order.

        These are the flagged parts; without any, all of a flagged claim.
        """
        if not self.flagged:
            return ()
        parts = tuple((part.start, part.end) for part in self.flagged_parts)
        return parts or ((self.start, self.end),)

    def moved(self, by: int) -> ClaimVerdict:
        """Return the verdict on the same claim after `by` more code points."""
        return replace(
            self,
            start=self.start + by,
            end=self.end + by,
            contradicted_by=self.contradicted_by and self.contradicted_by.moved(by),
            parts=tuple(part.moved(by) for part in self.parts),
        )


def pieces(text: str, start: int, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    """Cut a text where spans begin and end.

    Args:
        text: The text.
        start: Its offset in the response.
        spans: Spans of the response, in order.

    Yields:
        Each piece that is not empty, and whether it is in a span.
    """
    position = 0
    for begin, end in spans:
        first, last = max(position, begin - start), min(len(text), end - start)
        if first < last:
            if position < first:
                yield text[position:first], False
            yield text[first:last], True
            position = last
    if position < len(text):
        yield text[position:], False


@dataclass(frozen=True, slots=True)
class StepRecord:
    """The record of one step of the chain.

    Attributes:
        method: The scorer's name.
        sentences: The number of sentences that it was given.
        score: Its passage score over those sentences.
        usage: The cost of its judge's answers and its probes. A retried call counts once here, and
            every time in the verdict's usage.
        elapsed_s: Wall-clock seconds, including the wait for samples.
        failures: Kinds of failed calls, with their counts.
        undetermined: Number of judge answers that could not be parsed.
        error: Why the step's scores were not used, or None.
        reason: The reason for a passage score in one line, or None. Contains words of the response.
        skip_reason: Why the step was skipped, by its `when` or because it had nothing to do; or
            None.
        verdict_reason: A phrase without content for the verdict's reason, or None.
    """

    method: str
    sentences: int
    score: float | None = None
    usage: Usage = field(default_factory=Usage)
    elapsed_s: float = 0.0
    failures: dict[str, int] = field(default_factory=dict[str, int])
    undetermined: int = 0
    error: str | None = None
    reason: str | None = None
    skip_reason: str | None = None
    verdict_reason: str | None = None

    @classmethod
    def joined(cls, records: Sequence[StepRecord]) -> StepRecord:
        """Merge the records of one step's concurrent runs, one for each sentence.

        Args:
            records: The records of the runs, at least one.
        """
        failures: Counter[str] = Counter()
        for record in records:
            failures.update(record.failures)
        skip_reasons = [record.skip_reason for record in records]
        return cls(
            method=records[0].method,
            sentences=sum(record.sentences for record in records),
            score=mean_score([record.score for record in records]),
            usage=sum((record.usage for record in records), Usage()),
            elapsed_s=max(record.elapsed_s for record in records),
            failures=dict(failures),
            undetermined=sum(record.undetermined for record in records),
            error=next((record.error for record in records if record.error), None),
            skip_reason=skip_reasons[0] if all(skip_reasons) else None,
        )


Via = Literal["litellm", "native", "batch"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check.

    "Consistent" never means "true": a model that is wrong the same way every time agrees with
    itself.

    Attributes:
        decision: `flagged`, `consistent`, `inconclusive` if no honest decision was possible, or
            `skipped` if there is nothing to check: the policy's `when` says so, or the answer has
            no words, like one that calls tools.
        score: The score that was decided on, in [0, 1]: that of the worst claim. It is the mean
            score instead if only that is above its threshold, or if claims have no scores. None if
            nothing was decided, or nothing was compared.
        reason: The reason, in one line without content: `passage 0.71 > 0.50 with 5 samples`.
        sentences: The scored sentences in order, including headings and table rows, but not code;
            each has the score of its worst claim. For a structured answer its fields, one line
            each: `address.city: "Paris"`; their offsets refer to these lines.
        samples: Number of samples compared.
        steps: The record of each step of the chain.
        usage: The cost of the check: samples and judge calls, without the main call.
        elapsed_s: Wall-clock seconds of the check.
        via: How samples were drawn: through litellm, with the application's own client or provider
            (`native`), or through a Batch API (`batch`); None if none were drawn.
        regeneration: The repair of a flagged answer; None if it was not attempted.
        claims: The claims of the sentences, in order, at least one per sentence; none for a
            structured answer.
        unscored: The unscored spans of the response, in order: each letter and digit is in a scored
            sentence or in one of these, except for the labels of lists. Only reasoning is listed if
            the answer was not checked at all, or if a method scored its text as a whole.
        references: The trusted texts that claims were compared with, and their origin.
        threshold: What `score` was compared with: the answer is flagged if and only if the score
            is above it. None if there is no score.
        mean_score: The mean of the scores of the claims (SelfCheckGPT, Eq. 12), or the method's own
            score for the whole answer; None if nothing was decided.
    """

    decision: Decision
    score: float | None
    reason: str
    sentences: tuple[SentenceVerdict, ...] = ()
    samples: int = 0
    steps: tuple[StepRecord, ...] = ()
    usage: Usage = field(default_factory=Usage)
    elapsed_s: float = 0.0
    via: Via | None = None
    regeneration: Regeneration | None = None
    unscored: tuple[Unscored, ...] = ()
    claims: tuple[ClaimVerdict, ...] = ()
    references: tuple[Reference, ...] = ()
    threshold: float | None = None
    mean_score: float | None = None

    @property
    def regenerated(self) -> bool:
        """Whether this is the verdict on a regenerated answer."""
        return self.regeneration is not None and self.regeneration.adopted is not None

    @property
    def structured(self) -> bool:
        """Whether `sentences` are the fields of an object."""
        return any(step.method == "fields" for step in self.steps)

    @property
    def flagged(self) -> bool:
        """Whether the response looks hallucinated."""
        return self.decision == "flagged"

    @property
    def inconclusive(self) -> bool:
        """Whether no honest decision was possible. This does not mean that the answer is fine."""
        return self.decision == "inconclusive"

    @property
    def skipped(self) -> bool:
        """Whether there was nothing to check. This does not mean that the answer is fine."""
        return self.decision == "skipped"

    @property
    def unscored_blocks(self) -> tuple[Unscored, ...]:
        """The unscored spans that are not among `sentences` either."""
        known = {sentence.start for sentence in self.sentences}
        return tuple(stretch for stretch in self.unscored if stretch.start not in known)

    @property
    def flagged_claims(self) -> tuple[ClaimVerdict, ...]:
        """The claims whose own score is above the threshold."""
        return tuple(claim for claim in self.claims if claim.flagged)

    @property
    def flagged_names(self) -> tuple[ClaimVerdict, ...]:
        """The flagged claims that are names in code."""
        return tuple(claim for claim in self.flagged_claims if claim.unit == "code")

    @property
    def claims_by_sentence(self) -> dict[int, list[ClaimVerdict]]:
        """The claims of each sentence, in order, by the index of the sentence."""
        by_sentence: dict[int, list[ClaimVerdict]] = {}
        for claim in self.claims:
            by_sentence.setdefault(claim.sentence, []).append(claim)
        return by_sentence

    @property
    def flagged_sentences(self) -> tuple[SentenceVerdict, ...]:
        """The sentences whose own score is above the threshold."""
        return tuple(s for s in self.sentences if s.flagged)

    def to_dict(self, *, content: bool = True) -> dict[str, Any]:
        """Return the verdict as JSON-ready values.

        Args:
            content: Whether to include text of the response, the samples and the judge. Without it,
                offsets and scores remain.

        Returns:
            A dictionary that `Verdict.from_dict` accepts.
        """
        # The caller has the references; their indexes suffice.
        bare = tuple(replace(r, text="", title=None, url=None) for r in self.references)
        shown = replace(self if content else self._without_content(), references=bare)
        data = cast("dict[str, Any]", _to_json_value(shown))
        return data | {"flagged": self.flagged, "inconclusive": self.inconclusive}

    def to_json(self, *, content: bool = True) -> str:
        """Return the verdict as one line of JSON.

        Args:
            content: As for `to_dict`.
        """
        return json.dumps(self.to_dict(content=content))

    @classmethod
    def from_json(cls, text: str | bytes) -> Verdict:
        """Parse the output of `to_json`.

        Raises:
            ConfigurationError: The text is not a verdict.
        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            raise ConfigurationError("not a verdict: must be a JSON object")
        return cls.from_dict(cast("dict[str, Any]", data))

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show."""
        return notebook_html(self)

    def moved(self, by: int) -> Verdict:
        """Return the verdict on the same answer at another place of a text.

        Args:
            by: How far it has moved, in code points. The fields of an object are in no text, and
                stay.
        """
        if by == 0:
            return self
        unscored = tuple(stretch.moved(by) for stretch in self.unscored)
        if self.structured:
            return replace(self, unscored=unscored)
        return replace(
            self,
            sentences=tuple(sentence.moved(by) for sentence in self.sentences),
            claims=tuple(claim.moved(by) for claim in self.claims),
            unscored=unscored,
        )

    def _without_content(self) -> Verdict:
        return replace(
            self,
            sentences=tuple(map(_without_text, self.sentences)),
            claims=tuple(map(_without_text, self.claims)),
            steps=tuple(replace(step, reason=None) for step in self.steps),
            regeneration=self.regeneration and self.regeneration.without_content(),
            unscored=tuple(replace(stretch, text="") for stretch in self.unscored),
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Verdict:
        """Parse the output of `to_dict`, even after a round trip through JSON.

        Raises:
            ConfigurationError: The data is not a verdict.
        """
        from pydantic import ValidationError

        try:
            return _adapter().validate_python(with_current_keys(data))
        except ValidationError as error:
            places = [".".join(map(str, e["loc"])) for e in error.errors(include_input=False)]
        # Raised outside the handler, because its exception contains text of the response.
        raise ConfigurationError(f"not a verdict; check {', '.join(places)}")


class HallucinationBlocked(ResayError):  # noqa: N818 - an outcome on request, not an error
    """The policy withheld the answer and says `exit: raise`.

    Attributes:
        verdict: The verdict. Contains the withheld text; do not show it to end users.
        usage: The total cost, main call and check together.
    """

    is_failure: ClassVar[bool] = False

    def __init__(self, verdict: Verdict, usage: Usage | None = None) -> None:
        super().__init__(f"the answer was withheld: {verdict.reason}")
        self.verdict = verdict
        self.usage = usage or verdict.usage


OnVerdict = Callable[[Verdict], object]
"""A callback for verdicts. It may be async."""


def last_verdict() -> Verdict | None:
    """Return the verdict of the last guarded call in this thread or task.

    That is the verdict of the last answer that was returned, checked, or withheld with an
    exception; for a stream, once it has been read to its end. Other threads and tasks have their
    own, and a verdict from a child task stays in that task: use `verdicts` if a framework runs its
    model in one.

    Returns:
        The verdict; None if there is none yet.

    Example:
        ```python
        text = agent.run_sync("Who designed the Sydney Harbour Bridge?").output
        print(resay.last_verdict().reason)
        ```
    """
    return last()


@contextmanager
def verdicts() -> Generator[list[Verdict], None, None]:
    """Collect the verdicts of guarded calls in this context.

    Includes those of tasks started in it, and of threads that run in a copy of the context, as with
    `asyncio.to_thread`. Other requests are not affected.

    Yields:
        A list to which each verdict is appended.

    Example:
        ```python
        with resay.verdicts() as found:
            agent.run_sync("Who designed the Sydney Harbour Bridge?")
        print([verdict.decision for verdict in found])
        ```
    """
    with collecting() as found:
        yield found


_T = TypeVar("_T", SentenceVerdict, ClaimVerdict)


@cache
def _adapter() -> TypeAdapter[Verdict]:
    from pydantic import TypeAdapter

    return TypeAdapter(Verdict)


_SIMPLE = frozenset({str, int, float, bool, type(None)})


def _to_json_value(value: Any) -> Any:
    """Return a value in the form in which JSON returns it, without tuples and classes.

    `dataclasses.asdict` does the same in three times the time, because it copies immutable values.
    """
    kind = cast("type[object]", type(value))
    if kind in _SIMPLE:
        return value
    if names := _fields_of(kind):
        return {name: _to_json_value(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {key: _to_json_value(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_to_json_value(item) for item in cast("Sequence[Any]", value)]
    return deepcopy(value)


@cache
def _fields_of(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


def _without_text(unit: _T) -> _T:
    return replace(unit, text="", reason=None, contradicted_by=None)


_COLOURS = {"flagged": "#a31d17", "consistent": "#14693c", "inconclusive": "#8a5a00"}


def notebook_html(verdict: Verdict) -> str:
    """Return a verdict as HTML, with all text escaped and what is in doubt in bold type."""
    colour = _COLOURS.get(verdict.decision, "#45617d")
    decision = f'<b style="color:{colour}">{escape(verdict.decision)}</b>'
    head = f"{decision} {_score(verdict.score)} {escape(verdict.reason)}"
    claims = verdict.claims_by_sentence
    rows: list[str] = []
    for i, sentence in enumerate(verdict.sentences):
        rows.append(
            f"<tr><td>{_score(sentence.score)}</td><td>{'!' if sentence.flagged else ''}</td>"
            f'<td style="text-align:left" dir="auto">{_text(sentence, claims.get(i, ()))}</td>'
            f'<td style="text-align:left">{escape(sentence.reason or "")}</td></tr>'
        )
    heads = "<tr><th>score</th><th></th><th>sentence</th><th>reason</th></tr>"
    table = f"<table>{heads}{''.join(rows)}</table>"
    return f"<div><p>{head}</p>{table if rows else ''}</div>"


def _text(sentence: SentenceVerdict, claims: Iterable[ClaimVerdict]) -> str:
    spans = [span for claim in claims for span in claim.spans_in_doubt]
    if not spans or not sentence.has_text:
        # Without claims, all of a flagged sentence is in doubt.
        return f"<b>{escape(sentence.text)}</b>" if sentence.flagged else escape(sentence.text)
    return "".join(
        f"<b>{escape(piece)}</b>" if is_in_doubt else escape(piece)
        for piece, is_in_doubt in pieces(sentence.text, sentence.start, spans)
    )


def _score(score: float | None) -> str:
    return "?" if score is None else f"{score:.2f}"
