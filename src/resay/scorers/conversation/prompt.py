"""The prompt about claims that may contradict earlier answers, and its answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from resay.core.passage import Sentence
from resay.core.quotes import find_quote
from resay.core.quoting import quotable
from resay.core.reasoning import without_reasoning
from resay.core.request import text_of
from resay.core.segmentation.spans import Span
from resay.lang.language import load
from resay.providers.base import Completion
from resay.scorers.common.fences import Fences
from resay.scorers.common.item_numbers import as_number
from resay.scorers.common.judge_json import numbered_objects
from resay.scorers.conversation.turns import EarlierAnswer

# Of a turn, and of all turns.
_MAX_TURN_CHARS = 6_000
_MAX_CHARS = 24_000


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """What a judge says of a claim.

    Attributes:
        answer: The earlier answer that it contradicts; None if it contradicts none.
        quote: The words of that answer.
        span: The words of the claim against them, in its text; None for all of it.
    """

    answer: EarlierAnswer | None = None
    quote: str = ""
    span: Span | None = None


def conversation_prompt(
    claims: Sequence[Sentence], newest: str, messages: Sequence[Mapping[str, Any]]
) -> str:
    """Return the prompt about the claims of an answer.

    Args:
        claims: The claims, to be numbered from 1.
        newest: The answer.
        messages: The conversation before it.
    """
    prompt = load("en").prompts.conversation
    listed = "\n".join(
        f"{i}. {quotable(' '.join(claim.standalone.split()))}" for i, claim in enumerate(claims, 1)
    )
    answer = quotable(newest[:_MAX_TURN_CHARS])
    turns = _turns(messages)
    fences = Fences.around(listed, answer, *(text for _, text, _ in turns))
    shown = "\n".join(fences.enclose(name, text, number=n) for name, text, n in turns)
    parts = [
        prompt.task,
        fences.enclose("conversation", shown),
        fences.enclose("newest_answer", answer),
        fences.enclose("claims", listed),
        prompt.rules,
    ]
    return "\n\n".join(parts)


def _turns(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, int | None]]:
    """Return the turns to show, the newest if there are too many, answers with their numbers."""
    turns: list[tuple[str, str, int | None]] = []
    number = 0
    for message in messages:
        role, text = str(message.get("role")), text_of(message.get("content"))
        if role == "assistant":
            text = without_reasoning(text).strip()
            number += bool(text)
        if text and role in ("user", "assistant", "tool", "function"):
            name = {"assistant": "answer", "user": "user"}.get(role, "tool_result")
            shown = quotable(text[:_MAX_TURN_CHARS])
            turns.append((name, shown, number if role == "assistant" else None))
    chars = 0
    first = len(turns)
    while first and chars + len(turns[first - 1][1]) <= _MAX_CHARS:
        first -= 1
        chars += len(turns[first][1])
    return turns[first:]


def read_conversation_verdicts(
    completion: Completion, claims: Sequence[Sentence], answers: Sequence[EarlierAnswer]
) -> list[JudgedClaim | None]:
    """Return what a judge says of each claim; None where it cannot be read.

    Args:
        completion: The judge's answer.
        claims: The claims.
        answers: The earlier answers.
    """
    entries = numbered_objects(completion.text, "claim")
    if entries is None or completion.was_cut:
        return [None] * len(claims)
    verdicts: list[JudgedClaim | None] = [JudgedClaim() for _ in claims]
    by_number = {answer.index + 1: answer for answer in answers}
    for fields in entries:
        number = as_number(fields.get("claim"))
        if number is None or not 1 <= number <= len(claims):
            # It may be about any claim, or all may be numbered otherwise.
            return [None] * len(claims)
        answer = by_number.get(as_number(fields.get("answer")) or 0)
        quote = str(fields.get("quote") or "")
        if answer is None or find_quote(quote, answer.text) is None:
            verdicts[number - 1] = None
            continue
        words = str(fields.get("words") or "")
        span = find_quote(words, claims[number - 1].text) if words else None
        verdicts[number - 1] = JudgedClaim(answer, quote, span)
    return verdicts
