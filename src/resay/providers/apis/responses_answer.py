"""Answers of OpenAI's Responses API, whole and as events, and their replacements."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from resay.core.logprobs import TokenLogprob, read_logprobs
from resay.core.reasoning import notice_after
from resay.core.references import Citation, Reference
from resay.core.usage import Usage
from resay.providers.apis.base import (
    Body,
    Event,
    Outcome,
    listed,
    mapping,
    mappings,
    named,
    number,
    text,
    tokens_in,
    words_elsewhere,
)
from resay.providers.base import Chunk, ToolCall

KEY = "hallucination"
# Fields of a response without words of the answer: ids, usage, and repetitions of the request.
_KEPT = (
    "id",
    "object",
    "created_at",
    "model",
    "usage",
    "completed_at",
    "background",
    "billing",
    "conversation",
    "frequency_penalty",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "presence_penalty",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
)
# Fields without words of the answer, apart from those that are read.
_OF_RESPONSE = frozenset(
    {
        *_KEPT,
        "context_management",
        "error",
        "hallucination",
        "incomplete_details",
        "moderation",
        "output",
        "output_text",
        "provider",
        "request_id",
        "status",
        "type",
    }
)
# Those of events that are about no item, no part and no text.
_OF_EVENT = frozenset(
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
# Items of an output, and parts of a message, that are not text of the answer.
_ITEMS = frozenset({"additional_tools", "compaction", "program", "reasoning"})
_PARTS = frozenset({"reasoning_text", "summary_text"})
_GIVEN = {"function_call": "arguments", "custom_tool_call": "input"}


# The parts of a message that are text, and the field that has it: a refusal is an answer too.
_TEXT_FIELDS = {"output_text": "text", "refusal": "refusal"}


def is_text(part: Mapping[str, Any]) -> bool:
    """Return whether a part of a message is text, if only that of a refusal."""
    return text(part.get("type")) in _TEXT_FIELDS


def _text_of(part: Mapping[str, Any]) -> str:
    return text(part.get(_TEXT_FIELDS.get(text(part.get("type")), "text")))


def _parts(item: Mapping[str, Any]) -> Sequence[object]:
    """Return the parts of a message, which some servers send as one object."""
    content: object = item.get("content")
    return listed(content) or ([content] if content else [])


def _texts(response: Body) -> Iterator[Mapping[str, Any]]:
    for item in mappings(response.get("output")):
        if item.get("type") == "message":
            yield from (part for part in mappings(_parts(item)) if is_text(part))


def said_text(response: Body) -> str:
    """Return the text of a response, as the SDK's `output_text` does, and refusals."""
    return "".join(map(_text_of, _texts(response)))


def unread_in(items: Sequence[object]) -> str | None:
    """Return which part of a response's items cannot be parsed; None if none."""
    return next((found for item in items if (found := _unread(mapping(item))) is not None), None)


def _unread(item: Mapping[str, Any]) -> str | None:
    kind = text(item.get("type"))
    if kind == "message":
        # A message that has just begun is empty.
        return unread_parts(_parts(item))
    known = kind in _ITEMS or kind.startswith("mcp_") or kind.endswith(("_call", "_output"))
    return None if known else named(item.get("type"))


def unread_in_response(response: Body) -> str | None:
    """Return which part of a response cannot be parsed; None if none."""
    unread = unread_in(listed(response.get("output")))
    # Some servers repeat the text here, as the SDK does.
    repeated = "".join(text(response.get("output_text")).split())
    said = "".join(said_text(response).split())
    return named("output_text") if unread is None and repeated not in said else unread


def elsewhere_in(response: Body) -> str | None:
    """Return a message about words of a response outside of its output; None if there are none."""
    return words_elsewhere(response, _OF_RESPONSE)


def unread_parts(parts: Sequence[object]) -> str | None:
    """Return which part of a message cannot be parsed; None if none."""
    return next((named(mapping(p).get("type")) for p in parts if not _is_known(mapping(p))), None)


def _is_known(part: Mapping[str, Any]) -> bool:
    if is_text(part):
        return isinstance(part.get(_TEXT_FIELDS[part["type"]]), str)
    return text(part.get("type")) in _PARTS


def found_by_provider(response: Body) -> tuple[Reference, ...]:
    """Return the results of a response's file searches, if the response includes them."""
    found: list[Reference] = []
    for place, item in enumerate(mappings(response.get("output"))):
        if item.get("type") == "file_search_call":
            found += [
                Reference(
                    text(result.get("text")),
                    f"output[{place}].results[{k}]",
                    "documents",
                    id=text(result.get("file_id")) or None,
                    title=text(result.get("filename")) or None,
                )
                for k, result in enumerate(mappings(item.get("results")))
                if text(result.get("text")).strip()
            ]
    return tuple(found)


