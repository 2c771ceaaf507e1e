from __future__ import annotations

import json
import random
from math import exp
from pathlib import Path

import anyio
import pytest
from typer.testing import CliRunner

from resay import ConfigurationError, Policy
from resay_lab.benchmarks import wikibio
from resay_lab.benchmarks.commands import app
from resay_lab.benchmarks.measuring import measure
from resay_lab.benchmarks.wikibio import FIGURE_COLUMNS, figures

FIGURES = [column.key for column in FIGURE_COLUMNS]
COSTS = ["calls", "tokens", "seconds"]
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "ensemble.yaml"
SAMPLES, SENTENCES, PASSAGES = 4, 3, 15
FORMS = [
    ("ensemble", "least squares"),
    ("combination", "unweighted"),
    ("combination", "weighted"),
    ("combination", "leaning"),
]


def invoke(*args, **env):
    env = {"RESAY_DATA": None, **env}
    return CliRunner().invoke(app, ["ensemble", *map(str, args)], env=env)


def document_of(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def words(text):
    """Error messages come in a box whose lines break anywhere."""
    return " ".join(text.replace("│", " ").split())


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def made_up(wrong_everywhere=False):
    """Passages whose wrong sentences a judge and the samples both doubt, more often than not."""
    rng = random.Random(3)
    rows, answers = [], []
    for p in range(PASSAGES):
        doubt = rng.gauss(0, 1)
        wrong = [
            wrong_everywhere or rng.random() < 1 / (1 + exp(-2 * doubt)) for _ in range(SENTENCES)
        ]
        sentences = [f"Person {p} did thing{p}x{s} then." for s in range(SENTENCES)]
        repeats = [[rng.random() < (0.3 if w else 0.7) for _ in range(SAMPLES)] for w in wrong]
        samples = [
            " ".join(text for text, row in zip(sentences, repeats, strict=True) if row[n])
            or f"Nothing {n}."
            for n in range(SAMPLES)
        ]
        rows.append(
            {
                "passage": " ".join(sentences),
                "sentences": sentences,
                "labels": ["major_inaccurate" if w else "accurate" for w in wrong],
                "samples": samples,
            }
        )
        answers.append(
            [
                ["No" if rng.random() < 0.3 + 0.5 * w else "Yes" for _ in range(SAMPLES)]
                for w in wrong
            ]
        )
    return rows, answers


@pytest.fixture
def data(tmp_path):
    rows, answers = made_up()
    write(tmp_path / "wikibio_gpt3.jsonl", rows)
    recorded = [{"prompt_answers": {"tiny": a}} for a in answers]
    write(tmp_path / "wikibio_gpt3_recorded.jsonl", recorded)
    return tmp_path


def test_one_row_for_each_member_and_each_form(data):
    result = invoke("--data", data, "--judge", "recorded:tiny", "--assignments", 3, "--json")
    assert result.stderr == ""
    document = document_of(result)
    assert document["benchmark"] == "ensemble"
    assert (document["passages"], document["folds"], document["assignments"]) == (PASSAGES, 5, 3)
    rows = [(row["method"], row["variant"], row["learned"]) for row in document["rows"]]
    assert rows == [
        ("prompt", "per_pair", None),
        ("ngram", "maximum-1", None),
        *((*form, "out of fold") for form in FORMS),
        ("combination", "leaning", "mean of 3"),
        ("combination", "leaning", "deviation of 3"),
        ("combination", "leaning", "in sample"),
    ]
    keys = {"method", "variant", "learned", "judge", *FIGURES, *COSTS}
    assert all(set(row) == keys for row in document["rows"])


def test_members_are_measured_as_in_the_wikibio_benchmark(data):
    judge = ("--data", data, "--judge", "recorded:tiny", "--json")
    together = document_of(invoke(*judge, "--assignments", 0))["rows"]
    methods = ["wikibio", "--methods", "prompt,ngram:maximum-1"]
    alone = CliRunner().invoke(app, [*methods, *map(str, judge)])
    for ours, theirs in zip(together, document_of(alone)["rows"], strict=False):
        assert [ours[key] for key in FIGURES] == [theirs[key] for key in FIGURES]


def test_a_member_may_be_given_the_first_samples_alone(data):
    args = ("--data", data, "--judge", "recorded:tiny", "--assignments", 0, "--json")
    few, _, *forms = document_of(invoke(*args, "--members", "prompt:per_pair-3,ngram:maximum-1"))[
        "rows"
    ]
    assert few["calls"] == 3 * SENTENCES < SAMPLES * SENTENCES
    assert {form["calls"] for form in forms} == {3 * SENTENCES}


def test_what_is_made_of_members_costs_what_they_cost_together(data):
    args = ("--data", data, "--judge", "recorded:tiny", "--assignments", 2, "--json")
    prompt, ngram, *forms, deviation, in_sample = document_of(invoke(*args))["rows"]
    assert (prompt["calls"], ngram["calls"]) == (SAMPLES * SENTENCES, 0)
    for form in (*forms, in_sample):
        assert form["calls"] == SAMPLES * SENTENCES
        assert form["tokens"] is None
        assert form["seconds"] == pytest.approx(prompt["seconds"] + ngram["seconds"], abs=2e-5)
        assert form["judge"] == "recorded:tiny"
    assert [deviation[key] for key in COSTS] == [None] * 3


def test_the_figures_are_the_same_each_time(data):
    args = ("--data", data, "--judge", "recorded:tiny", "--assignments", 2, "--json")
    first, second = (document_of(invoke(*args)) for _ in range(2))
    for document in (first, second):
        for row in document["rows"]:
            del row["seconds"]
    assert first == second


def test_the_step_is_one_of_a_policy_and_scores_as_the_row_in_sample(data):
    args = ("--data", data, "--judge", "recorded:tiny", "--assignments", 0, "--json")
    document = document_of(invoke(*args))
    policy = Policy.of({"chain": [document["step"]]})
    corpus = wikibio.load(data, slice(None))
    assert figures_of(policy, data, "tiny", corpus) == figures_in(document["rows"][-1])
    parts = document["parameters"]["parts"]
    assert [part["member"] for part in parts] == ["prompt:per_pair", "ngram:maximum-1"]
    assert [part["scale"] for part in parts] == ["log_odds", "raw"]
    assert [part["scale"] for part in document["step"]["parts"]] == ["log_odds", "raw"]


def figures_in(row):
    return {key: row[key] for key in FIGURES}


def figures_of(policy, folder, name, corpus):
    """Measure a policy's only step with a recorded judge."""
    judge = wikibio.recorded_judge(folder, f"recorded:{name}", corpus)

    async def run():
        (config,) = policy.chain
        return await measure(config, corpus.items, judge, concurrency=1, done=lambda: None)

    return figures(corpus.labels, anyio.run(run))


def test_the_step_stands_in_the_notes_ready_to_be_pasted(data):
    args = ("--data", data, "--judge", "recorded:tiny", "--assignments", 0)
    document = document_of(invoke(*args, "--json"))
    printed = invoke(*args).stdout
    for text in (document["notes"][-1], printed[printed.index("- leaning, learned") :]):
        _, _, step = text.partition("\n\n")
        pasted = Policy.parse("chain:\n" + "\n".join(line[4:] for line in step.splitlines()))
        assert pasted == Policy.of({"chain": [document["step"]]})


def test_any_number_of_members_without_a_judge(data):
    members = ("--members", "ngram:average-2", "--assignments", 0, "--json")
    document = document_of(invoke("--data", data, *members))
    assert [row["judge"] for row in document["rows"]] == [None] * 6
    (part,) = document["step"]["parts"]
    assert part["scorer"] == {"method": "ngram", "pool": "average", "n": 2, "counted": "response"}


def test_with_one_assignment_there_is_no_deviation(data):
    args = ("--data", data, "--members", "ngram:maximum-1", "--assignments", 1, "--json")
    *_, mean, deviation, _ = document_of(invoke(*args))["rows"]
    assert mean["roc_auc"] is not None
    assert [deviation[key] for key in FIGURES] == [None] * len(FIGURES)


def test_markdown(data):
    args = ("--data", data, "--members", "ngram:maximum-1", "--assignments", 0, "--markdown")
    lines = invoke(*args).stdout.splitlines()
    assert lines[0].startswith("| method | variant | learned | NonFact |")
    assert lines[2].startswith("| ngram | maximum-1 | – |")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--members", "snowballing"], "unknown method 'snowballing'; choose from ngram, prompt,"),
        (["--members", "prompt"], "'prompt:per_pair' needs a judge; pass --judge"),
        (["--members", "fibe", "--judge", "recorded:tiny"], "has no recorded answers"),
        (["--judge", "recorded:x"], "unknown recorded judge 'x'"),
        (["--folds", "16", "--judge", "recorded:tiny"], "16 folds need as many passages"),
        (["--folds", "1", "--judge", "recorded:tiny"], "--folds"),
        (["--rows", ":3", "--judge", "recorded:tiny"], "3 passages, for 3 of the folds"),
    ],
)
def test_bad_input_exits_with_2_and_says_why(data, args, message):
    result = invoke("--data", data, *args)
    assert result.exit_code == 2
    assert message in words(result.stderr)
    assert result.stdout == ""


