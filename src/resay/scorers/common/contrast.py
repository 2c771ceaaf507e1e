"""Contradictions between sentences with similar words: opposites, swapped roles, and order.

"Sales rose" and "sales fell", "A beat B" and "B beat A", "3-1" and "1-3" have similar words.
`Wording.contradicts` counts what reverses the meaning: a negation, an opposite, two swapped names.
One reversal contradicts; two cancel out, since "A is taller than B" is "B is shorter than A", and
"not allowed" is "forbidden". A passive and a possessive each swap the names once more.

Opposites are known in the languages whose files have them (`resay.lang`). The rules do not parse
grammar, so two names that no word relates are not compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain, combinations, pairwise
from typing import Final

from resay.core.quantities import negations
from resay.core.segmentation.periods import is_abbreviation
from resay.core.segmentation.spans import Span
from resay.lang.language import all_words, load
from resay.scorers.common.words import (
    WORD,
    asks_yes_or_no,
    ignored_words,
    share,
    stance,
    stems_of,
    word_stems,
    words_of,
)

_FAR: Final = re.compile(r"distan|entfer|afstand|\b(?:km|kilomet|mi|miles?)\b", re.IGNORECASE)
_SCORE = re.compile(
    r"(?<![\w.,:–-])(\d{1,3})(?:\s?[-–:]\s?|\s(?:to|zu|à|a)\s)(\d{1,3})(?![\w:–-]|[.,]\d)"
)
_PART_END: Final = re.compile(
    r"[;,]\s+|\n+|\s[-–—]\s|[.!?]\s+|\s(?:and|but|while|whereas|und|aber|während|et|mais|tandis\sque"
    r"|y|pero|mientras|e|ma|mentre|mas|enquanto|en|maar|terwijl|although|though|obwohl)\s"
)
_PREFIXES: Final = ("un", "in", "im", "il", "ir", "non", "non-", "on")
_ADJECTIVAL: Final = (
    "able", "ible", "al", "ar", "ed", "ive", "ent", "ant", "ate", "ect", "bar", "lich", "isch",
    "ig", "ado", "ada", "ato", "ata",
)  # fmt: skip
_LONG_PHRASE = 4
# Lengths of word beginnings to look up, longest first.
_SHORTEST_CUT = 3
_CUTS: Final = range(12, _SHORTEST_CUT - 1, -1)
# Each item is compared with each item of another sentence; a longer list is compared as a whole.
_MAX_PARTS = _MAX_NAMES = 24
# Names with more words between them than this are not taken to be related.
_FAR_APART = 6
# A clause-final verb is searched for among this many words after the second name.
_VERB_LAST = 4
_SAME_SUBJECT = 0.6
"""The share of a sentence's words that another must contain to be about the same matter."""


def _words(name: str) -> frozenset[str]:
    return all_words("comparison", name)


@cache
def _mutual() -> frozenset[str]:
    return frozenset(stems_of(" ".join(_words("mutual"))))


@dataclass(frozen=True, slots=True)
class _Lexicon:
    """Words with their groups and their sides in them.

    Attributes:
        exact: Words and phrases.
        prefixes: Beginnings of words.
        contrasting: Groups with more than one side.
        deciding: Groups that decide between names.
        negative_sides: Sides that say no.
        phrase_starts: First words of phrases.
        prefix_starts: First letters of the beginnings.
    """

    exact: Mapping[str, tuple[int, int]]
    prefixes: Mapping[str, tuple[int, int]]
    contrasting: frozenset[int]
    deciding: frozenset[int]
    negative_sides: frozenset[tuple[int, int]]
    phrase_starts: frozenset[str]
    prefix_starts: frozenset[str]

    @classmethod
    @lru_cache(16)
    def of(cls, language: str) -> _Lexicon:
        exact: dict[str, tuple[int, int]] = {}
        prefixes: dict[str, tuple[int, int]] = {}
        negative_sides = set[tuple[int, int]]()
        # An indented line continues the one before.
        lines = re.split(r"\n(?=\S)", load(language).opposites.strip())
        for group, line in enumerate(lines):
            for side, words in enumerate(line.lstrip("^").split("|")):
                if words.lstrip().startswith("!"):
                    negative_sides.add((group, side))
                for word in words.replace("!", "").split():
                    phrase = word.replace("_", " ").rstrip("*")
                    (prefixes if word.endswith("*") else exact)[phrase] = group, side
        contrasting = frozenset(group for group, line in enumerate(lines) if "|" in line)
        deciding = frozenset(group for group, line in enumerate(lines) if line.startswith("^"))
        phrase_starts = frozenset(phrase.split()[0] for phrase in exact if " " in phrase)
        prefix_starts = frozenset(word[:_SHORTEST_CUT] for word in prefixes)
        return cls(
            exact=exact,
            prefixes=prefixes,
            contrasting=contrasting,
            deciding=deciding,
            negative_sides=frozenset(negative_sides),
            phrase_starts=phrase_starts,
            prefix_starts=prefix_starts,
        )

    def sides(self, words: Sequence[str]) -> Iterator[tuple[int, int, int]]:
        """Yield the position, the group and the side of each known word."""
        i = 0
        while i < len(words):
            word, size = words[i], 1
            group_and_side = self.exact.get(word)
            if word in self.phrase_starts:
                for length in range(min(_LONG_PHRASE, len(words) - i), 1, -1):
                    phrase = " ".join(words[i : i + length])
                    if phrase in self.exact:
                        group_and_side, size = self.exact[phrase], length
                        break
            if group_and_side is None and word[:_SHORTEST_CUT] in self.prefix_starts:
                prefix = next((word[:k] for k in _CUTS if word[:k] in self.prefixes), None)
                if prefix is not None:
                    group_and_side = self.prefixes[prefix]
            if group_and_side is not None:
                for k in range(i, i + size):
                    yield k, *group_and_side
            i += size


