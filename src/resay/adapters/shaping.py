"""Convert a guarded stream to the events of the client's API."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from resay.adapters.policies import NO_ANSWER, VerdictDetail, verdict_data
from resay.core.reasoning import notice_after
from resay.core.usage import Usage, last_reported
from resay.core.verdict import Verdict
from resay.engine.actions import Answer
from resay.engine.stream import Part
from resay.providers.apis import Api, Body, Event, Outcome
from resay.providers.base import Chunk, Completion, Gathered


def outcome_of(
    answer: Answer,
    *,
    stops: bool = False,
    shows_draft: bool = True,
    detail: VerdictDetail = "full",
) -> Outcome:
    """Return the outcome of an answer in the form that the APIs accept.

    Args:
        answer: The answer.
        stops: Whether a withheld answer ends like a completed one.
        shows_draft: Whether the verdict on a regenerated answer contains the text that it replaces.
        detail: How much of the verdict to tell.
    """
    verdict = answer.verdict
    if verdict.regeneration is not None and answer.regenerated and not shows_draft:
        verdict = replace(verdict, regeneration=verdict.regeneration.without_draft())
    data = verdict_data(verdict, answer.action, detail=detail)
    replaced = answer.blocked or answer.regenerated
    text = answer.text if replaced else None
    return Outcome(data, text, complete=answer.regenerated, stops=stops)


def unchecked_outcome(reason: str, detail: VerdictDetail = "full") -> Outcome:
    """Return the outcome of an answer that is not checked."""
    return Outcome(verdict_data(Verdict("skipped", None, reason), "allow", detail=detail))


def unchecked_answer(reason: str, usage: Usage) -> Answer:
    """Return the report of an answer that is not checked, without its words.

    Args:
        reason: Why it is not checked.
        usage: Its tokens and cost.
    """
    return Answer("", "", "allow", Verdict("skipped", None, reason), usage)


def is_unread(api: Api, event: Event) -> bool:
    """Return whether an event contains something that cannot be parsed."""
    return any(chunk.unread for _, chunk in api.chunks(event))


def usage_of(api: Api, events: Sequence[Event]) -> Usage:
    """Return the tokens and cost that the events of a stream report."""
    usage = last_reported(chunk.usage for event in events for _, chunk in api.chunks(event))
    return Usage(1, cost_usd=None) if usage is None else usage


class Shaping:
    """Produce the events of one stream.

    If text is passed on as it arrives, the provider's own events are, up to the one that ends the
    answer, which gets the verdict. If text is held, its sentences are sent as they are released,
    and everything else the model said with the end. A rewritten answer is sent at the end, in place
    of everything not sent yet.

    Args:
        api: The API of the stream.
        seen: The provider's events so far, which their reader appends to.
        can_change: Whether the rest of a partly sent answer may be withheld or rewritten.
    """

    def __init__(self, api: Api, seen: list[Event], *, can_change: bool = False) -> None:
        self._api = api
        self._all = seen
        self._hides_output = False
        self._can_change = can_change
        self._held: list[Event] = []
        self._passes_on = False
        self._passed_on = 0
        self._events_seen = 0
        self._chars_seen = 0
        self._given = 0
        self._shown = ""
        self._rewritten = ""
        self._opening = 0
        self._whole = False
        self._scanned = 0
        self._ended_at: int | None = None

    def of(self, item: Part | Answer, outcome: Outcome | None = None) -> list[Event]:
        """Return the events for a part of the answer, or for its end.

        Args:
            item: The part, or the answer.
            outcome: The answer's outcome, if it is known already.
        """
        if isinstance(item, Answer):
            events = self._last(item, outcome or outcome_of(item))
        else:
            events = self._part(item)
        numbered = [self._api.numbered(event, self._given + i) for i, event in enumerate(events)]
        self._given += len(numbered)
        return numbered

    @property
    def text(self) -> str:
        """The text that was sent so far."""
        return _text(self._api, self._all) if self._passes_on else self._shown

    def unchecked_events(self, event: Event) -> list[Event]:
        """Return the events to send for an event after the check was aborted.

        Args:
            event: The next of the stream's events, starting from the first.
        """
        before, said = self._chars_seen, _text(self._api, [event])
        self._events_seen += 1
        self._chars_seen += len(said)
        if self._shown:
            return self.of(Part(said[max(len(self._shown) - before, 0) :]))
        if self._events_seen <= self._passed_on:
            return []
        return self.of(Part(said, chunk=Chunk(said, raw=event)))

    def _part(self, part: Part) -> list[Event]:
        if part.chunk is not None:
            self._passes_on = True
            event = part.chunk.raw
            return self._passed(event) if isinstance(event, Event) else []
        if not part.text:
            return []
        if part.rewritten:
            # The answer follows at once, and says whether this is all of it.
            self._rewritten += part.text
            return []
        if not part.notice and not self._shown and self._is_all(part.text):
            self._whole = True
            self._shown = part.text
            return self._seen[: self._end]
        if not (part.notice or self._shown) and self._waits():
            return []
        return self._say(part.text, alone=part.notice)

    def _say(self, text: str, *, alone: bool) -> list[Event]:
        """Return the events that add a text.

        Args:
            text: The text.
            alone: Whether it is sent without the model's output before it, unless some was sent.
        """
        opening: list[Event] = []
        if not (self._shown or self._passes_on):
            self._hides_output = alone
            opening = self._open()
        self._shown += text
        return [*opening, *self._api.saying(self._seen, text, whole=self._passes_on)]

    def _passed(self, event: Event) -> list[Event]:
        self._passed_on += 1
        if self._held or self._api.ends(event):
            self._held.append(event)
            return []
        return [event]

    @property
    def _seen(self) -> list[Event]:
        """The events so far; only the opening frame if nothing of the answer is shown.

        Its tool calls or reasoning may be the very content that is withheld.
        """
        if not self._hides_output:
            return self._all
        frames = (self._api.opening_frame(event) for event in self._all[:1])
        frame = [_written_anew(event) for event in frames if event is not None]
        return [*frame, *self._all[max(self._end_of_all, 1) :]]

    @property
    def _end(self) -> int:
        """The position in `_seen` where the answer ends."""
        if not self._hides_output:
            return self._end_of_all
        ends = (place for place, event in enumerate(self._seen) if self._api.ends(event))
        return next(ends, len(self._seen))

    @property
    def _end_of_all(self) -> int:
        """The position among all events where the answer ends. Each event is examined once."""
        while self._ended_at is None and self._scanned < len(self._all):
            if self._api.ends(self._all[self._scanned]):
                self._ended_at = self._scanned
            self._scanned += 1
        return len(self._all) if self._ended_at is None else self._ended_at

    def _is_all(self, text: str) -> bool:
        """Return whether a text is the whole answer, so that its own events can be sent."""
        return self._end < len(self._seen) and text == _text(self._api, self._seen)

    def _waits(self) -> bool:
        """Return whether the answer is sent as a whole, because of the events before its text.

        Reasoning may contain the words that are kept out of the text later, and so may parts that
        cannot be parsed.
        """
        return self._can_change and any(
            self._api.has_other_words(event) or is_unread(self._api, event)
            for event in self._seen[: self._first]
        )

    @property
    def _first(self) -> int:
        """The end of the events up to and including the one with the first word."""
        said = (place for place, event in enumerate(self._seen) if self._says(event))
        # The event with the first word may also open the answer.
        return min(next(said, len(self._seen)) + 1, self._end)

    def _open(self) -> list[Event]:
        """Return the model's output before its first word."""
        self._opening = self._first
        return self._quiet(self._seen[: self._opening])

    def _says(self, event: Event) -> bool:
        chunks = [chunk for index, chunk in self._api.chunks(event) if index == 0]
        return any(chunk.text or chunk.calls for chunk in chunks)

    def _quiet(self, events: Iterable[Event]) -> list[Event]:
        quiet = (self._api.without_text(event) for event in events)
        kept = [event for event in quiet if event is not None]
        return [_written_anew(event) for event in kept] if self._can_change else kept

    def _last(self, answer: Answer, outcome: Outcome) -> list[Event]:
        if self._passes_on:
            return self._api.ending(self._held, {0: outcome})
        if outcome.message is not None:
            said = self._rewritten if self._shown else answer.text
            unsaid = self._say(said, alone=True) if said and answer.regenerated else []
            return [*unsaid, *self._api.closing(self._seen, self._shown, outcome)]
        before, after = self._seen[self._opening : self._end], self._seen[self._end :]
        if self._whole:
            before = []
        elif self._shown:
            before, after = self._quiet(before), self._quiet(after)
        return [*before, *self._api.ending(after, {0: outcome})]


