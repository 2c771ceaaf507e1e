"""Which cases of a test with several parameters are left out."""

from __future__ import annotations

from itertools import combinations, product
from types import SimpleNamespace
from typing import Any

import pytest

from support.covering import covering

# Two marks, of which one is for two parameters at once, and a fixture.
AXES: Any = {
    "mode": ["a", "b", "c"],
    "code,text": [(1, "x"), (1, "y"), (2, "x")],
    "ask": ["s", "t"],
}
MARKS = [SimpleNamespace(args=(names,)) for names in ("mode", "code,text")]


def case(mode: str, told: tuple[int, str], ask: str) -> Any:
    params = {"mode": mode, "code": told[0], "text": told[1], "ask": ask}
    return SimpleNamespace(
        callspec=SimpleNamespace(params=params),
        iter_markers=lambda _: MARKS,
        held=(mode, told, ask),
    )


CASES = [case(*values) for values in product(*AXES.values())]


@pytest.mark.parametrize(("strength", "most"), [(1, 3), (2, 10)])
def test_every_value_or_pair_is_kept_and_little_else(strength: int, most: int) -> None:
    chosen = covering(CASES, strength)
    assert len(chosen) <= most
    assert [c for c in CASES if c in chosen] == chosen
    for axes in combinations(range(3), strength):
        wanted = set(product(*(list(AXES.values())[axis] for axis in axes)))
        assert {tuple(c.held[axis] for axis in axes) for c in chosen} == wanted


def test_with_few_parameters_all_cases_are_kept() -> None:
    assert covering(CASES, 3) == CASES
