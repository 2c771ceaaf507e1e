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
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain, combinations, islice, pairwise
from typing import Final, TypeAlias

from resay._internal.patterns import lazy_pattern
from resay.core.quantities import may_contain_negation, negations
from resay.core.segmentation.periods import is_abbreviation
from resay.core.segmentation.spans import Span
from resay.core.word_filter import WordFilter
from resay.lang.language import all_words, load
from resay.scorers.common.words import (
    WORD,
    asks_yes_or_no,
    share,
    stance,
    stems_of,
    word_stems,
    words_of,
)

_FAR: Final = lazy_pattern(r"distan|entfer|afstand|\b(?:km|kilomet|mi|miles?)\b", re.IGNORECASE)
_SCORE = lazy_pattern(
    r"(?<![\w.,:–-])(\d{1,3})(?:\s?[-–:]\s?|\s(?:to|zu|à|a)\s)(\d{1,3})(?![\w:–-]|[.,]\d)"
)
# Words between two parts of a sentence, with a space before and behind.
_JOINS: Final = (
    r"and|but|while|whereas|und|aber|während|et|mais|tandis\sque|y|pero|mientras|e|ma|mentre|mas"
    r"|enquanto|en|maar|terwijl|although|though|obwohl"
)
_DASHES: Final = "-–—"
# Starts with a single character class, which the regex engine finds quickly.
_PART_END: Final = lazy_pattern(
    rf"[;,.!?\s](?:(?<=[;,.!?])\s+|(?<=\n)\n*|(?<=[^\S\n])(?:[{_DASHES}]|{_JOINS})\s)"
)
# The same in a sentence without such words and dashes.
_MARKED_END: Final = lazy_pattern(r"[;,.!?]\s+|\n+")
_JOINING_WORDS: Final = frozenset(_JOINS.replace(r"\s", "|").split("|"))
_PREFIXES: Final = ("un", "in", "im", "il", "ir", "non", "non-", "on")
_ADJECTIVAL: Final = (
    "able", "ible", "al", "ar", "ed", "ive", "ent", "ant", "ate", "ect", "bar", "lich", "isch",
    "ig", "ado", "ada", "ato", "ata",
)  # fmt: skip
_LONG_PHRASE = 4
# Lengths of word beginnings to look up, longest first.
_CUTS: Final = range(12, 2, -1)
# Each item is compared with each item of another sentence; a longer list is compared as a whole.
_MAX_PARTS = _MAX_NAMES = 24
# Relates the places of "from Ulm to Linz".
TOWARDS = "->"
# Names with more words between them than this are not taken to be related.
_FAR_APART = 6
# A clause-final verb is searched for among this many words after the second name.
_VERB_LAST = 4
# What a negation negates is among this many words behind it, in this many characters.
_NEGATED_WORDS = 3
_NEGATED_CHARS = 60
_SAME_SUBJECT = 0.6
"""The share of a sentence's words that another must contain to be about the same matter."""


def _words(name: str) -> frozenset[str]:
    return all_words("comparison", name)


@cache
def _mutual() -> frozenset[str]:
    return frozenset(stems_of(" ".join(_words("mutual"))))


_GroupAndSide: TypeAlias = tuple[int, int]
# More words are forgotten, so that the memory of a long-lived process stays bounded.
_MAX_WORDS: Final = 32_768