def attached_citations(response: Body) -> tuple[Citation, ...]:
    """Return the annotations of a response's text that name a document or an address."""
    found: list[Citation] = []
    before = 0
    for part in _texts(response):
        said = _text_of(part)
        for note in mappings(part.get("annotations")):
            if note.get("type") == "file_citation":
                start = end = number(note.get("index"))
            elif note.get("type") in ("container_file_citation", "url_citation"):
                start, end = number(note.get("start_index")), number(note.get("end_index"))
            else:
                continue
            found.append(
                Citation(
                    before + start,
                    before + end,
                    id=text(note.get("file_id")) or None,
                    title=text(note.get("filename")) or text(note.get("title")) or None,
                    url=text(note.get("url")) or None,
                )
            )
        before += len(said)
    return tuple(found)


def said_logprobs(response: Body) -> tuple[TokenLogprob, ...]:
    """Return the tokens of the text; none if they would not cover all of it."""
    tokens: list[TokenLogprob] = []
    for part in _texts(response):
        own = read_logprobs({"content": part.get("logprobs")})
        if _text_of(part) and not own:
            return ()
        tokens += own
    return tuple(tokens)


def said_calls(response: Body) -> tuple[ToolCall, ...]:
    """Return the tool calls that the application is to run."""
    items = mappings(response.get("output"))
    calls = (call_of(item, place) for place, item in enumerate(items))
    return tuple(call for call in calls if call is not None)


def call_of(item: Mapping[str, Any], place: int) -> ToolCall | None:
    """Return an item as a call; None if it is none."""
    given = _GIVEN.get(text(item.get("type")))
    if given is None:
        return None
    return ToolCall(text(item.get("name")), text(item.get(given)), place)


def stopped_by(response: Body) -> str | None:
    """Return why a response ended: its status, or why it is incomplete."""
    reason = text(mapping(response.get("incomplete_details")).get("reason"))
    return reason or text(response.get("status")) or None


def usage_in(response: Body) -> Usage | None:
    """Return the usage that a response reports; None if it reports none."""
    usage = mapping(response.get("usage"))
    if not usage:
        return None
    read, written = tokens_in(usage)
    return Usage(1, read, written, None)


def text_part(said: str) -> dict[str, Any]:
    """Return a text part of a message."""
    return {"type": "output_text", "text": said, "annotations": [], "logprobs": []}


