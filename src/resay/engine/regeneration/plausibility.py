"""Whether a text is plausible in place of a sentence."""

from __future__ import annotations

import unicodedata

from resay._internal.patterns import lazy_pattern
from resay.core.tokens import tokenize

# Anything that a reader may click, or that a page may load or run.
_LINKS = lazy_pattern(
    r"(?<![a-z])(?:[a-z][a-z0-9+.-]{1,15}://|(?:data|javascript|mailto|tel|vbscript):)[^\s<>)\]]*"
    # Not initials, as in "J.K.Rowling".
    r"|(?<![\w-])(?:[\w-]{1,63}\.){0,4}(?:[\w-]{2,63}\.[a-z]{2,24}(?![\w-])|[\w-]\.[a-z]{2,24}(?=/))"
    r"(?:[/:?#][^\s<>)\]]*)?"
    r"|!\[|\]\([^\s)]*|\]:|<[a-z/!?][^\s>]*"
)
_FENCES = ("```", "~~~")
_PAIRS = ("()", "[]", "{}")
_TWINS = (('"',), ("`",), ("**",), ("“", "”", "„"), ("«", "»"))
_MORE_CHARS = 100
# Characters that change the direction of the text after them.
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def fits(text: str, target: str, evidence: str, allowed: str) -> bool:
    """Return whether a text is a plausible replacement for a sentence.

    Args:
        text: The text written.
        target: The sentence that it replaces.
        evidence: The evidence it was written from.
        allowed: The draft and all evidence, case-folded: only links in it are allowed.
    """
    if len(text) > 2 * len(target) + _MORE_CHARS or any(fence in text for fence in _FENCES):
        return False
    if any(unicodedata.category(c) in ("Cc", "Cs") or c in _TURNS for c in text):
        return False
    if not _words_in(text) & (_words_in(target) | _words_in(evidence)):
        return False
    if _open_marks(text) != _open_marks(target):
        return False
    links = _LINKS.findall(text.casefold())
    return all(link.rstrip(".,;:!?'\"") in allowed for link in links)


def _words_in(text: str) -> set[str]:
    return {word for word in tokenize(text) if any(map(str.isalnum, word))}


def _open_marks(text: str) -> list[int]:
    """Return the number of unclosed marks of each kind in a text."""
    pairs = [text.count(pair[0]) - text.count(pair[1]) for pair in _PAIRS]
    return [*pairs, *(sum(map(text.count, marks)) % 2 for marks in _TWINS)]
