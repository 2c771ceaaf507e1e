"""The page of one verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from urllib.parse import quote

import httpx
import pytest

from resay import Contradiction, SentenceVerdict, Verdict
from resay.core.claim_verdict import Part
from resay.core.references import Reference
from resay.plugins import Grounds
from resay_server.journal import Journal, SampledEntry
from support.claims import claim_verdict
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
    make_verdict,
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


async def test_a_request_leads_to_its_verdict(client: httpx.AsyncClient, journal: Journal) -> None:
    await write(journal, make(id="e-1", request_id="req/7", time=1.0), make(request_id="req/8"))
    page = await shown(client, "/ui/verdicts/req%2F7")
    assert facts(page)["Verdict"] == "e-1"
    (link,) = [e for e in page.all("a") if e.text == "req/7"]
    listed = await shown(client, (link.attributes["href"] or "").partition("#")[0])
    assert len(listed.one("table", "log").all("tr")) == 2


async def test_claims_are_beside_their_evidence(opened: Callable[..., Journal]) -> None:
    text = "It opened in 1923. It is in Sydney."
    against = Contradiction("sample", 1, "It opened in 1932.", "date", (13, 17), (13, 17))
    grounds = (Grounds(0, False, 3, 9), Grounds(1, True), Grounds(9, True))
    verdict = Verdict(
        "flagged",
        0.5,
        "it is so",
        (
            SentenceVerdict(text[:18], 0, 18, 0.9, True, "nli", contradicted_by=against),
            SentenceVerdict(text[19:], 19, 35, 0.1),
        ),
        claims=(
            claim_verdict(
                *("The bridge opened in 1923.", 3, 17),
                score=0.9,
                flagged=True,
                contradicted_by=against,
                grounds=grounds,
                parts=(
                    Part(3, 9, "unsupported"),
                    Part(10, 12, "supported"),
                    Part(13, 17, "contradicted"),
                ),
            ),
            claim_verdict("The bridge is in Sydney.", 22, 34, sentence=1, score=0.1),
        ),
        references=(Reference("", "documents[0]", id="guide.md"), Reference("", "messages[1]")),
    )
    journal = opened(content="all")
    await write(journal, entry(verdict, id="e-1"))
    async with asking(journal) as client:
        page = await shown(client, "/ui/verdicts/e-1")
    first, second = (e for e in page.one("ol", "claims").children if isinstance(e, Element))
    assert [e.text for e in first.all("mark")] == ["opened", "1923", "1932"]
    sides = {row.one("dt").text: row.one("dd") for row in first.one("dl").all("div")}
    assert [e.text for e in sides["For"].all("li")] == ["messages[1]", "reference 10"]
    assert [e.text for e in sides["Against"].all("li")] == [
        "guide.md documents[0], characters 3–9",
        "Sample 2: It opened in 1932.",
    ]
    assert second.all("dl") == []
    assert [e.attributes["value"] for e in second.all("button")] == [
        *("right:1", "wrong:1", "unsure:1"),
    ]


async def test_a_claim_that_is_its_whole_sentence_is_not_marked(
    opened: Callable[..., Journal],
) -> None:
    text = "It opened in 1923, and it is in Sydney."
    verdict = Verdict(
        "consistent",
        0.1,
        "it is so",
        (SentenceVerdict(text, 0, 39, 0.1), SentenceVerdict(text, 40, 79, 0.1)),
        claims=(
            claim_verdict("The bridge opened in 1923.", 0, 17, score=0.1),
            claim_verdict(text, 40, 79, sentence=1, score=0.1),
        ),
    )
    journal = opened(content="all")
    await write(journal, entry(verdict, id="e-1"))
    async with asking(journal) as client:
        page = await shown(client, "/ui/verdicts/e-1")
    marks = [e.text for e in page.one("ol", "claims").all("mark")]
    assert marks == ["It opened in 1923"]


# --- feedback -------------------------------------------------------------------------------------

HERE = {"origin": "http://here"}


async def test_feedback_by_button(client: httpx.AsyncClient, journal: Journal) -> None:
    await write(journal, make(id="e/1"), make(id="e-2"), make(id="e-3"))
    await journal.add_sampled(
        [SampledEntry("e/1", "random", 1.0), SampledEntry("e-2", "random", 1.0)]
    )
    page = await shown(client, "/ui/verdicts/e%2F1?span=7d")
    form = page.one("form")
    assert form.attributes["method"] == "post"
    assert "Nobody has judged it yet." in page.text
    given = {"entry": "e/1", "rating": "wrong", "about": "answer", "note": "<b>", "rater": "Ann Ö."}
    action = form.attributes["action"] or ""
    answer = await client.post(action, data=given, headers=HERE)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/ui/verdicts/e%2F1?span=7d#feedback"
    cookie = answer.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/ui"))
    await client.post(action, data={**given, "rating": "right:0"}, headers=HERE)
    on_claim, whole = sorted(await journal.feedback("e/1"), key=lambda one: one.claim is None)
    assert (whole.rating, whole.about, whole.note, whole.rater, whole.source) == (
        *("wrong", "answer", "<b>", "Ann Ö.", "dashboard"),
    )
    assert (on_claim.rating, on_claim.claim, on_claim.about) == ("right", 0, "answer")
    page = await shown(client, "/ui/verdicts/e%2F1")
    assert "Ann Ö.: the answer is wrong <b>" in page.one("ul", "said").text
    # Who they are is known from now on, and what they were to label comes next.
    (rater,) = [e for e in page.all("input") if e.attributes["name"] == "rater"]
    assert rater.attributes["value"] == "Ann Ö."
    (following,) = [e for e in page.all("a") if e.text == "Label answers"]
    assert following.attributes["href"] == "/ui/label"


async def test_the_name_of_a_login_is_proposed(client: httpx.AsyncClient, journal: Journal) -> None:
    await write(journal, make(id="e-1"))
    client.auth = ("bob", "secret")
    page = await shown(client, "/ui/verdicts/e-1")
    (rater,) = [e for e in page.all("input") if e.attributes["name"] == "rater"]
    assert rater.attributes["value"] == "bob"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://elsewhere"}, 403),
        ({"origin": "http://here.elsewhere"}, 403),
        ({"origin": "http://here", "sec-fetch-site": "cross-site"}, 403),
        ({"origin": "http://here", "sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "none"}, 403),
        ({"origin": "http://here"}, 303),
        ({"origin": "null", "sec-fetch-site": "same-origin"}, 303),
    ],
)
async def test_feedback_comes_from_our_own_pages(
    client: httpx.AsyncClient, journal: Journal, headers: dict[str, str], status: int
) -> None:
    await write(journal, make(id="e-1"))
    given = {"entry": "e-1", "rating": "right"}
    answer = await client.post("/ui/feedback", data=given, headers=headers)
    assert answer.status_code == status
    assert len(await journal.feedback()) == (status == 303)


@pytest.mark.parametrize(
    "change",
    [
        *({"rating": "perhaps"}, {"rating": ""}, {"entry": "nobody"}, {"about": "me"}),
        *(
            {"rating": "right:x"},
            {"rating": "right:-1"},
            {"rating": "right:1"},
            {"note": "x" * 60_000},
        ),
        {f"f{i}": "x" for i in range(21)},
    ],
)
async def test_feedback_that_is_none(
    client: httpx.AsyncClient, journal: Journal, change: dict[str, str]
) -> None:
    await write(journal, make(id="e-1"))
    given = {"entry": "e-1", "rating": "right", **change}
    answer = await client.post("/ui/feedback", data=given, headers=HERE)
    assert answer.status_code == 400
    assert await journal.feedback() == []


async def test_words_that_were_kept_are_shown(opened: Callable[..., Journal]) -> None:
    journal = opened(content="all")
    await write(journal, entry(make_verdict("flagged", repaired(0)), id="e-1"))
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
    await write(journal, entry(make_verdict("flagged", repaired(0)), id="e-1"), make())
    async with asking(journal) as client:
        paths = ("/ui", "/ui/verdicts/e-1", "/ui?span=1h", "/ui/label", "/ui/label?entry=e-1")
        pages = [await shown(client, path) for path in paths]
    for page in pages:
        levels = [int(e.name[1]) for e in page.walk() if e.name in {"h1", "h2", "h3", "h4"}]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(b <= a + 1 for a, b in pairwise(levels))
        names = [e.attributes["id"] for e in page.walk() if "id" in e.attributes]
        assert len(set(names)) == len(names)
        for element in page.walk():
            for key in ("aria-describedby", "aria-labelledby", "for", "list"):
                assert {*(element.attributes.get(key) or "").split()} <= {*names}
            href = element.attributes.get("href") or ""
            assert not href.startswith("#") or href[1:] in names
