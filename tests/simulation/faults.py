"""What goes wrong with parameters that only the full simulation reads."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from resay.testing.faults import Fault, Refused, RequestKind
from resay.testing.provider import Response

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

    Only streams of completions leave it out; those of other APIs always report it.
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

    def broken(self, response: Response) -> Response:
        """Return an answer whose stream is broken."""
        return _Broken(response, self)


@dataclass(frozen=True, slots=True)
class _Broken:
    response: Response
    fault: BrokenStream
    reports_usage = False

    @property
    def usage(self) -> Mapping[str, int]:
        return self.response.usage

    def body(self) -> Mapping[str, Any]:
        return self.response.body()

    def events(self) -> Iterator[str]:
        events = [*self.response.events()]
        yield from events[: len(events) // 2]
        if self.fault.error is not None:
            name = f"event: {self.fault.name}\n" if self.fault.name else ""
            yield f"{name}data: {json.dumps(self.fault.error)}"
