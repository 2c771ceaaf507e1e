"""`resay bench ragtruth` and `aggrefact` on a few rows in the form of the published ones."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from resay_lab.benchmarks.commands import app
from support.known_models import make_denier, make_marker
from support.tiny_models import JUDGED_LABELS


def response(text, *spans, task="QA", references=("The bridge opened in 1932.",), question="When?"):
    return {
        "id": "1",
        "task": task,
        "model": "some-model",
        "quality": "good",
        "question": question,
        "references": list(references),
        "response": text,
        "labels": [
            {
                "start": text.index(s),
                "end": text.index(s) + len(s),
                "label_type": "Evident Conflict",
            }
            for s in spans
        ],
    }


RAGTRUTH = [
    response("The bridge opened in 1871. It is long.", "in 1871"),
    response("The bridge opened in 1932."),
    response("She wrote a novel in Vienna.", task="Summary", question=None),
    response("He died in London.", "London", task="Data2txt", question=None),
]
AGGREFACT = [
    {"dataset": "Wice", "doc": "It opened in 1932.", "claim": "It opened.", "label": 1},
    {"dataset": "Wice", "doc": "It opened in 1932.", "claim": "It never opened.", "label": 0},
    {"dataset": "Lfqa", "doc": "She was born.", "claim": "She was never born.", "label": 1},
    {"dataset": "Lfqa", "doc": "She was born.", "claim": "She was not born.", "label": 0},
]


@pytest.fixture
def data(tmp_path):
    for name, rows in (("ragtruth", RAGTRUTH), ("aggrefact", AGGREFACT)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines)
    return tmp_path


def invoke(name, *args):
    return CliRunner().invoke(app, [name, *map(str, args)], env={"RESAY_DATA": None})


def document_of(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def row_of(document, **wanted):
    (row,) = (r for r in document["rows"] if wanted.items() <= r.items())
    return row


def test_responses_with_a_made_up_span_are_found_and_the_span_too(data, tiny):
    model = tiny(make_marker)
    document = document_of(invoke("ragtruth", "--data", data, "--model", model, "--json"))
    assert document["responses"] == 4
    whole = row_of(document, task="all")
    # "1871" rightly, "Vienna" wrongly; "London" is missed.
    assert {key: whole[key] for key in ("responses", "hallucinated", "flagged")} == {
        "responses": 4,
        "hallucinated": 2,
        "flagged": 2,
    }
    assert (whole["precision"], whole["recall"], whole["f1"]) == (50.0, 50.0, 50.0)
    # Of "in 1871" and "London" 4 characters are among the 4 + 6 that are claimed.
    assert whole["span_f1"] == pytest.approx(200 * 4 / (10 + 13), abs=0.01)
    assert row_of(document, task="QA")["f1"] == 100.0
    assert row_of(document, task="Data2txt")["recall"] == 0.0
    assert whole["paper"] is None


def test_the_figures_of_a_published_model_stand_below_ours(data, tiny, tmp_path):
    model = tmp_path / "lettucedect-large-modernbert-en-v1"
    model.symlink_to(tiny(make_marker))
    args = ("--data", data, "--model", model)
    document = document_of(invoke("ragtruth", *args, "--json"))
    assert row_of(document, task="all")["paper"] == {"f1": 79.22, "span_f1": 58.93}
    assert row_of(document, task="QA")["paper"] is None
    assert any("RAGTruth's own prompts" in note for note in document["notes"])
    lines = invoke("ragtruth", *args, "--markdown").stdout.splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:4]] == ["grounding", "paper"]


def test_a_response_is_judged_as_a_whole_where_that_is_wanted(data, tiny):
    model = tiny(make_denier, labels=JUDGED_LABELS)
    args = ("--data", data, "--model", model, "--json")
    document = document_of(invoke("ragtruth", *args, "--methods", "grounding:response"))
    assert row_of(document, task="all")["flagged"] == 0
    assert row_of(document, task="all")["span_f1"] is None


def test_methods_without_a_model_are_measured_beside(data):
    document = document_of(
        invoke(
            "ragtruth", "--data", data, "--methods", "references,ngram", "--rows", "0:2", "--json"
        )
    )
    assert row_of(document, method="references", task="all")["f1"] == 100.0
    assert row_of(document, method="ngram", task="all")["model"] is None


def test_claims_are_judged_data_set_by_data_set(data, tiny):
    model = tiny(make_denier, labels=JUDGED_LABELS)
    document = document_of(invoke("aggrefact", "--data", data, "--model", model, "--json"))
    assert document["claims"] == 4
    assert row_of(document, dataset="Wice")["balanced"] == 100.0
    assert row_of(document, dataset="Lfqa")["balanced"] == 0.0
    assert row_of(document, dataset="mean")["balanced"] == 50.0
    assert row_of(document, dataset="mean")["paper"] is None


def test_the_leaderboard_stands_beside_each_data_set(data, tiny, tmp_path):
    model = tmp_path / "MiniCheck-DeBERTa-v3-Large"
    model.symlink_to(tiny(make_denier, labels=JUDGED_LABELS))
    document = document_of(invoke("aggrefact", "--data", data, "--model", model, "--json"))
    assert row_of(document, dataset="Wice")["paper"] == {"balanced": 69.4}
    assert row_of(document, dataset="Lfqa")["paper"] == {"balanced": 83.9}
    assert row_of(document, dataset="mean")["paper"] == {"balanced": 73.1}


@pytest.mark.parametrize("name", ["ragtruth", "aggrefact"])
def test_a_row_of_another_shape_is_named(data, name):
    path = data / f"{name}.jsonl"
    path.write_text(path.read_text() + '{"label": 7}\n')
    result = invoke(name, "--data", data)
    assert result.exit_code == 2
    assert "line 5" in result.output


def test_a_model_that_is_for_no_method_is_refused(data):
    result = invoke("aggrefact", "--data", data, "--methods", "references", "--model", "mine")
    assert result.exit_code == 2
    assert "none of the methods has a model" in " ".join(result.output.replace("│", "").split())
