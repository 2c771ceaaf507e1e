from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from performance.__main__ import app
from performance.peer_upstream import rounds_of
from performance.peers import PEERS, row_of, skipped_row
from performance.skipping import SkippedError


@pytest.mark.parametrize(
    ("times", "rounds"),
    [
        ([], 0),
        ([(0.0, 0.2)], 1),
        # At once, each a little later than the one before.
        ([(0.0, 0.2), (0.01, 0.21), (0.15, 0.4)], 1),
        # The second waits for the first, the third for the second; the fourth for none.
        ([(0.4, 0.6), (0.0, 0.2), (0.2, 0.4), (0.1, 0.5)], 3),
        # A long call beside two short ones.
        ([(0.0, 1.0), (0.0, 0.2), (0.3, 0.5)], 2),
    ],
)
def test_rounds_are_the_longest_chain_of_calls_that_waited(times, rounds):
    assert rounds_of(times) == rounds


def test_the_ratio_is_ours_by_theirs():
    row = row_of("calls", "", 2, "uqlm 0.6.7", 6)
    assert (row["ours"], row["theirs"], row["ratio"]) == (2, 6, 0.3333)
    assert row_of("calls", "", 2, "uqlm 0.6.7", 0)["ratio"] is None


def test_a_peer_that_cannot_be_measured_has_a_row_with_the_reason(monkeypatch):
    def missing(setting):
        raise SkippedError("it does not install")

    parts = {name: [missing] for name in PEERS}
    parts["uqlm"] = [missing, lambda setting: [row_of("CPU", "ms", 1, "uqlm", 2)]]
    monkeypatch.setattr("performance.peers.PEERS", parts)
    result = CliRunner().invoke(app, ["peers", "--json"])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["rows"]
    skipped = "skipped: it does not install"
    assert [row["remark"] for row in rows] == [skipped, skipped, None, skipped, skipped]
    assert set(rows[0]) == set(rows[2]) == set(skipped_row("uqlm", "no"))


def test_without_data_nothing_is_installed_for_passages(tmp_path):
    arguments = ["peers", "--only", "selfcheckgpt", "--environments", str(tmp_path / "none")]
    result = CliRunner().invoke(app, [*arguments, "--json"], env={"RESAY_DATA": None})
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)["rows"]
    assert row["remark"] == "skipped: no data; pass --data or set RESAY_DATA"
    assert not (tmp_path / "none").exists()


def test_an_unknown_peer_is_refused():
    assert CliRunner().invoke(app, ["peers", "--only", "nobody"]).exit_code == 2
