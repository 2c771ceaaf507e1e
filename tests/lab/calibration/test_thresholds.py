from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from resay import ConfigurationError
from resay.adapters import Threshold
from resay_lab.calibration import Guarantee, Outcome, Target, fit_thresholds

EXPECTED = Guarantee("expected")
ONLY_PASSAGE = Threshold(passage=0.5, sentence=None)
ONLY_SENTENCE = Threshold(passage=None, sentence=0.5)
BOTH = Threshold()

# Few different values, so that there are ties, and the ends; or any number.
scores = st.one_of(st.sampled_from([0.0, 0.2, 1 / 3, 0.5, 0.55, 1.0]), st.floats(0, 1))


@st.composite
def outcomes(draw):
    """Labelled responses, enough of either kind for a rate of 0.2."""
    found = []
    for _ in range(draw(st.integers(14, 24))):
        own = draw(st.lists(st.one_of(st.none(), scores), min_size=1, max_size=4))
        wrong = tuple(draw(st.sampled_from([True, False, None])) for _ in own)
        hallucinated = draw(st.sampled_from([True, False]))
        found.append(Outcome(draw(scores), tuple(own), hallucinated, wrong))
    return found


def passages(correct, hallucinated):
    return [Outcome(s, (), False) for s in correct] + [Outcome(s, (), True) for s in hallucinated]


def fit(found, *targets, guarantee=EXPECTED, threshold=BOTH):
    return fit_thresholds(found, targets, guarantee, threshold)


def lost(found, target, threshold):
    """The losses a target is about, and how many units there are."""
    about = target.about_hallucinated
    if target.unit == "passage":
        losses = [o.flagged(threshold) is not about for o in found if o.hallucinated is about]
        return Fraction(sum(losses)), len(losses)
    shares = [o.share_flagged(about, threshold.sentence) for o in found]
    known = [1 - share if about else share for share in shares if share is not None]
    return sum(known, Fraction(0)), len(known)


def tried(found, *targets, **more):
    try:
        return fit(found, *targets, **more)
    except ConfigurationError:
        assume(False)


ALL = [
    Target("passage", "fpr", 0.2),
    Target("passage", "recall", 0.8),
    Target("sentence", "fpr", 0.2),
    Target("sentence", "recall", 0.8),
]


@given(outcomes(), st.sampled_from(ALL), st.sampled_from([BOTH, ONLY_PASSAGE, ONLY_SENTENCE]))
def test_after_rounding_the_target_is_kept(found, target, threshold):
    limits = tried(found, target, threshold=threshold)
    for limit in (limits.passage, limits.sentence):
        assert limit is None or (0 <= limit <= 1 and round(limit, 6) == limit)
    total, count = lost(found, target, limits)
    assert EXPECTED.holds(total, count, target.alpha, binary=target.unit == "passage")
    assert (limits.passage is None) == (threshold.passage is None)
    assert (limits.sentence is None) == (threshold.sentence is None)


@given(outcomes(), st.sampled_from(ALL[:2]), st.sampled_from(ALL[2:]))
def test_two_targets_are_kept_together(found, of_passages, of_sentences):
    limits = tried(found, of_passages, of_sentences)
    for target in (of_passages, of_sentences):
        total, count = lost(found, target, limits)
        assert EXPECTED.holds(total, count, target.alpha, binary=target.unit == "passage")


@given(outcomes(), st.sampled_from(ALL), st.sampled_from([ONLY_PASSAGE, ONLY_SENTENCE]))
def test_the_next_score_would_be_too_far(found, target, threshold):
    """The threshold parts the scores as far to the lenient side as the guarantee allows."""
    limits = tried(found, target, threshold=threshold)
    unit = "sentence" if threshold is ONLY_SENTENCE or target.unit == "sentence" else "passage"
    limit = getattr(limits, unit)
    own = [o.score for o in found] if unit == "passage" else []
    own += [s for o in found for s in o.sentences if s is not None and unit == "sentence"]
    if target.kind == "fpr":
        further = [s - 2e-6 for s in own if s <= limit and s > 2e-6]
        further = max(further, default=None)
    else:
        further = min((s + 2e-6 for s in own if s > limit and s < 1 - 2e-6), default=None)
    # Neighbours nearer than the grid cannot be told apart.
    assume(further is not None and abs(further - limit) < 1)
    between = sorted((further, limit))
    changed = [s for s in own if between[0] < s <= between[1]]
    assume(changed)
    moved = limits.model_copy(update={unit: further})
    total, count = lost(found, target, moved)
    before, _ = lost(found, target, limits)
    if total != before:
        assert not EXPECTED.holds(total, count, target.alpha, binary=target.unit == "passage")


@given(outcomes(), st.sampled_from(["passage", "sentence"]))
def test_a_greater_rate_never_flags_less(found, unit):
    strict, lenient = Target(unit, "fpr", 0.2), Target(unit, "fpr", 0.5)
    a, b = tried(found, strict), tried(found, lenient)
    for outcome in found:
        assert outcome.flagged(a) <= outcome.flagged(b)


def test_a_tie_at_the_threshold_is_not_flagged():
    found = passages([0.0] * 10 + [0.4] * 10, [0.4, 0.9])
    limits = fit(found, Target("passage", "fpr", 0.05), threshold=ONLY_PASSAGE)
    # 0.4 is flagged from none; 0.41 would be as good and is no shorter.
    assert limits.passage == 0.4
    assert not found[-2].flagged(limits)
    assert found[-1].flagged(limits)


