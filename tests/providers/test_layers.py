from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from resay import ProviderError, ProviderRefusedError, ProviderTimeoutError, Query
from resay.providers import Completion, Completions, Layer, Limited, Metered, Retrying, TimeLimited
from resay.verdict import Usage

pytestmark = pytest.mark.anyio
QUERY = Query.of("Who?", model="m")


class Scripted:
    def __init__(self, reply: Callable[[int], Completions | Exception]) -> None:
        self.reply = reply
        self.calls = 0

    async def takes_n(self, query: Query) -> bool:
        return True

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        self.calls += 1
        result = self.reply(self.calls)
        if isinstance(result, Exception):
            raise result
        return result


FINE = Completions((Completion("fine"),), Usage(1, 10, 5, 0.25))


async def test_a_layer_passes_everything_on() -> None:
    layer = Layer(Scripted(lambda _: FINE))
    assert await layer.takes_n(QUERY)
    assert await layer.complete(QUERY) == FINE


async def test_the_meter_counts_failed_calls_too() -> None:
    meter = Metered(Scripted(lambda call: ProviderError("x") if call == 1 else FINE))
    with pytest.raises(ProviderError):
        await meter.complete(QUERY)
    await meter.complete(QUERY)
    assert meter.usage == Usage(2, 10, 5, 0.25)


async def test_the_meter_believes_a_provider_that_made_several_calls() -> None:
    several = Completions((Completion("fine"),), Usage(3, 10, 5, None))
    meter = Metered(Scripted(lambda _: several))
    await meter.complete(QUERY)
    assert meter.usage == Usage(3, 10, 5, None)


async def test_what_may_help_is_tried_again() -> None:
    failure = ProviderError("busy", status=429, retry_after_s=0.0, retryable=True)
    provider = Scripted(lambda call: failure if call < 3 else FINE)
    assert await Retrying(provider, 2).complete(QUERY) == FINE
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
        await Retrying(provider, 2).complete(QUERY)
    assert caught.value is error
    assert provider.calls == calls


async def test_retry_after_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(anyio, "sleep", sleep)
    asked = iter([7.0, 9999.0, -1.0])
    provider = Scripted(
        lambda call: (
            ProviderError("busy", retry_after_s=next(asked), retryable=True) if call < 4 else FINE
        )
    )
    await Retrying(provider, 5).complete(QUERY)
    assert waits == [7.0, 60.0, 0.0]


async def test_without_retry_after_the_wait_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(anyio, "sleep", sleep)
    provider = Scripted(lambda call: ProviderError("x", retryable=True) if call < 8 else FINE)
    await Retrying(provider, 9).complete(QUERY)
    assert len(waits) == 7
    assert all(0 <= wait <= 8 for wait in waits)


async def test_no_more_than_the_limit_run_at_once() -> None:
    running, most = 0, 0
    full = anyio.Event()

    class Busy:
        async def takes_n(self, query: Query) -> bool:
            return False

        async def complete(self, query: Query, *, n: int = 1) -> Completions:
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
            tasks.start_soon(limited.complete, QUERY)
    assert most == 3


async def test_what_takes_too_long_is_given_up() -> None:
    class Hanging:
        async def takes_n(self, query: Query) -> bool:
            return False

        async def complete(self, query: Query, *, n: int = 1) -> Completions:
            await anyio.sleep_forever()
            raise AssertionError

    with pytest.raises(ProviderTimeoutError, match=r"0\.01 s"):
        await TimeLimited(Hanging(), 0.01).complete(QUERY)
    assert await TimeLimited(Scripted(lambda _: FINE), 5).complete(QUERY) == FINE
