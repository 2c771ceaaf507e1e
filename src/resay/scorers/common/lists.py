"""Lists inside sentences, "red, white and blue", whose order says nothing.

The items of a list stand for themselves, so "white, blue and red" is the same list. The clauses of
"Ada was born in 1932 and Tom in 1941" are separated alike, but exchanging their values says
something else. What tells them apart is the other text: it has the same items, in whatever order.
So two texts are compared, and the lists they share are found in both.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from resay.core.segmentation.spans import Span
from resay.scorers.common.words import ignored_words, words_of

_SEPARATOR: Final = re.compile(
    r"(?:[*_]{0,3}[,;]\s+|\s)(?:and|or|as\swell\sas|und|oder|sowie|et|ou|ainsi\sque|y|e|o|u|en|&)\s"
    r"|[,;]\s+"
)
# Words that say that the order counts.
_STATES_ORDER: Final = re.compile(
    r"\b(?:respective(?:ly)?|in\s(?:that|this|the\sfollowing)\sorder|followed\sby|firstly|then|next"
    r"|finally|lastly|(?:from|at)\s(?:the\s)?(?:top|bottom|left|right|inside|outside|front|back|hoist)"
    r"|(?:from|by)\s\w+est|ascending|descending|alphabetical\w*|chronological\w*|ranked|in\ssequence"
    r"|zuerst|dann|danach|schließlich|jeweils|beziehungsweise|reihenfolge"
    r"|von\s(?:oben|unten|links|rechts)|puis|ensuite|enfin|d'abord|respectivement|de\shaut|de\sgauche"
    r"|luego|después|respectivamente|finalmente|poi|infine|rispettivamente|depois|daarna|vervolgens"
    r"|respectievelijk)\b",
    re.IGNORECASE,
)
# Longer lists, and longer items, are not compared.
_MOST_SEGMENTS: Final = 24
_LONGEST_ITEM: Final = 6
# How many words more than an item the others of its list may have.
_LONGER_ITEM: Final = 2
# At how many positions an item is looked for, and how many ends of a list are tried.
_MOST_MATCHES: Final = 6
_MOST_ENDS: Final = 3

_Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Segments:
    """The pieces of a sentence between its commas and conjunctions, which may be items of lists.

    Attributes:
        spans: Their offsets.
        words: Their words in lower case, without common words at the beginning.
        opening: By item, the segments that end with it, as the first item of a list does.
        closing: By item, the segments that begin with it, as the last item of a list does.
    """

    spans: tuple[Span, ...] = ()
    words: tuple[_Words, ...] = ()
    opening: Mapping[_Words, Sequence[int]] = field(default_factory=dict[_Words, Sequence[int]])
    closing: Mapping[_Words, Sequence[int]] = field(default_factory=dict[_Words, Sequence[int]])

    @classmethod
    def of(cls, text: str) -> Segments:
        """Split a sentence; one that says that its order counts has no segments."""
        separators = list(_SEPARATOR.finditer(text))
        if len(separators) >= _MOST_SEGMENTS or _STATES_ORDER.search(text):
            return cls()
        starts = [0, *(match.end() for match in separators)]
        ends = [*(match.start() for match in separators), len(text)]
        spans = tuple(zip(starts, ends, strict=True))
        pattern = words_of(text)
        words: list[_Words] = []
        for start, end in spans:
            segment = pattern.findall(text[start:end].lower())
            while len(segment) > 1 and segment[0] in ignored_words():
                del segment[0]
            words.append(tuple(segment))
        opening: defaultdict[_Words, list[int]] = defaultdict(list)
        closing: defaultdict[_Words, list[int]] = defaultdict(list)
        for position, segment in enumerate(words):
            for item in _endings(segment):
                opening[item].append(position)
            for item in _beginnings(segment):
                closing[item].append(position)
        return cls(spans=spans, words=tuple(words), opening=opening, closing=closing)


def shared_lists(mine: Segments, theirs: Segments) -> tuple[list[Span], list[Span]]:
    """Find the lists that two sentences share in another order, and lists of numbers in any.

    A list may have more items than the other. A sentence may also have a single item of the
    other's list: "open on Monday" is part of "open on Friday, Monday and Sunday". Two lists of the
    same length in a sentence are related item by item, so their order counts.

    Args:
        mine: The segments of a sentence.
        theirs: The segments of another.

    Returns:
        The spans of the lists in each.
    """
    if len(mine.words) == 1 < len(theirs.words):
        return [], _list_with(mine.words[0], theirs)
    if len(theirs.words) == 1 < len(mine.words):
        return _list_with(theirs.words[0], mine), []
    my_spans, their_spans = _reordered(mine, theirs)
    if not my_spans:
        # The other may have fewer items.
        their_spans, my_spans = _reordered(theirs, mine)
    return my_spans, their_spans


def _reordered(mine: Segments, theirs: Segments) -> tuple[list[Span], list[Span]]:
    """Find the lists whose items another sentence has in another order, maybe among others."""
    my_runs: list[Span] = []
    their_runs: list[Span] = []
    lengths: list[int] = []
    between = [_best_match(words, theirs) for words in mine.words]
    first = 0
    while first + 1 < len(mine.words):
        last = first + 1
        while last + 1 < len(mine.words) and between[last] is not None:
            last += 1
        run = None
        begins = _matches(_endings(mine.words[first]), theirs)
        least = max(first, last - _MOST_ENDS)
        while begins and last > least:
            items = [match for match in between[first + 1 : last] if match is not None]
            ends = _matches(_beginnings(mine.words[last]), theirs)
            run = _find_run(begins, items, ends, theirs)
            if run is not None:
                break
            last -= 1
        if run is None:
            first += 1
            continue
        lengths.append(last - first)
        if run.stays_whole:
            my_runs.append((first, last))
            their_runs.append((run.first, run.last))
        first = last
    if len(set(lengths)) < len(lengths):
        # Each item belongs to one of the other list.
        return [], []
    my_spans = [_span(mine, run) for run in my_runs]
    their_spans = [_span(theirs, run) for run in their_runs]
    return my_spans, their_spans


def _find_run(
    begins: Sequence[_Match], between: Sequence[_Match], ends: Sequence[_Match], theirs: Segments
) -> _Run | None:
    """Find the list with some items in another sentence.

    Args:
        begins: Where its first item may be.
        between: Where its other items are.
        ends: Where its last item may be.
        theirs: The segments of the other sentence.
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
            if all(_stands(item, low, high) for item in items) and _are_short(theirs, low, high):
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
    for size in range(min(len(words), _LONGEST_ITEM), 0, -1):
        yield words[-size:]


