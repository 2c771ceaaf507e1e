"""Answers that fail or break off although their response has status 200."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from resay import HallucinationBlocked, ProviderError, UncheckableError
from resay.errors import DeadlineExceededError
from resay_openai import GuardedOpenAI
from simulation import BrokenStream, Hang, SimulatedProvider, Stall
from support.known_world import MADE_UP

pytestmark = pytest.mark.anyio

WORDS = "Overloaded; try again at noon."
JUDGED = {
    "chain": [{"method": "prompt"}],
    "sampling": {"max": 3, "start": "after"},
    "cache": {"store": "none"},
}
POLICIES = {
    "annotate": JUDGED,
    "block": JUDGED | {"action": {"do": "block"}, "on_error": "block"},
    "raise": JUDGED | {"action": {"do": "block", "exit": "raise"}, "on_error": "block"},
}
MODES = pytest.mark.parametrize("mode", ["hold", "after", "buffer"])
every_policy = pytest.mark.parametrize("policy", POLICIES)


def opened(client: Any, api: str) -> Any:
    if api == "responses":
        return client.responses.create(model="simulated", input=MADE_UP, stream=True)
    if api == "completions":
        return client.completions.create(
            model="simulated", prompt=MADE_UP, stream=True, max_tokens=200
        )
    messages = [{"role": "user", "content": MADE_UP}]
    return client.chat.completions.create(model="simulated", messages=messages, stream=True)


@MODES
@every_policy
@pytest.mark.parametrize("api", ["chat", "completions", "responses"])
async def test_the_providers_error_is_the_clients(
    make: Any, done: Any, provider: SimulatedProvider, api: str, policy: str, mode: str
) -> None:
    client = make(POLICIES[policy] | {"stream_mode": mode}, on_verdict=verdicts.append)
    verdicts.clear()
    error: dict[str, Any] = {"error": {"message": WORDS, "code": 503}}
    if api == "responses":
        error = {"type": "error", "message": WORDS, "code": "overloaded", "param": None}
    # Samples that hang: a sentence that is withheld before the stream breaks is no error.
    provider.set_faults(BrokenStream(error=error, first=1), Hang())
    # The SDK raises for the one, and passes on the other.
    if api != "responses":
        with pytest.raises(openai.APIError, match="Overloaded"):
            await done(opened(client, api))
    else:
        events = await done(opened(client, api))
        assert (events[-1].type, events[-1].message) == ("error", WORDS)
        assert "response.incomplete" not in [event.type for event in events]
    assert not verdicts


verdicts: list[Any] = []


@MODES
@every_policy
async def test_a_stream_that_just_ends_is_an_error(
    make: Any, done: Any, provider: SimulatedProvider, policy: str, mode: str
) -> None:
    client = make(POLICIES[policy] | {"stream_mode": mode})
    for api in ("chat", "completions", "responses"):
        provider.set_faults(BrokenStream(first=1), Hang())
        # As either is caught: by Resay's name, or as any error of the SDK.
        with pytest.raises(ProviderError, match="ended the stream before its last") as caught:
            await done(opened(client, api))
        assert isinstance(caught.value, openai.APIConnectionError)
        assert caught.value.request.method == "POST"
        assert caught.value.message == str(caught.value)
        assert caught.value.body is None


async def test_a_stream_that_ends_inside_the_sdks_helper_is_an_error_of_the_sdk(
    provider: SimulatedProvider,
) -> None:
    messages: list[Any] = [{"role": "user", "content": MADE_UP}]
    client = GuardedOpenAI(policy=JUDGED, base_url=provider.base_url, api_key="k")
    provider.set_faults(BrokenStream(first=1))
    with (
        client,
        pytest.raises(openai.OpenAIError) as caught,
        client.chat.completions.stream(model="simulated", messages=messages) as events,
    ):
        events.until_done()
    assert isinstance(caught.value, ProviderError)


@pytest.mark.parametrize("way", [{}, {"stream": True}])
async def test_a_deadline_is_a_timeout_of_the_sdk(
    make: Any, done: Any, provider: SimulatedProvider, way: dict[str, Any]
) -> None:
    provider.set_faults(Hang() if not way else Stall())
    client = make(JUDGED | {"limits": {"deadline_s": 0.2}})
    with pytest.raises(openai.APITimeoutError, match="deadline_s") as caught:
        await done(
            client.chat.completions.create(
                model="simulated", messages=[{"role": "user", "content": MADE_UP}], **way
            )
        )
    assert isinstance(caught.value, DeadlineExceededError)
    assert str(caught.value.request.url).endswith("/chat/completions")
    provider.release()


async def test_a_request_that_the_policy_refuses_is_an_error_of_the_sdk(
    make: Any, done: Any, provider: SimulatedProvider
) -> None:
    client = make(POLICIES["block"] | {"on_uncheckable": "refuse"})
    with pytest.raises(openai.OpenAIError) as caught:
        await done(
            client.responses.create(model="simulated", input=MADE_UP, tools=[{"type": "mcp"}])
        )
    assert isinstance(caught.value, UncheckableError)
    assert caught.value.field == "tools"
    assert not provider.requests


async def test_a_withheld_answer_is_no_error_of_the_sdk(make: Any, done: Any) -> None:
    for mode in ("buffer", "hold"):
        with pytest.raises(HallucinationBlocked) as caught:
            await done(opened(make(POLICIES["raise"] | {"stream_mode": mode}), "chat"))
        assert not isinstance(caught.value, openai.OpenAIError)
