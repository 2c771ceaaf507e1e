"""The events of a streamed response of OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from resay.core.logprobs import read_logprobs
from resay.core.marks import Mark, with_marks
from resay.core.reasoning import notice_after
from resay.core.usage import Usage
from resay.providers.apis.base import OneAnswerApi, Outcome
from resay.providers.apis.events import Event
from resay.providers.apis.responses_output import (
    KEY,
    answer_text,
    attached_citations,
    call_of,
    elsewhere_in,
    empty_response,
    hosted_calls,
    incomplete_details,
    is_text,
    item_status,
    item_without_logprobs,
    local_id,
    marked_item,
    marked_part,
    marked_response,
    message_item,
    part_text,
    replaced_response,
    response_without_logprobs,
    retrieved_by_provider,
    stopped_by,
    text_part,
    unread_in,
    unread_in_response,
    unread_parts,
    usage_in,
)
from resay.providers.apis.values import (
    Body,
    listed,
    mapping,
    named,
    number,
    text,
    words_elsewhere,
)
from resay.providers.base import Chunk, ToolCall

# Those of events that are about no item, no part and no text.
_EVENT_FIELDS = frozenset(
    {
        "annotation",
        "code",
        "content_index",
        "error",
        "event_id",
        "item_id",
        "obfuscation",
        "output_index",
        "response",
        "response_id",
        "sequence_number",
        "type",
    }
)
_TEXT = "response.output_text.delta"
_PART = "response.content_part.added"
_ITEM = "response.output_item.added"
_ITEM_DONE = "response.output_item.done"
_PART_DONE = "response.content_part.done"
_TEXT_DONE = "response.output_text.done"
_REFUSAL = "response.refusal.delta"
_REFUSAL_DONE = "response.refusal.done"
_NOTE = "response.output_text.annotation.added"
# Events with deltas that are not text of the answer, apart from calls.
_OTHER_DELTAS = (
    "response.custom_tool",
    "response.mcp_",
    "response.output_text.",
    "response.reasoning_",
    "response.refusal.",
)
_ANSWERED = ("response.completed", "response.incomplete")
_LAST = frozenset({*_ANSWERED, "response.failed", "error"})
_OPENING = frozenset({"response.created", "response.in_progress", "response.queued"})
# Events that add text, repeat it, or say where it is from.
_TEXT_EVENTS = frozenset({_TEXT, _TEXT_DONE, _REFUSAL, _REFUSAL_DONE, _NOTE})
_MESSAGE: Mapping[str, Any] = {"type": "message"}
_ARGUMENTS = frozenset(
    {"response.custom_tool_call_input.delta", "response.function_call_arguments.delta"}
)


@dataclass(frozen=True, slots=True)
class _Position:
    """The position of a text: its item, and the part within it."""

    item_id: str
    output_index: int
    content_index: int = 0

    @property
    def data(self) -> dict[str, Any]:
        return {
            "item_id": self.item_id,
            "content_index": self.content_index,
            "output_index": self.output_index,
        }


class ResponsesStream(OneAnswerApi):
    """The streaming side of the Responses API."""

    def _chunk(self, event: Event) -> Chunk:
        """Return what an event adds to the answer."""
        body, response = event.body, mapping(event.body.get("response"))
        if _kind(event) not in _LAST:
            return Chunk(
                text=_text_in(event),
                logprobs=_logprobs_in(event),
                raw=event,
                calls=_calls_in(event),
                usage=self.event_usage(event),
                unread=_unread_in(event),
                repeats=_repeats_in(event),
                elsewhere=_elsewhere_in(event),
            )
        return Chunk(
            finish_reason=stopped_by(response) or text(body.get("type")),
            usage=self.event_usage(event),
            raw=event,
            unread=unread_in_response(response),
            repeats=(_kind(event), answer_text(response)),
            elsewhere=elsewhere_in(response),
            found=retrieved_by_provider(response),
            citations=attached_citations(response),
            ran=hosted_calls(response),
        )

    def event_usage(self, event: Event) -> Usage | None:
        """Return the tokens that the response in an event reports."""
        return usage_in(mapping(event.body.get("response")))

    def opening_frame(self, event: Event) -> Event | None:
        """Return the event if it opens a stream, with no words of the answer."""
        has_output = mapping(event.body.get("response")).get("output")
        return event if _kind(event) in _OPENING and not has_output else None

    def ends(self, event: Event) -> bool:
        """Return whether an event ends the answer."""
        return _kind(event) in _LAST

    def is_last(self, event: Event) -> bool:
        """Return whether an event is the last of a stream."""
        return _kind(event) in _ANSWERED

    def has_other_words(self, event: Event) -> bool:
        """Return whether an event has words outside the answer's text."""
        item, part = mapping(event.body.get("item")), mapping(event.body.get("part"))
        if item.get("type") == "reasoning":
            # Most models do not expose their reasoning.
            return bool(item.get("summary") or item.get("content"))
        if item:
            # A message that begins with its words has them before they are released.
            begins = _kind(event) == _ITEM and bool(item.get("content"))
            return begins or item.get("type") != "message"
        if part:
            return not is_text(part)
        if _kind(event) in _OPENING:
            return self.opening_frame(event) is None
        return _kind(event) not in _TEXT_EVENTS

    def released(self, event: Event, start: int, stop: int) -> Event:
        """Return an event with a part of the text it adds, and no other words."""
        if not _text_in(event):
            return event
        kind, position = _kind(event), _position(event.body)
        released = _text_in(event)[start:stop]
        if kind != _PART:
            return _delta(position, released, kind)
        part = mapping(event.body.get("part"))
        if start:
            return _delta(position, released, _delta_kind(part))
        return _event(_PART, **position.data, part=_part_with(part, released))

    def rest(self, event: Event, start: int) -> Event:
        """Return an event without the beginning of its text, which was released."""
        return self.released(event, start, len(_text_in(event))) if start else event

    def _text_events(self, events: Sequence[Event], added: str) -> list[Event]:
        """Return events that add a text to the part that is open, or as a part."""
        items = _items(events)
        item = items[-1] if items and not items[-1].is_done else None
        if item is None or not item.is_message:
            position = _next_position(events)
            return [*_opening(events), *_opening_message(position), _delta(position, added)]
        part = item.parts[-1] if item.parts else None
        if part is not None and not part.is_done:
            return [_delta(part.position, added, _delta_kind(part.data))]
        position = _Position(item.id, item.output_index, len(item.parts))
        return [_event(_PART, **position.data, part=text_part("")), _delta(position, added)]

    def _notice_events(self, events: Sequence[Event], notice: str) -> list[Event]:
        """Return events that add a message if the client received everything so far."""
        position = _next_position(events)
        return [
            *_opening(events),
            *_opening_message(position),
            _delta(position, notice),
            *_closing_message(position, notice, "completed"),
        ]

    def ending(self, held: Iterable[Event], outcomes: Mapping[int, Outcome]) -> list[Event]:
        """Return the last events with the verdict in their response."""
        outcome = outcomes.get(0)
        return [event if outcome is None else _with_outcome(event, outcome) for event in held]

    def closing(
        self, sent: Sequence[Event], ends: Sequence[Event], outcome: Outcome
    ) -> list[Event]:
        """Return the events that close a stream whose answer, or the end of it, is replaced."""
        status = item_status(outcome)
        closing: list[Event] = []
        output: list[Mapping[str, Any]] = []
        for item in _items(sent):
            closing += item.closing(status)
            output.append(item.whole(status))
        if not output:
            # Nothing replaces it.
            output = [message_item(_next_position(sent).item_id, status, [])]
        last = replaced_response(_response_in([*sent, *ends]), output, outcome)
        opening = [] if _is_open(sent) else [_created_event(last)]
        return [*opening, *closing, _event(f"response.{status}", response=last)]

    def marked_event(self, event: Event, marks: Sequence[Mark], end: int) -> Event:
        """Return an event with marks in the text that it repeats."""
        repeated = answer_text(mapping(event.body.get("response")))
        if _kind(event) not in _LAST:
            _, repeated = _repeats_in(event) or ("", "")
        start, body = end - len(repeated), dict(event.body)
        if not repeated or start < 0:
            return event
        for name in ("text", "refusal"):
            if isinstance(body.get(name), str):
                body[name] = with_marks(body[name], marks, start)
        if mapping(body.get("part")):
            body["part"] = marked_part(mapping(body["part"]), marks, start)
        if mapping(body.get("item")):
            body["item"] = marked_item(mapping(body["item"]), marks, start)
        if mapping(body.get("response")):
            body["response"] = marked_response(mapping(body["response"]), marks, start)
        return Event(body, event.name)

    def numbered(self, event: Event, position: int) -> Event:
        """Return an event with its number in its stream."""
        if isinstance(event.data, str) or not _kind(event):
            return event
        # Not all implementations of this API number their events.
        if event.data.get("sequence_number", position) == position:
            return event
        return Event({**event.data, "sequence_number": position}, event.name)


