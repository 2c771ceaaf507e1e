"""Requests of Anthropic's SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from anthropic import APIRequest

from resay.adapters.apis import MESSAGES, Body

_PATH = f"/v1{MESSAGES.path}"
# Headers of the main request alone. The second marks that the SDK's caller wants the raw
# response.
_MAIN_ONLY = frozenset({"idempotency-key", "x-stainless-raw-response"})


def body_to_check(request: APIRequest) -> Body | None:
    """Return the body of a request, or None if it does not create a message."""
    path, _, _ = request.url.partition("?")
    body: object = request.json
    if path != _PATH or request.method.lower() != "post" or not isinstance(body, Mapping):
        return None
    # Older versions of the SDK merge the two only when they send the request.
    extra = cast("Body | None", request.options.extra_json)
    return {**cast("Body", body), **(extra or {})}


def auxiliary_request(request: APIRequest, body: Body) -> APIRequest:
    """Return a request to the same endpoint, without the main request's response handling."""
    auxiliary = request.copy(body=dict(body))
    # `copy` keeps all of these, and takes no parameters for them.
    auxiliary.stream, auxiliary.stream_cls = False, None
    options: Any = auxiliary.options
    options.extra_json = None
    options.idempotency_key = None
    options.headers = {k: v for k, v in request.headers.items() if k.lower() not in _MAIN_ONLY}
    return auxiliary
