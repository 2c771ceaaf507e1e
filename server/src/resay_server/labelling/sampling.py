"""Samples journal entries to label.

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

from resay.adapters import Threshold
from resay.errors import ConfigurationError
from resay_server.journal import Entry, SampledEntry, SamplingMethod

# The share of a draw by uncertainty that is spread evenly over all entries.
_SPREAD = 0.2
# The distance from a threshold at which scores are hardly uncertain any more.
_NEAR = 0.1
# The queue keeps the order of the draw, so that any beginning of it is a draw too.
_STEP_S = 1e-5


@dataclass(frozen=True, slots=True)
class SamplingCandidate:
    """An entry that can be drawn.

    Attributes:
        id: The entry's id.
        distance: How far its scores are from a different decision.
    """

    id: str
    distance: float

    @classmethod
    def of(cls, entry: Entry, threshold: Threshold) -> SamplingCandidate | None:
        """Return an entry as a candidate; None without a decision that could be right or wrong."""
        if entry.score is None or entry.decision not in ("consistent", "flagged"):
            return None
        mean_score: float | None = entry.verdict.get("mean_score")
        highest: float | None = None
        for sentence in entry.verdict.get("sentences") or ():
            score: float | None = sentence.get("score")
            if score is not None and (highest is None or score > highest):
                highest = score
        # Of several thresholds, the one that is exceeded most decides.
        excess = -math.inf
        if mean_score is not None and threshold.passage is not None:
            excess = mean_score - threshold.passage
        if highest is not None and threshold.sentence is not None:
            excess = max(excess, highest - threshold.sentence)
        return cls(id=entry.id, distance=abs(excess))


def sample_entries(
    candidates: Sequence[SamplingCandidate],
    count: int,
    by: SamplingMethod,
    *,
    sampled: Iterable[SampledEntry] = (),
    now: float,
    seed: int | None = None,
) -> list[SampledEntry]:
    """Draw entries to label.

    Args:
        candidates: The entries to draw from.
        count: How many entries to draw that were not drawn before; fewer if not enough are left.
        by: `random`: all with the same probability; `uncertainty`: preferably those near the
            thresholds, though every entry has a chance.
        sampled: The entries of earlier draws. Those drawn at random are left out; one drawn by
            uncertainty may be drawn again, and a further draw by uncertainty adds to its weight.
        now: The current time, in seconds since the epoch.
        seed: The same seed gives the same draw; None for a different draw each time.

    Returns:
        The sampled entries, in the order in which to label them, for `Journal.add_sampled`.

    Raises:
        ConfigurationError: There is nothing to draw from.
    """
    earlier_methods = {entry.entry_id: entry.method for entry in sampled}
    # Entries that may be drawn, and those of them that a draw has to add.
    drawable: list[SamplingCandidate] = []
    new: list[SamplingCandidate] = []
    for candidate in candidates:
        earlier = earlier_methods.get(candidate.id)
        if earlier == "random":
            continue
        drawable.append(candidate)
        if by == "random" or earlier is None:
            new.append(candidate)
    if not new:
        raise ConfigurationError(
            f"nothing to draw from: of {len(candidates)} entries with a decision, all were drawn"
            " before; label those, or choose other entries"
        )
    rng = random.Random(seed)  # noqa: S311 - no secret
    count = min(count, len(new))
    if by == "random":
        weight = len(new) / count
        chosen = [(candidate.id, weight) for candidate in rng.sample(new, count)]
    else:
        new_ids = {candidate.id for candidate in new}
        chosen = _by_uncertainty(drawable, new_ids, count, rng)
    rng.shuffle(chosen)
    return [
        SampledEntry(entry_id=entry_id, method=by, weight=weight, time=now + i * _STEP_S)
        for i, (entry_id, weight) in enumerate(chosen)
    ]


def _by_uncertainty(
    candidates: Sequence[SamplingCandidate], new: set[str], count: int, rng: random.Random
) -> list[tuple[str, float]]:
    """Return ids and weights; exactly `count` of the ids are new."""
    closeness = [math.exp(-candidate.distance / _NEAR) for candidate in candidates]
    total = sum(closeness) or 1.0
    even_size = _SPREAD / len(candidates)
    sizes = [(1 - _SPREAD) * close / total + even_size for close in closeness]
    order = list(range(len(candidates)))
    rng.shuffle(order)
    # New entries come first: their probabilities add up to the requested number.
    order.sort(key=lambda i: candidates[i].id not in new)
    scale = _scale([sizes[i] for i in order[: len(new)]], count)
    chosen: list[tuple[str, float]] = []
    # Systematic sampling: of the cumulated probabilities, draw at every whole step.
    next_step = rng.random()
    cumulated = 0.0
    for number, i in enumerate(order, 1):
        probability = min(1.0, scale * sizes[i])
        # The new entries' probabilities add up to a whole number; ignore rounding errors.
        cumulated = float(count) if number == len(new) else cumulated + probability
        if cumulated > next_step:
            chosen.append((candidates[i].id, 1 / probability))
            next_step += 1
    return chosen


def _scale(sizes: Sequence[float], count: int) -> float:
    """Return the factor by which sizes, capped at 1, add up to a count."""
    largest_first = sorted(sizes, reverse=True)
    remaining = count
    total = sum(largest_first)
    for i, size in enumerate(largest_first):
        # The largest sizes are capped: those entries are always drawn.
        if remaining * size <= total or i == len(largest_first) - 1:
            return remaining / total
        remaining -= 1
        total -= size
    return 1.0
