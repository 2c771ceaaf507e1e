"""Compares the values that a claim of an action names with its call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.quantities import Quantity, quantities
from resay.scorers.actions.calls import CallFacts, Leaf, excerpt
from resay.scorers.actions.claims import ActionClaim
from resay.scorers.actions.findings import Finding, contradicted_value, invented_value
from resay.scorers.actions.matching import Conversation, stems_of_verbs
from resay.scorers.actions.values import Source, Value, is_small, ordinal_of
from resay.scorers.actions.words import action_words, fields, stems

_NEAR_CHARS: Final = 24
# How far from a date what it is before or after is named.
_BEFORE_CHARS: Final = 40
_AFTER_CHARS: Final = 20
_MAX_COUNTED: Final = 12
_MONEY: Final = lazy_pattern(r"price|cost|total|amount|value|fee|balance")
# "6 pm your time", "18:00 CEST"
_ZONE: Final = lazy_pattern(
    r"\s*\(?(?:[A-Z]{2,4}T|UTC|GMT)\b|\s*(?i:[\w']{2,12} (?:local )?time|local time|ortszeit"
    r"|heure locale|hora local|ora locale)\b"
)
_ZONED: Final = lazy_pattern(r"\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:z|[+-]\d\d:?\d\d)\b")
_STAMP: Final = lazy_pattern(r"_at$|created|updated|modified|timestamp|issued")


def judge_value(
    claim: ActionClaim,
    value: Value,
    facts: CallFacts,
    candidates: Source,
    conversation: Conversation,
) -> Finding | None:
    """Judge a value that a claim names which is otherwise borne out."""
    own = conversation.source_of(facts)
    if own.has(value):
        contrary = _counted_otherwise(claim, value, facts, conversation)
        if contrary is None:
            return None
        reason = f"{facts.label} says {contrary}"
        return contradicted_value(value, conversation.text, reason, facts, contrary)
    if value.quantity is not None and _is_between_dates(value.quantity, facts):
        return None
    is_duration = value.quantity is not None and value.quantity.unit == "s"
    contrary = None if facts.reads or is_duration else _contrary(value, facts, conversation)
    if contrary is None and own.yields(value):
        return None
    if value.is_name:
        is_there = conversation.all_calls.has(value) or conversation.told.has(value)
        return None if is_there else invented_value(value)
    if candidates.has(value) or (claim.voice == "passive" and conversation.all_calls.has(value)):
        return None
    if value.kind in ("date", "clock", "weekday"):
        return _judge_time(value, facts, own, conversation)
    return _judge_number(value, facts, candidates, contrary, conversation)


def _judge_number(
    value: Value,
    facts: CallFacts,
    candidates: Source,
    contrary: str | None,
    conversation: Conversation,
) -> Finding | None:
    """Judge a number that is not the call's.

    Args:
        value: The number.
        facts: The call.
        candidates: The calls that the claim may be about.
        contrary: The field of the call that has another number, if one is called like it.
        conversation: The log of calls, and what was written.
    """
    quantity = value.quantity
    if quantity is None or quantity.low == conversation.count_of_successes(facts):
        return None
    if conversation.source_of(facts).has_time(quantity):
        return None
    if contrary is None and not facts.reads and not candidates.yields(value):
        contrary = _contrary(value, facts, conversation, any_field=True)
    if contrary is not None:
        reason = f"{facts.label} says {contrary}"
        return contradicted_value(value, conversation.text, reason, facts, contrary)
    called = conversation.all_calls
    if is_small(value) or conversation.told.has(value) or called.has(value):
        return None
    is_derived = called.yields(value) or not conversation.has_few_numbers
    return None if is_derived else invented_value(value)


def _counted_otherwise(
    claim: ActionClaim, value: Value, facts: CallFacts, conversation: Conversation
) -> str | None:
    """Return the field that is called like the verb and has another number.

    "I deleted the 14 rows", and a result with `matched: 14, deleted: 12`.
    """
    quantity = value.quantity
    if quantity is None or quantity.unit or facts.reads:
        return None
    verbs = stems_of_verbs(claim, conversation.words)
    for leaf in facts.result_leaves:
        is_like = not verbs.isdisjoint(stems(leaf.key, conversation.words))
        if is_like and leaf.number is not None and leaf.number != quantity.low:
            return f"{leaf.key}: {leaf.value}"
    return None


def _judge_time(
    value: Value, facts: CallFacts, own: Source, conversation: Conversation
) -> Finding | None:
    """Judge a date, a weekday or a time that is not the call's."""
    requested = conversation.requested
    if value.kind == "clock" and requested.has(value) and own.shares_clock(requested):
        # "Moved from 9 to 10"
        return None
    if value.kind == "date" and requested.has(value):
        dated = [leaf for leaf in facts.leaves if days_of(leaf)]
        if not dated or is_of_other_date(value, dated, conversation):
            return None
    if value.kind == "clock" and own.has_clock_elsewhere(value):
        # "6 pm your time", and what the user calls 6 pm and a tool 16:00Z
        is_zoned = requested.has(value) and _ZONED.search(facts.text) is not None
        if is_zoned or _ZONE.match(conversation.text, value.end):
            return None
    comparable = own.dates if value.kind in ("date", "weekday") else own.has_clock
    if comparable and not facts.reads:
        reason, quote = f"{facts.label} says otherwise", excerpt(facts.arguments_text)
        return contradicted_value(value, conversation.text, reason, facts, quote)
    return None


