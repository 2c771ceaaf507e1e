"""What a check found: scores, the decision, and why; what it cost, and what was repaired."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from html import escape
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, cast

from resay._internal.telling import collecting, last
from resay.core.references import Document, Reference
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
]
_CALLED: Mapping[UnscoredKind, str] = {
    "prose": "text fragment",
    "code": "code block",
    "math": "formula",
    "html": "HTML block",
    "definition": "link definition",
}


@dataclass(frozen=True, slots=True)
class Unscored:
    """A stretch of the response, with a letter or a digit in it, that was not scored.

    Attributes:
        text: The stretch, exactly `response[start:end]`.
        start: Code-point offset of its first character in the response.
        end: Code-point offset after its last character.
        kind: What it is: a block that holds no sentences (`heading`, `code`, `table`, `rule`,
            `math`, `html`, `definition`); a `sentence` about which no method gave a score; a
            `field` of an object that the policy does not compare; or other `prose`, such as the
            label of a footnote.
    """

    text: str
    start: int
    end: int
    kind: UnscoredKind

    @property
    def called(self) -> str:
        """What its kind is called in a sentence."""
        return _CALLED.get(self.kind, self.kind)


def counted(unscored: Iterable[Unscored]) -> str:
    """Return how many stretches of each kind there are: `1 table, 2 headings`."""
    counts = Counter(stretch.called for stretch in unscored)
    return ", ".join(f"{n} {name}{'s' * (n > 1)}" for name, n in counts.items())


Mode = Literal["repair", "rewrite", "verify", "consistent"]
"""Whether only sentences in doubt are replaced, by documents or by samples (repair), or the whole
answer is written again (rewrite); whether they are replaced by short answers to questions about
them (verify), or dropped or hedged (consistent)."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One sentence that was replaced or removed.

    Attributes:
        before: The sentence as the model first wrote it, exactly `draft[start:end]`.
        after: What stands in its place; empty where it was removed.
        start: Code-point offset of its first character in the draft.
        end: Code-point offset after its last character.
        sources: The ids of the documents that support what stands there now.
    """

    before: str
    after: str
    start: int
    end: int
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a better answer.

    Attributes:
        why: What it was to repair, in one line without content: the reason of a verdict.
        queries: What was searched for. Holds words of the answer.
        documents: The ids of the documents that were found, best first.
        score_before: The passage score of what was to be repaired, measured with the documents as
            soon as there are any; None where it has none.
        score_after: The passage score of the new answer; None where there is none.
        decision: What the check of the new answer found; None where there is no new answer.
        note: What went wrong or was left out, in one line without content, or None.
        usage: What the attempt cost: writing and checking.
        elapsed_s: Wall-clock seconds.
    """

    why: str
    queries: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    score_before: float | None = None
    score_after: float | None = None
    decision: Decision | None = None
    note: str | None = None
    usage: Usage = field(default_factory=Usage)
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Regeneration:
    """How a flagged answer was repaired, or was to be.

    Attributes:
        mode: How the answer was to be written.
        attempts: What was tried, in order.
        adopted: Which attempt's answer was given, from 0; None where none was better than the
            model's first.
        reason: Why the first answer was flagged.
        score: The passage score of the first answer, as the chain gave it.
        draft: The first answer.
        edits: What was changed in it, in order; empty where the answer was written as a whole.
        sources: The documents the new answer cites, in the order of their first mention; of their
            metadata only texts and numbers.
        removed: How much of the first answer was removed because no document speaks of it, by
            characters, in [0, 1].
        abstains: Whether the new answer only says that what was asked is not known.
        conflicts: The ids of documents that contradict each other about what the answer claims.
        by: What it was repaired by.
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

    def without_content(self) -> Regeneration:
        """Return the same without the words of answers, searches and documents."""
        return replace(
            self,
            attempts=tuple(replace(attempt, queries=()) for attempt in self.attempts),
            draft="",
            edits=tuple(replace(edit, before="", after="") for edit in self.edits),
            sources=tuple(replace(source, text="", metadata={}) for source in self.sources),
        )


EvidenceKind = Literal["sample", "reference", "second"]
"""A sample of the model that wrote the response, a trusted text, or what another model says."""


@dataclass(frozen=True, slots=True)
class UnsupportedSpan:
    """A stretch of the response that a method found no support for.

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
    """What one scorer says about a passage.

    A score is in [0, 1], 1 = surely hallucinated; None means the method has nothing to say.

    Attributes:
        sentences: One score per sentence of the passage; empty when the method only scores
            passages.
        passage: The passage score; None means it is the mean of the sentence scores
            (SelfCheckGPT, Eq. 12).
        raw: The method's own unbounded sentence values where it has any.
        raw_passage: The same for the passage.
        columns: For methods that compare with one sample at a time, one column per sample, each
            as long as `sentences`.
        silent: Per sentence, the places of the columns whose sample does not speak of it; empty
            where the method does not tell, and where all samples speak of all sentences.
        parts: Further scores that went into those of the sentences, by name, for the verdict's
            `scores`; each as long as `sentences`.
        spans: For methods that look at words, per sentence the stretches without support.
        why: Per sentence, one line for a reader, or None. Holds words of the passage.
        why_passage: The same for the passage.
        failures: Kinds of calls that failed, such as `ProviderTimeoutError`, one per failed call.
        lost: Which sentences have no score because calls failed or answers could not be read, by
            their place; None for all without a score where there are failures. A sentence about
            which a method has nothing to say is not among them.
        undetermined: Judge answers that could not be read.
        inconclusive: Why these scores support no decision, or None when they do.
        grounds: Per sentence, the references that speak of it; empty where the method has none.
        contradictions: Per sentence, what is said instead, where the method was told; or empty.
        remark: What the verdict's reason says of it, in one phrase without content, or None.
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
    why: tuple[str | None, ...] = ()
    why_passage: str | None = None
    failures: tuple[str, ...] = ()
    lost: tuple[int, ...] | None = None
    undetermined: int = 0
    inconclusive: str | None = None
    grounds: tuple[tuple[Grounds, ...], ...] = ()
    contradictions: tuple[Contradiction | None, ...] = ()
    remark: str | None = None

    def __post_init__(self) -> None:
        for score in (*self.sentences, self.passage):
            # NaN fails the comparison too
            if score is not None and not 0.0 <= score <= 1.0:
                raise ValueError(f"a score must lie in [0, 1] or be None, not {score!r}")

    @property
    def undecided(self) -> tuple[int, ...]:
        """The places of the sentences whose score was lost."""
        if self.lost is not None:
            return self.lost
        return tuple(i for i, s in enumerate(self.sentences) if s is None and self.failures)

    @property
    def values(self) -> tuple[float | None, ...]:
        """The method's own unbounded sentence values where it has any, else the scores."""
        return self.raw or self.sentences

    @property
    def passage_value(self) -> float | None:
        """The method's own unbounded passage value where it has one, else the passage score."""
        return self.passage_score if self.raw_passage is None else self.raw_passage

    @property
    def passage_score(self) -> float | None:
        """The passage score, by default the mean of the sentence scores that exist (Eq. 12)."""
        if self.passage is not None:
            return self.passage
        return mean_score(self.sentences)


