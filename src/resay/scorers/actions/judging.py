"""Judges the claims of actions in an answer by the log of calls."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.passage import Passage
from resay.scorers.actions.additions import judge_additions
from resay.scorers.actions.calls import CHANGES, CallFacts
from resay.scorers.actions.claims import (
    ANY,
    OUTSIDE,
    READS,
    SUCCESS,
    ActionClaim,
    ReadSentence,
    read_sentences,
)
from resay.scorers.actions.details import judge_value
from resay.scorers.actions.findings import Finding, about_claim
from resay.scorers.actions.invented import invented_in
from resay.scorers.actions.matching import (
    Conversation,
    Match,
    has_object,
    most_are_in,
    objects_of,
    stems_of_verbs,
)
from resay.scorers.actions.missing_calls import finding_without_call
from resay.scorers.actions.outcomes import deciding_match, judge_outcome
from resay.scorers.actions.substitutions import substituted_in
from resay.scorers.actions.targets import of_another
from resay.scorers.actions.values import Source, Value
from resay.scorers.actions.words import fields, stems

_CHECKING: Final = frozenset({"test", "build"})
# Kinds of checks, of which one vouches for nothing that another checks.
_KINDS: Final = frozenset(
    {"test", "linter", "types", "build", "browser", "manual", "database", "migration"}
)
# How words begin that say of what was named before that it passes: "they all pass".
_SUBJECTS: Final = ("they ", "all ")
_BEFORE: Final = lazy_pattern(r"\bfirst\b")
# What a call may do that only hands on or notes something.
_FILED: Final = ANY | READS | SUCCESS | {"create", "save", "send", "notify", "schedule", "test"}
# What no tool does besides something else.
_OUTSIDE_OF_TOOLS: Final = OUTSIDE | {"commit", "push", "merge", "install", "deploy", "build"}


def judge_actions(passage: Passage, conversation: Conversation) -> list[list[Finding]]:
    """Return what is found about the claims of actions of each sentence, in order.

    Args:
        passage: The answer.
        conversation: The log of calls, and what was written.
    """
    sentences = read_sentences(passage, conversation.words)
    findings = [_findings_of(sentence, conversation) for sentence in sentences]
    judge_additions(sentences, findings, conversation)
    for sentence, found in zip(sentences, findings, strict=True):
        found += substituted_in(sentence, found, conversation)
        found += invented_in(sentence, found, conversation)
        found.sort(key=lambda finding: finding.start)
    return findings


def _findings_of(sentence: ReadSentence, conversation: Conversation) -> list[Finding]:
    findings: list[Finding] = []
    kinds = frozenset[str]()
    line, earlier = sentence.sentence.text.lower(), conversation.words.earlier
    for claim in sentence.claims:
        own = frozenset(conversation.words.things_in(claim.text).keys() & _KINDS)
        # "I ran the linter, and it is clean"
        kinds = own or kinds
        of_claim = _judge_claim(claim, kinds, conversation)
        is_pronoun = any(claim.words_of(verb).startswith(_SUBJECTS) for verb in claim.verbs)
        if not own and is_pronoun and (not kinds or _BEFORE.search(line) or earlier.search(line)):
            # "They all passed", before a change or whenever that was
            of_claim = [finding for finding in of_claim if finding.verdict != "not_done"]
        findings += of_claim
    return findings


def _judge_claim(
    claim: ActionClaim, kinds: Collection[str], conversation: Conversation
) -> list[Finding]:
    values = conversation.values_in(claim.start, claim.end)
    if claim.vouches:
        finding, matches = _judge_check(claim, kinds, conversation)
        if finding is None:
            return []
        return _with_details(claim, values, finding, matches, conversation)
    matches = _usable(claim, conversation.matches(claim, values), conversation)
    verbs = [claim.words_of(verb) for verb in claim.verbs]
    if claim.voice == "passive" and all(map(fields().failures.search, verbs)):
        # "It was rejected."
        return []
    if not matches:
        finding = finding_without_call(claim, conversation)
        return [] if finding is None else [finding]
    match = deciding_match(matches, conversation)
    finding = judge_outcome(claim, match, conversation)
    if claim.voice == "passive" and _only_reports(claim, match, finding, conversation):
        return []
    return _with_details(claim, values, finding, matches, conversation)


def _judge_check(
    claim: ActionClaim, kinds: Collection[str], conversation: Conversation
) -> tuple[Finding | None, list[Match]]:
    """Judge a claim that a check passes, which vouches only for what was before it.

    Args:
        claim: The claim.
        kinds: What it is about: tests, a linter.
        conversation: The log of calls, and what was written.
    """
    calls = conversation.calls
    checks = [facts for facts in calls if _checks(facts, kinds)]
    if not checks:
        if any(facts.is_broad or facts.delegates or facts.runs_code for facts in calls):
            # "The pipeline went through": whatever it runs.
            return None, []
        return about_claim(claim, "not_done", "no call checked it"), []
    last = checks[-1]
    if conversation.words.earlier.search(claim.text):
        # "The tests passed before I began"
        return judge_outcome(claim, Match(last, 0, is_exact=True), conversation), []
    for later in calls[last.call.index + 1 :]:
        if later.families & CHANGES and later.changes_file:
            reason = f"{last.label} was before the change by {later.label}"
            return about_claim(claim, "not_done", reason, later), []
    match = Match(last, 0, is_exact=True)
    return judge_outcome(claim, match, conversation), [match]


def _checks(facts: CallFacts, kinds: Collection[str]) -> bool:
    """Return whether a call makes a check of one of some kinds: the tests, the linter."""
    if facts.delegates:
        return True
    own = facts.english_things & _KINDS
    if not facts.families & _CHECKING:
        return facts.is_broad and bool(own.intersection(kinds))
    return not kinds or not own or bool(own.intersection(kinds))


def _only_reports(
    claim: ActionClaim, match: Match, finding: Finding, conversation: Conversation
) -> bool:
    """Return whether a claim only tells what a result says, of others or of a failure."""
    is_other = not match.is_exact and "succeed" not in claim.families
    if is_other and conversation.is_told_by_results(claim):
        return True
    claimed = stems(claim.text, conversation.words)
    quoted = frozenset(stems(finding.quote, conversation.words))
    says_so = not quoted.isdisjoint(stems_of_verbs(claim, conversation.words))
    return finding.verdict == "failed" and says_so and most_are_in(claimed, quoted)


def _usable(claim: ActionClaim, matches: list[Match], conversation: Conversation) -> list[Match]:
    """Return the calls that do something near only where they share what it is done to."""
    families = claim.families
    things = conversation.words.things_in(claim.text).keys()
    objects = objects_of(claim, conversation.words)
    # In another language than the arguments', words cannot be shared.
    names_none = not things and (conversation.words.code != "en" or not objects)
    changes = bool(families - READS - {"test"})
    usable: list[Match] = []
    for match in matches:
        facts = match.facts
        # "I opened a claim" is no reading, though a page is opened by reading it.
        is_exact = match.is_exact and not (changes and facts.reads)
        # "I committed them" needs more than a tool of an unknown kind.
        is_outside = bool(families & _OUTSIDE_OF_TOOLS) and facts.is_unknown
        shares = has_object(objects, things, facts) or match.named > 0
        shares = shares or (match.valued > 0 and bool(families & ANY))
        is_free = names_none and not is_outside
        if not shares and _is_other_check(claim, facts, conversation):
            continue
        if _only_files(claim, facts, conversation):
            continue
        if is_exact or shares or is_free or facts.may_do(families):
            usable.append(match)
    return usable


def _only_files(claim: ActionClaim, facts: CallFacts, conversation: Conversation) -> bool:
    """Return whether a call only hands on or notes what a user asked to be done.

    `create_ticket(topic="password reset")` resets no password.
    """
    if not facts.is_filing or claim.families & (facts.families | _FILED):
        return False
    verbs = stems_of_verbs(claim, conversation.words)
    if not verbs.isdisjoint(stems(" ".join(facts.name_tokens), conversation.words)):
        # `create_cancel_request`
        return False
    things = conversation.words.things_in(claim.text).keys()
    # "I marked it urgent" is about the ticket.
    is_of_another = bool(things) and things.isdisjoint(facts.filed_things)
    return is_of_another and conversation.asks_for_verb(claim)


def _is_other_check(claim: ActionClaim, facts: CallFacts, conversation: Conversation) -> bool:
    """Return whether a run of tests that failed is none of what is said to have been checked.

    "I verified that the booking shows up" is about the booking, whatever tests failed.
    """
    if facts.outcome[0] != "error" or not facts.families & _CHECKING:
        return False
    complements = conversation.words.complements
    names = complements.search(claim.text, claim.verbs[-1].end - claim.clause_start)
    names_kind = conversation.words.things_in(claim.text).keys() & _KINDS
    return names is not None and not names_kind


def _with_details(
    claim: ActionClaim,
    values: Sequence[Value],
    finding: Finding,
    matches: list[Match],
    conversation: Conversation,
) -> list[Finding]:
    """Return a finding with those about the values that its claim names."""
    if finding.flagged or not matches:
        return [finding]
    details: list[Finding] = []
    deciding = next(
        (m.facts for m in matches if finding.call and m.facts.call is finding.call),
        matches[0].facts,
    )
    candidates = Source(calls=[match.facts for match in matches])
    other = of_another(claim, values, deciding, candidates, conversation)
    if other is not None:
        return [other]
    for value in values:
        detail = judge_value(claim, value, deciding, candidates, conversation)
        if detail is not None:
            details.append(detail)
    return [finding, *details]
