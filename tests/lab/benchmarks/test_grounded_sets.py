"""`resay bench grounded`: all sets of a folder, with several models or their recorded scores."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result
from typer.testing import CliRunner

from resay_lab.benchmarks import grounded_sets
from resay_lab.benchmarks.commands import app
from support.known_models import make_denier, make_marker
from support.tiny_models import JUDGED_LABELS, make_hhem, make_roberta, make_t5

Tiny = Callable[..., Path]
ROOT = Path(__file__).resolve().parents[3]
BRIDGE = "The bridge opened in 1932."


def response(text: str, *spans: str) -> dict[str, Any]:
    starts = [text.index(span) for span in spans]
    labels = [{"start": a, "end": a + len(s)} for a, s in zip(starts, spans, strict=True)]
    return {
        "task": "QA",
        "question": "When?",
        "references": [BRIDGE],
        "response": text,
        "labels": labels,
    }


def output(hypothesis: str, label: str) -> dict[str, Any]:
    return {
        "task": "DM",
        "src": "What is it?",
        "tgt": BRIDGE,
        "hyp": hypothesis,
        "ref": "tgt",
        "label": label,
        "p(Hallucination)": float(label == "Hallucination"),
    }


def answer(text: str, references: list[str], *spans: tuple[int, int]) -> dict[str, Any]:
    return {
        "id": text,
        "lang": "EN",
        "model_input": "When?",
        "model_output_text": text,
        "soft_labels": [{"start": start, "end": end, "prob": 1.0} for start, end in spans],
        "hard_labels": spans,
        "references": references,
    }


SETS: Mapping[str, list[dict[str, Any]]] = {
    "ragtruth.jsonl": [
        response("The bridge opened in 1871. It is long.", "in 1871"),
        response(BRIDGE),
    ],
    "aggrefact.jsonl": [
        {"dataset": "Wice", "doc": BRIDGE, "claim": "It opened.", "label": 1},
        {"dataset": "Wice", "doc": BRIDGE, "claim": "It never opened.", "label": 0},
        {"dataset": "Lfqa", "doc": BRIDGE, "claim": "It never did.", "label": 1},
        {"dataset": "Lfqa", "doc": BRIDGE, "claim": "It did not.", "label": 0},
    ],
    "shroom_dev_agnostic.jsonl": [
        output(BRIDGE, "Not Hallucination"),
        output("The bridge opened in 1871.", "Hallucination"),
    ],
    "mushroom.en-tst.v1.jsonl": [
        answer("It opened in 1871.", [BRIDGE], (13, 17)),
        answer("Nobody knows.", []),
    ],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for name, rows in SETS.items():
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def invoke(data: Path, *args: object) -> Result:
    words = ["grounded", "--data", str(data), *map(str, args)]
    return CliRunner().invoke(app, words, env={"RESAY_DATA": None})


def table(data: Path, *args: object) -> Any:
    result = invoke(data, *args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def row_of(document: Any, title: str, method: str = "grounding:documents") -> Any:
    (row,) = [r for r in document["rows"] if (r["set"], r["method"]) == (title, method)]
    return row


def test_each_set_has_a_row_for_each_method(data: Path) -> None:
    document = table(data, "--methods", "references,ngram")
    titles = ["RAGTruth", "LLM-AggreFact", "SHROOM", "Mu-SHROOM"]
    assert [(row["set"], row["method"]) for row in document["rows"]] == [
        (title, method) for title in titles for method in ("references:words", "ngram:references")
    ]
    ragtruth = row_of(document, "RAGTruth", "references:words")
    figures = ("texts", "unsupported", "flagged", "precision", "recall", "f1", "balanced")
    assert [ragtruth[name] for name in figures] == [2, 1, 1, 100.0, 100.0, 100.0, 100.0]
    assert row_of(document, "SHROOM", "references:words")["f1"] == 100.0
    # The answer without references has nothing to be compared with.
    assert row_of(document, "Mu-SHROOM", "references:words")["texts"] == 1
    assert document["texts"] == 9


def test_of_aggrefact_the_mean_of_its_data_sets_counts(data: Path, tiny: Tiny) -> None:
    model = tiny(make_denier, labels=JUDGED_LABELS)
    document = table(data, "--methods", "grounding", "--model", model)
    # All of Wice is right, all of Lfqa wrong.
    assert row_of(document, "LLM-AggreFact")["balanced"] == 50.0
    assert row_of(document, "LLM-AggreFact")["span_f1"] is None


def test_a_method_is_measured_with_each_model(data: Path, tiny: Tiny, tmp_path: Path) -> None:
    published = tmp_path / "lettucedect-large-modernbert-en-v1"
    published.symlink_to(tiny(make_marker))
    denier = tiny(make_denier, labels=JUDGED_LABELS)
    document = table(data, "--methods", "grounding", "--model", denier, "--model", published)
    rows = [row for row in document["rows"] if row["set"] == "RAGTruth"]
    assert [row["model"] for row in rows] == [denier.name.lower(), published.name]
    assert rows[1]["paper"] == {"f1": 79.22, "span_f1": 58.93}
    assert rows[1]["span_f1"] is not None


def test_a_limit_takes_texts_of_all_parts(data: Path) -> None:
    document = table(data, "--methods", "references", "--limit", 2)
    aggrefact = row_of(document, "LLM-AggreFact", "references:words")
    assert (aggrefact["texts"], aggrefact["unsupported"]) == (2, 0)
    assert "LLM-AggreFact: 2 of 4 texts, evenly spaced." in document["notes"]


def test_recorded_scores_take_the_place_of_a_model(data: Path, tiny: Tiny, tmp_path: Path) -> None:
    folder = tmp_path / "some-model"
    shutil.copytree(tiny(make_marker), folder)
    measured = table(data, "--methods", "grounding", "--model", folder, "--record")
    recorded = (data / "grounded_recorded.jsonl").read_text()
    assert len(recorded.splitlines()) == 9
    assert "1871" not in recorded
    assert str(tmp_path) not in recorded
    shutil.rmtree(folder)

    replayed = table(data, "--methods", "grounding", "--model", folder)
    assert replayed["rows"] == measured["rows"]
    assert (
        "Mu-SHROOM, grounding:documents (some-model): 1 of 1 scores are recorded ones."
        in (replayed["notes"])
    )
    # Nothing is recorded twice.
    table(data, "--methods", "grounding", "--model", folder, "--record")
    assert (data / "grounded_recorded.jsonl").read_text() == recorded


def test_scores_of_another_text_or_another_precision_are_not_taken(
    data: Path, tiny: Tiny, tmp_path: Path
) -> None:
    folder = tmp_path / "some-model"
    shutil.copytree(tiny(make_marker), folder)
    args = ("--methods", "grounding", "--model")
    table(data, *args, folder, "--record")
    shutil.rmtree(folder)
    changed = [response("The bridge opened in 1901.", "in 1901")]
    (data / "ragtruth.jsonl").write_text(json.dumps(changed[0]) + "\n")
    document = table(data, *args, folder)
    assert "RAGTruth" not in {row["set"] for row in document["rows"]}
    assert row_of(document, "SHROOM")["texts"] == 2
    other = f"{{name: {folder}, precision: bf16}}"
    assert table(data, *args, other)["rows"] == []


def test_a_model_that_cannot_be_loaded_is_named_and_left_out(data: Path) -> None:
    document = table(data, "--methods", "references,grounding", "--model", "./nowhere/model")
    assert {row["method"] for row in document["rows"]} == {"references:words"}
    notes = [note for note in document["notes"] if "grounding:documents (model): skipped: " in note]
    assert len(notes) == 4


def test_a_folder_without_data_says_how_to_get_some(tmp_path: Path) -> None:
    result = invoke(tmp_path)
    assert result.exit_code == 2
    assert "resay bench fetch ragtruth" in " ".join(result.output.replace("│", "").split())


def test_missing_sets_are_named(data: Path) -> None:
    (data / "aggrefact.jsonl").unlink()
    document = table(data, "--methods", "references")
    assert "LLM-AggreFact: skipped: no data." in document["notes"]


@pytest.mark.parametrize("line", ["{}", "nothing"])
def test_a_recording_of_another_shape_is_refused(data: Path, line: str) -> None:
    (data / "grounded_recorded.jsonl").write_text(line)
    result = invoke(data)
    assert result.exit_code == 2
    assert "line 1" in result.output


def test_a_recording_that_is_named_must_exist(data: Path) -> None:
    result = invoke(data, "--recorded", data / "other.jsonl")
    assert result.exit_code == 2
    assert "does not exist" in " ".join(result.output.replace("│", "").split())


# Every night


def in_hub_cache(home: Path, name: str, model: Path) -> None:
    """Put a model where the hub's client looks for those it has downloaded."""
    folder = home / "hub" / f"models--{name.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("0" * 40)
    shutil.copytree(model, folder / "snapshots" / ("0" * 40))


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_the_nightly_workflow_measures_and_shows_the_table(
    data: Path, tiny: Tiny, tmp_path: Path
) -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text())
    steps = workflow["jobs"]["grounded"]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    assert commands[0] == "make bench-grounded"

    makers: Mapping[str, Path] = {
        "vectara/hallucination_evaluation_model": tiny(make_hhem),
        "KRLabsOrg/lettucedect-base-modernbert-en-v1": tiny(make_marker),
        "lytang/MiniCheck-Flan-T5-Large": tiny(make_t5),
        "yaxili96/FactCG-DeBERTa-v3-Large": tiny(
            make_roberta, head=True, labels=JUDGED_LABELS, room=400
        ),
    }
    assert list(makers) == list(grounded_sets.MODELS["grounding"])
    for name, model in makers.items():
        in_hub_cache(tmp_path / "hf", name, model)
    # Files that are there are not fetched again.
    (data / "shroom_dev_aware.jsonl").write_text(json.dumps(SETS["shroom_dev_agnostic.jsonl"][0]))
    binaries = tmp_path / "bin"
    binaries.mkdir()
    program = binaries / "resay"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom resay.cli import main\nsys.exit(main())\n"
    )
    program.chmod(0o755)
    summary = tmp_path / "summary.md"
    env = {
        **os.environ,
        "HF_HOME": str(tmp_path / "hf"),
        "HF_HUB_OFFLINE": "1",
        "HF_TOKEN": "token",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    # The environment of development is the one that runs this.
    make = f"make --assume-old=.venv/.dev BIN={binaries} GROUNDED={data}"
    commands[0] = commands[0].replace("make", make, 1)
    script = "\n".join(commands).replace("build/grounded/", f"{data}/")
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shown = summary.read_text()
    assert shown.startswith("| set | method | model |")
    for name in makers:
        assert name.rpartition("/")[2].lower() in shown
    assert "skipped" not in shown
    assert shown == (data / "table.md").read_text()
    uploads = [step["with"]["path"].split() for step in steps if "upload" in step.get("uses", "")]
    for path in uploads[0]:
        assert (data / path.removeprefix("build/grounded/")).stat().st_size
