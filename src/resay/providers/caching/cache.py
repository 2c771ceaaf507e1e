"""Answers by key, wherever they are kept. What cannot be had is a miss, never an error."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

import anyio

from resay.providers.base import Completion
from resay.providers.caching.flights import Flights
from resay.providers.caching.records import is_whole, read_record, record_of
from resay.providers.caching.store import Store, StoreError

__all__ = ["Cache"]

T = TypeVar("T")

_log = logging.getLogger(__name__)

# An answer costs seconds; to look for it longer than this would make things worse.
_PATIENCE_S = 2.0
# How long a store that failed is left alone, so that not every request waits for it in vain.
_REST_S = 30.0


class Cache:
    """Keeps whole answers in a store, and knows which are being asked for right now.

    Answers without words and those that were filtered or broken off are not kept. A store that
    fails is left alone for half a minute, and everything is asked for again in the meantime; the
    first time this is logged as a warning.

    Args:
        store: Where answers are kept.
        clock: Seconds since some moment.

    Attributes:
        store: Where answers are kept.
        flights: The requests under way.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.store = store
        self.flights = Flights()
        self._clock = clock
        self._rests_until = float("-inf")
        self._has_warned = False

    def __repr__(self) -> str:
        return f"Cache({self.store!r})"

    async def get(self, keys: Sequence[str]) -> dict[str, Completion]:
        """Return the answers that are there and can be read."""
        nothing: Mapping[str, bytes] = {}
        found = await self._attempt(lambda: self.store.get_many(keys), nothing)
        read = {key: read_record(data) for key, data in found.items() if key in keys}
        return {key: completion for key, completion in read.items() if completion is not None}

    async def put(self, completions: Mapping[str, Completion]) -> None:
        """Keep the answers that are whole."""
        records = {key: record_of(c) for key, c in completions.items() if is_whole(c)}
        if records:
            await self._attempt(lambda: self.store.set_many(records), None)

    async def aclose(self) -> None:
        """Close what the store opened in the running event loop."""
        await self.store.aclose()

    async def _attempt(self, work: Callable[[], Awaitable[T]], otherwise: T) -> T:
        if self._clock() < self._rests_until:
            return otherwise
        try:
            with anyio.fail_after(_PATIENCE_S):
                return await work()
        # Whatever a store raises costs us what is in it, never the check.
        except Exception as error:
            self._rest(error)
            return otherwise

    def _rest(self, error: Exception) -> None:
        self._rests_until = self._clock() + _REST_S
        level = logging.DEBUG if self._has_warned else logging.WARNING
        self._has_warned = True
        # Only our own errors are known to hold neither content nor a password.
        reason = str(error) if isinstance(error, StoreError) else type(error).__name__
        _log.log(level, "%r cannot be used (%s); everything is asked for again", self.store, reason)
