from __future__ import annotations

import json
from statistics import fmean

import pytest
from typer.testing import CliRunner

from resay_lab.benchmarks import wikibio
from research import adaptive
from research.__main__ import app
from research.checking import check, judging

KEYS = {
    "decides",
    "threshold",
    "max",
    "confidence",
    "order",
    "rows",
    "flagged",
    "mean_samples",
    "samples_deviation",
    "calls_per_sentence",
    "waves",
    "agreement",
    "agreement_deviation",
    "error",
}
SAMPLES = [f"Sample {n}." for n in range(20)]
# What the judge says of the samples: nothing is supported; everything is; one in two, at last.
NOTHING, EVERYTHING = ["No"] * 20, ["Yes"] * 20
LATE = ["Yes"] * 10 + ["No"] * 10
ANSWERS = [[NOTHING, NOTHING], [EVERYTHING, EVERYTHING], [LATE, NOTHING]]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def data(tmp_path):
    rows = [
        {
            "passage": f"{i} is here. {i} is there.",
            "sentences": [f"{i} is here.", f"{i} is there."],
            "labels": ["accurate", "major_inaccurate"],
            "samples": SAMPLES,
        }
        for i in range(len(ANSWERS))
    ]
    write(tmp_path / "wikibio_gpt3.jsonl", rows)
    recorded = [{"prompt_answers": {"tiny": answers}} for answers in ANSWERS]
    write(tmp_path / "wikibio_gpt3_recorded.jsonl", recorded)
    return tmp_path


def invoke(*args):
    arguments = ["adaptive", *map(str, args)]
    return CliRunner().invoke(app, arguments, env={"RESAY_DATA": None})


