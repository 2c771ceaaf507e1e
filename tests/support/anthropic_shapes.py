"""Ordinary uses of Anthropic's SDK, one function for each way to call it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from support.conformance import LOOK_UP, QUESTION, Founding

__all__ = ["ASYNC_SHAPES", "SHAPES", "acreate", "astream", "create", "stream", "streaming_response"]

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
    # Before 1.0 it was not async.
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
