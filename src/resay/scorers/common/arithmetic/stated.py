"""Numbers that a claim gives without saying how it got them.

They may be of something else: "The Garmo bridge opened in 1950", which the tunnel did. Or they are
computed without a word: "It lived to be 68", of years of birth and death.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, product

from resay.core.quantities import Quantity
from resay.scorers.common.arithmetic.chance import chance_of, is_by_chance
from resay.scorers.common.arithmetic.claim import ComputedClaim, Subject
from resay.scorers.common.arithmetic.durations import amounts_between
from resay.scorers.common.arithmetic.result import (
    ComputedResult,
    agrees,
    amount,
    is_money,
    order_of,
    same_unit,
)
from resay.scorers.common.arithmetic.totals import sum_of
from resay.scorers.common.arithmetic.values import Value
from resay.scorers.common.contrast import parts_of
from resay.scorers.common.words import stems_of

_DAY_S = 86_400
_MINUTE_S = 60
# Times of a day, in steps of five minutes.
_TIMES_OF_DAY = 288
_MAX_AGE = 120
# Few enough numbers of a sentence to try what they give.
_MAX_NUMBERS = 6
# Few enough numbers of documents to try with one of the answer.
_MAX_OPERANDS = 24


def stated(claim: ComputedClaim) -> ComputedResult | None:
    """Return what documents give for a number; None if they say nothing else of it."""
    if claim.is_in_name(claim.quantity):
        return None
    computed = _shifted(claim)
    if computed is None and not claim.is_stated():
        computed = _age(claim) or _between_times(claim) or _complete_sum(claim) or derived(claim)
    return computed or _of_another(claim)


# Values of something else.


def _of_another(claim: ComputedClaim) -> ComputedResult | None:
    """Return the value of a claim's subject, if the claim gives that of another subject."""
    quantity = claim.quantity
    candidates = [
        value
        for value in claim.documents.by_unit.get(quantity.unit, ())
        if value.identity and _have_same_parts(value.quantity, quantity)
    ]
    agreeing = [value for value in candidates if quantity.agrees(value.quantity)]
    if not agreeing or len(agreeing) == len(candidates):
        return None
    subject, clause = _subject_of_clause(claim, candidates)
    if subject is None or any(value in agreeing for value in subject.values):
        return None
    own = {value.identity for value in subject.values}
    stems = frozenset(stem for stem, start, _ in claim.words if clause[0] <= start < clause[1])
    if not quantity.unit and not quantity.year_or_date and claim.noun:
        # "Four guests" is no rating of 4.
        stems &= frozenset(stems_of(claim.noun))
    for value in claim.meant(subject.values, *clause)[:1]:
        for other in agreeing:
            is_other = all(not identity <= other.identity for identity in own)
            is_alike = not claim.documents.is_table(value) or value.column == other.column
            if is_other and is_alike and stems & value.words & other.words:
                return ComputedResult(
                    is_right=False,
                    arithmetic=value.written,
                    records=frozenset((value.record,)),
                    covers=(),
                    number=claim.number_span,
                    operands=(value,),
                )
    return None


def _have_same_parts(quantity: Quantity, other: Quantity) -> bool:
    """Whether two numbers, or two dates, can be told apart: "1 July" is no other year than 2018."""
    if not quantity.year_or_date or not other.year_or_date:
        return quantity.year_or_date == other.year_or_date
    has_years = quantity.year is not None and other.year is not None
    return has_years or (quantity.month is not None and other.month is not None)


def _subject_of_clause(
    claim: ComputedClaim, candidates: Sequence[Value]
) -> tuple[Subject | None, tuple[int, int]]:
    """Return the only subject of the number's clause, or before it, and the clause."""
    subjects = claim.identified(candidates)
    clauses = parts_of(claim.text)
    own_clause = next(c for c in reversed(clauses) if c[0] <= claim.quantity.start)
    for index in range(clauses.index(own_clause), -1, -1):
        start, end = clauses[index]
        in_clause = [subject for subject in subjects if start <= subject.start < end]
        if any(claim.is_compared_with(subject) for subject in in_clause):
            return None, own_clause
        if in_clause:
            is_listed = index > 0 and _lists_subject(claim, clauses[index - 1], subjects)
            is_only = len(in_clause) == 1 and not is_listed
            return (in_clause[0] if is_only else None), own_clause
        if claim.has_unknown_name(start, end, candidates):
            return None, own_clause
    return claim.identified_before(candidates), own_clause


