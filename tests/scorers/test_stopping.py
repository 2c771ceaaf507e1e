from __future__ import annotations

import random
from collections.abc import Sequence
from math import ceil, copysign, sqrt
from statistics import fmean

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.special import betainc

from resay.scorers.snowballing import correct
from resay.scorers.stopping import Decisions, RemainingWork, Stopping, student_cdf

unit = st.floats(0, 1, allow_nan=False)
columns = st.integers(1, 6).flatmap(
    lambda sentences: st.lists(
        st.lists(unit, min_size=sentences, max_size=sentences), min_size=1, max_size=12
    )
)


def passage_rule(edge: float, *, sentences: int = 1, confidence: float = 0.99, of: int = 20):
    return Stopping(Decisions(((),) * sentences, passage=edge), confidence, 3, of)


def samples_taken(
    rule: Stopping, rows: Sequence[Sequence[float | None]], least: int = 3
) -> tuple[int, RemainingWork]:
    """Follow a rule the way a method does and return where it stops."""
    seen = min(least, len(rows))
    while True:
        work = rule.remaining(rows[:seen])
        if not work.sentences or seen >= len(rows):
            return seen, work
        assert work.more >= 1
        seen = min(seen + work.more, len(rows))


@given(st.floats(-50, 50), st.integers(1, 200))
@example(2e-9, 1)
def test_the_distribution_is_students(t: float, degrees: int) -> None:
    # scipy.stats.t.cdf is wrong by 6e-10 at the example; this form is exact around 0.
    within = float(betainc(0.5, degrees / 2, t * t / (degrees + t * t)))
    assert student_cdf(t, degrees) == pytest.approx(0.5 + copysign(within, t) / 2, abs=1e-12)


def test_equal_samples_far_from_the_threshold_settle_the_passage_at_once() -> None:
    rows = [[0.1, 0.0, 0.1, 0.2, 0.0, 0.1, 0.0, 0.1]] * 20
    taken, _ = samples_taken(passage_rule(0.7, sentences=8), rows)
    assert taken == 3


def test_a_mean_at_the_threshold_is_never_settled() -> None:
    rows = [[0.6], [0.8]] * 10
    taken, _ = samples_taken(passage_rule(0.7), rows)
    assert taken == 20


def test_fewer_than_the_least_settle_nothing() -> None:
    work = passage_rule(0.7).remaining([[0.0], [0.0]])
    assert work == RemainingWork(frozenset({0}), 1)


def test_decisions_that_no_sample_can_change_are_settled() -> None:
    rows = [[0.0]] * 3
    rule = passage_rule(0.5, confidence=1.0, of=5)
    # Two more could make it 2/5 at most.
    assert not rule.remaining(rows).sentences
    assert passage_rule(0.3, confidence=1.0, of=5).remaining(rows).sentences


@given(columns, unit, st.integers(0, 10), st.randoms(use_true_random=False))
def test_with_certainty_no_decision_ever_differs(
    rows: list[list[float]], edge: float, least: int, chance: random.Random
) -> None:
    sentences = len(rows[0])
    aim = Decisions(((edge,),) * sentences, passage=edge)
    rule = Stopping(aim, 1.0, max(least, 1), len(rows))
    kept: list[list[float]] = [[] for _ in range(sentences)]
    seen, left = 0, frozenset(range(sentences))
    wanted = rule.min_samples
    while left and seen < len(rows):
        for row in rows[seen:wanted]:
            for i in left:
                kept[i].append(row[i])
        seen = min(wanted, len(rows))
        known = [
            [row[i] if n < len(kept[i]) else None for i in range(sentences)]
            for n, row in enumerate(rows[:seen])
        ]
        work = rule.remaining(known)
        left, wanted = work.sentences, seen + work.more
    for i in range(sentences):
        whole = fmean(row[i] for row in rows)
        low = sum(kept[i]) / len(rows)
        high = (sum(kept[i]) + len(rows) - len(kept[i])) / len(rows)
        assert low > edge or high <= edge or len(kept[i]) == len(rows) or abs(whole - edge) < 1e-9


