"""What is found about the words of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.action_verdict import ActionVerdict
from resay.core.call_log import LoggedCall
from resay.core.claim_verdict import PartKind
from resay.scorers.actions.calls import CallFacts, excerpt
from resay.scorers.actions.claims import ActionClaim
from resay.scorers.actions.values import Value, ValueKind

# The word before a number, or two if the nearest is short, and the word after it.
_WORDS_BEFORE: Final = lazy_pattern(
    r"(?:(?<!\w)[^\W\d_]+ (?=[^\W\d_]{1,4} \S*\Z))?(?<!\w)[^\W\d_]+ (?=\S*\Z)"
)
_WORD_AFTER: Final = lazy_pattern(r" [^\W\d_]+")
_MAX_PHRASE: Final = 30
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
    """

    start: int
    end: int
    verdict: ActionVerdict
    reason: str
    call: LoggedCall | None = None
    quote: str = ""
    kind: PartKind = "other"

    @property
    def flagged(self) -> bool:
        """Whether it is not done."""
        return self.verdict != "done"


def about_claim(
    claim: ActionClaim,
    verdict: ActionVerdict,
    reason: str,
    facts: CallFacts | None = None,
    quote: str = "",
) -> Finding:
    """Return a finding about the words of a claim.

    Args:
        claim: The claim.
        verdict: The verdict.
        reason: Why, in one line.
        facts: The call that decides, if there is one.
        quote: The words of it that say otherwise.
    """
    return Finding(
        start=claim.start,
        end=claim.end,
        verdict=verdict,
        reason=reason,
        call=facts.call if facts else None,
        quote=quote,
    )


def contradicted_value(
    value: Value, text: str, reason: str, facts: CallFacts, quote: str
) -> Finding:
    """Return that a call says otherwise than a value, with the words beside it that belong to it.

    Args:
        value: The value.
        text: The answer.
        reason: Why, in one line.
        facts: The call.
        quote: The words of it that say otherwise.
    """
    start, end = _phrase_of(value, text)
    return Finding(
        start=start,
        end=end,
        verdict="failed",
        reason=reason,
        call=facts.call,
        quote=quote,
        kind=_kind_of(value),
    )


def invented_value(value: Value) -> Finding:
    """Return that a value stands nowhere."""
    return Finding(
        start=value.start,
        end=value.end,
        verdict="invented",
        reason=f"{excerpt(value.text)!r} appears in no call and no result",
        kind=_kind_of(value),
    )


def _kind_of(value: Value) -> PartKind:
    return _PART_KINDS.get(value.kind, "other")


def _phrase_of(value: Value, text: str) -> tuple[int, int]:
    """Return where the words begin and end that a number belongs to: "size 42", "at 6:15"."""
    if value.is_name:
        return value.start, value.end
    before = _WORDS_BEFORE.search(text, max(0, value.start - _MAX_PHRASE), value.start)
    after = _WORD_AFTER.match(text, value.end)
    start = value.start if before is None else before.start()
    return start, value.end if after is None else after.end()
