"""Finds quotations in the text that they are from.

People and models quote with other spaces, quotation marks and capitals, leave words out behind an
ellipsis, and get a word wrong. Such a quotation is still found; one with another number, another
name or another negation is not, since it says something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from resay._internal.patterns import lazy_pattern
from resay.core.normalization import NormalizedText, normalized
from resay.core.quantities import negations, quantities
from resay.core.segmentation.spans import Span
from resay.core.tokens import COMBINING_SIGNS

_IN_WORD = rf"\w{COMBINING_SIGNS}"
_WORD = lazy_pattern(rf"\w[{_IN_WORD}]*")
# Signs that belong to a number or a name, unlike punctuation: "£46", "82 %", "#12", "-5 °C".
_SYMBOL = r"[^\w\s.,;:!?…¡¿。、，；：！？'\"`‘’‚“”„«»‹›「」『』()\[\]{}<>|*_]"
# Without limits, a line of thousands of symbols or spaces would take quadratic time.
_SYMBOLS_BEFORE = lazy_pattern(rf"({_SYMBOL}{{1,8}})\s?\Z")
_SYMBOLS_AFTER = lazy_pattern(rf"\s?({_SYMBOL}{{1,8}})")
# What is left of a currency before a number, and before its sign: "£46", "US$46", "R$ 46".
_SIGNS = "$€£¥₹₩₽"
_PREFIX = r"(?<!\w)[A-Z]{1,3}"
_BEFORE_NUMBER = lazy_pattern(rf"(?:{_PREFIX})?[{_SIGNS}][^\S\n]?\Z")
_BEFORE_SIGN = lazy_pattern(rf"{_PREFIX}\Z")
_MAX_CURRENCY = 5
_ELLIPSIS = lazy_pattern(r"\[\s*(?:…|\.{2,})\s*\]|\(\s*(?:…|\.{2,})\s*\)|…|\.{3,}")
_MAX_PIECES = 50
_MAX_WORDS = 200
# Each of these numbers of words may have one wrong word more.
_WORDS_WITH_AN_ERROR = (5, 12, 24)
_MAX_CANDIDATES = 8


def quoted_pieces(quote: str) -> list[str]:
    """Return the pieces of a quotation that ellipses separate, if many the first of them."""
    parts = _ELLIPSIS.split(normalized(quote))
    pieces = [part.strip() for part in parts if _WORD.search(part)]
    return pieces[:_MAX_PIECES]


def find_quote(quote: str, text: str) -> Span | None:
    """Return the span of a quotation in a text; None if the text does not have it.

    Args:
        quote: The quotation.
        text: The text.
    """
    source = NormalizedText.of(text)
    pieces = quoted_pieces(quote)
    if not pieces:
        return None
    spans: list[Span] = []
    position = 0
    for piece in pieces:
        span = _find_piece(piece, source.text, position)
        if span is None:
            return None
        spans.append(span)
        position = span[1]
    return source.span(spans[0][0], spans[-1][1])


def _find_piece(piece: str, text: str, start: int) -> Span | None:
    """Return the span of a piece of a quotation, from a position of the text on."""
    words = list(_WORD.finditer(piece))[:_MAX_WORDS]
    pattern = _with_symbols(piece, words)
    # Languages without spaces, or with endings, have what is quoted inside a longer word.
    for exact in (rf"(?<![{_IN_WORD}]){pattern}(?![{_IN_WORD}])", pattern):
        match = re.compile(exact, re.IGNORECASE).search(text, start)
        if match is not None:
            return _start_with_currency(text, match.start()), match.end()
    return _find_similar([word[0] for word in words], text, start)


def _start_with_currency(text: str, start: int) -> int:
    """Return where an amount that is quoted from a position on starts with its currency."""
    if text[start].isdigit():
        pattern = _BEFORE_NUMBER
    elif text[start] in _SIGNS:
        pattern = _BEFORE_SIGN
    else:
        return start
    currency = pattern.search(text, max(start - _MAX_CURRENCY, 0), start)
    return start if currency is None else currency.start()


def _with_symbols(piece: str, words: Sequence[re.Match[str]]) -> str:
    """Return a pattern of words of a quotation, with the symbols around them where it has them."""
    pattern = rf"[^{_IN_WORD}]+".join(re.escape(word[0]) for word in words)
    # "46" is not quoted from "1946", "1,946" or "3.46".
    if words[0][0][0].isdigit():
        pattern = rf"(?<!\d)(?<!\d[.,]){pattern}"
    if words[-1][0][-1].isdigit():
        pattern = rf"{pattern}(?!\d)(?![.,]\d)"
    before = _SYMBOLS_BEFORE.search(piece, 0, words[0].start())
    if before is not None:
        pattern = rf"(?:{re.escape(before[1])}\s?)?{pattern}"
    after = _SYMBOLS_AFTER.match(piece, words[-1].end())
    if after is not None:
        pattern = rf"{pattern}(?:\s?{re.escape(after[1])})?"
    return pattern


def _find_similar(words: Sequence[str], text: str, start: int) -> Span | None:
    """Return the span of words in a text that has some of them in another form."""
    max_errors = sum(len(words) >= count for count in _WORDS_WITH_AN_ERROR)
    if not max_errors:
        return None
    matches = list(_WORD.finditer(text, start))
    text_words = [match[0] for match in matches]
    folded = _folded(text_words)
    indices: dict[str, list[int]] = {}
    for index, word in enumerate(folded):
        indices.setdefault(word, []).append(index)
    quoted = _folded(words)
    # Of more chunks than there are errors, one is without any.
    size = len(quoted) // (max_errors + 1)
    for offset in range(0, (max_errors + 1) * size, size):
        chunk = quoted[offset : offset + size]
        candidates = [i for i in indices.get(chunk[0], ()) if folded[i : i + size] == chunk]
        for index in candidates[:_MAX_CANDIDATES]:
            first = max(index - offset - max_errors, 0)
            last = min(index - offset + len(quoted) + max_errors, len(folded))
            span = _aligned(words, text_words[first:last], max_errors)
            if span is not None:
                return matches[first + span[0]].start(), matches[first + span[1] - 1].end()
    return None


def _aligned(words: Sequence[str], others: Sequence[str], max_errors: int) -> Span | None:
    """Return the span of words among others that differs from them in few unimportant words."""
    matcher = SequenceMatcher(None, _folded(words), _folded(others), autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    if not blocks:
        return None
    first = max(blocks[0].b - blocks[0].a, 0)
    last = min(blocks[-1].b + len(words) - blocks[-1].a, len(others))
    aligned = others[first:last]
    matcher.set_seq2(_folded(aligned))
    errors = 0
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        errors += max(end - start, other_end - other_start)
        if not _is_unimportant([*words[start:end], *aligned[other_start:other_end]]):
            return None
    if errors > max_errors:
        return None
    has_same_negations = len(negations(" ".join(words))) == len(negations(" ".join(aligned)))
    return (first, last) if has_same_negations else None


def _folded(words: Sequence[str]) -> list[str]:
    return [word.casefold() for word in words]


def _is_unimportant(words: Sequence[str]) -> bool:
    """Return whether words are neither numbers nor names."""
    for word in words:
        if any(map(str.isdigit, word)) or quantities(word):
            return False
        if word[:1].isupper():
            return False
    return True
