"""Finds values that stand where an earlier answer has another one, said in other words.

"Saturday is your long run of 16 km." restates "Saturday: 12 km long run.": of all that was said in
the same unit, that shares most words with it. Such a claim need not repeat the statement, so its
value must be new: said by nobody, and no sum, difference or multiple of what was said; or it is
that of something else, and the question asks for it. With a word of the conversation that is not
about the statement, or a day, name or unit of its own, a claim is about something else.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.quantities import Quantity, quantities
from resay.scorers.common.arithmetic.cues import ComputedWords
from resay.scorers.common.words import restricts, stems_of, words_of
from resay.scorers.conversation.clauses import Clause, without

# Each value of a claim is compared with those of its kind; in long answers, only the first ones.
_MAX_COMPARISONS: Final = 20_000
# From more operands almost any value follows.
_MAX_OPERANDS: Final = 80
_MIN_SHARED: Final = 2
# Values of the same differ less: a course of weeks, and its lessons of minutes.
_MAX_RATIO: Final = 20
_MIN_COMMON_CHARS: Final = 3
_MINUTE_S: Final = 60
_KANA: Final = lazy_pattern(r"[\u3040-\u309f]+")
_UNSPACED: Final = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class ValueInContext:
    """A value of a sentence.

    Attributes:
        quantity: It.
        kind: What it may stand in place of: values of its unit, or counts of the same thing.
        clause: Its clause.
        own: The stems of the words of its clause that are not those of another value.
        words: The same of its sentence, if that has no other value of its kind.
        lead: The sentence up to the end of its clause.
    """

    quantity: Quantity
    kind: str
    clause: Clause
    own: frozenset[str]
    words: frozenset[str]
    lead: str


def values_in_context(clauses: Sequence[Clause]) -> list[ValueInContext]:
    """Return the values of a sentence with the words that tell what they are of.

    Args:
        clauses: Its clauses.
    """
    values: list[ValueInContext] = []
    lead = ""
    for clause in clauses:
        text = without(clause.values, clause.text)
        lead = f"{lead} {text}"
        kinds = [_kind_of(value, clause) for value in clause.values]
        for value, kind in zip(clause.values, kinds, strict=True):
            if kind is None:
                continue
            # "3 g of yeast for 1 kg of flour": each has what is behind it, the first also the rest.
            starts = [v.start for v, k in zip(clause.values, kinds, strict=True) if k == kind]
            index = starts.index(value.start)
            bounds = [0, *starts[1:], len(text)]
            own = _content_of(text[bounds[index] : bounds[index + 1]]) - _counted(value, clause)
            values.append(
                ValueInContext(
                    quantity=value, kind=kind, clause=clause, own=own, words=own, lead=lead
                )
            )
    counts = Counter(value.kind for value in values)
    return [
        replace(value, words=_content_of(lead) - _counted(value.quantity, value.clause))
        if counts[value.kind] == 1
        else value
        for value in values
    ]


def _kind_of(quantity: Quantity, clause: Clause) -> str | None:
    """Return the kind of a value; None if nothing says it."""
    if quantity.year_or_date:
        return "date"
    if quantity.unit:
        return quantity.unit
    return next((f"of {stem}" for stem in _counted(quantity, clause)), None)


def _counted(quantity: Quantity, clause: Clause) -> frozenset[str]:
    """Return the stem of what a bare number counts."""
    stem = None if quantity.unit else clause.counted(quantity)
    return frozenset() if stem is None else frozenset((stem,))


class ToldValues:
    """The values that earlier answers told.

    Args:
        values: The values, the newest first.
        told: The stems of all that was said.
        said: The quantities of all that was said.
    """

    def __init__(
        self, values: Sequence[ValueInContext], told: Set[str], said: Sequence[Quantity]
    ) -> None:
        self._by_kind: defaultdict[str, list[tuple[int, ValueInContext]]] = defaultdict(list)
        for index, value in enumerate(values):
            self._by_kind[value.kind].append((index, value))
        self._told = told
        self._said = said
        self._comparisons = 0

    def replaced_by(
        self, value: ValueInContext, question: Set[str], beside: Sequence[Quantity]
    ) -> int | None:
        """Return the index of the value that a claim has another one for; None if there is none.

        Args:
            value: The value of the claim.
            question: The stems of the question that it answers.
            beside: The values of the answer.
        """
        candidates = self._by_kind.get(value.kind, ())
        self._comparisons += len(candidates)
        if not candidates or self._comparisons > _MAX_COMPARISONS:
            return None
        shared = [_shared(value.words, other.words) for _, other in candidates]
        most = max(map(len, shared))
        nearest = [index for index, stems in enumerate(shared) if len(stems) == most]
        position, other = candidates[nearest[0]]
        quantity, told = value.quantity, other.quantity
        if not most or not all(candidates[i][1].quantity.agrees(told) for i in nearest):
            return None
        if quantity.agrees(told) or not _may_measure_same(quantity, told):
            return None
        # "Wednesday: 12 km" may be what was said of Saturday.
        is_swapped = any(quantity.agrees(each.quantity) for _, each in candidates)
        is_clear = most >= _MIN_SHARED and not is_swapped
        asked = shared[nearest[0]] & question
        if not is_clear and not asked:
            return None
        # "Boil the eggs for 10 minutes, then cool them in ice water" is not about the ice water.
        if len(other.own) >= _MIN_SHARED and (asked & value.own) - _shared(asked, other.own):
            return None
        around = other.words | other.clause.around
        new = [stem for stem in value.own if not is_in(stem, around)]
        if len(new) > is_clear or not self._told.isdisjoint(new):
            return None
        if _is_relative(value.clause) or _has_own_name(value.lead, other.clause.around):
            return None
        return position if is_swapped or not self._is_known(quantity, beside) else None

    def _is_known(self, quantity: Quantity, beside: Sequence[Quantity]) -> bool:
        """Return whether somebody said a quantity, or it follows from what was said."""
        if any(quantity.agrees(other) for other in self._said):
            return True
        operands = [*self._said, *(other for other in beside if not quantity.agrees(other))]
        amounts: set[float] = set()
        factors: set[float] = set()
        for operand in operands:
            amount = _amount(operand, quantity.unit)
            if amount is not None:
                amounts.add(amount)
            if operand.unit == "share":
                factors.update((operand.low, 1 + operand.low, 1 - operand.low))
            elif operand.low and not operand.unit and not operand.year_or_date:
                factors.update((operand.low, 1 / operand.low))
        if len(amounts) > _MAX_OPERANDS or len(factors) > _MAX_OPERANDS:
            return True
        results = [sum(amounts)]
        for amount in amounts:
            results += [amount + other for other in amounts if other != amount]
            results += [amount - other for other in amounts]
            results += [amount * factor for factor in factors]
        return any(math.isclose(quantity.low, result, rel_tol=0.01) for result in results)


def is_part(quantity: Quantity, whole: Quantity, values: Sequence[Quantity]) -> bool:
    """Return whether a value and another one of an answer add up to what was told.

    Args:
        quantity: The value.
        whole: What was told.
        values: The values of the answer.
    """
    if quantity.year_or_date:
        return False
    others = [v.low for v in values if v.unit == quantity.unit and not v.agrees(quantity)]
    return any(math.isclose(quantity.low + other, whole.low) for other in others)


def is_in(stem: str, stems: Set[str]) -> bool:
    """Return whether a stem, or that of another form of its word, is among others."""
    if stem in stems:
        return True
    if _UNSPACED.match(stem):
        characters = "".join(stems)
        return all(character in characters for character in stem)
    if not stem.isalpha():
        return False
    for other in stems:
        # "row" and "rowing".
        length = max(min(len(stem), len(other)) - 1, _MIN_COMMON_CHARS)
        if other.isalpha() and stem[:length] == other[:length]:
            return True
    return False


def _shared(stems: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    return frozenset(stem for stem in stems if is_in(stem, others))


def _content_of(text: str) -> frozenset[str]:
    """Return the stems of a text's words, but for inflections of scripts without spaces."""
    return frozenset(stem for stem in stems_of(text) if not _KANA.fullmatch(stem))


