"""Whether the guarantees hold, over thousands of calibrations on responses made up for it.

The rate of a threshold is that of a population of which every calibration draws a few. Each test
fails when the promise is broken, and also when thresholds are so timid that keeping it is no art.
"""

from __future__ import annotations

import random
from math import sqrt
from statistics import fmean

import numpy as np
import pytest
from scipy.stats import binom

from resay.adapters import Threshold
from resay_lab.calibration import Guarantee, Outcome, Target, fit_thresholds

CALIBRATIONS = 250
ALPHA = 0.1
ONLY_PASSAGE = Threshold(passage=0.5, sentence=None)


def response(rng, *, wrong, digits):
    """A response whose sentences have something in common, as in life."""
    common = rng.betavariate(4, 2) if wrong else rng.betavariate(2, 4)
    labels = [wrong and rng.random() < 0.6 for _ in range(rng.randint(1, 6))]
    scores = [min(max(rng.gauss(common + 0.15 * x, 0.15), 0), 1) for x in labels]
    own = tuple(round(score, digits) for score in scores)
    return Outcome(fmean(own), own, wrong, tuple(labels))


class Population:
    def __init__(self, *, digits, seed=5, size=10_000):
        rng = random.Random(seed)
        self.kinds = {
            wrong: [response(rng, wrong=wrong, digits=digits) for _ in range(size)]
            for wrong in (False, True)
        }
        self.everything = self.kinds[False] + self.kinds[True]
        self.scores = {w: np.array([o.score for o in os]) for w, os in self.kinds.items()}
        self.highest = {w: np.array([o.highest for o in os]) for w, os in self.kinds.items()}

    def draw(self, rng, count):
        """As many of either kind."""
        return [o for outcomes in self.kinds.values() for o in rng.choices(outcomes, k=count)]

    def draw_mixed(self, rng, count):
        """So many as they come."""
        return rng.choices(self.everything, k=count)

    def flagged(self, threshold, *, wrong):
        """The share of the population's responses that is flagged."""
        over = np.zeros(len(self.scores[wrong]), dtype=bool)
        if threshold.passage is not None:
            over |= self.scores[wrong] > threshold.passage
        if threshold.sentence is not None:
            over |= self.highest[wrong] > threshold.sentence
        return float(over.mean())

    def sentence_shares(self, *, wrong):
        """A function of thresholds: the mean share of a response's sentences that is flagged."""
        known = [own for o in self.everything if (own := o.labelled(wrong))]
        weighted = sorted((s, 1 / len(own)) for own in known for s in own)
        values = np.array([s for s, _ in weighted])
        mass = np.concatenate([[0.0], np.cumsum([w for _, w in weighted])])
        return lambda limit: float(
            (mass[-1] - mass[np.searchsorted(values, limit, side="right")]) / len(known)
        )


@pytest.fixture(scope="module")
def smooth():
    return Population(digits=9)


@pytest.fixture(scope="module")
def tied():
    """Scores of one digit: many sentences share each."""
    return Population(digits=1)


def simulate(population, target, guarantee, threshold, *, count=100, draws=CALIBRATIONS):
    """The rates of what may go wrong, one for each calibration."""
    rng = random.Random(11)
    wrong = target.kind == "recall"
    draw = population.draw
    if target.unit == "sentence":
        draw = population.draw_mixed
        shares = population.sentence_shares(wrong=wrong)
        rate = lambda limits: shares(limits.sentence)  # noqa: E731 - one of two
    else:
        rate = lambda limits: population.flagged(limits, wrong=wrong)  # noqa: E731
    rates = []
    for _ in range(draws):
        found = rate(fit_thresholds(draw(rng, count), [target], guarantee, threshold))
        rates.append(1 - found if wrong else found)
    return np.array(rates)


def deviation(rates):
    return float(rates.std()) / sqrt(len(rates))


FPR = Target("passage", "fpr", ALPHA)
RECALL = Target("passage", "recall", 1 - ALPHA)


