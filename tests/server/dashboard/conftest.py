from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from resay_server.journal import Journal
from support.chromium import browser, tab
from support.dashboard import asking

__all__ = ["browser", "client", "tab", "url"]


@pytest.fixture
def url(tmp_path: Path) -> str:
    """An empty database."""
    return f"sqlite:///{tmp_path / 'journal.db'}"


@pytest.fixture
async def client(journal: Journal) -> AsyncIterator[httpx.AsyncClient]:
    async with asking(journal) as one:
        yield one
