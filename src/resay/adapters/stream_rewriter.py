"""Rewrites a stream as far as its answer is released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from resay.adapters.events import SeenEvents, answer_text
from resay.adapters.outcomes import outcome_of
from resay.core.marks import Mark
from resay.engine.actions import Answer
from resay.engine.answer_chunk import AnswerChunk
from resay.providers.apis import Api, Event, Outcome
from resay.providers.base import Chunk

# Cost for `compute` of an event, in characters, and the characters that most events have.
_EVENT_COST, _CHARS_OF_EVENT = 250, 4


class StreamRewriter:
    """Produce the events of one stream.

    They are the provider's own, in their order. If text is passed on as it arrives, they are sent
    up to the one that ends the answer, which gets the verdict. If text is held, they are sent as
    far as their text is released, cut where that ends within one of them; what follows comes with
    the end. A rewritten answer is sent at the end, in place of everything not sent yet. Marks are
    events of their own, between those with the text around them.

    Args:
        api: The API of the stream.
        seen: The provider's events so far, which their reader adds to.
        can_change: Whether the rest of a partly sent answer may be withheld or rewritten. Then no
            words are sent before the end but the released text: others may be those withheld.
        has_marks: Whether marks may stand in the text. Then nothing that follows it is sent before
            it is known whether a mark does.
    """

    def __init__(
        self, api: Api, seen: SeenEvents, *, can_change: bool = False, has_marks: bool = False
    ) -> None:
        self._api = api
        self._seen = seen
        self._events = seen.events
        self._can_change = can_change
        self._has_marks = has_marks
        self._marks: list[Mark] = []
        # Where text is passed on as it arrives: the event that ends the answer, and those after it.
        self._last_events: list[Event] = []
        self._passes_on = False
        self._passed_count = 0
        # Where the check was aborted: the provider's events and their text so far.
        self._unchecked_count = 0
        self._unchecked_chars = 0
        self._sent_count = 0
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

    def of(self, item: AnswerChunk | Answer, outcome: Outcome | None = None) -> list[Event]:
        """Return the events for a part of the answer, or for its end.

        Args:
            item: The part, or the answer.
            outcome: The answer's outcome, if it is known already.
        """
        if isinstance(item, Answer):
            events = self._last(item, outcome or outcome_of(item))
        else:
            events = self._part(item)
        numbered: list[Event] = []
        for event in events:
            numbered.append(self._api.numbered(event, self._sent_count))
            self._sent_count += 1
        return numbered

    def cost(self, item: AnswerChunk | Answer) -> int:
        """Return what `of` costs, in characters for `compute`."""
        events = len(self._events) - self._position
        if isinstance(item, AnswerChunk) and self._sent:
            # The rest waits for later parts.
            events = min(events, len(item.text) // _CHARS_OF_EVENT)
        return _EVENT_COST * events

    @property
    def text(self) -> str:
        """The text that was sent so far."""
        return self._seen.answer if self._passes_on else self._shown

    def unchecked_events(self, event: Event) -> list[Event]:
        """Return the events to send for an event after the check was aborted.

        Args:
            event: The next of the stream's events, starting from the first.
        """
        text = answer_text(self._api, [event])
        start = self._unchecked_chars
        self._unchecked_count += 1
        self._unchecked_chars += len(text)
        if self._sent:
            return self.of(AnswerChunk(text[max(self._shown_chars - start, 0) :]))
        if self._unchecked_count <= self._passed_count:
            return []
        return self.of(AnswerChunk(text, provider_chunk=Chunk(text, raw=event)))

    def _part(self, part: AnswerChunk) -> list[Event]:
        if part.provider_chunk is not None:
            self._passes_on = True
            event = part.provider_chunk.raw
            return self._pass_on(event) if isinstance(event, Event) else []
        if part.is_replacement:
            return self._add(part.text) if part.text else []
        if part.mark is not None:
            return self._add_mark(part.mark)
        # The answer follows at once, with all of a rewritten text.
        return [] if part.rewritten else self._release(part.text)

    def _pass_on(self, event: Event) -> list[Event]:
        self._passed_count += 1
        if self._last_events or self._api.ends(event):
            self._last_events.append(event)
            return []
        return [event]

    def _release(self, text: str) -> list[Event]:
        """Return the provider's events with the next part of the answer's text."""
        events: list[Event] = []
        if text and not self._shown_chars and not self._has_marks and self._is_all(text):
            # Nothing is decided later: it is the whole answer.
            events = self._unsent_events()
            self._add_shown(text)
            self._sent += events
            return events
        # Events without text that are sent once the text after them is released.
        leading: list[Event] = []
        end = self._end
        position, chars_left = self._position, len(text)
        while position < end and not self._waits:
            event = self._events[position]
            length = len(self._seen.text(position))
            if self._can_change and not self._is_plain(event):
                # The released text after it waits for the end too.
                self._waits = True
            elif not chars_left and (length or (self._has_marks and self._shown_chars)):
                break
            elif not length:
                leading.append(event)
                position += 1
                if not self._can_change:
                    events += self._commit(leading, position)
            else:
                stop = min(self._offset + chars_left, length)
                chars_left -= stop - self._offset
                events += self._commit(leading, position)
                shown = self._seen.text(position)[self._offset : stop]
                events.append(self._piece(event, shown, stop, is_whole=stop == length))
                if stop < length:
                    self._offset = stop
                    break
                position += 1
                self._position, self._offset = position, 0
        self._sent += events
        return events

    def _commit(self, leading: list[Event], position: int) -> list[Event]:
        """Return events without text for sending, those before a position."""
        events = [self._piece(event, "", 0, is_whole=True) for event in leading]
        leading.clear()
        self._position = max(self._position, position)
        return events

    def _piece(self, event: Event, text: str, stop: int, *, is_whole: bool) -> Event:
        """Return an event with its text from where it was sent to, as far as it may be sent.

        Args:
            event: The event.
            text: That part of its text.
            stop: Where it ends in the event's text; 0 if that is empty.
            is_whole: Whether it reaches to the end of the event's text.
        """
        start = self._offset if stop else 0
        self._add_shown(text)
        if self._can_change:
            remainder = self._api.remainder(event) if is_whole else None
            self._remainders += [] if remainder is None else [remainder]
            return _reencoded(self._with_marks(self._api.released(event, start, stop)))
        piece = self._api.rest(event, start) if is_whole else self._api.released(event, start, stop)
        return self._with_marks(piece)

    def _with_marks(self, event: Event) -> Event:
        """Return an event with marks in the text that it repeats, all of which was sent."""
        if not self._marks:
            return event
        return self._api.marked_event(event, self._marks, self._shown_chars)

    def _add_mark(self, mark: Mark) -> list[Event]:
        """Return the events of a mark; none if the text before it waits for the end."""
        if not self._passes_on and mark.position > self._shown_chars:
            return []
        self._marks.append(mark)
        return self._add(mark.text)

    def _marked(self, events: Sequence[Event], marks: Sequence[Mark]) -> list[Event]:
        """Return the rest of the stream's events with the marks that were not sent yet."""
        marked: list[Event] = []
        waiting = list(marks[len(self._marks) :])
        for event in events:
            offset, length = 0, len(answer_text(self._api, [event]))
            start = self._shown_chars
            while waiting and length and waiting[0].position <= start + length:
                mark = waiting.pop(0)
                stop = mark.position - start
                if stop > offset:
                    marked.append(self._api.released(event, offset, stop))
                    offset = stop
                marked += self._api.saying([*self._sent, *marked], mark.text)
                self._marks.append(mark)
            self._shown_chars += length
            if not length:
                event = self._with_marks(event)
            elif offset:
                event = self._api.rest(event, offset)
            marked.append(event)
        return marked

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

    def _unsent_events(self) -> list[Event]:
        """Return the rest of the provider's events before the end of the answer."""
        events, self._remainders = self._remainders, []
        end = self._end
        if self._position < end:
            first = self._events[self._position]
            events = [*events, self._api.rest(first, self._offset)]
            events += self._events[self._position + 1 : end]
        self._position, self._offset = max(self._position, end), 0
        return events

    def _add(self, text: str) -> list[Event]:
        """Return the events that add a text of our own."""
        if self._passes_on:
            return self._api.saying(self._events, text, whole=True)
        events = self._open()
        events += self._api.saying([*self._sent, *events], text)
        self._sent += events
        return events

    def _open(self) -> list[Event]:
        """Return the frame of the event that opens the stream, unless something was sent."""
        frame = None if self._sent or not self._events else self._api.opening_frame(self._events[0])
        return [] if frame is None else [_reencoded(frame)]

    @property
    def _end(self) -> int:
        """The position where the answer ends. Each event is examined once."""
        while self._ended_at is None and self._scanned < len(self._events):
            if self._api.ends(self._events[self._scanned]):
                self._ended_at = self._scanned
            self._scanned += 1
        return len(self._events) if self._ended_at is None else self._ended_at

    def _is_all(self, text: str) -> bool:
        """Return whether a text is the whole answer, so that its own events can be sent."""
        return self._end < len(self._events) and text == self._seen.answer

    def _last(self, answer: Answer, outcome: Outcome) -> list[Event]:
        if self._passes_on:
            return self._api.ending(self._last_events, {0: outcome})
        last = self._events[self._end :]
        if outcome.message is None:
            unmarked = replace(outcome, marks=())
            events = [*self._unsent_events(), *self._api.ending(last, {0: unmarked})]
            return self._marked(events, outcome.marks) if outcome.marks else events
        unsent = answer.text.removeprefix(self._shown) if answer.regenerated else ""
        if unsent:
            events = self._add(unsent)
        else:
            events = self._open()
            self._sent += events
        return [*events, *self._api.closing(self._sent, last, outcome)]


def _reencoded(event: Event) -> Event:
    """Return an event without its bytes, where a field may occur twice of which one is read."""
    return Event(event.data, event.name)
