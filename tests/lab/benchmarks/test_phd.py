from __future__ import annotations

import json

import anyio
import pytest
from typer.testing import CliRunner

from resay import ConfigurationError, ProviderRefusedError
from resay_lab.benchmarks import phd
from resay_lab.benchmarks.commands import app
from resay_lab.benchmarks.phd import ENTRIES, Recordings, bertscore_threshold, choose
from simulation import Refused

KEYS = {
    "method",
    "variant",
    "judge",
    "match",
    "domain",
    "passages",
    "f1",
    "precision",
    "recall",
    "flagged",
    "undetermined",
    "calls",
    "tokens",
    "seconds",
    "paper",
}
RECORDED_METHODS = (
    "reverse_validation:question,reverse_validation:matching,cross_examination,zero_shot"
)
MORE = " Do you have any follow-up questions? Please answer with Yes or No."


def passage(index, entity, domain, label, text):
    return {
        "id": index,
        "entity": entity,
        "domain": domain,
        "passage": text,
        "label": label,
        "samples": [text, text, "Somebody else did something else."],
    }


ROWS = [
    passage(0, "Ada Lovelace", "high", "factual", "Ada Lovelace was born in London."),
    passage(1, "Bo Whale (singer)", "medium", "non-factual", "Bo Whale sang in Oslo in 1901."),
    passage(2, "Cy Marsh", "low", "non-factual", "Cy Marsh won nine medals."),
    passage(3, "Di Stone", "low", "factual", "Di Stone is a painter from Rome."),
]


def examination(conclusion, more=("No.",)):
    """A transcript: one set of questions, and one more for each time there is more."""
    turns = [("user", "Verify this."), ("assistant", "1. Who is it?")]
    for number, answer in enumerate(more):
        turns += [("user", f"A person.{MORE}"), ("assistant", answer)]
        if answer.startswith("Yes") and number + 1 < len(more):
            turns += [
                ("user", "What are the follow-up questions?"),
                ("assistant", "1. And what else?"),
            ]
    turns += [("user", "What is your conclusion?"), ("assistant", conclusion)]
    return [{"role": role, "content": content} for role, content in turns]


def recording(index, question, found, requirements, match, transcript, label, bertscore):
    return {
        "id": index,
        "rv_qg": {"question": question, "answer": found},
        "rv_em": {"requirements": requirements, "answer": match},
        "lm_vs_lm": transcript,
        "zero_shot": label,
        "bertscore_roberta_large": bertscore,
    }


RECORDED = [
    recording(
        0,
        "Who was born in London in 1815?",
        "Ada Lovelace.",
        "1. Born in London\n2. Wrote a program",
        "Ada Lovelace meets 85% of the requirements.",
        examination("Correct."),
        "factual",
        0.02,
    ),
    recording(
        1,
        "Who sang in Oslo in 1901?",
        "Edvard Grieg",
        "1. Bo Whale sang in Oslo\n2. It was 1901",
        "Edvard Grieg meets 50% of the requirements.",
        # As long as an examination can be; at its end more is wanted, and nobody asks what.
        examination("The claim is incorrect.", ("Yes. One.", "Yes.", "Yes.", "Yes.")),
        "Non-factual.",
        0.05,
    ),
    recording(
        2,
        "Which Cy Marsh won nine medals?",
        "cy marsh",
        "1. Won nine medals\n2. Ran in Rome",
        "Cy Marsh meets 100% of the requirements.",
        examination("I cannot say.", ("Yes, one more.", "No, thank you.")),
        "factual",
        0.04,
    ),
    recording(
        3,
        "Which painter is from Rome?",
        "Nobody I know of.",
        "1. A painter\n2. From Rome",
        "Di Stone, who meets all requirements.",
        examination("Correct.", ("Yes.", "Yes.", "Yes.", "No.")),
        "factual",
        0.03,
    ),
]
# The best threshold is that of the one accurate passage, 0.2; the null has no scores.
WIKIBIO = [["accurate"], ["accurate", "minor_inaccurate"], ["major_inaccurate"], ["accurate"]]
WIKIBIO_SCORES = [[0.2], [0.2, 0.4], [0.5], None]


def invoke(*args, **env):
    return CliRunner().invoke(app, ["phd", *map(str, args)], env={"RESAY_DATA": None, **env})


