"""What becomes of streams."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import anthropic
import anyio.to_thread
import pytest
from anthropic import Anthropic, AsyncAnthropic
from pydantic import BaseModel

from resay import HallucinationBlocked
from resay.errors import ConfigurationError, ProviderError
from resay_anthropic import guard_client, verdict_of
from simulation import BrokenStream, Hang, SimulatedProvider
from support.known_world import KNOWN, MADE_UP

pytestmark = pytest.mark.anyio

MESSAGE = "I do not know."
MODES = ["after", "hold", "buffer"]
Guarded = Callable[[Any], Any]


def policy(mode: str = "after", **action: Any) -> dict[str, Any]:
    sampling = {"max": 2}
    # Scores its sentences one by one, as `hold` needs it.
    chain = [{"method": "prompt"}]
    return {
        "chain": chain,
        "sampling": sampling,
        "stream_mode": mode,
        "action": action or {"do": "annotate"},
    }


def asked(question: Any = KNOWN, **further: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": question}]
    return {"model": "simulated", "max_tokens": 300, "messages": messages, **further}


def text_in(events: list[Any]) -> str:
    deltas = [event.delta for event in events if event.type == "content_block_delta"]
    return "".join(delta.text for delta in deltas if delta.type == "text_delta")


def closing(events: list[Any]) -> Any:
    (event,) = (event for event in events if event.type == "message_delta")
    return event


@pytest.mark.parametrize("mode", MODES)
async def test_a_stream_ends_with_its_verdict(guarded: Guarded, mode: str) -> None:
    stream, events = await guarded(policy(mode)).stream(**asked())
    verdict: Any = verdict_of(closing(events))
    assert verdict.decision == "consistent"
    assert verdict_of(stream) == verdict
    assert "".join(s.text for s in verdict.sentences) == text_in(events).replace(". ", ".")
    assert closing(events).delta.stop_reason == "end_turn"
    assert (events[0].type, events[-1].type) == ("message_start", "message_stop")


@pytest.mark.parametrize("mode", MODES)
async def test_a_flagged_stream_is_refused(guarded: Guarded, mode: str) -> None:
    client = guarded(policy(mode, do="block", message=MESSAGE))
    _, events = await client.stream(**asked(MADE_UP))
    assert closing(events).delta.stop_reason == "refusal"
    assert text_in(events).endswith(MESSAGE)
    assert ("Zorblatt" in text_in(events)) == (mode == "after")
    assert verdict_of(closing(events)).flagged


@pytest.mark.parametrize("mode", MODES)
async def test_a_flagged_stream_is_an_exception(guarded: Guarded, line: Any, mode: str) -> None:
    with pytest.raises(HallucinationBlocked):
        await guarded(policy(mode, do="block", exit="raise")).stream(**asked(MADE_UP))
    assert line.sent == 1


@pytest.mark.parametrize("mode", MODES)
def test_the_helper_works_as_ever(sync_client: Anthropic, mode: str) -> None:
    client = guard_client(sync_client, policy(mode))
    with client.messages.stream(**asked()) as stream:
        assert verdict_of(stream) is None
        text = "".join(stream.text_stream)
    message: Any = stream.get_final_message()
    assert text == message.content[0].text
    assert message.stop_reason == "end_turn"
    assert verdict_of(stream).decision == "consistent"


@pytest.mark.parametrize("mode", MODES)
async def test_the_async_helper_works_as_ever(async_client: AsyncAnthropic, mode: str) -> None:
    client = guard_client(async_client, policy(mode, do="block", message=MESSAGE))
    async with client.messages.stream(**asked(MADE_UP)) as stream:
        text = "".join([piece async for piece in stream.text_stream])
        message: Any = await stream.get_final_message()
    assert text.endswith(MESSAGE)
    assert "".join(block.text for block in message.content) == text
    assert message.stop_reason == "refusal"
    assert verdict_of(stream).flagged


async def test_calls_of_tools_are_streamed(guarded: Guarded, line: Any) -> None:
    tool: Any = {"name": "look_up", "description": "Look up.", "input_schema": {"type": "object"}}
    _, events = await guarded(policy("hold")).stream(**asked(f"{KNOWN} [[tool]]"), tools=[tool])
    assert closing(events).delta.stop_reason == "tool_use"
    assert verdict_of(closing(events)).decision == "skipped"
    assert line.samples == []


class Founding(BaseModel):
    name: str
    year: int


@pytest.mark.parametrize("mode", MODES)
def test_an_object_has_no_place_for_a_message(sync_client: Anthropic, mode: str) -> None:
    strict = {"threshold": {"passage": 0.01, "sentence": 0.01}}
    client = guard_client(sync_client, {**policy(mode, do="block", message=MESSAGE), **strict})
    manager = client.messages.stream(**asked(MADE_UP), output_format=Founding)
    with manager as stream, pytest.raises(HallucinationBlocked):
        stream.until_done()


@pytest.mark.parametrize("mode", MODES)
async def test_an_object_comes_with_its_verdict(async_client: AsyncAnthropic, mode: str) -> None:
    client = guard_client(async_client, policy(mode))
    async with client.messages.stream(**asked(), output_format=Founding) as stream:
        message = await stream.get_final_message()
    assert isinstance(message.parsed_output, Founding)
    assert verdict_of(stream).structured


def test_a_raw_stream_has_it_too(sync_client: Anthropic) -> None:
    client = guard_client(sync_client, policy())
    raw: Any = client.messages.with_raw_response.create(**asked(), stream=True)
    assert verdict_of(closing(list(raw.parse()))) is not None
    assert verdict_of(raw) is not None


async def test_a_stream_that_is_left_leaves_nothing(
    async_client: AsyncAnthropic, provider: SimulatedProvider
) -> None:
    provider.set_faults(Hang(after=1))
    client = guard_client(async_client, policy())
    before = asyncio.all_tasks()
    async with await client.messages.create(**asked(), stream=True) as events:
        await events.__anext__()
        await anyio.to_thread.run_sync(provider.wait_calls, 3)
    await anyio.to_thread.run_sync(provider.wait_idle)
    assert asyncio.all_tasks() == before


def test_a_blocking_stream_may_be_left(sync_client: Anthropic, provider: SimulatedProvider) -> None:
    client = guard_client(sync_client, policy())
    with client.messages.create(**asked(), stream=True) as events:
        next(events)
    provider.wait_idle()


class Amazon(anthropic.Middleware):
    """Says what the streams of Amazon's API say."""

    def handle(self, request: Any, call_next: Any) -> Any:
        response = call_next(request)
        response.http_response.headers["content-type"] = "application/vnd.amazon.eventstream"
        return response

    async def handle_async(self, request: Any, call_next: Any) -> Any:
        response = await call_next(request)
        response.http_response.headers["content-type"] = "application/vnd.amazon.eventstream"
        return response


