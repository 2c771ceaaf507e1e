"""Which cases of a test with several parameters are left out."""

from __future__ import annotations

from itertools import combinations, product
from types import SimpleNamespace
from typing import Any

import pytest

from support.covering import alternating, covering

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


def sided(name: str, marks: set[str]) -> list[Any]:
    """The cases of a test that has nothing but a side."""
    return [
        SimpleNamespace(
            callspec=SimpleNamespace(params={"side": param.values[0]}),
            iter_markers=lambda _: [],
            get_closest_marker=lambda mark: mark if mark in marks else None,
            originalname=name,
        )
        for param in alternating("left", "right")
    ]


def test_sides_take_turns_but_where_a_test_is_about_both() -> None:
    names = [f"test_{number}" for number in range(20)]
    chosen = [covering(sided(name, {"turns"}), 1) for name in names]
    assert all(len(cases) == 1 for cases in chosen)
    assert {case.callspec.params["side"] for (case,) in chosen} == {"left", "right"}
    assert [
        len(covering(sided("test_it", marks), 1)) for marks in ({"turns", "all_turns"}, set[str]())
    ] == [2, 2]
