from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp, kstwobign

from resay import ConfigurationError, Guard, Policy, SentenceVerdict, Verdict
from resay_lab.calibration import (
    LabelledRow,
    Target,
    calibrate,
    check_drift,
    read_verdicts,
)
from resay_lab.calibration.drift import (
    Distribution,
    distribution_lines,
    distributions_in,
    kolmogorov_smirnov,
)
from resay_server.journal import Entry, JournalConfig, open_journal, run_sync
from support.cli import resay_here

POLICY = "chain:\n- method: ngram\nsampling: {confidence: null}\n"


def response(rng, *, odd):
    """A response about lamps, of which samples say otherwise with some probability."""
    own = rng.randint(100, 999)
    told = [rng.randint(100, 999) if rng.random() < odd else own for _ in range(5)]
    return f"It opened in 1932. It has {own} lamps.", [
        f"It opened in 1932. It has {n} lamps. {i}" for i, n in enumerate(told)
    ]


def verdicts(count, *, odd, seed):
    rng, guard = random.Random(seed), Guard(Policy.parse(POLICY))
    return [
        guard.check(text, samples=samples)
        for text, samples in (response(rng, odd=odd) for _ in range(count))
    ]


@pytest.fixture(scope="module")
def calibrated():
    """A policy's text, calibrated on responses of which samples doubt three in ten."""
    rng, rows = random.Random(0), []
    for i in range(120):
        text, samples = response(rng, odd=0.3)
        rows.append(
            LabelledRow(f"l:{i}", response=text, samples=tuple(samples), hallucinated=i % 2 == 1)
        )
    target = Target("passage", "fpr", 0.2)
    found = calibrate(Policy.parse(POLICY), rows, targets=[target], bootstrap=0)
    return found.write_into(POLICY)


@given(st.lists(st.floats(0, 1), min_size=1))
def test_each_score_is_in_one_bin(scores):
    spread = Distribution.of(scores)
    assert (spread.total, len(spread.counts)) == (len(scores), 22)
    assert (spread.counts[0], spread.counts[-1]) == (scores.count(0), scores.count(1))
    for bound in range(1, 21):
        below = sum(score <= bound / 20 + 1e-10 for score in scores if score < 1)
        assert spread.cumulative[bound] == pytest.approx(below / len(scores))


@given(st.lists(st.floats(0, 1), min_size=1), st.lists(st.floats(0, 1), min_size=1))
def test_a_policy_holds_how_scores_were_spread(responses, sentences):
    text = "".join(f"  #: {line}\n" for line in distribution_lines(responses, sentences))
    expected = {"responses": Distribution.of(responses), "sentences": Distribution.of(sentences)}
    assert distributions_in(text, "p.yaml") == expected
    assert distributions_in(text.replace("\n", "\r\n"), "p.yaml") == expected


@pytest.mark.parametrize(("n", "m"), [(40, 60), (200, 1000)])
def test_the_probability_is_that_of_the_published_approximation(n, m):
    for distance in (0.05, 0.1, 0.2, 0.4):
        root = (n * m / (n + m)) ** 0.5
        expected = kstwobign.sf((root + 0.12 + 0.11 / root) * distance)
        assert kolmogorov_smirnov(distance, n, m) == pytest.approx(expected, abs=1e-9)
        rng = random.Random(n)
        one = [rng.random() for _ in range(n)]
        other = [rng.random() * (1 - distance) for _ in range(m)]
        exact = ks_2samp(one, other)
        found = kolmogorov_smirnov(float(exact.statistic), n, m)
        assert found == pytest.approx(exact.pvalue, rel=0.35, abs=1e-4)


def test_the_same_traffic_looks_the_same_and_another_does_not(calibrated):
    same = check_drift(calibrated, verdicts(200, odd=0.3, seed=1))
    assert same.drifted is False
    assert [(s.unit, s.before, s.now) for s in same.shifts] == [
        ("responses", 120, 200),
        ("sentences", 120, 200),
    ]
    for odd, higher in ((0.9, True), (0.0, False)):
        other = check_drift(calibrated, verdicts(100, odd=odd, seed=2))
        assert other.drifted is True
        assert all(s.drifted and s.higher is higher and s.distance > 0.3 for s in other.shifts)


def test_a_difference_must_be_more_than_chance_and_matter(calibrated):
    # Of many verdicts every difference is significant, and this one does not matter.
    thousands = verdicts(60, odd=0.3, seed=3) * 200
    assert check_drift(calibrated, thousands).drifted is False


def test_few_are_too_few(calibrated):
    few = check_drift(calibrated, verdicts(29, odd=1.0, seed=4))
    assert few.drifted is None
    assert {s.p_value for s in few.shifts} == {1.0}
    assert check_drift(calibrated, verdicts(30, odd=1.0, seed=4)).drifted is True


def test_what_says_nothing_is_left_out_and_told(calibrated):
    known = verdicts(60, odd=0.3, seed=5)
    silent = Verdict("inconclusive", None, "too few", ())
    ours = check_drift(calibrated, [*known, silent, silent])
    assert (ours.shifts[0].now, ours.left_out, ours.notes) == (60, 2, ())
    other = Guard({"chain": [{"method": "logprobs"}]}).check(
        "Yes, it is.", logprobs=[{"token": t, "logprob": -0.1} for t in ("Yes,", " it", " is.")]
    )
    assert check_drift(calibrated, [*known, other]).notes == (
        "1 verdict of another chain left out",
    )


