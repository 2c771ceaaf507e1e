"""Server-sent events: their values, how they are read and written."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, cast

from resay._internal.patterns import lazy_pattern
from resay.providers.apis.values import Body, json_bytes


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream.

    Attributes:
        data: Its data: an object, or the text if that is no JSON object, such as `[DONE]`.
        name: The event's type, if the stream names it.
        sent: The bytes it was received as, so that it can be passed on unchanged; None for an event
            that was created here.
    """

    data: Body | str
    name: str | None = None
    sent: bytes | None = field(default=None, repr=False, compare=False)

    @property
    def body(self) -> Body:
        """Its object; an empty one if it has none."""
        return {} if isinstance(self.data, str) else self.data


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Names of events, which are no place for words.
_EVENT_NAME = lazy_pattern(rb"[A-Za-z0-9_.-]{1,64}")
_BLANK = frozenset({b"\n", b"\r\n", b"\r"})


class EventReader:
    r"""Parse the events of a byte stream that may be split anywhere.

    Comments, ids, retry times and unknown fields, which these APIs do not use, are left out of the
    events, also as they are passed on: nobody checks what they say.

    Example:
        >>> reader = EventReader()
        >>> reader.feed(b'data: {"a"')
        []
        >>> reader.feed(b": 1}\n\n")
        [Event(data={'a': 1}, name=None)]
    """

    def __init__(self) -> None:
        # A line may arrive in very many pieces: they are joined once, at its end.
        self._pieces: list[bytes] = []
        self._has_begun = False
        self._name_line = b""
        self._data: list[bytes] = []
        self._received: list[bytes] = []

    def feed(self, data: bytes) -> list[Event]:
        """Add the next bytes; return the events that they complete."""
        may_end_line = self._pieces and self._pieces[-1].endswith(b"\r")
        self._pieces.append(data)
        if not may_end_line and b"\n" not in data and b"\r" not in data:
            return []
        buffer = b"".join(self._pieces)
        # A carriage return at the end may be the first half of a line ending.
        end = len(buffer) - 1 if buffer.endswith(b"\r") else len(buffer)
        lines = buffer[:end].splitlines(keepends=True)
        unfinished = buffer[end:]
        if lines and not lines[-1].endswith((b"\n", b"\r")):
            unfinished = lines.pop() + unfinished
        self._pieces = [unfinished] if unfinished else []
        return self._read(lines)

    def finish(self) -> list[Event]:
        """Return the last event if the stream ended without terminating it."""
        lines = [b"".join([*self._pieces, b"\n"])] if self._pieces else []
        self._pieces = []
        return self._read([*lines, b"\n"])

    def _read(self, lines: list[bytes]) -> list[Event]:
        events: list[Event] = []
        for line in lines:
            if not self._has_begun:
                # A byte order mark may precede the stream, and is not part of it.
                self._has_begun, line = True, line.removeprefix(_BYTE_ORDER_MARK)
            if line.startswith(b"data:"):
                self._received.append(line)
                self._data.append(line[5:].rstrip(b"\r\n"))
            elif line in _BLANK:
                events += self._close(line)
            elif line.startswith(b"event:"):
                name = line[6:].strip()
                # As with all fields but `data`, the last one counts.
                self._name_line = line if _EVENT_NAME.fullmatch(name) else b""
        return events

    def _close(self, blank: bytes) -> list[Event]:
        name_line, data, received = self._name_line, self._data, self._received
        self._name_line, self._data, self._received = b"", [], []
        if not data:
            return []
        name = name_line[6:].strip().decode() if name_line else None
        sent = b"".join([name_line, *received, blank])
        lines = [line.removeprefix(b" ").decode("utf-8", "replace") for line in data]
        if len(lines) == 1:
            return [Event(_parse(lines[0]), name, sent)]
        value = _parse("\n".join(lines))
        # Some servers omit the blank lines. Clients that parse line by line do not notice.
        if isinstance(value, str):
            values = list(map(_parse, lines))
            if any(isinstance(value, dict) for value in values):
                pairs = zip(values, data, strict=True)
                return [Event(value, name, b"data:%s\n\n" % line) for value, line in pairs]
        return [Event(value, name, sent)]


# As `json.loads` has it, whose checks of every argument take a tenth of its time.
_DECODER = json.JSONDecoder()


def _parse(text: str) -> Body | str:
    try:
        value: Any = _DECODER.decode(text)
    # Deep nesting is refused with a RecursionError.
    except (ValueError, RecursionError):
        return text
    return cast("Body", value) if isinstance(value, dict) else text


def encoded(event: Event) -> bytes:
    """Return an event's bytes for sending: as received, or encoded if it was created here."""
    if event.sent is not None:
        return event.sent
    data = event.data.encode() if isinstance(event.data, str) else json_bytes(event.data)
    name = f"event: {event.name}\n".encode() if event.name else b""
    lines = b"".join(b"data: %s\n" % line for line in data.split(b"\n"))
    return b"%s%s\n" % (name, lines)
