"""What holds for every database."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resay import Guard, Usage, Verdict
from resay.adapters import Action, Decision
from resay.errors import ConfigurationError
from resay.plugins import ApiName, VerdictRecord
from resay_server.journal import (
    Entry,
    Journal,
    JournalConfig,
    UnknownEntryError,
    open_journal,
)
from resay_server.journal.rows import row_of
from support.claims import claim_verdict
from support.journal import NOW, SECRETS, entry, make_verdict, repaired

pytestmark = pytest.mark.anyio
Opener = Callable[..., Journal]

# Any text in what is kept as JSON, which has no word for two halves of a character that are apart,
# and what databases take in names.
ANY = st.text(st.characters(codec=None), max_size=50).map(
    lambda text: re.sub("[\ud800-\udbff](?=[\udc00-\udfff])", "", text)
)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=50)
SECONDS = st.floats(0, 1e12)
COUNTS = st.integers(0, 2**40)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS, st.none() | st.floats(0, 1e6), COUNTS)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY, inner, max_size=3),
    max_leaves=10,
)
ENTRIES = st.builds(
    Entry,
    model=NAMES,
    policy=NAMES,
    action=st.sampled_from(get_args(Action)),
    decision=st.sampled_from(get_args(Decision)),
    time=SECONDS,
    request_id=st.none() | NAMES,
    tenant=st.none() | NAMES,
    api=st.sampled_from(get_args(ApiName)),
    score=st.none() | st.floats(0, 1),
    reason=NAMES,
    flagged=COUNTS,
    sentences=COUNTS,
    usage=USAGES,
    check_usage=USAGES,
    latency_s=SECONDS,
    check_s=SECONDS,
    verdict=st.dictionaries(ANY, JSON, max_size=3),
    question=st.none() | ANY,
)


def test_entries_come_back_as_they_went_in(url: str) -> None:
    journal = open_journal(JournalConfig(url=url, content="all"))

    # One loop for each, as an application has that calls asyncio.run every time.
    @settings(max_examples=8)
    @given(st.lists(ENTRIES, min_size=1, max_size=12))
    def check(entries: list[Entry]) -> None:
        async def there_and_back() -> list[Entry | None]:
            for written in entries:
                assert await journal.append(written)
            await journal.flush()
            return [await journal.get(written.id) for written in entries]

        assert asyncio.run(there_and_back()) == entries

    check()


async def test_names_are_cut_and_freed_of_what_databases_refuse(journal: Journal) -> None:
    odd = entry(model="m" * 999, tenant="a\0b\ud800c", reason="r\0" * 5000)
    await journal.append(odd)
    await journal.flush()
    (read,) = await journal.recent(tenant="a\0b\ud800c", model="m" * 999)
    assert (read.model, read.tenant) == ("m" * 256, "a\ufffdb\ufffdc")
    assert read.reason == "r\ufffd" * 1000


async def test_an_id_that_is_not_there(journal: Journal) -> None:
    assert await journal.get("nobody") is None
    assert await journal.get("no\0body") is None
    with pytest.raises(UnknownEntryError, match="nobody"):
        await journal.recent(before="nobody")


async def test_a_tenant_finds_its_own_among_many_of_one_request(journal: Journal) -> None:
    await journal.append(entry(id="acme", time=NOW, request_id="r", tenant="acme"))
    await journal.append(entry(id="nobody's", time=NOW, request_id="r"))
    for i in range(201):
        await journal.append(entry(id=f"{i}", time=NOW + 1 + i, request_id="r", tenant="other"))
    await journal.flush()
    for tenant, own in (("acme", "acme"), (None, "nobody's"), ("other", "200"), ("x", None)):
        read = await journal.find_own("r", tenant)
        assert (read and read.id) == own
        read = await journal.find_own("acme", tenant)
        assert (read is None) == (tenant != "acme")


async def test_recent_returns_fewer_of_those_that_are_long(journal: Journal) -> None:
    for i in range(30):
        await journal.append(entry(id=f"{i:02}", time=NOW + i))
    await journal.flush()
    assert len(await journal.recent(30, max_bytes=1)) < 30
    read = await journal.recent(30, max_bytes=10**9)
    assert [one.id for one in read] == [f"{i:02}" for i in reversed(range(30))]


async def test_recent_pages_through_all_newest_first(journal: Journal) -> None:
    # Several at the same time, which only their ids tell apart.
    written = [entry(id=f"{i:03}", time=NOW + i // 4) for i in range(30)]
    for one in written:
        await journal.append(one)
    await journal.flush()
    pages: list[list[str]] = []
    before = None
    while page := await journal.recent(7, before=before):
        pages.append([one.id for one in page])
        before = page[-1].id
    assert [len(page) for page in pages] == [7, 7, 7, 7, 2]
    assert [i for page in pages for i in page] == [f"{i:03}" for i in reversed(range(30))]


async def test_recent_chooses(journal: Journal) -> None:
    await journal.append(entry(id="a", model="m", policy="p", tenant="t"))
    await journal.append(
        entry(make_verdict("consistent"), id="b", model="m", policy="q", tenant="u")
    )
    await journal.append(entry(id="c", model="n", policy="q"))
    await journal.flush()

    async def ids(**wanted: Any) -> set[str]:
        return {one.id for one in await journal.recent(**wanted)}

    assert await ids() == {"a", "b", "c"}
    assert await ids(model="m") == {"a", "b"}
    assert await ids(policy="q") == {"b", "c"}
    assert await ids(decision="consistent") == {"b"}
    assert await ids(tenant="t") == {"a"}
    assert await ids(model="m", policy="q", tenant="t") == set()
    assert await ids(model="m' OR 1=1 --") == set()
    with pytest.raises(ValueError, match="limit must be at least 1, not 0"):
        await journal.recent(0)


async def test_an_entry_appended_again_changes_nothing(journal: Journal) -> None:
    first = entry(id="same", reason="first")
    for again in (first, first, replace(first, reason="second")):
        assert await journal.append(again)
    await journal.flush()
    await journal.append(replace(first, reason="third"))
    await journal.flush()
    assert [one.reason for one in await journal.recent()] == ["first"]
    assert journal.lost == 0


async def test_many_tasks_and_journals_lose_nothing(opened: Opener) -> None:
    journals = [opened(), opened()]

    async def write(number: int) -> None:
        assert await journals[number % 2].append(entry(id=str(number)))

    async with anyio.create_task_group() as tasks:
        for number in range(240):
            tasks.start_soon(write, number)
    for journal in journals:
        await journal.flush()
    assert len(await journals[0].recent(1000)) == 240
    assert journals[0].lost == journals[1].lost == 0


async def test_cancelling_and_appending_again_is_exactly_once(opened: Opener) -> None:
    journal = opened(max_waiting=20)
    entries = [entry(id=f"{i:03}") for i in range(200)]
    for part in range(0, 200, 10):
        async with anyio.create_task_group() as tasks:
            for one in entries[part : part + 10]:
                tasks.start_soon(journal.append, one)
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        # Nobody knows what became of them.
        for one in entries[part : part + 10]:
            while not await journal.append(one):
                await journal.flush()
    await journal.flush()
    assert sorted(one.id for one in await journal.recent(500)) == [one.id for one in entries]


async def test_reading_can_be_cancelled(journal: Journal) -> None:
    await journal.append(entry(id="a"))
    await journal.flush()
    for _ in range(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(journal.recent)
            tasks.start_soon(journal.flush)
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    assert [one.id for one in await journal.recent()] == ["a"]


def test_a_loop_that_ends_writes_what_it_took(url: str) -> None:
    journal = open_journal(JournalConfig(url=url))

    async def take() -> None:
        for i in range(300):
            assert await journal.append(entry(id=str(i)))

    asyncio.run(take())
    assert len(asyncio.run(journal.recent(500))) == 300
    assert journal.lost == 0


async def test_a_closed_journal_can_be_used_again(journal: Journal) -> None:
    for number in range(3):
        await journal.append(entry(id=str(number)))
        await journal.aclose()
    assert len(await journal.recent()) == 3


@pytest.mark.parametrize("level", ["none", "flagged", "all"])
async def test_words_are_kept_as_the_settings_say(opened: Opener, level: Any) -> None:
    journal = opened(content=level)
    notable = {
        "flagged": entry(id="flagged"),
        "blocked": entry(make_verdict("inconclusive"), id="blocked", action="block"),
        "repaired": entry(
            make_verdict("consistent", repaired(0)), id="repaired", action="regenerate"
        ),
        "unsure": entry(make_verdict("inconclusive", repaired(0)), id="unsure"),
    }
    plain = {
        "fine": entry(make_verdict("consistent"), id="fine", action="allow"),
        "given": entry(make_verdict("inconclusive", repaired(None)), id="given"),
    }
    for one in (notable | plain).values():
        await journal.append(one)
    await journal.flush()
    whole = {"none": {}, "flagged": notable, "all": notable | plain}[level]
    assert journal.content == level
    for name, one in (notable | plain).items():
        read = await journal.get(name)
        assert read is not None
        if name in whole:
            assert read == one
        else:
            assert not [s for s in SECRETS if s in f"{read.verdict} {read.question}"]
            # What is no content is still there.
            assert read == replace(one, verdict=read.verdict, question=None)
            assert read.verdict["sentences"][0]["score"] == 0.75


@pytest.mark.parametrize("level", ["none", "flagged"])
async def test_what_is_no_part_of_a_verdict_is_not_kept(opened: Opener, level: Any) -> None:
    journal = opened(content=level)
    verdict = make_verdict("consistent").to_dict() | {"extra": SECRETS[-1]}
    await journal.append(entry(make_verdict("consistent"), id="a", verdict=verdict))
    await journal.flush()
    read = await journal.get("a")
    assert read is not None
    assert "extra" not in read.verdict


async def test_claims_without_content_keep_their_offsets(opened: Opener) -> None:
    journal = opened(content="none")
    claim = claim_verdict(SECRETS[0], 3, 9, unit="row", score=0.75, flagged=True)
    await journal.append(entry(replace(make_verdict(), claims=(claim,)), id="a"))
    await journal.flush()
    read = await journal.get("a")
    assert read is not None
    (kept,) = read.verdict["claims"]
    assert (kept["text"], kept["start"], kept["end"], kept["unit"]) == ("", 3, 9, "row")


async def test_what_is_no_verdict_is_refused_without_its_words(journal: Journal) -> None:
    with pytest.raises(ConfigurationError, match="check decision") as caught:
        await journal.append(entry(verdict={"decision": SECRETS[0], "score": 0.5, "reason": ""}))
    assert SECRETS[0] not in str(caught.value)
    assert caught.value.__context__ is None


DAY = 86_400


async def test_what_is_too_old_goes(opened: Opener) -> None:
    every, journal = opened(), opened(retention_days=2)
    for days in range(5):
        await every.append(entry(id=str(days), time=NOW - days * DAY))
    await every.flush()
    assert await every.prune(NOW) == 0
    assert await journal.prune(NOW) == 2
    assert await journal.prune(NOW) == 0
    assert [one.id for one in await journal.recent()] == ["0", "1", "2"]
    # By the clock, nothing of then is left.
    assert await opened(retention_days=0.5).prune() == 3


async def test_the_newest_stay(opened: Opener) -> None:
    journal = opened(max_entries=3)
    for number in (4, 1, 5, 2, 3):
        await journal.append(entry(id=str(number), time=NOW + number))
    await journal.flush()
    await journal.prune()
    assert [one.id for one in await journal.recent()] == ["5", "4", "3"]


async def test_what_is_too_old_goes_by_itself(opened: Opener) -> None:
    every, journal = opened(), opened(retention_days=1)
    await every.append(entry(id="old"))
    await every.flush()
    await journal.append(entry(id="young", time=time.time()))
    await journal.flush()
    assert [one.id for one in await journal.recent()] == ["young"]


async def test_a_long_verdict_is_serialized_beside_the_event_loop(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    def counted(*args: Any) -> Any:
        threads.append(threading.get_ident())
        return row_of(*args)

    monkeypatch.setattr("resay_server.journal.journal.row_of", counted)
    long = replace(make_verdict(), sentences=make_verdict().sentences * 2000)
    async with anyio.create_task_group() as group:
        for about in (make_verdict(), long):
            group.start_soon(journal.append, entry(about))
    await journal.flush()
    assert len(await journal.recent()) == 2
    assert threads.count(threading.get_ident()) == 1


async def test_what_is_being_appended_is_written_before_the_end(journal: Journal) -> None:
    long = replace(make_verdict(), sentences=make_verdict().sentences * 2000)
    appending = asyncio.ensure_future(journal.append(entry(long)))
    # It has begun.
    await asyncio.sleep(0)
    await journal.aclose()
    assert appending.done()
    assert len(await journal.recent()) == 1


async def test_the_claims_of_a_verdict_are_kept_without_their_words(journal: Journal) -> None:
    verdict = await Guard({"chain": [{"method": "facts"}]}).acheck(
        "It opened in 1932. It has 31 lamps.",
        samples=[f"It opened in 1932. It has {lamps} lamps." for lamps in (11, 22, 33)],
    )
    assert len(verdict.claims) == 2
    await journal.append(
        Entry.of(VerdictRecord(verdict=verdict, model="m", policy="p", action="annotate"))
    )
    await journal.flush()
    (stored,) = await journal.recent(1)
    claims = Verdict.from_dict(stored.verdict).claims
    assert [claim.flagged for claim in claims] == [False, True]
    assert not any(claim.text for claim in claims)
