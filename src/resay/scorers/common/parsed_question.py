"""What the question that samples answer says itself, and asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from resay.core.quantities import Quantity, quantities
from resay.lang.detection import detect_from_words
from resay.lang.language import load
from resay.scorers.common.contrast import Wording
from resay.scorers.common.words import WORD, asks_for_order, asks_yes_or_no, stems_of

# How far from an "or" its alternatives are looked for.
_NEARBY_CHARS = 60


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """The question, and the conversation before it.

    Attributes:
        given_stems: Stems of it and of the conversation, which every answer may take for granted.
        quantities: Quantities of the question.
        topic: Stems of the question alone.
        is_polar: Whether it asks for yes or no.
        is_for_order: Whether it asks for an order.
        wording: The wording of the question.
    """

    given_stems: frozenset[str]
    quantities: tuple[Quantity, ...]
    topic: frozenset[str]
    is_polar: bool
    is_for_order: bool
    wording: Wording

    @classmethod
    def of(cls, question: str, conversation: str, language: str) -> ParsedQuestion:
        """Parse a question and the conversation before it."""
        topic = frozenset(stems_of(question) + stems_of(question.replace("-", " ")))
        # One of the alternatives that it offers is the answer.
        alternatives = frozenset(_alternatives(question))
        return cls(
            given_stems=(topic | set(stems_of(conversation))) - alternatives,
            quantities=() if alternatives else quantities(question),
            topic=topic,
            is_polar=not alternatives and asks_yes_or_no(question),
            is_for_order=asks_for_order(question),
            wording=Wording(question, language),
        )


@cache
def _or(language: str | None) -> re.Pattern[str]:
    """Return the pattern of "or" in a language and in those of other scripts."""
    own = load(language or "en").alternatives
    return re.compile(rf"\b(?:{own}|или|या|أم)\b|还是|還是|または", re.IGNORECASE)


def _alternatives(question: str) -> Iterator[str]:
    """Yield the stems next to an "or"."""
    language = detect_from_words([match.group().lower() for match in WORD.finditer(question)])
    for match in _or(language).finditer(question):
        start, end = match.span()
        yield from stems_of(question[max(start - _NEARBY_CHARS, 0) : start])[-2:]
        yield from stems_of(question[end : end + _NEARBY_CHARS])[:2]