def test_verdicts_with_a_second_model_are_ours(calibrated):
    asked = [
        replace(one, steps=(*one.steps, replace(one.steps[-1], method="cross_model")))
        for one in verdicts(60, odd=0.3, seed=5)
    ]
    found = check_drift(f"{calibrated}second_opinion: {{model: openai/gpt-5}}\n", asked)
    assert (found.shifts[0].now, found.notes) == (60, ())
    # Without one in the policy, they are not.
    assert check_drift(calibrated, asked).shifts[0].now == 0


def test_checks_that_stopped_early_are_told(calibrated):
    early = Verdict(
        "consistent",
        0.0,
        "settled",
        (SentenceVerdict("It is.", 0, 6, 0.0, by="ngram"),),
        samples=3,
        mean_score=0.0,
    )
    text = calibrated.replace("sampling: {confidence: null}\n", "")
    (note,) = check_drift(text, [early] * 40).notes
    assert note.startswith("40 of 40 checks looked at fewer than 5 samples")
    assert check_drift(calibrated, [early] * 40).notes == ()


def test_a_policy_that_was_not_calibrated_is_refused():
    with pytest.raises(ConfigurationError, match=r"<policy> does not contain the distribution of"):
        check_drift(POLICY, [])


# On the command line


@pytest.fixture
def folder(tmp_path, calibrated):
    (tmp_path / "policy.yaml").write_text(calibrated)
    return tmp_path


def log(path: Path, found, *, nested=False):
    dicts = [verdict.to_dict(content=False) for verdict in found]
    lines = [{"id": i, "verdict": d} if nested else d for i, d in enumerate(dicts)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def check(folder, *args):
    return resay_here("calibrate", "--policy", "policy.yaml", "--check", *args, cwd=folder)


def test_the_exit_code_says_whether_scores_have_drifted(folder):
    for odd, count, code, said in (
        (0.3, 60, 0, "scores of responses: look as they did (60 now, 120 in the calibration;"),
        (0.9, 60, 1, "scores of responses: drifted, higher than they were (60 now, 120"),
        (0.3, 10, 3, "scores of responses: too few to tell (10 now, 120 in the calibration);"),
    ):
        log(folder / "log.jsonl", verdicts(count, odd=odd, seed=6), nested=code == 0)
        done = check(folder, "log.jsonl")
        assert done.returncode == code, done.stderr
        assert said in done.stdout
        assert ("label some, and calibrate again" in done.stdout) is (code == 1)
        told = json.loads(check(folder, "log.jsonl", "--json").stdout)
        assert told["drifted"] is {0: False, 1: True, 3: None}[code]
        assert [shift["now"] for shift in told["shifts"]] == [count, count]


def test_the_newest_verdicts_count(folder):
    log(folder / "log.jsonl", [*verdicts(60, odd=0.3, seed=7), *verdicts(60, odd=0.9, seed=8)])
    assert check(folder, "log.jsonl", "--last", "60").returncode == 1
    told = json.loads(check(folder, "log.jsonl", "--last", "60", "--json").stdout)
    assert told["shifts"][0]["now"] == 60


def test_a_journal_is_read_as_it_is(folder):
    found = [*verdicts(40, odd=0.3, seed=9), *verdicts(40, odd=0.9, seed=10)]
    path = folder / "journal.db"

    async def keep():
        journal = open_journal(JournalConfig(url=f"sqlite:///{path}"))
        for i, verdict in enumerate(found):
            await journal.append(
                Entry(
                    model="m",
                    policy="p",
                    action="annotate",
                    decision=verdict.decision,
                    time=1e9 + i,
                    verdict=verdict.to_dict(),
                )
            )
        await journal.flush()
        await journal.aclose()

    run_sync(keep)
    read = read_verdicts(path, 40)
    assert [v.score for v in read] == [v.score for v in found[40:]]
    assert len(read_verdicts(path, 1000)) == 80
    done = check(folder, "journal.db", "--last", "40")
    assert done.returncode == 1, done.stderr


def test_what_cannot_be_compared_is_refused(folder):
    (folder / "log.jsonl").write_text('{"id": 1}\n')
    for args, said in (
        (("missing.jsonl",), "cannot read 'missing.jsonl'"),
        (("log.jsonl",), "log.jsonl:1: "),
        (("log.jsonl", "--write"), "--check takes no labels and writes nothing"),
        (("log.jsonl", "--labels", "log.jsonl"), "--check takes no labels and writes nothing"),
    ):
        done = check(folder, *args)
        assert done.returncode == 2
        assert said in " ".join(done.stderr.split())
    (folder / "policy.yaml").write_text(POLICY)
    done = check(folder, "log.jsonl")
    assert done.returncode == 2
    done = resay_here("calibrate", "--policy", "policy.yaml", cwd=folder)
    assert done.returncode == 2
    assert (
        "pass labelled responses with --labels or --from-journal, or pass --check LOG"
        in done.stderr
    )
