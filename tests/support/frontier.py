"""The frontier of chains: those that no other beats at its cost."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["on_frontier"]


def on_frontier(points: Iterable[tuple[float, float]]) -> list[bool]:
    """Return for each point whether no other point beats it.

    Args:
        points: The cost and value of each. A point beats another if it costs no more, is worth no
            less, and differs from it.
    """
    points = list(points)
    marks: list[bool] = []
    for point in points:
        cost, value = point
        beaten = any(
            other_cost <= cost and other_value >= value and (other_cost, other_value) != point
            for other_cost, other_value in points
        )
        marks.append(not beaten)
    return marks
