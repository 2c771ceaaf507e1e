"""The events of a streamed message of Anthropic's Messages API.

A message consists of blocks, only some of which are text. A text released piece by piece stays in
its own blocks, with their citations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from resay.core.usage import Usage
from resay.providers.apis.base import OneAnswerApi, Outcome
from resay.providers.apis.events import Event
from resay.providers.apis.values import (
    Body,
    count,
    is_garbled,
    mapping,
    named,
    number,
    text,
    words_elsewhere,
)
from resay.providers.base import Chunk, ToolCall

KEY = "hallucination"

_START = "content_block_start"
_DELTA = "content_block_delta"
_STOP = "content_block_stop"
_END = "message_delta"
_OVER = "message_stop"
_LAST = frozenset({_END, _OVER, "error"})
# Blocks and deltas that are not text of the answer.
_OTHER_BLOCKS = frozenset(
    {
        "compaction",
        "container_upload",
        "fallback",
        "mcp_tool_listing",
        "redacted_thinking",
        "thinking",
        "tool_use",
    }
)
_OTHER_DELTAS = frozenset(
    {"citations_delta", "compaction_delta", "input_json_delta", "signature_delta", "thinking_delta"}
)
# Citations say where the text is from, which is no word of the answer.
_WORDLESS_DELTAS = ("citations_delta", "signature_delta", "text_delta")
# Fields of a message, and of events, without words of the answer apart from its content.
_MESSAGE_FIELDS = frozenset(
    {
        "container",
        "content",
        "context_management",
        "diagnostics",
        "error",
        "hallucination",
        "id",
        "model",
        "provider",
        "request_id",
        "role",
        "stop_details",
        "stop_reason",
        "stop_sequence",
        "type",
        "usage",
    }
)
_EVENT_FIELDS = _MESSAGE_FIELDS | {"content_block", "delta", "index", "message"}
_PROMPT_TOKEN_FIELDS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def prompt_tokens(usage: Mapping[str, Any]) -> int:
    """Return the number of input tokens, including those of cached prompts."""
    return sum(count(usage.get(name)) for name in _PROMPT_TOKEN_FIELDS)


def empty_message() -> dict[str, Any]:
    """Return the beginning of a message of which nothing is known."""
    return {
        "id": "msg_0",
        "type": "message",
        "role": "assistant",
        "model": "",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def unread_in(blocks: Sequence[object]) -> str | None:
    """Return which of a message's blocks cannot be parsed; None if none."""
    for block in map(mapping, blocks):
        if not _is_known(block):
            return named(block.get("type"))
    return None


def elsewhere_in(message: Body) -> str | None:
    """Return a message about words of a message outside of its content; None if there are none."""
    return words_elsewhere(message, _MESSAGE_FIELDS)


def _is_known(block: Mapping[str, Any]) -> bool:
    kind = text(block.get("type"))
    if kind == "text":
        return isinstance(block.get("text"), str)
    return kind in _OTHER_BLOCKS or kind.endswith(("_tool_result", "_tool_use"))


def stopped(outcome: Outcome) -> dict[str, Any]:
    """Return the stop reason of a message whose text was replaced."""
    return {"stop_reason": "refusal" if outcome.filtered else "end_turn", "stop_sequence": None}


