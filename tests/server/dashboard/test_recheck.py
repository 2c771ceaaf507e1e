"""An answer is checked again by another policy, beside the verdict that was recorded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from resay import Guard
from resay.plugins import RecordedEvidence
from resay.testing import ScriptedProvider
from resay_server.journal import Entry, Journal
from support.dashboard import asking, shown, write
from support.html import parsed
from support.journal import entry

pytestmark = pytest.mark.anyio
HERE = {"origin": "http://here"}
ANSWER = "It opened in 1932. It has <b>31</b> lamps."
SAMPLES = ("It opened in 1932. It has <b>30</b> lamps.",) * 3


def judge() -> ScriptedProvider:
    return ScriptedProvider(lambda request: '{"1": {"supports": [1, 2, 3]}}')


POLICIES = {
    "default": Guard({"chain": [{"method": "facts"}]}),
    "lenient": Guard({"chain": [{"method": "facts"}], "threshold": {"passage": 1, "sentence": 1}}),
    "judged": Guard({"chain": [{"method": "prompt"}]}, provider=judge(), model="acme/judge"),
}


def checked(**changes: Any) -> Entry:
    verdict = POLICIES["default"].check(ANSWER, samples=SAMPLES)
    evidence = RecordedEvidence(response=ANSWER, samples=SAMPLES)
    return entry(verdict, id="e-1", **({"evidence": evidence} | changes))


@pytest.fixture
async def journal(opened: Callable[..., Journal]) -> Journal:
    return opened(content="all")


@pytest.fixture
async def client(journal: Journal) -> AsyncIterator[httpx.AsyncClient]:
    async with asking(journal, policies=POLICIES) as client:
        yield client


async def recheck(client: httpx.AsyncClient, status: int = 200, **fields: str) -> Any:
    response = await client.post(
        "/ui/recheck", data={"entry": "e-1", "policy": "lenient"} | fields, headers=HERE
    )
    assert response.status_code == status, response.text
    return parsed(response.text)


async def test_the_page_of_a_verdict_offers_the_policies(
    client: httpx.AsyncClient, journal: Journal
) -> None:
    await write(journal, checked())
    page = await shown(client, "/ui/verdicts/e-1")
    (form,) = [item for item in page.all("form") if "recheck" in (item.attributes["action"] or "")]
    assert [item.text for item in form.all("option")] == [
        *("default", "lenient", "judged (asks a model)"),
    ]
    (box,) = [item for item in form.all("input") if item.attributes["type"] == "checkbox"]
    assert "checked" not in box.attributes
    async with asking(journal) as without:
        page = await shown(without, "/ui/verdicts/e-1")
        assert "Check again" not in page.text


async def test_both_verdicts_are_beside_each_other(
    client: httpx.AsyncClient, journal: Journal
) -> None:
    await write(journal, checked())
    before = await journal.recent()
    assert before[0].decision == "flagged"
    page = await recheck(client)
    assert "Decided differently" in page.text
    old, new = page.all("article")
    assert old.one("h2").text == "!flagged Recorded"
    assert new.one("h2").text == "✓consistent Now"
    assert "31" in new.text
    assert not page.all("b")[0].text.startswith("31")
    ids = [item.attributes["id"] for item in page.walk() if "id" in item.attributes]
    assert len(ids) == len(set(ids))
    # Nothing was recorded.
    assert await journal.recent() == before
    assert "Decided the same" in (await recheck(client, policy="default")).text


async def test_a_model_is_asked_only_with_leave(
    client: httpx.AsyncClient, journal: Journal
) -> None:
    await write(journal, checked())
    page = await recheck(client, 400, policy="judged")
    assert "method 'prompt' asks a judge, and no model may be called" in page.text
    page = await recheck(client, policy="judged", calls="yes")
    assert len(page.all("article")) == 2


@pytest.mark.parametrize(
    ("fields", "status", "problem"),
    [
        ({"policy": "nobody's"}, 400, "there is no policy"),
        ({"entry": "e-9"}, 404, "does not contain this verdict"),
    ],
)
async def test_what_there_is_not_is_refused(
    client: httpx.AsyncClient, journal: Journal, fields: Any, status: int, problem: str
) -> None:
    await write(journal, checked())
    assert problem in (await recheck(client, status, **fields)).text


async def test_what_was_not_stored_is_said(client: httpx.AsyncClient, journal: Journal) -> None:
    await write(journal, checked(evidence=None))
    assert "no samples are stored" in (await recheck(client, 400)).text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://elsewhere"},
        {},
        {"origin": "http://here", "sec-fetch-site": "cross-site"},
    ],
)
async def test_other_pages_cannot_start_a_check(
    client: httpx.AsyncClient, journal: Journal, headers: Any
) -> None:
    await write(journal, checked())
    fields = {"entry": "e-1", "policy": "judged", "calls": "yes"}
    assert (await client.post("/ui/recheck", data=fields, headers=headers)).status_code == 403


async def test_other_hosts_and_methods_are_refused(
    client: httpx.AsyncClient, journal: Journal
) -> None:
    await write(journal, checked())
    fields = {"entry": "e-1", "policy": "lenient"}
    headers = {"origin": "http://evil", "host": "evil"}
    assert (await client.post("/ui/recheck", data=fields, headers=headers)).status_code == 403
    assert (await client.get("/ui/recheck")).status_code == 404