def document_of(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def rows_of(result, domain="all"):
    return [row for row in document_of(result)["rows"] if row["domain"] == domain]


def figures(row, digits=1):
    return tuple(round(row[key], digits) for key in ("f1", "precision", "recall"))


def words(text):
    """Error messages come in a box whose lines break anywhere."""
    return " ".join(text.replace("│", " ").split())


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def data(tmp_path):
    write(tmp_path / "phd.jsonl", ROWS)
    write(tmp_path / "phd_recorded.jsonl", RECORDED)
    write(tmp_path / "wikibio_gpt3.jsonl", [{"labels": labels} for labels in WIKIBIO])
    scores = [{"bert_scores": row} for row in WIKIBIO_SCORES]
    write(tmp_path / "wikibio_gpt3_recorded.jsonl", scores)
    return tmp_path


def test_one_json_document_with_a_row_for_each_domain(data):
    result = invoke("--data", data, "--methods", RECORDED_METHODS, "--json")
    assert result.stderr == ""
    document = document_of(result)
    assert (document["benchmark"], document["passages"]) == ("phd", 4)
    assert [row["domain"] for row in document["rows"]] == ["all", "high", "medium", "low"] * 4
    assert all(set(row) == KEYS for row in document["rows"])
    assert {row["judge"] for row in document["rows"]} == {"recorded:chatgpt"}
    assert [row["passages"] for row in document["rows"][:4]] == [4, 1, 1, 2]


def test_what_is_recorded_is_the_default_judge_and_goes_through_the_scorers(data):
    args = ("--methods", RECORDED_METHODS, "--match", "exact", "--json")
    question, matching, examined, zero_shot = rows_of(invoke("--data", data, *args))
    # Flagged are 1 and 3; Cy Marsh gave himself away.
    assert figures(question) == (50, 50, 50)
    # 85 % will do.
    assert (figures(matching), matching["flagged"]) == ((66.7, 100, 50), 1)
    assert (figures(examined), examined["flagged"]) == ((66.7, 100, 50), 1)
    assert examined["undetermined"] == 1
    assert figures(zero_shot) == (66.7, 100, 50)
    # One set takes four calls, two take seven; the fourth ends without asking for more.
    assert examined["calls"] == (4 + 12 + 7 + 12) / 4
    assert [row["calls"] for row in (question, matching, zero_shot)] == [2, 2, 1]
    assert question["tokens"] is None
    assert question["paper"] == {
        "f1": 52.3,
        "precision": 40.7,
        "recall": 73.1,
        "tokens": 297.3,
        "seconds": 2.65,
    }


def test_names_are_matched_as_asked_and_the_row_says_how(data):
    write(
        data / "phd_recorded.jsonl",
        [*RECORDED[:3], RECORDED[3] | {"rv_qg": {**RECORDED[3]["rv_qg"], "answer": "Dí Stone"}}],
    )
    args = ("--data", data, "--methods", "reverse_validation:question", "--rows", "3:", "--json")
    by_names, exact = invoke(*args), invoke(*args, "--match", "exact")
    assert [rows_of(result)[0]["match"] for result in (by_names, exact)] == ["names", "exact"]
    assert [rows_of(result)[0]["flagged"] for result in (by_names, exact)] == [0, 1]
    assert [rows_of(result)[0]["undetermined"] for result in (by_names, exact)] == [0, 0]
    assert any(n.startswith("match names, Resay's") for n in document_of(by_names)["notes"])
    assert any(n.startswith("match exact: ") for n in document_of(exact)["notes"])


def test_a_domain_has_its_own_published_figures_and_no_published_cost(data):
    args = ("--data", data, "--methods", "reverse_validation:matching", "--json")
    (low,) = rows_of(invoke(*args), "low")
    assert low["paper"] == {"f1": 63.6, "precision": 50.7, "recall": 85.0}


def test_figures_without_anything_to_find_are_null(data):
    args = ("--data", data, "--methods", "zero_shot", "--json")
    (high,) = rows_of(invoke(*args), "high")
    assert [high[key] for key in ("f1", "precision", "recall")] == [None, None, None]
    # In the low domain there is something to find, and nothing is flagged.
    (low,) = rows_of(invoke(*args), "low")
    assert figures(low) == (0, 0, 0)


def test_notes_say_what_is_undetermined_and_what_names_the_entity(data):
    args = ("--data", data, "--methods", RECORDED_METHODS, "--json")
    notes = document_of(invoke(*args))["notes"]
    assert any(
        note.startswith("cross_examination:revised: 1 of 4 passages are undetermined")
        for note in notes
    )
    for variant, noun in (("question", "questions"), ("matching", "lists of requirements")):
        (note,) = [n for n in notes if n.startswith(f"reverse_validation:{variant}: 1 of 4")]
        assert f"recorded {noun} name the entity" in note
        assert "the recorded answers are to the text as it was" in note
    exact = document_of(invoke(*args, "--match", "exact"))["notes"]
    assert not any("as it was" in note for note in exact)


def test_all_is_every_method_of_the_paper_in_its_order(data):
    rows = rows_of(invoke("--data", data, "--methods", "all", "--json"))
    assert [row["method"] for row in rows] == [
        "all_false",
        "cross_examination",
        "bertscore",
        "zero_shot",
        "reverse_validation",
        "reverse_validation",
    ]
    assert all(row["paper"] for row in rows)
    everything, bertscore = rows[0], rows[2]
    assert (figures(everything), everything["flagged"]) == ((66.7, 50, 100), 4)
    assert [everything[key] for key in ("judge", "calls", "tokens", "seconds")] == [None] * 4
    # Over 0.2 x (1 - 0.8312) = 0.034 are 1 and 2.
    assert (figures(bertscore), bertscore["flagged"]) == ((100, 100, 100), 2)


def test_the_threshold_is_taken_back_to_scores_that_are_not_rescaled(data):
    threshold = bertscore_threshold(data)
    assert threshold.rescaled == pytest.approx(0.2)
    assert threshold.value == pytest.approx(0.2 * (1 - 0.83122575))
    assert (threshold.passages, threshold.f1) == (3, 100)
    notes = document_of(invoke("--data", data, "--methods", "bertscore", "--json"))["notes"]
    assert any("over 0.0338" in note and "3 passages" in note for note in notes)


def test_baselines_ask_nobody(data):
    (data / "phd_recorded.jsonl").unlink()
    (row,) = rows_of(invoke("--data", data, "--methods", "all_false", "--json"))
    assert row["flagged"] == 4


def test_ngram_flags_what_the_samples_do_not_repeat(data):
    (data / "phd_recorded.jsonl").unlink()
    result = invoke("--data", data, "--methods", "ngram", "--json")
    (row,) = rows_of(result)
    # Every passage is its own first two samples.
    assert (row["flagged"], row["calls"], row["judge"]) == (0, 0, None)
    assert any("ngram:maximum-1: not in the paper" in n for n in document_of(result)["notes"])


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["--ids", "even"], 2),
        (["--ids", "odd", "--rows", "2:"], 1),
        (["--rows", ":3"], 3),
        (["--rows", "1:", "--ids", "even"], 1),
    ],
)
def test_rows_and_halves(data, options, count):
    result = invoke("--data", data, "--methods", "zero_shot", "--json", *options)
    assert document_of(result)["passages"] == count


