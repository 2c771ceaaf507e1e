"""Errors of the gateway itself, in the format of the client's API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from resay.adapters.apis import RESPONSES, Api, Event

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
    """The gateway returns an error instead of an answer.

    Args:
        status: The HTTP status.
        code: The error code for programs.
        message: What is wrong and how to fix it; never a key, a prompt or an upstream's words.
        headers: Additional headers.
        details: Additional fields of the error.
        cause: The cause, for the log, where the message to the client does not have it; never a
            key, a prompt or an upstream's words.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        details: Mapping[str, Any] | None = None,
        cause: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers or {}
        self.details = details or {}
        self.cause = cause

    @property
    def status_code(self) -> int:
        """The status, under the name that providers' clients use."""
        return self.status


def error_body(error: RefusedError, dialect: Dialect, request_id: str) -> bytes:
    """Return an error's body in the format of the API's clients."""
    return json.dumps(_error(error, dialect, request_id), ensure_ascii=False).encode()


def error_event(
    error: RefusedError, dialect: Dialect, api: Api, request_id: str, position: int
) -> Event:
    """Return the event that ends a stream in progress.

    Args:
        error: The error.
        dialect: The error format that the client understands.
        api: The API.
        request_id: The id of the request.
        position: The event's number in the stream, for APIs that number events.
    """
    if dialect == "anthropic":
        return Event(_error(error, dialect, request_id), "error")
    if api is RESPONSES:
        body = {
            "type": "error",
            "code": error.code,
            "message": error.message,
            "param": None,
            "sequence_number": position,
            **error.details,
        }
        return Event(body, "error")
    return Event(_error(error, dialect, request_id))


def _error(error: RefusedError, dialect: Dialect, request_id: str) -> dict[str, Any]:
    if dialect == "anthropic":
        kind = _ANTHROPIC.get(error.status) or _kind(error.status, "api_error")
        details = {"type": kind, "message": error.message, **error.details}
        return {"type": "error", "error": details, "request_id": request_id}
    details = {
        "message": error.message,
        "type": _kind(error.status, "server_error"),
        "param": None,
        "code": error.code,
        "request_id": request_id,
    }
    return {"error": {**details, **error.details}}


def _kind(status: int, of_server: str) -> str:
    return "invalid_request_error" if _CLIENT <= status < _SERVER else of_server
