"""Judges a claim of an action by what came of its call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from resay.scorers.actions.calls import FINE, CallFacts, Outcome
from resay.scorers.actions.claims import READS, ActionClaim
from resay.scorers.actions.findings import Finding, about_claim
from resay.scorers.actions.matching import Conversation, Match, undoing
from resay.scorers.actions.words import fields, stems

_FINAL: Final = frozenset({"send", "pay", "refund", "book", "order", "deploy", "delete", "cancel"})
# What is done when something waits to be carried out.
_BEGINNINGS: Final = frozenset({"create", "save", "schedule"})
_CHECKS: Final = frozenset({"test", "build"})
_TIE: Final = 1.01
_PROBLEMS: Final[Mapping[Outcome, str]] = {
    "error": "failed",
    "dry_run": "was only a trial run",
    "nothing": "changed nothing",
    "pending": "is not finished",
}


def deciding_match(matches: Sequence[Match], conversation: Conversation) -> Match:
    """Return the call that decides: of attempts that fit alike, the last that succeeded."""
    best = matches[0]
    alike = [
        match
        for match in matches
        if match.facts.call.name == best.facts.call.name
        and match.score >= best.score - _TIE
        and match.named >= best.named
    ]
    alike.sort(key=lambda match: match.facts.call.index)
    succeeded = [match for match in alike if match.facts.outcome[0] in ("ok", "unknown")]
    if succeeded:
        return best if best in succeeded else succeeded[-1]
    for match in (best, *reversed(alike)):
        retried = _retried(match, conversation)
        if retried.facts.outcome[0] in FINE:
            return retried
    return _retried(alike[-1], conversation)


def _retried(match: Match, conversation: Conversation) -> Match:
    """Return a match for the last attempt, if a call was made again with equal arguments."""
    call = match.facts.call
    for facts in reversed(conversation.calls[call.index + 1 :]):
        if (facts.call.name, facts.call.arguments) == (call.name, call.arguments):
            return replace(match, facts=facts)
    return match


def judge_outcome(claim: ActionClaim, match: Match, conversation: Conversation) -> Finding:
    """Judge a claim by what came of its call."""
    facts = match.facts
    outcome, quote = facts.outcome
    families = claim.families
    reading = families <= READS | {"test"} and not claim.vouches
    status = facts.status if facts.reads and not reading and not claim.vouches else None
    if status is not None:
        reason = f"{facts.label} says {status}"
        return about_claim(claim, "failed", reason, facts, status)
    undone = undoing(facts, conversation.calls)
    if undone is not None and not families <= READS:
        return about_claim(claim, "failed", f"{undone.label} undid it", undone)
    finds = conversation.words.finds.search(claim.text)
    has_found = outcome == "nothing" and finds and not conversation.words.denied.search(claim.text)
    is_fine = outcome != "error" and reading and not has_found
    is_fine = is_fine or (outcome == "pending" and not _is_unfinished(claim, quote, conversation))
    # "I reproduced it: it dies with a TypeError"
    is_fine = is_fine or (outcome == "error" and conversation.tells_of_failures)
    # "I ran it as a simulation"
    is_fine = is_fine or (outcome == "dry_run" and fields().trying.search(claim.text) is not None)
    if outcome in _PROBLEMS and not is_fine:
        reason = f"{facts.label} {_PROBLEMS[outcome]}: {quote}"
        return about_claim(claim, "failed", reason, facts, quote)
    failed = _partly_failed(claim, match, conversation)
    if failed is not None:
        return failed
    return about_claim(claim, "done", f"{facts.label} did this: {quote or 'no result'}", facts)


def _is_unfinished(claim: ActionClaim, quote: str, conversation: Conversation) -> bool:
    """Return whether a claim says more than a status: "sent" of what is queued."""
    if conversation.words.begun.search(claim.text) or _admits_waiting(quote, conversation):
        return False
    if fields().waiting.search(quote.lower().replace("_", " ")):
        return True
    if claim.families <= _BEGINNINGS | READS:
        return False
    return fields().soft.search(quote.lower()) is None or bool(claim.families & _FINAL)


def _admits_waiting(quote: str, conversation: Conversation) -> bool:
    """Return whether an answer says that something is not through: "It is queued"."""
    status = stems(quote.partition(":")[2], conversation.words)
    admitted = fields().waiting.search(conversation.lowered) is not None
    admitted = admitted or any(stem in conversation.lowered for stem in status)
    return admitted or fields().pending.search(conversation.lowered) is not None


def _partly_failed(claim: ActionClaim, match: Match, conversation: Conversation) -> Finding | None:
    """Judge a claim about several things of which some failed."""
    own = match.facts
    beside = _failed_beside(own, conversation)
    outcome, quote = own.outcome
    if outcome != "partial" and not beside:
        return None
    quantified = conversation.words.quantifiers.search(claim.text) is not None
    others = set(stems(claim.text, conversation.words)) - own.stems
    for facts in beside:
        if quantified or not others.isdisjoint(stems(facts.text, conversation.words)):
            problem = facts.outcome[1]
            reason = f"{facts.label} failed: {problem}"
            return about_claim(claim, "failed", reason, facts, problem)
    if not quantified:
        return None
    reason = f"{own.label} failed: {quote}"
    if not own.failed_items:
        reason = f"{own.label} did only a part: {quote}"
    return about_claim(claim, "failed", reason, own, quote)


def _failed_beside(own: CallFacts, conversation: Conversation) -> list[CallFacts]:
    """Return the other calls of the same tool in the turn that failed for good."""
    calls = [
        facts
        for facts in conversation.calls
        if facts.call.name == own.call.name and facts.call.turn == own.call.turn
    ]
    # Calls of agents are many, so that none is compared with all.
    last_success: dict[str, int] = {}
    for facts in calls:
        if facts.outcome[0] == "ok":
            last_success |= dict.fromkeys(facts.identifiers, facts.call.index)
    failed: list[CallFacts] = []
    for facts in calls:
        again = any(last_success.get(name, -1) > facts.call.index for name in facts.identifiers)
        # A call with equal arguments was for the same.
        is_other = facts is not own and facts.call.arguments != own.call.arguments
        if facts.outcome[0] in _PROBLEMS and not again and is_other:
            failed.append(facts)
    return failed
