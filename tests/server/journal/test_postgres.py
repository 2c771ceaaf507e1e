"""What is PostgreSQL's own, with a real server."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import anyio
import pytest

from resay_server.journal import Journal, JournalConfig, JournalError, open_journal
from support.journal import SECRETS, entry, write_from_two_processes
from support.postgres import PASSWORD, PostgresServer

pytestmark = pytest.mark.anyio


def journal_at(url: str, **settings: Any) -> Journal:
    return open_journal(JournalConfig(url=url, **settings))


def ask(url: str, sql: str) -> list[Any]:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []


async def test_a_server_that_restarts_loses_nothing(postgres: PostgresServer) -> None:
    journal = journal_at(postgres.database())
    await journal.append(entry(id="a"))
    await journal.flush()
    await anyio.to_thread.run_sync(postgres.restart)
    await journal.append(entry(id="b"))
    # The first attempt finds the connection closed.
    while True:
        with contextlib.suppress(JournalError):
            await journal.flush()
            break
    assert [one.id for one in await journal.recent()] == ["b", "a"]
    assert journal.lost == 0
    await journal.aclose()


async def test_the_first_read_after_a_restart_succeeds(postgres: PostgresServer) -> None:
    journal = journal_at(postgres.database())
    await journal.append(entry(id="a"))
    await journal.flush()
    for _ in range(2):
        assert [one.id for one in await journal.recent()] == ["a"]
        await anyio.to_thread.run_sync(postgres.restart)
    assert await journal.find_own("a", None) is not None
    await journal.aclose()


@pytest.mark.parametrize("wrong", ["password", "database", "host"])
async def test_what_cannot_be_reached_is_named_without_the_password(
    postgres: PostgresServer, caplog: pytest.LogCaptureFixture, wrong: str
) -> None:
    url = {
        "password": postgres.url("postgres").replace("s3cret", "s3creT"),
        "database": postgres.url("nowhere"),
        "host": "postgresql://resay:s3cret%2Fword@/postgres?host=/nowhere",
    }[wrong]
    journal = journal_at(url)
    await journal.append(entry())
    with pytest.raises(JournalError, match="the journal 'postgresql:///") as caught:
        await journal.flush()
    with pytest.raises(JournalError) as also:
        await journal.recent()
    await journal.aclose()
    assert journal.lost == 1
    for error in (caught.value, also.value):
        assert error.__context__ is None
    shown = f"{caught.value} {also.value} {caplog.text}"
    for secret in (PASSWORD, "s3creT", "s3cret", *SECRETS):
        assert secret not in shown


async def test_rows_it_refuses_are_counted_and_not_repeated(
    postgres: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    latin = postgres.database("ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    journal = journal_at(latin, content="all")
    for number, tenant in enumerate(["good", "日本", "naïve"]):
        await journal.append(entry(id=str(number), tenant=tenant))
    await journal.flush()
    assert {one.tenant for one in await journal.recent()} == {"good", "naïve"}
    assert journal.lost == 1
    assert "rejected the operation (UntranslatableCharacter, 22P05)" in caplog.text
    assert not [secret for secret in ("日本", *SECRETS) if secret in caplog.text]
    await journal.aclose()


async def test_a_role_without_the_right_to_make_tables_may_write(postgres: PostgresServer) -> None:
    url = postgres.database()
    owner = journal_at(url)
    await owner.append(entry(id="a"))
    await owner.aclose()
    ask(url, "DROP ROLE IF EXISTS clerk")
    ask(url, "CREATE ROLE clerk LOGIN PASSWORD 'clerk'")
    ask(url, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    ask(url, "GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO clerk")
    clerk = journal_at(url.replace("resay:s3cret%2Fword", "clerk:clerk"))
    await clerk.append(entry(id="b"))
    await clerk.flush()
    assert {one.id for one in await clerk.recent()} == {"a", "b"}
    await clerk.aclose()
    ask(url, "DROP OWNED BY clerk")


async def test_tables_of_a_newer_version_are_left_alone(postgres: PostgresServer) -> None:
    url = postgres.database()
    journal = journal_at(url)
    await journal.append(entry())
    await journal.aclose()
    ask(url, "UPDATE resay_journal_version SET version = 99")
    with pytest.raises(JournalError, match="version 99, but this Resay supports at most 7"):
        await journal.recent()
    await journal.aclose()


async def test_words_are_indexed_when_the_tables_are_older(postgres: PostgresServer) -> None:
    url = postgres.database()
    journal = journal_at(url, content="all")
    await journal.append(entry(id="a", tenant="t"))
    await journal.append(entry(id="b"))
    await journal.aclose()
    ask(url, "DROP FUNCTION resay_journal_change CASCADE")
    ask(url, "DROP TABLE resay_journal_rollups, resay_journal_changed")
    ask(url, "DROP TABLE resay_journal_words, resay_journal_unindexed")
    ask(url, "ALTER TABLE resay_journal_sampled RENAME TO resay_journal_draws")
    ask(url, "ALTER TABLE resay_journal_entries DROP COLUMN evidence")
    ask(url, "UPDATE resay_journal_version SET version = 3")
    journal = journal_at(url)
    assert {one.id for one in await journal.recent(words="zqsent*")} == {"a", "b"}
    await journal.forget(tenant="t")
    assert ask(url, "SELECT entry_id, words::text LIKE '%zqsent%' FROM resay_journal_words") == [
        ("b", True)
    ]
    await journal.aclose()


def test_processes_that_start_at_once_share_it(postgres: PostgresServer) -> None:
    url = postgres.database()
    write_from_two_processes(url, count=30)
    assert len(asyncio.run(journal_at(url).recent(500))) == 90


def test_a_loop_that_ends_closes_its_connections(postgres: PostgresServer) -> None:
    url = postgres.database()
    journal = journal_at(url)

    async def use() -> list[Any]:
        await journal.append(entry())
        await journal.flush()
        await journal.recent()
        return await anyio.to_thread.run_sync(ask, url, _OTHERS)

    assert asyncio.run(use()) == [(2,)]
    # The server takes note of the end in its own time.
    ask(url, _UNTIL_GONE)
    assert ask(url, _OTHERS) == [(0,)]


_OTHERS = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE application_name = 'resay' AND datname = current_database()"
)
_UNTIL_GONE = (
    "DO $$ BEGIN FOR i IN 1..1000 LOOP PERFORM pg_stat_clear_snapshot();"
    f" EXIT WHEN ({_OTHERS}) = 0; PERFORM pg_sleep(0.01); END LOOP; END $$"
)
