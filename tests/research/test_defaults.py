from __future__ import annotations

import json
from math import floor
from statistics import fmean

import anyio
import pytest
from typer.testing import CliRunner

from resay import Passage, Policy, Request
from resay.plugins import Evidence, Samples
from resay.scorers.common.silence import Between
from resay.scorers.facts import Facts
from resay.scorers.prompt import Prompt
from research.__main__ import app
from research.defaults import FACTSCORE, MAX_ACCURATE, MIN_MAJOR, SAC3

N = 6
JUDGES = ("gemma4-31b", "qwen3.5-9b-think")


def response(i, *, made_up):
    """A passage whose first sentence is right; the second is made up, and so is a third.

    What is not made up has its number in every second sample, so that by the words it is half
    supported where a judge finds it not mentioned.
    """
    sentences = [f"Person {i} was born in Oslo.", f"Person {i} owns {i + 3} boats."]
    labels = ["accurate", "major_inaccurate" if made_up else "accurate"]
    if made_up:
        sentences.append(f"Person {i} met {i + 2} kings.")
        labels.append("minor_inaccurate")
    return {
        "prompt": f"Who is Person {i}?",
        "passage": " ".join(sentences),
        "sentences": sentences,
        "labels": labels,
        "samples": [
            f"Person {i} lived, says number {n + 50}."
            if made_up or n % 2
            else f"Person {i} owns {i + 3} ships, says number {n + 50}."
            for n in range(N)
        ],
    }


def answers(i, *, made_up):
    """Nobody supports what is made up, and where something is, nobody supports anything."""
    row = ["No"] * N if made_up else ["Yes"] * N
    return [row, *[["No"] * N] * (2 if made_up else 1)]


def write(path, rows):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def fill(folder):
    """Ten passages, of which one is made up."""
    made_up = [i == 0 for i in range(10)]
    responses = [response(i, made_up=m) for i, m in enumerate(made_up)]
    recorded = [
        {"prompt_answers": dict.fromkeys(JUDGES, answers(i, made_up=m))}
        for i, m in enumerate(made_up)
    ]
    write(folder / "wikibio_gpt3.jsonl", responses)
    write(folder / "wikibio_gpt3_recorded.jsonl", recorded)
    return folder


@pytest.fixture
def data(tmp_path):
    return fill(tmp_path)


def add_others(data):
    short = [
        {"prompt": "What?", "passage": f"It is {i}.", "sentences": [f"It is {i}."]}
        | {"labels": [label], "samples": [f"It is {n}." for n in range(N)]}
        for i, label in enumerate(("accurate", "major_inaccurate"))
    ]
    write(data / SAC3.responses, short)
    said = [["Yes"] * N, ["No", "No", "No", "No", "Yes", "Yes"]]
    write(data / SAC3.recorded, [{"prompt_answers": {"chatgpt-equiv": [row]}} for row in said])
    write(data / FACTSCORE.responses, [{**short[0], "labels": [None], "samples": ["a", "b"]}])


def invoke(data, *args):
    arguments = ["defaults", "--data", str(data), *args]
    return CliRunner().invoke(app, arguments, env={"RESAY_DATA": None})


def told(result):
    return " ".join(result.output.replace("│", " ").split())


def measured(data, *args):
    result = invoke(data, "--json", *args)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return measured(fill(tmp_path_factory.mktemp("data")))


def rows_of(found, **wanted):
    return [row for row in found["rows"] if wanted.items() <= row.items()]


def shares(row):
    return row["accurate_flagged"], row["minor_flagged"], row["major_flagged"]


def test_it_flags_what_the_default_policy_flags(found):
    shipped = rows_of(found, fitted_on="as it ships", no="not_mentioned")
    assert [row["judge"] for row in shipped] == list(JUDGES)
    for row in shipped:
        # Not the 9 true sentences of which the judge finds no mention: the words are there.
        assert shares(row) == (5.3, 100.0, 100.0)
        assert (row["accurate_sentences"], row["major_sentences"]) == (19, 1)
        # Wilson: 1 of 19, and 1 of 1.
        assert row["accurate"] == "5.3 (0.9 to 24.6)"
        assert (row["major_low"], row["major_high"]) == (20.7, 100.0)
        assert row["holds"] is True
        # The one answer with an error, and those without.
        assert (row["right_answers"], row["right_answers_flagged"]) == (9, 0.0)
        assert (row["wrong_answers"], row["wrong_answers_flagged"]) == (1, 100.0)
        assert row["roc_auc"] == 100.0
        assert 3 <= row["samples"] <= 5
        assert row["calls"] == row["samples"]
    step = next(s for s in Policy.default().chain if isinstance(s, Prompt.Config))
    assert isinstance(step.weights.not_mentioned, Between)
    assert {row["weight"] for row in shipped} == {step.weights.not_mentioned.max}