def _delta_kind(part: Mapping[str, Any]) -> str:
    return _REFUSAL if part.get("type") == "refusal" else _TEXT


def _part_with(part: Mapping[str, Any], text_value: str) -> dict[str, Any]:
    if part.get("type") == "refusal":
        return {"type": "refusal", "refusal": text_value}
    return text_part(text_value)


def event_without_logprobs(data: Body) -> Body:
    """Return the data of an event without log-probabilities."""
    stripped = item_without_logprobs(data)
    for name in ("item", "part"):
        if mapping(data.get(name)):
            stripped[name] = item_without_logprobs(mapping(data[name]))
    if mapping(data.get("response")):
        stripped["response"] = response_without_logprobs(mapping(data["response"]))
    return stripped


def _response_in(events: Sequence[Event]) -> Body:
    """Return the response as far as it was received."""
    for event in reversed(events):
        response = mapping(event.body.get("response"))
        if response:
            return response
    return empty_response()


@dataclass(slots=True)
class _SentPart:
    """A part of a message as the client received it."""

    position: _Position
    data: Mapping[str, Any]
    text: str = ""
    is_done: bool = False

    def closing(self) -> list[Event]:
        if self.is_done:
            return []
        done, field = _TEXT_DONE, {"text": self.text, "logprobs": list[Any]()}
        if self.data.get("type") == "refusal":
            done, field = _REFUSAL_DONE, {"refusal": self.text}
        return [
            _event(done, **self.position.data, **field),
            _event(_PART_DONE, **self.position.data, part=self.whole),
        ]

    @property
    def whole(self) -> Mapping[str, Any]:
        return self.data if self.is_done else _part_with(self.data, self.text)


