"""APIs that give one answer to a request, whose index is 0."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from resay.providers.apis.base import Body, Event, Outcome
from resay.providers.base import Chunk

__all__ = ["OneAnswerApi"]


class _Events(Protocol):
    """The module of an API's events, as far as it is called here."""

    def chunk_of(self, event: Event) -> Chunk: ...

    def opens_answer(self, event: Event) -> bool: ...

    def ends_answer(self, event: Event) -> bool: ...

    def tells_more(self, event: Event) -> bool: ...

    def silent_event(self, event: Event) -> Event | None: ...

    def saying_events(self, seen: Sequence[Event], said: str) -> list[Event]: ...

    def noting_events(self, seen: Sequence[Event], said: str) -> list[Event]: ...

    def ending_events(self, held: Sequence[Event], outcome: Outcome | None) -> list[Event]: ...

    def closing_events(
        self, seen: Sequence[Event], shown: str, outcome: Outcome
    ) -> list[Event]: ...


class OneAnswerApi(ABC):
    """What such APIs have in common; `Api` says what each method is for.

    A subclass names the module of its events and the field of a response that holds the verdict.
    """

    _events: _Events
    _key: str
    takes_n = False

    def answered(self, response: Body, outcomes: Sequence[Outcome]) -> Body:
        """Return a response with its verdict, and without an answer that is replaced."""
        (outcome,) = outcomes
        if outcome.message is None:
            return {**response, self._key: outcome.data}
        return self._replaced(response, outcome.message, outcome)

    @abstractmethod
    def _replaced(self, response: Body, message: str, outcome: Outcome) -> Body:
        """Return a response that says a message and no word of the answer, with its verdict."""

    def chunks(self, event: Event) -> tuple[tuple[int, Chunk], ...]:
        """Return what an event adds to the answer."""
        return ((0, self._events.chunk_of(event)),)

    def ends(self, event: Event) -> bool:
        """Return whether an event ends the answer."""
        return self._events.ends_answer(event)

    def tells_more(self, event: Event) -> bool:
        """Return whether an event has words that are no text of the answer."""
        return self._events.tells_more(event)

    def framed(self, event: Event) -> Event | None:
        """Return the event that opens a stream, which has no word of the answer, if it is one."""
        return event if self._events.opens_answer(event) else None

    def silent(self, event: Event) -> Event | None:
        """Return an event without the text it adds; None where nothing is left of it."""
        return self._events.silent_event(event)

    def saying(self, seen: Sequence[Event], text: str, *, whole: bool = False) -> list[Event]:
        """Return events that add a text to the answer."""
        say = self._events.noting_events if whole else self._events.saying_events
        return say(seen, text)

    def ending(self, held: Iterable[Event], outcomes: Mapping[int, Outcome]) -> list[Event]:
        """Return the last events of a stream with their verdict."""
        return self._events.ending_events(list(held), outcomes.get(0))

    def closing(self, seen: Sequence[Event], shown: str, outcome: Outcome) -> list[Event]:
        """Return the events that close a stream whose answer, or its end, is replaced."""
        return self._events.closing_events(seen, shown, outcome)

    def apart(self, event: Event) -> list[tuple[int, Event]]:
        """Return the event, which is of the only answer."""
        return [(0, event)]

    def together(self, event: Event, place: int) -> Event:
        """Return the event, which is of the only answer."""
        del place
        return event

    def placed(self, event: Event, position: int) -> Event:
        """Return the event: only some APIs number theirs."""
        del position
        return event