@dataclass(frozen=True)
class _Lexicon:
    """Words with their groups and their sides in them.

    Attributes:
        exact: Words and phrases.
        prefixes: Beginnings of words.
        contrasting: Groups with more than one side.
        deciding: Groups that decide between names.
        negative_sides: Sides that say no.
        phrase_beginnings: The first two words of each phrase.
    """

    exact: Mapping[str, _GroupAndSide]
    prefixes: Mapping[str, _GroupAndSide]
    contrasting: frozenset[int]
    deciding: frozenset[int]
    negative_sides: frozenset[_GroupAndSide]
    phrase_beginnings: frozenset[tuple[str, str]]

    @classmethod
    @lru_cache(16)
    def of(cls, language: str) -> _Lexicon:
        exact: dict[str, _GroupAndSide] = {}
        prefixes: dict[str, _GroupAndSide] = {}
        negative_sides = set[_GroupAndSide]()
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
        phrase_beginnings: set[tuple[str, str]] = set()
        for phrase in exact:
            phrase_beginnings.update(islice(pairwise(phrase.split()), 1))
        return cls(
            exact=exact,
            prefixes=prefixes,
            contrasting=contrasting,
            deciding=deciding,
            negative_sides=frozenset(negative_sides),
            phrase_beginnings=frozenset(phrase_beginnings),
        )

    @cached_property
    def _may_begin(self) -> WordFilter:
        """Tells whether a word is known, or begins a phrase that is."""
        beginnings = frozenset(first for first, _ in self.phrase_beginnings)
        return WordFilter(lambda word: word in beginnings or self._side(word) is not None)

    @cached_property
    def _side(self) -> Callable[[str], _GroupAndSide | None]:
        """Returns the group and the side of a word; remembers them, since words recur."""
        return lru_cache(_MAX_WORDS)(self._look_up)

    def _look_up(self, word: str) -> _GroupAndSide | None:
        if word in self.exact:
            return self.exact[word]
        prefix = next((word[:length] for length in _CUTS if word[:length] in self.prefixes), None)
        return None if prefix is None else self.prefixes[prefix]

    def sides(self, words: Sequence[str]) -> list[tuple[int, int, int]]:
        """Return the position, the group and the side of each known word."""
        # Half of the sentences have none.
        if not self._may_begin.passes_any(words):
            return []
        if self.phrase_beginnings.isdisjoint(pairwise(words)):
            entries = map(self._side, words)
            return [(i, *entry) for i, entry in enumerate(entries) if entry is not None]
        sides: list[tuple[int, int, int]] = []
        end = 0
        for i, word in enumerate(words):
            if i < end:
                continue
            group_and_side, size = self._phrase_at(words, i) or (self._side(word), 1)
            end = i + size
            if group_and_side is not None:
                sides += [(position, *group_and_side) for position in range(i, end)]
        return sides

    def has_phrases(self, words: Sequence[str]) -> bool:
        """Return whether there is a known phrase of several words."""
        if self.phrase_beginnings.isdisjoint(pairwise(words)):
            return False
        return any(self._phrase_at(words, i) is not None for i in range(len(words)))

    def _phrase_at(self, words: Sequence[str], i: int) -> tuple[_GroupAndSide, int] | None:
        """Return the group and the side of a phrase of several words, and how many it has."""
        if tuple(words[i : i + 2]) not in self.phrase_beginnings:
            return None
        for size in range(min(_LONG_PHRASE, len(words) - i), 1, -1):
            group_and_side = self.exact.get(" ".join(words[i : i + size]))
            if group_and_side is not None:
                return group_and_side, size
        return None


def _words_in(text: str) -> list[str]:
    return [word.lower() for word in words_of(text).findall(text)]


def _prefixed(adjectives: Set[str]) -> frozenset[str]:
    """Return adjectives with each negating prefix."""
    return frozenset(f"{prefix}{adjective}" for adjective in adjectives for prefix in _PREFIXES)


@dataclass(frozen=True, slots=True)
class _RelatedName:
    """A name in a sentence: its stems, and the range of word positions it covers."""

    stems: frozenset[str]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Relation:
    """Who does something to whom: the stems of both names and of the words that relate them.

    Attributes:
        first: The stems of the first name.
        second: The stems of the second; none in "Ada won".
        by: The stems and groups of the words that relate them, or only `TOWARDS`.
    """

    first: frozenset[str]
    second: frozenset[str]
    by: frozenset[str]


