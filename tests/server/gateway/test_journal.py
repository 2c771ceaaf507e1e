from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from resay.plugins import RecordedEvidence
from resay_server.gateway import Gateway, GatewayConfig, serving
from resay_server.journal import Entry, JournalConfig, JournalError, open_journal
from simulation import ServerError, SimulatedProvider
from support.gateway import ASKED, CHAT, POLICY, Gateways, Served, logged

BLOCK = POLICY + "threshold: {passage: 0.01, sentence: 0.01}\naction: {do: block, exit: raise}\n"
OFF = POLICY + "when: {roles: [tool]}\n"


def url_of(folder: Path) -> str:
    return f"sqlite:///{folder / 'journal.db'}"


def entries_in(folder: Path) -> list[Entry]:
    """Return what the journal of a gateway that has stopped holds, newest first."""

    async def read() -> list[Entry]:
        journal = open_journal(JournalConfig(url=url_of(folder)))
        try:
            return await journal.recent(1000)
        finally:
            await journal.aclose()

    return asyncio.run(read())


def recorded(gateways: Gateways, *asked: dict[str, Any], **told: Any) -> list[Entry]:
    """Ask a gateway, stop it, and return what its journal holds."""
    journal = {"url": url_of(gateways.folder), **told.pop("journal", {})}
    served = gateways.start(journal=journal, **told)
    for one in asked:
        served.post(**one)
    served.seen(len(asked))
    gateways.stop()
    return entries_in(gateways.folder)


@pytest.mark.parametrize("path", sorted(ASKED))
@pytest.mark.parametrize("stream", [False, True])
def test_each_verdict_is_written_down_once(gateways: Gateways, path: str, stream: bool) -> None:
    body = {**ASKED[path], "stream": stream}
    headers = {"x-request-id": "mine", "x-resay-tenant": "acme"}
    (entry,) = recorded(gateways, {"path": path, "json": body, "headers": headers})
    assert (entry.request_id, entry.tenant, entry.policy) == ("mine", "acme", "default")
    assert entry.api == path.removeprefix("/v1/").split("/")[0]
    assert (entry.model, entry.action, entry.decision) == ("simulated", "annotate", "flagged")
    assert entry.sentences >= entry.flagged > 0
    assert entry.usage.calls == 1
    assert entry.usage.prompt_tokens > 0
    assert entry.usage.completion_tokens > 0
    assert entry.check_usage.calls >= 1
    assert entry.latency_s >= entry.check_s > 0
    assert entry.question is None


def test_words_are_kept_where_the_operator_says_so(gateways: Gateways) -> None:
    (entry,) = recorded(gateways, {}, policy=BLOCK, journal={"content": "flagged"})
    assert entry.action == "block"
    assert entry.question == CHAT["messages"][0]["content"]
    assert "Sydney" in entry.verdict["sentences"][0]["text"]


def test_no_words_are_kept_by_default(gateways: Gateways) -> None:
    recorded(gateways, {}, policy=BLOCK)
    assert b"Sydney" not in (gateways.folder / "journal.db").read_bytes()


def test_of_several_answers_the_gravest_stands_for_all(gateways: Gateways) -> None:
    (entry,) = recorded(gateways, {"json": {**CHAT, "n": 3, "temperature": 1}})
    assert entry.decision == "flagged"
    assert entry.usage.calls == 1


def test_an_answer_that_is_left_alone_is_written_down_as_skipped(gateways: Gateways) -> None:
    stream = {"json": {**CHAT, "stream": True}}
    whole, streamed = recorded(gateways, {}, stream, policy=OFF)
    for entry in (whole, streamed):
        assert (entry.decision, entry.action, entry.check_usage.calls) == ("skipped", "allow", 0)
        assert entry.usage.completion_tokens > 0


