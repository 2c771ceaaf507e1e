"""OpenAI's Responses API as the simulated provider serves it, to OpenAI's own client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import openai
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

from simulation import (
    IgnoreLogprobs,
    RefusedLogprobs,
    SimulatedProvider,
)

pytestmark = pytest.mark.anyio

BRIDGE = "Tell me about the Sydney Harbour Bridge."
WEATHER_QUESTION = "What is the weather in San Francisco for the next 3 days?"
JUDGE = (
    "Context: The bridge was opened in 1932.\n\nSentence: {}\n\n"
    "Is the sentence supported by the context above? Answer Yes or No.\n\nAnswer: "
)
PICTURE = "data:image/png;base64,aGVsbG8="
EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


class Bridge(BaseModel):
    name: str
    opened_in_year: int
    lanes: list[int]


@pytest.fixture
def provider() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=7) as provider:
        yield provider


@pytest.fixture
def sdk(provider: SimulatedProvider) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=provider.base_url, api_key="k-secret", max_retries=0) as sdk:
        yield sdk


@pytest.fixture
async def asdk(provider: SimulatedProvider) -> AsyncIterator[openai.AsyncOpenAI]:
    url = provider.base_url
    async with openai.AsyncOpenAI(base_url=url, api_key="k-secret", max_retries=0) as sdk:
        yield sdk


def tool(name: str, description: str | None = None, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    said = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "strict": False, **said}


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
WEATHER = tool("get_weather", "Get the weather at a location.", location=TEXT, days=WHOLE)
CLOCK = tool("localTime", "Say what time it is.", city=TEXT)
SEARCH = {"type": "web_search"}


def ask(sdk: openai.OpenAI, asked: Any = BRIDGE, **params: Any) -> Any:
    return sdk.responses.create(model="m", input=asked, **params)


def names_of(response: Any) -> list[str]:
    return [item.name for item in response.output if item.type == "function_call"]


def events_of(provider: SimulatedProvider, **body: Any) -> list[tuple[str, dict[str, Any]]]:
    """Stream without a client, and return the events as they were sent: name and data."""
    url = f"{provider.base_url}/responses"
    # Loading the certificates takes longer than the request, which needs none.
    sent = httpx.post(url, json={"model": "m", "stream": True, **body}, verify=False).text
    pairs = [event.split("\n", 1) for event in sent.strip().split("\n\n")]
    return [(n.removeprefix("event: "), json.loads(d.removeprefix("data: "))) for n, d in pairs]


# Answers


def test_a_response_has_all_that_its_type_has(
    sdk: openai.OpenAI, provider: SimulatedProvider
) -> None:
    raw = sdk.responses.with_raw_response.create(
        model="m", input=BRIDGE, instructions="Be brief.", metadata={"k": "v"}, tools=[WEATHER]
    )
    sent = json.loads(raw.text)
    response = Response.model_validate(sent)

    assert set(Response.model_fields) - set(sent) <= {
        *("moderation", "prompt", "prompt_cache_options", "prompt_cache_retention")
    }
    assert response.status == "completed"
    assert response.instructions == "Be brief."
    assert response.metadata == {"k": "v"}
    assert response.tools[0].type == "function"
    (message,) = response.output
    assert message.type == "message"
    assert message.status == "completed"
    assert response.output_text.startswith("The Sydney Harbour Bridge is")
    assert response.usage is not None
    assert response.usage.total_tokens == provider.prompt_tokens + provider.completion_tokens
    assert raw.request_id == "req_0"
    (record,) = provider.requests
    assert (record.path, record.status, record.stream) == ("/v1/responses", 200, False)
    assert record.prompt_tokens == response.usage.input_tokens
    assert record.completion_tokens == response.usage.output_tokens
    assert record.body is not None
    assert record.body["instructions"] == "Be brief."
    assert "k-secret" not in str(record.headers)


def test_draws_differ_and_temperature_0_does_not(sdk: openai.OpenAI) -> None:
    assert len({ask(sdk).output_text for _ in range(4)}) == 4
    assert len({ask(sdk, temperature=0).output_text for _ in range(4)}) == 1
    assert len({ask(sdk, extra_body={"seed": 3}).output_text for _ in range(4)}) == 1


@pytest.mark.parametrize(
    "asked",
    [
        [{"role": "user", "content": BRIDGE}],
        [{"type": "message", "role": "user", "content": BRIDGE, "status": "completed"}],
        [{"type": "reasoning", "id": "rs_1", "summary": []}, {"role": "user", "content": BRIDGE}],
    ],
)
def test_a_text_and_a_message_ask_the_same(sdk: openai.OpenAI, asked: Any) -> None:
    assert ask(sdk, asked, temperature=0).output_text == ask(sdk, temperature=0).output_text


def test_a_chat_that_asks_the_same_gets_the_same_answers() -> None:
    said: list[list[str]] = []
    system = {"role": "system", "content": "Be brief."}
    for api in ("chat", "responses"):
        with (
            SimulatedProvider(seed=5) as provider,
            openai.OpenAI(base_url=provider.base_url, api_key="k") as sdk,
        ):
            if api == "chat":
                messages: Any = [system, {"role": "user", "content": BRIDGE}]
                done = sdk.chat.completions.create(model="m", messages=messages, n=3)
                said.append([choice.message.content or "" for choice in done.choices])
            else:
                instructions = system["content"]
                said.append([ask(sdk, instructions=instructions).output_text for _ in range(3)])
    assert said[0] == said[1]


def test_a_judge_is_asked_here_too(sdk: openai.OpenAI) -> None:
    said = [ask(sdk, JUDGE.format(f"The bridge was opened in {y}.")) for y in (1932, 1940)]
    assert [response.output_text for response in said] == ["Yes", "No"]


def test_parts_that_are_not_text_are_taken(sdk: openai.OpenAI) -> None:
    parts = [
        {"type": "input_text", "text": BRIDGE},
        {"type": "input_image", "image_url": PICTURE, "detail": "auto"},
        {"type": "input_image", "file_id": "file-1", "detail": "auto"},
        {"type": "input_file", "file_data": PICTURE, "filename": "a.png"},
        {"type": "input_file", "file_url": "https://files.example/a.pdf"},
        {"type": "input_audio", "input_audio": {"data": "aGVsbG8=", "format": "wav"}},
    ]
    text = ask(sdk, [{"role": "user", "content": parts}]).output_text
    assert text.startswith("The Sydney Harbour Bridge is")


def test_logprobs_where_they_are_wanted(sdk: openai.OpenAI, provider: SimulatedProvider) -> None:
    wanted: dict[str, Any] = {"include": ["message.output_text.logprobs"], "top_logprobs": 2}
    response = ask(sdk, **wanted)
    part: Any = response.output[0].content[0]
    assert "".join(token.token for token in part.logprobs) == response.output_text
    assert all(token.logprob <= 0 and len(token.top_logprobs) == 2 for token in part.logprobs)
    assert len(part.logprobs) == response.usage.output_tokens
    assert ask(sdk, top_logprobs=2).output[0].content[0].logprobs == []
    with sdk.responses.create(model="m", input=BRIDGE, stream=True, **wanted) as stream:
        deltas = [event for event in stream if event.type == "response.output_text.delta"]
    assert all([token.token for token in e.logprobs] == [e.delta] for e in deltas)
    provider.set_faults(IgnoreLogprobs())
    assert ask(sdk, **wanted).output[0].content[0].logprobs == []
    provider.set_faults(RefusedLogprobs())
    assert ask(sdk).output_text
    with pytest.raises(openai.BadRequestError):
        ask(sdk, **wanted)


def test_an_answer_that_is_cut_is_incomplete(sdk: openai.OpenAI) -> None:
    whole = ask(sdk, temperature=0)
    cut = ask(sdk, temperature=0, max_output_tokens=16)
    assert cut.status == "incomplete"
    assert cut.incomplete_details.reason == "max_output_tokens"
    assert cut.output[0].status == "incomplete"
    assert cut.usage.output_tokens == 16
    assert len(cut.output_text) < len(whole.output_text)
    assert whole.output_text.startswith(cut.output_text)
    with sdk.responses.create(
        model="m", input=BRIDGE, temperature=0, max_output_tokens=16, stream=True
    ) as stream:
        *_, last = stream
    assert last.type == "response.incomplete"
    assert last.response.output_text == cut.output_text


# Conversations


def test_a_response_is_gone_on_from(sdk: openai.OpenAI, provider: SimulatedProvider) -> None:
    first = ask(sdk)
    after = ask(sdk, "Who designed it?", previous_response_id=first.id, temperature=0)
    items = [*first.output, {"role": "user", "content": "Who designed it?"}]
    written: Any = [{"role": "user", "content": BRIDGE}, *items]
    assert "Bradfield" in after.output_text
    assert after.previous_response_id == first.id
    assert ask(sdk, written, temperature=0).output_text == after.output_text
    assert after.usage.input_tokens > first.usage.total_tokens


def test_a_conversation_goes_on_by_its_id(sdk: openai.OpenAI) -> None:
    first = ask(sdk, conversation="conv_1", store=False)
    after = ask(sdk, "Who designed it?", conversation={"id": "conv_1"})
    other = ask(sdk, "Who designed it?", conversation="conv_2")
    assert after.conversation.id == "conv_1"
    assert after.usage.input_tokens > first.usage.total_tokens
    assert "Bradfield" in after.output_text
    assert "Bradfield" not in other.output_text


def test_what_was_not_stored_is_not_gone_on_from(sdk: openai.OpenAI) -> None:
    last = ask(sdk, store=False)
    assert last.to_dict()["store"] is False
    with pytest.raises(openai.BadRequestError) as caught:
        ask(sdk, previous_response_id=last.id)
    assert caught.value.param == "previous_response_id"
    assert caught.value.code == "previous_response_not_found"


# Streams


def test_the_events_of_a_text(provider: SimulatedProvider) -> None:
    events = events_of(provider, input=BRIDGE)
    names = [name for name, _ in events]
    begun, ended = names[:4], names[-4:]
    assert begun == [
        *("response.created", "response.in_progress"),
        *("response.output_item.added", "response.content_part.added"),
    ]
    assert set(names[4:-4]) == {"response.output_text.delta"}
    assert ended == [
        *("response.output_text.done", "response.content_part.done"),
        *("response.output_item.done", "response.completed"),
    ]
    assert [data["sequence_number"] for _, data in events] == [*range(len(events))]
    assert [data["type"] for _, data in events] == names
    typed = [EVENT.validate_python(data) for _, data in events]
    assert [event.type for event in typed] == names
    said = "".join(event.delta for event in typed if event.type == "response.output_text.delta")
    assert said == typed[-1].response.output_text == typed[-4].text
    assert provider.completion_tokens == typed[-1].response.usage.output_tokens


def test_the_events_of_calls(provider: SimulatedProvider) -> None:
    question = "Weather and local time in Paris?"
    events = events_of(provider, input=question, tools=[WEATHER, CLOCK])
    typed = [EVENT.validate_python(data) for _, data in events]
    items = typed[-1].response.output
    assert [item.name for item in items] == ["get_weather", "localTime"]
    for index, item in enumerate(items):
        mine = [event for event in typed if getattr(event, "output_index", None) == index]
        added, *deltas, done, closed = mine
        assert added.type == "response.output_item.added"
        assert (added.item.call_id, added.item.arguments) == (item.call_id, "")
        assert "".join(event.delta for event in deltas) == item.arguments == done.arguments
        assert closed.item == item
        assert all(event.item_id == item.id for event in (*deltas, done))


def test_the_helper_follows_a_stream(sdk: openai.OpenAI) -> None:
    whole = ask(sdk, temperature=0)
    with sdk.responses.stream(model="m", input=BRIDGE, temperature=0) as stream:
        deltas = [e.delta for e in stream if e.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert "".join(deltas) == final.output_text == whole.output_text
    assert final.usage == whole.usage


async def test_the_async_client_does_the_same(asdk: openai.AsyncOpenAI) -> None:
    asked: dict[str, Any] = {"model": "m", "input": BRIDGE, "temperature": 0}
    whole = await asdk.responses.create(**asked)
    async with await asdk.responses.create(**asked, stream=True) as plain:
        said = [e.delta async for e in plain if e.type == "response.output_text.delta"]
    async with asdk.responses.stream(**asked) as stream:
        final = await stream.get_final_response()
    parsed = await asdk.responses.parse(model="m", input=BRIDGE, text_format=Bridge)
    assert "".join(said) == final.output_text == whole.output_text
    assert isinstance(parsed.output_parsed, Bridge)


# Structured answers


def test_an_answer_is_parsed(sdk: openai.OpenAI) -> None:
    parsed = [sdk.responses.parse(model="m", input=BRIDGE, text_format=Bridge) for _ in range(4)]
    found = [one.output_parsed for one in parsed]
    assert all(one is not None and one.name == "Sydney Harbour Bridge" for one in found)
    assert len({str(one) for one in found}) > 1
    with sdk.responses.stream(model="m", input=BRIDGE, text_format=Bridge) as stream:
        assert isinstance(stream.get_final_response().output_parsed, Bridge)
    echoed: Any = parsed[0].text
    assert echoed.format.type == "json_schema"
    assert echoed.format.name == "Bridge"


def test_any_object_and_text(sdk: openai.OpenAI) -> None:
    wanted: Any = {"format": {"type": "json_object"}}
    asked = "Where is the Sydney Harbour Bridge? Answer in JSON with the key 'city'."
    assert set(json.loads(ask(sdk, asked, text=wanted).output_text)) == {"city"}
    plain: Any = {"format": {"type": "text"}, "verbosity": "low"}
    response = ask(sdk, text=plain)
    assert response.output_text.startswith("The Sydney")
    assert response.text.verbosity == "low"


# Tools


@pytest.mark.parametrize(
    ("question", "choice", "called"),
    [
        (WEATHER_QUESTION, "auto", ["get_weather"]),
        ("Weather and local time in Paris?", "auto", ["get_weather", "localTime"]),
        (BRIDGE, "auto", []),
        (BRIDGE, "required", ["get_weather"]),
        (WEATHER_QUESTION, "none", []),
        (BRIDGE, {"type": "function", "name": "localTime"}, ["localTime"]),
        (BRIDGE, {"type": "web_search"}, []),
        (
            WEATHER_QUESTION,
            {"type": "allowed_tools", "mode": "required", "tools": [{"name": "localTime"}]},
            ["localTime"],
        ),
    ],
)
def test_tools_are_called(
    sdk: openai.OpenAI, question: str, choice: Any, called: list[str]
) -> None:
    response = ask(sdk, question, tools=[WEATHER, CLOCK, SEARCH], tool_choice=choice)
    assert names_of(response) == called
    assert bool(response.output_text) != bool(called)
    assert response.status == "completed"
    assert response.tool_choice == choice or response.tool_choice.to_dict() == choice


def test_only_one_call_where_several_may_not_be(sdk: openai.OpenAI) -> None:
    question = "Weather and local time in Paris?"
    asked = ask(sdk, question, tools=[WEATHER, CLOCK], parallel_tool_calls=False)
    assert names_of(asked) == ["get_weather"]
    assert asked.parallel_tool_calls is False


@pytest.mark.parametrize("stored", [False, True])
def test_a_result_is_passed_on(sdk: openai.OpenAI, stored: bool) -> None:
    first = ask(sdk, WEATHER_QUESTION, tools=[WEATHER])
    (call,) = first.output
    assert json.loads(call.arguments) == {"location": "San Francisco", "days": 3}
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "Foggy."}
    if stored:
        after = ask(sdk, [result], previous_response_id=first.id, tools=[WEATHER])
    else:
        thought = {"type": "reasoning", "id": "rs_1", "summary": []}
        asked = [{"role": "user", "content": WEATHER_QUESTION}, thought, call, result]
        after = ask(sdk, asked, tools=[WEATHER])
    assert "Foggy." in after.output_text
    assert "get_weather" in after.output_text


def test_tools_of_the_provider_are_taken_and_seen(
    sdk: openai.OpenAI, provider: SimulatedProvider
) -> None:
    hosted: list[Any] = [SEARCH, {"type": "file_search", "vector_store_ids": ["vs_1"]}]
    response = ask(sdk, tools=hosted, tool_choice="required")
    assert response.output_text.startswith("The Sydney Harbour Bridge is")
    assert [one.type for one in response.tools] == ["web_search", "file_search"]
    (record,) = provider.requests
    assert record.body is not None
    assert record.body["tools"] == hosted


def test_a_call_is_cut_at_the_most_tokens(sdk: openai.OpenAI) -> None:
    wide = tool("wide", **{f"word_{i}": TEXT for i in range(9)})
    response = ask(sdk, "[[tool]]", tools=[wide], max_output_tokens=16)
    assert response.status == "incomplete"
    assert response.output[0].status == "incomplete"
    assert response.usage.output_tokens == 16
