"""Format values for pages."""

from __future__ import annotations

import math
import re

from resay._internal.patterns import lazy_pattern

_LEVELS = 5
# Every browser treats URLs that begin like this as web addresses.
_WEB = lazy_pattern(r"https?://[^\s\x00-\x20\x7f]+", re.IGNORECASE)


def is_web_address(url: object) -> bool:
    """Return whether a URL leads to a web page; others run code, open files or send mail."""
    return isinstance(url, str) and _WEB.fullmatch(url) is not None


def score_text(score: float | None) -> str:
    """Format a score with two decimals, or `?` for None."""
    in_range = _in_range(score)
    return "?" if in_range is None else f"{in_range:.2f}"


def level(score: float | None) -> str:
    """Return the CSS class that colours a score."""
    in_range = _in_range(score)
    return "none" if in_range is None else f"l{min(_LEVELS - 1, int(in_range * _LEVELS))}"


def seconds(elapsed_s: float) -> str:
    """Format a duration."""
    return f"{elapsed_s:.1f} s"


def _in_range(score: float | None) -> float | None:
    # Files may contain scores that no scorer returns.
    if score is None or not math.isfinite(score):
        return None
    return min(1.0, max(0.0, score))