def test_the_bands_stand_beside_the_flags(found):
    row, *_ = rows_of(found, fitted_on="as it ships", no="not_mentioned")
    # Of the 19 accurate sentences one is flagged, and 9 are doubted by the judge, not by the words.
    assert row["accurate_supported"] == 47.4
    assert row["supported_right"] == 100.0


def test_the_threshold_of_doubt_is_fitted(found):
    # All that is made up is flagged, so that no threshold below that lets any of it through.
    assert found["fitted"]["doubtful"] == 0.49
    said = "`threshold.doubtful` fitted on the same: 0.49; what ships is 0.35."
    assert any(note.startswith(said) for note in found["notes"])


def test_noes_may_all_be_contradictions(found):
    for row in rows_of(found, fitted_on="as it ships", no="contradicted"):
        assert shares(row) == (52.6, 100.0, 100.0)
        assert row["holds"] is False


def doubted_by_words(i):
    """What `facts` says of the second sentence of a passage, beside its first five samples."""
    row = response(i, made_up=False)
    evidence = Evidence(Samples(row["samples"][:5]), request=Request.of(row["prompt"]))
    passage = Passage.from_sentences(row["sentences"])
    scorer = Facts(Facts.Config(disagreement=0.7))
    return anyio.run(scorer.score, passage, evidence).sentences[1]


def test_the_weight_is_fitted_and_used_on_what_it_is_not_fitted_on(found):
    # Three true sentences of 19 may be flagged. One is, in the passage that is made up; of the
    # others the third in doubt decides.
    _, _, third, *_ = sorted((doubted_by_words(i) for i in range(1, 10)), reverse=True)
    fitted = floor((0.15 + (0.5 - 0.15) / third) * 10_000) / 10_000
    assert found["fitted"]["max"] == pytest.approx(fitted, abs=1e-4)
    assert 0.6855 < fitted < 1
    fitted_max = found["fitted"]["max"]
    said = f"fitted on all of wikibio_gpt3 with both judges: {fitted_max:.4f}; what ships is"
    assert any(said in note for note in found["notes"])
    crossed = [row for row in found["rows"] if row["fitted_on"] != "as it ships"]
    assert [(row["judge"], row["fitted_on"], row["weight"]) for row in crossed] == [
        ("gemma4-31b", "qwen3.5-9b-think", found["fitted"]["max"]),
        ("qwen3.5-9b-think", "gemma4-31b", found["fitted"]["max"]),
        # Without the made-up passage the other folds allow the same.
        ("gemma4-31b", "the other 4 of 5 folds", found["fitted"]["max"]),
        ("qwen3.5-9b-think", "the other 4 of 5 folds", found["fitted"]["max"]),
    ]


def test_the_other_data_stand_beside_it(data):
    add_others(data)
    found = measured(data)
    readings = rows_of(found, data="sac3_hotpot", fitted_on="as it ships")
    # 3 or 4 of 5 are too few Noes for what is not mentioned, and enough for a contradiction.
    assert [(row["no"], row["accurate_flagged"], row["major_flagged"]) for row in readings] == [
        ("not_mentioned", 0.0, 0.0),
        ("contradicted", 0.0, 100.0),
    ]
    assert readings[0]["minor"] is None
    assert len(rows_of(found, data="wikibio_gpt3", fitted_on="sac3_hotpot", weight=1.0)) == 2
    assert len(rows_of(found, data="sac3_hotpot", fitted_on="wikibio_gpt3")) == 2
    assert any(note.startswith("factscore_instructgpt: not applicable.") for note in found["notes"])
    assert not any("skipped" in note for note in found["notes"])


def test_what_claims_nothing_is_skipped_as_the_policy_does(data):
    add_others(data)
    path = data / SAC3.responses
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    refusal = "I'm sorry, I cannot answer this question without more information."
    rows[1] |= {"passage": refusal, "sentences": [refusal]}
    write(path, rows)
    found = measured(data)
    for row in rows_of(found, data="sac3_hotpot", fitted_on="as it ships"):
        assert (row["unscored"], row["major_flagged"]) == (1, 0.0)
    assert any("not flagged: 0 of wikibio_gpt3 and 1 of sac3_hotpot." in n for n in found["notes"])


def test_data_that_are_missing_are_named(found):
    notes = found["notes"]
    assert "sac3_hotpot: skipped: no data." in notes
    assert "factscore_instructgpt: skipped: no data." in notes