def mean_score(scores: Sequence[float | None]) -> float | None:
    """Return the mean of the scores that exist, or None when there is none."""
    known = [s for s in scores if s is not None]
    return fmean(known) if known else None


def over(score: float | None, threshold: float | None) -> bool:
    """Return whether a score is over a threshold; no score, or no threshold, is not."""
    return score is not None and threshold is not None and score > threshold


def tally(kinds: Iterable[str]) -> str:
    """Return how often each kind occurs, most frequent first: `TimeoutError x3, KeyError x1`."""
    return ", ".join(f"{kind} x{count}" for kind, count in Counter(kinds).most_common())


Band = Literal["supported", "doubtful", "contradicted"]
"""How far a score goes: not over `threshold.doubtful`, over that, or over `threshold.sentence`."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """A reference that speaks of a claim.

    Attributes:
        reference: Its place among the verdict's references.
        supports: Whether it says the same; else it says something else.
        start: Where its words begin in its text, in code points, where they are known.
        end: Where they end (exclusive).
    """

    reference: int
    supports: bool
    start: int | None = None
    end: int | None = None


ContraryKind = Literal["number", "date", "name", "negation", "other"]
"""In what two sentences differ."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What a sample, a reference or another model says in place of a flagged claim.

    Attributes:
        source: Whether a sample or a reference says it, or the policy's second model.
        index: Which one, from 0.
        text: Its sentence nearest to the flagged claim.
        kind: In what the two differ: a `number`, a `date`, a `name`, the `negation`, or in
            something `other` than these.
        claimed: Where the words in question are in the response, in code points: "1923". None
            where no words can be named, or the other side has more.
        said: Where the words that stand against them are in `text`: "1932".
        model: The model that says it, where it is the policy's second one.
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
        """Who says it: `sample 2`, `reference 1`, or a model's name."""
        return self.model or f"{self.source} {self.index + 1}"


