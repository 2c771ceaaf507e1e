from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from resay_server.journal import Journal, JournalConfig, open_journal


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
