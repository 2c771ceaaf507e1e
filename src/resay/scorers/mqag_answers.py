"""What texts answer to multiple-choice questions.

Manakul, Liusie and Gales, "SelfCheckGPT", EMNLP 2023, section 5.2, equations 3 and 4, and appendix
B, equation 15. See `resay.scorers.mqag`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from resay.core.passage import Passage
from resay.errors import ConfigurationError
from resay.models import Measure, PairScorer, TextScorer
from resay.models.windows import windows
from resay.scorers.mqag_questions import Question, cleaned
from resay.scorers.mqag_scoring import Answer

if TYPE_CHECKING:
    from resay.models.base import Doubles

__all__ = ["Exam", "Examinee"]

# Where two texts meet, a space may be a token of its own.
_SEAMS = 4
# The least room in which a text can be divided.
_LEAST = 4


@dataclass(frozen=True, slots=True)
class Exam:
    """Questions, and how long a text they can be asked about at once.

    Attributes:
        questions: The questions, at least one.
        rooms: For each, how many tokens of a text fit beside it; None = any number, for all.
    """

    questions: tuple[Question, ...]
    rooms: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Examinee:
    """The two models that answer.

    Attributes:
        chooser: Gives one logit for an option, of which those of a question are compared.
        judge: Gives one logit for whether a text answers a question.
    """

    chooser: PairScorer
    judge: TextScorer

    async def prepare(self) -> None:
        """Load the models.

        Raises:
            ConfigurationError: One cannot be had, or is not made for this.
        """
        await self.chooser.prepare()
        await self.judge.prepare()
        await self._answerability([_judged("Who?", "Nobody.")])

    async def exam(self, questions: Sequence[Question]) -> Exam:
        """Return questions with the room they leave for a text."""
        limits = [await self.chooser.room(), await self.judge.room()]
        known = [limit for limit in limits if limit is not None]
        if not known:
            return Exam(tuple(questions), None)
        measure = _Longer(self.chooser, self.judge)
        heads = await measure.lengths([_asked("", question.text) for question in questions])
        rooms: list[int] = []
        for question, head in zip(questions, heads, strict=True):
            option = max(await measure.lengths(question.options))
            rooms.append(max(min(known) - head - option - _SEAMS, _LEAST))
        return Exam(tuple(questions), tuple(rooms))

    async def answer(self, exam: Exam, passage: Passage) -> list[Answer]:
        """Answer questions from a text.

        A text that is longer than the models read is divided into windows of whole sentences, and
        the one that most probably answers a question does so.

        Args:
            exam: The questions.
            passage: The text.

        Returns:
            An answer to each question.

        Raises:
            ConfigurationError: A model cannot be had, or is not made for this.
            ScorerError: A model failed, or a question alone is longer than it reads.
        """
        texts = await self._windows(exam, cleaned(passage))
        judged = [
            _judged(question.text, text)
            for question, found in zip(exam.questions, texts, strict=True)
            for text in found
        ]
        answerable = _cut(await self._answerability(judged), list(map(len, texts)))
        best = [int(values.argmax()) for values in answerable]
        pairs = [
            (_asked(found[place], question.text), option)
            for question, found, place in zip(exam.questions, texts, best, strict=True)
            for option in question.options
        ]
        sizes = [len(question.options) for question in exam.questions]
        logits = _cut((await self.chooser.logits(pairs))[:, 0], sizes)
        return [
            Answer(int(options.argmax()), float(values[place]))
            for options, values, place in zip(logits, answerable, best, strict=True)
        ]

    async def _windows(self, exam: Exam, passage: Passage) -> list[list[str]]:
        """Return for each question the stretches of a text it is asked about."""
        if exam.rooms is None:
            return [[passage.text.strip()]] * len(exam.questions)
        measure = _Longer(self.chooser, self.judge)
        found = {min(exam.rooms): await windows(passage, min(exam.rooms), measure)}
        for room in dict.fromkeys(exam.rooms):
            # What fits beside the longest question fits beside all.
            if room not in found and len(found[min(exam.rooms)]) > 1:
                found[room] = await windows(passage, room, measure)
        return [found.get(room, found[min(exam.rooms)]) for room in exam.rooms]

    async def _answerability(self, texts: Sequence[str]) -> Doubles:
        """Return P_U(answerable | question, text), of shape (texts,)."""
        logits = await self.judge.logits(texts)
        if logits.shape[1] != 1:
            raise ConfigurationError(
                f"the model for `answerability` gives {logits.shape[1]!r} values; name one that"
                " gives a single one, such as the published one"
            )
        import numpy as np

        # 1 / (1 + exp(-x)), without overflow.
        return 0.5 * (1.0 + np.tanh(0.5 * logits[:, 0]))


@dataclass(frozen=True, slots=True)
class _Longer:
    """Counts tokens as that of two models does which finds more."""

    one: Measure
    other: Measure

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has."""
        counts = zip(await self.one.lengths(texts), await self.other.lengths(texts), strict=True)
        return [max(pair) for pair in counts]

    async def room(self) -> int | None:
        """Return None: it depends on the question."""
        return None


def _asked(text: str, question: str) -> str:
    """Return text and question as the answering model learned to read them."""
    return f"{text} <s> {question}"


def _judged(question: str, text: str) -> str:
    """Return question and text as the answerability model learned to read them."""
    return f"{question} </s> {text}"


def _cut(values: Doubles, sizes: Sequence[int]) -> list[Doubles]:
    ends = list(accumulate(sizes))
    return [values[end - size : end] for size, end in zip(sizes, ends, strict=True)]
