from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from simulation import SimulatedProvider

WEATHER_QUESTION = "What is the weather in San Francisco for the next 3 days?"
BRIDGE = "Who designed the Sydney Harbour Bridge?"


@pytest.fixture
def provider() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=7) as provider:
        yield provider


@pytest.fixture
def sdk(provider: SimulatedProvider) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=provider.base_url, api_key="k", max_retries=0) as sdk:
        yield sdk


def tool(name: str, description: str | None = None, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
WEATHER = tool("get_weather", "Get the weather at a location.", location=TEXT, days=WHOLE)
CLOCK = tool("localTime", "Say what time it is.", city=TEXT)
RATES = tool("convert", "Exchange rates of currencies, by the day.", amount=WHOLE)
BARE = {"type": "function", "function": {"name": "tick"}}


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def ask(sdk: openai.OpenAI, messages: str | list[Any], *tools: Any, **params: Any) -> Any:
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    done = sdk.chat.completions.create(model="m", messages=messages, tools=list(tools), **params)
    return done.choices[0]


def names_of(choice: Any) -> list[str]:
    return [call.function.name for call in choice.message.tool_calls or ()]


# Which tools are called


@pytest.mark.parametrize(
    ("question", "called"),
    [
        (WEATHER_QUESTION, ["get_weather"]),
        ("Weather and local time in Paris?", ["get_weather", "localTime"]),
        ("What are the exchange rates between currencies today?", ["convert"]),
        ("[[tool]] Canberra", ["get_weather"]),
        ("[[tool]] My local time", ["localTime"]),
        (BRIDGE, []),
        ("Tell me about rates.", []),
        ("Get me a tool, please.", []),
    ],
)
def test_what_the_user_says_calls_for_a_tool(
    sdk: openai.OpenAI, question: str, called: list[str]
) -> None:
    choice = ask(sdk, question, WEATHER, CLOCK, RATES)
    assert names_of(choice) == called
    assert choice.finish_reason == ("tool_calls" if called else "stop")
    assert bool(choice.message.content) != bool(called)


@pytest.mark.parametrize(
    ("question", "choice", "called"),
    [
        (BRIDGE, "required", ["get_weather"]),
        ("My local time?", "required", ["localTime"]),
        (BRIDGE, named("convert"), ["convert"]),
        ("[[tool]] Weather", "none", []),
        (BRIDGE, "auto", []),
        (WEATHER_QUESTION, "auto", ["get_weather"]),
    ],
)
def test_tool_choice_decides(
    sdk: openai.OpenAI, question: str, choice: Any, called: list[str]
) -> None:
    assert names_of(ask(sdk, question, WEATHER, CLOCK, RATES, tool_choice=choice)) == called


def test_only_one_tool_where_several_may_not_be_called(sdk: openai.OpenAI) -> None:
    question = "Weather and local time in Paris?"
    choice = ask(sdk, question, WEATHER, CLOCK, parallel_tool_calls=False)
    assert names_of(choice) == ["get_weather"]


def test_a_forced_tool_is_called_after_a_result_too(sdk: openai.OpenAI) -> None:
    messages = after(ask(sdk, WEATHER_QUESTION, WEATHER), "Sunny.")
    assert names_of(ask(sdk, messages, WEATHER)) == []
    assert names_of(ask(sdk, messages, WEATHER, tool_choice="required")) == ["get_weather"]


# What they are called with


def test_arguments_come_from_what_the_user_said(sdk: openai.OpenAI) -> None:
    (call,) = ask(sdk, WEATHER_QUESTION, WEATHER).message.tool_calls
    assert json.loads(call.function.arguments) == {"location": "San Francisco", "days": 3}


def test_a_question_is_passed_on_as_it_is(sdk: openai.OpenAI) -> None:
    (call,) = ask(sdk, f"[[tool]] {BRIDGE}", tool("search", query=TEXT)).message.tool_calls
    assert json.loads(call.function.arguments) == {"query": BRIDGE}


def test_letters_of_any_alphabet_stay_what_they_are(sdk: openai.OpenAI) -> None:
    (call,) = ask(sdk, "[[tool]] Find '你好啊集团'", tool("find", customer=TEXT)).message.tool_calls
    assert call.function.arguments == '{"customer": "你好啊集团"}'


@pytest.mark.parametrize("offered", [BARE, tool("tick")])
def test_a_tool_without_parameters_gets_an_empty_object(sdk: openai.OpenAI, offered: Any) -> None:
    (call,) = ask(sdk, "tick", offered, tool_choice="required").message.tool_calls
    assert call.function.arguments == "{}"


def test_calls_are_cut_at_the_most_tokens(sdk: openai.OpenAI, provider: SimulatedProvider) -> None:
    question = "Weather and local time in Paris?"
    whole = ask(sdk, question, WEATHER, CLOCK, temperature=0)
    spent = provider.completion_tokens
    cut = ask(sdk, question, WEATHER, CLOCK, temperature=0, max_completion_tokens=4)
    assert cut.finish_reason == "length"
    assert names_of(cut) == ["get_weather"]
    begun = cut.message.tool_calls[0].function.arguments
    assert whole.message.tool_calls[0].function.arguments.startswith(begun)
    assert provider.completion_tokens - spent == 4


# Streams


@pytest.mark.parametrize("n", [1, 2])
def test_calls_are_streamed_in_fragments(sdk: openai.OpenAI, n: int) -> None:
    asked: dict[str, Any] = {
        "model": "m",
        "messages": [{"role": "user", "content": "Weather and local time in Paris?"}],
        "tools": [WEATHER, CLOCK],
        "seed": 3,
        "n": n,
    }
    whole = sdk.chat.completions.create(**asked)
    with sdk.chat.completions.create(
        **asked, stream=True, stream_options={"include_usage": True}
    ) as stream:
        *chunks, last = stream

    for choice in whole.choices:
        deltas = [c.choices[0].delta for c in chunks if c.choices[0].index == choice.index]
        pieces = [call for delta in deltas for call in delta.tool_calls or ()]
        for position, call in enumerate(choice.message.tool_calls):
            first, *others = [piece for piece in pieces if piece.index == position]
            assert (first.id, first.type) == (call.id, "function")
            assert first.function.name == call.function.name
            assert {(o.id, o.type, o.function.name) for o in others} == {(None, None, None)}
            said = [piece.function.arguments for piece in (first, *others)]
            assert "".join(said) == call.function.arguments
    ends = [c.choices[0].finish_reason for c in chunks if c.choices[0].finish_reason]
    assert ends == ["tool_calls"] * n
    assert last.usage == whole.usage
    assert last.usage.completion_tokens > 0


# Results


def after(choice: Any, *results: str, question: str = WEATHER_QUESTION) -> list[Any]:
    calls = choice.message.tool_calls
    return [
        {"role": "user", "content": question},
        {"role": "assistant", "tool_calls": [call.model_dump() for call in calls]},
        *(
            {"role": "tool", "tool_call_id": call.id, "content": result}
            for call, result in zip(calls, results, strict=True)
        ),
    ]


def test_results_are_passed_on_in_words(sdk: openai.OpenAI) -> None:
    question = "Weather and local time in Zembla?"
    calls = ask(sdk, question, WEATHER, CLOCK)
    messages = after(calls, "Sunny,\n21 degrees", '{"hour": 4}', question=question)
    answers = [ask(sdk, messages, WEATHER, CLOCK) for _ in range(6)]
    texts = {answer.message.content for answer in answers}
    assert all(names_of(answer) == [] and answer.finish_reason == "stop" for answer in answers)
    assert len(texts) > 1
    for text in texts:
        assert "get_weather" in text
        assert "Sunny, 21 degrees." in text
        assert "localTime" in text
        assert '{"hour": 4}.' in text


def test_what_the_world_knows_is_added_to_a_result(sdk: openai.OpenAI) -> None:
    question = "What is the weather in Canberra?"
    messages = after(ask(sdk, question, WEATHER), "Windy.", question=question)
    text = ask(sdk, messages, WEATHER).message.content
    assert "Windy." in text
    assert "Canberra" in text


def test_an_object_is_filled_from_results(sdk: openai.OpenAI) -> None:
    question = "What is the weather in Zembla?"
    messages = after(ask(sdk, question, WEATHER), '{"degrees": 21}', question=question)
    properties = {"degrees": WHOLE, "city": TEXT, "gusts": WHOLE}
    schema = {"name": "weather", "schema": {"type": "object", "properties": properties}}
    wanted = {"type": "json_schema", "json_schema": schema}
    choices = [ask(sdk, messages, WEATHER, response_format=wanted) for _ in range(3)]
    answers = [json.loads(choice.message.content) for choice in choices]
    assert [(answer["degrees"], answer["city"]) for answer in answers] == [(21, "Zembla")] * 3
    assert len({answer["gusts"] for answer in answers}) == 3


def test_a_new_question_is_answered_without_the_old_result(sdk: openai.OpenAI) -> None:
    messages = after(ask(sdk, WEATHER_QUESTION, WEATHER), "Sunny.")
    messages += [{"role": "assistant", "content": "Sunny."}, {"role": "user", "content": BRIDGE}]
    choice = ask(sdk, messages, WEATHER)
    assert "John Bradfield" in choice.message.content
    assert "get_weather" not in choice.message.content


def test_the_result_of_a_function_of_old_is_passed_on_too(sdk: openai.OpenAI) -> None:
    messages = [
        {"role": "user", "content": "how warm is it?"},
        {"role": "assistant", "function_call": {"name": "warmth", "arguments": "{}"}},
        {"role": "function", "name": "warmth", "content": "21 degrees"},
    ]
    done = sdk.chat.completions.create(model="m", messages=messages)
    assert "21 degrees." in done.choices[0].message.content
    assert "warmth" in done.choices[0].message.content


# What is refused


@pytest.mark.parametrize(
    ("params", "param"),
    [
        ({"tool_choice": "any"}, "tool_choice"),
        ({"tool_choice": named("lost")}, "tool_choice"),
        ({"tool_choice": "required", "tools": []}, "tool_choice"),
        ({"tools": [named("not a name")]}, "tools.0.function.name"),
        ({"tools": [tool("lost", city={"$ref": "#/$defs/lost"})], "tool_choice": "required"}, None),
    ],
)
def test_what_cannot_be_called_is_refused(sdk: openai.OpenAI, params: Any, param: Any) -> None:
    asked = {"messages": [{"role": "user", "content": BRIDGE}], "tools": [WEATHER], **params}
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.chat.completions.create(model="m", **asked)
    assert caught.value.param == param
