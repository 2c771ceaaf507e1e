"""Responses of Anthropic's SDK, and their verdicts."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, TypeVar

from resay import HallucinationBlocked, Verdict
from resay.adapters import verdicts
from resay.adapters.apis import ApiRequest, Body, Event
from resay.adapters.http import Change, body_in, with_body
from resay.adapters.verdicts import VERDICT_KEY
from resay.errors import ResayError
from resay_anthropic._errors import sdk_error

R = TypeVar("R")

# The key in an httpx response's extensions that keeps the verdict if the SDK's objects drop it.
_KEY = "resay"


def verdict_of(response: object) -> Verdict | None:
    """Return the verdict on an answer.

    Args:
        response: A message, a stream, an event of a stream or a raw response of the SDK; or a
            mapping. A stream has its verdict once it is read to its end; so does that of
            `messages.stream()`, whose final message has none.

    Returns:
        The verdict, or None if there is none.
    """
    verdict = verdicts.verdict_of(response)
    if verdict is not None:
        return verdict
    for name in ("response", "http_response"):
        extensions = getattr(getattr(response, name, None), "extensions", None)
        if isinstance(extensions, dict):
            return verdicts.verdict_of(extensions.get(_KEY))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - the values are untyped
    return None


def raw_of(response: Any) -> Any:
    """Return the response of httpx or httpx2 behind the SDK's, or the response if it is raw."""
    return getattr(response, "http_response", response)


def body_of(response: Any) -> Body | None:
    """Return the JSON object in a response, or None if it failed, is unread or holds no object."""
    raw = raw_of(response)
    return body_in(raw) if raw.is_success else None


def answered(response: R, parsed: ApiRequest, body: Body) -> R:
    """Return a response with the guard's body, or unchanged if that is empty.

    Raises:
        HallucinationBlocked: The answer is an object and was withheld.
    """
    if not body:
        # The guard gives no body for a response that it cannot parse, unless it withholds it.
        return response
    notes = _VerdictCapture(parsed)
    notes.take(body)
    raw = with_body(raw_of(response), body)
    raw.extensions[_KEY] = notes.verdict
    return _with_raw(response, raw)


def streaming(response: R, parsed: ApiRequest, stream: Callable[[Change], Any]) -> R:
    """Return a response with the guard's events in place of its own.

    Reading them raises `HallucinationBlocked` if the answer is an object and is withheld.

    Args:
        response: The response.
        parsed: The request that it answers.
        stream: Creates the raw response with the guard's events.
    """
    notes = _VerdictCapture(parsed, raw_of(response).request)
    raw = stream(notes)
    raw.extensions[_KEY] = notes.verdict
    return _with_raw(response, raw)


def _with_raw(response: Any, raw: Any) -> Any:
    if raw_of(response) is response:
        return raw
    copied: Any = copy(response)
    copied.http_response = raw
    # The SDK caches a parsed response, which a middleware further inside may have parsed already.
    # There is no public way to clear the cache.
    vars(copied)["_parsed_by_type"] = {}
    return copied


class _VerdictCapture(Change):
    """Captures the verdict of a response, and raises if it withholds an object.

    The SDK parses an object from a message, and from each block of a stream as soon as the block is
    complete. It could not parse the policy's message, so withholding an object raises an exception,
    and a stream is held back from the end of its first block until the verdict arrives.

    Attributes:
        verdict: The verdict's data, once it has arrived.
    """

    def __init__(self, parsed: ApiRequest, request: Any = None) -> None:
        self.verdict: dict[str, Any] = {}
        self._request = request
        self._is_object = parsed.context.wants_object
        self._held: list[Event] = []

    def error(self, error: ResayError) -> ResayError:
        """Return the error as one of the SDK's too."""
        return sdk_error(error, self._request)

    def take(self, body: Body) -> None:
        """Store the verdict if the body has one, and raise if it withholds an object."""
        data = body.get(VERDICT_KEY)
        if data is None:
            return
        self.verdict[VERDICT_KEY] = data
        if self._is_object and data["action"] == "block":
            raise HallucinationBlocked(Verdict.from_dict(data))

    def of(self, event: Event) -> list[Event]:
        """Return the events that may be passed on now."""
        self.take(event.body)
        complete = event.body.get("type") == "content_block_stop"
        if self._is_object and not self.verdict and (self._held or complete):
            self._held.append(event)
            return []
        return [*self.rest(), event]

    def rest(self) -> list[Event]:
        """Return the events that are still held back."""
        held, self._held = self._held, []
        return held
