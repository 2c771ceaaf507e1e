"""Array functions for results of models and servers, and the remote backends' only use of numpy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from resay._internal.importing import load_optional

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy as np

    from resay.models.base import Doubles, Floats

    IntRow: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]


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
    """Convert decoded JSON to an array of finite float32 with the given number of dimensions.

    Raises:
        ValueError: The values do not form such an array.
    """
    return _checked(np.asarray(values, dtype=np.float32), dimensions)


def doubles(values: Sequence[Any], dimensions: int) -> Doubles:
    """Convert decoded JSON to an array of finite float64 with the given number of dimensions.

    Raises:
        ValueError: The values do not form such an array.
    """
    return _checked(np.asarray(values, dtype=np.float64), dimensions)


def _checked(array: Any, dimensions: int) -> Any:
    if array.ndim != dimensions or not np.isfinite(array).all():
        raise ValueError("not an array of finite numbers of the expected shape")
    return array


def softmax(scores: Doubles) -> Doubles:
    """Convert raw scores of shape (texts, labels) to probabilities.

    The probability of a single label is the logistic function of its score.
    """
    if scores.shape[1] == 1:
        # The exponent is at most 0, because exp of a large number would overflow.
        small = np.exp(-np.abs(scores))
        return np.where(scores >= 0, 1.0, small) / (1.0 + small)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
    return powers / powers.sum(axis=1, keepdims=True)


def are_probabilities(row: Doubles) -> bool:
    """Return whether a row holds probabilities of mutually exclusive labels.

    Allows for rounding on 16-bit servers. A single label may have any probability in [0, 1].
    """
    inside = bool(((row >= 0.0) & (row <= 1.0)).all())
    return inside and (len(row) == 1 or abs(float(row.sum()) - 1.0) < 0.02)


def units(rows: Floats) -> Floats:
    """Scale rows, of shape (rows, dimensions), to length 1; rows of zeros stay unchanged."""
    return _units(rows.astype(np.float64))


def _units(rows: Doubles) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths == 0.0, 1.0, lengths)).astype(np.float32)


def stack(rows: Sequence[Doubles], width: int) -> Doubles:
    """Stack rows of one width into an array. Without rows, its shape is (0, width)."""
    return np.stack(rows) if rows else np.zeros((0, width))


def means(texts: Sequence[Sequence[Floats]], weights: Sequence[Sequence[int]]) -> Floats:
    """Return the weighted mean of each text's rows.

    Args:
        texts: For each text, the embeddings of its parts.
        weights: For each text, the weights of its parts.

    Returns:
        An array of shape (texts, dimensions), each row of length 1; of shape (0, 0) without texts.
    """
    if not texts:
        return np.zeros((0, 0), dtype=np.float32)
    averages: list[Floats] = []
    for rows, row_weights in zip(texts, weights, strict=True):
        averages.append(np.average(rows, axis=0, weights=row_weights))
    return _units(np.stack(averages).astype(np.float64))


def join(parts: Sequence[Floats]) -> Floats:
    """Concatenate the rows of several arrays."""
    return np.concatenate(parts)


def f1(sentences: Sequence[Floats], others: Sequence[Floats]) -> Doubles:
    """Return the BERTScore of every sentence with every other, without idf and baseline.

    Zhang et al., "BERTScore: Evaluating Text Generation with BERT", ICLR 2020, section 3.

    All pairs are computed with one matrix product.

    Args:
        sentences: For each sentence, an array of shape (tokens, dimensions) of unit vectors.
        others: The same.

    Returns:
        F1 of shape (sentences, others), in [-1, 1]; 0 if one of the two has no tokens.
    """
    rows, columns = _counts(sentences), _counts(others)
    scores = np.zeros((len(sentences), len(others)))
    some_rows, some_columns = np.flatnonzero(rows), np.flatnonzero(columns)
    if some_rows.size and some_columns.size:
        similarity = np.matmul(
            np.concatenate([*sentences]), np.transpose(np.concatenate([*others])), dtype=np.float64
        )
        scores[np.ix_(some_rows, some_columns)] = _f1(
            similarity, rows[some_rows], columns[some_columns]
        )
    return scores


def _counts(texts: Sequence[Floats]) -> IntRow:
    return np.array([len(text) for text in texts], dtype=np.int64)


def _f1(similarity: Doubles, rows: IntRow, columns: IntRow) -> Doubles:
    """Return F1 for each block of a similarity matrix, by averaging its tokens' best matches."""
    row_starts, column_starts = _starts(rows), _starts(columns)
    best_in_row = np.maximum.reduceat(similarity, column_starts, axis=1)
    precision = np.add.reduceat(best_in_row, row_starts, axis=0) / rows[:, None]
    best_in_column = np.maximum.reduceat(similarity, row_starts, axis=0)
    recall = np.add.reduceat(best_in_column, column_starts, axis=1) / columns[None, :]
    total = precision + recall
    return np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total != 0)


def _starts(counts: IntRow) -> list[int]:
    return [0, *accumulate(counts.tolist())][:-1]


def cosines(rows: Floats, others: Floats) -> Doubles:
    """Return the cosine of every unit vector with every other, of shape (rows, others)."""
    cosine = np.matmul(rows, np.transpose(others), dtype=np.float64)
    return np.minimum(np.maximum(cosine, -1.0), 1.0)
