"""How like embeddings are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import TypeAlias

    from resay.models.base import Doubles, Floats

    IntRow: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]

__all__ = ["cosines", "f1"]


def f1(sentences: Sequence[Floats], others: Sequence[Floats]) -> Doubles:
    """Return the BERTScore of every sentence with every other, without idf and baseline.

    Zhang et al., "BERTScore: Evaluating Text Generation with BERT", ICLR 2020, section 3.

    All pairs are computed in one product of matrices.

    Args:
        sentences: For each an array of shape (tokens, dimensions) of unit vectors.
        others: The same.

    Returns:
        F1 of shape (sentences, others), in [-1, 1]; 0 where one of the two has no token.
    """
    rows, columns = _counts(sentences), _counts(others)
    found = np.zeros((len(sentences), len(others)))
    some_rows, some_columns = np.flatnonzero(rows), np.flatnonzero(columns)
    if some_rows.size and some_columns.size:
        likeness = np.matmul(
            np.concatenate([*sentences]), np.transpose(np.concatenate([*others])), dtype=np.float64
        )
        found[np.ix_(some_rows, some_columns)] = _f1(
            likeness, rows[some_rows], columns[some_columns]
        )
    return found


def _counts(texts: Sequence[Floats]) -> IntRow:
    return np.array([len(text) for text in texts], dtype=np.int64)


def _f1(likeness: Doubles, rows: IntRow, columns: IntRow) -> Doubles:
    """Return F1 for each block of a matrix of likenesses, its tokens' best matches averaged."""
    row_starts, column_starts = _starts(rows), _starts(columns)
    best_in_row = np.maximum.reduceat(likeness, column_starts, axis=1)
    precision = np.add.reduceat(best_in_row, row_starts, axis=0) / rows[:, None]
    best_in_column = np.maximum.reduceat(likeness, row_starts, axis=0)
    recall = np.add.reduceat(best_in_column, column_starts, axis=1) / columns[None, :]
    both = precision + recall
    return np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both != 0)


def _starts(counts: IntRow) -> list[int]:
    return [0, *accumulate(counts.tolist())][:-1]


def cosines(rows: Floats, others: Floats) -> Doubles:
    """Return the cosine of every unit vector with every other, of shape (rows, others)."""
    found = np.matmul(rows, np.transpose(others), dtype=np.float64)
    return np.minimum(np.maximum(found, -1.0), 1.0)
