from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from functools import cache

import pytest

from resay import ConfigurationError, Guard, Policy
from resay.adapters.providers import ReplayProvider
from resay.plugins import Completion, Completions
from resay.scorers.prompt import render
from resay_lab.calibration import Guarantee, LabelledRow, LabelledSentence, Target, calibrate

KNOWN = "The bridge opened in 1932."
FPR = Target("passage", "fpr", 0.2)
NGRAM = {"chain": [{"method": "ngram"}]}


def made_up(count=120, *, seed=0):
    """Responses about lamps; of a hallucinated one the samples say other numbers."""
    rng = random.Random(seed)
    for i in range(count):
        wrong = i % 2 == 1
        own = rng.randint(100, 999)
        told = [
            own if rng.random() < (0.15 if wrong else 0.9) else rng.randint(100, 999)
            for _ in range(4)
        ]
        texts = [f"{KNOWN} It has {lamps} lamps." for lamps in told]
        yield LabelledRow(
            f"labels.jsonl:{i + 1}",
            response=f"{KNOWN} It has {own} lamps.",
            question="Tell me about the bridge.",
            samples=(*texts, "I know nothing about it."),
            hallucinated=wrong,
            sentences=(LabelledSentence(None, False), LabelledSentence(None, wrong)),
        )


ROWS = list(made_up())


def judged(rows, error=0.1):
    """A judge who says what the sample says, and errs in some of the cases."""
    rng = random.Random(1)
    answers = {}
    for row in rows:
        for sentence in (KNOWN, row.response.removeprefix(f"{KNOWN} ")):
            for sample in row.samples:
                right = "Yes" if sentence in sample else "No"
                other = "No" if right == "Yes" else "Yes"
                answers[render(sentence, sample)] = [right if rng.random() > error else other]
    return ReplayProvider(answers, repeat=True)


def run(policy=NGRAM, rows=ROWS, targets=(FPR,), **more):
    return calibrate(policy, rows, targets=targets, bootstrap=20, **more)


def test_thresholds_are_what_the_guard_then_flags_by():
    found = run(guarantee=Guarantee("expected"))
    guard = Guard(found.policy)
    verdicts = [guard.check(row.response, samples=row.samples) for row in ROWS]
    correct = [v.flagged for v, row in zip(verdicts, ROWS, strict=True) if not row.hallucinated]
    wrong = [v.flagged for v, row in zip(verdicts, ROWS, strict=True) if row.hallucinated]
    assert found.figures.passage_fpr.value == pytest.approx(sum(correct) / len(correct))
    assert found.figures.passage_recall.value == pytest.approx(sum(wrong) / len(wrong))
    assert 0 < sum(correct) / len(correct) <= 0.2
    assert sum(wrong) / len(wrong) > 0.5


def test_it_says_what_it_rests_on():
    found = run()
    assert found.fitted is None
    assert found.counts.rows == 120
    assert (found.counts.correct, found.counts.hallucinated) == (60, 60)
    assert (found.counts.correct_sentences, found.counts.hallucinated_sentences) == (180, 60)
    assert found.promises() == [
        "in at least 90 % of calibrations like this, at most 20 % of the correct responses are"
        " flagged"
    ]
    data = json.loads(json.dumps(found.to_dict()))
    assert data["threshold"]["passage"] == found.policy.threshold.passage
    assert data["old_threshold"] == {"passage": 0.5, "sentence": 0.5}
    assert "lamps" not in json.dumps(data)


def test_by_default_it_is_about_responses_and_labelled_sentences():
    found = calibrate(NGRAM, ROWS, bootstrap=0)
    assert [target.name for target in found.targets] == ["passage-fpr", "sentence-fpr"]
    bare = [
        LabelledRow(r.where, response=r.response, samples=r.samples, hallucinated=r.hallucinated)
        for r in ROWS
    ]
    assert [t.name for t in calibrate(NGRAM, bare, bootstrap=0).targets] == ["passage-fpr"]
    policy = {**NGRAM, "threshold": {"sentence": None}}
    assert [t.name for t in calibrate(policy, ROWS, bootstrap=0).targets] == ["passage-fpr"]


def test_inconclusive_responses_are_left_out_and_counted():
    few = [
        LabelledRow("f:1", response=KNOWN, samples=("One.",), hallucinated=False),
        LabelledRow("f:2", response=KNOWN, samples=(3 * f"{KNOWN} ",) * 3, hallucinated=True),
    ]
    found = run(rows=[*ROWS, *few])
    assert found.counts.inconclusive == 2
    assert len(found.outcomes) == 120


def test_it_warns_where_nothing_is_flagged_any_more():
    swapped = [replace(row, hallucinated=not row.hallucinated, sentences=()) for row in ROWS]
    found = run(rows=swapped)
    assert found.figures.passage_recall.value == 0
    assert found.notes == (
        "passage-fpr 0.2 is kept only by flagging none of the hallucinated responses, because"
        " correct ones score as high; allow a greater rate, label more, or take another method",
        "no passage-fpr can be kept while hallucinated responses are flagged",
    )


