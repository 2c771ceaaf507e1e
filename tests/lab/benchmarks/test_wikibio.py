from __future__ import annotations

import json
import sys
from math import sqrt

import anyio
import pytest
from typer.testing import CliRunner

from resay import ConfigurationError, ProviderRefusedError
from resay_lab.benchmarks import wikibio
from resay_lab.benchmarks.commands import app
from resay_lab.benchmarks.entries import choose, with_models
from simulation import Refused
from support.tiny_models import make_deberta, make_roberta

KEYS = {
    "method",
    "variant",
    "judge",
    "nonfact",
    "nonfact_star",
    "factual",
    "pearson",
    "spearman",
    "average_precision",
    "roc_auc",
    "calls",
    "tokens",
    "seconds",
    "paper",
}
FIGURES = ("nonfact", "nonfact_star", "factual", "pearson", "spearman")

# Three passages; the last is a total hallucination, which NonFact* leaves out.
ROWS = [
    {
        "id": 0,
        "passage": "Ada was born in London.  She wrote a program.",
        "sentences": ["Ada was born in London.", "She wrote a program."],
        "labels": ["accurate", "minor_inaccurate"],
        "samples": ["Ada was born in London. She sang.", "Ada was born in London in 1815."],
    },
    {
        "id": 1,
        "passage": "Bo lives in Oslo. Bo owns a whale.",
        "sentences": ["Bo lives in Oslo.", "Bo owns a whale."],
        "labels": ["accurate", "major_inaccurate"],
        "samples": ["Bo lives in Oslo. He has a cat.", "Bo lives in Oslo and skis."],
    },
    {
        "id": 2,
        "passage": "Cy won nine medals.",
        "sentences": ["Cy won nine medals."],
        "labels": ["major_inaccurate"],
        "samples": ["Cy is a painter.", "Cy paints walls in Rome."],
    },
]
ANSWERS = [
    [["Yes", "**Yes**, it is."], ["No", "Answer: No"]],
    [["Yes", None], ["No", "Perhaps."]],
    [["No.", "no"]],
]


def invoke(*args, **env):
    return CliRunner().invoke(app, ["wikibio", *map(str, args)], env={"RESAY_DATA": None, **env})


