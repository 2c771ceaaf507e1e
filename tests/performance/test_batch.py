from __future__ import annotations

import json
from importlib.util import find_spec

from typer.testing import CliRunner

from performance.__main__ import app

KEYS = {
    *("part", "what", "unit", "target", "value", "beside", "limit", "ratio"),
    *("met", "remark", "details", "skipped"),
}


def test_each_part_is_measured():
    words = ["batch", "--rows", "100", "--calls", "32", "--json"]
    words += [
        "--memory-rows",
        "2000",
        "--checked-rows",
        "1000",
        "--file-mb",
        "5",
        "--ray-rows",
        "1000",
    ]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    rows = {row["part"]: row for row in json.loads(result.stdout)["rows"]}
    measured = ["ngram", "facts", "waiting", "memory", "checked memory", "file", "neural"]
    assert list(rows) == [*measured, "ray", "ray memory"]
    assert all(set(row) == KEYS for row in rows.values())
    for part in ("ngram", "facts"):
        details = rows[part]["details"]
        assert rows[part]["skipped"] is None
        assert min(details["ours_cpu_s"], details["pool_cpu_s"]) > 0
    # Nothing is faster than possible.
    assert 0 < rows["waiting"]["value"] <= 1
    assert rows["waiting"]["details"]["calls"] == 32
    for part, count in (("memory", 2000), ("checked memory", 1000)):
        assert rows[part]["details"]["rows"] == count
        assert rows[part]["value"] > 0
    assert 4_500_000 < rows["file"]["details"]["bytes"] < 5_500_000
    assert rows["file"]["value"] > 0
    for part in ("ray", "ray memory"):
        assert (rows[part]["skipped"] is None) == (find_spec("ray") is not None)