def _may_measure_same(quantity: Quantity, other: Quantity) -> bool:
    smaller, larger = sorted((abs(quantity.low), abs(other.low)))
    return quantity.unit != other.unit or larger <= _MAX_RATIO * smaller


def _is_relative(clause: Clause) -> bool:
    """Return whether a clause says how much more something is, or restricts what it says."""
    words = ComputedWords.of(clause.language)
    lowered = clause.text.lower()
    return restricts(lowered) or any(words.search(name, lowered) for name in ("more", "fewer"))


def _has_own_name(text: str, known: frozenset[str]) -> bool:
    """Return whether a text has a name, a day, a month or a unit with an unknown stem."""
    for match in words_of(text).finditer(text):
        word = match[0]
        # "w" is a watt, and a Polish preposition.
        if len(word) == 1 or not word.isalpha() or all(is_in(s, known) for s in stems_of(word)):
            continue
        is_first = text[: match.start()].rstrip()[-1:] in ("", *".!?:")
        if (word[0].isupper() and not is_first) or _is_unit_or_month(word.lower()):
            return True
    return False


@lru_cache(4_096)
def _is_unit_or_month(word: str) -> bool:
    return any(value.unit or value.year_or_date for value in quantities(f"2 {word}"))


def _amount(quantity: Quantity, unit: str) -> float | None:
    """Return a quantity as a number of a unit; None if it is of another one."""
    if quantity.year_or_date:
        return None
    if quantity.unit == unit:
        return quantity.low
    # A time of day is in minutes, and another is a while later.
    return quantity.low / _MINUTE_S if unit == "clock" and quantity.unit == "s" else None
