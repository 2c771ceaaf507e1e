from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from resay import ConfigurationError, Passage, Policy, ProviderTimeoutError, Request
from resay.adapters.providers import ReplayProvider
from resay.plugins import Completion, Completions, Evidence, Samples, Scores
from resay.scorers.common.nearest_first import Estimate, NearestFirst, overlaps
from resay.scorers.prompt import Prompt, render
from resay.scorers.stopping import Decisions, Stopping

pytestmark = pytest.mark.anyio

texts = st.lists(st.text("ab c.É1", max_size=30), min_size=1, max_size=6)
unit = st.floats(0, 1, allow_nan=False)
entries = st.lists(st.sampled_from([0.0, 0.5, 1.0, None]), min_size=1, max_size=12)


def rule(
    edges: Sequence[tuple[float, ...]], *, confidence: float = 0.99, least: int = 3, **aim: object
) -> Stopping:
    return Stopping(Decisions(tuple(edges), **aim), confidence, least, 20)


class Asked:
    """Answers by a table of entries, and notes what was asked in which wave."""

    def __init__(self, table: Sequence[Sequence[float | None]]) -> None:
        self.table = table
        self.pairs: list[tuple[int, int]] = []
        self.waves: list[int] = []
        self._open = 0

    async def __call__(self, i: int, n: int) -> float | None:
        if self._open == 0:
            self.waves.append(0)
        self._open += 1
        self.waves[-1] += 1
        self.pairs.append((i, n))
        await anyio.lowlevel.checkpoint()
        self._open -= 1
        return self.table[i][n]

    def of(self, sentence: int) -> list[int]:
        return [n for i, n in self.pairs if i == sentence]


async def run(
    table: Sequence[Sequence[float | None]],
    stopping: Stopping | None,
    *,
    shared: Sequence[Sequence[float]] | None = None,
    estimate: Estimate | None = None,
) -> tuple[NearestFirst, Asked]:
    near = shared or [[0.5] * len(row) for row in table]
    plan = NearestFirst(near, estimate or Estimate(), stopping)
    asked = Asked(table)
    await plan.run(asked)
    return plan, asked


# --- overlaps


@given(texts, texts)
def test_an_overlap_is_a_share_and_follows_its_sample(
    sentences: list[str], samples: list[str]
) -> None:
    found = overlaps(sentences, samples)
    assert [len(row) for row in found] == [len(samples)] * len(sentences)
    assert all(0 <= value <= 1 for row in found for value in row)
    backwards = overlaps(sentences[::-1], samples[::-1])
    assert [row[::-1] for row in backwards[::-1]] == found


def test_a_sample_that_holds_every_word_overlaps_wholly_and_one_with_none_not_at_all() -> None:
    whole, nothing = overlaps(["The bridge opened."], ["It opened: the bridge.", "Something else"])[
        0
    ]
    assert whole == 1
    assert nothing == 0


def test_rare_words_weigh_more() -> None:
    samples = ["the bridge", "the 1932", "the tower", "the lane"]
    common, rare, *_ = overlaps(["the 1932"], samples)[0]
    assert common < 0.5 < rare


def test_without_words_or_samples_nothing_overlaps() -> None:
    assert overlaps(["", "?"], ["one", "two"]) == [[0, 0], [0, 0]]
    assert overlaps(["one"], []) == [[]]
    assert overlaps([], ["one"]) == []


# --- the estimate


def test_without_spread_the_estimate_is_the_logistic_regression() -> None:
    estimate = Estimate(intercept=2, overlap=-3, mean_overlap=-1, spread=0)
    odds = estimate.log_odds([0.2, 0.6])
    assert odds == pytest.approx([2 - 0.6 - 0.4, 2 - 1.8 - 0.4])
    chances = [1 / (1 + math.exp(-o)) for o in odds]
    # What is known changes nothing then.
    for known in ([], [(0.0, 1.0)]):
        total, variance = estimate.expect(known, odds)
        assert total == pytest.approx(sum(chances))
        assert variance == pytest.approx(sum(p * (1 - p) for p in chances))


@given(st.lists(st.floats(-6, 6), min_size=1, max_size=20), st.integers(0, 6), st.floats(0.1, 4))
def test_answers_move_what_is_expected_their_way(odds: list[float], known: int, s: float) -> None:
    estimate = Estimate(spread=s)
    before, _ = estimate.expect([], odds)
    up, variance = estimate.expect([(0.0, 1.0)] * known, odds)
    down, _ = estimate.expect([(0.0, 0.0)] * known, odds)
    assert 0 <= down <= before + 1e-9
    assert before - 1e-9 <= up <= len(odds)
    assert variance >= 0


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), unit, entries)
def test_no_estimate_overflows(
    intercept: float, overlap: float, shared: float, said: list[float | None]
) -> None:
    estimate = Estimate(intercept=intercept, overlap=overlap)
    odds = estimate.log_odds([shared] * len(said))
    known = [(o, x) for o, x in zip(odds, said, strict=True) if x is not None]
    total, variance = estimate.expect(known, odds)
    assert 0 <= total <= len(said) * (1 + 1e-9)
    assert 0 <= variance < math.inf


def test_of_nothing_nothing_is_expected() -> None:
    assert Estimate().log_odds([]) == []
    assert Estimate().expect([(1.0, 1.0)], []) == (0, 0)


@pytest.mark.parametrize("bad", [{"spread": -1}, {"intercept": math.inf}, {"slope": 1}])
def test_an_estimate_must_be_possible(bad: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Estimate.model_validate(bad)


# --- what is asked


@given(st.lists(entries, min_size=1, max_size=4))
async def test_without_a_rule_every_pair_is_asked_and_the_score_is_the_published_mean(
    table: list[list[float | None]],
) -> None:
    count = min(map(len, table))
    rows = [row[:count] for row in table]
    plan, asked = await run(rows, None)
    assert sorted(asked.pairs) == [(i, n) for i in range(len(rows)) for n in range(count)]
    assert asked.waves == [len(rows) * count]
    known = [[entry for entry in row if entry is not None] for row in rows]
    assert plan.scores == [fmean(row) if row else None for row in known]
    assert plan.columns == list(zip(*rows, strict=True))


async def test_the_nearest_are_asked_about_first() -> None:
    shared = [[0.1, 0.9, 0.5, 0.7], [0.8, 0.2, 0.8, 0.1]]
    _, asked = await run([[1.0] * 4] * 2, rule([(0.5,)] * 2, least=2), shared=shared)
    assert asked.of(0)[:2] == [1, 3]
    # As near: the earlier one first.
    assert asked.of(1)[:2] == [0, 2]


async def test_a_sentence_that_is_clear_is_asked_about_no_more_than_the_least() -> None:
    clear, doubtful = [1.0] * 20, [float(n % 2) for n in range(20)]
    shared = [[0.2] * 20] * 2
    plan, asked = await run([clear, doubtful], rule([(0.5,)] * 2), shared=shared)
    assert len(asked.of(0)) == 3
    assert len(asked.of(1)) == 20
    assert plan.scores[1] == 0.5
    assert 0.9 < (plan.scores[0] or 0) < 1


async def test_waves_grow_by_half_of_what_was_asked() -> None:
    halves = [float(n % 2) for n in range(20)]
    _, asked = await run([halves], rule([(0.5,)]))
    assert asked.waves == [3, 2, 3, 4, 6, 2]


async def test_certainty_takes_no_estimate_for_an_answer() -> None:
    _, asked = await run([[1.0] * 20], rule([(0.5,)], confidence=1))
    # After 11 the others may all be 0, and it still lies above.
    assert 11 <= len(asked.pairs) < 20
    _, asked = await run([[0.0] * 20], rule([(0.5,)], confidence=1))
    assert 10 <= len(asked.pairs) < 20


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, None]), min_size=8, max_size=8),
        min_size=1,
        max_size=4,
    ),
    unit,
    st.booleans(),
)
async def test_with_certainty_no_decision_ever_differs(
    table: list[list[float | None]], edge: float, passage: bool
) -> None:
    edges = [() if passage else (edge,)] * len(table)
    aim = rule(edges, confidence=1, least=1, passage=edge if passage else None)
    plan, _ = await run(table, aim)
    everything, _ = await run(table, None)

    def decisions(found: NearestFirst) -> list[bool]:
        scores = [score for score in found.scores if score is not None]
        if passage:
            return [fmean(scores) > edge] if scores else []
        return [score > edge for score in scores]

    # Only failed calls may change how many entries a mean is over, and no decision.
    if passage and any(None in row for row in table):
        return
    if not any(abs(s - edge) < 1e-9 for s in everything.scores if s is not None):
        assert decisions(plan) == decisions(everything)


