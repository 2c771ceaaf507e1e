from __future__ import annotations

import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager

import anyio
import pytest

from resay import ProviderError, ProviderRefusedError, ProviderTimeoutError, Request, Usage
from resay.adapters.providers import Limited, Metered, Retrying, TimeLimited
from resay.plugins import Chunk, Completion, Completions, Layer, Provider
from resay.providers import WithLogprobs, open_stream

pytestmark = pytest.mark.anyio
REQUEST = Request.of("Who?", model="m")


class Scripted:
    def __init__(self, reply: Callable[[int], Completions | Exception]) -> None:
        self.reply = reply
        self.calls = 0

    async def takes_n(self, request: Request) -> bool:
        return True

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.calls += 1
        result = self.reply(self.calls)
        if isinstance(result, Exception):
            raise result
        return result


FINE = Completions((Completion("fine"),), Usage(1, 10, 5, 0.25))


async def test_a_layer_passes_everything_on() -> None:
    layer = Layer(Scripted(lambda _: FINE))
    assert await layer.takes_n(REQUEST)
    assert await layer.complete(REQUEST) == FINE


async def test_the_meter_counts_failed_calls_too() -> None:
    meter = Metered(Scripted(lambda call: ProviderError("x") if call == 1 else FINE))
    with pytest.raises(ProviderError):
        await meter.complete(REQUEST)
    await meter.complete(REQUEST)
    assert meter.usage == Usage(2, 10, 5, 0.25)


async def test_the_meter_believes_a_provider_that_made_several_calls() -> None:
    several = Completions((Completion("fine"),), Usage(3, 10, 5, None))
    meter = Metered(Scripted(lambda _: several))
    await meter.complete(REQUEST)
    assert meter.usage == Usage(3, 10, 5, None)


async def test_what_may_help_is_tried_again() -> None:
    failure = ProviderError("busy", status=429, retry_after_s=0.0, retryable=True)
    provider = Scripted(lambda call: failure if call < 3 else FINE)
    assert await Retrying(provider, 2).complete(REQUEST) == FINE
    assert provider.calls == 3


@pytest.mark.parametrize(
    ("error", "calls"),
    [
        (ProviderError("busy", retry_after_s=0.0, retryable=True), 3),
        (ProviderRefusedError("bad key", status=401), 1),
        (ProviderTimeoutError("slow"), 1),
        (RuntimeError("a bug"), 1),
    ],
)
async def test_the_last_failure_is_raised_as_it_is(error: Exception, calls: int) -> None:
    provider = Scripted(lambda _: error)
    with pytest.raises(type(error)) as caught:
        await Retrying(provider, 2).complete(REQUEST)
    assert caught.value is error
    assert provider.calls == calls


async def test_retry_after_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(anyio, "sleep", sleep)
    delays = iter([7.0, 240.0, -1.0])
    provider = Scripted(
        lambda call: (
            ProviderError("busy", retry_after_s=next(delays), retryable=True) if call < 4 else FINE
        )
    )
    await Retrying(provider, 5).complete(REQUEST)
    assert waits == [7.0, 60.0, 0.0]


@pytest.mark.parametrize(
    ("retry_after_s", "left_s", "calls"),
    [(120.0, math.inf, 2), (121.0, math.inf, 1), (9.0, 10.0, 2), (11.0, 10.0, 1)],
)
@pytest.mark.parametrize("scoped", [False, True])
async def test_nobody_waits_for_what_cannot_come_in_time(
    monkeypatch: pytest.MonkeyPatch, retry_after_s: float, left_s: float, calls: int, scoped: bool
) -> None:
    async def sleep(seconds: float) -> None:
        assert seconds <= 60

    monkeypatch.setattr(anyio, "sleep", sleep)
    failure = ProviderError("busy", retry_after_s=retry_after_s, retryable=True)
    provider = Scripted(lambda call: failure if call < 2 else FINE)
    deadline = anyio.current_time() + left_s
    retrying = Retrying(provider, 2, deadline=math.inf if scoped else deadline)
    with anyio.CancelScope(deadline=deadline if scoped else math.inf):
        if calls == 1:
            with pytest.raises(ProviderError, match="busy"):
                await retrying.complete(REQUEST)
        else:
            assert await retrying.complete(REQUEST) == FINE
    assert provider.calls == calls


@pytest.mark.usefixtures("backoff")
async def test_without_retry_after_the_wait_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(anyio, "sleep", sleep)
    provider = Scripted(lambda call: ProviderError("x", retryable=True) if call < 8 else FINE)
    await Retrying(provider, 9).complete(REQUEST)
    assert len(waits) == 7
    assert all(0 < wait <= 8 for wait in waits)


