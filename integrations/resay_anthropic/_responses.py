"""What the SDK knows of a response, and the same with a verdict."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, TypeVar

from resay.adapters.http import Change, body_in, with_body
from resay.adapters.policies import VERDICT_KEY, verdict_in
from resay.core.verdict import HallucinationBlocked, Verdict
from resay.providers.apis import Body, Event, Request

R = TypeVar("R")

# Where a response of httpx keeps the verdict for those whose objects lose it on the way.
_KEY = "resay"


def verdict_of(response: object) -> Verdict | None:
    """Return the verdict on an answer.

    Args:
        response: Whatever the SDK gave: a message, an event of a stream, a stream, a raw response;
            or a mapping. A stream has its verdict once it was read to its end, also the one of
            `messages.stream()`, whose final message has none.

    Returns:
        The verdict; None where there is none.
    """
    found = verdict_in(response)
    if found is not None:
        return found
    for name in ("response", "http_response"):
        extensions = getattr(getattr(response, name, None), "extensions", None)
        if isinstance(extensions, dict):
            return verdict_in(extensions.get(_KEY))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - its values may be anything
    return None


def raw_of(response: Any) -> Any:
    """Return the response of httpx or httpx2 in the SDK's, which it may be itself."""
    return getattr(response, "http_response", response)


def body_of(response: Any) -> Body | None:
    """Return what a response says that was read; None where it failed, or says no object."""
    raw = raw_of(response)
    return body_in(raw) if raw.is_success else None


def answered(response: R, asked: Request, body: Body) -> R:
    """Return a response with the body that the guard gives in its place, if it gives any.

    Raises:
        HallucinationBlocked: It is an object that is withheld.
    """
    if not body:
        # What cannot be read has nothing in its place, unless it is withheld.
        return response
    notes = _Notes(asked)
    notes.take(body)
    raw = with_body(raw_of(response), body)
    raw.extensions[_KEY] = notes.kept
    return _with_raw(response, raw)


def streaming(response: R, asked: Request, stream: Callable[[Change], Any]) -> R:
    """Return a response with the events that the guard gives in their place.

    Reading them raises `HallucinationBlocked` where they are an object that is withheld.

    Args:
        response: The response.
        asked: What it answers.
        stream: Makes the raw response with the guard's events.
    """
    notes = _Notes(asked)
    raw = stream(notes)
    raw.extensions[_KEY] = notes.kept
    return _with_raw(response, raw)


def _with_raw(response: Any, raw: Any) -> Any:
    if raw_of(response) is response:
        return raw
    made: Any = copy(response)
    made.http_response = raw
    # The SDK keeps what it made of a response, and a middleware inside may have asked it to. There
    # is no public way to make it forget that.
    vars(made)["_parsed_by_type"] = {}
    return made


class _Notes(Change):
    """What is known of a response that passes.

    The SDK reads an object from a message, and from each block of a stream as soon as that is
    complete. It could not read the policy's message there, so an object that is withheld is an
    exception, and its stream waits where its first block is complete.

    Attributes:
        kept: Its verdict, once it was there.
    """

    def __init__(self, asked: Request) -> None:
        self.kept: dict[str, Any] = {}
        self._is_object = asked.query.wants_object
        self._held: list[Event] = []

    def take(self, body: Body) -> None:
        """See whether the verdict is in there."""
        data = body.get(VERDICT_KEY)
        if data is None:
            return
        self.kept[VERDICT_KEY] = data
        if self._is_object and data["action"] == "block":
            raise HallucinationBlocked(Verdict.from_dict(data))

    def of(self, event: Event) -> list[Event]:
        """Return the events that may be given now."""
        self.take(event.body)
        complete = event.body.get("type") == "content_block_stop"
        if self._is_object and not self.kept and (self._held or complete):
            self._held.append(event)
            return []
        return [*self.rest(), event]

    def rest(self) -> list[Event]:
        """Return the events that were not given yet."""
        rest, self._held = self._held, []
        return rest