def _written_anew(event: Event) -> Event:
    """Return an event without its bytes, where a field may occur twice of which one is read."""
    return Event(event.data, event.name)


class PassedOn:
    """Pass on an answer that is not checked, and say so at its end."""

    def __init__(self, api: Api, reason: str, detail: VerdictDetail = "full") -> None:
        self._api = api
        self._outcome = unchecked_outcome(reason, detail)
        self._places: set[int] = set()
        self._reports: list[Usage] = []
        self._held: list[Event] = []

    def of(self, event: Event) -> list[Event]:
        """Return the events to send for an event."""
        for place, _ in self._api.split(event):
            self._places.add(place)
        self._reports += [chunk.usage for _, chunk in self._api.chunks(event) if chunk.usage]
        if self._held or self._api.ends(event):
            self._held.append(event)
            return []
        return [event]

    @property
    def usage(self) -> Usage:
        """The tokens and cost, complete after the last event."""
        return last_reported(self._reports) or Usage(1, cost_usd=None)

    def last(self) -> list[Event]:
        """Return the events to send after the last event."""
        return self._api.ending(self._held, dict.fromkeys(self._places, self._outcome))


class OneOfSeveral:
    """One of several answers in a stream."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._seen: list[Event] = []
        self._shaping = Shaping(api, self._seen)
        self._gathered = Gathered()

    def add(self, event: Event, *, passes_on: bool) -> list[Event]:
        """Add an event of this answer; return the events to send now."""
        self._seen.append(event)
        given: list[Event] = []
        for _, chunk in self._api.chunks(event):
            self._gathered.add(chunk)
            if passes_on:
                given += self._shaping.of(Part(chunk.text, chunk=chunk))
        return given

    @property
    def completion(self) -> Completion:
        """The answer as far as it arrived."""
        found = self._gathered.completion
        answered = found.text or found.calls or found.finish_reason
        return found if answered or found.unread else replace(found, unread=NO_ANSWER)

    def end(
        self, answer: Answer, outcome: Outcome | None = None, *, passed_on: bool
    ) -> list[Event]:
        """Return the events to send once the answer is checked."""
        said = answer.text
        if passed_on and answer.blocked:
            said = notice_after(self._gathered.text, said)
        part = Part(said, notice=answer.blocked, rewritten=answer.regenerated)
        first = [] if passed_on and not answer.blocked else self._shaping.of(part)
        return [*first, *self._shaping.of(answer, outcome)]


class UnfinishedChoices:
    """Track which choices of a stream are unfinished: litellm reports at most one as finished."""

    def __init__(self) -> None:
        self._begun: dict[int, Any] = {}
        self._ended: set[int] = set()

    def note(self, choices: Iterable[Body], about: Any = None) -> None:
        """Record the choices in an event.

        Args:
            choices: The choices.
            about: A value to store for choices seen first here; None for the choice itself.
        """
        for choice in choices:
            self._begun.setdefault(choice["index"], about or choice)
            if choice.get("finish_reason"):
                self._ended.add(choice["index"])

    def rest(self) -> list[tuple[int, Any]]:
        """Return the unfinished choices, with their stored values."""
        return [item for item in sorted(self._begun.items()) if item[0] not in self._ended]


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
        self._place: int | None = None
        self.others: dict[int, OneOfSeveral] = {}

    async def events(self) -> AsyncGenerator[Event]:
        """Yield the events of this answer as if it were the only one, and the common events."""
        async with aclosing(self._events):
            async for group in self._events:
                for event in group:
                    for own in self._own(event):
                        yield own

    def _own(self, event: Event) -> list[Event]:
        """Return an event's parts about this answer; store those about others with them."""
        parts = self._api.split(event)
        if not parts:
            return [event]
        found: list[Event] = []
        for place, own in parts:
            self._place = place if self._place is None else self._place
            if place == self._place:
                found.append(event if len(parts) == 1 and place == 0 else own)
            else:
                kept = self.others.setdefault(place, OneOfSeveral(self._api))
                kept.add(own, passes_on=False)
        return found

    def with_index(self, event: Event) -> Event:
        """Turn an event of a sole answer into one of this answer."""
        return self._api.with_index(event, self._place or 0)


def _text(api: Api, events: Iterable[Event]) -> str:
    chunks = (chunk for event in events for index, chunk in api.chunks(event) if index == 0)
    return "".join(chunk.text for chunk in chunks)
