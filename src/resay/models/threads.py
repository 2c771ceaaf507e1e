"""The threads on which models are loaded and run: one for each kind of work, in each process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Generic, TypeVar

from resay.models.waiting import outcome

__all__ = ["LoadedOnce", "thread"]

T = TypeVar("T")


def thread(name: str) -> ThreadPoolExecutor:
    """Return this process's one thread for a kind of work.

    Args:
        name: Which: `load` for loading models, `encode` for turning texts into their input, else
            the device on which they run, such as `cuda:0`.
    """
    return _thread_of(name, os.getpid())


@cache
def _thread_of(name: str, process: int) -> ThreadPoolExecutor:
    del process  # A fork copies the object but not the thread.
    return ThreadPoolExecutor(1, thread_name_prefix=f"resay-{name}")


class LoadedOnce(Generic[T]):
    """Something loaded when it is first needed, once per process, whoever asks for it.

    A loading that failed is forgotten, so that the next to ask tries again. A fork copies what was
    loaded but not the threads that serve it, so a forked process loads anew.

    Args:
        load: Loads it; called on the thread for that.
    """

    def __init__(self, load: Callable[[], T]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._loading: tuple[int, Future[T]] | None = None

    async def get(self) -> T:
        """Return it.

        Raises:
            Exception: What loading it raised.
        """
        return await outcome(self._start())

    def _start(self) -> Future[T]:
        with self._lock:
            if self._loading is None or self._loading[0] != os.getpid():
                self._loading = os.getpid(), thread("load").submit(self._load)
            loading = self._loading[1]
        # Outside the lock: what is done already calls back at once.
        loading.add_done_callback(self._forget_failed)
        return loading

    def _forget_failed(self, loading: Future[T]) -> None:
        if loading.exception() is None:
            return
        with self._lock:
            if self._loading is not None and self._loading[1] is loading:
                self._loading = None
