"""The seams to neural models: what each kind of model gives, wherever it runs.

All of them are asynchronous, may be used from any thread and event loop, and put together the work
of all who use them at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
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