@dataclass(slots=True)
class _SentItem:
    """An item of the output as the client received it."""

    id: str
    output_index: int
    data: Mapping[str, Any]
    parts: list[_SentPart] = field(default_factory=list["_SentPart"])
    is_done: bool = False

    @property
    def is_message(self) -> bool:
        return self.data.get("type") == "message"

    def whole(self, status: str) -> Mapping[str, Any]:
        if self.is_done or not self.is_message:
            return self.data
        return message_item(self.id, status, [dict(part.whole) for part in self.parts])

    def closing(self, status: str) -> list[Event]:
        if self.is_done:
            return []
        events: list[Event] = []
        for part in self.parts:
            events += part.closing()
        item = self.whole(status)
        return [*events, _event(_ITEM_DONE, output_index=self.output_index, item=item)]


def _items(sent: Sequence[Event]) -> list[_SentItem]:
    """Return the items that the client received, in order."""
    items: dict[int, _SentItem] = {}
    for event in sent:
        kind, body = _kind(event), event.body
        index, data = number(body.get("output_index")), mapping(body.get("item"))
        if kind == _ITEM:
            items[index] = _SentItem(text(data.get("id")), index, data)
            continue
        if "output_index" not in body:
            continue
        item = items.setdefault(index, _SentItem(text(body.get("item_id")), index, _MESSAGE))
        if kind == _ITEM_DONE:
            item.data, item.is_done = data, True
        elif kind == _PART:
            part = mapping(body.get("part"))
            item.parts.append(_SentPart(_position(body), part, part_text(part)))
        elif kind in (_TEXT, _REFUSAL):
            if not item.parts:
                item.parts.append(_SentPart(_position(body), text_part("")))
            item.parts[-1].text += text(body.get("delta"))
        elif kind == _PART_DONE and item.parts:
            item.parts[-1].data, item.parts[-1].is_done = mapping(body.get("part")), True
    return [items[index] for index in sorted(items)]


def _kind(event: Event) -> str:
    return text(event.body.get("type"))


def _text_in(event: Event) -> str:
    kind, part = _kind(event), mapping(event.body.get("part"))
    if kind in (_TEXT, _REFUSAL):
        return text(event.body.get("delta"))
    # OpenAI's is empty; if it is not, the following text is appended to it.
    return part_text(part) if kind == _PART and is_text(part) else ""


def _repeats_in(event: Event) -> tuple[str, str] | None:
    """Return the text that an event repeats at the end of a part or of an item, or before it."""
    kind, body = _kind(event), event.body
    if kind in (_TEXT_DONE, _REFUSAL_DONE):
        # One kind, because a message may have both.
        return _TEXT_DONE, text(body.get("text")) or text(body.get("refusal"))
    if kind == _PART_DONE:
        part = mapping(body.get("part"))
        return kind, part_text(part) if is_text(part) else ""
    if kind in (_ITEM, _ITEM_DONE):
        return kind, answer_text({"output": [body.get("item")]})
    # The output of a response that has just begun is empty.
    response = mapping(body.get("response"))
    return (kind, answer_text(response)) if kind in _OPENING and response.get("output") else None


