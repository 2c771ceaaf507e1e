"""Where the public names of `resay` are."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import get_data


@cache
def public_modules() -> Mapping[str, str]:
    """Return the module of each public name, from the list that type checkers read."""
    try:
        # Without running it: it would import all modules to give one name.
        source = get_data("resay", "_public.py")
    # A program that was frozen has no source files.
    except OSError:
        source = None
    if source is None:
        public = vars(import_module("resay._public"))
        return {name: "resay._public" for name in public if not name.startswith("_")}
    modules: dict[str, str] = {}
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.ImportFrom) and statement.module is not None:
            modules.update((alias.name, statement.module) for alias in statement.names)
    return modules
