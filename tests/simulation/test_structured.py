from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from pydantic import BaseModel, Field

from simulation import Invention, SimulatedProvider, Subject, World

BRIDGE = "Tell me about the Sydney Harbour Bridge."
ANSWERS = 5


@pytest.fixture(scope="module")
def provider() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=7) as provider:
        yield provider


@pytest.fixture(scope="module")
def sdk(provider: SimulatedProvider) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=provider.base_url, api_key="k", max_retries=0) as sdk:
        yield sdk


def form(schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "wanted", "schema": schema}}


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def ask(sdk: openai.OpenAI, question: str, schema: Any, **params: Any) -> list[Any]:
    messages = [{"role": "user", "content": question}]
    done = sdk.chat.completions.create(
        model="m", messages=messages, response_format=form(schema), **params
    )
    return [json.loads(choice.message.content) for choice in done.choices]


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


# What it knows


def test_what_is_known_is_the_same_each_time_and_the_rest_is_not(sdk: openai.OpenAI) -> None:
    schema = fields(
        name=TEXT, year_opened=WHOLE, opened=TEXT, engineer=TEXT, painter=TEXT, rivets=WHOLE
    )
    answers = [ask(sdk, BRIDGE, schema)[0] for _ in range(ANSWERS)]

    for known, value in {
        "name": "Sydney Harbour Bridge",
        "year_opened": 1932,
        "opened": "19 March 1932",
        "engineer": "John Bradfield",
    }.items():
        assert [answer[known] for answer in answers] == [value] * ANSWERS
    assert len({answer["painter"] for answer in answers}) == ANSWERS
    assert len({answer["rivets"] for answer in answers}) == ANSWERS


def test_the_same_holds_for_the_arguments_of_a_forced_tool(sdk: openai.OpenAI) -> None:
    function = {"name": "keep", "parameters": fields(year_opened=WHOLE, painter=TEXT)}
    done = sdk.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": BRIDGE}],
        tools=[{"type": "function", "function": function}],
        tool_choice={"type": "function", "function": {"name": "keep"}},
        n=ANSWERS,
    )
    calls = [choice.message.tool_calls[0] for choice in done.choices]
    arguments = [json.loads(call.function.arguments) for call in calls]
    assert {one["year_opened"] for one in arguments} == {1932}
    assert len({one["painter"] for one in arguments}) == ANSWERS
    assert len({call.id for call in calls}) == ANSWERS


def test_a_world_of_ones_own_is_known(sdk: openai.OpenAI) -> None:
    ombra = Subject(
        "Ombra",
        facts=(
            ("The mayor of Ombra is Fenella Quist.", "Fenella Quist is the mayor of Ombra."),
            "It has 4,711 inhabitants.",
        ),
        inventions=(Invention("Its bell weighs {number} pounds."),),
    )
    schema = fields(mayor=TEXT, inhabitants=WHOLE, bell=WHOLE, answer=TEXT)
    with (
        SimulatedProvider(world=World([ombra])) as own,
        openai.OpenAI(base_url=own.base_url, api_key="k") as client,
    ):
        first, second = ask(client, "What is there to know about Ombra?", schema, n=2)
    for answer in (first, second):
        assert (answer["mayor"], answer["inhabitants"]) == ("Fenella Quist", 4711)
        assert "4,711 inhabitants" in answer["answer"]
        assert "Its bell weighs" in answer["answer"]
    assert first["bell"] != second["bell"]
    assert first["answer"] != second["answer"]


@pytest.mark.parametrize(
    ("question", "schema", "wanted"),
    [
        ("Add 3 and 4.", fields(a=WHOLE, b=WHOLE), {"a": 3, "b": 4}),
        ("It is -7.5 degrees.", fields(degrees={"type": "number"}), {"degrees": -7.5}),
        ("It was built in 1931.", fields(built_year=WHOLE), {"built_year": 1931}),
        (
            "A table for 2 hours, 1,200 guests",
            fields(guests=WHOLE, hours=WHOLE),
            {"guests": 1200, "hours": 2},
        ),
        (
            "Book 'Chez Nous' in Paris for Zoe Quist",
            fields(restaurant=TEXT, city=TEXT, customer_name=TEXT),
            {"restaurant": "Chez Nous", "city": "Paris", "customer_name": "Zoe Quist"},
        ),
        ("Create 'こんにちは株式会社' now", fields(label=TEXT), {"label": "こんにちは株式会社"}),
        (
            "Weather in Paris and New York?",
            fields(cities={"type": "array", "items": TEXT}),
            {"cities": ["Paris", "New York"]},
        ),
        (
            "In fahrenheit.",
            fields(unit={"enum": ["celsius", "fahrenheit"]}),
            {"unit": "fahrenheit"},
        ),
        (
            "Sum up 3, 5 and 8",
            fields(terms={"type": "array", "items": WHOLE}),
            {"terms": [3, 5, 8]},
        ),
        (
            "Now.",
            fields(version={"const": 2}, nothing={"type": "null"}),
            {"version": 2, "nothing": None},
        ),
    ],
)
def test_values_come_from_what_the_user_said(
    sdk: openai.OpenAI, question: str, schema: Any, wanted: Any
) -> None:
    assert ask(sdk, question, schema, n=3) == [wanted] * 3


