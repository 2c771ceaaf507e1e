"""Anthropic's Messages API as the simulated provider serves it, to Anthropic's own client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anthropic
import httpx
import openai
import pytest
from anthropic.types import Message, MessageTokensCount, ModelInfo, RawMessageStreamEvent
from pydantic import BaseModel, TypeAdapter

from simulation import SimulatedProvider

pytestmark = pytest.mark.anyio

BRIDGE = "Tell me about the Sydney Harbour Bridge."
WEATHER_QUESTION = "What is the weather in San Francisco for the next 3 days?"
JUDGE = (
    "Context: The bridge was opened in 1932.\n\nSentence: {}\n\n"
    "Is the sentence supported by the context above? Answer Yes or No.\n\nAnswer: "
)
COLD: dict[str, Any] = {"extra_body": {"temperature": 0}}
EVENT: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)


class Bridge(BaseModel):
    name: str
    opened_in_year: int
    lanes: list[int]


@pytest.fixture
def provider() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=7) as provider:
        yield provider


@pytest.fixture
def sdk(provider: SimulatedProvider) -> Iterator[anthropic.Anthropic]:
    url = provider.root_url
    with anthropic.Anthropic(base_url=url, api_key="k-secret", max_retries=0) as sdk:
        yield sdk


@pytest.fixture
async def asdk(provider: SimulatedProvider) -> AsyncIterator[anthropic.AsyncAnthropic]:
    url = provider.root_url
    async with anthropic.AsyncAnthropic(base_url=url, api_key="k-secret", max_retries=0) as sdk:
        yield sdk


def tool(name: str, description: str = "", **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description, "input_schema": schema}


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
WEATHER = tool("get_weather", "Get the weather at a location.", location=TEXT, days=WHOLE)
CLOCK = {"type": "custom", **tool("localTime", "Say what time it is.", city=TEXT)}
SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 2}


def chat(asked: Any = BRIDGE, **params: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": asked}] if isinstance(asked, str) else asked
    return {"model": "m", "max_tokens": 500, "messages": messages, **params}


def ask(sdk: anthropic.Anthropic, asked: Any = BRIDGE, **params: Any) -> Any:
    return sdk.messages.create(**chat(asked, **params))


def text_of(message: Any) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def names_of(message: Any) -> list[str]:
    return [block.name for block in message.content if block.type == "tool_use"]


def events_of(provider: SimulatedProvider, **body: Any) -> list[tuple[str, dict[str, Any]]]:
    """Stream without a client, and return the events as they were sent: name and data."""
    url = f"{provider.root_url}/v1/messages"
    # Loading the certificates takes longer than the request, which needs none.
    sent = httpx.post(url, json=chat(**body, stream=True), verify=False).text
    pairs = [event.split("\n", 1) for event in sent.strip().split("\n\n")]
    return [(n.removeprefix("event: "), json.loads(d.removeprefix("data: "))) for n, d in pairs]


# Answers


def test_a_message_has_all_that_its_type_has(
    sdk: anthropic.Anthropic, provider: SimulatedProvider
) -> None:
    raw = sdk.messages.with_raw_response.create(**chat(system="Be brief.", metadata={}))
    sent = raw.json()
    message = Message.model_validate(sent)

    assert set(Message.model_fields) - set(sent) <= {"diagnostics"}
    assert text_of(message).startswith("The Sydney Harbour Bridge is")
    assert (message.role, message.model, message.stop_reason) == ("assistant", "m", "end_turn")
    assert message.stop_sequence is None
    assert message.usage.cache_read_input_tokens == 0
    assert raw.request_id == "req_0"
    assert raw.headers["request-id"] == "req_0"
    (record,) = provider.requests
    assert (record.path, record.status, record.stream) == ("/v1/messages", 200, False)
    assert record.prompt_tokens == message.usage.input_tokens == provider.prompt_tokens
    assert record.completion_tokens == message.usage.output_tokens == provider.completion_tokens
    assert record.body is not None
    assert record.body["system"] == "Be brief."
    assert "k-secret" not in str(record.headers)


def test_a_response_can_be_read_as_it_comes(sdk: anthropic.Anthropic) -> None:
    with sdk.messages.with_streaming_response.create(**chat()) as response:
        message = Message.model_validate_json(response.read())
    assert text_of(message).startswith("The Sydney Harbour Bridge is")


def test_draws_differ_and_temperature_0_does_not(sdk: anthropic.Anthropic) -> None:
    assert len({text_of(ask(sdk)) for _ in range(4)}) == 4
    assert len({text_of(ask(sdk, **COLD)) for _ in range(4)}) == 1
    assert len({text_of(ask(sdk, extra_body={"seed": 3})) for _ in range(4)}) == 1


def test_all_apis_answer_alike() -> None:
    said: dict[str, list[str]] = {}
    asked: Any = [{"role": "user", "content": BRIDGE}]
    for api in ("chat", "responses", "messages"):
        with (
            SimulatedProvider(seed=5) as provider,
            openai.OpenAI(base_url=provider.base_url, api_key="k") as theirs,
            anthropic.Anthropic(base_url=provider.root_url, api_key="k") as sdk,
        ):
            said[api] = []
            for _ in range(3):
                if api == "chat":
                    done = theirs.chat.completions.create(model="m", messages=asked)
                    said[api].append(done.choices[0].message.content or "")
                elif api == "responses":
                    response = theirs.responses.create(model="m", input=BRIDGE)
                    said[api].append(response.output_text)
                else:
                    said[api].append(text_of(ask(sdk)))
            said[api].append(f"{provider.prompt_tokens} {provider.completion_tokens}")
    assert len(set(said["chat"])) == 4
    assert said["chat"] == said["responses"] == said["messages"]


def test_a_judge_is_asked_here_too(sdk: anthropic.Anthropic) -> None:
    said = [ask(sdk, JUDGE.format(f"The bridge was opened in {y}.")) for y in (1932, 1940)]
    assert [text_of(message) for message in said] == ["Yes", "No"]


def test_blocks_of_every_kind_are_taken(sdk: anthropic.Anthropic) -> None:
    inline = {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}
    texts = [{"type": "text", "text": "It was opened in 1932."}]
    blocks = [
        {"type": "text", "text": BRIDGE, "cache_control": {"type": "ephemeral"}},
        {"type": "image", "source": inline},
        {"type": "image", "source": {"type": "url", "url": "https://pictures.example/a.png"}},
        {"type": "document", "source": {**inline, "media_type": "application/pdf"}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
        {"type": "document", "source": {"type": "content", "content": texts}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "search_result", "source": "a", "title": "b", "content": texts},
    ]
    asked = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "?", "signature": "s"}]},
        {"role": "user", "content": blocks},
    ]
    message = ask(sdk, asked, system=texts)
    assert text_of(message).startswith("The Sydney Harbour Bridge is")


def test_tokens_are_counted_as_they_are_used(sdk: anthropic.Anthropic) -> None:
    asked: dict[str, Any] = {"system": "Be brief.", "tools": [WEATHER]}
    messages: Any = chat()["messages"]
    counted = sdk.messages.count_tokens(model="m", messages=messages, **asked)
    assert isinstance(counted, MessageTokensCount)
    assert counted.input_tokens == ask(sdk, **asked).usage.input_tokens > 8


def test_models_are_listed_in_the_words_of_who_asks(
    sdk: anthropic.Anthropic, provider: SimulatedProvider
) -> None:
    page = sdk.models.list()
    assert [model.id for model in page] == ["simulated"]
    assert not page.has_next_page()
    ModelInfo.model_validate(page.data[0].to_dict())
    with openai.OpenAI(base_url=provider.base_url, api_key="k") as theirs:
        assert [model.object for model in theirs.models.list()] == ["model"]


# Where an answer ends


def test_an_answer_ends_at_a_text_or_at_the_most_tokens(sdk: anthropic.Anthropic) -> None:
    whole = text_of(ask(sdk, **COLD))
    stopped = ask(sdk, **COLD, stop_sequences=["never said", " in "])
    assert (stopped.stop_reason, stopped.stop_sequence) == ("stop_sequence", " in ")
    assert text_of(stopped) == whole.split(" in ")[0]
    cut = ask(sdk, **COLD, max_tokens=4)
    assert (cut.stop_reason, cut.stop_sequence) == ("max_tokens", None)
    assert cut.usage.output_tokens == 4
    assert whole.startswith(text_of(cut))
    both = ask(sdk, **COLD, max_tokens=3, stop_sequences=[" in "])
    assert both.stop_reason == "max_tokens"
    assert ask(sdk, stop_sequences=["never said"]).stop_reason == "end_turn"


# Streams


def test_the_events_of_a_text(provider: SimulatedProvider) -> None:
    events = events_of(provider)
    names = [name for name, _ in events]
    assert names[:3] == ["message_start", "content_block_start", "ping"]
    assert set(names[3:-3]) == {"content_block_delta"}
    assert names[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert [data["type"] for _, data in events] == names
    started, *_, ended, _ = [EVENT.validate_python(d) for n, d in events if n != "ping"]
    assert (started.message.content, started.message.stop_reason) == ([], None)
    assert (ended.delta.stop_reason, ended.delta.stop_sequence) == ("end_turn", None)
    assert provider.completion_tokens == ended.usage.output_tokens > 1
    assert provider.prompt_tokens == ended.usage.input_tokens == started.message.usage.input_tokens


def test_the_events_of_calls(provider: SimulatedProvider) -> None:
    events = events_of(provider, asked="Weather and local time in Paris?", tools=[WEATHER, CLOCK])
    typed = [EVENT.validate_python(data) for name, data in events if name != "ping"]
    assert len(typed) == len(events) - 1
    begun = [event.content_block for event in typed if event.type == "content_block_start"]
    assert [(block.name, block.input) for block in begun] == [
        ("get_weather", {}),
        ("localTime", {}),
    ]
    for index in (0, 1):
        deltas = [e.delta for e in typed if e.type == "content_block_delta" and e.index == index]
        arguments = json.loads("".join(delta.partial_json for delta in deltas))
        assert arguments["location" if index == 0 else "city"] == "Paris"
    assert typed[-2].delta.stop_reason == "tool_use"


def test_the_helper_follows_a_stream(sdk: anthropic.Anthropic) -> None:
    whole = ask(sdk, **COLD)
    with sdk.messages.stream(**chat(**COLD)) as stream:
        said = list(stream.text_stream)
        final = stream.get_final_message()
    assert "".join(said) == text_of(final) == text_of(whole)
    assert final.usage.output_tokens == whole.usage.output_tokens
    with sdk.messages.stream(**chat(WEATHER_QUESTION, tools=[WEATHER])) as stream:
        (call,) = stream.get_final_message().content
    assert call.type == "tool_use"
    assert call.input == {"location": "San Francisco", "days": 3}
    with sdk.messages.stream(**chat(stop_sequences=["bridge"])) as stream:
        assert stream.get_final_message().stop_sequence == "bridge"


async def test_the_async_client_does_the_same(asdk: anthropic.AsyncAnthropic) -> None:
    whole = await asdk.messages.create(**chat(**COLD))
    async with await asdk.messages.create(**chat(**COLD), stream=True) as plain:
        said = [e.delta.text async for e in plain if e.type == "content_block_delta"]
    async with asdk.messages.stream(**chat(**COLD)) as stream:
        final = await stream.get_final_message()
    parsed = await asdk.messages.parse(**chat(), output_format=Bridge)
    assert "".join(said) == text_of(final) == text_of(whole)
    assert isinstance(parsed.parsed_output, Bridge)


# Structured answers


def test_an_answer_is_parsed(sdk: anthropic.Anthropic) -> None:
    found = [sdk.messages.parse(**chat(), output_format=Bridge).parsed_output for _ in range(4)]
    assert all(one is not None and one.name == "Sydney Harbour Bridge" for one in found)
    assert len({str(one) for one in found}) > 1
    with sdk.messages.stream(**chat(), output_format=Bridge) as stream:
        assert isinstance(stream.get_final_message().parsed_output, Bridge)


def test_a_schema_may_stand_in_either_place(sdk: anthropic.Anthropic) -> None:
    wanted = {"type": "json_schema", "schema": Bridge.model_json_schema()}
    for params in ({"output_config": {"format": wanted}}, {"output_format": wanted}):
        Bridge.model_validate_json(text_of(ask(sdk, extra_body=params)))


# Tools


@pytest.mark.parametrize(
    ("question", "choice", "called"),
    [
        (WEATHER_QUESTION, {"type": "auto"}, ["get_weather"]),
        ("Weather and local time in Paris?", {"type": "auto"}, ["get_weather", "localTime"]),
        (
            "Weather and local time in Paris?",
            {"type": "auto", "disable_parallel_tool_use": True},
            ["get_weather"],
        ),
        (BRIDGE, {"type": "auto"}, []),
        (BRIDGE, {"type": "any"}, ["get_weather"]),
        (WEATHER_QUESTION, {"type": "none"}, []),
        (BRIDGE, {"type": "tool", "name": "localTime"}, ["localTime"]),
        (BRIDGE, {"type": "tool", "name": "web_search"}, []),
    ],
)
def test_tools_are_called(
    sdk: anthropic.Anthropic, question: str, choice: Any, called: list[str]
) -> None:
    message = ask(sdk, question, tools=[WEATHER, CLOCK, SEARCH], tool_choice=choice)
    assert names_of(message) == called
    assert bool(text_of(message)) != bool(called)
    assert message.stop_reason == ("tool_use" if called else "end_turn")


def test_a_result_is_passed_on(sdk: anthropic.Anthropic) -> None:
    first = ask(sdk, WEATHER_QUESTION, tools=[WEATHER])
    (call,) = first.content
    assert call.type == "tool_use"
    assert call.id.startswith("toolu_")
    for content in ("Foggy.", [{"type": "text", "text": "Foggy."}]):
        result = {"type": "tool_result", "tool_use_id": call.id, "content": content}
        asked: list[Any] = [
            {"role": "user", "content": WEATHER_QUESTION},
            {"role": "assistant", "content": first.content},
            {"role": "user", "content": [result]},
        ]
        after = text_of(ask(sdk, asked, tools=[WEATHER]))
        assert "Foggy." in after
        assert "get_weather" in after
        asked[2]["content"] = [result, {"type": "text", "text": BRIDGE}]
        assert text_of(ask(sdk, asked)).startswith("The Sydney Harbour Bridge is")


def test_tools_of_the_provider_are_taken_and_seen(
    sdk: anthropic.Anthropic, provider: SimulatedProvider
) -> None:
    message = ask(sdk, tools=[SEARCH], tool_choice={"type": "any"})
    assert text_of(message).startswith("The Sydney Harbour Bridge is")
    (record,) = provider.requests
    assert record.body is not None
    assert record.body["tools"] == [SEARCH]


def test_a_call_that_is_cut_has_no_input(sdk: anthropic.Anthropic) -> None:
    message = ask(sdk, WEATHER_QUESTION, tools=[WEATHER], max_tokens=4)
    (call,) = message.content
    assert call.type == "tool_use"
    assert (call.input, message.stop_reason) == ({}, "max_tokens")


# What is refused

CALLED = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "x"}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"max_tokens": None}, "max_tokens: Input should be a valid integer"),
        ({"max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1"),
        ({"temperature": 1.5}, "temperature: Input should be less than or equal to 1"),
        ({"messages": []}, "messages: at least one message is required"),
        ({"messages": [3]}, "messages.0: Input should be an object"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages.0.role: Input should be"),
        ({"messages": [{"role": "user"}]}, "messages.0.content: Field required"),
        ({"messages": [{"role": "user", "content": ""}]}, "must have non-empty content"),
        (
            {"messages": [{"role": "user", "content": [{"type": "input_text"}]}]},
            "messages.0.content.0: Input tag 'input_text' found",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]},
            "text content blocks must be non-empty",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]},
            "messages.0.content.0.source: ",
        ),
        ({"messages": [{"role": "user", "content": [RESULT]}]}, "messages.0: unexpected `tool_use"),
        (
            {"messages": [{"role": "assistant", "content": [CALLED]}]},
            "without `tool_result` blocks",
        ),
        ({"system": 3}, "system: Input should be a valid string or list"),
        ({"tools": [{"name": "f"}]}, "tools.0.custom.input_schema: Field required"),
        ({"tool_choice": {"type": "any"}}, "tool_choice may only be specified"),
        ({"tools": [WEATHER], "tool_choice": {"type": "tool", "name": "x"}}, "Tool 'x' not found"),
        ({"tools": [WEATHER], "tool_choice": {"type": "required"}}, "tool_choice.type: "),
        ({"output_config": {"format": {"type": "json_object"}}}, "output_config.format."),
    ],
    ids=repr,
)
def test_what_cannot_be_answered_is_refused(
    sdk: anthropic.Anthropic, params: Any, message: str
) -> None:
    with pytest.raises(anthropic.BadRequestError) as caught:
        ask(sdk, BRIDGE, extra_body=params)
    assert caught.value.type == "invalid_request_error"
    assert message in str(caught.value.api_message)
    assert caught.value.request_id == "req_0"


def test_the_most_tokens_must_be_said(provider: SimulatedProvider) -> None:
    body = {name: value for name, value in chat().items() if name != "max_tokens"}
    refused = httpx.post(f"{provider.root_url}/v1/messages", json=body, verify=False)
    assert refused.status_code == 400
    assert refused.json() == {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "max_tokens: Field required"},
        "request_id": "req_0",
    }
