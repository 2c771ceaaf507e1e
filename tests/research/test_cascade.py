from __future__ import annotations

import json
import random
import shutil
from functools import cache
from math import exp

import pytest
from typer.testing import CliRunner

from resay import ConfigurationError, Policy
from resay.scorers.common.nearest_first import Estimate
from resay_lab.benchmarks import wikibio
from research import cascade
from research.__main__ import app
from research.cascade import fit_estimate

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
    """A sentence that every sample repeats, and one that none does but the odd ones half say."""
    town = TOWNS[i % len(TOWNS)]
    said = [f"Person {i} lives in {town}. Person {i} owns {n} boats." for n in range(SAMPLES)]
    return {
        "passage": f"Person {i} lives in {town}. Person {i} met a quizzical wizard.",
        "sentences": [f"Person {i} lives in {town}.", f"Person {i} met a quizzical wizard."],
        "labels": ["accurate", "major_inaccurate"],
        "samples": said,
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


def row(found, **wanted):
    (one,) = (r for r in found if all(r[key] == value for key, value in wanted.items()))
    return one


def test_one_json_document_with_every_setting(data):
    found = document("--data", data)
    assert (found["benchmark"], found["passages"], found["judge"]) == (
        "cascade",
        10,
        "recorded:tiny",
    )
    rows = found["rows"]
    assert all(set(r) == KEYS for r in rows)
    assert {r["setting"] for r in rows} == {
        "prompt",
        *(f"first {n} samples" for n in (1, 2, 3, 5, 8, 10)),
        "early stop",
        "nearest",
        "ngram",
        "cascade",
    }
    # Scores are 1/12 and 1: in the middle they are told apart best.
    assert list(dict.fromkeys(r["threshold"] for r in rows)) == [0.5, pytest.approx(13 / 24)]


def test_what_each_setting_asks(data):
    rows = document("--data", data, "--threshold", 0.5)["rows"]
    assert {r["threshold"] for r in rows} == {0.5}

    def calls(setting, **also):
        return row(rows, setting=setting, **also)["calls_per_sentence"]

    assert calls("prompt") == SAMPLES
    assert [calls(f"first {n} samples") for n in (1, 5, 10)] == [1, 5, 10]
    assert calls("early stop") == 3
    assert 3 <= calls("nearest") < SAMPLES
    # The n-gram step knows both sentences from each other.
    for error in cascade.ERRORS:
        settled = row(rows, setting="ngram", settle_error=error)
        assert (settled["settled"], settled["calls_per_sentence"]) == (100, 0)
        assert calls("cascade", settle_error=error) == 0
    assert row(rows, setting="early stop")["saved"] == 75
    assert row(rows, setting="early stop")["mean_samples"] == 3
    assert row(rows, setting="nearest")["mean_samples"] == SAMPLES
    assert {r["agreement"] for r in rows} == {100}
    assert row(rows, setting="prompt")["roc_auc"] == 100


def test_notes_say_what_each_part_saves_and_how_to_use_the_estimate(data):
    notes = document("--data", data, "--threshold", 0.5)["notes"]
    assert any(
        n.startswith("At 0.500 the early stop alone saves 75.0 % of the calls") for n in notes
    )
    snippet = notes[-1].split("\n\n")[1]
    step = Policy.parse(f"chain:\n{snippet}").chain[0]
    assert step.model_dump()["estimate"] == document("--data", data)["estimate"]


def test_a_judge_that_says_one_thing_has_no_estimate(data, tmp_path):
    shutil.copytree(data, tmp_path, dirs_exist_ok=True)
    answers = [["No"] * SAMPLES] * 2
    write(tmp_path / "wikibio_gpt3_recorded.jsonl", [{"prompt_answers": {"tiny": answers}}] * 10)
    found = document("--data", tmp_path, "--threshold", 0.5)
    assert found["estimate"] is None
    assert not any("estimate:" in note for note in found["notes"])


def test_tables_show_it(data):
    arguments = ["--data", data, "--judge", "recorded:tiny", "--threshold", 0.5]
    markdown = invoke(*arguments, "--markdown").stdout
    assert markdown.startswith("| setting | threshold | settle error | settled % |")
    assert "order: nearest" in invoke(*arguments).stdout


def test_bands_need_other_passages(data):
    result = invoke("--data", data, "--judge", "recorded:tiny", "--rows", "0:1")
    assert result.exit_code == 2
    assert "bands need other passages" in " ".join(result.stderr.replace("│", " ").split())


# --- the estimate


def simulate(estimate, sentences=1500, samples=15, seed=3):
    chance = random.Random(seed)
    shared, entries = [], []
    for _ in range(sentences):
        near = [min(max(chance.gauss(chance.random(), 0.2), 0), 1) for _ in range(samples)]
        shift = estimate.spread * chance.gauss(0, 1)
        odds = [o + shift for o in estimate.log_odds(near)]
        shared.append(near)
        entries.append([float(chance.random() < 1 / (1 + exp(-o))) for o in odds])
    return shared, entries


def test_what_was_simulated_is_found_again():
    truth = Estimate(intercept=3, overlap=-4, mean_overlap=-1.5, spread=1)
    found = fit_estimate(*simulate(truth), spread=1)
    assert found.spread == 1
    assert found.intercept == pytest.approx(3, abs=0.3)
    assert found.overlap == pytest.approx(-4, abs=0.4)
    assert found.mean_overlap == pytest.approx(-1.5, abs=0.6)


def test_failed_calls_and_shorter_rows_are_left_out():
    shared, entries = simulate(Estimate(), sentences=200)
    whole = fit_estimate(shared, entries)
    longer = [[*near, 0.5] for near in shared[:1]] + shared[1:]
    failed = [[*said, None] for said in entries[:1]] + entries[1:]
    # One more sample nobody answered about moves only the mean overlap of its sentence.
    assert fit_estimate(longer, failed).overlap == pytest.approx(whole.overlap, abs=0.1)


@pytest.mark.parametrize(
    ("shared", "entries", "message"),
    [
        ([[0.5]], [[1.0]], "all alike"),
        ([[0.5, 0.1]], [[None, None]], "all alike"),
        ([], [], "all alike"),
        ([[0.5]], [[1.0, 0.0]], "not one entry for each overlap"),
    ],
)
def test_an_estimate_needs_answers_of_both_kinds(shared, entries, message):
    with pytest.raises(ConfigurationError, match=message):
        fit_estimate(shared, entries)


# --- a real judge


@pytest.mark.anyio
async def test_the_targets_hold_on_wikibio(data_dir):
    name = "qwen3.5-9b-think"
    corpus = wikibio.load(data_dir, slice(0, 120))
    judge = wikibio.recorded_judge(data_dir, f"recorded:{name}", corpus)
    table = await cascade.run(corpus, judge, thresholds=(0.5,), first=(), errors=())
    whole, stop, nearest = table.rows
    assert whole["calls_per_sentence"] == 20
    assert stop["saved"] >= 60
    assert nearest["saved"] >= 60
    assert nearest["roc_auc_change"] >= -1
    assert nearest["agreement"] >= 99
    # What is shipped was fitted on even rows; on the odd ones it does as well.
    assert nearest["agreement_odd"] >= 98.5
    shipped, fitted = Estimate(), table.about["estimate"]
    assert fitted["overlap"] == pytest.approx(shipped.overlap, abs=0.8)
    assert fitted["intercept"] == pytest.approx(shipped.intercept, abs=0.8)
