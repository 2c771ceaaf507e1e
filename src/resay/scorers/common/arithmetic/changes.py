"""Changes and percentages: "rose by 25 %", "64 % of the votes"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import product

from resay.scorers.common.arithmetic.chance import is_by_chance
from resay.scorers.common.arithmetic.claim import MAX_MEANT, MAX_OPERANDS, ComputedClaim
from resay.scorers.common.arithmetic.result import (
    ComputedResult,
    agrees,
    amount,
    formatted,
    place_value,
    same_unit,
)
from resay.scorers.common.arithmetic.values import Value

# The most numbers of a sentence that are divided by each other.
_MAX_RATIOS = 12


def change(claim: ComputedClaim) -> ComputedResult | None:
    """Return by how much a value rose or fell, or is more or less than another."""
    is_percent = claim.quantity.unit == "share"
    if is_percent:
        candidates = claim.under_named_heads(claim.documents.numbers)
    else:
        candidates = claim.comparable(claim.quantity)
    result = None if is_percent else _to_stated(claim, candidates)
    if result is not None:
        return result
    if claim.documents.cues.search("than", claim.text, claim.computation.end):
        pairs = [(second, first) for first, second in claim.pairs(candidates)]
    else:
        pairs = _in_time(claim, candidates)
    decided: ComputedResult | None = None
    for before, after in pairs:
        a, b = amount(before.quantity), amount(after.quantity)
        if not same_unit(before.quantity, after.quantity) or not a:
            continue
        computed = (b - a) * claim.computation.direction
        arithmetic = f"{after.written} - {before.written}"
        if is_percent:
            computed /= a
            arithmetic = f"({arithmetic}) / {before.written}"
        is_right = agrees(claim.quantity, computed)
        result = claim.result(computed, arithmetic, (before, after), is_right=is_right)
        if result.is_right:
            return result
        decided = decided or result
    return decided if len(pairs) == 1 and not claim.is_stated() else None


def _to_stated(claim: ComputedClaim, candidates: Sequence[Value]) -> ComputedResult | None:
    """Return by how much a value that the claim states differs from the only other beside it.

    "It grew by five, to 87", of "87 employees (last year: 82)".
    """
    for value in candidates:
        if not any(quantity.value == value.quantity.value for quantity in claim.parsed):
            continue
        beside = [
            other
            for other in claim.documents.numbers_by_sentence[value.sentence]
            if other is not value and same_unit(other.quantity, value.quantity)
        ]
        if len(beside) != 1:
            continue
        difference = amount(value.quantity) - amount(beside[0].quantity)
        computed = difference * claim.computation.direction
        if agrees(claim.quantity, computed):
            arithmetic = f"{value.written} - {beside[0].written}"
            return claim.result(computed, arithmetic, (value, beside[0]), is_right=True)
    return None


def _in_time(claim: ComputedClaim, candidates: Sequence[Value]) -> list[tuple[Value, Value]]:
    """Return the pairs of values of the same thing, the earlier first."""
    subjects = claim.mentioned(candidates)
    years = {quantity.year for quantity in claim.parsed if quantity.year is not None}
    values = [value for subject in subjects for value in subject.values] or list(candidates)
    dated = [value for value in values if value.year is not None]
    if years:
        dated = [value for value in dated if value.year in years]
    pairs = [
        (first, second)
        for first, second in product(dated, dated)
        if (first.year or 0) < (second.year or 0) and first.column == second.column
    ]
    if pairs and (len(years) == 2 or len(dated) == 2):
        return pairs
    by_sentence: defaultdict[tuple[int, int], list[Value]] = defaultdict(list)
    for value in values:
        by_sentence[value.sentence].append(value)
    in_order = [
        (values[0], values[1])
        for values in by_sentence.values()
        if len(values) == 2 and same_unit(values[0].quantity, values[1].quantity)
    ]
    return in_order or pairs


def share(claim: ComputedClaim, wholes: Sequence[Value] = ()) -> ComputedResult | None:
    """Return the ratio of two numbers that a percentage tells.

    Args:
        claim: The claim.
        wholes: What other percentages of the claim are of.
    """
    for whole in wholes:
        result = _first_right(claim, _of_whole(claim, whole))
        if result is not None:
            return result
    if claim.is_stated():
        return None
    pairs = _of_sentences(claim)
    meant = claim.meant([part for part, _ in pairs])
    of_meant = [(part, whole) for part, whole in pairs if part in meant]
    return (
        _of_stated_numbers(claim)
        or _first_right(claim, pairs)
        or _first_right(claim, of_meant)
        or _of_total(claim)
    )


def _of_stated_numbers(claim: ComputedClaim) -> ComputedResult | None:
    """Return the ratio of two numbers of the claim itself: "31 of 48 (65 %)"."""
    numbers = [
        quantity
        for quantity in claim.parsed
        if quantity != claim.quantity and quantity.year is None and quantity.unit != "share"
    ]
    for part, whole in product(numbers, numbers):
        is_part = 0 < part.low < whole.low and same_unit(part, whole)
        if is_part and agrees(claim.quantity, part.low / whole.low):
            sign = f"{claim.written(part)} / {claim.written(whole)}"
            return claim.result(part.low / whole.low, sign, (), is_right=True)
    return None


def _of_whole(claim: ComputedClaim, whole: Value) -> list[tuple[Value, Value]]:
    return [
        (value, whole)
        for value in claim.documents.numbers
        if value.sentence == whole.sentence and _is_part(value, whole)
    ]


def _of_sentences(claim: ComputedClaim) -> list[tuple[Value, Value]]:
    """Return the pairs of numbers of one sentence; those that share words with the claim."""
    pairs: list[tuple[Value, Value]] = []
    for values in claim.documents.numbers_by_sentence.values():
        if len(values) <= _MAX_RATIOS:
            pairs += [
                (part, whole) for part, whole in product(values, values) if _is_part(part, whole)
            ]
    about = [(part, whole) for part, whole in pairs if claim.stems & (part.words | whole.words)]
    return about or pairs


def _first_right(
    claim: ComputedClaim, pairs: Sequence[tuple[Value, Value]]
) -> ComputedResult | None:
    """Return the first of a few ratios that is the percentage, which is then hardly by chance."""
    if is_by_chance(len(pairs) * claim.quantity.scale * place_value(claim.quantity.plain)):
        return None
    for part, whole in pairs:
        computed = amount(part.quantity) / amount(whole.quantity)
        if agrees(claim.quantity, computed):
            sign = f"{part.written} / {whole.written}"
            return claim.result(computed, sign, (part, whole), is_right=True)
    return None


def _of_total(claim: ComputedClaim) -> ComputedResult | None:
    """Return the ratio of a value that the claim mentions to the sum of its column."""
    candidates = claim.under_named_heads(claim.documents.numbers)
    for subject in claim.mentioned(candidates):
        for part in claim.meant(subject.values)[:MAX_MEANT]:
            column = [value for value in candidates if value.column == part.column]
            total = sum(amount(value.quantity) for value in column)
            if not 2 <= len(column) <= MAX_OPERANDS or not total:
                continue
            computed = amount(part.quantity) / total
            if agrees(claim.quantity, computed):
                sign = f"{part.written} / {formatted(total)}"
                return claim.result(computed, sign, column, is_right=True)
    return None


def _is_part(part: Value, whole: Value) -> bool:
    is_smaller = 0 < amount(part.quantity) < amount(whole.quantity)
    is_share = part.quantity.unit == "share"
    return is_smaller and not is_share and same_unit(part.quantity, whole.quantity)
