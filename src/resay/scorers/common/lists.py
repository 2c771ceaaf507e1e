"""Lists inside sentences, "red, white and blue", whose order says nothing.

The items of a list stand for themselves, so "white, blue and red" is the same list. The clauses of
"Ada was born in 1932 and Tom in 1941" are separated alike, but exchanging their values says
something else. What tells them apart is the other text: it has the same items, in whatever order.
So two texts are compared, and the lists they share are found in both.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, pairwise
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.segmentation.spans import Span
from resay.core.word_filter import WordFilter
from resay.scorers.common.words import ignored_words, words_of

_JOINS: Final = r"and|or|as\swell\sas|und|oder|sowie|et|ou|ainsi\sque|y|e|o|u|en|&"
_SEPARATOR: Final = lazy_pattern(rf"(?:[*_]{{0,3}}[,;]\s+|\s)(?:{_JOINS})\s|[,;]\s+")
# The same in a sentence without such words.
_COMMA: Final = lazy_pattern(r"[,;]\s+")
_JOINING_WORDS: Final = frozenset(_JOINS.replace(r"\s", "|").split("|"))
# Words that say that the order counts.
_STATES_ORDER: Final = lazy_pattern(
    r"\b(?:respective(?:ly)?|in\s(?:that|this|the\sfollowing)\sorder|followed\sby|firstly|then|next"
    r"|finally|lastly|(?:from|at)\s(?:the\s)?(?:top|bottom|left|right|inside|outside|front|back|hoist)"
    r"|(?:from|by)\s\w+est|ascending|descending|alphabetical\w*|chronological\w*|ranked|in\ssequence"
    r"|zuerst|dann|danach|schließlich|jeweils|beziehungsweise|reihenfolge"
    r"|von\s(?:oben|unten|links|rechts)|puis|ensuite|enfin|d'abord|respectivement|de\shaut|de\sgauche"
    r"|luego|después|respectivamente|finalmente|poi|infine|rispettivamente|depois|daarna|vervolgens"
    r"|respectievelijk)\b",
    re.IGNORECASE,
)
# One of these words is in each of them.
_ORDER_WORD: Final = lazy_pattern(
    r"\b(?:respective(?:ly)?|order|followed|firstly|then|next|finally|lastly|top|bottom|left|right"
    r"|inside|outside|front|back|hoist|\w+est|ascending|descending|alphabetical\w*|chronological\w*"
    r"|ranked|sequence|zuerst|dann|danach|schließlich|jeweils|beziehungsweise|reihenfolge|oben|unten"
    r"|links|rechts|puis|ensuite|enfin|abord|respectivement|haut|gauche|luego|después"
    r"|respectivamente|finalmente|poi|infine|rispettivamente|depois|daarna|vervolgens"
    r"|respectievelijk)\b",
    re.IGNORECASE,
)
# Longer lists, and longer items, are not compared.
_MAX_SEGMENTS: Final = 24
_MAX_ITEM_WORDS: Final = 6
# How many words more than an item the others of its list may have.
_MAX_EXTRA_WORDS: Final = 2
# At how many positions an item is looked for, and how many ends of a list are tried.
_MAX_MATCHES: Final = 6
_MAX_ENDS: Final = 3

_Words = tuple[str, ...]


def _is_order_word(word: str) -> bool:
    return _ORDER_WORD.search(word) is not None


# Most sentences have none, and looking for `_STATES_ORDER` takes much longer.
_has_order_word: Final = WordFilter(_is_order_word).passes_any


@dataclass(frozen=True)
class Segments:
    """The pieces of a sentence between its commas and conjunctions, which may be items of lists.

    Attributes:
        spans: Their offsets.
        words: Their words in lower case, without common words at the beginning.
    """

    spans: tuple[Span, ...] = ()
    words: tuple[_Words, ...] = ()

    @classmethod
    def of(cls, text: str, words: Sequence[str]) -> Segments:
        """Split a sentence; one that says that its order counts has no segments.

        Args:
            text: The sentence.
            words: Its words in lower case.
        """
        separators = list(_separator_of(text, words).finditer(text))
        if len(separators) >= _MAX_SEGMENTS:
            return cls()
        if _has_order_word(words) and _STATES_ORDER.search(text):
            return cls()
        starts = [0, *(match.end() for match in separators)]
        ends = [*(match.start() for match in separators), len(text)]
        spans = tuple(zip(starts, ends, strict=True))
        find_words = words_of(text).findall
        ignored = ignored_words()
        segments: list[_Words] = []
        for start, end in spans:
            segment = find_words(text[start:end].lower())
            while len(segment) > 1 and segment[0] in ignored:
                del segment[0]
            segments.append(tuple(segment))
        return cls(spans=spans, words=tuple(segments))

    @cached_property
    def all_words(self) -> frozenset[str]:
        """All of their words."""
        return frozenset(chain.from_iterable(self.words))

    def count_shared(self, words: Collection[str]) -> int:
        """Return how many segments may begin or end with an item of a sentence.

        Args:
            words: The words of that sentence.

        Returns:
            An upper bound. If it is 0, `shared_lists` finds none; if both have several segments, it
            finds none if it is 1 either.
        """
        count = 0
        for segment in self.words:
            if segment and (segment[0] in words or segment[-1] in words):
                count += 1
        return count

    def may_have_list_of(self, others: Segments) -> bool:
        """Quick check whether two segments in a row may be items of a list in another sentence."""
        words = others.all_words
        for segment, following in pairwise(self.words):
            if segment and following and segment[-1] in words and following[0] in words:
                return True
        return False


def has_separator(text: str, words: Sequence[str]) -> bool:
    """Return whether a sentence has other than a single segment.

    Args:
        text: The sentence.
        words: Its words in lower case.
    """
    return _separator_of(text, words).search(text) is not None


def _separator_of(text: str, words: Sequence[str]) -> re.Pattern[str]:
    """Return the pattern that divides a sentence; the fast one suffices for many."""
    is_joined = "&" in text or not _JOINING_WORDS.isdisjoint(words)
    return _SEPARATOR if is_joined else _COMMA


def shared_lists(segments: Segments, others: Segments) -> tuple[list[Span], list[Span]]:
    """Find the lists that two sentences share in another order, and lists of numbers in any.

    A list may have more items than the other. A sentence may also have a single item of the
    other's list: "open on Monday" is part of "open on Friday, Monday and Sunday". Two lists of the
    same length in a sentence are related item by item, so their order counts.

    Args:
        segments: The segments of a sentence.
        others: The segments of another.

    Returns:
        The spans of the lists in each.
    """
    if len(segments.words) == 1 < len(others.words):
        return [], _list_with(segments.words[0], others)
    if len(others.words) == 1 < len(segments.words):
        return _list_with(others.words[0], segments), []
    spans: list[Span] = []
    other_spans: list[Span] = []
    if segments.may_have_list_of(others):
        spans, other_spans = _reordered(segments, others)
    if not spans and others.may_have_list_of(segments):
        # The other may have fewer items.
        other_spans, spans = _reordered(others, segments)
    return spans, other_spans


def _reordered(segments: Segments, others: Segments) -> tuple[list[Span], list[Span]]:
    """Find the lists whose items another sentence has in another order, maybe among others."""
    spans: list[Span] = []
    other_spans: list[Span] = []
    lengths: list[int] = []

    @cache
    def between(position: int) -> _Match | None:
        return _best_match(segments.words[position], others)

    first = 0
    while first + 1 < len(segments.words):
        begins = _matches(_endings(segments.words[first]), others)
        if not begins:
            first += 1
            continue
        last = first + 1
        while last + 1 < len(segments.words) and between(last) is not None:
            last += 1
        run = None
        earliest_end = max(first, last - _MAX_ENDS)
        while last > earliest_end:
            items = [match for i in range(first + 1, last) if (match := between(i)) is not None]
            ends = _matches(_beginnings(segments.words[last]), others)
            run = _find_run(begins, items, ends, others)
            if run is not None:
                break
            last -= 1
        if run is None:
            first += 1
            continue
        lengths.append(last - first)
        if run.stays_whole:
            spans.append(_span(segments, (first, last)))
            other_spans.append(_span(others, (run.first, run.last)))
        first = last
    if len(set(lengths)) < len(lengths):
        # Each item belongs to one of the other list.
        return [], []
    return spans, other_spans


def _find_run(
    begins: Sequence[_Match], between: Sequence[_Match], ends: Sequence[_Match], others: Segments
) -> _Run | None:
    """Find the list with some items in another sentence.

    Args:
        begins: Where its first item may be.
        between: Where its other items are.
        ends: Where its last item may be.
        others: The segments of the other sentence.
    """
    if len({item.position for item in between}) < len(between):
        return None
    for begin in begins:
        for end in ends:
            items = [begin, *between, end]
            positions = [item.position for item in items]
            if len(set(positions)) < len(positions):
                continue
            low, high = min(positions), max(positions)
            if all(_stands(item, low, high) for item in items) and _are_short(others, low, high):
                # "Nos. 3 and 4" has no other parts, unlike "It rose in 1932 and fell in 1941".
                numbers = [begin.words[-1], end.words[0]]
                for item in between:
                    numbers += item.words
                are_numbers = all(number.isdigit() for number in numbers)
                reordered = positions != sorted(positions)
                return _Run(low, high, stays_whole=reordered or are_numbers)
    return None


@dataclass(frozen=True, slots=True)
class _Run:
    """The first and the last segment of a list, and whether its parts are not to be compared."""

    first: int
    last: int
    stays_whole: bool


@dataclass(frozen=True, slots=True)
class _Match:
    """An item in another sentence.

    Attributes:
        position: The segment that has it.
        opens: Whether the segment ends with it, as the first of a list does.
        closes: Whether the segment begins with it, as the last of a list does.
        words: Its words.
    """

    position: int
    opens: bool
    closes: bool
    words: _Words


def _stands(item: _Match, low: int, high: int) -> bool:
    """Whether an item is delimited as its position in a list requires."""
    if item.position == low:
        return item.opens
    if item.position == high:
        return item.closes
    return item.opens and item.closes


def _endings(words: _Words) -> Iterator[_Words]:
    """Yield the words that may be the first item of a list, of a segment that ends with it."""
    for size in range(min(len(words), _MAX_ITEM_WORDS), 0, -1):
        yield words[-size:]


def _beginnings(words: _Words) -> Iterator[_Words]:
    """Yield the words that may be the last item of a list, of a segment that begins with it."""
    for size in range(min(len(words), _MAX_ITEM_WORDS), 0, -1):
        yield words[:size]


def _matches(items: Iterable[_Words], others: Segments) -> list[_Match]:
    """Return where another sentence may have an item, at the first few positions."""
    matches: list[_Match] = []
    for item in items:
        first, last, size = item[0], item[-1], len(item)
        if last not in others.all_words:
            continue
        for position, segment in enumerate(others.words):
            if not segment:
                continue
            # Single words are compared first, which is faster than to cut.
            opens = segment[-1] == last and segment[-size:] == item
            closes = segment[0] == first and segment[:size] == item
            if opens or closes:
                matches.append(_Match(position, opens=opens, closes=closes, words=item))
    return matches[:_MAX_MATCHES]


def _best_match(words: _Words, others: Segments) -> _Match | None:
    """Return where another sentence has an item, best as a whole segment."""
    if not 0 < len(words) <= _MAX_ITEM_WORDS:
        return None
    matches = _matches([words], others)
    return max(matches, key=lambda match: match.opens and match.closes, default=None)


def _are_short(segments: Segments, low: int, high: int) -> bool:
    """Whether the segments within a list are short enough to be items."""
    return all(len(words) <= _MAX_ITEM_WORDS for words in segments.words[low + 1 : high])


def _list_with(words: _Words, others: Segments) -> list[Span]:
    """Find the list that has an item with which a sentence begins or ends."""
    items = {*_endings(words), *_beginnings(words)}
    for position, segment in enumerate(others.words):
        # The first item follows the beginning of the sentence: "open on Friday".
        is_first = position == 0 and segment[-len(words) :] == words
        if not is_first and (position == 0 or segment not in items):
            continue
        longest = (len(words) if is_first else len(segment)) + _MAX_EXTRA_WORDS
        low, high = max(position - 1, 0), position
        while low and len(others.words[low]) <= longest:
            low -= 1
        while high + 1 < len(others.words) and len(others.words[high + 1]) <= longest:
            high += 1
        if words[: len(segment)] == segment != words:
            # A list that begins a sentence ends with an item and what all of them do.
            high = min(high + 1, len(others.words) - 1)
        if low < high:
            return [_span(others, (low, high))]
    return []


def _span(segments: Segments, run: Span) -> Span:
    first, last = run
    return segments.spans[first][0], segments.spans[last][1]
