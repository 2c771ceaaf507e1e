"""What the simulated provider received, and what became of it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["RequestLog", "RequestRecord"]


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request that the simulated provider received.

    Attributes:
        path: The path it was sent to.
        body: Its JSON body; None where that was not an object.
        headers: Its headers, names in lower case, without those that hold a key.
        started_s: When it was received, in seconds of `time.monotonic`.
        ended_s: When the answer was complete or the client was gone; None until then.
        fault: The class name of the fault that struck it.
        status: The HTTP status it was answered with; None while or when there is none.
        stream: Whether it asked for a stream.
        disconnected: Whether the connection was gone before the answer was complete: the client
            left, or the provider was stopped or cut it (then `fault` says `CutConnection`).
        prompt_tokens: How many tokens the answer said were read; 0 where it did not say.
        completion_tokens: How many it said were written.
    """

    path: str
    body: Mapping[str, Any] | None = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    started_s: float
    ended_s: float | None = None
    fault: str | None = None
    status: int | None = None
    stream: bool = False
    disconnected: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Tokens read and written, as the answer said."""
        return self.prompt_tokens + self.completion_tokens


class RequestLog:
    """What the provider received and gave. The server's thread writes, any other reads."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.records: list[RequestRecord] = []
        self.in_flight = 0
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self._gate = asyncio.Event()

    def begin(self, record: RequestRecord) -> tuple[int, asyncio.Event]:
        """Add a request; return its index, and what holds it when it hangs."""
        with self.changed:
            self.records.append(record)
            self.in_flight += 1
            self.changed.notify_all()
            return len(self.records) - 1, self._gate

    def note(self, index: int, **changes: Any) -> None:
        """Change the record of a request."""
        with self.changed:
            self.records[index] = replace(self.records[index], **changes)

    def end(self, index: int, *, disconnected: bool = False) -> None:
        """Mark a request as ended, once."""
        with self.changed:
            if self.records[index].ended_s is None:
                self.records[index] = replace(
                    self.records[index], ended_s=time.monotonic(), disconnected=disconnected
                )
                self.in_flight -= 1
                self.changed.notify_all()

    def spend(self, index: int, usage: Mapping[str, int]) -> None:
        """Note what the answer to a request reports as its usage, and add it up."""
        read, written = usage["prompt_tokens"], usage["completion_tokens"]
        with self.changed:
            self.prompt_tokens += read
            self.completion_tokens += written
            self.records[index] = replace(
                self.records[index], prompt_tokens=read, completion_tokens=written
            )

    def next_gate(self) -> asyncio.Event:
        """Return what holds the requests received so far; later ones get another."""
        with self.changed:
            gate, self._gate = self._gate, asyncio.Event()
            return gate
