"""Distributions that a test installs: a folder on `sys.path` with a module and its entry points."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from resay._internal.entry_points import _points, installed_names, load_installed
from resay.adapters import import_named
from resay.providers.default import _installed, _names
from resay.scorers.step import _installed as _installed_scorers

__all__ = ["installed"]


@contextmanager
def installed(folder: Path, code: str, points: Mapping[str, str], *, name: str) -> Iterator[None]:
    """Install a module for as long as the context lasts.

    Args:
        folder: An empty folder; it is made if it is missing.
        code: The module's code.
        points: Its entry points, `name = module:object`, by group.
        name: The module's name.
    """
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(code)
    described = folder / f"{name}-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\n")
    sections = [f"[{group}]\n{line}\n" for group, line in points.items()]
    (described / "entry_points.txt").write_text("\n".join(sections))
    sys.path.insert(0, str(folder))
    _forget()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(name, None)
        _forget()


def _forget() -> None:
    for cached in (import_named, _points, installed_names, load_installed, _names, _installed):
        cached.cache_clear()
    _installed_scorers.cache_clear()
