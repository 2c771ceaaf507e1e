"""Parameters that make every answer a copy of the first, under all their names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay.core.decoding import is_fixed, is_greedy, with_sampling

GREEDY: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"temperature": 0}, {}),
    ({"temperature": 0.0}, {}),
    ({"temperature": 1e-7}, {}),
    ({"temperature": 0.05}, {}),
    ({"temperature": "0"}, {}),
    ({"top_k": 1}, {}),
    ({"topK": 1.0}, {}),
    ({"k": 1}, {}),
    ({"top_p": 0}, {}),
    ({"top_p": 1e-9}, {}),
    ({"topP": 0.01}, {}),
    ({"p": 0.01}, {}),
    ({"min_p": 1.0}, {}),
    ({"typical_p": 0.01}, {}),
    ({"mirostat_tau": 0}, {}),
    ({"best_of": 5}, {}),
    ({"do_sample": False}, {"do_sample": True}),
    ({"doSample": "false"}, {"doSample": True}),
    ({"decoding_method": "greedy"}, {"decoding_method": "sample"}),
    ({"use_beam_search": True}, {}),
    ({"num_beams": 4, "early_stopping": True}, {"do_sample": True}),
    ({"penalty_alpha": 0.6, "top_k": 4}, {"top_k": 4, "do_sample": True}),
    ({"options": {"temperature": 0, "num_ctx": 9}}, {"options": {"num_ctx": 9}}),
    ({"extra_body": {"top_k": 1, "user": "u"}}, {"extra_body": {"user": "u"}}),
    ({"generation_config": {"temperature": 0}}, {"generation_config": {}}),
    (
        {"extra_body": {"generationConfig": {"topK": 1, "maxOutputTokens": 9}}},
        {"extra_body": {"generationConfig": {"maxOutputTokens": 9}}},
    ),
    ({"parameters": {"do_sample": False}}, {"parameters": {"do_sample": True}}),
    ({"inferenceConfig": {"temperature": 0}}, {"inferenceConfig": {}}),
]
SEEDED = [
    {"seed": 7},
    {"random_seed": 7},
    {"options": {"seed": 0}},
    {"extra_body": {"sampling_params": {"seed": 7}}},
]
DRAWN = [
    {"temperature": 0.3},
    {"temperature": None},
    {"top_k": 40},
    {"top_k": 0},
    {"top_k": -1},
    {"top_p": 0.5},
    {"min_p": 0.05},
    {"do_sample": True},
    {"num_beams": 1},
    {"repetition_penalty": 1.3, "length_penalty": 2},
    {"early_stopping": True},
    {"extra_body": {"search": {"k": 1, "p": 0}}},
    {"messages": [{"role": "user", "content": "temperature: 0"}]},
    {"metadata": {"seed": 7, "temperature": 0}},
    {"tools": [{"parameters": {"properties": {"temperature": {"default": 0}}}}]},
    {"format": {"properties": {"seed": {"type": "integer"}, "top_k": {"const": 1}}}},
]


@pytest.mark.parametrize(("params", "drawn"), GREEDY)
def test_greedy_decoding_is_switched_off(params: dict[str, Any], drawn: dict[str, Any]) -> None:
    before = repr(params)
    assert with_sampling({"max_tokens": 9, **params}) == {"max_tokens": 9, **drawn}
    assert repr(params) == before
    assert is_greedy(params)
    assert is_fixed(params)
    assert not is_fixed(with_sampling(params))


@pytest.mark.parametrize("params", SEEDED)
def test_a_seed_is_left_out(params: dict[str, Any]) -> None:
    assert is_fixed(params)
    assert not is_greedy(params)
    assert not is_fixed(with_sampling(params))


@pytest.mark.parametrize("params", DRAWN)
def test_other_parameters_are_unchanged(params: dict[str, Any]) -> None:
    assert with_sampling(params) == params
    assert not is_fixed(params)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["seed", "top_k", "options", "temperature", "do_sample", "x", "numBeams"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["seed", "extra_body", "top_p", "y"]), VALUES))
def test_no_parameters_stay_fixed(params: dict[str, Any]) -> None:
    drawn = with_sampling(params)
    assert not is_fixed(drawn)
    assert repr(with_sampling(drawn)) == repr(drawn)
