"""Checks of answers in texts that contain reasoning: only the answer is checked, at its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from resay._internal.event_loops import compute
from resay.core.citations import Citation
from resay.core.reasoning import SplitText, split_reasoning
from resay.core.segmentation.spans import Span
from resay.core.unscored import Unscored
from resay.core.verdict import Verdict
from resay.providers.base import Completion
from resay.providers.layers import answer_tokens


async def split_off_loop(text: str) -> SplitText:
    """Tell the reasoning in a text from the answer, off the event loop if that takes long."""
    return await compute(partial(split_reasoning, text), chars=len(text))


def answer_of(completion: Completion, split: SplitText) -> Completion:
    """Return a completion with nothing but the answer.

    Args:
        completion: What the model returned.
        split: Its text, split.
    """
    if not split.reasoning:
        return completion
    citations: list[Citation] = []
    for citation in completion.citations:
        start, end = citation.start - split.start, citation.end - split.start
        if end >= 0:
            citations.append(replace(citation, start=max(start, 0), end=end))
    return replace(
        completion,
        text=split.answer,
        logprobs=answer_tokens(completion.logprobs),
        citations=tuple(citations),
    )


def placed(verdict: Verdict, split: SplitText) -> Verdict:
    """Return the verdict on an answer as one on the text that contains it.

    Args:
        verdict: The verdict on the answer.
        split: The text.

    Returns:
        The verdict, with offsets into the text, and the reasoning in it among what is not scored.
    """
    if not split.reasoning:
        return verdict
    reasoning = unscored_reasoning(split.text, split.reasoning)
    moved = verdict.moved(split.start)
    unscored = sorted([*reasoning, *moved.unscored], key=lambda stretch: stretch.start)
    return replace(moved, unscored=tuple(unscored))


def unscored_reasoning(text: str, spans: Sequence[Span]) -> list[Unscored]:
    """Return the spans of reasoning that have a letter or a digit, without white space around them.

    Args:
        text: The text.
        spans: The spans of its reasoning.
    """
    reasoning: list[Unscored] = []
    for start, end in spans:
        inner = text[start:end].strip()
        if any(map(str.isalnum, inner)):
            first = text.index(inner, start)
            reasoning.append(
                Unscored(text=inner, start=first, end=first + len(inner), kind="reasoning")
            )
    return reasoning


def taken_out(verdict: Verdict, split: SplitText) -> Verdict:
    """Return the verdict on an answer alone: the reverse of `placed`.

    Args:
        verdict: The verdict on the text that contains the answer.
        split: The text.
    """
    if not split.reasoning:
        return verdict
    unscored = tuple(stretch for stretch in verdict.unscored if stretch.kind != "reasoning")
    return replace(verdict, unscored=unscored).moved(-split.start)


def all_reasoning(split: SplitText) -> SplitText:
    """Return a text without marks as one that ends inside reasoning that the prompt opened."""
    end = len(split.text)
    return replace(split, reasoning=((0, end),), start=end, end=end, unclosed="</think>")


def unanswered_reason(split: SplitText) -> str:
    """Return why a text that has nothing but reasoning supports no decision."""
    if split.unclosed:
        return "the text ends inside the model's reasoning, before an answer"
    return "the text has no words besides the model's reasoning"
