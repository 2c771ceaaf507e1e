"""Arrays of what models and servers give; the remote back ends know numpy only through it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from resay._internal.optional import load_optional

if TYPE_CHECKING:
    import numpy as np

    from resay.models.base import Doubles, Floats

__all__ = [
    "are_probabilities",
    "doubles",
    "floats",
    "join",
    "means",
    "require_numpy",
    "softmax",
    "stack",
    "units",
]


def require_numpy() -> Any:
    """Import numpy.

    Raises:
        MissingDependencyError: It is not installed.
    """
    return load_optional(
        "numpy", package="numpy", extra="remote", purpose="a model behind a server"
    )


if not TYPE_CHECKING:
    np = require_numpy()


def floats(values: Sequence[Any], dimensions: int) -> Floats:
    """Return decoded JSON as an array of finite float32 with so many dimensions.

    Raises:
        ValueError: It is no such array.
    """
    return _checked(np.asarray(values, dtype=np.float32), dimensions)


def doubles(values: Sequence[Any], dimensions: int) -> Doubles:
    """Return decoded JSON as an array of finite float64 with so many dimensions.

    Raises:
        ValueError: It is no such array.
    """
    return _checked(np.asarray(values, dtype=np.float64), dimensions)


def _checked(array: Any, dimensions: int) -> Any:
    if array.ndim != dimensions or not np.isfinite(array).all():
        raise ValueError("not an array of finite numbers of the expected shape")
    return array


def softmax(scores: Doubles) -> Doubles:
    """Return probabilities, of shape (texts, labels), of a model's raw scores.

    A single label has no rivals: its probability is the logistic function of its score.
    """
    if scores.shape[1] == 1:
        # exp of what is at most 0: of a large number it would overflow.
        small = np.exp(-np.abs(scores))
        return np.where(scores >= 0, 1.0, small) / (1.0 + small)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
    return powers / powers.sum(axis=1, keepdims=True)


def are_probabilities(row: Doubles) -> bool:
    """Return whether numbers are the probabilities of labels that exclude each other.

    Up to the rounding of a server that computes in 16 bits. A single label's is any in [0, 1].
    """
    inside = bool(((row >= 0.0) & (row <= 1.0)).all())
    return inside and (len(row) == 1 or abs(float(row.sum()) - 1.0) < 0.02)


def units(rows: Floats) -> Floats:
    """Scale rows, of shape (rows, dimensions), to length 1; a row of zeros stays one."""
    return _units(rows.astype(np.float64))


def _units(rows: Doubles) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths == 0.0, 1.0, lengths)).astype(np.float32)


def stack(rows: Sequence[Doubles], width: int) -> Doubles:
    """Put rows of one width into an array; no rows make one of shape (0, width)."""
    return np.stack(rows) if rows else np.zeros((0, width))


def means(texts: Sequence[Sequence[Floats]], weights: Sequence[Sequence[int]]) -> Floats:
    """Average the rows of each text by weight.

    Args:
        texts: For each text the embeddings of its parts.
        weights: For each text how much each part counts.

    Returns:
        An array of shape (texts, dimensions), each row of length 1; of shape (0, 0) for no texts.
    """
    if not texts:
        return np.zeros((0, 0), dtype=np.float32)
    pairs = zip(texts, weights, strict=True)
    averages = [np.average(rows, axis=0, weights=ws) for rows, ws in pairs]
    return _units(np.stack(averages).astype(np.float64))


def join(parts: Sequence[Floats]) -> Floats:
    """Put the rows of several arrays below each other."""
    return np.concatenate(parts)
