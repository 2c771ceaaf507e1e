from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from resay import ProviderError, ProviderRefusedError, ProviderTimeoutError, Request, Usage
from resay.adapters.providers import Limited, LiteLLMProvider, Metered, Retrying, TimeLimited
from resay.plugins import Chunk, Completion, Provider
from resay.providers import Gathered, WithLogprobs, open_stream
from simulation import (
    CutConnection,
    EmptyAnswer,
    Hang,
    IgnoreStreamOptions,
    MalformedJson,
    RateLimited,
    Refused,
    RefusedLogprobs,
    RefusedStreamOptions,
    ServerError,
    SimulatedProvider,
    Stall,
)
from simulation.server import Exchange, HandlerServer
from support.litellm_queries import query

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("litellm")]

TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]


async def read(provider: Provider, request: Request, gathered: Gathered) -> None:
    async with open_stream(provider, request) as chunks:
        async for chunk in chunks:
            gathered.add(chunk)


async def gather(provider: Provider, request: Request) -> Gathered:
    gathered = Gathered()
    await read(provider, request, gathered)
    return gathered


async def gone(simulated: SimulatedProvider) -> bool:
    """Whether the last request ended because the client left, and took its connection along."""
    await anyio.to_thread.run_sync(simulated.wait_idle)
    await anyio.to_thread.run_sync(simulated.wait_closed)
    return simulated.requests[-1].disconnected


# litellm


@pytest.mark.parametrize("model", ["openai/simulated", "openai/gpt-4.1-mini", "hosted_vllm/m"])
async def test_a_stream_is_what_complete_gives(simulated: SimulatedProvider, model: str) -> None:
    request = query(simulated, model, temperature=0, logprobs=True, top_logprobs=2)
    whole = await LiteLLMProvider().complete(request)
    gathered = await gather(LiteLLMProvider(), request)
    assert gathered.completion == whole.first
    assert gathered.completion.logprobs
    assert gathered.usage == whole.usage
    assert (gathered.usage.cost_usd is None) == (model != "openai/gpt-4.1-mini")
    assert [request.stream for request in simulated.requests] == [False, True]


async def test_the_text_comes_in_pieces(simulated: SimulatedProvider) -> None:
    async with open_stream(LiteLLMProvider(), query(simulated)) as chunks:
        got = [chunk async for chunk in chunks]
    assert sum(bool(chunk.text) for chunk in got) > 10
    assert [chunk.finish_reason for chunk in got if chunk.finish_reason] == ["stop"]
    assert [chunk.usage is None for chunk in got] == [True] * (len(got) - 1) + [False]
    assert all(chunk.raw is not None for chunk in got)


async def test_the_first_piece_does_not_wait_for_the_last(simulated: SimulatedProvider) -> None:
    simulated.set_faults(Stall())
    gathered = Gathered()
    async with open_stream(LiteLLMProvider(), query(simulated)) as chunks:
        async for chunk in chunks:
            gathered.add(chunk)
            if gathered.text and simulated.in_flight:
                simulated.release()
    assert gathered.completion.finish_reason == "stop"
    assert not simulated.requests[0].disconnected


async def test_an_empty_answer_has_an_end(simulated: SimulatedProvider) -> None:
    simulated.set_faults(EmptyAnswer())
    gathered = await gather(LiteLLMProvider(), query(simulated))
    assert gathered.completion == Completion("", "stop")


async def test_of_several_choices_the_first_is_read(simulated: SimulatedProvider) -> None:
    with SimulatedProvider(seed=7) as same:
        whole = await LiteLLMProvider().complete(query(same, n=2))
    gathered = await gather(LiteLLMProvider(), query(simulated, n=2))
    assert gathered.text == whole.first.text
    assert gathered.usage == whole.usage


async def test_a_tool_call_has_no_text(simulated: SimulatedProvider) -> None:
    request = Request.of(
        "[[tool]] Rain?", model="openai/m", params={"tools": TOOLS, **simulated.params}
    )
    gathered = await gather(LiteLLMProvider(), request)
    assert (gathered.text, gathered.completion.finish_reason) == ("", "tool_calls")
    # The name comes with the first piece of the call only.
    assert [call.name for call in gathered.completion.calls] == ["weather"]


