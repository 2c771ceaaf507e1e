"""The table of versions that `make test-frameworks` and `make test-ecosystem` run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import versions


def test_the_table_is_what_is_pinned() -> None:
    assert versions.TABLE.read_text() == versions.table(), "run `python -m support.versions`"


def test_each_environment_has_a_row() -> None:
    page = versions.TABLE.read_text()
    for run in versions.RUNS:
        for environment in versions.environments(run):
            for package, version in versions.pinned(run, environment).items():
                assert f"{package} {version}" in page, environment


def test_what_was_not_run_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    environments = versions.environments("ecosystem")
    file = tmp_path / "versions"
    lines: list[str] = []
    for name in environments[1:]:
        packages = versions.pinned("ecosystem", name).items()
        lines.append(f"{name}: {', '.join(' '.join(package) for package in packages)}\n")
    file.write_text("".join(lines))
    assert versions.main(["ecosystem", str(file)]) == 1
    assert environments[0] in capsys.readouterr().err


def test_another_version_than_the_pinned_one_is_refused(tmp_path: Path) -> None:
    packages = versions.pinned("ecosystem", "node")
    for name in packages:
        folder = tmp_path / "node" / "node_modules" / name
        folder.mkdir(parents=True)
        (folder / "package.json").write_text(json.dumps({"version": "0.0.1"}))
    with pytest.raises(AssertionError, match="node"):
        versions.ran("ecosystem", tmp_path, "node")
    assert not (tmp_path / "versions").exists()
