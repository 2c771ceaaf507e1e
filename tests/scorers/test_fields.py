"""How far the fields of objects agree."""

from __future__ import annotations

from typing import Any

import pytest

from resay import Contradiction
from resay.core.verdict import Scores
from resay.scorers.evidence import Evidence, Samples
from resay.scorers.structured import Fields, passage_of, rendered

pytestmark = pytest.mark.anyio

SIX, SEVEN = "a bridge of stone and steel", "a bridge made of stone and steel"


async def compared(value: Any, *others: Any, ignore: tuple[str, ...] = ()) -> Scores:
    scorer = Fields(Fields.Config(ignore=ignore))
    return await scorer.score(passage_of(value), Evidence(Samples([rendered(o) for o in others])))


@pytest.mark.parametrize(
    ("value", "other", "entry"),
    [
        (SIX, SIX.title(), 0.0),
        # Few words agree or do not; of more, those that are missing count.
        (SIX, SIX.replace("steel", "wood"), 1.0),
        (SEVEN, SEVEN.replace("steel", "wood"), 1 / 7),
        (SEVEN, "stone stone", 6 / 7),
        (SEVEN, "wood", 1.0),
        (f"{SEVEN} stone", SEVEN, 1 / 8),
        (0.1 + 0.2, 0.3, 0.0),
        (3, 4, 1.0),
        (3, "3", 0.0),
        ("3", 3, 0.0),
        pytest.param(10**400, 10**400, 0.0, id="no float holds it"),
        pytest.param(10**400, -(10**400), 1.0, id="nor its opposite"),
        (True, True, 0.0),
        (True, False, 1.0),
        (True, 1, 1.0),
        (1, True, 1.0),
        (False, None, 1.0),
        (None, None, 0.0),
        (None, "x", 1.0),
        ("", None, 0.0),
        ([], None, 0.0),
        ("x", None, 1.0),
        ("x", ["x"], 1.0),
        ([1], [1, 2], 0.0),
        ([2], [1, 2], 0.0),
        ([None], ["x", None], 0.0),
    ],
)
async def test_two_values_agree_or_not(value: Any, other: Any, entry: float) -> None:
    scores = await compared({"at": value}, {"at": other})
    assert scores.sentences == (pytest.approx(entry),)


async def test_what_stands_anywhere_in_a_list_is_supported() -> None:
    numbers = [n / 10 for n in range(20)]
    scores = await compared({"at": [0.3, 5, "x", None]}, {"at": [*numbers, "x", "y"]})
    assert scores.sentences == (0.0, 1.0, 0.0, 1.0)
    # Each list is its own, and one value is as good as a list of it.
    scores = await compared({"at": ["x"], "by": ["y"]}, {"at": "x", "by": ["x"], "of": "y"})
    assert scores.sentences == (0.0, 1.0)
    near, far = SEVEN.replace("steel", "wood"), SEVEN.replace("stone and", "wood or")
    for texts in ([near, far], [*[far] * 200, near]):
        scores = await compared({"at": [SEVEN]}, {"at": texts})
        assert scores.sentences == (pytest.approx(1 / 7),)


@pytest.mark.parametrize(
    ("value", "other", "entry"),
    [
        (None, {}, 0.0),
        ("x", {}, 1.0),
        (None, {"at": {"city": "x"}}, 1.0),
        (None, {"a": 1, "at": ["x"], "z": 2}, 1.0),
        (None, {"attic": "x", "zed": 1}, 0.0),
        (None, {"a": 1}, 0.0),
    ],
)
async def test_leaving_out_is_the_same_as_nothing(value: Any, other: Any, entry: float) -> None:
    assert (await compared({"at": value}, other)).sentences == (entry,)


async def test_what_is_ignored_has_no_score() -> None:
    value = {"at": {"city": "x"}, "attic": "x", "rows": [{"sku": 1, "n": 1}]}
    scores = await compared(value, {}, ignore=("at", "rows[].sku"))
    assert scores.sentences == (None, 1.0, None, 1.0)


async def test_the_first_sample_that_says_otherwise_is_quoted() -> None:
    samples = Samples([rendered({"at": v} if v else {"b": 1}) for v in ("x", None, "y", "z")])
    evidence = Evidence(samples)
    await samples.all()
    scorer = Fields(Fields.Config())

    async def quoted(*scores: float | None) -> Contradiction | None:
        return await scorer.contradiction('at: "x"', evidence, scores)

    assert await quoted(0.0, 1.0, 1.0, 1.0) == Contradiction("sample", 2, 'at: "y"')
    assert await quoted(0.0, 1.0, 0.0, 0.5) == Contradiction("sample", 3, 'at: "z"')
    assert await quoted(0.0, 1.0, None, 0.0) is None
