"""A package imports only packages named before it, and there is no circle: docs/architecture.md.

Every import counts: those inside functions, and those that only type checkers read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from website.architecture import DISTRIBUTIONS, Distribution, svg_of

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    *("errors", "_internal", "lang", "core", "providers", "models", "testing", "scorers"),
    *("retrieval", "plugins", "policy", "engine", "reporting", "guard_core", "guard"),
    *("adapters", "commands", "cli", "__main__", "_public"),
)
ROOTS = ("src", "integrations", "server/src", "lab/src")


def names() -> dict[str, Path]:
    """Every module by its full name."""
    found: dict[str, Path] = {}
    for root in (ROOT / folder for folder in ROOTS):
        for path in root.rglob("*.py"):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(part for part in parts if part != "__init__")] = path
    return found


MODULES = names()
FILES = {name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}
# The adapters, the server and the lab: each builds on the guard, and not on another.
OUTSIDE = sorted({name for name in MODULES if "." not in name} - {"resay"})


def imported(name: str) -> Iterator[str]:
    """The modules of the project that a module imports."""
    for node in ast.walk(ast.parse(FILES[name])):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (module if module in MODULES else node.module for module in inside)


IMPORTS = {name: set(imported(name)) - {name} for name in MODULES}


@pytest.mark.parametrize("package", [*PACKAGES, *OUTSIDE])
def test_a_package_imports_only_those_before_it(package: str) -> None:
    own = package if package in OUTSIDE else f"resay.{package}"
    below = PACKAGES if package in OUTSIDE else PACKAGES[: PACKAGES.index(package)]
    allowed = (own, *(f"resay.{name}" for name in below))
    modules = [name for name in MODULES if f"{name}.".startswith(f"{own}.")]
    assert modules
    for name in modules:
        above = [
            m for m in IMPORTS[name] if not f"{m}.".startswith(tuple(f"{a}." for a in allowed))
        ]
        # Its names come from anywhere below the adapters.
        if package in OUTSIDE and "resay" in above:
            above.remove("resay")
        assert not above, f"{name} must not import {above}"


PUBLISHED = ("resay", "resay.plugins", "resay.errors", "resay.commands")
PUBLISHED_PACKAGES = ("resay.adapters.", "resay.testing.")


@pytest.mark.parametrize("package", OUTSIDE)
def test_what_builds_on_the_guard_imports_only_what_it_publishes(package: str) -> None:
    for name in [name for name in MODULES if f"{name}.".startswith(f"{package}.")]:
        others = {module for module in IMPORTS[name] if not f"{module}.".startswith(f"{package}.")}
        private = {
            module
            for module in others - {*PUBLISHED}
            if not f"{module}.".startswith(PUBLISHED_PACKAGES)
        }
        assert not private, f"{name} must not import {sorted(private)}"


def test_no_modules_import_each_other() -> None:
    # What is public imports nothing but for type checkers, who may come from anywhere.
    TopologicalSorter({n: i for n, i in IMPORTS.items() if n != "resay"}).prepare()


def test_every_package_has_its_place_in_the_order() -> None:
    entries = {path.name.removesuffix(".py") for path in (ROOT / "src" / "resay").iterdir()}
    assert entries - {"__pycache__"} == {*PACKAGES, "__init__", "py.typed"}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda one: one.name)
def test_the_pictures_show_the_packages_that_there_are(distribution: Distribution) -> None:
    """`PYTHONPATH=tests python -m website.architecture` draws them."""
    picture = (ROOT / "docs" / "pictures" / f"{distribution.name}.svg").read_text(encoding="utf-8")
    assert picture == svg_of(distribution)
    if distribution.name == "resay":
        packages = {
            *PACKAGES,
            *(name for name in OUTSIDE if (ROOT / "integrations" / name).is_dir()),
        }
    else:
        root = distribution.name.replace("-", "_")
        packages = {name.split(".")[1] for name in MODULES if name.startswith(f"{root}.")}
    assert distribution.packages == packages - {"__main__", "_public"}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS[1:], ids=lambda one: one.name)
def test_a_package_imports_only_those_below_it_in_the_picture(distribution: Distribution) -> None:
    root = distribution.name.replace("-", "_")
    layers = {box.name: i for i, layer in enumerate(distribution.layers) for box in layer}
    for name in [name for name in MODULES if name.startswith(f"{root}.")]:
        package = name.split(".")[1]
        for module in IMPORTS[name]:
            if module.startswith(f"{root}.") and module.split(".")[1] != package:
                assert layers[module.split(".")[1]] > layers[package], f"{name}: {module}"
