"""The same script with the SDK's client and with a guarded one: identical but for the verdict."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic, AsyncAnthropic

from conformance_kit import LOOK_UP, POLICY, QUESTION, Founding, Sdk, Seen
from resay.testing import (
    CutConnection,
    Fault,
    Hang,
    MalformedJson,
    RateLimited,
    Refused,
    RequestRecord,
    ServerError,
    SimulatedProvider,
)
from resay_anthropic import guard_client

pytestmark = pytest.mark.anyio

ASKED: Any = {
    "model": "simulated",
    "max_tokens": 300,
    "messages": [{"role": "user", "content": QUESTION}],
}
TOOL: Any = {"name": "look_up", "description": "Look a place up.", "input_schema": LOOK_UP}
IMAGE: Any = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
}


def create(client: Any) -> Any:
    return client.messages.create(**ASKED)


def conversation(client: Any) -> Any:
    turns: Any = [
        {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
        {"role": "assistant", "content": "The capital of Australia."},
        {"role": "user", "content": "When was Canberra founded?"},
    ]
    further: Any = {"system": "Be brief.", "stop_sequences": ["Its"], "metadata": {"user_id": "u"}}
    return client.messages.create(**ASKED | {"messages": turns} | further)


def extra(client: Any) -> Any:
    return client.messages.create(
        **ASKED,
        extra_body={"temperature": 0.3},
        extra_headers={"x-tenant": "t"},
        extra_query={"q": "1"},
        timeout=20,
    )


def image(client: Any) -> Any:
    content: Any = [IMAGE, {"type": "text", "text": QUESTION}]
    message: Any = {"role": "user", "content": content}
    return client.messages.create(**ASKED | {"messages": [message], "max_tokens": 3})


def parse(client: Any) -> Any:
    message = client.messages.parse(**ASKED, output_format=Founding)
    return message, message.parsed_output


def tool(client: Any) -> Any:
    return client.messages.create(
        **ASKED, tools=[TOOL], tool_choice={"type": "tool", "name": "look_up"}
    )


def tool_result(client: Any) -> Any:
    call = {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {"place": "Canberra"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Founded in 1913."}
    turns = [
        *ASKED["messages"],
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    return client.messages.create(**ASKED | {"messages": turns}, tools=[TOOL])


def stream(client: Any) -> Any:
    events = client.messages.create(**ASKED, stream=True)
    return type(events).__name__, list(events), events.response.status_code


def stream_broken_off(client: Any) -> Any:
    with client.messages.create(**ASKED, stream=True) as events:
        return next(events), next(events)


def stream_text(client: Any) -> Any:
    with client.messages.stream(**ASKED) as helper:
        return list(helper.text_stream), helper.get_final_message(), helper.get_final_text()


def stream_events(client: Any) -> Any:
    with client.messages.stream(**ASKED) as helper:
        return list(helper), helper.current_message_snapshot


def stream_tool(client: Any) -> Any:
    with client.messages.stream(**ASKED, tools=[TOOL], tool_choice={"type": "any"}) as helper:
        return list(helper), helper.get_final_message()


def stream_parse(client: Any) -> Any:
    with client.messages.stream(**ASKED, output_format=Founding) as helper:
        return helper.get_final_message(), helper.get_final_message().parsed_output


def raw(client: Any) -> Any:
    response = client.messages.with_raw_response.create(**ASKED)
    about = type(response).__name__, response.status_code, response.headers["content-type"]
    message = response.parse()
    return about, message, message._request_id == response.headers["request-id"]


def raw_stream(client: Any) -> Any:
    response = client.messages.with_raw_response.create(**ASKED, stream=True)
    return type(response).__name__, response.status_code, list(response.parse())


def streaming_response(client: Any) -> Any:
    with client.messages.with_streaming_response.create(**ASKED) as response:
        return type(response).__name__, response.status_code, response.parse(), response.json()


def streaming_lines(client: Any) -> Any:
    with client.messages.with_streaming_response.create(**ASKED, stream=True) as response:
        return [line for line in response.iter_lines() if line.startswith("event: ")]


def posted(client: Any) -> Any:
    return client.post("/v1/messages", body=ASKED, cast_to=dict[str, Any])


def beta(client: Any) -> Any:
    return client.beta.messages.create(**ASKED, betas=["some-beta-2025-01-01"])


def beta_stream(client: Any) -> Any:
    with client.beta.messages.stream(**ASKED) as helper:
        return list(helper), helper.get_final_message()


def count_tokens(client: Any) -> Any:
    return client.messages.count_tokens(model="simulated", messages=ASKED["messages"])


def models(client: Any) -> Any:
    page = client.models.list(limit=1)
    return type(page).__name__, [model.display_name for model in page]


def with_options(client: Any) -> Any:
    return client.with_options(timeout=20, max_retries=0).messages.create(**ASKED)


def refused(client: Any) -> Any:
    return client.messages.create(**ASKED | {"max_tokens": 0})


def stream_refused(client: Any) -> Any:
    return client.messages.create(**ASKED | {"max_tokens": 0}, stream=True)


def refused_by_sdk(client: Any) -> Any:
    return client.messages.create(model="simulated", messages=[])


SHAPES: list[Callable[[Any], Any]] = [
    create, conversation, extra, image, parse, tool, tool_result, stream, stream_broken_off,
    stream_text, stream_events, stream_tool, stream_parse, raw, raw_stream, streaming_response,
    streaming_lines, posted, beta, beta_stream, count_tokens, models, with_options, refused,
    stream_refused, refused_by_sdk,
]  # fmt: skip


async def acreate(client: Any) -> Any:
    return await client.messages.create(**ASKED)


async def aparse(client: Any) -> Any:
    message = await client.messages.parse(**ASKED, output_format=Founding)
    return message, message.parsed_output


async def astream(client: Any) -> Any:
    events = await client.messages.create(**ASKED, stream=True)
    return type(events).__name__, [event async for event in events], events.response.status_code


async def astream_broken_off(client: Any) -> Any:
    async with await client.messages.create(**ASKED, stream=True) as events:
        return await events.__anext__(), await events.__anext__()


async def astream_text(client: Any) -> Any:
    async with client.messages.stream(**ASKED) as helper:
        text = [piece async for piece in helper.text_stream]
        return text, await helper.get_final_message(), await helper.get_final_text()


async def astream_events(client: Any) -> Any:
    async with client.messages.stream(**ASKED) as helper:
        return [event async for event in helper], helper.current_message_snapshot


async def araw(client: Any) -> Any:
    response = await client.messages.with_raw_response.create(**ASKED)
    parsed = response.parse()
    # Until 1.0 this was not async.
    return response.status_code, await parsed if hasattr(parsed, "__await__") else parsed


async def astreaming_response(client: Any) -> Any:
    async with client.messages.with_streaming_response.create(**ASKED) as response:
        return type(response).__name__, response.status_code, await response.parse()


async def amodels(client: Any) -> Any:
    return [model.display_name async for model in client.models.list(limit=1)]


ASYNC_SHAPES: list[Callable[[Any], Awaitable[Any]]] = [
    acreate, aparse, astream, astream_broken_off, astream_text, astream_events, araw,
    astreaming_response, amodels,
]  # fmt: skip


class Marking(anthropic.Middleware):
    """Marks what the SDK sends for its caller: what a guard sends besides has no key."""

    def handle(self, request: Any, call_next: Any) -> Any:
        return call_next(_marked(request))

    async def handle_async(self, request: Any, call_next: Any) -> Any:
        return await call_next(_marked(request))


def _marked(request: Any) -> Any:
    if request.options.idempotency_key is None:
        return request
    return request.copy(headers={**request.headers, "x-main": "yes"})


def arguments(provider: SimulatedProvider, http: Any, settings: dict[str, Any]) -> dict[str, Any]:
    # Certificates take long to load, and loopback has none.
    known = {"base_url": provider.root_url, "api_key": "simulated"}
    return {**known, "http_client": http(verify=False), "middleware": [Marking()], **settings}


@contextmanager
def opened(provider: SimulatedProvider, policy: Any, **settings: Any) -> Generator[Anthropic]:
    with Anthropic(**arguments(provider, anthropic.DefaultHttpxClient, settings)) as bare:
        yield bare if policy is None else guard_client(bare, policy)


@asynccontextmanager
async def opened_async(
    provider: SimulatedProvider, policy: Any, **settings: Any
) -> AsyncGenerator[AsyncAnthropic]:
    http = anthropic.DefaultAsyncHttpxClient
    async with AsyncAnthropic(**arguments(provider, http, settings)) as bare:
        yield bare if policy is None else guard_client(bare, policy)


def is_main(request: RequestRecord) -> bool:
    # Samples are sent without what says whose request it is, and never as a stream.
    return bool(request.headers.get("x-main")) or "messages" not in request.path


SDK = Sdk(
    opened,
    opened_async,
    is_main,
    new=("id", "_request_id", "request_id", "tool_use_id", "created_at", "hallucination"),
    repeats_messages=False,
)


@cache
def plain(shape: Callable[[Any], Any]) -> Seen:
    return SDK.run(shape, [], None)


@pytest.mark.parametrize("mode", ["after", "buffer"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_call(shape: Callable[[Any], Any], mode: str) -> None:
    assert SDK.run(shape, [], {**POLICY, "stream": mode}) == plain(shape)


@pytest.mark.parametrize("shape", ASYNC_SHAPES, ids=lambda shape: shape.__name__)
async def test_an_async_call(shape: Callable[[Any], Awaitable[Any]]) -> None:
    assert await SDK.arun(shape, [], POLICY) == await SDK.arun(shape, [], None)


FAULTS = {
    "rate limited, then not": [RateLimited(first=2, retry_after_s=0.01)],
    "rate limited": [RateLimited(retry_after_s=0.01)],
    "broken, then not": [ServerError(first=1)],
    "overloaded": [ServerError(status=529)],
    "refused": [Refused(status=401)],
    "not found": [Refused(status=404)],
    "in conflict, then not": [Refused(status=409, first=1)],
    "too slow, then not": [Hang(first=1)],
    "cut off": [CutConnection(first=1)],
    "no JSON": [MalformedJson(first=1)],
}
LIMITS = {"timeout": 0.2, "max_retries": 2}


@pytest.mark.parametrize("shape", [create, stream], ids=lambda s: s.__name__)
@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
def test_trouble(faults: list[Fault], shape: Callable[[Any], Any]) -> None:
    assert SDK.run(shape, faults, POLICY, **LIMITS) == SDK.run(shape, faults, None, **LIMITS)


@pytest.mark.parametrize("shape", [acreate, astream], ids=lambda s: s.__name__)
@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
async def test_async_trouble(faults: list[Fault], shape: Callable[[Any], Awaitable[Any]]) -> None:
    ours = await SDK.arun(shape, faults, POLICY, **LIMITS)
    assert ours == await SDK.arun(shape, faults, None, **LIMITS)


def test_too_slow() -> None:
    limits = {"timeout": 0.2, "max_retries": 0}
    assert SDK.run(create, [Hang()], POLICY, **limits) == SDK.run(create, [Hang()], None, **limits)


def test_a_body_that_is_cut_off_while_it_is_read() -> None:
    faults = [CutConnection(first=1)]
    assert SDK.run(streaming_response, faults, POLICY) == SDK.run(streaming_response, faults, None)


def test_the_guard_was_at_work() -> None:
    assert SDK.run(create, [], POLICY).requests == plain(create).requests + 2
