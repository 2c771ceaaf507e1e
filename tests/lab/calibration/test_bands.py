from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import nextafter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from resay import ConfigurationError
from resay_lab.calibration import fit_bands

errors = st.sampled_from([0.0, 0.02, 0.1, 0.25, 0.5])
values = st.one_of(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]), st.floats(0, 1))
judged = st.lists(st.tuples(values, st.booleans()), min_size=0, max_size=12)


def settled(bands, pairs):
    """The decisions of what is settled from below, and of what is from above."""
    low = [flag for s, flag in pairs if bands.below is not None and s < bands.below]
    high = [flag for s, flag in pairs if bands.above is not None and s > bands.above]
    return low, high


def fit(pairs, error, **more):
    return fit_bands([s for s, _ in pairs], [flag for _, flag in pairs], error, **more)


@given(judged, errors, st.one_of(st.none(), values))
def test_at_most_this_share_is_decided_otherwise(pairs, error, threshold):
    bands = fit(pairs, error, threshold=threshold)
    low, high = settled(bands, pairs)
    limit = Fraction(str(error))
    assert sum(low) <= limit * len(low)
    assert sum(not flag for flag in high) <= limit * len(high)
    if threshold is not None:
        assert bands.below is None or all(s <= threshold for s, _ in pairs if s < bands.below)
        assert bands.above is None or all(s > threshold for s, _ in pairs if s > bands.above)


@given(judged, errors)
@example([(0.0, False), (5e-324, True), (1.0, True)], 0.5)
@example([(0.25, False), (nextafter(0.25, 1), True)], 0.0)
def test_nothing_settles_more(pairs, error):
    """Of all pairs of cuts that are right on either side, none settles more."""
    limit = Fraction(str(error))
    scores = sorted({s for s, _ in pairs})
    # Between two scores that are next to each other there is no number but themselves.
    cuts = sorted({0.0, *scores, *((a + b) / 2 for a, b in pairwise(scores)), 1.0})
    best = 0
    for below in cuts:
        low = [flag for s, flag in pairs if s < below]
        for above in (cut for cut in cuts if cut >= below):
            high = [flag for s, flag in pairs if s > above]
            if sum(low) <= limit * len(low) and sum(not f for f in high) <= limit * len(high):
                best = max(best, len(low) + len(high))
    found = settled(fit(pairs, error), pairs)
    assert len(found[0]) + len(found[1]) >= best


def test_the_band_is_where_steps_disagree():
    pairs = [(0.1, False), (0.2, False), (0.5, True), (0.6, False), (0.9, True)]
    bands = fit(pairs, 0.0)
    assert (bands.below, bands.above) == (0.3, 0.8)
    assert not bands.settles(0.5)
    assert not bands.settles(0.6)
    assert bands.settles(0.2)
    assert bands.settles(0.9)


def test_a_step_that_says_the_reverse_settles_nothing():
    bands = fit([(0.1, True), (0.9, False)], 0.02)
    assert (bands.below, bands.above) == (None, None)


def test_nothing_to_learn_from_settles_nothing():
    bands = fit([], 0.02)
    assert (bands.below, bands.above) == (None, None)


def test_bad_arguments():
    with pytest.raises(ConfigurationError, match=r"in \[0, 1\), not 1"):
        fit_bands([0.1], [True], 1.0)
    with pytest.raises(ConfigurationError, match="2 scores and 1 decisions"):
        fit_bands([0.1, 0.2], [True], 0.1)
