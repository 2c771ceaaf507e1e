"""APIs of OpenAI's that may give several answers to a request, as its `choices`."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from resay.core.verdict import Usage
from resay.providers.apis.base import Body, Event, Outcome
from resay.providers.apis.reading import count, listed, mapping, mappings, named, number
from resay.providers.base import Chunk, Completion

__all__ = ["Choice", "SeveralAnswersApi", "answers_wanted"]

Choice = Mapping[str, Any]
"""One of the answers, or a piece of it."""

_KEY = "hallucination"
_DONE = "[DONE]"
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


def answers_wanted(body: Body) -> int:
    """Return how many answers a request asks for."""
    return max(count(body.get("n")), 1)


class SeveralAnswersApi(ABC):
    """What such APIs have in common; `Api` says what each method is for.

    A subclass says where a choice has its words, and what the pieces of a stream are called.
    """

    takes_n = True
    gives_logprobs = True
    _object: str
    _piece_object: str

    @abstractmethod
    def _completion(self, choice: Choice, response: Body) -> Completion:
        """Return an answer."""

    @abstractmethod
    def _saying(self, message: str) -> dict[str, Any]:
        """Return what a choice has that says a message and nothing else."""

    @abstractmethod
    def _chunk(self, choice: Choice, event: Event) -> Chunk:
        """Return what a piece adds to an answer."""

    @abstractmethod
    def _adding(self, said: str, *, first: bool) -> dict[str, Any]:
        """Return what a piece has that adds a text, or nothing; `first` where no piece was sent."""

    @abstractmethod
    def _quiet(self, choice: Choice) -> dict[str, Any]:
        """Return a piece without the text it adds."""

    @abstractmethod
    def _framed(self, choice: Choice) -> dict[str, Any]:
        """Return a piece without any word."""

    @abstractmethod
    def _tells(self, choice: Choice) -> bool:
        """Return whether a quiet piece still says anything."""

    @abstractmethod
    def tells_more(self, event: Event) -> bool:
        """Return whether an event has words that are no text of the answer."""

    def without_logprobs(self, data: Body) -> Body:
        """Return a response, or the data of an event, without log-probabilities."""
        choices = [{**c, "logprobs": None} if "logprobs" in c else c for c in _choices(data)]
        return {**data, "choices": choices} if choices else data

    def completions(self, response: Body) -> tuple[Completion, ...]:
        """Return the answers in a response."""
        items = [self._completion(choice, response) for choice in _choices(response)]
        if items and len(items) < len(listed(response.get("choices"))):
            items[0] = replace(items[0], unread=named(None))
        return tuple(items)

    def usage(self, response: Body) -> Usage:
        """Return what a response says that it cost."""
        return _usage(response) or Usage(1, cost_usd=None)

    def answered(self, response: Body, outcomes: Sequence[Outcome]) -> Body:
        """Return a response with its verdicts, and without the answers that are replaced."""
        choices = _choices(response)
        if not choices and outcomes[0].message is None:
            return {**response, _KEY: outcomes[0].data}
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
        return {**known, "choices": answered, _KEY: _gravest(outcomes).data}

    def _answered(self, choice: Choice, outcome: Outcome, several: bool) -> dict[str, Any]:
        # Of several answers each has its own verdict.
        own = {_KEY: outcome.data} if several else {}
        if outcome.message is None:
            return {**choice, **own}
        # All of it is new, because words can be anywhere in the old one: in calls, in audio, in
        # thoughts.
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
        unread = garbled or len(choices) < len(listed(event.body.get("choices")))
        if usage is not None or unread or not pieces:
            raw = None if pieces else event
            pieces.append((0, Chunk(usage=usage, raw=raw, unread=named(None) if unread else None)))
        return tuple(pieces)

    def ends(self, event: Event) -> bool:
        """Return whether an event ends an answer."""
        return event.data == _DONE or any(c.get("finish_reason") for c in _choices(event.body))

    def framed(self, event: Event) -> Event | None:
        """Return the event that opens a stream without any word of the answer, if it is one."""
        if any(chunk.unread for _, chunk in self.chunks(event)):
            return None
        choices = _choices(event.body)
        frames = [self._framed(choice) for choice in choices]
        return _bared(event, frames if self.tells_more(event) else choices)

    def silent(self, event: Event) -> Event | None:
        """Return an event without the text it adds; None where nothing is left of it."""
        choices = _choices(event.body)
        if not any(self._chunk(choice, event).text for choice in choices):
            return event
        quiet = [self._quiet(choice) for choice in choices]
        if not any(self._tells(choice) for choice in quiet) and not event.body.get("usage"):
            return None
        return Event({**event.body, "choices": quiet}, event.name)

    def saying(self, seen: Sequence[Event], text: str, *, whole: bool = False) -> list[Event]:
        """Return events that add a text to the first answer."""
        del whole
        first = not any(_choices(event.body) for event in seen)
        return [self._made(seen, self._adding(text, first=first))]

    def ending(self, held: Iterable[Event], outcomes: Mapping[int, Outcome]) -> list[Event]:
        """Return the last events of a stream with their verdicts."""
        return [self._concluded(event, outcomes) for event in held]

    def closing(self, seen: Sequence[Event], shown: str, outcome: Outcome) -> list[Event]:
        """Return the events that close a stream whose answer, or its end, is replaced."""
        del shown
        finish = self._made(seen, self._adding("", first=False), _reason(outcome))
        # Some say what it cost with the last choice, OpenAI after it.
        told = [e.body["usage"] for e in seen if e.body.get("usage") and _choices(e.body)]
        cost = {"usage": told[-1]} if told else {}
        closing = [Event({**finish.body, **cost, _KEY: outcome.data}, finish.name)]
        # What a stream says after its last choice is no part of the answer.
        after = [e for e in seen if e.data == _DONE or _is_usage(e)]
        return closing + [_bared(event, _choices(event.body)) for event in after]

    def apart(self, event: Event) -> list[tuple[int, Event]]:
        """Return what an event says of each of several answers, as if that were the only one."""
        return [
            (count(c.get("index")), _with_choice(event, {**c, "index": 0}))
            for c in _choices(event.body)
        ]

    def together(self, event: Event, place: int) -> Event:
        """Return an event of an only answer as one of the answer at a place among several."""
        choices = _choices(event.body)
        return _with_choice(event, {**choices[0], "index": place}) if choices and place else event

    def placed(self, event: Event, position: int) -> Event:
        """Return the event: these APIs do not number theirs."""
        del position
        return event

    def _made(
        self, seen: Sequence[Event], adding: dict[str, Any], reason: str | None = None
    ) -> Event:
        """Return an event like those of the stream."""
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
        return Event({**event.body, "choices": concluded, _KEY: _gravest(known).data}, event.name)

    def _stopped(self, choice: Choice, outcome: Outcome, several: bool) -> dict[str, Any]:
        own = {_KEY: outcome.data} if several else {}
        if not outcome.withheld:
            return {**choice, **own}
        # Some end an answer together with its last words. Those would follow the message.
        return {**self._quiet(choice), **own, "finish_reason": _reason(outcome)}


def _choices(body: Body) -> list[Choice]:
    return mappings(body.get("choices"))


def _usage(body: Body) -> Usage | None:
    usage = mapping(body.get("usage"))
    if not usage:
        return None
    read, written = number(usage.get("prompt_tokens")), number(usage.get("completion_tokens"))
    return Usage(1, read, written, None)


def _is_usage(event: Event) -> bool:
    return bool(event.body.get("usage")) and not listed(event.body.get("choices"))


def _reason(outcome: Outcome) -> str:
    """Return why an answer ends that another text has replaced."""
    return "content_filter" if outcome.filtered else "stop"


def _kept(body: Body) -> dict[str, Any]:
    return {k: v for k, v in body.items() if k in _KEPT}


def _gravest(outcomes: Sequence[Outcome]) -> Outcome:
    """Return what is said of several answers together: the worst."""
    return max(outcomes, key=_gravity)


def _gravity(outcome: Outcome) -> tuple[bool, bool, bool, bool]:
    decision = outcome.data.get("decision")
    flagged, inconclusive = decision == "flagged", decision == "inconclusive"
    return outcome.withheld, flagged, inconclusive, outcome.complete


def _with_choice(event: Event, choice: Choice) -> Event:
    return Event({**event.body, "choices": [choice]}, event.name)


def _bared(event: Event, choices: Sequence[Choice]) -> Event:
    """Return an event with other choices and no other words; the same where it is that already."""
    body = {**_kept(event.body), "choices": [*choices]}
    return event if isinstance(event.data, str) or body == event.body else Event(body, event.name)
