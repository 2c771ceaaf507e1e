"""Compares what a claim says was acted on with what its calls were about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.action_verdict import ActionVerdict
from resay.scorers.actions.calls import FINE, CallFacts, beginning, excerpt
from resay.scorers.actions.claims import DEVICES, ActionClaim
from resay.scorers.actions.findings import Finding, about_claim
from resay.scorers.actions.matching import Conversation, Match, objects_of
from resay.scorers.actions.values import Source, Value, has_like, quoted_in
from resay.scorers.actions.words import fields, stems

# Things that are acted on one by one, so that each that is named needs a call.
_TANGIBLE: Final = DEVICES | {"flight", "train", "car", "taxi", "coupon", "photo", "backup"}
_ADDRESSED: Final = frozenset(
    {"send", "notify", "call", "pay", "refund", "schedule", "upload", "move", "create", "book"}
    | {"update"}
)
_NAME: Final = lazy_pattern(r"(?<![\w@./-])[A-ZÀ-ÞŁŚŻŽČŠА-ЯЁ][\w'’-]*[a-zà-ÿłśżа-яё][\w'’-]*")
_WORD_AT: Final = lazy_pattern(r"[^\W\d_][\w-]*")
_ENVIRONMENTS: Final = frozenset({"production", "staging", "development", "sandbox", "preview"})
_STEM: Final = 4
_ENVIRONMENT: Final = lazy_pattern(
    r"\b(?:to|in|on|into)(?: the)? ([a-z]+)|\b([a-z]+) (?:server|environment|cluster|database)\b"
)
_LETTERS: Final = lazy_pattern(r"[a-z]+")
_VENUES: Final = frozenset({"restaurant", "venue", "hotel", "shop", "store", "clinic"})
_VENUE: Final = lazy_pattern(r"\bat (?!(?:The|Christmas|Easter)\b)([A-Z][a-z]{2,})(?![\w-])")
# A name and nothing else: "Luigi's".
_ALONE: Final = lazy_pattern(r"[A-Z][a-z]{2,}(?:['’]s)?(?: [A-Z][a-z]+)?")
_CLOSE_TO: Final = 12
_MAX_NAME: Final = 40


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
    return (
        _of_another_value(claim, values, facts, candidates, conversation)
        or _of_another_title(claim, values, facts, candidates, conversation)
        or _of_another_name(claim, values, facts, candidates, conversation)
        or _at_another_place(claim, facts, conversation)
    )


def _of_another_value(
    claim: ActionClaim,
    values: Sequence[Value],
    facts: CallFacts,
    candidates: Source,
    conversation: Conversation,
) -> Finding | None:
    if "read" in claim.families and "read" in facts.families:
        # What was searched for and found need not have been read.
        candidates = Source(calls=[c for c in conversation.calls if "read" in c.families])
    for value in values:
        if not value.is_name or value.kind == "quote" or candidates.has(value):
            continue
        is_real = conversation.all_calls.has(value) or conversation.told.has(value)
        if is_real and has_like(value, facts):
            return _not_about(claim, value.text, facts)
    return None


def _of_another_title(
    claim: ActionClaim,
    values: Sequence[Value],
    facts: CallFacts,
    candidates: Source,
    conversation: Conversation,
) -> Finding | None:
    for quoted in quoted_in(conversation.text, claim.clause_start, claim.end):
        if quoted.lower() not in conversation.told.text or candidates.has_text(quoted):
            continue
        # A call may say the number of what is called so.
        if not any(conversation.is_about(quoted.lower(), call) for call in candidates.calls):
            return _not_about(claim, quoted, facts)
    title = facts.title
    objects = objects_of(claim, conversation.words)
    if title and not facts.reads and objects & conversation.request_words:
        is_about = not objects.isdisjoint(facts.stems)
        if not is_about and not any(candidates.has(value) for value in values):
            reason = f"{facts.label} was about {title!r}"
            return about_claim(claim, "failed", reason, facts, title)
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


def _at_another_place(
    claim: ActionClaim, facts: CallFacts, conversation: Conversation
) -> Finding | None:
    """Return that a call was for another environment or venue: "at Mario's", for Luigi's."""
    texts = [text for text in facts.argument_texts if len(text) <= _MAX_NAME]
    own = {word for text in texts for word in _LETTERS.findall(text)}
    environments = {match[1] or match[2] for match in _ENVIRONMENT.finditer(claim.text)}
    for word in environments & _ENVIRONMENTS:
        # "prod" is production, and "the production build" may go to staging.
        is_there = any(word[:_STEM] in other.text for other in conversation.calls)
        if not is_there and any(other not in claim.text for other in own & _ENVIRONMENTS):
            return _not_about(claim, word, facts)
    venues = {str(leaf.value) for leaf in facts.argument_leaves if leaf.key in _VENUES}
    venue = _VENUE.search(conversation.text, claim.start, claim.end)
    if venue is None or len(venues) != 1 or facts.reads or conversation.words.code != "en":
        return None
    is_named = _ALONE.fullmatch(min(venues)) and beginning(min(venues)).lower() not in claim.text
    name, is_possessive = venue[1].lower(), conversation.text.startswith(("'", "’"), venue.end())
    # A hotel "at Como" has a name of its own.
    is_there = any(conversation.is_about(name, other) for other in conversation.calls)
    is_there = is_there or (name in conversation.told.words and not is_possessive)
    return _not_about(claim, venue[1], facts) if is_named and not is_there else None


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


