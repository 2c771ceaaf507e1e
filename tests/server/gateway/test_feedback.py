"""`POST /v1/feedback`: what reviewers and end users say, recorded with the entry it is about."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from resay_server.gateway.openapi.document import document
from resay_server.journal import Feedback, JournalConfig, open_journal
from support.gateway import Gateways, Served

KEYS = [{"name": name, "sha256": sha256(name.encode()).hexdigest()} for name in ("web", "app")]


def started(gateways: Gateways, **told: Any) -> Served:
    return gateways.start(journal={"url": f"sqlite:///{gateways.folder / 'j.db'}"}, **told)


def rated(served: Served, tenant: str | None = None, **said: Any) -> httpx.Response:
    headers = {} if tenant is None else {"x-resay-tenant": tenant}
    return served.post("/v1/feedback", json={"rating": "right", **said}, headers=headers)


def recorded(gateways: Gateways) -> list[Feedback]:
    async def read() -> list[Feedback]:
        journal = open_journal(JournalConfig(url=f"sqlite:///{gateways.folder / 'j.db'}"))
        try:
            return await journal.feedback()
        finally:
            await journal.aclose()

    return asyncio.run(read())


def test_reviewers_and_end_users_say_what_they_think(gateways: Gateways) -> None:
    served = started(gateways)
    asked = served.post().headers["x-resay-request-id"]
    told = rated(served, id=asked, rating="wrong", claim=0, note="It opened in 1932.", rater="ann")
    assert told.status_code == 200, told.text
    entry = told.json().pop("id")
    assert told.json() == {
        "object": "hallucination.feedback",
        "id": entry,
        "request_id": asked,
        "rating": "wrong",
        "about": "verdict",
        "claim": 0,
        "rater": "api:ann",
    }
    # An entry's own id does as well, and the same rater's later word replaces the earlier one.
    rated(served, id=entry, rating="down", rater="user-7")
    rated(served, id=entry, rating="up", rater="user-7")
    on_claim, thumb = recorded(gateways)
    assert (on_claim.claim, on_claim.note, on_claim.source) == (0, "It opened in 1932.", "api")
    assert (thumb.rating, thumb.about, thumb.rater) == ("right", "answer", "api:user-7")


def test_a_tenant_rates_its_own_requests_only(gateways: Gateways) -> None:
    served = started(gateways)
    for tenant in ("acme", "other"):
        served.post(headers={"x-request-id": "same", "x-resay-tenant": tenant})
    entry = rated(served, "acme", id="same").json()["id"]
    assert rated(served, "other", id="same").json()["id"] != entry
    refused = [
        rated(served, "other", id=entry),
        rated(served, id=entry),
        rated(served, id="same"),
        rated(served, "acme", id="none"),
    ]
    assert {(one.status_code, one.json()["error"]["code"]) for one in refused} == {
        (404, "unknown_request")
    }


def test_a_key_is_needed_and_no_client_speaks_for_another(gateways: Gateways) -> None:
    served = started(gateways, keys=KEYS)
    headers = {"authorization": "Bearer web"}
    asked = served.post(headers=headers).headers["x-resay-request-id"]
    said = {"id": asked, "rating": "right", "rater": "ann"}
    assert served.post("/v1/feedback", json=said).status_code == 401
    for key in ("web", "app"):
        headers = {"authorization": f"Bearer {key}"}
        assert served.post("/v1/feedback", json=said, headers=headers).status_code == 200
    assert [one.rater for one in recorded(gateways)] == ["api:web:ann", "api:app:ann"]


def test_no_more_raters_than_a_reader_can_bear(
    gateways: Gateways, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resay_server.journal.journal.MAX_BY_API", 2)
    served = started(gateways)
    asked = served.post().headers["x-resay-request-id"]
    # Who has said something may change their mind.
    said = [rated(served, id=asked, rater=rater) for rater in ("a", "b", "c", "a")]
    assert [one.status_code for one in said] == [200, 200, 409, 200]
    assert said[2].json()["error"]["code"] == "too_many_ratings"
    assert [one.rater for one in recorded(gateways)] == ["api:b", "api:a"]


def test_quotas_and_sizes_are_limited(gateways: Gateways) -> None:
    quotas = {"acme": {"requests_per_minute": 2}}
    served = started(gateways, quotas=quotas, limits={"body_bytes": 1024})
    asked = served.post(headers={"x-resay-tenant": "acme"}).headers["x-resay-request-id"]
    said = [rated(served, "acme", id=asked) for _ in range(2)]
    assert [one.status_code for one in said] == [200, 429]
    assert rated(served, id="a", note="x" * 2000).status_code == 413


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        ({"rating": "good"}, "rating: "),
        ({"claim": 99}, "claim: the verdict has"),
        ({"claim": -1}, "claim: "),
        ({"claim": 10**6}, "claim: "),
        ({"claim": 2**63}, "claim: "),
        ({"claim": 10**30, "rating": "up"}, "claim: "),
        ({"note": "x" * 2001}, "note: "),
        ({"more": 1}, "more: unknown field"),
        ({"id": ""}, "id: "),
    ],
)
def test_what_is_no_feedback_is_refused(
    gateways: Gateways, spoilt: dict[str, Any], message: str
) -> None:
    served = started(gateways)
    asked = served.post().headers["x-resay-request-id"]
    refused = rated(served, **{"id": asked, **spoilt})
    assert refused.status_code == 400
    assert message in refused.json()["error"]["message"]
    assert recorded(gateways) == []


def test_an_id_of_the_providers_is_refused_with_the_one_to_send(gateways: Gateways) -> None:
    served = started(gateways)
    refused = rated(served, id=served.post().json()["id"])
    assert refused.status_code == 404
    assert "x-resay-request-id" in refused.json()["error"]["message"]


def test_without_a_journal_it_is_refused(gateways: Gateways) -> None:
    refused = rated(gateways.start(), id="a")
    assert refused.status_code == 404
    assert "set `journal`" in refused.json()["error"]["message"]


def test_a_journal_that_fails_is_said(gateways: Gateways) -> None:
    served = started(gateways)
    with closing(sqlite3.connect(gateways.folder / "j.db")) as connection, connection:
        connection.execute("DROP TABLE resay_journal_entries")
    refused = rated(served, id="a")
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "journal_unavailable")


def test_the_document_describes_it(gateways: Gateways, tmp_path: Path) -> None:
    schemas = document()["components"]["schemas"]
    assert schemas["FeedbackRequest"]["required"] == ["id", "rating"]
    assert all(one["description"] for one in schemas["FeedbackRequest"]["properties"].values())
