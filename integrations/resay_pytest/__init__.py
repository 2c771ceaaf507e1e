"""A pytest plugin with the fixture `assert_grounded` and a report at the end of the run."""

from __future__ import annotations

from resay_pytest._plugin import (
    AssertGrounded,
    assert_grounded,
    pytest_addoption,
    pytest_terminal_summary,
    resay_guard,
)

__all__ = [
    "AssertGrounded",
    "assert_grounded",
    "pytest_addoption",
    "pytest_terminal_summary",
    "resay_guard",
]
