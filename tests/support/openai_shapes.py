"""Ordinary uses of OpenAI's SDK, one function for each way to call it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from openai import AsyncOpenAI, OpenAI

from support.conformance import LOOK_UP, QUESTION, Founding

__all__ = ["ASYNC_SHAPES", "SYNC_SHAPES"]

ASKED: Any = [{"role": "user", "content": QUESTION}]
MODEL = "simulated"
TOOLS: Any = [{"type": "function", "function": {"name": "look_up", "parameters": LOOK_UP}}]
FLAT_TOOLS: Any = [{"type": "function", "name": "look_up", "parameters": LOOK_UP, "strict": False}]
IMAGE = "data:image/png;base64,iVBORw0KGgo="


def create(client: OpenAI) -> Any:
    return client.chat.completions.create(model=MODEL, messages=ASKED)


def conversation(client: OpenAI) -> Any:
    messages: Any = [
        {"role": "system", "content": "Be brief."},
        *ASKED,
        {"role": "assistant", "content": "The capital of Australia."},
        {"role": "user", "content": "When was Canberra founded?"},
    ]
    return client.chat.completions.create(
        model=MODEL, messages=messages, temperature=0.3, max_tokens=20, user="u", stop=["Every"]
    )


def several(client: OpenAI) -> Any:
    return client.chat.completions.create(model=MODEL, messages=ASKED, n=3)


def logprobs(client: OpenAI) -> Any:
    return client.chat.completions.create(
        model=MODEL, messages=ASKED, logprobs=True, top_logprobs=2
    )


def stream(client: OpenAI) -> Any:
    pieces = client.chat.completions.create(model=MODEL, messages=ASKED, stream=True)
    return type(pieces).__name__, list(pieces)


def stream_with_usage(client: OpenAI) -> Any:
    with client.chat.completions.create(
        model=MODEL, messages=ASKED, stream=True, stream_options={"include_usage": True}
    ) as pieces:
        return list(pieces)


def stream_several(client: OpenAI) -> Any:
    pieces = client.chat.completions.create(model=MODEL, messages=ASKED, stream=True, n=3)
    texts = {0: "", 1: "", 2: ""}
    ends: dict[int, Any] = {}
    for piece in pieces:
        for choice in piece.choices:
            texts[choice.index] += choice.delta.content or ""
            ends[choice.index] = choice.finish_reason
    return texts, ends


def stream_left_early(client: OpenAI) -> Any:
    with client.chat.completions.create(model=MODEL, messages=ASKED, stream=True) as pieces:
        return next(iter(pieces))


def stream_helper(client: OpenAI) -> Any:
    with client.chat.completions.stream(model=MODEL, messages=ASKED) as events:
        kinds = [event.type for event in events]
        return kinds, events.get_final_completion()


def stream_tools(client: OpenAI) -> Any:
    called: Any = [{"role": "user", "content": "[[tool]] Canberra"}]
    with client.chat.completions.stream(model=MODEL, messages=called, tools=TOOLS) as events:
        return [event.type for event in events], events.get_final_completion()


def parse(client: OpenAI) -> Any:
    return client.chat.completions.parse(model=MODEL, messages=ASKED, response_format=Founding)


def json_object(client: OpenAI) -> Any:
    return client.chat.completions.create(
        model=MODEL,
        messages=[{"role": "user", "content": f"{QUESTION} Answer in JSON."}],
        response_format={"type": "json_object"},
    )


def tools(client: OpenAI) -> Any:
    called: Any = [{"role": "user", "content": "[[tool]] Canberra"}]
    answer = client.chat.completions.create(model=MODEL, messages=called, tools=TOOLS)
    call: Any = (answer.choices[0].message.tool_calls or [])[0]
    result = {"role": "tool", "tool_call_id": call.id, "content": "Founded in 1913."}
    told: Any = [*called, answer.choices[0].message, result]
    return answer, client.chat.completions.create(model=MODEL, messages=told, tools=TOOLS)


def image(client: OpenAI) -> Any:
    parts: Any = [
        {"type": "text", "text": QUESTION},
        {"type": "image_url", "image_url": {"url": IMAGE}},
    ]
    return client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": parts}]
    )


def audio(client: OpenAI) -> Any:
    parts: Any = [
        {"type": "text", "text": QUESTION},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    ]
    return client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": parts}]
    )


def raw(client: OpenAI) -> Any:
    answer = client.chat.completions.with_raw_response.create(model=MODEL, messages=ASKED)
    kind = answer.headers["content-type"]
    return type(answer).__name__, answer.status_code, kind, answer.retries_taken, answer.parse()


def raw_stream(client: OpenAI) -> Any:
    answer = client.chat.completions.with_raw_response.create(
        model=MODEL, messages=ASKED, stream=True
    )
    return type(answer).__name__, list(answer.parse())


def streaming_response(client: OpenAI) -> Any:
    with client.chat.completions.with_streaming_response.create(
        model=MODEL, messages=ASKED
    ) as answer:
        return type(answer).__name__, answer.status_code, answer.parse()


def streaming_lines(client: OpenAI) -> Any:
    with client.chat.completions.with_streaming_response.create(
        model=MODEL, messages=ASKED, stream=True
    ) as answer:
        lines = [line for line in answer.iter_lines() if line]
        return lines[-1], len(lines)


def extra(client: OpenAI) -> Any:
    return client.chat.completions.create(
        model=MODEL,
        messages=ASKED,
        extra_body={"seed": 3, "top_k": 5},
        extra_headers={"x-mine": "1"},
        extra_query={"mine": "1"},
    )


def options(client: OpenAI) -> Any:
    other = client.with_options(timeout=30, max_retries=1, default_headers={"x-mine": "1"})
    assert isinstance(other, type(client))
    return other.max_retries, other.chat.completions.create(model=MODEL, messages=ASKED)


def bad_request(client: OpenAI) -> Any:
    wrong: Any = [{"role": "nobody", "content": 3}]
    return client.chat.completions.create(model=MODEL, messages=wrong)


def pages(client: OpenAI) -> Any:
    return [model.id for model in client.models.list()], client.models.list()


def respond(client: OpenAI) -> Any:
    answer = client.responses.create(model=MODEL, input=QUESTION, instructions="Be brief.")
    return answer, answer.output_text


def respond_to_items(client: OpenAI) -> Any:
    parts: Any = [
        {"type": "input_text", "text": QUESTION},
        {"type": "input_image", "image_url": IMAGE, "detail": "auto"},
    ]
    return client.responses.create(
        model=MODEL, input=[{"role": "user", "content": parts}], max_output_tokens=30
    )


def respond_stream(client: OpenAI) -> Any:
    return list(client.responses.create(model=MODEL, input=QUESTION, stream=True))


def respond_helper(client: OpenAI) -> Any:
    with client.responses.stream(model=MODEL, input=QUESTION) as events:
        return [event.type for event in events], events.get_final_response()


def respond_parse(client: OpenAI) -> Any:
    answer = client.responses.parse(model=MODEL, input=QUESTION, text_format=Founding)
    return answer, answer.output_parsed


def respond_tools(client: OpenAI) -> Any:
    return client.responses.create(model=MODEL, input="[[tool]] Canberra", tools=FLAT_TOOLS)


def respond_raw(client: OpenAI) -> Any:
    answer = client.responses.with_raw_response.create(model=MODEL, input=QUESTION)
    return type(answer).__name__, answer.parse()


def complete(client: OpenAI) -> Any:
    return client.completions.create(model=MODEL, prompt=QUESTION, max_tokens=30, suffix="!")


def complete_several(client: OpenAI) -> Any:
    return client.completions.create(model=MODEL, prompt=QUESTION, n=3, best_of=4, logprobs=2)


def complete_prompts(client: OpenAI) -> Any:
    return client.completions.create(model=MODEL, prompt=[QUESTION, "Who?"], echo=True)


def complete_stream(client: OpenAI) -> Any:
    pieces = client.completions.create(
        model=MODEL, prompt=QUESTION, stream=True, stream_options={"include_usage": True}
    )
    return type(pieces).__name__, list(pieces)


def complete_raw(client: OpenAI) -> Any:
    answer = client.completions.with_raw_response.create(model=MODEL, prompt=QUESTION)
    return type(answer).__name__, answer.status_code, answer.parse()


SYNC_SHAPES: list[Callable[[OpenAI], Any]] = [
    create,
    conversation,
    several,
    logprobs,
    stream,
    stream_with_usage,
    stream_several,
    stream_left_early,
    stream_helper,
    stream_tools,
    parse,
    json_object,
    tools,
    image,
    audio,
    raw,
    raw_stream,
    streaming_response,
    streaming_lines,
    extra,
    options,
    bad_request,
    pages,
    respond,
    respond_to_items,
    respond_stream,
    respond_helper,
    respond_parse,
    respond_tools,
    respond_raw,
    complete,
    complete_several,
    complete_prompts,
    complete_stream,
    complete_raw,
]


async def acreate(client: AsyncOpenAI) -> Any:
    return await client.chat.completions.create(model=MODEL, messages=ASKED)


async def aseveral(client: AsyncOpenAI) -> Any:
    return await client.chat.completions.create(model=MODEL, messages=ASKED, n=3)


async def astream(client: AsyncOpenAI) -> Any:
    pieces = await client.chat.completions.create(model=MODEL, messages=ASKED, stream=True)
    return type(pieces).__name__, [piece async for piece in pieces]


async def astream_several(client: AsyncOpenAI) -> Any:
    pieces = await client.chat.completions.create(model=MODEL, messages=ASKED, stream=True, n=3)
    texts = {0: "", 1: "", 2: ""}
    async for piece in pieces:
        for choice in piece.choices:
            texts[choice.index] += choice.delta.content or ""
    return texts


async def astream_helper(client: AsyncOpenAI) -> Any:
    async with client.chat.completions.stream(model=MODEL, messages=ASKED) as events:
        return [event.type async for event in events], await events.get_final_completion()


async def aparse(client: AsyncOpenAI) -> Any:
    return await client.chat.completions.parse(
        model=MODEL, messages=ASKED, response_format=Founding
    )


async def atools(client: AsyncOpenAI) -> Any:
    called: Any = [{"role": "user", "content": "[[tool]] Canberra"}]
    return await client.chat.completions.create(model=MODEL, messages=called, tools=TOOLS)


async def araw(client: AsyncOpenAI) -> Any:
    answer = await client.chat.completions.with_raw_response.create(model=MODEL, messages=ASKED)
    return type(answer).__name__, answer.status_code, answer.parse()


async def astreaming_response(client: AsyncOpenAI) -> Any:
    async with client.chat.completions.with_streaming_response.create(
        model=MODEL, messages=ASKED
    ) as answer:
        return type(answer).__name__, await answer.parse()


async def astreaming_lines(client: AsyncOpenAI) -> Any:
    async with client.chat.completions.with_streaming_response.create(
        model=MODEL, messages=ASKED, stream=True
    ) as answer:
        lines = [line async for line in answer.iter_lines() if line]
        return lines[-1], len(lines)


async def abad_request(client: AsyncOpenAI) -> Any:
    wrong: Any = [{"role": "nobody", "content": 3}]
    return await client.chat.completions.create(model=MODEL, messages=wrong)


async def apages(client: AsyncOpenAI) -> Any:
    return [model.id async for model in client.models.list()]


async def arespond(client: AsyncOpenAI) -> Any:
    return await client.responses.create(model=MODEL, input=QUESTION)


async def arespond_stream(client: AsyncOpenAI) -> Any:
    events = await client.responses.create(model=MODEL, input=QUESTION, stream=True)
    return [event async for event in events]


async def arespond_helper(client: AsyncOpenAI) -> Any:
    async with client.responses.stream(model=MODEL, input=QUESTION) as events:
        return [event.type async for event in events], await events.get_final_response()


async def arespond_parse(client: AsyncOpenAI) -> Any:
    answer = await client.responses.parse(model=MODEL, input=QUESTION, text_format=Founding)
    return answer, answer.output_parsed


async def acomplete(client: AsyncOpenAI) -> Any:
    return await client.completions.create(model=MODEL, prompt=QUESTION)


async def acomplete_stream(client: AsyncOpenAI) -> Any:
    pieces = await client.completions.create(model=MODEL, prompt=QUESTION, stream=True)
    return type(pieces).__name__, [piece async for piece in pieces]


ASYNC_SHAPES: list[Callable[[AsyncOpenAI], Awaitable[Any]]] = [
    acreate,
    aseveral,
    astream,
    astream_several,
    astream_helper,
    aparse,
    atools,
    araw,
    astreaming_response,
    astreaming_lines,
    abad_request,
    apages,
    arespond,
    arespond_stream,
    arespond_helper,
    arespond_parse,
    acomplete,
    acomplete_stream,
]
