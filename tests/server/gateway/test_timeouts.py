from __future__ import annotations

import asyncio

import anyio
import pytest

from resay_server.gateway.timeouts import within

pytestmark = pytest.mark.anyio


async def test_work_that_need_not_wait_is_done_even_without_any_time() -> None:
    async def work() -> str:
        return "done"

    assert await within(0, work()) == "done"


async def test_work_that_waits_has_its_time() -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        await asyncio.sleep(0.001)
        return "done"

    assert await within(60, work()) == "done"


async def test_work_that_takes_longer_is_cancelled() -> None:
    ended: list[type[BaseException]] = []

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        except BaseException as error:
            ended.append(type(error))
            raise

    with pytest.raises(TimeoutError):
        await within(0.01, work())
    assert ended == [asyncio.CancelledError]


async def test_errors_pass_before_and_after_it_waits() -> None:
    async def work(*, waits: bool) -> None:
        if waits:
            await asyncio.sleep(0)
        raise LookupError

    for waits in (False, True):
        with pytest.raises(LookupError):
            await within(60, work(waits=waits))


async def test_work_may_handle_the_error_of_what_it_waits_for() -> None:
    async def work() -> str:
        failing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(failing.set_exception, LookupError())
        try:
            await failing
        except LookupError:
            await asyncio.sleep(0)
        return "done"

    assert await within(60, work()) == "done"


async def test_the_caller_s_own_cancellation_is_no_timeout() -> None:
    with anyio.move_on_after(0.01) as scope:
        await within(60, asyncio.sleep(60))
    assert scope.cancelled_caught
