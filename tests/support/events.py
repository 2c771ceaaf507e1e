"""The events of a provider's stream, as bytes."""

from __future__ import annotations

import json
from typing import Any

DONE = b"data: [DONE]\n\n"


def event(data: Any, name: str | None = None) -> bytes:
    """Return an event with data, which is encoded as JSON unless it is text."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def typed(kind: str, **data: Any) -> bytes:
    """Return an event with its type, as its name and in its data."""
    return event({"type": kind, **data}, kind)
