"""What APIs whose answers are choices have in common."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from resay.core.marks import Mark
from resay.core.usage import Usage
from resay.providers.apis.base import Outcome
from resay.providers.apis.events import Event
from resay.providers.apis.values import (
    Body,
    count,
    is_garbled,
    listed,
    mapping,
    mappings,
    named,
    tokens_in,
    words_elsewhere,
)
from resay.providers.base import Chunk, Completion

Choice = Mapping[str, Any]
"""One of the answers, or a piece of it."""
_DONE = "[DONE]"
# Fields of a response or event that contain no words of its answers. Some providers add fields to
# OpenAI's: their searches, and the results.
_ENVELOPE_FIELDS = frozenset(
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
_OTHER_FIELDS = frozenset(
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
_KNOWN_FIELDS = _ENVELOPE_FIELDS | _OTHER_FIELDS
CHOICE_FIELDS = frozenset(
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
"""Fields of a choice that are read, or that have no words of the answer."""
WORDLESS_FIELDS = (
    "index",
    "content_filter_offsets",
    "content_filter_results",
    "matched_stop",
    "native_finish_reason",
    "stop_reason",
)
"""Fields of a stream choice without words of the answer."""


def answer_count(body: Body) -> int:
    """Return the number of answers a request asks for."""
    return max(count(body.get("n")), 1)


class ChoicesApi(ABC):
    """Base class for APIs with several answers per request; `Api` documents the methods.

    A subclass defines where a choice has its text, and the object type of stream chunks.
    """

    takes_n = True
    gives_logprobs = True
    _object: str
    _chunk_object: str

    @abstractmethod
    def _completion(self, choice: Choice, response: Body) -> Completion:
        """Parse an answer."""

    @abstractmethod
    def _message_fields(self, message: str) -> dict[str, Any]:
        """Return the fields of a choice that consists of a message only."""

    @abstractmethod
    def _marked(self, choice: Choice, marks: Sequence[Mark]) -> Choice:
        """Return a choice with marks in its text."""

    @abstractmethod
    def _chunk(self, choice: Choice, event: Event) -> Chunk:
        """Return what a stream choice adds to an answer."""

    @abstractmethod
    def _delta_fields(self, text: str, *, first: bool) -> dict[str, Any]:
        """Return the fields of a stream choice that adds a text, if any; `first`: none before."""

    @abstractmethod
    def _without_text(self, choice: Choice) -> dict[str, Any]:
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
        if len(items) == 1:
            (answer,) = items
            if not (answer.text.strip() or answer.calls or answer.unread):
                items = [replace(answer, unread=_elsewhere(response))]
        if items and len(items) < len(listed(response.get("choices"))):
            items[0] = replace(items[0], unread=named(None))
        return tuple(items)

    def usage(self, response: Body) -> Usage:
        """Return the tokens and cost that a response reports."""
        return _usage(response, _choices(response)) or Usage(1, cost_usd=None)

    def answered(self, response: Body, outcomes: Sequence[Outcome]) -> Body:
        """Return a response with its verdicts, and without the answers that are replaced."""
        choices = _choices(response)
        if not choices and outcomes[0].message is None:
            return {**response, **outcomes[0].fields}
        if not choices:
            response = {**self._empty_envelope(), "object": self._object, **response}
            choices = [mapping(None)]
        answered: list[Any] = []
        for choice, outcome in zip(choices, outcomes, strict=True):
            # With several answers, each has its own verdict.
            verdict: Body = outcome.fields if len(choices) > 1 else {}
            answered.append(self._answered(choice, outcome, verdict))
        is_replaced = any(outcome.message is not None for outcome in outcomes)
        if not is_replaced:
            answered += [c for c in listed(response.get("choices")) if not isinstance(c, Mapping)]
        envelope = _envelope(response) if is_replaced else response
        return {**envelope, "choices": answered, **_worst(outcomes).fields}

    def _answered(self, choice: Choice, outcome: Outcome, verdict: Body) -> dict[str, Any]:
        if outcome.message is None:
            marked = self._marked(choice, outcome.marks) if outcome.marks else choice
            return {**marked, **verdict}
        # Build it from scratch, because words can be anywhere in the old one: in calls, in audio,
        # in reasoning.
        return {
            "index": count(choice.get("index")),
            **self._message_fields(outcome.message),
            "logprobs": None,
            "finish_reason": _finish_reason(outcome),
            **verdict,
        }

    def chunks(self, event: Event) -> tuple[tuple[int, Chunk], ...]:
        """Return what an event adds to the answers, each by its index."""
        body = event.body
        choices = _choices(body)
        chunks = [(count(c.get("index")), self._chunk(c, event)) for c in choices]
        usage = _usage(body, choices)
        raw_choices = body.get("choices")
        is_unread = (
            (isinstance(event.data, str) and event.data != _DONE)
            or len(choices) < len(listed(raw_choices))
            or is_garbled(raw_choices, list)
        )
        elsewhere = _elsewhere(body)
        if usage is not None or is_unread or elsewhere or not chunks:
            common = Chunk(
                usage=usage,
                raw=None if chunks else event,
                unread=named(None) if is_unread else None,
                elsewhere=elsewhere,
            )
            chunks.append((0, common))
        return tuple(chunks)

    def event_usage(self, event: Event) -> Usage | None:
        """Return the tokens that an event reports."""
        return _usage(event.body, _choices(event.body))

    def ends(self, event: Event) -> bool:
        """Return whether an event ends an answer."""
        if event.data == _DONE:
            return True
        for choice in _choices(event.body):  # noqa: SIM110 - a generator takes twice as long
            if choice.get("finish_reason"):
                return True
        return False

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
        body = _envelope(event.body)
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
        released = _without_empty(self.released(event, 0, 0).body)
        choices = list(map(self._without_text, _choices(event.body)))
        remainder = {**event.body, "choices": choices}
        remainder.pop("usage", None)
        released.pop("usage", None)
        has_nothing_new = _without_empty(remainder) == released
        return None if has_nothing_new else Event(remainder, event.name)

    def saying(self, seen: Sequence[Event], text: str, *, whole: bool = False) -> list[Event]:
        """Return events that add a text to the first answer."""
        del whole
        first = not any(_choices(event.body) for event in seen)
        return [self._event(seen, self._delta_fields(text, first=first))]

    def ending(self, held: Iterable[Event], outcomes: Mapping[int, Outcome]) -> list[Event]:
        """Return the last events of a stream with their verdicts."""
        return [self._with_outcomes(event, outcomes) for event in held]

    def closing(
        self, sent: Sequence[Event], ends: Sequence[Event], outcome: Outcome
    ) -> list[Event]:
        """Return the events that close a stream whose answer, or the end of it, is replaced."""
        delta = self._delta_fields("", first=False)
        finish = self._event([*sent, *ends], delta, _finish_reason(outcome))
        usage: dict[str, Any] = {}
        trailing: list[Event] = []
        for event in ends:
            # Some report the usage with the last choice, OpenAI after it.
            if event.body.get("usage") and _choices(event.body):
                usage = {"usage": event.body["usage"]}
            # Anything else after the last choice is not part of the answer.
            if event.data == _DONE or _is_usage(event):
                trailing.append(_without_words(event))
        return [Event({**finish.body, **usage, **outcome.fields}, finish.name), *trailing]

    def marked_event(self, event: Event, marks: Sequence[Mark], end: int) -> Event:
        """Return the event: clients of these APIs read no text that an event repeats."""
        del marks, end
        return event

    def split(self, event: Event) -> list[tuple[int, Event]]:
        """Split an event by answer, each part as if that answer were the only one."""
        choices = _choices(event.body)
        # Most events are about one answer only, and need no splitting.
        if len(choices) == 1 and choices[0].get("index") == 0:
            return [(0, event)]
        return [(count(c.get("index")), _with_choice(event, {**c, "index": 0})) for c in choices]

    def with_index(self, event: Event, index: int) -> Event:
        """Turn an event of a sole answer into one of the answer at a position among several."""
        choices = _choices(event.body)
        return _with_choice(event, {**choices[0], "index": index}) if choices and index else event

    def numbered(self, event: Event, position: int) -> Event:
        """Return the event: these APIs do not number theirs."""
        del position
        return event

    def _event(
        self, events: Sequence[Event], delta: dict[str, Any], finish_reason: str | None = None
    ) -> Event:
        """Return an event with the envelope fields of the stream's events."""
        bodies = (event.body for event in events)
        like: Body = next(filter(_choices, bodies), self._empty_envelope())
        body = _envelope(like)
        body.pop("usage", None)
        choice = {"index": 0, **delta, "logprobs": None, "finish_reason": finish_reason}
        body["choices"] = [choice]
        if "usage" in like:
            body["usage"] = None
        return Event(body)

    def _empty_envelope(self) -> Body:
        return {"id": "", "object": self._chunk_object, "created": int(time.time()), "model": ""}

    def _with_outcomes(self, event: Event, outcomes: Mapping[int, Outcome]) -> Event:
        choices: list[Choice] = []
        ended: list[Outcome] = []
        for choice in _choices(event.body):
            outcome = outcomes.get(count(choice.get("index")))
            if outcome is None or not choice.get("finish_reason"):
                choices.append(choice)
                continue
            ended.append(outcome)
            verdict: Body = outcome.fields if len(outcomes) > 1 else {}
            if outcome.withheld:
                # Some providers send the finish reason with the last words. Those would follow the
                # message.
                choice = {**self._released(choice, 0, 0), "finish_reason": _finish_reason(outcome)}
            choices.append({**choice, **verdict})
        if not ended:
            return event
        return Event({**event.body, "choices": choices, **_worst(ended).fields}, event.name)


