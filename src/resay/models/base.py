"""The seams to neural models: what each kind of model gives, wherever it runs.

All of them are asynchronous, may be used from any thread and event loop, and put together the work
of all who use them at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]
    """An array of float32."""
    Doubles: TypeAlias = NDArray[np.float64]
    """An array of float64."""

Pair: TypeAlias = tuple[str, str]
"""Two texts that a model reads together, in this order."""


class Model(Protocol):
    """What all models have in common."""

    async def prepare(self) -> None:
        """Load the model, or see that its server answers; otherwise the first use does.

        Raises:
            ConfigurationError: It cannot be had as configured.
            ScorerError: Its server does not answer.
        """
        ...


class Measure(Protocol):
    """Counts tokens as a model does."""

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has, without special tokens."""
        ...

    async def room(self) -> int | None:
        """Return how many tokens the two texts of a pair may have together; None = any number."""
        ...


class PairClassifier(Model, Measure, Protocol):
    """Gives the probability of each label for a pair of texts."""

    async def labels(self) -> tuple[str, ...]:
        """Return the labels' names, in lower case, in the order of the probabilities."""
        ...

    async def classify(self, pairs: Sequence[Pair]) -> Doubles:
        """Classify pairs.

        Args:
            pairs: Any number of pairs; equal ones are computed once.

        Returns:
            Probabilities of shape (pairs, labels).

        Raises:
            ScorerError: A pair is longer than the model's room, or the model failed.
        """
        ...


class PairScorer(Model, Measure, Protocol):
    """Gives the logits of a pair of texts, whatever they mean."""

    async def logits(self, pairs: Sequence[Pair]) -> Doubles:
        """Score pairs.

        Args:
            pairs: Any number of pairs; equal ones are computed once.

        Returns:
            Logits of shape (pairs, outputs).

        Raises:
            ScorerError: A pair is longer than the model's room, or the model failed.
        """
        ...


class TextScorer(Model, Measure, Protocol):
    """Gives the logits of single texts, whatever they mean. Its room is that of one text."""

    async def logits(self, texts: Sequence[str]) -> Doubles:
        """Score texts.

        Args:
            texts: Any number of texts; equal ones are computed once.

        Returns:
            Logits of shape (texts, outputs).

        Raises:
            ScorerError: A text is longer than the model's room, or the model failed.
        """
        ...


class TextClassifier(Model, Measure, Protocol):
    """Gives the probability of each label for a single text. Its room is that of one text."""

    async def labels(self) -> tuple[str, ...]:
        """Return the labels' names, in lower case, in the order of the probabilities."""
        ...

    async def classify(self, texts: Sequence[str]) -> Doubles:
        """Classify texts.

        Args:
            texts: Any number of texts; equal ones are computed once.

        Returns:
            Probabilities of shape (texts, labels).

        Raises:
            ScorerError: A text is longer than the model's room, or the model failed.
        """
        ...


@dataclass(frozen=True, slots=True)
class TokenLabels:
    """What a classifier of tokens says of a text.

    Attributes:
        spans: Where each token stands in the text, in code points; none for a token of no width.
        probabilities: The probability of each label, of shape (tokens, labels).
    """

    spans: tuple[tuple[int, int], ...]
    probabilities: Doubles


class TokenClassifier(Model, Measure, Protocol):
    """Gives the probability of each label for each token of the second of two texts."""

    async def labels(self) -> tuple[str, ...]:
        """Return the labels' names, in lower case, in the order of the probabilities."""
        ...

    async def classify_tokens(self, pairs: Sequence[Pair]) -> list[TokenLabels]:
        """Classify the tokens of the second text of each pair.

        Args:
            pairs: Any number of pairs; equal ones are computed once.

        Raises:
            ScorerError: A pair is longer than the model's room, or the model failed.
        """
        ...


class TokenEmbedder(Model, Protocol):
    """Gives a contextual embedding of each token of a text."""

    async def embed_tokens(self, texts: Sequence[str]) -> list[Floats]:
        """Embed the tokens of texts.

        Args:
            texts: Any number of texts; equal ones are computed once. Those longer than the model
                can read are read in several parts.

        Returns:
            For each text an array of shape (tokens, dimensions), without special tokens, each row
            of length 1.

        Raises:
            ScorerError: The model failed.
        """
        ...


class SentenceEmbedder(Model, Protocol):
    """Gives one embedding of a text."""

    async def embed(self, texts: Sequence[str]) -> Floats:
        """Embed texts.

        Args:
            texts: Any number of texts; equal ones are computed once. One that is longer than the
                model can read is read in several parts, whose embeddings are averaged by length.

        Returns:
            An array of shape (texts, dimensions), each row of length 1.

        Raises:
            ScorerError: The model failed.
        """
        ...