def _lists_subject(
    claim: ComputedClaim, clause: tuple[int, int], subjects: Sequence[Subject]
) -> bool:
    """Whether a clause names a subject without a number: "A and B opened in 1932 and 1950"."""
    start, end = clause
    has_subject = any(start <= subject.start < end for subject in subjects)
    return has_subject and not any(start <= q.start < end for q in claim.parsed)


# Values computed without a word.


def _shifted(claim: ComputedClaim) -> ComputedResult | None:
    """Return a time of the answer with a duration of a document added or taken away."""
    quantity = claim.quantity
    if quantity.unit != "clock":
        return None
    times = {
        other.low
        for other in (*claim.parsed, *claim.parsed_before)
        if other.unit == "clock" and other.low != quantity.low
    }
    durations = [
        value
        for value in claim.documents.values
        if value.quantity.unit == "s" and value.quantity.scale < _DAY_S
    ]
    if is_by_chance(2 * len(times) * len(durations) / _TIMES_OF_DAY):
        return None
    known = [
        value
        for value in claim.documents.values
        if value.quantity.unit == "clock" and value.quantity.low in times
    ]
    for time, duration in product(known, durations):
        minutes = duration.quantity.low / _MINUTE_S
        for sign, shifted in (("+", minutes), ("-", -minutes)):
            if time.quantity.low + shifted == quantity.low:
                written = claim.written(quantity)
                return ComputedResult(
                    is_right=True,
                    arithmetic=f"{written} = {time.written} {sign} {duration.written}",
                    records=frozenset((time.record, duration.record)),
                    covers=claim.covers,
                    number=claim.number_span,
                )
    return None


def _age(claim: ComputedClaim) -> ComputedResult | None:
    """Return the years between two dates of a sentence of a document, or of the answer."""
    quantity = claim.quantity
    if quantity.unit not in ("", "year") or not 2 <= quantity.plain <= _MAX_AGE:
        return None
    answered = [q for q in (*claim.parsed, *claim.parsed_before) if q.year is not None]
    dates = claim.documents.dates
    known = [v for v in dates if any(v.quantity.agrees(q) for q in answered)]
    by_sentence: defaultdict[tuple[int, int], list[Value]] = defaultdict(list)
    for value in dates:
        if claim.stems & (value.labels | value.subject):
            by_sentence[value.sentence].append(value)
    groups = [known, *by_sentence.values()]
    pairs = [pair for group in groups if len(group) == 2 for pair in combinations(group, 2)]
    if len(known) == 1:
        # "She was 34 when it was played in 1928", of a document that says when she was born.
        others = [value for values in by_sentence.values() for value in values]
        pairs += ((known[0], other) for other in others if other.sentence != known[0].sentence)
    if is_by_chance(2 * len(pairs) / _MAX_AGE):
        return None
    for first, second in pairs:
        earlier, later = sorted((first, second), key=lambda value: order_of(value.quantity))
        years = amounts_between(earlier.quantity, later.quantity, quantity)
        if not (earlier.quantity.month and later.quantity.month):
            # The birthday may be still to come.
            years = [*years, *(year - 1 for year in years[:1])]
        if any(agrees(quantity, each) for each in years):
            sign = f"{later.written} - {earlier.written}"
            return claim.result(quantity.low, sign, (earlier, later), is_right=True)
    return None


def _between_times(claim: ComputedClaim) -> ComputedResult | None:
    """Return what lies between two times of a row or a document, or of the answer."""
    quantity = claim.quantity
    if quantity.unit != "s" or quantity.scale >= _DAY_S:
        return None
    times = claim.documents.by_unit.get("clock", ())
    answered = {q.low for q in (*claim.parsed, *claim.parsed_before) if q.unit == "clock"}
    by_record: defaultdict[int, list[Value]] = defaultdict(list)
    for value in times:
        by_record[value.record].append(value)
    groups = [[value for value in times if value.quantity.low in answered], *by_record.values()]
    pairs = [
        pair for group in groups if len(group) <= _MAX_NUMBERS for pair in combinations(group, 2)
    ]
    if is_by_chance(len(pairs) / _TIMES_OF_DAY):
        return None
    for earlier, later in pairs:
        (seconds,) = amounts_between(earlier.quantity, later.quantity, quantity)
        if seconds and agrees(quantity, seconds):
            sign = f"{later.written} - {earlier.written}"
            return claim.result(seconds, sign, (earlier, later), is_right=True)
    return None