async def test_no_more_than_the_limit_run_at_once() -> None:
    running, most = 0, 0
    full = anyio.Event()

    class Busy:
        async def takes_n(self, request: Request) -> bool:
            return False

        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            nonlocal running, most
            running += 1
            most = max(most, running)
            if running == 3:
                full.set()
            await full.wait()
            running -= 1
            return FINE

    limited = Limited(Busy(), anyio.Semaphore(3))
    async with anyio.create_task_group() as tasks:
        for _ in range(9):
            tasks.start_soon(limited.complete, REQUEST)
    assert most == 3


async def test_what_takes_too_long_is_given_up() -> None:
    class Hanging:
        async def takes_n(self, request: Request) -> bool:
            return False

        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            await anyio.sleep_forever()
            raise AssertionError

    with pytest.raises(ProviderTimeoutError, match=r"0\.01 s"):
        await TimeLimited(Hanging(), 0.01).complete(REQUEST)
    assert await TimeLimited(Scripted(lambda _: FINE), 5).complete(REQUEST) == FINE


# Streams

Step = Chunk | Exception | float


async def test_who_is_cancelled_as_a_place_becomes_free_sends_nothing() -> None:
    provider = Scripted(lambda _: FINE)
    slots = anyio.Semaphore(1)
    await slots.acquire()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Limited(provider, slots).complete, REQUEST)
        await anyio.wait_all_tasks_blocked()
        slots.release()
        tasks.cancel_scope.cancel()
    assert provider.calls == 0
    assert slots.value == 1


class Streamed(Scripted):
    """Streams as the test says, by the number of the request.

    A float is a silence of so many seconds, an error is raised. What comes before a None comes on
    entering.
    """

    def __init__(self, *streams: list[Step | None]) -> None:
        super().__init__(lambda _: FINE)
        self.streams = list(streams)
        self.asked: list[Request] = []
        self.open = 0

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        self.asked.append(request)
        steps = self.streams.pop(0)
        cut = steps.index(None) if None in steps else 0
        async for _ in played(steps[:cut]):
            raise AssertionError
        # A provider may open a scope of its own that lasts as long as its stream.
        with anyio.CancelScope():
            async with aclosing(played(steps[cut:])) as chunks:
                self.open += 1
                try:
                    yield chunks
                finally:
                    self.open -= 1


async def played(steps: list[Step | None]) -> AsyncGenerator[Chunk]:
    for step in steps:
        if isinstance(step, Exception):
            raise step
        if isinstance(step, Chunk):
            yield step
        elif step is not None:
            await anyio.sleep(step)


BUSY = ProviderError("busy", retry_after_s=0.0, retryable=True)
YES, END = Chunk("Yes"), Chunk(".", "stop", usage=Usage(1, 10, 5, 0.25))


async def read(provider: Provider, into: list[Chunk] | None = None) -> list[Chunk]:
    got = [] if into is None else into
    async with open_stream(provider, REQUEST) as chunks:
        async for chunk in chunks:
            got.append(chunk)
    return got


@pytest.mark.parametrize(
    "wrap",
    [
        Layer,
        Metered,
        lambda p: Limited(p, anyio.Semaphore(1)),
        lambda p: TimeLimited(p, 60),
        lambda p: Retrying(p, 1),
        lambda p: WithLogprobs(p, 2),
        lambda p: Retrying(TimeLimited(Limited(Metered(p), anyio.Semaphore(1)), 60), 1),
    ],
)
async def test_every_layer_passes_a_stream_on(wrap: Callable[[Provider], Provider]) -> None:
    provider = Streamed([YES, END], [YES, END], [])
    assert await read(wrap(provider)) == [YES, END]
    async with open_stream(wrap(provider), REQUEST) as chunks:
        assert await anext(chunks) == YES
        assert provider.open == 1
    assert provider.open == 0
    assert await read(wrap(provider)) == []


@pytest.mark.parametrize(
    ("steps", "spent"),
    [
        ([YES, END], Usage(1, 10, 5, 0.25)),
        ([YES, Chunk(usage=Usage(3, 10, 5, 0.25))], Usage(3, 10, 5, 0.25)),
        ([YES], Usage(1, 0, 0, None)),
        ([], Usage(1, 0, 0, None)),
        ([YES, BUSY], Usage(1, 0, 0, None)),
        ([BUSY, None], Usage(1, 0, 0, 0.0)),
    ],
)
async def test_the_meter_counts_what_a_stream_tells(steps: list[Step | None], spent: Usage) -> None:
    meter = Metered(Streamed(steps))
    if BUSY in steps:
        with pytest.raises(ProviderError):
            await read(meter)
    else:
        await read(meter)
    assert meter.usage == spent


