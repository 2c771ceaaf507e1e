"""The guarantees on real scores: repeated calibrations on draws from WikiBio GPT-3."""

from __future__ import annotations

import json
import random
from math import sqrt

import anyio
import numpy as np
import pytest

from resay import Policy, SentenceVerdict, Verdict
from resay.adapters import Threshold
from resay.plugins import registry
from resay_lab.benchmarks import wikibio
from resay_lab.benchmarks.measuring import measure
from resay_lab.benchmarks.wikibio import is_wrong
from resay_lab.calibration import Guarantee, Outcome, Target, calibrate, fit_thresholds

DRAWS = 200
JUDGE = "gemma4-31b"


def config(method, **settings):
    return registry()[method].Config(**settings)


@pytest.fixture(scope="module")
def corpus(data_dir):
    if not (data_dir / "wikibio_gpt3_recorded.jsonl").is_file():
        pytest.skip("no data: WikiBio GPT-3 with its recordings")
    return wikibio.load(data_dir, slice(None))


@pytest.fixture(scope="module")
def scores(corpus, data_dir):
    """What two methods say of every passage."""

    async def measured(configured, judge):
        return await measure(configured, corpus.items, judge, concurrency=4, done=lambda: None)

    judge = wikibio.recorded_judge(data_dir, f"recorded:{JUDGE}", corpus)
    prompt = config("prompt", form="published", **judge.settings)
    return {
        "ngram": anyio.run(measured, config("ngram", pool="maximum", n=1), None),
        "prompt": anyio.run(measured, prompt, judge),
    }


def hallucinated(wrong):
    """A biography counts as correct where at most half of its sentences are wrong."""
    return 2 * sum(wrong) > len(wrong)


@pytest.fixture(scope="module")
def outcomes(corpus, scores):
    labels = [tuple(map(is_wrong, row)) for row in corpus.labels]
    return {
        method: [
            Outcome(found.scores.passage_score, found.scores.sentences, hallucinated(wrong), wrong)
            for wrong, found in zip(labels, results, strict=True)
        ]
        for method, results in scores.items()
    }


def rate(target, found, threshold):
    """What goes wrong among all passages, of which each calibration sees a few."""
    wrong = target.kind == "recall"
    if target.unit == "passage":
        flags = [o.flagged(threshold) for o in found if o.hallucinated is wrong]
    else:
        shares = [o.share_flagged(wrong, threshold.sentence) for o in found]
        flags = [float(share) for share in shares if share is not None]
    share = sum(flags) / len(flags)
    return 1 - share if wrong else share


@pytest.mark.parametrize("method", ["ngram", "prompt"])
@pytest.mark.parametrize(
    "target",
    [
        Target("passage", "fpr", 0.15),
        Target("passage", "recall", 0.85),
        Target("sentence", "recall", 0.85),
    ],
    ids=lambda target: target.name,
)
def test_the_guarantees_hold(outcomes, method, target):
    rng, found, alpha = random.Random(1), outcomes[method], float(target.alpha)
    draws = DRAWS if target.unit == "passage" else DRAWS // 2
    for guarantee in (Guarantee(), Guarantee("expected")):
        rates = []
        for _ in range(draws):
            drawn = rng.choices(found, k=200)
            limits = fit_thresholds(drawn, [target], guarantee, Threshold())
            rates.append(rate(target, found, limits))
        if guarantee.kind == "expected":
            assert np.mean(rates) <= alpha + 4 * np.std(rates) / sqrt(draws)
        else:
            kept = np.mean([r <= alpha + 1e-9 for r in rates])
            assert kept >= 0.9 - 4 * sqrt(0.9 * 0.1 / draws)
        assert np.mean(rates) >= 0.3 * alpha


def test_thresholds_of_one_half_of_the_passages_do_on_the_other(outcomes):
    target, found = Target("passage", "fpr", 0.15), outcomes["prompt"]
    rng, rates, recalls = random.Random(2), [], []
    for _ in range(200):
        order = rng.sample(found, len(found))
        ours, theirs = order[::2], order[1::2]
        limits = fit_thresholds(ours, [target], Guarantee("expected"), Threshold())
        rates.append(rate(target, theirs, limits))
        caught = [o.flagged(limits) for o in theirs if o.hallucinated]
        recalls.append(sum(caught) / len(caught))
    assert np.mean(rates) <= 0.15
    # A threshold of 1 would keep the target too, and catch nothing.
    assert np.mean(recalls) >= 0.6


def test_a_log_without_content_calibrates_as_the_scores_do(corpus, scores, outcomes, tmp_path):
    """The recorded judge's verdicts, as an application would have logged them."""
    log, labels = tmp_path / "log.jsonl", tmp_path / "labels.jsonl"
    verdicts, rows = [], []
    for item, results, row in zip(corpus.items, scores["prompt"], corpus.labels, strict=True):
        spans = zip(item.passage.sentences, results.scores.sentences, strict=True)
        verdict = Verdict(
            "consistent",
            results.scores.passage_score,
            "logged",
            tuple(SentenceVerdict(s.text, s.start, s.end, x, by="prompt") for s, x in spans),
            samples=20,
            mean_score=results.scores.passage_score,
        )
        wrong = [is_wrong(label) for label in row]
        verdicts.append({"id": item.index, "verdict": verdict.to_dict(content=False)})
        rows.append(
            {
                "id": item.index,
                "hallucinated": hallucinated(wrong),
                "sentences": ["hallucinated" if x else "correct" for x in wrong],
            }
        )
    log.write_text("\n".join(map(json.dumps, verdicts)))
    labels.write_text("\n".join(map(json.dumps, rows)))
    policy = Policy.of({"chain": [{"method": "prompt"}]})
    target = Target("passage", "fpr", 0.1)
    found = calibrate(policy, labels, log=log, targets=[target], bootstrap=200)
    limits = fit_thresholds(outcomes["prompt"], [target], Guarantee(), policy.threshold)
    assert found.policy.threshold == limits
    assert found.counts.correct == 65
    assert found.figures.passage_fpr.value <= 0.1
    assert found.figures.passage_recall.value >= 0.6
