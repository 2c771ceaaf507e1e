"""Telling guards that another is at work already, and readers of events who asks."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

from llama_index_instrumentation.dispatcher import active_instrument_tags, instrument_tags

from resay.adapters import marked

__all__ = ["TAG", "Role", "playing"]

TAG = "resay"
"""The instrumentation tag on what happens inside a guard."""

Role = Literal["main", "sample", "judge"]


@contextmanager
def playing(role: Role) -> Generator[None]:
    """Mark what is called meanwhile: guards in it do nothing, its events and spans are tagged.

    Args:
        role: What the call is for.
    """
    with marked(), instrument_tags({**active_instrument_tags.get(), TAG: role}):
        yield
