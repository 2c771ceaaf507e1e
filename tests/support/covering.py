"""Selects a few cases of tests with several parameters that cover all values, or all pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any
from zlib import crc32

import pytest

__all__ = ["alternating", "covering"]

# A value of one axis: the names of its parameters, and the ids of their values.
_Value = tuple[str | int, ...]


def alternating(*values: Any) -> list[Any]:
    """Return the parameters of a fixture whose values lead to the same code.

    A test with no other parameter runs with one of them, chosen by its name, so that each value is
    used by some tests of a file. Mark tests of their differences with `@pytest.mark.all_turns`.
    """
    return [pytest.param(value, marks=pytest.mark.turns, id=str(value)) for value in values]


def covering(cases: Sequence[pytest.Function], strength: int) -> list[pytest.Function]:
    """Select cases of one test that together cover the values, or pairs of values, of all cases.

    Most faults need one value, or two together. The full product of four parameters covers each of
    them many times over.

    Args:
        cases: All cases of a test function.
        strength: 1 to keep each value of each parameter, 2 to keep each pair of values.

    Returns:
        The selected cases, in order; the same in every process.
    """
    values = [_values(case) for case in cases]
    if len(values[0]) <= strength:
        return _turn(cases) if len(values[0]) == 1 else [*cases]
    held = [{frozenset(some) for some in combinations(each, strength)} for each in values]
    missing = set[frozenset[_Value]]().union(*held)
    met = Counter[_Value]()
    chosen: set[int] = set()
    while missing:
        # Of the cases that add the most, take the one whose values were used least.
        gains = [
            (len(new & missing), -sum(met[value] for value in each))
            for new, each in zip(held, values, strict=True)
        ]
        best = gains.index(max(gains))
        chosen.add(best)
        missing -= held[best]
        met.update(values[best])
    return [case for i, case in enumerate(cases) if i in chosen]


def _turn(cases: Sequence[pytest.Function]) -> list[pytest.Function]:
    """Select one of the values that take turns; all of them if they do not."""
    case = cases[0]
    if case.get_closest_marker("turns") is None or case.get_closest_marker("all_turns"):
        return [*cases]
    return [cases[crc32(case.originalname.encode()) % len(cases)]]


def _values(case: pytest.Function) -> list[_Value]:
    """Return one value for each `parametrize`, and one for each fixture with several values."""
    params = case.callspec.params
    marks = [mark.args[0] for mark in case.iter_markers("parametrize")]
    listed = [names.split(",") if isinstance(names, str) else names for names in marks]
    axes = [tuple(name.strip() for name in names) for names in listed]
    together = {name for axis in axes for name in axis}
    axes += [(name,) for name in params if name not in together]
    return [(*axis, *(id(params[name]) for name in axis)) for axis in axes]
