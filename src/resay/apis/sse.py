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
        self._data: list[str] = []

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
        lines = [self._rest] if self._rest else []
        self._rest = b""
        return self._read([*lines, b"\n"])

    def _read(self, lines: list[bytes]) -> list[Event]:
        found = (self._line(line.rstrip(b"\r\n")) for line in lines)
        return [event for event in found if event is not None]

    def _line(self, line: bytes) -> Event | None:
        if not line:
            return self._close()
        field, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
        return None

    def _close(self) -> Event | None:
        name, data = self._name, self._data
        self._name, self._data = None, []
        return Event(_parsed("\n".join(data)), name) if data else None


def _parsed(text: str) -> Body | str:
    try:
        value: Any = json.loads(text)
    # Deep nesting is refused with a RecursionError.
    except (ValueError, RecursionError):
        return text
    return cast("Body", value) if isinstance(value, dict) else text


def encoded(event: Event) -> bytes:
    """Return an event as it is sent."""
    text = event.data if isinstance(event.data, str) else json.dumps(event.data, ensure_ascii=False)
    name = f"event: {event.name}\n" if event.name else ""
    lines = "".join(f"data: {line}\n" for line in text.split("\n"))
    return f"{name}{lines}\n".encode("utf-8", "surrogatepass")