class Wording:
    """The wording of a sentence or of a part of one.

    Args:
        text: The sentence.
        language: Its language.
        lists: Spans of lists that its parts do not divide.
        words: Its words in lower case, if they are known.
        stems: The stems of these words, if they are known.

    Attributes:
        text: The sentence.
    """

    def __init__(
        self,
        text: str,
        language: str,
        lists: Sequence[Span] = (),
        words: Sequence[str] = (),
        stems: frozenset[str] | None = None,
    ) -> None:
        self.text = text
        self._lists = lists
        self._language: str = language
        self._lexicon = _Lexicon.of(language)
        self._words = words or _words_in(text)
        self._known_stems = stems if words else None

    @cached_property
    def negated(self) -> bool:
        """Whether it is negated; a leading "No, ..." does not count."""
        if not may_contain_negation(self._words):
            return False
        text = self.text
        if len(self._words) > 1 and stance(text) is not None:
            second = next(islice(words_of(text).finditer(text), 1, None))
            text = text[second.start() :]
        return bool(negations(text))

    @cached_property
    def negated_stems(self) -> frozenset[str]:
        """The stems of the words behind its negations: what it says is not so."""
        stems: set[str] = set()
        for _, end in negations(self.text):
            following = stems_of(self.text[end : end + _NEGATED_CHARS])
            stems.update(following[:_NEGATED_WORDS])
        return frozenset(stems)

    def shares_negated(self, other: Wording) -> bool:
        """Return whether one of both has a word, or a synonym, of what the other says is not so.

        "It is not covered" says nothing against "it is left out".
        """
        negated, plain = (self, other) if self.negated else (other, self)
        if not negated.negated_stems or not negated.negated_stems.isdisjoint(plain.stems):
            return True
        sides = Wording(" ".join(negated.negated_stems), self._language).sides
        return not sides.keys().isdisjoint(plain.sides)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of its words."""
        if self._known_stems is not None:
            return self._known_stems
        return frozenset(chain.from_iterable(self._stems_by_word))

    @cached_property
    def neutral_stems(self) -> frozenset[str]:
        """The stems of words that have no opposite."""
        opposites = {
            position
            for position, group, _ in self._sided_words
            if group in self._lexicon.contrasting
        }
        neutral: set[str] = set()
        for position, stems in enumerate(self._stems_by_word):
            if position not in opposites:
                neutral.update(stems)
        return frozenset(neutral)

    @cached_property
    def sides(self) -> Mapping[int, set[int]]:
        """By group of opposites, the sides it takes."""
        sides: dict[int, set[int]] = {}
        for _, group, side in self._sided_words:
            sides.setdefault(group, set()).add(side)
        return sides

    @cached_property
    def spans(self) -> Sequence[Span]:
        """The (start, end) of each of its parts."""
        return parts_of(self.text, self._lists, self._words)

    @cached_property
    def part_stems(self) -> Sequence[frozenset[str]]:
        """The stems of each of its parts."""
        spans = self.spans
        if not 1 < len(spans) <= _MAX_PARTS:
            return [self.stems]
        stems: list[frozenset[str]] = []
        for start, end in spans:
            text = self.text[start:end]
            if WORD.search(text):
                stems.append(frozenset(chain.from_iterable(map(word_stems, _words_in(text)))))
        return stems

    @cached_property
    def parts(self) -> list[Wording]:
        """Its clauses or list items, or the wording itself."""
        spans = self.spans
        if not 1 < len(spans) <= _MAX_PARTS:
            return [self]
        texts = (self.text[start:end] for start, end in spans)
        return [Wording(text, self._language) for text in texts if WORD.search(text)]

    @cached_property
    def _stems_by_word(self) -> list[tuple[str, ...]]:
        return [word_stems(word) for word in self._words]

    @cached_property
    def _sided_words(self) -> Sequence[tuple[int, int, int]]:
        """The position, the group and the side of each word that has one."""
        return self._lexicon.sides(self._words)

    @cached_property
    def _groups(self) -> Mapping[int, str]:
        """By position of a word, the name of its group of synonyms and opposites."""
        return {position: name_of_group(group) for position, group, _ in self._sided_words}

    @cached_property
    def _adjectives(self) -> frozenset[str]:
        """Its words with an adjective's ending."""
        return frozenset(word for word in self._words if word.endswith(_ADJECTIVAL))

    @cached_property
    def _negated_adjectives(self) -> frozenset[str]:
        """The same words with each negating prefix, without those that it has as well."""
        return _prefixed(self._adjectives - self._unprefixed_adjectives)

    @cached_property
    def contrasting_groups(self) -> Set[int]:
        """The groups of its words that have opposites."""
        return self.sides.keys() & self._lexicon.contrasting

    @cached_property
    def opposite_adjectives(self) -> frozenset[str]:
        """Its adjectives with a negating prefix added, or taken away."""
        return self._negated_adjectives | (self._unprefixed_adjectives - self._adjectives)

    @cached_property
    def _unprefixed_adjectives(self) -> frozenset[str]:
        """The adjectives that have a negating prefix, without it."""
        unprefixed: set[str] = set()
        for adjective in self._adjectives:
            for prefix in _PREFIXES:
                if adjective.startswith(prefix):
                    unprefixed.add(adjective.removeprefix(prefix))
        return frozenset(unprefixed)

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
        if self.compares_parts(other):
            for part in self.parts:
                denials.update(part.denies(other_part, question) for other_part in other.parts)
        elif self._is_similar(other):
            denials.add(False)
        if True in denials:
            return True
        if differ and self._is_similar(other) and not self._is_opposite(other):
            return True
        return False if False in denials or turned is False or same_score else None

    def may_contradict(self, other: Wording, question: Wording | None) -> bool:
        """Quick check whether `contradicts` may return True, whatever lists divide the parts.

        Args:
            other: The other sentence.
            question: As for `contradicts`.
        """
        if may_contain_negation(self._words) or may_contain_negation(other._words):
            return True
        if self.scores and other.scores:
            return True
        return self._may_be_opposite(other) or self._reverses(other, question) is True

    def _may_be_opposite(self, other: Wording) -> bool:
        """Quick check whether it, or a part of it, may say the opposite of another or its parts."""
        groups = self.contrasting_groups & other.sides.keys()
        for group in groups:
            # Parts take no other sides than the whole.
            if len(self.sides[group] | other.sides[group]) > 1:
                return True
        if groups and (self._has_phrases or other._has_phrases):
            # A part may end within a phrase, whose words then stand for themselves.
            return True
        return not self._prefix_variants.isdisjoint(other._words)

    @cached_property
    def _has_phrases(self) -> bool:
        """Whether it has a phrase of several words that has synonyms or opposites."""
        return self._lexicon.has_phrases(self._words)

    @cached_property
    def _prefix_variants(self) -> frozenset[str]:
        """Its adjectives with each negating prefix, and those that have one without it."""
        return self._unprefixed_adjectives | _prefixed(self._adjectives)

    def compares_parts(self, other: Wording) -> bool:
        """Return whether `contradicts` compares their parts, which depend on lists."""
        return self.negated or other.negated or self._is_opposite(other) is not None

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
        return self.is_similar_to(other.stems)

    def is_similar_to(self, stems: frozenset[str]) -> bool:
        """Return whether it shares half of its words with a sentence of these stems."""
        union = len(self.stems | stems)
        return len(self.stems) > 1 and 2 * len(self.stems & stems) >= union

    @cached_property
    def scores(self) -> set[tuple[int, int]]:
        """Its pairs of numbers such as "3-1"."""
        return {(int(a), int(b)) for a, b in _SCORE.findall(self.text) if a != b}

    def _is_opposite(self, other: Wording) -> bool | None:
        """Whether it says the opposite of another; None if they share no group of opposites."""
        same = None
        groups = self.contrasting_groups
        if groups:
            groups &= other.sides.keys()
        for group in groups:
            if self.sides[group].isdisjoint(other.sides[group]):
                return True
            same = False
        # "Legal" and "illegal", each without the other.
        return True if self._is_prefixed_in(other) or self._has_prefix_missing_in(other) else same

    def _is_prefixed_in(self, other: Wording) -> bool:
        """Whether another has a negating prefix before one of its adjectives, and neither both."""
        if not self._negated_adjectives or self._negated_adjectives.isdisjoint(other._words):
            return False
        prefixed = other._unprefixed_adjectives - other._adjectives
        return bool(self._adjectives & prefixed - self._unprefixed_adjectives)

    def _has_prefix_missing_in(self, other: Wording) -> bool:
        """Whether it has a negating prefix before one of another's adjectives, and neither both."""
        unprefixed = self._unprefixed_adjectives - self._adjectives
        if not unprefixed or unprefixed.isdisjoint(other._words):
            return False
        return other._is_prefixed_in(self)

    def _swaps_names(self, other: Wording) -> bool:
        """Whether two names have swapped places."""
        for first, second in pairwise(self._names):
            for other_first, other_second in pairwise(other._names):
                if first.stems & other_second.stems and second.stems & other_first.stems:
                    return True
        return False

    def _reverses(self, other: Wording, question: Wording | None) -> bool | None:
        """Whether two names are related in reverse; None if they are not related."""
        for relation in self.relations:
            if not other._may_have(relation):
                continue
            for compared in other.relations:
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

    def _may_have(self, relation: Relation) -> bool:
        """Quick check whether it may relate the same names, by the same words."""
        by = relation.by
        if by.isdisjoint(self.stems) and TOWARDS not in by and by.isdisjoint(self._groups.values()):
            return False
        if not relation.second:
            return True
        names = relation.first | relation.second
        return not names.isdisjoint(self.stems)

    @cached_property
    def _names(self) -> list[_RelatedName]:
        """Its names in order; adjacent capitalised words form one name."""
        text, stems_by_word = self.text, self._stems_by_word
        spans: list[tuple[int, int]] = []
        end = 0
        # The bench `speed` reads the names of hundreds of sentences: to find their words again is
        # cheaper than to match them.
        for i, word in enumerate(words_of(text).findall(text)):
            before, start = end, text.index(word, end)
            end = start + len(word)
            # Common words have no stems.
            if not word[0].isupper() or not stems_by_word[i]:
                continue
            if spans and spans[-1][1] == i and text[before:start] in (" ", "-", ". "):
                spans[-1] = spans[-1][0], i + 1
            elif len(spans) < _MAX_NAMES:
                spans.append((i, i + 1))
            else:
                break
        names: list[_RelatedName] = []
        for first, last in spans:
            stems = frozenset(chain.from_iterable(stems_by_word[first:last]))
            names.append(_RelatedName(stems, first, last))
        return names

    @cached_property
    def relations(self) -> list[Relation]:
        """Who does what to whom in it, of names next to each other."""
        # A place or a time is neither subject nor object.
        names = [name for name in self._names if self._before(name) not in _words("besides")]
        relations = [self._relation(name, following) for name, following in pairwise(names)]
        if len(names) == 1 and self.sides.keys() & self._lexicon.deciding:
            relations.append(self._decision(names[0]))
        return [relation for relation in relations if relation is not None]

    def _decision(self, name: _RelatedName) -> Relation | None:
        """The relation of a sentence with a single name: who won, or is older."""
        after = self._words[name.end :]
        sides = self.sides.keys() & self._lexicon.deciding
        if not any(group in sides for _, group, _ in self._lexicon.sides(after)):
            return None
        if not _words("agents").isdisjoint(after) or not _words("passives").isdisjoint(after):
            return None
        by = self._content(range(name.end, len(self._words)))
        return Relation(name.stems, frozenset(), by)

    def _before(self, name: _RelatedName) -> str:
        """The word before a name and its article."""
        articles = _words("articles")
        return next((w for w in reversed(self._words[: name.start]) if w not in articles), "")

    def _relation(self, a: _RelatedName, b: _RelatedName) -> Relation | None:
        """The relation of a name to the next; None if unrelated, or if either could come first."""
        words = self._words
        near = [w for w in words[a.end : b.start] if w not in _words("articles")]
        last = near[-1] if near else ""
        if len(near) > _FAR_APART or self._joins(last) or self._may_come_first(a, b):
            return None
        if ":" in self.text and ":" in self._between(a, b):
            # "Logistics - head: S. Adeyemi" is a list.
            return None
        by = self._relating(a, b)
        if by & _mutual():
            return None
        if not by:
            to = bool(near) and _words("to").issuperset(near) and self._before(a) in _words("from")
            far = _FAR.search(self.text) is not None
            return Relation(a.stems, b.stems, frozenset({TOWARDS})) if to and not far else None
        passive = last in _words("agents")
        has_auxiliary = not _words("auxiliaries").isdisjoint(words)
        passive |= last in _words("agents_with_auxiliary") and has_auxiliary
        possessive = words[a.end] == "s"
        if passive != possessive:
            a, b = b, a
        return Relation(a.stems, b.stems, by)

    def _between(self, a: _RelatedName, b: _RelatedName) -> str:
        """The text between two names."""
        matches = list(words_of(self.text).finditer(self.text))
        return self.text[matches[a.end - 1].end() : matches[b.start].start()]

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
        if not by and b.end < len(self._words) and self._words[b.end] == "s":
            # "A is B's owner."
            by = self._content(range(b.end + 1, behind))
        return by

    def _content(self, positions: range) -> frozenset[str]:
        content: set[str] = set()
        for i in positions:
            if not self._words[i][0].isdigit():
                content.update(self._stems_by_word[i])
            # Synonyms and opposites of a verb relate names alike.
            if i in self._groups:
                content.add(self._groups[i])
        return frozenset(content)


