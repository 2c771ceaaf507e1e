"""Figures, charts and the tables behind them."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx
import pytest

from resay import Usage
from resay_server.journal import Journal
from support.dashboard import asking, make, shown, tiles, write
from support.html import Element
from support.journal import SENTENCE

pytestmark = pytest.mark.anyio

UNPRICED = Usage(1, cost_usd=None)
UNSURE = "checks: unknown; no price for 1 of 1"


def rows(figure: Element) -> list[list[str]]:
    return [
        [cell.text for cell in row.children if isinstance(cell, Element)]
        for row in figure.one("table").all("tr")
    ]


def parts(page: Element) -> list[list[str]]:
    return rows(page.one("section", "parts"))


async def some(journal: Journal) -> None:
    await write(
        journal,
        make(latency_s=1.0, check_s=0.1, model="a"),
        make("consistent", latency_s=2.0, check_s=0.2, action="allow", model="a"),
        make("consistent", latency_s=3.0, check_s=0.3, action="regenerate", model="b"),
        make("inconclusive", latency_s=40.0, check_s=1.4, action="block", model="a"),
        make("skipped", latency_s=0.5, check_s=0.0, action="allow", model="a"),
    )


async def test_the_figures_of_a_span(client: httpx.AsyncClient, journal: Journal) -> None:
    await some(journal)
    assert tiles(await shown(client)) == {
        "Answers": ("5", "4 checked, 1 skipped"),
        "Flagged": ("25%", "1 of 4 checked"),
        "No decision": ("40%", "1 inconclusive, 1 skipped"),
        "Blocked": ("20%", "1 of 5 answers"),
        "Regenerated": ("20%", "1 of 5 answers"),
        "Latency": ("2.00 s", "median; p95 40.0 s"),
        "Check time": ("200 ms", "median; p95 1.40 s"),
        "Cost": ("$0.2000", "checks: 25%"),
    }


@pytest.mark.parametrize(
    ("main", "check", "cost", "of_checks", "share", "note"),
    [
        (None, None, "unknown", "unknown", "unknown", UNSURE),
        (0.03, None, "at least $0.0300", "unknown", "unknown", UNSURE),
        (None, 0.01, "at least $0.0100", "at least $0.0100", "unknown", UNSURE),
        (0.0, 0.0, "$0", "$0", "–", "nothing was charged"),
        (0.0, 0.01, "$0.0100", "$0.0100", "100%", "checks: 100%"),
        (0.03, 0.0, "$0.0300", "$0", "0.0%", "checks: 0.0%"),
    ],
)
async def test_unknown_prices_are_no_zeros(
    client: httpx.AsyncClient,
    journal: Journal,
    main: float | None,
    check: float | None,
    cost: str,
    of_checks: str,
    share: str,
    note: str,
) -> None:
    used, checked = Usage(1, cost_usd=main), Usage(1, cost_usd=check)
    await write(journal, make(usage=used, check_usage=checked))
    page = await shown(client)
    figure = page.all("figure")[2]
    assert tiles(page)["Cost"] == (cost, note)
    assert parts(page)[1][-2:] == [cost, share]
    missing = None in (main, check)
    assert rows(figure)[1][1:] == ["1", cost, of_checks, "1" if missing else "0"]
    assert [e.text for e in figure.one("svg", "chart").all("text", "unsure")] == ["?"] * missing
    drawn = {e.classes[0] for e in figure.one("svg", "chart").all("rect")} - {"hit"}
    assert drawn == {kind for kind, usd in (("main", main), ("check", check)) if usd}


async def test_prices_of_which_a_part_is_known(client: httpx.AsyncClient, journal: Journal) -> None:
    await write(journal, make(), make(usage=UNPRICED))
    cost, note = tiles(await shown(client))["Cost"]
    assert cost == "at least $0.0500"
    assert note == "checks: 40% of known; no price for 1 of 2"


@pytest.mark.parametrize(
    ("span", "ago", "counted"),
    [
        *(("1h", 3000, "1"), ("1h", 3700, None), ("24h", 80_000, "1"), ("24h", 90_000, None)),
        *(("7d", 580_000, "1"), ("7d", 610_000, None)),
        *(("30d", 2_500_000, "1"), ("30d", 2_600_000, None)),
    ],
)
async def test_a_span_goes_so_far_back(
    client: httpx.AsyncClient, journal: Journal, span: str, ago: float, counted: str | None
) -> None:
    await write(journal, make(time=time.time() - ago))
    page = await shown(client, f"/ui?span={span}")
    seen = tiles(page)["Answers"][0] if page.all("dl", "tiles") else None
    assert seen == counted
    (current,) = [e for e in page.all("nav")[0].all("a") if "aria-current" in e.attributes]
    assert current.attributes["href"] in {f"/ui?span={span}", "/ui"}


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("model", ["a", "b"]),
        ("policy", ["default"]),
        ("tenant", ["none"]),
        ("api", ["check"]),
    ],
)
async def test_what_is_told_apart(
    client: httpx.AsyncClient, journal: Journal, by: str, names: list[str]
) -> None:
    await some(journal)
    page = await shown(client, f"/ui?by={by}")
    table = parts(page)
    assert [row[0] for row in table[1:]] == names
    if by == "model":
        assert table[1][2:7] == ["4", "33%", "33%", "25%", "0.0%"]
        trend = page.one("section", "parts").all("svg", "trend")[0].attributes["aria-label"] or ""
        assert trend.startswith("Flag rate of a: from ")
        assert table[2] == [
            *("b", "", "1", "0.0%", "0.0%", "0.0%", "100%"),
            *("3.00 s", "3.00 s", "300 ms", "300 ms", "$0.0400", "25%"),
        ]


async def test_a_part_leads_to_its_verdicts(client: httpx.AsyncClient, journal: Journal) -> None:
    await write(journal, make(model="a&b=c"))
    page = await shown(client, "/ui?span=1h")
    (link,) = page.one("section", "parts").one("tbody").all("a")
    assert link.attributes["href"] == "/ui?span=1h&model=a%26b%3Dc#verdicts"


async def test_filters_move_the_figures(client: httpx.AsyncClient, journal: Journal) -> None:
    await some(journal)
    page = await shown(client, "/ui?model=a&decision=consistent")
    assert tiles(page)["Answers"] == ("1", "1 checked, 0 skipped")
    assert [row[1] for row in rows(page.all("figure")[0])[1:]] == ["1"]
    assert "No answers match the filters" in (await shown(client, "/ui?tenant=nobody")).text


async def test_a_time_of_ones_own(client: httpx.AsyncClient, journal: Journal) -> None:
    day = 1_700_006_400
    await write(journal, *(make(time=day + 3600.0 * i, id=f"e-{i}") for i in (0, 5, 30)))
    page = await shown(client, "/ui?since=2023-11-15&until=2023-11-16T00:00")
    assert tiles(page)["Answers"][0] == "2"
    assert page.one("p", "range").text == "15 Nov 2023, 00:00:00 to 16 Nov 2023, 00:00:00"
    assert len(page.one("table", "log").all("tr")) == 3
    assert len(page.all("figure")[0].one("svg", "chart").all("text", "x")) in range(3, 9)
    given = {e.attributes["name"]: e.attributes.get("value") for e in page.one("form").all("input")}
    assert (given["since"], given["until"]) == ("2023-11-15", "2023-11-16T00:00")
    # No span of the list of spans is the one that is shown, and each leads back.
    spans = page.all("nav")[0].all("a")
    assert not [e for e in spans if "aria-current" in e.attributes]
    assert spans[0].attributes["href"] == "/ui?span=1h"
    # Years are shown, too.
    assert tiles(await shown(client, "/ui?since=2001-01-01"))["Answers"][0] == "3"


async def test_what_is_frequent(opened: Callable[..., Journal]) -> None:
    journal = opened(content="all")
    await write(
        journal,
        *(make(reason=f"passage 0.{i} > 0.50 with 5 samples") for i in (71, 82)),
        make("inconclusive", reason="only 1 usable sample"),
        make("consistent", reason="not among them"),
    )
    async with asking(journal) as client:
        page = await shown(client)
    told = page.one("section", "frequent")
    assert [e.text for e in told.all("h4")] == [
        *("Methods that flagged", "What evidence differs in", "Claims", "Reasons"),
    ]
    assert [e.text for e in told.all("li")] == [
        *("2 × ngram", "2 × other", f"2 × {SENTENCE}"),
        *("2 × The score of the answer is over its threshold", "1 × Only some usable sample"),
    ]


async def test_many_parts_are_cut(client: httpx.AsyncClient, journal: Journal) -> None:
    await write(journal, *(make(tenant=f"t{i:02}") for i in range(23)), make(tenant="t22"))
    page = await shown(client, "/ui?by=tenant")
    table = parts(page)
    assert len(table) == 21
    assert table[1][::2][:2] == ["t22", "2"]
    assert "3 more are left out" in page.text


async def test_a_chart_has_a_name_units_and_its_numbers(
    client: httpx.AsyncClient, journal: Journal
) -> None:
    await some(journal)
    page = await shown(client, "/ui?span=1h")
    flags, latency, cost = page.all("figure")
    assert [e.one("h3").text for e in (flags, latency, cost)] == [
        "Flag rate share of the checked answers",
        "Latency until the user had the answer",
        "Cost per minute",
    ]
    for figure, unit in ((flags, "%"), (latency, " s"), (cost, "$")):
        svg = figure.one("svg", "chart")
        assert svg.attributes["role"] == "img"
        assert "over 1 hour, per minute: from" in (svg.attributes["aria-label"] or "")
        ticks = [e.text for e in svg.all("text", "y")]
        assert 3 <= len(ticks) <= 7
        assert all(unit in tick for tick in ticks)
        assert len([e.text for e in svg.all("text", "x")]) == 4
        assert len(figure.one("ul", "key").all("li")) >= 1
        # Behind it is a table, which needs no script to be opened.
        assert figure.one("details").one("summary").text.endswith("as a table")
    # Entries of one second may lie in two minutes.
    counts = [sum(int(row[i]) for row in rows(flags)[1:]) for i in (1, 2, 3)]
    assert counts == [4, 1, 1]
    assert [e.text for e in flags.all("title")] == [
        f"{row[0]}: {row[2]} of {row[1]} flagged" for row in rows(flags)[1:]
    ]
    assert rows(cost)[0] == ["From", "Answers", "Cost", "For checks", "Price not known"]


async def test_lines_break_off_where_there_is_nothing(
    client: httpx.AsyncClient, journal: Journal
) -> None:
    now = time.time() // 60 * 60 - 120
    minutes = (0, 1, 2, 10, 20, 21)
    await write(journal, *(make(time=now - 60 * minute) for minute in minutes))
    page = await shown(client, "/ui?span=1h")
    svg = page.all("figure")[1].one("svg", "chart")
    lines = [e.attributes["d"] or "" for e in svg.all("path", "middle")]
    assert sorted(len(line.split(" ")) // 2 for line in lines) == [2, 3]
    # The one alone, and the last.
    assert len(svg.all("circle", "mark")) == 2
    # Two lines differ in more than their colour.
    assert len(svg.all("rect", "high")) == 2


async def test_any_number_can_be_drawn(client: httpx.AsyncClient, journal: Journal) -> None:
    odd = [
        {"latency_s": 1e300, "check_s": 1e-300},
        {"latency_s": 0.0, "usage": Usage(1, cost_usd=float("inf"))},
        {"usage": Usage(1, cost_usd=1e308), "check_usage": Usage(1, cost_usd=1e308)},
        {"usage": Usage(1, cost_usd=-1.0), "check_usage": Usage(1, cost_usd=1e-320)},
        {"time": 1e300},
        {"score": None, "flagged": 2**62, "sentences": 2**62},
    ]
    for i, change in enumerate(odd):
        await write(journal, make(**{"model": f"m{i}", "time": time.time() - 1} | change))
    for span in ("1h", "30d"):
        page = await shown(client, f"/ui?span={span}")
        for element in page.walk():
            for name in ("d", "x", "y", "height", "width"):
                value = element.attributes.get(name) or ""
                assert "nan" not in value
                assert "inf" not in value
