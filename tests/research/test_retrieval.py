from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from resay_lab.benchmarks import wikibio
from research import retrieval
from research.__main__ import app

KEYS = {"flagged_by", "searched", "passages", "searches", "first", "among_k"}
TOWNS = ["Leeds", "York", "Bath", "Hull", "Ely"]
PEOPLE = ["ann ash", "bea birch", "cat cedar", "dot dogwood", "eve elm"]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def data(tmp_path):
    """People whose passages name the town of the next person's reference."""
    rows = [
        {
            "prompt": f"This is a Wikipedia passage about {person}:",
            "passage": f"She taught there. She was born in {TOWNS[(i + 1) % 5]}.",
            "sentences": ["She taught there.", f"She was born in {TOWNS[(i + 1) % 5]}."],
            "labels": ["accurate", "accurate" if i == 4 else "major_inaccurate"],
            "samples": ["She taught there.", "She taught."],
            "reference": f"{person.title()} was a teacher of music from {TOWNS[i]}.",
        }
        for i, person in enumerate(PEOPLE)
    ]
    write(tmp_path / "wikibio_gpt3.jsonl", rows)
    answers = [[["Yes", "Yes"], ["Yes", "No"]]] * 4 + [[["No", "No"], ["Yes", "Yes"]]]
    recorded = [{"prompt_answers": {"tiny": answer}} for answer in answers]
    write(tmp_path / "wikibio_gpt3_recorded.jsonl", recorded)
    return tmp_path


def invoke(*args):
    arguments = ["retrieval", *map(str, args)]
    return CliRunner().invoke(app, arguments, env={"RESAY_DATA": None})


def document(*args):
    result = invoke(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def row(found, flagged_by, searched):
    (one,) = (
        r for r in found["rows"] if (r["flagged_by"], r["searched"]) == (flagged_by, searched)
    )
    return one


def test_one_json_document_with_the_promised_rows(data):
    found = document("--data", data)
    assert found["benchmark"] == "retrieval"
    assert (found["passages"], found["references"], found["k"]) == (5, 5, 3)
    assert (found["threshold"], found["instructions"]) == (0.5, False)
    assert all(set(r) == KEYS for r in found["rows"])
    assert [r["searched"] for r in found["rows"]] == [*retrieval.WAYS] * 2
    assert {r["flagged_by"] for r in found["rows"]} == {"labels", "ngram:maximum-1"}


def test_what_was_said_of_the_wrong_town_leads_to_the_wrong_person(data):
    found = document("--data", data)
    alone = row(found, "labels", "each sentence")
    assert (alone["passages"], alone["searches"]) == (4, 1)
    assert alone["first"] == 0
    for searched in ("doubtful claims", "question", "question + each sentence"):
        assert row(found, "labels", searched)["first"] == 100
    found = document("--data", data, "--k", 1)
    assert row(found, "labels", "doubtful claims")["among_k"] == 100
    assert row(found, "labels", "each sentence")["among_k"] == 0


def test_scores_over_the_threshold_are_flagged(data):
    options = ("--data", data, "--methods", "prompt", "--judge", "recorded:tiny")
    name = "prompt:per_pair, recorded:tiny"
    # Scores of 0.5 in four passages, and of 1 in the last one's other sentence.
    assert row(document(*options), name, "each sentence")["passages"] == 1
    lower = document(*options, "--threshold", 0.4)
    assert row(lower, name, "each sentence")["passages"] == 5
    nothing = row(document(*options, "--threshold", 1), name, "each sentence")
    assert (nothing["passages"], nothing["first"], nothing["searches"]) == (0, None, None)


def test_rows_choose_passages_and_not_references(data):
    found = document("--data", data, "--rows", "3:")
    assert (found["passages"], found["references"]) == (2, 5)
    alone = row(found, "labels", "each sentence")
    assert (alone["passages"], alone["first"]) == (1, 0)


def test_instructions_around_the_question_are_searched_for_with_it(data):
    rows = [json.loads(line) for line in (data / "wikibio_gpt3.jsonl").read_text().splitlines()]
    rows[4]["reference"] += " You do not use lists of places: three short tone paragraphs in 200."
    write(data / "wikibio_gpt3.jsonl", rows)
    found = document("--data", data, "--instructions")
    assert found["instructions"] is True
    assert row(found, "labels", "question")["first"] == 0
    assert row(found, "labels", "doubtful claims")["first"] == 100
    assert "between three sentences" in found["notes"][-1]
    assert row(document("--data", data), "labels", "question")["first"] == 100


def test_tables_show_it(data):
    markdown = invoke("--data", data, "--markdown").stdout
    assert markdown.startswith("| flagged by | query | passages |")
    assert "of 5, comes first" in markdown
    assert "doubtful claims" in invoke("--data", data).stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--methods", "prompt"], "needs a judge"),
        (["--methods", "snowballing"], "unknown method 'snowballing'"),
        (["--k", "0"], "--k"),
        (["--threshold", "2"], "--threshold"),
        (["--rows", "9:"], "no row is left"),
    ],
)
def test_bad_input_exits_with_2_and_says_why(data, args, message):
    result = invoke("--data", data, *args)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.anyio
async def test_the_target_holds_on_wikibio(data_dir):
    corpus = wikibio.load(data_dir, slice(0, 80))
    references = retrieval.load_references(data_dir)
    table = await retrieval.run(corpus, references, (), None)
    found = {r["searched"]: r for r in table.rows}
    asked = found["doubtful claims"]
    assert asked["passages"] == 76
    assert asked["searches"] <= 8
    assert asked["first"] >= 95
    assert asked["among_k"] >= 99
    assert asked["first"] > found["each sentence"]["first"] + 10
