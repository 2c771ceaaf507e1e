"""Multiple-choice questions about a passage's sentences.

Manakul, Liusie and Gales, "SelfCheckGPT", EMNLP 2023, appendix B, equation 14: a first model writes
a question and its answer from the sentence, a second one other options from question, answer and
passage. See `resay.scorers.mqag`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from resay.core.passage import Passage
from resay.models.windows import windows

if TYPE_CHECKING:
    from resay.models.generation import TextGenerator

__all__ = ["Question", "cleaned", "read_options", "read_question", "write_questions"]

_SEPARATOR = "<sep>"
# The second model learned to write both.
_SEPARATORS = re.compile(r"<sep>|<extra_id_\d+>")
_DISTRACTORS = 3
_LEAST_CONTEXT = 16
# What T5 and Longformer take for something else than text.
_SPECIAL = re.compile(r"<(?=(?:/?s|pad|unk|mask|sep|extra_id_\d+)>)")


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a sentence.

    Attributes:
        sentence: Which, from 0.
        text: The question.
        options: What to choose from: at least two, all different, the expected answer first.
    """

    sentence: int
    text: str
    options: tuple[str, ...]


def cleaned(passage: Passage) -> Passage:
    """Return a passage in which a model sees nothing but text: no tokens that steer it."""
    text = _plain(passage.text)
    return passage if text == passage.text else Passage.of(text)


def _plain(text: str) -> str:
    return _SPECIAL.sub("< ", text)


def read_question(written: str) -> tuple[str, str] | None:
    """Read a question and its answer.

    Args:
        written: What the first model wrote.

    Returns:
        Both; None unless there are exactly two parts and neither is blank.
    """
    parts = [part.strip() for part in written.split(_SEPARATOR)]
    if len(parts) != 2 or not all(parts):
        return None
    return _plain(parts[0]), _plain(parts[1])


def read_options(answer: str, written: str) -> tuple[str, ...] | None:
    """Read what a question can be answered with.

    The released code repeats the last option until there are four. A repeated option is never
    chosen before its first mention, so it is left out here.

    Args:
        answer: The expected answer.
        written: The other options as the second model wrote them.

    Returns:
        The answer and up to three others, each once; None where there are no others, because then
        every text would give the same answer.
    """
    others = [_plain(part.strip()) for part in _SEPARATORS.split(written) if part.strip()]
    options = tuple(dict.fromkeys([answer, *others[:_DISTRACTORS]]))
    return options if len(options) > 1 else None


async def write_questions(
    passage: Passage, first: TextGenerator, second: TextGenerator, count: int, seed: int
) -> list[Question]:
    """Write questions about every sentence of a passage.

    Args:
        passage: The passage; its `sentences` are asked about.
        first: Writes question and answer.
        second: Writes the other options.
        count: How many questions to try for each sentence.
        seed: What is written depends on it.

    Returns:
        The well-formed questions, in the sentences' order. The same question can be among them
        several times, as often as it was drawn.

    Raises:
        ConfigurationError: A model cannot be had as configured.
        ScorerError: A model failed.
    """
    sentences = [_plain(sentence.text) for sentence in passage.sentences]
    written = await first.generate(sentences, n=count, seed=seed)
    asked = [
        (place, *parts)
        for place, texts in enumerate(written)
        for parts in map(read_question, texts)
        if parts is not None
    ]
    asked, prompts = await _prompts(passage, sentences, asked, second)
    others = [texts[0] for texts in await second.generate(prompts, seed=seed)]
    options = [read_options(a, o) for (_, _, a), o in zip(asked, others, strict=True)]
    return [
        Question(place, question, choices)
        for (place, question, _), choices in zip(asked, options, strict=True)
        if choices is not None
    ]


_Asked: TypeAlias = "tuple[int, str, str]"
"""The place of a sentence, a question about it, and the answer."""


async def _prompts(
    passage: Passage, sentences: Sequence[str], asked: Sequence[_Asked], model: TextGenerator
) -> tuple[list[_Asked], list[str]]:
    """Return what the second model reads: question, answer and passage.

    A question that leaves no room for the passage is no question about it, and is left out.
    """
    heads = [f"{question} {_SEPARATOR} {answer} {_SEPARATOR} " for _, question, answer in asked]
    context = cleaned(passage)
    room = await model.room()
    if room is None:
        return list(asked), [head + context.text for head in heads]
    kept: list[_Asked] = []
    prompts: list[str] = []
    for one, head, length in zip(asked, heads, await model.lengths(heads), strict=True):
        if room - length >= _LEAST_CONTEXT:
            parts = await windows(context, room - length, model)
            kept.append(one)
            prompts.append(head + _around(sentences[one[0]], parts))
    return kept, prompts


def _around(sentence: str, contexts: Sequence[str]) -> str:
    """Return the stretch of the passage that holds a sentence."""
    return next((context for context in contexts if sentence in context), contexts[0])
