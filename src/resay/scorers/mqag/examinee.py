"""The two models that answer questions from a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from resay.core.passage import Passage
from resay.errors import ConfigurationError
from resay.models import Measure, PairScorer, TextScorer
from resay.models.windows import windows
from resay.scorers.mqag.questions import ChoiceQuestion, cleaned
from resay.scorers.mqag.scoring import ChosenOption

if TYPE_CHECKING:
    from resay.models.base import Doubles

# Joining two texts may add a token for the space between them.
_SEAMS = 4
# The least room into which a text can be divided, in tokens.
_MIN_ROOM = 4


@dataclass(frozen=True, slots=True)
class Questionnaire:
    """Questions, with the longest text each can be asked about at once.

    Attributes:
        questions: The questions, at least one.
        token_limits: For each, how many tokens of a text fit beside it; None = any number, for all.
    """

    questions: tuple[ChoiceQuestion, ...]
    token_limits: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Examinee:
    """The two models that answer.

    Attributes:
        chooser: Returns one logit per option, to be compared among the options of a question.
        judge: Returns one logit for whether a text answers a question.
    """

    chooser: PairScorer
    judge: TextScorer

    async def prepare(self) -> None:
        """Load the models.

        Raises:
            ConfigurationError: One cannot be loaded, or has the wrong outputs.
        """
        await self.chooser.prepare()
        await self.judge.prepare()
        await self._answerability([_judged("Who?", "Nobody.")])

    async def questionnaire(self, questions: Sequence[ChoiceQuestion]) -> Questionnaire:
        """Return questions with the room they leave for a text."""
        limits = [await self.chooser.max_input_tokens(), await self.judge.max_input_tokens()]
        limit = min((limit for limit in limits if limit is not None), default=None)
        if limit is None:
            return Questionnaire(tuple(questions), None)
        measure = _Longer(self.chooser, self.judge)
        heads = await measure.lengths([_asked("", question.text) for question in questions])
        token_limits: list[int] = []
        for question, head in zip(questions, heads, strict=True):
            option = max(await measure.lengths(question.options))
            token_limits.append(max(limit - head - option - _SEAMS, _MIN_ROOM))
        return Questionnaire(tuple(questions), tuple(token_limits))

    async def answer(self, questionnaire: Questionnaire, passage: Passage) -> list[ChosenOption]:
        """Answer questions from a text.

        A text longer than the models' input is divided into windows of whole sentences, and the
        window that most probably answers a question does so.

        Args:
            questionnaire: The questions.
            passage: The text.

        Returns:
            An answer to each question.

        Raises:
            ConfigurationError: A model cannot be loaded, or has the wrong outputs.
            ScorerError: A model failed, or a question alone exceeds its input.
        """
        questions = questionnaire.questions
        windows_by_question = await self._windows(questionnaire, cleaned(passage))
        judged: list[str] = []
        for question, texts in zip(questions, windows_by_question, strict=True):
            judged += [_judged(question.text, text) for text in texts]
        sizes = [len(texts) for texts in windows_by_question]
        answerable = _divided(await self._answerability(judged), sizes)
        best = [int(probabilities.argmax()) for probabilities in answerable]
        pairs: list[tuple[str, str]] = []
        for question, texts, window in zip(questions, windows_by_question, best, strict=True):
            asked = _asked(texts[window], question.text)
            pairs += [(asked, option) for option in question.options]
        sizes = [len(question.options) for question in questions]
        logits = _divided((await self.chooser.logits(pairs))[:, 0], sizes)
        return [
            ChosenOption(
                choice=int(of_options.argmax()), answerability=float(probabilities[window])
            )
            for of_options, probabilities, window in zip(logits, answerable, best, strict=True)
        ]

    async def _windows(self, questionnaire: Questionnaire, passage: Passage) -> list[list[str]]:
        """Return for each question the windows of a text to ask it about."""
        rooms = questionnaire.token_limits
        if rooms is None:
            return [[passage.text.strip()]] * len(questionnaire.questions)
        measure = _Longer(self.chooser, self.judge)
        smallest = await windows(passage, min(rooms), measure)
        # A text that fits beside the longest question fits beside all.
        if len(smallest) <= 1:
            return [smallest] * len(rooms)
        windows_by_room = {min(rooms): smallest}
        for room in rooms:
            if room not in windows_by_room:
                windows_by_room[room] = await windows(passage, room, measure)
        return [windows_by_room[room] for room in rooms]

    async def _answerability(self, texts: Sequence[str]) -> Doubles:
        """Return P_U(answerable | question, text), of shape (texts,)."""
        logits = await self.judge.logits(texts)
        if logits.shape[1] != 1:
            raise ConfigurationError(
                f"the model for `answerability` returns {logits.shape[1]!r} values; use a model"
                " that returns one, such as the published one"
            )
        import numpy as np

        # 1 / (1 + exp(-x)), without overflow.
        return 0.5 * (1.0 + np.tanh(0.5 * logits[:, 0]))


@dataclass(frozen=True, slots=True)
class _Longer:
    """Counts tokens by the tokenizer, of two models, that yields more."""

    one: Measure
    other: Measure

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        lengths, others = await self.one.lengths(texts), await self.other.lengths(texts)
        return [max(pair) for pair in zip(lengths, others, strict=True)]

    async def max_input_tokens(self) -> int | None:
        """Return None, because the room depends on the question."""
        return None


def _asked(text: str, question: str) -> str:
    """Return text and question in the input format of the answering model."""
    return f"{text} <s> {question}"


def _judged(question: str, text: str) -> str:
    """Return question and text in the input format of the answerability model."""
    return f"{question} </s> {text}"


def _divided(values: Doubles, sizes: Sequence[int]) -> list[Doubles]:
    ends = list(accumulate(sizes))
    return [values[end - size : end] for size, end in zip(sizes, ends, strict=True)]
