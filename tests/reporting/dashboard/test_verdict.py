"""The page of one verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from urllib.parse import quote

import httpx
import pytest

from resay.reporting.journal import Journal
from support.dashboard import asking, make, shown, write
from support.html import Element
from support.journal import (
    AFTER,
    BEFORE,
    QUESTION,
    SAMPLE,
    SECRETS,
    SENTENCE,
    entry,
    found,
    repaired,
)

pytestmark = pytest.mark.anyio


def facts(page: Element) -> dict[str, str]:
    return {
        row.one("dt").text: row.one("dd").text
        for row in page.all("dl", "facts")[-1].children
        if isinstance(row, Element)
    }


async def test_everything_that_is_known_of_the_request(
    client: httpx.AsyncClient, journal: Journal
) -> None:
    await write(journal, make(id="e-1", request_id="req-7", tenant="acme", api="chat"))
    said = facts(await shown(client, "/ui/verdicts/e-1"))
    assert said.pop("Time").endswith(" UTC")
    assert said == {
        "Request": "req-7",
        "Model": "openai/gpt-4.1-mini",
        "Policy": "default",
        "Tenant": "acme",
        "API": "chat",
        "Latency": "2.00 s",
        "Check time": "500 ms",
        "Main call": "1 call, 15 tokens, $0.0300",
        "Check": "5 calls, 75 tokens, $0.0100",
        "Verdict": "e-1",
    }


async def test_words_that_were_kept_are_shown(opened: Callable[..., Journal]) -> None:
    journal = opened(content="all")
    await write(journal, entry(found("flagged", repaired(0)), id="e-1"))
    async with asking(journal) as client:
        page = await shown(client, "/ui/verdicts/e-1")
    sentence = page.one("a", "sentence")
    assert sentence.one("span", "said").text == SENTENCE
    tip = sentence.one("span", "tip")
    assert tip.text == "score 0.75 by ngram, flagged"
    assert sentence.attributes["aria-describedby"] == tip.attributes["id"]
    sides = page.one("ol", "cards").all("dd")
    assert [side.text for side in sides] == [SENTENCE, SAMPLE]
    assert page.one("ol", "edits").one("del").text == BEFORE
    assert page.one("ol", "edits").one("ins").text == AFTER
    assert QUESTION in page.text
    assert "The text of this answer was not stored" not in page.text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("none", "does not store the text of answers (content: none). To see those of new answers"),
        ("flagged", "(content: flagged). To see those of all new answers, set content to all"),
        ("all", "stores all text now (content: all), but did not when this entry was written"),
    ],
)
async def test_words_that_were_not_kept(
    opened: Callable[..., Journal], content: str, said: str
) -> None:
    await write(opened(content="none"), entry(id="e-1"))
    async with asking(opened(content=content)) as client:
        page = await shown(client, "/ui/verdicts/e-1")
    assert said in page.one("p", "notice").text
    assert "The text of this answer was not stored" in page.text
    assert not [secret for secret in SECRETS if secret in page.text]
    # What remains is shown without being asked for.
    assert "open" in page.all("details", "part")[0].attributes


async def test_what_is_no_verdict_is_shown_as_far_as_it_goes(
    opened: Callable[..., Journal],
) -> None:
    journal = opened(content="all")
    await write(journal, replace(make(id="e-1", reason="it is so"), verdict={"future": ["<b>"]}))
    async with asking(journal) as client:
        page = await shown(client, "/ui/verdicts/e-1")
        assert len((await shown(client)).one("table", "log").all("tr")) == 2
    assert "cannot read the rest of the entry" in page.text
    assert page.one("p", "reason").text == "it is so"
    assert facts(page)["Model"] == "openai/gpt-4.1-mini"


async def test_unknown_ids(client: httpx.AsyncClient) -> None:
    for path in ("nobody", "a/b", "%00", "x" * 5000, "%3Cscript%3E", ""):
        page = await shown(client, f"/ui/verdicts/{path}", 404)
        assert page.one("h1").text == "Not found"
        assert not page.all("script")


@pytest.mark.parametrize("name", ["a/b?c#d", 'q"><b>', "100%25", "a//b", "~+&="])
async def test_ids_of_any_kind_lead_there_and_back(
    client: httpx.AsyncClient, journal: Journal, name: str
) -> None:
    await write(journal, make(id=name, model="m"))
    home = await shown(client, "/ui?model=m&span=7d")
    (link,) = home.one("table", "log").all("a")
    page = await shown(client, link.attributes["href"] or "")
    assert facts(page)["Verdict"] == name
    back = page.one("nav", "trail").one("a").attributes["href"]
    row = home.one("table", "log").all("tr")[1].attributes["id"]
    assert back == f"/ui?span=7d&model=m#{quote(row or '', safe='')}"


async def test_headings_and_ids_are_in_order(opened: Callable[..., Journal]) -> None:
    journal = opened(content="all")
    await write(journal, entry(found("flagged", repaired(0)), id="e-1"), make())
    async with asking(journal) as client:
        pages = [await shown(client, path) for path in ("/ui", "/ui/verdicts/e-1", "/ui?span=1h")]
    for page in pages:
        levels = [int(e.name[1]) for e in page.walk() if e.name in {"h1", "h2", "h3", "h4"}]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(b <= a + 1 for a, b in pairwise(levels))
        names = [e.attributes["id"] for e in page.walk() if "id" in e.attributes]
        assert len(set(names)) == len(names)
        for element in page.walk():
            for key in ("aria-describedby", "aria-labelledby", "for", "list"):
                assert element.attributes.get(key, names[0]) in names
            href = element.attributes.get("href") or ""
            assert not href.startswith("#") or href[1:] in names
