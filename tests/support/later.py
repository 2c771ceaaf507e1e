"""Large packages, imported by the tests that use them rather than when tests are collected."""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ["LazyImport"]


class LazyImport:
    """A package that is imported when something in it is first used.

    The test that uses it is skipped if the package is not installed.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # pytest inspects everything in a module
            raise AttributeError(attribute)
        return getattr(pytest.importorskip(self._name), attribute)