def rows_of(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["rows"]


def words(text):
    """Error messages come in a box whose lines break anywhere."""
    return " ".join(text.replace("│", " ").split())


@pytest.fixture
def data(tmp_path):
    recorded = [{"id": i, "prompt_answers": {"tiny": a}} for i, a in enumerate(ANSWERS)]
    write(tmp_path / "wikibio_gpt3.jsonl", ROWS)
    write(tmp_path / "wikibio_gpt3_recorded.jsonl", recorded)
    return tmp_path


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_one_json_document_and_nothing_else(data):
    result = invoke("--data", data, "--methods", "ngram:maximum-1", "--json")
    assert result.exit_code == 0
    assert result.stderr == ""
    document = json.loads(result.stdout)
    assert document["benchmark"] == "wikibio"
    assert document["passages"] == 3
    assert set(document["rows"][0]) == KEYS
    assert any("NonFact* is over 2 of 3 passages (4 sentences)" in n for n in document["notes"])


def test_figures_of_a_recorded_judge(data):
    result = invoke("--data", data, "--methods", "prompt", "--judge", "recorded:tiny", "--json")
    (row,) = rows_of(result)
    # Scores 0, 1 | 0, 0.75 | 1 for labels accurate, minor | accurate, major | major.
    assert row["judge"] == "recorded:tiny"
    assert [row[f] for f in ("nonfact", "factual", "average_precision", "roc_auc")] == [100] * 4
    # Without the third passage the major one, 0.75, comes after the minor one, 1.
    assert row["nonfact_star"] == pytest.approx(25)
    # People 0.25, 0.5, 1; the judge 0.5, 0.375, 1.
    assert row["spearman"] == pytest.approx(50)
    assert row["pearson"] == pytest.approx(100 * sqrt(0.75), abs=0.01)
    assert row["calls"] == pytest.approx(10 / 3, abs=0.01)
    assert row["tokens"] is None
    assert row["paper"]["nonfact"] == 93.42
    notes = json.loads(result.stdout)["notes"]
    assert "prompt:per_pair: 1 of 10 calls failed and are left out (ProviderError x1)." in notes
    assert "prompt:per_pair: 1 answers were neither yes nor no and count 0.5." in notes
    assert "The paper's judge for prompt was ChatGPT (gpt-3.5-turbo)." in notes


def test_ngram_uses_the_unbounded_values_and_asks_nobody(data):
    average, maximum = rows_of(
        invoke("--data", data, "--methods", "ngram:average-1,ngram:maximum-1", "--json")
    )
    assert (average["variant"], maximum["variant"]) == ("average-1", "maximum-1")
    assert maximum["judge"] is None
    assert (maximum["calls"], maximum["tokens"]) == (0, 0)
    # The accurate sentences are the ones whose every word the samples repeat.
    assert maximum["nonfact"] == 100


def test_a_bare_method_is_all_its_published_variants(data):
    rows = rows_of(invoke("--data", data, "--methods", "ngram", "--json"))
    names = [f"{pool}-{n}" for pool in ("average", "maximum") for n in range(1, 6)]
    assert [row["variant"] for row in rows] == names
    assert all(set(row["paper"]) == set(FIGURES) for row in rows)
    assert [e.variant for e in choose(wikibio.ENTRIES, "prompt")] == ["per_pair"]


def test_a_name_twice_is_measured_once():
    names = [e.name for e in choose(wikibio.ENTRIES, "ngram:average-2, ngram ,ngram:average-1")]
    assert names[:2] == ["ngram:average-2", "ngram:average-1"]
    assert len(names) == len(set(names)) == 10


@pytest.mark.parametrize(
    ("rows", "count"), [(":1", 1), ("1:", 2), ("0:2", 2), (":", 3), ("=-1:", 1), ("1:99", 2)]
)
def test_rows(data, rows, count):
    option = [f"--rows{rows}"] if rows.startswith("=") else ["--rows", rows]
    result = invoke("--data", data, "--methods", "ngram:maximum-1", "--json", *option)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["passages"] == count


def test_a_recording_is_found_by_row(data):
    result = invoke(
        "--data", data, "--methods", "prompt", "--judge", "recorded:tiny", "--rows", "1:", "--json"
    )
    assert rows_of(result)[0]["calls"] == 3


def test_a_figure_that_does_not_exist_is_null(data):
    (row,) = rows_of(
        invoke("--data", data, "--rows", "2:", "--methods", "ngram:maximum-1", "--json")
    )
    assert [row[f] for f in FIGURES] == [None] * 5


def test_the_data_folder_may_come_from_the_environment(data):
    result = invoke("--methods", "ngram:maximum-1", "--json", RESAY_DATA=str(data))
    assert json.loads(result.stdout)["passages"] == 3


def test_markdown_and_table_show_the_published_figures(data):
    markdown = invoke("--data", data, "--methods", "ngram:maximum-1", "--markdown").stdout
    assert markdown.startswith("| method | variant | NonFact | NonFact* | Factual |")
    assert "| paper |  | 85.63 | 41.04 | 58.47 | 64.71 | 64.91 |" in markdown
    table = invoke("--data", data, "--methods", "ngram:maximum-1").stdout
    assert "maximum-1" in table
    assert "85.63" in table


def test_sentences_that_are_not_in_the_passage_stand_in_for_it(data):
    lost = ROWS[0] | {"passage": "Something else altogether."}
    write(data / "wikibio_gpt3.jsonl", [lost, *ROWS[1:]])
    corpus = wikibio.load(data, slice(None))
    assert corpus.joined == 1
    assert corpus.items[0].passage.text == "Ada was born in London. She wrote a program."
    result = invoke("--data", data, "--methods", "ngram:maximum-1", "--json")
    notes = json.loads(result.stdout)["notes"]
    assert any(note.startswith("1 passages do not hold their sentences") for note in notes)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--methods", "nonsense"], "unknown method 'nonsense'; choose from ngram, prompt,"),
        (["--methods", "ngram:maximum-9"], "unknown variant 'ngram:maximum-9'; choose from"),
        (["--methods", "ngram:"], "unknown variant 'ngram:'"),
        (["--methods", " , "], "no method is named in ' , '"),
        (["--methods", "prompt"], "'prompt:per_pair' needs a judge; pass --judge"),
        (
            ["--methods", "prompt:per_sample", "--judge", "recorded:tiny"],
            "has no recorded answers",
        ),
        (["--methods", "prompt", "--judge", "recorded:x"], "unknown recorded judge 'x'"),
        (
            ["--methods", "prompt", "--judge", "recorded:tiny", "--api-base", "http://x"],
            "a recorded judge has no address",
        ),
        (["--methods", "nli", "--model", "prompt=x"], "'prompt=x' matches no method that has a"),
        (["--methods", "nli,bertscore", "--model", "x"], "with one of: nli, bertscore"),
        (["--methods", "ngram", "--model", "x"], "none of the methods has a model"),
        (["--methods", "nli", "--model", "{name: x, size: 3}"], "size: Extra inputs are not"),
        (["--methods", "nli", "--model", "nli={name: ["], "is not a model's settings"),
        (["--rows", "3"], "'3' must have the form A:B"),
        (["--rows", "9:"], "no row is left of the 3"),
        (["--json", "--markdown"], "exclude each other"),
    ],
)
def test_bad_input_exits_with_2_and_says_why(data, args, message):
    result = invoke("--data", data, *args)
    assert result.exit_code == 2
    assert message in words(result.stderr)
    assert result.stdout == ""