async def test_a_score_that_may_end_at_the_edge_is_not_above_it() -> None:
    plan, _ = await run([[1.0, 1.0, 0.0, 0.0]], rule([(0.5,)], confidence=1, least=2))
    assert plan.scores == [0.5]


async def test_every_edge_of_a_band_counts() -> None:
    estimate = Estimate(intercept=0, overlap=0, mean_overlap=0, spread=0)
    ones = [1.0] * 20
    _, one = await run([ones], rule([(0.2,)]), estimate=estimate)
    _, both = await run([ones], rule([(0.2, 0.85)]), estimate=estimate)
    assert len(one.pairs) < len(both.pairs)


async def test_a_sentence_on_which_nothing_depends_is_asked_the_least() -> None:
    _, asked = await run([[0.0, 1.0] * 10], rule([()]))
    assert len(asked.pairs) == 3


async def test_failed_calls_are_left_out_and_settle_nothing() -> None:
    row: list[float | None] = [None, None, None, *[1.0] * 17]
    plan, asked = await run([row], rule([(0.5,)]))
    assert len(asked.pairs) > 3
    assert (plan.scores[0] or 0) > 0.9
    assert plan.columns[0] == (None,)
    lost, asked = await run([[None] * 20], rule([(0.5,)]))
    assert len(asked.pairs) == 20
    assert lost.scores == [None]
    assert lost.reason(0) is None


async def test_failed_calls_do_not_make_a_score_seem_certain() -> None:
    # Of 10 entries 6 fail; 2 of the other 4 are 1: with the failures counted as entries, what is
    # left could not lift the score over 0.45, and yet all of them would.
    row: list[float | None] = [*[None] * 6, 1.0, 0.0, 0.0, 1.0]
    shared = [[1 - n / 10 for n in range(10)]]
    plan, _ = await run([row], rule([(0.45,)], confidence=1, least=8), shared=shared)
    assert plan.scores == [0.5]


async def test_fewer_samples_than_the_least_are_all_asked_about() -> None:
    plan, asked = await run([[1.0, 0.0]], rule([(0.5,)], least=5))
    assert len(asked.pairs) == 2
    assert plan.scores == [0.5]
    assert plan.reason(0) == "not supported by 1 of 2 texts compared"


@pytest.mark.parametrize("table", [[], [[]], [[], []]])
async def test_without_sentences_or_samples_nothing_is_asked(table: list[list[float]]) -> None:
    for stopping in (None, rule([(0.5,)] * len(table), passage=0.5)):
        plan, asked = await run(table, stopping)
        assert not asked.pairs
        assert plan.scores == [None] * len(table)


async def test_one_sentence_known_to_be_flagged_is_enough_to_withhold() -> None:
    halves = [float(n % 2) for n in range(20)]
    table = [[1.0] * 20, halves]
    shared = [[0.1] * 20] * 2
    _, everything = await run(table, rule([(0.5,)] * 2), shared=shared)
    _, enough = await run(table, rule([(0.5,)] * 2, one_is_enough=True), shared=shared)
    assert len(everything.of(1)) == 20
    assert len(enough.of(1)) == 3
    # A sentence known not to be flagged withholds nothing.
    _, fine = await run(
        [[0.0] * 20, halves], rule([(0.5,)] * 2, one_is_enough=True), shared=[[0.9] * 20] * 2
    )
    assert len(fine.of(1)) == 20


