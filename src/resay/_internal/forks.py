"""Work in a background thread that a fork waits for."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager

# Reentrant: such work may itself fork.
_lock = threading.RLock()


@contextmanager
def unforkable() -> Generator[None]:
    """Hold up forks by other threads while the context is open.

    A fork copies the locks of modules that another thread is importing, and the copies are never
    released: the child hangs when it imports one of them. Short work that goes on after an answer
    was returned, and that may import something, runs in here.
    """
    with _lock:
        yield


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )
