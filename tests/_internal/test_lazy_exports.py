"""What a package exports is imported when it is first used; type checkers read the same names."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import pytest

import resay

ROOT = Path(resay.__file__).parent
FILES = {
    ".".join(("resay", *path.parent.relative_to(ROOT).parts)): path
    for path in ROOT.rglob("__init__.py")
    if "lazy_exports(" in path.read_text(encoding="utf-8")
}


def names_for_type_checkers(path: Path) -> Iterator[tuple[str, str]]:
    """The names that a package imports for type checkers, each with its module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module not in (
            "__future__",
            "typing",
            "resay._internal.lazy_exports",
        ):
            for alias in node.names:
                # Otherwise they would be names of the package's own file only.
                assert alias.asname == alias.name
                yield alias.name, str(node.module)


def test_there_are_such_packages() -> None:
    assert {"resay.engine", "resay.policy", "resay.providers", "resay.scorers"} <= {*FILES}


@pytest.mark.parametrize("package", FILES)
def test_type_checkers_read_what_the_package_exports(package: str) -> None:
    modules: Mapping[str, str] = dict(names_for_type_checkers(FILES[package]))
    exports = import_module(package)
    assert exports.__all__ == sorted(modules)
    assert {*modules} <= {*dir(exports)}
    for name, module in modules.items():
        assert getattr(exports, name) is getattr(import_module(module), name)


@pytest.mark.parametrize("package", FILES)
def test_no_module_takes_the_place_of_a_name(package: str) -> None:
    entries = {path.stem for path in FILES[package].parent.iterdir()}
    assert not entries & {*import_module(package).__all__}


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match=r"module 'resay\.policy' has no attribute 'Polcy'"):
        import_module("resay.policy").Polcy  # noqa: B018 - the access is the test


def test_a_name_is_imported_when_it_is_used() -> None:
    program = (
        "import sys, resay.providers as providers\n"
        "print('resay.providers.litellm' in sys.modules)\n"
        "providers.LiteLLMProvider\n"
        "print('resay.providers.litellm' in sys.modules, 'LiteLLMProvider' in vars(providers))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["False", "True", "True"]
