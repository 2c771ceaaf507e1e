from __future__ import annotations

import threading

import anyio
import pytest

from resay._internal.event_loops import stop_if_abandoned
from resay.adapters import compute

pytestmark = pytest.mark.anyio


async def test_little_work_is_done_at_once_and_much_elsewhere() -> None:
    here = threading.get_ident()
    assert await compute(threading.get_ident, chars=100) == here
    assert await compute(threading.get_ident, chars=1_000_000) != here
    assert await compute(threading.get_ident) != here


async def test_cancelled_work_ends_and_nobody_waits_for_it() -> None:
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        try:
            while True:
                stop_if_abandoned()
        finally:
            ended.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(compute, work)
        await anyio.to_thread.run_sync(begun.wait)
        tasks.cancel_scope.cancel()
    assert await anyio.to_thread.run_sync(ended.wait, 60)


async def test_what_work_raises_is_raised() -> None:
    def work() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await compute(work)
    stop_if_abandoned()
