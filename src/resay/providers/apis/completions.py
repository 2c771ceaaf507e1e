"""OpenAI's chat completions and plain-text completions, which may return several choices."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from resay.core.logprobs import read_logprobs
from resay.core.query import Message, Query
from resay.core.usage import Usage
from resay.providers.apis.base import (
    HOSTED,
    Api,
    Body,
    Event,
    Outcome,
    Request,
    count,
    is_garbled,
    is_yes,
    listed,
    mapping,
    mappings,
    named,
    number,
    object_tools,
    text,
    tokens_in,
    tools_for_continuation,
    unrepeatable_tools,
    words_elsewhere,
)
from resay.providers.base import Chunk, Completion, ToolCall

Choice = Mapping[str, Any]
"""One of the answers, or a piece of it."""
_KEY = "hallucination"
_DONE = "[DONE]"
# Fields of a response or event that contain no words of its answers. Some providers add fields to
# OpenAI's: their searches, and the results.
_KEPT = frozenset(
    {
        "created",
        "id",
        "model",
        "obfuscation",
        "object",
        "prompt_filter_results",
        "provider",
        "service_tier",
        "system_fingerprint",
        "usage",
    }
)

# Fields of a response that other servers add, without words of its answers.
_ADDED = frozenset(
    {
        "choices",
        "citations",
        "error",
        "hallucination",
        "inference_id",
        "metadata",
        "moderation",
        "nvext",
        "provider_specific_fields",
        "request_id",
        "search_results",
        "type",
        "x_groq",
    }
)
# Fields of a choice that are read, or that have no words of the answer.
_OF_CHOICE = frozenset(
    {
        "content_filter_offsets",
        "content_filter_result",
        "content_filter_results",
        "delta",
        "error",
        "finish_reason",
        "hallucination",
        "index",
        "logprobs",
        "matched_stop",
        "message",
        "native_finish_reason",
        "provider_specific_fields",
        "reasoning",
        "reasoning_content",
        "seed",
        "stop_reason",
        "text",
        "weight_version",
    }
)
# Fields of a message or delta that are read, or that have no words of the answer.
_OF_MESSAGE = frozenset(
    {
        "annotations",
        "audio",
        "citations",
        "content",
        "function_call",
        "hallucination",
        "id",
        "name",
        "object",
        "provider_specific_fields",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "reasoning_opaque",
        "reasoning_signature",
        "reasoning_text",
        "refusal",
        "role",
        "thinking",
        "thinking_blocks",
        "tool_call_id",
        "tool_calls",
        "type",
    }
)


def answers_wanted(body: Body) -> int:
    """Return the number of answers a request asks for."""
    return max(count(body.get("n")), 1)


class SeveralAnswersApi(ABC):
    """Base class for APIs with several answers per request; `Api` documents the methods.

    A subclass defines where a choice has its text, and the object type of stream chunks.
    """

    takes_n = True
    gives_logprobs = True
    _object: str
    _piece_object: str

    @abstractmethod
    def _completion(self, choice: Choice, response: Body) -> Completion:
        """Parse an answer."""

    @abstractmethod
    def _saying(self, message: str) -> dict[str, Any]:
        """Return the fields of a choice that consists of a message only."""

    @abstractmethod
    def _said(self, choice: Choice) -> str:
        """Return the text that a stream choice adds to an answer."""

    @abstractmethod
    def _chunk(self, choice: Choice, event: Event) -> Chunk:
        """Return what a stream choice adds to an answer."""

    @abstractmethod
    def _adding(self, said: str, *, first: bool) -> dict[str, Any]:
        """Return the fields of a stream choice that adds a text, if any; `first`: none before."""

    @abstractmethod
    def _quiet(self, choice: Choice) -> dict[str, Any]:
        """Return a stream choice without the text it adds."""

    @abstractmethod
    def _released(self, choice: Choice, start: int, stop: int) -> dict[str, Any]:
        """Return a stream choice with a part of the text it adds, and no other words."""

    @abstractmethod
    def _rest(self, choice: Choice, start: int) -> dict[str, Any]:
        """Return a stream choice without the beginning of its text."""

    @abstractmethod
    def has_other_words(self, event: Event) -> bool:
        """Return whether an event has words outside the answer's text."""

    def without_logprobs(self, data: Body) -> Body:
        """Return a response, or the data of an event, without log-probabilities."""
        choices = [{**c, "logprobs": None} if "logprobs" in c else c for c in _choices(data)]
        return {**data, "choices": choices} if choices else data

    def completions(self, response: Body) -> tuple[Completion, ...]:
        """Return the answers in a response."""
        items = [self._completion(choice, response) for choice in _choices(response)]
        if len(items) == 1 and not (items[0].text.strip() or items[0].calls or items[0].unread):
            items[0] = replace(items[0], unread=_elsewhere(response))
        if items and len(items) < len(listed(response.get("choices"))):
            items[0] = replace(items[0], unread=named(None))
        return tuple(items)

    def usage(self, response: Body) -> Usage:
        """Return the tokens and cost that a response reports."""
        return _usage(response) or Usage(1, cost_usd=None)

    def answered(self, response: Body, outcomes: Sequence[Outcome]) -> Body:
        """Return a response with its verdicts, and without the answers that are replaced."""
        choices = _choices(response)
        if not choices and outcomes[0].message is None:
            return {**response, **outcomes[0].fields}
        if not choices:
            response = {**self._nothing_seen(), "object": self._object, **response}
            choices = [mapping(None)]
        several = len(choices) > 1
        answered = [
            self._answered(choice, outcome, several)
            for choice, outcome in zip(choices, outcomes, strict=True)
        ]
        replaced = any(outcome.message is not None for outcome in outcomes)
        known = _kept(response) if replaced else response
        if not replaced:
            answered += [c for c in listed(response.get("choices")) if not isinstance(c, Mapping)]
        return {**known, "choices": answered, **_gravest(outcomes).fields}

    def _answered(self, choice: Choice, outcome: Outcome, several: bool) -> dict[str, Any]:
        # With several answers, each has its own verdict.
        own: Mapping[str, Any] = outcome.fields if several else {}
        if outcome.message is None:
            return {**choice, **own}
        # Build it from scratch, because words can be anywhere in the old one: in calls, in audio,
        # in reasoning.
        return {
            "index": count(choice.get("index")),
            **self._saying(outcome.message),
            "logprobs": None,
            "finish_reason": _reason(outcome),
            **own,
        }

    def chunks(self, event: Event) -> tuple[tuple[int, Chunk], ...]:
        """Return what an event adds to the answers, each by its index."""
        usage, choices = _usage(event.body), _choices(event.body)
        pieces = [(count(c.get("index")), self._chunk(c, event)) for c in choices]
        garbled = isinstance(event.data, str) and event.data != _DONE
        given = event.body.get("choices")
        unread = garbled or len(choices) < len(listed(given)) or is_garbled(given, list)
        elsewhere = _elsewhere(event.body)
        if usage is not None or unread or elsewhere or not pieces:
            common = Chunk(
                usage=usage,
                raw=None if pieces else event,
                unread=named(None) if unread else None,
                elsewhere=elsewhere,
            )
            pieces.append((0, common))
        return tuple(pieces)

    def ends(self, event: Event) -> bool:
        """Return whether an event ends an answer."""
        return event.data == _DONE or any(c.get("finish_reason") for c in _choices(event.body))

    def is_last(self, event: Event) -> bool:
        """Return whether an event is the last of a stream."""
        return event.data == _DONE

    def opening_frame(self, event: Event) -> Event | None:
        """Return the event if it opens a stream, with no words of the answer."""
        if any(chunk.unread for _, chunk in self.chunks(event)):
            return None
        return self.released(event, 0, 0)

    def released(self, event: Event, start: int, stop: int) -> Event:
        """Return an event with a part of the text it adds, and no other words."""
        body = _kept(event.body)
        if "choices" in event.body:
            choices = _choices(event.body)
            body["choices"] = [self._released(choice, start, stop) for choice in choices]
            if choices and "usage" in body:
                # A report of the whole comes with the end.
                body["usage"] = None
        return event if body == event.body else Event(body, event.name)

    def rest(self, event: Event, start: int) -> Event:
        """Return an event without the beginning of its text, which was released."""
        if not start:
            return event
        choices = [self._rest(choice, start) for choice in _choices(event.body)]
        return Event({**event.body, "choices": choices}, event.name)

    def remainder(self, event: Event) -> Event | None:
        """Return what is left of an event whose text was released; None if nothing."""
        if isinstance(event.data, str):
            return None
        frame = _without_nothing(self.released(event, 0, 0).body)
        silent = {**event.body, "choices": list(map(self._quiet, _choices(event.body)))}
        silent.pop("usage", None)
        frame.pop("usage", None)
        is_known = _without_nothing(silent) == frame
        return None if is_known else Event(silent, event.name)

    def saying(self, seen: Sequence[Event], text: str, *, whole: bool = False) -> list[Event]:
        """Return events that add a text to the first answer."""
        del whole
        first = not any(_choices(event.body) for event in seen)
        return [self._made(seen, self._adding(text, first=first))]

    def ending(self, held: Iterable[Event], outcomes: Mapping[int, Outcome]) -> list[Event]:
        """Return the last events of a stream with their verdicts."""
        return [self._concluded(event, outcomes) for event in held]

    def closing(
        self, sent: Sequence[Event], ends: Sequence[Event], outcome: Outcome
    ) -> list[Event]:
        """Return the events that close a stream whose answer, or the end of it, is replaced."""
        finish = self._made([*sent, *ends], self._adding("", first=False), _reason(outcome))
        # Some report the usage with the last choice, OpenAI after it.
        told = [e.body["usage"] for e in ends if e.body.get("usage") and _choices(e.body)]
        cost = {"usage": told[-1]} if told else {}
        closing = [Event({**finish.body, **cost, **outcome.fields}, finish.name)]
        # Anything a stream says after its last choice is not part of the answer.
        after = [e for e in ends if e.data == _DONE or _is_usage(e)]
        return closing + [_bared(event, _choices(event.body)) for event in after]

    def split(self, event: Event) -> list[tuple[int, Event]]:
        """Split an event by answer, each part as if that answer were the only one."""
        choices = _choices(event.body)
        # Most events are about one answer only, and need no splitting.
        if len(choices) == 1 and choices[0].get("index") == 0:
            return [(0, event)]
        return [(count(c.get("index")), _with_choice(event, {**c, "index": 0})) for c in choices]

    def with_index(self, event: Event, place: int) -> Event:
        """Turn an event of a sole answer into one of the answer at a position among several."""
        choices = _choices(event.body)
        return _with_choice(event, {**choices[0], "index": place}) if choices and place else event

    def numbered(self, event: Event, position: int) -> Event:
        """Return the event: these APIs do not number theirs."""
        del position
        return event

    def _made(
        self, seen: Sequence[Event], adding: dict[str, Any], reason: str | None = None
    ) -> Event:
        """Return an event with the envelope fields of the stream's events."""
        like: Body = next((e.body for e in seen if _choices(e.body)), self._nothing_seen())
        envelope = {k: v for k, v in _kept(like).items() if k != "usage"}
        choice = {"index": 0, **adding, "logprobs": None, "finish_reason": reason}
        usage = {"usage": None} if "usage" in like else {}
        return Event({**envelope, "choices": [choice], **usage})

    def _nothing_seen(self) -> Body:
        return {"id": "", "object": self._piece_object, "created": int(time.time()), "model": ""}

    def _concluded(self, event: Event, outcomes: Mapping[int, Outcome]) -> Event:
        choices = _choices(event.body)
        ended = [
            outcomes.get(count(c.get("index"))) if c.get("finish_reason") else None for c in choices
        ]
        known = [outcome for outcome in ended if outcome is not None]
        if not known:
            return event
        several = len(outcomes) > 1
        concluded = [
            choice if outcome is None else self._stopped(choice, outcome, several)
            for choice, outcome in zip(choices, ended, strict=True)
        ]
        return Event({**event.body, "choices": concluded, **_gravest(known).fields}, event.name)

    def _stopped(self, choice: Choice, outcome: Outcome, several: bool) -> dict[str, Any]:
        own: Mapping[str, Any] = outcome.fields if several else {}
        if not outcome.withheld:
            return {**choice, **own}
        # Some providers send the finish reason with the last words. Those would follow the message.
        return {**self._released(choice, 0, 0), **own, "finish_reason": _reason(outcome)}


