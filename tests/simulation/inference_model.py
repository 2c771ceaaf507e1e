"""What the simulated inference server computes, from the words of a text alone."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "END",
    "START",
    "PairModel",
    "Word",
    "embed_words",
    "entailment",
    "entailments",
    "mean_of",
    "unit",
    "words_of",
]

PairModel: TypeAlias = Callable[[Sequence[tuple[str, str]]], Sequence[Sequence[float]]]
"""Gives the probability of each label for each pair, in the order of the labels."""

START, END = "<s>", "</s>"
_WORD = re.compile(rf"{START}|{END}|\w+|[^\w\s]")
_NUMBER = re.compile(r"\d+")
_NEGATIONS = frozenset({"no", "not", "never", "nobody", "nothing", "without"})
_BYTES_PER_NUMBER = 2


@dataclass(frozen=True, slots=True)
class Word:
    """A token of a text.

    Attributes:
        text: The token.
        start: Where it starts, in characters.
        stop: Where it ends.
    """

    text: str
    start: int
    stop: int


def words_of(text: str) -> list[Word]:
    """Cut a text into words and punctuation; each is a token."""
    return [Word(m.group(), m.start(), m.end()) for m in _WORD.finditer(text)]


def entailment(premise: str, hypothesis: str) -> dict[str, float]:
    """Return the probabilities of `entailment`, `neutral` and `contradiction`.

    The more of the hypothesis's words the premise has, the likelier it entails it. It contradicts
    it where half of the words or more are the same, but the numbers differ, or one is negated.
    """
    known, asked = _vocabulary(premise), _vocabulary(hypothesis)
    overlap = len(asked & known) / len(asked) if asked else 1.0
    numbers = [set(_NUMBER.findall(text)) for text in (premise, hypothesis)]
    differs = bool(numbers[0] and numbers[1] - numbers[0])
    negated = bool(_NEGATIONS & known) != bool(_NEGATIONS & asked)
    scores = {
        "entailment": 8.0 * overlap - 4.0,
        "neutral": 1.0,
        "contradiction": 6.0 if overlap >= 0.5 and (differs or negated) else -4.0,
    }
    total = sum(map(math.exp, scores.values()))
    return {label: math.exp(score) / total for label, score in scores.items()}


def entailments(labels: Sequence[str]) -> PairModel:
    """Return the model behind `entailment`, with its labels in an order of your choice."""

    def model(pairs: Sequence[tuple[str, str]]) -> list[list[float]]:
        rows = [entailment(premise, hypothesis) for premise, hypothesis in pairs]
        return [[row[label.lower()] for label in labels] for row in rows]

    return model


def _vocabulary(text: str) -> frozenset[str]:
    return frozenset(word.text.lower() for word in words_of(text) if word.text.isalnum())


def embed_words(words: Sequence[str], dimensions: int) -> list[list[float]]:
    """Return a vector for each word, the same for equal words, of no particular length."""
    return [_vector(word.lower(), dimensions) for word in words]


def _vector(word: str, dimensions: int) -> list[float]:
    data = hashlib.shake_256(word.encode()).digest(_BYTES_PER_NUMBER * dimensions)
    pairs = zip(data[::2], data[1::2], strict=True)
    return [(high * 256 + low) / 32768 - 1.0 for high, low in pairs]


def mean_of(vectors: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean of vectors."""
    return [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]


def unit(vector: Sequence[float]) -> list[float]:
    """Scale a vector to length 1; one of zeros stays as it is."""
    length = math.hypot(*vector) or 1.0
    return [value / length for value in vector]
