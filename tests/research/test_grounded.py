from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from research import grounded
from research.__main__ import app

RIGHT = {
    "id": "right",
    "lang": "en",
    "kind": "plain",
    "question": "When did it open?",
    "documents": ["The Garmo bridge opened in 1932."],
    "answer": "The Garmo bridge opened in 1932.",
    "flag": [],
    "ok": ["1932"],
}
WRONG = {
    **RIGHT,
    "id": "wrong",
    "answer": "The Garmo bridge opened in 1931.",
    "flag": ["1931"],
    "ok": [],
}
MISSED = {**WRONG, "id": "missed", "answer": RIGHT["answer"], "flag": ["Garmo"]}


def invoke(tmp_path, cases, *args):
    file = tmp_path / "cases.jsonl"
    file.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    result = CliRunner().invoke(app, ["grounded", "--cases", str(file), *args])
    assert result.exit_code == 0, result.output
    return result.output


def test_precision_and_recall_are_of_answers(tmp_path):
    output = invoke(tmp_path, [RIGHT, WRONG, MISSED], "--by", "words", "--json")
    document = json.loads(output)
    (row, _) = document["rows"]
    assert (row["answers"], row["right"]) == (3, 2)
    assert (row["precision"], row["recall"]) == (100, 50)


def test_the_cases_that_are_not_right_are_named(tmp_path):
    output = invoke(tmp_path, [RIGHT, MISSED], "--by", "words", "--mistakes")
    assert "missed: 'Garmo' not flagged" in output
    assert "right:" not in output


def test_an_ideal_judge_finds_what_must_be_flagged(tmp_path):
    output = invoke(tmp_path, [RIGHT, WRONG], "--by", "judge", "--json")
    (row, _) = json.loads(output)["rows"]
    assert (row["right"], row["precision"], row["recall"]) == (2, 100, 100)


def test_an_unknown_checker_is_refused(tmp_path):
    result = CliRunner().invoke(app, ["grounded", "--by", "magic"])
    assert result.exit_code == 2
    assert "magic" in result.output


@pytest.mark.parametrize("file", [grounded.CASES, grounded.BLIND_CASES])
def test_about_half_of_the_cases_are_right(file):
    cases = grounded.load([file])
    clean = sum(not case.flag for case in cases)
    assert 0.4 <= clean / len(cases) <= 0.6
    assert len({case.id for case in cases}) == len(cases)


def test_answers_are_checked_as_well_as_promised():
    cases = grounded.load()
    (row, *_) = grounded.table(grounded.run(cases, ["words"])).rows
    assert row["precision"] >= 93
    assert row["recall"] >= 95


def test_blind_answers_are_checked_as_well_as_measured():
    cases = grounded.load([grounded.BLIND_CASES])
    (row, *rows) = grounded.table(grounded.run(cases, ["words"])).rows
    assert row["precision"] >= 71
    assert row["recall"] >= 79
    (swapped,) = [row for row in rows if row["kind"] == "swapped"]
    assert swapped["precision"] == 100
    assert swapped["recall"] >= 89
