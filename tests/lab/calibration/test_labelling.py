"""Labels from a journal: draws, what raters say, and what is promised of it."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from resay import ConfigurationError, Policy, SentenceVerdict, StepRecord, Verdict
from resay._internal.event_loops import run_sync
from resay.policy import Threshold
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
from resay_server.journal import Entry, Feedback, JournalConfig, SampledEntry, open_journal
from resay_server.labelling import Agreement, SamplingCandidate, agreements, sample_entries
from support.claims import claim_verdict

POLICY = Policy.of({"chain": [{"method": "ngram"}]})
TARGET = Target("passage", "fpr", 0.2)


def verdict(score: float, *, claims: int = 0, method: str = "ngram", **more: Any) -> Verdict:
    text = "It has 31 lamps."
    flagged = score > 0.5
    sentence = SentenceVerdict(text, 0, len(text), score, flagged, by=method)
    made = [claim_verdict(text, 0, 16, score=score, flagged=flagged) for _ in range(claims)]
    return Verdict(
        more.pop("decision", "flagged" if flagged else "consistent"),
        score,
        "logged",
        (sentence,),
        samples=5,
        steps=(StepRecord(method, 1, score),),
        claims=tuple(made),
        mean_score=score,
        **more,
    )


def written(
    file: Path,
    verdicts: dict[str, Verdict],
    said: list[Feedback] = [],  # noqa: B006 - only read
    draws: list[SampledEntry] = [],  # noqa: B006
    policies: dict[str, str] = {},  # noqa: B006
) -> str:
    async def write() -> None:
        journal = open_journal(JournalConfig(url=f"sqlite:///{file}"))
        for i, (name, found) in enumerate(verdicts.items()):
            named = {"model": "m", "policy": policies.get(name, "default"), "action": "annotate"}
            made = Entry(
                **named, id=name, time=1e9 + i, decision=found.decision, score=found.score,
                verdict=found.to_dict(),
            )  # fmt: skip
            await journal.append(made)
        for one in said:
            await journal.rate(one)
        await journal.add_sampled(draws)
        await journal.aclose()

    run_sync(write)
    return str(file)


def at(*scores: float) -> list[SamplingCandidate]:
    return [SamplingCandidate(f"e{i}", abs(score - 0.5)) for i, score in enumerate(scores)]


def test_the_distance_is_that_to_another_decision() -> None:
    def of(found: Verdict, threshold: Threshold) -> float | None:
        entry = Entry(
            model="m", policy="p", action="allow", decision=found.decision, score=found.score,
            verdict=found.to_dict(),
        )  # fmt: skip
        candidate = SamplingCandidate.of(entry, threshold)
        return None if candidate is None else candidate.distance

    assert of(verdict(0.75), Threshold(passage=0.5, sentence=0.25)) == 0.5
    assert of(verdict(0.75), Threshold(passage=0.5, sentence=1.0)) == 0.25
    assert of(verdict(0.25), Threshold(passage=0.5, sentence=None)) == 0.25
    assert of(verdict(0.25, decision="inconclusive"), Threshold()) is None


def test_a_random_draw_is_one_and_goes_on_where_it_stopped() -> None:
    candidates = at(*[0.1] * 30)
    first = sample_entries(candidates, 10, "random", now=5.0, seed=1)
    assert {one.weight for one in first} == {3.0}
    assert [one.time for one in first] == sorted({one.time for one in first})
    assert [one.entry_id for one in first] != sorted(one.entry_id for one in first)
    more = sample_entries(candidates, 50, "random", sampled=first, now=6.0)
    assert {one.entry_id for one in first} | {one.entry_id for one in more} == {
        one.id for one in candidates
    }
    assert len(more) == 20
    with pytest.raises(ConfigurationError, match="nothing to draw from: of 30 entries"):
        sample_entries(candidates, 1, "random", sampled=[*first, *more], now=7.0)


def test_a_draw_by_uncertainty_keeps_its_probabilities() -> None:
    """By counting: each entry is drawn as often as its weight says."""
    candidates = at(*(i / 20 for i in range(21)))
    times, weights = Counter[str](), dict[str, float]()
    for seed in range(4000):
        drawn = sample_entries(candidates, 6, "uncertainty", now=0.0, seed=seed)
        assert len(drawn) == 6
        times.update(one.entry_id for one in drawn)
        weights.update({one.entry_id: one.weight for one in drawn})
    assert len(weights) == 21
    for name, weight in weights.items():
        assert times[name] / 4000 == pytest.approx(1 / weight, abs=0.035)
    assert weights["e10"] < weights["e13"] < weights["e20"]
    assert sum(1 / weight for weight in weights.values()) == pytest.approx(6)


def test_another_draw_by_uncertainty_has_as_many_new_ones() -> None:
    candidates = at(*(i / 20 for i in range(21)))
    for seed in range(50):
        first = sample_entries(candidates, 8, "uncertainty", now=0.0, seed=seed)
        known = {one.entry_id for one in first}
        again = sample_entries(candidates, 5, "uncertainty", sampled=first, now=1.0, seed=seed)
        assert len({one.entry_id for one in again} - known) == 5
    everything = sample_entries(candidates, 99, "uncertainty", now=0.0)
    assert {one.weight for one in everything} == {1.0}
    # At random from all that was not drawn at random, or it would lack what is uncertain.
    assert len(sample_entries(candidates, 99, "random", sampled=everything, now=1.0)) == 21


def said(name: str, rating: Any, rater: str = "ann", **more: Any) -> Feedback:
    return Feedback(entry_id=name, rating=rating, rater=rater, **more)


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    verdicts = {name: verdict(0.9, claims=2) for name in "abcdefghijkl"}
    verdicts["h"] = verdict(0.9, decision="inconclusive")
    verdicts["i"] = verdict(0.9, method="nli")
    feedback = [
        said("a", "right"),
        *(said("b", "right"), said("b", "wrong", "ben")),
        said("c", "unsure"),
        # An end user's thumb is none beside a reviewer's word, and no label alone.
        *(said("d", "wrong"), said("d", "wrong", "u", about="answer", source="api")),
        said("e", "wrong", about="answer", source="api"),
        said("f", "right"),
        said("g", "right"),
        said("h", "wrong", about="answer"),
        said("i", "right"),
        # A claim that is made up, and a word on the whole that it is not.
        *(said("j", "right", claim=1), said("j", "wrong")),
    ]
    draws = [SampledEntry(name, "random", 2.0) for name in "abcdhijk"] + [
        SampledEntry("f", "uncertainty", 1.5)
    ]
    file = written(tmp_path / "j.db", verdicts, feedback, draws)
    found = read_journal_labels(file, POLICY)
    assert {row.id: row.hallucinated for row in found.rows} == {"a": True, "d": False, "f": True}
    counts = found.counts
    assert (counts.random, counts.uncertain, counts.unsampled) == (2, 1, 1)
    assert (counts.disagreed, counts.unsure, counts.thumbs) == (2, 1, 1)
    assert (counts.waiting, counts.undecided, counts.other_chain) == (1, 1, 1)
    (line,) = [line for line in counts.lines() if line.startswith("left out")]
    assert "2 that raters disagree about" in line
    (only,) = read_journal_labels(file, POLICY, raters=["ben"]).rows
    assert (only.id, only.hallucinated) == ("b", False)


def test_claims_label_sentences_where_all_of_them_are_rated(tmp_path: Path) -> None:
    verdicts = {"a": verdict(0.9, claims=2), "b": verdict(0.2, claims=2), "c": verdict(0.9)}
    feedback = [
        *(said("a", "right", claim=0), said("a", "wrong", claim=1)),
        said("b", "right", claim=0),
        said("c", "wrong", claim=0),
    ]
    draws = [SampledEntry(name, "random", 1.0) for name in "abc"]
    found = read_journal_labels(written(tmp_path / "j.db", verdicts, feedback, draws), POLICY)
    labels = {row.id: (row.hallucinated, [s.wrong for s in row.sentences]) for row in found.rows}
    assert labels == {"a": (True, [True]), "c": (False, [False])}
    assert found.counts.unsure == 1


def test_several_policies_have_to_be_told_apart(tmp_path: Path) -> None:
    verdicts = {"a": verdict(0.9), "b": verdict(0.9)}
    feedback, draws = [said("a", "right"), said("b", "wrong")], [SampledEntry("b", "random", 1.0)]
    file = written(tmp_path / "j.db", verdicts, feedback, draws, {"b": "strict"})
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
    file = written(tmp_path / "j.db", {"a": verdict(0.9)})
    with pytest.raises(ConfigurationError, match="has no feedback; draw entries"):
        read_journal_labels(file, POLICY)
    thumb = said("a", "wrong", about="answer", source="api")
    with pytest.raises(ConfigurationError, match="no feedback but 1 end users' thumbs"):
        read_journal_labels(written(tmp_path / "j.db", {}, [thumb]), POLICY)
    assert [one.score for one in read_verdicts(f"sqlite:///{file}", 10)] == [0.9]


def world(count: int, seed: int) -> tuple[dict[str, Verdict], dict[str, bool]]:
    """Verdicts whose scores are too high for correct responses, and the truth."""
    rng = random.Random(seed)
    verdicts, truth = dict[str, Verdict](), dict[str, bool]()
    for i in range(count):
        name, wrong = f"e{i}", rng.random() < 0.5
        verdicts[name] = verdict(
            round(rng.betavariate(6, 3) if wrong else rng.betavariate(4, 4), 3)
        )
        truth[name] = wrong
    return verdicts, truth


def labelled(verdicts: dict[str, Verdict], truth: dict[str, bool], names: Any) -> list[Feedback]:
    return [
        said(name, "right" if truth[name] is (verdicts[name].decision == "flagged") else "wrong")
        for name in names
    ]


def test_a_draw_at_random_is_calibrated_with(tmp_path: Path) -> None:
    verdicts, truth = world(300, 1)
    candidates = [SamplingCandidate(n, abs((v.score or 0) - 0.5)) for n, v in verdicts.items()]
    drawn = sample_entries(candidates, 60, "random", now=0.0, seed=2)
    drawn += sample_entries(candidates, 40, "uncertainty", sampled=drawn, now=1.0, seed=3)
    feedback = labelled(verdicts, truth, [one.entry_id for one in drawn])
    file = written(tmp_path / "j.db", verdicts, feedback, drawn)
    found = calibrate(POLICY, read_journal_labels(file, POLICY), targets=[TARGET], bootstrap=100)
    # Thresholds rest on the 60 alone, rates on all.
    assert len(found.outcomes) == found.counts.correct + found.counts.hallucinated == 60
    assert found.feedback is not None
    assert (found.feedback.random, found.feedback.uncertain) == (60, 40)
    alarms, fewer = found.flagged(False)
    assert fewer < alarms
    assert fewer <= 0.2 * found.counts.correct
    # Weighted, the rates are those of all 300; of the labels alone, they would be others.
    of_all = [v.decision == "flagged" for n, v in verdicts.items() if not truth[n]]
    before = found.old_figures.passage_fpr
    assert before.low is not None
    assert before.high is not None
    assert before.low <= sum(of_all) / len(of_all) <= before.high
    text = found.write_into("chain: [{method: ngram}]\n")
    assert "from j.db: 100 labelled responses, thresholds rest on 60" in text
    assert "measured on 100 that were drawn, by their weights: " in text
    data = found.to_dict()
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
        chosen = [outcomes[one.entry_id] for one in drawn]
        for into, weights in ((weighted, [one.weight for one in drawn]), (bare, None)):
            figures = measure_figures(chosen, threshold, bootstrap=0, seed=0, weights=weights)
            assert figures.passage_fpr.value is not None
            into.append(figures.passage_fpr.value)
    assert sum(weighted) / 150 == pytest.approx(rate, abs=0.02)
    assert abs(sum(bare) / 150 - rate) > 0.05


def test_nothing_is_promised_without_a_random_draw(tmp_path: Path) -> None:
    verdicts, truth = world(60, 1)
    drawn = sample_entries(
        at(*(v.score or 0 for v in verdicts.values())), 30, "uncertainty", now=0.0
    )
    file = written(tmp_path / "j.db", verdicts, labelled(verdicts, truth, verdicts), drawn)
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
        chosen = [outcomes[one.entry_id] for one in drawn]
        threshold = fit_thresholds(chosen, [TARGET], Guarantee(), Threshold())
        kept += sum(o.flagged(threshold) for o in correct) <= 0.2 * len(correct)
    assert kept >= 90


def test_cohens_kappa() -> None:
    """The example of Cohen's paper has three categories; this one is worked by hand."""
    decisions: dict[str, Any] = {f"e{i}": "flagged" for i in range(50)}
    feedback: list[Feedback] = []
    cells = [("right", "right")] * 20 + [("right", "wrong")] * 5
    cells += [("wrong", "right")] * 10 + [("wrong", "wrong")] * 15
    for i, pair in enumerate(cells):
        feedback += [said(f"e{i}", pair[0]), said(f"e{i}", pair[1], "ben")]
    feedback.append(said("e0", "right", "user", about="answer", source="api"))
    feedback.append(said("e1", "wrong", "ben", claim=0))
    (found,) = agreements(feedback, decisions)
    assert (found.raters, found.entries, found.agreed) == (("ann", "ben"), 50, 35)
    assert found.kappa == pytest.approx(0.4)
    assert "35 of 50 entries alike (70.0 %), Cohen's kappa 0.40" in str(found)
    # Ratings of a verdict and of an answer are one where they mean the same.
    (same,) = agreements([said("e0", "right"), said("e0", "wrong", "c", about="answer")], decisions)
    assert (same.both_hallucinated, same.kappa) == (1, None)
    assert "not defined" in str(same)
    assert Agreement(("a", "b"), unsure=2).kappa is None


def test_entries_of_a_policy_with_a_second_model_are_its_own(tmp_path: Path) -> None:
    verdicts = {"a": verdict(0.9), "b": verdict(0.9, method="cross_model")}
    draws = [SampledEntry(name, "random", 2.0) for name in verdicts]
    feedback = [said(name, "right") for name in verdicts]
    file = written(tmp_path / "j.db", verdicts, feedback, draws)
    second = Policy.of({**POLICY.model_dump(), "second_opinion": "other/wise"})
    assert read_journal_labels(file, second).counts.random == 2
    assert read_journal_labels(file, POLICY).counts.other_chain == 1
