"""Judges the claims of actions in an answer by the log of calls."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.action_verdict import ActionVerdict
from resay.core.call_log import LoggedCall
from resay.core.claim_verdict import PartKind
from resay.core.passage import Passage
from resay.core.quantities import quantities
from resay.scorers.actions.calls import PATHS, CallFacts, Leaf, Outcome, excerpt, solid
from resay.scorers.actions.claims import TEXT_WORK, ActionClaim, ReadSentence, read_sentences
from resay.scorers.actions.failures import PassedOver, passed_over
from resay.scorers.actions.matching import (
    Conversation,
    Match,
    objects_of,
    same_target,
    stems_of_verbs,
    undoing,
)
from resay.scorers.actions.values import Source, Value, ValueKind, is_small, quoted_in, values_in
from resay.scorers.actions.words import action_words, fields, stems

# Changes after which an earlier check vouches for nothing.
_CHANGES: Final = frozenset({"save", "create", "update", "delete", "move"})
_FINAL: Final = frozenset({"send", "pay", "refund", "book", "order", "deploy", "delete", "cancel"})
# What is done when something waits to be carried out.
_BEGINNINGS: Final = frozenset({"create", "save", "schedule"})
_READS: Final = frozenset({"search", "read"})
_DEVICES: Final = frozenset({"light", "heating", "blind", "door", "alarm", "music", "vacuum"})
_CHECK: Final[frozenset[str]] = frozenset({"test"})
_CHECKING: Final = frozenset({"test", "build"})
# Kinds of checks, of which one vouches for nothing that another checks.
_KINDS: Final = frozenset(
    {"test", "linter", "types", "build", "browser", "manual", "database", "migration"}
)
# What is done for somebody, and not to a text.
_OUTSIDE: Final = frozenset(
    {"notify", "refund", "cancel", "book", "order", "pay", "schedule", "send", "call"}
)
# What no tool does besides something else.
_OUTSIDE_OF_TOOLS: Final = _OUTSIDE | {"commit", "push", "merge", "install", "deploy", "build"}
_SUCCESS: Final = frozenset({"succeed"})
# What any change may have led to.
_ANY: Final = frozenset({"other", "state"})
_STATES: Final = frozenset({"on", "off", "open", "close"})
# Things that are acted on one by one, so that each that is named needs a call.
_TANGIBLE: Final = _DEVICES | {"flight", "train", "car", "taxi", "coupon", "photo", "backup"}
_ADDRESSED: Final = frozenset(
    {"send", "notify", "call", "pay", "refund", "schedule", "upload", "move", "create", "book"}
    | {"update"}
)
_NAME: Final = lazy_pattern(r"(?<![\w@./-])[A-ZÀ-ÞŁŚŻŽČŠА-ЯЁ][\w'’-]*[a-zà-ÿłśżа-яё][\w'’-]*")
_TITLED: Final = lazy_pattern(
    r"\b(?:an|mit|für|bei|Frau|Herrn?|von)\s+(?:(?:Frau|Herrn?|Dr\.)\s+)?\Z"
)
_SHOWN: Final = lazy_pattern(
    r"```|~~~|^[^\S\n]*>|[“„«「\"][^”“»」\"]{12,1000}[”“»」\"]", re.MULTILINE
)
_WORD_AT: Final = lazy_pattern(r"[^\W\d_][\w-]*")
_CLOSE_TO: Final = 12
_MOST: Final = 0.6
_YEARS: Final = (1000, 2100)
_MIN_DIGITS: Final = 3
_MAX_NAME: Final = 40
_MIN_NAME: Final = 3
_NEAR_CHARS: Final = 24
# The word before a number, or two if the nearest is short, and the word after it.
_WORDS_BEFORE: Final = lazy_pattern(
    r"(?:(?<!\w)[^\W\d_]+ (?=[^\W\d_]{1,4} \S*\Z))?(?<!\w)[^\W\d_]+ (?=\S*\Z)"
)
_TWO_WORDS: Final = lazy_pattern(r"(?<!\w)[^\W\d_]+ [^\W\d_]+ \Z")
_WORD_AFTER: Final = lazy_pattern(r" [^\W\d_]+")
_MAX_PHRASE: Final = 30
_KEY_WORD: Final = lazy_pattern(r"(?<![^\W_])[a-z]+\d+|[a-z]{4,}")
_LABEL: Final = 4
_JOIN: Final = 2
_EPSILON: Final = 1e-6
_TIE: Final = 1.01
_FINE: Final = frozenset({"ok", "unknown", "partial"})
_PROBLEMS: Final[Mapping[Outcome, str]] = {
    "error": "failed",
    "dry_run": "only tried",
    "nothing": "changed nothing",
    "pending": "is not through",
}
_PART_KINDS: Final[Mapping[ValueKind, PartKind]] = {
    "number": "number",
    "date": "date",
    "clock": "date",
    "weekday": "date",
    "address": "link",
    "id": "name",
    "path": "name",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What is found about some words of an answer.

    Attributes:
        start: Where they start.
        end: Where they end.
        verdict: The verdict.
        reason: Why, in one line.
        call: The call that bears them out or says otherwise.
        quote: The words of its result or its arguments that say otherwise.
        kind: What the words are.
        in_doubt: Whether a judge could still find a call.
    """

    start: int
    end: int
    verdict: ActionVerdict
    reason: str
    call: LoggedCall | None = None
    quote: str = ""
    kind: PartKind = "other"
    in_doubt: bool = False

    @property
    def flagged(self) -> bool:
        """Whether it is not done."""
        return self.verdict != "done"