def test_where_there_was_no_answer_nothing_is_written_down(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    simulated.set_faults(ServerError())
    assert recorded(gateways, {}) == []


def test_a_client_that_goes_away_leaves_the_verdict_that_there_was(gateways: Gateways) -> None:
    served = gateways.start(journal={"url": url_of(gateways.folder)})
    with httpx.stream("POST", f"{served.url}/v1/chat/completions", json=CHAT) as response:
        assert response.status_code == 200
    served.seen(1)
    gateways.stop()
    (entry,) = entries_in(gateways.folder)
    assert entry.decision == "flagged"


def test_what_waits_is_written_before_the_gateway_ends(gateways: Gateways) -> None:
    entries = recorded(gateways, *[{} for _ in range(6)])
    assert len({entry.request_id for entry in entries}) == len(entries) == 6


def test_a_journal_that_fails_harms_no_answer(gateways: Gateways) -> None:
    file = gateways.folder / "journal.db"
    served = gateways.start(journal={"url": url_of(gateways.folder)})
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DROP TABLE resay_journal_entries")
    assert served.post().json()["hallucination"]["decision"] == "flagged"


def test_a_journal_that_cannot_be_used_is_said_at_the_start(gateways: Gateways) -> None:
    upstream = {"url": gateways.upstream}
    journal = {"url": f"sqlite:///{gateways.folder}"}
    config = GatewayConfig.of({"upstream": upstream, "journal": journal})
    with pytest.raises(JournalError), serving(Gateway(config)):
        raise AssertionError("it was started")


def test_a_file_of_the_journal_lies_beside_the_gateway_file(tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text("upstream: {url: 'http://x/v1'}\njournal: {url: 'sqlite:///j.db'}\n")
    config = GatewayConfig.load(file)
    assert config.journal is not None
    assert config.journal.file == str(tmp_path / "j.db")
    told = GatewayConfig.load(file, journal="sqlite:////elsewhere/j.db").journal
    assert told is not None
    assert told.file == "/elsewhere/j.db"


def test_a_failing_write_is_logged_without_content(
    served_with_journal: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Entry, "of", classmethod(lambda *_, **__: 1 / 0))
    with logged("the journal failed with ZeroDivisionError"):
        assert served_with_journal.post().status_code == 200


@pytest.fixture
def served_with_journal(gateways: Gateways) -> Served:
    return gateways.start(journal={"url": url_of(gateways.folder)})


def test_the_journal_is_shown(gateways: Gateways) -> None:
    served = gateways.start(journal={"url": url_of(gateways.folder)})
    served.post(headers={"x-resay-tenant": "acme"})
    served.seen(1)
    shown = httpx.get(f"{served.url}/ui")
    assert shown.status_code == 200
    assert "default-src 'none'" in shown.headers["content-security-policy"]
    assert httpx.get(f"{served.url}/ui", headers={"host": "rebound.example"}).status_code == 403
    assert httpx.get(f"{served.url}/ui/static/x", headers={"via": "x"}).status_code == 403


def test_the_journal_is_shown_to_operators_with_their_key(gateways: Gateways) -> None:
    key = "an-operators-key-of-its-own"
    served = gateways.start(journal={"url": url_of(gateways.folder)}, operator_key=key)
    assert httpx.get(f"{served.url}/ui").status_code == 401
    assert httpx.get(f"{served.url}/ui", auth=("me", key)).status_code == 200


def test_without_a_journal_there_is_nothing_to_show(gateways: Gateways) -> None:
    assert httpx.get(f"{gateways.start().url}/ui").status_code == 404


def test_a_policy_with_a_journal_writes_nothing_twice(gateways: Gateways, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    policy = POLICY + f"journal: {{url: 'sqlite:///{other}'}}\n"
    (entry,) = recorded(gateways, {}, policy=policy)
    assert entry.policy == "default"
    assert not other.exists()


@pytest.mark.parametrize("stream", [False, True])
def test_the_evidence_is_stored_with_the_text(gateways: Gateways, stream: bool) -> None:
    (entry,) = recorded(gateways, {"json": {**CHAT, "stream": stream}}, journal={"content": "all"})

    async def read() -> dict[str, RecordedEvidence]:
        journal = open_journal(JournalConfig(url=url_of(gateways.folder)))
        try:
            return await journal.evidence(entry.id)
        finally:
            await journal.aclose()

    evidence = asyncio.run(read())[entry.id]
    assert len(evidence.samples) == entry.verdict["samples"]


def test_operators_check_an_answer_again_by_a_policy_of_the_gateway(gateways: Gateways) -> None:
    (entry,) = recorded(gateways, {}, journal={"content": "all"})
    lenient = POLICY + "threshold: {passage: 1, sentence: 1}\n"
    served = gateways.start(
        journal={"url": url_of(gateways.folder), "content": "all"},
        policies={"lenient": gateways.policy(lenient, "lenient.yaml")},
    )
    page = httpx.get(f"{served.url}/ui/verdicts/{entry.id}")
    assert '<option value="lenient">lenient</option>' in page.text
    headers = {"origin": served.url}
    form = {"entry": entry.id, "policy": "lenient"}
    answer = httpx.post(f"{served.url}/ui/recheck", data=form, headers=headers)
    assert answer.status_code == 200
    assert "Decided differently" in answer.text
    # The policies are those in use, and only the dashboard's own pages may start a check.
    assert set(served.gateway.policies.guards) == {"default", "lenient"}
    assert httpx.post(f"{served.url}/ui/recheck", data=form).status_code == 403