def test_too_few_labels_say_so():
    with pytest.raises(ConfigurationError, match=r"at least 45 .* there are 10; label 35 more"):
        run(rows=ROWS[:20], targets=[Target("passage", "fpr", 0.05)])


def test_what_a_row_lacks_is_said_with_its_line():
    rows = [*ROWS[:3], LabelledRow("labels.jsonl:4", response=KNOWN, hallucinated=True)]
    with pytest.raises(ConfigurationError, match=r"^labels\.jsonl:4: method 'ngram' needs samples"):
        run(rows=rows)


def test_all_samples_count_whatever_the_old_thresholds_would_settle():
    rows = [replace(row, samples=row.samples * 4) for row in ROWS[:24]]
    chain = {"chain": [{"method": "prompt", "form": "published", "mode": "per_pair"}]}

    def found(confidence):
        sampling = {"max": 20, "min": 3, "confidence": confidence}
        return run({**chain, "sampling": sampling}, rows=rows, provider=judged(rows))

    assert found(0.6).outcomes == found(None).outcomes
    # The policy that comes out still stops early.
    assert found(0.6).policy.sampling.confidence == 0.6


def drawn(rows):
    """The rows with a question of their own in place of samples, and who answers it."""
    bare = [
        replace(row, question=f"Question {i}?", samples=None, sentences=row.sentences)
        for i, row in enumerate(rows)
    ]
    answers = {row.question: old.samples for row, old in zip(bare, rows, strict=True)}
    return bare, ReplayProvider(answers, repeat=True)


def test_samples_are_drawn_where_a_row_has_none():
    bare, provider = drawn(ROWS)
    assert run(rows=bare, provider=provider).policy == run().policy


def test_samples_are_drawn_for_weights_too():
    policy = {"chain": [{"method": "ensemble", "parts": [{"scorer": {"method": "ngram"}}]}]}
    bare, provider = drawn(ROWS)
    assert run(policy, rows=bare, provider=provider).policy == run(policy).policy


COMBINATION = {
    "chain": [
        {
            "method": "combination",
            "parts": [
                {
                    "scorer": {"method": "prompt", "form": "published", "mode": "per_pair"},
                    "mean": 0,
                    "deviation": 1,
                },
                {
                    "scorer": {"method": "ngram"},
                    "mean": 0,
                    "deviation": 1,
                    "scale": "log_odds",
                },
            ],
        }
    ]
}
ENSEMBLE = {
    "chain": [
        {
            "method": "ensemble",
            "parts": [
                {"scorer": {"method": "prompt", "form": "published", "mode": "per_pair"}},
                {"scorer": {"method": "ngram"}, "weight": 0.001},
            ],
        }
    ]
}
POLICIES = {"combination": COMBINATION, "ensemble": ENSEMBLE}
# Of these, a half is learned from.
MANY = ROWS[:60]


@cache
def learned(name):
    """What several tests look at; nothing in it can be changed."""
    return run(POLICIES[name], MANY, provider=judged(MANY))


@cache
def banded():
    target = Target("sentence", "fpr", 0.2)
    return run(CASCADE, MANY, [target], provider=judged(MANY), settle_error=0.05)


@pytest.mark.parametrize("name", ["combination", "ensemble"])
def test_weights_are_learned_from_one_half_and_thresholds_from_the_other(name):
    found = learned(name)
    assert found.counts.learned == 30
    assert (found.counts.correct, found.counts.hallucinated) == (15, 15)
    assert found.fitted.rows == 30
    assert found.fitted.weighted == (0,)
    old, new = (p.chain[0] for p in (Policy.of(POLICIES[name]), found.policy))
    assert [p.weight for p in old.parts] != [p.weight for p in new.parts]
    assert all(p.weight >= 0 for p in new.parts)
    assert found.figures.sentence_roc_auc.value > 0.9
    # What the thresholds rest on is what a guard with the weights says.
    guard = Guard(found.policy, provider=judged(MANY))
    said = {guard.check(row.response, samples=row.samples).mean_score for row in MANY}
    assert {outcome.score for outcome in found.outcomes} <= said


def test_another_seed_divides_otherwise_and_the_same_alike():
    a = learned("ensemble")
    b, c = (run(ENSEMBLE, MANY, provider=judged(MANY), seed=s) for s in (0, 1))
    assert a.policy == b.policy
    assert a.outcomes == b.outcomes
    assert a.outcomes != c.outcomes


def test_a_response_never_serves_both():
    """Thresholds rest on those that weights were not learned from, whatever the labels there."""
    found = learned("combination")
    rests = len(found.outcomes)
    assert rests + found.counts.learned + found.counts.inconclusive == len(MANY)


def test_weights_can_be_left():
    found = run(ENSEMBLE, MANY, provider=judged(MANY), weights=False)
    assert found.fitted is None
    assert found.policy.chain == Policy.of(ENSEMBLE).chain
    assert len(found.outcomes) == 60


def test_without_labelled_sentences_weights_stay_and_it_says_so():
    rows = [
        LabelledRow(r.where, response=r.response, samples=r.samples, hallucinated=r.hallucinated)
        for r in MANY
    ]
    found = run(ENSEMBLE, rows, provider=judged(MANY))
    assert found.fitted is None
    assert "no sentence is labelled" in found.notes[0]


def test_the_hint_tells_where_the_other_half_went():
    with pytest.raises(ConfigurationError, match="30 were learned from; with `--no-weights`"):
        run(ENSEMBLE, MANY, provider=judged(MANY), targets=[Target("passage", "fpr", 0.02)])


CASCADE = {
    "chain": [
        {"method": "ngram", "settle": {"below": 0.01}},
        {"method": "prompt", "form": "published", "mode": "per_pair"},
    ]
}


def test_bands_settle_what_the_last_step_would_decide_alike():
    found = banded()
    assert found.fitted.banded == (0,)
    assert found.counts.learned == 30
    assert found.policy.chain[0].settle != Policy.of(CASCADE).chain[0].settle
    assert found.fitted.share_settled[0] > 0.2
    assert found.policy.chain[1] == Policy.of(CASCADE).chain[1]


def test_bands_that_may_err_more_settle_more():
    target = Target("sentence", "fpr", 0.2)
    exact, loose = (
        run(
            CASCADE, MANY, [target], provider=judged(MANY, 0.25), settle_error=error
        ).fitted.share_settled[0]
        for error in (0.0, 0.3)
    )
    assert exact < loose


def test_few_settled_sentences_are_decided_otherwise_at_the_new_threshold():
    found = banded()
    whole = found.policy.model_copy(update={"chain": found.policy.chain[1:]})
    cascade, last = (Guard(p, provider=judged(MANY)) for p in (found.policy, whole))
    settled = otherwise = 0
    for row in MANY:
        pairs = zip(
            cascade.check(row.response, samples=row.samples).sentences,
            last.check(row.response, samples=row.samples).sentences,
            strict=True,
        )
        for ours, theirs in pairs:
            if ours.by == "ngram":
                settled += 1
                otherwise += ours.flagged != theirs.flagged
    assert settled > 15
    # Half of them were not seen when the bands were fitted, and the threshold is a new one.
    assert otherwise / settled <= 0.15


def test_bands_go_together_with_weights():
    chain = [{"method": "ngram", "settle": {"below": 0.01}}, *COMBINATION["chain"]]
    found = run({"chain": chain}, MANY, provider=judged(MANY), settle_error=0.05)
    assert found.fitted.weighted == (1,)
    assert found.fitted.banded == (0,)
    assert found.policy.chain[1] != Policy.of({"chain": chain}).chain[1]


def test_bands_need_a_step_that_settles():
    with pytest.raises(ConfigurationError, match="set `settle` on one"):
        run(settle_error=0.02)
    with pytest.raises(ConfigurationError, match=r"threshold\.sentence: null"):
        run(
            {**CASCADE, "threshold": {"sentence": None}},
            MANY,
            provider=judged(MANY),
            settle_error=0.02,
        )


def test_methods_that_cannot_speak_say_why():
    policy = {
        "chain": [
            {"method": "ensemble", "parts": [{"scorer": {"method": "prompt", "form": "published"}}]}
        ]
    }
    with pytest.raises(ConfigurationError, match="nothing can be learned from 60 responses: "):
        run(policy, ROWS, provider=ReplayProvider({}))


def test_written_into_the_policy_it_is_what_was_found():
    text = json.dumps(COMBINATION)
    found = learned("combination")
    assert Policy.parse(found.write_into(text)) == found.policy
    written = found.write_into(text)
    assert "weights learned from 30 responses that the thresholds do not rest on" in written
    assert "of the correct responses flagged" in written


def test_each_response_is_reported_once():
    seen = []
    run(ENSEMBLE, MANY, provider=judged(MANY), done=lambda: seen.append(1))
    assert len(seen) == len(MANY)


class Asked:
    """A model whose samples mention nothing, and which knows of 500 lamps."""

    def __init__(self):
        self.questions = []

    async def takes_n(self, query):
        return False

    async def complete(self, query, *, n=1):
        prompt = query.question
        if "<questions-" in prompt:
            self.questions.append(query)
            return Completions((Completion("1: 1931\n2: 500"),))
        if "Prepare a quiz" not in prompt:
            return Completions((Completion("1: not_mentioned\n2: not_mentioned"),))
        lamps = re.search(r"has (\d+) lamps", prompt)[1]
        quiz = f"1: When did it open? | 1932\n2: How many lamps has it? | {lamps}"
        return Completions((Completion(quiz),))


def test_what_a_policy_asks_about_claims_counts_in_its_calibration():
    model = Asked()
    chain = [{"method": "prompt", "mode": "per_sample", "probe": 2}]
    policy = {"chain": chain, "sampling": {"temperature": 0.5}}
    run(policy, ROWS[:24], provider=model)
    # All rows ask the same two questions in one prompt, whose two answers are kept.
    assert len(model.questions) == 2
    assert {query.params["temperature"] for query in model.questions} == {0.5}
