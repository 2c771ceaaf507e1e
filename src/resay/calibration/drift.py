"""Whether recent scores look like those that thresholds were fitted on.

A guarantee is about responses like the labelled ones. Another model, prompt or judge shows first in
the scores, for which nobody has to label anything. A calibrated policy holds how its scores were
spread: for responses, and for the greatest score of a sentence in each, how many were 0, how many
were in each of twenty equal steps, and how many were 1. Recent verdicts are compared with that by
the two-sample test of Kolmogorov and Smirnov, whose statistic is the greatest distance between the
two cumulative shares. Seen through bins the distance can only be smaller, so that the p-value, by
the approximation of Stephens ("Use of the Kolmogorov-Smirnov, Cramer-Von Mises and Related
Statistics Without Extensive Tables", JRSS B 1970), errs towards no drift.

With enough verdicts any difference is significant. So scores have drifted where it is both: not by
chance, and great enough to matter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, cast

from resay._internal.event_loops import run_sync
from resay.calibration.labelling import journal_config_of, methods_of
from resay.calibration.labels import read_objects
from resay.core.verdict import Verdict
from resay.errors import ConfigurationError
from resay.policy import Policy
from resay.reporting.journal import Entry, JournalConfig, open_journal

_STEPS = 20
_BINS = _STEPS + 2
_LEAST = 30
_DISTANCE = 0.1
_CHANCE = 0.01
_PAGE = 500
_SQLITE = b"SQLite format 3\0"
_UNITS = {
    "responses": "scores of responses",
    "sentences": "greatest sentence scores",
}
_SPREAD = "{}, as 0, in {} equal steps, and as 1:"


@dataclass(frozen=True, slots=True)
class Spread:
    """How scores in [0, 1] are spread.

    Attributes:
        counts: How many are 0, in each of twenty equal steps, and 1.
    """

    counts: tuple[int, ...]

    @classmethod
    def of(cls, scores: Iterable[float]) -> Spread:
        """Count scores."""
        counts = [0] * _BINS
        for score in scores:
            counts[_place(score)] += 1
        return cls(tuple(counts))

    @property
    def total(self) -> int:
        """How many scores there are."""
        return sum(self.counts)

    @property
    def cumulative(self) -> list[float]:
        """Which share of the scores is in each bin or below it."""
        return [count / max(self.total, 1) for count in accumulate(self.counts)]


def _place(score: float) -> int:
    if score <= 0:
        return 0
    # The upper end of a step belongs to it, as a score at a threshold is not over it.
    return _BINS - 1 if score >= 1 else max(math.ceil(score * _STEPS - 1e-9), 1)


def spread_lines(responses: Iterable[float], sentences: Iterable[float]) -> Iterator[str]:
    """Yield how scores are spread, as a calibrated policy says it.

    Args:
        responses: The scores of responses.
        sentences: The greatest score of a sentence in each.
    """
    for name, scores in zip(_UNITS.values(), (responses, sentences), strict=True):
        spread = Spread.of(scores)
        if spread.total:
            yield f"{_SPREAD.format(name, _STEPS)} {' '.join(map(str, spread.counts))}"


def spreads_in(text: str, source: str) -> dict[str, Spread]:
    """Return how the scores were spread that a policy was calibrated on.

    Args:
        text: The policy's text.
        source: What to call it in messages.

    Returns:
        By unit: `responses`, and `sentences` where sentences were scored.

    Raises:
        ConfigurationError: It does not say.
    """
    found: dict[str, Spread] = {}
    for unit, name in _UNITS.items():
        line = re.search(
            rf"^[ \t]*#: {re.escape(_SPREAD.format(name, _STEPS))} ([\d ]+)\r?$", text, re.MULTILINE
        )
        counts = tuple(map(int, line[1].split())) if line else ()
        if len(counts) == _BINS:
            found[unit] = Spread(counts)
    if "responses" not in found:
        raise ConfigurationError(
            f"{source} does not say how scores were spread when it was calibrated; calibrate it"
            " with `resay calibrate --write` first"
        )
    return found


@dataclass(frozen=True, slots=True)
class Shift:
    """How far scores of one kind have moved.

    Attributes:
        unit: `responses`, or `sentences` for the greatest score of a sentence in each.
        before: How many there were in the calibration.
        now: How many there are.
        distance: The greatest distance of the cumulative shares, in [0, 1].
        p_value: How probable such a distance is where nothing has changed, at most.
        higher: Whether scores are higher where that is.
        drifted: Whether they have drifted; None where there are too few to tell.
    """

    unit: str
    before: int
    now: int
    distance: float
    p_value: float
    higher: bool
    drifted: bool | None


@dataclass(frozen=True, slots=True)
class Drift:
    """Whether recent scores look like those of the calibration.

    Attributes:
        shifts: By kind of score.
        left_out: How many verdicts are inconclusive, skipped, or have no score.
        notes: What a reader has to know.
    """

    shifts: tuple[Shift, ...]
    left_out: int
    notes: tuple[str, ...] = ()

    @property
    def drifted(self) -> bool | None:
        """Whether scores of any kind have drifted; None where there are too few to tell."""
        said = {shift.drifted for shift in self.shifts}
        return True if True in said else None if None in said else False

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {
            "drifted": self.drifted,
            "shifts": [
                {
                    "unit": shift.unit,
                    "before": shift.before,
                    "now": shift.now,
                    "distance": round(shift.distance, 4),
                    "p_value": shift.p_value,
                    "higher": shift.higher,
                    "drifted": shift.drifted,
                }
                for shift in self.shifts
            ],
            "left_out": self.left_out,
            "notes": list(self.notes),
        }


def check_drift(text: str, verdicts: Sequence[Verdict], *, source: str = "<policy>") -> Drift:
    """Compare recent verdicts with the calibration of a policy.

    Args:
        text: The text of the calibrated policy.
        verdicts: What its guard has found since.
        source: What to call the policy in messages.

    Returns:
        How far scores have moved.

    Raises:
        ConfigurationError: The policy was not calibrated.
        PolicyError: It is not a valid policy.
    """
    before = spreads_in(text, source)
    policy = Policy.parse(text, source=source)
    methods = methods_of(policy)
    ours = [v for v in verdicts if all(step.method in methods for step in v.steps)]
    known = [v for v in ours if v.score is not None and v.decision in ("consistent", "flagged")]
    highest = [
        max((s.score for s in v.sentences if s.score is not None), default=None) for v in known
    ]
    scores = {
        "responses": [v.score for v in known if v.score is not None],
        "sentences": [score for score in highest if score is not None],
    }
    shifts = tuple(
        _shift(unit, spread, Spread.of(scores[unit]), len(before))
        for unit, spread in before.items()
    )
    notes: list[str] = []
    if len(ours) < len(verdicts):
        notes.append(
            f"{len(verdicts) - len(ours)} verdicts were made by another chain and are left out"
        )
    sampling = policy.sampling
    early = sum(0 < v.samples < sampling.max for v in known)
    if early and sampling.confidence is not None:
        notes.append(
            f"{early} of {len(known)} checks looked at fewer than {sampling.max} samples, and the"
            " calibration at all of them: that alone moves scores; log with `sampling:"
            " {confidence: null}` to leave it out"
        )
    return Drift(shifts, len(ours) - len(known), tuple(notes))


def _shift(unit: str, before: Spread, now: Spread, tests: int) -> Shift:
    gaps = [b - a for a, b in zip(now.cumulative, before.cumulative, strict=True)]
    gap = max(gaps, key=abs)
    few = min(before.total, now.total) < _LEAST
    p_value = 1.0 if few else kolmogorov_smirnov(abs(gap), before.total, now.total)
    # Each kind of score is another chance to be wrong.
    moved = p_value < _CHANCE / tests and abs(gap) >= _DISTANCE
    return Shift(unit, before.total, now.total, abs(gap), p_value, gap > 0, None if few else moved)


def kolmogorov_smirnov(distance: float, n: int, m: int) -> float:
    """Return how probable so great a distance is between two samples from one distribution.

    Args:
        distance: The greatest distance of their cumulative shares.
        n: How large one sample is, at least 1.
        m: How large the other is.
    """
    root = math.sqrt(n * m / (n + m))
    x = (root + 0.12 + 0.11 / root) * distance
    # The series converges slowly where the probability is 1 to many digits.
    if x < 0.2:
        return 1.0
    terms = ((-1) ** (k - 1) * math.exp(-2 * k * k * x * x) for k in range(1, 101))
    return min(max(2 * math.fsum(terms), 0.0), 1.0)


def read_verdicts(path: Path | str, last: int) -> list[Verdict]:
    """Read the newest verdicts of a log.

    Args:
        path: JSON Lines as `--from-log` takes them, `id` or not, or a journal: its SQLite file, or
            its address.
        last: How many at most.

    Returns:
        The verdicts, newest last.

    Raises:
        ConfigurationError: It cannot be read, or a line holds no verdict.
        JournalError: The journal cannot be read.
    """
    if isinstance(path, str) and "://" in path:
        return list(reversed(run_sync(_journalled, journal_config_of(path), last)))
    path = Path(path)
    if _is_journal(path):
        return list(reversed(run_sync(_journalled, journal_config_of(str(path.resolve())), last)))
    return [_verdict(where, data) for where, data in read_objects(path)[-last:]]


def _is_journal(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError as error:
        raise ConfigurationError(f"cannot read {str(path)!r}: {error.strerror}") from error


async def _journalled(config: JournalConfig, last: int) -> list[Verdict]:
    journal = open_journal(config)
    found: list[Verdict] = []
    before: Entry | None = None
    try:
        while len(found) < last:
            page = await journal.recent(min(_PAGE, last - len(found)), before)
            if not page:
                break
            found += [_verdict(f"entry {entry.id}", entry.verdict) for entry in page]
            before = page[-1]
    finally:
        await journal.aclose()
    return found


def _verdict(where: str, data: Mapping[str, Any]) -> Verdict:
    nested = data.get("verdict")
    fields = cast("Mapping[str, Any]", nested) if isinstance(nested, dict) else data
    try:
        return Verdict.from_dict({key: fields[key] for key in fields if key != "id"})
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from None
