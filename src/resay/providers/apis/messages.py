"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resay.core.query import Query
from resay.core.verdict import Usage
from resay.providers.apis import messages_stream
from resay.providers.apis.base import Api, Body, Outcome, Request
from resay.providers.apis.messages_request import fresh_request, read_request, sample_request
from resay.providers.apis.messages_stream import KEY, made_up, prompt_tokens, stopped, unread_in
from resay.providers.apis.one_answer import OneAnswerApi
from resay.providers.apis.reading import as_json, listed, mapping, mappings, number, text
from resay.providers.base import Completion, ToolCall

__all__ = ["MESSAGES"]

# What of a message is no word of the answer.
_KEPT = ("id", "type", "role", "model", "container", "usage")


class _Messages(OneAnswerApi):
    _events = messages_stream
    _key = KEY
    path = "/messages"
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

    def fresh(self, body: Body, query: Query) -> Body:
        return fresh_request(body, query)

    def completions(self, response: Body) -> tuple[Completion, ...]:
        if not isinstance(response.get("content"), list):
            return ()
        blocks = mappings(response["content"])
        said = "".join(text(b.get("text")) for b in blocks if b.get("type") == "text")
        calls = tuple(_call(b, i) for i, b in enumerate(blocks) if b.get("type") == "tool_use")
        reason = text(response.get("stop_reason")) or None
        unread = unread_in(listed(response["content"]))
        return (Completion(said, reason, raw=response, calls=calls, unread=unread),)

    def usage(self, response: Body) -> Usage:
        usage = mapping(response.get("usage"))
        return Usage(1, prompt_tokens(usage), number(usage.get("output_tokens")), None)

    def _replaced(self, response: Body, message: str, outcome: Outcome) -> Body:
        # All the content is new, as words can be anywhere in the old: in calls, in thoughts.
        return {
            **made_up(),
            **{name: response[name] for name in _KEPT if name in response},
            "content": [{"type": "text", "text": message}],
            **stopped(outcome),
            KEY: outcome.data,
        }


MESSAGES: Api = _Messages()
"""`POST /messages`."""


def _call(block: Mapping[str, Any], place: int) -> ToolCall:
    return ToolCall(text(block.get("name")), as_json(block.get("input")), place)
