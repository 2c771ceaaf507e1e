"""The guard's work on a call, which goes on while the SDK tries again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

import anyio

from resay.adapters import Relay, Upstream
from resay.providers.apis import Body, Request

__all__ = ["Call", "Calls"]

T = TypeVar("T")

_CLOSING_S = 5.0


class Call:
    """One call, however often it is sent. It lives on the event loop that it was made on.

    The SDK runs its middleware once for each attempt. Samples are asked for with the first of them,
    and belong to the call.

    Args:
        relay: Who guards.
        asked: What is asked.
        upstream: How the client is asked beside it.
    """

    def __init__(self, relay: Relay, asked: Request, upstream: Upstream) -> None:
        self.asked = asked
        loop = asyncio.get_running_loop()
        self._response: asyncio.Future[Body] = loop.create_future()
        self._work = loop.create_task(relay.aanswer(asked, self._main, upstream))
        self._work.add_done_callback(_retrieved)
        self._wait_no_more: Callable[[], None] | None = None

    async def _main(self, body: Body) -> Body:
        del body
        # What cancels the waiting, a deadline say, must not cancel what is waited for.
        return await asyncio.shield(self._response)

    async def during(self, send: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Send an attempt.

        Returns:
            What came back, which may be a failure.

        Raises:
            DeadlineExceededError: Nothing came within `limits.deadline_s`.
            Exception: What `send` raises.
        """
        if self._work.done():
            self._work.result()
        attempt = asyncio.ensure_future(send())
        attempt.add_done_callback(_retrieved)
        try:
            await asyncio.wait({attempt, self._work}, return_when=asyncio.FIRST_COMPLETED)
            if not attempt.done():
                self._work.result()
        finally:
            await _stop(attempt)
        return attempt.result()

    async def finish(self, response: Body) -> Body:
        """Return what the guard makes of a response."""
        self._response.set_result(response)
        return await self._work

    async def stop(self) -> None:
        """End the guard's work."""
        await _stop(self._work)

    def drop(self) -> None:
        """Have the guard's work end soon, whatever goes on here."""
        self._work.cancel()

    def wait(
        self, longest_s: float, owner: asyncio.Task[Any] | None, give_up: Callable[[], None]
    ) -> None:
        """Wait for the next attempt.

        Args:
            longest_s: After so many seconds nobody will come any more.
            owner: The task that makes the call, if it is known: when it is over, nobody will.
            give_up: What to do then.
        """

        def over(_: object) -> None:
            give_up()

        timer = asyncio.get_running_loop().call_later(longest_s, give_up)
        if owner is not None:
            owner.add_done_callback(over)

        def no_more() -> None:
            timer.cancel()
            if owner is not None:
                owner.remove_done_callback(over)

        self._wait_no_more = no_more

    def go_on(self) -> None:
        """Stop waiting for the next attempt."""
        if self._wait_no_more is not None:
            self._wait_no_more()
            self._wait_no_more = None


def _retrieved(work: asyncio.Task[Any]) -> None:
    # Of a call that nobody returned to, it would be logged that nobody looked at its exception.
    if not work.cancelled():
        work.exception()


async def _stop(task: asyncio.Future[Any]) -> None:
    if not task.done():
        task.cancel()
        with anyio.move_on_after(_CLOSING_S, shield=True):
            await asyncio.wait([task])


class Calls:
    """Calls between two attempts.

    They are found by the event loop and the idempotency key, which all attempts of a call share.
    """

    def __init__(self) -> None:
        self._waiting: dict[tuple[int, str], Call] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def take(self, key: str | None, asked: Request) -> Call | None:
        """Return the call that an attempt belongs to; None where it is the first."""
        call = None if key is None else self._waiting.pop(_here(key), None)
        if call is None:
            return None
        call.go_on()
        if call.asked.body == asked.body:
            return call
        # A middleware outside may send something else under the same key.
        call.drop()
        return None

    def leave(
        self, key: str, call: Call, longest_s: float, owner: asyncio.Task[Any] | None
    ) -> None:
        """Keep a call until its next attempt; see `Call.wait`."""
        place = _here(key)
        self._forget(place, self._waiting.get(place))
        self._waiting[place] = call
        call.wait(longest_s, owner, partial(self._forget, place, call))

    def _forget(self, place: tuple[int, str], call: Call | None) -> None:
        if call is not None and self._waiting.get(place) is call:
            del self._waiting[place]
            call.go_on()
            call.drop()


def _here(key: str) -> tuple[int, str]:
    return id(asyncio.get_running_loop()), key