def document(*args):
    result = invoke(*args, "--judge", "recorded:tiny", "--halves", "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def row(found, **wanted):
    (one,) = (r for r in found if all(r[key] == value for key, value in wanted.items()))
    return one


def test_one_json_document_with_the_promised_rows(data):
    found = document("--data", data, "--orders", 2)
    assert found["benchmark"] == "adaptive"
    assert found["passages"] == 3
    assert found["judge"] == "recorded:tiny"
    # Scores 1, 0 and 0.75.
    assert found["half_flagged_threshold"] == 0.375
    rows = found["rows"]
    assert all(set(r) == KEYS for r in rows)
    assert [r["threshold"] for r in rows[::6]] == [0.7, 0.375, 0.5, 0.9, 0.5, 0.8]
    assert {r["order"] for r in rows} == {"recorded", "mean of 2"}
    assert rows[0]["decides"] == "passage"
    assert rows[0]["max"] == 20


def test_samples_drawn_and_decisions_that_differ(data):
    rows = document("--data", data, "--orders", 0)["rows"]
    at = {"decides": "passage", "threshold": 0.7, "order": "recorded"}
    assert len(rows) == 6 * 3
    odd, even, both = (row(rows, rows=part, **at) for part in ("odd", "even", "all"))
    # The second passage is clear after 3 samples, drawn in one wave.
    assert (odd["mean_samples"], odd["waves"], odd["agreement"]) == (3, 1, 100)
    assert odd["flagged"] == 0
    assert odd["calls_per_sentence"] == 3
    # The third looks like 0.5 for long, and is 0.75 with all samples.
    assert (even["agreement"], even["error"]) == (50, 50)
    assert both["agreement"] == pytest.approx(200 / 3, abs=0.01)
    assert both["mean_samples"] == pytest.approx((3 + 2 * even["mean_samples"]) / 3, abs=0.01)


def test_settled_sentences_are_not_asked_about(data):
    mixed = [["Yes", "No"] * 10, NOTHING]
    recorded = [{"prompt_answers": {"tiny": answers}} for answers in (*ANSWERS[:2], mixed)]
    write(data / "wikibio_gpt3_recorded.jsonl", recorded)
    rows = document("--data", data, "--orders", 0)["rows"]
    found = row(rows, decides="sentence", threshold=0.5, rows="all")
    # Of six sentences one needs all samples, and it is drawn for.
    assert found["calls_per_sentence"] == pytest.approx((5 * 3 + 20) / 6, abs=0.01)
    assert found["mean_samples"] == pytest.approx((3 + 3 + 20) / 3, abs=0.01)
    assert found["agreement"] == 100
    rows = document("--data", data, "--orders", 0, "--max", 4)["rows"]
    found = row(rows, decides="sentence", threshold=0.5, rows="all")
    assert (found["max"], found["agreement"]) == (4, 100)
    assert found["mean_samples"] <= 4


def test_certainty_never_differs(data):
    rows = document("--data", data, "--confidence", 1, "--orders", 3)["rows"]
    assert {r["error"] for r in rows} == {0}
    assert row(rows, threshold=0.7, rows="odd", order="recorded")["mean_samples"] > 3


def test_random_orders_come_with_a_deviation(data):
    rows = document("--data", data, "--orders", 4)["rows"]
    found = row(rows, threshold=0.7, rows="all", order="mean of 4")
    assert found["samples_deviation"] > 0
    assert row(rows, threshold=0.7, rows="all", order="recorded")["samples_deviation"] is None
    again = document("--data", data, "--orders", 4)["rows"]
    assert again == rows


def test_with_fewer_samples_the_others_do_not_exist(data):
    # The late answers of the third passage are beyond the first ten.
    rows = document("--data", data, "--max", 10, "--orders", 3, "--confidence", 1)["rows"]
    assert row(rows, threshold=0.7, rows="all", order="recorded")["flagged"] == 33.33
    assert {r["error"] for r in rows} == {0}
    assert max(r["mean_samples"] for r in rows) <= 10


def test_rows_of_a_half_without_passages_are_empty(data):
    rows = document("--data", data, "--rows", "0:1", "--orders", 1)["rows"]
    assert row(rows, threshold=0.7, rows="odd", order="recorded")["agreement"] is None
    assert row(rows, threshold=0.7, rows="odd", order="mean of 1")["mean_samples"] is None


def test_tables_show_it(data):
    arguments = ["--data", data, "--judge", "recorded:tiny", "--orders", 0]
    markdown = invoke(*arguments, "--markdown").stdout
    assert markdown.startswith("| decides | threshold | max | order | rows |")
    assert "A confidence of 0.99 promises each decision an error of 1 % at most." in markdown
    assert "agreement" in invoke(*arguments).stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--judge", "openai/gpt-4.1-mini"], "repeats its questions many times"),
        (["--judge", "recorded:x"], "unknown recorded judge 'x'"),
        (
            ["--judge", "recorded:tiny", "--confidence", "0.5"],
            "must be above 0.5 and at most 1, not 0.5",
        ),
        (["--judge", "recorded:tiny", "--max", "1"], "--max"),
        ([], "Missing option '--judge'"),
    ],
)
def test_bad_input_exits_with_2_and_says_why(data, args, message):
    result = invoke("--data", data, *args)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("scores", "threshold"),
    [([0.1, 0.3, 0.5, 0.9], 0.4), ([0.9, None, 0.1, 0.5], 0.3), ([0.4], 0.4), ([None], 0.5)],
)
def test_halfway(scores, threshold):
    assert adaptive.halfway(scores) == pytest.approx(threshold)
    known = [score for score in scores if score is not None]
    if len(known) % 2 == 0 and known:
        assert sum(score > threshold for score in known) * 2 == len(known)


@pytest.mark.anyio
async def test_the_targets_hold_on_wikibio(data_dir):
    name = "gemma4-31b"
    corpus = wikibio.load(data_dir, slice(None))
    judge = wikibio.recorded_judge(data_dir, f"recorded:{name}", corpus)
    policy = {"chain": [judging(judge)], "threshold": {"passage": 0.5, "sentence": None}}
    whole = await check(
        {**policy, "sampling": {"max": 20, "confidence": None}}, corpus.items, judge
    )
    assert {result.verdict.samples for result in whole} == {20}
    half = adaptive.halfway([result.score for result in whole])
    for threshold, samples, agreement in ((0.7, 5, 0.99), (half, 9, 0.98)):
        policy["threshold"] = {"passage": threshold, "sentence": None}
        sampling = {"max": 20, "min": 3, "confidence": 0.99}
        found = await check({**policy, "sampling": sampling}, corpus.items, judge)
        assert fmean(result.verdict.samples for result in found) <= samples
        # As many are compared as are drawn, and no more are drawn than that.
        assert all(r.calls == r.verdict.samples * len(r.sentences) for r in found)
        same = [
            (a.score > threshold) == (b.score > threshold)
            for a, b in zip(found, whole, strict=True)
        ]
        assert fmean(same) >= agreement


def test_halves_are_told_when_they_are_asked_for(data):
    result = invoke("--data", data, "--orders", 0, "--judge", "recorded:tiny", "--json")
    assert {found["rows"] for found in json.loads(result.stdout)["rows"]} == {"all"}
