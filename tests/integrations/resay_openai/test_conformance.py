"""The same script with the SDK's client and with ours: identical but for the verdict."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from resay_openai import GuardedAsyncOpenAI, GuardedOpenAI
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
from support.conformance import POLICY, Sdk
from support.openai_shapes import (
    ASYNC_SHAPES,
    SYNC_SHAPES,
    acreate,
    arespond,
    astream,
    create,
    respond,
    respond_helper,
    stream,
    stream_helper,
    stream_tools,
)

pytestmark = pytest.mark.anyio


def arguments(provider: SimulatedProvider, settings: dict[str, Any]) -> dict[str, Any]:
    return {"base_url": provider.base_url, "api_key": "simulated", **settings}


def opened(provider: SimulatedProvider, policy: Any, **settings: Any) -> OpenAI:
    given = arguments(provider, settings)
    return OpenAI(**given) if policy is None else GuardedOpenAI(policy=policy, **given)


def opened_async(provider: SimulatedProvider, policy: Any, **settings: Any) -> AsyncOpenAI:
    given = arguments(provider, settings)
    return AsyncOpenAI(**given) if policy is None else GuardedAsyncOpenAI(policy=policy, **given)


def is_main(request: RequestRecord) -> bool:
    # Samples are asked for with `n` or without keeping them, and never as a stream.
    body = request.body or {}
    return body.get("n") != 2 and body.get("store", True)


SDK = Sdk(
    opened,
    opened_async,
    is_main,
    new=("id", "created", "created_at", "completed_at", "item_id", "_request_id", "hallucination"),
    repeats_messages=True,
)


@pytest.mark.parametrize("shape", SYNC_SHAPES, ids=lambda shape: shape.__name__)
def test_a_call(shape: Callable[[OpenAI], Any]) -> None:
    assert SDK.run(shape, [], POLICY) == SDK.run(shape, [], None)


@pytest.mark.parametrize("shape", ASYNC_SHAPES, ids=lambda shape: shape.__name__)
async def test_an_async_call(shape: Callable[[AsyncOpenAI], Awaitable[Any]]) -> None:
    assert await SDK.arun(shape, [], POLICY) == await SDK.arun(shape, [], None)


@pytest.mark.parametrize("mode", ["hold", "buffer"])
@pytest.mark.parametrize("shape", [stream_helper, stream_tools, respond_helper])
def test_what_a_stream_that_is_held_adds_up_to(shape: Callable[[OpenAI], Any], mode: str) -> None:
    ours, plain = SDK.run(shape, [], POLICY | {"stream_mode": mode}), SDK.run(shape, [], None)
    assert ours.outcome[-1] == plain.outcome[-1]
    assert ours.asked == plain.asked


FAULTS = {
    "rate limited, then not": [RateLimited(first=1, retry_after_s=0.01)],
    "rate limited": [RateLimited(retry_after_s=0.01)],
    "broken, then not": [ServerError(first=1)],
    "refused": [Refused(status=401)],
    "too slow, then not": [Hang(first=1)],
    "too slow": [Hang()],
    "cut off": [CutConnection(first=1)],
    "no JSON": [MalformedJson(first=1)],
}


def limits_for(faults: list[Fault]) -> dict[str, Any]:
    hangs = [fault for fault in faults if isinstance(fault, Hang)]
    # What hangs for ever may time out soon; what answers at last must not.
    timeout = 10 if not hangs else 0.5 if hangs[0].first is None else 1
    return {"timeout": timeout, "max_retries": 1}


TROUBLED = [create, stream, respond]
ATROUBLED = [acreate, astream, arespond]


@pytest.fixture(autouse=True)
def no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    # Between two tries the SDK waits for half a second and more, which proves nothing here.
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.001)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.001)


@pytest.mark.parametrize("shape", TROUBLED, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
def test_trouble(faults: list[Fault], shape: Callable[[OpenAI], Any]) -> None:
    ours, plain = SDK.both(shape, faults, POLICY, **limits_for(faults))
    assert ours == plain


@pytest.mark.parametrize("shape", ATROUBLED, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
async def test_async_trouble(
    faults: list[Fault], shape: Callable[[AsyncOpenAI], Awaitable[Any]]
) -> None:
    ours, plain = await SDK.aboth(shape, faults, POLICY, **limits_for(faults))
    assert ours == plain


def test_the_guarded_client_did_ask_for_samples() -> None:
    ours, plain = SDK.run(create, [], POLICY), SDK.run(create, [], None)
    assert ours.requests > plain.requests


def test_the_sdk_that_is_compared_with() -> None:
    assert 2 <= int(openai.__version__.partition(".")[0]) < 4
