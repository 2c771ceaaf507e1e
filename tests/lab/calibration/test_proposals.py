from __future__ import annotations

import json
import random
from dataclasses import replace
from statistics import fmean

import anyio
import pytest

from resay import ConfigurationError
from resay.adapters import Threshold
from resay.plugins import registry
from resay_lab.benchmarks import wikibio
from resay_lab.benchmarks.measuring import measure
from resay_lab.calibration import (
    Guarantee,
    LabelledRow,
    LabelledSentence,
    Outcome,
    Target,
    calibrate,
    fit_thresholds,
)
from resay_lab.calibration.proposals import propose
from support.cli import resay_here

EXPECTED = Guarantee("expected")
ONLY_SENTENCE = Threshold(passage=None, sentence=0.5)
STRICT = Target("sentence", "fpr", 0.05)


def tied(count=60):
    """Responses of two sentences: of every fifth correct one, and of all others, one scores 1.

    Beside it stands a 0 in a correct response, and a 0.9 in a hallucinated one.
    """
    for i in range(count):
        if i % 2:
            yield Outcome(0.95, (1.0, 0.9), True, (True, True))
        else:
            high = 1.0 if i % 10 == 0 else 0.1
            yield Outcome(high / 2, (high, 0.0), False, (False, False))


def test_what_cannot_be_kept_has_a_nearest_rate_that_can():
    found = list(tied())
    assert fit_thresholds(found, [STRICT], EXPECTED, ONLY_SENTENCE).sentence == 1.0
    nearest, leaning = propose(found, STRICT, EXPECTED, ONLY_SENTENCE, leans=True)
    # 3 of 30 are lost, and 31 * 0.13 is the first to reach 4.
    assert nearest.target == Target("sentence", "fpr", 0.13)
    assert nearest.lean is None
    assert nearest.recall == 1.0
    assert nearest.threshold.sentence is not None
    assert 0.1 <= nearest.threshold.sentence < 0.9
    kept = fit_thresholds(found, [nearest.target], EXPECTED, ONLY_SENTENCE)
    assert kept == nearest.threshold
    stricter = replace(nearest.target, rate=0.12)
    assert fit_thresholds(found, [stricter], EXPECTED, ONLY_SENTENCE).sentence == 1.0
    # Beside a 0 a 1 becomes 0.925, and beside a 0.9 it becomes 0.9925.
    assert leaning.target == STRICT
    assert (leaning.lean, leaning.recall) == (0.15, 0.5)
    assert leaning.threshold.sentence == 0.93


def test_where_leaning_keeps_no_more_it_is_not_proposed():
    alike = [replace(o, sentences=(o.sentences[0],) * 2) for o in tied()]
    assert [p.lean for p in propose(alike, STRICT, EXPECTED, ONLY_SENTENCE, leans=True)] == [None]


def test_where_nothing_can_be_kept_nothing_is_proposed():
    found = [Outcome(1.0, (1.0,), i % 2 == 1, (i % 2 == 1,)) for i in range(60)]
    assert list(propose(found, STRICT, EXPECTED, ONLY_SENTENCE, leans=True)) == []


def test_a_passage_has_a_nearest_rate_too():
    found = [Outcome(1.0 if i % 2 or i % 10 == 0 else 0.2, (), i % 2 == 1) for i in range(200)]
    target, limits = Target("passage", "fpr", 0.05), Threshold(passage=0.5, sentence=None)
    (nearest,) = propose(found, target, EXPECTED, limits, leans=False)
    # 20 of 100 are lost, and 101 * 0.21 is the first to reach 21.
    assert (nearest.target.rate, nearest.recall) == (0.21, 1.0)
    assert str(nearest) == (
        "`--passage-fpr 0.21` can be kept, and flags 100.0 % of the hallucinated responses"
    )


def rows(count=60):
    """The samples doubt both sentences of the hallucinated, and one of some that are correct."""
    rng = random.Random(0)
    for i in range(count):
        wrong, lamps = i % 2 == 1, rng.randint(100, 999)
        year = 1900 if wrong else 1932
        told = [lamps + n * (wrong or i % 8 == 0) for n in range(1, 6)]
        yield {
            "response": f"It opened in {year}. It has {lamps} lamps.",
            "samples": [f"It opened in {1932 + wrong * n}. It has {n} lamps." for n in told],
            "sentences": ["hallucinated" if wrong else "correct"] * 2,
        }


