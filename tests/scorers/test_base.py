"""What every step of a chain may say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from resay.plugins import ScorerConfig, ScorerTraits, Settle

units = st.floats(0, 1)
edges = st.none() | units


@given(edges, edges, st.none() | units)
def test_scores_outside_a_band_are_settled_and_its_edges_are_not(
    below: float | None, above: float | None, score: float | None
) -> None:
    if below is not None and above is not None and below > above:
        with pytest.raises(ValidationError, match="must not be greater than above"):
            Settle(below=below, above=above)
        return
    band = Settle(below=below, above=above)
    assert band.thresholds == tuple(edge for edge in (below, above) if edge is not None)
    assert not any(map(band.settles, band.thresholds))
    low = -1.0 if below is None else below
    high = 2.0 if above is None else above
    assert band.settles(score) is (score is not None and not low <= score <= high)


@pytest.mark.parametrize("edge", [-0.01, 1.01])
def test_the_edges_of_a_band_are_scores(edge: float) -> None:
    assert Settle(below=0.0, above=1.0).thresholds == (0.0, 1.0)
    with pytest.raises(ValidationError):
        Settle(above=edge)


def test_a_scorer_without_traits_needs_the_whole_passage_and_promises_nothing() -> None:
    traits = ScorerTraits()
    assert traits.source is None
    assert not traits.by_sentence
    assert not traits.by_text
    assert not traits.stops
    assert not traits.adapts
    assert not traits.contradicts_at_once


def test_settings_are_frozen() -> None:
    step, band = ScorerConfig(), Settle()
    with pytest.raises(ValidationError, match="frozen"):
        step.settle = band
    with pytest.raises(ValidationError, match="frozen"):
        band.below = 0.5
    assert not step.asks_response_model