@dataclass(frozen=True, slots=True)
class _RelatedName:
    """A name in a sentence: its stems, and the range of word positions it covers."""

    stems: frozenset[str]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Relation:
    """Who does something to whom: the stems of both names and of the words that relate them."""

    first: frozenset[str]
    second: frozenset[str]
    by: frozenset[str]


class Wording:
    """The wording of a sentence or of a part of one.

    Args:
        text: The sentence.
        language: Its language.
        lists: Spans of lists that its parts do not divide.

    Attributes:
        text: The sentence.
        stems: The stems of its words.
        neutral_stems: The stems of words that have no opposite.
        negated: Whether it is negated; a leading "No, ..." does not count.
        sides: By group of opposites, the sides it takes.
        adjectives: Its words with an adjective's ending.
        unprefixed_adjectives: The same words without a negating prefix.
    """

    def __init__(self, text: str, language: str, lists: Sequence[Span] = ()) -> None:
        self.text = text
        self._lists = lists
        self._language: str = language
        self._matches = list(words_of(text).finditer(text))
        self._words = [match.group().lower() for match in self._matches]
        self._stems = [word_stems(word) for word in self._words]
        answers = len(self._matches) > 1 and stance(text) is not None
        self.negated = bool(negations(text[self._matches[1].start() :] if answers else text))
        self.sides: dict[int, set[int]] = {}
        self._groups: dict[int, str] = {}
        opposites = set[int]()
        self._lexicon = _Lexicon.of(language)
        for position, group, side in self._lexicon.sides(self._words):
            self.sides.setdefault(group, set()).add(side)
            self._groups[position] = f"#{group}"
            if group in self._lexicon.contrasting:
                opposites.add(position)
        self.adjectives = {word for word in self._words if word.endswith(_ADJECTIVAL)}
        self.unprefixed_adjectives: set[str] = set()
        for word in self.adjectives:
            for prefix in _PREFIXES:
                if word.startswith(prefix):
                    self.unprefixed_adjectives.add(word.removeprefix(prefix))
        neutral = [stems for i, stems in enumerate(self._stems) if i not in opposites]
        self.stems = frozenset(chain.from_iterable(self._stems))
        self.neutral_stems = frozenset(chain.from_iterable(neutral))

    @cached_property
    def parts(self) -> list[Wording]:
        """Its clauses or list items, or the wording itself."""
        spans = parts_of(self.text, self._lists)
        if not 1 < len(spans) <= _MAX_PARTS:
            return [self]
        texts = (self.text[start:end] for start, end in spans)
        return [Wording(text, self._language) for text in texts if WORD.search(text)]

    def contradicts(self, other: Wording, question: Wording | None) -> bool | None:
        """Return whether this sentence and another cannot both be true.

        Args:
            other: The other sentence.
            question: The question, if the other is a short answer that may leave out words
                of the question.

        Returns:
            True if they cannot, False if the other says the same about something that can be
            reversed, None if it says nothing about that.
        """
        differ = self.negated != other.negated
        turned = self._reverses(other, question)
        if turned:
            return (1 + bool(self._is_opposite(other)) + differ) % 2 == 1
        same_score = None
        if self.scores and other.scores:
            same_score = not self.scores.isdisjoint(other.scores)
            reverse = any((b, a) in other.scores for a, b in self.scores - other.scores)
            if reverse and not self._swaps_names(other) and not self._is_opposite(other):
                return True
        denials: set[bool | None] = set()
        if self.negated or other.negated or self._is_opposite(other) is not None:
            for part in self.parts:
                denials.update(part.denies(other_part, question) for other_part in other.parts)
        elif self._is_similar(other):
            denials.add(False)
        if True in denials or (differ and self._is_similar(other)):
            return True
        return False if False in denials or turned is False or same_score else None

    def answers_no(self, question: Wording) -> bool:
        """Return whether it says no to a question, not counting a leading "no"."""
        forbids = any(
            (group, side) in self._lexicon.negative_sides and group not in question.sides
            for group, sides in self.sides.items()
            for side in sides
        )
        return self.negated ^ forbids ^ bool(self._is_opposite(question))

    def denies(self, other: Wording, question: Wording | None) -> bool | None:
        """Whether a part says the opposite of another; None if they have nothing to compare."""
        alike = self._is_similar(other)
        opposed = self._is_opposite(other)
        if self.negated != other.negated:
            return alike and not opposed
        if opposed is None or (question and self._repeats(question)):
            return False if alike else None
        context = other.stems | question.stems if question else other.stems
        has_same_subject = share(self.neutral_stems, context) >= _SAME_SUBJECT
        if has_same_subject and (question or self.neutral_stems & other.stems):
            return opposed
        return False if alike else None

    def _repeats(self, question: Wording) -> bool:
        """Whether it says no more than the question does."""
        if not all(
            sides <= question.sides.get(group, set()) for group, sides in self.sides.items()
        ):
            return False
        # The question does not say who is taller, nor whether the answer is yes or no.
        decides = bool(self.sides.keys() & self._lexicon.deciding) or asks_yes_or_no(question.text)
        return not decides or self.neutral_stems <= question.stems

    def _is_similar(self, other: Wording) -> bool:
        """Whether it shares half of its words with another."""
        union = len(self.stems | other.stems)
        return len(self.stems) > 1 and 2 * len(self.stems & other.stems) >= union

    @cached_property
    def scores(self) -> set[tuple[int, int]]:
        """Its pairs of numbers such as "3-1"."""
        return {(int(a), int(b)) for a, b in _SCORE.findall(self.text) if a != b}

    def _is_opposite(self, other: Wording) -> bool | None:
        """Whether it says the opposite of another; None if they share no group of opposites."""
        same = None
        for group in self.sides.keys() & other.sides.keys() & self._lexicon.contrasting:
            if self.sides[group].isdisjoint(other.sides[group]):
                return True
            same = False
        # "Legal" and "illegal", each without the other.
        return True if self._is_prefixed_in(other) or other._is_prefixed_in(self) else same

    def _is_prefixed_in(self, other: Wording) -> bool:
        """Whether another has a negating prefix before one of its adjectives, and neither both."""
        prefixed = other.unprefixed_adjectives - other.adjectives
        return bool(self.adjectives & prefixed - self.unprefixed_adjectives)

    def _swaps_names(self, other: Wording) -> bool:
        """Whether two names have swapped places."""
        for first, second in pairwise(self._names):
            for other_first, other_second in pairwise(other._names):
                if first.stems & other_second.stems and second.stems & other_first.stems:
                    return True
        return False

    def _reverses(self, other: Wording, question: Wording | None) -> bool | None:
        """Whether two names are related in reverse; None if they are not related."""
        for relation in self._relations:
            for compared in other._relations:
                if relation.by.isdisjoint(compared.by):
                    continue
                same = relation.first & compared.first or relation.second & compared.second
                crossed = relation.first & compared.second or relation.second & compared.first
                if bool(same) != bool(crossed):
                    return bool(crossed)
                have_one_name = not (same or relation.second or compared.second)
                both = relation.first | compared.first
                if have_one_name and question and both <= question.stems:
                    # The question names both.
                    return True
        return None

    @cached_property
    def _names(self) -> list[_RelatedName]:
        """Its names in order; adjacent capitalised words form one name."""
        spans: list[tuple[int, int]] = []
        for i, match in enumerate(self._matches):
            word = match.group()
            if not word[0].isupper() or word.lower() in ignored_words() or not self._stems[i]:
                continue
            between = self.text[self._matches[i - 1].end() : match.start()] if i else ""
            if spans and spans[-1][1] == i and between in (" ", "-", ". "):
                spans[-1] = spans[-1][0], i + 1
            elif len(spans) < _MAX_NAMES:
                spans.append((i, i + 1))
            else:
                break
        return [
            _RelatedName(frozenset(chain.from_iterable(self._stems[start:end])), start, end)
            for start, end in spans
        ]

    @cached_property
    def _relations(self) -> list[_Relation]:
        # A place or a time is neither subject nor object.
        names = [name for name in self._names if self._before(name) not in _words("besides")]
        relations = [self._relation(name, following) for name, following in pairwise(names)]
        if len(names) == 1 and self.sides.keys() & self._lexicon.deciding:
            relations.append(self._decision(names[0]))
        return [relation for relation in relations if relation is not None]

    def _decision(self, name: _RelatedName) -> _Relation | None:
        """The relation of a sentence with a single name: who won, or is older."""
        after = self._words[name.end :]
        sides = self.sides.keys() & self._lexicon.deciding
        if not any(group in sides for _, group, _ in self._lexicon.sides(after)):
            return None
        if not _words("agents").isdisjoint(after) or not _words("passives").isdisjoint(after):
            return None
        by = self._content(range(name.end, len(self._words)))
        return _Relation(name.stems, frozenset(), by)

    def _before(self, name: _RelatedName) -> str:
        """The word before a name and its article."""
        articles = _words("articles")
        return next((w for w in reversed(self._words[: name.start]) if w not in articles), "")

    def _relation(self, a: _RelatedName, b: _RelatedName) -> _Relation | None:
        """The relation of a name to the next; None if unrelated, or if either could come first."""
        words = self._words
        near = [w for w in words[a.end : b.start] if w not in _words("articles")]
        last = near[-1] if near else ""
        if len(near) > _FAR_APART or self._joins(last) or self._may_come_first(a, b):
            return None
        by = self._relating(a, b)
        if by & _mutual():
            return None
        if not by:
            to = bool(near) and _words("to").issuperset(near) and self._before(a) in _words("from")
            far = _FAR.search(self.text) is not None
            return _Relation(a.stems, b.stems, frozenset({"->"})) if to and not far else None
        passive = last in _words("agents")
        has_auxiliary = not _words("auxiliaries").isdisjoint(words)
        passive |= last in _words("agents_with_auxiliary") and has_auxiliary
        possessive = words[a.end] == "s"
        if passive != possessive:
            a, b = b, a
        return _Relation(a.stems, b.stems, by)

    def _joins(self, word: str) -> bool:
        """Whether a word before a name puts it on a par with the previous name."""
        if self._language == "nl" and word == "of":
            return True
        return word in _words("together") and not (word in _words("against") and self.sides)

    def _may_come_first(self, a: _RelatedName, b: _RelatedName) -> bool:
        """Whether either could be the object: in German and Dutch, articles may not tell."""
        before = (self._words[name.start - 1] for name in (a, b) if name.start)
        return self._language in ("de", "nl") and not _words("articles").isdisjoint(before)

    def _relating(self, a: _RelatedName, b: _RelatedName) -> frozenset[str]:
        """The words that relate two names: those between them, or after the second."""
        by = self._content(range(a.end, b.start))
        behind = min(b.end + _VERB_LAST, len(self._words))
        if not by and self._language in ("de", "nl"):
            by = self._content(range(b.end, behind))
        if not by and self._words[b.end : b.end + 1] == ["s"]:
            # "A is B's owner."
            by = self._content(range(b.end + 1, behind))
        return by

    def _content(self, positions: range) -> frozenset[str]:
        content: set[str] = set()
        for i in positions:
            if not self._words[i][0].isdigit():
                content.update(self._stems[i])
            # Synonyms and opposites of a verb relate names alike.
            if i in self._groups:
                content.add(self._groups[i])
        return frozenset(content)


def parts_of(text: str, lists: Sequence[Span] = ()) -> list[Span]:
    """Return the (start, end) of each clause or list item of a sentence.

    Args:
        text: The sentence.
        lists: Spans of lists that stay whole.
    """
    cuts = [0]
    for match in _PART_END.finditer(text):
        start, end = match.span()
        is_in_list = any(first < end < last for first, last in lists)
        if not is_in_list and not (text[start] == "." and is_abbreviation(text, start, cuts[-1])):
            cuts.append(end)
    return list(pairwise([*cuts, len(text)]))


def swapped(parts: Sequence[frozenset[str]], other_parts: Sequence[frozenset[str]]) -> bool:
    """Return whether two parts of a sentence have swapped some of their words.

    Args:
        parts: The words of each part.
        other_parts: The words of each part of the compared text.
    """
    for part, next_part in combinations(parts, 2):
        first, second = part - next_part, next_part - part
        for other, next_other in combinations(other_parts, 2):
            left, right = other - next_other, next_other - other
            if first & left and first & right and second & left and second & right:
                return True
    return False