def test_a_settled_sentence_is_not_compared_again() -> None:
    rule = Stopping(Decisions(((0.5,), (0.5,))), 0.99, 3, 20)
    work = rule.remaining([[0.0, 1.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert work.sentences == {1}
    # What it would say now does not open it again.
    assert rule.remaining([[0.0, 1.0]] * 4 + [[None, 0.0]] * 2).sentences == {1}


def test_as_long_as_the_passage_is_open_every_sentence_is_compared() -> None:
    rule = Stopping(Decisions(((0.5,), (0.5,)), passage=0.5), 0.99, 3, 20)
    assert rule.remaining([[0.0, 1.0]] * 4).sentences == {0, 1}


def test_one_flagged_sentence_is_enough_to_withhold() -> None:
    rows = [[1.0, 1.0], [1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]
    edges = ((0.5,), (0.5,))
    assert Stopping(Decisions(edges), 0.99, 3, 20).remaining(rows).sentences == {1}
    assert not Stopping(Decisions(edges, one_is_enough=True), 0.99, 3, 20).remaining(rows).sentences


def test_a_sentence_on_which_nothing_depends_is_closed() -> None:
    assert not Stopping(Decisions(((),)), 0.99, 3, 20).remaining([[0.0], [1.0], [0.0]]).sentences


def test_a_sentence_nothing_can_be_said_about_is_closed() -> None:
    assert not Stopping(Decisions(((0.5,),)), 0.99, 3, 20).remaining([[None]] * 3).sentences


def test_sentences_settled_before_count_for_the_passage() -> None:
    rows = [[1.0], [0.0], [1.0]]
    assert Stopping(Decisions(((),), passage=0.5), 0.99, 3, 20).remaining(rows).sentences
    settled = Decisions(((),), passage=0.5, settled_scores=(0.0,) * 9)
    assert not Stopping(settled, 0.99, 3, 20).remaining(rows).sentences


@given(columns.filter(lambda rows: len(rows) >= 3), unit)
def test_for_a_mean_pseudo_values_say_the_same(rows: list[list[float]], edge: float) -> None:
    sentences = len(rows[0])
    edges = ((edge,),) * sentences
    plain = Stopping(Decisions(edges, passage=edge), 0.99, 1, 40)
    same = Stopping(Decisions(edges, passage=edge, correction=lambda row: row), 0.99, 1, 40)
    left = same.remaining(rows).sentences
    # A correction looks at all sentences as long as one is open; certainty is not used for it.
    assert bool(left) >= bool(plain.remaining(rows, bounded=False).sentences)


def test_a_correction_is_decided_by_what_it_makes_of_the_scores() -> None:
    rows = [[0.3, 0.3, 0.3, 0.3]] * 8

    def snowballing(row: Sequence[float | None]) -> list[float]:
        return correct([score or 0.0 for score in row], theta=0.0)

    assert fmean(snowballing(rows[0])) > 0.4
    corrected = Decisions(((),) * 4, passage=0.3, correction=snowballing)
    assert Stopping(Decisions(((),) * 4, passage=0.3), 0.99, 3, 20).remaining(rows).sentences
    assert not Stopping(corrected, 0.99, 3, 20).remaining(rows).sentences


OF, CONFIDENCE = 20, 0.99
few = st.lists(st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]), min_size=3, max_size=12)


def settled(values: Sequence[float], edge: float, scale: float, n: int) -> bool:
    """Whether n values like these settle an edge; none of hypothesis' may do so by a hair."""
    probability = probability_of(values, edge, scale, n)
    assume(abs(probability - CONFIDENCE) > 1e-9)
    return probability >= CONFIDENCE


def probability_of(values: Sequence[float], edge: float, scale: float, n: int) -> float:
    """How sure n values like these are of an edge, by the equations of the module's docstring."""
    degrees = 2 + n - 1
    squares = sum((value - fmean(values)) ** 2 for value in values) * (n - 1) / (len(values) - 1)
    error = sqrt((2 * scale**2 + squares) / degrees * (1 - n / OF) / n)
    return student_cdf(abs(fmean(values) - edge) / error, degrees)


def next_wave(values: Sequence[float], edge: float, scale: float) -> int:
    """How many samples to look at next: half of what it would take with values like these."""
    known = len(values)
    enough = next((n for n in range(known, OF) if settled(values, edge, scale, n)), OF)
    return min(ceil((enough - known) / 2), known)


@given(few, st.floats(0.05, 0.95))
def test_a_sentence_is_open_as_long_as_the_posterior_leaves_it_open(
    values: list[float], edge: float
) -> None:
    rule = Stopping(Decisions(((edge,),)), CONFIDENCE, 3, OF)
    work = rule.remaining([[value] for value in values], bounded=False)
    assert bool(work.sentences) is not settled(values, edge, 0.3, len(values))
    assert work.more == next_wave(values, edge, 0.3)


@given(few, st.floats(0.05, 0.95), st.lists(unit, max_size=3), st.booleans())
def test_a_passage_is_open_as_long_as_the_posterior_of_its_mean_leaves_it_open(
    values: list[float], edge: float, others: list[float], own: bool
) -> None:
    aim = Decisions(((), ()), passage=edge, settled_scores=tuple(others))
    rows = [[value, 1.0] for value in values]
    passage = values if own else ()
    work = Stopping(aim, CONFIDENCE, 3, OF).remaining(rows, passage, bounded=False)
    # What a method says of the passage itself says nothing of the sentences it did not see.
    means = values if own and not others else [fmean((value, 1.0, *others)) for value in values]
    scale = 0.25 * sqrt(2) / (2 + len(others))
    assert work.sentences == (set() if settled(means, edge, scale, len(means)) else {0, 1})
    assert work.more == next_wave(means, edge, scale)


@given(few, st.floats(0.05, 0.95), st.booleans())
def test_a_corrected_score_is_as_open_as_its_jackknife_says(
    values: list[float], edge: float, of_passage: bool
) -> None:
    def squared(row: Sequence[float | None]) -> list[float]:
        (score,) = row
        assert score is not None
        return [score**2, score]

    def outcome(mean: float) -> float:
        return fmean((mean**2, mean)) if of_passage else mean**2

    count = len(values)
    pseudo = [
        count * outcome(fmean(values)) - (count - 1) * outcome(fmean(values[:j] + values[j + 1 :]))
        for j in range(count)
    ]
    aim = Decisions(((),), passage=edge, correction=squared)
    if not of_passage:
        aim = Decisions(((edge,),), correction=squared)
    work = Stopping(aim, CONFIDENCE, 3, OF).remaining([[value] for value in values])
    scale = 0.25 if of_passage else 0.3
    assert bool(work.sentences) is not settled(pseudo, edge, scale, count)
    assert work.more == next_wave(pseudo, edge, scale)


def test_a_sample_without_which_nothing_is_known_has_no_pseudo_value() -> None:
    aim = Decisions(((0.5,),), correction=lambda row: row)
    rows: list[list[float | None]] = [[1.0], [None], [None]]
    work = Stopping(aim, CONFIDENCE, 3, OF).remaining(rows)
    assert bool(work.sentences) is (probability_of([1.0, 1.0], 0.5, 0.3, 2) < CONFIDENCE)


def test_one_sentence_is_enough_only_once_it_is_known_to_lie_above() -> None:
    def left(rows: list[list[float]], edges: tuple[float, ...] = (0.5,), passage=None):
        aim = Decisions((edges, edges), passage=passage, one_is_enough=True)
        return Stopping(aim, 0.99, 3, 20).remaining(rows).sentences

    assert left([[0.0, 0.0], [0.0, 1.0]] * 4) == {1}, "the first is known to lie below"
    assert left([[1.0, 0.0], [0.5, 0.0], [0.6, 1.0]]) == {0, 1}, "above, but not for sure"
    assert left([[1.0, 1.0], [1.0, 0.0]] * 4) == frozenset()
    assert left([[1.0, 0.5], [1.0, 0.8]] * 4, (), passage=0.5) == frozenset()
    assert left([[0.9, 0.3], [1.0, 0.8]] * 4, (0.1, 0.95)) == {0}, "over the first edge only"


def test_every_edge_has_to_be_settled_and_the_farthest_off_says_how_many_it_takes() -> None:
    rows = [[0.0], [1.0], [0.0], [0.0]] * 2
    near, far = Decisions(((0.3,),)), Decisions(((0.9,),))
    assert not Stopping(far, 0.99, 3, 40).remaining(rows).sentences
    wanted = Stopping(near, 0.99, 3, 40).remaining(rows)
    for edges in ((0.3, 0.9), (0.9, 0.3)):
        assert Stopping(Decisions((edges,)), 0.99, 3, 40).remaining(rows) == wanted


def test_after_the_last_sample_nothing_is_left_although_some_said_nothing() -> None:
    rule = Stopping(Decisions(((0.5,),), passage=0.5), 0.99, 3, 6)
    work = rule.remaining([[1.0], [0.0], [None], [1.0], [0.0], [None]])
    assert (work.sentences, work.more) == (frozenset(), 0)


def test_settled_decisions_need_no_sample() -> None:
    assert Stopping(Decisions(((0.5,),)), 0.99, 3, 20).remaining([[0.0]] * 4).more == 0
    assert Stopping(Decisions(((0.5,),)), 0.99, 3, 20).remaining([[0.0]] * 4, [0.0] * 4).more == 0


def test_a_settled_passage_is_not_opened_again() -> None:
    rule = Stopping(Decisions(((),), passage=0.5), 0.99, 3, 20)
    assert not rule.remaining([[0.0]] * 4).sentences
    assert not rule.remaining([[0.0]] * 4 + [[1.0]] * 4).sentences


@pytest.mark.parametrize(("edge", "left"), [(0.6, set()), (0.59, {0}), (0.4, {0}), (0.39, set())])
def test_certainty_begins_where_a_mean_over_the_edge_cannot_be_lost_or_won(
    edge: float, left: set[int]
) -> None:
    # Of ten samples five are known: the mean of all will be between 0.4 and 0.6 hereafter, and a
    # score is flagged over the edge, not at it.
    rows = [[0.0], [1.0], [1.0], [1.0], [1.0], [0.0], [0.0], [0.0]]
    assert Stopping(Decisions(((edge,),)), 1.0, 3, 10).remaining(rows).sentences == left


def test_waves_grow_with_what_is_known_and_leave_no_crumbs() -> None:
    rows = [[0.6], [0.8]] * 10
    rule = passage_rule(0.7)
    assert rule.remaining(rows[:4]).more <= 4
    assert [rule.remaining(rows[:known]).more for known in (17, 18)] == [2, 2]


@pytest.mark.parametrize("p", [0.2, 0.35, 0.65, 0.8])
def test_the_error_stays_near_what_was_asked_for(p: float) -> None:
    # Entries are 0 or 1 and those of a sample hang together: nothing the model assumes.
    chance = random.Random(7)
    wrong = taken = 0
    for _ in range(2000):
        rows = []
        for _ in range(20):
            shift = chance.gauss(0, 0.15)
            rows.append([float(chance.random() < p + shift) for _ in range(6)])
        seen, _ = samples_taken(passage_rule(0.5, sentences=6), rows)
        means = [fmean(row) for row in rows]
        wrong += (fmean(means[:seen]) > 0.5) is not (fmean(means) > 0.5)
        taken += seen
    assert wrong / 2000 <= 0.01
    assert taken / 2000 < 14
