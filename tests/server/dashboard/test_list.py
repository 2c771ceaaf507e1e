"""The list of verdicts: what is in it, what is left out, and how it stays new."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from resay import Usage
from resay_server.journal import Journal
from support.dashboard import asking, cells, make, recent, shown, write
from support.html import Element
from support.journal import QUESTION, SENTENCE

pytestmark = pytest.mark.anyio

HEADS = ["Time", "Decision", "Score", "Flagged", "Action"]
HEADS += ["Model", "Policy", "Tenant", "Latency", "Cost"]


def whens(page: Element) -> list[str]:
    return [link.attributes["href"] or "" for link in page.one("table", "log").all("a")]


def ids(page: Element) -> list[str]:
    return [href.partition("?")[0].rpartition("/")[2] for href in whens(page)]


def link(page: Element, text: str) -> str:
    (found,) = [e for e in page.all("a") if e.text == text]
    return found.attributes["href"] or ""


async def test_a_row_says_what_was_found(client: httpx.AsyncClient, journal: Journal) -> None:
    at = time.time()
    await write(journal, make(time=at, model="m-1", policy="strict", tenant="acme"))
    heads, row = cells(await shown(client))
    assert heads == HEADS
    assert row[0].endswith(time.strftime("%H:%M:%S", time.gmtime(at)))
    assert row[1:] == [
        *("!flagged", "score 0.75", "1 of 1", "annotated", "m-1", "strict", "acme"),
        *("2.00 s", "$0.0400"),
    ]


@pytest.mark.parametrize(
    ("usage", "check", "cost"),
    [
        (Usage(1, cost_usd=None), Usage(1, cost_usd=0.5), "unknown"),
        (Usage(1, cost_usd=0.5), Usage(1, cost_usd=None), "unknown"),
        (Usage(1, cost_usd=0.0), Usage(1, cost_usd=0.0), "$0"),
        (Usage(1, cost_usd=1e-6), Usage(), "under $0.0001"),
        (Usage(1, cost_usd=1500.0), Usage(), "$1,500.00"),
    ],
)
async def test_a_cost_that_is_not_known_is_never_nothing(
    client: httpx.AsyncClient, journal: Journal, usage: Usage, check: Usage, cost: str
) -> None:
    await write(journal, make(usage=usage, check_usage=check))
    assert cells(await shown(client))[1][-1] == cost


async def test_the_newest_come_first(client: httpx.AsyncClient, journal: Journal) -> None:
    await write(journal, *reversed(recent(3)))
    assert ids(await shown(client)) == ["entry-0", "entry-1", "entry-2"]


@pytest.mark.parametrize(
    ("query", "seen"),
    [
        ("model=a", ["entry-0"]),
        ("policy=strict", ["entry-1"]),
        ("decision=consistent", ["entry-2"]),
        ("tenant=acme", ["entry-3"]),
        ("request=r-1", ["entry-1"]),
        ("sort=score", ["entry-3", "entry-2", "entry-0", "entry-1"]),
        ("since=1h", [f"entry-{i}" for i in range(4)]),
        ("model=m&tenant=acme", ["entry-3"]),
        ("model=&policy=&decision=&tenant=", [f"entry-{i}" for i in range(4)]),
    ],
)
async def test_filters(
    client: httpx.AsyncClient, journal: Journal, query: str, seen: list[str]
) -> None:
    now = time.time()
    usual = {"model": "m", "policy": "default"}
    await write(
        journal,
        make(id="entry-0", time=now - 1, **usual | {"model": "a"}),
        make(
            id="entry-1", time=now - 2, score=None, request_id="r-1", **usual | {"policy": "strict"}
        ),
        make("consistent", id="entry-2", time=now - 3, score=0.8, **usual),
        make(id="entry-3", time=now - 4, tenant="acme", score=0.9, **usual),
    )
    assert ids(await shown(client, f"/ui?{query}")) == seen


async def test_the_form_keeps_what_was_chosen(client: httpx.AsyncClient, journal: Journal) -> None:
    await write(journal, make(model='a "quoted" one', tenant="acme"))
    query = {"model": 'a "quoted" one', "decision": "flagged", "span": "7d", "by": "tenant"}
    page = await shown(client, f"/ui?{httpx.QueryParams(query)}")
    form = page.one("form")
    given = {
        e.attributes["name"]: e.attributes["value"]
        for e in form.all("input")
        if e.attributes.get("value")
    }
    (chosen,) = [e for e in form.all("option") if "selected" in e.attributes]
    assert given | {"decision": chosen.text} == query
    assert (form.attributes["method"], form.attributes["action"]) == ("get", "/ui")
    # Names that were seen are proposed.
    assert [e.attributes["value"] for e in form.all("datalist")[2].all("option")] == ["acme"]
    labels = {e.attributes["for"] for e in form.all("label")}
    assert labels == {
        e.attributes["id"]
        for e in [*form.all("input"), *form.all("select")]
        if "id" in e.attributes
    }


async def test_words_of_questions_and_answers(opened: Callable[..., Journal]) -> None:
    journal = opened(content="flagged")
    await write(journal, make(id="a", time=1.0), make("consistent", id="b", time=2.0))
    async with asking(journal) as client:
        page = await shown(client)
        heads, first, second = cells(page)
        assert heads == [*HEADS, "Question and answer"]
        assert (first[-1], second[-1]) == ("not stored", f"{QUESTION}{SENTENCE}")
        # What is left out in a small window leaves the others in their columns.
        places = [e.attributes["aria-colindex"] for e in page.one("table", "log").all("td")]
        assert places[:10] == [str(i) for i in range(2, 12)]
        assert ids(await shown(client, f"/ui?words={SENTENCE}")) == ["a"]
        assert "No matching verdicts." in (await shown(client, "/ui?words=else")).text


async def test_another_order_goes_on_where_it_ended(
    client: httpx.AsyncClient, journal: Journal
) -> None:
    await write(journal, *recent(70), make(id="top", score=1.0, time=time.time() - 50))
    page = await shown(client, "/ui?sort=score&span=1h")
    seen = ids(page)
    assert seen[0] == "top"
    assert not page.all("div", "live")
    seen += ids(await shown(client, link(page, "More →").partition("#")[0]))
    assert sorted(seen) == sorted([*(f"entry-{i}" for i in range(70)), "top"])


async def test_views_and_exports_are_addresses(client: httpx.AsyncClient, journal: Journal) -> None:
    await write(journal, make())
    page = await shown(client, "/ui?decision=flagged&span=7d")
    views, exports = page.all("nav")[-2:]
    (here,) = [e.text for e in views.all("a") if "aria-current" in e.attributes]
    assert here == "Flagged"
    assert [e.attributes["href"] for e in exports.all("a")] == [
        f"/ui/api/export.{kind}?span=7d&decision=flagged" for kind in ("jsonl", "csv", "parquet")
    ]


async def test_older_ones_are_on_further_pages(client: httpx.AsyncClient, journal: Journal) -> None:
    await write(journal, *recent(120, model="m"))
    page = await shown(client, "/ui?model=m")
    assert "data-list" in page.one("div", "live").attributes
    seen = ids(page)
    assert len(seen) == 50
    while any(e.text == "Older →" for e in page.all("a")):
        page = await shown(client, link(page, "Older →").partition("#")[0])
        seen += ids(page)
        # What is old does not change.
        assert not page.all("div", "live")
    assert seen == [f"entry-{i}" for i in range(120)]
    assert link(page, "← Newest") == "/ui?model=m"


async def test_there_is_no_page_after_the_last(client: httpx.AsyncClient, journal: Journal) -> None:
    await write(journal, *recent(2))
    page = await shown(client, "/ui?before=entry-1")
    assert page.one("p", "empty").text == "There are no older verdicts."


async def test_a_newcomer_is_told_what_to_do(client: httpx.AsyncClient) -> None:
    page = await shown(client)
    told = page.one("div", "empty").text
    assert "base URL" in told
    assert "Guard(sinks=[JournalSink(open_journal())])" in told
    assert "No answers were checked in this span" in page.text


async def test_nothing_that_is_like_that(client: httpx.AsyncClient, journal: Journal) -> None:
    await write(journal, make())
    page = await shown(client, "/ui?model=other&span=7d")
    assert "No matching verdicts." in page.text
    assert link(page, "Show all") == "/ui?span=7d"


async def test_what_was_lost_is_said(opened: Callable[..., Journal], tmp_path: Path) -> None:
    journal = opened(max_waiting=1)
    async with asking(journal) as client:
        assert "could not be written" not in (await shown(client)).text
        # Somebody else writes, so the first one waits, and there is no room for the second.
        with closing(sqlite3.connect(tmp_path / "journal.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert [await journal.append(make()) for _ in range(2)] == [True, False]
            other.execute("ROLLBACK")
        await journal.flush()
        assert "1 entry could not be written" in (await shown(client)).one("p", "notice").text


# --- what is fetched while somebody looks ---------------------------------------------------------


async def test_the_part_that_is_fetched_is_that_of_the_page(
    client: httpx.AsyncClient, journal: Journal
) -> None:
    await write(journal, *recent(3, tenant="acme"))
    page = await shown(client, "/ui?tenant=acme")
    url = page.one("div", "live").attributes["data-list"] or ""
    part = await shown(client, url)
    assert [e.attributes.get("id") for e in part.children if isinstance(e, Element)] == ["list"]
    assert whens(part) == whens(page)


async def test_what_is_known_is_not_sent_again(client: httpx.AsyncClient, journal: Journal) -> None:
    await write(journal, *recent(2))
    first = await client.get("/ui/live")
    known = {"if-none-match": first.headers["etag"]}
    second = await client.get("/ui/live", headers=known)
    assert (second.status_code, second.content) == (304, b"")
    await write(journal, make(id="late", time=time.time() - 1.5))
    third = await client.get("/ui/live", headers=known)
    assert third.status_code == 200
    assert "late" in third.text


async def test_the_list_asks_for_no_figures(
    client: httpx.AsyncClient, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []
    summary = journal.summary

    async def counting(since: float, *rest: object, **filters: object) -> object:
        asked.append(since)
        return await summary(since, *rest, **filters)  # type: ignore[arg-type] - passed on

    monkeypatch.setattr(journal, "summary", counting)
    await write(journal, *recent(2))
    await shown(client)
    once = len(asked)
    assert once >= 2
    for _ in range(3):
        await shown(client, "/ui/live")
        await shown(client)
        await shown(client, "/ui/figures")
    assert len(asked) == once
    await shown(client, "/ui?span=1h")
    assert len(asked) == 2 * once