async def test_a_sentence_that_only_looks_flagged_is_not_enough_to_withhold() -> None:
    coin = Estimate(intercept=0, overlap=0, mean_overlap=0, spread=0)
    row = [1.0, 1.0, 0.0, *[0.0, 1.0] * 8]
    _, asked = await run([row], rule([(0.5,)], one_is_enough=True), estimate=coin)
    assert len(asked.pairs) > 3


async def test_a_passage_known_to_be_flagged_is_enough_to_withhold() -> None:
    halves = [float(n % 2) for n in range(20)]
    aim = rule([(0.5,)], passage=0.1, one_is_enough=True)
    _, asked = await run([halves], aim)
    assert len(asked.pairs) < 20
    _, asked = await run([halves], rule([(0.5,)], passage=0.1))
    assert len(asked.pairs) == 20


async def test_the_passage_is_asked_about_until_it_is_settled() -> None:
    table = [[1.0] * 20, [0.0] * 20]
    shared = [[0.1] * 20, [0.9] * 20]
    # Each sentence is clear, and their mean lies at the edge.
    _, sentences = await run(table, rule([(0.5,)] * 2), shared=shared)
    _, both = await run(table, rule([(0.5,)] * 2, passage=0.5), shared=shared)
    _, far = await run(table, rule([(0.5,)] * 2, passage=0.1), shared=shared)
    assert len(both.pairs) == 40
    assert len(far.pairs) == len(sentences.pairs) < 40


async def test_sentences_settled_before_count_for_the_passage() -> None:
    table, shared = [[1.0, 0.0] * 10], [[0.5] * 20]
    _, alone = await run(table, rule([()], passage=0.5), shared=shared)
    _, together = await run(
        table, rule([()], passage=0.5, settled_scores=(0.0,) * 9), shared=shared
    )
    assert len(alone.pairs) == 20
    assert len(together.pairs) == 3


async def test_a_sentence_of_which_nothing_is_known_yet_keeps_the_passage_open() -> None:
    table: list[list[float | None]] = [[1.0] * 20, [None] * 3 + [0.0] * 17]
    plan, asked = await run(table, rule([(), ()], passage=0.7), shared=[[0.1] * 20] * 2)
    assert len(asked.of(1)) > 3
    assert None not in plan.scores


async def test_a_line_says_how_many_were_estimated() -> None:
    plan, _ = await run([[1.0] * 20], rule([(0.5,)]), shared=[[0.1] * 20])
    assert plan.reason(0) == (
        "not supported by 3 of 3 texts compared; 17 less similar ones estimated"
    )


# --- through the scorer

SENTENCE = "It opened in 1932."
NEAR = [f"It opened in 1932, they say{'!' * n}" for n in range(3)]
FAR = [f"Nobody knows {n}." for n in range(17)]


def judge(answer: str | None = "Yes", far: str | None = "Yes") -> ReplayProvider:
    return ReplayProvider(
        {render(SENTENCE, sample): [answer] for sample in NEAR}
        | {render(SENTENCE, sample): [far] for sample in FAR}
    )


async def score(provider: object, stopping: Stopping | None, **config: object) -> Scores:
    evidence = Evidence(Samples([*FAR, *NEAR]), judge_provider=provider, stopping=stopping)
    scorer = Prompt(
        Prompt.Config.model_validate({"form": "published", "order": "nearest", **config})
    )
    return await scorer.score(Passage.from_sentences([SENTENCE]), evidence)


async def test_the_scorer_asks_about_the_nearest_and_estimates_the_rest() -> None:
    scores = await score(judge("Yes", None), rule([(0.5,)]), estimate={"intercept": -9})
    assert scores.columns == ((None,),) * 17 + ((0.0,),) * 3
    assert not scores.failures
    assert scores.error is None
    assert (scores.sentences[0] or 0) < 0.01
    assert scores.reasons[0] == (
        "supported by 3 of 3 texts compared; 17 less similar ones estimated"
    )


async def test_without_a_rule_the_scorer_is_the_published_one() -> None:
    nearest = await score(judge("Yes", "No"), None)
    evidence = Evidence(Samples([*FAR, *NEAR]), judge_provider=judge("Yes", "No"))
    published = await Prompt(Prompt.Config(form="published")).score(
        Passage.from_sentences([SENTENCE]), evidence
    )
    assert nearest == published


