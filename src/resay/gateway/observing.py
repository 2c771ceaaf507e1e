"""What others may know of what the gateway does."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from resay.adapting.verdicts import VERDICT_KEY
from resay.apis import Body, Event

__all__ = ["Observation", "Observer", "graver", "notify", "verdict_of_body", "verdict_of_event"]

logger = logging.getLogger("resay.gateway")


@dataclass(frozen=True, slots=True)
class Observation:
    """One answer that was guarded, or was to be.

    Attributes:
        request_id: What the request is called.
        path: The API's path, such as `/chat/completions`.
        model: The model that the client asked for; None where it named none.
        policy: The name of the policy.
        tenant: On whose behalf it was asked.
        client: Whose key the client came with, where the gateway has keys.
        stream: Whether the answer was streamed.
        status: The HTTP status that the client was given.
        action: What was done; `unguarded` where nobody looked, None where there was no answer.
        verdict: The verdict as the client got it, with the words of the answer in it, unless that
            was withheld; None where there is none.
        request: What was asked, with all its words; None where it was not read.
        elapsed_s: How long it took until the answer was complete, in seconds.
        complete: Whether the client got all of it.
    """

    request_id: str
    path: str
    model: str | None
    policy: str
    tenant: str | None
    client: str | None
    stream: bool
    status: int
    action: str | None
    verdict: Body | None = field(repr=False)
    request: Body | None = field(repr=False)
    elapsed_s: float
    complete: bool


Observer = Callable[[Observation], None]
"""Is told of each guarded request once, when it is over, on the gateway's event loop.

It must not block. What it raises is logged and harms no answer.
"""


def notify(observer: Observer | None, observation: Observation) -> None:
    """Tell an observer, whatever it does."""
    if observer is None:
        return
    try:
        observer(observation)
    except Exception as error:
        logger.warning(
            "the observer failed with %s (request %s)",
            type(error).__name__,
            observation.request_id,
        )


def verdict_of_body(body: Body) -> Body | None:
    """Return the verdict in a response; of several the one that stands for all."""
    return _mapping(body.get(VERDICT_KEY))


def verdict_of_event(event: Event) -> Body | None:
    """Return the verdict that an event brings; None for most."""
    found = (_mapping(holder.get(VERDICT_KEY)) for holder in _holders(event.body))
    return next((verdict for verdict in found if verdict is not None), None)


def graver(one: Body | None, other: Body | None) -> Body | None:
    """Return the verdict that stands for both, of several answers."""
    known = [verdict for verdict in (one, other) if verdict is not None]
    return max(known, key=_gravity, default=None)


def _gravity(verdict: Body) -> int:
    return {"flagged": 2, "inconclusive": 1}.get(str(verdict.get("decision")), 0)


def _holders(body: Body) -> Iterator[Mapping[str, Any]]:
    yield body
    for name in ("response", "message", "delta"):
        yield _mapping(body.get(name)) or {}
    choices = body.get("choices")
    for choice in cast("list[object]", choices) if isinstance(choices, list) else []:
        yield _mapping(choice) or {}


def _mapping(value: object) -> Body | None:
    return cast("Body", value) if isinstance(value, Mapping) else None
