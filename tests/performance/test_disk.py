from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from performance.__main__ import app
from performance.disk import run, run_journal

PARTS = [
    "page",
    "cache, cold",
    "cache, warm",
    "journal, bytes",
    "journal, 30 days",
    "journal, tenant",
]


def test_every_part_has_figures():
    rows = {row["part"]: row for row in run(entries=400, verdicts=20, turns=1).rows}
    assert list(rows) == PARTS
    for row in rows.values():
        assert row["skipped"] is None
        assert row["value"] > 0
        assert row["target"].startswith("<= ")
        assert min(row["limit"], row["ratio"], *row["details"].values()) > 0


def test_the_command_prints_them():
    result = CliRunner().invoke(app, ["disk", "--entries", "200", "--verdicts", "20", "--json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["benchmark"] == "disk"
    assert [row["part"] for row in document["rows"]] == PARTS


def test_a_large_journal_is_asked_each_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("performance.disk.binaries", lambda: None)
    rows = run_journal(entries=1200, turns=0).rows
    assert len(rows) == 11
    assert {row["database"] for row in rows} == {"SQLite"}
    assert all(row["first_ms"] > 0 for row in rows)
