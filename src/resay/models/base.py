"""Interfaces of neural models, local or remote, by kind of output.

All models are asynchronous, may be used from any thread and event loop, and batch the work of
concurrent callers.
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
    """The common interface of all models."""

    async def prepare(self) -> None:
        """Load the model, or check that its server responds. Otherwise, the first use does so.

        Raises:
            ConfigurationError: The model is not available as configured.
            ScorerError: The server does not respond.
        """
        ...


class Measure(Protocol):
    """Counts tokens with a model's tokenizer."""

    async def lengths(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens in each text, without special tokens."""
        ...

    async def max_input_tokens(self) -> int | None:
        """Return the maximum number of tokens in a pair of texts; None = no limit."""
        ...


class PairClassifier(Model, Measure, Protocol):
    """Computes the probability of each label for a pair of texts."""

    async def labels(self) -> tuple[str, ...]:
        """Return the label names, in lower case, in the order of the probabilities."""
        ...

    async def classify(self, pairs: Sequence[Pair]) -> Doubles:
        """Classify pairs.

        Args:
            pairs: Any number of pairs; equal ones are computed once.

        Returns:
            Probabilities of shape (pairs, labels).

        Raises:
            ScorerError: A pair exceeds `max_input_tokens`, or the model failed.
        """
        ...


class PairScorer(Model, Measure, Protocol):
    """Computes the logits of a pair of texts, whatever their meaning."""

    async def logits(self, pairs: Sequence[Pair]) -> Doubles:
        """Score pairs.

        Args:
            pairs: Any number of pairs; equal ones are computed once.

        Returns:
            Logits of shape (pairs, outputs).

        Raises:
            ScorerError: A pair exceeds `max_input_tokens`, or the model failed.
        """
        ...


class TextScorer(Model, Measure, Protocol):
    """Computes the logits of single texts, whatever their meaning.

    `max_input_tokens` applies to one text.
    """

    async def logits(self, texts: Sequence[str]) -> Doubles:
        """Score texts.

        Args:
            texts: Any number of texts; equal ones are computed once.

        Returns:
            Logits of shape (texts, outputs).

        Raises:
            ScorerError: A text exceeds `max_input_tokens`, or the model failed.
        """
        ...


class TextClassifier(Model, Measure, Protocol):
    """Computes the probability of each label for a single text.

    `max_input_tokens` applies to one text.
    """

    async def labels(self) -> tuple[str, ...]:
        """Return the label names, in lower case, in the order of the probabilities."""
        ...

    async def classify(self, texts: Sequence[str]) -> Doubles:
        """Classify texts.

        Args:
            texts: Any number of texts; equal ones are computed once.

        Returns:
            Probabilities of shape (texts, labels).

        Raises:
            ScorerError: A text exceeds `max_input_tokens`, or the model failed.
        """
        ...


@dataclass(frozen=True, slots=True)
class TokenLabels:
    """A token classifier's result for one text.

    Attributes:
        spans: Each token's start and end in the text, in code points; none for zero-width tokens.
        probabilities: The probability of each label, of shape (tokens, labels).
    """

    spans: tuple[tuple[int, int], ...]
    probabilities: Doubles


class TokenClassifier(Model, Measure, Protocol):
    """Computes the probability of each label for each token of the second text of a pair."""

    async def labels(self) -> tuple[str, ...]:
        """Return the label names, in lower case, in the order of the probabilities."""
        ...

    async def classify_tokens(self, pairs: Sequence[Pair]) -> list[TokenLabels]:
        """Classify the tokens of the second text of each pair.

        Args:
            pairs: Any number of pairs; equal ones are computed once.

        Raises:
            ScorerError: A pair exceeds `max_input_tokens`, or the model failed.
        """
        ...


class TokenEmbedder(Model, Protocol):
    """Computes a contextual embedding of each token of a text."""

    async def embed_tokens(self, texts: Sequence[str]) -> list[Floats]:
        """Embed the tokens of texts.

        Args:
            texts: Any number of texts; equal ones are computed once. A text longer than the model's
                input is read in several parts.

        Returns:
            For each text an array of shape (tokens, dimensions), without special tokens. Each row
            has length 1.

        Raises:
            ScorerError: The model failed.
        """
        ...


class SentenceEmbedder(Model, Protocol):
    """Computes one embedding per text."""

    async def embed(self, texts: Sequence[str]) -> Floats:
        """Embed texts.

        Args:
            texts: Any number of texts; equal ones are computed once. A text longer than the model's
                input is read in several parts, whose embeddings are averaged, weighted by length.

        Returns:
            An array of shape (texts, dimensions). Each row has length 1.

        Raises:
            ScorerError: The model failed.
        """
        ...