async def test_a_stream_left_early_has_an_unknown_price() -> None:
    meter = Metered(Streamed([YES, END]))
    async with open_stream(meter, REQUEST) as chunks:
        await anext(chunks)
        assert meter.usage == Usage(1)
    assert meter.usage == Usage(1, 0, 0, None)


@pytest.mark.parametrize("failing", [[BUSY, None], [BUSY]])
async def test_a_stream_that_gave_nothing_is_tried_again(failing: list[Step | None]) -> None:
    provider = Streamed(failing, failing, [YES, END])
    assert await read(Retrying(provider, 2)) == [YES, END]
    assert (len(provider.asked), provider.open) == (3, 0)
    provider = Streamed(failing, failing, [YES, END])
    with pytest.raises(ProviderError) as caught:
        await read(Retrying(provider, 1))
    assert caught.value is BUSY
    assert (len(provider.asked), provider.open) == (2, 0)


async def test_a_stream_that_gave_something_is_not() -> None:
    provider = Streamed([YES, BUSY], [YES, END])
    got: list[Chunk] = []
    with pytest.raises(ProviderError) as caught:
        await read(Retrying(provider, 2), got)
    assert (caught.value, got, len(provider.asked)) == (BUSY, [YES], 1)


async def test_an_error_of_the_reader_is_not_tried_again() -> None:
    provider = Streamed([YES, END], [YES, END])
    for layer in (Retrying(provider, 2), WithLogprobs(provider, 2)):
        provider.streams = [[YES, END], [YES, END]]
        with pytest.raises(ProviderRefusedError):
            async with open_stream(layer, REQUEST):
                raise ProviderRefusedError("the reader's", status=400, retryable=True)
        assert len(provider.streams) == 1


async def test_a_place_is_kept_until_the_stream_is_left() -> None:
    places = anyio.Semaphore(1)
    async with open_stream(Limited(Streamed([YES, END]), places), REQUEST) as chunks:
        assert [chunk async for chunk in chunks] == [YES, END]
        assert places.value == 0
    assert places.value == 1
    with pytest.raises(ProviderError):
        await read(Limited(Streamed([BUSY, None]), places))
    assert places.value == 1


@pytest.mark.parametrize(
    "steps", [[60.0, None, YES], [60.0, YES], [YES, 60.0, END], [YES, END, 60.0]]
)
async def test_a_silent_stream_is_given_up(steps: list[Step | None]) -> None:
    provider, got = Streamed(steps), list[Chunk]()
    with pytest.raises(ProviderTimeoutError, match=r"0\.05 s"):
        await read(TimeLimited(provider, 0.05), got)
    assert got == [step for step in steps[: steps.index(60.0)] if step is not None]
    assert provider.open == 0


async def test_a_reader_can_go_on_after_a_silence() -> None:
    async with open_stream(TimeLimited(Streamed([YES, 60.0]), 0.01), REQUEST) as chunks:
        assert await anext(chunks) == YES
        with pytest.raises(ProviderTimeoutError):
            await anext(chunks)
        await anyio.sleep(0.01)


async def test_a_stream_that_keeps_coming_may_take_longer() -> None:
    provider = Streamed([YES, 0.06, YES, 0.06, YES, 0.06, END])
    assert await read(TimeLimited(provider, 0.15)) == [YES, YES, YES, END]


async def test_a_slow_reader_is_not_a_slow_provider() -> None:
    async with open_stream(TimeLimited(Streamed([YES, END]), 0.02), REQUEST) as chunks:
        await anyio.sleep(0.06)
        assert await anext(chunks) == YES
        await anyio.sleep(0.06)
        assert await anext(chunks) == END


REFUSED = ProviderRefusedError("no", status=400)


@pytest.mark.parametrize("failing", [[REFUSED, None], [REFUSED]])
async def test_refused_probabilities_are_gone_without(failing: list[Step | None]) -> None:
    provider = Streamed(failing, [YES, END])
    assert await read(WithLogprobs(provider, 2)) == [YES, END]
    assert [asked.params for asked in provider.asked] == [
        {"logprobs": True, "top_logprobs": 2},
        {},
    ]


@pytest.mark.parametrize(
    "failing", [[ProviderRefusedError("key", status=401), None], [YES, REFUSED], [BUSY]]
)
async def test_other_failures_of_a_stream_are_raised(failing: list[Step | None]) -> None:
    provider = Streamed(failing, [YES, END])
    with pytest.raises(ProviderError):
        await read(WithLogprobs(provider, 2))
    assert (len(provider.asked), provider.open) == (1, 0)