class MessagesStream(OneAnswerApi):
    """The streaming side of the Messages API."""

    def _chunk(self, event: Event) -> Chunk:
        """Return what an event adds to the answer."""
        reason = (
            mapping(event.body.get("delta")).get("stop_reason") if _kind(event) == _END else None
        )
        return Chunk(
            text=_text_in(event),
            finish_reason=text(reason) or None,
            usage=self.event_usage(event),
            raw=event,
            calls=_calls_in(event),
            unread=_unread_in(event),
            elsewhere=_elsewhere_in(event),
            ran=_ran_in(event),
        )

    def event_usage(self, event: Event) -> Usage | None:
        """Return a message's usage so far; its start and its end report it in part or in full."""
        if _kind(event) == "message_start":
            usage = mapping(mapping(event.body.get("message")).get("usage"))
        elif event.body.get("usage"):
            usage = mapping(event.body.get("usage"))
        else:
            return None
        return Usage(1, prompt_tokens(usage), count(usage.get("output_tokens")), None)

    def opening_frame(self, event: Event) -> Event | None:
        """Return the event if it opens a stream, with no words of the answer."""
        return event if _kind(event) == "message_start" and _unread_in(event) is None else None

    def ends(self, event: Event) -> bool:
        """Return whether an event ends the answer."""
        return _kind(event) in _LAST

    def is_last(self, event: Event) -> bool:
        """Return whether an event is the last of a stream."""
        return _kind(event) == _OVER

    def has_other_words(self, event: Event) -> bool:
        """Return whether an event has words outside the answer's text."""
        delta, block = mapping(event.body.get("delta")), mapping(event.body.get("content_block"))
        if _kind(event) == _DELTA:
            return delta.get("type") not in _WORDLESS_DELTAS
        if _kind(event) == "message_start":
            return bool(mapping(event.body.get("message")).get("content"))
        if block.get("type") in ("redacted_thinking", "thinking"):
            return bool(block.get("thinking"))
        return _kind(event) == _START and block.get("type") != "text"

    def released(self, event: Event, start: int, stop: int) -> Event:
        """Return an event with a part of the text it adds, and no other words."""
        if not _text_in(event):
            return event
        index, released = number(event.body.get("index")), _text_in(event)[start:stop]
        if _kind(event) == _DELTA or start:
            return _delta(index, released)
        block = mapping(event.body.get("content_block"))
        cited = {"citations": None} if "citations" in block else {}
        return _event(
            _START, index=index, content_block={"type": "text", "text": released, **cited}
        )

    def rest(self, event: Event, start: int) -> Event:
        """Return an event without the beginning of its text, which was released."""
        if not start:
            return event
        return _delta(number(event.body.get("index")), _text_in(event)[start:])

    def _text_events(self, events: Sequence[Event], added: str) -> list[Event]:
        """Return events that add a text to the block that is open, or as a block."""
        open_blocks = _open_blocks(events)
        for event in reversed(events):
            index = number(event.body.get("index"))
            if _starts_text(event) and index in open_blocks:
                return [_delta(index, added)]
        index = _next_index(events)
        return [*_opening(events), _block_start(index), _delta(index, added)]

    def _notice_events(self, events: Sequence[Event], notice: str) -> list[Event]:
        """Return events that add a message as a block, if all so far reached the client."""
        index = _next_index(events)
        return [*_opening(events), _block_start(index), _delta(index, notice), _block_stop(index)]

    def ending(self, held: Iterable[Event], outcomes: Mapping[int, Outcome]) -> list[Event]:
        """Return the last events with the verdict."""
        held = list(held)
        outcome = outcomes.get(0)
        if outcome is None:
            return held
        kinds = set(map(_kind, held))
        last = _END if _END in kinds else _OVER
        return [_with_outcome(event, outcome) if _kind(event) == last else event for event in held]

    def closing(
        self, sent: Sequence[Event], ends: Sequence[Event], outcome: Outcome
    ) -> list[Event]:
        """Return the events that close a stream whose answer, or the end of it, is replaced."""
        events = [*sent, *ends]
        delta = {**_container(events), **stopped(outcome)}
        end = _event(_END, delta=delta, usage=_last_usage(events), **outcome.fields)
        return [*_opening(sent), *map(_block_stop, _open_blocks(sent)), end, _event(_OVER)]


def _kind(event: Event) -> str:
    return text(event.body.get("type"))


def _text_in(event: Event) -> str:
    kind, delta = _kind(event), mapping(event.body.get("delta"))
    if kind == _DELTA and _is_text(delta):
        return text(delta.get("text"))
    block = mapping(event.body.get("content_block"))
    # Anthropic's is empty; if it is not, the following text is appended to it.
    return text(block.get("text")) if kind == _START and block.get("type") == "text" else ""


def _unread_in(event: Event) -> str | None:
    if isinstance(event.data, str):
        return named(None)
    kind, delta = _kind(event), mapping(event.body.get("delta"))
    if is_garbled(event.body.get("delta"), Mapping):
        return named(kind)
    if kind == "message_start":
        # Its content is sent in later events.
        return named(kind) if mapping(event.body.get("message")).get("content") else None
    if kind == _START:
        return unread_in([event.body.get("content_block")])
    is_known = text(delta.get("type")) in _OTHER_DELTAS
    if _is_text(delta):
        is_known = isinstance(delta.get("text"), str)
    return named(delta.get("type")) if kind == _DELTA and not is_known else None


