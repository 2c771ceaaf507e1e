"""What is loaded once, whoever asks for it."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from resay.models.batching import LoadedOnce, thread


def test_many_who_ask_at_once_get_the_same() -> None:
    started = threading.Barrier(4)
    names: list[str] = []

    def load() -> object:
        names.append(threading.current_thread().name)
        return object()

    loaded = LoadedOnce(load)

    def ask() -> object:
        started.wait()
        return asyncio.run(loaded.get())

    with ThreadPoolExecutor(4) as threads:
        results = [future.result() for future in [threads.submit(ask) for _ in range(4)]]
    assert len(set(map(id, results))) == 1
    assert len(names) == 1
    assert names[0].startswith("resay-load")


def test_what_failed_is_tried_again() -> None:
    outcomes = iter([OSError("not there yet"), OSError("still not"), "here"])

    def load() -> str:
        outcome = next(outcomes)
        if isinstance(outcome, OSError):
            raise outcome
        return outcome

    loaded = LoadedOnce(load)
    for message in ("not there yet", "still not"):
        with pytest.raises(OSError, match=message):
            asyncio.run(loaded.get())
    assert [asyncio.run(loaded.get()) for _ in range(2)] == ["here", "here"]


def test_who_stops_waiting_takes_nothing_from_the_others() -> None:
    go = threading.Event()
    loaded = LoadedOnce(lambda: go.wait(30))

    async def both() -> bool:
        first, second = asyncio.create_task(loaded.get()), asyncio.create_task(loaded.get())
        await asyncio.sleep(0)
        first.cancel()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await first
        return await second

    assert asyncio.run(both())


def test_there_is_one_thread_for_each_kind_of_work() -> None:
    assert thread("cpu") is thread("cpu")
    assert thread("cpu") is not thread("load")
