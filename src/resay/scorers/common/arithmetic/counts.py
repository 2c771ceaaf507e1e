"""Counts of listed things: "three plans", "two of the halls have more than 100 seats"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from resay._internal.plurals import counted as in_words
from resay.core.quantities import Quantity
from resay.scorers.common.arithmetic.claim import ComputedClaim
from resay.scorers.common.arithmetic.result import ComputedResult, order_of, same_unit
from resay.scorers.common.arithmetic.values import Value
from resay.scorers.common.words import ignored_words, stems_of

_MAX_CONTEXT = 400


@dataclass(frozen=True, slots=True)
class _Bound:
    """The bound that counted rows keep to, such as "more than 100 seats".

    Attributes:
        start: The start of its words in the claim.
        end: Their end.
        quantity: It.
        direction: 1 if the rows are above it, -1 if they are below.
    """

    start: int
    end: int
    quantity: Quantity
    direction: int


@dataclass(frozen=True, slots=True)
class _Counted:
    """Rows that a claim counts.

    Attributes:
        rows: The indexes of their records.
        has_conditions: Whether words of the claim that some rows have and others not say which.
        is_bound: Whether it says so by a bound.
    """

    rows: list[int]
    has_conditions: bool
    is_bound: bool


def count(claim: ComputedClaim) -> ComputedResult | None:
    """Return how many things documents list of those that a claim counts; None if it is unclear."""
    documents, quantity = claim.documents, claim.quantity
    noun = frozenset(stems_of(claim.noun))
    tables = documents.tables
    decided: ComputedResult | None = None
    for (owner, heads), rows in tables.items():
        counted = _counted(claim, rows, heads) if len(rows) > 1 else None
        if counted is None:
            continue
        named = frozenset(stems_of(" ".join(heads))) | _prose_stems(claim, owner)
        if not noun & named and len(tables) > 1:
            continue
        result = ComputedResult(
            is_right=len(counted.rows) == quantity.low,
            arithmetic=_of_rows(len(counted.rows), len(rows)),
            records=frozenset(counted.rows or rows),
            covers=((0, _end_of_count(claim)),),
            number=claim.number_span,
        )
        if result.is_right:
            return result
        is_list = counted.is_bound or documents.cues.search("lists", claim.text) is not None
        if noun & named and is_list and not counted.has_conditions:
            decided = result
    return decided or _listed(claim, noun)


def _of_rows(count: int, rows: int) -> str:
    return in_words(rows, "row") if count == rows else f"{count} of {in_words(rows, 'row')}"


def _listed(claim: ComputedClaim, noun: frozenset[str]) -> ComputedResult | None:
    """Return how many items are behind a colon and the noun that a claim counts."""
    for listing in claim.documents.listings:
        if noun & listing.stems and listing.count == claim.quantity.low:
            return ComputedResult(
                is_right=True,
                arithmetic=f"{listing.head}: {in_words(listing.count, 'item')}",
                records=frozenset((listing.record,)),
                covers=claim.covers,
                number=claim.number_span,
            )
    return None


def _end_of_count(claim: ComputedClaim) -> int:
    """Return where a claim ends to say what it counts: "two are online: Ethics and Law"."""
    colon = claim.text.find(": ", claim.quantity.end)
    return len(claim.text) if colon < 0 else colon + 1


def _counted(claim: ComputedClaim, rows: Sequence[int], heads: Sequence[str]) -> _Counted | None:
    """Return the rows that a claim counts; None if not all its words say which."""
    if claim.quantity in claim.sizes:
        # "Three of the five are open": these five are all of them.
        return _Counted(list(rows), has_conditions=False, is_bound=False)
    named = frozenset(stems_of(f"{' '.join(heads)} {claim.noun}"))
    cells = [claim.documents.stems_in_cells[index] for index in rows]
    conditions: set[str] = set()
    bound = _bound(claim)
    end_of_count = _end_of_count(claim)
    for stem, start, end in claim.words:
        is_in_bound = bound is not None and bound.start <= start < bound.end
        if is_in_bound or stem in named or start >= end_of_count:
            continue
        holders = sum(stem in stems for stems in cells)
        if 0 < holders < len(rows):
            conditions.add(stem)
        elif not holders and not _is_filler(claim, claim.text[start:end]):
            return None
    counted = [index for index, stems in zip(rows, cells, strict=True) if conditions <= stems]
    if bound is not None:
        satisfying = _satisfying(claim, counted, bound)
        if satisfying is None:
            return None
        counted = satisfying
    return _Counted(counted, has_conditions=bool(conditions), is_bound=bound is not None)


def _is_filler(claim: ComputedClaim, word: str) -> bool:
    cues = claim.documents.cues
    names = ("lists", "sets", "total", "more", "fewer")
    return word.lower() in ignored_words() or any(cues.search(name, word) for name in names)


def _bound(claim: ComputedClaim) -> _Bound | None:
    for quantity in claim.parsed:
        if quantity == claim.quantity:
            continue
        first = max(quantity.start - 24, 0)
        for name, direction in (("more", 1), ("fewer", -1), ("later", 1), ("earlier", -1)):
            match = claim.documents.cues.search(name, claim.text, first, quantity.start)
            if match is not None:
                return _Bound(match.start(), quantity.end, quantity, direction)
    return None


def _satisfying(claim: ComputedClaim, rows: Sequence[int], bound: _Bound) -> list[int] | None:
    """Return the rows that keep to a bound; None if it may be one of several columns."""
    of_rows = set(rows)
    candidates = claim.documents.dates if bound.quantity.year else claim.documents.numbers
    values: list[Value] = []
    for value in candidates:
        is_comparable = bound.quantity.year or same_unit(value.quantity, bound.quantity)
        if is_comparable and value.record in of_rows:
            values.append(value)
    values = [value for value in values if claim.stems & value.words] or values
    if len({value.column for value in values}) != 1:
        return None
    limit = order_of(bound.quantity)
    return [
        value.record for value in values if (order_of(value.quantity) - limit) * bound.direction > 0
    ]


def _prose_stems(claim: ComputedClaim, owner: int) -> frozenset[str]:
    """Return the stems of the words beside the tables of a document."""
    stems: set[str] = set()
    for index, record in enumerate(claim.documents.records):
        if not record.cells and claim.documents.owners[index] == owner:
            stems.update(stems_of(record.text[:_MAX_CONTEXT]))
    return frozenset(stems)
