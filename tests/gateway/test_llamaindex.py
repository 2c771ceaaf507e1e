"""One script with LlamaIndex's LLM asking the provider, and asking the gateway instead."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx
import pytest

pytest.importorskip("llama_index.core")
pytest.importorskip("llama_index.llms.openai")

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai import OpenAI

from simulation import RateLimited, Refused
from support.conformance import QUESTION, Founding, Sdk
from support.gateway import shared_gateway

pytestmark = pytest.mark.anyio

NEW = ("id", "created", "hallucination", "tool_call_id", "tool_id", "_request_id")
ASKED = [ChatMessage(role="system", content="Be brief."), ChatMessage(QUESTION)]


def look_up(place: str) -> str:
    """Look a place up."""
    return f"{place} was founded in 1913."


TOOL = FunctionTool.from_defaults(look_up)


def complete(llm: Any) -> Any:
    return llm.complete(QUESTION)


def chat(llm: Any) -> Any:
    return llm.chat(ASKED)


def stream_complete(llm: Any) -> Any:
    return list(llm.stream_complete(QUESTION))


def stream_chat(llm: Any) -> Any:
    return list(llm.stream_chat(ASKED))


def call_tools(llm: Any) -> Any:
    response = llm.chat_with_tools([TOOL], "[[tool]] Canberra")
    calls = llm.get_tool_calls_from_response(response)
    return [(call.tool_name, call.tool_kwargs) for call in calls]


def structured(llm: Any) -> Any:
    return llm.as_structured_llm(Founding).complete(QUESTION).raw


SHAPES: list[Callable[[Any], Any]] = [
    complete, chat, stream_complete, stream_chat, call_tools, structured,
]  # fmt: skip


async def acomplete(llm: Any) -> Any:
    return await llm.acomplete(QUESTION)


async def achat(llm: Any) -> Any:
    return await llm.achat(ASKED)


async def astream_chat(llm: Any) -> Any:
    return [piece async for piece in await llm.astream_chat(ASKED)]


ASYNC_SHAPES: list[Callable[[Any], Awaitable[Any]]] = [acomplete, achat, astream_chat]


def llm_of(url: str, headers: Mapping[str, str], **told: Any) -> Any:
    known = {"api_base": f"{url}/v1", "api_key": "k", "default_headers": dict(headers)}
    # The class has a list of models that it knows.
    return OpenAI(model="gpt-4o-mini", max_retries=0, **(known | told))


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sdk]:
    @contextmanager
    def opened(url: str, headers: Mapping[str, str]) -> Iterator[Any]:
        with httpx.Client(verify=False) as client:
            yield llm_of(url, headers, http_client=client)

    @asynccontextmanager
    async def aopened(url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
        async with httpx.AsyncClient(verify=False) as client:
            yield llm_of(url, headers, async_http_client=client)

    with shared_gateway(tmp_path_factory.mktemp("gateway")) as shared:
        yield shared.sdk(opened, aopened, new=NEW, repeats_messages=True)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_call(sdk: Sdk, shape: Callable[[Any], Any]) -> None:
    assert sdk.run(shape, [], "after") == sdk.run(shape, [], None)


@pytest.mark.parametrize("shape", ASYNC_SHAPES, ids=lambda shape: shape.__name__)
async def test_an_async_call(sdk: Sdk, shape: Callable[[Any], Awaitable[Any]]) -> None:
    assert await sdk.arun(shape, [], "after") == await sdk.arun(shape, [], None)


@pytest.mark.parametrize("fault", [RateLimited(), Refused(status=401)])
def test_trouble(sdk: Sdk, fault: Any) -> None:
    assert sdk.run(chat, [fault], "after") == sdk.run(chat, [fault], None)


def test_the_gateway_was_at_work(sdk: Sdk) -> None:
    assert sdk.run(chat, [], "after").requests > sdk.run(chat, [], None).requests
