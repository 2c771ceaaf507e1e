"""Big packages, imported by the tests that use them and not whenever tests are collected."""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ["Later"]


class Later:
    """A package that is imported when something in it is used first.

    The test that does so is skipped where the package is not installed.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # pytest looks at everything that stands in a module
            raise AttributeError(attribute)
        return getattr(pytest.importorskip(self._name), attribute)
