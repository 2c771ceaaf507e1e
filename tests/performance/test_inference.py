from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from performance import inference, memory, shapes
from performance.__main__ import app
from performance.inference import Effort
from performance.readings import Part, evenly
from performance.released_bertscore import score_plainly
from performance.released_nli import PlainClassifier
from performance.skipping import SkippedError
from performance.stalls import longest_stalls
from performance.workshop import Workshop
from resay import Passage
from resay.adapters import run_sync
from resay_lab.benchmarks.measuring import Item

pytest.importorskip("torch")
pytest.importorskip("transformers")

KEYS = {
    *("part", "what", "value", "unit", "beside", "limit", "ratio"),
    *("target", "met", "remark", "details", "skipped"),
}
TINY = Effort(
    pairs=3,
    repeats=1,
    counted=2,
    timed=1,
    checks=3,
    bertscore="tiny",
    samples=2,
    waiting=4,
    memory="tiny",
    memory_s=30,
    small="tiny",
)
SENTENCES = [
    "Ada was born in London in 1815.",
    "She wrote the first program.",
    "She kept a parrot.",
]
SAMPLES = [
    "Ada was born in London. She wrote the first program of all. She died young, at only 36.",
    "Ada grew up in London. She wrote letters to many people. She never had a parrot.",
    "In London Ada wrote the first program. It was for an engine that nobody had built.",
]
TEXTS = [*SENTENCES, *SAMPLES]
ITEM = Item(0, Passage.from_sentences(SENTENCES), tuple(SAMPLES))


def invoke(*args):
    return CliRunner().invoke(app, ["inference", *map(str, args)], env={"RESAY_DATA": None})


