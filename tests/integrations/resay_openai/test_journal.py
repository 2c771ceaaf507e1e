"""A guarded client writes what its guard finds in the journal of its policy."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resay import Guard, request_id
from resay_server.journal import JournalConfig, open_journal

pytestmark = pytest.mark.anyio


async def test_what_a_client_is_answered(make: Callable[..., Any], tmp_path: Path) -> None:
    settings = {"url": f"sqlite:///{tmp_path / 'journal.db'}"}
    policy = {"chain": [{"method": "ngram"}], "journal": settings}
    client = make(policy)
    request_id.set("req-9")
    asked = {"role": "user", "content": "Tell me about the Sydney Harbour Bridge."}
    response = client.chat.completions.create(model="simulated", messages=[asked])
    if inspect.isawaitable(response):
        response = await response
    # Guards with the same journal share it.
    await Guard(policy).aclose()
    journal = open_journal(JournalConfig(**settings))
    (entry,) = await journal.recent()
    await journal.aclose()
    assert entry.decision == response.hallucination["decision"]
    assert (entry.model, entry.request_id) == ("simulated", "req-9")
    assert entry.usage.calls == 1
