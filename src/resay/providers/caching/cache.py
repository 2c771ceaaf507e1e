"""A cache of answers, which counts as empty if its store fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

import anyio

from resay.providers.base import Completion
from resay.providers.caching.in_flight import RequestsInFlight
from resay.providers.caching.records import is_complete, read_record, record_of
from resay.providers.caching.stores import Store, StoreError

T = TypeVar("T")
_log = logging.getLogger(__name__)
# Answers take seconds; a cache lookup slower than this would not pay off.
_TIMEOUT_S = 2.0
# How long to avoid a failed store, so that not every request waits for it pointlessly.
_PAUSE_S = 30.0


class Cache:
    """Store complete answers, and track those being requested.

    Answers without words and those that were filtered or interrupted are not stored. A store that
    fails is not used for half a minute, and everything is requested anew in the meantime; the first
    failure is logged as a warning.

    Args:
        store: The store.
        clock: Monotonic clock, in seconds.

    Attributes:
        store: The store.
        in_flight: The requests in flight.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.store = store
        self.in_flight = RequestsInFlight()
        self._clock = clock
        self._paused_until = float("-inf")
        self._has_warned = False

    def __repr__(self) -> str:
        return f"Cache({self.store!r})"

    async def get(self, keys: Sequence[str]) -> dict[str, Completion]:
        """Return the stored answers for these keys."""
        nothing: Mapping[str, bytes] = {}
        records = await self._attempt(lambda: self.store.get_many(keys), nothing)
        completions: dict[str, Completion] = {}
        for key, record in records.items():
            completion = read_record(record) if key in keys else None
            if completion is not None:
                completions[key] = completion
        return completions

    async def put(self, completions: Mapping[str, Completion]) -> None:
        """Store the answers that are complete."""
        records = {key: record_of(c) for key, c in completions.items() if is_complete(c)}
        if records:
            await self._attempt(lambda: self.store.set_many(records), None)

    async def aclose(self) -> None:
        """Close what the store opened in the running event loop."""
        await self.store.aclose()

    async def _attempt(self, work: Callable[[], Awaitable[T]], default: T) -> T:
        if self._clock() < self._paused_until:
            return default
        try:
            with anyio.fail_after(_TIMEOUT_S):
                return await work()
        # A store's error, of any type, costs its answers only, never the check.
        except Exception as error:
            self._pause(error)
            return default

    def _pause(self, error: Exception) -> None:
        self._paused_until = self._clock() + _PAUSE_S
        level = logging.DEBUG if self._has_warned else logging.WARNING
        self._has_warned = True
        # Only our own errors are known to hold neither content nor a password.
        reason = str(error) if isinstance(error, StoreError) else type(error).__name__
        _log.log(
            level,
            "cannot use the cache %r (%s); all answers are requested anew",
            self.store,
            reason,
        )
