from __future__ import annotations

from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import Passage, Policy, PolicyError
from resay.adapters.methods import Leaning
from resay.adapters.providers import ReplayProvider
from resay.engine.chain import Chain
from resay.plugins import Evidence, Samples

pytestmark = pytest.mark.anyio

UNIT = st.floats(min_value=0, max_value=1)
SCORES = st.lists(UNIT, min_size=1, max_size=12)
LEANS = st.floats(min_value=0, max_value=0.99)


def lean(scores: list[float], by: float) -> list[float]:
    found = Leaning(Leaning.Config(lean=by)).corrected(scores)
    return [score for score in found if score is not None]


def test_by_hand() -> None:
    assert lean([1.0, 0.0, 0.5], 0.2) == pytest.approx([0.9, 0.1, 0.5])
    assert Leaning().corrected([1.0, 0.0]) == pytest.approx([0.925, 0.075])


@given(SCORES, LEANS)
def test_the_passage_keeps_its_mean_and_its_order(scores: list[float], by: float) -> None:
    leaning = lean(scores, by)
    assert fmean(leaning) == pytest.approx(fmean(scores))
    assert all(0 <= score <= 1 for score in leaning)
    for a, x in zip(scores, leaning, strict=True):
        assert all(x <= y + 1e-12 for b, y in zip(scores, leaning, strict=True) if a < b)


@given(UNIT, LEANS, st.integers(min_value=1, max_value=9))
def test_equal_scores_stay_as_they_are(score: float, by: float, count: int) -> None:
    assert lean([score] * count, by) == pytest.approx([score] * count)


@given(UNIT, LEANS)
def test_the_only_sentence_has_nothing_to_lean_on(score: float, by: float) -> None:
    assert lean([score], by) == pytest.approx([score])


async def test_sentences_without_a_score_count_nowhere() -> None:
    passage = Passage.from_sentences(["One.", "Two.", "Three.", "Four."])
    evidence = Evidence(scores=(1.0, None, 0.0, 0.501))
    scores = await Leaning(Leaning.Config(lean=0.2)).score(passage, evidence)
    assert scores.sentences == pytest.approx((0.90006667, None, 0.10006667, 0.50086667))
    assert scores.reasons == (
        "lowered from 1.00 by what is around it",
        None,
        "raised from 0.00 by what is around it",
        # Nobody sees a change of a tenth of a percent.
        None,
    )
    assert (await Leaning().score(passage, Evidence(scores=(None,) * 4))).sentences == (None,) * 4


async def test_in_a_chain_it_corrects_settled_sentences_too() -> None:
    steps = [
        {"method": "ngram", "settle": {"below": 0.5, "above": 0.5}},
        {"method": "leaning", "lean": 0.25},
    ]
    samples = Samples(["It opened in 1932."] * 2 + ["It opened in 1932 ."])
    verdict = await Chain(Policy.of({"chain": steps})).run(
        Passage.from_sentences(["Zyx wvu tsr.", "It opened in 1932."]),
        Evidence(samples),
        float("inf"),
    )
    assert [(s.score, s.by, s.flagged) for s in verdict.sentences] == [
        (0.875, "leaning", True),
        (0.125, "leaning", False),
    ]
    assert verdict.sentences[0].scores == {"ngram": 1.0, "leaning": 0.875}
    assert (verdict.score, verdict.mean_score) == (0.875, 0.5)


def test_nothing_can_lean_first() -> None:
    with pytest.raises(PolicyError, match="put another method first"):
        Policy.of({"chain": [{"method": "leaning"}, {"method": "ngram"}]})
    with pytest.raises(PolicyError, match="lean: must be less than 1"):
        Policy.of({"chain": [{"method": "ngram"}, {"method": "leaning", "lean": 1.0}]})


async def test_corrections_hide_no_earlier_failure() -> None:
    steps = [{"method": "prompt"}, {"method": "leaning"}]
    evidence = Evidence(Samples(["a", "b", "c"]), judge_provider=ReplayProvider({}))
    verdict = await Chain(Policy.of({"chain": steps})).run(
        Passage.from_sentences(["One.", "Two."]), evidence, float("inf")
    )
    assert verdict.inconclusive
    assert verdict.reason == "prompt: 6 of 6 comparisons failed (ProviderError x1)"
