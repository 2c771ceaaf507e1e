"""Parses what a judge writes in each step of a search."""

from __future__ import annotations

import re

from resay._internal.patterns import lazy_pattern
from resay.scorers.common.yes_no import strip_decoration

_LONGEST_NAME = 120
_WILL_NOT = lazy_pattern(
    r"\b(?:can(?:no|['’])t|cannot|am unable to|(?:am|['’]m) not able to|won['’]t|will not)\s+"
    r"(?:\w+\s+){0,2}?(?:help|assist|comply|answer|discuss|respond|fulfil)",
    re.IGNORECASE,
)
_REFUSAL = lazy_pattern(
    r"^(?:i(?:['’]m| am)? (?:sorry|cannot|can['’]t|could not|couldn['’]t|don['’]t|do not)|sorry"
    r"|unfortunately|there is no|none\b|unknown\b|n/?a\b|as an ai)",
    re.IGNORECASE,
)
# Matched in lower case only, since titles may contain these words: "Life Is Beautiful".
_PROSE = lazy_pattern(r"\b(?:is|are|was|were|seems?|appears?|depends|about)\b|\?")
_NAME_LABEL = lazy_pattern(r"^(?:the\s+)?(?:main\s+)?entity\s*(?:is)?\s*[:：-]?\s*", re.IGNORECASE)
_QUESTION_LABEL = lazy_pattern(r"^[*_`\"'“#>\s]*(?:question\s*[:：]\s*)?", re.IGNORECASE)
_LISTED = lazy_pattern(r"^\s*(?:\d+\s*[.):-]|[-*•])\s*(?=\S)")


def parse_name(text: str) -> str | None:
    """Parse a bare name: one line that is neither a refusal nor prose."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    name = _NAME_LABEL.sub("", strip_decoration(line)).strip(" .*_`\"'“”")
    if not name or len(name) > _LONGEST_NAME or _REFUSAL.match(name) or _PROSE.search(name):
        return None
    return name


def parse_question(text: str) -> str | None:
    """Parse a question: the last line that ends in a question mark, without its label."""
    for line in reversed(text.splitlines()):
        line = line.strip()
        if line.rstrip("*_`\"'”)").endswith("?"):
            return _QUESTION_LABEL.sub("", line).strip("*_`\"'“” ")
    return None


def parse_list(text: str) -> str | None:
    """Parse a list: its lines, without the text before and after them."""
    lines = [line.rstrip() for line in text.strip().splitlines() if _LISTED.match(line)]
    return "\n".join(lines) or None


def parse_search_result(text: str) -> str | None:
    """Parse the result of the search; finding nothing is an answer too, but refusing is not."""
    answer = text.strip()
    return None if not answer or _WILL_NOT.search(answer) else answer
