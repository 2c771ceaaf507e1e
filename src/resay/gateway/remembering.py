"""What was asked, for as long as its answer may take, or another try."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from resay.providers.apis import Body

__all__ = ["Conversations"]

_KEPT_S = 900.0
_MOST = 4096
_MOST_BYTES = 64 * 1024 * 1024
_LONGEST_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Kept:
    asked: Body
    size: int
    until_s: float


class Conversations:
    """Remembers requests in the memory of this process: so many, of such a size, for so long.

    Args:
        most: How many.
        most_bytes: How long they may be together, as JSON.
        kept_s: For how long, in seconds.
        clock: Tells the time, in seconds.
    """

    def __init__(
        self,
        most: int = _MOST,
        most_bytes: int = _MOST_BYTES,
        kept_s: float = _KEPT_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._kept_s = kept_s
        self._clock = clock
        self._bytes = 0
        # The oldest come first.
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def remember(self, key: Hashable, asked: Body) -> None:
        """Remember a request; one that is longer than 4 MiB is not.

        Args:
            key: What it is found by.
            asked: The request.
        """
        self._forget(key)
        size = len(json.dumps(asked))
        if size <= _LONGEST_BYTES:
            self._kept[key] = _Kept(asked, size, self._clock() + self._kept_s)
            self._bytes += size
        self._make_room()

    def recall(self, key: Hashable) -> Body | None:
        """Return a request; None where it is not known, or not any more."""
        self._make_room()
        kept = self._kept.get(key)
        return None if kept is None else kept.asked

    def take(self, key: Hashable) -> Body | None:
        """Return a request and forget it; None where it is not known."""
        asked = self.recall(key)
        self._forget(key)
        return asked

    def _make_room(self) -> None:
        while self._kept:
            oldest, kept = next(iter(self._kept.items()))
            full = len(self._kept) > self._most or self._bytes > self._most_bytes
            if not full and kept.until_s > self._clock():
                return
            self._forget(oldest)

    def _forget(self, key: Hashable) -> None:
        kept = self._kept.pop(key, None)
        self._bytes -= kept.size if kept else 0
