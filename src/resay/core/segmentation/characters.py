"""Classes of characters: white space, and what ends lines and sentences."""

from __future__ import annotations

from resay._internal.patterns import lazy_pattern

LINE_BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
"""The characters at which `str.splitlines` breaks lines, for a character class."""
GAP = rf"[^\S{LINE_BREAKS}]"
"""A pattern of white space inside a line."""
WIDE_STOPS = "。！？｡．။។៕"
"""The marks that end a sentence without a space after them, for a character class."""
STOPS = rf".!?…‽؟{WIDE_STOPS}।॥۔։።፧᠃"
"""The marks that end sentences, for a character class."""
_SPACE = lazy_pattern(r"\s*")


def after_space(text: str, position: int) -> int:
    """Return the first position from one on that has no white space."""
    match = _SPACE.match(text, position)
    return match.end() if match else position
