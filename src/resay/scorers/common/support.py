"""The question whether a context supports a sentence, which two papers ask in the same words.

SelfCheckGPT, section 5.5, and NU-RU at SemEval-2024 task 6, Table 1.
"""

from __future__ import annotations

from resay.providers.base import Completion
from resay.scorers.common.answers import read_yes_no

__all__ = ["RESTATED", "ask_support", "read_support"]

_QUESTION = (
    "Context: {context}\n\n"
    "Sentence: {sentence}\n\n"
    "Is the sentence supported by the context above?\n\n"
    "Answer Yes or No:"
)
RESTATED = "Answer with one word, Yes or No. Is the sentence supported by the context?"
"""What is said when the answer cannot be read."""


def ask_support(context: str, sentence: str) -> str:
    """Return the question, worded as published."""
    return _QUESTION.format(context=context, sentence=sentence)


def read_support(answer: Completion) -> list[bool | None]:
    """Read the answer into its one slot."""
    return [read_yes_no(answer.text)]
