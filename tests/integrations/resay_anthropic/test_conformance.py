"""The same script with the SDK's client and with a guarded one: identical but for the verdict."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic, AsyncAnthropic

from resay_anthropic import guard_client
from simulation import (
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
from support.anthropic_shapes import (
    ASYNC_SHAPES,
    SHAPES,
    acreate,
    astream,
    create,
    stream,
    streaming_response,
)
from support.conformance import POLICY, Sdk, Seen

pytestmark = pytest.mark.anyio


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
    assert SDK.run(shape, [], {**POLICY, "stream_mode": mode}) == plain(shape)


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
LIMITS = {"timeout": 1, "max_retries": 2}


@pytest.mark.parametrize("shape", [create, stream], ids=lambda s: s.__name__)
@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
def test_trouble(faults: list[Fault], shape: Callable[[Any], Any]) -> None:
    ours, plain = SDK.both(shape, faults, POLICY, **LIMITS)
    assert ours == plain


@pytest.mark.parametrize("shape", [acreate, astream], ids=lambda s: s.__name__)
@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
async def test_async_trouble(faults: list[Fault], shape: Callable[[Any], Awaitable[Any]]) -> None:
    ours, plain = await SDK.aboth(shape, faults, POLICY, **LIMITS)
    assert ours == plain


def test_too_slow() -> None:
    # What hangs for ever may time out soon.
    ours, plain = SDK.both(create, [Hang()], POLICY, timeout=0.5, max_retries=0)
    assert ours == plain


def test_a_body_that_is_cut_off_while_it_is_read() -> None:
    faults = [CutConnection(first=1)]
    assert SDK.run(streaming_response, faults, POLICY) == SDK.run(streaming_response, faults, None)


def test_the_guard_was_at_work() -> None:
    assert SDK.run(create, [], POLICY).requests == plain(create).requests + 2
