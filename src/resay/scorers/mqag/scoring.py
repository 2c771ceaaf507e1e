"""The score of a question: equations 19 to 21."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Literal, TypeAlias

from resay.scorers.common.logistic import logistic

Scoring: TypeAlias = Literal["counting", "bayes", "bayes_alpha"]


@dataclass(frozen=True, slots=True)
class ChosenOption:
    """A text's answer to a question.

    Attributes:
        choice: Index of the chosen option, from 0.
        answerability: Probability that the text answers the question at all (Eq. 15).
    """

    choice: int
    answerability: float


@dataclass(frozen=True, slots=True)
class ScoringRule:
    """Turns answers into a score.

    Attributes:
        scoring: `counting` is N_n / (N_m + N_n), `bayes` Eq. 19, `bayes_alpha` Eq. 21.
        beta1: P(another answer | the sentence is not factual), over 0.5.
        beta2: P(the same answer | the sentence is factual), over 0.5.
        answerable: Answers with a lower answerability do not count, except for `bayes_alpha`.
    """

    scoring: Scoring = "bayes_alpha"
    beta1: float = 0.8
    beta2: float = 0.8
    answerable: float = 0.5

    def asks(self, own: ChosenOption) -> bool:
        """Return whether a question is usable: whether the response itself answers it."""
        return self.scoring == "bayes_alpha" or own.answerability >= self.answerable

    def score(self, own: ChosenOption, others: Sequence[ChosenOption]) -> float:
        """Score a question.

        Args:
            own: The answer from the response.
            others: The answers from the compared texts.

        Returns:
            S_QA(i, q) in [0, 1]; 0.5 if no text counts.
        """
        same = sum(self._weight(other) for other in others if other.choice == own.choice)
        another = sum(self._weight(other) for other in others if other.choice != own.choice)
        if self.scoring == "counting":
            return another / (same + another) if same + another else 0.5
        gamma1 = self.beta2 / (1.0 - self.beta1)
        gamma2 = self.beta1 / (1.0 - self.beta2)
        # gamma2^n / (gamma1^m + gamma2^n), in logarithms because the powers soon overflow.
        return logistic(another * log(gamma2) - same * log(gamma1))

    def _weight(self, answer: ChosenOption) -> float:
        if self.scoring == "bayes_alpha":
            return answer.answerability
        return float(answer.answerability >= self.answerable)
