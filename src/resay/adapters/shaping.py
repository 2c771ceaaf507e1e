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

# Cost for `compute` of an event, in characters, and the characters that most events have.
_EVENT_COST, _CHARS_OF_EVENT = 250, 4


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

    They are the provider's own, in their order. If text is passed on as it arrives, they are sent
    up to the one that ends the answer, which gets the verdict. If text is held, they are sent as
    far as their text is released, cut where that ends within one of them; what follows comes with
    the end. A rewritten answer is sent at the end, in place of everything not sent yet.

    Args:
        api: The API of the stream.
        seen: The provider's events so far, which their reader appends to.
        can_change: Whether the rest of a partly sent answer may be withheld or rewritten. Then no
            words are sent before the end but the released text: others may be those withheld.
    """

    def __init__(self, api: Api, seen: list[Event], *, can_change: bool = False) -> None:
        self._api = api
        self._all = seen
        self._can_change = can_change
        self._held: list[Event] = []
        self._passes_on = False
        self._passed_on = 0
        self._events_seen = 0
        self._chars_seen = 0
        self._given = 0
        # The next event to send, and how much of its text was sent.
        self._position = 0
        self._offset = 0
        self._sent: list[Event] = []
        self._remainders: list[Event] = []
        self._shown_parts: list[str] = []
        self._shown_chars = 0
        self._waits = False
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

    def cost(self, item: Part | Answer) -> int:
        """Return what `of` costs, in characters for `compute`."""
        events = len(self._all) - self._position
        if isinstance(item, Part) and self._sent:
            # The rest waits for later parts.
            events = min(events, len(item.text) // _CHARS_OF_EVENT)
        return _EVENT_COST * events

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
        if self._sent:
            return self.of(Part(said[max(self._shown_chars - before, 0) :]))
        if self._events_seen <= self._passed_on:
            return []
        return self.of(Part(said, chunk=Chunk(said, raw=event)))

    def _part(self, part: Part) -> list[Event]:
        if part.chunk is not None:
            self._passes_on = True
            event = part.chunk.raw
            return self._passed(event) if isinstance(event, Event) else []
        if part.notice:
            return self._say(part.text) if part.text else []
        # The answer follows at once, with all of a rewritten text.
        return [] if part.rewritten else self._release(part.text)

    def _passed(self, event: Event) -> list[Event]:
        self._passed_on += 1
        if self._held or self._api.ends(event):
            self._held.append(event)
            return []
        return [event]

    def _release(self, text: str) -> list[Event]:
        """Return the provider's events with the next part of the answer's text."""
        if text and not self._shown_chars and self._is_all(text):
            # Nothing is decided later: it is the whole answer.
            whole = self._own_events()
            self._add_shown(text)
            self._sent += whole
            return whole
        events: list[Event] = []
        # Events without text that are sent once the text after them is released.
        leading: list[Event] = []
        end = self._end
        position, left = self._position, len(text)
        while position < end and not self._waits:
            event = self._all[position]
            own = len(_text(self._api, [event]))
            if self._can_change and not self._is_plain(event):
                # The released text after it waits for the end too.
                self._waits = True
            elif not own:
                leading.append(event)
                position += 1
                if not self._can_change:
                    events += self._commit(leading, position)
            elif not left:
                break
            else:
                stop = min(self._offset + left, own)
                left -= stop - self._offset
                events += self._commit(leading, position)
                events.append(self._piece(event, stop, is_whole=stop == own))
                if stop < own:
                    self._offset = stop
                    break
                position += 1
                self._position, self._offset = position, 0
        self._sent += events
        return events

    def _commit(self, leading: list[Event], position: int) -> list[Event]:
        """Return events without text for sending, those before a position."""
        events = [self._piece(event, 0, is_whole=True) for event in leading]
        leading.clear()
        self._position = max(self._position, position)
        return events

    def _piece(self, event: Event, stop: int, *, is_whole: bool) -> Event:
        """Return an event with its text from where it was sent to, as far as it may be sent."""
        start = self._offset if stop else 0
        self._add_shown(_text(self._api, [event])[start:stop])
        if self._can_change:
            remainder = self._api.remainder(event) if is_whole else None
            self._remainders += [] if remainder is None else [remainder]
            return _written_anew(self._api.released(event, start, stop))
        return self._api.rest(event, start) if is_whole else self._api.released(event, start, stop)

    def _add_shown(self, text: str) -> None:
        self._shown_parts.append(text)
        self._shown_chars += len(text)

    @property
    def _shown(self) -> str:
        """The part of the answer's text that was sent."""
        return "".join(self._shown_parts)

    def _is_plain(self, event: Event) -> bool:
        """Return whether an event has no words but the answer's text."""
        if self._api.has_other_words(event):
            return False
        for _, chunk in self._api.chunks(event):
            if chunk.unread or chunk.calls or (chunk.repeats and not self._repeats_shown(chunk)):
                return False
        return True

    def _repeats_shown(self, chunk: Chunk) -> bool:
        _, repeated = chunk.repeats or ("", "")
        # Some providers trim the text they repeat.
        return "".join(repeated.split()) in "".join(self._shown.split())

    def _own_events(self) -> list[Event]:
        """Return the rest of the provider's events before the end of the answer."""
        events, self._remainders = self._remainders, []
        if self._position < self._end:
            first = self._all[self._position]
            events = [*events, self._api.rest(first, self._offset)]
            events += self._all[self._position + 1 : self._end]
        self._position, self._offset = max(self._position, self._end), 0
        return events

    def _say(self, text: str) -> list[Event]:
        """Return the events that add a text of our own."""
        if self._passes_on:
            return self._api.saying(self._all, text, whole=True)
        events = [*self._open()]
        events += self._api.saying([*self._sent, *events], text)
        self._sent += events
        return events

    def _open(self) -> list[Event]:
        """Return the frame of the event that opens the stream, unless something was sent."""
        frame = None if self._sent or not self._all else self._api.opening_frame(self._all[0])
        return [] if frame is None else [_written_anew(frame)]

    @property
    def _end(self) -> int:
        """The position where the answer ends. Each event is examined once."""
        while self._ended_at is None and self._scanned < len(self._all):
            if self._api.ends(self._all[self._scanned]):
                self._ended_at = self._scanned
            self._scanned += 1
        return len(self._all) if self._ended_at is None else self._ended_at

    def _is_all(self, text: str) -> bool:
        """Return whether a text is the whole answer, so that its own events can be sent."""
        return self._end < len(self._all) and text == _text(self._api, self._all)

    def _last(self, answer: Answer, outcome: Outcome) -> list[Event]:
        if self._passes_on:
            return self._api.ending(self._held, {0: outcome})
        ends = self._all[self._end :]
        if outcome.message is None:
            return [*self._own_events(), *self._api.ending(ends, {0: outcome})]
        unsaid = answer.text.removeprefix(self._shown) if answer.regenerated else ""
        events = self._say(unsaid) if unsaid else self._open()
        if not unsaid:
            self._sent += events
        return [*events, *self._api.closing(self._sent, ends, outcome)]


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


def words_of(api: Api, events: Iterable[Event]) -> str:
    """Return the texts of all answers in the events of a stream, one after the other."""
    parts: dict[int, list[str]] = {}
    for event in events:
        for index, chunk in api.chunks(event):
            parts.setdefault(index, []).append(chunk.text)
    return "\n".join("".join(texts) for texts in parts.values())


def _text(api: Api, events: Iterable[Event]) -> str:
    chunks = (chunk for event in events for index, chunk in api.chunks(event) if index == 0)
    return "".join(chunk.text for chunk in chunks)
