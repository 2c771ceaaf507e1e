"""Streams of each API, and the events that clients must get in each `stream_mode`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from resay import Answer, AnswerChunk, Verdict
from resay.adapters.apis import (
    CHAT_COMPLETIONS,
    MESSAGES,
    RESPONSES,
    Api,
    Event,
    EventReader,
    Outcome,
    encoded,
)
from resay.adapters.events import SeenEvents
from resay.adapters.stream_rewriter import StreamRewriter
from resay.core.reasoning import notice_after
from resay.core.regeneration import Attempt, Regeneration
from resay.plugins import Completion
from resay.providers.base import Gathered

PASSED = Outcome({"decision": "consistent"})
BLOCKED = Outcome({"decision": "flagged"}, "Withheld.")
REWRITTEN = Outcome({"decision": "consistent", "action": "regenerate"}, "Anew.", complete=True)
CALL = {"place": "Oslo"}

Blocks = Sequence[Sequence[str]]

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
BLOCKS = st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "role", "content", "text", "index", "name", "delta", "usage"])
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


def joined(blocks: Blocks) -> str:
    """Return the text of all blocks."""
    return "".join(map("".join, blocks))


def responses_stream(blocks: Blocks, thought: str = "", called: bool = False) -> list[Event]:
    response: dict[str, Any] = {
        "id": "resp_7",
        "object": "response",
        "created_at": 1.0,
        "model": "m",
        "status": "in_progress",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    data: list[dict[str, Any]] = [
        {"type": "response.created", "response": response},
        {"type": "response.in_progress", "response": response},
    ]
    output: list[dict[str, Any]] = []
    if thought:
        place = {"item_id": "rs_1", "output_index": 0}
        item = {"id": "rs_1", "type": "reasoning", "summary": []}
        summary = {"type": "summary_text", "text": thought}
        kind = "response.reasoning_summary"
        data += [
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {
                "type": f"{kind}_part.added",
                **place,
                "summary_index": 0,
                "part": {**summary, "text": ""},
            },
            {"type": f"{kind}_text.delta", **place, "summary_index": 0, "delta": thought},
            {"type": f"{kind}_text.done", **place, "summary_index": 0, "text": thought},
            {"type": f"{kind}_part.done", **place, "summary_index": 0, "part": summary},
            {
                "type": "response.output_item.done",
                "output_index": 0,
                "item": {**item, "summary": [summary]},
            },
        ]
        output.append({**item, "summary": [summary]})
    for pieces in blocks:
        item_id, index, whole = f"msg_{len(output)}", len(output), "".join(pieces)
        place = {"item_id": item_id, "output_index": index, "content_index": 0}
        part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        item = {"id": item_id, "type": "message", "role": "assistant", "status": "in_progress"}
        done = {**item, "status": "completed", "content": [{**part, "text": whole}]}
        text = "response.output_text"
        data += [
            {
                "type": "response.output_item.added",
                "output_index": index,
                "item": {**item, "content": []},
            },
            {"type": "response.content_part.added", **place, "part": part},
            *({"type": f"{text}.delta", **place, "delta": p, "logprobs": []} for p in pieces),
            {"type": f"{text}.done", **place, "text": whole, "logprobs": []},
            {"type": "response.content_part.done", **place, "part": {**part, "text": whole}},
            {"type": "response.output_item.done", "output_index": index, "item": done},
        ]
        output.append(done)
    if called:
        index, given = len(output), json.dumps(CALL)
        item = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "look_up"}
        item |= {"arguments": "", "status": "in_progress"}
        done = {**item, "arguments": given, "status": "completed"}
        place = {"item_id": "fc_1", "output_index": index}
        kind = "response.function_call_arguments"
        data += [
            {"type": "response.output_item.added", "output_index": index, "item": item},
            {"type": f"{kind}.delta", **place, "delta": given[:5]},
            {"type": f"{kind}.delta", **place, "delta": given[5:]},
            {"type": f"{kind}.done", **place, "name": "look_up", "arguments": given},
            {"type": "response.output_item.done", "output_index": index, "item": done},
        ]
        output.append(done)
    usage = {
        "input_tokens": 5,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 12,
    }
    last = {**response, "status": "completed", "output": output, "usage": usage}
    data.append({"type": "response.completed", "response": last})
    return [Event({**body, "sequence_number": i}, body["type"]) for i, body in enumerate(data)]


def messages_stream(blocks: Blocks, thought: str = "", called: bool = False) -> list[Event]:
    message = {
        "id": "msg_7",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 1},
    }
    inner: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if thought:
        deltas = [{"type": "thinking_delta", "thinking": thought}]
        deltas.append({"type": "signature_delta", "signature": "s"})
        inner.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
    for pieces in blocks:
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
        inner.append(({"type": "text", "text": ""}, deltas))
    if called:
        given = json.dumps(CALL)
        deltas = [{"type": "input_json_delta", "partial_json": p} for p in (given[:5], given[5:])]
        start = {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {}}
        inner.append((start, deltas))
    data: list[dict[str, Any]] = [{"type": "message_start", "message": message}, {"type": "ping"}]
    for index, (start, deltas) in enumerate(inner):
        data.append({"type": "content_block_start", "index": index, "content_block": start})
        data += [{"type": "content_block_delta", "index": index, "delta": d} for d in deltas]
        data.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": "tool_use" if called else "end_turn", "stop_sequence": None}
    data.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 7}})
    data.append({"type": "message_stop"})
    return [Event(body, body["type"]) for body in data]


def chat_stream(blocks: Blocks, thought: str = "", called: bool = False) -> list[Event]:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        envelope = {"id": "c_7", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        return Event({**envelope, "choices": [choice]})

    said = [chunk({"content": piece}) for pieces in blocks for piece in pieces]
    thoughts = [chunk({"reasoning_content": thought})] if thought else []
    calls: list[Event] = []
    if called:
        given = {"name": "look_up", "arguments": json.dumps(CALL)}
        call = {"index": 0, "id": "call_1", "type": "function", "function": given}
        calls = [chunk({"tool_calls": [call]})]
    first = chunk({"role": "assistant", "content": ""})
    last = chunk({}, "tool_calls" if called else "stop")
    return [first, *thoughts, *said, *calls, last, Event("[DONE]")]


@dataclass(frozen=True)
class Spoken:
    """An API, a stream of it, and its finish reasons for a filtered and a finished answer."""

    api: Api
    stream: Callable[..., list[Event]]
    filtered: str
    finished: str

    def __repr__(self) -> str:
        return self.api.path


CHAT = Spoken(CHAT_COMPLETIONS, chat_stream, "content_filter", "stop")
RESPONSE = Spoken(RESPONSES, responses_stream, "content_filter", "completed")
MESSAGE = Spoken(MESSAGES, messages_stream, "refusal", "end_turn")
ALL = [CHAT, RESPONSE, MESSAGE]


def read(api: Api, events: Sequence[Event]) -> Completion:
    """Return the completion that events contain."""
    gathered = Gathered()
    for event in events:
        for _, chunk in api.chunks(event):
            gathered.add(chunk)
    return gathered.completion


def after(api: Api, events: Sequence[Event], outcome: Outcome) -> list[Event]:
    """Send events as they come, adding the verdict to those from the end on."""
    end = _end(api, events)
    notice: list[Event] = []
    if outcome.message:
        message = notice_after(read(api, events).text, outcome.message)
        notice = api.saying(events, message, whole=True)
    return _placed(api, [*events[:end], *notice, *api.ending(events[end:], {0: outcome})])


def hold(
    api: Api,
    events: Sequence[Event],
    lengths: Sequence[int],
    outcome: Outcome,
    *,
    can_change: bool = True,
) -> list[Event]:
    """Send the beginning of a text in pieces of these lengths, as soon as it came; then the end."""
    seen: list[Event] = []
    rewriter = StreamRewriter(api, SeenEvents(api, seen), can_change=can_change)
    coming = iter(events)
    text = read(api, events).text
    released, given = 0, list[Event]()
    for length in lengths:
        piece = text[released : released + length]
        released += len(piece)
        while len(read(api, seen).text) < released:
            seen.append(next(coming))
        given += rewriter.of(AnswerChunk(piece))
    seen += coming
    verdict = Verdict("consistent", 0.1, "")
    if outcome.message is not None:
        given += rewriter.of(AnswerChunk(outcome.message, is_replacement=True))
    else:
        given += rewriter.of(AnswerChunk(text[released:]))
    return [*given, *rewriter.of(Answer("", "", "allow", verdict), outcome)]


def buffer(api: Api, events: Sequence[Event], outcome: Outcome) -> list[Event]:
    """Send nothing before the verdict."""
    if outcome.message is not None:
        return hold(api, events, [], outcome)
    end = _end(api, events)
    return _placed(api, [*events[:end], *api.ending(events[end:], {0: outcome})])


def regenerated(text: str, draft: str, action: Any = "regenerate") -> Answer:
    """Return a regenerated answer."""
    found = Regeneration("repair", (Attempt("1 of 2 sentences > 0.50"),), 0, draft=draft)
    verdict = Verdict("consistent", 0.1, "passage 0.10 <= 0.50", regeneration=found)
    return Answer(text, text, action, verdict, completion=Completion(draft))


def rewrite(api: Api, events: Sequence[Event], shown: Sequence[str], answer: Answer) -> list[Event]:
    """Send part of an answer as it is written, and then another end, or another answer."""
    seen: list[Event] = []
    rewriter = StreamRewriter(api, SeenEvents(api, seen), can_change=True)
    coming = iter(events)
    given: list[Event] = []
    written = ""
    for place, text in enumerate(shown):
        while len(written) < len("".join(shown[: place + 1])):
            seen.append(next(coming))
            written += read(api, seen[-1:]).text
        given += rewriter.of(AnswerChunk(text))
    seen += coming
    rest = answer.text.removeprefix("".join(shown))
    return [*given, *rewriter.of(AnswerChunk(rest, rewritten=True)), *rewriter.of(answer)]


def without_verdicts(events: Sequence[Event]) -> list[Event]:
    """Return events without their verdicts, which may quote the draft."""
    return [Event(_unsaid(event.data), event.name) for event in events]


def _unsaid(data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    told = {k: v for k, v in data.items() if k != "hallucination"}
    response = told.get("response")
    return told | ({"response": _unsaid(response)} if response else {})


def sent(events: Sequence[Event]) -> bytes:
    return b"".join(encoded(event) for event in events)


def received(data: bytes) -> list[Event]:
    reader = EventReader()
    return [*reader.feed(data), *reader.finish()]


def in_words(events: Sequence[Event]) -> str:
    return json.dumps([event.data for event in events], ensure_ascii=False)


def _end(api: Api, events: Sequence[Event]) -> int:
    return next((i for i, event in enumerate(events) if api.ends(event)), len(events))


def _placed(api: Api, events: Sequence[Event]) -> list[Event]:
    return [api.numbered(event, position) for position, event in enumerate(events)]


@st.composite
def spoiled(draw: st.DrawFn, value: Any) -> Any:
    """Draw a value with arbitrary JSON in one place of it."""
    if isinstance(value, dict) and value and draw(st.integers(0, 5)):
        key = draw(st.sampled_from(sorted(value)))
        return {**value, key: draw(spoiled(value[key]))}
    if isinstance(value, list) and value and draw(st.integers(0, 5)):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], draw(spoiled(value[place])), *value[place + 1 :]]
    return draw(JSON)