def message_item(item_id: str, status: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a message as an item."""
    who = {"type": "message", "role": "assistant"}
    return {"id": item_id, **who, "status": status, "content": parts}


def local_id(response: Body, place: int) -> str:
    """Return an id for a message that the provider did not create.

    An application may send it back with the rest of the conversation. OpenAI refuses an id of its
    own without the reasoning before it, and any id that occurs twice.

    Args:
        response: The response that contains it.
        place: Its position among the items.
    """
    known = f"{response.get('id')} {place}".encode("utf-8", "surrogatepass")
    return f"msg_resay_{hashlib.sha256(known).hexdigest()[:32]}"


def empty_response() -> dict[str, Any]:
    """Return the beginning of a response of which nothing is known."""
    return {"id": "resp_0", "object": "response", "created_at": int(time.time()), "model": ""}


def replaced_response(
    response: Body, items: Sequence[Mapping[str, Any]], outcome: Outcome
) -> dict[str, Any]:
    """Return a response with other items and no words of its own.

    Args:
        response: The response, or what is known of it.
        items: The items it gets.
        outcome: The verdict, and whether the items are an answer.
    """
    kept = {name: response[name] for name in _KEPT if name in response}
    return {
        **empty_response(),
        **kept,
        "status": item_status(outcome),
        "error": None,
        "incomplete_details": incomplete_details(outcome),
        "output": [*items],
        **outcome.fields,
    }


def item_status(outcome: Outcome) -> str:
    """Return the status of a message that replaced another, and so of its response."""
    return "incomplete" if outcome.filtered else "completed"


def incomplete_details(outcome: Outcome) -> dict[str, Any] | None:
    """Return why a response whose answer was replaced is incomplete."""
    return {"reason": "content_filter"} if outcome.filtered else None


def response_without_logprobs(response: Body) -> dict[str, Any]:
    """Return a response without log-probabilities, as if none had been requested."""
    stripped = dict(response)
    if listed(response.get("output")):
        stripped["output"] = [_stripped(item) for item in listed(response["output"])]
    if response.get("top_logprobs"):
        stripped["top_logprobs"] = 0
    return stripped


def item_without_logprobs(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item, or a part, without log-probabilities."""
    stripped = dict(item)
    if item.get("logprobs"):
        stripped["logprobs"] = list[Any]()
    if listed(item.get("content")):
        stripped["content"] = [_stripped(part) for part in listed(item["content"])]
    return stripped


def _stripped(item: Any) -> Any:
    return item_without_logprobs(mapping(item)) if mapping(item) else item


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
_PIECES = (
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
_OF_TEXT = frozenset({_TEXT, _TEXT_DONE, _REFUSAL, _REFUSAL_DONE, _NOTE})
_MESSAGE: Mapping[str, Any] = {"type": "message"}
_ARGUMENTS = frozenset(
    {"response.custom_tool_call_input.delta", "response.function_call_arguments.delta"}
)


@dataclass(frozen=True, slots=True)
class _Place:
    """The position of a text: its item, and the part within it."""

    item_id: str
    output_index: int
    content_index: int = 0

    @property
    def data(self) -> dict[str, Any]:
        part = {"item_id": self.item_id, "content_index": self.content_index}
        return {**part, "output_index": self.output_index}


def chunk_of(event: Event) -> Chunk:
    """Return what an event adds to the answer."""
    body, response = event.body, mapping(event.body.get("response"))
    if _kind(event) not in _LAST:
        return Chunk(
            _text_in(event),
            logprobs=_logprobs_in(event),
            raw=event,
            calls=_calls_in(event),
            usage=usage_in(response),
            unread=_unread_in(event),
            repeats=_repeats_in(event),
            elsewhere=_elsewhere_in(event),
        )
    return Chunk(
        finish_reason=stopped_by(response) or text(body.get("type")),
        usage=usage_in(response),
        raw=event,
        unread=unread_in_response(response),
        repeats=(_kind(event), said_text(response)),
        elsewhere=elsewhere_in(response),
        found=found_by_provider(response),
        citations=attached_citations(response),
    )


def opens_answer(event: Event) -> bool:
    """Return whether an event opens a stream, with no words of the answer."""
    return _kind(event) in _OPENING and not mapping(event.body.get("response")).get("output")


def ends_answer(event: Event) -> bool:
    """Return whether an event ends the answer."""
    return _kind(event) in _LAST


def ends_stream(event: Event) -> bool:
    """Return whether an event is the last of a stream."""
    return _kind(event) in _ANSWERED


def has_other_words(event: Event) -> bool:
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
        return not opens_answer(event)
    return _kind(event) not in _OF_TEXT


def released_event(event: Event, start: int, stop: int) -> Event:
    """Return an event with a part of the text it adds, and no other words."""
    if not _text_in(event):
        return event
    kind, place, said = _kind(event), _place(event.body), _text_in(event)[start:stop]
    if kind != _PART:
        return _delta(place, said, kind)
    part = mapping(event.body.get("part"))
    if start:
        return _delta(place, said, _delta_kind(part))
    return _made(_PART, **place.data, part=_part_with(part, said))


def rest_of_event(event: Event, start: int) -> Event:
    """Return an event without the beginning of its text."""
    return released_event(event, start, len(_text_in(event)))


def _delta_kind(part: Mapping[str, Any]) -> str:
    return _REFUSAL if part.get("type") == "refusal" else _TEXT


def _part_with(part: Mapping[str, Any], said: str) -> dict[str, Any]:
    if part.get("type") == "refusal":
        return {"type": "refusal", "refusal": said}
    return text_part(said)


def event_without_logprobs(data: Body) -> Body:
    """Return the data of an event without log-probabilities."""
    stripped = item_without_logprobs(data)
    for name in ("item", "part"):
        if mapping(data.get(name)):
            stripped[name] = item_without_logprobs(mapping(data[name]))
    if mapping(data.get("response")):
        stripped["response"] = response_without_logprobs(mapping(data["response"]))
    return stripped


def text_events(seen: Sequence[Event], said: str) -> list[Event]:
    """Return events that add a text to the part that is open, or as a part."""
    items = _items(seen)
    item = items[-1] if items and not items[-1].is_done else None
    if item is None or not item.is_message:
        place = _next_place(seen)
        return [*_opening(seen), *_opened(place), _delta(place, said)]
    part = item.parts[-1] if item.parts else None
    if part is not None and not part.is_done:
        return [_delta(part.place, said, _delta_kind(part.data))]
    place = _Place(item.id, item.output_index, len(item.parts))
    return [_made(_PART, **place.data, part=text_part("")), _delta(place, said)]


def notice_events(seen: Sequence[Event], said: str) -> list[Event]:
    """Return events that add a message if the client received everything so far."""
    place = _next_place(seen)
    return [
        *_opening(seen),
        *_opened(place),
        _delta(place, said),
        *_closed(place, said, "completed"),
    ]


def ending_events(held: Iterable[Event], outcome: Outcome | None) -> list[Event]:
    """Return the last events with the verdict in their response."""
    return [event if outcome is None else _concluded(event, outcome) for event in held]


def closing_events(sent: Sequence[Event], ends: Sequence[Event], outcome: Outcome) -> list[Event]:
    """Return the events that close a stream whose answer, or the end of it, is replaced."""
    status, items = item_status(outcome), _items(sent)
    closing = [event for item in items for event in item.closing(status)]
    output = [item.whole(status) for item in items]
    if not items:
        # Nothing is said in its place.
        output = [message_item(_next_place(sent).item_id, status, [])]
    last = replaced_response(_response_in([*sent, *ends]), output, outcome)
    opening = [] if _opening(sent) == [] else [_begun(last)]
    return [*opening, *closing, _made(f"response.{status}", response=last)]


def _response_in(seen: Sequence[Event]) -> Body:
    """Return what is known of the response."""
    known = [mapping(event.body.get("response")) for event in seen]
    return next((response for response in reversed(known) if response), empty_response())


@dataclass(slots=True)
class _SentPart:
    """A part of a message as the client received it."""

    place: _Place
    data: Mapping[str, Any]
    said: str = ""
    is_done: bool = False

    def closing(self) -> list[Event]:
        if self.is_done:
            return []
        done, field = _TEXT_DONE, {"text": self.said, "logprobs": list[Any]()}
        if self.data.get("type") == "refusal":
            done, field = _REFUSAL_DONE, {"refusal": self.said}
        return [
            _made(done, **self.place.data, **field),
            _made(_PART_DONE, **self.place.data, part=self.whole),
        ]

    @property
    def whole(self) -> Mapping[str, Any]:
        return self.data if self.is_done else _part_with(self.data, self.said)


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
        parts = [event for part in self.parts for event in part.closing()]
        item = self.whole(status)
        return [*parts, _made(_ITEM_DONE, output_index=self.output_index, item=item)]


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
            item.parts.append(_SentPart(_place(body), part, _text_of(part)))
        elif kind in (_TEXT, _REFUSAL):
            if not item.parts:
                item.parts.append(_SentPart(_place(body), text_part("")))
            item.parts[-1].said += text(body.get("delta"))
        elif kind == _PART_DONE and item.parts:
            item.parts[-1].data, item.parts[-1].is_done = mapping(body.get("part")), True
    return [items[index] for index in sorted(items)]


def numbered_event(event: Event, position: int) -> Event:
    """Return an event with its number in its stream."""
    if isinstance(event.data, str) or not _kind(event):
        return event
    # Not all implementations of this API number their events.
    if event.data.get("sequence_number", position) == position:
        return event
    return Event({**event.data, "sequence_number": position}, event.name)


def _kind(event: Event) -> str:
    return text(event.body.get("type"))


def _text_in(event: Event) -> str:
    kind, part = _kind(event), mapping(event.body.get("part"))
    if kind in (_TEXT, _REFUSAL):
        return text(event.body.get("delta"))
    # OpenAI's is empty; if it is not, the following text is appended to it.
    return _text_of(part) if kind == _PART and is_text(part) else ""


def _repeats_in(event: Event) -> tuple[str, str] | None:
    """Return the text that an event repeats at the end of a part or of an item, or before it."""
    kind, body = _kind(event), event.body
    if kind in (_TEXT_DONE, _REFUSAL_DONE):
        # One kind, because a message may have both.
        return _TEXT_DONE, text(body.get("text")) or text(body.get("refusal"))
    if kind == _PART_DONE:
        part = mapping(body.get("part"))
        return kind, _text_of(part) if is_text(part) else ""
    if kind in (_ITEM, _ITEM_DONE):
        return kind, said_text({"output": [body.get("item")]})
    # The output of a response that has just begun is empty.
    response = mapping(body.get("response"))
    return (kind, said_text(response)) if kind in _OPENING and response.get("output") else None


def _unread_in(event: Event) -> str | None:
    if isinstance(event.data, str):
        return None if event.data == "[DONE]" else named(None)
    kind, body = _kind(event), event.body
    if kind in (_ITEM, _ITEM_DONE):
        return unread_in([body.get("item")])
    if kind in (_PART, _PART_DONE):
        return unread_parts([body.get("part")])
    known = "delta" not in body or "_call" in kind or kind.startswith(_PIECES)
    garbled = kind in (_TEXT, _REFUSAL) and not isinstance(body.get("delta"), str)
    return named(kind) if garbled or not known else None


def _elsewhere_in(event: Event) -> str | None:
    """Return a message about words of an event of a kind that nobody knows; None if none."""
    kind = _kind(event)
    if "_call" in kind or kind.startswith(_PIECES) or "item" in event.body or "part" in event.body:
        return None
    return words_elsewhere(event.body, _OF_EVENT)


def _logprobs_in(event: Event) -> Any:
    body = event.body if _kind(event) == _TEXT else mapping(event.body.get("part"))
    return read_logprobs({"content": body.get("logprobs")}) if _text_in(event) else ()


def _calls_in(event: Event) -> tuple[ToolCall, ...]:
    place = number(event.body.get("output_index"))
    if _kind(event) in _ARGUMENTS:
        return (ToolCall("", text(event.body.get("delta")), place),)
    call = call_of(mapping(event.body.get("item")), place) if _kind(event) == _ITEM else None
    return () if call is None else (call,)


def _place(body: Body) -> _Place:
    item_id, index = text(body.get("item_id")), number(body.get("output_index"))
    return _Place(item_id, index, number(body.get("content_index")))


def _next_place(seen: Sequence[Event]) -> _Place:
    """Return the position of a new message, after everything else."""
    used = [number(e.body.get("output_index")) for e in seen if "output_index" in e.body]
    index = max(used, default=-1) + 1
    return _Place(local_id(_response_in(seen), index), index)


def _opening(seen: Sequence[Event]) -> list[Event]:
    """Return the events that open a stream, unless it is open already."""
    if any(_kind(event) == "response.created" for event in seen):
        return []
    return [_begun(empty_response())]


def _begun(response: Body) -> Event:
    known = {k: v for k, v in response.items() if k != KEY}
    begun = {"status": "in_progress", "incomplete_details": None, "output": list[Any]()}
    return _made("response.created", response={**known, **begun})


def _opened(place: _Place) -> list[Event]:
    item = message_item(place.item_id, "in_progress", [])
    return [
        _made(_ITEM, output_index=place.output_index, item=item),
        _made(_PART, **place.data, part=text_part("")),
    ]


def _delta(place: _Place, said: str, kind: str = _TEXT) -> Event:
    tokens: dict[str, Any] = {"logprobs": []} if kind == _TEXT else {}
    return _made(kind, **place.data, delta=said, **tokens)


def _closed(place: _Place, said: str, status: str) -> list[Event]:
    item = message_item(place.item_id, status, [text_part(said)])
    return [
        _made(_TEXT_DONE, **place.data, text=said, logprobs=[]),
        _made(_PART_DONE, **place.data, part=text_part(said)),
        _made(_ITEM_DONE, output_index=place.output_index, item=item),
    ]


def _made(kind: str, **data: Any) -> Event:
    # It gets its number once its position is known.
    return Event({"type": kind, **data, "sequence_number": 0}, kind)


def _concluded(event: Event, outcome: Outcome) -> Event:
    kind, response = _kind(event), mapping(event.body.get("response"))
    if kind not in _LAST or not response:
        return event
    if not outcome.withheld or kind not in _ANSWERED:
        told = {**response, **outcome.fields}
        return Event({**event.body, "response": told}, event.name)
    ended = f"response.{item_status(outcome)}"
    name = ended if event.name == kind else event.name
    return Event({**event.body, "type": ended, "response": _stopped(response, outcome)}, name)


def _stopped(response: Body, outcome: Outcome) -> Mapping[str, Any]:
    """Return a response whose text was already passed on, and which is withheld at its end."""
    output = [*listed(response.get("output"))]
    said = notice_after(said_text(response), outcome.message or "")
    notice = message_item(local_id(response, len(output)), "completed", [text_part(said)])
    return {
        **response,
        "status": item_status(outcome),
        "incomplete_details": incomplete_details(outcome),
        "output": [*output, *([notice] if said else [])],
        **outcome.fields,
    }
