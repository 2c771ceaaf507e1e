from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from resay_server.journal import Journal, JournalConfig, open_journal
from support.postgres import PostgresServer, binaries


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    programs = binaries()
    if programs is None or os.name != "posix":
        pytest.skip("no PostgreSQL server is installed here")
    pytest.importorskip("psycopg", reason="psycopg is not installed here")
    with PostgresServer(programs) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'journal.db'}"
    return request.getfixturevalue("postgres").database()


@pytest.fixture
async def opened(url: str) -> AsyncIterator[Callable[..., Journal]]:
    """Opens journals of one database, and closes them."""
    journals: list[Journal] = []

    def open_one(**settings: Any) -> Journal:
        journals.append(open_journal(JournalConfig(url=url, **settings)))
        return journals[-1]

    yield open_one
    for journal in journals:
        await journal.aclose()


@pytest.fixture
def journal(opened: Callable[..., Journal]) -> Journal:
    return opened()
