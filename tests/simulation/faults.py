"""What goes wrong with parameters that only the full simulation reads."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from resay.testing.faults import Fault, Refused, RequestKind

__all__ = ["IgnoreLogprobs", "IgnoreStreamOptions", "RefusedLogprobs", "RefusedStreamOptions"]


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
