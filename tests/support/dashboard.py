"""A dashboard that is queried without a network."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

import httpx
from starlette.applications import Starlette

from resay import Guard, Usage
from resay_server.dashboard import routes
from resay_server.journal import Entry, Journal
from support.html import Element, parsed
from support.journal import entry, make_verdict

__all__ = ["asking", "cells", "make", "recent", "shown", "tiles", "write"]


@asynccontextmanager
async def asking(
    journal: Journal,
    prefix: str = "/ui",
    root_path: str = "",
    policies: Mapping[str, Guard] = MappingProxyType({}),
) -> Any:
    """Yield a client of an application that has only the dashboard."""
    app = Starlette(routes=routes(journal, prefix, hosts=["here"], policies=policies))
    transport = httpx.ASGITransport(app=app, root_path=root_path)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        yield client


def make(decision: Any = "flagged", **changes: Any) -> Entry:
    """Return an entry of a moment ago."""
    given = {
        "time": time.time() - 1,
        "flagged": 1 if decision == "flagged" else 0,
        "sentences": 1,
        "score": 0.75,
        "latency_s": 2.0,
        "check_s": 0.5,
        "usage": Usage(1, 10, 5, 0.03),
        "check_usage": Usage(5, 50, 25, 0.01),
    }
    return entry(make_verdict(decision), **(given | changes))


def recent(count: int, **changes: Any) -> list[Entry]:
    """Return entries of the last seconds, the newest first."""
    now = time.time()
    return [make(time=now - 1 - i, id=f"entry-{i}", **changes) for i in range(count)]


async def write(journal: Journal, *entries: Entry) -> None:
    """Write entries to the journal."""
    for one in entries:
        assert await journal.append(one)
    await journal.flush()


async def shown(client: httpx.AsyncClient, path: str = "/ui", status: int = 200) -> Element:
    """Return a page as a tree."""
    response = await client.get(path)
    assert response.status_code == status, response.text
    return parsed(response.text)


def cells(page: Element) -> list[list[str]]:
    """Return the table of verdicts, as displayed."""
    return [
        [cell.text for cell in row.children if isinstance(cell, Element)]
        for row in page.one("table", "log").all("tr")
    ]


def tiles(page: Element) -> dict[str, tuple[str, str]]:
    """Return the figures, each with the text beside it."""
    return {
        tile.one("dt").text: (tile.one("b").text, tile.one("span").text)
        for tile in page.one("dl", "tiles").all("div")
    }
