from __future__ import annotations

import json
import shutil
from functools import cache

import pytest
from typer.testing import CliRunner

from resay import Policy
from resay.scorers.common.nearest_first import Estimate
from resay_lab.benchmarks import wikibio
from research import cascade
from research.__main__ import app

KEYS = {
    "setting",
    "threshold",
    "settle_error",
    "settled",
    "mean_samples",
    "calls_per_sentence",
    "saved",
    "roc_auc",
    "roc_auc_change",
    "average_precision",
    "agreement",
    "agreement_even",
    "agreement_odd",
}
TOWNS = ["Oslo", "Rome", "Bonn", "Lyon", "York", "Bern", "Kyiv", "Riga", "Graz", "Cork"]
SAMPLES = 12


def passage(i):
    """Return a passage with a sentence that every sample repeats and one that none does."""
    town = TOWNS[i % len(TOWNS)]
    samples = [f"Person {i} lives in {town}. Person {i} owns {n} boats." for n in range(SAMPLES)]
    return {
        "passage": f"Person {i} lives in {town}. Person {i} met a quizzical wizard.",
        "sentences": [f"Person {i} lives in {town}.", f"Person {i} met a quizzical wizard."],
        "labels": ["accurate", "major_inaccurate"],
        "samples": samples,
    }


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("data")
    write(tmp_path / "wikibio_gpt3.jsonl", [passage(i) for i in range(10)])
    # One sample says no to the first sentence, and it is not the first.
    answers = [["Yes"] * (SAMPLES - 1) + ["No"], ["No"] * SAMPLES]
    write(tmp_path / "wikibio_gpt3_recorded.jsonl", [{"prompt_answers": {"tiny": answers}}] * 10)
    return tmp_path


def invoke(*args):
    arguments = ["cascade", *map(str, args)]
    return CliRunner().invoke(app, arguments, env={"RESAY_DATA": None})


@cache
def document(*args):
    result = invoke(*args, "--judge", "recorded:tiny", "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def row(rows, **values):
    (match,) = (r for r in rows if values.items() <= r.items())
    return match


def test_one_json_document_with_every_setting(data):
    table = document("--data", data)
    assert table["benchmark"] == "cascade"
    assert table["passages"] == 10
    assert table["judge"] == "recorded:tiny"
    rows = table["rows"]
    assert all(set(r) == KEYS for r in rows)
    assert {r["setting"] for r in rows} == {
        "prompt",
        *(f"first {n} samples" for n in (1, 2, 3, 5, 8, 10)),
        "early stop",
        "nearest",
        "ngram",
        "cascade",
    }
    # Scores are 1/12 and 1: the threshold between them separates them best.
    assert list(dict.fromkeys(r["threshold"] for r in rows)) == [0.5, pytest.approx(13 / 24)]


def test_what_each_setting_asks(data):
    rows = document("--data", data, "--threshold", 0.5)["rows"]
    assert {r["threshold"] for r in rows} == {0.5}

    def calls(setting, **values):
        return row(rows, setting=setting, **values)["calls_per_sentence"]

    assert calls("prompt") == SAMPLES
    assert [calls(f"first {n} samples") for n in (1, 5, 10)] == [1, 5, 10]
    assert calls("early stop") == 3
    assert 3 <= calls("nearest") < SAMPLES
    # The n-gram step settles both sentences.
    for error in cascade.ERRORS:
        settled = row(rows, setting="ngram", settle_error=error)
        assert (settled["settled"], settled["calls_per_sentence"]) == (100, 0)
        assert calls("cascade", settle_error=error) == 0
    assert row(rows, setting="early stop")["saved"] == 75
    assert row(rows, setting="early stop")["mean_samples"] == 3
    assert row(rows, setting="nearest")["mean_samples"] == SAMPLES
    assert {r["agreement"] for r in rows} == {100}
    assert row(rows, setting="prompt")["roc_auc"] == 100


def test_notes_show_what_each_technique_saves_and_the_estimate_as_a_step(data):
    notes = document("--data", data, "--threshold", 0.5)["notes"]
    assert any(
        n.startswith("At 0.500 the early stop alone saves 75.0 % of the calls") for n in notes
    )
    snippet = notes[-1].split("\n\n")[1]
    step = Policy.parse(f"chain:\n{snippet}").chain[0]
    assert step.model_dump()["estimate"] == document("--data", data)["estimate"]


def test_a_judge_whose_answers_are_all_alike_has_no_estimate(data, tmp_path):
    shutil.copytree(data, tmp_path, dirs_exist_ok=True)
    answers = [["No"] * SAMPLES] * 2
    write(tmp_path / "wikibio_gpt3_recorded.jsonl", [{"prompt_answers": {"tiny": answers}}] * 10)
    table = document("--data", tmp_path, "--threshold", 0.5)
    assert table["estimate"] is None
    assert not any("estimate:" in note for note in table["notes"])


def test_tables_show_the_estimate_as_a_step(data):
    arguments = ["--data", data, "--judge", "recorded:tiny", "--threshold", 0.5]
    markdown = invoke(*arguments, "--markdown").stdout
    assert markdown.startswith("| setting | threshold | settle error | settled % |")
    assert "order: nearest" in invoke(*arguments).stdout


def test_bands_are_fitted_to_other_passages(data):
    result = invoke("--data", data, "--judge", "recorded:tiny", "--rows", "0:1")
    assert result.exit_code == 2
    assert "bands need other passages" in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.anyio
async def test_the_targets_hold_on_wikibio(data_dir):
    name = "qwen3.5-9b-think"
    corpus = wikibio.load(data_dir, slice(0, 120))
    judge = wikibio.recorded_judge(data_dir, f"recorded:{name}", corpus)
    table = await cascade.run(corpus, judge, thresholds=(0.5,), first=(), errors=())
    prompt, stop, nearest = table.rows
    assert prompt["calls_per_sentence"] == 20
    assert stop["saved"] >= 60
    assert nearest["saved"] >= 60
    assert nearest["roc_auc_change"] >= -1
    assert nearest["agreement"] >= 99
    # The default estimate was fitted to even rows; it agrees as well on odd ones.
    assert nearest["agreement_odd"] >= 98.5
    default, fitted = Estimate(), table.about["estimate"]
    assert fitted["overlap"] == pytest.approx(default.overlap, abs=0.8)
    assert fitted["intercept"] == pytest.approx(default.intercept, abs=0.8)
