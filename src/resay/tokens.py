"""Words and marks, for methods that count them."""

from __future__ import annotations

import re

__all__ = ["tokenize"]

# Words as the published code's tokenizer (spaCy's English one) has them: initials keep their
# points ("J.", "U.S."), numbers their separators ("1,000", "1946–1952", "5/24"), clitics stand
# alone ("'s"), and every other mark is a token of its own.
_TOKEN = re.compile(
    r"""
    (?:[^\W\d_]\.)+                               # J.  U.S.
  | \w+(?:(?:[.&]|['’](?!s\b)|(?<=\d)[,:–/](?=\d)|(?<=\D)-(?=\d))\w+)*
  | ['’]\w+                                       # 's
  | [^\w\s]
    """,
    re.VERBOSE,
)
# Scripts written without spaces: one character, one token.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_MIXED_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|[^\w\s]")


def tokenize(text: str) -> list[str]:
    """Split into lower-cased words and marks; space is left out."""
    pattern = _MIXED_TOKEN if _HAS_UNSPACED.search(text) else _TOKEN
    return pattern.findall(text.lower())
