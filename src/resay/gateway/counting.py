"""Having streams say what they cost, also to clients that did not ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from resay.providers.apis import CHAT_COMPLETIONS, COMPLETIONS, Api, Body, Event

__all__ = ["asking_usage", "is_usage_alone"]

# The others say it anyway.
_TOLD_IF_ASKED = frozenset({CHAT_COMPLETIONS.path, COMPLETIONS.path})
_OPTIONS, _ASKED = "stream_options", "include_usage"


def asking_usage(api: Api, body: Body) -> Body:
    """Return a request for a stream that says at its end what it cost.

    Args:
        api: What is spoken.
        body: The request.

    Returns:
        The request; the same object where nothing is to be added.
    """
    options: object = {} if body.get(_OPTIONS) is None else body[_OPTIONS]
    if api.path not in _TOLD_IF_ASKED or not isinstance(options, Mapping):
        return body
    known = cast("Mapping[str, object]", options)
    if known.get(_ASKED) is not None:
        return body
    return {**body, _OPTIONS: {**known, _ASKED: True}}


def is_usage_alone(event: Event) -> bool:
    """Return whether an event is there to say what a stream cost, and for nothing else."""
    body = event.body
    return body.get("choices") == [] and isinstance(body.get("usage"), Mapping)
