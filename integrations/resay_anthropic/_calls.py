"""One call of the SDK and all its attempts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from functools import partial
from typing import Any, TypeVar

import anyio

from resay.adapters.apis import ApiRequest, Body
from resay.adapters.relay import Relay
from resay.adapters.upstream import Upstream

T = TypeVar("T")
_CLOSING_S = 5.0


class Call:
    """One call and all its attempts, bound to the event loop that created it.

    The SDK runs its middleware once per attempt. The first attempt requests the samples, which the
    later ones reuse.

    Args:
        relay: The relay that guards the call.
        parsed: The request.
        upstream: How to send the guard's own requests.
    """

    def __init__(self, relay: Relay, parsed: ApiRequest, upstream: Upstream) -> None:
        self.parsed = parsed
        loop = asyncio.get_running_loop()
        self._response: asyncio.Future[Body] = loop.create_future()
        self._work = loop.create_task(relay.aanswer(parsed, self._main, upstream))
        self._work.add_done_callback(_retrieved)
        self._waiting = ExitStack()

    async def _main(self, body: Body) -> Body:
        del body
        # Cancelling the wait, at a deadline for example, must not cancel the shared future.
        return await asyncio.shield(self._response)

    async def send_attempt(self, send: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Send an attempt.

        Returns:
            The response, which may be a failure.

        Raises:
            DeadlineExceededError: No answer arrived within `limits.deadline_s`.
            Exception: As raised by `send`.
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
        """Pass a response to the guard, and return the guard's result."""
        self._response.set_result(response)
        return await self._work

    async def stop(self) -> None:
        """Cancel the guard's work, and wait for its end."""
        await _stop(self._work)

    def cancel(self) -> None:
        """Cancel the guard's work without waiting for its end."""
        self._work.cancel()

    def wait_for_retry(
        self, longest_s: float, owner: asyncio.Task[Any] | None, give_up: Callable[[], None]
    ) -> None:
        """Start to wait for the next attempt.

        Args:
            longest_s: The time in seconds after which no further attempt is expected.
            owner: The task that makes the call, if known; once it is done, none is expected either.
            give_up: Called when no further attempt is expected.
        """
        timer = asyncio.get_running_loop().call_later(longest_s, give_up)
        self._waiting.callback(timer.cancel)
        if owner is not None:

            def over(_: object) -> None:
                give_up()

            owner.add_done_callback(over)
            self._waiting.callback(owner.remove_done_callback, over)

    def stop_waiting(self) -> None:
        """Stop waiting for the next attempt."""
        self._waiting.close()


def _retrieved(work: asyncio.Task[Any]) -> None:
    # Retrieve the exception of an abandoned call, or asyncio would log it as never retrieved.
    if not work.cancelled():
        work.exception()


async def _stop(task: asyncio.Future[Any]) -> None:
    if not task.done():
        task.cancel()
        with anyio.move_on_after(_CLOSING_S, shield=True):
            await asyncio.wait([task])


class Calls:
    """Calls that wait for their next attempt.

    The key is the event loop and the idempotency key, which all attempts of a call share.
    """

    def __init__(self) -> None:
        self._waiting: dict[tuple[int, str], Call] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def take(self, key: str | None, parsed: ApiRequest) -> Call | None:
        """Return the waiting call that an attempt belongs to, or None for a first attempt."""
        call = None if key is None else self._waiting.pop(_loop_key(key), None)
        if call is None:
            return None
        call.stop_waiting()
        if call.parsed.body == parsed.body:
            return call
        # A middleware further outside may send a different body under the same key.
        call.cancel()
        return None

    def leave(
        self, key: str, call: Call, longest_s: float, owner: asyncio.Task[Any] | None
    ) -> None:
        """Keep a call for its next attempt; see `Call.wait_for_retry`."""
        slot = _loop_key(key)
        self._forget(slot, self._waiting.get(slot))
        self._waiting[slot] = call
        call.wait_for_retry(longest_s, owner, partial(self._forget, slot, call))

    def _forget(self, slot: tuple[int, str], call: Call | None) -> None:
        if call is not None and self._waiting.get(slot) is call:
            del self._waiting[slot]
            call.stop_waiting()
            call.cancel()


def _loop_key(key: str) -> tuple[int, str]:
    return id(asyncio.get_running_loop()), key
