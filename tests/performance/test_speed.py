from __future__ import annotations

import json
import sys

import pytest
from typer.testing import CliRunner

from performance.__main__ import app
from performance.check_speed import measure_checks
from performance.released_ngram import score_plainly, tokenize_plainly
from performance.speed import measure_import, measure_latency, measure_ngram
from resay import Passage
from resay.adapters import run_sync
from resay.core.tokens import tokenize
from resay.plugins import Evidence, Samples
from resay.scorers.ngram import Ngram

KEYS = {
    *("part", "what", "value", "unit", "beside", "limit", "ratio"),
    *("target", "met", "remark", "details", "skipped"),
}
SENTENCES = ["Ada was born in London.", "She wrote the first program.", "She kept a blue parrot."]
SAMPLES = [
    "Ada was born in London. She wrote the first program of all.",
    "Ada grew up in London. She wrote letters. She had no parrot.",
    "In London Ada wrote the first program.",
]
ROW = {
    "passage": " ".join(SENTENCES),
    "sentences": SENTENCES,
    "labels": ["accurate", "accurate", "major_inaccurate"],
    "samples": SAMPLES,
}


@pytest.fixture
def data(tmp_path):
    text = "".join(json.dumps(ROW) + "\n" for _ in range(3))
    (tmp_path / "wikibio_gpt3.jsonl").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("n", [1, 2, 3])
def test_ours_equals_the_plain_procedure_where_tokens_agree(n):
    pytest.importorskip("spacy")
    pytest.importorskip("nltk")
    for text in (*SENTENCES, *SAMPLES):
        assert tokenize(text) == tokenize_plainly(text)
    passage = Passage.from_sentences(SENTENCES)
    plain = score_plainly(SENTENCES, passage.text, SAMPLES, n)
    for pool, expected in zip(("average", "maximum"), plain, strict=True):
        scorer = Ngram(Ngram.Config(n=n, pool=pool, counted="response"))
        scores = run_sync(scorer.score, passage, Evidence(samples=Samples(SAMPLES)))
        assert scores.raw == pytest.approx(expected, rel=1e-12)


def test_what_was_never_counted_is_infinitely_surprising_to_the_plain_procedure():
    pytest.importorskip("spacy")
    average, maximum = score_plainly(["A whale."], "A cat.", ["A dog."])
    assert average == maximum == [float("inf")]


def test_the_ngram_part(data):
    pytest.importorskip("spacy")
    row = measure_ngram(data, slice(0, 2))
    assert set(row) == KEYS
    assert row["value"] > 0
    assert row["skipped"] is None
    details = row["details"]
    assert (details["checks"], details["ours_all_checks"]) == (2, 2)
    assert min(details["plain_ms"], details["plain_pipeline_ms"], details["ours_ms"]) > 0
    assert details["sentences"] == details["same_tokens"] == 6
    assert details["correlation"] == pytest.approx(1)
    assert details["largest_difference_same_tokens"] == pytest.approx(0, abs=1e-9)


def test_the_ngram_part_is_skipped_without_data_or_library(data, tmp_path, monkeypatch):
    assert measure_ngram(None)["skipped"] == "skipped: no data; pass --data or set RESAY_DATA"
    assert "cannot read" in measure_ngram(tmp_path / "none")["skipped"]
    monkeypatch.setitem(sys.modules, "spacy", None)
    row = measure_ngram(data)
    assert "'spacy'" in row["skipped"]
    assert row["value"] is row["met"] is row["details"] is None
    assert row["remark"] == row["skipped"]


def test_the_latency_part():
    row = measure_latency(sentences=2, samples=3, concurrency=4, latency_s=0.01, runs=1)
    assert set(row) == KEYS
    assert row["skipped"] is None
    # Nothing is faster than possible.
    assert row["value"] >= 1
    assert row["details"]["calls"] == 6
    assert row["details"]["ideal_seconds"] == pytest.approx(0.02)


def test_the_latency_part_is_skipped_when_a_check_is_inconclusive():
    row = measure_latency(sentences=1, samples=2, concurrency=4, latency_s=0.0, runs=1)
    assert row["skipped"].startswith("skipped: 0 calls were made; only 2 usable samples")


def test_the_import_part():
    row = measure_import(runs=1)
    assert set(row) == KEYS
    assert row["unit"] == "ms"
    assert row["value"] >= 0
    assert row["details"]["empty_ms"] > 0


CHECKS = [
    *("passage", "scorer", "facts", "flagged", "items", "growing items"),
    *("first guard", "first verdict", "help"),
]


def test_the_parts_about_checks_without_calls(data):
    rows = {row["part"]: row for row in measure_checks(data, size=120, turns=1)}
    assert list(rows) == CHECKS
    assert all(set(row) == KEYS and row["skipped"] is None for row in rows.values())
    for part in ("passage", "scorer", "facts", "items", "first guard", "first verdict", "help"):
        row = rows[part]
        assert row["beside"]
        assert min(row["value"], row["limit"], row["ratio"]) > 0
    for part in ("flagged", "growing items"):
        assert min(rows[part]["details"]["ms"], rows[part]["details"]["four_times_ms"]) > 0


def test_the_command_runs_what_it_can():
    result = CliRunner().invoke(app, ["speed", "--json"], env={"RESAY_DATA": None})
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["benchmark"] == "speed"
    rows = {row["part"]: row for row in document["rows"]}
    # What users call comes first.
    assert list(rows) == [*CHECKS, "ngram", "latency", "import"]
    for part in ("passage", "scorer", "facts"):
        assert rows[part]["skipped"].startswith("skipped: no data")
    assert rows["ngram"]["skipped"].startswith("skipped: no data")
    assert rows["latency"]["skipped"] is None
    assert rows["import"]["skipped"] is None
