from __future__ import annotations

import json

from typer.testing import CliRunner

from performance.__main__ import app


def test_each_part_is_doubled_and_nearly_everything_is_flagged() -> None:
    done = CliRunner().invoke(app, ["growth", "--doublings", "2", "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["rows"]
    assert [row["count"] for row in rows] == [4, 8, 16] * 13
    checks = [row for row in rows if "flagged" in row]
    assert len(checks) == 21
    assert all(row["flagged"] and row["loop_ms"] > 0 for row in checks)
    assert all(row["ratio"] is None for row in rows if row["count"] == 4)
