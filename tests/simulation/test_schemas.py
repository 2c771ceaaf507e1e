"""Whatever a schema asks for is had, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from simulation import SimulatedProvider

QUESTION = "What is the 'Grand Total' of 12 bridges and -3.5 in Paris, opened 19 March 1932?"


@pytest.fixture(scope="module")
def sdk() -> Iterator[openai.OpenAI]:
    with (
        SimulatedProvider(seed=7) as provider,
        openai.OpenAI(base_url=provider.base_url, api_key="k", max_retries=0) as sdk,
    ):
        yield sdk


def ask(sdk: openai.OpenAI, schema: Any) -> list[Any]:
    wanted = {"type": "json_schema", "json_schema": {"name": "wanted", "schema": schema}}
    done = sdk.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": QUESTION}],
        response_format=wanted,
        n=2,
    )
    return [json.loads(choice.message.content) for choice in done.choices]


names = st.sampled_from(["name", "city", "opened", "year", "total", "summary", "painter", "x"])
bounds = st.tuples(st.integers(-50, 50), st.integers(0, 40))


@st.composite
def numbers(draw: st.DrawFn) -> dict[str, Any]:
    low, width = draw(bounds)
    schema: dict[str, Any] = {"type": draw(st.sampled_from(["integer", "number"]))}
    schema |= draw(
        st.sampled_from(
            [
                {},
                {"minimum": low, "maximum": low + width},
                {"exclusiveMinimum": low, "exclusiveMaximum": low + width + 2},
                {"minimum": low},
                {"exclusiveMaximum": low},
                {"minimum": 0, "multipleOf": width + 1},
            ]
        )
    )
    return schema


@st.composite
def words(draw: st.DrawFn) -> dict[str, Any]:
    low, width = draw(st.tuples(st.integers(0, 60), st.integers(0, 30)))
    formats = ["date", "time", "date-time", "email", "uri", "uuid"]
    lengths = st.sampled_from(
        [{}, {"minLength": low, "maxLength": low + width}, {"minLength": low}]
    )
    return {
        "type": "string",
        **draw(st.one_of(lengths, st.builds(_format, st.sampled_from(formats)))),
    }


def _format(name: str) -> dict[str, Any]:
    return {"format": name}


leaves = st.one_of(
    numbers(),
    words(),
    st.sampled_from([{"type": "boolean"}, {"type": "null"}, {"type": ["string", "null"]}, {}]),
    st.builds(
        lambda v: {"enum": v}, st.lists(st.one_of(st.text(), st.integers(), st.none()), min_size=1)
    ),
    st.builds(lambda v: {"const": v}, st.one_of(st.text(), st.integers(), st.just({"a": [1]}))),
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    properties = st.dictionaries(names, inner, max_size=4)
    return st.builds(
        lambda p, every, extra: {
            "type": "object",
            "properties": p,
            "required": list(p)[: None if every else 1],
            "additionalProperties": extra,
        },
        properties,
        st.booleans(),
        st.booleans(),
    )


def arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda items, low, width: {
            "type": "array",
            "items": items,
            "minItems": low,
            "maxItems": low + width,
        },
        inner,
        st.integers(0, 3),
        st.integers(0, 3),
    )


def combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        objects(inner),
        arrays(inner),
        st.builds(lambda branches: {"anyOf": branches}, several),
        st.builds(lambda one: {"allOf": [one]}, inner),
        st.builds(lambda p: {"type": "object", "additionalProperties": p}, inner),
        st.builds(lambda p: {"type": "array", "prefixItems": [p, p], "minItems": 2}, inner),
    )


schemas = st.recursive(leaves, combined, max_leaves=8)


TREE = {
    "type": "object",
    "properties": {"left": {"$ref": "#/$defs/branch"}},
    "required": ["left"],
}


@given(root=objects(schemas), shared=schemas)
def test_what_it_makes_up_satisfies_the_schema(
    sdk: openai.OpenAI, root: dict[str, Any], shared: dict[str, Any]
) -> None:
    root["$defs"] = {"shared": shared, "tree": TREE}
    root["$defs"]["branch"] = {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]}
    root["properties"] |= {"shared": {"$ref": "#/$defs/shared"}, "tree": {"$ref": "#/$defs/tree"}}
    checker = Draft202012Validator(root, format_checker=Draft202012Validator.FORMAT_CHECKER)
    for answer in ask(sdk, root):
        checker.validate(answer)
