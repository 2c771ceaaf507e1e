"""Requests as the SDK hands them to a middleware."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from anthropic import APIRequest

from resay.providers.apis import MESSAGES, Body

__all__ = ["beside", "body_to_check"]

_PATH = f"/v1{MESSAGES.path}"
# What belongs to the first alone. By the second the SDK knows that its caller wants the response
# itself.
_OWN = frozenset({"idempotency-key", "x-stainless-raw-response"})


def body_to_check(request: APIRequest) -> Body | None:
    """Return what a request sends; None where it does not ask for a message."""
    path, _, _ = request.url.partition("?")
    body: object = request.json
    if path != _PATH or request.method.lower() != "post" or not isinstance(body, Mapping):
        return None
    # Older versions put the two together only when they send them.
    extra = cast("Body | None", request.options.extra_json)
    return {**cast("Body", body), **(extra or {})}


def beside(request: APIRequest, body: Body) -> APIRequest:
    """Return a request to the same end that has nothing to do with how the first is answered."""
    made = request.copy(body=dict(body))
    # A copy keeps all of this, and there is no parameter for it.
    made.stream, made.stream_cls = False, None
    options: Any = made.options
    options.extra_json = None
    options.idempotency_key = None
    options.headers = {k: v for k, v in request.headers.items() if k.lower() not in _OWN}
    return made
