from __future__ import annotations

import json
from functools import cache

import anyio
import pytest
from typer.testing import CliRunner

from resay import Passage, Usage
from resay.plugins import Scores
from resay.scorers import snowballing
from resay_lab.benchmarks import wikibio
from resay_lab.benchmarks.commands import app
from resay_lab.benchmarks.entries import choose
from resay_lab.benchmarks.measuring import Item, Measured
from resay_lab.benchmarks.wikibio import UNCORRECTED, correct

FORMS = [UNCORRECTED, "published", "normalised"]

# The judge says no to the first sentence of the second passage and half to the last of the third.
ROWS = [
    {
        "prompt": "This is a Wikipedia passage about Ada:",
        "passage": "Ada was born in London. She wrote a program. She sang.",
        "sentences": ["Ada was born in London.", "She wrote a program.", "She sang."],
        "labels": ["accurate", "accurate", "major_inaccurate"],
        "samples": ["Ada was born in London.", "She wrote a program."],
    },
    {
        "prompt": "This is a Wikipedia passage about Bo:",
        "passage": "Bo owns a whale. Bo lives in Oslo. He skis.",
        "sentences": ["Bo owns a whale.", "Bo lives in Oslo.", "He skis."],
        "labels": ["major_inaccurate", "minor_inaccurate", "accurate"],
        "samples": ["Bo lives in Oslo.", "Bo lives in Oslo."],
    },
]
ANSWERS = [
    [["Yes", "Yes"], ["Yes", "Yes"], ["Yes", "No"]],
    [["No", "No"], ["No", "Yes"], ["No", "Yes"]],
]


def invoke(*args, **env):
    env = {"RESAY_DATA": None, **env}
    return CliRunner().invoke(app, ["wikibio", *map(str, args), "--json"], env=env)