def labelled():
    for i, row in enumerate(rows()):
        yield LabelledRow(
            f"labels.jsonl:{i + 1}",
            response=row["response"],
            samples=tuple(row["samples"]),
            sentences=tuple(LabelledSentence(None, x == "hallucinated") for x in row["sentences"]),
        )


def test_a_calibration_says_what_can_be_kept():
    policy = {"chain": [{"method": "ngram"}]}
    found = calibrate(policy, list(labelled()), targets=[STRICT], guarantee=EXPECTED, bootstrap=0)
    assert found.policy.threshold.sentence == 1.0
    nearest, leaning = found.proposals
    assert found.notes == (
        "sentence-fpr 0.05 is kept only by flagging none of the hallucinated sentences, because"
        " 13.3 % of the correct ones of a response, on average, have the greatest score of all, 1;"
        " allow a greater rate, label more, or take another method",
        str(nearest),
        str(leaning),
    )
    told = found.to_dict()["proposals"]
    assert told[0]["target"] == {"unit": "sentence", "kind": "fpr", "rate": nearest.target.rate}
    assert [p["lean"] for p in told] == [None, 0.15]
    # What is proposed is what the step then gives.
    chain = [*policy["chain"], {"method": "leaning", "lean": 0.15}]
    with_it = calibrate(
        {"chain": chain},
        list(labelled()),
        targets=[leaning.target],
        guarantee=EXPECTED,
        bootstrap=0,
    )
    assert with_it.policy.threshold.sentence == leaning.threshold.sentence
    assert with_it.figures.sentence_recall.value == pytest.approx(leaning.recall)
    assert with_it.proposals == ()


def test_the_command_line_says_it_too(tmp_path):
    lines = "".join(json.dumps(row) + "\n" for row in rows())
    (tmp_path / "labels.jsonl").write_text(lines)
    (tmp_path / "policy.yaml").write_text("chain: [{method: ngram}]\n")
    base = ("--policy", "policy.yaml", "--labels", "labels.jsonl", "--bootstrap", "0")
    asked = ("--sentence-fpr", "0.1", "--guarantee", "jeffreys")
    done = resay_here("calibrate", *base, *asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    out = " ".join(done.stdout.split())
    assert "Sentence-fpr 0.1 is kept only by flagging none of the hallucinated sentences" in out
    assert "can be kept with a new last step `- {method: leaning, lean: 0.15}`, and flags" in out
    done = resay_here("calibrate", *base, *asked, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["guarantee"]["kind"] == "jeffreys"
    assert [proposal["lean"] for proposal in told["proposals"]] == [None, 0.15]


def test_a_recall_that_cannot_be_kept_has_a_nearest_one():
    found = [
        replace(row, sentences=(LabelledSentence(None, True), LabelledSentence(None, i % 3 == 0)))
        for i, row in enumerate(labelled())
    ]
    nearest = r"the nearest that can be kept is `--sentence-recall 0\.[1-9]\d?`"
    with pytest.raises(ConfigurationError, match=nearest):
        calibrate(
            {"chain": [{"method": "ngram"}]},
            found,
            targets=[Target("sentence", "recall", 0.95)],
            guarantee=EXPECTED,
            bootstrap=0,
        )


def test_sentences_of_wikibio_are_reached_behind_leaning(data_dir):
    if not (data_dir / "wikibio_gpt3_recorded.jsonl").is_file():
        pytest.skip("no data: WikiBio GPT-3 with its recordings")
    corpus = wikibio.load(data_dir, slice(None))
    judge = wikibio.recorded_judge(data_dir, "recorded:gemma4-31b", corpus)

    async def measured(method, asked, settings):
        config = registry()[method].Config(**settings)
        return await measure(config, corpus.items, asked, concurrency=1, done=lambda: None)

    prompt = anyio.run(measured, "prompt", judge, {"form": "published", **judge.settings})
    ngram = anyio.run(measured, "ngram", None, {})
    for results, recall in ((prompt, 0.35), (ngram, 0.3)):
        outcomes = [
            Outcome(
                fmean(score for score in result.scores.sentences if score is not None),
                result.scores.sentences,
                None,
                tuple(label != "accurate" for label in labels),
            )
            for labels, result in zip(corpus.labels, results, strict=True)
        ]
        target = Target("sentence", "fpr", 0.2)
        fitted = fit_thresholds(outcomes, [target], Guarantee(), Threshold())
        assert fitted.sentence == 1.0
        nearest, leaning = propose(outcomes, target, Guarantee(), Threshold(), leans=True)
        assert 0.3 < nearest.target.rate <= 0.4
        assert leaning.target.rate == 0.2
        assert leaning.recall > recall
