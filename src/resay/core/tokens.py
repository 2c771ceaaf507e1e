"""Tokenization for methods that count words, and a search for texts with shared words."""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from math import fsum
from typing import NamedTuple

from resay._internal.event_loops import stop_if_abandoned
from resay._internal.patterns import lazy_pattern
from resay.core.normalization import normalized, without_optional

# Scripts written without spaces, without their digits. A Chinese or Japanese character is one
# token. In the others a token is a letter with its signs, the best approximation of words without a
# dictionary.
_SIGNED = r"\u0e00-\u0e4f\u0e5a-\u0ecf\u0eda-\u0eff\u1000-\u103f\u104a-\u109f\u1780-\u17df"
_UNSPACED = _SIGNED + r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_CLUSTERS = r"""
        [\u0e40-\u0e44]?[\u0e01-\u0e2e][\u0e30-\u0e3a\u0e45\u0e47-\u0e4e]*
      | [\u0ec0-\u0ec4]?[\u0e81-\u0eae\u0edc-\u0edf][\u0eb0-\u0ebd\u0ec8-\u0ece]*
      | [\u1780-\u17b3](?:\u17d2[\u1780-\u17b3]|[\u17b4-\u17d1\u17dd])*
        # In Burmese with the consonant that closes the syllable.
      | [\u1000-\u102a\u103f](?:\u1039[\u1000-\u1021]|[\u102b-\u1038\u103a-\u103e])*
        (?:[\u1000-\u1021](?=[\u1037\u1038]?[\u1039\u103a])
          (?:\u1039[\u1000-\u1021]|[\u102b-\u1038\u103a-\u103e])*)*
"""
COMBINING_SIGNS = (
    r"\u0300-\u036f\u0483-\u0487\u0610-\u061a\u0653-\u065f\u06d6-\u06dc\u0900-\u0963\u0966-\u0dff"
    r"\u0f18-\u0f19\u0f35-\u0f39\u0f71-\u0f84\u0f8d-\u0fbc\u135d-\u135f"
)
"""Signs that `\\w` does not match, for a class of a pattern: accents, vowels of Indian scripts."""
_HAS_OTHERS = lazy_pattern(f"[{_UNSPACED}{COMBINING_SIGNS}]")


def _rules(unspaced: str, signs: str, clusters: str, joins: str) -> re.Pattern[str]:
    """Return token rules that follow the published code's tokenizer (spaCy's English one).

    Initials keep their periods ("J.", "U.S."), numbers their separators ("1,000", "1946-1952",
    "5/24"), clitics are separate ("'s"), and every other mark is a token of its own.
    """
    letter, word = rf"[^\W\d_{unspaced}]", rf"[^\W{unspaced}]"
    if signs:
        word = rf"(?:{word}|[{signs}])"
    return lazy_pattern(
        rf"""
        (?:{letter}\.)+                               # J.  U.S.
      | {word}+(?:(?:[.&]|['’](?!s\b)|(?<=\d)[{joins}](?=\d)|(?<=\D)-(?=\d)){word}+)*
      | ['’]{word}+                                   # 's
      {clusters}
      | [^\s]
        """,
        re.VERBOSE,
    )


class _Rules(NamedTuple):
    """Token rules for texts in scripts with spaces, and for all others."""

    spaced: re.Pattern[str]
    mixed: re.Pattern[str]

    @classmethod
    def joining(cls, joins: str) -> _Rules:
        """Return rules with these marks between digits as parts of a token."""
        return cls(
            spaced=_rules("", "", "", joins),
            mixed=_rules(_UNSPACED, COMBINING_SIGNS, f"| {_CLUSTERS}", joins),
        )


_NORMALIZED = _Rules.joining(",:/-")
# The published code's tokenizer joins the years of "1946–1952", not of "1946-1952".
_PUBLISHED = _Rules.joining(",:–/")


# May end a word, and is then a token of its own if more than one letter precedes it.
_ENDS_WORD = frozenset(",.;:!?)")


def _is_word(run: str) -> bool:
    """Whether a run is a single token of ASCII letters and digits."""
    return run.isascii() and run.isalnum()


def _tokens_of(run: str, *, as_published: bool = False) -> Sequence[str]:
    """Return the tokens of a lower-cased run; most runs that are not words end with a mark."""
    if run[-1] in _ENDS_WORD and len(run) > 2 and _is_word(run[:-1]):
        return run[:-1], run[-1]
    if as_published:
        run, rules = without_optional(run), _PUBLISHED
    else:
        # Lower-cased again: a bold letter has no lower case before it is an ordinary one.
        run, rules = normalized(run).lower(), _NORMALIZED
    return (rules.mixed if _HAS_OTHERS.search(run) else rules.spaced).findall(run)