def words(text):
    """Error messages come in a box whose lines break anywhere."""
    return " ".join(text.replace("│", " ").split())


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    row = {
        "passage": " ".join(SENTENCES),
        "sentences": SENTENCES,
        "labels": ["accurate"] * 3,
        "samples": SAMPLES,
    }
    text = "".join(json.dumps(row) + "\n" for _ in range(3))
    (folder / "wikibio_gpt3.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    return Workshop(tmp_path_factory.mktemp("models"), TEXTS)


@pytest.fixture(scope="module")
def table(data):
    return inference.run(data, shapes=("tiny",), effort=TINY)


def rows_of(table, part):
    return [row for row in table.rows if row["part"] == part]


def test_every_part_has_rows_with_the_same_keys(table):
    assert list(dict.fromkeys(row["part"] for row in table.rows)) == list(inference.PARTS)
    assert all(set(row) == KEYS for row in table.rows)
    # A target has an answer where something was measured, and nothing else has one.
    for row in table.rows:
        assert (row["met"] is None) == (row["target"] is None or row["skipped"] is not None)
    assert json.loads(table.to_json())["benchmark"] == "inference"
    assert "trained on the texts that are measured" in table.notes[0]
    assert [note.partition(":")[0] for note in table.notes[1:]] == list(inference.PARTS)


def test_every_way_to_run_nli_says_the_same(table):
    plain, *ours = rows_of(table, "nli")
    assert plain["what"] == "tiny, one pair at a time, as released"
    assert plain["details"]["ratio"] == 1
    assert [row["what"] for row in ours] == ["tiny, torch", "tiny, onnx fp32", "tiny, onnx int8"]
    for row in ours[:2]:
        if row["skipped"] is None:
            assert row["details"]["pairs"] == 3
            assert row["details"]["largest_difference"] < 1e-4


def test_int8_is_measured_against_three_times_one_pair_at_a_time(table):
    plain, *_, int8 = rows_of(table, "nli")
    if int8["skipped"] is None:
        assert float(int8["target"].removeprefix(">= ")) == pytest.approx(3 * plain["value"], 0.01)


def test_whole_checks_are_compared_with_their_networks(table):
    grounded, bertscore = rows_of(table, "checks")
    assert grounded["what"] == "grounded, modernbert-tiny, random weights"
    assert bertscore["what"] == "bertscore, roberta-tiny, random weights"
    for row in (grounded, bertscore):
        assert row["ratio"] == pytest.approx(row["value"] / row["limit"], 0.01)
        assert row["beside"] == "its network"


def test_tokens_saved_by_premises_and_the_time(table):
    *counted, nearest_1, nearest_2 = rows_of(table, "premise")
    # Without padding, which depends on what happens to be computed together.
    ratios = [row["details"]["ratio_unpadded"] for row in counted]
    # The more sentences are compared with, the less is saved.
    assert ratios == sorted(ratios, reverse=True)
    assert min(ratios) >= 1
    assert [row["target"] for row in counted] == [">= 4", None, None]
    assert {row["details"]["checks"] for row in counted} == {2}
    assert nearest_2["value"] > 0
    assert "the default" in nearest_1["what"]


def test_bertscore_against_the_released_procedure(table):
    torch, fp32, int8, together = rows_of(table, "bertscore")
    assert [row["target"] for row in (torch, fp32, int8, together)] == [None, None, None, ">= 10"]
    assert together["met"] is (together["value"] >= 10)
    for row in (torch, fp32):
        details = row["details"]
        assert (details["checks"], details["sentences"]) == (1, 3)
        # Theirs may match a word with a special token.
        assert 0 <= details["largest_difference"] < 0.1
        assert row["value"] > 0


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_memory_of_a_process_that_scores_everything(table):
    row = rows_of(table, "memory")[0]
    assert row["skipped"] is None
    details = row["details"]
    assert details["done"] == details["pairs"] == 4
    assert 500 < details["tokens"] <= 512
    assert row["value"] == pytest.approx(details["peak_mb"] - details["loaded_mb"], abs=0.11)
    assert details["peak_mb"] >= details["loaded_mb"] > 50


def test_checks_at_the_same_time_get_the_same_results(table):
    stall, difference = rows_of(table, "concurrency")
    assert stall["details"]["beats"] >= 1
    assert stall["value"] >= stall["details"]["median_ms"]
    assert difference["met"]
    # Not because all scores are the same.
    assert difference["details"]["scores"] == 3 * 2
    assert difference["details"]["largest"] > difference["details"]["smallest"]


def test_a_blocked_loop_is_seen():
    async def block():
        time.sleep(0.1)  # noqa: ASYNC251 - what is to be seen
        return [[1.0]]

    late, done = run_sync(longest_stalls, block)
    assert done == [[1.0]]
    assert max(late) > 0.05


def test_tokens_are_counted_as_the_tokenizer_has_them(workshop):
    from performance.premises import count_tokens

    tokenizer = workshop.words()
    whole = count_tokens([ITEM], tokenizer)
    expected = [
        len(tokenizer.encode(sample, sentence)) for sample in SAMPLES for sentence in SENTENCES
    ]
    assert (whole.pairs, whole.bare) == (9, sum(expected))
    assert whole.padded >= whole.bare
    near = count_tokens([ITEM], tokenizer, premise="sentences", nearest=1)
    # Samples of three sentences each, of which one is read.
    assert near.pairs == whole.pairs
    assert near.bare < 0.7 * whole.bare
    # Nothing is left out of a sample of one sentence.
    short = Item(0, ITEM.passage, ("Ada was born in London.",))
    assert count_tokens([short], tokenizer) == count_tokens([short], tokenizer, premise="sentences")


def test_the_plain_classifier_puts_the_sentence_first(workshop):
    torch = pytest.importorskip("torch")
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = workshop.deberta("tiny")
    (score,) = PlainClassifier(folder).score([(SENTENCES[0], SAMPLES[0])])
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        logits = model(**tokenizer(SENTENCES[0], SAMPLES[0], return_tensors="pt")).logits[0]
    assert score == pytest.approx(float(logits.softmax(-1)[1]), abs=1e-6)


def test_plain_bertscore_is_the_published_formula(workshop):
    torch = pytest.importorskip("torch")
    from transformers import AutoModel, AutoTokenizer

    folder, layer = workshop.roberta("tiny"), 2
    model = AutoModel.from_pretrained(folder).eval()
    model.encoder.layer = model.encoder.layer[:layer]
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def embed(text):
        with torch.no_grad():
            rows = model(**tokenizer(text, return_tensors="pt"))[0][0].numpy()
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def f1(text, other):
        likeness = embed(text) @ embed(other).T
        recall = likeness.max(axis=1)[1:-1].mean()
        precision = likeness.max(axis=0)[1:-1].mean()
        return 2 * precision * recall / (precision + recall)

    samples = [[s.text for s in Passage.of(sample).sentences] for sample in SAMPLES[:2]]
    expected = []
    for sentence in SENTENCES:
        best = [max(f1(sentence, other) for other in others) for others in samples]
        expected.append(1 - np.mean(best))
    scores = score_plainly(folder, layer, SENTENCES, samples)
    assert scores == pytest.approx(expected, abs=1e-5)
    assert len(set(scores)) > 1


def test_shapes_are_those_of_the_published_models(workshop):
    xsmall, base, large = (shapes.DEBERTA[name] for name in ("xsmall", "base", "large"))
    assert xsmall == shapes.Shape(384, 12, 6, 1536)
    assert base == shapes.Shape(768, 12, 12, 3072)
    assert large == shapes.Shape(1024, 24, 16, 4096)
    config = json.loads((workshop.deberta("tiny") / "config.json").read_text())
    assert config["pos_att_type"] == ["p2c", "c2p"]
    assert (config["position_buckets"], config["type_vocab_size"]) == (256, 0)
    assert (config["position_biased_input"], config["share_att_key"]) == (False, True)


def test_without_data_every_part_says_so(tmp_path):
    result = invoke("--json")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["rows"]
    assert [row["part"] for row in rows] == list(inference.PARTS)
    assert {row["skipped"] for row in rows} == {"skipped: no data; pass --data or set RESAY_DATA"}
    assert all(row["value"] is row["met"] is row["details"] is None for row in rows)
    (row,) = inference.run(tmp_path, parts=["nli"]).rows
    assert "cannot read" in row["skipped"]


def test_without_torch_every_part_says_so(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    (row,) = inference.run(data, parts=["memory"]).rows
    assert "'torch'" in row["skipped"]
    assert "resay[nli]" in row["skipped"]


def test_what_cannot_be_exported_is_skipped_and_the_rest_is_not(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    table = inference.run(data, shapes=("tiny",), parts=["nli"], effort=TINY)
    plain, torch, fp32, int8 = table.rows
    assert plain["skipped"] is torch["skipped"] is None
    assert "resay[export]" in fp32["skipped"]
    assert fp32["skipped"] == int8["skipped"] == int8["remark"]


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_a_process_that_fails_is_skipped_with_its_last_word(tmp_path):
    row = memory.measure_memory(
        "tiny", memory.Run("torch", "fp32"), lambda: tmp_path, pairs=1, seconds=1
    )
    assert row["skipped"].startswith("skipped: the process that was to be measured failed: resay")
    assert row["value"] is None


def test_a_system_without_proc_is_skipped(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_PEAK", Path("nowhere"))
    run = memory.Run("onnx", "int8")
    row = memory.measure_memory("base", run, lambda: tmp_path, pairs=1, seconds=1)
    assert row["what"].startswith("base, onnx int8: peak")
    assert row["skipped"].startswith("skipped: there is no /proc")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--parts", "nli,speed"], "unknown name 'speed'; choose from nli, premise, bertscore,"),
        (["--parts", ","], "nothing is named in ','"),
        (["--shapes", "giant"], "unknown name 'giant'; choose from tiny, xsmall, base, large"),
        (["--rows", "x"], "'x' must have the form A:B"),
        (["--json", "--markdown"], "exclude each other"),
    ],
)
def test_bad_input_exits_with_2_and_says_why(args, message):
    result = invoke(*args)
    assert result.exit_code == 2
    assert message in words(result.stderr)


def test_parts_are_measured_in_their_own_order():
    rows = json.loads(invoke("--parts", "memory,nli,memory", "--json").stdout)["rows"]
    assert [row["part"] for row in rows] == ["nli", "memory"]


@pytest.mark.parametrize(
    ("count", "most", "expected"), [(10, 5, [0, 2, 4, 6, 8]), (2, 5, [0, 1]), (0, 5, [])]
)
def test_evenly(count, most, expected):
    assert evenly(count, most) == expected


def test_targets():
    at_least, at_most, times, none = (
        Part("a", "b", "x", least=4),
        Part("a", "b", "x", most=2),
        Part("a", "b", "ms", most_times=5),
        Part("a", "b", "x"),
    )
    assert (at_least.target, at_least.met(4), at_least.met(3.9)) == (">= 4", True, False)
    assert (at_most.target, at_most.met(2), at_most.met(2.1)) == ("<= 2", True, False)
    assert (times.target, times.met(9, 5), times.met(1, 5.1)) == ("<= 5 x", True, False)
    assert times.met(1) is False
    assert (none.target, none.met(1)) == (None, None)


def test_a_refusal_to_export_is_remembered(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    workshop = Workshop(tmp_path, TEXTS)
    for _ in range(2):
        with pytest.raises(SkippedError, match=r"resay\[export\]"):
            workshop.exported(workshop.deberta("tiny"))
