"""litellm's errors as the gateway's own."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from resay.adapters.apis import Body
from resay_server.gateway.errors import RefusedError

_SECONDS = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6})?")
_CLIENT, _SERVER, _END = 400, 500, 600
# A wrong key is the gateway's fault, not the client's.
_OWN_KEY = 401
_MISSING_KEY = ("Missing credentials", "api_key client option")
_LATE = (TimeoutError, asyncio.TimeoutError, httpx.TimeoutException)
_PASSED_ON = frozenset({503, 504, 529})
_BY_NAME: Mapping[str, tuple[str, str]] = {
    "ContentPolicyViolationError": ("content_policy_violation", "the provider's filter refuses it"),
    "ContextWindowExceededError": (
        "context_length_exceeded",
        "it is too long for this model; send less of it",
    ),
}
_BY_STATUS: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request", "the provider refuses the request"),
    403: ("permission_denied", "the provider does not permit it"),
    404: ("not_found", "the provider knows no such model"),
    413: ("request_too_large", "it is too large for the provider"),
    422: ("invalid_request", "the provider cannot make sense of the request"),
    429: ("rate_limit_exceeded", "the provider limits the rate; try again later"),
    503: ("upstream_overloaded", "the provider is too busy; try again later"),
    529: ("upstream_overloaded", "the provider is too busy; try again later"),
}


def refusal_of(error: Exception, name: str, request: Body) -> RefusedError:
    """Return the error for a client.

    Args:
        error: The error that litellm raised.
        name: The model's name in the client's request.
        request: The client's request.
    """
    if isinstance(error, RefusedError):
        return error
    chain = list(_error_chain(error))
    # Errors of streams are wrapped for litellm's own router.
    error = getattr(error, "original_exception", None) or error
    status, code, why = _reason(error, chain, request)
    return RefusedError(
        status, code, f"the model {name!r} did not answer: {why}", headers=_retry_after(error)
    )


def _reason(error: Exception, chain: list[BaseException], request: Body) -> tuple[int, str, str]:
    kind, status = type(error).__name__, getattr(error, "status_code", None)
    missing = next((e.name for e in chain if isinstance(e, ModuleNotFoundError) and e.name), None)
    if missing is not None:
        why = f"litellm needs the package {missing!r} for it, which is not installed here"
        return 501, "missing_dependency", why
    if kind == "Timeout" or any(isinstance(e, _LATE) for e in chain):
        return 504, "upstream_timeout", "no response arrived in time"
    if kind == "UnsupportedParamsError":
        return 400, "unsupported_parameter", _unsupported(error, request)
    if status == _OWN_KEY or any(words in str(error) for words in _MISSING_KEY):
        return 502, "upstream_key_refused", "its provider rejects the gateway's key"
    if not isinstance(status, int) or any(_is_about_connections(e) for e in chain):
        return 502, "upstream_unreachable", f"it cannot be reached, or ended early ({kind})"
    code, why = "invalid_request", f"the provider refuses the request with status {status}"
    if not (_CLIENT <= status < _SERVER or status in _PASSED_ON):
        status, code, why = 502, "upstream_failed", "its provider failed"
    code, why = _BY_NAME.get(kind) or _BY_STATUS.get(status) or (code, why)
    return status, code, why


def _is_about_connections(error: BaseException) -> bool:
    # The SDKs that litellm uses each have their own type.
    if isinstance(error, httpx.TransportError):
        return True
    return type(error).__name__ in ("APIConnectionError", "ClientPayloadError")


def _unsupported(error: Exception, request: Body) -> str:
    """Name the unsupported parameters of the client's request."""
    message = str(error)
    # litellm mentions these in any case.
    names = sorted(request.keys() - {"model", "messages"})
    mentioned = [repr(name) for name in names if re.search(rf"\b{re.escape(name)}\b", message)]
    return f"it does not support {', '.join(mentioned) or 'one of the parameters'}; omit it"


def _error_chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all of its causes."""
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        item = pending.pop()
        if item is None or id(item) in seen:
            continue
        seen.add(id(item))
        yield item
        pending += [item.__cause__, item.__context__]
        original: object = getattr(item, "original_exception", None)
        if isinstance(original, BaseException):
            pending.append(original)


def _retry_after(error: Exception) -> dict[str, str]:
    response: Any = getattr(error, "response", None)
    for headers in (
        getattr(error, "litellm_response_headers", None),
        getattr(response, "headers", None),
    ):
        value: object = headers.get("retry-after") if headers is not None else None
        if isinstance(value, str) and _SECONDS.fullmatch(value):
            return {"retry-after": value}
    return {}
