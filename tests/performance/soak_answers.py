"""The requests of the soak bench, and how their answers are read."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import anyio

from performance.soak_plan import Ask, Plan
from resay.adapters.apis import Event, EventReader

__all__ = ["Ended", "Outcome", "Received", "ask", "read"]

Outcome = Literal["answered", "blocked", "error", "unguarded", "left", "refused", "lost"]
"""How a request ended: with an answer, which may have been withheld or not been looked at; with an
error that says what is wrong; by its client's leaving; before the server took it; or otherwise,
which it must not."""

_PATIENCE_S = 60.0
_OK, _FIRST_ERROR = 200, 400
_MARKERS = re.compile(r"\bZ[a-z]{6}\b")
_OPENING = "Thank you for asking about"
_VERDICT = "hallucination"
_NOTHING: Mapping[str, Any] = {}
_DONE = "[DONE]"
_ENDS = frozenset({"response.completed", "response.incomplete", "message_stop"})
_DELTA, _BLOCK_DELTA = "response.output_text.delta", "content_block_delta"


@dataclass(frozen=True, slots=True)
class Received:
    """The response to a request.

    Attributes:
        status: The HTTP status; None without a response.
        headers: The headers, with names in lower case.
        data: The body, as much of it as arrived.
        error: The error of the connection; None where all of the body arrived.
    """

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    data: bytes = field(default=b"", repr=False)
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a request ended.

    Attributes:
        plan: What its client did.
        outcome: How it ended.
        decision: The verdict's decision; None where there was no verdict.
        problems: What was wrong with it.
        sent_s: When it was sent, in seconds of `time.monotonic`.
    """

    plan: Plan
    outcome: Outcome
    decision: str | None = None
    problems: tuple[str, ...] = ()
    sent_s: float = 0.0


async def ask(session: Any, url: str, plan: Plan) -> Ended:
    """Send a request, and read its answer to the end unless its client leaves before.

    Args:
        session: The client.
        url: The gateway's address.
        plan: What the client does.
    """
    sent_s = time.monotonic()
    leave_s = _PATIENCE_S if plan.leave_s is None else plan.leave_s
    with anyio.move_on_after(leave_s):
        received = await _exchange(session, url, plan)
        return read(plan, received, sent_s)
    if plan.leave_s is not None:
        return Ended(plan, "left", sent_s=sent_s)
    return Ended(plan, "lost", problems=("it never ended",), sent_s=sent_s)


async def _exchange(session: Any, url: str, plan: Plan) -> Received:
    status, headers = None, dict[str, str]()
    try:
        async with session.post(url + plan.path, data=plan.body, headers=plan.headers) as response:
            status = response.status
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Received(status, headers, await response.read())
    # Whatever the client raises, not all of an answer came.
    except Exception as error:
        return Received(status, headers, error=type(error).__name__)


def read(plan: Plan, received: Received, sent_s: float = 0.0) -> Ended:
    """Return how a request ended.

    Args:
        plan: What was asked.
        received: What came back.
        sent_s: When it was sent.
    """
    if received.status is None:
        return Ended(plan, "refused", sent_s=sent_s)
    outcome, decision, problems = _read(plan, received)
    request_id = received.headers.get("x-resay-request-id")
    if request_id != plan.request_id:
        problems = (*problems, f"it was called {request_id!r}")
    return Ended(plan, outcome, decision, problems, sent_s)


_Reading = tuple[Outcome, "str | None", tuple[str, ...]]


def _read(plan: Plan, received: Received) -> _Reading:
    if received.error is not None:
        return "lost", None, (f"it broke off with {received.error}",)
    if cast("int", received.status) >= _FIRST_ERROR:
        return _error_reading(_object(received.data))
    if plan.streamed and received.headers.get("content-type", "").startswith("text/event-stream"):
        return _stream_reading(plan, received.data)
    return _whole_reading(plan, received)


def _object(data: bytes) -> Mapping[str, Any] | None:
    try:
        value: object = json.loads(data)
    except ValueError:
        return None
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None


def _error_reading(body: Mapping[str, Any] | None) -> _Reading:
    value: object = None if body is None else body.get("error", body)
    error = cast("Mapping[str, Any]", value) if isinstance(value, dict) else _NOTHING
    if not error.get("message"):
        return "lost", None, ("it ended with an unclear error",)
    if error.get("code") == "internal_error":
        return "error", None, ("the gateway itself failed",)
    verdict = error.get("verdict")
    if verdict is None:
        return "error", None, ()
    return "blocked", str(verdict.get("decision")), ()


