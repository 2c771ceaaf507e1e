"""How answers end: whole, with an error, or not at all."""

from __future__ import annotations

import json
from typing import Any

from resay._internal.patterns import lazy_pattern
from resay.providers.apis.base import Api
from resay.providers.apis.events import Event
from resay.providers.apis.values import Body, listed, mapping, mappings, text

_DONE = "[DONE]"
_FAILED = frozenset({"cancelled", "failed"})
_ERRORS = frozenset({"error", "response.error", "response.failed"})
# Bodies in the format of a server's own errors, by the fields that only those have together.
_MESSAGES = ("detail", "error_message", "error_msg", "errorMessage", "message", "msg")
_CODES = ("__type", "code", "error_code", "errorCode", "error_type", "status", "status_code")
_ANSWERS = frozenset({"candidates", "choices", "content", "output"})
# Fields of an error that contain no words of the answer it ended.
_WORDLESS_FIELDS = frozenset(
    {
        "created",
        "error",
        "event_id",
        "id",
        "model",
        "object",
        "param",
        "provider",
        "request_id",
        "sequence_number",
        "type",
        "usage",
        *_MESSAGES,
        *_CODES,
    }
)
# Fields in which servers quote what the model wrote before the error, such as Groq's.
_QUOTING = frozenset(
    {
        "choices",
        "completion",
        "content",
        "failed_generation",
        "generated_text",
        "generation",
        "output",
        "partial_output",
        "partial_response",
        "raw_output",
        "response",
        "text",
    }
)
# Fewer words of an answer may be in an error by chance.
_QUOTED_WORDS = 4
_WORDS = lazy_pattern(r"\w+")
_QUOTES = "the provider's message is left out, because it quotes an answer that was not checked"
_CHOICE_FIELDS = ("index", "error", "finish_reason", "native_finish_reason")
_RESPONSE_FIELDS = (
    "id",
    "object",
    "created_at",
    "model",
    "status",
    "error",
    "incomplete_details",
    "usage",
)


def is_error(body: Body) -> bool:
    """Return whether a response, or the data of an event, says that its answer failed.

    Providers send errors with status 200 too, and in streams they have no other choice. An answer
    that broke off is none, even if part of it is there.
    """
    if body.get("error") or text(body.get("type")) in _ERRORS:
        return True
    kind = body.get("object")
    # The state of a whole response, or of the one in an event.
    if kind == "error" or (kind == "response" and text(body.get("status")) in _FAILED):
        return True
    if "response" in body and text(mapping(body["response"]).get("status")) in _FAILED:
        return True
    for choice in mappings(body.get("choices")):
        if choice.get("error") or choice.get("finish_reason") == "error":
            return True
    if not _ANSWERS.isdisjoint(body):
        return False
    # Amazon's streams name the exception.
    if any(name.endswith("Exception") and mapping(value) for name, value in body.items()):
        return True
    has_message = any(isinstance(body.get(name), str) for name in _MESSAGES)
    return has_message and any(body.get(name) is not None for name in _CODES)


def is_error_event(event: Event) -> bool:
    """Return whether an event says that the answer of its stream failed."""
    if event.name == "error":
        return True
    data = event.data
    return _lists_errors(data) if isinstance(data, str) else is_error(data)


def _lists_errors(data: str) -> bool:
    # Google's errors may come in a list.
    if not data.startswith("["):
        return False
    try:
        items: object = json.loads(data)
    # Deep nesting is refused with a RecursionError.
    except (ValueError, RecursionError):
        return False
    return any(is_error(body) for body in mappings(items))


def without_answer(body: Body, answer: str = "") -> Body:
    """Return an error without the words of an answer that came with it.

    Args:
        body: The error.
        answer: The text of the answer, as far as it arrived before. What quotes it is left out.
    """
    runs = _runs(answer)
    error: dict[str, Any] = {}
    for name, value in body.items():
        if _is_wordless(name, value):
            error[name] = _without_quotes(value, runs)
    if "choices" in body:
        error["choices"] = [_failed_choice(choice, runs) for choice in listed(body["choices"])]
    if mapping(body.get("response")):
        response = mapping(body["response"])
        fields = {name: response[name] for name in _RESPONSE_FIELDS if name in response}
        error["response"] = {**_without_quotes(fields, runs), "output": list[Any]()}
    for name in ("content", "output"):
        if name in body:
            error[name] = list[Any]()
    return error


def refusal_without_answer(body: Body) -> Body:
    """Return the body of an error with a status of its own without what the model wrote."""
    return _without_quotes(body, frozenset())


def _without_quotes(value: object, runs: frozenset[str]) -> Any:
    """Return a part of an error without fields and texts that quote an answer."""
    if isinstance(value, str):
        return value if runs.isdisjoint(_runs(value)) else _QUOTES
    if listed(value):
        return [_without_quotes(item, runs) for item in listed(value)]
    if not mapping(value):
        return value
    fields: dict[str, Any] = {}
    for name, item in mapping(value).items():
        if name not in _QUOTING:
            fields[name] = _without_quotes(item, runs)
    return fields


def _runs(text: str) -> frozenset[str]:
    """Return the runs of a few words in a text."""
    words = _WORDS.findall(text.casefold())
    count = len(words) - _QUOTED_WORDS + 1
    return frozenset(" ".join(words[start : start + _QUOTED_WORDS]) for start in range(count))


def _is_wordless(name: str, value: object) -> bool:
    # In a stream of Anthropic's, `message` may be the answer itself.
    if name == "message":
        return isinstance(value, str)
    return name in _WORDLESS_FIELDS or name.endswith("Exception")


def _failed_choice(choice: object, runs: frozenset[str]) -> dict[str, Any]:
    fields = mapping(choice)
    error: dict[str, Any] = {}
    for name in _CHOICE_FIELDS:
        if name in fields:
            error[name] = _without_quotes(fields[name], runs)
    return {"index": 0, "delta": dict[str, Any](), **error} if "delta" in fields else error


def event_without_answer(event: Event, answer: str = "") -> Event:
    """Return the event of an error without the words of an answer that came with it.

    Args:
        event: The event.
        answer: The text of the answer, as far as it arrived before.
    """
    if isinstance(event.data, str):
        error = _without_quotes(event.data, _runs(answer))
    else:
        error = without_answer(event.data, answer)
    return event if error == event.data else Event(error, event.name)


class StreamEnd:
    """Tells whether a stream has come to its end.

    A stream of chat completions may leave out `[DONE]`, and one of messages its last event, as long
    as every answer has said why it ended.

    Args:
        api: The API of the stream.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._started: set[int] = set()
        self._ended: set[int] = set()
        self._is_over = False

    def note(self, event: Event) -> None:
        """Record the next event."""
        for index, _ in self._api.split(event):
            self._started.add(index)
        # Servers of other APIs than chat completions send it as well.
        self._is_over = self._is_over or event.data == _DONE
        if not self._api.ends(event):
            return
        self._is_over = self._is_over or self._api.is_last(event)
        for index, chunk in self._api.chunks(event):
            if chunk.finish_reason:
                self._ended.add(index)

    @property
    def is_over(self) -> bool:
        """Whether the stream's last event has arrived."""
        return self._is_over

    @property
    def is_complete(self) -> bool:
        """Whether all of its answers have ended."""
        return self._is_over or bool(self._ended and self._ended >= self._started)
