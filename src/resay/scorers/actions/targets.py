"""Compares what a claim says was acted on with what its calls were about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.action_verdict import ActionVerdict
from resay.scorers.actions.calls import CallFacts, excerpt
from resay.scorers.actions.claims import ActionClaim
from resay.scorers.actions.findings import Finding, about_claim
from resay.scorers.actions.matching import Conversation
from resay.scorers.actions.values import Source, Value, has_like
from resay.scorers.actions.words import fields

_ADDRESSED: Final = frozenset(
    {"send", "notify", "call", "pay", "refund", "schedule", "upload", "move", "create", "book"}
    | {"update"}
)
_NAME: Final = lazy_pattern(r"(?<![\w@./-])[A-ZÀ-ÞŁŚŻŽČŠА-ЯЁ][\w'’-]*[a-zà-ÿłśżа-яё][\w'’-]*")
_STEM: Final = 4
_LETTERS: Final = lazy_pattern(r"[a-z]+")


def of_another(
    claim: ActionClaim,
    values: Sequence[Value],
    facts: CallFacts,
    candidates: Source,
    conversation: Conversation,
) -> Finding | None:
    """Return that the call was for another recipient, file or object, if it was."""
    if facts.reads and "read" not in claim.families:
        return None
    return _of_another_value(claim, values, facts, candidates, conversation) or _of_another_name(
        claim, values, facts, candidates, conversation
    )


def _of_another_value(
    claim: ActionClaim,
    values: Sequence[Value],
    facts: CallFacts,
    candidates: Source,
    conversation: Conversation,
) -> Finding | None:
    for value in values:
        if not value.is_name or value.kind == "quote" or candidates.has(value):
            continue
        is_real = conversation.all_calls.has(value) or conversation.told.has(value)
        if is_real and has_like(value, facts):
            return _not_about(claim, value.text, facts)
    return None


def _of_another_name(
    claim: ActionClaim,
    values: Sequence[Value],
    facts: CallFacts,
    candidates: Source,
    conversation: Conversation,
) -> Finding | None:
    names = conversation.names_in(claim, values)
    strangers = [name for name in names if not _is_about(name, facts, candidates, conversation)]
    if strangers and conversation.words.quantifiers.search(claim.text):
        return _not_about(claim, strangers[0], facts, verdict="failed")
    if len(strangers) < len(names) or not strangers:
        return None
    # A call for somebody else: it names whom the claim does not.
    if _has_recipient(facts) and claim.families & _ADDRESSED:
        return _not_about(claim, strangers[0], facts)
    return None


def _is_about(name: str, facts: CallFacts, candidates: Source, conversation: Conversation) -> bool:
    if any(conversation.is_about(name, candidate) for candidate in candidates.calls):
        return True
    return bool(conversation.words.things_in(name)) or name in facts.words


def _has_recipient(facts: CallFacts) -> bool:
    return any(
        leaf.key in fields().recipients and isinstance(leaf.value, str) and leaf.value
        for leaf in facts.argument_leaves
    )


def _not_about(
    claim: ActionClaim, name: str, facts: CallFacts, verdict: ActionVerdict = "not_done"
) -> Finding:
    reason = f"{facts.label} is not about {name!r}"
    return about_claim(claim, verdict, reason, facts, excerpt(facts.arguments_text))
