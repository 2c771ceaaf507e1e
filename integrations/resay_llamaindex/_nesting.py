"""Telling guards that another is at work already, and readers of events who asks."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

from llama_index_instrumentation.dispatcher import active_instrument_tags, instrument_tags

__all__ = ["TAG", "Role", "inside_guard", "playing"]

TAG = "resay"
"""The instrumentation tag on what happens inside a guard."""

Role = Literal["main", "sample", "judge"]

_inside: ContextVar[bool] = ContextVar("resay_llamaindex_inside_guard", default=False)


def inside_guard() -> bool:
    """Return whether a guard further outside acts already."""
    return _inside.get()


@contextmanager
def playing(role: Role) -> Generator[None]:
    """Mark what is called meanwhile: guards in it do nothing, its events and spans are tagged.

    Args:
        role: What the call is for.
    """
    token = _inside.set(True)
    try:
        with instrument_tags({**active_instrument_tags.get(), TAG: role}):
            yield
    finally:
        _inside.reset(token)
