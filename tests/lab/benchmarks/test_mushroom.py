"""`resay bench mushroom` on a few rows in the form of the released ones."""

from __future__ import annotations

import json
import math

import pytest
from typer.testing import CliRunner

from resay_lab.benchmarks.commands import app


def row(identifier, language, text, soft, *, hard=None, **more):
    """A row as released, with what a test does not look at left in."""
    return {
        "id": identifier,
        "lang": language,
        "model_input": "?",
        "model_output_text": text,
        "model_id": "some/model",
        "soft_labels": [{"start": a, "prob": p, "end": b} for a, b, p in soft],
        "hard_labels": [[a, b] for a, b, p in soft if p > 0.5] if hard is None else hard,
        "model_output_logits": [-1.5],
        "model_output_tokens": ["x"],
        "annotations": [],
        "wikipedia_url": "https://example.org",
        **more,
    }


EN = [
    row(
        "tst-en-1",
        "EN",
        " It opened in 1871. It is long.",
        [(14, 18, 1.0), (19, 26, 0.25)],
        samples=["It opened in 1932. It is long."] * 3,
    ),
    row("tst-en-2", "EN", "It is long.", [], samples=["It is long."] * 2),
]
TH = [
    row(
        "tst-th-1",
        "TH",
        "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย นอกจากนี้ก่อตั้งในปี 2410",
        [(60, 64, 0.75), (39, 50, 0.5)],
        samples=["กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย นอกจากนี้ก่อตั้งในปี 2325"] * 3,
    ),
    row("tst-th-2", "TH", "ใช่ครับ", [(0, 3, 0.6)], hard=[]),
]


@pytest.fixture
def data(tmp_path):
    files = {
        "mushroom.en-tst.v1.jsonl": EN,
        "mushroom/mushroom.th-tst.v1.jsonl": TH,
        "mushroom.en-val.v2.jsonl": [row("val-en-1", "EN", "No.", [(0, 2, 1.0)])],
        "mushroom.en-train_nolabel.v1.jsonl": [{"id": 1, "lang": "EN", "model_output_text": "x"}],
    }
    for name, rows in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return tmp_path


def invoke(*args):
    return CliRunner().invoke(app, ["mushroom", *map(str, args)], env={"RESAY_DATA": None})


