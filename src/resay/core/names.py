"""Finds names in a text by their capitals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from resay._internal.patterns import lazy_pattern

# Words and numbers with one space between them.
_RUN: Final = lazy_pattern(r"(?<!\w)[^\W\d_][\w’-]*(?:[ \u00a0][^\W_][\w’-]*)*")
_RUN_WORD: Final = lazy_pattern(r"[^\W_][\w’-]*")
_ARTICLE: Final = lazy_pattern(
    r"(?:The|An?|Der|Die|Das|Dem|Den|Des|Le|La|Les|Un|Une|El|Los|Las|Il|Lo|Gli|O|Os|As|De|Het|Een"
    r"|When|What|Who|Which|Where|How|Is|Are|Was|Does|Did|Do|In|On|It|Its|This|That)(?:\s+|$)"
)


def without_article(name: str) -> str:
    """Return a name without an article or a question word before it."""
    article = _ARTICLE.match(name)
    return name[article.end() :] if article else name


def capital_runs(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of runs of capitalised words, possibly with numbers.

    In scripts without capitals any word may belong to a name.

    Args:
        text: The text.
    """
    for run in _RUN.finditer(text):
        start = end = -1
        for word in _RUN_WORD.finditer(text, run.start(), run.end()):
            is_capital = not word[0][0].islower()
            if start < 0 and is_capital and not word[0][0].isdigit():
                start = word.start()
            elif start >= 0 and not is_capital:
                yield start, end
                start = -1
            end = word.end()
        if start >= 0:
            yield start, end
