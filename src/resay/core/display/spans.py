"""A response cut into spans, each with what was decided about it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from resay.core.decision import Band
from resay.core.display.view import VerdictView
from resay.core.sentence_verdict import SentenceVerdict
from resay.core.unscored import Unscored

Label = Band | Literal["not checked"]
"""What was decided about a span: the band of its sentence, or that it was not checked."""


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a response: a sentence, what was not scored, or what is between.

    Attributes:
        text: Its text.
        sentence: The sentence, if it is one.
        index: The index of the sentence among the verdict's.
        unscored: What was not scored, if it is that.
    """

    text: str
    sentence: SentenceVerdict | None = None
    index: int = -1
    unscored: Unscored | None = None

    @property
    def number(self) -> int:
        """The number of the sentence, from 1."""
        return self.index + 1

    @property
    def label(self) -> Label | None:
        """What was decided about it; None for what is between, reasoning and non-claims."""
        if self.sentence is not None:
            return self.sentence.band or ("unsupported" if self.sentence.flagged else None)
        if self.unscored is None or self.unscored.kind == "reasoning":
            return None
        return "not checked"

    @property
    def has_words(self) -> bool:
        """Whether it is more than white space and punctuation."""
        return re.search(r"\w{2}", self.text) is not None


def spans_of(verdict: VerdictView, response: str | None = None) -> Iterator[Span]:
    """Yield the spans of a response: its sentences, what was not scored, and what is between.

    Args:
        verdict: The verdict.
        response: The response. Without it, or if it is another text, line breaks and spaces stand
            for what is between the sentences.
    """
    if response is not None and not _is_about(verdict, response):
        response = None
    position = 0
    for part, index in parts_in_order(verdict):
        if response is not None:
            between = response[position : part.start]
        else:
            is_apart = part.start - position > 1 or verdict.structured
            between = ("\n" if is_apart else " ") if position else ""
        if between:
            yield Span(between)
        if isinstance(part, Unscored):
            yield Span(part.text, unscored=part)
        else:
            yield Span(part.text, sentence=part, index=index)
        position = part.end
    if response is not None and response[position:]:
        yield Span(response[position:])


def parts_in_order(verdict: VerdictView) -> list[tuple[SentenceVerdict | Unscored, int]]:
    """Return the sentences of a verdict and what was not scored, in the order of the response.

    Each sentence has its index among the verdict's; the index of the others is -1.
    """
    parts: list[tuple[SentenceVerdict | Unscored, int]] = []
    parts += ((sentence, index) for index, sentence in enumerate(verdict.sentences))
    parts += ((block, -1) for block in verdict.unscored_blocks)
    return sorted(parts, key=lambda entry: entry[0].start)


def _is_about(verdict: VerdictView, response: str) -> bool:
    position = 0
    for sentence in verdict.sentences:
        if sentence.start < position or response[sentence.start : sentence.end] != sentence.text:
            return False
        position = sentence.end
    return True