def test_a_recording_is_found_by_row(data):
    args = ("--methods", "zero_shot", "--rows", "1:2", "--json")
    (row,) = rows_of(invoke("--data", data, *args))
    assert figures(row) == (100, 100, 100)


def test_markdown_and_table_show_the_published_figures(data):
    args = ("--data", data, "--methods", "reverse_validation:question")
    markdown = invoke(*args, "--markdown").stdout
    assert markdown.startswith("| method | variant | judge | match | domain | F1 | P | R |")
    assert "| paper |  |  |  |  | 52.3 | 40.7 | 73.1 |" in markdown
    table = invoke(*args).stdout
    assert "recorded:chatgpt" in table
    assert "58.6" in table


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--methods", "nonsense"], "unknown method 'nonsense'; choose from all_false,"),
        (["--methods", "zero_shot:x"], "unknown variant 'zero_shot:x'; choose from zero_shot"),
        (["--methods", ","], "no method is named in ','"),
        (["--methods", "prompt"], "'prompt:per_pair' needs a judge; pass --judge"),
        (["--methods", "zero_shot,fibe"], "'zero_shot:per_passage' needs a judge"),
        (
            ["--methods", "fibe", "--judge", "recorded:chatgpt"],
            "'fibe:exam' has no recorded answers; pass a model as --judge",
        ),
        (["--judge", "recorded:x"], "unknown recorded judge 'recorded:x'; use"),
        (["--judge", "recorded:chatgpt", "--api-base", "http://x"], "has no address"),
        (["--match", "fuzzy"], "'fuzzy' is not one of"),
        (["--ids", "all"], "'all' is not one of"),
        (["--rows", "3"], "'3' must have the form A:B"),
        (["--rows", "9:"], "no row is left of the 4"),
        (["--rows", "1:2", "--ids", "even"], "is even; pass other --rows"),
        (["--json", "--markdown"], "exclude each other"),
    ],
)
def test_bad_input_exits_with_2_and_says_why(data, args, message):
    result = invoke("--data", data, *args)
    assert result.exit_code == 2
    assert message in words(result.stderr)
    assert result.stdout == ""


