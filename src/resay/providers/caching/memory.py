"""Answers kept in this process."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["MemoryStore"]

_MB = 1_000_000
# What Python takes for an entry besides the answer itself: the key, two objects, a place in a dict.
_OVERHEAD = 500


@dataclass(frozen=True, slots=True)
class _Entry:
    data: bytes
    expires: float

    @property
    def size(self) -> int:
        return len(self.data) + _OVERHEAD


class MemoryStore:
    """Keeps what was used last, in one process.

    Args:
        max_entries: How many answers are kept.
        max_mb: How many megabytes (10^6 bytes) they may take.
        ttl_s: Seconds an answer is kept.
        clock: Seconds since some moment.
    """

    def __init__(
        self,
        *,
        max_entries: int = 10_000,
        max_mb: float = 64.0,
        ttl_s: float = 3600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_mb * _MB
        self._ttl_s = ttl_s
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._bytes = 0

    def __repr__(self) -> str:
        return f"MemoryStore(entries={len(self._entries)})"

    async def get_many(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Return what is there under these keys and has not expired."""
        with self._lock:
            found = {key: self._get(key) for key in keys}
        return {key: data for key, data in found.items() if data is not None}

    async def set_many(self, entries: Mapping[str, bytes]) -> None:
        """Keep these; what was not used for longest makes room."""
        expires = self._clock() + self._ttl_s
        with self._lock:
            for key, data in entries.items():
                self._drop(key)
                self._entries[key] = entry = _Entry(data, expires)
                self._bytes += entry.size
            while len(self._entries) > self._max_entries or self._bytes > self._max_bytes:
                self._drop(next(iter(self._entries)))

    async def aclose(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0

    def _get(self, key: str) -> bytes | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.expires <= self._clock():
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return entry.data

    def _drop(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= entry.size
