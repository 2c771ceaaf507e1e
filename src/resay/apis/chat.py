"""OpenAI's chat completions, which most providers and servers speak."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from resay.apis.base import Api, Body, Event, Outcome, Request
from resay.apis.reading import listed, mapping, mappings, number, text
from resay.apis.tools import object_tools, tools_of_old
from resay.logprobs import read_logprobs
from resay.providers.base import Chunk, Completion, ToolCall
from resay.query import Query
from resay.verdict import Usage

__all__ = ["CHAT_COMPLETIONS"]

_KEY = "hallucination"
_DONE = "[DONE]"
_NOT_PARAMS = frozenset({"messages", "model", "n", "stream"})
# Of a piece of an answer: who says it, and its text.
_PLAIN = frozenset({"content", "role"})
# What of a response, or of an event, is no word of its answers. Some providers put more there than
# OpenAI: what they searched for, and what they found.
_KEPT = frozenset(
    {
        "created",
        "id",
        "model",
        "object",
        "prompt_filter_results",
        "provider",
        "service_tier",
        "system_fingerprint",
        "usage",
    }
)
# Nothing of OpenAI's, but gateways know it.
_KEPT_ELSEWHERE = ("container", "conversation", "previous_response_id", "thread_id")
_CONVERSATION = "every sample would be added to what the provider keeps of the conversation"
_HOSTED = "the provider would run its tools once more for every sample"


class _ChatCompletions:
    path = "/chat/completions"
    takes_n = True
    gives_logprobs = True

    def read(self, body: Body) -> Request:
        params = {k: v for k, v in body.items() if k not in _NOT_PARAMS and v is not None}
        messages = tuple(message for message in mappings(body.get("messages")) if "role" in message)
        query = Query(messages, None, params, object_tools=_object_tools(body))
        n = body.get("n")
        return Request(
            body,
            query,
            n if isinstance(n, int) and n > 1 else 1,
            body.get("stream") is True,
            _unrepeatable(body),
        )

    def asking_logprobs(self, body: Body, top: int) -> Body:
        wanted = max(top, number(body.get("top_logprobs")))
        return {**body, "logprobs": True, **({"top_logprobs": wanted} if wanted else {})}

    def without_logprobs(self, data: Body) -> Body:
        choices = [{**c, "logprobs": None} if "logprobs" in c else c for c in _choices(data)]
        return {**data, "choices": choices} if choices else data

    def sample(self, request: Request, query: Query, n: int) -> Body:
        asked = {k: request.body[k] for k in ("model", "messages") if k in request.body}
        return {**asked, **query.params, **({"n": n} if n > 1 else {})}

    def fresh(self, body: Body, query: Query) -> Body:
        asked = {"model": body.get("model"), "messages": [dict(m) for m in query.messages]}
        params = {k: v for k, v in query.params.items() if k not in _KEPT_ELSEWHERE}
        return {**asked, **tools_of_old(body, query, "none"), **params}

    def completions(self, response: Body) -> tuple[Completion, ...]:
        return tuple(_completion(choice, response) for choice in _choices(response))

    def usage(self, response: Body) -> Usage:
        return _usage(response) or Usage(1, cost_usd=None)

    def answered(self, response: Body, outcomes: Sequence[Outcome]) -> Body:
        choices = _choices(response)
        several = len(choices) > 1
        answered = [
            _answered(choice, outcome, several)
            for choice, outcome in zip(choices, outcomes, strict=True)
        ]
        replaced = any(outcome.message is not None for outcome in outcomes)
        known = _kept(response) if replaced else response
        return {**known, "choices": answered, _KEY: _gravest(outcomes).data}

    def chunks(self, event: Event) -> tuple[tuple[int, Chunk], ...]:
        usage = _usage(event.body)
        pieces = [(number(c.get("index")), _chunk(c, event)) for c in _choices(event.body)]
        if usage is not None or not pieces:
            pieces.append((0, Chunk(usage=usage, raw=None if pieces else event)))
        return tuple(pieces)

    def ends(self, event: Event) -> bool:
        return event.data == _DONE or any(c.get("finish_reason") for c in _choices(event.body))

    def tells_more(self, event: Event) -> bool:
        deltas = [mapping(choice.get("delta")) for choice in _choices(event.body)]
        return any(v for delta in deltas for k, v in delta.items() if k not in _PLAIN)

    def framed(self, event: Event) -> Event:
        choices = _choices(event.body)
        frames = [_framed(choice) for choice in choices] if self.tells_more(event) else choices
        return _bared(event, frames)

    def silent(self, event: Event) -> Event | None:
        choices = _choices(event.body)
        if not any(_said(choice) for choice in choices):
            return event
        quiet = [_quiet(choice) for choice in choices]
        if not any(_tells(choice) for choice in quiet) and not event.body.get("usage"):
            return None
        return Event({**event.body, "choices": quiet}, event.name)

    def saying(self, seen: Sequence[Event], text: str, *, whole: bool = False) -> list[Event]:
        del whole
        delta: dict[str, Any] = {"content": text}
        if not any(_choices(event.body) for event in seen):
            delta = {"role": "assistant", **delta}
        return [_made(seen, delta)]

    def ending(self, held: Iterable[Event], outcomes: Mapping[int, Outcome]) -> list[Event]:
        return [_concluded(event, outcomes) for event in held]

    def closing(self, seen: Sequence[Event], shown: str, outcome: Outcome) -> list[Event]:
        del shown
        finish = _made(seen, {}, _reason(outcome))
        # Some say what it cost with the last choice, OpenAI after it.
        told = [e.body["usage"] for e in seen if e.body.get("usage") and _choices(e.body)]
        cost = {"usage": told[-1]} if told else {}
        closing = [Event({**finish.body, **cost, _KEY: outcome.data}, finish.name)]
        # What a stream says after its last choice is no part of the answer.
        after = [e for e in seen if e.data == _DONE or _is_usage(e)]
        return closing + [_bared(event, _choices(event.body)) for event in after]

    def apart(self, event: Event) -> list[tuple[int, Event]]:
        return [
            (number(c.get("index")), _with_choice(event, {**c, "index": 0}))
            for c in _choices(event.body)
        ]

    def together(self, event: Event, place: int) -> Event:
        choices = _choices(event.body)
        return _with_choice(event, {**choices[0], "index": place}) if choices and place else event

    def placed(self, event: Event, position: int) -> Event:
        del position
        return event


CHAT_COMPLETIONS: Api = _ChatCompletions()
"""`POST /chat/completions`."""


def _unrepeatable(body: Body) -> str | None:
    # Function tools are run by the application, and only once it has the answer.
    kinds = {text(tool.get("type")) or "function" for tool in mappings(body.get("tools"))}
    if kinds - {"function", "custom"} or body.get("web_search_options"):
        return _HOSTED
    return _CONVERSATION if any(body.get(name) for name in _KEPT_ELSEWHERE) else None


def _object_tools(body: Body) -> tuple[str, ...]:
    names = [text(mapping(t.get("function")).get("name")) for t in mappings(body.get("tools"))]
    choice = body.get("tool_choice")
    kind = choice if isinstance(choice, str) else mapping(choice).get("type")
    return object_tools(names, kind, ("required", "function"))


def _choices(body: Body) -> list[Mapping[str, Any]]:
    return mappings(body.get("choices"))


def _completion(choice: Mapping[str, Any], response: Body) -> Completion:
    message = mapping(choice.get("message"))
    return Completion(
        text(message.get("content")),
        text(choice.get("finish_reason")) or None,
        read_logprobs(choice.get("logprobs")),
        response,
        _calls(message),
    )


def _chunk(choice: Mapping[str, Any], event: Event) -> Chunk:
    delta = mapping(choice.get("delta"))
    return Chunk(
        text(delta.get("content")),
        text(choice.get("finish_reason")) or None,
        read_logprobs(choice.get("logprobs")),
        raw=event,
        calls=_calls(delta),
    )


def _calls(said: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    calls = [
        ToolCall(text(_called(c).get("name")), text(_called(c).get("arguments")), _place(c, place))
        for place, c in enumerate(mappings(said.get("tool_calls")))
    ]
    # Its one predecessor, which some servers still know.
    old = mapping(said.get("function_call"))
    if old:
        calls.append(ToolCall(text(old.get("name")), text(old.get("arguments"))))
    return tuple(calls)


def _called(call: Mapping[str, Any]) -> Mapping[str, Any]:
    custom = mapping(call.get("custom"))
    if custom:
        return {"name": custom.get("name"), "arguments": custom.get("input")}
    return mapping(call.get("function"))


def _place(call: Mapping[str, Any], place: int) -> int:
    return number(call.get("index")) if "index" in call else place


def _usage(body: Body) -> Usage | None:
    usage = mapping(body.get("usage"))
    if not usage:
        return None
    read, written = number(usage.get("prompt_tokens")), number(usage.get("completion_tokens"))
    return Usage(1, read, written, None)


def _is_usage(event: Event) -> bool:
    return bool(event.body.get("usage")) and not listed(event.body.get("choices"))


def _answered(choice: Mapping[str, Any], outcome: Outcome, several: bool) -> dict[str, Any]:
    # Of several answers each has its own verdict.
    own = {_KEY: outcome.data} if several else {}
    if outcome.message is None:
        return {**choice, **own}
    # A new message, because words can be anywhere in the old one: in calls, in audio, in thoughts.
    message = {"role": "assistant", "content": outcome.message, "refusal": None}
    return {
        "index": number(choice.get("index")),
        "message": message,
        "logprobs": None,
        "finish_reason": _reason(outcome),
        **own,
    }


def _reason(outcome: Outcome) -> str:
    """Return why an answer ends that another text has replaced."""
    return "stop" if outcome.complete else "content_filter"


def _kept(body: Body) -> dict[str, Any]:
    return {k: v for k, v in body.items() if k in _KEPT}


def _gravest(outcomes: Sequence[Outcome]) -> Outcome:
    """Return what is said of several answers together: the worst."""
    return max(outcomes, key=_gravity)


def _gravity(outcome: Outcome) -> tuple[bool, bool, bool, bool]:
    decision = outcome.data.get("decision")
    flagged, inconclusive = decision == "flagged", decision == "inconclusive"
    return outcome.withheld, flagged, inconclusive, outcome.complete


def _with_choice(event: Event, choice: Mapping[str, Any]) -> Event:
    return Event({**event.body, "choices": [choice]}, event.name)


def _bared(event: Event, choices: list[Mapping[str, Any]]) -> Event:
    """Return an event with other choices and no other words; the same where it is that already."""
    body = {**_kept(event.body), "choices": choices}
    return event if isinstance(event.data, str) or body == event.body else Event(body, event.name)


def _said(choice: Mapping[str, Any]) -> str:
    return text(mapping(choice.get("delta")).get("content"))


def _framed(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    role = mapping(choice.get("delta")).get("role")
    return {"index": number(choice.get("index")), "delta": {"role": role}, "finish_reason": None}


def _quiet(choice: Mapping[str, Any]) -> dict[str, Any]:
    if not _said(choice):
        return dict(choice)
    delta = {k: v for k, v in mapping(choice.get("delta")).items() if k != "content"}
    kept = {**choice, "delta": delta}
    return {**kept, "logprobs": None} if "logprobs" in choice else kept


def _tells(choice: Mapping[str, Any]) -> bool:
    return bool(choice.get("finish_reason") or mapping(choice.get("delta")))


def _made(seen: Sequence[Event], delta: dict[str, Any], reason: str | None = None) -> Event:
    """Return an event like those of the stream."""
    like: Body = next((e.body for e in seen if _choices(e.body)), _nothing_seen())
    envelope = {k: v for k, v in _kept(like).items() if k != "usage"}
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    usage = {"usage": None} if "usage" in like else {}
    return Event({**envelope, "choices": [choice], **usage})


def _nothing_seen() -> Body:
    created = int(time.time())
    return {"id": "", "object": "chat.completion.chunk", "created": created, "model": ""}


def _concluded(event: Event, outcomes: Mapping[int, Outcome]) -> Event:
    choices = _choices(event.body)
    ended = [
        outcomes.get(number(c.get("index"))) if c.get("finish_reason") else None for c in choices
    ]
    known = [outcome for outcome in ended if outcome is not None]
    if not known:
        return event
    several = len(outcomes) > 1
    concluded = [
        choice if outcome is None else _stopped(choice, outcome, several)
        for choice, outcome in zip(choices, ended, strict=True)
    ]
    return Event({**event.body, "choices": concluded, _KEY: _gravest(known).data}, event.name)


def _stopped(choice: Mapping[str, Any], outcome: Outcome, several: bool) -> dict[str, Any]:
    stopped = {**choice, **({_KEY: outcome.data} if several else {})}
    return {**stopped, "finish_reason": _reason(outcome)} if outcome.withheld else stopped
