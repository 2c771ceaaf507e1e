"""Finds the words that a text quotes: speech, titles, and wordings of others."""

from __future__ import annotations

from collections.abc import Iterator

from resay._internal.patterns import lazy_pattern
from resay.core.segmentation.spans import Span
from resay.scorers.common.words import ignored_words, words_of

# Marks of all languages have these forms in normalised texts.
_QUOTED = lazy_pattern(
    r'(?<![A-Za-z0-9"])"\s?(?=\S)([^"\n]{3,400}?)(?<=\S)\s?"(?![A-Za-z0-9])'
    r"|(?<![\w'])'(?=\w)([^'\n]{3,400}(?:'(?=\w)[^'\n]{1,400}){0,8})(?<=[\w.!?…])'(?!\w)"
    r"|[《〈]([^《》〈〉\n]{3,200})[》〉]"
)
_CODE = lazy_pattern(r"`[^`\n]{1,200}`")
_CHARACTERS_AS_WORDS = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff]")
# Fewer words are a term, or are in quotes because they are not meant as they stand.
_MIN_WORDS = 3
_MIN_CONTENT_WORDS = 2
_MIN_CHARACTERS = 6


def quotations_in(text: str) -> Iterator[Span]:
    """Yield the spans of the quotations in a text, without their marks.

    Args:
        text: The text, normalised.
    """
    if not any(mark in text for mark in "\"'《〈"):
        return
    code = [match.span() for match in _CODE.finditer(text)]
    for match in _QUOTED.finditer(text):
        start, end = match.span(match.lastindex or 0)
        is_code = any(first < start < last for first, last in code)
        if not is_code and _is_long_enough(text[start:end]):
            yield start, end


def _is_long_enough(quotation: str) -> bool:
    if _CHARACTERS_AS_WORDS.search(quotation):
        return len(quotation) >= _MIN_CHARACTERS
    words = words_of(quotation).findall(quotation.lower())
    content_words = [word for word in words if word not in ignored_words()]
    return len(words) >= _MIN_WORDS and len(content_words) >= _MIN_CONTENT_WORDS
