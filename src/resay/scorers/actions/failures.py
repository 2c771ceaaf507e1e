"""Failed calls that an answer passes over: "Your table is waiting for you", and an error.

What an agent says in place of a failure has no verb of its own; it names what the call was for, and
says nothing of the failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.scorers.actions.calls import FINE, CallFacts
from resay.scorers.actions.claims import ReadSentence
from resay.scorers.actions.matching import Conversation
from resay.scorers.actions.words import fields

_TOKEN: Final = lazy_pattern(r"[^\W_]{2,}")
_MAX_CHARS: Final = 400
_FAILED: Final = frozenset({"error", "dry_run", "nothing"})


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A sentence that says of a failed call what would be so if it had succeeded.

    Attributes:
        sentence: The index of the sentence.
        facts: The call.
        quote: The words of its result that say what went wrong.
    """

    sentence: int
    facts: CallFacts
    quote: str


@dataclass(frozen=True, slots=True)
class _Failure:
    facts: CallFacts
    quote: str
    tokens: frozenset[str]


def passed_over(
    sentences: Sequence[ReadSentence], conversation: Conversation
) -> Iterator[PassedOver]:
    """Yield the sentences that pass over the failure of a call of the last turn.

    Args:
        sentences: The sentences of the answer.
        conversation: The log of calls.
    """
    failures = list(_failures(conversation))
    if not failures:
        return
    spoken = [_tokens(read.sentence.text) for read in sentences]
    admits = [_admits(read, conversation) for read in sentences]
    of_calls = frozenset[str]().union(*(_of_arguments(f) for f in conversation.of_turn))
    for failure in failures:
        # "Unfortunately, this did not work" is about any of them.
        is_admitted = any(
            admitted and (tokens & failure.tokens or not tokens & of_calls)
            for admitted, tokens in zip(admits, spoken, strict=True)
        )
        if is_admitted:
            continue
        for index, read in enumerate(sentences):
            tokens = spoken[index]
            if index and _continues(read, conversation):
                tokens |= spoken[index - 1]
            if read.asserts and tokens & failure.tokens:
                yield PassedOver(index, failure.facts, failure.quote)


def _failures(conversation: Conversation) -> Iterator[_Failure]:
    """Yield the failed changes of the turn that no later call makes good, with their own words."""
    # Of a tool that no word tells, what the user wants tells whether it changes something.
    changes = [
        facts
        for facts in conversation.of_turn
        if not facts.reads and (conversation.asks_for_change or not facts.is_unknown)
    ]
    arguments = [_of_arguments(facts) for facts in changes]
    counts = Counter(token for own in arguments for token in own)
    # Calls of agents are many, so that none is compared with all.
    last_attempt: dict[frozenset[str], int] = {}
    last_success: dict[str, int] = {}
    for index, (facts, own) in enumerate(zip(changes, arguments, strict=True)):
        last_attempt[own] = index
        if facts.outcome[0] in FINE:
            last_success |= dict.fromkeys(own, index)
    # Something waits where another call of the same tool is through.
    through = {facts.call.name for facts in changes if facts.outcome[0] == "ok"}
    requested = _tokens(conversation.request)
    last_of_tool = {facts.call.name: facts for facts in changes if facts.outcome[0] in FINE}
    for index, (facts, own) in enumerate(zip(changes, arguments, strict=True)):
        outcome, quote = conversation.outcome_of(facts)
        waits = outcome == "pending" and facts.call.name in through
        if outcome == "partial":
            yield from _failed_items(facts)
        elif outcome in _FAILED or waits:
            unique = frozenset(token for token in own if counts[token] == 1)
            is_retried = last_attempt[own] > index
            is_made_good = any(last_success.get(token, -1) > index for token in own)
            is_means = unique.isdisjoint(requested) and _is_by_other_means(
                facts, last_of_tool.get(facts.call.name)
            )
            if not (is_retried or is_means) and (unique or not is_made_good):
                yield _Failure(facts, quote, unique or own)


def _is_by_other_means(facts: CallFacts, later: CallFacts | None) -> bool:
    """Return whether a later call did the same by other means: on a printer that had paper.

    Args:
        facts: A call that failed.
        later: The last call of the same tool that succeeded, if there is one.
    """
    if later is None or later.call.index < facts.call.index:
        return False
    own = {leaf.key: leaf.value for leaf in facts.argument_leaves}
    others = {leaf.key: leaf.value for leaf in later.argument_leaves}
    different = {key for key in own.keys() | others.keys() if own.get(key) != others.get(key)}
    targets = fields().targets | fields().recipients
    is_target = any(key in targets or key.endswith("_id") for key in different)
    return len(different) < len(own) and not is_target


def _failed_items(facts: CallFacts) -> Iterator[_Failure]:
    """Yield the entries of a result that failed, with the words that no other entry has."""
    counts = Counter(_TOKEN.findall((facts.call.result or "").lower()))
    for item in facts.failed_items:
        own = Counter(_TOKEN.findall(item.lower()))
        unique = frozenset(
            token
            for token, count in own.items()
            if counts[token] == count and fields().failures.search(token) is None
        )
        if unique:
            yield _Failure(facts, item, unique)


def _of_arguments(facts: CallFacts) -> frozenset[str]:
    """Return the words of a call's short arguments."""
    tokens: set[str] = set()
    for leaf in facts.argument_leaves:
        text = str(leaf.value)
        if not isinstance(leaf.value, bool) and len(text) <= _MAX_CHARS:
            tokens |= _tokens(text)
    return frozenset(tokens)


def _tokens(text: str) -> frozenset[str]:
    return frozenset(_TOKEN.findall(text.lower()))


def _continues(read: ReadSentence, conversation: Conversation) -> bool:
    """Return whether a sentence is about what the one before is about: "It has arrived"."""
    return conversation.words.pronouns.match(read.sentence.text.lower()) is not None


def _admits(read: ReadSentence, conversation: Conversation) -> bool:
    """Return whether a sentence tells of a failure, or that something is still to come."""
    words = conversation.words
    # "Without any trouble" admits none.
    text = words.done["succeed"].sub(" ", read.sentence.text.lower())
    return any(
        pattern.search(text) is not None
        for pattern in (
            words.denied,
            words.open,
            words.begun,
            fields().failures,
            fields().pending,
            fields().trying,
        )
    )
