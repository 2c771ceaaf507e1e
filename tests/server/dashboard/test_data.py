"""The same as the pages show, for programs: JSON, and files."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable

import httpx
import pytest

from resay_server.journal import Feedback, Journal
from support.dashboard import asking, make, recent, write
from support.journal import QUESTION, SENTENCE

pytestmark = pytest.mark.anyio


async def test_entries_with_the_filters_of_the_pages(
    client: httpx.AsyncClient, journal: Journal
) -> None:
    await write(journal, *recent(5, model="m"), make(model="other", id="other", request_id="r"))
    await journal.rate(Feedback(entry_id="entry-0", rating="wrong", rater="ann"))
    page = (await client.get("/ui/api/entries?model=m&limit=3")).json()
    assert [one["id"] for one in page["entries"]] == [f"entry-{i}" for i in range(3)]
    assert page["entries"][0]["feedback"][0]["rater"] == "ann"
    assert page["before"] == "entry-2"
    rest = (await client.get("/ui/api/entries?model=m&limit=3&before=entry-2")).json()
    assert ([one["id"] for one in rest["entries"]], rest["before"]) == (
        ["entry-3", "entry-4"],
        None,
    )
    one = await client.get("/ui/api/entries/r")
    assert (one.json()["id"], one.headers["cache-control"]) == ("other", "no-store")


@pytest.mark.parametrize("path", ["/ui?", "/ui/live?", "/ui/api/entries?", "/ui/api/export.csv?"])
async def test_a_page_after_an_entry_that_was_deleted(
    client: httpx.AsyncClient, journal: Journal, path: str
) -> None:
    await write(journal, make())
    answer = await client.get(f"{path}before=gone")
    assert (answer.status_code, "has been deleted" in answer.text) == (404, True)


async def test_figures_with_the_filters_of_the_pages(
    client: httpx.AsyncClient, journal: Journal
) -> None:
    await write(journal, make(model="a"), make("consistent", model="b"))
    told = (await client.get("/ui/api/summary?span=1h&by=model")).json()
    assert told["whole"]["entries"] == 2
    assert [(one["name"], one["decisions"]["flagged"]) for one in told["parts"]] == [
        *(("a", 1), ("b", 0)),
    ]
    assert sum(one["entries"] for one in told["slices"]) == 2
    assert told["frequent"]["reasons"][0]["count"] == 1
    assert (await client.get("/ui/api/summary?tenant=x")).json()["whole"] is None


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("entries?limit=0", 400, "limit must be a number from 1 to 500, not '0'"),
        ("entries?limit=1e9", 400, "not '1e9'"),
        (
            "entries?model=m&decison=flagged",
            400,
            "no parameter 'decison'; there are span, by, model",
        ),
        ("summary?limit=5", 400, "no parameter 'limit'"),
        ("entries?span=x", 400, "span must be one of"),
        ("summary?since=x", 400, "since must be a date"),
        ("entries/nobody", 404, "does not contain"),
        ("export.xls", 404, "jsonl, csv or parquet"),
    ],
)
async def test_nonsense(client: httpx.AsyncClient, path: str, status: int, said: str) -> None:
    answer = await client.get(f"/ui/api/{path}")
    assert answer.status_code == status
    assert said in answer.json()["error"]["message"]


async def test_exports(opened: Callable[..., Journal], monkeypatch: pytest.MonkeyPatch) -> None:
    journal = opened(content="all")
    await write(journal, *recent(600, tenant="=1+1"), make("consistent", id="other"))
    await journal.rate(Feedback(entry_id="entry-599", rating="wrong"))
    async with asking(journal) as client:
        lines = await client.get("/ui/api/export.jsonl?decision=flagged")
        assert lines.headers["content-disposition"] == 'attachment; filename="resay-verdicts.jsonl"'
        entries = [json.loads(line) for line in lines.text.splitlines()]
        assert [one["id"] for one in entries] == [f"entry-{i}" for i in range(600)]
        assert entries[599]["feedback"][0]["rating"] == "wrong"
        table = await client.get("/ui/api/export.csv?decision=flagged&limit=501")
        rows = list(csv.DictReader(io.StringIO(table.text)))
        assert [row["id"] for row in rows] == [f"entry-{i}" for i in range(501)]
        assert (rows[500]["question"], rows[500]["answer"]) == (QUESTION, SENTENCE)
        # No formula for a spreadsheet.
        assert rows[0]["tenant"] == "'=1+1"
        assert (await client.get("/ui/api/export.csv?tenant=x")).text.count("\n") == 1
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        without = await client.get("/ui/api/export.parquet")
        assert without.status_code == 400
        assert "pip install pyarrow" in without.json()["error"]["message"]
