"""Requests of OpenAI's SDK: which of them are guarded, and how others like them are made."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, cast

from openai._models import FinalRequestOptions
from openai._types import NotGiven, Omit

from resay.adapters import VERDICT_KEY, Relay
from resay.guard import Guard
from resay.providers.apis import CHAT_COMPLETIONS, COMPLETIONS, RESPONSES, Api, Body, Event
from resay.providers.apis.reading import listed, mapping

__all__ = [
    "Relays",
    "accumulates",
    "arguments",
    "as_sent",
    "beside",
    "body_of",
    "create_of",
    "for_accumulating",
    "is_beside",
    "relays_of",
    "source_of",
    "with_sent",
    "without_verdicts",
]

Relays = Mapping[str, tuple[Api, Relay]]

# The header by which the SDK's methods tell each other what to return.
_INTERNAL = "x-stainless-"
_HELPER = "x-stainless-helper-method"

# Set around what is asked beside a main call, so that its request is sent once: Resay has retries
# of its own.
_beside: ContextVar[bool] = ContextVar("resay_openai_beside", default=False)


@contextmanager
def beside() -> Generator[None, None, None]:
    """Mark what is asked meanwhile as a sample, or a judge's question."""
    token = _beside.set(True)
    try:
        yield
    finally:
        _beside.reset(token)


def is_beside() -> bool:
    """Return whether this is a sample, or a judge's question."""
    return _beside.get()


def relays_of(guard: Guard) -> Relays:
    """Return who guards what, by the request's path."""
    return {
        api.path: (api, Relay(guard, api)) for api in (CHAT_COMPLETIONS, RESPONSES, COMPLETIONS)
    }


def body_of(options: FinalRequestOptions) -> Body | None:
    """Return what a request holds; None where it is not an object that is posted."""
    data: object = options.json_data
    if options.method.lower() != "post" or not isinstance(data, Mapping) or options.files:
        return None
    sent = {**cast("Body", data), **(options.extra_json or {})}
    return {k: v for k, v in sent.items() if not isinstance(v, (NotGiven, Omit))}


def with_sent(options: FinalRequestOptions, body: Body) -> FinalRequestOptions:
    """Return a request with another body."""
    return options.model_copy(update={"json_data": body, "extra_json": None})


def as_sent(options: FinalRequestOptions) -> FinalRequestOptions:
    """Return a request as it is sent, once where it is not the main call."""
    return options.model_copy(update={"max_retries": 0}) if is_beside() else options


def without_verdicts(options: FinalRequestOptions) -> FinalRequestOptions:
    """Return a request whose messages are as the provider knows them.

    The message that the SDK puts together from a stream has its verdict, and goes on as it is.
    """
    data = mapping(options.json_data)
    messages = listed(data.get("messages"))
    if not any(VERDICT_KEY in mapping(message) for message in messages):
        return options
    cleaned = [_without_verdict(message) for message in messages]
    return options.model_copy(update={"json_data": {**data, "messages": cleaned}})


def _without_verdict(message: Any) -> Any:
    known = mapping(message)
    return {k: v for k, v in known.items() if k != VERDICT_KEY} if known else message


def accumulates(options: FinalRequestOptions) -> bool:
    """Return whether the SDK puts a streamed answer together for the user.

    What it makes of chunks keeps only what their deltas say.
    """
    helper = [value for name, value in _headers(options).items() if name.lower() == _HELPER]
    return any("chat.completions.stream" in str(value) for value in helper)


def _headers(options: FinalRequestOptions) -> Mapping[str, Any]:
    given = None if isinstance(options.headers, NotGiven) else options.headers
    return cast("Mapping[str, Any]", given or {})


def for_accumulating(event: Event) -> Event:
    """Return an event whose verdict stands in its deltas too."""
    choices = event.body.get("choices")
    if VERDICT_KEY not in event.body or not isinstance(choices, list):
        return event
    told = [_told(choice, event.body[VERDICT_KEY]) for choice in cast("list[Any]", choices)]
    return Event({**event.body, "choices": told}, event.name)


def _told(choice: Body, verdict: Any) -> Body:
    own = choice.get(VERDICT_KEY, verdict)
    return {**choice, "delta": {**(choice.get("delta") or {}), VERDICT_KEY: own}}


def create_of(client: Any, api: Api) -> Callable[..., Any]:
    """Return the public method of a client by which an API is asked."""
    # The public ones, looked up anew: that is where tracers sit.
    if api is RESPONSES:
        return client.responses.create
    return client.completions.create if api is COMPLETIONS else client.chat.completions.create


def arguments(
    create: Callable[..., Any], body: Body, options: FinalRequestOptions
) -> dict[str, Any]:
    """Return how to call a method for a request like another.

    Args:
        create: The method.
        body: What to ask.
        options: The other request, whose headers, query and timeout are kept.
    """
    known = _parameters(getattr(create, "__func__", create))
    call = {name: value for name, value in body.items() if name in known}
    further = {name: value for name, value in body.items() if name not in known}
    kept = {
        k: v
        for k, v in _headers(options).items()
        if not k.lower().startswith(_INTERNAL) and k.lower() != "idempotency-key"
    }
    call |= {"extra_body": further} if further else {}
    call |= {"extra_headers": kept} if kept else {}
    call |= {"extra_query": options.params} if options.params else {}
    return call | ({} if isinstance(options.timeout, NotGiven) else {"timeout": options.timeout})


@lru_cache(maxsize=16)
def _parameters(create: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(create).parameters)


def source_of(client: Any) -> str:
    """Return what tells a client's answers from those of one that asks elsewhere."""
    who = (client.api_key, client.organization, client.project)
    payer = hashlib.sha256(repr(who).encode()).hexdigest()
    return f"openai {client.base_url} {payer}"
