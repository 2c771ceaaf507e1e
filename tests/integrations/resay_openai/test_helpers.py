"""The final objects of the SDK's stream helpers, for answers that are withheld."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import openai
import pytest

from resay_openai import GuardedAsyncOpenAI, GuardedOpenAI, verdict_of
from simulation import SimulatedProvider, Subject, World

pytestmark = pytest.mark.anyio

SAME = "The Garmo bridge opened in 1932. "
LAMPS = [f"It has {number} lamps." for number in (31, 42, 53, 64, 75, 86, 97)]
WHOLE = Subject("Silo tunnel", facts=[LAMPS])
PARTLY = Subject("Garmo bridge", facts=[[SAME], LAMPS])
MESSAGE, REST = "It could not be confirmed.", "The rest could not be confirmed."
# The text that is released before the withheld one.
CASES = [
    ("Silo tunnel", "hold", ""),
    ("Garmo bridge", "hold", SAME.strip()),
    ("Garmo bridge", "buffer", ""),
    ("Silo tunnel", "after", "It has"),
]
Mode = Literal["hold", "buffer", "after"]


@pytest.fixture
def provider() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(world=World([WHOLE, PARTLY])) as provider:
        yield provider


def settings(provider: SimulatedProvider, mode: Mode) -> dict[str, Any]:
    policy = {
        "chain": ["facts"],
        "sampling": {"min": 3, "max": 3},
        "action": {"do": "block", "message": MESSAGE, "partial_message": REST},
        "stream_mode": mode,
        "cache": {"store": "none"},
    }
    return {"policy": policy, "base_url": provider.base_url, "api_key": "x"}


def check(text: str | None, answer: Any, released: str, mode: Mode) -> None:
    assert text is not None
    assert text.startswith(released)
    assert text.endswith(REST if released and mode == "hold" else MESSAGE)
    verdict = verdict_of(answer)
    assert verdict is not None
    assert verdict.flagged


@pytest.mark.parametrize(("subject", "mode", "released"), CASES)
@pytest.mark.parametrize("iterates", [False, True])
def test_a_withheld_response_is_the_final_one(
    provider: SimulatedProvider, subject: str, mode: Mode, released: str, iterates: bool
) -> None:
    client = GuardedOpenAI(**settings(provider, mode))
    with client.responses.stream(
        model="simulated", input=f"Tell me about the {subject}."
    ) as events:
        if iterates:
            assert [event.type for event in events][-1] == "response.incomplete"
        response = events.get_final_response()
    assert response.status == "incomplete"
    assert response.output_parsed is None
    check(response.output_text, response, released, mode)


@pytest.mark.parametrize(("subject", "mode", "released"), CASES)
async def test_a_withheld_response_is_the_final_one_asynchronously(
    provider: SimulatedProvider, subject: str, mode: Mode, released: str
) -> None:
    async with GuardedAsyncOpenAI(**settings(provider, mode)) as client:
        request: Any = {"model": "simulated", "input": f"Tell me about the {subject}."}
        async with client.responses.stream(**request) as events:
            response = await events.get_final_response()
    assert response.status == "incomplete"
    check(response.output_text, response, released, mode)


@pytest.mark.parametrize(("subject", "mode", "released"), CASES)
def test_a_withheld_completion_is_the_final_one(
    provider: SimulatedProvider, subject: str, mode: Mode, released: str
) -> None:
    client = GuardedOpenAI(**settings(provider, mode))
    messages: Any = [{"role": "user", "content": f"Tell me about the {subject}."}]
    with client.chat.completions.stream(model="simulated", messages=messages) as events:
        completion = events.get_final_completion()
    (choice,) = completion.choices
    assert choice.finish_reason == "content_filter"
    check(choice.message.content, completion, released, mode)
    assert verdict_of(choice) == verdict_of(completion)


@pytest.mark.parametrize(("subject", "mode", "released"), CASES)
async def test_a_withheld_completion_is_the_final_one_asynchronously(
    provider: SimulatedProvider, subject: str, mode: Mode, released: str
) -> None:
    messages: Any = [{"role": "user", "content": f"Tell me about the {subject}."}]
    async with (
        GuardedAsyncOpenAI(**settings(provider, mode)) as client,
        client.chat.completions.stream(model="simulated", messages=messages) as events,
    ):
        completion = await events.get_final_completion()
    check(completion.choices[0].message.content, completion, released, mode)


def test_what_the_provider_cuts_off_is_an_error_as_ever(provider: SimulatedProvider) -> None:
    client = GuardedOpenAI(**settings(provider, "hold"))
    messages: Any = [{"role": "user", "content": "Tell me about the Garmo bridge."}]
    request: Any = {"model": "simulated", "messages": messages, "max_tokens": 3}
    manager = client.chat.completions.stream(**request)
    with manager as events, pytest.raises(openai.LengthFinishReasonError):
        events.get_final_completion()