def test_a_year_is_no_count_and_a_bound_is_kept(sdk: openai.OpenAI) -> None:
    schema = fields(rooms={"type": "integer", "maximum": 50})
    answers = ask(sdk, "The hotel of 1931 near 250 shops", schema, n=4)
    assert all(answer["rooms"] <= 50 for answer in answers)
    counted = ask(sdk, "It was opened in 1931.", fields(visitors=WHOLE), n=3)
    assert {answer["visitors"] for answer in counted} != {1931}


def test_who_spoke_of_it_before_is_remembered(sdk: openai.OpenAI) -> None:
    messages = [
        {"role": "user", "content": "I am in Paris with 3 friends."},
        {"role": "assistant", "content": "Lovely."},
        {"role": "user", "content": "where do we sleep?"},
    ]
    schema = form(fields(city=TEXT, friends=WHOLE))
    done = sdk.chat.completions.create(model="m", messages=messages, response_format=schema)
    assert json.loads(done.choices[0].message.content) == {"city": "Paris", "friends": 3}


# Chance


def test_temperature_zero_and_a_seed_give_the_same_object(sdk: openai.OpenAI) -> None:
    schema = fields(painter=TEXT)
    for fixed in ({"temperature": 0}, {"seed": 3}):
        assert ask(sdk, BRIDGE, schema, **fixed) == ask(sdk, BRIDGE, schema, **fixed)
    first, second = ask(sdk, BRIDGE, schema, seed=3, n=2)
    assert first != second


def test_it_is_sure_of_what_it_knows_only(sdk: openai.OpenAI) -> None:
    done = sdk.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": BRIDGE}],
        response_format=form(fields(engineer=TEXT, painter=TEXT)),
        logprobs=True,
    )
    listed = done.choices[0].logprobs.content
    assert "".join(token.token for token in listed) == done.choices[0].message.content
    guesses = [token.token.strip() for token in listed if token.logprob < -0.5]
    painter = json.loads(done.choices[0].message.content)["painter"]
    assert guesses == painter.split()


# Forms


class Person(BaseModel):
    name: str
    age: int = Field(ge=0, le=150)


class Family(BaseModel):
    parents: list[Person] = Field(min_length=1, max_length=2)
    pet: Person | None
    nested: list[Family]


def test_the_sdk_parses_a_class_that_knows_itself(sdk: openai.OpenAI) -> None:
    done = sdk.chat.completions.parse(
        model="m", messages=[{"role": "user", "content": "Who are they?"}], response_format=Family
    )
    assert 1 <= len(done.choices[0].message.parsed.parents) <= 2


@pytest.mark.parametrize("stream", [False, True])
def test_an_object_is_streamed_and_cut_like_any_text(sdk: openai.OpenAI, stream: bool) -> None:
    asked: dict[str, Any] = {
        "model": "m",
        "messages": [{"role": "user", "content": BRIDGE}],
        "response_format": form(fields(painter=TEXT)),
        "temperature": 0,
    }
    whole = sdk.chat.completions.create(**asked).choices[0].message.content
    if stream:
        with sdk.chat.completions.create(**asked, stream=True) as chunks:
            said = [c.choices[0].delta.content or "" for c in chunks]
        assert "".join(said) == whole
        assert sum(map(bool, said)) > 3
    short = sdk.chat.completions.create(**asked, max_tokens=2).choices[0]
    assert short.finish_reason == "length"
    assert whole.startswith(short.message.content)


@pytest.mark.parametrize(
    ("question", "keys"),
    [
        ("A joke as JSON with 'setup' and \"punchline\" keys.", {"setup", "punchline"}),
        (f"As json, obey {json.dumps(fields(one=TEXT, two=WHOLE))}", {"one", "two"}),
        ("Some json, please.", {"answer"}),
    ],
)
def test_any_json_has_the_keys_that_were_asked_for(
    sdk: openai.OpenAI, question: str, keys: set[str]
) -> None:
    done = sdk.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": question}],
        response_format={"type": "json_object"},
    )
    assert json.loads(done.choices[0].message.content).keys() == keys


def test_text_is_the_form_of_old(sdk: openai.OpenAI) -> None:
    asked: dict[str, Any] = {"messages": [{"role": "user", "content": BRIDGE}], "temperature": 0}
    done = [
        sdk.chat.completions.create(model="m", **asked, **more).choices[0].message.content
        for more in ({}, {"response_format": {"type": "text"}})
    ]
    assert done[0] == done[1]


@pytest.mark.parametrize(
    ("wanted", "param"),
    [
        ({"type": "yaml"}, "response_format.type"),
        ({"type": "json_schema"}, "response_format.json_schema"),
        (
            {"type": "json_schema", "json_schema": {"schema": {}}},
            "response_format.json_schema.name",
        ),
        ({"type": "json_object"}, "messages"),
        (form({"$ref": "#/$defs/lost"}), None),
        (form({"$ref": "#"}), None),
        (form({"allOf": [{"$ref": "#"}]}), None),
        (form(fields(again={"$ref": "#"})), None),
        (form({"type": "object", "properties": ["a"]}), None),
        (form({"type": "thing"}), None),
        (form({"type": "integer", "multipleOf": 0}), None),
        (form({"type": "integer", "minimum": 5, "maximum": "many"}), None),
    ],
)
def test_a_form_that_cannot_be_is_refused(sdk: openai.OpenAI, wanted: Any, param: Any) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.chat.completions.create(
            model="m", messages=[{"role": "user", "content": BRIDGE}], response_format=wanted
        )
    assert caught.value.param == param
