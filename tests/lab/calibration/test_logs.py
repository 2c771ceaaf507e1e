from __future__ import annotations

import json

import pytest

from resay import ConfigurationError, SentenceVerdict, StepRecord, Verdict
from resay_lab.calibration import Guarantee, Target, calibrate

TARGET = Target("passage", "fpr", 0.2)
POLICY = {"chain": [{"method": "ngram"}]}


def verdict(score, decision="consistent", methods=("ngram",), error=None):
    text = "It has 31 lamps."
    return Verdict(
        decision,
        score,
        "logged",
        (SentenceVerdict(text, 0, len(text), score, by="ngram"),),
        samples=5,
        steps=tuple(StepRecord(m, 1, score, error=error) for m in methods),
        mean_score=score,
    )


@pytest.fixture
def files(tmp_path):
    def write(entries, rows):
        log, labels = tmp_path / "log.jsonl", tmp_path / "labels.jsonl"
        log.write_text("\n".join(map(json.dumps, entries)))
        labels.write_text("\n".join(map(json.dumps, rows)))
        return {"labels": labels, "log": log}

    return write


def run(files, **more):
    return calibrate(POLICY, targets=[TARGET], bootstrap=20, **files, **more)


ROWS = [{"id": i, "hallucinated": i % 2 == 1} for i in range(30)]


def entries(**shape):
    return [{"id": i, **verdict(0.3 + 0.4 * (i % 2)).to_dict(**shape)} for i in range(30)]


@pytest.mark.parametrize("content", [True, False])
@pytest.mark.parametrize("nested", [True, False])
def test_bare_and_nested_verdicts_with_and_without_content(files, content, nested):
    logged = entries(content=content)
    if nested:
        logged = [{"id": str(e.pop("id")), "at": "noon", "verdict": e} for e in logged]
    found = run(files(logged, ROWS))
    assert found.policy.threshold.passage < 0.7
    assert found.counts.correct == found.counts.hallucinated == 15
    assert found.figures.passage_recall.value == 1.0


def test_it_tells_how_many_matched(files):
    logged = [*entries()[:20], {"id": "x", **verdict(0.5).to_dict()}]
    found = run(files(logged, ROWS), guarantee=Guarantee("expected"))
    assert found.notes == ("20 of 30 labelled responses are among the 21 logged verdicts",)
    assert found.counts.not_logged == 10
    assert len(found.outcomes) == 20


def test_inconclusive_and_incomplete_checks_are_left_out_and_counted(files):
    logged = entries()
    logged[0].update(verdict(0.9, "inconclusive").to_dict())
    logged[2].update(verdict(0.9, error="it did not finish in time").to_dict())
    found = run(files(logged, ROWS))
    assert found.counts.inconclusive == 2
    assert found.counts.correct == 13


def test_a_flagged_check_that_lost_scores_is_left_out_too(files):
    """Otherwise only those of them that scored high would count."""
    logged = entries()
    lost = SentenceVerdict("It is red.", 17, 27)
    whole = verdict(0.9, "flagged")
    step = StepRecord("ngram", 2, 0.9, failures={"TimeoutError": 3})
    partial = Verdict(
        "flagged", 0.9, "logged", (*whole.sentences, lost), 5, (step,), mean_score=0.9
    )
    logged[0].update(partial.to_dict())
    assert run(files(logged, ROWS)).counts.inconclusive == 1


def test_checks_that_stopped_early_are_told(files):
    found = run(files([{**e, "samples": 3} for e in entries()], ROWS))
    assert "30 of the logged checks looked at fewer than 5 samples" in found.notes[1]


@pytest.mark.parametrize(
    ("logged", "rows", "match"),
    [
        ([verdict(0.5).to_dict()], ROWS, r"log\.jsonl:1: has no `id`"),
        (entries() + entries()[:1], ROWS, r"log\.jsonl:31: duplicate id 0, also used at .*:1;"),
        (entries(), [{"id": "z", "label": "correct"}], "none of theirs is in the log"),
        (entries(), [{"label": "correct"}], "1 of them have none"),
        ([{"id": 1, "verdict": {"decision": "maybe"}}], ROWS, r"log\.jsonl:1: not a verdict"),
        (
            [{"id": 1, **verdict(0.5, methods=("prompt",)).to_dict()}],
            ROWS,
            "made by the chain prompt, and the policy's is ngram",
        ),
    ],
)
def test_mistakes(files, logged, rows, match):
    with pytest.raises(ConfigurationError, match=match):
        run(files(logged, rows))


def test_bands_need_more_than_a_log(files):
    with pytest.raises(ConfigurationError, match="bands need the scores of every step"):
        run(files(entries(), ROWS), settle_error=0.02)
