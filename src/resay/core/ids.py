"""Unique ids."""

from __future__ import annotations

import os
import time
from uuid import UUID


def new_id() -> str:
    """Return a unique id that sorts by its creation time (RFC 9562, UUIDv7)."""
    millis = time.time_ns() // 1_000_000
    number = (millis << 80 | int.from_bytes(os.urandom(10), "big")) & ~(0xF << 76) & ~(0x3 << 62)
    return str(UUID(int=number | 0x7 << 76 | 0x2 << 62))
