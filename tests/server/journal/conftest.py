from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

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
