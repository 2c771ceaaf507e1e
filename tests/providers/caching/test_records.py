from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resay import TokenLogprob
from resay.core.logprobs import TopLogprob
from resay.plugins import Completion
from resay.providers.caching.records import read_record, record_of

numbers = st.floats(allow_nan=False)
tokens = st.builds(
    TokenLogprob,
    token=st.text(),
    logprob=st.none() | numbers,
    bytes=st.none() | st.lists(st.integers(0, 255)).map(tuple),
    top=st.lists(st.builds(TopLogprob, st.text(), numbers)).map(tuple),
    entropy=st.none() | numbers,
)
completions = st.builds(
    Completion,
    text=st.text(),
    finish_reason=st.none() | st.text(),
    logprobs=st.lists(tokens, max_size=3).map(tuple),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
WHOLE = {"format": 1, "text": "words", "finish_reason": None, "logprobs": []}


@given(completions)
def test_what_is_written_is_read(completion: Completion) -> None:
    assert read_record(record_of(completion)) == completion


def test_the_providers_object_is_left_out() -> None:
    assert b"secret" not in record_of(Completion("words", raw="secret"))


@given(st.binary() | json_values.map(lambda value: json.dumps(value).encode()))
def test_anything_else_is_not_an_answer(data: bytes) -> None:
    assert read_record(data) is None


@given(st.sampled_from(sorted(WHOLE)), json_values)
def test_a_part_of_another_kind_breaks_nothing(part: str, value: object) -> None:
    read = read_record(json.dumps({**WHOLE, part: value}).encode())
    assert read is None or isinstance(read.text, str)


@pytest.mark.parametrize(
    "part",
    [
        *({"format": 2}, {"text": None}, {"text": 1}, {"finish_reason": 1}, {"logprobs": None}),
        *({"logprobs": [["a", "b", None, [], None]]}, {"logprobs": [["a", 0.5]]}),
        *({"logprobs": [["a", True, None, [], None]]}, {"logprobs": [["a", 0, [256], [], None]]}),
        *({"logprobs": [["a", 0, 10**12, [], None]]}, {"logprobs": [[1, 0, None, [], None]]}),
        *({"logprobs": [["a", 10**400, None, [], None]]}, {"logprobs": "abc"}),
    ],
)
def test_another_format_or_a_broken_one_is_a_miss(part: dict[str, object]) -> None:
    assert read_record(json.dumps(WHOLE).encode()) == Completion("words")
    assert read_record(json.dumps({**WHOLE, **part}).encode()) is None
