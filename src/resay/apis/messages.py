"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from resay.apis.base import Api, Body, Event, Outcome, Request
from resay.apis.messages_request import fresh_request, read_request, sample_request
from resay.apis.messages_stream import (
    KEY,
    chunk_of,
    ending_events,
    ends_answer,
    noting_events,
    prompt_tokens,
    saying_events,
    silent_event,
    tells_more,
    withholding_events,
)
from resay.apis.reading import as_json, mapping, mappings, number, text
from resay.providers.base import Chunk, Completion, ToolCall
from resay.query import Query
from resay.verdict import Usage

__all__ = ["MESSAGES"]

# What of a message is no word of the answer.
_KEPT = ("id", "type", "role", "model", "container", "usage")


class _Messages:
    path = "/messages"
    takes_n = False
    gives_logprobs = False

    def read(self, body: Body) -> Request:
        return read_request(body)

    def asking_logprobs(self, body: Body, top: int) -> Body:
        del top
        return body

    def without_logprobs(self, data: Body) -> Body:
        return data

    def sample(self, request: Request, query: Query, n: int) -> Body:
        del n
        return sample_request(request, query)

    def fresh(self, model: object, query: Query) -> Body:
        return fresh_request(model, query)

    def completions(self, response: Body) -> tuple[Completion, ...]:
        if not isinstance(response.get("content"), list):
            return ()
        blocks = mappings(response["content"])
        said = "".join(text(b.get("text")) for b in blocks if b.get("type") == "text")
        calls = tuple(_call(b, i) for i, b in enumerate(blocks) if b.get("type") == "tool_use")
        reason = text(response.get("stop_reason")) or None
        return (Completion(said, reason, raw=response, calls=calls),)

    def usage(self, response: Body) -> Usage:
        usage = mapping(response.get("usage"))
        return Usage(1, prompt_tokens(usage), number(usage.get("output_tokens")), None)

    def answered(self, response: Body, outcomes: Sequence[Outcome]) -> Body:
        (outcome,) = outcomes
        if outcome.message is None:
            return {**response, KEY: outcome.data}
        return _withheld(response, outcome.message, outcome)

    def chunks(self, event: Event) -> tuple[tuple[int, Chunk], ...]:
        return ((0, chunk_of(event)),)

    def ends(self, event: Event) -> bool:
        return ends_answer(event)

    def tells_more(self, event: Event) -> bool:
        return tells_more(event)

    def framed(self, event: Event) -> Event:
        return event

    def silent(self, event: Event) -> Event | None:
        return silent_event(event)

    def saying(self, seen: Sequence[Event], text: str, *, whole: bool = False) -> list[Event]:
        return noting_events(seen, text) if whole else saying_events(seen, text)

    def ending(self, held: Iterable[Event], outcomes: Mapping[int, Outcome]) -> list[Event]:
        return ending_events(list(held), outcomes.get(0))

    def withholding(self, seen: Sequence[Event], shown: str, outcome: Outcome) -> list[Event]:
        return withholding_events(seen, shown, outcome)

    def apart(self, event: Event) -> list[tuple[int, Event]]:
        return [(0, event)]

    def together(self, event: Event, place: int) -> Event:
        del place
        return event

    def placed(self, event: Event, position: int) -> Event:
        del position
        return event


MESSAGES: Api = _Messages()
"""`POST /messages`."""


def _call(block: Mapping[str, Any], place: int) -> ToolCall:
    return ToolCall(text(block.get("name")), as_json(block.get("input")), place)


def _withheld(response: Body, message: str, outcome: Outcome) -> dict[str, Any]:
    # All of the content is new, because words can be anywhere in the old: in calls, in thoughts.
    return {
        **{name: response[name] for name in _KEPT if name in response},
        "content": [{"type": "text", "text": message, "citations": None}],
        "stop_reason": "refusal",
        "stop_sequence": None,
        KEY: outcome.data,
    }
