"""What of a text is compared verbatim: links, long numbers, letters that stand for themselves."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter

from resay._internal.patterns import lazy_pattern
from resay.core.links import link_spans, links_in, normal_link
from resay.core.quantities import Quantity
from resay.core.segmentation.spans import Span, blanked
from resay.lang.language import all_words

LONG_DIGITS = 7
"""Minimum number of digits in a long number."""

_ITEM_NUMBER = lazy_pattern(r"(?m:^\s{0,8}\d{1,3}[.)]\s(?=\S))")
# Telephone numbers, IBANs, ISBNs, tracking codes and mail addresses are quoted verbatim, however
# their digits are grouped.
# A group takes all its digits at once: a number that ends otherwise would be divided in all ways.
_GROUP = r"[ ./-]{0,2}\(?[A-Z]{0,4}\d{1,140}(?!\d)\)?"
_LONG = lazy_pattern(
    r"(?<![\w.,+-])(?:\+?(?:[A-Z]{0,4}\d{2,140}(?!\d)\)?|(?:[A-Z]{0,4}\d(?!\d)|\(\d{1,6}\))"
    rf"{_GROUP})(?:{_GROUP}){{0,9}}"
    r"|(?=\w{0,30}\d)(?=\w{0,30}[A-Z])[A-Z0-9]{8,30}"
    r"|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{2,30}){1,4})(?!\w)"
)
# Not an article or pronoun at the beginning, an initial, a part of a name, a word or a number. What
# precedes it is looked at last, because patterns that begin with a character are found fastest.
_LETTER = lazy_pattern(
    r"[A-Z](?!\w)(?<![\w.&'/-][A-Z])"
    r"(?:(?<=[B-HJ-Z])(?![&'/]|-\w|\.\s?[A-Z]|\s[A-Z])|(?<=[AI])(?=\W{0,3}\Z|[),;:]|\.(?:\s|\Z)))"
)
# A letter in lower case, where no word ends a text or is in brackets: "b", "(c)", "option d".
_LAST_LETTER = lazy_pattern(r"(?<![\w.&'/-])[a-z](?=\W{0,3}\Z)")
_MAX_CHARS_FROM_LAST_LETTER = 4
_LETTER_IN_BRACKETS = lazy_pattern(r"\)(?<=(?<![\w.&'/-])[a-z]\))")
_BETWEEN_GROUPS = lazy_pattern(r"(?<=\d)[ ./()-]{1,3}(?=[A-Za-z\d])|[+()]")

_START = attrgetter("start")


def links_of(text: str) -> tuple[str, ...]:
    """Return the links of a text in their normal form, each once."""
    return tuple(dict.fromkeys(map(normal_link, links_in(text))))


def letters_of(text: str, parsed: Sequence[Quantity] = ()) -> frozenset[str]:
    """Return the single capital letters of a text that stand for themselves.

    "B", "vitamin D" and "option (C)" have one; "A bridge", "I am" and "J. Moor" have none.

    Args:
        text: The text.
        parsed: Its quantities, whose letters are units, such as that of 350 °F.
    """
    matches = list(_LETTER.finditer(text))
    if not matches:
        return frozenset()
    units = {position for q in parsed for position in range(q.start, q.end)}
    letters: set[str] = set()
    for match in matches:
        # "O custo" begins with an article.
        is_word = match.start() == 0 and match[0].lower() in all_words("comparison", "articles")
        if match.start() not in units and not (is_word and text[1:2] == " "):
            letters.add(match[0])
    return frozenset(letters)


def letters_in_any_case(text: str) -> frozenset[str]:
    """Return the letters that a text mentions, in capitals, however it writes them."""
    letters = set(letters_of(text))
    for match in _LETTER_IN_BRACKETS.finditer(text):
        letters.add(text[match.start() - 1].upper())
    last = _LAST_LETTER.search(text, max(len(text) - _MAX_CHARS_FROM_LAST_LETTER, 0))
    if last is not None:
        letters.add(last[0].upper())
    return frozenset(letters)


def long_numbers(text: str, parsed: Sequence[Quantity]) -> Iterator[Span]:
    """Yield the spans of long numbers, grouped or not, that are not among a text's quantities.

    Args:
        text: The text.
        parsed: Its quantities, in order.
    """
    for match in _LONG.finditer(text):
        groups = re.findall(r"\d+", match[0])
        is_address = "@" in match[0]
        if not is_address and not _is_long(groups):
            continue
        # The quantity before it may overlap it.
        first = max(bisect_left(parsed, match.start(), key=_START) - 1, 0)
        last = bisect_left(parsed, match.end(), key=_START)
        inside = [quantity for quantity in parsed[first:last] if match.start() < quantity.end]
        if not _is_parsed(match.span(), groups, inside):
            yield match.span()


def _is_long(groups: Sequence[str]) -> bool:
    lengths = [len(group) for group in groups]
    return sum(lengths) >= LONG_DIGITS and max(lengths) >= 2


def _is_parsed(span: Span, groups: Sequence[str], inside: Sequence[Quantity]) -> bool:
    """Return whether quantities say what is written there: years, a measure, or one number."""
    start, end = span
    all_parsed = bool(groups) and len(inside) == len(groups)
    if all_parsed and all(quantity.year is not None for quantity in inside):
        return True
    if any(q.unit not in ("", "ordinal") or q.kind == "date" for q in inside):
        return True
    is_one_number = any(q.start <= start and end <= q.end for q in inside)
    return is_one_number and (len(groups) > 1 or len(groups[0]) < 9)


def ungrouped(text: str) -> str:
    """Return a text in lower case with the digits of long numbers joined."""
    return _BETWEEN_GROUPS.sub("", text).lower()


def without_noise(text: str) -> str:
    """Blank out links, which are compared as a whole, and item numbers, keeping all offsets."""
    spans = list(link_spans(text))
    if text[:1].isdigit() or "\n" in text:
        spans += [match.span() for match in _ITEM_NUMBER.finditer(text)]
    return blanked(text, sorted(spans))