@pytest.mark.parametrize("status", [400, 422])
async def test_who_refuses_to_count_is_asked_without(
    simulated: SimulatedProvider, status: int
) -> None:
    simulated.set_faults(RefusedStreamOptions(status=status))
    gathered = await gather(LiteLLMProvider(), query(simulated))
    assert gathered.completion.finish_reason == "stop"
    assert gathered.usage == Usage(calls=2, cost_usd=None)
    bodies = [request.body or {} for request in simulated.requests]
    assert [body.get("stream_options") for body in bodies] == [{"include_usage": True}, None]


async def test_what_litellm_guesses_is_not_what_the_provider_counts(
    simulated: SimulatedProvider,
) -> None:
    simulated.set_faults(IgnoreStreamOptions())
    gathered = await gather(LiteLLMProvider(), query(simulated))
    assert (bool(gathered.text), gathered.usage, simulated.calls) == (True, None, 1)


async def test_the_callers_stream_options_are_the_callers(simulated: SimulatedProvider) -> None:
    request = query(simulated, stream_options={"include_usage": False})
    assert (await gather(LiteLLMProvider(), request)).usage is None
    simulated.set_faults(RefusedStreamOptions())
    with pytest.raises(ProviderRefusedError):
        await gather(LiteLLMProvider(), request)
    assert simulated.calls == 2


@pytest.mark.parametrize(
    ("fault", "kind", "calls"),
    [
        (Refused(status=401), ProviderRefusedError, 1),
        (Refused(status=400), ProviderRefusedError, 2),
        (RateLimited(retry_after_s=7), ProviderError, 1),
        (ServerError(), ProviderError, 1),
    ],
)
async def test_a_stream_that_never_begins(
    simulated: SimulatedProvider, fault: Any, kind: type[ProviderError], calls: int
) -> None:
    simulated.set_faults(fault)
    with pytest.raises(kind) as caught:
        async with open_stream(LiteLLMProvider(), query(simulated, api_key="sk-secret")):
            raise AssertionError
    assert caught.value.retryable is (kind is ProviderError)
    assert caught.value.retry_after_s == (7 if isinstance(fault, RateLimited) else None)
    assert "Curie" not in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    assert simulated.calls == calls


async def test_without_a_model_nothing_is_sent() -> None:
    with pytest.raises(ProviderRefusedError, match="no model"):
        await gather(LiteLLMProvider(), Request.of("Who?"))


@pytest.mark.parametrize("fault", [CutConnection(), MalformedJson()])
async def test_a_stream_that_breaks(simulated: SimulatedProvider, fault: Any) -> None:
    simulated.set_faults(fault)
    gathered = Gathered()
    with pytest.raises(ProviderError, match="failed with APIConnectionError") as caught:
        await read(LiteLLMProvider(), query(simulated), gathered)
    assert gathered.text
    assert caught.value.retryable
    assert "Curie" not in str(caught.value)
    assert not isinstance(caught.value, ProviderTimeoutError)


@pytest.mark.parametrize("fault", [Hang(), Stall()])
async def test_a_stream_that_falls_silent(simulated: SimulatedProvider, fault: Any) -> None:
    simulated.set_faults(fault)
    with pytest.raises(ProviderTimeoutError) as caught:
        await gather(LiteLLMProvider(timeout_s=0.2), query(simulated))
    assert "Curie" not in str(caught.value)
    assert await gone(simulated)


# Leaving


def stacked(limiter: Any) -> Provider:
    """All layers at once, as a check stacks them."""
    provider = TimeLimited(Metered(LiteLLMProvider()), 60)
    return WithLogprobs(Retrying(Limited(provider, limiter), 2), 2)


@pytest.mark.parametrize("layered", [False, True])
async def test_leaving_early_closes_the_connection(
    simulated: SimulatedProvider, layered: bool
) -> None:
    simulated.set_faults(Stall())
    places = anyio.Semaphore(1)
    provider = stacked(places) if layered else LiteLLMProvider()
    async with open_stream(provider, query(simulated)) as chunks:
        await anext(chunks)
        assert (simulated.in_flight, simulated.open_connections) == (1, 1)
        assert places.value == (0 if layered else 1)
    assert await gone(simulated)
    assert (simulated.open_connections, places.value) == (0, 1)


