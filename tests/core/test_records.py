"""Recorded verdicts that another distribution holds."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest

from resay import MissingDependencyError
from resay.plugins import RecordedVerdict, open_records
from support.installed import installed

CODE = """
from resay import Verdict
from resay.plugins import RecordedLabels, RecordedVerdict

class Records:
    def __init__(self, address):
        self.name = address

    async def recent(self, limit):
        return [Verdict("consistent", 0.1, "recorded", ())] * limit

    async def labels(self, raters=()):
        verdict = (await self.recent(1))[0]
        recorded = RecordedVerdict(id="a", policy="p", verdict=verdict, hallucinated=True)
        return RecordedLabels(verdicts=(recorded,), thumbs=2)
"""


@pytest.mark.anyio
async def test_a_distribution_that_records_verdicts_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def others(group: str) -> list[EntryPoint]:
        points = entry_points(group=group)
        return [point for point in points if point.dist and point.dist.name != "resay-server"]

    monkeypatch.setattr("resay._internal.entry_points.entry_points", others)
    points = {"resay.records": "journal = recorder:Records"}
    with installed(tmp_path, CODE, points, name="recorder"):
        records = open_records("somewhere")
        assert records.name == "somewhere"
        assert len(await records.recent(3)) == 3
        labels = await records.labels()
    (recorded,) = labels.verdicts
    assert isinstance(recorded, RecordedVerdict)
    assert (recorded.hallucinated, recorded.drawn, recorded.weight) == (True, None, 1.0)
    assert labels.thumbs == 2


def test_without_a_distribution_that_reads_journals_the_message_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("resay.core.records.installed_names", lambda group: ())
    with pytest.raises(MissingDependencyError, match=r"'resay-server'.*'resay\[server\]'"):
        open_records("journal.db")