def test_missing_data_exits_with_2(tmp_path):
    without = invoke()
    assert without.exit_code == 2
    assert "set RESAY_DATA" in words(without.stderr)
    nowhere = invoke("--data", tmp_path / "none")
    assert nowhere.exit_code == 2
    assert "is not a folder" in words(nowhere.stderr)
    empty = invoke("--data", tmp_path)
    assert empty.exit_code == 2
    assert "cannot read" in words(empty.stderr)


def test_data_that_is_not_valid_is_named_with_its_line(data):
    write(data / "wikibio_gpt3.jsonl", [ROWS[0], ROWS[1] | {"labels": ["fine", "accurate"]}])
    with pytest.raises(ConfigurationError, match=r"line 2: labels\.0: Input should be 'accurate'"):
        wikibio.load(data, slice(None))
    write(data / "wikibio_gpt3.jsonl", [ROWS[0] | {"labels": ["accurate"]}])
    with pytest.raises(ConfigurationError, match="2 sentences have 1 labels"):
        wikibio.load(data, slice(None))


def test_neural_methods_run_with_the_models_named(data, tiny):
    nli, encoder = tiny(make_deberta), tiny(make_roberta)
    rows = rows_of(
        invoke(
            *("--data", data, "--json", "--methods", "nli,nli:sentences,bertscore"),
            *("--model", f"nli={{name: '{nli}', cache_mb: 0}}"),
            *("--model", f"bertscore={encoder}"),
        )
    )
    names = [(row["method"], row["variant"]) for row in rows]
    assert names == [("nli", "passage"), ("nli", "sentences"), ("bertscore", "rescaled")]
    assert all(set(row) == KEYS for row in rows)
    assert all(row["roc_auc"] is not None and row["calls"] == 0 for row in rows)
    assert [row["paper"] and row["paper"]["nonfact"] for row in rows] == [92.50, None, 81.96]


def test_a_model_without_a_method_is_that_of_the_only_one(data, tiny):
    folder = tiny(make_roberta)
    (row,) = rows_of(
        invoke(
            "--data", data, "--json", "--methods", "ngram:average-1,bertscore", "--model", folder
        )
    )[1:]
    assert row["method"] == "bertscore"


def test_nli_reads_the_sentence_first_whatever_the_model_is_called():
    (entry,) = with_models(choose(wikibio.ENTRIES, "nli"), ["somewhere/else"])
    assert (entry.settings["order"], entry.settings["model"]) == (
        "sentence_first",
        "somewhere/else",
    )


def test_recorded_scores_stand_where_there_are_any(data):
    scores = [{"nli_scores": [0.1, 0.9], "bert_scores": [-0.25, 1.5]}, {"nli_scores": None}, {}]
    write(data / "wikibio_gpt3_recorded.jsonl", scores)
    result = invoke("--data", data, "--methods", "nli:recorded,bertscore:recorded", "--json")
    nli, bertscore = rows_of(result)
    assert set(nli) == set(bertscore) == KEYS
    assert (nli["nonfact"], nli["factual"], bertscore["nonfact"]) == (100, 100, 100)
    assert (nli["calls"], nli["seconds"]) == (None, None)
    assert nli["paper"]["pearson"] == 74.14
    notes = json.loads(result.stdout)["notes"]
    assert any(
        note.startswith("nli:recorded: scores that the code released with the paper gave;")
        and "for 1 of the 3 passages" in note
        for note in notes
    )


def test_recorded_scores_are_measured_when_asked_for_by_name():
    assert [e.variant for e in choose(wikibio.ENTRIES, "nli,bertscore")] == ["passage", "rescaled"]


