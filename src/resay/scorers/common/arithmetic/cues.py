"""The words by which a sentence says how it computed a number, or compares two values.

"18 years before", "48 in total", "25 % more than", "the oldest". Without such words a number is not
taken to be computed: with many numbers in documents, almost any is the sum of two. The words are
those of the languages whose files have them (`[computed]` in `resay.lang`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from resay._internal.patterns import lazy_pattern
from resay.core.quantities import Quantity
from resay.lang.language import all_words, load
from resay.lang.tables import codes, table

Kind = Literal[
    "value",
    "total",
    "average",
    "difference",
    "change",
    "ratio",
    "share",
    "duration",
    "count",
    "order",
]

# How far a word may be from the number that it explains.
_BEHIND = 32
_BEFORE = 24
_FALLBACK = "en"
_ANY_WORD = lazy_pattern(r"[^\W\d_]+")
_HAN = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff]")
_KANA = lazy_pattern(r"[\u3040-\u30ff]")
_CYRILLIC = lazy_pattern(r"[\u0400-\u04ff]")
_HANGUL = lazy_pattern(r"[\uac00-\ud7af]")
_NOTHING = r"(?!)"
_UNSPACED = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# How many words may be between a number and "more": "16 beds more".
_WORDS_BETWEEN = 2
# The most things that a sentence is about in such words: "the three halls".
_MAX_SIZE = 50
_MAX_COUNT = 999
# How near a word such as "before" or "times" follows its number.
_ADJACENT = 14
_NOUN = lazy_pattern(r"\s+[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Computation:
    """What a sentence says to be computed.

    Attributes:
        kind: How.
        quantity: The number; None if it only compares.
        start: The start of the words that say so, without the number.
        end: Their end.
        direction: 1 if what comes first is said to be more or later, -1 if less or earlier, 0 if
            neither is said.
        units: The units that may be meant; empty if any may.
        is_extreme: Whether something is said to be the most or the least of all.
    """

    kind: Kind
    quantity: Quantity | None
    start: int
    end: int
    direction: int = 0
    units: tuple[str, ...] = ()
    is_extreme: bool = False


@dataclass(frozen=True, slots=True)
class _Comparative:
    direction: int
    units: tuple[str, ...]
    is_extreme: bool


class ComputedWords:
    """The words of a language by which sentences say what they computed.

    Args:
        fields: The table `[computed]` of its file.
    """

    def __init__(self, fields: Mapping[str, str]) -> None:
        self._fields = fields

    @classmethod
    @lru_cache(16)
    def of(cls, language: str) -> ComputedWords:
        """Return the words of a language; the English ones if its file has none."""
        return cls(table(language, "computed") or table(_FALLBACK, "computed"))

    @staticmethod
    def language_of(answer: str, question: str = "") -> str:
        """Return the code of the language that an answer is most likely in, of those with words.

        Args:
            answer: The answer.
            question: Its question, which counts if the answer is too short to tell.
        """
        letters = sum(map(str.isalpha, answer))
        if 2 * len(_HAN.findall(answer)) > letters:
            return "ja" if _KANA.search(answer) else "zh"
        if _HANGUL.search(answer):
            return "ko"
        if 2 * len(_CYRILLIC.findall(answer)) > letters:
            return "ru"
        words_of_answer = frozenset(_ANY_WORD.findall(answer.lower()))
        words_of_question = frozenset(_ANY_WORD.findall(question.lower()))

        def counts(code: str) -> tuple[int, int]:
            common = load(code).common_words
            return len(common & words_of_answer), len(common & words_of_question)

        return max(_languages_with_words(), key=counts)

    def search(
        self, name: str, text: str, start: int = 0, end: int | None = None
    ) -> re.Match[str] | None:
        """Return the first words of a kind in a part of a text."""
        pattern = _pattern(self._fields.get(name, _NOTHING))
        return pattern.search(text, start, len(text) if end is None else end)

    def compares(self, text: str) -> bool:
        """Return whether a text has a word that may compare two values."""
        return _comparatives(self._fields["comparatives"])[0].search(text) is not None

    def matches(self, name: str, text: str) -> Iterator[re.Match[str]]:
        """Yield all words of a kind in a text."""
        yield from _pattern(self._fields.get(name, _NOTHING)).finditer(text)

    def computations(self, text: str, quantities: Sequence[Quantity]) -> list[Computation]:
        """Return what a sentence says to be computed.

        Args:
            text: The sentence.
            quantities: Its quantities.
        """
        computations: list[Computation] = []
        nearest: dict[tuple[str, int], tuple[tuple[bool, int], Computation]] = {}
        for quantity in quantities:
            number = _Number(self, text, quantity, quantities)
            computation = number.computation()
            if computation is None:
                continue
            if computation.kind not in ("total", "average"):
                computations.append(computation)
                continue
            # Of several numbers beside "in total", the nearest one is; "the three halls" counts.
            key = computation.kind, computation.start
            rank = self.is_size(text, quantity), number.distance(computation.start, computation.end)
            if key not in nearest or rank < nearest[key][0]:
                nearest[key] = rank, computation
        computations += [computation for _, computation in nearest.values()]
        computations += self._orders(text, quantities, computations)
        return computations

    def is_size(self, text: str, quantity: Quantity) -> bool:
        """Return whether a number says how many things a sentence is about: "the three halls"."""
        if quantity.unit or quantity.year is not None or not 2 <= quantity.low <= _MAX_SIZE:
            return False
        if quantity.low != int(quantity.low):
            return False
        before = text[max(quantity.start - 12, 0) : quantity.start]
        is_behind = any(not before[match.end() :].strip() for match in self.matches("sets", before))
        return is_behind and _NOUN.match(text, quantity.end) is not None

    def _orders(
        self,
        text: str,
        quantities: Sequence[Quantity],
        computations: Sequence[Computation],
    ) -> Iterator[Computation]:
        """Yield comparisons without an amount: "older than", "before", "the cheapest"."""
        pattern, meanings = _comparatives(self._fields["comparatives"])
        for match in pattern.finditer(text):
            meaning = meanings[match[0].lower().replace(" ", "_")]
            has_amount = any(c.start < match.end() and match.start() < c.end for c in computations)
            if has_amount or _precedes_number(text, match.end(), quantities):
                continue
            if not meaning.is_extreme and not text[match.end() :].strip(" ."):
                continue
            yield Computation(
                kind="order",
                quantity=None,
                start=match.start(),
                end=match.end(),
                direction=meaning.direction,
                units=meaning.units,
                is_extreme=meaning.is_extreme or self._is_of_two(text, match),
            )

    def _is_of_two(self, text: str, match: re.Match[str]) -> bool:
        """Whether words say which of two things is more: "the older one"."""
        before = text[: match.start()].rstrip().rpartition(" ")[2].lower()
        is_named = before in all_words("comparison", "articles")
        return is_named and self.search("than", text, match.end()) is None


class _Number:
    """A number of a sentence, between the numbers beside it.

    Args:
        words: The words of the sentence's language.
        text: The sentence.
        quantity: The number.
        quantities: All quantities of the sentence.
    """

    def __init__(
        self, words: ComputedWords, text: str, quantity: Quantity, quantities: Sequence[Quantity]
    ) -> None:
        self._words = words
        self._text = text
        self._quantity = quantity
        self._quantities = quantities
        ends = [other.end for other in quantities if other.end <= quantity.start]
        starts = [other.start for other in quantities if other.start >= quantity.end]
        self._before = max(*ends, quantity.start - _BEFORE, 0)
        self._behind = min(*starts, quantity.end + _BEHIND, len(text))

    def computation(self) -> Computation | None:
        """Return how the sentence says the number to be computed; None if it does not say so."""
        quantity = self._quantity
        if quantity.kind == "date" or quantity.year is not None or quantity.unit == "ordinal":
            return None
        ways = (
            self._interval,
            self._ratio,
            self._difference,
            self._change,
            self._set,
            self._other,
        )
        computations = (way() for way in ways)
        return next((computation for computation in computations if computation), None)

    def distance(self, start: int, end: int) -> int:
        """Return how many characters are between a stretch and the number."""
        return min(abs(start - self._quantity.end), abs(self._quantity.start - end))

    @property
    def _is_percent(self) -> bool:
        return self._quantity.unit == "share" and self._quantity.scale < 1

    @property
    def _is_time(self) -> bool:
        return self._quantity.unit in ("year", "s")

    def _of(self, kind: Kind, start: int, end: int, direction: int = 0) -> Computation:
        return Computation(kind, self._quantity, start, end, direction=direction)

    def _interval(self) -> Computation | None:
        """Return the time before or after something: "18 years before"."""
        if not self._is_time:
            return None
        last = min(self._behind, self._quantity.end + _ADJACENT)
        for name, direction in (("earlier", -1), ("later", 1)):
            match = self._words.search(name, self._text, self._quantity.end, last)
            if match is not None:
                return self._of("duration", *match.span(), direction=direction)
        return None

    def _ratio(self) -> Computation | None:
        """Return a multiple: "three times as long", "half as many"."""
        start, end = self._quantity.start, self._quantity.end
        for name in ("twice", "thrice", "half"):
            match = self._words.search(name, self._text, start, self._behind)
            if match is not None and match.start() == start:
                return self._multiple(match.end())
        last = min(end + _ADJACENT, self._behind)
        match = self._words.search("times", self._text, end, last)
        return self._multiple(match.end()) if match and not self._quantity.unit else None

    def _multiple(self, end: int) -> Computation:
        than = self._words.search("than", self._text, end)
        match = than or self._words.search("as", self._text, end)
        return self._of("ratio", self._quantity.start, match.end() if match else self._behind)

    def _difference(self) -> Computation | None:
        """Return how much more something is than something else: "14 m longer than"."""
        for name, direction in (("more", 1), ("fewer", -1)):
            match = self._words.search(name, self._text, self._quantity.end, self._behind)
            if match is None:
                continue
            between = self._text[self._quantity.end : match.start()].split()
            than = self._words.search("than", self._text, match.end())
            if than is None or len(between) > _WORDS_BETWEEN:
                continue
            if not any(0 <= other.start - than.end() <= 2 for other in self._quantities):
                kind = "change" if self._is_percent else "difference"
                return self._of(kind, *match.span(), direction=direction)
        return None

    def _change(self) -> Computation | None:
        """Return by how much something rose or fell: "grew by 25 %"."""
        by = self._words.search("by", self._text, self._before, self._quantity.start)
        follows_by = by is not None and not self._text[by.end() : self._quantity.start].strip()
        for name, direction in (("rises", 1), ("falls", -1)):
            match = self._words.search(name, self._text)
            if match is None:
                continue
            if self._is_percent or (follows_by and match.start() < self._quantity.start):
                return self._of("change", *match.span(), direction=direction)
        return None

    def _set(self) -> Computation | None:
        """Return a total or an average."""
        if self._is_percent:
            return None
        kinds: tuple[Kind, ...] = ("total", "average")
        for kind in kinds:
            spans = [match.span() for match in self._words.matches(kind, self._text)]
            if spans:
                return self._of(kind, *min(spans, key=lambda span: self.distance(*span)))
        return None

    def _other(self) -> Computation | None:
        """Return a percentage, a duration or a count."""
        quantity, text = self._quantity, self._text
        if self._is_percent:
            return self._of("share", quantity.end, quantity.end)
        if self._is_time:
            for name, start, end in (
                ("aged", quantity.end, self._behind),
                ("lasts", self._before, quantity.start),
                ("aged", self._before, quantity.start),
            ):
                match = self._words.search(name, text, start, end)
                if match is not None:
                    return self._of("duration", *match.span())
            return self._of("duration", quantity.start, quantity.start)
        is_whole = quantity.plain == int(quantity.plain) and 2 <= quantity.plain <= _MAX_COUNT
        is_alone = quantity.start == 0 or not text[quantity.start - 1].strip()
        if not quantity.unit and is_whole and is_alone and _NOUN.match(text, quantity.end):
            return self._of("count", quantity.end, quantity.end)
        return None


def _precedes_number(text: str, position: int, quantities: Sequence[Quantity]) -> bool:
    """Whether a word compares with a number: "more than 100 seats", "before 1950"."""
    for quantity in quantities:
        if quantity.start >= position:
            return len(text[position : quantity.start].split()) <= _WORDS_BETWEEN
    return False


@cache
def _languages_with_words() -> tuple[str, ...]:
    return tuple(code for code in codes() if table(code, "computed"))


@cache
def _pattern(alternatives: str) -> re.Pattern[str]:
    if _UNSPACED.search(alternatives):
        return re.compile(alternatives)
    return re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)", re.IGNORECASE)


@cache
def _comparatives(lines: str) -> tuple[re.Pattern[str], Mapping[str, _Comparative]]:
    meanings: dict[str, _Comparative] = {}
    for line in lines.strip().splitlines():
        units, _, sides = line.partition(":")
        for side, words in enumerate(sides.split("|")):
            meaning = _Comparative(
                # The earlier of two dates is the smaller.
                direction=(1, -1)[side % 2] * (-1 if units == "date" else 1),
                units=() if units == "any" else tuple(units.split()),
                is_extreme=side >= 2,
            )
            for word in words.split():
                meanings.setdefault(word, meaning)
    longest_first = sorted(meanings, key=lambda word: -len(word))
    alternatives = "|".join(re.escape(word).replace("_", " ") for word in longest_first)
    return _pattern(alternatives), meanings
