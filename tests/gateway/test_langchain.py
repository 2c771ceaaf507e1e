"""One script with LangChain's models asking the provider, and asking the gateway instead."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial, reduce
from operator import add
from typing import Any

import httpx
import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("langchain_openai")
pytest.importorskip("langchain_anthropic")

from langchain_anthropic import ChatAnthropic, _client_utils, chat_models
from langchain_core.messages import ToolMessage
from langchain_openai import ChatOpenAI

from simulation import RateLimited, Refused
from support.conformance import QUESTION, Founding, Sdk
from support.gateway import Shared, shared_gateway

pytestmark = pytest.mark.anyio

CALLED = "[[tool]] Canberra"
# What is new in each answer, and the verdict, which stands where the SDKs keep what they know not.
NEW = ("id", "created", "created_at", "request_id", "hallucination")


def look_up(place: str) -> str:
    """Look a place up."""
    return f"{place} was founded in 1913."


def invoke(model: Any) -> Any:
    return model.invoke(QUESTION)


def invoke_again(model: Any) -> Any:
    return model.invoke(QUESTION), model.invoke(QUESTION)


def stream(model: Any) -> Any:
    pieces = list(model.stream(QUESTION))
    return type(pieces[0]).__name__, len(pieces), reduce(add, pieces)


def batch(model: Any) -> Any:
    # One after the other, or the provider would answer them in any order.
    return model.batch([QUESTION, "What is the Zorblatt?"], config={"max_concurrency": 1})


def bind_tools(model: Any) -> Any:
    bound = model.bind_tools([look_up])
    called = bound.invoke(CALLED)
    (call,) = called.tool_calls
    told = ToolMessage(look_up(**call["args"]), tool_call_id=call["id"])
    given = {name: value for name, value in call.items() if name != "id"}
    return given, bound.invoke([("user", CALLED), called, told])


def stream_tools(model: Any) -> Any:
    whole: Any = reduce(add, model.bind_tools([look_up]).stream(CALLED))
    return [(call["name"], call["args"]) for call in whole.tool_calls]


def structured(model: Any) -> Any:
    return model.with_structured_output(Founding).invoke(QUESTION)


def structured_by_tool(model: Any) -> Any:
    way = model.with_structured_output(Founding, method="function_calling", include_raw=True)
    found = way.invoke(QUESTION)
    return found["parsed"], found["parsing_error"]


def count(model: Any) -> Any:
    return model.invoke(QUESTION).usage_metadata


def refused(model: Any) -> Any:
    return model.invoke([("user", "")], max_tokens=-1)


SHAPES: list[Callable[[Any], Any]] = [
    invoke, invoke_again, stream, batch, bind_tools, stream_tools, structured, structured_by_tool,
    count, refused,
]  # fmt: skip


async def ainvoke(model: Any) -> Any:
    return await model.ainvoke(QUESTION)


async def astream(model: Any) -> Any:
    pieces = [piece async for piece in model.astream(QUESTION)]
    return len(pieces), reduce(add, pieces)


async def astream_events(model: Any) -> Any:
    return [event["event"] async for event in model.astream_events(QUESTION, version="v2")]


async def abatch(model: Any) -> Any:
    return await model.abatch([QUESTION])


async def abind_tools(model: Any) -> Any:
    called = await model.bind_tools([look_up]).ainvoke(CALLED)
    return [(call["name"], call["args"]) for call in called.tool_calls]


async def astructured(model: Any) -> Any:
    return await model.with_structured_output(Founding).ainvoke(QUESTION)


ASYNC_SHAPES: list[Callable[[Any], Awaitable[Any]]] = [
    ainvoke, astream, astream_events, abatch, abind_tools, astructured,
]  # fmt: skip


def chat_openai(url: str, headers: Mapping[str, str], **told: Any) -> Any:
    known = {"base_url": f"{url}/v1", "default_headers": dict(headers), "max_retries": 0}
    return ChatOpenAI(model="simulated", api_key="k", **known, **told)


@contextmanager
def openai_chat(url: str, headers: Mapping[str, str], **told: Any) -> Iterator[Any]:
    with httpx.Client(verify=False) as client:
        yield chat_openai(url, headers, http_client=client, **told)


@asynccontextmanager
async def openai_achat(url: str, headers: Mapping[str, str], **told: Any) -> AsyncIterator[Any]:
    async with httpx.AsyncClient(verify=False) as client:
        yield chat_openai(url, headers, http_async_client=client, **told)


def chat_anthropic(url: str, headers: Mapping[str, str]) -> Any:
    known = {"base_url": url, "default_headers": dict(headers), "max_tokens": 300}
    return ChatAnthropic(model="simulated", api_key="k", max_retries=0, **known)


@contextmanager
def anthropic_chat(url: str, headers: Mapping[str, str]) -> Iterator[Any]:
    model = chat_anthropic(url, headers)
    yield model
    model._client.close()


@asynccontextmanager
async def anthropic_achat(url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    model = chat_anthropic(url, headers)
    yield model
    await model._async_client.close()


WAYS: Mapping[str, tuple[Any, Any]] = {
    "openai": (openai_chat, openai_achat),
    "openai's responses": (
        partial(openai_chat, use_responses_api=True),
        partial(openai_achat, use_responses_api=True),
    ),
    "anthropic": (anthropic_chat, anthropic_achat),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    with shared_gateway(tmp_path_factory.mktemp("gateway")) as shared:
        yield shared


@pytest.fixture(scope="module", params=WAYS.values(), ids=WAYS)
def sdk(request: pytest.FixtureRequest, shared: Shared) -> Sdk:
    return shared.sdk(*request.param, new=NEW, repeats_messages=False)


@pytest.fixture(autouse=True)
def clients_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # By its URL a client is the same for all, also for those of another event loop.
    for name in ("_get_default_httpx_client", "_get_default_async_httpx_client"):
        cached: Any = getattr(_client_utils, name)
        monkeypatch.setattr(chat_models, name, cached.__wrapped__)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_call(sdk: Sdk, shape: Callable[[Any], Any]) -> None:
    assert sdk.run(shape, [], "after") == sdk.run(shape, [], None)


@pytest.mark.parametrize("shape", ASYNC_SHAPES, ids=lambda shape: shape.__name__)
async def test_an_async_call(sdk: Sdk, shape: Callable[[Any], Awaitable[Any]]) -> None:
    assert await sdk.arun(shape, [], "after") == await sdk.arun(shape, [], None)


@pytest.mark.parametrize("fault", [RateLimited(), Refused(status=401)])
@pytest.mark.parametrize("shape", [invoke, stream], ids=lambda shape: shape.__name__)
def test_trouble(sdk: Sdk, shape: Callable[[Any], Any], fault: Any) -> None:
    assert sdk.run(shape, [fault], "after") == sdk.run(shape, [fault], None)


def test_the_gateway_was_at_work(sdk: Sdk) -> None:
    assert sdk.run(invoke, [], "after").requests > sdk.run(invoke, [], None).requests