def document_of(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def data(tmp_path):
    recorded = [{"prompt_answers": {"tiny": answers}} for answers in ANSWERS]
    for name, rows in (("wikibio_gpt3", ROWS), ("wikibio_gpt3_recorded", recorded)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return tmp_path


def test_the_bare_name_is_both_methods_in_every_form(data):
    document = document_of(
        invoke("--data", data, "--methods", "snowballing", "--judge", "recorded:tiny")
    )
    variants = [f"{base}-{form}" for base in ("prompt", "ngram") for form in FORMS]
    assert [row["variant"] for row in document["rows"]] == variants
    assert {row["method"] for row in document["rows"]} == {"snowballing"}
    judges = [row["judge"] for row in document["rows"]]
    assert judges == ["recorded:tiny"] * 3 + [None] * 3
    # A correction asks nobody; its cost is that of the method before it.
    assert [row["calls"] for row in document["rows"]] == [6.0] * 3 + [0.0] * 3


def test_it_corrects_scores_and_not_unbounded_values():
    item = Item(0, Passage.from_sentences(["Ada sang.", "Bo skis.", "Cy paints."]))
    scores = Scores(sentences=(0.2, None, 1.0), raw=(3.0, 5.0, 7.0), raw_passage=5.0)
    before = Measured(scores, Usage(calls=3), 0.1)
    forms = anyio.run(correct, [item], [before])
    assert list(forms) == FORMS
    assert forms[UNCORRECTED][0].sentences == (0.2, None, 1.0)
    assert forms[UNCORRECTED][0].passage == pytest.approx(0.6)
    for form in FORMS[1:]:
        (after,) = forms[form]
        first, second = snowballing.correct([0.2, 1.0], normalise=form == "normalised")
        assert after.sentences == (first, None, second)
        assert after.usage == before.usage
        assert after.seconds > before.seconds


def test_the_notes_say_what_was_measured(data):
    document = document_of(
        invoke("--data", data, "--methods", "snowballing:prompt", "--judge", "recorded:tiny")
    )
    # Scores 0, 0, 0.5 | 1, 0.5, 0.5. Published 0, 0, 0.5 | 1, 0.8, 0.97; normalised, with
    # (3 H + S - 0.1) / (3 + i - 0.1): 0, 0, 0.31 | 1, 0.62, 0.59. Wrong are the third, fourth and
    # fifth. Of their 9 pairs with accurate ones 8 are in order before (two ties), and 7 after.
    before, published, normalised = (row["roc_auc"] for row in document["rows"])
    assert before == pytest.approx(100 * 8 / 9, abs=0.01)
    assert published == pytest.approx(100 * 7 / 9, abs=0.01)
    assert normalised == pytest.approx(100 * 8 / 9, abs=0.01)
    notes = [note for note in document["notes"] if note.startswith("snowballing:prompt")]
    assert notes[0].startswith("snowballing:prompt, published: lowers ROC from 88.89 to 77.78 and ")
    assert notes[1].startswith("snowballing:prompt, normalised: leaves ROC at 88.89 and ")
    assert "scores of exactly 1: 1 uncorrected, 1 published, 1 normalised" in notes[2]


def test_figures_that_do_not_exist_are_said_to_be_missing(data):
    methods = ("--methods", "snowballing:prompt", "--judge", "recorded:tiny")
    (data / "wikibio_gpt3.jsonl").write_text(
        json.dumps(ROWS[0] | {"labels": ["accurate"] * 3}) + "\n", encoding="utf-8"
    )
    notes = document_of(invoke("--data", data, *methods))["notes"]
    assert "snowballing:prompt, published: there is no ROC and there is no AP." in notes


def test_a_method_is_asked_once_for_all_that_is_made_of_it(data, simulated):
    document = document_of(
        invoke(
            *("--data", data, "--methods", "snowballing:prompt,prompt,snowballing"),
            *("--judge", "openai/simulated", "--api-base", simulated.base_url),
            OPENAI_API_KEY="simulated",
        )
    )
    assert [row["variant"] for row in document["rows"]][:4] == [
        *(f"prompt-{form}" for form in FORMS),
        "per_pair",
    ]
    # One call more than the scorer makes: the one that finds out whether anybody answers.
    assert simulated.calls == 12 + 1


def test_questions_that_were_not_recorded_need_a_model(data, simulated):
    asked = ("--data", data, "--methods", "fibe,direct_question")
    refused = invoke(*asked, "--judge", "recorded:tiny")
    assert refused.exit_code == 2
    assert "has no recorded answers" in " ".join(refused.stderr.replace("│", " ").split())
    model = ("--judge", "openai/simulated", "--api-base", simulated.base_url)
    document = document_of(invoke(*asked, *model, OPENAI_API_KEY="simulated"))
    fibe, direct = document["rows"]
    assert fibe["paper"] == {"nonfact": 91.72, "factual": 66.40, "roc_auc": 81.06}
    assert direct["calls"] == 3
    assert any("gpt-3.5-turbo-16k with 5 answers" in note for note in document["notes"])


def test_items_carry_their_question(data):
    corpus = wikibio.load(data, slice(None))
    assert [item.request.question for item in corpus.items] == [row["prompt"] for row in ROWS]


def test_the_average_is_corrected_only_when_asked_for_by_name():
    names = [entry.name for entry in choose(wikibio.ENTRIES, "snowballing")]
    assert names == ["snowballing:prompt", "snowballing:ngram"]
    (entry,) = choose(wikibio.ENTRIES, "snowballing:ngram-average")
    assert entry.base.name == "ngram:average-1"


BASES = {
    "qwen": ("prompt", "--judge", "recorded:qwen3.5-9b-think"),
    "maximum-1": ("ngram",),
    "average-1": ("ngram-average",),
}


@pytest.fixture(scope="module")
def measured(data_dir):
    @cache
    def rows_of(name):
        base, *judge = BASES[name]
        result = invoke("--data", data_dir, "--methods", f"snowballing:{base}", *judge)
        return dict(zip(FORMS, document_of(result)["rows"], strict=True))

    return rows_of


@pytest.mark.parametrize("base", BASES)
def test_normalised_it_does_no_harm(measured, base):
    before, after = measured(base)[UNCORRECTED], measured(base)["normalised"]
    for figure in ("roc_auc", "average_precision", "factual", "pearson"):
        assert after[figure] >= before[figure] - 0.5, figure
    assert after["roc_auc"] > before["roc_auc"] + 1


def test_as_published_it_harms_where_judges_doubt_much(measured):
    before, after = measured("qwen")[UNCORRECTED], measured("qwen")["published"]
    assert after["roc_auc"] < before["roc_auc"] - 5
    # The papers' figure hides it, because clipping makes ties.
    assert after["nonfact_star"] > before["nonfact_star"]
