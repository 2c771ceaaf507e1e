"""Finds the values that the user asked for where a call has others: size 43, and `size: 41`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from resay.core.quantities import quantities
from resay.scorers.actions.calls import FINE, CallFacts, Leaf
from resay.scorers.actions.claims import ReadSentence
from resay.scorers.actions.details import contrary_leaf, days_of, is_of_other_date, is_told
from resay.scorers.actions.findings import Finding, contradicted_value
from resay.scorers.actions.matching import Conversation
from resay.scorers.actions.values import Value


def substituted_in(
    sentence: ReadSentence, findings: Sequence[Finding], conversation: Conversation
) -> Iterator[Finding]:
    """Yield the values of a sentence that the user asked for, and in whose place a call has others.

    Args:
        sentence: The sentence.
        findings: What is found about it so far.
        conversation: The log of calls, and what was written.
    """
    line = sentence.sentence.text.lower()
    words = conversation.words
    if not sentence.asserts or words.denied.search(line):
        return
    for value in conversation.values_in(sentence.sentence.start, sentence.sentence.end):
        is_flagged = any(f.flagged and f.start <= value.start < f.end for f in findings)
        if is_flagged or not _is_only_requested(value, conversation):
            continue
        for facts in conversation.of_turn:
            if facts.reads or facts.outcome[0] not in FINE:
                continue
            other = _other_value(value, facts, conversation)
            if other is not None:
                quote = f"{other.key}: {other.value}"
                reason = f"{facts.label} says {quote}"
                yield contradicted_value(value, conversation.text, reason, facts, quote)
                break


def _is_only_requested(value: Value, conversation: Conversation) -> bool:
    """Return whether the user asked for a value, and no call has or yields it."""
    if value.kind not in ("date", "number") or value.quantity is None:
        return False
    if value.quantity.unit == "ordinal" or not conversation.requested.has(value):
        return False
    return not (conversation.all_calls.has(value) or conversation.all_calls.yields(value))


def _other_value(value: Value, facts: CallFacts, conversation: Conversation) -> Leaf | None:
    """Return the field of a call that has what stands in a value's place, if there is one."""
    if value.kind == "number":
        leaf = contrary_leaf(value, facts, conversation)
        # "half an hour", and `minutes: 30`
        is_new = leaf is not None and not is_told(
            quantities(f"{leaf.value}; {leaf.value} {leaf.key}"), conversation
        )
        return leaf if is_new else None
    dated = [leaf for leaf in facts.argument_leaves if days_of(leaf)]
    if not dated or is_of_other_date(value, dated, conversation):
        return None
    return dated[0]
