"""Packages that may not be installed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from resay.errors import MissingDependencyError

__all__ = ["load_optional", "require_optional"]


def load_optional(module: str, *, package: str, extra: str, purpose: str) -> Any:
    """Import a module of an optional dependency.

    Args:
        module: The module, such as `sklearn.metrics`.
        package: What the package it belongs to is called, such as `scikit-learn`.
        extra: Which extra of ours installs it.
        purpose: What needs it.

    Returns:
        The module.

    Raises:
        MissingDependencyError: It is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(package, extra, purpose) from error


def require_optional(module: str, *, package: str, extra: str, purpose: str) -> None:
    """See that an optional dependency is installed, without importing it.

    Raises:
        MissingDependencyError: It is not installed.
    """
    try:
        found = find_spec(module)
    # A part of a package that is not there itself.
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise MissingDependencyError(package, extra, purpose)