@dataclass(frozen=True, slots=True)
class SentenceVerdict:
    """One sentence of the passage.

    Attributes:
        text: The sentence, exactly `response[start:end]`.
        start: Code-point offset of its first character in the response.
        end: Code-point offset after its last character.
        score: In [0, 1], 1 = surely hallucinated; None when no scorer had anything to say.
        flagged: Whether the score is over `threshold.sentence`.
        by: The method whose score this is.
        why: One line of explanation from that method.
        contradicted_by: For a flagged sentence, what a sample says instead.
        citations: The ids of the documents that support it; only of a sentence that was written
            from documents.
        scores: What each method said of it, each in [0, 1], in the order in which they looked; of a
            method that the chain has twice, what it said last. `probe` is the share of the short
            answers to a question about it that say otherwise.
        band: `contradicted` where it is flagged, else `doubtful` where the score is over
            `threshold.doubtful`, else `supported`; None where nothing was decided.
    """

    text: str
    start: int
    end: int
    score: float | None = None
    flagged: bool = False
    by: str | None = None
    why: str | None = None
    contradicted_by: Contradiction | None = None
    citations: tuple[str, ...] = ()
    scores: dict[str, float] = field(default_factory=dict[str, float], hash=False)
    band: Band | None = None


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """One thing that the response claims.

    Attributes:
        text: What it says, with the words written out that stand elsewhere in the response: the
            subject, the lead-in of a list, the heads of a row and a column.
        start: Code-point offset of the first of its own words in the response.
        end: Code-point offset after the last of them.
        spans: The stretches of the response whose words are in `text`, as (start, end), in order.
        unit: What its sentence is: `sentence`, an `item` of a list, a `heading`, the `head` or a
            `row` of a table; or `code` where it is a name in code. One in a block of code is in
            no sentence, and its `sentence` is -1.
        kind: `fact`; `hedged` where it is said to be uncertain; or what it is that claims nothing
            and is not scored: `filler`, `refusal`, `question`, `creative`, `label`.
        score: In [0, 1], 1 = surely hallucinated; None when no scorer had anything to say.
        flagged: Whether the score is over `threshold.sentence`.
        by: The method whose score this is.
        why: One line of explanation from that method.
        contradicted_by: For a flagged claim, what a sample says instead.
        scores: What each method said of it, as for a sentence.
        sentence: Its sentence's place among the verdict's sentences.
        band: As for a sentence.
        grounds: The references that speak of it.
        unsupported: The stretches of it that have no support, in order, where its method says.
    """

    text: str
    start: int
    end: int
    spans: tuple[tuple[int, int], ...] = ()
    unit: str = "sentence"
    kind: str = "fact"
    score: float | None = None
    flagged: bool = False
    by: str | None = None
    why: str | None = None
    contradicted_by: Contradiction | None = None
    scores: dict[str, float] = field(default_factory=dict[str, float], hash=False)
    sentence: int = 0
    band: Band | None = None
    grounds: tuple[Grounds, ...] = ()
    unsupported: tuple[UnsupportedSpan, ...] = ()


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What one step of the chain did.

    Attributes:
        method: The scorer's name.
        sentences: How many sentences it was given.
        score: Its passage score over those sentences.
        usage: What its judge's answers, and its probes, cost. A call that was tried again counts
            once here, and each time in the verdict's usage.
        elapsed_s: Wall-clock seconds, waiting for samples included.
        failures: Kinds of failed calls, with how often each happened.
        undetermined: Judge answers that could not be read.
        note: Why the step's scores were not used, or None.
        why: One line of explanation of a passage score, or None. Holds words of the response.
        skipped: Why the step was left out, by its `when` or because it had nothing to do; or None.
        remark: What the verdict's reason says of it, without content, or None.
    """

    method: str
    sentences: int
    score: float | None = None
    usage: Usage = field(default_factory=Usage)
    elapsed_s: float = 0.0
    failures: dict[str, int] = field(default_factory=dict[str, int])
    undetermined: int = 0
    note: str | None = None
    why: str | None = None
    skipped: str | None = None
    remark: str | None = None

    @classmethod
    def joined(cls, records: Sequence[StepRecord]) -> StepRecord:
        """Return what one step did in several runs at the same time, one for each sentence.

        Args:
            records: One for each run, at least one.
        """
        failures: Counter[str] = Counter()
        for record in records:
            failures.update(record.failures)
        skipped = [record.skipped for record in records]
        return cls(
            method=records[0].method,
            sentences=sum(record.sentences for record in records),
            score=mean_score([record.score for record in records]),
            usage=sum((record.usage for record in records), Usage()),
            elapsed_s=max(record.elapsed_s for record in records),
            failures=dict(failures),
            undetermined=sum(record.undetermined for record in records),
            note=next((record.note for record in records if record.note), None),
            skipped=skipped[0] if all(skipped) else None,
        )


Via = Literal["litellm", "native", "batch"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check found.

    "Consistent" never means "true": a model that is wrong the same way every time agrees with
    itself.

    Attributes:
        decision: `flagged`, `consistent`, `inconclusive` when no honest decision was possible, or
            `skipped` when there is nothing to check: the policy's `when` says so, or the answer
            has no words, as one that calls tools.
        score: The passage score in [0, 1], or None.
        reason: Why, in one line without content: `passage 0.71 > 0.50 with 5 samples`.
        sentences: The scored sentences in order, with headings and the rows of tables; each has
            the score of its worst claim. Code is not among them. Of a structured answer its
            fields, one line for each: `address.city: "Paris"`; their offsets are those in these
            lines.
        samples: How many samples were compared.
        steps: What each step of the chain did.
        usage: What the check cost: samples and judge calls, without the main call.
        elapsed_s: Wall-clock seconds of the check.
        via: Which way samples were drawn: through litellm, with the client or provider that the
            application brought (`native`), or through a Batch API (`batch`); None where none were
            drawn.
        regeneration: How a flagged answer was repaired, or was to be; None where it was not tried.
        claims: What the sentences claim, in order, at least one claim for each; none of a
            structured answer.
        unscored: What of the response was not scored, in order: each letter and digit of it stands
            in a sentence with a score or in one of these, but for the labels of lists. Empty where
            the answer was left alone whatever it says, or a method scored its text as a whole.
        references: The trusted texts that claims were compared with, and where they are from.
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

    @property
    def regenerated(self) -> bool:
        """Whether this is about an answer that was written again."""
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
        """Whether no honest decision was possible. Never the same as fine."""
        return self.decision == "inconclusive"

    @property
    def skipped(self) -> bool:
        """Whether nothing was checked because there was nothing to. Never the same as fine."""
        return self.decision == "skipped"

    @property
    def unscored_blocks(self) -> tuple[Unscored, ...]:
        """What was not scored and is not among `sentences` either."""
        known = {sentence.start for sentence in self.sentences}
        return tuple(stretch for stretch in self.unscored if stretch.start not in known)

    @property
    def flagged_claims(self) -> tuple[ClaimVerdict, ...]:
        """The claims whose own score is over the threshold."""
        return tuple(claim for claim in self.claims if claim.flagged)

    @property
    def flagged_names(self) -> tuple[ClaimVerdict, ...]:
        """The flagged claims that are names in code."""
        return tuple(claim for claim in self.flagged_claims if claim.unit == "code")

    @property
    def flagged_parts(self) -> dict[int, list[ClaimVerdict]]:
        """The flagged claims of the sentences that make several, by the places of those."""
        count = Counter(claim.sentence for claim in self.claims)
        found: dict[int, list[ClaimVerdict]] = {}
        for claim in self.flagged_claims:
            if count[claim.sentence] > 1 and claim.sentence >= 0:
                found.setdefault(claim.sentence, []).append(claim)
        return found

    @property
    def flagged_sentences(self) -> tuple[SentenceVerdict, ...]:
        """The sentences whose own score is over the threshold."""
        return tuple(s for s in self.sentences if s.flagged)

    def to_dict(self, *, content: bool = True) -> dict[str, Any]:
        """Return the verdict as JSON-ready values.

        Args:
            content: Whether to include the words of the response, the samples and the judge.
                Without them, offsets and scores remain.

        Returns:
            A dictionary; `Verdict.from_dict` reads it back.
        """
        # What the caller sent comes back by its place alone.
        bare = tuple(replace(r, text="", title=None, url=None) for r in self.references)
        shown = replace(self if content else self._without_content(), references=bare)
        data = cast("dict[str, Any]", _plain(shown))
        return data | {"flagged": self.flagged, "inconclusive": self.inconclusive}

    def to_json(self, *, content: bool = True) -> str:
        """Return the verdict as one line of JSON.

        Args:
            content: As for `to_dict`.
        """
        return json.dumps(self.to_dict(content=content))

    @classmethod
    def from_json(cls, text: str | bytes) -> Verdict:
        """Read what `to_json` wrote.

        Raises:
            ConfigurationError: It is not a verdict.
        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            raise ConfigurationError("not a verdict: must be a JSON object")
        return cls.from_dict(cast("dict[str, Any]", data))

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        parts = [(s.text, s.score, s.flagged, s.why) for s in self.sentences]
        return shown_in_notebook(self.decision, self.score, self.reason, parts)

    def _without_content(self) -> Verdict:
        return replace(
            self,
            sentences=tuple(map(_bare, self.sentences)),
            claims=tuple(map(_bare, self.claims)),
            steps=tuple(replace(step, why=None) for step in self.steps),
            regeneration=self.regeneration and self.regeneration.without_content(),
            unscored=tuple(replace(stretch, text="") for stretch in self.unscored),
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Verdict:
        """Read what `to_dict` wrote, after a round trip through JSON if you like.

        Raises:
            ConfigurationError: It is not a verdict.
        """
        from pydantic import ValidationError

        try:
            return _adapter().validate_python(data)
        except ValidationError as error:
            places = [".".join(map(str, e["loc"])) for e in error.errors(include_input=False)]
        # Outside of the handler, whose exception holds the words of the response.
        raise ConfigurationError(f"not a verdict; check {', '.join(places)}")


class HallucinationBlocked(ResayError):  # noqa: N818 - an outcome the policy asks for, no error
    """The policy withheld the answer and says `exit: raise`.

    Attributes:
        verdict: Why. It holds the withheld text; do not show it to end users.
        usage: What everything cost, main call and check together.
    """

    is_failure: ClassVar[bool] = False

    def __init__(self, verdict: Verdict, usage: Usage | None = None) -> None:
        super().__init__(f"the answer was withheld: {verdict.reason}")
        self.verdict = verdict
        self.usage = usage or verdict.usage


OnVerdict = Callable[[Verdict], object]
"""Is told of each verdict. What an async function returns is awaited."""


def last_verdict() -> Verdict | None:
    """Return the verdict of the last guarded call in this thread or task.

    That is the last answer that was given or checked, or withheld with an exception; of a stream,
    once it was read to its end. Other threads and tasks have their own, and a verdict that a child
    task found stays in that task: use `verdicts` where a framework runs its model in one.

    Returns:
        The verdict; None where there is none yet.

    Example:
        ```python
        text = agent.run_sync("Who designed the Sydney Harbour Bridge?").output
        print(resay.last_verdict().reason)
        ```
    """
    return last()


@contextmanager
def verdicts() -> Generator[list[Verdict], None, None]:
    """Collect the verdicts of guarded calls that are made meanwhile.

    Also of those in tasks that are begun meanwhile, and in threads that are given a copy of the
    context, as `asyncio.to_thread` does. Other requests have nothing to do with it.

    Yields:
        A list that grows with each verdict.

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


def _plain(value: Any) -> Any:
    """Return a value as it comes back from JSON, where there are no tuples and no classes.

    `dataclasses.asdict` does the same in three times the time, as it copies what cannot change.
    """
    kind = cast("type[object]", type(value))
    if kind in _SIMPLE:
        return value
    if names := _fields_of(kind):
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    return deepcopy(value)


@cache
def _fields_of(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


def _bare(unit: _T) -> _T:
    return replace(unit, text="", why=None, contradicted_by=None)


_COLOURS = {"flagged": "#a31d17", "consistent": "#14693c", "inconclusive": "#8a5a00"}


def shown_in_notebook(
    decision: str,
    score: float | None,
    reason: str,
    parts: Sequence[tuple[str, float | None, bool, str | None]],
) -> str:
    """Return a piece of HTML; whatever a model says in it is escaped.

    Args:
        decision: What was decided.
        score: The passage score.
        reason: Why, in one line.
        parts: The sentences: the text, its score, whether it is flagged, and why.
    """
    colour = _COLOURS.get(decision, "#45617d")
    head = f'<b style="color:{colour}">{escape(decision)}</b> {_score(score)} {escape(reason)}'
    rows = "".join(
        f"<tr><td>{_score(value)}</td><td>{'!' if flagged else ''}</td>"
        f'<td style="text-align:left" dir="auto">{_text(text, flagged)}</td>'
        f'<td style="text-align:left">{escape(why or "")}</td></tr>'
        for text, value, flagged, why in parts
    )
    table = f"<table><tr><th>score</th><th></th><th>sentence</th><th>why</th></tr>{rows}</table>"
    return f"<div><p>{head}</p>{table if parts else ''}</div>"


def _score(score: float | None) -> str:
    return "?" if score is None else f"{score:.2f}"


def _text(text: str, flagged: bool) -> str:
    return f"<b>{escape(text)}</b>" if flagged else escape(text)
