"""The labels of a journal, as other distributions read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from resay.plugins import open_records
from resay_server.journal import SampledEntry
from support.labelling import rated, recorded, write_journal

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("feedback", "hallucinated", "unlabelled"),
    [
        ([], None, "waiting"),
        ([rated("a", "right")], True, None),
        ([rated("a", "wrong")], False, None),
        ([rated("a", "unsure")], None, "unsure"),
        ([rated("a", "right"), rated("a", "wrong", "ben")], None, "disagreed"),
        # The verdict flags the answer, and a reviewer says that the answer is right.
        ([rated("a", "right", about="answer")], False, None),
        ([rated("a", "right", about="answer", source="api")], None, "waiting"),
        # One made-up claim is enough; a correct one says nothing about the others.
        ([rated("a", "right", claim=0)], True, None),
        ([rated("a", "wrong", claim=0)], None, "unsure"),
        ([rated("a", "right", claim=0), rated("a", "wrong", claim=1)], True, None),
        ([rated("a", "wrong", claim=0), rated("a", "wrong", claim=1)], False, None),
        ([rated("a", "right", claim=0), rated("a", "wrong", "ben", claim=0)], None, "disagreed"),
        ([rated("a", "wrong"), rated("a", "right", claim=0)], None, "disagreed"),
    ],
)
async def test_reviews_make_a_label(
    tmp_path: Path, feedback: Any, hallucinated: bool | None, unlabelled: str | None
) -> None:
    draws = [SampledEntry("a", "uncertainty", 2.5)]
    file = write_journal(tmp_path / "j.db", {"a": recorded(0.9, claims=2)}, feedback, draws)
    (entry,) = (await open_records(file).labels()).verdicts
    assert (entry.hallucinated, entry.unlabelled) == (hallucinated, unlabelled)
    assert (entry.id, entry.policy, entry.verdict.score) == ("a", "default", 0.9)
    assert (entry.drawn, entry.weight) == ("uncertainty", 2.5)


@pytest.mark.parametrize("decision", ["flagged", "consistent", "inconclusive"])
async def test_a_label_of_a_claim_is_about_the_claim_and_not_the_verdict(
    tmp_path: Path, decision: Any
) -> None:
    """Whether the claim is flagged does not matter, unlike for ratings of the verdict on it."""
    verdicts = {name: recorded(0.9, claims=2, decision=decision) for name in ("a", "b")}
    feedback = [
        rated("a", "right", claim=0, about="answer"),
        rated("a", "wrong", claim=1, about="answer"),
        rated("b", "right", claim=0, about="answer"),
        rated("b", "right", claim=1, about="answer"),
    ]
    file = write_journal(tmp_path / "j.db", verdicts, feedback)
    labels = {entry.id: entry for entry in (await open_records(file).labels()).verdicts}
    assert labels["a"].hallucinated is True
    assert labels["b"].hallucinated is False


async def test_ratings_of_verdicts_on_claims_keep_their_meaning(tmp_path: Path) -> None:
    """Earlier versions asked about the verdict: wrong, of a flagged claim, means it is true."""
    verdicts = {name: recorded(0.9, claims=1) for name in ("old", "new")}
    feedback = [
        rated("old", "wrong", claim=0),
        rated("new", "wrong", claim=0, about="answer"),
    ]
    file = write_journal(tmp_path / "j.db", verdicts, feedback)
    labels = {entry.id: entry for entry in (await open_records(file).labels()).verdicts}
    assert labels["old"].hallucinated is False
    assert labels["new"].hallucinated is True


async def test_without_a_decision_nothing_is_right_or_wrong(tmp_path: Path) -> None:
    verdicts = {"a": recorded(0.9, decision="inconclusive")}
    file = write_journal(tmp_path / "j.db", verdicts, [rated("a", "right")])
    (entry,) = (await open_records(file).labels()).verdicts
    assert (entry.unlabelled, entry.drawn) == ("undecided", None)


async def test_end_users_thumbs_are_counted_but_not_read(tmp_path: Path) -> None:
    verdicts = {name: recorded(0.9) for name in "abc"}
    thumbs = [rated(name, "wrong", about="answer", source="api") for name in "ab"]
    file = write_journal(tmp_path / "j.db", verdicts, [*thumbs, rated("c", "right")])
    labels = await open_records(file).labels()
    assert ([entry.id for entry in labels.verdicts], labels.thumbs) == (["c"], 2)
    others = await open_records(file).labels(raters=["nobody"])
    assert (others.verdicts, others.thumbs) == ((), 0)


async def test_the_newest_verdicts_come_first(tmp_path: Path) -> None:
    verdicts = {f"e{i}": recorded(i / 1000) for i in range(600)}
    records = open_records(write_journal(tmp_path / "j.db", verdicts))
    assert records.name == "j.db"
    assert [verdict.score for verdict in await records.recent(2)] == [0.599, 0.598]
    # More than one page.
    assert len(await records.recent(1000)) == 600
