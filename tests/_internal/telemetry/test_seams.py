"""Whose trace the spans of a check belong to, through each of the seams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from anthropic import Anthropic, AsyncAnthropic
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike
from opentelemetry import trace

from resay_anthropic import guard_client
from resay_llamaindex import GuardedLLM
from resay_openai import GuardedAsyncOpenAI, GuardedOpenAI
from simulation import SimulatedProvider
from support.gateway import Gateways
from support.otel import Seen

pytestmark = pytest.mark.anyio

QUESTION = "Tell me about the Sydney Harbour Bridge."
ASKED: Any = [{"role": "user", "content": QUESTION}]
POLICY = {"cache": {"store": "none"}, "chain": [{"method": "ngram"}], "sampling": {"max": 2}}
TRACE, SPAN = 0x1F2E3D4C5B6A79881F2E3D4C5B6A7988, 0x1A2B3C4D5E6F7081


def openai(url: str, closing: AsyncExitStack) -> Any:
    client = GuardedOpenAI(policy=POLICY, base_url=url + "/v1", api_key="k")
    closing.callback(client.close)
    return client.chat.completions.create(model="simulated", messages=ASKED, stream=True)


async def aopenai(url: str, closing: AsyncExitStack) -> Any:
    client = GuardedAsyncOpenAI(policy=POLICY, base_url=url + "/v1", api_key="k")
    closing.push_async_callback(client.close)
    return await client.chat.completions.create(model="simulated", messages=ASKED, stream=True, n=2)


def anthropic(url: str, closing: AsyncExitStack) -> Any:
    client = guard_client(Anthropic(base_url=url, api_key="k"), POLICY)
    closing.callback(client.close)
    return client.messages.create(model="simulated", messages=ASKED, max_tokens=99, stream=True)


async def aanthropic(url: str, closing: AsyncExitStack) -> Any:
    client = guard_client(AsyncAnthropic(base_url=url, api_key="k"), POLICY)
    closing.push_async_callback(client.close)
    return await client.messages.create(
        model="simulated", messages=ASKED, max_tokens=99, stream=True
    )


def guarded(url: str, **client: Any) -> GuardedLLM:
    llm = OpenAILike(
        model="simulated", api_base=url + "/v1", api_key="k", is_chat_model=True, **client
    )
    return GuardedLLM(llm, POLICY)


def llamaindex(url: str, closing: AsyncExitStack) -> Any:
    client = closing.enter_context(httpx.Client(verify=False))
    return guarded(url, http_client=client).stream_chat([ChatMessage(QUESTION)])


async def allamaindex(url: str, closing: AsyncExitStack) -> Any:
    client = await closing.enter_async_context(httpx.AsyncClient(verify=False))
    return await guarded(url, async_http_client=client).astream_complete(QUESTION)


async def pieces_of(stream: Any) -> AsyncIterator[Any]:
    if hasattr(stream, "__aiter__"):
        async for piece in stream:
            yield piece
    else:
        for piece in stream:
            yield piece


@pytest.mark.parametrize("ask", [openai, aopenai, anthropic, aanthropic, llamaindex, allamaindex])
async def test_a_stream_belongs_to_where_it_was_asked_for(
    seen: Seen, simulated: SimulatedProvider, ask: Callable[[str, AsyncExitStack], Any]
) -> None:
    async with AsyncExitStack() as closing:
        with trace.get_tracer("app").start_as_current_span("request"):
            stream = ask(simulated.root_url, closing)
            stream = await stream if hasattr(stream, "__await__") else stream
        assert [piece async for piece in pieces_of(stream)]
    # Some clients have spans of their own between the two.
    above = seen.named("resay.check")
    assert above
    for check in above:
        span: Any = check
        while span is not None and span.name != "request":
            span = seen.parent(span)
        assert span is not None, seen.edges()


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_to_the_gateway_belongs_to_its_client(
    seen: Seen, simulated: SimulatedProvider, tmp_path: Path, stream: bool
) -> None:
    with ExitStack() as stack:
        served = Gateways(tmp_path, simulated.root_url, stack).start()
        headers = {"traceparent": f"00-{TRACE:032x}-{SPAN:016x}-01"}
        body = {"model": "simulated", "messages": ASKED, "stream": stream}
        assert served.post(json=body, headers=headers).status_code == 200
        served.seen(1)
    check = seen.one("resay.check")
    assert (check.context.trace_id, check.parent.span_id) == (TRACE, SPAN)
