"""Answers are drawn, and their claims labelled before the verdict is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from resay import SentenceVerdict, Verdict
from resay.adapters import run_sync
from resay_server.journal import Journal, SampledEntry
from support.claims import claim_verdict
from support.dashboard import asking, shown, write
from support.html import Element
from support.journal import entry

pytestmark = pytest.mark.anyio
HERE = {"origin": "http://here"}
TEXT = "It opened in 1932. It has 31 lamps."


@pytest.fixture
def journal(opened: Callable[..., Journal]) -> Iterator[Journal]:
    journal = opened(content="all")
    yield journal
    run_sync(journal.aclose)


@pytest.fixture
async def client(journal: Journal) -> Any:
    async with asking(journal) as client:
        yield client


def answer(entry_id: str, **changes: Any) -> Any:
    parts = [(TEXT[:18], 0, 18, 0.05), (TEXT[19:], 19, 35, 0.95)]
    verdict = Verdict(
        "flagged",
        0.95,
        "1 of 2 sentences > 0.50 with 5 samples",
        tuple(SentenceVerdict(t, a, b, s, s > 0.5, "ngram") for t, a, b, s in parts),
        samples=5,
        claims=tuple(
            claim_verdict(t, a, b, score=s, flagged=s > 0.5, sentence=i)
            for i, (t, a, b, s) in enumerate(parts)
        ),
    )
    return entry(verdict, id=entry_id, question="When did <b>it</b> open?", score=0.95, **changes)


async def test_answers_are_drawn_here(client: httpx.AsyncClient, journal: Journal) -> None:
    await write(journal, *(answer(f"e-{i}") for i in range(6)))
    home = await shown(client, "/ui?model=m")
    (link,) = [e for e in home.all("a") if e.text == "Label answers"]
    assert link.attributes["href"] == "/ui/label?model=m"
    page = await shown(client, "/ui/label")
    assert "Nothing is drawn yet" in page.text
    form = page.one("form")
    drawn = await client.post(form.attributes["action"] or "", data={"count": "4"}, headers=HERE)
    assert (drawn.status_code, drawn.headers["location"]) == (303, "/ui/label")
    sampled = await journal.sampled()
    assert [(one.method, one.weight) for one in sampled] == [("random", 1.5)] * 4
    assert "Answer 1 of 4" in (await shown(client, "/ui/label")).text


async def test_the_filters_of_a_decision_do_not_bias_a_draw(
    client: httpx.AsyncClient, journal: Journal
) -> None:
    await write(journal, answer("a", model="m"), answer("b", model="other"))
    for address in ("/ui/label/draw?model=m&decision=consistent&words=nothing",):
        assert (await client.post(address, data={"count": "9"}, headers=HERE)).status_code == 303
    assert [one.entry_id for one in await journal.sampled()] == ["a"]


async def test_nothing_of_the_verdict_is_shown_before_the_labels(
    client: httpx.AsyncClient, journal: Journal
) -> None:
    await write(journal, answer("e-1"), answer("e-2"))
    await journal.add_sampled([SampledEntry(f"e-{i}", "random", 1.0, float(i)) for i in (1, 2)])
    page = await shown(client, "/ui/label")
    for hidden in ("flagged", "0.95", "samples", "score "):
        assert hidden not in page.one("main").text
    # The question comes first, then the answer, then its claims.
    text = page.one("main").text
    places = [text.index(part) for part in ("When did <b>it</b> open?", TEXT, "Is this claim true")]
    assert places == sorted(places)
    assert [e.text for e in page.all("legend")] == [TEXT[:18], TEXT[19:]]
    radios = [e for e in page.all("input") if e.attributes.get("type") == "radio"]
    assert [(e.attributes["name"], e.attributes["value"]) for e in radios] == [
        (f"claim-{index}", rating) for index in (0, 1) for rating in ("right", "wrong", "unsure")
    ]
    given = {"entry": "e-1", "rater": "Ann", "claim-0": "wrong", "claim-1": "wrong", "note": "no"}
    recorded = await client.post("/ui/label", data=given, headers=HERE)
    assert recorded.headers["location"] == "/ui/label?labelled=e-1"
    feedback = await journal.feedback("e-1")
    assert {(f.claim, f.rating, f.about, f.rater, f.source) for f in feedback} == {
        (claim, "wrong", "answer", "Ann", "dashboard") for claim in (0, 1, None)
    }
    assert [f.note for f in feedback if f.claim is None] == ["no"]
    page = await shown(client, "/ui/label?labelled=e-1")
    compared = page.one("ul", "said")
    assert [e.text for e in compared.all("li")] == [f"{TEXT[:18]} You: made up, Resay: not flagged"]
    assert "0.95" in page.text
    assert "Answer 2 of 2" in page.text
    assert [
        e.attributes["value"] for e in page.all("input") if e.attributes["name"] == "entry"
    ] == ["e-2"]
    await client.post("/ui/label", data={**given, "entry": "e-2"}, headers=HERE)
    assert "You have labelled all 2 answers" in (await shown(client, "/ui/label")).text


async def test_an_address_does_not_show_the_verdict_of_an_unlabelled_answer(
    client: httpx.AsyncClient, journal: Journal
) -> None:
    await write(journal, answer("e-1"))
    page = await shown(client, "/ui/label?labelled=e-1&entry=e-1")
    assert "0.95" not in page.text
    assert len(page.all("legend")) == 2


async def test_skipped_answers_come_again(client: httpx.AsyncClient, journal: Journal) -> None:
    await write(journal, *(answer(f"e-{i}") for i in range(3)))
    await journal.add_sampled([SampledEntry(f"e-{i}", "random", 1.0, float(i)) for i in range(3)])
    address = "/ui/label"
    order: list[str] = []
    for _ in range(4):
        page = await shown(client, address)
        order += [e.attributes["value"] or "" for e in page.all("input") if _is_entry(e)]
        (link,) = [e for e in page.all("a") if e.text == "Skip it"]
        address = link.attributes["href"] or ""
    assert order == ["e-0", "e-1", "e-2", "e-0"]


def _is_entry(element: Element) -> bool:
    return element.attributes["name"] == "entry"


@pytest.mark.parametrize(
    ("path", "form", "message"),
    [
        ("label", {"entry": "nobody"}, "has no such entry"),
        ("label", {"entry": "e-1", "claim-0": "right"}, "claim 2 needs a label"),
        ("label", {"entry": "e-1", "claim-0": "yes", "claim-1": "right"}, "claim 1 needs a label"),
        ("label/draw", {"count": "0"}, "draw from 1 to 1000 answers"),
        ("label/draw", {"count": "²"}, "draw from 1 to 1000 answers"),
        ("label/draw", {"count": "9" * 5000}, "draw from 1 to 1000 answers"),
        ("label/draw?model=other", {"count": "1"}, "nothing to draw from"),
    ],
)
async def test_mistakes_change_nothing(
    client: httpx.AsyncClient, journal: Journal, path: str, form: dict[str, str], message: str
) -> None:
    await write(journal, answer("e-1"))
    refused = await client.post(f"/ui/{path}", data=form, headers=HERE)
    assert refused.status_code == 400
    assert message in refused.text
    assert (await journal.feedback(), await journal.sampled()) == ([], [])


@pytest.mark.parametrize("path", ["label", "label/draw"])
async def test_forms_come_from_our_own_pages(
    client: httpx.AsyncClient, journal: Journal, path: str
) -> None:
    await write(journal, answer("e-1"))
    form = {"entry": "e-1", "claim-0": "right", "claim-1": "right", "count": "1"}
    refused = await client.post(f"/ui/{path}", data=form, headers={"origin": "http://elsewhere"})
    assert refused.status_code == 403
    assert (await journal.feedback(), await journal.sampled()) == ([], [])


async def test_answers_without_text_are_not_drawn(opened: Callable[..., Journal]) -> None:
    journal = opened(content="none")
    await write(journal, answer("e-1"))
    async with asking(journal) as client:
        refused = await client.post("/ui/label/draw", data={"count": "1"}, headers=HERE)
        assert "no text for 1 of the 1 answers" in refused.text
        await journal.add_sampled([SampledEntry("e-1", "random", 1.0)])
        page = await shown(client, "/ui/label")
    assert "no text of 1 answer of the queue" in page.text
