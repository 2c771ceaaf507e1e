"""What the events of a stream say."""

from __future__ import annotations

from collections.abc import Iterable

from resay.providers.apis import Api, Event


def is_unread(api: Api, event: Event) -> bool:
    """Return whether an event contains something that cannot be parsed."""
    return any(chunk.unread for _, chunk in api.chunks(event))


def words_of(api: Api, events: Iterable[Event]) -> str:
    """Return the texts of all answers in the events of a stream, one after the other."""
    parts: dict[int, list[str]] = {}
    for event in events:
        for index, chunk in api.chunks(event):
            parts.setdefault(index, []).append(chunk.text)
    return "\n".join("".join(texts) for texts in parts.values())


class SeenEvents:
    """The events of a stream so far, each with its part of the first answer's text.

    Each event is parsed once (tests/performance/gateway_cpu.py), however often its text is needed.

    Args:
        api: The API of the stream.
        events: The events; more may be appended to this list.
    """

    def __init__(self, api: Api, events: list[Event] | None = None) -> None:
        self.events: list[Event] = [] if events is None else events
        self._api = api
        self._texts: list[str] = []

    def add(self, event: Event, text: str) -> None:
        """Append an event whose text is known."""
        if len(self._texts) == len(self.events):
            self._texts.append(text)
        self.events.append(event)

    def text(self, position: int) -> str:
        """Return the text of the event at a position."""
        while len(self._texts) <= position:
            self._texts.append(answer_text(self._api, [self.events[len(self._texts)]]))
        return self._texts[position]

    @property
    def answer(self) -> str:
        """The text of all events."""
        return "".join([self.text(position) for position in range(len(self.events))])


def answer_text(api: Api, events: Iterable[Event]) -> str:
    """Return the text of the first answer in the events of a stream."""
    texts: list[str] = []
    for event in events:
        texts += (chunk.text for index, chunk in api.chunks(event) if index == 0)
    return "".join(texts)