def judge_actions(passage: Passage, conversation: Conversation) -> list[list[Finding]]:
    """Return what is found about the claims of actions of each sentence, in order.

    Args:
        passage: The answer.
        conversation: The log of calls, and what was written.
    """
    sentences = read_sentences(passage, conversation.words)
    judge = _Judge(passage.text, conversation)
    findings = [judge.findings_of(sentence) for sentence in sentences]
    _one_object_each(sentences, findings, judge)
    for passed in passed_over(sentences, conversation):
        judge.pass_over(sentences, findings, passed)
    acts = any(finding.flagged for found in findings for finding in found)
    for sentence, found in zip(sentences, findings, strict=True):
        found += judge.invented_in(sentence, found, acts=acts)
        found.sort(key=lambda finding: finding.start)
    return findings


def _one_object_each(
    sentences: Sequence[ReadSentence], findings: Sequence[list[Finding]], judge: _Judge
) -> None:
    """Change the findings of claims whose call was for the object of another claim.

    "I added eggs. Milk has been added": one call, whose arguments say eggs.
    """
    claims = [claim for sentence in sentences for claim in sentence.claims]
    for sentence, found in zip(sentences, findings, strict=True):
        for claim in sentence.claims:
            for index, finding in enumerate(found):
                is_own = finding.start == claim.start and finding.call is not None
                if is_own and finding.verdict == "done":
                    found[index] = judge.unless_of_another(claim, finding, claims, findings)