@pytest.mark.parametrize(("said", "score"), [("not_mentioned", 1.0), ("supported", 0.0)])
async def test_silent_samples_count_in_full_with_estimates(said: str, score: float) -> None:
    scores = await score_all(said, None)
    assert scores.sentences == (score,)


async def test_an_estimate_settles_nothing_that_all_answers_speak_against() -> None:
    # By the words alone, no sample supports it; each that is asked does.
    scores = await score_all("supported", rule([(0.5,)]), estimate={"intercept": 9})
    assert scores.sentences[0] is not None
    assert scores.sentences[0] < 0.5


async def score_all(said: str, stopping: Stopping | None, **config: object) -> Scores:
    class Judge:
        async def takes_n(self, request: Request) -> bool:
            return False

        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            return Completions((Completion(f"1: {said}"),))

    return await score(Judge(), stopping, form="claims", **config)


async def test_a_correction_behind_it_sees_all_answers() -> None:
    plain = rule([(0.5,)])
    aim = replace(plain.decisions, correction=lambda row: row)
    scores = await score(judge("Yes", "No"), Stopping(aim, 0.99, 3, 20))
    assert scores.sentences == (17 / 20,)


async def test_calls_that_fail_are_reported_and_most_of_them_decide_nothing() -> None:
    scores = await score(judge(None, "Yes"), rule([(0.5,)]), restate=False)
    assert scores.failures == ("ProviderError",) * 3
    assert scores.sentences[0] is not None
    lost = await score(judge(None, None), rule([(0.5,)]))
    assert lost.sentences == (None,)
    assert lost.error == "20 of 20 comparisons failed (ProviderError x20)"


async def test_unreadable_answers_are_no_evidence() -> None:
    scores = await score(judge("Well", "Hm"), None, restate=False)
    assert scores.sentences == (None,)
    assert scores.undetermined == 20
    assert scores.error == "20 of 20 comparisons could not be read"


class Slow:
    """Answers the first two questions and never the others."""

    def __init__(self) -> None:
        self.asked = 0
        self.waiting = anyio.Event()

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.asked += 1
        if self.asked > 2:
            self.waiting.set()
            await anyio.sleep_forever()
        return Completions((Completion("No"),))


async def test_when_time_is_up_what_was_not_answered_is_estimated() -> None:
    slow, stopping = Slow(), rule([(0.5,)])
    evidence = Evidence(Samples([*FAR, *NEAR]), judge_provider=slow, stopping=stopping)
    scorer = Prompt(Prompt.Config(form="published", order="nearest"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scorer.score, Passage.from_sentences([SENTENCE]), evidence)
        await slow.waiting.wait()
        tasks.cancel_scope.cancel()
    (left,) = evidence.partial_scores
    assert left.reasons == (
        "not supported by 2 of 2 texts compared; 18 less similar ones estimated",
    )
    assert not left.failures


async def test_a_timeout_is_one_lost_call() -> None:
    class Timeout(Slow):
        async def complete(self, request: Request, *, n: int = 1) -> Completions:
            self.asked += 1
            if self.asked == 1:
                raise ProviderTimeoutError("late")
            return Completions((Completion("No"),))

    scores = await score(Timeout(), rule([(0.5,)]))
    assert scores.failures == ("ProviderTimeoutError",)
    assert (scores.sentences[0] or 0) > 0.5


def test_nearest_order_asks_about_pairs_and_draws_all_samples() -> None:
    with pytest.raises(ConfigurationError, match="`order: nearest` works on pairs"):
        Policy.of({"chain": [{"method": "prompt", "order": "nearest", "mode": "per_sample"}]})
    with pytest.raises(ConfigurationError, match="`form: published` works on pairs"):
        Policy.of({"chain": [{"method": "prompt", "form": "published", "mode": "per_sample"}]})
    nearest = Prompt(Prompt.Config(order="nearest"))
    assert nearest.traits.stops
    assert not nearest.traits.adapts
    assert Prompt().traits.adapts
