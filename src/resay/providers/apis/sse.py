"""Server-sent events, as the APIs of language models use them."""

from __future__ import annotations

import json
from typing import Any, cast

from resay.providers.apis.base import Body, Event

_MARK = b"\xef\xbb\xbf"


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
        # A line may come in very many pieces: they are joined once, at its end.
        self._rest: list[bytes] = []
        self._begun = False
        self._name: str | None = None
        self._data: list[bytes] = []
        self._received: list[bytes] = []

    def feed(self, data: bytes) -> list[Event]:
        """Take the next bytes; return the events that are complete with them."""
        half = self._rest and self._rest[-1].endswith(b"\r")
        self._rest.append(data)
        if not half and b"\n" not in data and b"\r" not in data:
            return []
        whole = b"".join(self._rest)
        # A carriage return at the end may be the first half of a line's end.
        cut = len(whole) - 1 if whole.endswith(b"\r") else len(whole)
        lines = whole[:cut].splitlines(keepends=True)
        rest = whole[cut:]
        if lines and not lines[-1].endswith((b"\n", b"\r")):
            rest = lines.pop() + rest
        self._rest = [rest] if rest else []
        return self._read(lines)

    def finish(self) -> list[Event]:
        """Return the event that the stream ended in, which nothing closed."""
        lines = [b"".join([*self._rest, b"\n"])] if self._rest else []
        self._rest = []
        return self._read([*lines, b"\n"])

    def _read(self, lines: list[bytes]) -> list[Event]:
        return [event for line in lines for event in self._line(line)]

    def _line(self, received: bytes) -> list[Event]:
        self._received.append(received)
        if not self._begun:
            # A mark of the encoding may appear before all else, and is no part of it.
            self._begun, received = True, received.removeprefix(_MARK)
        if received.startswith(b"data:"):
            self._data.append(received[5:].rstrip(b"\r\n"))
        elif received.startswith(b"event:"):
            self._name = received[6:].decode("utf-8", "replace").rstrip("\r\n").removeprefix(" ")
        elif received in (b"\n", b"\r\n", b"\r"):
            return self._close()
        return []

    def _close(self) -> list[Event]:
        name, data, received = self._name, self._data, b"".join(self._received)
        self._name, self._data, self._received = None, [], []
        if not data:
            return []
        lines = [line.removeprefix(b" ").decode("utf-8", "replace") for line in data]
        whole = _parsed("\n".join(lines))
        apart = [_parsed(line) for line in lines]
        # Some servers leave the blank lines out. Clients that read line by line do not notice.
        if isinstance(whole, str) and any(isinstance(value, dict) for value in apart):
            return [
                Event(value, name, b"data:%s\n\n" % line)
                for value, line in zip(apart, data, strict=True)
            ]
        return [Event(whole, name, received)]


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
    data = event.data.encode() if isinstance(event.data, str) else json_bytes(event.data)
    name = f"event: {event.name}\n".encode() if event.name else b""
    lines = b"".join(b"data: %s\n" % line for line in data.split(b"\n"))
    return b"%s%s\n" % (name, lines)


def json_bytes(value: object) -> bytes:
    """Return a value as JSON that any strict reader can read."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    # Half a character, such as a model's token may end with, can only be written as an escape.
    except UnicodeEncodeError:
        return json.dumps(value).encode()