@pytest.mark.parametrize("target", [FPR, RECALL], ids=lambda t: t.name)
@pytest.mark.parametrize("threshold", [ONLY_PASSAGE, Threshold()], ids=["passage", "both"])
def test_expected_holds_on_average_and_is_tight(smooth, target, threshold):
    rates = simulate(smooth, target, Guarantee("expected"), threshold)
    assert rates.mean() <= ALPHA + 4 * deviation(rates)
    # Conformal Risk Control, Theorem 2: it is at least alpha - 2 / (n + 1).
    slack = 0.005 if threshold.sentence is not None else 0.0
    assert rates.mean() >= ALPHA - 2 / 101 - slack - 4 * deviation(rates)


@pytest.mark.parametrize("kind", ["fpr", "recall"])
def test_expected_holds_for_sentences_with_the_response_as_unit(smooth, kind):
    target = Target("sentence", kind, ALPHA if kind == "fpr" else 1 - ALPHA)
    rates = simulate(smooth, target, Guarantee("expected"), Threshold(), count=200)
    assert rates.mean() <= ALPHA + 4 * deviation(rates)
    # At least 60 of 200 have such sentences.
    assert rates.mean() >= ALPHA - 2 / 61 - 4 * deviation(rates)


@pytest.mark.parametrize("target", [FPR, RECALL], ids=lambda t: t.name)
@pytest.mark.parametrize("threshold", [ONLY_PASSAGE, Threshold()], ids=["passage", "both"])
def test_probable_holds_in_the_stated_share_and_is_tight(smooth, target, threshold):
    rates = simulate(smooth, target, Guarantee("probable", 0.9), threshold)
    kept = float((rates <= ALPHA).mean())
    noise = 4 * sqrt(0.9 * 0.1 / CALIBRATIONS)
    assert kept >= 0.9 - noise
    # Scores without ties keep it exactly as often as this; 1 would be a threshold that flags none.
    allowed = max(k for k in range(100) if binom.cdf(k, 100, ALPHA) <= 0.1)
    exact = 1 - binom.cdf(allowed, 100, ALPHA)
    assert kept <= exact + noise + (0.02 if threshold.sentence is not None else 0)
    assert rates.mean() >= 0.4 * ALPHA


@pytest.mark.parametrize("kind", ["fpr", "recall"])
def test_probable_holds_for_sentences_and_is_no_threshold_of_one(smooth, kind):
    target = Target("sentence", kind, ALPHA if kind == "fpr" else 1 - ALPHA)
    rates = simulate(smooth, target, Guarantee(), Threshold(), count=400)
    assert (rates <= ALPHA).mean() >= 0.9 - 4 * sqrt(0.9 * 0.1 / CALIBRATIONS)
    # The bound of Hoeffding and Bentkus is wide, but with so many responses not this wide.
    assert rates.mean() >= 0.35 * ALPHA


@pytest.mark.parametrize("target", [FPR, RECALL], ids=lambda t: t.name)
def test_ties_make_it_safer_and_never_break_it(tied, target):
    rates = simulate(tied, target, Guarantee("expected"), Threshold())
    assert rates.mean() <= ALPHA + 4 * deviation(rates)
    rates = simulate(tied, target, Guarantee(), Threshold())
    assert (rates <= ALPHA).mean() >= 0.9 - 4 * sqrt(0.9 * 0.1 / CALIBRATIONS)
    assert rates.mean() > 0


def test_two_targets_hold_at_once(smooth):
    rng = random.Random(3)
    shares = smooth.sentence_shares(wrong=False)
    targets = [FPR, Target("sentence", "fpr", 0.05)]
    kept = [0, 0]
    for _ in range(CALIBRATIONS):
        limits = fit_thresholds(smooth.draw_mixed(rng, 200), targets, Guarantee(), Threshold())
        kept[0] += smooth.flagged(limits, wrong=False) <= ALPHA
        kept[1] += shares(limits.sentence) <= 0.05
    assert min(kept) / CALIBRATIONS >= 0.9 - 4 * sqrt(0.9 * 0.1 / CALIBRATIONS)
