"""Finds quotations in the text that they are from.

People and models quote with other spaces, quotation marks and capitals, leave words out behind an
ellipsis, and get a word wrong. Such a quotation is still found; one with another number, another
name or another negation is not, since it says something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from resay.core.normalization import NormalizedText, normalized
from resay.core.quantities import negations, quantities

_WORD = re.compile(r"\w+")
_ELLIPSIS = re.compile(r"\s*(?:\[\s*(?:…|\.{2,})\s*\]|\(\s*(?:…|\.{2,})\s*\)|…|\.{3,})\s*")
_MOST_WORDS = 200
# Each of these numbers of words may have one wrong word more.
_WORDS_WITH_AN_ERROR = (5, 12, 24)
_MOST_PLACES = 8

Span = tuple[int, int]


def quoted_pieces(quote: str) -> list[str]:
    """Return the pieces of a quotation that ellipses separate."""
    return [part for part in _ELLIPSIS.split(normalized(quote)) if _WORD.search(part)]


def find_quote(quote: str, text: str) -> Span | None:
    """Return the span of a quotation in a text; None if the text does not have it.

    Args:
        quote: The quotation.
        text: The text.
    """
    source = NormalizedText.of(text)
    parts = quoted_pieces(quote)
    if not parts:
        return None
    spans: list[Span] = []
    position = 0
    for part in parts:
        span = _find_part(part, source.text, position)
        if span is None:
            return None
        spans.append(span)
        position = span[1]
    return source.span(spans[0][0], spans[-1][1])


def _find_part(part: str, text: str, start: int) -> Span | None:
    words = _WORD.findall(part)[:_MOST_WORDS]
    exact = re.compile(r"\W+".join(map(re.escape, words)), re.IGNORECASE).search(text, start)
    return exact.span() if exact else _find_nearly(words, text, start)


def _find_nearly(words: Sequence[str], text: str, start: int) -> Span | None:
    """Return the span of words in a text that has some of them in another form."""
    errors = sum(len(words) >= count for count in _WORDS_WITH_AN_ERROR)
    if not errors:
        return None
    matches = list(_WORD.finditer(text, start))
    folded = [match[0].casefold() for match in matches]
    places: dict[str, list[int]] = {}
    for place, word in enumerate(folded):
        places.setdefault(word, []).append(place)
    quoted = [word.casefold() for word in words]
    # Of more parts than there are errors, one is without any.
    size = len(quoted) // (errors + 1)
    for part in range(errors + 1):
        offset = part * size
        chunk = quoted[offset : offset + size]
        starts = (p for p in places.get(chunk[0], ()) if folded[p : p + size] == chunk)
        for _, place in zip(range(_MOST_PLACES), starts, strict=False):
            first = max(place - offset - errors, 0)
            last = min(place - offset + len(quoted) + errors, len(folded))
            span = _aligned(words, [match[0] for match in matches[first:last]], errors)
            if span is not None:
                return matches[first + span[0]].start(), matches[first + span[1] - 1].end()
    return None


def _aligned(words: Sequence[str], others: Sequence[str], errors: int) -> Span | None:
    """Return the span of words among others that differs from them in few unimportant words."""
    matcher = SequenceMatcher(
        None, [w.casefold() for w in words], [w.casefold() for w in others], autojunk=False
    )
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    if not blocks:
        return None
    first = max(blocks[0].b - blocks[0].a, 0)
    last = min(blocks[-1].b + len(words) - blocks[-1].a, len(others))
    differences = 0
    matcher.set_seq2([w.casefold() for w in others[first:last]])
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            continue
        differences += max(b - a, d - c)
        if not _is_unimportant((*words[a:b], *others[first + c : first + d])):
            return None
    if differences > errors:
        return None
    written, found = " ".join(words), " ".join(others[first:last])
    return (first, last) if len(negations(written)) == len(negations(found)) else None


def _is_unimportant(words: Sequence[str]) -> bool:
    """Return whether words are neither numbers nor names."""
    for word in words:
        if any(map(str.isdigit, word)) or quantities(word):
            return False
        if word[:1].isupper():
            return False
    return True