def _unread_in(event: Event) -> str | None:
    if isinstance(event.data, str):
        return None if event.data == "[DONE]" else named(None)
    kind, body = _kind(event), event.body
    if kind in (_ITEM, _ITEM_DONE):
        return unread_in([body.get("item")])
    if kind in (_PART, _PART_DONE):
        return unread_parts([body.get("part")])
    is_known = "delta" not in body or "_call" in kind or kind.startswith(_OTHER_DELTAS)
    is_garbled = kind in (_TEXT, _REFUSAL) and not isinstance(body.get("delta"), str)
    return named(kind) if is_garbled or not is_known else None


def _elsewhere_in(event: Event) -> str | None:
    """Return a message about words of an event of a kind that nobody knows; None if none."""
    kind = _kind(event)
    if "_call" in kind or kind.startswith(_OTHER_DELTAS):
        return None
    if "item" in event.body or "part" in event.body:
        return None
    return words_elsewhere(event.body, _EVENT_FIELDS)


def _logprobs_in(event: Event) -> Any:
    body = event.body if _kind(event) == _TEXT else mapping(event.body.get("part"))
    return read_logprobs({"content": body.get("logprobs")}) if _text_in(event) else ()


def _calls_in(event: Event) -> tuple[ToolCall, ...]:
    index = number(event.body.get("output_index"))
    if _kind(event) in _ARGUMENTS:
        return (ToolCall("", text(event.body.get("delta")), index),)
    call = call_of(mapping(event.body.get("item")), index) if _kind(event) == _ITEM else None
    return () if call is None else (call,)


def _position(body: Body) -> _Position:
    item_id, index = text(body.get("item_id")), number(body.get("output_index"))
    return _Position(item_id, index, number(body.get("content_index")))


def _next_position(events: Sequence[Event]) -> _Position:
    """Return the position of a new message, after everything else."""
    indices = [number(e.body.get("output_index")) for e in events if "output_index" in e.body]
    index = max(indices, default=-1) + 1
    return _Position(local_id(_response_in(events), index), index)


def _opening(events: Sequence[Event]) -> list[Event]:
    """Return the events that open a stream, unless it is open already."""
    return [] if _is_open(events) else [_created_event(empty_response())]


def _is_open(events: Sequence[Event]) -> bool:
    return any(_kind(event) == "response.created" for event in events)


def _created_event(response: Body) -> Event:
    created = {
        **response,
        "status": "in_progress",
        "incomplete_details": None,
        "output": list[Any](),
    }
    created.pop(KEY, None)
    return _event("response.created", response=created)


def _opening_message(position: _Position) -> list[Event]:
    item = message_item(position.item_id, "in_progress", [])
    return [
        _event(_ITEM, output_index=position.output_index, item=item),
        _event(_PART, **position.data, part=text_part("")),
    ]


def _delta(position: _Position, added: str, kind: str = _TEXT) -> Event:
    tokens: dict[str, Any] = {"logprobs": []} if kind == _TEXT else {}
    return _event(kind, **position.data, delta=added, **tokens)


def _closing_message(position: _Position, added: str, status: str) -> list[Event]:
    item = message_item(position.item_id, status, [text_part(added)])
    return [
        _event(_TEXT_DONE, **position.data, text=added, logprobs=[]),
        _event(_PART_DONE, **position.data, part=text_part(added)),
        _event(_ITEM_DONE, output_index=position.output_index, item=item),
    ]


def _event(kind: str, **data: Any) -> Event:
    # It gets its number once its position is known.
    return Event({"type": kind, **data, "sequence_number": 0}, kind)


def _with_outcome(event: Event, outcome: Outcome) -> Event:
    kind, response = _kind(event), mapping(event.body.get("response"))
    if kind not in _LAST or not response:
        return event
    if not outcome.withheld or kind not in _ANSWERED:
        output = [*listed(response.get("output"))]
        for mark in outcome.marks:
            item_id = local_id(response, len(output))
            output.append(message_item(item_id, "completed", [text_part(mark.text)]))
        added = {"output": output} if outcome.marks else {}
        passed_on = {**response, **added, **outcome.fields}
        return Event({**event.body, "response": passed_on}, event.name)
    end_kind = f"response.{item_status(outcome)}"
    withheld = _withheld_response(response, outcome)
    name = end_kind if event.name == kind else event.name
    return Event({**event.body, "type": end_kind, "response": withheld}, name)


def _withheld_response(response: Body, outcome: Outcome) -> Mapping[str, Any]:
    """Return a response whose text was already passed on, and which is withheld at its end."""
    output = [*listed(response.get("output"))]
    notice = notice_after(answer_text(response), outcome.message or "")
    if notice:
        item_id = local_id(response, len(output))
        output.append(message_item(item_id, "completed", [text_part(notice)]))
    return {
        **response,
        "status": item_status(outcome),
        "incomplete_details": incomplete_details(outcome),
        "output": output,
        **outcome.fields,
    }
