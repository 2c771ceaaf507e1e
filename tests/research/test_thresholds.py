from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from research.__main__ import app

YEARS = [1932, 1932, 1932, 1932, 1932]


def answer(name, *, opened, samples, label):
    sentence = f"The {name} bridge opened in {opened}."
    return {
        "prompt": f"When did the {name} bridge open?",
        "passage": sentence,
        "sentences": [sentence],
        "labels": [label],
        "samples": [f"The {name} bridge opened in {year}." for year in samples],
    }


ANSWERS = [
    answer("Garmo", opened=1932, samples=YEARS, label="accurate"),
    answer("Tollen", opened=1932, samples=YEARS, label="accurate"),
    # The answer says what three of five samples say.
    answer("Orra", opened=1932, samples=[1932, 1932, 1932, 1940, 1951], label="accurate"),
    answer("Vorst", opened=1999, samples=YEARS, label="major_inaccurate"),
    answer("Tarn", opened=1999, samples=range(1901, 1906), label="major_inaccurate"),
]


@pytest.fixture
def data(tmp_path):
    lines = "".join(json.dumps(row) + "\n" for row in ANSWERS)
    answers = [["Yes"] * 5]
    recorded = {"prompt_answers": {"gemma4-31b": answers, "qwen3.5-9b-think": answers}}
    (tmp_path / "wikibio_gpt3.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "wikibio_gpt3_recorded.jsonl").write_text(
        (json.dumps(recorded) + "\n") * len(ANSWERS), encoding="utf-8"
    )
    return tmp_path


def measured(data):
    arguments = ["thresholds", "--data", str(data), "--json"]
    result = CliRunner().invoke(app, arguments, env={"RESAY_DATA": None})
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_scores_stand_beside_those_that_are_relative_to_the_samples(data):
    found = measured(data)
    rows = {row["score"]: row for row in found["rows"]}
    alone = rows["facts, disagreement 0"]
    assert (alone["accurate"], alone["major"], alone["roc_auc"]) == (0.0, 100.0, 100.0)
    # What no sample says is no outlier where the samples do not agree either.
    ranked = rows["rank among the samples' sentences"]
    assert ranked["roc_auc"] < 100
    # The threshold that flags none of the three is the least that flags at most a fifth of them.
    for row in rows.values():
        assert row["accurate_common"] == row["answers_common"] == 0.0
        assert 0 <= row["threshold"] <= 1
    assert any(note == "sac3_hotpot: skipped: no data." for note in found["notes"])


def test_the_weight_that_ships_is_among_them(data):
    names = [row["score"] for row in measured(data)["rows"]]
    assert names[:3] == [
        "facts, disagreement 0",
        "facts, disagreement 0.1",
        "facts, disagreement 0.5",
    ]
