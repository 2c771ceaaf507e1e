"""Server-sent events, as the APIs of language models use them."""

from __future__ import annotations

import json
from typing import Any, cast

from resay.apis.base import Body, Event

__all__ = ["EventReader", "encoded"]


class EventReader:
    r"""Reads events out of the bytes of a stream, wherever those are cut.

    Comments, identifiers and retry times, which these APIs do not use, are left out.

    Example:
        >>> reader = EventReader()
        >>> reader.feed(b'data: {"a"')
        []
        >>> reader.feed(b": 1}\n\n")
        [Event(data={'a': 1}, name=None)]
    """

    def __init__(self) -> None:
        self._rest = b""
        self._name: str | None = None
        self._data: list[bytes] = []
        self._received: list[bytes] = []

    def feed(self, data: bytes) -> list[Event]:
        """Take the next bytes; return the events that are complete with them."""
        # A carriage return at the end may be the first half of a line's end.
        whole = self._rest + data
        cut = len(whole) - 1 if whole.endswith(b"\r") else len(whole)
        lines = whole[:cut].splitlines(keepends=True)
        self._rest = whole[cut:]
        if lines and not lines[-1].endswith((b"\n", b"\r")):
            self._rest = lines.pop() + self._rest
        return self._read(lines)

    def finish(self) -> list[Event]:
        """Return the event that the stream ended in, which nothing closed."""
        lines = [self._rest + b"\n"] if self._rest else []
        self._rest = b""
        return self._read([*lines, b"\n"])

    def _read(self, lines: list[bytes]) -> list[Event]:
        found = (self._line(line) for line in lines)
        return [event for event in found if event is not None]

    def _line(self, received: bytes) -> Event | None:
        self._received.append(received)
        if received.startswith(b"data:"):
            self._data.append(received[5:].rstrip(b"\r\n"))
        elif received.startswith(b"event:"):
            self._name = received[6:].decode("utf-8", "replace").rstrip("\r\n").removeprefix(" ")
        elif received in (b"\n", b"\r\n", b"\r"):
            return self._close()
        return None

    def _close(self) -> Event | None:
        name, data, received = self._name, self._data, b"".join(self._received)
        self._name, self._data, self._received = None, [], []
        lines = [line.removeprefix(b" ").decode("utf-8", "replace") for line in data]
        return Event(_parsed("\n".join(lines)), name, received) if data else None


def _parsed(text: str) -> Body | str:
    try:
        value: Any = json.loads(text)
    # Deep nesting is refused with a RecursionError.
    except (ValueError, RecursionError):
        return text
    return cast("Body", value) if isinstance(value, dict) else text


def encoded(event: Event) -> bytes:
    """Return an event as it is sent: as it was received, where it was not made here."""
    if event.sent is not None:
        return event.sent
    text = event.data if isinstance(event.data, str) else json.dumps(event.data, ensure_ascii=False)
    name = f"event: {event.name}\n" if event.name else ""
    lines = "".join(f"data: {line}\n" for line in text.split("\n"))
    return f"{name}{lines}\n".encode("utf-8", "surrogatepass")
