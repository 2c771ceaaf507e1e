"""What is made of columns, whatever method they come from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import anyio
import pytest

from resay import Passage
from resay.plugins import (
    Column,
    Evidence,
    Sample,
    Samples,
    SampleScorer,
    ScorerConfig,
    Scores,
    Step,
)
from resay.scorers.common.comparing import inconclusive_reason
from resay.scorers.stopping import Decisions, Stopping

pytestmark = pytest.mark.anyio

SENTENCES = ["One.", "Two."]


class FixedColumns(SampleScorer):
    """Returns fixed columns, one for each sample, and records the sentences it compared."""

    name: ClassVar[str] = "fixed"

    def __init__(self, *columns: Column | None) -> None:
        self.columns = columns
        self.compared: list[tuple[str, ...]] = []

    async def compare(self, passage: Passage, sample: Sample, evidence: Evidence) -> Column:
        indexes = [SENTENCES.index(sentence.text) for sentence in passage.sentences]
        self.compared.append(tuple(SENTENCES[i] for i in indexes))
        column = self.columns[sample.index]
        if column is None:
            await anyio.sleep_forever()
            raise AssertionError

        def selected(row: Sequence[float | None]) -> tuple[float | None, ...]:
            return tuple(row[i] for i in indexes) if row else ()

        return Column(
            selected(column.scores),
            column.failures,
            column.undetermined,
            selected(column.raw),
            column.passage,
            tuple(column.silent[i] for i in indexes) if column.silent else (),
            tuple(column.denied[i] for i in indexes) if column.denied else (),
        )


class FixedDocumentColumns(FixedColumns):
    """Takes the fixed columns for those of documents."""

    @property
    def any_of(self) -> bool:
        return True


async def scored(scorer: FixedColumns, rule: Stopping | None = None) -> Scores:
    samples = Samples([f"Sample {i}." for i in range(len(scorer.columns))])
    return await scorer.score(Passage.from_sentences(SENTENCES), Evidence(samples, stopping=rule))


async def test_a_score_is_the_mean_of_the_entries_there_are() -> None:
    scorer = FixedColumns(
        Column((0.2, None), ("E",), 1, passage=0.4), Column((0.5, 0.9), ("F",), 2)
    )
    scores = await scored(scorer)
    assert scores.sentences == (pytest.approx(0.35), 0.9)
    assert scores.passage == 0.4
    assert (scores.failures, scores.undetermined) == (("E", "F"), 3)
    assert scores.columns == ((0.2, None), (0.5, 0.9))
    # Half is neither for nor against.
    assert scores.reasons == (
        "supported by 1 of 2 texts compared",
        "not supported by 1 of 1 texts compared",
    )
    more = await scored(FixedColumns(Column((0.6, None))))
    assert more.reasons == ("not supported by 1 of 1 texts compared", None)


async def test_a_mean_of_unbounded_entries_is_clipped_once() -> None:
    scorer = FixedColumns(
        Column((1.0, 0.0), raw=(1.5, -0.5)),
        Column((0.3, 0.0), raw=(0.3, -0.1)),
        Column((None,) * 2),
    )
    scores = await scored(scorer)
    # The last sample says nothing.
    assert scores.raw == pytest.approx((0.9, -0.3))
    assert scores.sentences == (pytest.approx(0.9), 0.0)
    over = await scored(FixedColumns(Column((1.0, 1.0), raw=(1.5, 1.25))))
    assert (over.raw, over.sentences) == ((1.5, 1.25), (1.0, 1.0))
    without = await scored(FixedColumns(Column((1.0, 0.4), raw=(1.5, None))))
    assert (without.raw, without.sentences) == ((), (1.0, 0.4))


async def test_of_documents_the_one_that_supports_best_counts() -> None:
    scorer = FixedDocumentColumns(
        Column((1.0, 0.2), raw=(1.5, 0.2), passage=0.6),
        Column((0.0, 0.8), raw=(-0.5, 0.8), passage=0.4),
    )
    scores = await scored(scorer)
    assert (scores.raw, scores.sentences) == ((-0.5, 0.2), (0.0, 0.2))
    assert scores.passage == 0.4
    assert scores.reasons == ("supported by 1 of 2 texts compared",) * 2
    scorer = FixedDocumentColumns(Column((None, 0.2), silent=(False, True)), Column((0.4, 0.8)))
    assert (await scored(scorer)).sentences == (0.4, 0.8)


async def test_one_sample_that_says_something_else_is_enough_to_deny() -> None:
    scorer = FixedColumns(
        Column((1.0, 1.0), denied=(False, False)),
        Column((1.0, 1.0), denied=(True, False)),
        Column((1.0, 1.0)),
    )
    assert (await scored(scorer)).denied == (True, False)


async def test_a_sentence_that_a_further_sample_denies_is_denied() -> None:
    """Further samples are compared with the open sentence alone."""
    entries = [(0.0, 1.0), (0.0, 0.0), (0.0, 1.0), (0.0, 0.0), (0.0, 1.0)]
    scorer = FixedColumns(
        *(Column(row, denied=(False, i == 4 and row[1] > 0)) for i, row in enumerate(entries))
    )
    scores = await scored(scorer, rule())
    assert ("Two.",) in scorer.compared
    assert scores.denied == (False, True)


async def test_an_entry_over_one_half_is_no_support() -> None:
    scores = await scored(FixedDocumentColumns(Column((0.6, 0.5)), Column((0.2, 0.2))))
    assert scores.reasons == (
        "supported by 1 of 2 texts compared",
        "supported by 2 of 2 texts compared",
    )


def rule(least: int = 3, of: int = 5) -> Stopping:
    """Stops where no further entry in [0, 1] could change anything."""
    return Stopping(Decisions(((0.5,), (0.5,))), 1.0, least, of)


async def test_only_what_is_open_is_compared_with_further_samples() -> None:
    scorer = FixedColumns(
        *[Column((0.0, float(i % 2)), passage=0.3, silent=(False, i == 3)) for i in range(5)]
    )
    scores = await scored(scorer, rule())
    assert scorer.compared == [("One.", "Two.")] * 3 + [("Two.",)] * 2
    assert scores.sentences == (0.0, pytest.approx(0.4))
    assert scores.columns[3:] == ((None, 1.0), (None, 0.0))
    assert scores.silent == ((), (3,))
    assert scores.error is None
    settled = FixedColumns(*[Column((0.0, 1.0))] * 5)
    await scored(settled, rule())
    assert len(settled.compared) == 3


@pytest.mark.parametrize("first", [0, 2])
async def test_unbounded_entries_can_change_everything(first: int) -> None:
    columns = [Column((0.0, 0.0))] * 5
    columns[first] = Column((0.0, 0.0), raw=(-0.1, -0.1))
    scorer = FixedColumns(*columns)
    await scored(scorer, rule())
    assert len(scorer.compared) == 5


async def test_without_a_rule_all_are_compared() -> None:
    scorer = FixedColumns(*[Column((0.0, 0.0))] * 5)
    await scored(scorer)
    assert len(scorer.compared) == 5


def test_a_method_that_compares_may_look_at_sentences_as_they_come_and_stop() -> None:
    step = Step(ScorerConfig(), FixedColumns())
    assert (step.needs_whole_passage, step.stops, step.adapts) == (False, True, True)


HALF: list[Any] = [[None, 0.0], [None, 1.0]]


@pytest.mark.parametrize(
    ("rows", "failures", "undetermined", "reason"),
    [
        (HALF, ("E", "E"), 2, None),
        ([[None, None], [None, 1.0]], ("E",) * 3, 0, "3 of 4 comparisons failed (E x3)"),
        ([[None, None], [None, 1.0]], (), 0, None),
        ([[0.5, 0.5], [0.5, 1.0]], (), 3, "3 of 4 comparisons could not be read"),
        ([], (), 0, None),
    ],
)
def test_with_more_than_half_of_them_lost_comparisons_decide_nothing(
    rows: list[list[float | None]], failures: tuple[str, ...], undetermined: int, reason: str | None
) -> None:
    assert inconclusive_reason(rows, failures, undetermined) == reason


async def test_entries_not_compared_say_nothing_about_bounds() -> None:
    scorer = FixedColumns(*[Column((0.0, float(i == 0))) for i in range(7)])
    await scored(scorer, rule(least=4, of=7))
    # After six, one of seven is the most the second can have.
    assert scorer.compared == [("One.", "Two.")] * 4 + [("Two.",)] * 2


@pytest.mark.parametrize("averaging", [0.0, math.inf])
async def test_comparisons_before_the_deadline_are_kept(
    averaging: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Also where it is averaged in another thread, as of a long passage.
    monkeypatch.setattr("resay.scorers.common.comparing._AVERAGING", averaging)
    scorer = FixedColumns(Column((0.2, 0.4)), Column((0.4, 0.4)), None)
    evidence = Evidence(Samples(["A.", "B.", "C."]))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scorer.score, Passage.from_sentences(SENTENCES), evidence)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    (partial,) = evidence.partial_scores
    assert partial.sentences == pytest.approx((0.3, 0.4))
