"""Questions about the sentences of a passage, with options, as two models write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from resay._internal.patterns import lazy_pattern
from resay.core.passage import Passage
from resay.models.windows import windows

if TYPE_CHECKING:
    from resay.models.generation import TextGenerator

_SEPARATOR = "<sep>"
# The second model was trained to write both.
_SEPARATORS = lazy_pattern(r"<sep>|<extra_id_\d+>")
_DISTRACTORS = 3
# Tokens of the passage, at least, beside a question.
_MIN_CONTEXT = 16
# Text that T5 and Longformer would read as special tokens.
_SPECIAL = lazy_pattern(r"<(?=(?:/?s|pad|unk|mask|sep|extra_id_\d+)>)")


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """A question about a sentence.

    Attributes:
        sentence: Index of the sentence, from 0.
        text: The question.
        options: At least two different options, the expected answer first.
    """

    sentence: int
    text: str
    options: tuple[str, ...]


def cleaned(passage: Passage) -> Passage:
    """Return a passage without special tokens that would steer a model."""
    text = _plain(passage.text)
    return passage if text == passage.text else Passage.of(text)


def _plain(text: str) -> str:
    return _SPECIAL.sub("< ", text)


def parse_question(written: str) -> tuple[str, str] | None:
    """Parse a question and its answer.

    Args:
        written: The text that the first model wrote.

    Returns:
        Both; None unless there are exactly two parts and neither is blank.
    """
    parts = [part.strip() for part in written.split(_SEPARATOR)]
    if len(parts) != 2 or not all(parts):
        return None
    return _plain(parts[0]), _plain(parts[1])


def parse_options(answer: str, written: str) -> tuple[str, ...] | None:
    """Parse the options of a question.

    The released code repeats the last option until there are four. A repeated option is never
    chosen over its first mention, so it is left out here.

    Args:
        answer: The expected answer.
        written: The other options as the second model wrote them.

    Returns:
        The answer and up to three other distinct options; None if there are no others, because
        then every text would give the same answer.
    """
    others = [_plain(part.strip()) for part in _SEPARATORS.split(written) if part.strip()]
    options = tuple(dict.fromkeys([answer, *others[:_DISTRACTORS]]))
    return options if len(options) > 1 else None


async def write_questions(
    passage: Passage, first: TextGenerator, second: TextGenerator, count: int, seed: int
) -> list[ChoiceQuestion]:
    """Write questions about every sentence of a passage.

    Args:
        passage: The passage; its `sentences` are asked about.
        first: Writes question and answer.
        second: Writes the other options.
        count: Number of questions to try for each sentence.
        seed: Seed of the models' sampling.

    Returns:
        The well-formed questions, in the order of the sentences. A question that was drawn several
        times appears as often.

    Raises:
        ConfigurationError: A model cannot be loaded as configured.
        ScorerError: A model failed.
    """
    sentences = [_plain(sentence.text) for sentence in passage.sentences]
    drafts: list[_Draft] = []
    for index, texts in enumerate(await first.generate(sentences, n=count, seed=seed)):
        parsed = (parse_question(text) for text in texts)
        drafts += [_Draft(index, *parts) for parts in parsed if parts is not None]
    drafts, prompts = await _prompts(passage, sentences, drafts, second)
    questions: list[ChoiceQuestion] = []
    for draft, (others,) in zip(drafts, await second.generate(prompts, seed=seed), strict=True):
        options = parse_options(draft.answer, others)
        if options is not None:
            questions.append(ChoiceQuestion(draft.sentence, draft.question, options))
    return questions


class _Draft(NamedTuple):
    """A question about a sentence, and its answer."""

    sentence: int
    question: str
    answer: str


async def _prompts(
    passage: Passage, sentences: Sequence[str], drafts: Sequence[_Draft], model: TextGenerator
) -> tuple[list[_Draft], list[str]]:
    """Return the second model's input: question, answer and passage.

    A question so long that it leaves no room for the passage is left out.
    """
    heads = [f"{draft.question} {_SEPARATOR} {draft.answer} {_SEPARATOR} " for draft in drafts]
    context = cleaned(passage)
    room = await model.max_input_tokens()
    if room is None:
        return list(drafts), [head + context.text for head in heads]
    fitting: list[_Draft] = []
    prompts: list[str] = []
    for draft, head, length in zip(drafts, heads, await model.lengths(heads), strict=True):
        if room - length >= _MIN_CONTEXT:
            parts = await windows(context, room - length, model)
            fitting.append(draft)
            sentence = sentences[draft.sentence]
            prompts.append(head + next((part for part in parts if sentence in part), parts[0]))
    return fitting, prompts
