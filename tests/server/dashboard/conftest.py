from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from resay_server.journal import Journal, JournalConfig, open_journal
from support.chromium import browser, tab
from support.dashboard import asking

__all__ = ["browser", "client", "journal", "opened", "tab"]


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Callable[..., Journal]]:
    """Opens journals of one file, and closes them."""
    journals: list[Journal] = []

    def open_one(**settings: Any) -> Journal:
        url = f"sqlite:///{tmp_path / 'journal.db'}"
        journals.append(open_journal(JournalConfig(url=url, **settings)))
        return journals[-1]

    yield open_one
    for journal in journals:
        await journal.aclose()


@pytest.fixture
def journal(opened: Callable[..., Journal]) -> Journal:
    return opened()


@pytest.fixture
async def client(journal: Journal) -> AsyncIterator[httpx.AsyncClient]:
    async with asking(journal) as one:
        yield one