def test_recorded_scores_of_other_passages_are_refused(data):
    write(data / "wikibio_gpt3_recorded.jsonl", [{"nli_scores": [0.1]}, {}, {}])
    result = invoke("--data", data, "--methods", "nli:recorded")
    assert result.exit_code == 2
    assert "recorded scores of row 0 are not one for each of its 2 sentences" in words(
        result.stderr
    )


def test_a_recording_of_other_passages_is_refused(data):
    write(data / "wikibio_gpt3_recorded.jsonl", [{"prompt_answers": {"tiny": ANSWERS[2]}}])
    corpus = wikibio.load(data, slice(None))
    with pytest.raises(ConfigurationError, match="recorded answers of row 0"):
        wikibio.recorded_judge(data, "recorded:tiny", corpus)


def test_a_missing_library_shows_before_the_work(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    corpus = wikibio.load(data, slice(None))
    done = []
    with pytest.raises(ConfigurationError, match=r"resay\[bench\]"):
        anyio.run(
            lambda: wikibio.run(corpus, wikibio.ENTRIES[:1], None, done=lambda: done.append(1))
        )
    assert not done


def test_a_live_judge(data, simulated):
    result = invoke(
        *("--data", data, "--rows", ":2", "--methods", "prompt,prompt:per_sample", "--json"),
        *("--judge", "openai/simulated", "--api-base", simulated.base_url, "--concurrency", 4),
        OPENAI_API_KEY="simulated",
    )
    per_pair, per_sample = rows_of(result)
    # The simulated judge compares words: "in London", "in Oslo" are supported, the others are not.
    assert per_pair["nonfact"] == per_sample["nonfact"] == 100
    assert (per_pair["calls"], per_sample["calls"]) == (4, 2)
    assert per_sample["paper"] is None
    # One call more than the scorers make: the one that finds out whether anybody answers.
    assert simulated.calls == 2 * (4 + 2) + 1
    tokens = simulated.prompt_tokens + simulated.completion_tokens
    assert 0 < 2 * (per_pair["tokens"] + per_sample["tokens"]) < tokens


def test_a_live_judge_that_refuses_ends_the_run_at_once(data, simulated):
    simulated.set_faults(Refused(401))
    result = invoke(
        *("--data", data, "--methods", "prompt", "--judge", "openai/simulated"),
        *("--api-base", simulated.base_url),
        OPENAI_API_KEY="simulated",
    )
    assert isinstance(result.exception, ProviderRefusedError)
    assert simulated.calls == 1


@pytest.fixture(scope="module")
def ngram_rows(data_dir):
    # The longest and the shortest of each kind, and the one that is best in the paper.
    methods = [f"ngram:{kind}-{n}" for kind in ("average", "maximum") for n in (1, 5)]
    return rows_of(invoke("--data", data_dir, "--methods", ",".join(methods), "--json"))


def test_table_7_within_a_point(ngram_rows):
    assert len(ngram_rows) == 4
    for row in ngram_rows:
        for figure in FIGURES:
            assert row[figure] == pytest.approx(row["paper"][figure], abs=1.0), row["variant"]


def test_the_papers_unigram_maximum_within_015(ngram_rows):
    (row,) = [row for row in ngram_rows if row["variant"] == "maximum-1"]
    for figure in FIGURES:
        assert row[figure] == pytest.approx(row["paper"][figure], abs=0.15), figure


def test_a_recorded_judge_with_failures_and_labelled_answers(data_dir):
    # Failed calls are left out, and "Answer: No" is a no. Counting both 0.5 gives 92.59 / 64.05 /
    # 71.35 and 70.03 / 72.00. The last figure is 71.827 by exact fractions; rounding splits ties.
    args = ("--methods", "prompt", "--judge", "recorded:qwen3.5-9b-think", "--json")
    (row,) = rows_of(invoke("--data", data_dir, *args))
    assert [row[f] for f in FIGURES] == [92.70, 64.67, 71.61, 69.88, 71.83]
    assert row["calls"] == pytest.approx(38160 / 238, abs=0.01)


def test_recorded_scores_of_the_released_code(data_dir):
    args = ("--data", data_dir, "--methods", "nli:recorded,bertscore:recorded", "--json")
    nli, bertscore = rows_of(invoke(*args))
    assert [nli[f] for f in FIGURES] == [91.74, 45.08, 64.32, 70.80, 70.87]
    assert [bertscore[f] for f in FIGURES] == [81.24, 45.36, 40.90, 54.28, 49.31]
