"""Draws of entries to label."""

from __future__ import annotations

from collections import Counter

import pytest

from resay import ConfigurationError, Verdict
from resay.adapters import Threshold
from resay_server.journal import Entry
from resay_server.labelling import SamplingCandidate, sample_entries
from support.labelling import recorded


def at(*scores: float) -> list[SamplingCandidate]:
    return [SamplingCandidate(f"e{i}", abs(score - 0.5)) for i, score in enumerate(scores)]


def test_the_distance_is_that_to_another_decision() -> None:
    def distance(verdict: Verdict, threshold: Threshold) -> float | None:
        entry = Entry(
            model="m", policy="p", action="allow", decision=verdict.decision, score=verdict.score,
            verdict=verdict.to_dict(),
        )  # fmt: skip
        candidate = SamplingCandidate.of(entry, threshold)
        return None if candidate is None else candidate.distance

    assert distance(recorded(0.75), Threshold(passage=0.5, sentence=0.25)) == 0.5
    assert distance(recorded(0.75), Threshold(passage=0.5, sentence=1.0)) == 0.25
    assert distance(recorded(0.25), Threshold(passage=0.5, sentence=None)) == 0.25
    assert distance(recorded(0.25, decision="inconclusive"), Threshold()) is None


def test_a_random_draw_is_one_and_goes_on_where_it_stopped() -> None:
    candidates = at(*[0.1] * 30)
    first = sample_entries(candidates, 10, "random", now=5.0, seed=1)
    assert {entry.weight for entry in first} == {3.0}
    assert [entry.time for entry in first] == sorted({entry.time for entry in first})
    assert [entry.entry_id for entry in first] != sorted(entry.entry_id for entry in first)
    others = sample_entries(candidates, 50, "random", sampled=first, now=6.0)
    assert {entry.entry_id for entry in first} | {entry.entry_id for entry in others} == {
        entry.id for entry in candidates
    }
    assert len(others) == 20
    with pytest.raises(ConfigurationError, match="nothing to draw from: of 30 entries"):
        sample_entries(candidates, 1, "random", sampled=[*first, *others], now=7.0)


def test_a_draw_by_uncertainty_keeps_its_probabilities() -> None:
    """By counting: each entry is drawn as often as its weight says."""
    candidates = at(*(i / 20 for i in range(21)))
    times, weights = Counter[str](), dict[str, float]()
    for seed in range(4000):
        drawn = sample_entries(candidates, 6, "uncertainty", now=0.0, seed=seed)
        assert len(drawn) == 6
        times.update(entry.entry_id for entry in drawn)
        weights.update({entry.entry_id: entry.weight for entry in drawn})
    assert len(weights) == 21
    for name, weight in weights.items():
        assert times[name] / 4000 == pytest.approx(1 / weight, abs=0.035)
    assert weights["e10"] < weights["e13"] < weights["e20"]
    assert sum(1 / weight for weight in weights.values()) == pytest.approx(6)


def test_another_draw_by_uncertainty_has_as_many_new_ones() -> None:
    candidates = at(*(i / 20 for i in range(21)))
    for seed in range(50):
        first = sample_entries(candidates, 8, "uncertainty", now=0.0, seed=seed)
        first_ids = {entry.entry_id for entry in first}
        again = sample_entries(candidates, 5, "uncertainty", sampled=first, now=1.0, seed=seed)
        assert len({entry.entry_id for entry in again} - first_ids) == 5
    everything = sample_entries(candidates, 99, "uncertainty", now=0.0)
    assert {entry.weight for entry in everything} == {1.0}
    # At random from all that was not drawn at random, or it would lack what is uncertain.
    assert len(sample_entries(candidates, 99, "random", sampled=everything, now=1.0)) == 21
