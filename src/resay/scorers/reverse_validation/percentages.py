"""Reads which share of the requirements an answer says its entity meets."""

from __future__ import annotations

import re

from resay._internal.patterns import lazy_pattern
from resay.scorers.reverse_validation.clauses import clauses_of
from resay.scorers.reverse_validation.words import split_words

_AMOUNT = r"(?<![\d.,])(\d+(?:[.,]\d+)?)"
_PERCENT = r"\s*(?:[%％]|percent\b|per\s?cent\b)"
PERCENTAGE = lazy_pattern(
    rf"{_AMOUNT}(?:{_PERCENT})?\s*(?:-|‐|‑|–|—|to|or)\s*(\d+(?:[.,]\d+)?){_PERCENT}"
    rf"|\bbetween\s+{_AMOUNT}(?:{_PERCENT})?\s+and\s+(\d+(?:[.,]\d+)?){_PERCENT}"
    rf"|{_AMOUNT}{_PERCENT}",
    re.IGNORECASE,
)
"""A percentage, or a range of percentages."""
_REQUIREMENT = (
    r"(?:requirements?|criteri(?:a|on)|conditions?|features?|descriptions?|points?|characteristics)"
)
_ABOUT_BEFORE = lazy_pattern(
    rf"\b(?:match\w*|meets?|met|satisf\w+|fits?|fulfil\w*|conform\w*|percentage|{_REQUIREMENT})\b"
    r"[^.!?\d]{0,60}$",
    re.IGNORECASE,
)
_ABOUT_AFTER = lazy_pattern(
    rf"\W*(?:of\s+(?:\w+\s+){{0,4}}{_REQUIREMENT}"
    r"|(?:(?:perfect|full|exact)\s+)?(?:match|fit|accura|confiden|certain))",
    re.IGNORECASE,
)
_DENIED_BEFORE = lazy_pattern(r"(?:\bnot|n['’]t)(?:\s+\w+){0,4}\s*$", re.IGNORECASE)
_COUNT = r"(\d{1,4}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_FRACTION = lazy_pattern(
    rf"\b{_COUNT}\s*(?:out\s+of|of|/)\s*(?:the\s+|all\s+)?(?:\w+\s+)?{_COUNT}\b"
    rf"(?=\W+(?:\w+\s+){{0,2}}{_REQUIREMENT}\b)"
    rf"|\b{_COUNT}\s+out\s+of\s+(?:the\s+|all\s+)?{_COUNT}\b",
    re.IGNORECASE,
)
_ALL = lazy_pattern(
    rf"\b(?:all|every|each)\b(?:\s+\w+){{0,5}}?\s+{_REQUIREMENT}\b"
    r"|\bperfect(?:ly)?\s+(?:match|fit)|\bmatch\w*\s+perfectly"
    r"|\b(?:fully|perfectly)\s+(?:meets?|match\w*|satisf\w+|fits?)",
    re.IGNORECASE,
)
_SHORT_OF_ALL = lazy_pattern(
    r"\b(?:except|apart from|aside from|other than|all but|but (?:not|one|two)|not|nearly|almost"
    r"|most|no)\b|n['’]t\b",
    re.IGNORECASE,
)
# Number of characters examined around a number.
_NEARBY_CHARS = 100


def parse_percentage(answer: str) -> float | None:
    """Parse what share of the requirements an answer says its entity meets.

    A percentage takes precedence over a fraction ("7 out of 8 criteria"), and a fraction over "all
    requirements". Of a range, the lower end counts. Percentages of something else are ignored.

    Args:
        answer: The model's answer to a list of requirements.

    Returns:
        The share in percent, from 0 to 100; None if the answer states none or an impossible one.
    """
    clauses = list(clauses_of(answer))
    for parse_clause in (_stated_percentage, _stated_fraction, _stated_all):
        for clause in clauses:
            percentage = parse_clause(clause)
            if percentage is not None:
                return percentage if 0 <= percentage <= 100 else None
    return None


def _stated_percentage(clause: str) -> float | None:
    for match in PERCENTAGE.finditer(clause):
        before = clause[max(0, match.start() - _NEARBY_CHARS) : match.start()]
        after = clause[match.end() : match.end() + _NEARBY_CHARS]
        if _DENIED_BEFORE.search(before):
            continue
        is_about_requirements = _ABOUT_BEFORE.search(before) or _ABOUT_AFTER.match(after)
        is_set_apart = not re.search(r"\w", before) or re.search(r"[-–—:(,]\s*$", before)
        if is_about_requirements or is_set_apart:
            amounts = [float(amount.replace(",", ".")) for amount in match.groups() if amount]
            return min(amounts) if max(amounts) <= 100 else max(amounts)
    return None


def _stated_fraction(clause: str) -> float | None:
    match = _FRACTION.search(clause)
    if match is None:
        return None
    numbers: list[int] = []
    for group in match.groups():
        if group:
            numbers += [int(word.key) for word in split_words(group)]
    met, total = numbers
    return 100 * met / total if total else None


def _stated_all(clause: str) -> float | None:
    return 100.0 if _ALL.search(clause) and not _SHORT_OF_ALL.search(clause) else None


def parse_percentage_exactly(answer: str) -> int | None:
    """Parse a percentage as the paper's released code does: the first digits directly before "%".

    Returns:
        The number, or None if there is none.
    """
    match = re.search(r"(\d{1,9})%", answer)
    return None if match is None else int(match[1])
