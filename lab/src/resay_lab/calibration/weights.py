"""Learns the parameters of a policy's `combination` from labelled sentences.

The model is the one of `resay.scorers.combination`: values standardised over the sentences, their
weighted sum, and how far each sentence leans on its passage. Weights and intercept are those of a
logistic regression on whether a sentence is wrong, with weights of at least 0 (a method may count
for nothing, but never against itself) and a ridge, which keeps them finite if few sentences are
labelled. For a given lean the loss is convex; the lean is the one of a grid with the least loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor, log10
from typing import Any

from resay.adapters import load_optional
from resay.adapters.methods import Scale, clipped_sum, combine, weighted_sum
from resay.errors import ConfigurationError

Values = Sequence[Sequence[float | None]]
"""The values of one passage: for each sentence, one value of each part; None if it has none."""

LEANS = tuple(i / 20 for i in range(20))
"""The leans to try: 0, 0.05, …, 0.95."""


@dataclass(frozen=True, slots=True)
class LearnedPart:
    """The parameters of one part.

    Attributes:
        mean: The mean of its values over the sentences.
        deviation: Their standard deviation, greater than 0.
        weight: The factor of its standardised values.
    """

    mean: float
    deviation: float
    weight: float

    def rounded(self) -> LearnedPart:
        """Return the part with deviation and weight to two digits, and the mean to match."""
        deviation = _two_digits(self.deviation)
        decimals = 1 - floor(log10(deviation))
        return LearnedPart(round(self.mean, decimals), deviation, _two_digits(self.weight))


@dataclass(frozen=True, slots=True)
class Learned:
    """The parameters of a combination.

    Attributes:
        parts: One for each value of a sentence.
        intercept: Added to the sum.
        lean: How far each sentence leans on the mean of its passage, in [0, 1).
    """

    parts: tuple[LearnedPart, ...]
    intercept: float = 0.0
    lean: float = 0.0

    def score(self, values: Values) -> list[float | None]:
        """Return the scores that `combination` gives the sentences of one passage.

        Args:
            values: Their values, each on the scale they were learned on.

        Returns:
            Scores in [0, 1]; None if no part has a value.
        """
        z = [weighted_sum(self.parts, row) for row in values]
        return combine(z, intercept=self.intercept, lean=self.lean)

    def rounded(self) -> Learned:
        """Return the parameters to two digits, as a person would write them into a policy."""
        parts = tuple(part.rounded() for part in self.parts)
        return Learned(parts=parts, intercept=_two_digits(self.intercept), lean=round(self.lean, 2))

    def step(self, scorers: Sequence[Mapping[str, Any]], scales: Sequence[Scale]) -> dict[str, Any]:
        """Return the policy step that scores with these parameters.

        Args:
            scorers: The method of each part with its settings, as in a policy.
            scales: The scale of each part's values.

        Returns:
            A step for a policy's `chain`.
        """
        parts = zip(scorers, scales, self.parts, strict=True)
        return {
            "method": "combination",
            "intercept": self.intercept,
            "lean": self.lean,
            "parts": [
                {
                    "scorer": dict(scorer),
                    "scale": scale,
                    "mean": part.mean,
                    "deviation": part.deviation,
                    "weight": part.weight,
                }
                for scorer, scale, part in parts
            ],
        }


@dataclass(frozen=True, slots=True)
class LearnedSum:
    """The weights of an ensemble.

    Attributes:
        weights: One for each score of a sentence, at least 0.
    """

    weights: tuple[float, ...]

    def score(self, values: Values) -> list[float | None]:
        """Return the scores that `ensemble` gives the sentences of one passage.

        Args:
            values: The scores of the parts.

        Returns:
            Scores in [0, 1]; None if no part that counts has a score.
        """
        return [clipped_sum(self.weights, row) for row in values]


def learn(
    passages: Sequence[Values],
    wrong: Sequence[Sequence[bool]],
    *,
    ridge: float = 1.0,
    leans: Sequence[float] = LEANS,
) -> Learned:
    """Learn weights, intercept and lean.

    Args:
        passages: The values of each passage.
        wrong: For each passage, whether each of its sentences is wrong.
        ridge: Half of the squared weights, times this, is added to the loss; greater than 0.
        leans: The leans to try, each in [0, 1).

    Returns:
        The parameters with the least loss.

    Raises:
        ConfigurationError: All sentences are wrong or none is, or a part scores all of them alike.
        MissingDependencyError: scipy is not installed.
    """
    table = _Table.of(passages, wrong)
    if not 0 < table.wrong.sum() < len(table.wrong):
        raise ConfigurationError(
            f"of {len(table.wrong)} labelled sentences {int(table.wrong.sum())} are wrong; label"
            " some of both kinds"
        )
    parts = table.parts()
    own = table.standardised(parts)
    context = table.means(own)
    best = start = _np().zeros(len(parts) + 1)
    least_loss, best_lean = float("inf"), 0.0
    for lean in leans:
        start, loss = _fit((1 - lean) * own + lean * context, table.wrong, ridge, start)
        if loss < least_loss:
            least_loss, best_lean, best = loss, lean, start
    intercept, *weights = (float(parameter) for parameter in best)
    learned_parts: list[LearnedPart] = []
    for part, weight in zip(parts, weights, strict=True):
        learned_parts.append(replace(part, weight=weight))
    return Learned(parts=tuple(learned_parts), intercept=intercept, lean=best_lean)


def learn_unweighted(passages: Sequence[Values]) -> Learned:
    """Learn means and deviations only, for the published combination, which weighs parts equally.

    Args:
        passages: The values of each passage.

    Returns:
        Parameters with weights of 1, no intercept and no lean.

    Raises:
        ConfigurationError: A part has the same value for every sentence, or no values.
        MissingDependencyError: scipy is not installed.
    """
    labels = [[False] * len(values) for values in passages]
    return Learned(_Table.of(passages, labels).parts())


def learn_sum(passages: Sequence[Values], wrong: Sequence[Sequence[bool]]) -> LearnedSum:
    """Learn the weights of `ensemble`: non-negative least squares of the labels 1 (wrong) and 0.

    Sentences that lack a score of any part are left out.

    Args:
        passages: The scores of each passage.
        wrong: For each passage, whether each of its sentences is wrong.

    Returns:
        The weights.

    Raises:
        ConfigurationError: No sentence is left.
        MissingDependencyError: scipy is not installed.
    """
    table = _Table.of(passages, wrong)
    whole = ~_np().isnan(table.values).any(axis=1)
    if not whole.any():
        raise ConfigurationError("no sentence has a score of every part")
    weights, _ = _optimize().nnls(table.values[whole], table.wrong[whole])
    return LearnedSum(tuple(float(weight) for weight in weights))


@dataclass(frozen=True, slots=True)
class _Table:
    """The sentences of all passages that have a value of at least one part.

    Attributes:
        values: One row for each sentence, one column for each part; NaN for a missing value.
        wrong: 1.0 or 0.0 for each row.
        passages: The index of each row's passage.
    """

    values: Any
    wrong: Any
    passages: Any

    @classmethod
    def of(cls, passages: Sequence[Values], wrong: Sequence[Sequence[bool]]) -> _Table:
        rows: list[Sequence[float | None]] = []
        row_labels: list[bool] = []
        row_passages: list[int] = []
        for i, (values, labels) in enumerate(zip(passages, wrong, strict=True)):
            for row, label in zip(values, labels, strict=True):
                if any(value is not None for value in row):
                    rows.append(row)
                    row_labels.append(label)
                    row_passages.append(i)
        if not rows:
            raise ConfigurationError("there is no sentence to learn from")
        np = _np()
        return cls(
            values=np.array(rows, dtype=float),
            wrong=np.array(row_labels, dtype=float),
            passages=np.array(row_passages),
        )

    def parts(self) -> tuple[LearnedPart, ...]:
        """Return means and deviations, with weights of 1."""
        parts: list[LearnedPart] = []
        for number, column in enumerate(self.values.T):
            values = column[~_np().isnan(column)]
            # The computed deviation of equal values may not be exactly 0.
            deviation = float(values.std()) if len(set(values.tolist())) > 1 else 0.0
            if deviation <= 0:
                raise ConfigurationError(
                    f"part {number + 1} gives every sentence the same score; leave it out"
                )
            parts.append(LearnedPart(float(values.mean()), deviation, 1.0))
        return tuple(parts)

    def standardised(self, parts: Sequence[LearnedPart]) -> Any:
        np = _np()
        means = np.array([part.mean for part in parts])
        deviations = np.array([part.deviation for part in parts])
        # A missing value counts as the mean, as in the policy.
        return np.nan_to_num((self.values - means) / deviations, nan=0.0)

    def means(self, rows: Any) -> Any:
        """Return the mean over its passage for each row."""
        np = _np()
        _, indices, counts = np.unique(self.passages, return_inverse=True, return_counts=True)
        sums = np.zeros((len(counts), rows.shape[1]))
        np.add.at(sums, indices, rows)
        return (sums / counts[:, None])[indices]


def _fit(features: Any, wrong: Any, ridge: float, start: Any) -> tuple[Any, float]:
    """Return intercept and weights of the logistic regression, and their loss."""
    np = _np()
    special = load_optional("scipy.special", package="scipy", extra="calibrate", purpose=_PURPOSE)
    expit = special.expit

    def loss(at: Any) -> tuple[float, Any]:
        z = at[0] + features @ at[1:]
        value = np.sum(np.logaddexp(0.0, z) - wrong * z) + ridge / 2 * at[1:] @ at[1:]
        off = expit(z) - wrong
        return float(value), np.concatenate([[off.sum()], off @ features + ridge * at[1:]])

    bounds = [(None, None)] + [(0.0, None)] * features.shape[1]
    result = _optimize().minimize(
        loss,
        start,
        jac=True,
        # L-BFGS-B does as well, but loses its time to the threads of a linear algebra library.
        method="TNC",
        bounds=bounds,
        # Tighter than the defaults, so that the starting point does not affect the digits shown.
        options={"ftol": 1e-12, "gtol": 1e-8, "xtol": 1e-9, "maxfun": 10_000},
    )
    return result.x, float(result.fun)


def _two_digits(value: float) -> float:
    return float(f"{value:.1e}")


_PURPOSE = "learning"


def _np() -> Any:
    # numpy comes with scipy.
    return load_optional("numpy", package="scipy", extra="calibrate", purpose=_PURPOSE)


def _optimize() -> Any:
    return load_optional("scipy.optimize", package="scipy", extra="calibrate", purpose=_PURPOSE)