def uncovered(
    claim: ActionClaim, matches: Sequence[Match], conversation: Conversation
) -> Iterator[Finding]:
    """Yield the things and areas of a claim that no call is about."""
    covered: set[str] = set()
    for match in matches:
        if match.facts.outcome[0] in FINE:
            covered |= match.facts.things | match.facts.areas
    things = conversation.words.things_in(claim.text)
    named = {**things, **conversation.words.areas_in(claim.text)}
    if len(named) < 2 or not named.keys() & covered:
        return
    if len(things) == 1 and not things.keys() & covered and things.keys() <= _TANGIBLE:
        yield about_claim(claim, "not_done", f"no call is about {min(things)!r}")
        return
    areas = conversation.words.areas_in(claim.text)
    for thing, (start, end) in named.items():
        if thing in covered or not (thing in areas or thing in _TANGIBLE):
            continue
        has_area = any(match.facts.areas for match in matches)
        if thing in areas and not has_area:
            continue
        yield Finding(
            start=claim.clause_start + start,
            end=claim.clause_start + end,
            verdict="not_done",
            reason=f"no call is about {claim.text[start:end]!r}",
        )


def left_out(
    claim: ActionClaim,
    matches: Sequence[Match],
    details: Sequence[Finding],
    conversation: Conversation,
) -> Iterator[Finding]:
    """Yield what the user asked for beside something that a call is about: "A and B".

    Args:
        claim: The claim.
        matches: The calls that it may be about.
        details: What is found about its values.
        conversation: The log of calls, and what was written.
    """
    requested = conversation.request_words
    done: set[str] = set()
    for match in matches:
        done |= match.facts.stems
    for join in conversation.words.lists.finditer(claim.text):
        left = _last_word(claim.text[: join.start()])
        right = _WORD_AT.search(claim.text, join.end())
        while right is not None and right[0] in conversation.words.stop:
            right = _WORD_AT.search(claim.text, right.end())
        if left is None or right is None or right.start() > join.end() + _CLOSE_TO:
            continue
        for word, neighbour in ((left, right), (right, left)):
            own = stems(word[0], conversation.words)
            beside = stems(neighbour[0], conversation.words)
            is_missing = own and own[0] in requested and own[0] not in done
            start = claim.clause_start + word.start()
            is_known = any(f.start <= start < f.end for f in details)
            if is_missing and beside and beside[0] in done and not is_known:
                yield Finding(
                    start=start,
                    end=start + len(word[0]),
                    verdict="not_done",
                    reason=f"no call is about {word[0]!r}",
                )


def _last_word(text: str) -> re.Match[str] | None:
    words = list(_WORD_AT.finditer(text))
    return words[-1] if words else None
