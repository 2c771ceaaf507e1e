from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from resay import ConfigurationError
from resay_lab.calibration import Guarantee
from resay_lab.calibration.targets import hoeffding_bentkus

ALPHA = Fraction("0.05")


def test_how_many_are_needed():
    # The first n with 1 / (n + 1) <= 0.05, and the first with 0.95 ** n <= 0.1.
    assert Guarantee("expected").needed(ALPHA) == 19
    assert Guarantee("probable", 0.9).needed(ALPHA) == 45
    assert Guarantee("probable", 0.95).needed(ALPHA) == 59


# Rates that binary floating point cannot hold: 1 - 0.9 is a little less than 0.1.
def test_rates_are_the_decimals_they_are_written_as():
    assert Guarantee("expected").needed(1 - Fraction("0.9")) == 9
    assert Guarantee("expected").holds(Fraction(0), 9, 1 - Fraction("0.9"), binary=True)
    assert not Guarantee("expected").holds(Fraction(0), 8, 1 - Fraction("0.9"), binary=True)


@given(st.integers(1, 400), st.sampled_from(["0.01", "0.05", "0.1", "0.3"]))
def test_too_few_never_hold_and_enough_do(n, rate):
    alpha = Fraction(rate)
    for guarantee in (Guarantee("expected"), Guarantee(), Guarantee("probable", 0.99)):
        for binary in (True, False):
            holds = guarantee.holds(Fraction(0), n, alpha, binary=binary)
            assert holds == (n >= guarantee.needed(alpha))


# The error of the guarantee where it is hardest to keep, exactly, by adding up all counts.
@pytest.mark.parametrize("n", [45, 60, 100, 250])
@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.99])
def test_the_binary_guarantee_is_exact_and_leaves_nothing_out(n, confidence):
    guarantee = Guarantee("probable", confidence)
    held = [k for k in range(n + 1) if guarantee.holds(Fraction(k), n, ALPHA, binary=True)]
    assert held == list(range(len(held)))
    wrong = sum(binom.pmf(k, n, 0.05) for k in held)
    assert wrong <= 1 - confidence
    assert wrong + binom.pmf(len(held), n, 0.05) > 1 - confidence


@given(st.integers(1, 300), st.data())
def test_hoeffding_bentkus_is_the_published_bound(n, data):
    total = data.draw(st.fractions(0, n, max_denominator=60))
    alpha = data.draw(st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50))
    a, b = float(min(total / n, alpha)), float(alpha)
    h = (a * math.log(a / b) if a else 0) + ((1 - a) * math.log((1 - a) / (1 - b)))
    expected = min(math.exp(-n * h), math.e * binom.cdf(math.ceil(total), n, b))
    assert hoeffding_bentkus(total, n, alpha) == pytest.approx(expected, rel=1e-6, abs=1e-12)


JEFFREYS = Guarantee("jeffreys")


@given(st.integers(1, 300), st.data())
def test_jeffreys_is_the_interval_of_that_name(n, data):
    total = data.draw(st.fractions(0, n, max_denominator=60).filter(lambda t: t < n))
    upper = beta.ppf(0.9, float(total) + 0.5, n - float(total) + 0.5)
    assume(abs(upper - 0.05) > 1e-6)
    for binary in (True, False):
        assert JEFFREYS.holds(total, n, ALPHA, binary=binary) == (upper <= 0.05)


def test_jeffreys_needs_fewer_and_allows_more():
    assert JEFFREYS.needed(ALPHA) == 27 < Guarantee().needed(ALPHA)
    assert not JEFFREYS.holds(Fraction(0), 26, ALPHA, binary=True)
    n, alpha = 100, Fraction("0.1")
    # What is lost of 100 responses, a little in each, under a rate of 0.1.
    allowed = {
        kind: max(
            tenths
            for tenths in range(200)
            if Guarantee(kind).holds(Fraction(tenths, 10), n, alpha, binary=False)
        )
        for kind in ("probable", "jeffreys", "expected")
    }
    assert allowed["probable"] < 55 < allowed["jeffreys"] < 75 < allowed["expected"] == 91
    assert str(JEFFREYS) == "in about 90 % of calibrations like this"


# All losses at once are never little enough.
def test_jeffreys_refuses_what_is_all_lost():
    assert not JEFFREYS.holds(Fraction(5), 5, Fraction("0.999"), binary=True)


# Losses between 0 and 1 may not take the bound that only binary ones have.
def test_the_bound_for_shares_is_the_wider_one():
    guarantee, n, alpha = Guarantee(), 100, Fraction("0.1")
    assert guarantee.holds(Fraction(5), n, alpha, binary=True)
    assert not guarantee.holds(Fraction(5), n, alpha, binary=False)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, math.nan])
def test_a_confidence_must_be_a_share(confidence):
    with pytest.raises(ConfigurationError, match=r"such as 0\.9"):
        Guarantee("probable", confidence)


def test_there_are_two_kinds():
    with pytest.raises(ConfigurationError, match="'certain'"):
        Guarantee("certain")
