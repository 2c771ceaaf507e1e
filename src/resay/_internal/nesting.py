"""Guards inside guards: the outermost acts, the others stand aside."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

# One mark for all adapters: a guarded client may serve a model of a framework that is guarded too.
_inside_guard: ContextVar[bool] = ContextVar("resay_inside_guard", default=False)


def inside_guard() -> bool:
    """Return whether a guard is at work around this call."""
    return _inside_guard.get()


@contextmanager
def marked(mark: ContextVar[bool] = _inside_guard) -> Generator[None, None, None]:
    """Tell the guards inside that one is at work already, or whatever else a mark says."""
    token = mark.set(True)
    try:
        yield
    finally:
        mark.reset(token)
