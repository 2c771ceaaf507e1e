"""What goes wrong with parameters that only the full simulation reads."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from resay.testing.faults import Fault, Refused, RequestKind

__all__ = [
    "BrokenStream",
    "IgnoreLogprobs",
    "IgnoreStreamOptions",
    "RefusedLogprobs",
    "RefusedStreamOptions",
]


@dataclass(frozen=True, slots=True)
class RefusedLogprobs(Refused):
    """A plain no to requests for log-probabilities; it neither strikes nor counts any other."""

    status: int = 400

    def matches(self, kind: RequestKind, params: Collection[str]) -> bool:
        return "logprobs" in params and Refused.matches(self, kind, params)


@dataclass(frozen=True, slots=True)
class RefusedStreamOptions(Refused):
    """A plain no to requests with `stream_options`; it neither strikes nor counts any other."""

    status: int = 400

    def matches(self, kind: RequestKind, params: Collection[str]) -> bool:
        return "stream_options" in params and Refused.matches(self, kind, params)


@dataclass(frozen=True, slots=True)
class IgnoreLogprobs(Fault):
    """No log-probabilities, whatever was asked for."""


@dataclass(frozen=True, slots=True)
class IgnoreStreamOptions(Fault):
    """A stream that says nothing of its usage, whatever was asked for.

    Only streams of completions leave it out; those of other APIs always tell it.
    """


@dataclass(frozen=True, slots=True)
class BrokenStream(Fault):
    """A stream that is closed in its middle, as if that were its end.

    Attributes:
        error: The data of the event before; None for no such event.
        name: The name of that event.
    """

    error: Mapping[str, Any] | None = None
    name: str | None = None

    def matches(self, kind: RequestKind, params: Collection[str]) -> bool:
        # Samples of an earlier request may still be on their way.
        return "stream" in params and Fault.matches(self, kind, params)

    @property
    def last_event(self) -> bytes:
        """The event before the end, as it is sent."""
        if self.error is None:
            return b""
        head = f"event: {self.name}\n" if self.name else ""
        return f"{head}data: {json.dumps(self.error)}\n\n".encode()
