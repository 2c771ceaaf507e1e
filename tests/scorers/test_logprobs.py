from __future__ import annotations

import math
from statistics import fmean
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from resay import Passage, Policy, PolicyError, TokenLogprob
from resay.plugins import Evidence, Scores
from resay.providers import TopLogprob
from resay.scorers.common.token_uncertainty import perplexity, surprise
from resay.scorers.logprobs import Logprobs, alternatives_needed

pytestmark = pytest.mark.anyio

PIECES = [["The bridge", " opened in", " 1932."], [" It", " has", " 31", " lamps."]]
PASSAGE = Passage.of("".join(piece for row in PIECES for piece in row))
SURPRISES = [[0.1, 0.4, 0.7], [0.2, 0.3, 2.5, 1.0]]


def tokens_with(*values: dict[str, Any]) -> tuple[TokenLogprob, ...]:
    texts = [piece for row in PIECES for piece in row]
    return tuple(
        TokenLogprob(t, **{"logprob": -1.0} | v) for t, v in zip(texts, values, strict=True)
    )


def surprising(rows: list[list[float]] = SURPRISES) -> tuple[TokenLogprob, ...]:
    return tokens_with(*({"logprob": -value} for row in rows for value in row))


def open_to(rows: list[list[list[float]]]) -> tuple[TokenLogprob, ...]:
    """Return tokens whose places have alternatives with these probabilities."""
    tops = [
        tuple(TopLogprob(str(i), math.log(p)) for i, p in enumerate(place))
        for row in rows
        for place in row
    ]
    return tokens_with(*({"top": top} for top in tops))


async def score(
    logprobs: tuple[TokenLogprob, ...], passage: Passage = PASSAGE, **config: Any
) -> Scores:
    return await Logprobs(Logprobs.Config(**config)).score(passage, Evidence(logprobs=logprobs))


# The four statistics, against their equations written out


async def test_average_probability() -> None:
    scores = await score(surprising())
    assert scores.raw == pytest.approx([fmean(row) for row in SURPRISES])
    # 1 - the geometric mean of the probabilities.
    products = [math.prod(math.exp(-v) for v in row) ** (1 / len(row)) for row in SURPRISES]
    assert scores.sentences == pytest.approx([1 - p for p in products])
    # Over all tokens of the passage, not over its sentences.
    assert scores.raw_passage == pytest.approx(fmean(v for row in SURPRISES for v in row))
    assert scores.passage_score == pytest.approx(1 - math.exp(-(scores.raw_passage or 0)))
    assert (scores.lost, scores.error) == ((), None)


async def test_maximum_probability() -> None:
    scores = await score(surprising(), pool="maximum")
    assert scores.raw == pytest.approx((0.7, 2.5))
    # 1 - the least probability.
    assert scores.sentences == pytest.approx((1 - math.exp(-0.7), 1 - math.exp(-2.5)))
    assert scores.raw_passage == pytest.approx((0.7 + 2.5) / 2)
    assert scores.passage_score == pytest.approx(fmean(s for s in scores.sentences if s))


PLACES = [
    [[0.9, 0.05], [0.5, 0.25, 0.125], [0.3, 0.3, 0.3]],
    [[0.2, 0.2, 0.2, 0.2, 0.2], [0.99, 0.01], [0.4, 0.1, 0.1], [0.25, 0.25]],
]


def published(place: list[float], top: int) -> float:
    """Return 2^H over the most probable tokens, made to sum to 1 (appendix A.1, Eq. 13)."""
    best = sorted(place, reverse=True)[:top]
    shares = [p / sum(best) for p in best]
    return 2 ** -sum(p * math.log2(p) for p in shares)


