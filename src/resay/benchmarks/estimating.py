"""Fits what `prompt` with `order: nearest` estimates a judge's answers by.

The model is that of `resay.scorers.nearest_first`: a logistic regression with a random intercept
for each sentence. Its coefficients are those of the greatest likelihood with the random intercept
integrated out, on a grid, at a spread that is given. The spread of the greatest likelihood, 2.9 for
the judge the defaults are fitted to, leans so much on the answers known that scores rank worse by
what people say; decisions agree as well with the smaller default.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from resay._internal.optional import load_optional
from resay.errors import ConfigurationError
from resay.scorers.nearest_first import Estimate

__all__ = ["fit_estimate"]

_DIGITS = 1
_GRID = 25
_REACH = 3.0


def fit_estimate(
    overlaps: Sequence[Sequence[float]],
    entries: Sequence[Sequence[float | None]],
    *,
    spread: float | None = None,
) -> Estimate:
    """Fit how a judge answers to the words sentence and sample share.

    Args:
        overlaps: For each sentence the overlap with each sample; see
            `resay.scorers.nearest_first.overlaps`.
        entries: For each sentence what the judge said of each sample: 0 where it supports the
            sentence, 1 where it does not, 0.5 where the answer could not be read, None where the
            call failed.
        spread: The deviation of what the words do not tell; None for the default.

    Returns:
        The estimate, its coefficients to one decimal.

    Raises:
        ConfigurationError: Nothing can be learned: there are not both, answers that support a
            sentence and answers that do not, or not one entry for each overlap.
        MissingDependencyError: numpy or scipy is not installed.
    """
    if [len(row) for row in overlaps] != [len(row) for row in entries]:
        raise ConfigurationError("there is not one entry for each overlap")
    known = {entry for row in entries for entry in row if entry is not None}
    if not (min(known, default=0.0) < 0.5 < max(known, default=0.0)):
        raise ConfigurationError(
            "nothing can be learned from judges' answers that are all alike; give more passages"
        )
    wide = Estimate().spread if spread is None else spread
    found = _fit(_Table(overlaps, entries), wide)
    intercept, overlap, mean_overlap = (round(float(value), _DIGITS) for value in found)
    return Estimate(intercept=intercept, overlap=overlap, mean_overlap=mean_overlap, spread=wide)


class _Table:
    """Sentences by samples, padded to the longest row."""

    def __init__(
        self, overlaps: Sequence[Sequence[float]], entries: Sequence[Sequence[float | None]]
    ) -> None:
        np = _np()
        shape = (len(entries), max(map(len, entries)))
        overlap, self.entries, self.known = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for i, (shared, said) in enumerate(zip(overlaps, entries, strict=True)):
            overlap[i, : len(shared)] = shared
            self.entries[i, : len(said)] = [entry or 0.0 for entry in said]
            self.known[i, : len(said)] = [entry is not None for entry in said]
        mean = np.array([sum(shared) / max(len(shared), 1) for shared in overlaps])
        ones = np.ones(shape)
        self.features = np.stack([ones, overlap, ones * mean[:, None]], axis=-1)


def _fit(table: _Table, spread: float) -> Any:
    """Return intercept and coefficients."""
    np = _np()
    nodes = np.linspace(-_REACH, _REACH, _GRID)

    def loss(at: Any) -> tuple[float, Any]:
        odds = (table.features @ at)[..., None] + spread * nodes
        said, known = table.entries[..., None], table.known[..., None]
        logs = (known * (said * odds - np.logaddexp(0, odds))).sum(axis=1) - nodes**2 / 2
        most = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - most)
        whole = weights.sum(axis=1, keepdims=True)
        chances = 0.5 + 0.5 * np.tanh(odds / 2)
        missed = (known * (said - chances) * (weights / whole)[:, None, :]).sum(axis=-1)
        slope = (table.features * missed[..., None]).sum(axis=(0, 1))
        return -float((most[:, 0] + np.log(whole[:, 0])).sum()), -slope

    optimize = load_optional("scipy.optimize", package="scipy", extra="bench", purpose="a fit")
    default = Estimate()
    start = [default.intercept, default.overlap, default.mean_overlap]
    return optimize.minimize(loss, start, jac=True, method="L-BFGS-B").x


def _np() -> Any:
    return load_optional("numpy", package="numpy", extra="bench", purpose="a fit")
