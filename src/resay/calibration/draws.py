"""Draws journal entries to label.

What a sample says about all entries depends on how it was drawn. Entries drawn at random (simple
random sampling without replacement) represent the others, flagged or not, and only they carry a
guarantee. Those drawn by uncertainty are drawn with unequal probabilities: systematically, with
sizes that fall with the distance of the scores from the thresholds (Madow, "On the Theory of
Systematic Sampling, II", Annals of Mathematical Statistics 1949; the probabilities are exact). Each
represents 1 / p entries, so that weighted rates are those of all entries (Horvitz and Thompson, "A
Generalization of Sampling Without Replacement From a Finite Universe", JASA 1952; divided by the
sum of the weights, Hajek 1971). An entry that is drawn again has the sum of its weights, so that
draws can be pooled (Hansen and Hurwitz 1943).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from resay.errors import ConfigurationError
from resay.policy import Threshold
from resay.reporting.journal import (
    Draw,
    DrawnBy,
    Entry,
)

# The share of a draw by uncertainty that is spread evenly over all entries.
_SPREAD = 0.2
# The distance from a threshold at which scores are hardly uncertain any more.
_NEAR = 0.1
# The queue keeps the order of the draw, so that any beginning of it is a draw too.
_STEP_S = 1e-5


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that can be drawn.

    Attributes:
        id: The entry's id.
        distance: How far its scores are from a different decision.
    """

    id: str
    distance: float

    @classmethod
    def of(cls, entry: Entry, threshold: Threshold) -> Candidate | None:
        """Return an entry as a candidate; None without a decision that could be right or wrong."""
        if entry.score is None or entry.decision not in ("consistent", "flagged"):
            return None
        scores = [
            found["score"]
            for found in entry.verdict.get("sentences") or ()
            if found.get("score") is not None
        ]
        mean: float | None = entry.verdict.get("mean_score")
        over = [
            score - limit
            for score, limit in (
                (mean, threshold.passage),
                (max(scores, default=None), threshold.sentence),
            )
            if score is not None and limit is not None
        ]
        return cls(entry.id, abs(max(over, default=math.inf)))


def draw_entries(
    candidates: Sequence[Candidate],
    count: int,
    by: DrawnBy,
    *,
    drawn: Iterable[Draw] = (),
    now: float,
    seed: int | None = None,
) -> list[Draw]:
    """Draw entries to label.

    Args:
        candidates: The entries to draw from.
        count: How many entries to draw that were not drawn before; fewer if not enough are left.
        by: `random`: all with the same probability; `uncertainty`: preferably those near the
            thresholds, though every entry has a chance.
        drawn: The earlier draws. Entries drawn at random are left out; one drawn by uncertainty
            may be drawn again, and a further draw by uncertainty adds to its weight.
        now: The current time, in seconds since the epoch.
        seed: The same seed gives the same draw; None for a different draw each time.

    Returns:
        The draws to store with `Journal.draw`, in the order in which to label them.

    Raises:
        ConfigurationError: There is nothing to draw from.
    """
    before = {one.entry_id: one.method for one in drawn}
    left = [one for one in candidates if before.get(one.id) != "random"]
    new = [one for one in left if by == "random" or one.id not in before]
    if not new:
        raise ConfigurationError(
            f"nothing to draw from: of {len(candidates)} entries with a decision, all were drawn"
            " before; label those, or choose other entries"
        )
    rng = random.Random(seed)  # noqa: S311 - no secret
    count = min(count, len(new))
    if by == "random":
        chosen = [(one.id, len(new) / count) for one in rng.sample(new, count)]
    else:
        chosen = _by_uncertainty(left, {one.id for one in new}, count, rng)
    rng.shuffle(chosen)
    return [Draw(name, by, weight, now + i * _STEP_S) for i, (name, weight) in enumerate(chosen)]


def _by_uncertainty(
    candidates: Sequence[Candidate], new: set[str], count: int, rng: random.Random
) -> list[tuple[str, float]]:
    """Return ids and weights; exactly `count` of the ids are new."""
    near = [math.exp(-one.distance / _NEAR) for one in candidates]
    whole = sum(near) or 1.0
    sizes = [(1 - _SPREAD) * one / whole + _SPREAD / len(near) for one in near]
    order = list(range(len(candidates)))
    rng.shuffle(order)
    # New entries come first: their probabilities add up to the requested number.
    order.sort(key=lambda i: candidates[i].id not in new)
    scale = _scale([sizes[i] for i in order[: len(new)]], count)
    place, chosen = rng.random(), list[tuple[str, float]]()
    passed = 0.0
    for number, i in enumerate(order, 1):
        probability = min(1.0, scale * sizes[i])
        # The new entries' probabilities add up to a whole number; ignore rounding errors.
        passed = float(count) if number == len(new) else passed + probability
        if passed > place:
            chosen.append((candidates[i].id, 1 / probability))
            place += 1
    return chosen


def _scale(sizes: Sequence[float], count: int) -> float:
    """Return the factor by which sizes, capped at 1, add up to a count."""
    rest, left = count, sorted(sizes, reverse=True)
    total = sum(left)
    for place, size in enumerate(left):
        # The largest sizes are capped: those entries are always drawn.
        if rest * size <= total or place == len(left) - 1:
            return rest / total
        rest, total = rest - 1, total - size
    return 1.0