@pytest.mark.parametrize("top", [2, 3, 5, 20])
async def test_entropies(top: int) -> None:
    values = [[published(place, top) for place in row] for row in PLACES]
    average = await score(open_to(PLACES), measure="entropy", top=top)
    assert average.raw == pytest.approx([fmean(row) for row in values])
    assert average.sentences == pytest.approx([1 - 1 / fmean(row) for row in values])
    assert average.raw_passage == pytest.approx(fmean(v for row in values for v in row))
    assert average.passage == pytest.approx(1 - 1 / (average.raw_passage or 0))
    maximum = await score(open_to(PLACES), measure="entropy", pool="maximum", top=top)
    assert maximum.raw == pytest.approx([max(row) for row in values])
    assert maximum.sentences == pytest.approx([1 - 1 / max(row) for row in values])
    assert maximum.raw_passage == pytest.approx(fmean(max(row) for row in values))


async def test_a_known_distribution_is_taken_whole() -> None:
    rows = [[0.1, 0.2, 0.3], [1.1, 1.2, 1.3, 1.4]]
    logprobs = tokens_with(*({"entropy": value} for row in rows for value in row))
    scores = await score(logprobs, measure="entropy")
    assert scores.raw == pytest.approx([fmean(map(math.exp, row)) for row in rows])
    assert scores.reasons[1] == (
        "'lamps.' was as open as a choice between 4.1 equally probable tokens"
        " (entropy over the whole vocabulary)"
    )


async def test_equally_probable_tokens_are_as_many_as_they_are() -> None:
    for count in (2, 3, 7):
        scores = await score(
            open_to([[[0.1] * count] * 3, [[0.1] * count] * 4]), measure="entropy", top=7
        )
        assert scores.raw_passage == pytest.approx(count)
        assert scores.passage == pytest.approx(1 - 1 / count)


numbers = st.floats(-1e6, 1) | st.sampled_from([-math.inf, -9999.0, 0.0, -0.0])


@given(st.lists(numbers, min_size=2, max_size=30), st.integers(2, 20))
def test_a_perplexity_is_between_one_and_the_number_of_tokens(
    values: list[float], top: int
) -> None:
    token = TokenLogprob("x", None, top=tuple(TopLogprob("y", v) for v in values))
    assert 1.0 <= (perplexity(token, top) or 0) <= min(top, len(values)) + 1e-9


@given(
    st.lists(numbers | st.none(), min_size=7, max_size=7), st.sampled_from(["average", "maximum"])
)
def test_whatever_a_provider_says_scores_are_scores(values: list[float | None], pool: str) -> None:
    logprobs = tokens_with(*({"logprob": value} for value in values))
    scores = anyio.run(lambda: score(logprobs, pool=pool))
    assert all(math.isfinite(value) for value in scores.raw)
    rows = [values[:3], values[3:]]
    if scores.error:
        assert not any(v is not None for v in values)
    else:
        nothing = [i for i, row in enumerate(rows) if all(v is None for v in row)]
        assert scores.lost == tuple(nothing)
        assert [i for i, s in enumerate(scores.sentences) if s is None] == nothing


async def test_both_maps_keep_the_order() -> None:
    for config in ({}, {"pool": "maximum"}):
        lower = await score(surprising(), **config)
        higher = await score(surprising([[v * 1.01 for v in row] for row in SURPRISES]), **config)
        pairs = zip(lower.sentences, higher.sentences, strict=True)
        assert all(a is not None and b is not None and a < b for a, b in pairs)


# What is explained, and what cannot be said


async def test_the_least_probable_token_is_named() -> None:
    for pool in ("average", "maximum"):
        assert (await score(surprising(), pool=pool)).reasons == (
            "its least probable token is '1932.', with probability 0.5",
            "its least probable token is '31', with probability 0.082",
        )
    entropies = await score(open_to(PLACES), measure="entropy", top=3)
    assert entropies.reasons[0] == (
        "'1932.' was as open as a choice between 3.0 equally probable tokens"
        " (entropy over the 3 most probable tokens)"
    )