def _elsewhere_in(event: Event) -> str | None:
    """Return a message about words of an event where no answer has any; None if there are none."""
    kind, body = _kind(event), event.body
    if kind == "message_start":
        return elsewhere_in(mapping(body.get("message")))
    if kind == _END:
        return words_elsewhere(mapping(body.get("delta")), _MESSAGE_FIELDS)
    return None if kind in (_START, _DELTA) else words_elsewhere(body, _EVENT_FIELDS)


def _is_text(delta: Mapping[str, Any]) -> bool:
    return delta.get("type") == "text_delta"


def _calls_in(event: Event) -> tuple[ToolCall, ...]:
    kind, index = _kind(event), number(event.body.get("index"))
    block, delta = mapping(event.body.get("content_block")), mapping(event.body.get("delta"))
    if kind == _START and block.get("type") == "tool_use":
        return (ToolCall(text(block.get("name")), index=index),)
    if kind == _DELTA and delta.get("type") == "input_json_delta":
        return (ToolCall("", text(delta.get("partial_json")), index),)
    return ()


def is_hosted_call(block: Mapping[str, Any]) -> bool:
    """Return whether a content block is a call that the provider ran itself, or its result."""
    kind = text(block.get("type"))
    return kind in ("server_tool_use", "mcp_tool_use") or kind.endswith("_tool_result")


def _ran_in(event: Event) -> tuple[Mapping[str, Any], ...]:
    block = mapping(event.body.get("content_block"))
    return (block,) if _kind(event) == _START and is_hosted_call(block) else ()


def _starts_text(event: Event) -> bool:
    block = mapping(event.body.get("content_block"))
    return _kind(event) == _START and block.get("type") == "text"


def _next_index(events: Sequence[Event]) -> int:
    indices = [number(event.body.get("index")) for event in events if _kind(event) == _START]
    return max(indices, default=-1) + 1


def _open_blocks(events: Sequence[Event]) -> list[int]:
    """Return the blocks that were not closed."""
    started = [number(event.body.get("index")) for event in events if _kind(event) == _START]
    ended = {number(event.body.get("index")) for event in events if _kind(event) == _STOP}
    return [index for index in started if index not in ended]


def _last_usage(events: Sequence[Event]) -> dict[str, Any]:
    """Return the message's usage as far as it was reported."""
    reports = [mapping(mapping(event.body.get("message")).get("usage")) for event in events]
    reports += [mapping(event.body.get("usage")) for event in events]
    usage: dict[str, Any] = {}
    for report in reports:
        usage |= {name: value for name, value in report.items() if value is not None}
    return {**usage, "output_tokens": number(usage.get("output_tokens"))}


def _container(events: Sequence[Event]) -> dict[str, Any]:
    """Return the container that the provider retains for later requests, if there is one."""
    for event in reversed(events):
        container = mapping(event.body.get("delta")).get("container")
        if container:
            return {"container": container}
    return {}


def _opening(events: Sequence[Event]) -> list[Event]:
    is_open = any(_kind(event) == "message_start" for event in events)
    return [] if is_open else [_event("message_start", message=empty_message())]


def _block_start(index: int) -> Event:
    return _event(_START, index=index, content_block={"type": "text", "text": ""})


def _delta(index: int, added: str) -> Event:
    return _event(_DELTA, index=index, delta={"type": "text_delta", "text": added})


def _block_stop(index: int) -> Event:
    return _event(_STOP, index=index)


def _event(kind: str, **data: Any) -> Event:
    # The SDK ignores events without a name.
    return Event({"type": kind, **data}, kind)


def _with_outcome(event: Event, outcome: Outcome) -> Event:
    body = {**event.body, **outcome.fields}
    if outcome.withheld and _kind(event) == _END:
        body["delta"] = {**mapping(event.body.get("delta")), **stopped(outcome)}
    return Event(body, event.name)
