"""Paths in a request, as policies write them: `messages[*].metadata.docs[*].text`."""

from __future__ import annotations

from typing import Final

from resay._internal.patterns import lazy_pattern

_KEY: Final = r"[^\W\d][\w-]*"
_PATH: Final = lazy_pattern(rf"{_KEY}(?:\.{_KEY}|\[(?:\d{{1,6}}|\*)\])+")
_STEP: Final = lazy_pattern(rf"({_KEY})|\[(\d+|\*)\]")


def is_path(text: str) -> bool:
    """Return whether a text is a path."""
    return _PATH.fullmatch(text) is not None


def steps_of(path: str) -> list[tuple[str, str]]:
    """Return the steps of a path: the key, or the index or `*`; the other is empty."""
    return _STEP.findall(path)
