"""Fits the estimate of a judge's answers that `prompt` with `order: nearest` uses.

The model is that of `resay.scorers.common.nearest_first`: a logistic regression with a random
intercept for each sentence. Its coefficients maximise the likelihood with the random intercept
integrated out, on a grid, at a given spread. The spread of the greatest likelihood, 2.9 for the
judge the defaults are fitted to, relies so much on known answers that scores rank worse by human
labels; decisions agree as well with the smaller default.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from resay.adapters import load_optional
from resay.errors import ConfigurationError
from resay.scorers.common.nearest_first import Estimate

_DIGITS = 1
_GRID = 25
_REACH = 3.0


def fit_estimate(
    overlaps: Sequence[Sequence[float]],
    answers: Sequence[Sequence[float | None]],
    *,
    spread: float | None = None,
) -> Estimate:
    """Fit how a judge's answers depend on the words that a sentence shares with a sample.

    Args:
        overlaps: For each sentence, the overlap with each sample; see
            `resay.scorers.common.nearest_first.overlaps`.
        answers: For each sentence, the judge's answer about each sample: 0 if it supports the
            sentence, 1 if it does not, 0.5 if the answer could not be parsed, None if the call
            failed.
        spread: The deviation of the part that the words do not explain; None for the default.

    Returns:
        The estimate, its coefficients rounded to one decimal.

    Raises:
        ConfigurationError: Nothing can be learned: the answers do not include both supporting and
            other ones, or there is not one answer for each overlap.
        MissingDependencyError: numpy or scipy is not installed.
    """
    if [len(row) for row in overlaps] != [len(row) for row in answers]:
        raise ConfigurationError("there is not one answer for each overlap")
    values = {answer for row in answers for answer in row if answer is not None}
    if not (min(values, default=0.0) < 0.5 < max(values, default=0.0)):
        raise ConfigurationError(
            "nothing can be learned from judges' answers that are all alike; give more passages"
        )
    if spread is None:
        spread = Estimate().spread
    coefficients = _coefficients(_Table(overlaps, answers), spread)
    intercept, overlap, mean_overlap = (round(float(value), _DIGITS) for value in coefficients)
    return Estimate(intercept=intercept, overlap=overlap, mean_overlap=mean_overlap, spread=spread)


class _Table:
    """A table of sentences by samples, padded to the longest row."""

    def __init__(
        self, overlaps: Sequence[Sequence[float]], answers: Sequence[Sequence[float | None]]
    ) -> None:
        np = _np()
        shape = (len(answers), max(map(len, answers)))
        overlap = np.zeros(shape)
        self.answers = np.zeros(shape)
        self.answered = np.zeros(shape)
        for i, (overlap_row, answer_row) in enumerate(zip(overlaps, answers, strict=True)):
            overlap[i, : len(overlap_row)] = overlap_row
            self.answers[i, : len(answer_row)] = [answer or 0.0 for answer in answer_row]
            self.answered[i, : len(answer_row)] = [answer is not None for answer in answer_row]
        mean = np.array([sum(row) / max(len(row), 1) for row in overlaps])
        ones = np.ones(shape)
        self.features = np.stack([ones, overlap, ones * mean[:, None]], axis=-1)


def _coefficients(table: _Table, spread: float) -> Any:
    """Return the intercept and the coefficients of the overlap and of the mean overlap."""
    np = _np()
    nodes = np.linspace(-_REACH, _REACH, _GRID)

    def loss(coefficients: Any) -> tuple[float, Any]:
        """Return the negative logarithm of the likelihood, and its gradient."""
        log_odds = (table.features @ coefficients)[..., None] + spread * nodes
        answers, answered = table.answers[..., None], table.answered[..., None]
        log_likelihoods = answered * (answers * log_odds - np.logaddexp(0, log_odds))
        logs = log_likelihoods.sum(axis=1) - nodes**2 / 2
        maximum = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - maximum)
        total = weights.sum(axis=1, keepdims=True)
        chances = 0.5 + 0.5 * np.tanh(log_odds / 2)
        shares = (weights / total)[:, None, :]
        residuals = (answered * (answers - chances) * shares).sum(axis=-1)
        gradient = (table.features * residuals[..., None]).sum(axis=(0, 1))
        return -float((maximum[:, 0] + np.log(total[:, 0])).sum()), -gradient

    optimize = load_optional("scipy.optimize", package="scipy", extra="bench", purpose="a fit")
    default = Estimate()
    start = [default.intercept, default.overlap, default.mean_overlap]
    return optimize.minimize(loss, start, jac=True, method="L-BFGS-B").x


def _np() -> Any:
    return load_optional("numpy", package="numpy", extra="bench", purpose="a fit")
