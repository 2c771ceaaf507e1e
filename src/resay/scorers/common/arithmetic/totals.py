"""Totals and averages: "48 in total", "12 on average"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from resay.scorers.common.arithmetic.claim import MAX_OPERANDS, ComputedClaim
from resay.scorers.common.arithmetic.result import ComputedResult, agrees, amount, same_unit
from resay.scorers.common.arithmetic.values import Value

_MAX_TERMS = 8


def total_or_average(claim: ComputedClaim) -> ComputedResult | None:
    """Return the sum or the mean of the values that a claim is about; None if it is unclear."""
    candidates = claim.comparable(claim.quantity)
    is_total = claim.computation.kind == "total"
    if is_total:
        multiplied = _multiplied(claim, candidates)
        if multiplied is not None:
            return multiplied
    decided: ComputedResult | None = None
    for values, is_only in _sets(claim, candidates):
        size = claim.size
        if not 2 <= len(values) <= MAX_OPERANDS or (size and size.low != len(values)):
            continue
        computed = sum(amount(value.quantity) for value in values)
        arithmetic = sum_of(values)
        if not is_total:
            computed /= len(values)
            arithmetic = f"({arithmetic}) / {len(values)}"
        result = claim.result(
            computed,
            arithmetic,
            values,
            is_right=agrees(claim.quantity, computed),
            covers=(*claim.covers, *([(size.start, size.end)] if size else [])),
        )
        if result.is_right:
            return result
        if is_only and decided is None:
            decided = result
    of_answer = _of_stated_numbers(claim) if is_total else None
    if of_answer is not None:
        return of_answer
    return None if decided is None or claim.is_stated() else decided


def sum_of(values: Sequence[Value]) -> str:
    """Return the sum of values as it is written, of many without most."""
    terms = " + ".join(value.written for value in values[:_MAX_TERMS])
    return f"{terms} + ... ({len(values)} values)" if len(values) > _MAX_TERMS else terms


def _sets(claim: ComputedClaim, candidates: Sequence[Value]) -> Iterator[tuple[list[Value], bool]]:
    """Yield the sets of values that a claim may be about, and whether it can be no other."""
    subjects = claim.mentioned(candidates)
    if len(subjects) >= 2:
        meant = [claim.meant(subject.values) for subject in subjects]
        yield [values[0] for values in meant], all(len(values) == 1 for values in meant)
    by_column: defaultdict[tuple[object, ...], list[Value]] = defaultdict(list)
    by_sentence: defaultdict[tuple[int, int], list[Value]] = defaultdict(list)
    for value in candidates:
        by_column[value.column].append(value)
        if not claim.documents.is_table(value):
            by_sentence[value.sentence].append(value)
    for values in by_column.values():
        is_table = claim.documents.is_table(values[0])
        yield values, is_table and len(by_column) == 1 and len(subjects) < 2
    for values in by_sentence.values():
        yield values, False
    if len(subjects) == 1:
        yield subjects[0].values, False
    yield list(candidates), False


def _of_stated_numbers(claim: ComputedClaim) -> ComputedResult | None:
    """Return the sum of the other numbers of the claim, which are compared by themselves."""
    others = [
        quantity
        for quantity in claim.parsed
        if quantity != claim.quantity
        and not quantity.year_or_date
        and same_unit(quantity, claim.quantity)
        and quantity not in claim.sizes
    ]
    computed = sum(map(amount, others))
    if len(others) < 2 or not agrees(claim.quantity, computed):
        return None
    arithmetic = " + ".join(claim.written(quantity) for quantity in others)
    return claim.result(computed, arithmetic, (), is_right=True)


def _multiplied(claim: ComputedClaim, candidates: Sequence[Value]) -> ComputedResult | None:
    """Return the sum of the values of things that a claim has numbers of: "for two adults"."""
    computed = 0.0
    terms: list[str] = []
    operands: list[Value] = []
    covers = list(claim.covers)
    for subject in claim.mentioned(candidates):
        counts = [
            quantity
            for quantity in claim.parsed
            if not quantity.unit
            and quantity.year is None
            and quantity != claim.quantity
            and quantity.end <= subject.start
            and not claim.text[quantity.end : subject.start].strip()
        ]
        meant = claim.meant(subject.values)
        if len(counts) != 1 or len(meant) != 1:
            return None
        count, value = counts[0], meant[0]
        computed += count.low * amount(value.quantity)
        terms.append(f"{claim.written(count)} × {value.written}")
        operands.append(value)
        covers.append((count.start, count.end))
    if not operands:
        return None
    return claim.result(
        computed,
        " + ".join(terms),
        operands,
        is_right=agrees(claim.quantity, computed),
        covers=tuple(covers),
    )
