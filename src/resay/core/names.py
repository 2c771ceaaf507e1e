"""Whether texts name the same thing: an X100 is no X100-S, and an X110 is something else."""

from __future__ import annotations

import re

_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_LONGER = re.compile(r"[ \u00a0](?:[^\W\d_a-zß-ÿ]|\d)")


def naming(name: str, text: str) -> float:
    """Return how surely a text names something, whatever its spaces, hyphens and capitals.

    Args:
        name: Its name.
        text: The text.

    Returns:
        1 where it does, 0 where it does not or has the name only as a part of another word (X100 in
        X100-S), 0.5 where only words follow that may belong to a longer name (X100 Pro).
    """
    words = re.findall(r"[^\W_]+", name)
    if not words:
        return 0.0
    found = r"[\W_]{1,3}".join(map(re.escape, words))
    matches = re.finditer(rf"(?<![^\W_]){found}(?![^\W_]|[-‐‑]\w)", text, re.IGNORECASE)
    sure = (0.5 if _LONGER.match(text, match.end()) else 1.0 for match in matches)
    return max(sure, default=0.0)


def names_it(name: str, text: str) -> bool:
    """Return whether a text has a name, and not only as a part of another: X100 is no X100-S."""
    return naming(name, text) > 0


def names_another(name: str, text: str) -> bool:
    """Return whether a text names something like a name with a number: an X110, for X100.

    Args:
        name: The name; one without digits, or of digits alone, is like no other, and neither is one
            with a year: March 1932.
        text: A text that does not have it.
    """
    words = re.findall(r"[^\W_]+", name)
    numbered = [i for i, word in enumerate(words) if any(map(str.isdigit, word))]
    if not numbered or words[0].isdigit() or _YEAR.fullmatch(words[numbered[0]]):
        return False
    first = numbered[0]
    before = "".join(rf"{re.escape(word)}[\W_]{{1,3}}" for word in words[:first])
    # Alone, only the same letters make it alike: an A4 is no X100.
    like = r"\w*\d\w*" if first else re.sub(r"\d+", r"\\d+", re.escape(words[0]))
    return re.search(rf"(?<![^\W_]){before}{like}", text, re.IGNORECASE) is not None
