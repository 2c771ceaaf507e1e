"""Text and costs for terminals and pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from resay._internal.patterns import lazy_pattern
from resay._internal.plurals import counted
from resay.core.claim_verdict import ClaimVerdict
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.usage import Usage

# A model's output must not move the cursor or recolour the reader's terminal.
CONTROL = lazy_pattern(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that control a terminal or the direction of text instead of being shown."""


_NEWLINE = lazy_pattern(r"\r\n?")
# JSON can hold lone surrogates, which cannot be encoded as UTF-8.
_SURROGATE = lazy_pattern(r"[\ud800-\udfff]")
# Characters that `words` would change: a fast path for the many texts without any.
_UNPRINTABLE = lazy_pattern(rf"[\r\ud800-\udfff]|{CONTROL.pattern}")


def clean(text: str) -> str:
    """Replace the control characters in a text."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def words(text: str) -> str:
    """Replace control characters, direction overrides and lone surrogates in a text."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", clean(_NEWLINE.sub("\n", text)))


def printable(value: Any) -> Any:
    """Return what a template shows of a value: nothing of None, markup unchanged."""
    if value is None:
        return ""
    if hasattr(value, "__html__"):
        return value
    text = str(value)
    return words(text) if _UNPRINTABLE.search(text) else text


def doubts(sentence: SentenceVerdict, claims: Sequence[ClaimVerdict]) -> list[str]:
    """Return what is in doubt of a flagged sentence; nothing if it is all of it.

    These are the words in doubt of each flagged claim, in quotation marks, or else the claim.

    Args:
        sentence: The sentence.
        claims: Its claims.
    """
    in_doubt: list[str] = []
    for claim in claims:
        if not claim.flagged:
            continue
        words: list[str] = []
        for part in claim.flagged_parts if sentence.has_text else ():
            start = max(part.start - sentence.start, 0)
            words.append(f"“{sentence.text[start : part.end - sentence.start]}”")
        if words:
            in_doubt.append(", ".join(dict.fromkeys(words)))
        elif len(claims) > 1:
            in_doubt.append(claim.text)
    return in_doubt


def cost(usage: Usage) -> str:
    """Format the calls, tokens and cost of a usage."""
    price = "price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    cancelled = f" ({usage.cancelled} cancelled)" if usage.cancelled else ""
    calls, tokens = counted(usage.calls, "call"), counted(usage.tokens, "token")
    return f"{calls}{cancelled}, {tokens}, {price}"