@pytest.fixture
def clients(
    sync_client: Anthropic, async_client: AsyncAnthropic
) -> tuple[Anthropic, AsyncAnthropic]:
    return sync_client.with_middleware(Amazon()), async_client.with_middleware(Amazon())


async def test_a_stream_in_another_format_is_not_passed_off_as_checked(
    clients: tuple[Anthropic, AsyncAnthropic], provider: SimulatedProvider
) -> None:
    sync, other = clients
    with pytest.raises(ConfigurationError, match="Amazon"):
        guard_client(sync, policy()).messages.create(**asked(), stream=True)
    with pytest.raises(ConfigurationError, match="Amazon"):
        await guard_client(other, policy()).messages.create(**asked(), stream=True)
    await anyio.to_thread.run_sync(provider.wait_idle)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("action", ["annotate", "block"])
async def test_the_providers_error_is_the_clients(
    guarded: Guarded, provider: SimulatedProvider, mode: str, action: str
) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Try later."}}
    provider.set_faults(BrokenStream(error=error, name="error", first=1))
    strict = {"on_error": "block"} if action == "block" else {}
    client = guarded({**policy(mode, do=action), **strict})
    with pytest.raises(anthropic.APIStatusError, match="Try later"):
        # An answer in doubt may be withheld before the stream breaks.
        await client.stream(**asked())


@pytest.mark.parametrize("mode", MODES)
async def test_a_stream_that_just_ends_is_an_error(
    guarded: Guarded, provider: SimulatedProvider, mode: str
) -> None:
    provider.set_faults(BrokenStream(first=1))
    with pytest.raises(ProviderError, match="ended the stream before its last event") as caught:
        await guarded(policy(mode, do="block")).stream(**asked())
    assert isinstance(caught.value, anthropic.APIConnectionError)
    assert caught.value.request.method == "POST"
    assert caught.value.message == str(caught.value)
