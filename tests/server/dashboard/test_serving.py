"""Where the dashboard is, what it says of itself, and what it makes of nonsense."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from resay.errors import ConfigurationError, MissingDependencyError
from resay_server.dashboard import routes
from resay_server.journal import Journal, JournalConfig, open_journal
from support.dashboard import asking, make, shown, write

pytestmark = pytest.mark.anyio

POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/ui", 200),
        ("/ui/live", 200),
        ("/ui/figures", 200),
        ("/ui/verdicts/e-1", 200),
        ("/ui/verdicts/no", 404),
        ("/ui/elsewhere", 404),
        ("/ui/static/nothing.css", 404),
        ("/ui?span=abc", 400),
    ],
)
async def test_the_headers_of_pages(
    client: httpx.AsyncClient, journal: Journal, path: str, status: int
) -> None:
    await write(journal, make(id="e-1"))
    response = await client.get(path)
    assert response.status_code == status
    headers = response.headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    # A browser says where a form comes from only if the page lets it.
    form = path == "/ui/verdicts/e-1"
    assert headers["referrer-policy"] == ("same-origin" if form else "no-referrer")
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["content-type"] == "text/html; charset=utf-8"


async def test_files_are_kept_under_names_that_change_with_them(client: httpx.AsyncClient) -> None:
    page = await shown(client)
    paths = [e.attributes["href"] for e in page.all("link")]
    paths += [e.attributes["src"] for e in page.all("script")]
    kinds = set()
    for path in paths:
        assert path is not None
        assert re.fullmatch(r"/ui/static/\w+-[0-9a-f]{16}\.\w+", path)
        response = await client.get(path)
        assert response.headers["cache-control"] == "max-age=31536000, immutable"
        assert response.headers["x-content-type-options"] == "nosniff"
        kinds.add(response.headers["content-type"].partition(";")[0])
        # Nothing from anywhere else.
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(", response.text)
    assert kinds == {"text/css", "text/javascript", "image/svg+xml"}


async def test_nothing_stands_in_the_page_that_the_policy_forbids(
    client: httpx.AsyncClient, journal: Journal
) -> None:
    await write(journal, make(id="e-1"))
    for path in ("/ui", "/ui/verdicts/e-1"):
        page = await shown(client, path)
        assert not page.all("style")
        for element in page.walk():
            assert not [n for n in element.attributes if n == "style" or n.startswith("on")]
        assert all("src" in e.attributes and not e.text for e in page.all("script"))


@pytest.mark.parametrize(
    "query",
    [
        *("span=abc", "span=%00", "by=nothing", "decision=wrong", "decision=<script>"),
        *("before=a%20b", f"before={'x' * 101}", "before=%FF"),
        *("since=soon", "until=2026-99-99", "sort=best", "since=2026-01-02&until=2026-01-01"),
        *(f"model={'x' * 257}", f"tenant={'x' * 30_000}", f"span={'y' * 30_000}"),
    ],
)
async def test_nonsense_is_refused(client: httpx.AsyncClient, query: str) -> None:
    for path in ("/ui", "/ui/live", "/ui/figures"):
        page = await shown(client, f"{path}?{query}", 400)
        assert page.one("h1").text == "Cannot show this page"
        assert query.partition("=")[0] in page.text
        assert len(page.text) < 1000
        assert not page.all("script")


@pytest.mark.parametrize(
    "query",
    [
        *("limit=1e9", "limit=-1", "x=y&z", "&&&", "%", "model=%FF%FE", "model=%00"),
        *("policy=%ED%A0%80", "span=&by=", "span=abc&span=7d"),
    ],
)
async def test_other_nonsense_does_no_harm(client: httpx.AsyncClient, query: str) -> None:
    await shown(client, f"/ui?{query}")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_nothing_can_be_changed(client: httpx.AsyncClient, method: str) -> None:
    for path in ("/ui", "/ui/live", "/ui/verdicts/x", "/ui/elsewhere"):
        assert (await client.request(method, path)).status_code == 405
    assert (await client.head("/ui")).status_code == 200


async def test_a_journal_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "journal.db").write_bytes(b"this is no database, and was never one" * 100)
    journal = open_journal(JournalConfig(url=f"sqlite:///{tmp_path / 'journal.db'}"))
    async with asking(journal) as client:
        for path in ("/ui", "/ui/live", "/ui/figures", "/ui/verdicts/e-1"):
            page = await shown(client, path, 503)
            assert page.one("h1").text == "Cannot read the journal"
            assert "file is not a database" in page.text
            assert "Traceback" not in page.text
            assert "never one" not in page.text
    await journal.aclose()


# --- in applications ------------------------------------------------------------------------------


async def addresses(client: httpx.AsyncClient, path: str) -> set[str]:
    page = await shown(client, path)
    found = [
        element.attributes.get(name)
        for element in page.walk()
        for name in ("href", "src", "action", "data-list", "data-figures")
    ]
    return {one for one in found if one and not one.startswith("#")}


async def test_it_can_be_mounted_elsewhere(journal: Journal) -> None:
    await write(journal, make(id="e-1"))
    app = Starlette(routes=[Mount("/ops/guard", routes=routes(journal, prefix="", hosts=["here"]))])
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        for path in ("/ops/guard/", "/ops/guard/verdicts/e-1"):
            for address in await addresses(client, path):
                assert address.startswith("/ops/guard")
                followed = await client.get(address, follow_redirects=True)
                form = address.endswith("/feedback")
                assert followed.status_code == (405 if form else 200), address


async def test_it_can_be_behind_a_proxy(journal: Journal) -> None:
    await write(journal, make(id="e-1"))
    async with asking(journal, "/see", root_path="/team") as client:
        found = await addresses(client, "/team/see")
        assert found
        assert all(address.startswith("/team/see") for address in found)
        for address in found:
            assert (await client.get(address)).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(("here", 200), ("HERE:81", 200), ("localhost:8100", 200), ("[::1]:80", 200)),
        *(("elsewhere.example", 403), ("here.elsewhere.example", 403), ("[x", 403), ("", 403)),
    ],
)
async def test_names_that_lead_here(journal: Journal, host: str, status: int) -> None:
    await write(journal, make(id="e-1"))
    form = {"entry": "e-1", "rating": "right"}
    sent = {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
    async with asking(journal) as client:
        for path in ("/ui", "/ui/verdicts/e-1", "/ui/api/entries"):
            answer = await client.get(path, headers=sent)
            assert answer.status_code == status
            assert ("routes(hosts=" in answer.text) == (status == 403)
        rated = await client.post("/ui/feedback", data=form, headers=sent)
    assert (rated.status_code == 303) == (status == 200)
    assert len(await journal.feedback()) == (status == 200)


async def test_names_are_a_list(journal: Journal) -> None:
    with pytest.raises(ConfigurationError, match=r"a list of names, such as \['here'\]"):
        routes(journal, hosts="here")


@pytest.mark.parametrize("prefix", ["ui", "/ui/", "/", "/u i", "/{x}", "/ui?x", "//"])
async def test_prefixes_that_are_none(opened: Callable[..., Journal], prefix: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(repr(prefix))):
        routes(opened(), prefix)


async def test_it_needs_the_server(
    opened: Callable[..., Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "starlette.routing", None)
    with pytest.raises(MissingDependencyError, match=r"resay\[server\]"):
        routes(opened())
