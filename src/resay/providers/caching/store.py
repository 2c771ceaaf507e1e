"""The seam to wherever answers are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

__all__ = ["Store", "StoreError"]


class StoreError(Exception):
    """A store cannot be used. It never leaves `Cache`.

    The message goes into the log: it may say what is wrong with the store, and must hold neither
    content nor a password.
    """


class Store(Protocol):
    """Keeps bytes under keys, for a while and up to some size.

    One store serves any number of threads and event loops. It may raise whatever it likes: `Cache`
    takes a store that fails for one that has nothing.
    """

    async def get_many(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Return what is there under these keys and has not expired."""
        ...

    async def set_many(self, entries: Mapping[str, bytes]) -> None:
        """Keep these, in place of what is there under their keys."""
        ...

    async def aclose(self) -> None:
        """Close what was opened in the running event loop."""
        ...
