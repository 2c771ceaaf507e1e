"""Scores passages with what was learned from others."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Protocol

from resay.calibration.learning import Values

__all__ = ["Learner", "Model", "out_of_fold", "random_folds"]


class Model(Protocol):
    """What was learned."""

    def score(self, values: Values) -> list[float | None]:
        """Return the scores of a passage's sentences."""
        ...


Learner = Callable[[Sequence[Values], Sequence[Sequence[bool]]], Model]
"""Learns from the values of passages, and from whether their sentences are wrong."""


def out_of_fold(
    learner: Learner,
    passages: Sequence[Values],
    wrong: Sequence[Sequence[bool]],
    folds: Sequence[int],
) -> list[list[float | None]]:
    """Score each passage with what was learned without its fold.

    Args:
        learner: Learns.
        passages: The values of each passage.
        wrong: For each passage, whether its sentences are wrong.
        folds: For each passage the fold it is in; at least two different ones.

    Returns:
        The scores of each passage's sentences.

    Raises:
        ConfigurationError: Nothing can be learned without one of the folds.
    """
    models: dict[int, Model] = {}
    for fold in sorted(set(folds)):
        others = [i for i, other in enumerate(folds) if other != fold]
        models[fold] = learner([passages[i] for i in others], [wrong[i] for i in others])
    return [models[fold].score(values) for fold, values in zip(folds, passages, strict=True)]


def random_folds(passages: int, folds: int, seed: int) -> list[int]:
    """Assign passages to folds at random, as evenly as can be.

    Args:
        passages: How many passages there are.
        folds: How many folds.
        seed: The same seed assigns in the same way, on every machine.

    Returns:
        A fold for each passage.
    """
    rng = random.Random(seed)  # noqa: S311 - no secret
    order = sorted(range(passages), key=lambda _: rng.random())
    assigned = [0] * passages
    for place, passage in enumerate(order):
        assigned[passage] = place % folds
    return assigned
