"""The logistic function."""

from __future__ import annotations

from math import tanh


def logistic(x: float) -> float:
    """Return 1 / (1 + exp(-x)), in a form that cannot overflow."""
    return 0.5 + 0.5 * tanh(x / 2)
