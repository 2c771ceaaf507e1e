from __future__ import annotations

import asyncio
import threading

import pytest

from resay.models.batching import CapacityLimiter

pytestmark = pytest.mark.anyio


async def test_who_asks_first_is_served_first() -> None:
    room, order = CapacityLimiter(10), list[str]()

    async def take(name: str, amount: int) -> None:
        await room.acquire(amount)
        order.append(name)

    await room.acquire(8)
    tasks = [asyncio.create_task(take("large", 6)), asyncio.create_task(take("small", 2))]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert order == []  # the small one would fit, but it does not overtake
    room.release(8)
    await asyncio.gather(*tasks)
    assert order == ["large", "small"]


async def test_more_than_there_is_gets_in_alone() -> None:
    room = CapacityLimiter(10)
    await room.acquire(50)
    waiting = asyncio.create_task(room.acquire(1))
    await asyncio.sleep(0)
    assert not waiting.done()
    room.release(50)
    await waiting


async def test_who_gives_up_leaves_the_space_to_others() -> None:
    room = CapacityLimiter(10)
    await room.acquire(10)
    gone = asyncio.create_task(room.acquire(10))
    next_one = asyncio.create_task(room.acquire(5))
    await asyncio.sleep(0)
    gone.cancel()
    room.release(5)
    await next_one
    with pytest.raises(asyncio.CancelledError):
        await gone


async def test_who_gives_up_after_being_served_gives_it_back() -> None:
    room = CapacityLimiter(10)
    await room.acquire(10)
    task = asyncio.create_task(room.acquire(10))
    await asyncio.sleep(0)
    room.release(10)  # served, but the task has not run since
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(room.acquire(10), 5)


def test_a_waiter_whose_loop_is_gone_holds_nothing() -> None:
    room, waiters = CapacityLimiter(1), list[asyncio.Task[None]]()
    loop = asyncio.new_event_loop()

    async def take_and_leave() -> None:
        await room.acquire(1)
        waiters.append(asyncio.create_task(room.acquire(1)))
        await asyncio.sleep(0)

    loop.run_until_complete(take_and_leave())
    loop.close()  # without an end for its tasks, as one that is stopped from outside
    room.release(1)
    asyncio.run(asyncio.wait_for(room.acquire(1), 5))
    waiters[0]._log_destroy_pending = False  # type: ignore[attr-defined] - meant to be lost


def test_any_thread_may_give() -> None:
    room = CapacityLimiter(1)

    async def main() -> None:
        await room.acquire(1)
        threading.Thread(target=room.release, args=(1,)).start()
        await asyncio.wait_for(room.acquire(1), 5)

    asyncio.run(main())
