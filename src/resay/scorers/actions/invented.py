"""Finds the values of an answer that stand in no call, no result and no message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from resay.scorers.actions.claims import ReadSentence
from resay.scorers.actions.findings import Finding, invented_value
from resay.scorers.actions.matching import Conversation
from resay.scorers.actions.values import Value, has_like, is_small
from resay.scorers.actions.words import stems

_YEARS: Final = (1000, 2100)
_MIN_DIGITS: Final = 3


def invented_in(
    sentence: ReadSentence, findings: Sequence[Finding], conversation: Conversation
) -> list[Finding]:
    """Return the values of a sentence that stand nowhere, outside of claims judged before.

    Args:
        sentence: The sentence.
        findings: What was found about its claims.
        conversation: The log of calls, and what was written.
    """
    if not (sentence.asserts and conversation.log.is_whole):
        return []
    start, end = sentence.sentence.start, sentence.sentence.end
    line = conversation.text[start:end].lower()
    is_open = bool(conversation.words.open.search(line)) and not sentence.claims
    invented: list[Finding] = []
    values = conversation.values_in(start, end)
    beside = any(conversation.all_calls.has(value) for value in values if not is_small(value))
    for value in values:
        if any(
            f.start <= value.start < f.end and (f.flagged or f.verdict == "done") for f in findings
        ):
            continue
        if is_open or conversation.told.has(value) or conversation.all_calls.has(value):
            continue
        if not _is_checkable(value, conversation, beside=beside, claimed=bool(sentence.claims)):
            continue
        if value.kind == "number" and not (beside or _tells_of_results(line, value, conversation)):
            continue
        invented.append(invented_value(value))
    return invented


def _tells_of_results(line: str, value: Value, conversation: Conversation) -> bool:
    """Return whether a sentence is about what calls returned, and not about the world."""
    called = conversation.call_stems
    words = line.replace(value.text.lower(), " ")
    # "It used 3 GB" is about what the sentence before is about.
    continues = conversation.words.pronouns.match(line.lstrip()) is not None
    tells = any(stem in called for stem in stems(words, conversation.words))
    return conversation.words.code != "en" or continues or tells


def _is_checkable(value: Value, conversation: Conversation, *, beside: bool, claimed: bool) -> bool:
    """Return whether a value that stands nowhere must be made up.

    Args:
        value: The value.
        conversation: The log of calls, and what was written.
        beside: Whether its sentence has other values that are in the calls.
        claimed: Whether its sentence claims an action.
    """
    if value.kind == "quote":
        return bool(conversation.calls)
    if value.kind == "path" and claimed and conversation.of_turn:
        # "It is stored as a.tar"
        return True
    if value.is_name:
        before = conversation.text[max(0, value.start - 30) : value.start].lower()
        cued = conversation.words.near_number.search(before) is not None
        is_like = any(has_like(value, facts, results=True) for facts in conversation.calls)
        if value.kind == "id":
            return cued or is_like
        return is_like and bool(conversation.of_turn)
    quantity = value.quantity
    if quantity is None or value.kind != "number" or not conversation.of_turn:
        return False
    if quantity.unit == "" and value.text.isdigit() and _YEARS[0] <= quantity.low <= _YEARS[1]:
        return False
    exact = (
        quantity.digits >= (_MIN_DIGITS - 1 if beside and not quantity.about else _MIN_DIGITS)
        or quantity.step < quantity.scale
        or quantity.unit in ("share", "EUR", "USD", "$")
    )
    if not exact or quantity.unit == "ordinal" or conversation.all_calls.has_time(quantity):
        return False
    if not conversation.has_few_numbers:
        return False
    if conversation.all_calls.yields(value):
        return False
    return not conversation.told_and_called.yields(value)