def test_nothing_can_be_learned_where_all_is_wrong(data):
    write(data / "wikibio_gpt3.jsonl", made_up(wrong_everywhere=True)[0])
    result = invoke("--data", data, "--members", "ngram:maximum-1")
    assert isinstance(result.exception, ConfigurationError)
    assert "of 45 labelled sentences 45 are wrong" in str(result.exception)


def test_a_live_judge(data, simulated):
    result = invoke(
        *("--data", data, "--assignments", 0, "--json", "--folds", 2, "--rows", ":6"),
        *("--judge", "openai/simulated", "--api-base", simulated.base_url),
        OPENAI_API_KEY="simulated",
    )
    document = document_of(result)
    # Asked once, whatever is made of the answers; and one call finds out whether anybody answers.
    assert simulated.calls == 6 * SAMPLES * SENTENCES + 1
    assert document["step"]["parts"][0]["scorer"]["judge"] == "openai/simulated"
    assert document["rows"][-1]["tokens"] > 0


def test_the_example_policy_is_valid(monkeypatch):
    monkeypatch.delenv("JUDGE", raising=False)
    Policy.load(EXAMPLE)


@pytest.fixture(scope="module")
def measured(data_dir):
    judge = ("--judge", "recorded:gemma4-31b")
    return document_of(invoke("--data", data_dir, *judge, "--assignments", 3, "--json"))


def assert_targets(row):
    assert row["roc_auc"] >= 87
    assert row["factual"] >= 76
    assert row["pearson"] >= 76


def test_the_targets_are_met_out_of_fold(measured):
    *members, _, _, plain, leaning, mean, _, _ = measured["rows"]
    assert leaning["learned"] == "out of fold"
    assert_targets(leaning)
    assert_targets(mean)
    for row in (*members, plain):
        assert leaning["roc_auc"] > row["roc_auc"]
        assert leaning["factual"] > row["factual"]
        assert leaning["pearson"] > row["pearson"]


def test_the_example_policy_has_the_numbers_that_are_learned(measured):
    step = measured["step"]
    step["parts"][0]["scorer"]["judge"] = "anybody"
    assert Policy.of({"chain": [step]}).chain == example().chain


def test_the_example_policy_scores_as_the_benchmark_does(measured, data_dir):
    row = measured["rows"][-1]
    assert row["learned"] == "in sample"
    assert_targets(row)
    corpus = wikibio.load(data_dir, slice(None))
    assert figures_of(example(), data_dir, "gemma4-31b", corpus) == figures_in(row)


def example():
    return Policy.parse(EXAMPLE.read_text(encoding="utf-8"), env={"JUDGE": "anybody"})