def test_an_answer_that_is_missing_or_unreadable_counts_half(data):
    path = data / "wikibio_gpt3_recorded.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows[0]["prompt_answers"]["gemma4-31b"][1] = [None, "Perhaps", *["Answer: No"] * (N - 2)]
    write(path, rows)
    row, _ = rows_of(measured(data), judge="gemma4-31b", fitted_on="as it ships")
    # Three of the weight and two halves are over the threshold, in such a passage.
    assert shares(row) == (5.3, 100.0, 100.0)
    # Who leaves lines out, or cannot be read, is asked once more.
    assert row["calls"] > row["samples"]


def test_the_next_samples_stand_beside_the_first(data):
    responses, path = data / "wikibio_gpt3.jsonl", data / "wikibio_gpt3_recorded.jsonl"
    rows = [json.loads(line) for line in responses.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        twice = [*row["samples"][:5], *row["samples"][:5], "x"]
        row["samples"] = [f"{sample} {n}" for n, sample in enumerate(twice)]
    write(responses, rows)
    recorded = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in recorded:
        for judge, said in row["prompt_answers"].items():
            row["prompt_answers"][judge] = [["Yes"] * 5 + answer[:5] + ["Yes"] for answer in said]
    write(path, recorded)
    found = measured(data)
    shipped = rows_of(found, judge="gemma4-31b", fitted_on="as it ships", no="not_mentioned")
    # What is left over makes no draw.
    assert [(row["drawn"], *shares(row)) for row in shipped] == [
        ("1 to 5", 0.0, 0.0, 0.0),
        ("6 to 10", 5.3, 100.0, 100.0),
    ]
    said = "gemma4-31b, as it ships: not met on samples 1 to 5; 2.6 and 50.0 on average over 2"
    assert any(said in note for note in found["notes"])


def test_as_many_samples_as_the_policy_draws_must_be_there(data):
    path = data / "wikibio_gpt3.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    write(path, [{**row, "samples": row["samples"][:4]} for row in rows])
    path = data / "wikibio_gpt3_recorded.jsonl"
    said = [
        {"prompt_answers": {j: [["No"] * 4] * len(row["sentences"]) for j in JUDGES}}
        for row in rows
    ]
    write(path, said)
    result = invoke(data)
    assert result.exit_code == 2
    assert "rows with 4 samples; the default policy draws 5" in told(result)


def test_rows_can_be_chosen_and_the_table_read(data):
    result = invoke(data, "--rows", "1:4", "--markdown")
    assert result.exit_code == 0, result.output
    header, _, first, *_ = (line.split(" | ") for line in result.stdout.splitlines())
    assert header[:4] == ["| data", "judge", "samples", "fitted on"]
    assert first[:5] == ["| wikibio_gpt3", "gemma4-31b", "1 to 5", "as it ships", "0.6855"]
    assert first[6] == "0.0 (0.0 to 39.0)"


def test_recordings_must_fit(data):
    path = data / "wikibio_gpt3_recorded.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    del rows[4]["prompt_answers"]["gemma4-31b"][1][0]
    write(path, rows)
    result = invoke(data)
    assert result.exit_code == 2
    assert "row 4 of 'wikibio_gpt3' has not one label" in told(result)
    path.unlink()
    assert invoke(data).exit_code == 2


# The whole bench, with all draws.
@pytest.mark.timeout(1800)
def test_the_default_policy_holds_on_wikibio(data_dir):
    if not (data_dir / "wikibio_gpt3_recorded.jsonl").is_file():
        pytest.skip("no data: WikiBio GPT-3 with its recordings")
    found = measured(data_dir)
    shipped = rows_of(found, data="wikibio_gpt3", fitted_on="as it ships", no="not_mentioned")
    firsts = rows_of(found, data="wikibio_gpt3", drawn="1 to 5")
    assert len(shipped) == 8
    for row in firsts:
        if row["no"] == "not_mentioned" and row["fitted_on"] != "sac3_hotpot":
            # Fitted on the other judge or on other passages it may be a point more.
            assert row["accurate_flagged"] <= MAX_ACCURATE + 1
            assert row["major_flagged"] >= MIN_MAJOR
    for judge in JUDGES:
        draws = [row for row in shipped if row["judge"] == judge]
        assert fmean(row["accurate_flagged"] for row in draws) <= MAX_ACCURATE
        assert fmean(row["major_flagged"] for row in draws) >= MIN_MAJOR
    # What ships is what the command fits.
    assert {row["weight"] for row in shipped} == {found["fitted"]["max"]}
    assert Policy.default().threshold.doubtful == found["fitted"]["doubtful"]