def test_missing_recordings_say_what_can_be_done(data):
    (data / "phd_recorded.jsonl").unlink()
    result = invoke("--data", data)
    assert result.exit_code == 2
    assert "recordings cannot be fetched; ask a model with --judge" in words(result.stderr)
    (data / "wikibio_gpt3.jsonl").unlink()
    result = invoke("--data", data, "--methods", "bertscore")
    assert result.exit_code == 2
    assert "cannot read" in words(result.stderr)


def test_rows_that_are_not_valid_are_named_with_their_line(data):
    write(data / "phd.jsonl", [ROWS[0], ROWS[1] | {"domain": "huge"}])
    with pytest.raises(ConfigurationError, match="line 2: domain: Input should be 'high'"):
        phd.load(data, slice(None))


def test_recordings_of_other_passages_are_refused(data):
    items = phd.load(data, slice(None)).items
    write(data / "phd_recorded.jsonl", RECORDED[:2])
    with pytest.raises(ConfigurationError, match="has no row 2"):
        Recordings.read(data, items)
    write(data / "phd_recorded.jsonl", [RECORDED[1], RECORDED[0], *RECORDED[2:]])
    with pytest.raises(ConfigurationError, match="line 1: this is passage 1, not 0"):
        Recordings.read(data, items)
    endless = RECORDED[0] | {"lm_vs_lm": examination("Correct.", ("Yes.",) * 5)}
    write(data / "phd_recorded.jsonl", [endless, *RECORDED[1:]])
    with pytest.raises(ConfigurationError, match="5 sets of questions; 4 are read"):
        Recordings.read(data, items).judge("cross_examination:revised")


@pytest.mark.parametrize("name", ["zero_shot", "bertscore"])
def test_an_entry_without_what_it_needs_is_refused(data, name):
    corpus = phd.load(data, slice(None))
    with pytest.raises(ConfigurationError, match=f"'{name}:.*' needs .*; pass"):
        anyio.run(lambda: phd.run(corpus, choose(name), None))


def test_scores_for_a_threshold_must_be_there(data):
    write(data / "wikibio_gpt3_recorded.jsonl", [{"bert_scores": None}] * 4)
    with pytest.raises(ConfigurationError, match="no `bert_scores` of a wrong passage"):
        bertscore_threshold(data)


def test_a_transcript_that_ends_early_leaves_its_passage_undetermined(data):
    cut = RECORDED[1] | {"lm_vs_lm": RECORDED[1]["lm_vs_lm"][:5]}
    write(data / "phd_recorded.jsonl", [RECORDED[0], cut])
    args = ("--methods", "cross_examination", "--rows", ":2", "--json")
    result = invoke("--data", data, *args)
    (row,) = rows_of(result)
    assert (row["flagged"], row["undetermined"]) == (0, 1)
    assert any("failed" in note for note in document_of(result)["notes"])


LIVE = [
    passage(
        0,
        "Canberra",
        "high",
        "factual",
        "Canberra is the capital of Australia. The city was founded in 1913 as a compromise"
        " between Sydney and Melbourne.",
    ),
    passage(
        1,
        "Rosetta Stone",
        "low",
        "non-factual",
        "The Rosetta Stone is a marble vase of 1923. It was carved by Ada Lovelace in Berlin.",
    ),
]


