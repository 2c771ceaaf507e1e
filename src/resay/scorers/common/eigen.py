"""Eigenvalues of small symmetric matrices."""

from __future__ import annotations

from math import fsum, hypot

from resay._internal.event_loops import stop_if_abandoned

Grid = list[list[float]]
"""The rows of a matrix."""
# Sums of squares under the square of this are 0.
_ZERO = 1e-12
_MAX_SWEEPS = 60


def eigen(matrix: Grid) -> tuple[list[float], Grid]:
    """Return eigenvalues and unit eigenvectors of a symmetric matrix, by Jacobi rotations."""
    n = len(matrix)
    a = [list(row) for row in matrix]
    vectors = [[float(i == j) for j in range(n)] for i in range(n)]
    for _ in range(_MAX_SWEEPS):
        stop_if_abandoned()
        if fsum(a[i][j] ** 2 for i in range(n) for j in range(i)) < _ZERO**2:
            break
        for p in range(n):
            for q in range(p + 1, n):
                if a[p][q]:
                    _rotate(a, vectors, p, q)
    return [a[i][i] for i in range(n)], vectors


def _rotate(a: Grid, vectors: Grid, p: int, q: int) -> None:
    """Make one off-diagonal entry 0."""
    theta = (a[q][q] - a[p][p]) / (2 * a[p][q])
    t = (1.0 if theta >= 0 else -1.0) / (abs(theta) + hypot(theta, 1.0))
    c = 1.0 / hypot(t, 1.0)
    s = t * c
    for row in a:
        row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]
    for rows in (a, vectors):
        row_p, row_q = rows[p], rows[q]
        rows[p] = [c * x - s * y for x, y in zip(row_p, row_q, strict=True)]
        rows[q] = [s * x + c * y for x, y in zip(row_p, row_q, strict=True)]
