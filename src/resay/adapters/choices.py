"""The answers of one stream: the choices."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from resay.adapters.events import SeenEvents
from resay.adapters.stream_rewriter import StreamRewriter
from resay.adapters.verdicts import NO_ANSWER
from resay.core.reasoning import notice_after
from resay.engine.actions import Answer
from resay.engine.answer_chunk import AnswerChunk, chunks_of
from resay.providers.apis import Api, Body, Event, Outcome
from resay.providers.base import Completion, Gathered


class ChoiceStream:
    """One of several answers in a stream."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._seen = SeenEvents(api)
        self._rewriter = StreamRewriter(api, self._seen)
        self._gathered = Gathered()

    def add(self, event: Event, *, passes_on: bool) -> list[Event]:
        """Add an event of this answer; return the events to send now."""
        chunks = self._api.chunks(event)
        self._seen.add(event, "".join([chunk.text for index, chunk in chunks if index == 0]))
        events: list[Event] = []
        for _, chunk in chunks:
            self._gathered.add(chunk)
            if passes_on:
                events += self._rewriter.of(AnswerChunk(chunk.text, provider_chunk=chunk))
        return events

    @property
    def completion(self) -> Completion:
        """The answer as far as it arrived."""
        completion = self._gathered.completion
        if completion.text or completion.calls or completion.finish_reason or completion.unread:
            return completion
        return replace(completion, unread=NO_ANSWER)

    def end(
        self, answer: Answer, outcome: Outcome | None = None, *, passed_on: bool
    ) -> list[Event]:
        """Return the events to send once the answer is checked."""
        events: list[Event] = []
        parts: list[AnswerChunk] = []
        if not passed_on:
            self._rewriter = StreamRewriter(self._api, self._seen, has_marks=bool(answer.marks))
            parts = chunks_of(answer)
        elif answer.blocked:
            notice = notice_after(self._gathered.text, answer.message)
            parts = [AnswerChunk(notice, is_replacement=True)]
        else:
            parts = [AnswerChunk.of_mark(mark) for mark in answer.marks]
        for part in parts:
            events += self._rewriter.of(part)
        return events + self._rewriter.of(answer, outcome)


class UnfinishedChoices:
    """Track which choices of a stream are unfinished: litellm reports at most one as finished."""

    def __init__(self) -> None:
        self._started: dict[int, Any] = {}
        self._finished: set[int] = set()

    def note(self, choices: Iterable[Body], about: Any = None) -> None:
        """Record the choices in an event.

        Args:
            choices: The choices.
            about: A value to store for choices seen first here; None for the choice itself.
        """
        for choice in choices:
            self._started.setdefault(choice["index"], about or choice)
            if choice.get("finish_reason"):
                self._finished.add(choice["index"])

    def unfinished(self) -> list[tuple[int, Any]]:
        """Return the unfinished choices by index, with their stored values."""
        items = sorted(self._started.items())
        return [(index, value) for index, value in items if index not in self._finished]


class FirstOfStream:
    """The first answer of a stream, separated from additional answers that nobody requested.

    Args:
        api: The API of the stream.
        events: The stream, in groups of events that arrived together. It is closed at the end.

    Attributes:
        others: The other answers by their index, as far as they arrived.
    """

    def __init__(
        self,
        api: Api,
        events: AsyncGenerator[Sequence[Event]],
    ) -> None:
        self._api = api
        self._events = events
        self._index: int | None = None
        self.others: dict[int, ChoiceStream] = {}

    async def events(self) -> AsyncGenerator[Event]:
        """Yield the events of this answer as if it were the only one, and the common events."""
        async with aclosing(self._events):
            async for group in self._events:
                for event in group:
                    for own_event in self._own(event):
                        yield own_event

    def _own(self, event: Event) -> list[Event]:
        """Return an event's parts about this answer; store those about others with them."""
        parts = self._api.split(event)
        if not parts:
            return [event]
        own: list[Event] = []
        for index, part in parts:
            if self._index is None:
                self._index = index
            if index == self._index:
                own.append(event if len(parts) == 1 and index == 0 else part)
            else:
                other = self.others.setdefault(index, ChoiceStream(self._api))
                other.add(part, passes_on=False)
        return own

    def with_index(self, event: Event) -> Event:
        """Turn an event of a sole answer into one of this answer."""
        return self._api.with_index(event, self._index) if self._index else event
