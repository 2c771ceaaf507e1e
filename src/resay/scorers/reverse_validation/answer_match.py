"""Decides whether the answer to a search gives an entity (stage 3 in section 4.1 of the paper).

Only the first name that an answer gives counts, not what it denies or says about others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from resay._internal.patterns import lazy_pattern
from resay.scorers.reverse_validation.clauses import clauses_of
from resay.scorers.reverse_validation.mentions import Mention, are_adjoined, form_of, mentions_of
from resay.scorers.reverse_validation.name_forms import EntityName
from resay.scorers.reverse_validation.percentages import PERCENTAGE
from resay.scorers.reverse_validation.word_lists import (
    ARTICLES,
    CLASSES,
    COMPANY,
    DIRECTIONS,
    PREPOSITIONS,
    TITLES,
)
from resay.scorers.reverse_validation.words import Word, split_words

_DENIAL = lazy_pattern(
    r"(?:\bnot|n['’]t|\bcannot|\bunable to)\s+(?:\w+\s+){0,2}?"
    r"(?:find|found|identify|identified|know|known|determine|determined|specified|mentioned|named"
    r"|clear|sure|provide|provided|aware|exist|possible|enough|any|an? entity)\b"
    r"|\bunable to\b|\bno (?:such|single|specific|perfect|exact|known|entity|match|information)\b"
    r"|\bunknown\b",
    re.IGNORECASE,
)
_GIVES = lazy_pattern(
    r"\b(?:match(?:es)?|meets?|satisf(?:y|ies)|fits?|fulfil?ls?|conforms?)\b", re.I
)
# Number of characters examined before a name.
_NEARBY_CHARS = 100
_NOTHING = lazy_pattern(r"\W*(?:(?:the|an?)\s\W*)?", re.IGNORECASE)
_LEAD_IN = lazy_pattern(
    r"\W*(?:in|based|according|from|given|as|for|with|after|on|at|by|yes|sure|therefore|thus|so"
    r"|hence|well)\b[^,]*,\s*",
    re.IGNORECASE,
)
_OPENING = lazy_pattern(
    r"\W*(?:(?:the|an?|one|my|this|best|closest|possible|likely|correct|most)\s+){0,4}"
    r"(?:entity|answer|name|term|match|option|candidate)\b[^.:]*?(?:\b(?:is|are|was|were|be)\b|:)",
    re.IGNORECASE,
)
# The first of these separates the given name from statements about it.
_BOUNDARY = lazy_pattern(
    r"[,;:(]|\s[-–—]+\s"
    r"|\b(?:who|whose|which|that|where|when|while|because|since|as (?:it|he|she))\b"
)
_INTRODUCTION = lazy_pattern(
    r"(?:\b(?:is|are|was|were|be|called|named|known as|aka|namely|i\.e\.|or|called|termed)|[:(=])"
    r"\s*(?:the\s+|an?\s+)?[\"“'‘*_]*$",
    re.IGNORECASE,
)
_REMARK = lazy_pattern(r"\s*(?:,|\(|of\b)([^).;]*)")


def names_exactly(answer: str, entity: str) -> bool:
    """Match as the paper's released code does: the name occurs anywhere in the answer.

    The name is the part before the first parenthesis. Case matters only for names of fewer than
    five characters, which in lower case would be found inside other words.

    Args:
        answer: The model's answer.
        entity: The entity's name.

    Returns:
        Whether the answer contains the name.
    """
    name = entity.split("(")[0].strip() or entity.strip()
    if not name:
        return False
    return name in answer or (len(name) >= 5 and name.lower() in answer.lower())


def names_entity(answer: str, entity: str, aliases: Sequence[str] = ()) -> bool:
    """Return whether an answer names the entity, by this name or another way to write it.

    Only the first name that an answer gives counts: not those that later sentences mention, that
    belong to something else ("the brother of ...") or that it denies.

    Args:
        answer: A bare name or prose.
        entity: The entity's name, with or without a remark in parentheses.
        aliases: Its other names.

    Returns:
        Whether the answer names it; False for an answer that is empty or names nothing.
    """
    name = EntityName.of(entity, aliases)
    if not name.forms:  # a name of marks only: "!!!"
        return names_exactly(answer, entity)
    answer_words = split_words(answer)
    if answer_words and form_of(name, answer, answer_words):
        return True
    for text in clauses_of(answer):
        clause = _Clause.of(text, name)
        if not clause.is_denial and clause.gives_a_name:
            return clause.gives_entity()
    return False


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause of an answer.

    Attributes:
        text: Its text.
        words: Its words.
        mentions: Where it mentions the entity.
        body_start: Where it begins after a lead-in such as "Based on this,".
        name_start: Where the name that it gives may begin: after "the entity is".
        name_end: Where statements about that name begin.
    """

    text: str
    words: Sequence[Word]
    mentions: Sequence[Mention]
    body_start: int
    name_start: int
    name_end: int

    @classmethod
    def of(cls, text: str, name: EntityName) -> _Clause:
        words = split_words(text)
        lead_in = _LEAD_IN.match(text)
        body_start = lead_in.end() if lead_in else 0
        opening = _OPENING.match(text, body_start)
        name_start = opening.end() if opening else body_start
        boundary = _BOUNDARY.search(text, name_start)
        return cls(
            text=text,
            words=words,
            mentions=mentions_of(name, text, words),
            body_start=body_start,
            name_start=name_start,
            name_end=boundary.start() if boundary else len(text),
        )

    @property
    def is_denial(self) -> bool:
        """Whether it says that nothing was found, outside of a name: "The Unknown Soldier"."""
        names = [(self.words[m.first].start, self.words[m.last].end) for m in self.mentions]
        for denial in _DENIAL.finditer(self.text):
            if not any(start <= denial.start() and denial.end() <= end for start, end in names):
                return True
        return False

    @property
    def gives_a_name(self) -> bool:
        """Whether it gives any name."""
        if self.mentions or _GIVES.search(self.text):
            return True
        return any(word.capital for word in self.words[1:])

    def gives_entity(self) -> bool:
        """Return whether one of its mentions is the name that it gives."""
        for mention in self.mentions:
            first_word = self.words[mention.first]
            is_other_word = mention.form.capitals and first_word.text.islower()
            if is_other_word and len(self.words) > 1:
                continue
            if (
                self._is_answer(first_word.start)
                and self._is_free_before(mention)
                and self._is_free_after(mention)
            ):
                return True
        return False

    def _is_answer(self, start: int) -> bool:
        """Whether it gives the name at a position, rather than saying something about it."""
        if self.name_start <= start < self.name_end:
            return True
        if any(_NOTHING.fullmatch(self.text, begin, start) for begin in (0, self.body_start)):
            return True
        return _INTRODUCTION.search(self.text, max(0, start - _NEARBY_CHARS), start) is not None

    def _is_free_before(self, mention: Mention) -> bool:
        """Whether the text before a mention neither possesses it nor makes it another name."""
        index = mention.first - 1
        if not self._adjoins_next(index):
            return True
        has_article = self.words[index].key in ARTICLES
        if has_article:
            index -= 1
            if not self._adjoins_next(index):
                return True
        before = self.words[index]
        previous = self.words[index - 1] if index else None
        if before.key == "of":
            return previous is not None and previous.key.removesuffix("s") in CLASSES
        if before.key in PREPOSITIONS:
            return before.key == "to" and previous is not None and previous.key.startswith("refer")
        if before.key == "and" and previous is not None:
            return not previous.capital
        gap = self.text[before.end : self.words[index + 1].start]
        if has_article or not (gap.isspace() or gap.startswith(".")):
            return "-" not in gap
        if before.number or (before.key in DIRECTIONS and before.capital):
            return False
        if mention.form.headless or mention.form.alone:
            return not before.capital or before.key in TITLES
        return True

    def _adjoins_next(self, index: int) -> bool:
        """Whether there is a word at an index that can belong to one name with the next word."""
        if index < 0:
            return False
        return are_adjoined(self.text, self.words[index], self.words[index + 1])

    def _is_free_after(self, mention: Mention) -> bool:
        """Whether the text after a mention neither belongs to it nor makes it another name."""
        index = mention.last + 1
        if index >= len(self.words):
            return True
        last = self.words[mention.last]
        gap = self.text[last.end : self.words[index].start]
        if gap in ("'", "’", "-", "‐", "‑"):
            return False
        if gap in ("' ", "’ ") and last.key.endswith("s"):
            return False
        if gap.isspace() and self._continues_name(index):
            return False
        return not mention.form.dropped or self._agrees_with_remark(mention)

    def _continues_name(self, index: int) -> bool:
        """Whether a name continues with the word at an index."""
        word = self.words[index]
        if word.number and PERCENTAGE.match(self.text, word.start):
            return False
        if word.number or word.key in ("junior", "senior"):
            return True
        if word.key == "and" and index + 1 < len(self.words):
            return self.words[index + 1].capital
        return word.capital and word.key not in COMPANY

    def _agrees_with_remark(self, mention: Mention) -> bool:
        """Whether a remark in place of the words that a mention drops agrees with them."""
        remark = _REMARK.match(self.text, self.words[mention.last].end)
        if remark is None:
            return True
        start, end = remark.span(1)
        words = [word for word in self.words if start <= word.start < end]
        dropped = mention.form.dropped
        numbers = {word.key for word in words if word.number}
        dropped_numbers = {key for key in dropped if key.isdecimal()}
        if numbers and dropped_numbers:
            return not numbers.isdisjoint(dropped_numbers)
        if not words or not words[0].capital or words[0].key in TITLES:
            return True
        return words[0].key in dropped