def _complete_sum(claim: ComputedClaim) -> ComputedResult | None:
    """Return the sum of all values of a sentence, a document or a column, if it is the number."""
    quantity = claim.quantity
    if quantity.year_or_date:
        return None
    sums = [
        values
        for values in claim.documents.complete_groups
        if same_unit(values[0].quantity, quantity)
    ]
    if is_by_chance(chance_of(quantity, len(sums)) / 2):
        return None
    for values in sums:
        computed = sum(amount(value.quantity) for value in values)
        if agrees(quantity, computed):
            return claim.result(computed, sum_of(values), values, is_right=True)
    return None


def derived(claim: ComputedClaim) -> ComputedResult | None:
    """Return what two numbers give that belong together, if it is the number."""
    quantity = claim.quantity
    if quantity.year_or_date or quantity.unit in ("share", "clock", "ordinal"):
        return None
    tried = [
        (computed, arithmetic, operands)
        for computed, arithmetic, operands in _derivations(claim)
        if computed > 0
    ]
    if is_by_chance(chance_of(quantity, len(tried))):
        return None
    for computed, arithmetic, operands in tried:
        if agrees(quantity, computed):
            return claim.result(computed, arithmetic, operands, is_right=True)
    return None


def _derivations(claim: ComputedClaim) -> Iterator[tuple[float, str, tuple[Value, ...]]]:
    """Yield the products, differences, sums and rebates that numbers of the answer give.

    One of the two is a number that the answer states, or both are in one sentence of a document
    that says little else.
    """
    quantity = claim.quantity
    answered = [
        (
            other,
            claim.written(other)
            if other in claim.parsed
            else claim.before[other.start : other.end],
        )
        for other in (*claim.parsed, *claim.parsed_before)
        if other != quantity and not other.year_or_date and other.unit not in ("ordinal", "clock")
    ]
    units = {other.unit for other, _ in answered} if not quantity.unit else {quantity.unit}
    for values in claim.documents.numbers_by_sentence.values():
        if len(values) > _MAX_NUMBERS:
            values = [value for value in values if value.quantity.unit in units]
        if not 2 <= len(values) <= _MAX_NUMBERS:
            continue
        for first, second in combinations(values, 2):
            for computed, sign in _results_of(first.quantity, second.quantity, quantity, units):
                arithmetic = f"{first.written} {sign} {second.written}"
                yield computed, arithmetic, (first, second)
    percents = [v for v in claim.documents.numbers if v.quantity.unit == "share"]
    for other, written in answered:
        for percent in percents[:_MAX_NUMBERS]:
            for computed, sign in _results_of(other, percent.quantity, quantity, units):
                yield computed, f"{written} {sign} {percent.written}", (percent,)
    yield from _with_stated_number(claim, answered, units)


def _with_stated_number(
    claim: ComputedClaim, answered: Sequence[tuple[Quantity, str]], units: Collection[str]
) -> Iterator[tuple[float, str, tuple[Value, ...]]]:
    """Yield what a number that answer and documents state gives with those of other sentences.

    "The city gives 300 euros, so you pay 349", of a price in another document.
    """
    groups = [claim.documents.by_unit.get(unit, ()) for unit in units]
    if sum(map(len, groups)) > _MAX_OPERANDS:
        return
    numbers = [value for group in groups for value in group if not value.quantity.year_or_date]
    for other, written in answered:
        stated = next((value for value in numbers if other.agrees(value.quantity)), None)
        if stated is None:
            continue
        for value in numbers:
            if value.sentence != stated.sentence:
                for computed, sign in _results_of(value.quantity, other, claim.quantity, units):
                    yield computed, f"{value.written} {sign} {written}", (value, stated)


def _results_of(
    first: Quantity, second: Quantity, claimed: Quantity, units: Collection[str]
) -> Iterator[tuple[float, str]]:
    """Yield what two numbers give that can be in the unit of a third, or in one of several."""
    if first.unit == "share":
        first, second = second, first
    a, b = amount(first), amount(second)
    is_of_first = first.unit == claimed.unit or (not claimed.unit and is_money(first.unit))
    if second.unit == "share":
        if is_of_first:
            yield a * (1 + b), "× 1 +"
            yield a * (1 - b), "× 1 -"
        return
    if first.unit == second.unit and first.unit in units:
        yield abs(a - b), "-"
        yield a + b, "+"
    is_price = is_money(first.unit) != is_money(second.unit)
    is_price = is_price and 1 not in (first.plain, second.plain)
    price = first if is_money(first.unit) else second
    if is_price and (price.unit == claimed.unit or not claimed.unit):
        number = second if price is first else first
        yield amount(price) * number.plain, "×"
