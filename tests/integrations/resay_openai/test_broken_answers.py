"""Answers that fail or break off although their response has status 200."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from resay import ProviderError
from simulation import BrokenStream, SimulatedProvider
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
    client = make(POLICIES[policy] | {"stream": mode}, on_verdict=verdicts.append)
    verdicts.clear()
    error: dict[str, Any] = {"error": {"message": WORDS, "code": 503}}
    if api == "responses":
        error = {"type": "error", "message": WORDS, "code": "overloaded", "param": None}
    provider.set_faults(BrokenStream(error=error, first=1))
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
    client = make(POLICIES[policy] | {"stream": mode})
    provider.set_faults(BrokenStream(first=1))
    with pytest.raises(ProviderError, match="ended the stream before its last event"):
        await done(opened(client, "chat"))
