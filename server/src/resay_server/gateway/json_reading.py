"""Reads JSON from bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def json_reader(
    *,
    parse_float: Callable[[str], float],
    parse_constant: Callable[[str], Any] | None = None,
) -> Callable[[bytes], object]:
    """Return a function that does what `json.loads` does with bytes and these arguments.

    `json.loads` would create a decoder for every body.

    Args:
        parse_float: Returns a number with a fraction or an exponent, given its digits.
        parse_constant: Returns the value of `NaN`, `Infinity` or `-Infinity`; None for Python's.
    """
    decoder = json.JSONDecoder(parse_float=parse_float, parse_constant=parse_constant)

    def read(data: bytes) -> object:
        return decoder.decode(data.decode(json.detect_encoding(data), "surrogatepass"))

    return read
