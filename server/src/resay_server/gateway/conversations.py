"""Requests remembered in this process's memory."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from resay.adapters.apis import Body

REMEMBERED_S = 900.0
_MAX_COUNT = 4096
_MAX_BYTES = 64 * 1024 * 1024
LONGEST_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Remembered:
    request: Body
    size: int
    until_s: float


class Conversations:
    """Remembers requests in this process's memory, limited by number, size and age.

    Args:
        max_count: The maximum number.
        max_bytes: The maximum total length, as JSON.
        ttl_s: How long to keep them, in seconds.
        clock: Returns the time, in seconds.
    """

    def __init__(
        self,
        max_count: int = _MAX_COUNT,
        max_bytes: int = _MAX_BYTES,
        ttl_s: float = REMEMBERED_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_count = max_count
        self._max_bytes = max_bytes
        self._ttl_s = ttl_s
        self._clock = clock
        self._bytes = 0
        # Oldest first.
        self._entries: OrderedDict[Hashable, _Remembered] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def remember(self, key: Hashable, request: Body) -> None:
        """Remember a request, unless it is longer than 4 MiB.

        Args:
            key: The key to find it by.
            request: The request.
        """
        self._forget(key)
        size = len(json.dumps(request))
        if size <= LONGEST_BYTES:
            self._entries[key] = _Remembered(request, size, self._clock() + self._ttl_s)
            self._bytes += size
        self._make_room()

    def recall(self, key: Hashable) -> Body | None:
        """Return a request; None if it is unknown or expired."""
        self._make_room()
        entry = self._entries.get(key)
        return None if entry is None else entry.request

    def take(self, key: Hashable) -> Body | None:
        """Return a request and forget it; None if it is unknown or expired."""
        request = self.recall(key)
        self._forget(key)
        return request

    def _make_room(self) -> None:
        while self._entries:
            key, oldest = next(iter(self._entries.items()))
            is_full = len(self._entries) > self._max_count or self._bytes > self._max_bytes
            if not is_full and oldest.until_s > self._clock():
                return
            self._forget(key)

    def _forget(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= entry.size