def side_of(word: str, language: str) -> tuple[int, int] | None:
    """Return the group of synonyms and opposites of a lower-cased word, and its side of it."""
    for _, group, side in _Lexicon.of(language).sides([word]):
        return group, side
    return None


def are_synonyms(word: str, other: str, language: str) -> bool:
    """Return whether two lower-cased words are on one side of a group: "shut" and "closed"."""
    side = side_of(word, language)
    return side is not None and side == side_of(other, language)


def groups_of(words: Sequence[str], language: str) -> set[int]:
    """Return the groups of synonyms and opposites that lower-cased words belong to."""
    return {group for _, group, _ in _Lexicon.of(language).sides(words)}


def name_of_group(group: int) -> str:
    """Return what stands for a group of synonyms and opposites in `Relation.by`."""
    return f"#{group}"


def parts_of(text: str, lists: Sequence[Span] = (), words: Sequence[str] = ()) -> list[Span]:
    """Return the (start, end) of each clause or list item of a sentence.

    Args:
        text: The sentence.
        lists: Spans of lists that stay whole.
        words: Its words in lower case, if they are known.
    """
    # The bench `speed` divides hundreds of sentences, most of which join no parts.
    is_joined = not words or not _JOINING_WORDS.isdisjoint(words) or _has_dash(text)
    cuts = [0]
    for match in (_PART_END if is_joined else _MARKED_END).finditer(text):
        start, end = match.span()
        if any(first < end < last for first, last in lists):
            continue
        if text[start] == "." and is_abbreviation(text, start, cuts[-1]):
            continue
        cuts.append(end)
    return list(pairwise([*cuts, len(text)]))


def _has_dash(text: str) -> bool:
    return any(dash in text for dash in _DASHES)


def swapped(parts: Sequence[frozenset[str]], other_parts: Sequence[frozenset[str]]) -> bool:
    """Return whether two parts of a sentence have swapped some of their words.

    Args:
        parts: The words of each part.
        other_parts: The words of each part of the compared text.
    """
    for part, next_part in combinations(parts, 2):
        first, second = part - next_part, next_part - part
        if len(first) < 2 or len(second) < 2:
            continue
        mixed = [
            other
            for other in other_parts
            if not first.isdisjoint(other) and not second.isdisjoint(other)
        ]
        for other, next_other in combinations(mixed, 2):
            left, right = other - next_other, next_other - other
            if first & left and first & right and second & left and second & right:
                return True
    return False
