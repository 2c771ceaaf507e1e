"""Judges what an answer says was done besides: "I also called the plumber", "those in May, too".

What was done besides needs a call of its own, or words or values of its own in a call.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from resay.scorers.actions.calls import FINE, CallFacts
from resay.scorers.actions.claims import READS, SUCCESS, ActionClaim, ReadSentence
from resay.scorers.actions.findings import Finding, about_claim
from resay.scorers.actions.matching import Conversation, is_named_after, stems_of_verbs
from resay.scorers.actions.values import Value
from resay.scorers.actions.words import fields, stems

_CHECKS: Final = READS | {"test"}
_THROUGH: Final = FINE | {"pending"}


def judge_additions(
    sentences: Sequence[ReadSentence], findings: Sequence[list[Finding]], conversation: Conversation
) -> None:
    """Change the findings of what was done besides, if another claim took its call.

    Args:
        sentences: The sentences of the answer.
        findings: All findings.
        conversation: The log of calls, and what was written.
    """
    additions = _Additions(conversation)
    done = [
        (claim, found, index)
        for sentence, found in zip(sentences, findings, strict=True)
        for claim in sentence.claims
        for index, finding in enumerate(found)
        if (finding.start, finding.end, finding.verdict) == (claim.start, claim.end, "done")
    ]
    for claim, found, index in done:
        additions.link(claim, found[index])
    for claim, found, index in done:
        found[index] = additions.judged(claim, found[index])


@dataclass(frozen=True, slots=True)
class _Addition:
    """What a claim names that no claim before it does.

    Attributes:
        claim: The claim.
        families: What its first verb says was done.
        verbs: The stems of its verbs.
        stems: The other stems.
        values: The values.
        names: The names.
        is_said: Whether it says that it was done besides.
    """

    claim: ActionClaim
    families: frozenset[str]
    verbs: frozenset[str]
    stems: frozenset[str]
    values: tuple[Value, ...]
    names: tuple[str, ...]
    is_said: bool

    @property
    def is_reading(self) -> bool:
        """Whether something was looked at, and not changed."""
        return self.families <= _CHECKS


class _Additions:
    """What the claims before one say was done, and by which calls.

    Args:
        conversation: The log of calls, and what was written.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        # By the number of a call: what claims before say of it, how many they are, and what all
        # claims say that have words of it.
        self._claimed: defaultdict[int, set[str]] = defaultdict(set)
        self._counts: Counter[int] = Counter()
        self._linked: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._links: set[tuple[int, int]] = set()
        # What claims before have named.
        self._named: set[str] = set()

    def link(self, claim: ActionClaim, finding: Finding) -> None:
        """Note the calls of the claim's tool that it has words of."""
        words = self._conversation.words
        objects = set(stems(claim.text, words)) - stems_of_verbs(claim, words)
        for facts in self._conversation.calls:
            is_same_tool = finding.call is not None and facts.call.name == finding.call.name
            if is_same_tool and not facts.reads and not facts.stems.isdisjoint(objects):
                self._linked[facts.call.index].update(claim.families)
                self._links.add((facts.call.index, claim.start))

    def judged(self, claim: ActionClaim, finding: Finding) -> Finding:
        """Return the finding of the next claim, or that no call does it besides.

        Args:
            claim: The claim.
            finding: That a call bears it out.
        """
        call = finding.call
        addition = self._addition(claim)
        is_first = not self._counts
        self._named.update(addition.stems, addition.names)
        self._named.update(value.text for value in addition.values)
        if call is None:
            return finding
        is_added = (addition.is_said and not is_first) or self._is_of_another(addition, call.index)
        calls = self._conversation.calls
        if is_added and not any(self._bears(addition, facts) for facts in calls):
            return about_claim(claim, "not_done", "no other call did this")
        self._counts[call.index] += 1
        self._claimed[call.index] |= claim.families
        return finding

    def _addition(self, claim: ActionClaim) -> _Addition:
        conversation, words = self._conversation, self._conversation.words
        # With what it quotes.
        text = conversation.text[claim.start : claim.clause_start + len(claim.text)].lower()
        values = conversation.values_in(claim.start, claim.end)
        verbs = stems_of_verbs(claim, words)
        return _Addition(
            claim=claim,
            families=claim.verbs[0].families,
            verbs=verbs,
            stems=frozenset(stems(words.also.sub(" ", text), words)) - self._named - verbs,
            values=tuple(value for value in values if value.text not in self._named),
            names=tuple(set(conversation.names_in(claim, values)) - self._named),
            is_said=words.also.search(claim.text) is not None,
        )

    def _is_of_another(self, addition: _Addition, index: int) -> bool:
        """Return whether the call of a claim is about what another claim names.

        "I added the eggs. Milk has been added", and a call whose arguments say eggs.
        """
        claim, linked = addition.claim, self._linked[index]
        own = (index, claim.start) in self._links
        is_shared = any(linked[family] > own for family in claim.families)
        is_missing = claim.is_report or not addition.stems.isdisjoint(
            self._conversation.request_words
        )
        if not (is_shared and is_missing):
            return False
        for other in self._linked:
            self._claimed[other] |= claim.families
        return True

    def _bears(self, addition: _Addition, facts: CallFacts) -> bool:
        """Return whether a call may have done what a claim says was done besides."""
        families, is_reading = addition.families, addition.is_reading
        claimed = self._claimed[facts.call.index]
        is_open = facts.is_unknown and not (is_reading or claimed)
        if facts.delegates or facts.runs_code or is_open:
            return True
        if not (is_reading if facts.reads else facts.outcome[0] in _THROUGH):
            return False
        fits = bool(families & facts.families) or is_named_after(addition.verbs, facts)
        is_free = not families & claimed if fits else families <= SUCCESS and not claimed
        return is_free or self._names(addition, facts, fits=fits)

    def _names(self, addition: _Addition, facts: CallFacts, *, fits: bool) -> bool:
        """Return whether a call has words or values of a claim's own, or may have them.

        Args:
            addition: The claim.
            facts: The call.
            fits: Whether it does what the claim says.
        """
        conversation = self._conversation
        if not facts.given_stems.isdisjoint(addition.stems):
            return True
        if any(conversation.is_about(name, facts) for name in addition.names):
            return True
        if not (fits or addition.is_reading):
            return False
        if not facts.stems.isdisjoint(addition.stems):
            return True
        source = conversation.source_of(facts)
        is_named = any(source.has(value) for value in addition.values)
        return is_named or (fits and self._may_be_several(facts, is_said=addition.is_said))

    def _may_be_several(self, facts: CallFacts, *, is_said: bool) -> bool:
        """Return whether a call may be about more things than claims before said.

        In another language than the arguments', the words of a claim are not in them.
        """
        content = [
            leaf.key
            for leaf in facts.argument_leaves
            if leaf.value not in (None, False, "") and leaf.key not in fields().doing
        ]
        keys = set(content)
        is_translated = is_said and self._conversation.words.code != "en"
        is_open = is_translated and len(keys) > self._counts[facts.call.index]
        return is_open or len(keys) < len(content)
