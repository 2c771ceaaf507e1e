from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from resay import Request
from resay.adapters import source_of
from resay.providers.batching.destinations import request_id
from resay.providers.caching.keys import keys_of
from resay.testing import ScriptedProvider

REQUEST = Request.of("Who?", model="m")

texts = st.text(max_size=4)
scalars = st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-2, 2, width=16) | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
queries = st.builds(
    Request,
    messages=st.tuples(st.dictionaries(texts, values, max_size=2)),
    model=st.none() | texts,
    params=st.dictionaries(texts, values, max_size=2),
    tenant=st.none() | texts,
    index=st.integers(0, 2),
)
asked = st.tuples(queries, texts, texts)


def key(request: Request, version: str = "v", source: str = "") -> str | None:
    keys = keys_of(request, 1, version=version, source=source)
    return keys[0] if keys else None


def written(request: Request, version: str, source: str) -> tuple[object, ...]:
    """What is equal only where type and value are: True is not 1 and 1 is not 1.0."""
    parts = [
        list(request.messages),
        request.model,
        dict(request.params),
        request.tenant,
        request.index,
    ]
    return (*(json.dumps(part, sort_keys=True) for part in parts), version, source)


@given(asked, asked)
def test_keys_are_equal_only_where_everything_is(
    one: tuple[Request, str, str], other: tuple[Request, str, str]
) -> None:
    assert (key(*one) == key(*other)) == (written(*one) == written(*other))


def turned(value: Any) -> Any:
    """The same with the keys of mappings in the other order, and tuples for lists."""
    if isinstance(value, dict):
        return {k: turned(v) for k, v in reversed(value.items())}
    return tuple(turned(v) for v in value) if isinstance(value, list) else value


@given(queries)
def test_the_order_of_keys_does_not_matter(request: Request) -> None:
    messages = tuple(turned(m) for m in request.messages)
    assert key(request) == key(replace(request, messages=messages, params=turned(request.params)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (replace(REQUEST, tenant="a", model="bc"), replace(REQUEST, tenant="ab", model="c")),
        (replace(REQUEST, tenant=None), replace(REQUEST, tenant="")),
        (replace(REQUEST, tenant=None), replace(REQUEST, tenant="null")),
        (replace(REQUEST, tenant="m", model=None), replace(REQUEST, tenant=None, model="m")),
        (replace(REQUEST, tenant='a","m'), replace(REQUEST, tenant="a", model='m","m')),
        (replace(REQUEST, params={"a": "1"}), replace(REQUEST, params={"a": 1})),
        (replace(REQUEST, params={"a": True}), replace(REQUEST, params={"a": 1})),
        (replace(REQUEST, params={"a": 1.0}), replace(REQUEST, params={"a": 1})),
        (replace(REQUEST, params={"a": None}), REQUEST),
        (replace(REQUEST, params={"a": [1, [2]]}), replace(REQUEST, params={"a": [[1], 2]})),
        (replace(REQUEST, index=1), replace(REQUEST, index=11)),
    ],
)
def test_nothing_runs_into_each_other(one: Request, other: Request) -> None:
    assert key(one) is not None
    assert key(one) != key(other)


def test_each_answer_has_its_own_key_whatever_it_was_asked_with() -> None:
    many = keys_of(REQUEST, 4, version="v")
    assert many is not None
    assert len(set(many)) == 4
    assert many[2:] == keys_of(replace(REQUEST, index=2), 2, version="v")


def test_a_key_shows_nothing() -> None:
    query = replace(REQUEST, params={"api_key": "sk-12345678"}, tenant="acme")
    digest = key(query)
    assert digest is not None
    assert len(digest) == 64
    assert set(digest) <= set("0123456789abcdef")


class Form(BaseModel):
    name: str


class Mode(str, Enum):
    JSON = "json"


@dataclass(frozen=True)
class Tool:
    name: str


def endless() -> list[Any]:
    inside: list[Any] = []
    inside.append(inside)
    return inside


@pytest.mark.parametrize(
    "value",
    [
        *(b"bytes", {1, 2}, object(), Form, Form(name="a"), Tool("a"), Decimal(1), lambda: None),
        *(float("nan"), float("inf"), {1: "a"}, {None: "a"}, "\ud83d", endless()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_json_does_not_know_has_no_key(value: object) -> None:
    assert key(replace(REQUEST, params={"a": value})) is None
    assert key(replace(REQUEST, params={"a": {"b": [value]}})) is None
    message: Mapping[str, Any] = {"role": "user", "content": value}
    assert key(replace(REQUEST, messages=(message,))) is None


def test_a_named_text_is_its_text() -> None:
    assert key(replace(REQUEST, params={"a": Mode.JSON})) == key(
        replace(REQUEST, params={"a": "json"})
    )


def test_a_source_is_named_or_the_very_object() -> None:
    class Named:
        cache_source = "litellm"

    assert source_of(Named()) == source_of(Named())
    first, second = ScriptedProvider([]), ScriptedProvider([])
    assert source_of(first) == source_of(first)
    assert source_of(first) != source_of(second)
    assert source_of(first) != source_of(Named())


def test_no_object_can_pass_for_a_named_source() -> None:
    class Liar:
        def __init__(self, cache_source: object) -> None:
            self.cache_source = cache_source

    other = ScriptedProvider([])
    assert source_of(Liar(source_of(other))) != source_of(other)
    assert source_of(Liar(None)) != source_of(Liar(None))


def test_equal_objects_are_two_sources() -> None:
    @dataclass
    class Alike:
        name: str

    first, second = Alike("a"), Alike("a")
    assert source_of(first) == source_of(first)
    assert source_of(first) != source_of(second)


def test_a_source_that_is_gone_is_forgotten() -> None:
    # A later object may stand in the same place in memory.
    assert len({source_of(ScriptedProvider([])) for _ in range(100)}) == 100


def test_a_source_that_cannot_be_held_is_never_the_same() -> None:
    class Slotted:
        __slots__ = ()

    provider = Slotted()
    assert source_of(provider) != source_of(provider)


def test_answers_cached_by_earlier_versions_are_found_again() -> None:
    # Computed by 0.9: whoever changes the fields of a request must not lose every cached answer.
    request = Request(
        ({"role": "user", "content": "Who designed it?"},),
        "openai/gpt-4.1-mini",
        {"temperature": 0.5, "stop": ["."]},
        tenant="acme",
        index=3,
    )
    assert keys_of(request, 2, version="sample/1", source="named:x") == (
        "ef5cace18a63008009c42bcf35eda91429497637dff74e676ca8757b68af55ba",
        "c123d5b3bb853fe68307fafee102d3c37850de1860e3a9d99e3ee1cae48a849c",
    )
    assert keys_of(request.for_sampling(temperature=0.7), 1, version="sample/1") == (
        "2fc497240ef741a05c571bc2f0dac5bc127bf7a257b3e454b6288db800570547",
    )
    # And the requests of a batch that was submitted before a crash.
    assert request_id(request) == "04cb8b185a799bdfd70665d8b07293badd2d6d3f4295b3a8d702e84e3c13a872"
