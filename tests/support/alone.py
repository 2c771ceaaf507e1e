"""Which tests can run where only `resay` is installed, without its extras: `make test-kernel`."""

from __future__ import annotations

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

__all__ = ["missing_packages", "needs"]

TESTS = Path(__file__).resolve().parents[1]
SOURCES = TESTS.parent / "src"


@cache
def missing_packages(path: Path) -> frozenset[str]:
    """Return the packages that a test file imports, itself or through others, and that are missing.

    Args:
        path: The file. Imports inside functions do not count: those tests ask for what they need.
    """
    missing: set[str] = set()
    for name in _imported(ast.parse(path.read_text(encoding="utf-8"))):
        file = _file_of(name)
        if file is not None:
            missing |= missing_packages(file)
        elif find_spec(name.partition(".")[0]) is None:
            missing.add(name.partition(".")[0])
    return frozenset(missing)


def _imported(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _file_of(name: str) -> Path | None:
    """Return the file of a module of the tests, or of the module that a name is imported from.

    The modules that run neural models count too: they import numpy, which extras bring.
    """
    root = SOURCES if name.startswith("resay.models.") else TESTS
    if not (root / name.partition(".")[0]).is_dir():
        return None
    folder = root.joinpath(*name.split("."))
    for module in (folder, folder.parent):
        for file in (module.with_suffix(".py"), module / "__init__.py"):
            if file.is_file() and module != root:
                return file
    return None


def needs(*packages: str) -> pytest.MarkDecorator:
    """Mark a test that needs packages which `resay` alone does not install."""
    missing = [package for package in packages if find_spec(package) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")