def document_of(*args):
    result = invoke(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def row_of(document, **wanted):
    (found,) = (r for r in document["rows"] if wanted.items() <= r.items())
    return found


def plain_iou(truth, marked):
    """The task's figure, from characters that are written out."""
    if not truth and not marked:
        return 1.0
    return len(truth & marked) / len(truth | marked)


def ranks(values):
    return [
        sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values
    ]


def plain_spearman(a, b):
    """Pearson's correlation of ranks, with the mean rank for ties."""
    if len(set(a)) == 1 or len(set(b)) == 1:
        return float(len(set(a)) == len(set(b)))
    a, b = ranks(a), ranks(b)
    middle = (len(a) + 1) / 2
    both = sum((x - middle) * (y - middle) for x, y in zip(a, b, strict=True))
    own = [math.sqrt(sum((x - middle) ** 2 for x in values)) for values in (a, b)]
    return both / (own[0] * own[1])


def spread(length, spans):
    values = [0.0] * length
    for start, end, value in spans:
        for i in range(start, end):
            values[i] = value
    return values


def test_what_is_marked_is_compared_character_by_character(data):
    document = document_of("--data", data, "--methods", "facts,references")
    assert document["outputs"] == 4
    for language, rows, places in (
        ("EN", EN, [[(1, 19), (20, 31)], [(0, 11)]]),
        ("TH", TH[:1], [[(0, 38), (39, 64)]]),
    ):
        expected = []
        for of_row, spans in zip(rows, places, strict=True):
            text = of_row["model_output_text"]
            # What the method itself says of each claim.
            alone = document_of("--data", alone_in(data, of_row), "--methods", "facts")
            assert alone["outputs"] == 1
            scores = scores_of(of_row)
            assert len(scores) == len(spans)
            found = [(a, b, s) for (a, b), s in zip(spans, scores, strict=True)]
            soft = [(s["start"], s["end"], s["prob"]) for s in of_row["soft_labels"]]
            truth = {i for a, b in of_row["hard_labels"] for i in range(a, b)}
            marked = {i for a, b, s in found if s > 0.5 for i in range(a, b)}
            expected.append(
                (
                    plain_iou(truth, marked),
                    plain_spearman(spread(len(text), soft), spread(len(text), found)),
                )
            )
            assert row_of(alone, language=language)["iou"] == round(expected[-1][0], 4)
        figures = row_of(document, method="facts", language=language)
        means = [sum(column) / len(rows) for column in zip(*expected, strict=True)]
        assert [figures["iou"], figures["correlation"]] == pytest.approx(means, abs=6e-5)
        assert 0 < figures["correlation"] < 1
    assert "facts:samples: 1 rows without `samples` are left out." in document["notes"]
    assert "references:words: skipped: no row has `references`." in document["notes"]


def scores_of(of_row):
    from resay import Guard

    guard = Guard({"chain": [{"method": "facts"}]})
    text, samples = of_row["model_output_text"], of_row["samples"]
    return [c.score for c in guard.check(text, question="?", samples=samples).claims]


def alone_in(data, of_row):
    folder = data / of_row["id"]
    folder.mkdir()
    (folder / "mushroom.jsonl").write_text(json.dumps(of_row) + "\n", encoding="utf-8")
    return folder


def test_marking_all_or_nothing_is_there_to_compare_with(data):
    document = document_of("--data", data, "--methods", "mark", "--languages", "en")
    everything, nothing = (row_of(document, variant=v, language="EN") for v in ("all", "none"))
    # 4 of 31 characters, and none of 11.
    assert everything["iou"] == pytest.approx((4 / 31 + 0) / 2, abs=6e-5)
    assert nothing["iou"] == (0.0 + 1.0) / 2
    # Both are constant for the second, and only ours for the first.
    assert everything["correlation"] == nothing["correlation"] == 0.5
    assert everything["marked"] == 1.0
    assert {r["language"] for r in document["rows"]} == {"EN", "mean"}


def test_hard_labels_are_as_released_and_else_the_soft_ones_over_a_half(data):
    document = document_of("--data", data, "--methods", "mark:all", "--languages", "TH")
    length = len(TH[0]["model_output_text"])
    assert row_of(document, language="TH")["iou"] == pytest.approx(4 / length / 2, abs=6e-5)
    for of_row in TH:
        of_row = {key: value for key, value in of_row.items() if key != "hard_labels"}
        found = document_of("--data", alone_in(data, of_row), "--methods", "mark:all")
        share = {"tst-th-1": 4 / length, "tst-th-2": 3 / 7}[of_row["id"]]
        assert row_of(found, language="TH")["iou"] == pytest.approx(share, abs=6e-5)


def test_the_validation_set_is_another(data):
    document = document_of("--data", data, "--split", "val", "--methods", "mark:all")
    assert document["outputs"] == 1
    assert row_of(document, language="mean")["iou"] == pytest.approx(2 / 3, abs=6e-5)


def test_without_data_it_says_so(data, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    document = document_of("--data", empty)
    assert (document["rows"], document["notes"]) == ([], ["mushroom: skipped: no data."])
    unlabelled = {"id": 1, "lang": "EN", "model_output_text": "x"}
    document = document_of("--data", alone_in(data, unlabelled | {"id": "tst-en-9"}))
    assert document["notes"][1] == "1 rows without `soft_labels` are left out."


def test_what_is_not_valid_is_named(data):
    wrong = alone_in(data, EN[0] | {"soft_labels": [{"start": -1, "end": 2, "prob": 1.0}]})
    result = invoke("--data", wrong)
    assert result.exit_code == 2
    assert "line 1: soft_labels.0.start" in result.output.replace("\n", " ")
    assert "needs a judge" in invoke("--data", data, "--methods", "prompt").output
