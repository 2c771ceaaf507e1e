"""A provider that makes up half of its answer, and a document that contradicts it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from resay import Document, Guard, Verdict
from simulation import Invention, SimulatedProvider, Subject, World

__all__ = [
    "KNOWN",
    "MODES",
    "QUESTION",
    "RIGHT",
    "WORLD",
    "Shelf",
    "check_repaired",
    "guard",
    "half_right",
    "said_beside",
    "words_of_draft",
]

QUESTION = "What is the Zorblatt?"
KNOWN = "The Zorblatt is a clock in Riga."
RIGHT = "The Zorblatt was built in 1631 by Ada Kling."
WORLD = World(
    [
        Subject(
            "Zorblatt",
            facts=[[KNOWN], ["It strikes twice a day."]],
            inventions=[
                Invention("The Zorblatt was built in {year} by {person}."),
                Invention("A copy of it stands in {place}, made by {person}."),
            ],
        ),
    ]
)
# One that streams while it repairs, one that waits; the engine's own tests have the others.
MODES = [("repair", "hold"), ("rewrite", "buffer")]


def half_right() -> Iterator[SimulatedProvider]:
    """Yield a provider whose answers are half made up, as the body of a fixture."""
    with SimulatedProvider(seed=5, world=WORLD) as provider:
        yield provider


class Shelf:
    """A retriever with one document."""

    async def retrieve(self, query: str, *, k: int) -> Sequence[Document]:
        return [Document("clocks.md", f"{KNOWN} It strikes twice a day. {RIGHT}")]


def guard(mode: str = "repair", stream_mode: str = "hold", **action: Any) -> Guard:
    """Return a guard that repairs flagged answers."""
    policy = {
        "chain": [{"method": "prompt", "mode": "per_sample"}],
        "sampling": {"max": 3, "confidence": None, "start": "after"},
        "cache": {"store": "none"},
        "action": {"do": "regenerate", "mode": mode, **action},
        "stream_mode": stream_mode,
    }
    return Guard(policy, retriever=Shelf())


def words_of_draft(verdict: Verdict | None) -> set[str]:
    """Return the invented words that only the draft contains."""
    assert verdict is not None
    assert verdict.regeneration is not None
    known = re.findall(r"\w+", f"{KNOWN} {RIGHT}")
    words = re.findall(r"\b[A-Z]\w{3,}", verdict.regeneration.draft)
    invented = set(words) - set(known)
    assert invented
    return invented


def check_repaired(text: str, verdict: Verdict | None, told: Any) -> None:
    """Check that a text is a repaired answer, and that nothing but the verdict quotes the draft.

    Args:
        text: The text.
        verdict: Its verdict.
        told: Everything that the client received, as JSON values.
    """
    assert KNOWN in text
    assert RIGHT in text
    assert verdict is not None
    assert verdict.regenerated
    beside = said_beside(told)
    assert not [word for word in words_of_draft(verdict) if word in beside]


def said_beside(data: Any) -> str:
    """Return everything but the verdict, which may quote the draft, as JSON."""
    return json.dumps(_beside(data), ensure_ascii=False, default=str)


def _beside(data: Any) -> Any:
    if isinstance(data, dict):
        return {k: _beside(v) for k, v in data.items() if k != "hallucination"}
    return [_beside(item) for item in data] if isinstance(data, (list, tuple)) else data