def test_a_live_judge_answers_every_method(tmp_path, simulated):
    write(tmp_path / "phd.jsonl", LIVE)
    asking = [entry.name for entry in ENTRIES if entry.needs_judge]
    assert {e.name for e in choose("fibe,direct_question,prompt")} <= set(asking)
    result = invoke(
        *("--data", tmp_path, "--methods", ",".join(asking), "--json", "--concurrency", 4),
        *("--judge", "openai/simulated", "--api-base", simulated.base_url),
        OPENAI_API_KEY="simulated",
    )
    rows = rows_of(result)
    assert [f"{row['method']}:{row['variant']}" for row in rows] == asking
    assert all(row["judge"] == "openai/simulated" and row["tokens"] > 0 for row in rows)
    # The simulated model knows the capital of Australia, and of no such vase.
    judged = [row for row in rows if row["method"] != "prompt"]
    assert all(figures(row) == (100, 100, 100) for row in judged)
    # One call more than the scorers make: the one that finds out whether anybody answers.
    assert simulated.calls == sum(2 * row["calls"] for row in rows) + 1


def test_a_live_judge_is_asked_about_the_entity_of_the_data(tmp_path, simulated):
    write(tmp_path / "phd.jsonl", LIVE[:1])
    result = invoke(
        *("--data", tmp_path, "--methods", "reverse_validation", "--json"),
        *("--judge", "openai/simulated", "--api-base", simulated.base_url),
        OPENAI_API_KEY="simulated",
    )
    # Asking what the passage is about would take a third call.
    assert [row["calls"] for row in rows_of(result)] == [2, 2]
    assert [row["undetermined"] for row in rows_of(result)] == [0, 0]


def test_a_live_judge_that_refuses_ends_the_run_at_once(data, simulated):
    simulated.set_faults(Refused(401))
    result = invoke(
        *("--data", data, "--methods", "zero_shot", "--judge", "openai/simulated"),
        *("--api-base", simulated.base_url),
        OPENAI_API_KEY="simulated",
    )
    assert isinstance(result.exception, ProviderRefusedError)
    assert simulated.calls == 1


@pytest.fixture(scope="module")
def published(data_dir):
    result = invoke("--data", data_dir, "--methods", "all", "--match", "exact", "--json")
    return {
        (f"{row['method']}:{row['variant']}", row["domain"]): row
        for row in document_of(result)["rows"]
    }


@pytest.mark.parametrize(
    ("entry", "domain", "expected"),
    [
        ("all_false:baseline", "all", (41.3, 26.0, 100)),
        ("reverse_validation:question", "all", (52.3, 40.7, 73.1)),
        # 7 of 28: the paper has 25.5, which does not go with its own F1 and recall.
        ("reverse_validation:question", "high", (33.3, 25.0, 50.0)),
        ("reverse_validation:question", "medium", (53.3, 44.4, 66.7)),
        ("reverse_validation:question", "low", (58.6, 44.7, 85.0)),
        ("reverse_validation:matching", "all", (59.1, 48.0, 76.9)),
        ("reverse_validation:matching", "high", (41.9, 31.0, 64.3)),
        ("reverse_validation:matching", "medium", (64.2, 58.6, 70.8)),
        ("reverse_validation:matching", "low", (63.6, 50.7, 85.0)),
        # One examination less ends in "incorrect" than the paper counts.
        ("cross_examination:revised", "all", (23.7, 73.3, 14.1)),
        ("cross_examination:revised", "high", (11.1, 25.0, 7.1)),
        ("cross_examination:revised", "medium", (34.5, 100, 20.8)),
        ("cross_examination:revised", "low", (21.7, 83.3, 12.5)),
        # The paper's threshold was chosen on scores of its own: 41.1, 26.0 and 97.4.
        ("bertscore:roberta-large", "all", (40.8, 25.8, 98.7)),
        ("zero_shot:per_passage", "all", (0, 0, 0)),
    ],
)
def test_table_3(published, entry, domain, expected):
    assert figures(published[entry, domain]) == expected


def test_every_examination_but_one_is_concluded(published):
    row = published["cross_examination:revised", "all"]
    assert row["undetermined"] == 1
    assert published["reverse_validation:matching", "all"]["undetermined"] == 0


def test_names_are_more_precise_about_questions(data_dir, published):
    args = ("--data", data_dir, "--methods", "reverse_validation:question", "--json")
    (row,) = rows_of(invoke(*args))
    exact = published["reverse_validation:question", "all"]
    assert row["precision"] > exact["precision"]
    assert row["flagged"] < exact["flagged"]
