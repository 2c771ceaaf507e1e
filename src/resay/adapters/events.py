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


def answer_text(api: Api, events: Iterable[Event]) -> str:
    """Return the text of the first answer in the events of a stream."""
    texts: list[str] = []
    for event in events:
        texts += (chunk.text for index, chunk in api.chunks(event) if index == 0)
    return "".join(texts)