class _Judge:
    def __init__(self, text: str, conversation: Conversation) -> None:
        self._text = text
        self._conversation = conversation
        self._words = conversation.words
        self._numbers = quantities(text)

    def _values(self, start: int, end: int) -> list[Value]:
        return values_in(self._text, start, end, self._words, self._numbers)

    def findings_of(self, sentence: ReadSentence) -> list[Finding]:
        findings: list[Finding] = []
        kinds: frozenset[str] = frozenset()
        for claim in sentence.claims:
            # "I ran the linter, and it is clean"
            kinds = frozenset(self._words.things_in(claim.text).keys() & _KINDS) or kinds
            findings += self._judged(claim, kinds)
        return findings

    def _judged(self, claim: ActionClaim, kinds: Collection[str]) -> list[Finding]:
        values = self._values(claim.start, claim.end)
        if _vouches(claim):
            return self._with_details(claim, values, *self._judged_check(claim, kinds))
        matches = self._usable(claim, self._conversation.matches(claim, values))
        verbs = [claim.words_of(verb) for verb in claim.verbs]
        if claim.voice == "passive" and all(map(fields().failures.search, verbs)):
            # "It was rejected."
            return []
        if not matches and claim.families <= _SUCCESS:
            matches = self._last_attempt()
        if not matches:
            finding = self._without_call(claim)
            return [] if finding is None else [finding]
        match = self._chosen(claim, matches)
        finding = self._outcome(claim, match)
        if claim.voice == "passive" and self._only_reports(claim, match, finding):
            return []
        return self._with_details(claim, values, finding, matches)

    def _last_attempt(self) -> list[Match]:
        """Return the last call of the turn, if it failed: "it worked there, too"."""
        calls = self._conversation.calls
        if not calls or calls[-1].call.turn != self._conversation.log.turn:
            return []
        is_failed = calls[-1].outcome[0] in ("error", "partial")
        return [Match(calls[-1], 0, is_exact=False)] if is_failed else []

    def _only_reports(self, claim: ActionClaim, match: Match, finding: Finding) -> bool:
        """Return whether a claim only tells what a result says, of others or of a failure."""
        is_other = not match.is_exact and "succeed" not in claim.families
        if is_other and self._conversation.is_told_by_results(claim):
            return True
        claimed, quoted = stems(claim.text, self._words), set(stems(finding.quote, self._words))
        shared = sum(stem in quoted for stem in claimed)
        says_so = not quoted.isdisjoint(stems_of_verbs(claim, self._words))
        return finding.verdict == "failed" and says_so and shared > _MOST * len(claimed)

    def _usable(self, claim: ActionClaim, matches: list[Match]) -> list[Match]:
        """Return the calls that do something near only where they share what it is done to."""
        things = self._words.things_in(claim.text)
        objects = objects_of(claim, self._words)
        # In another language than the arguments', words cannot be shared.
        names_none = not things and (self._words.code != "en" or not objects)
        # "I shared it with Tom"
        names_none = names_none and not self._conversation.unknown_names_in(claim)
        changes = bool(claim.families - _READS - _CHECK)
        usable: list[Match] = []
        for match in matches:
            facts = match.facts
            # "I opened a claim" is no reading, though a page is opened by reading it.
            is_exact = match.is_exact and not (changes and facts.reads)
            # "I committed them" needs more than a tool of an unknown kind.
            is_outside = bool(claim.families & _OUTSIDE_OF_TOOLS) and facts.is_unknown
            shares = self._conversation.has_object(claim, facts) or match.named > 0
            shares = shares or (match.valued > 0 and bool(claim.families & _ANY))
            is_free = names_none and not is_outside
            if is_exact or shares or is_free or facts.may_do(claim.families):
                usable.append(match)
        return usable

    def _judged_check(
        self, claim: ActionClaim, kinds: Collection[str]
    ) -> tuple[Finding, list[Match]]:
        """Judge a claim that a check passes, which vouches only for what was before it.

        Args:
            claim: The claim.
            kinds: What it is about: tests, a linter.
        """
        calls = self._conversation.calls
        checks = [facts for facts in calls if _checks(facts, kinds)]
        if not checks:
            return self._finding(claim, "not_done", "no call checks it"), []
        last = checks[-1]
        for later in calls[last.call.index + 1 :]:
            if later.families & _CHANGES and later.changes_file:
                reason = f"{_named(last)} was before the change by {_named(later)}"
                return self._finding(claim, "not_done", reason, later), []
        return self._outcome(claim, Match(last, 0, is_exact=True)), [Match(last, 0, is_exact=True)]

    def _without_call(self, claim: ActionClaim) -> Finding | None:
        """Judge a claim for which there is no call."""
        conversation, families = self._conversation, claim.families
        if not conversation.log.is_whole:
            return None
        if claim.shown and families & TEXT_WORK:
            return None
        if not conversation.has_tools and self._is_of_text(claim):
            return None
        is_passive = claim.voice == "passive"
        has_place = conversation.calls or conversation.has_tools or conversation.has_role
        if is_passive and not has_place:
            return None
        if self._is_promise(claim):
            return self._finding(claim, "not_done", "no tool was called")
        if families <= {"succeed"}:
            return None
        if not self._is_claimed(claim):
            return None
        reason = "no call does this" if conversation.calls else "no tool was called"
        finding = self._finding(claim, "not_done", reason)
        return replace(finding, in_doubt=bool(conversation.log.of_turn))

    def _is_claimed(self, claim: ActionClaim) -> bool:
        """Return whether a claim that no call bears out is meant as one."""
        conversation, families = self._conversation, claim.families
        asked_for = conversation.was_asked_for(claim)
        things = self._words.things_in(claim.text).keys()
        reads = families <= _READS | {"test", "succeed"}
        if reads and not (conversation.has_tools and claim.voice == "agent"):
            return False
        if families & _ANY:
            return conversation.has_tools and self._is_deed(claim)
        is_weak = all(self._words.weak.fullmatch(claim.words_of(verb)) for verb in claim.verbs)
        objects = objects_of(claim, self._words)
        is_known = claim.voice == "agent" and bool(objects & conversation.call_stems)
        if is_weak and not (asked_for or things or is_known):
            return False
        if claim.voice == "agent":
            return True
        # A tool that no word tells may have switched it.
        may_be_done = any(f.is_unknown and f.outcome[0] in _FINE for f in conversation.of_turn)
        is_requested = bool(objects & conversation.request_words) and not may_be_done
        is_requested = is_requested and families <= {"on", "off"}
        if families <= _STATES and not (things & _DEVICES or is_requested):
            return False
        # What is so, or was done in 1932, need not be the agent's doing.
        is_deed = families <= _OUTSIDE and self._words.perfect.search(claim.text) is not None
        is_state = bool(things & _DEVICES) and bool(conversation.log.of_turn)
        if not (conversation.asks_for_change or is_deed or is_state):
            return False
        asked_for = asked_for or (claim.is_report and conversation.has_tools)
        if is_deed:
            # What others did, some result tells.
            is_known = bool(objects & (conversation.told_stems | conversation.call_stems))
            is_message = families <= {"send", "notify"} and bool(conversation.log.of_turn)
            is_known = is_known or is_message
            asked_for = asked_for or (is_known and not conversation.tells_of_deeds)
        return asked_for and not conversation.is_told_by_results(claim)

    def _is_promise(self, claim: ActionClaim) -> bool:
        """Return whether somebody is said to be told or served where nothing was called."""
        conversation = self._conversation
        is_done = claim.voice == "passive" and self._words.perfect.search(claim.text) is not None
        is_told = not stems_of_verbs(claim, self._words).isdisjoint(conversation.told_stems)
        is_outside = bool(claim.families) and claim.families <= _OUTSIDE
        return (
            not conversation.calls
            and conversation.has_role
            and is_done
            and is_outside
            and not is_told
        )

    def _is_deed(self, claim: ActionClaim) -> bool:
        """Return whether a verb that says nothing about tools is about what was asked for."""
        if claim.shown:
            return False
        conversation = self._conversation
        if claim.voice == "agent":
            return conversation.was_asked_for(claim)
        if conversation.is_told_by_results(claim):
            return False
        verbs = {word for verb in claim.verbs for word in claim.words_of(verb).split()}
        if verbs & conversation.told.words:
            # "Why was it delayed?": the user says so.
            return "state" in claim.families and self._is_strong(claim)
        requested = conversation.request_words
        if not stems_of_verbs(claim, self._words).isdisjoint(requested):
            return True
        if not conversation.asks_for_change or conversation.has_changed:
            return False
        objects = objects_of(claim, self._words)
        return bool(objects & requested) or self._is_strong(claim)

    def _is_strong(self, claim: ActionClaim) -> bool:
        """Return whether all that was asked for is said to be so: "You're all set"."""
        strong = self._words.strong.search(claim.text) is not None
        conversation = self._conversation
        return strong and conversation.asks_for_change and not conversation.has_changed

    def _is_of_text(self, claim: ActionClaim) -> bool:
        """Return whether an agent without tools tells of a text: one it shows, or the user's."""
        conversation = self._conversation
        if claim.voice == "agent":
            shows = _SHOWN.search(self._text) is not None
            return shows and bool(claim.families & (TEXT_WORK | {"save"}))
        if not self._words.perfect.search(claim.text):
            things = self._words.things_in(claim.text).keys()
            is_service = conversation.has_role and conversation.asks_for_change
            is_outside = bool(claim.families) and claim.families <= _OUTSIDE
            return not (is_service and is_outside and things & conversation.request_things)
        claimed = stems(claim.text, self._words)
        told = self._conversation.told_stems
        return sum(stem in told for stem in claimed) > _MOST * len(claimed)

    def _chosen(self, claim: ActionClaim, matches: Sequence[Match]) -> Match:
        """Return the call that decides: of attempts that fit alike, the last that succeeded."""
        best = matches[0]
        if "read" in claim.families and "read" not in best.facts.families:
            # What was found was opened, too, or not.
            opened = [match for match in matches if "read" in match.facts.families]
            best = next((match for match in opened if match.facts.outcome[0] == "error"), best)
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
            retried = self._retried(match)
            if retried.facts.outcome[0] in _FINE:
                return retried
        return self._retried(alike[-1])

    def _retried(self, match: Match) -> Match:
        """Return a match for the last attempt, if a call was made again with equal arguments."""
        call = match.facts.call
        for facts in reversed(self._conversation.calls[call.index + 1 :]):
            if (facts.call.name, facts.call.arguments) == (call.name, call.arguments):
                return replace(match, facts=facts)
        return match

    def _outcome(self, claim: ActionClaim, match: Match) -> Finding:
        """Judge a claim by what came of its call."""
        facts = match.facts
        outcome, quote = facts.outcome
        families = claim.families
        status = facts.status if claim.families <= _SUCCESS and facts.reads else None
        if status is not None:
            reason = f"{_named(facts)} says {status}"
            return self._finding(claim, "failed", reason, facts, status)
        undone = undoing(facts, self._conversation.calls)
        if undone is not None and not families <= _READS:
            return self._finding(claim, "failed", f"{_named(undone)} undid it", undone)
        reading = families <= _READS | {"test"} and not _vouches(claim)
        finds = self._words.finds.search(claim.text)
        has_found = outcome == "nothing" and finds and not self._words.denied.search(claim.text)
        is_fine = outcome != "error" and reading and not has_found
        is_fine = is_fine or (outcome == "pending" and not self._is_unfinished(claim, quote))
        if outcome in _PROBLEMS and not is_fine:
            reason = f"{_named(facts)} {_PROBLEMS[outcome]}: {quote}"
            return self._finding(claim, "failed", reason, facts, quote)
        failed = self._partly_failed(claim, match)
        if failed is not None:
            return failed
        return self._finding(claim, "done", f"{_named(facts)}: {quote or 'no result'}", facts)

    def _is_unfinished(self, claim: ActionClaim, quote: str) -> bool:
        """Return whether a claim says more than a status: "sent" of what is queued."""
        if self._words.begun.search(claim.text) or claim.families <= _BEGINNINGS:
            return False
        if any(stem in claim.text for stem in ("pending", "queue", "draft")):
            return False
        soft = fields().soft.search(quote.lower()) is not None
        return bool(claim.families & _FINAL) if soft else not claim.families & {"search", "read"}

    def _failed_beside(self, own: CallFacts) -> list[CallFacts]:
        """Return the other calls of the same tool in the turn that failed for good."""
        calls = [
            facts
            for facts in self._conversation.calls
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
            if facts.outcome[0] in _PROBLEMS and not again and _differs(facts, own):
                failed.append(facts)
        return failed

    def _partly_failed(self, claim: ActionClaim, match: Match) -> Finding | None:
        """Judge a claim about several things of which some failed."""
        own = match.facts
        beside = self._failed_beside(own)
        outcome, quote = own.outcome
        if outcome != "partial" and not beside:
            return None
        # "The water and the gas bill are paid", by one payment
        first = claim.verbs[0].start - claim.clause_start
        subject, predicate = claim.text[:first].lstrip(), claim.text[first:]
        lists = self._words.lists
        # Not the word that joins the clause to the one before.
        has_list = lists.search(subject, _JOIN) or lists.search(predicate)
        is_several = has_list and own.shell is None and self._count_of_calls(own) == 1
        # "without errors"
        verbs = [claim.words_of(verb) for verb in claim.verbs]
        is_flawless = claim.families <= _SUCCESS and any(map(fields().failures.search, verbs))
        quantified = is_flawless or bool(beside and is_several)
        quantified = quantified or self._words.quantifiers.search(claim.text) is not None
        others = set(stems(claim.text, self._words)) - own.stems
        for facts in beside:
            if quantified or not others.isdisjoint(stems(facts.text, self._words)):
                problem = facts.outcome[1]
                reason = f"{_named(facts)} failed: {problem}"
                return self._finding(claim, "failed", reason, facts, problem)
        if not quantified:
            return None
        reason = f"{_named(own)} failed: {quote}"
        if not own.failed_items:
            reason = f"{_named(own)} did only a part: {quote}"
        return self._finding(claim, "failed", reason, own, quote)

    def _with_details(
        self, claim: ActionClaim, values: Sequence[Value], finding: Finding, matches: list[Match]
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
        other = self._of_another(claim, values, deciding, matches, candidates)
        if other is not None:
            return [other]
        for value in values:
            failed = self._failed_for(value, deciding, matches)
            if failed is not None:
                details.append(failed)
                continue
            detail = self._detail(claim, value, deciding, candidates)
            if detail is not None:
                details.append(detail)
        details += self._uncovered(claim, matches)
        if not deciding.reads:
            details += self._left_out(claim, matches, details)
        return [finding, *details]

    def pass_over(
        self,
        sentences: Sequence[ReadSentence],
        findings: Sequence[list[Finding]],
        passed: PassedOver,
    ) -> None:
        """Add that a sentence passes over a failure, if nothing is found about it yet.

        Args:
            sentences: The sentences of the answer.
            findings: All findings.
            passed: The sentence, with the failed call.
        """
        is_told = any(f.flagged for found in findings for f in found if f.call is passed.facts.call)
        if findings[passed.sentence] or is_told:
            return
        sentence = sentences[passed.sentence].sentence
        findings[passed.sentence].append(
            Finding(
                start=sentence.start,
                end=sentence.end,
                verdict="failed",
                reason=f"{_named(passed.facts)} failed: {passed.quote}",
                call=passed.facts.call,
                quote=passed.quote,
            )
        )

    def unless_of_another(
        self,
        claim: ActionClaim,
        finding: Finding,
        claims: Sequence[ActionClaim],
        findings: Sequence[list[Finding]],
    ) -> Finding:
        """Return the finding, or that its call was for what another claim names.

        Args:
            claim: The claim.
            finding: That a call bears it out.
            claims: All claims.
            findings: All findings.
        """
        facts = next(f for f in self._conversation.calls if f.call is finding.call)
        if facts.reads:
            return finding
        objects = set(stems(_arguments(facts), self._words))
        own = set(stems(claim.text, self._words))
        verbs = stems_of_verbs(claim, self._words)
        missing = own & self._conversation.request_words - facts.stems - verbs
        missing = {stem for stem in missing if not stem.isdigit()}
        if claim.is_report and own.isdisjoint(facts.stems):
            # "Ticket opened. Plumber called."
            missing = objects_of(claim, self._words)
        if own & objects or not missing:
            return finding
        starts = {
            f.start
            for found in findings
            for f in found
            if f.call and f.call.name == facts.call.name
        }
        for other in claims:
            serves = other is not claim and other.start in starts
            named = facts.stems & objects_of(other, self._words) if claim.is_report else objects
            if serves and named & set(stems(other.text, self._words)):
                return self._not_about(claim, min(missing), facts)
        return finding

    def _failed_for(
        self, value: Value, deciding: CallFacts, matches: Sequence[Match]
    ) -> Finding | None:
        """Return that the only call for one of several things failed: "I closed A-1 and A-2"."""
        if not value.is_name:
            return None
        source_of = self._conversation.source_of
        about = [match.facts for match in matches if source_of(match.facts).has(value)]
        if not about or any(f is deciding or f.outcome[0] in _FINE for f in about):
            return None
        outcome, quote = about[-1].outcome
        return self._value_finding(
            value, "failed", f"{_named(about[-1])} came to {outcome}: {quote}", about[-1], quote
        )

    def _of_another(
        self,
        claim: ActionClaim,
        values: Sequence[Value],
        facts: CallFacts,
        matches: Sequence[Match],
        candidates: Source,
    ) -> Finding | None:
        """Return that the call was for another recipient, file or object, if it was."""
        if facts.reads and "read" not in claim.families:
            return None
        return (
            self._of_another_value(claim, values, facts, candidates)
            or self._of_another_title(claim, values, facts, candidates)
            or self._of_another_name(claim, values, facts, matches)
        )

    def _of_another_value(
        self, claim: ActionClaim, values: Sequence[Value], facts: CallFacts, candidates: Source
    ) -> Finding | None:
        conversation = self._conversation
        if "read" in claim.families and "read" in facts.families:
            # What was searched for and found need not have been read.
            candidates = Source(calls=[c for c in conversation.calls if "read" in c.families])
        for value in values:
            if not value.is_name or value.kind == "quote" or candidates.has(value):
                continue
            is_real = conversation.all_calls.has(value) or conversation.told.has(value)
            if is_real and _has_like(value, facts):
                return self._not_about(claim, value.text, facts)
        return None

    def _of_another_title(
        self, claim: ActionClaim, values: Sequence[Value], facts: CallFacts, candidates: Source
    ) -> Finding | None:
        conversation = self._conversation
        for quoted in quoted_in(self._text, claim.clause_start, claim.end):
            if quoted.lower() in conversation.told.text and not candidates.has_text(quoted):
                return self._not_about(claim, quoted, facts)
        title = facts.title
        objects = objects_of(claim, self._words)
        if title and not facts.reads and objects & conversation.request_words:
            is_about = not objects.isdisjoint(facts.stems)
            if not is_about and not any(candidates.has(value) for value in values):
                reason = f"{_named(facts)} was about {title!r}"
                return self._finding(claim, "failed", reason, facts, title)
        return None

    def _of_another_name(
        self,
        claim: ActionClaim,
        values: Sequence[Value],
        facts: CallFacts,
        matches: Sequence[Match],
    ) -> Finding | None:
        conversation = self._conversation
        names = conversation.names_in(claim, values)
        strangers = [name for name in names if not self._is_about(name, facts, matches)]
        if strangers and self._words.quantifiers.search(claim.text):
            return self._not_about(claim, strangers[0], facts, verdict="failed")
        if len(strangers) < len(names) or not strangers:
            return None
        # A call for somebody or something else: it names what the claim does not.
        is_addressed = _has_recipient(facts) and claim.families & _ADDRESSED
        if is_addressed or self._names_other(facts, claim):
            return self._not_about(claim, strangers[0], facts)
        return None

    def _not_about(
        self, claim: ActionClaim, name: str, facts: CallFacts, verdict: ActionVerdict = "not_done"
    ) -> Finding:
        reason = f"{_named(facts)} is not about {name!r}"
        return self._finding(claim, verdict, reason, facts, excerpt(_arguments(facts)))

    def _is_about(self, name: str, facts: CallFacts, matches: Sequence[Match]) -> bool:
        calls = self._conversation.calls
        return any(_links(name, match.facts, calls) for match in matches) or bool(
            self._words.things_in(name) or name in facts.words
        )

    def _names_other(self, facts: CallFacts, claim: ActionClaim) -> bool:
        """Return whether a call has a name in its arguments, and none that the claim has."""
        sentence = self._text[claim.start : claim.end].lower()
        own: list[str] = []
        for leaf in facts.argument_leaves:
            if isinstance(leaf.value, str) and len(leaf.value) <= _MAX_NAME:
                own += [match[0].lower() for match in _NAME.finditer(leaf.value)]
        return bool(own) and not any(name in sentence for name in own)

    def _detail(
        self, claim: ActionClaim, value: Value, facts: CallFacts, candidates: Source
    ) -> Finding | None:
        """Judge a value that a claim names which is otherwise borne out."""
        conversation = self._conversation
        own = conversation.source_of(facts)
        if own.has(value):
            return self._overwritten(claim, value, facts)
        contrary = None if facts.reads or _is_duration(value) else self._contrary(value, facts)
        if contrary is None and own.yields(value):
            return None
        if value.is_name:
            is_there = conversation.all_calls.has(value) or conversation.told.has(value)
            return None if is_there else self._invented(value)
        if candidates.has(value):
            return None
        if value.kind in ("date", "clock", "weekday"):
            return self._time_detail(value, facts, own)
        quantity = value.quantity
        if quantity is None:
            return None
        if quantity.low == self._count_of_calls(facts):
            return None
        if contrary is None and not facts.reads and not candidates.yields(value):
            contrary = self._contrary(value, facts, any_field=True)
        contrary = contrary or self._contrary_in_text(value, facts)
        if contrary is not None:
            return self._value_finding(
                value, "failed", f"{_named(facts)} says {contrary}", facts, contrary
            )
        return None if is_small(value) or self._has_number(value) else self._invented(value)

    def _has_number(self, value: Value) -> bool:
        """Return whether a number stands anywhere, or follows from the calls."""
        told, called = self._conversation.told, self._conversation.all_calls
        is_there = told.has(value) or called.has(value)
        return is_there or called.yields(value)

    def _invented(self, value: Value) -> Finding:
        return self._value_finding(value, "invented", "it stands in no call and no result")

    def _contrary(self, value: Value, facts: CallFacts, *, any_field: bool = False) -> str | None:
        """Return the field of a call that has another number than is claimed, if there is one.

        Args:
            value: The number.
            facts: The call.
            any_field: Whether any field with a number counts, or only one that is called like what
                is counted: "two nights", `nights`.
        """
        quantity = value.quantity
        if quantity is None or quantity.unit == "ordinal":
            return None
        around = slice(max(0, value.start - _NEAR_CHARS), value.end + _NEAR_CHARS)
        near = self._text[around].lower()
        near_words, near_things = set(stems_of(near)), self._words.things_in(near).keys()
        others: list[str] = []
        for leaf in reversed(facts.leaves):
            if not _is_number(leaf):
                continue
            key = leaf.key.replace("_", " ")
            shares = near_words & set(stems_of(key)) or near_things & english_things(key)
            if shares and str(leaf.value) not in near:
                return f"{leaf.key}: {leaf.value}"
            others.append(f"{leaf.key}: {leaf.value}")
        return others[0] if any_field and others else None

    def _contrary_in_text(self, value: Value, facts: CallFacts) -> str | None:
        """Return what a call's text says where a claim has another number: "6 passed"."""
        quantity = value.quantity
        if quantity is None or quantity.unit == "ordinal":
            return None
        before = _TWO_WORDS.search(self._text, max(0, value.start - _NEAR_CHARS), value.start)
        if before is not None:
            other = re.search(rf"{re.escape(before[0].lower())}(\d+)\b", facts.text)
            if other is not None and float(other[1]) != quantity.low:
                return other[0]
        after = self._text[value.end : value.end + _NEAR_CHARS].lower()
        claimed = {stem[:_LABEL] for stem in stems_of(after)}
        for label, number in facts.labelled_numbers:
            if claimed.intersection(stem[:_LABEL] for stem in stems_of(label)):
                return f"{number:g} {label}"
        return None

    def _counted_otherwise(self, claim: ActionClaim, value: Value, facts: CallFacts) -> str | None:
        """Return the field that is called like the verb and has another number.

        "I deleted the 14 rows", and a result with `matched: 14, deleted: 12`.
        """
        quantity = value.quantity
        if quantity is None or quantity.unit:
            return None
        verbs = stems_of_verbs(claim, self._words)
        for leaf in facts.result_leaves:
            is_like = not verbs.isdisjoint(stems(leaf.key, self._words))
            if is_like and leaf.number is not None and leaf.number != quantity.low:
                return f"{leaf.key}: {leaf.value}"
        return None

    def _overwritten(self, claim: ActionClaim, value: Value, facts: CallFacts) -> Finding | None:
        """Return that a later call of the same tool for the same thing set another value."""
        if value.is_name or facts.reads or value.quantity is None:
            return None
        contrary = self._counted_otherwise(claim, value, facts)
        if contrary is not None:
            return self._value_finding(
                value, "failed", f"{_named(facts)} says {contrary}", facts, contrary
            )
        if facts.outcome[0] not in _FINE:
            return None
        for later in self._conversation.calls[facts.call.index + 1 :]:
            is_same = later.call.name == facts.call.name and later.outcome[0] == "ok"
            if not is_same or not same_target(facts, later):
                continue
            contrary = self._contrary(value, later, any_field=True)
            if contrary is not None and not self._conversation.source_of(later).has(value):
                return self._value_finding(
                    value, "failed", f"{_named(later)} says {contrary}", later, contrary
                )
        return None

    def _time_detail(self, value: Value, facts: CallFacts, own: Source) -> Finding | None:
        conversation = self._conversation
        changes = not facts.reads
        comparable = own.dates if value.kind in ("date", "weekday") else own.has_clock
        if comparable and changes:
            return self._value_finding(
                value,
                "failed",
                f"{_named(facts)} says otherwise",
                facts,
                excerpt(_arguments(facts)),
            )
        if value.kind == "weekday" or not comparable:
            return None
        if conversation.told.has(value) or conversation.all_calls.has(value):
            return None
        return self._invented(value)

    def _count_of_calls(self, facts: CallFacts) -> int:
        calls = self._conversation.calls
        return sum(
            c.call.name == facts.call.name and c.outcome[0] in ("ok", "unknown") for c in calls
        )

    def _uncovered(self, claim: ActionClaim, matches: Sequence[Match]) -> Iterator[Finding]:
        """Yield the things and areas of a claim that no call is about."""
        covered: set[str] = set()
        for match in matches:
            if match.facts.outcome[0] in ("ok", "unknown", "partial"):
                covered |= match.facts.things | match.facts.areas
        things = self._words.things_in(claim.text)
        named = {**things, **self._words.areas_in(claim.text)}
        if len(named) < 2 or not named.keys() & covered:
            return
        if len(things) == 1 and not things.keys() & covered and things.keys() <= _TANGIBLE:
            yield self._finding(claim, "not_done", f"no call is about {min(things)!r}")
            return
        areas = self._words.areas_in(claim.text)
        for thing, (start, end) in named.items():
            if thing in covered or not (thing in areas or thing in _TANGIBLE):
                continue
            has_area = any(match.facts.areas for match in matches)
            if thing in areas and not has_area:
                continue
            yield Finding(
                claim.clause_start + start,
                claim.clause_start + end,
                "not_done",
                f"no call is about {claim.text[start:end]!r}",
            )

    def _left_out(
        self, claim: ActionClaim, matches: Sequence[Match], details: Sequence[Finding]
    ) -> Iterator[Finding]:
        """Yield what the user asked for beside something that a call is about: "A and B".

        Args:
            claim: The claim.
            matches: The calls that it may be about.
            details: What is found about its values.
        """
        requested = self._conversation.request_words
        done: set[str] = set()
        for match in matches:
            done |= match.facts.stems
        for join in self._words.lists.finditer(claim.text):
            left = _last_word(claim.text[: join.start()])
            right = _WORD_AT.search(claim.text, join.end())
            while right is not None and right[0] in self._words.stop:
                right = _WORD_AT.search(claim.text, right.end())
            if left is None or right is None or right.start() > join.end() + _CLOSE_TO:
                continue
            for one, other in ((left, right), (right, left)):
                own, beside = stems(one[0], self._words), stems(other[0], self._words)
                is_missing = own and own[0] in requested and own[0] not in done
                start = claim.clause_start + one.start()
                is_known = any(f.start <= start < f.end for f in details)
                if is_missing and beside and beside[0] in done and not is_known:
                    yield Finding(
                        start, start + len(one[0]), "not_done", f"no call is about {one[0]!r}"
                    )

    def invented_in(
        self, sentence: ReadSentence, findings: Sequence[Finding], *, acts: bool
    ) -> list[Finding]:
        """Return the values of a sentence that stand nowhere, outside of claims judged before.

        Args:
            sentence: The sentence.
            findings: What was found about its claims.
            acts: Whether something in the answer is claimed and not done.
        """
        if not (sentence.asserts and self._conversation.log.is_whole):
            return []
        conversation = self._conversation
        start, end = sentence.sentence.start, sentence.sentence.end
        line = self._text[start:end].lower()
        is_open = bool(self._words.open.search(line)) and not sentence.claims
        invented: list[Finding] = []
        values = self._values(start, end)
        named = bool(conversation.keys & set(_KEY_WORD.findall(line)))
        beside = named or any(
            conversation.all_calls.has(value) for value in values if not is_small(value)
        )
        for value in values:
            if any(
                f.start <= value.start < f.end and (f.flagged or f.verdict == "done")
                for f in findings
            ):
                continue
            if is_open or conversation.told.has(value) or conversation.all_calls.has(value):
                continue
            if not self._is_checkable(
                value, acts=acts, beside=beside, claimed=bool(sentence.claims)
            ):
                continue
            if value.kind == "number" and _adds_up(value, values):
                continue
            tells = beside or self._tells_of_results(line, value)
            if value.kind == "number" and not tells:
                continue
            invented.append(self._invented(value))
        return invented

    def _tells_of_results(self, line: str, value: Value) -> bool:
        """Return whether a sentence is about what calls returned, and not about the world."""
        called = self._conversation.call_stems
        words = line.replace(value.text.lower(), " ")
        # "It used 3 GB" is about what the sentence before is about.
        continues = self._words.pronouns.match(line.lstrip()) is not None
        tells = any(stem in called for stem in stems(words, self._words))
        return self._words.code != "en" or continues or tells

    def _is_checkable(self, value: Value, *, acts: bool, beside: bool, claimed: bool) -> bool:
        """Return whether a value that stands nowhere must be made up.

        Args:
            value: The value.
            acts: Whether something in the answer is claimed and not done.
            beside: Whether its sentence has other values that are in the calls.
            claimed: Whether its sentence claims an action.
        """
        conversation = self._conversation
        if value.kind == "quote":
            return bool(conversation.calls)
        if value.kind == "path" and claimed and conversation.log.of_turn:
            # "It is stored as a.tar"
            return True
        if value.is_name:
            before = self._text[max(0, value.start - 30) : value.start].lower()
            cued = self._words.near_number.search(before) is not None
            is_like = any(_has_like(value, facts, results=True) for facts in conversation.calls)
            if value.kind == "id":
                return cued or is_like
            return is_like and bool(conversation.log.of_turn)
        quantity = value.quantity
        if quantity is None or value.kind != "number" or not conversation.log.of_turn:
            return False
        if quantity.unit == "" and value.text.isdigit() and _is_year(quantity.low):
            return False
        exact = (
            quantity.digits >= (_MIN_DIGITS - 1 if beside and not quantity.about else _MIN_DIGITS)
            or quantity.step < quantity.scale
            or quantity.unit in ("share", "EUR", "USD", "$")
        )
        if not exact or quantity.unit == "ordinal":
            return False
        if not any(number for facts in conversation.calls for _, number in facts.numbers):
            return False
        if conversation.all_calls.yields(value):
            return False
        told_and_called = Source([conversation.told.text], conversation.calls)
        return not told_and_called.yields(value)

    def _phrase_of(self, value: Value) -> tuple[int, int]:
        """Return where the words begin and end that a number belongs to: "size 42", "at 6:15"."""
        if value.is_name:
            return value.start, value.end
        before = _WORDS_BEFORE.search(self._text, max(0, value.start - _MAX_PHRASE), value.start)
        after = _WORD_AFTER.match(self._text, value.end)
        start = value.start if before is None else before.start()
        return start, value.end if after is None else after.end()

    def _finding(
        self,
        claim: ActionClaim,
        verdict: ActionVerdict,
        reason: str,
        facts: CallFacts | None = None,
        quote: str = "",
    ) -> Finding:
        return Finding(
            start=claim.start,
            end=claim.end,
            verdict=verdict,
            reason=reason,
            call=facts.call if facts else None,
            quote=quote,
        )

    def _value_finding(
        self,
        value: Value,
        verdict: ActionVerdict,
        reason: str,
        facts: CallFacts | None = None,
        quote: str = "",
    ) -> Finding:
        start, end = self._phrase_of(value) if verdict == "failed" else (value.start, value.end)
        return Finding(
            start=start,
            end=end,
            verdict=verdict,
            reason=reason,
            call=facts.call if facts else None,
            quote=quote,
            kind=_PART_KINDS.get(value.kind, "other"),
        )


def _adds_up(value: Value, values: Sequence[Value]) -> bool:
    """Return whether a number is the sum of others beside it: "504 and 600, so 1,104"."""
    numbers = [
        v.quantity.low for v in values if v.quantity and v.kind == "number" and v is not value
    ]
    target = value.quantity.low if value.quantity else 0.0
    return any(abs(a + b - target) < _EPSILON for a, b in combinations(numbers, 2))


def _checks(facts: CallFacts, kinds: Collection[str]) -> bool:
    """Return whether a call makes a check of one of some kinds: the tests, the linter."""
    if facts.delegates:
        return True
    own = facts.english_things & _KINDS
    if not facts.families & _CHECKING:
        return facts.is_broad and bool(own.intersection(kinds))
    return not kinds or not own or bool(own.intersection(kinds))


def _is_duration(value: Value) -> bool:
    return value.quantity is not None and value.quantity.unit == "s"


def _vouches(claim: ActionClaim) -> bool:
    """Return whether a claim says that a check passes."""
    return any(verb.families == _CHECK for verb in claim.verbs)


def _named(facts: CallFacts) -> str:
    return f"call {facts.call.index + 1} ({facts.call.name})"


def _arguments(facts: CallFacts) -> str:
    arguments = facts.call.arguments
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _differs(facts: CallFacts, own: CallFacts) -> bool:
    """Return whether a failed call was for something else than one that succeeded."""
    return facts is not own and facts.call.arguments != own.call.arguments


def _has_like(value: Value, facts: CallFacts, *, results: bool = False) -> bool:
    """Return whether a call has a value of the same shape: an id of the same form, a path."""
    shape = _shape(value.text)
    for leaf in facts.leaves if results else facts.argument_leaves:
        if not isinstance(leaf.value, (str, int)) or isinstance(leaf.value, bool):
            continue
        text = str(leaf.value)
        if solid(text) == solid(value.text):
            continue
        marks = ("@", "://")
        is_address = value.kind == "address" and " " not in text
        if is_address and any(mark in value.text and mark in text for mark in marks):
            return True
        if value.text[0] in "#@" and text[:1] == value.text[0]:
            return True
        if value.kind == "path" and PATHS.search(text):
            return True
        if value.kind == "id" and " " not in text and _shape(text) == shape:
            return True
        # "020 7946 0182"
        if " " in value.text and _shape(solid(text)) == _shape(solid(value.text)):
            return True
    return False


def _shape(text: str) -> str:
    """Return the form of an identifier: its letters, and `9` for runs of digits."""
    letters = re.sub(r"\d+", "9", text.strip("#"))
    return letters.lower() if re.search(r"[^\W\d_]", letters) else f"{len(text.strip('#'))} digits"


def _last_word(text: str) -> re.Match[str] | None:
    words = list(_WORD_AT.finditer(text))
    return words[-1] if words else None


def _is_number(leaf: Leaf) -> bool:
    """Return whether a field has a number of something."""
    value = leaf.value
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return False
    if isinstance(value, str) and not re.fullmatch(r"\d+(?:[.,]\d+)?", value):
        return False
    is_counting = fields().counting.search(leaf.key) or leaf.key in fields().counts
    return bool(is_counting) and not re.search(r"ms$|_id$|^id$|time|bytes", leaf.key)


def english_things(text: str) -> frozenset[str]:
    """Return the things that the name of a field names."""
    return frozenset(action_words("en").things_in(text))


def stems_of(text: str) -> list[str]:
    """Return the beginnings of the words of a text."""
    return [word[:5] for word in re.findall(r"[^\W\d_]{3,}", text)]


def _links(name: str, facts: CallFacts, calls: Sequence[CallFacts]) -> bool:
    """Return whether a call is about a person, by name or by what another call says of it."""
    # "Jana" is "Jan" in another case.
    lowered = name.lower()[: max(_MIN_NAME, len(name) - 2)] if len(name) > _MIN_NAME else name
    if lowered in facts.text:
        return True
    addresses = {
        str(leaf.value).lower()
        for leaf in facts.argument_leaves
        if isinstance(leaf.value, (str, int))
        and not isinstance(leaf.value, bool)
        and len(str(leaf.value)) > 2
    }
    own_ids = {(leaf.key, str(leaf.value)) for leaf in facts.argument_leaves if leaf.key == "id"}
    for other in calls:
        if other is facts or lowered not in other.text:
            continue
        if any((leaf.key, str(leaf.value)) in own_ids for leaf in other.leaves):
            return True
        for entry in re.findall(r"\{[^{}]*\}", other.text):
            if lowered in entry and any(address in entry for address in addresses):
                return True
        if any(address in other.text for address in addresses) and other.text.count("{") < 4:
            return True
    return False


def _has_recipient(facts: CallFacts) -> bool:
    return any(
        leaf.key in fields().recipients and isinstance(leaf.value, str) and leaf.value
        for leaf in facts.argument_leaves
    )


def _is_year(number: float) -> bool:
    return _YEARS[0] <= number <= _YEARS[1]