def _whole_reading(plan: Plan, received: Received) -> _Reading:
    body = _object(received.data)
    if received.headers.get("x-resay-action") == "unguarded":
        return "unguarded", None, ()
    if body is None:
        decision = received.headers.get("x-resay-decision")
        # Then the upstream sent what cannot be read, and the gateway says that nobody checked it.
        if decision == ("skipped" if plan.policy == "off" else "inconclusive"):
            return "answered", decision, ()
        return "lost", None, ("its answer cannot be read",)
    if plan.ask == "passed":
        counted = body.get("input_tokens")
        problems = () if counted == plan.tokens else (f"it was told {counted!r} tokens",)
        return "answered", None, problems
    return _checked(plan, _text_of(plan.ask, body), list(_verdicts(body)))


def _verdicts(value: object) -> Iterator[Mapping[str, Any]]:
    """Return all verdicts in a JSON value."""
    if isinstance(value, list):
        for each in cast("list[object]", value):
            yield from _verdicts(each)
    if isinstance(value, dict):
        for name, each in cast("dict[str, object]", value).items():
            if name == _VERDICT and isinstance(each, dict):
                yield cast("Mapping[str, Any]", each)
            else:
                yield from _verdicts(each)


def _text_of(api: Ask, body: Mapping[str, Any]) -> str:
    if api == "chat":
        return "".join(choice["message"]["content"] or "" for choice in body["choices"])
    parts = body["content"] if api == "messages" else _parts(body["output"])
    return "".join(part.get("text", "") for part in parts)


def _parts(items: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [part for item in items for part in item.get("content", ())]


def _stream_reading(plan: Plan, data: bytes) -> _Reading:
    reader = EventReader()
    events = [*reader.feed(data), *reader.finish()]
    errors = [event.body for event in events if _is_error(event)]
    if errors:
        return _error_reading(errors[-1])
    ends = sum(_ends(event) for event in events)
    if ends != 1:
        return "lost", None, (f"its stream ended {ends} times",)
    verdicts: list[Mapping[str, Any]] = []
    for event in events:
        # One event may have the same verdict in two places.
        verdicts += list(_verdicts(event.body))[:1]
    reading = _checked(plan, "".join(_delta(event.body) for event in events), verdicts)
    # Where an answer is withheld in its middle, nobody has heard the upstream's last word.
    closed = sum(event.data == _DONE for event in events)
    if plan.ask == "chat" and closed != 1 and (reading[0] != "blocked" or closed):
        return "lost", None, (f"its stream was closed {closed} times",)
    return reading


def _is_error(event: Event) -> bool:
    return event.body.get("type") == "error" or bool(event.body.get("error"))


def _ends(event: Event) -> bool:
    choices: Sequence[Mapping[str, Any]] = event.body.get("choices") or ()
    return event.body.get("type") in _ENDS or any(c.get("finish_reason") for c in choices)


def _delta(body: Mapping[str, Any]) -> str:
    """Return what an event adds to the text of an answer, in any of the APIs."""
    kind, delta = body.get("type"), body.get("delta")
    if kind == _BLOCK_DELTA:
        return cast("Mapping[str, str]", delta).get("text", "")
    if kind == _DELTA:
        return str(delta)
    choices: Sequence[Mapping[str, Any]] = body.get("choices") or ()
    return "".join(choice.get("delta", {}).get("content") or "" for choice in choices)


def _checked(plan: Plan, text: str, verdicts: Sequence[Mapping[str, Any]]) -> _Reading:
    verdict = verdicts[-1] if verdicts else _NOTHING
    withheld = verdict.get("action") == "block"
    problems = [] if len(verdicts) == 1 else [f"it has {len(verdicts)} verdicts"]
    if set(_MARKERS.findall(text)) - {plan.marker}:
        problems.append("it has another request's answer")
    # What is withheld may have been shown in part.
    answers, named = text.count(_OPENING), plan.marker in text
    if answers > 1 or (not withheld and not (answers and named)):
        problems.append(f"it has {answers} answers in it")
    decision = verdict.get("decision")
    return "blocked" if withheld else "answered", decision, tuple(problems)