def _contrary(
    value: Value, facts: CallFacts, conversation: Conversation, *, any_field: bool = False
) -> str | None:
    """Return the field of a call that has another number than is claimed, as text."""
    leaf = contrary_leaf(value, facts, conversation, any_field=any_field)
    return None if leaf is None else f"{leaf.key}: {leaf.value}"


def contrary_leaf(
    value: Value, facts: CallFacts, conversation: Conversation, *, any_field: bool = False
) -> Leaf | None:
    """Return the field of a call that has another number than is claimed, if there is one.

    Args:
        value: The number.
        facts: The call.
        conversation: The log of calls, and what was written.
        any_field: Whether any field with a number counts, or only one that is called like what
            is counted: "two nights", `nights`.
    """
    quantity = value.quantity
    if quantity is None or quantity.unit == "ordinal" or facts.is_unknown:
        return None
    around = slice(max(0, value.start - _NEAR_CHARS), value.end + _NEAR_CHARS)
    near = conversation.text[around].lower()
    near_words, near_things = set(_stems_of(near)), conversation.words.things_in(near).keys()
    others: list[Leaf] = []
    for leaf in reversed(facts.leaves):
        # What the answer says itself is in no other number's place.
        if not _is_number(leaf) or _is_in_answer(leaf, conversation):
            continue
        key = leaf.key.replace("_", " ")
        key_things = action_words("en").things_in(key).keys()
        shares = near_words & set(_stems_of(key)) or near_things & key_things
        if shares:
            return leaf
        if _is_of_kind(quantity, leaf):
            others.append(leaf)
    return others[0] if any_field and others else None


def _is_in_answer(leaf: Leaf, conversation: Conversation) -> bool:
    numbers = quantities(str(leaf.value))
    return any(number.agrees(other) for number in numbers for other in conversation.quantities)


def _is_between_dates(quantity: Quantity, facts: CallFacts) -> bool:
    """Return whether a number may be the days or nights from one date of a call to another."""
    if quantity.unit not in ("", "s"):
        return False
    days: list[int] = []
    for leaf in facts.leaves:
        days += filter(None, map(ordinal_of, days_of(leaf)))
    if not days:
        return False
    nights = max(days) - min(days)
    return nights > 0 and quantity.plain in (nights, nights + 1)


def _is_number(leaf: Leaf) -> bool:
    """Return whether a field has a number of something."""
    value = leaf.value
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return False
    if isinstance(value, str) and not re.fullmatch(r"\d+(?:[.,]\d+)?", value):
        return False
    is_counting = fields().counting.search(leaf.key) or leaf.key in fields().counts
    return bool(is_counting) and not re.search(r"ms$|_id$|^id$|time|bytes", leaf.key)


def _is_of_kind(quantity: Quantity, leaf: Leaf) -> bool:
    """Return whether a field may have a number in place of another: no amount for a count."""
    is_whole = re.fullmatch(r"\d+(?:\.0)?", str(leaf.value)) is not None
    if quantity.unit == "" and _MONEY.search(leaf.key):
        return False
    if quantity.unit == "" and quantity.low <= _MAX_COUNTED:
        return is_whole or quantity.low != int(quantity.low)
    is_measure = quantity.unit in ("m", "kg", "s", "K", "B", "share")
    return not (is_measure and (leaf.key in fields().counts or _MONEY.search(leaf.key)))


def _stems_of(text: str) -> list[str]:
    """Return the beginnings of the words of a text."""
    return [word[:5] for word in re.findall(r"[^\W\d_]{3,}", text)]


def is_of_other_date(value: Value, dated: Sequence[Leaf], conversation: Conversation) -> bool:
    """Return whether a date that the user named need not be that of a call.

    "The day before 4 March"; "from 9 October to 19 October", where the call has only the latter.

    Args:
        value: The date.
        dated: The fields of the call that have dates.
        conversation: The log of calls, and what was written.
    """
    if any(is_told(days_of(leaf), conversation) for leaf in dated):
        return True
    parts = [(conversation.text, value.start, value.end)]
    parts += (
        (conversation.request, number.start, number.end)
        for number in quantities(conversation.request)
        if value.quantity is not None and value.quantity.agrees(number)
    )
    words = conversation.words
    for text, start, end in parts:
        around = text[max(0, start - _BEFORE_CHARS) : end + _AFTER_CHARS].lower()
        if words.earlier.search(around) or words.later.search(around):
            return True
    return False


def days_of(leaf: Leaf) -> list[Quantity]:
    """Return the dates in a field, but for when a record was written."""
    if not isinstance(leaf.value, str) or _STAMP.search(leaf.key):
        return []
    numbers = quantities(leaf.value.replace("T", " "))
    return [number for number in numbers if number.kind == "date" and number.day is not None]


def is_told(numbers: Sequence[Quantity], conversation: Conversation) -> bool:
    """Return whether the user asked for one of some numbers, or the answer has it."""
    told = [*conversation.requested.quantities, *conversation.quantities]
    return any(number.agrees(other) for number in numbers for other in told)
