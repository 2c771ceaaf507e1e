"""Labels from a journal: what raters say, and what is promised of it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from resay import ConfigurationError, Policy, Verdict
from resay.adapters import Threshold
from resay_lab.calibration import (
    Guarantee,
    Outcome,
    Target,
    calibrate,
    fit_thresholds,
    measure_figures,
    read_journal_labels,
    read_verdicts,
)
from resay_server.journal import Feedback, SampledEntry
from resay_server.labelling import SamplingCandidate, sample_entries
from support.labelling import rated, recorded, write_journal

POLICY = Policy.of({"chain": [{"method": "ngram"}]})
TARGET = Target("passage", "fpr", 0.2)


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    verdicts = {name: recorded(0.9, claims=2) for name in "abcdefghijkl"}
    verdicts["h"] = recorded(0.9, decision="inconclusive")
    verdicts["i"] = recorded(0.9, method="nli")
    feedback = [
        rated("a", "right"),
        *(rated("b", "right"), rated("b", "wrong", "ben")),
        rated("c", "unsure"),
        # An end user's thumb is none beside a reviewer's word, and no label alone.
        *(rated("d", "wrong"), rated("d", "wrong", "u", about="answer", source="api")),
        rated("e", "wrong", about="answer", source="api"),
        rated("f", "right"),
        rated("g", "right"),
        rated("h", "wrong", about="answer"),
        rated("i", "right"),
        # A claim that is made up, and a word on the whole that it is not.
        *(rated("j", "right", claim=1), rated("j", "wrong")),
    ]
    draws = [SampledEntry(name, "random", 2.0) for name in "abcdhijk"] + [
        SampledEntry("f", "uncertainty", 1.5)
    ]
    file = write_journal(tmp_path / "j.db", verdicts, feedback, draws)
    labels = read_journal_labels(file, POLICY)
    assert {row.id: row.hallucinated for row in labels.rows} == {"a": True, "d": False, "f": True}
    counts = labels.counts
    assert (counts.random, counts.uncertain, counts.unsampled) == (2, 1, 1)
    assert (counts.disagreed, counts.unsure, counts.thumbs) == (2, 1, 1)
    assert (counts.waiting, counts.undecided, counts.other_chain) == (1, 1, 1)
    (line,) = [line for line in counts.lines() if line.startswith("left out")]
    assert "2 that raters disagree about" in line
    (only,) = read_journal_labels(file, POLICY, raters=["ben"]).rows
    assert (only.id, only.hallucinated) == ("b", False)


def test_claims_label_sentences_where_all_of_them_are_rated(tmp_path: Path) -> None:
    verdicts = {"a": recorded(0.9, claims=2), "b": recorded(0.2, claims=2), "c": recorded(0.9)}
    feedback = [
        *(rated("a", "right", claim=0), rated("a", "wrong", claim=1)),
        rated("b", "right", claim=0),
        rated("c", "wrong", claim=0),
    ]
    draws = [SampledEntry(name, "random", 1.0) for name in "abc"]
    labels = read_journal_labels(
        write_journal(tmp_path / "j.db", verdicts, feedback, draws), POLICY
    )
    rows = {row.id: (row.hallucinated, [s.wrong for s in row.sentences]) for row in labels.rows}
    assert rows == {"a": (True, [True]), "c": (False, [False])}
    assert labels.counts.unsure == 1


def test_several_policies_have_to_be_told_apart(tmp_path: Path) -> None:
    verdicts = {"a": recorded(0.9), "b": recorded(0.9)}
    feedback, draws = [rated("a", "right"), rated("b", "wrong")], [SampledEntry("b", "random", 1.0)]
    file = write_journal(tmp_path / "j.db", verdicts, feedback, draws, {"b": "strict"})
    with pytest.raises(ConfigurationError, match="'default', 'strict'; name the one"):
        read_journal_labels(file, POLICY)
    (row,) = read_journal_labels(file, POLICY, recorded_as="strict").rows
    assert row.id == "b"
    with pytest.raises(ConfigurationError, match="a policy 'mild'; the journal has feedback on"):
        read_journal_labels(file, POLICY, recorded_as="mild")


def test_a_journal_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no journal at '.*none.db'"):
        read_journal_labels(str(tmp_path / "none.db"), POLICY)
    with pytest.raises(ConfigurationError) as refused:
        read_journal_labels("mysql://user:hunter2@host/db", POLICY)
    assert "hunter2" not in str(refused.value)
    file = write_journal(tmp_path / "j.db", {"a": recorded(0.9)})
    with pytest.raises(ConfigurationError, match="has no feedback; draw entries"):
        read_journal_labels(file, POLICY)
    thumb = rated("a", "wrong", about="answer", source="api")
    with pytest.raises(ConfigurationError, match="no feedback but 1 end users' thumbs"):
        read_journal_labels(write_journal(tmp_path / "j.db", {}, [thumb]), POLICY)
    assert [entry.score for entry in read_verdicts(f"sqlite:///{file}", 10)] == [0.9]


def world(count: int, seed: int) -> tuple[dict[str, Verdict], dict[str, bool]]:
    """Verdicts whose scores are too high for correct responses, and the truth."""
    rng = random.Random(seed)
    verdicts, truth = dict[str, Verdict](), dict[str, bool]()
    for i in range(count):
        name, wrong = f"e{i}", rng.random() < 0.5
        verdicts[name] = recorded(
            round(rng.betavariate(6, 3) if wrong else rng.betavariate(4, 4), 3)
        )
        truth[name] = wrong
    return verdicts, truth


def candidates_of(verdicts: dict[str, Verdict]) -> list[SamplingCandidate]:
    return [SamplingCandidate(name, abs((v.score or 0) - 0.5)) for name, v in verdicts.items()]


def feedback_on(verdicts: dict[str, Verdict], truth: dict[str, bool], names: Any) -> list[Feedback]:
    return [
        rated(name, "right" if truth[name] is (verdicts[name].decision == "flagged") else "wrong")
        for name in names
    ]


def test_a_draw_at_random_is_calibrated_with(tmp_path: Path) -> None:
    verdicts, truth = world(300, 1)
    candidates = candidates_of(verdicts)
    drawn = sample_entries(candidates, 60, "random", now=0.0, seed=2)
    drawn += sample_entries(candidates, 40, "uncertainty", sampled=drawn, now=1.0, seed=3)
    feedback = feedback_on(verdicts, truth, [entry.entry_id for entry in drawn])
    file = write_journal(tmp_path / "j.db", verdicts, feedback, drawn)
    labels = read_journal_labels(file, POLICY)
    calibration = calibrate(POLICY, labels, targets=[TARGET], bootstrap=100)
    # Thresholds rest on the 60 alone, rates on all.
    counts = calibration.counts
    assert len(calibration.outcomes) == counts.correct + counts.hallucinated == 60
    assert calibration.feedback is not None
    assert (calibration.feedback.random, calibration.feedback.uncertain) == (60, 40)
    alarms, fewer = calibration.flagged(False)
    assert fewer < alarms
    assert fewer <= 0.2 * counts.correct
    # Weighted, the rates are those of all 300; of the labels alone, they would be others.
    of_all = [v.decision == "flagged" for n, v in verdicts.items() if not truth[n]]
    before = calibration.old_figures.passage_fpr
    assert before.low is not None
    assert before.high is not None
    assert before.low <= sum(of_all) / len(of_all) <= before.high
    text = calibration.write_into("chain: [{method: ngram}]\n")
    assert "from j.db: 100 labelled responses, thresholds rest on 60" in text
    assert "measured on 100 that were drawn, by their weights: " in text
    data = calibration.to_dict()
    assert data["flagged"]["correct"] == {"before": alarms, "now": fewer}
    assert data["feedback"]["uncertain"] == 40
    assert json.dumps(data)


def test_weighted_rates_are_right_on_average() -> None:
    """Over many draws by uncertainty, the weighted rate is that of all; the bare one is not."""
    verdicts, truth = world(200, 4)
    threshold = Threshold(passage=0.6, sentence=0.6)
    outcomes = {n: Outcome(v.score or 0.0, (v.score,), truth[n]) for n, v in verdicts.items()}
    flags = [o.flagged(threshold) for o in outcomes.values() if o.hallucinated is False]
    rate = sum(flags) / len(flags)
    candidates = [SamplingCandidate(n, abs((v.score or 0) - 0.6)) for n, v in verdicts.items()]
    weighted, bare = list[float](), list[float]()
    for seed in range(150):
        drawn = sample_entries(candidates, 60, "uncertainty", now=0.0, seed=seed)
        chosen = [outcomes[entry.entry_id] for entry in drawn]
        for into, weights in ((weighted, [entry.weight for entry in drawn]), (bare, None)):
            figures = measure_figures(chosen, threshold, bootstrap=0, seed=0, weights=weights)
            assert figures.passage_fpr.value is not None
            into.append(figures.passage_fpr.value)
    assert sum(weighted) / 150 == pytest.approx(rate, abs=0.02)
    assert abs(sum(bare) / 150 - rate) > 0.05


def test_nothing_is_promised_without_a_random_draw(tmp_path: Path) -> None:
    verdicts, truth = world(60, 1)
    drawn = sample_entries(candidates_of(verdicts), 30, "uncertainty", now=0.0)
    file = write_journal(tmp_path / "j.db", verdicts, feedback_on(verdicts, truth, verdicts), drawn)
    labels = read_journal_labels(file, POLICY)
    with pytest.raises(ConfigurationError, match="30 were drawn by uncertainty, 30 were not drawn"):
        calibrate(POLICY, labels, targets=[TARGET])
    with pytest.raises(ConfigurationError, match="drop `--settle-error` or `--from-journal`"):
        calibrate(POLICY, labels, targets=[TARGET], settle_error=0.1)


def test_the_guarantee_holds_over_draws() -> None:
    """With random draws from a fixed journal, the rate over all of it is kept as often as told."""
    verdicts, truth = world(400, 9)
    outcomes = {n: Outcome(v.score or 0.0, (v.score,), truth[n]) for n, v in verdicts.items()}
    correct = [o for o in outcomes.values() if o.hallucinated is False]
    candidates = [SamplingCandidate(n, 0.0) for n in verdicts]
    kept = 0
    for seed in range(100):
        drawn = sample_entries(candidates, 60, "random", now=0.0, seed=seed)
        chosen = [outcomes[entry.entry_id] for entry in drawn]
        threshold = fit_thresholds(chosen, [TARGET], Guarantee(), Threshold())
        kept += sum(o.flagged(threshold) for o in correct) <= 0.2 * len(correct)
    assert kept >= 90


def test_entries_of_a_policy_with_a_second_model_are_its_own(tmp_path: Path) -> None:
    verdicts = {"a": recorded(0.9), "b": recorded(0.9, method="cross_model")}
    draws = [SampledEntry(name, "random", 2.0) for name in verdicts]
    feedback = [rated(name, "right") for name in verdicts]
    file = write_journal(tmp_path / "j.db", verdicts, feedback, draws)
    second = Policy.of({**POLICY.model_dump(), "second_opinion": "other/wise"})
    assert read_journal_labels(file, second).counts.random == 2
    assert read_journal_labels(file, POLICY).counts.other_chain == 1