async def test_only_the_sentences_not_yet_settled_are_scored() -> None:
    whole, part = await score(surprising()), await score(surprising(), PASSAGE.only([1]))
    assert part.sentences == whole.sentences[1:]
    assert part.raw_passage == pytest.approx(fmean(SURPRISES[1]))


async def test_without_tokens_it_says_so() -> None:
    scores = await score(())
    assert scores.error == ("the provider returned no token log-probabilities for the response")


async def test_tokens_of_another_text_are_refused() -> None:
    scores = await score(surprising(), Passage.of("Something else was said."))
    assert scores.error == "the tokens given do not make up the text of the response"
    assert scores.sentences == ()


@pytest.mark.parametrize("top", [(), (TopLogprob("x", -0.1),)])
async def test_an_entropy_needs_alternatives(top: tuple[TopLogprob, ...]) -> None:
    scores = await score(tokens_with(*[{"top": top}] * 7), measure="entropy")
    assert scores.error is not None
    assert "without their most probable alternatives" in scores.error


async def test_a_sentence_without_values_is_lost() -> None:
    logprobs = tokens_with(*({"logprob": v} for v in (None, None, None, -1.0, -1.0, None, -1.0)))
    scores = await score(logprobs)
    assert (scores.sentences, scores.lost) == ((None, pytest.approx(1 - math.exp(-1))), (0,))
    assert scores.raw_passage == 1.0


# What is asked for


@pytest.mark.parametrize(
    ("chain", "wanted"),
    [
        ([{"method": "ngram"}], 0),
        ([{"method": "logprobs", "top": 9}], 0),
        ([{"method": "logprobs", "measure": "entropy"}], 5),
        (
            [
                {"method": "logprobs", "measure": "entropy", "top": 3},
                {
                    "method": "ensemble",
                    "parts": [
                        {"scorer": {"method": "logprobs", "measure": "entropy", "top": 20}},
                        {"scorer": {"method": "ngram"}},
                    ],
                },
            ],
            20,
        ),
    ],
)
def test_as_many_alternatives_are_wanted_as_the_chain_needs(
    chain: list[dict[str, Any]], wanted: int
) -> None:
    assert alternatives_needed(Policy.of({"chain": chain}).chain) == wanted


@pytest.mark.parametrize(
    "wrong", [{"top": 1}, {"top": 1001}, {"pool": "sum"}, {"measure": "surprise"}]
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(PolicyError):
        Policy.of({"chain": [{"method": "logprobs", **wrong}]})


async def test_probabilities_out_of_range_are_clipped() -> None:
    assert surprise(TokenLogprob("x", -1e9)) == 100.0
    assert surprise(TokenLogprob("x", 0.5)) == 0.0
    assert surprise(TokenLogprob("x", None)) is None
    # Whatever a provider fills its list with: -9999 is as impossible as can be.
    filled = tuple(TopLogprob("y", value) for value in (-9999.0, -math.inf))
    assert perplexity(TokenLogprob("x", None, top=filled), 5) == pytest.approx(2.0)
    assert perplexity(TokenLogprob("x", None, entropy=-1.0), 5) == 1.0


async def test_a_small_entropy_has_a_small_score() -> None:
    scores = await score(tokens_with(*[{"entropy": 0.1}] * 7), measure="entropy")
    assert scores.sentences == pytest.approx([1 - math.exp(-0.1)] * 2)


async def test_without_any_probability_it_says_so() -> None:
    scores = await score(tokens_with(*[{"logprob": None}] * 7))
    assert scores.error == "no token of the response's sentences has a log-probability"


async def test_default_settings_require_nothing() -> None:
    scores = await Logprobs().score(PASSAGE, Evidence(logprobs=surprising()))
    assert scores.raw == pytest.approx([fmean(row) for row in SURPRISES])
    assert alternatives_needed(()) == 0


def test_a_provider_may_list_up_to_1000_alternatives() -> None:
    assert Logprobs.Config(top=1000).top == 1000
    with pytest.raises(ValidationError, match="top"):
        Logprobs.Config(top=1001)