def _choices(body: Body) -> list[Choice]:
    return mappings(body.get("choices"))


def _elsewhere(body: Body) -> str | None:
    """Return a message about words of a response, or of an event, outside of its choices."""
    return words_elsewhere(body, _KEPT | _ADDED)


def _usage(body: Body) -> Usage | None:
    usage = mapping(body.get("usage")) or mapping(mapping(body.get("x_groq")).get("usage"))
    # Moonshot reports it with the choice that ends.
    for choice in _choices(body):
        usage = usage or mapping(choice.get("usage"))
    if not usage:
        return None
    read, written = tokens_in(usage)
    return Usage(1, read, written, None)


def _is_usage(event: Event) -> bool:
    return bool(event.body.get("usage")) and not listed(event.body.get("choices"))


def _reason(outcome: Outcome) -> str:
    """Return the finish reason of an answer that was replaced."""
    return "content_filter" if outcome.filtered else "stop"


def _kept(body: Body) -> dict[str, Any]:
    return {k: v for k, v in body.items() if k in _KEPT}


def _gravest(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the worst outcome, which stands for several answers together."""
    return max(outcomes, key=_gravity)


def _gravity(outcome: Outcome) -> tuple[bool, bool, bool, bool]:
    decision = outcome.data.get("decision")
    flagged, inconclusive = decision == "flagged", decision == "inconclusive"
    return outcome.withheld, flagged, inconclusive, outcome.complete


def _without_nothing(value: object) -> Any:
    """Return a value without the fields that are empty."""
    if listed(value):
        return [_without_nothing(item) for item in listed(value)]
    if not mapping(value):
        return value
    known = {k: _without_nothing(v) for k, v in mapping(value).items()}
    return {k: v for k, v in known.items() if v not in (None, "", [], {})}


def _with_choice(event: Event, choice: Choice) -> Event:
    return Event({**event.body, "choices": [choice]}, event.name)


def _bared(event: Event, choices: Sequence[Choice]) -> Event:
    """Return an event with the given choices and no other words; itself if nothing changes."""
    body = {**_kept(event.body), "choices": [*choices]}
    return event if isinstance(event.data, str) or body == event.body else Event(body, event.name)


_NOT_CHAT_PARAMS = frozenset({"messages", "model", "n", "stream"})
# Fields of a delta that are the answer's role and text.
_PLAIN = frozenset({"content", "refusal", "role"})
# Fields of a stream choice without words of the answer.
_FRAME = (
    "index",
    "content_filter_offsets",
    "content_filter_results",
    "matched_stop",
    "native_finish_reason",
    "stop_reason",
)
# Not part of OpenAI's API, but gateways support them.
_KEPT_ELSEWHERE = ("container", "conversation", "previous_response_id", "thread", "thread_id")
# Content parts that contain no words of the answer.
_KNOWN = frozenset({"reasoning", "reference", "thinking"})
# Those of them that belong to the text before them, without any words: Mistral's citations.
_REFERENCE = "reference"
_WHOLE = "message"
_CONVERSATION = "every sample would be added to what the provider keeps of the conversation"


class _ChatCompletions(SeveralAnswersApi):
    path = "/chat/completions"
    _object = "chat.completion"
    _piece_object = "chat.completion.chunk"

    def read(self, body: Body) -> Request:
        params = {k: v for k, v in body.items() if k not in _NOT_CHAT_PARAMS and v is not None}
        messages = tuple(message for message in mappings(body.get("messages")) if "role" in message)
        query = Query(messages, None, params, object_tools=_object_tools(body))
        streams = is_yes(body.get("stream"))
        field, reason = _unrepeatable(body)
        n = answers_wanted(body)
        return Request(body, query, n, streams, unrepeatable=reason, field=field)

    def with_logprobs(self, body: Body, top: int) -> Body:
        wanted = max(top, number(body.get("top_logprobs")))
        return {**body, "logprobs": True, **({"top_logprobs": wanted} if wanted else {})}

    def sample(self, request: Request, query: Query, n: int) -> Body:
        asked = {k: request.body[k] for k in ("model", "messages") if k in request.body}
        return {**asked, **query.params, **({"n": n} if n > 1 else {})}

    def fresh(self, body: Body, query: Query) -> Body:
        asked = {"model": body.get("model"), "messages": [dict(m) for m in query.messages]}
        params = {k: v for k, v in query.params.items() if k not in _KEPT_ELSEWHERE}
        return {**asked, **tools_for_continuation(body, query, "none"), **params}

    def has_other_words(self, event: Event) -> bool:
        choices = mappings(event.body.get("choices"))
        return any(_says_otherwise(mapping(choice.get("delta"))) for choice in choices)

    def _completion(self, choice: Choice, response: Body) -> Completion:
        message = mapping(choice.get("message"))
        said, calls = _said_in(message), _calls(message)
        unread = _unread_message(message)
        garbled = is_garbled(choice.get("message"), Mapping)
        if "message" not in choice or garbled or _has_words_beside(choice):
            unread = named(None)
        if not (unread or calls or said.strip()):
            unread = _other_words(choice)
        return Completion(
            said,
            text(choice.get("finish_reason")) or None,
            read_logprobs(choice.get("logprobs")),
            response,
            calls,
            unread=unread,
        )

    def _saying(self, message: str) -> dict[str, Any]:
        return {"message": {"role": "assistant", "content": message, "refusal": None}}

    def _said(self, choice: Choice) -> str:
        return _said_in(mapping(choice.get("delta")))

    def _chunk(self, choice: Choice, event: Event) -> Chunk:
        delta = mapping(choice.get("delta"))
        said, whole = _said_in(delta), _said_in(mapping(choice.get("message")))
        return Chunk(
            said,
            text(choice.get("finish_reason")) or None,
            read_logprobs(choice.get("logprobs")),
            raw=event,
            calls=_calls(delta),
            unread=_unread_delta(choice),
            repeats=(_WHOLE, whole) if whole else None,
            elsewhere=None if said else _other_words(choice),
        )

    def _adding(self, said: str, *, first: bool) -> dict[str, Any]:
        content: dict[str, Any] = {"content": said} if said else {}
        return {"delta": {"role": "assistant", **content} if first else content}

    def _quiet(self, choice: Choice) -> dict[str, Any]:
        if not self._said(choice):
            return dict(choice)
        kept = {**choice, "delta": _without_text(mapping(choice.get("delta")))}
        return {**kept, "logprobs": None} if "logprobs" in choice else kept

    def _released(self, choice: Choice, start: int, stop: int) -> dict[str, Any]:
        delta = mapping(choice.get("delta"))
        said = {name: value for name, value in _cut(delta, start, stop).items() if value}
        if "role" in delta and not start:
            said = {"role": delta["role"], **said}
        kept = {name: choice[name] for name in _FRAME if name in choice}
        tokens = {"logprobs": None} if "logprobs" in choice else {}
        return {**kept, "delta": said, **tokens, "finish_reason": None}

    def _rest(self, choice: Choice, start: int) -> dict[str, Any]:
        delta = mapping(choice.get("delta"))
        kept = {**choice, "delta": {**delta, **_cut(delta, start, len(_said_in(delta)))}}
        return {**kept, "logprobs": None} if "logprobs" in choice else kept


CHAT_COMPLETIONS: Api = _ChatCompletions()
"""`POST /chat/completions`."""


def _unrepeatable(body: Body) -> tuple[str | None, str | None]:
    """Return the field that forbids to repeat a request, and why; None and None if none does."""
    # The application runs function tools, and only once it has the answer.
    others = [tool for tool in _parts(body.get("tools")) if not _is_client_run(tool)]
    if others:
        kinds: list[str] = []
        for tool in map(mapping, others):
            kind = text(tool.get("type"))
            kinds += [kind] if kind else tool.keys()
        return "tools", unrepeatable_tools(kinds)
    # An empty object asks for a search too.
    if body.get("web_search_options") is not None:
        return "web_search_options", HOSTED
    name = next((name for name in _KEPT_ELSEWHERE if body.get(name)), None)
    return (None, None) if name is None else (name, _CONVERSATION)


def _is_client_run(tool: object) -> bool:
    """Return whether the application runs a tool; Google's own have no type."""
    known = mapping(tool)
    kind = text(known.get("type"))
    return kind in ("custom", "function") if kind else bool(known.keys() & {"function", "name"})


def _object_tools(body: Body) -> tuple[str, ...]:
    names = [text(mapping(t.get("function")).get("name")) for t in mappings(body.get("tools"))]
    choice = body.get("tool_choice")
    kind = choice if isinstance(choice, str) else mapping(choice).get("type")
    return object_tools(names, kind, ("required", "function"))


def _calls(said: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    if not said.get("tool_calls") and not said.get("function_call"):
        return ()
    calls: list[ToolCall] = []
    for place, call in enumerate(mappings(said.get("tool_calls"))):
        called = _called(call)
        name, arguments = text(called.get("name")), text(called.get("arguments"))
        calls.append(ToolCall(name, arguments, _place(call, place), text(call.get("id"))))
    # The predecessor of `tool_calls`, which some servers still support.
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
    index = call.get("index")
    return place if index is None else number(index)


def _said_in(said: Mapping[str, Any]) -> str:
    """Return the text of a message or delta. A refusal is an answer too."""
    words, refusal = _words(said.get("content")), said.get("refusal")
    return words + refusal if isinstance(refusal, str) else words


def _words(content: object) -> str:
    """Return the text of a content, which some providers send as a list of parts, or as a part."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(map(_words_of_part, _parts(content)))


def _parts(content: object) -> Sequence[Any]:
    return [content] if isinstance(content, Mapping) else listed(content)


def _words_of_part(part: object) -> str:
    known = mapping(part)
    return text(part) or text(known.get("text")) or text(known.get("refusal"))


def _cut(said: Mapping[str, Any], start: int, stop: int) -> dict[str, Any]:
    """Return the text of a delta from one offset to another, in the fields that have it.

    References belong to the text before them.
    """
    cut: dict[str, Any] = {}
    content, refusal = said.get("content"), said.get("refusal")
    length = len(_words(content))
    if isinstance(content, str):
        cut["content"] = content[start:stop]
    elif content:
        cut["content"] = _cut_parts(_parts(content), start, stop)
    if isinstance(refusal, str):
        cut["refusal"] = refusal[max(start - length, 0) : max(stop - length, 0)]
    return cut


def _cut_parts(parts: Sequence[Any], start: int, stop: int) -> list[Any]:
    is_silent = not any(map(_words_of_part, parts))
    cut: list[Any] = []
    position = 0
    for part in parts:
        words = _words_of_part(part)
        before, position = position, position + len(words)
        if words:
            own = words[max(start - before, 0) : max(stop - before, 0)]
            if own:
                cut.append(own if isinstance(part, str) else _with_words(mapping(part), own))
        elif _is_reference(part):
            # After the text that it refers to.
            follows = start < position <= stop or (position == start == 0 < stop)
            if follows or is_silent:
                cut.append(part)
    return cut


def _with_words(part: Mapping[str, Any], words: str) -> dict[str, Any]:
    field = "text" if part.get("text") else "refusal"
    return {"type": part.get("type", "text"), field: words}


def _without_text(delta: Mapping[str, Any]) -> dict[str, Any]:
    kept = {k: v for k, v in delta.items() if k not in ("content", "refusal")}
    parts = delta.get("content")
    others = [p for p in _parts(parts) if not _words_of_part(p) and not _is_reference(p)]
    return {**kept, "content": others} if others else kept


def _is_reference(part: object) -> bool:
    return mapping(part).get("type") == _REFERENCE


def _says_otherwise(delta: Mapping[str, Any]) -> bool:
    """Return whether a delta has words outside its text."""
    if any(value for name, value in delta.items() if name not in _PLAIN):
        return True
    parts = _parts(delta.get("content"))
    return any(not (_words_of_part(part) or _is_reference(part)) for part in parts if part)


def _unread_delta(choice: Choice) -> str | None:
    """Return which part of a stream choice cannot be parsed; None if none."""
    if choice.get("text"):
        return named("text")
    for name in ("delta", "message"):
        if is_garbled(choice.get(name), Mapping):
            return named(name)
    return _unread_message(mapping(choice.get("delta")))


def _other_words(choice: Choice) -> str | None:
    """Return a message about words of a choice that are not where its text is."""
    for name in ("message", "delta"):
        other = words_elsewhere(mapping(choice.get(name)), _OF_MESSAGE)
        if other is not None:
            return other
    return words_elsewhere(choice, _OF_CHOICE)


def _has_words_beside(choice: Choice) -> bool:
    """Return whether a whole answer has words where only an event of a stream has them."""
    return bool(choice.get("text") or _said_in(mapping(choice.get("delta"))))


def _unread_message(said: Mapping[str, Any]) -> str | None:
    """Return which part of a message or delta cannot be parsed; None if none."""
    if said.get("audio"):
        return named("audio")
    content = said.get("content")
    if not content or isinstance(content, str):
        return None
    parts: Sequence[object] = _parts(content) or [content]
    return next((named(mapping(part).get("type")) for part in parts if not _is_known(part)), None)


def _is_known(part: object) -> bool:
    known = mapping(part)
    if isinstance(part, str) or isinstance(known.get("text"), str):
        return True
    if known.get("type") == "refusal":
        return isinstance(known.get("refusal"), str)
    return text(mapping(part).get("type")) in _KNOWN


_NOT_PARAMS = frozenset({"logprobs", "model", "n", "prompt", "stream"})
# Parameters whose effects are of no use in a sample; `best_of` would generate several for each.
_MAIN_CALL_ONLY = frozenset(
    {"best_of", "echo", "prompt_logprobs", "return_prompt_text", "return_token_ids"}
)
# Chat completions parameters that differ in this API.
_CHATS = frozenset({"logprobs", "max_completion_tokens", "top_logprobs"})
# Parameters that belong to the main call's own prompt.
_OF_THE_PROMPT = frozenset({"suffix"})
_MOST_ALTERNATIVES = 5
# Without a limit, the API ends an answer after 16 tokens.
_MAX_TOKENS = 1024
_LABELS: Mapping[str, str] = {
    "assistant": "Assistant",
    "developer": "System",
    "function": "Tool",
    "system": "System",
    "tool": "Tool",
}
_USER = "User"
_NO_TEXT = "the prompt is not given as a text"
_SEVERAL = "there are several prompts, whose answers are no samples of each other"
_ECHO = "the answer repeats the prompt (`echo`)"


class _Completions(SeveralAnswersApi):
    path = "/completions"
    _object = "text_completion"
    _piece_object = "text_completion"

    def read(self, body: Body) -> Request:
        prompts = _prompts(body.get("prompt"))
        only = prompts[0] if len(prompts) == 1 else None
        messages = () if only is None else ({"role": "user", "content": only},)
        field, reason = _unchecked(body, prompts)
        query = Query(messages, None, _params(body), uncheckable=reason)
        n = answers_wanted(body) * max(len(prompts), 1)
        streams = is_yes(body.get("stream"))
        return Request(body, query, n, streams, unrepeatable=reason, field=field)

    def with_logprobs(self, body: Body, top: int) -> Body:
        return {**body, "logprobs": max(min(top, _MOST_ALTERNATIVES), _alternatives(body) or 0)}

    def sample(self, request: Request, query: Query, n: int) -> Body:
        asked = {k: request.body[k] for k in ("model", "prompt") if k in request.body}
        return {**asked, **_own(query.params), **({"n": n} if n > 1 else {})}

    def fresh(self, body: Body, query: Query) -> Body:
        limit = max(number(body.get("max_tokens")), _MAX_TOKENS)
        asked = {"model": body.get("model"), **_written(query.messages), "max_tokens": limit}
        params = _own(query.params)
        return {**asked, **{k: v for k, v in params.items() if k not in _OF_THE_PROMPT}}

    def has_other_words(self, event: Event) -> bool:
        del event
        return False

    def _completion(self, choice: Choice, response: Body) -> Completion:
        said, unread = text(choice.get("text")), _unread(choice)
        if not (unread or said.strip()):
            unread = words_elsewhere(choice, _OF_CHOICE)
        return Completion(
            said,
            text(choice.get("finish_reason")) or None,
            read_logprobs(choice.get("logprobs")),
            response,
            unread=unread,
        )

    def _saying(self, message: str) -> dict[str, Any]:
        return {"text": message}

    def _said(self, choice: Choice) -> str:
        return text(choice.get("text"))

    def _chunk(self, choice: Choice, event: Event) -> Chunk:
        said = text(choice.get("text"))
        return Chunk(
            said,
            text(choice.get("finish_reason")) or None,
            read_logprobs(choice.get("logprobs")),
            raw=event,
            unread=_unread(choice),
            elsewhere=None if said else words_elsewhere(choice, _OF_CHOICE),
        )

    def _adding(self, said: str, *, first: bool) -> dict[str, Any]:
        del first
        return {"text": said}

    def _quiet(self, choice: Choice) -> dict[str, Any]:
        return {**choice, "text": "", "logprobs": None}

    def _released(self, choice: Choice, start: int, stop: int) -> dict[str, Any]:
        # Servers may repeat the text next to it, as token ids.
        kept = {name: choice[name] for name in _FRAME if name in choice}
        said = text(choice.get("text"))[start:stop]
        return {**kept, "text": said, "logprobs": None, "finish_reason": None}

    def _rest(self, choice: Choice, start: int) -> dict[str, Any]:
        return {**choice, "text": text(choice.get("text"))[start:], "logprobs": None}


COMPLETIONS: Api = _Completions()
"""`POST /completions`.

A prompt is parsed as one user message, even if it is not a question but the beginning of a text.
Not checked are answers that begin with their prompt (`echo`), answers to several prompts at once,
and answers to prompts given as token ids.
"""


def _unread(choice: Choice) -> str | None:
    """Return which part of an answer cannot be parsed; None if none."""
    said = choice.get("text")
    elsewhere = choice.get("message") or choice.get("delta")
    return named(None) if elsewhere or not isinstance(said, str | None) else None


def _prompts(prompt: object) -> list[str | None]:
    """Return the prompts of a request; None for each that is not text."""
    if isinstance(prompt, str):
        return [prompt]
    items = listed(prompt)
    # A list of numbers is one prompt.
    if any(isinstance(item, int) for item in items):
        return [None]
    return [item if isinstance(item, str) else None for item in items]


def _unchecked(body: Body, prompts: Sequence[str | None]) -> tuple[str | None, str | None]:
    """Return the field that prevents a check, and why; None and None if none does."""
    if len(prompts) > 1:
        return "prompt", _SEVERAL
    if not prompts or prompts[0] is None:
        return "prompt", _NO_TEXT
    return ("echo", _ECHO) if body.get("echo") else (None, None)


def _alternatives(body: Body) -> int | None:
    """Return how many alternatives per token are requested; None if no log-probabilities are."""
    wanted = body.get("logprobs")
    if isinstance(wanted, bool):
        return 1 if wanted else None
    return wanted if isinstance(wanted, int) and wanted >= 0 else None


def _params(body: Body) -> dict[str, Any]:
    """Return the parameters in the format of chat completions."""
    known = {k: v for k, v in body.items() if k not in _NOT_PARAMS and v is not None}
    top = _alternatives(body)
    return known if top is None else {**known, "logprobs": True, "top_logprobs": top}


def _own(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a query's parameters in the format of this API."""
    own = {k: v for k, v in params.items() if k not in _CHATS | _MAIN_CALL_ONLY}
    if params.get("max_completion_tokens") is not None:
        own["max_tokens"] = params["max_completion_tokens"]
    if params.get("logprobs"):
        own["logprobs"] = min(number(params.get("top_logprobs")), _MOST_ALTERNATIVES)
    return own


def _written(messages: Sequence[Message]) -> dict[str, Any]:
    """Return a conversation as a prompt: one message as it is, several labelled by role."""
    if len(messages) == 1:
        return {"prompt": _text_of(messages[0])}
    said = [f"{_label(message)}: {_text_of(message)}" for message in messages]
    # Without a stop sequence, the model would go on and write the next question itself.
    return {"prompt": "\n\n".join([*said, "Assistant:"]), "stop": [f"\n\n{_USER}:"]}


def _label(message: Message) -> str:
    return _LABELS.get(text(message.get("role")), _USER)


def _text_of(message: Message) -> str:
    content = message.get("content")
    return text(content) or "\n".join(text(part.get("text")) for part in mappings(content))
