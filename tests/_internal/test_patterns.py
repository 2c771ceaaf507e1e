"""Patterns that are compiled on first use do what those of `re` do."""

from __future__ import annotations

import pickle
import pkgutil
import re
from copy import deepcopy
from importlib import import_module
from typing import Any

import pytest

import resay
from resay._internal.patterns import lazy_pattern
from resay.errors import MissingDependencyError


def test_a_pattern_is_compiled_when_it_is_first_used(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[tuple[str, int]] = []
    compile_now = re.compile

    def count(source: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append((source, flags))
        return compile_now(source, flags)

    monkeypatch.setattr(re, "compile", count)
    pattern = lazy_pattern(r"(?P<word>b+)", re.IGNORECASE)
    assert pattern.pattern == r"(?P<word>b+)"
    assert not compiled
    match = pattern.search("aBba")
    assert match is not None
    assert match["word"] == "Bb"
    assert pattern.sub("-", "aBba") == "a-a"
    assert compiled == [(r"(?P<word>b+)", re.IGNORECASE)]


def test_a_pattern_has_the_attributes_of_a_compiled_one() -> None:
    pattern, compiled = lazy_pattern(rb"(?i)(a)(?P<b>b)"), re.compile(rb"(?i)(a)(?P<b>b)")
    assert pattern.groups == compiled.groups
    assert pattern.groupindex == compiled.groupindex
    assert pattern.flags == compiled.flags
    assert [match.span() for match in pattern.finditer(b"abAB")] == [(0, 2), (2, 4)]
    with pytest.raises(AttributeError, match="nothing"):
        _ = getattr(pattern, "nothing")  # noqa: B009 - a type checker knows that there is none


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_pattern_is_copied_and_pickled(is_compiled: bool) -> None:
    pattern = lazy_pattern("a+")
    if is_compiled:
        assert pattern.fullmatch("aa")
    for copy in (deepcopy(pattern), pickle.loads(pickle.dumps(pattern))):
        assert copy.fullmatch("aa")
        assert not copy.fullmatch("ab")


def test_all_patterns_of_the_package_compile() -> None:
    lazy_type = type(lazy_pattern(""))
    sources: set[str] = set()
    for module in pkgutil.walk_packages(resay.__path__, "resay.", onerror=lambda _: None):
        if module.name.endswith("__main__"):
            continue
        try:
            values = vars(import_module(module.name)).values()
        # It is of an extra that is not installed here.
        except (ImportError, MissingDependencyError):
            continue
        for value in values:
            for pattern in _patterns_in(value, lazy_type):
                assert pattern.groups >= 0
                sources.add(str(pattern.pattern))
    assert len(sources) > 300


def _patterns_in(value: Any, lazy_type: type[Any]) -> list[Any]:
    """Return the patterns in a module's value: itself, or the items of a table."""
    items: Any = value.values() if isinstance(value, dict) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if isinstance(value, (dict, tuple, list)):
        return [item for item in items if isinstance(item, lazy_type)]
    return [value] if isinstance(value, lazy_type) else []