def tokenize(text: str) -> list[str]:
    """Split a text into lower-cased words and marks, without white space.

    No token spans white space, and most runs between white space are plain words. Characters are
    those of the normal form (`resay.core.normalization`).
    """
    tokens: list[str] = []
    for run in text.lower().split():
        if run.isascii() and run.isalnum():
            tokens.append(run)
        else:
            tokens += _tokens_of(run)
    return tokens


class CachedTokenizer:
    """Splits each distinct run between white space only once.

    The samples of one question share most of their words.

    Args:
        as_published: Whether to compare characters as they are written, like the code published
            with SelfCheckGPT.
    """

    def __init__(self, *, as_published: bool = False) -> None:
        self._words: set[str] = set()
        self._others: dict[str, Sequence[str]] = {}
        self._as_published = as_published

    def tokens(self, text: str) -> set[str]:
        """Return the distinct tokens of `tokenize`."""
        tokens = set(text.lower().split())
        unknown_runs = tokens - self._words
        tokens -= unknown_runs
        for run in unknown_runs:
            if run in self._others:
                tokens.update(self._others[run])
            elif _is_word(run):
                self._words.add(run)
                tokens.add(run)
            else:
                tokens.update(self._split(run))
        return tokens

    def tokenize(self, text: str) -> list[str]:
        """Return the tokens in order."""
        tokens: list[str] = []
        for run in text.lower().split():
            if _is_word(run):
                tokens.append(run)
            else:
                tokens += self._split(run)
        return tokens

    def count(self, texts: Iterable[str]) -> Counter[str]:
        """Count the tokens of `tokenize` over several texts."""
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(text.lower().split())
        run_counts = {run: count for run, count in counts.items() if not _is_word(run)}
        for run in run_counts:
            del counts[run]
        self._words.update(counts)
        for run, count in run_counts.items():
            for token in self._split(run):
                counts[token] += count
        return counts

    def _split(self, run: str) -> Sequence[str]:
        tokens = self._others.get(run)
        if tokens is None:
            stop_if_abandoned()
            tokens = self._others[run] = _tokens_of(run, as_published=self._as_published)
        return tokens


class _Weights(dict[str, float]):
    """The weights of words, worked out when they are first looked for."""

    def __init__(
        self, postings: Mapping[str, Sequence[int]], weigh: Callable[[int], float]
    ) -> None:
        super().__init__()
        self._postings = postings
        self._weigh = weigh

    def __missing__(self, word: str) -> float:
        count = len(self._postings.get(word, ()))
        weight = self._weigh(count or 1)
        if count:
            self[word] = weight
        return weight


_MAX_VISITS = 128


class InvertedIndex:
    """An inverted index from words to the sets that contain them.

    The time of a search depends on the number of words, not of sets: rare words come first, and on
    average at most 128 sets per word are visited. With up to 128 sets, a search is therefore exact.

    Args:
        sets: The sets.
        weigh: Returns the weight of a word, above 0, given the number of sets that contain it.
    """

    def __init__(self, sets: Sequence[Collection[str]], weigh: Callable[[int], float]) -> None:
        self._postings: defaultdict[str, list[int]] = defaultdict(list)
        for index, words in enumerate(sets):
            for word in words:
                self._postings[word].append(index)
        self._weights = _Weights(self._postings, cache(weigh))

    def indices(self, word: str) -> Sequence[int]:
        """Return the indices of the sets that contain a word."""
        return self._postings.get(word, ())

    def weight(self, words: Iterable[str]) -> float:
        """Return the total weight of words; unknown ones weigh as if one set contained them."""
        # Exact summation, so that the iteration order of sets cannot decide ties.
        return fsum(map(self._weights.__getitem__, words))

    def search(
        self, words: Collection[str], negligible: float = 0.0
    ) -> tuple[dict[int, float], float]:
        """Find the sets that share words with one.

        Args:
            words: The distinct words to look for.
            negligible: A weight; sets that share less need not be found.

        Returns:
            The weight of the shared words by index of the set; and the weight of the words that
            were not looked up, which any set may share too.
        """
        rarest_first = sorted(
            (len(self._postings[word]), word) for word in words if word in self._postings
        )
        shared: dict[int, float] = {}
        visits_left = _MAX_VISITS * len(words)
        weight_left = sum(self._weights[word] for _, word in rarest_first)
        for _, word in rarest_first:
            if visits_left <= 0 or weight_left < negligible:
                break
            weight = self._weights[word]
            indices = self._postings[word]
            for index in indices if len(indices) <= visits_left else indices[:visits_left]:
                shared[index] = shared.get(index, 0.0) + weight
            visits_left -= len(indices)
            weight_left -= weight
        return shared, max(weight_left, 0.0)

    @staticmethod
    def smallest(bounds: list[tuple[float, int]]) -> list[tuple[float, int]]:
        """Return the smallest of the bounds, ascending, at most 128 of them."""
        if len(bounds) <= _MAX_VISITS:
            return sorted(bounds)
        return heapq.nsmallest(_MAX_VISITS, bounds)
