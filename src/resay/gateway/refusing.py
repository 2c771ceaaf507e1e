"""What the gateway itself says no with, in the shape of the API that is spoken."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from resay.providers.apis import RESPONSES, Api, Event

Dialect = Literal["openai", "anthropic"]

_ANTHROPIC: Mapping[int, str] = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
}
_CLIENT, _SERVER = 400, 500


class RefusedError(Exception):
    """The gateway has no answer to give.

    Args:
        status: The HTTP status.
        code: What programs know it by.
        message: What is wrong and what to do; never with a key, a prompt or an upstream's words.
        headers: Further headers.
        details: What else the error says.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers or {}
        self.details = details or {}

    @property
    def status_code(self) -> int:
        """The status, where the clients of providers have it."""
        return self.status


def error_body(error: RefusedError, dialect: Dialect, request_id: str) -> bytes:
    """Return an error as the API's clients understand it."""
    return json.dumps(_error(error, dialect, request_id), ensure_ascii=False).encode()


def error_event(
    error: RefusedError, dialect: Dialect, api: Api, request_id: str, position: int
) -> Event:
    """Return the event that ends a stream that was begun.

    Args:
        error: What is wrong.
        dialect: Whose errors the client understands.
        api: What is spoken.
        request_id: What the request is called.
        position: The event's number in the stream, of an API that numbers them.
    """
    if dialect == "anthropic":
        return Event(_error(error, dialect, request_id), "error")
    if api is RESPONSES:
        said = {"code": error.code, "message": error.message, "param": None}
        number = {"sequence_number": position}
        return Event({"type": "error", **said, **number, **error.details}, "error")
    return Event(_error(error, dialect, request_id))


def _error(error: RefusedError, dialect: Dialect, request_id: str) -> dict[str, Any]:
    if dialect == "anthropic":
        kind = _ANTHROPIC.get(error.status) or _kind(error.status, "api_error")
        said = {"type": kind, "message": error.message, **error.details}
        return {"type": "error", "error": said, "request_id": request_id}
    said = {
        "message": error.message,
        "type": _kind(error.status, "server_error"),
        "param": None,
        "code": error.code,
        "request_id": request_id,
    }
    return {"error": {**said, **error.details}}


def _kind(status: int, of_server: str) -> str:
    return "invalid_request_error" if _CLIENT <= status < _SERVER else of_server
