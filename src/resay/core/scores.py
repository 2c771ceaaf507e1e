"""The result of a scorer for a passage, and comparing scores with thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

from resay._internal.lazy_types import lazy_type
from resay.errors import ScorerError

if TYPE_CHECKING:
    from resay.core.claim_verdict import Part, PartError
    from resay.core.contradiction import Contradiction
    from resay.core.grounds import Grounds
else:
    Part = lazy_type("resay.core.claim_verdict", "Part")
    PartError = lazy_type("resay.core.claim_verdict", "PartError")
    Contradiction = lazy_type("resay.core.contradiction", "Contradiction")
    Grounds = lazy_type("resay.core.grounds", "Grounds")


@dataclass(frozen=True, slots=True)
class UnsupportedSpan:
    """A span of the response for which a method found no support.

    Attributes:
        start: Code-point offset of its first character in the response.
        end: Code-point offset after its last character.
        score: In [0, 1], 1 = surely unsupported.
        error: What is wrong with it; None if the method does not tell.
    """

    start: int
    end: int
    score: float
    error: PartError | None = None


@dataclass(frozen=True, slots=True)
class Scores:
    """One scorer's result for a passage.

    Scores are in [0, 1], from supported to hallucinated; None means that the method has no opinion.

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
            opposed to nothing; None, or empty for all, if the method does not tell these apart.
        judged: Per sentence, the parts that the method judges by themselves; empty if there are
            none.
        methods: Per sentence, the method that gave its score, if that is another than the one these
            are the scores of; or None; empty if it is no other for any.
        sources: The indexes of sentences that only name sources, and thereby claim nothing.
        skip_reason: Why the method had nothing to score, without content, or None.
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
    denied: tuple[bool | None, ...] = ()
    judged: tuple[tuple[Part, ...], ...] = ()
    methods: tuple[str | None, ...] = ()
    sources: tuple[int, ...] = ()
    skip_reason: str | None = None
    verdict_reason: str | None = None

    def __post_init__(self) -> None:
        for score in (*self.sentences, self.passage):
            if score is not None:
                _check_score(score)

    @property
    def undecided(self) -> tuple[int, ...]:
        """The indexes of the sentences whose score was lost."""
        if self.lost is not None:
            return self.lost
        if not self.failures and not self.undetermined:
            return ()
        return tuple(index for index, score in enumerate(self.sentences) if score is None)

    @property
    def values(self) -> tuple[float | None, ...]:
        """The method's own unbounded sentence values if it has any, else the scores."""
        return self.raw or self.sentences

    @property
    def passage_value(self) -> float | None:
        """The method's own unbounded passage value if it has one, else the passage score."""
        return self.passage_score if self.raw_passage is None else self.raw_passage

    def of_sentence(self, index: int) -> float | None:
        """Return a sentence's score, or the passage score if the method scores only passages."""
        return self.sentences[index] if self.sentences else self.passage

    def value_of_sentence(self, index: int) -> float | None:
        """Return the same as the method's own unbounded value, if it has one."""
        return self.values[index] if self.sentences else self.passage_value

    @property
    def passage_score(self) -> float | None:
        """The passage score; by default the mean of the available sentence scores (Eq. 12)."""
        if self.passage is not None:
            return self.passage
        return mean_score(self.sentences)


class InvalidScoreError(ScorerError, ValueError):
    """A scorer returned something that is no score."""


def _check_score(score: float) -> None:
    try:
        # NaN fails the comparison too
        is_valid = 0.0 <= score <= 1.0
        written = repr(float(score))
    # What is no number may quote the response.
    except (TypeError, ValueError):
        kind = type(score).__name__
        raise InvalidScoreError(
            f"a score must be a number in [0, 1] or None, not of type {kind}"
        ) from None
    if not is_valid:
        raise InvalidScoreError(f"a score must lie in [0, 1] or be None, not {written}")


# Digits behind these are noise of floating-point arithmetic.
_DECIMALS = 12
_NOISE = 1e-9


def mean_score(scores: Sequence[float | None]) -> float | None:
    """Return the mean of the available scores, or None if there are none."""
    available = [score for score in scores if score is not None]
    return without_noise(fmean(available)) if available else None


def any_denied(denials: Iterable[tuple[bool | None, ...]]) -> tuple[bool, ...]:
    """Return for each sentence whether any text denies it; nothing where none tells.

    Args:
        denials: What each method or text denies, by sentence; empty where it does not tell.
    """
    return tuple(any(row) for row in zip(*filter(None, denials), strict=True))


def without_noise(score: float) -> float:
    """Return a score without the digits that floating-point arithmetic leaves behind its own."""
    return round(score, _DECIMALS)


def over(score: float | None, threshold: float | None) -> bool:
    """Return whether a score exceeds a threshold; False if either is missing.

    Three claims of 0.4 do not exceed 0.4, though the last bit of their mean does.
    """
    if score is None or threshold is None:
        return False
    if abs(score - threshold) > _NOISE:
        return score > threshold
    return without_noise(score) > without_noise(threshold)


def digits_to_tell(score: float, threshold: float) -> int:
    """Return how many decimals, at least two, tell a score from a threshold that it exceeds."""
    for digits in range(2, _DECIMALS):
        if round(score, digits) != round(threshold, digits):
            return digits
    return 2
