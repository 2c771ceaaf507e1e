"""The same script with the SDK's client and with ours: identical but for the verdict."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from known_world import WORLD
from openai_shapes import (
    ASYNC_SHAPES,
    SYNC_SHAPES,
    acreate,
    arespond,
    astream,
    create,
    observed,
    respond,
    respond_helper,
    stream,
    stream_helper,
    stream_tools,
)
from resay.testing import (
    CutConnection,
    Fault,
    Hang,
    MalformedJson,
    RateLimited,
    Refused,
    ServerError,
    SimulatedProvider,
)
from resay_openai import GuardedAsyncOpenAI, GuardedOpenAI

# The main call first, so that the provider answers it as it answers the plain client.
POLICY = {
    "chain": [{"method": "ngram"}],
    "sampling": {"max": 2, "start": "after"},
    "stream": "after",
}

pytestmark = pytest.mark.anyio


class Seen:
    """What came of a call: what it gave or raised, and what was asked for it."""

    def __init__(self, outcome: Any, provider: SimulatedProvider) -> None:
        self.outcome = outcome
        # Samples are asked for with `n` or without keeping them, and never as a stream.
        self.asked = [
            (request.path, request.body, request.headers.get("x-stainless-retry-count"))
            for request in provider.requests
            if (request.body or {}).get("n") != 2 and (request.body or {}).get("store", True)
        ]
        self.requests = len(provider.requests)


def raised(error: Exception) -> Any:
    body = getattr(error, "body", None)
    return type(error).__qualname__, getattr(error, "status_code", None), str(error), body


def settings(provider: SimulatedProvider, **further: Any) -> dict[str, Any]:
    return {"base_url": provider.base_url, "api_key": "simulated", **further}


def run(
    shape: Callable[[OpenAI], Any], faults: Iterable[Fault], policy: Any, **kwargs: Any
) -> Seen:
    with SimulatedProvider(seed=3, world=WORLD, faults=faults) as provider:
        given = settings(provider, **kwargs)
        client = OpenAI(**given) if policy is None else GuardedOpenAI(policy=policy, **given)
        with client:
            try:
                outcome = observed(shape(client))
            except Exception as error:
                outcome = raised(error)
        return Seen(outcome, provider)


async def arun(
    shape: Callable[[AsyncOpenAI], Awaitable[Any]],
    faults: Iterable[Fault],
    policy: Any,
    **kwargs: Any,
) -> Seen:
    with SimulatedProvider(seed=3, world=WORLD, faults=faults) as provider:
        given = settings(provider, **kwargs)
        kind: Any = AsyncOpenAI if policy is None else GuardedAsyncOpenAI
        async with kind(**given, **({} if policy is None else {"policy": policy})) as client:
            try:
                outcome = observed(await shape(client))
            except Exception as error:
                outcome = raised(error)
        return Seen(outcome, provider)


def assert_same(ours: Seen, plain: Seen) -> None:
    assert ours.outcome == plain.outcome
    # How large a body is depends on how its JSON is spaced, which nobody compares.
    assert ours.asked == plain.asked


@pytest.mark.parametrize("shape", SYNC_SHAPES, ids=lambda shape: shape.__name__)
def test_a_call(shape: Callable[[OpenAI], Any]) -> None:
    assert_same(run(shape, [], POLICY), run(shape, [], None))


@pytest.mark.parametrize("shape", ASYNC_SHAPES, ids=lambda shape: shape.__name__)
async def test_an_async_call(shape: Callable[[AsyncOpenAI], Awaitable[Any]]) -> None:
    assert_same(await arun(shape, [], POLICY), await arun(shape, [], None))


@pytest.mark.parametrize("mode", ["hold", "buffer"])
@pytest.mark.parametrize("shape", [stream_helper, stream_tools, respond_helper])
def test_what_a_stream_that_is_held_adds_up_to(shape: Callable[[OpenAI], Any], mode: str) -> None:
    ours, plain = run(shape, [], POLICY | {"stream": mode}), run(shape, [], None)
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
    timeout = 10 if not hangs else 0.1 if hangs[0].first is None else 0.4
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
    limits = limits_for(faults)
    assert_same(run(shape, faults, POLICY, **limits), run(shape, faults, None, **limits))


@pytest.mark.parametrize("shape", ATROUBLED, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
async def test_async_trouble(
    faults: list[Fault], shape: Callable[[AsyncOpenAI], Awaitable[Any]]
) -> None:
    limits = limits_for(faults)
    ours = await arun(shape, faults, POLICY, **limits)
    assert_same(ours, await arun(shape, faults, None, **limits))


def test_the_guarded_client_did_ask_for_samples() -> None:
    ours, plain = run(create, [], POLICY), run(create, [], None)
    assert ours.requests > plain.requests


def test_the_sdk_that_is_compared_with() -> None:
    assert 2 <= int(openai.__version__.partition(".")[0]) < 4