def _beginnings(words: _Words) -> Iterator[_Words]:
    """Yield the words that may be the last item of a list, of a segment that begins with it."""
    for size in range(min(len(words), _LONGEST_ITEM), 0, -1):
        yield words[:size]


def _matches(items: Iterable[_Words], theirs: Segments) -> list[_Match]:
    """Return where another sentence may have an item, at the first few positions."""
    matches: list[_Match] = []
    for item in items:
        opening, closing = theirs.opening.get(item, ()), theirs.closing.get(item, ())
        for position in sorted({*opening, *closing}):
            opens, closes = position in opening, position in closing
            match = _Match(position, opens=opens, closes=closes, words=item)
            matches.append(match)
    return matches[:_MOST_MATCHES]


def _best_match(words: _Words, theirs: Segments) -> _Match | None:
    """Return where another sentence has an item, best as a whole segment."""
    if not 0 < len(words) <= _LONGEST_ITEM:
        return None
    matches = _matches([words], theirs)
    return max(matches, key=lambda match: match.opens and match.closes, default=None)


def _are_short(segments: Segments, low: int, high: int) -> bool:
    """Whether the segments within a list are short enough to be items."""
    return all(len(words) <= _LONGEST_ITEM for words in segments.words[low + 1 : high])


def _list_with(words: _Words, theirs: Segments) -> list[Span]:
    """Find the list that has an item with which a sentence begins or ends."""
    items = {*_endings(words), *_beginnings(words)}
    for position, segment in enumerate(theirs.words):
        # The first item follows the beginning of the sentence: "open on Friday".
        is_first = position == 0 and segment[-len(words) :] == words
        if not is_first and (position == 0 or segment not in items):
            continue
        longest = (len(words) if is_first else len(segment)) + _LONGER_ITEM
        low, high = max(position - 1, 0), position
        while low and len(theirs.words[low]) <= longest:
            low -= 1
        while high + 1 < len(theirs.words) and len(theirs.words[high + 1]) <= longest:
            high += 1
        if words[: len(segment)] == segment != words:
            # A list that begins a sentence ends with an item and what all of them do.
            high = min(high + 1, len(theirs.words) - 1)
        if low < high:
            return [_span(theirs, (low, high))]
    return []


def _span(segments: Segments, run: Span) -> Span:
    first, last = run
    return segments.spans[first][0], segments.spans[last][1]