def test_no_doubt_is_left_above_the_threshold():
    found = passages([0.1] * 40, [0.9] * 40)
    found = [Outcome(o.score, (o.score,), o.hallucinated, (o.hallucinated,)) for o in found]
    target = Target("sentence", "fpr", 0.05)
    wide = fit(found, target, threshold=Threshold(doubtful=0.05))
    assert (wide.sentence, wide.doubtful) == (0.1, 0.05)
    assert fit(found, target, threshold=Threshold(doubtful=0.1)).doubtful is None


def test_thresholds_are_rounded_up_for_false_alarms_and_down_for_misses():
    found = passages([0.1] * 18 + [0.6123456789], [0.6123456788, 0.9] + [0.95] * 20)
    up = fit(found, Target("passage", "fpr", 0.05), threshold=ONLY_PASSAGE)
    assert up.passage == 0.62
    down = fit(found, Target("passage", "recall", 0.95), threshold=ONLY_PASSAGE)
    assert down.passage == 0.61
    near = passages([0.5] * 19, [0.500001])
    assert fit(near, Target("passage", "fpr", 0.05), threshold=ONLY_PASSAGE).passage == 0.5


def test_too_few_labels_say_how_many_are_needed():
    found = passages([0.1] * 20, [0.9] * 3)
    with pytest.raises(ConfigurationError, match=r"at least 45 .* there are 20; label 25 more"):
        fit(found, Target("passage", "fpr", 0.05), guarantee=Guarantee())
    with pytest.raises(ConfigurationError, match=r"`--guarantee expected` needs 19"):
        fit(found, Target("passage", "fpr", 0.05), guarantee=Guarantee())
    assert fit(found, Target("passage", "fpr", 0.05)).passage == 0.1


def test_what_scores_nothing_cannot_be_caught():
    found = passages([], [0.0] * 10 + [0.5] * 10)
    with pytest.raises(ConfigurationError, match=r"no threshold keeps passage-recall 0\.9"):
        fit(found, Target("passage", "recall", 0.9), threshold=ONLY_PASSAGE)


def test_a_hallucinated_sentence_without_a_score_counts_as_missed():
    found = [Outcome(0.5, (None, 0.8), True, (True, True))] * 19
    with pytest.raises(ConfigurationError, match="no threshold keeps"):
        fit(found, Target("sentence", "recall", 0.9))


def test_a_chain_that_scores_no_sentence_can_keep_no_target_for_them():
    found = [Outcome(0.5, (None, None), False, (False, False))] * 30
    with pytest.raises(ConfigurationError, match="scores none of those labelled"):
        fit(found, Target("sentence", "fpr", 0.1))
    assert fit(found, Target("passage", "fpr", 0.1)) == Threshold(passage=0.5, sentence=0.5)


def test_a_threshold_that_is_null_stays_so_and_cannot_have_a_target():
    found = [Outcome(0.5, (0.5,), False, (False,))] * 30
    with pytest.raises(ConfigurationError, match=r"threshold\.sentence: null"):
        fit(found, Target("sentence", "fpr", 0.1), threshold=ONLY_PASSAGE)


def test_thresholds_no_target_is_about_stay():
    found = [Outcome(0.7, (0.7,), False, (False,))] * 30
    limits = fit(found, Target("sentence", "fpr", 0.1))
    assert limits == Threshold(passage=0.5, sentence=0.7)


def test_targets_that_exclude_each_other_say_so():
    # The sentences of correct responses score higher than those to be caught.
    found = [Outcome(0.5, (0.9,), False, (False,))] * 30
    found += [Outcome(0.5, (0.4,), True, (True,))] * 30
    with pytest.raises(ConfigurationError, match="a flagged sentence flags its response"):
        fit(found, Target("passage", "fpr", 0.1), Target("sentence", "recall", 0.9))


def test_one_target_for_each_unit():
    with pytest.raises(ConfigurationError, match="one target for responses"):
        fit(passages([0.1] * 30, []), *[Target("passage", "fpr", 0.1)] * 2)


def test_the_decision_counts_and_not_the_passage_score_alone():
    # Every correct response has one sentence that stands out.
    correct = [Outcome(0.1, (0.0, 0.6 + i / 1000), False) for i in range(40)]
    wrong = [Outcome(0.5 + i / 100, (0.5, 0.9 + i / 1000), True) for i in range(40)]
    limits = fit(correct + wrong, Target("passage", "fpr", 0.05))
    assert sum(o.flagged(limits) for o in correct) <= 1
    assert limits.sentence > 0.63
    assert sum(o.flagged(limits) for o in wrong) == 40


@pytest.mark.parametrize("rate", [0.0, 1.0, -0.1, float("nan")])
def test_a_rate_must_be_a_share(rate):
    with pytest.raises(ConfigurationError, match="passage-fpr must be between 0 and 1"):
        Target("passage", "fpr", rate)


@pytest.mark.parametrize("unit_and_kind", [("word", "fpr"), ("passage", "precision")])
def test_there_are_four_targets(unit_and_kind):
    with pytest.raises(ConfigurationError, match="there is no target"):
        Target(*unit_and_kind, 0.1)
