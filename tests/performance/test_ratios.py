from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from performance import ratios as ratios_bench
from performance.__main__ import app
from performance.ratios import STORED, Ratios, compared, smallest_ratios

STORED_RATIOS = {"speed: a": 2.0, "speed: b": 0.5, "disk: c": 1.0, "disk: d": 4.0}


def outcomes(stored, measured, tolerance=1.3):
    return {row["name"]: row["outcome"] for row in compared(stored, measured, tolerance)}


def test_ratios_are_worse_only_beyond_the_tolerance():
    measured = {"speed: a": 2.6, "speed: b": 0.66, "disk: c": 0.7, "disk: e": 1.0}
    assert outcomes(STORED_RATIOS, measured) == {
        "speed: a": "as stored",
        "speed: b": "WORSE",
        "disk: c": "better",
        "disk: d": "not measured",
        "disk: e": "new",
    }
    assert outcomes(STORED_RATIOS, measured, 1.5)["speed: b"] == "as stored"


def test_what_seems_worse_is_measured_again_and_the_smallest_counts():
    passes = [
        {"speed: a": 9.0, "speed: b": 0.5, "disk: c": 1.0, "disk: d": 4.0},
        {"speed: a": 2.1, "speed: b": 0.9},
    ]
    measured = []

    def measure(programs):
        measured.append(list(programs))
        return passes[len(measured) - 1]

    ratios = smallest_ratios(STORED_RATIOS, measure, ["speed", "disk"], tolerance=1.3, passes=3)
    assert measured == [["speed", "disk"], ["speed"]]
    assert ratios == {"speed: a": 2.1, "speed: b": 0.5, "disk: c": 1.0, "disk: d": 4.0}


def test_what_stays_worse_is_not_measured_for_ever():
    measured = []

    def measure(programs):
        measured.append(list(programs))
        return {"speed: a": 9.0}

    ratios = smallest_ratios({"speed: a": 2.0}, measure, ["speed"], tolerance=1.3, passes=3)
    assert len(measured) == 3
    assert ratios == {"speed: a": 9.0}


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Run `ratios` with benches that return the given ratios."""
    file = tmp_path / "ratios.json"

    def run(ratios, *arguments):
        def program(prefix):
            names = [name for name in ratios if name.startswith(prefix)]
            return lambda data: {name.removeprefix(prefix): ratios[name] for name in names}

        programs = {name: program(f"{name}: ") for name in ("speed", "disk")}
        monkeypatch.setattr(ratios_bench, "_PROGRAMS", programs)
        return CliRunner().invoke(app, ["ratios", "--file", str(file), *arguments])

    run.file = file
    return run


def test_the_command_compares_with_what_it_wrote(command):
    assert command(STORED_RATIOS).exit_code == 2
    assert command(STORED_RATIOS, "--write").exit_code == 0
    assert json.loads(command.file.read_text())["ratios"] == STORED_RATIOS
    assert command(STORED_RATIOS).exit_code == 0
    worse = command({**STORED_RATIOS, "disk: d": 6.0}, "--json")
    assert worse.exit_code == 1
    rows = {row["name"]: row for row in json.loads(worse.stdout)["rows"]}
    assert list(rows) == sorted(STORED_RATIOS)
    assert (rows["disk: d"]["outcome"], rows["disk: d"]["change"]) == ("WORSE", 1.5)
    assert command({**STORED_RATIOS, "disk: d": 6.0}, "--tolerance", "1.6").exit_code == 0
    assert command({**STORED_RATIOS, "disk: d": 6.0}, "--only", "speed").exit_code == 0


def test_what_cannot_be_measured_keeps_its_ratio(command):
    command(STORED_RATIOS, "--write")
    command({"speed: a": 3.0}, "--write")
    assert json.loads(command.file.read_text())["ratios"] == {**STORED_RATIOS, "speed: a": 3.0}
    missing = command({"speed: a": 3.0}, "--json")
    assert missing.exit_code == 0
    outcomes = [row["outcome"] for row in json.loads(missing.stdout)["rows"]]
    assert sorted(outcomes) == ["as stored", "not measured", "not measured", "not measured"]


def test_an_unknown_program_is_refused(command):
    assert command(STORED_RATIOS, "--only", "haste").exit_code == 2


def test_the_stored_ratios_can_be_read():
    stored = Ratios(**json.loads(STORED.read_text()))
    assert stored.date
    assert stored.machine
    assert all(ratio > 0 for ratio in stored.ratios.values())
    programs = {name.partition(": ")[0] for name in stored.ratios}
    assert programs == {"speed", "growth", "folder", "disk", "gateway-cpu", "clients-at-once"}
