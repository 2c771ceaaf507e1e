"""Nested guards: only the outermost one checks."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

# Shared by all adapters: a guarded client may serve a model of a framework that is guarded too.
_inside_guard: ContextVar[bool] = ContextVar("resay_inside_guard", default=False)


def inside_guard() -> bool:
    """Return whether a guard is active around this call."""
    return _inside_guard.get()


@contextmanager
def marked(mark: ContextVar[bool] = _inside_guard) -> Generator[None, None, None]:
    """Set a mark while the context is open; by default the one that an outer guard is active."""
    token = mark.set(True)
    try:
        yield
    finally:
        mark.reset(token)
