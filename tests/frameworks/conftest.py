"""The package for TypeScript, built, packed and installed as its users install it."""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.typescript import PACKAGE, run


@pytest.fixture(scope="session")
def node() -> Path:
    """Return the folder in which the packages of tests/frameworks/package.json are installed."""
    return Path(os.environ["RESAY_TEST_FRAMEWORKS"]).resolve() / "node"


@pytest.fixture(scope="session")
def built_package(node: Path) -> Iterator[Path]:
    """Build the package and its tests, and yield the folder."""
    folder = node / "verdict"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("node_modules", "dist", "build"))
    compiler = node / "node_modules" / ".bin" / "tsc"
    run(compiler, folder=folder)
    run(compiler, "--project", "test", folder=folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def installed_package(built_package: Path, node: Path) -> Iterator[Path]:
    """Install the packed package, and yield its folder."""
    printed = run("npm", "pack", "--ignore-scripts", "--silent", folder=built_package)
    with tarfile.open(built_package / printed.strip()) as archive:
        archive.extractall(built_package, filter="data")
    target = node / "node_modules" / "@resay" / "verdict"
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(exist_ok=True)
    shutil.copytree(built_package / "package", target)
    yield target
    shutil.rmtree(target.parent)
