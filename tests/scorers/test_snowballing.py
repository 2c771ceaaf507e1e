from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Passage, Policy, PolicyError
from resay.adapters.methods import Snowballing
from resay.adapters.providers import ReplayProvider
from resay.engine.chain import Chain
from resay.plugins import Evidence, Samples
from resay.scorers.snowballing import correct

pytestmark = pytest.mark.anyio

UNIT = st.floats(min_value=0, max_value=1)
SCORES = st.lists(UNIT, min_size=1, max_size=12)


def test_the_published_form_by_hand() -> None:
    # |R| = 4, theta = 0.1: 0.2; 0.4 + 0.1/4; 0.9 + 0.5/4, clipped; 0 + 1.4/4.
    assert correct([0.2, 0.4, 0.9, 0.0]) == pytest.approx([0.2, 0.425, 1.0, 0.35])


def test_the_normalised_form_by_hand() -> None:
    expected = [0.2, (1.6 + 0.1) / 4.9, (3.6 + 0.5) / 5.9, (0.0 + 1.4) / 6.9]
    assert correct([0.2, 0.4, 0.9, 0.0], normalise=True) == pytest.approx(expected)


def test_forgiveness_is_a_setting() -> None:
    scores = [0.2, 0.4]
    method = Snowballing(Snowballing.Config(theta=0.0))
    assert method.corrected(scores) == pytest.approx([0.2, 0.5])
    assert Snowballing().corrected(scores) == pytest.approx([0.2, 0.45])


@given(SCORES, st.floats(min_value=0, max_value=3))
def test_the_published_form_only_raises(scores: list[float], theta: float) -> None:
    corrected = correct(scores, theta=theta)
    assert all(0 <= a <= b <= 1 for a, b in zip(scores, corrected, strict=True))
    assert corrected[0] == pytest.approx(scores[0])


@given(UNIT, st.integers(min_value=1, max_value=12))
def test_normalised_a_passage_of_equal_scores_stays_as_it_is(score: float, count: int) -> None:
    assert correct([score] * count, theta=0.0, normalise=True) == pytest.approx([score] * count)


@given(SCORES, st.floats(min_value=0, max_value=3))
def test_normalised_scores_stay_inside_without_clipping(scores: list[float], theta: float) -> None:
    corrected = correct(scores, theta=theta, normalise=True)
    assert all(0 <= score <= 1 for score in corrected)
    # Only a passage of nothing but ones reaches one.
    assert all(b < 1 for a, b in zip(scores, corrected, strict=True) if a < 0.999)


@given(st.lists(UNIT, min_size=2, max_size=6), UNIT, UNIT)
def test_more_doubt_before_never_lowers_what_follows(
    rest: list[float], one: float, other: float
) -> None:
    low, high = sorted((one, other))
    for normalise in (False, True):
        less = correct([low, *rest], normalise=normalise)
        more = correct([high, *rest], normalise=normalise)
        assert all(a <= b + 1e-12 for a, b in zip(less, more, strict=True))


def test_equal_doubts_grow_with_the_place_only_as_published() -> None:
    assert all(a < b for a, b in pairwise(correct([0.3] * 5)))
    normalised = correct([0.3] * 5, normalise=True)
    assert max(normalised) - min(normalised) < 0.02


async def test_sentences_without_a_score_count_nowhere() -> None:
    passage = Passage.from_sentences(["One.", "Two.", "Three."])
    evidence = Evidence(scores=(0.5, None, 0.5))
    scores = await Snowballing().score(passage, evidence)
    assert scores.sentences == (0.5, None, pytest.approx(0.5 + 0.4 / 2))
    assert scores.reasons == (None, None, "raised from 0.50 by what comes before it")


async def test_in_a_chain_it_corrects_settled_sentences_too() -> None:
    sentences = ["Zyx wvu tsr.", "It opened in 1932.", "Qpo nml kji."]
    steps = [
        {"method": "ngram", "settle": {"below": 0.5, "above": 0.5}},
        {"method": "snowballing"},
    ]
    samples = Samples(["It opened in 1932."] * 2 + ["It opened in 1932 ."])
    verdict = await Chain(Policy.of({"chain": steps})).run(
        Passage.from_sentences(sentences), Evidence(samples), float("inf")
    )
    first, second, third = verdict.sentences
    assert (first.score, first.by) == (1.0, "ngram")
    assert (second.score, second.by) == (pytest.approx(0.9 / 3), "snowballing")
    assert second.reason is not None
    assert second.reason.endswith("raised from 0.00 by what comes before it")
    # What is at 1 cannot be raised, and stays its own method's.
    assert (third.score, third.by) == (1.0, "ngram")
    assert verdict.steps[1].sentences == 3
    assert verdict.mean_score == pytest.approx((1.0 + 0.3 + 1.0) / 3)


def test_nothing_can_be_corrected_first() -> None:
    with pytest.raises(PolicyError, match="put another method first"):
        Policy.of({"chain": [{"method": "snowballing"}, {"method": "ngram"}]})


async def test_corrections_hide_no_earlier_failure() -> None:
    steps = [{"method": "prompt"}, {"method": "snowballing"}]
    evidence = Evidence(Samples(["a", "b", "c"]), judge_provider=ReplayProvider({}))
    verdict = await Chain(Policy.of({"chain": steps})).run(
        Passage.from_sentences(["One.", "Two."]), evidence, float("inf")
    )
    assert verdict.inconclusive
    assert verdict.reason == "prompt: 6 of 6 comparisons failed (ProviderError x1)"
