"""Requests of OpenAI's SDK."""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any, cast

import openai
from openai._models import FinalRequestOptions
from openai._types import NotGiven, Omit

from resay.adapters.apis import Body, listed, mapping
from resay.adapters.verdicts import VERDICT_KEY

# The headers by which the SDK's methods tell each other what to return.
_INTERNAL = "x-stainless-"
_HELPER = "x-stainless-helper-method"


def body_of(options: FinalRequestOptions) -> Body | None:
    """Return the body of a request, or None if it is not a POST of a JSON object."""
    data: object = options.json_data
    if options.method.lower() != "post" or not isinstance(data, Mapping) or options.files:
        return None
    sent = {**cast("Body", data), **(options.extra_json or {})}
    return {k: v for k, v in sent.items() if not isinstance(v, (NotGiven, Omit))}


def without_verdicts(options: FinalRequestOptions) -> FinalRequestOptions:
    """Return a request without the verdicts that its messages carry.

    A message that the SDK assembled from a stream has a verdict, which providers would not accept.
    """
    data = mapping(options.json_data)
    messages = listed(data.get("messages"))
    if not any(VERDICT_KEY in mapping(message) for message in messages):
        return options
    cleaned = [_without_verdict(message) for message in messages]
    return options.model_copy(update={"json_data": {**data, "messages": cleaned}})


def _without_verdict(message: Any) -> Any:
    fields = mapping(message)
    return {k: v for k, v in fields.items() if k != VERDICT_KEY} if fields else message


def assembles_stream(options: FinalRequestOptions) -> bool:
    """Return whether the SDK assembles the streamed answer for the user.

    The assembled message keeps only the fields of the chunks' deltas.
    """
    for name, value in _headers(options).items():
        if name.lower() == _HELPER and "chat.completions.stream" in str(value):
            return True
    return False


def _headers(options: FinalRequestOptions) -> Mapping[str, Any]:
    headers = None if isinstance(options.headers, NotGiven) else options.headers
    return cast("Mapping[str, Any]", headers or {})


_SDK = str(Path(openai.__file__).parent) + os.sep


def is_plain(method: Any) -> bool:
    """Return whether a method is the SDK's own, and not wrapped, by a tracer for example."""
    # A wrapper may expose the attributes of the wrapped method as its own.
    if type(method) is not MethodType or type(method.__func__) is not FunctionType:
        return False
    return method.__func__.__code__.co_filename.startswith(_SDK)


def auxiliary_request(options: FinalRequestOptions, body: Body) -> FinalRequestOptions:
    """Return an auxiliary request, to be sent without retries.

    Args:
        options: The main request, whose headers, query and timeout are kept.
        body: The body of the auxiliary request.
    """
    return options.model_copy(
        update={
            "json_data": body,
            "extra_json": None,
            "max_retries": 0,
            "headers": _own_headers(options),
            "idempotency_key": None,
        }
    )


def _own_headers(options: FinalRequestOptions) -> dict[str, Any]:
    """Return the headers that an application set, without those of this one request."""
    headers: dict[str, Any] = {}
    for name, value in _headers(options).items():
        lowered = name.lower()
        if not lowered.startswith(_INTERNAL) and lowered != "idempotency-key":
            headers[name] = value
    return headers


def arguments(
    create: Callable[..., Any], body: Body, options: FinalRequestOptions
) -> dict[str, Any]:
    """Return the keyword arguments that make a method send an auxiliary request.

    Args:
        create: The method.
        body: The body to send.
        options: The main request, whose headers, query and timeout are kept.
    """
    parameters = _parameters(getattr(create, "__func__", create))
    call: dict[str, Any] = {}
    extra_body: dict[str, Any] = {}
    for name, value in body.items():
        (call if name in parameters else extra_body)[name] = value
    if extra_body:
        call["extra_body"] = extra_body
    if headers := _own_headers(options):
        call["extra_headers"] = headers
    if options.params:
        call["extra_query"] = options.params
    if not isinstance(options.timeout, NotGiven):
        call["timeout"] = options.timeout
    return call


@lru_cache(maxsize=16)
def _parameters(create: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(create).parameters)


def source_of(client: Any) -> str:
    """Return a key that identifies the client's endpoint and credentials, for caching."""
    account = (client.api_key, client.organization, client.project)
    payer = hashlib.sha256(repr(account).encode()).hexdigest()
    return f"openai {client.base_url} {payer}"