def _choices(body: Body) -> Sequence[Choice]:
    return mappings(body.get("choices"))


def _elsewhere(body: Body) -> str | None:
    """Return a message about words of a response, or of an event, outside of its choices."""
    return words_elsewhere(body, _KNOWN_FIELDS)


def _usage(body: Body, choices: Sequence[Choice]) -> Usage | None:
    usage = mapping(body.get("usage"))
    if not usage and "x_groq" in body:
        usage = mapping(mapping(body["x_groq"]).get("usage"))
    if not usage:
        # Moonshot reports it with the choice that ends.
        for choice in choices:
            usage = usage or mapping(choice.get("usage"))
    if not usage:
        return None
    prompt_tokens, completion_tokens = tokens_in(usage)
    return Usage(1, prompt_tokens, completion_tokens, cost_usd=None)


def _is_usage(event: Event) -> bool:
    return bool(event.body.get("usage")) and not listed(event.body.get("choices"))


def _finish_reason(outcome: Outcome) -> str:
    """Return the finish reason of an answer that was replaced."""
    return "content_filter" if outcome.filtered else "stop"


def _envelope(body: Body) -> dict[str, Any]:
    return {k: v for k, v in body.items() if k in _ENVELOPE_FIELDS}


def _worst(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the worst outcome, which stands for several answers together."""
    return max(outcomes, key=_severity)


def _severity(outcome: Outcome) -> tuple[bool, bool, bool, bool]:
    decision = outcome.data.get("decision")
    is_flagged, is_inconclusive = decision == "flagged", decision == "inconclusive"
    return outcome.withheld, is_flagged, is_inconclusive, outcome.complete


def _without_empty(value: object) -> Any:
    """Return a value without the fields that are empty."""
    if listed(value):
        return [_without_empty(item) for item in listed(value)]
    if not mapping(value):
        return value
    fields: dict[str, Any] = {}
    for name, item in mapping(value).items():
        field = _without_empty(item)
        if field not in (None, "", [], {}):
            fields[name] = field
    return fields


def _with_choice(event: Event, choice: Choice) -> Event:
    return Event({**event.body, "choices": [choice]}, event.name)


def _without_words(event: Event) -> Event:
    """Return an event without words outside its choices; itself if nothing changes."""
    body = {**_envelope(event.body), "choices": _choices(event.body)}
    return event if isinstance(event.data, str) or body == event.body else Event(body, event.name)
