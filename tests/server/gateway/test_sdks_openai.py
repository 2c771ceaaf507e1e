"""One script with OpenAI's client asking the provider, and asking the gateway instead."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from openai import APIError, APITimeoutError, AsyncOpenAI, InternalServerError, OpenAI

from simulation import (
    CutConnection,
    Fault,
    Hang,
    MalformedJson,
    RateLimited,
    Refused,
    ServerError,
)
from support.conformance import Sdk
from support.gateway import shared_gateway
from support.openai_shapes import (
    SYNC_SHAPES,
    acreate,
    astream,
    create,
    respond,
    respond_helper,
    stream,
    stream_helper,
    stream_tools,
)

pytestmark = pytest.mark.anyio

NEW = ("id", "created", "created_at", "completed_at", "item_id", "_request_id", "hallucination")
Shape = Callable[[OpenAI], Any]
AsyncShape = Callable[[AsyncOpenAI], Awaitable[Any]]


def opened(url: str, headers: dict[str, str], **settings: Any) -> OpenAI:
    given = {"base_url": f"{url}/v1", "api_key": "simulated", "default_headers": headers}
    return OpenAI(**(given | settings))


def opened_async(url: str, headers: dict[str, str], **settings: Any) -> AsyncOpenAI:
    given = {"base_url": f"{url}/v1", "api_key": "simulated", "default_headers": headers}
    return AsyncOpenAI(**(given | settings))


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sdk]:
    with shared_gateway(tmp_path_factory.mktemp("gateway")) as shared:
        yield shared.sdk(opened, opened_async, new=NEW, repeats_messages=True)


@pytest.mark.parametrize("shape", SYNC_SHAPES, ids=lambda shape: shape.__name__)
def test_a_call(sdk: Sdk, shape: Shape) -> None:
    assert sdk.run(shape, [], "after") == sdk.run(shape, [], None)


# The gateway sees the same bytes of both kinds of client.
@pytest.mark.parametrize("shape", [acreate, astream], ids=lambda shape: shape.__name__)
async def test_an_async_call(sdk: Sdk, shape: AsyncShape) -> None:
    assert await sdk.arun(shape, [], "after") == await sdk.arun(shape, [], None)


@pytest.mark.parametrize("mode", ["hold", "buffer"])
@pytest.mark.parametrize("shape", [stream_helper, stream_tools, respond_helper])
def test_what_a_stream_that_is_held_adds_up_to(sdk: Sdk, shape: Shape, mode: str) -> None:
    ours, plain = sdk.run(shape, [], mode), sdk.run(shape, [], None)
    assert ours.outcome[-1] == plain.outcome[-1]
    assert ours.asked == plain.asked


FAULTS = {
    "rate limited, then not": [RateLimited(first=1, retry_after_s=0.01)],
    "rate limited": [RateLimited(retry_after_s=0.01)],
    "broken, then not": [ServerError(first=1)],
    "refused": [Refused(status=401)],
    "not found": [Refused(status=404)],
}


@pytest.fixture(autouse=True)
def no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    # Between two tries the SDK waits for half a second and more, which proves nothing here.
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.001)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.001)


@pytest.mark.parametrize("shape", [create, stream, respond], ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
def test_trouble(sdk: Sdk, faults: list[Fault], shape: Shape) -> None:
    plain = sdk.run(shape, faults, None, max_retries=1)
    assert sdk.run(shape, faults, "after", max_retries=1) == plain


@pytest.mark.parametrize("shape", [create, respond], ids=lambda shape: shape.__name__)
def test_an_answer_that_is_no_json(sdk: Sdk, shape: Shape) -> None:
    faults = [MalformedJson(first=1)]
    assert sdk.run(shape, faults, "after") == sdk.run(shape, faults, None)


def test_a_stream_that_is_no_json(sdk: Sdk) -> None:
    ours, plain = (sdk.run(stream, [MalformedJson()], mode).outcome for mode in ("after", None))
    # What is said of it counts characters, of which there are more where usage was asked for.
    assert ours[:2] == plain[:2] == ("JSONDecodeError", None)


# How much of a request has arrived when a client gives up is the clock's business, so only what
# the client sees is compared.
@pytest.mark.parametrize("shape", [create, stream, respond], ids=lambda shape: shape.__name__)
def test_a_client_that_does_not_wait(sdk: Sdk, shape: Shape) -> None:
    limits = {"timeout": 0.1, "max_retries": 0}
    plain = sdk.run(shape, [Hang()], None, **limits).outcome
    assert plain[0] == APITimeoutError.__name__
    assert sdk.run(shape, [Hang()], "after", **limits).outcome == plain


def test_a_client_that_tries_again(sdk: Sdk) -> None:
    ours, plain = sdk.both(create, [Hang(first=1)], "after", timeout=2, max_retries=1)
    assert ours == plain


@pytest.mark.parametrize("shape", [create, respond], ids=lambda shape: shape.__name__)
def test_an_answer_that_is_cut_off_is_tried_again_by_the_sdk(sdk: Sdk, shape: Shape) -> None:
    faults = [CutConnection(first=1)]
    assert sdk.run(shape, faults, "after") == sdk.run(shape, faults, None)


def test_a_stream_that_is_cut_off_ends_with_an_error_of_the_sdk(sdk: Sdk) -> None:
    # Of the provider's own the SDK lets an error of its HTTP client through. Where nothing was
    # given yet, the whole answer is an error.
    kind, _, message, _ = sdk.run(stream, [CutConnection()], "after", max_retries=0).outcome
    assert kind in (APIError.__name__, InternalServerError.__name__)
    assert "closed the connection" in message


@pytest.mark.parametrize("shape", [create, stream, respond], ids=lambda shape: shape.__name__)
def test_the_gateway_was_at_work(sdk: Sdk, shape: Shape) -> None:
    assert sdk.run(shape, [], "after").requests > sdk.run(shape, [], None).requests