async def test_an_error_of_the_reader_closes_the_connection(simulated: SimulatedProvider) -> None:
    class Broken(Gathered):
        def add(self, chunk: Chunk) -> None:
            raise RuntimeError("a bug")

    simulated.set_faults(Stall())
    with pytest.raises(RuntimeError, match="a bug"):
        await read(stacked(anyio.Semaphore(1)), query(simulated), Broken())
    assert await gone(simulated)


@pytest.mark.parametrize("layered", [False, True])
@pytest.mark.parametrize("fault", [Hang(), Stall()])
async def test_cancelling_leaves_nothing_behind(
    simulated: SimulatedProvider, layered: bool, fault: Any
) -> None:
    simulated.set_faults(fault)
    places = anyio.Semaphore(1)
    provider = stacked(places) if layered else LiteLLMProvider()
    began = anyio.Event()

    class Told(Gathered):
        def add(self, chunk: Chunk) -> None:
            began.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read, provider, query(simulated), Told())
        await anyio.to_thread.run_sync(simulated.wait_calls, 1)
        if isinstance(fault, Stall):
            await began.wait()
        tasks.cancel_scope.cancel()
    assert await gone(simulated)
    assert (simulated.open_connections, places.value) == (0, 1)
    assert began.is_set() is isinstance(fault, Stall)


async def test_a_stream_read_to_its_end_is_no_stream_left(simulated: SimulatedProvider) -> None:
    await gather(LiteLLMProvider(), query(simulated))
    await gather(LiteLLMProvider(), query(simulated))
    assert simulated.open_connections <= 1
    assert not any(request.disconnected for request in simulated.requests)


# Layers over real streams


async def test_all_layers_together_change_nothing(simulated: SimulatedProvider) -> None:
    request = query(simulated, temperature=0)
    whole = await LiteLLMProvider().complete(request)
    simulated.set_faults(ServerError(first=1), RefusedLogprobs())
    gathered = await gather(stacked(anyio.Semaphore(1)), request)
    assert gathered.completion == whole.first
    assert simulated.calls == 5


async def test_refused_probabilities_cost_the_probabilities_only(
    simulated: SimulatedProvider,
) -> None:
    gathered = await gather(WithLogprobs(LiteLLMProvider(), 2), query(simulated))
    assert [len(token.top) for token in gathered.completion.logprobs[:1]] == [2]
    simulated.set_faults(RefusedLogprobs(status=403))
    gathered = await gather(WithLogprobs(LiteLLMProvider(), 2), query(simulated))
    assert (gathered.completion.logprobs, bool(gathered.text)) == ((), True)


async def test_a_refusal_of_something_else_stays_one(simulated: SimulatedProvider) -> None:
    simulated.set_faults(Refused(status=401))
    with pytest.raises(ProviderRefusedError):
        await gather(WithLogprobs(LiteLLMProvider(), 2), query(simulated))
    assert simulated.calls == 1


async def test_the_meter_counts_a_real_stream(simulated: SimulatedProvider) -> None:
    meter = Metered(LiteLLMProvider())
    gathered = await gather(meter, query(simulated, "openai/gpt-4.1-mini"))
    assert meter.usage == gathered.usage
    assert meter.usage.tokens == simulated.prompt_tokens + simulated.completion_tokens > 0


async def stream_of(words: Sequence[str]) -> Gathered:
    """Stream words from a server that then closes without a reason to stop."""

    async def handle(exchange: Exchange) -> None:
        await exchange.start(200, "text/event-stream")
        for word in words:
            choice = {"index": 0, "delta": {"content": word}, "finish_reason": None}
            data = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
            event = json.dumps({**data, "choices": [choice]})
            await exchange.send(f"data: {event}\n\n".encode(), last=False)
        await exchange.send(b"", last=True)

    server = HandlerServer(handle)
    server.start()
    try:
        params = {"api_base": f"http://127.0.0.1:{server.port}/v1", "api_key": "sk-x"}
        request = Request.of("How many?", model="openai/m", params=params)
        return await gather(LiteLLMProvider(), request)
    finally:
        server.stop()


async def test_a_stream_that_ends_without_a_reason_is_not_whole() -> None:
    gathered = await stream_of(["It has ", "6 "])
    assert gathered.text == "It has 6 "
    assert gathered.completion.was_cut


async def test_a_stream_without_an_answer_is_an_error() -> None:
    with pytest.raises(ProviderError, match="streamed no answer"):
        await stream_of([])
