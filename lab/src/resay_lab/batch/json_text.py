"""Values as JSON, whatever they are."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, cast


def as_json(row: Mapping[str, Any]) -> bytes:
    """Return a row as a JSON object; values unknown to JSON become strings, NaN becomes null."""
    return json_bytes(row)


def json_bytes(value: object) -> bytes:
    """Return a value as JSON in UTF-8, on one line; see `as_json`."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):  # something that JSON cannot express
        value = _plain(value)
        text = json.dumps(value, ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a character
        return json.dumps(value).encode()


def _plain(value: Any) -> Any:
    """Return a value as JSON can express it, with whatever it contains."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, (str, bool)):
        return cast("Any", value)
    if isinstance(value, int):
        return int(value) if abs(value) < _TOO_LONG else hex(value)
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value).items()
        return {str(key): _plain(item) for key, item in entries}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in cast("Iterable[Any]", value)]
    if isinstance(value, (bytes, bytearray)):
        return value.decode("utf-8", "backslashreplace")
    # numpy's arrays and numbers
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if hasattr(value, "to_list"):  # a list in Polars
        return _plain(value.to_list())
    return None if type(value).__name__ in ("NaTType", "NAType") else str(value)


# Python refuses to convert longer numbers to text.
_TOO_LONG = 10**4_000
