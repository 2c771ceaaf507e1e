"""Server-sent events: the pieces of a streamed answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["Event"]


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream.

    Attributes:
        data: What it says.
        name: Its type; None where the API names none.
        paced: Whether it takes its share of the time that the answer takes; what only frames the
            answer follows at once.
    """

    data: str
    name: str | None = None
    paced: bool = True

    @classmethod
    def named(cls, data: Mapping[str, Any], *, paced: bool = False) -> Event:
        """Return the event for a JSON object that says its type itself."""
        return cls(json.dumps(data), data["type"], paced)

    def halved(self) -> Event:
        """Return the event with half of its data."""
        return replace(self, data=self.data[: len(self.data) // 2])

    def encoded(self) -> bytes:
        """Return the event as it is sent."""
        head = "" if self.name is None else f"event: {self.name}\n"
        return f"{head}data: {self.data}\n\n".encode()
