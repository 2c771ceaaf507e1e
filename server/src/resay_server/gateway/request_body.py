"""The bodies of guarded requests."""

from __future__ import annotations

import json
import math
from typing import cast

from resay.adapters.apis import Body
from resay_server.gateway.calls import Call
from resay_server.gateway.errors import RefusedError
from resay_server.gateway.json_reading import json_reader

_ENCODED = ("identity", "")


def read_body(call: Call, data: bytes) -> Body:
    """Parse the JSON object in a request's body.

    Raises:
        RefusedError: It contains none, so its answer could not be guarded.
    """
    encoding = (call.header(b"content-encoding") or "").strip().lower()
    if encoding not in _ENCODED:
        message = "cannot guard a compressed request; send it uncompressed"
        raise RefusedError(415, "unsupported_encoding", message)
    try:
        value = _read(data)
    except json.JSONDecodeError as error:
        # Its own words have nothing of the body.
        problem = error.msg.removesuffix(" at")
        message = (
            f"the request's body is not valid JSON: line {error.lineno}, column {error.colno}:"
            f" {problem}"
        )
        raise RefusedError(400, "invalid_json", message) from error
    # Deep nesting raises a RecursionError.
    except (ValueError, RecursionError) as error:
        message = (
            "the request's body cannot be read as JSON; send UTF-8, finite numbers of ordinary"
            " length, and no nesting that is thousands deep"
        )
        raise RefusedError(400, "invalid_json", message) from error
    if not isinstance(value, dict):
        raise RefusedError(400, "invalid_json", "the request's body is not a JSON object")
    return cast("Body", value)


def _no_number(name: str) -> object:
    raise ValueError(name)


def _finite(digits: str) -> float:
    number = float(digits)
    # A number that overflows could not be forwarded as a number.
    return number if math.isfinite(number) else cast("float", _no_number(digits))


_read = json_reader(parse_float=_finite, parse_constant=_no_number)
