from __future__ import annotations

from math import exp, log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from resay import Passage, Policy, PolicyError
from resay.adapters.methods import Combination, combine, log_odds, weighted_sum
from resay.adapters.providers import ReplayProvider
from resay.plugins import Evidence, Samples, Scores, build
from resay.scorers.combination import StandardisedPart
from resay.scorers.ngram import Ngram
from resay.scorers.prompt import render
from resay.scorers.zero_shot import render as render_zero_shot

pytestmark = pytest.mark.anyio

SENTENCES = ["The bridge opened in 1932.", "Its painter was Harold Finch."]
PASSAGE = Passage.from_sentences(SENTENCES)
SAMPLES = ["The bridge opened in 1932. Ann Lee painted it.", "It opened in 1932.", "In 1932."]
NGRAM = {"method": "ngram"}
PROMPT = {"method": "prompt", "form": "published", "restate": False}
ZERO_SHOT = {"method": "zero_shot", "restate": False}


def sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x))


async def score(*parts: dict[str, Any], **settings: object) -> Scores:
    step = {"method": "combination", "parts": list(parts), **settings}
    (config,) = Policy.of({"chain": [step]}).chain
    recording = {
        render(sentence, sample): [answer]
        for sentence, answer in zip(SENTENCES, ("Yes", "No"), strict=True)
        for sample in SAMPLES
    }
    judge = ReplayProvider(recording | {render_zero_shot(PASSAGE.text): ["factual"]})
    return await build(config).score(PASSAGE, Evidence(Samples(SAMPLES), judge_provider=judge))


async def test_values_are_standardised_weighed_and_added() -> None:
    raw = (await Ngram().score(PASSAGE, Evidence(Samples(SAMPLES)))).raw
    scores = await score(
        {"scorer": NGRAM, "mean": 2.0, "deviation": 0.5, "weight": 0.3},
        {"scorer": PROMPT, "mean": 0.7, "deviation": 0.4, "weight": 2.0, "scale": "log_odds"},
        intercept=0.25,
    )
    odds = [log(0.02 / 0.98), log(0.98 / 0.02)]
    expected = [
        sigmoid(0.25 + 0.3 * (x - 2.0) / 0.5 + 2.0 * (y - 0.7) / 0.4)
        for x, y in zip(raw, odds, strict=True)
    ]
    assert scores.sentences == pytest.approx(expected)


async def test_leaning_pulls_sentences_together_and_keeps_their_order() -> None:
    part = {"scorer": PROMPT, "mean": 0.5, "deviation": 0.5}
    free = (await score(part)).sentences
    leaning = (await score(part, lean=0.6)).sentences
    assert free == pytest.approx((sigmoid(-1), sigmoid(1)))
    assert leaning == pytest.approx((sigmoid(-0.4), sigmoid(0.4)))


async def test_a_passage_score_speaks_for_every_sentence() -> None:
    scores = await score(
        {"scorer": PROMPT, "mean": 0.5, "deviation": 0.5},
        {"scorer": ZERO_SHOT, "mean": 0.0, "deviation": 1.0},
    )
    assert scores.sentences == pytest.approx((sigmoid(-1), sigmoid(1)))
    assert scores.passage is None


async def test_passage_scores_alone_give_a_passage_score() -> None:
    scores = await score({"scorer": ZERO_SHOT, "mean": 1.0, "deviation": 0.5})
    assert (scores.sentences, scores.passage) == ((), pytest.approx(sigmoid(-2)))


FINITE = st.floats(min_value=-1e6, max_value=1e6)


@given(
    st.lists(st.none() | FINITE, max_size=8),
    FINITE,
    st.floats(min_value=0, max_value=1, exclude_max=True),
)
def test_any_sums_give_scores(z: list[float | None], intercept: float, lean: float) -> None:
    scores = combine(z, intercept=intercept, lean=lean)
    assert [s is None for s in scores] == [value is None for value in z]
    assert all(0 <= s <= 1 for s in scores if s is not None)


@given(st.floats(min_value=0, max_value=1))
def test_log_odds_are_finite_and_symmetric(value: float) -> None:
    assert log_odds(value) == pytest.approx(-log_odds(1 - value))
    assert abs(log_odds(value)) < 4


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({}, r"parts\[0\].mean: required, but missing"),
        ({"mean": 0.5}, r"parts\[0\].deviation: required, but missing"),
        ({"mean": 0.5, "deviation": 0}, "must be greater than 0"),
        ({"mean": 0.5, "deviation": 1, "scale": "odds"}, "'raw' or 'log_odds'"),
        ({"mean": 0.5, "deviation": 1, "weight": 0}, "must not all be 0"),
        ({"mean": float("inf"), "deviation": 1}, "a finite number"),
    ],
)
def test_without_means_and_deviations_it_is_refused(part: dict[str, Any], message: str) -> None:
    step = {"method": "combination", "parts": [{"scorer": NGRAM, **part}]}
    with pytest.raises(PolicyError, match=message):
        Policy.of({"chain": [step]})


def test_leaning_is_towards_the_mean_of_the_sums_there_are() -> None:
    leaning = combine([1.0, None, 4.0], intercept=0.5, lean=0.25)
    expected = [sigmoid(0.5 + 0.75 * z + 0.25 * 2.5) for z in (1.0, 4.0)]
    assert leaning == [pytest.approx(expected[0]), None, pytest.approx(expected[1])]
    assert combine([None], intercept=0.5, lean=0.25) == [None]


def test_a_part_without_a_value_counts_as_its_mean() -> None:
    part = {"scorer": NGRAM, "mean": 2.0, "deviation": 0.5}
    parts = [StandardisedPart.model_validate(part | {"weight": w}) for w in (3.0, 5.0)]
    assert weighted_sum(parts, [3.0, None]) == pytest.approx(3.0 * (3.0 - 2.0) / 0.5)
    assert weighted_sum(parts, [None, None]) is None


async def test_a_lost_score_has_no_odds() -> None:
    part = {"scorer": PROMPT, "mean": 0.5, "deviation": 0.5, "scale": "log_odds"}
    step = {"method": "combination", "parts": [part]}
    (config,) = Policy.of({"chain": [step]}).chain
    recording = {render(SENTENCES[0], sample): ["Yes"] for sample in SAMPLES}
    evidence = Evidence(Samples(SAMPLES), judge_provider=ReplayProvider(recording))
    scores = await build(config).score(PASSAGE, evidence)
    assert scores.sentences == (pytest.approx(sigmoid((log(0.02 / 0.98) - 0.5) / 0.5)), None)


def test_one_weight_is_enough_and_none_is_endless() -> None:
    part = {"scorer": NGRAM, "mean": 2.0, "deviation": 0.5}
    step = {"method": "combination", "parts": [part | {"weight": 0}, part]}
    assert Policy.of({"chain": [step]})
    with pytest.raises(ValidationError, match="finite"):
        Combination.Config.model_validate(step | {"intercept": float("inf")})
