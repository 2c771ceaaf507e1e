"""One script with Anthropic's client asking the provider, and asking the gateway instead."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic, APIStatusError, AsyncAnthropic, InternalServerError

from simulation import (
    CutConnection,
    Fault,
    Hang,
    MalformedJson,
    RateLimited,
    Refused,
    ServerError,
)
from support.anthropic_shapes import SHAPES, acreate, astream, create, stream
from support.conformance import Sdk
from support.gateway import shared_gateway

pytestmark = pytest.mark.anyio

NEW = ("id", "_request_id", "request_id", "tool_use_id", "created_at", "hallucination")
Shape = Callable[[Anthropic], Any]
AsyncShape = Callable[[AsyncAnthropic], Awaitable[Any]]


def told(url: str, headers: dict[str, str], http: Any, settings: dict[str, Any]) -> dict[str, Any]:
    known = {"base_url": url, "api_key": "simulated", "default_headers": headers}
    # Certificates take long to load, and loopback has none.
    return {**known, "http_client": http(verify=False), **settings}


def opened(url: str, headers: dict[str, str], **settings: Any) -> Anthropic:
    return Anthropic(**told(url, headers, anthropic.DefaultHttpxClient, settings))


def opened_async(url: str, headers: dict[str, str], **settings: Any) -> AsyncAnthropic:
    return AsyncAnthropic(**told(url, headers, anthropic.DefaultAsyncHttpxClient, settings))


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sdk]:
    with shared_gateway(tmp_path_factory.mktemp("gateway")) as shared:
        yield shared.sdk(opened, opened_async, new=NEW, repeats_messages=False)


@pytest.fixture(autouse=True)
def no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    # Between two tries the SDK waits for half a second and more, which proves nothing here.
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.001)
    monkeypatch.setattr("anthropic._base_client.MAX_RETRY_DELAY", 0.001)


@pytest.mark.parametrize("mode", ["after", "buffer"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_call(sdk: Sdk, shape: Shape, mode: str) -> None:
    assert sdk.run(shape, [], mode) == sdk.run(shape, [], None)


# The gateway sees the same bytes of both kinds of client.
@pytest.mark.parametrize("shape", [acreate, astream], ids=lambda shape: shape.__name__)
async def test_an_async_call(sdk: Sdk, shape: AsyncShape) -> None:
    assert await sdk.arun(shape, [], "after") == await sdk.arun(shape, [], None)


FAULTS = {
    "rate limited, then not": [RateLimited(first=2, retry_after_s=0.01)],
    "rate limited": [RateLimited(retry_after_s=0.01)],
    "broken, then not": [ServerError(first=1)],
    "overloaded": [ServerError(status=529)],
    "refused": [Refused(status=401)],
    "not found": [Refused(status=404)],
    "in conflict, then not": [Refused(status=409, first=1)],
    "too slow, then not": [Hang(first=1)],
    "no JSON": [MalformedJson(first=1)],
}


def limits_for(faults: list[Fault]) -> dict[str, Any]:
    hangs = any(isinstance(fault, Hang) for fault in faults)
    return {"timeout": 2 if hangs else 10, "max_retries": 2}


@pytest.mark.parametrize("shape", [create, stream], ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
def test_trouble(sdk: Sdk, faults: list[Fault], shape: Shape) -> None:
    ours, plain = sdk.both(shape, faults, "after", **limits_for(faults))
    assert ours == plain


def test_an_answer_that_is_cut_off_is_tried_again_by_the_sdk(sdk: Sdk) -> None:
    faults = [CutConnection(first=1)]
    assert sdk.run(create, faults, "after") == sdk.run(create, faults, None)


def test_a_stream_that_is_cut_off_ends_with_an_error_of_the_sdk(sdk: Sdk) -> None:
    # Of the provider's own the SDK lets an error of its HTTP client through. Where nothing was
    # given yet, the whole answer is an error.
    kind, *_, body = sdk.run(stream, [CutConnection()], "after", max_retries=0).outcome
    assert kind in (APIStatusError.__name__, InternalServerError.__name__)
    assert "closed the connection" in body["error"]["message"]


@pytest.mark.parametrize("shape", [create, stream], ids=lambda shape: shape.__name__)
def test_the_gateway_was_at_work(sdk: Sdk, shape: Shape) -> None:
    assert sdk.run(shape, [], "after").requests == sdk.run(shape, [], None).requests + 2
