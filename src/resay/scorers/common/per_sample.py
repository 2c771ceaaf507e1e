"""Compares the claims of an answer with one other text in one call of a judge.

The judge sees the conversation, the text and the numbered claims, and decides for each claim
whether the text supports it, contradicts it or does not mention it.
"""

from __future__ import annotations

from collections.abc import Sequence

from resay.lang.language import load
from resay.lang.prompts import PerSamplePrompt
from resay.providers.base import Completion
from resay.scorers.common.answers import read_items
from resay.scorers.common.fences import Fences
from resay.scorers.common.judge_calls import ParsedAnswer, ask
from resay.scorers.common.judge_words import JudgeVerdict
from resay.scorers.common.languages import choices_in
from resay.scorers.judge import Judge


def render(
    claims: Sequence[str],
    context: str,
    conversation: str = "",
    *,
    prompt: PerSamplePrompt | None = None,
    brief: bool = False,
) -> str:
    """Return the prompt about all claims of an answer and one other text.

    Args:
        claims: The claims, to be numbered from 1.
        context: The text.
        conversation: The conversation that both answer; empty if unknown.
        prompt: Its wording; None for the English one.
        brief: Whether the judge is to give a short reason for each verdict.
    """
    wording = prompt or load("en").prompts.per_sample
    # The line breaks of a claim would end its line.
    listed = "\n".join(f"{i}. {' '.join(claim.splitlines())}" for i, claim in enumerate(claims, 1))
    fences = Fences.around(conversation, context, listed)
    parts = [wording.task]
    if conversation:
        parts.append(fences.enclose("conversation", conversation))
    parts.append(fences.enclose("context", context.strip()))
    parts.append(fences.enclose("claims", listed))
    instructions = (wording.about if conversation else "") + wording.rules
    parts.append(f"{instructions} {wording.brief}" if brief else instructions)
    return "\n\n".join(parts)


async def ask_about(
    judge: Judge,
    claims: Sequence[str],
    context: str,
    conversation: str = "",
    *,
    restate: bool,
    language: str = "en",
    brief: bool = False,
) -> ParsedAnswer[JudgeVerdict]:
    """Ask a judge how a text relates to claims, in one call.

    Args:
        judge: The judge.
        claims: The claims.
        context: The text.
        conversation: The conversation that both answer; empty if unknown.
        restate: Whether to ask once more for an answer that cannot be parsed.
        language: The language of the prompt.
        brief: Whether the judge is to give a short reason for each verdict.
    """
    count = len(claims)
    wording = load(language).prompts.per_sample
    choices = choices_in(language)

    def parse(answer: Completion) -> Sequence[JudgeVerdict | None]:
        return read_items(answer.text, count, choices)

    return await ask(
        judge.about(claims),
        render(claims, context, conversation, prompt=wording, brief=brief),
        parse,
        wording.again.format(count=count) if restate else None,
    )
