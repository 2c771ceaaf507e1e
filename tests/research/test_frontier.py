from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from resay.policy.candidates import candidates
from research.__main__ import app
from research.defaults import FACTSCORE, SAC3
from research.frontier import MEAN

N = 10


def response(i):
    """A right sentence, which all samples but one repeat, and one that only few do."""
    right, wrong = f"Person {i} was born in Oslo.", f"Person {i} owns {i + 31} boats."
    samples = [f"{right} Person {i} owns {k} boats." for k in range(N - 1)]
    return {
        "prompt": f"Who is Person {i}?",
        "passage": f"{right} {wrong}",
        "sentences": [right, wrong],
        "labels": ["accurate", "major_inaccurate"],
        "samples": [*samples, "Nobody knows."],
    }


SAID = [["Yes"] * (N - 1) + ["No"], ["No"] * N]


def write(path, rows):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def add_others(folder):
    write(folder / SAC3.responses, [response(0)])
    write(folder / SAC3.recorded, [{"prompt_answers": {"chatgpt-equiv": SAID}}])
    two = response(1)
    unlabelled = {**two, "labels": [None, "minor_inaccurate"]}
    write(
        folder / FACTSCORE.responses,
        [{**r, "samples": r["samples"][:2]} for r in (two, unlabelled)],
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write(folder / "wikibio_gpt3.jsonl", [response(i) for i in range(2)])
    judged = {"prompt_answers": dict.fromkeys(("gemma4-31b", "qwen3.5-9b-think"), SAID)}
    scores = [{"nli_scores": [0.1, 0.9], "bert_scores": [0.9, 0.1]}, {}]
    write(folder / "wikibio_gpt3_recorded.jsonl", [judged | of_row for of_row in scores])
    return folder


def invoke(*args):
    done = CliRunner().invoke(app, ["frontier", *map(str, args)], env={"RESAY_DATA": None})
    assert done.exit_code == 0, done.output
    return done.stdout


def test_without_the_other_sets_nothing_is_rated(data):
    found = json.loads(invoke("--data", data, "--rows", ":1", "--json"))
    assert {row["data"] for row in found["rows"]} == {"wikibio_gpt3"}
    assert [note for note in found["notes"] if "skipped: no data" in note]
    assert not [note for note in found["notes"] if "The table" in note]


def test_methods_by_their_cost(data, tmp_path):
    add_others(data)
    picture = tmp_path / "frontier.svg"
    found = json.loads(invoke("--data", data, "--json", "--plot", picture))
    rows = {(row["data"], row["method"], row.get("judge")): row for row in found["rows"]}
    assert found["responses"] == {"wikibio_gpt3": 2, "sac3_hotpot": 1, "factscore_instructgpt": 2}

    # Samples and the judge's answers: one for a sample, or for each sentence and sample.
    free = rows["wikibio_gpt3", "facts, leaning 0.5, 3", None]
    assert (free["calls"], free["judge_calls"], free["rounds"]) == (3, 0, 0)
    judged = rows["wikibio_gpt3", "prompt, 2", "gemma4-31b"]
    assert (judged["calls"], judged["judge_calls"], judged["rounds"]) == (4, 2, 1)
    published = rows["wikibio_gpt3", "prompt, published, 10", "qwen3.5-9b-think"]
    assert (published["calls"], published["judge_calls"]) == (30, 20)
    assert 0 < free["tokens"] < judged["tokens"] < published["tokens"]
    assert published["roc_auc"] == judged["roc_auc"] == 100
    assert rows["factscore_instructgpt", "facts, 2", None]["sentences"] == 3
    assert ("factscore_instructgpt", "prompt, 2", None) not in rows

    # What is only recorded for a part is compared with nothing.
    recorded = rows["wikibio_gpt3", "bertscore, recorded, 10", None]
    assert (recorded["roc_auc"], recorded["frontier"]) == (0, None)
    assert recorded["paper"] == {"nonfact": 81.96}
    assert rows["sac3_hotpot", "prompt, published, 10", "chatgpt-equiv"]["paper"]

    for data_set in ("wikibio_gpt3", "sac3_hotpot", MEAN):
        here = [r for r in found["rows"] if r["data"] == data_set and r.get("frontier") is not None]
        for row in here:
            beaten = any(
                other["calls"] <= row["calls"]
                and other["roc_auc"] >= row["roc_auc"]
                and (other["calls"], other["roc_auc"]) != (row["calls"], row["roc_auc"])
                for other in here
            )
            assert row["frontier"] is not beaten
    assert {r["method"] for r in found["rows"] if r["data"] == MEAN} == set(candidates())

    table = next(note for note in found["notes"] if note.startswith("The table"))
    assert [table.count(f'"{name}": Measurements(') for name in candidates()] == [2] * len(
        candidates()
    )
    dots = [e for e in ET.parse(picture).iter() if e.tag.endswith("circle")]
    assert len(dots) == len([r for r in found["rows"] if r["roc_auc"] is not None])


def test_a_folder_that_is_not_there_is_refused_before_anything_is_measured(data):
    arguments = ["frontier", "--data", str(data), "--plot", str(data / "none" / "f.svg")]
    done = CliRunner().invoke(app, arguments, env={"RESAY_DATA": None})
    assert done.exit_code == 2
    assert "--plot" in done.output
