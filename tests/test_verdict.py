from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import ConfigurationError, Contradiction, SentenceVerdict, StepRecord, Usage, Verdict
from resay.verdict import Scores

units = st.floats(0, 1)
texts = st.text(max_size=20)
usages = st.builds(
    Usage, st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.none() | units
)
sentences = st.builds(
    SentenceVerdict,
    texts,
    st.integers(0, 99),
    st.integers(0, 99),
    st.none() | units,
    st.booleans(),
    st.none() | texts,
    st.none() | texts,
    st.none()
    | st.builds(Contradiction, st.sampled_from(["sample", "reference"]), st.just(1), texts),
)
steps = st.builds(
    StepRecord, texts, st.integers(0, 9), st.none() | units, usages, units, st.just({"E": 2})
)
verdicts = st.builds(
    Verdict,
    st.sampled_from(["consistent", "flagged", "inconclusive"]),
    st.none() | units,
    texts,
    st.lists(sentences, max_size=3).map(tuple),
    st.integers(0, 9),
    st.lists(steps, max_size=2).map(tuple),
    usages,
    units,
)


@given(verdicts)
def test_json_round_trip(verdict: Verdict) -> None:
    assert Verdict.from_dict(json.loads(json.dumps(verdict.to_dict()))) == verdict


def test_without_content_no_word_is_left() -> None:
    said = Contradiction("sample", 0, "secret two")
    sentence = SentenceVerdict("secret one", 0, 10, 0.9, True, "prompt", "secret three", said)
    bare = Verdict("flagged", 0.9, "passage 0.90 > 0.50", (sentence,)).to_dict(content=False)
    assert "secret" not in json.dumps(bare)
    assert bare["sentences"][0]["end"] == 10


def test_decisions_are_told_apart() -> None:
    assert Verdict("flagged", 1.0, "").flagged
    assert Verdict("inconclusive", None, "").inconclusive
    assert not Verdict("inconclusive", None, "").flagged
    assert not Verdict("consistent", 0.0, "").inconclusive


def test_usage_adds_up_and_an_unknown_price_stays_unknown() -> None:
    assert Usage(1, 2, 3, 0.5) + Usage(1, 1, 1, 0.25) == Usage(2, 3, 4, 0.75)
    assert (Usage(1, 2, 3, None) + Usage(1, 1, 1, 0.25)).cost_usd is None
    assert Usage(1, 2, 3).tokens == 5


@pytest.mark.parametrize("score", [math.nan, -0.1, 1.1])
def test_a_score_outside_its_range_is_a_bug(score: float) -> None:
    with pytest.raises(ValueError, match="must lie in"):
        Scores(sentences=(score,))
    with pytest.raises(ValueError, match="must lie in"):
        Scores(passage=score)


def test_the_passage_score_is_the_mean_of_the_known_sentence_scores() -> None:
    assert Scores(sentences=(0.0, None, 1.0)).passage_score == 0.5
    assert Scores(sentences=(0.0,), passage=0.7).passage_score == 0.7
    assert Scores(sentences=(None,)).passage_score is None


def test_what_is_no_verdict_is_refused_without_repeating_it() -> None:
    data = Verdict("flagged", 1.0, "why").to_dict() | {"score": "secret", "sentences": [{}]}
    with pytest.raises(ConfigurationError, match=r"look at score, sentences\.0\.text") as caught:
        Verdict.from_dict(data)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
