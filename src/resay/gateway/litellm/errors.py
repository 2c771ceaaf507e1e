"""What clients are told of litellm's errors, without its words and those of providers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from resay.gateway.refusing import RefusedError
from resay.providers.apis import Body

__all__ = ["refusal_of"]

_SECONDS = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6})?")
_CLIENT, _SERVER, _END = 400, 500, 600
# A key that is not right is the gateway's, and no client's.
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


def refusal_of(error: Exception, name: str, asked: Body) -> RefusedError:
    """Return what a client is told.

    Args:
        error: What litellm raised.
        name: The model, by the name that the client gave.
        asked: What the client asked.
    """
    if isinstance(error, RefusedError):
        return error
    behind = list(_behind(error))
    # What breaks a stream comes wrapped for litellm's own router.
    error = getattr(error, "original_exception", None) or error
    status, code, why = _reason(error, behind, asked)
    return RefusedError(
        status, code, f"the model {name!r} did not answer: {why}", headers=_retry_after(error)
    )


def _reason(error: Exception, behind: list[BaseException], asked: Body) -> tuple[int, str, str]:
    kind, said = type(error).__name__, getattr(error, "status_code", None)
    missing = next((e.name for e in behind if isinstance(e, ModuleNotFoundError) and e.name), None)
    if missing is not None:
        why = f"litellm needs the package {missing!r} for it, which is not installed here"
        return 501, "missing_dependency", why
    if kind == "Timeout" or any(isinstance(e, _LATE) for e in behind):
        return 504, "upstream_timeout", "nothing came in time"
    if kind == "UnsupportedParamsError":
        return 400, "unsupported_parameter", _unsupported(error, asked)
    if said == _OWN_KEY or any(words in str(error) for words in _MISSING_KEY):
        return 502, "upstream_key_refused", "its provider does not take the gateway's key"
    if not isinstance(said, int) or any(_is_about_connections(e) for e in behind):
        return 502, "upstream_unreachable", f"it cannot be reached, or broke off ({kind})"
    status = _status(said)
    code, why = _BY_NAME.get(kind) or _BY_STATUS.get(status) or _otherwise(status)
    return status, code, why


def _is_about_connections(error: BaseException) -> bool:
    # The SDKs that litellm uses each have their own.
    named = type(error).__name__ in ("APIConnectionError", "ClientPayloadError")
    return named or isinstance(error, httpx.TransportError)


def _status(said: int) -> int:
    if _CLIENT <= said < _SERVER or said in _PASSED_ON:
        return said
    return 502


def _otherwise(status: int) -> tuple[str, str]:
    if _CLIENT <= status < _SERVER:
        return "invalid_request", f"the provider refuses the request with status {status}"
    return "upstream_failed", "its provider failed"


def _unsupported(error: Exception, asked: Body) -> str:
    """Say which parameters are not taken, in the client's own words."""
    told = str(error)
    names = [name for name in sorted(asked) if re.search(rf"\b{re.escape(name)}\b", told)]
    # What litellm always mentions.
    named = ", ".join(repr(name) for name in names if name not in ("model", "messages"))
    return f"it does not take {named or 'one of the parameters'}; leave it out"


def _behind(error: BaseException) -> Iterator[BaseException]:
    """Go through an error and all that led to it."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        original: object = getattr(one, "original_exception", None)
        waiting += [one.__cause__, one.__context__]
        waiting += [original] if isinstance(original, BaseException) else []


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
