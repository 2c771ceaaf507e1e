"""Claims that samples leave out, asked about through the gateway."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from resay.testing import Invention, SimulatedProvider, Subject, World
from support.gateway import Gateways, Served

POLICY = """\
chain: [{method: prompt, mode: per_sample, probe: 2}]
sampling: {confidence: null, max: 3}
cache: {store: none}
"""
PARTS = (
    *(("carved", "doors"), ("wound", "clock"), ("painted", "ceiling"), ("burned", "crypt")),
    *(("cast", "bell"), ("gilded", "spire"), ("laid", "roof"), ("dug", "cellar")),
    *(("stole", "lamp"), ("paid", "gate"), ("swept", "stairs"), ("glazed", "windows")),
    *(("sold", "organ"), ("tuned", "chimes"), ("hung", "tapestry"), ("drained", "moat")),
    *(("planted", "garden"), ("forged", "hinges"), ("mapped", "tunnel"), ("bricked", "chimney")),
    *(("drew", "plans"), ("lit", "beacon"), ("tiled", "floor"), ("fenced", "yard")),
)
TOWER = Subject(
    "Corvel Tower",
    facts=("Corvel Tower stands in Odense.",),
    inventions=[Invention(f"They {verb} {{number}} {part}.") for verb, part in PARTS],
)
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Tell me about Corvel Tower."},
]


@pytest.fixture
def provider() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=1, world=World([TOWER])) as provider:
        yield provider


@pytest.fixture
def served(provider: SimulatedProvider, tmp_path: Path) -> Iterator[Served]:
    with ExitStack() as stack:
        yield Gateways(tmp_path, provider.root_url, stack).start(POLICY)


@pytest.mark.parametrize("stream", [False, True])
def test_answers_and_streams_are_asked_about(
    served: Served, provider: SimulatedProvider, stream: bool
) -> None:
    response = served.post(json={"model": "simulated", "messages": MESSAGES, "stream": stream})
    (seen,) = served.seen(1)
    assert seen.answer is not None
    verdict = seen.answer.verdict
    probed = [claim for claim in verdict.claims if "probe" in claim.scores]
    assert response.status_code == 200
    assert probed
    assert all(claim.flagged and claim.scores["probe"] > 0.5 for claim in probed)
    bodies: list[Any] = [request.body for request in provider.requests]
    asked = [body for body in bodies if "<questions-" in json.dumps(body)]
    # Two answers to all questions at once; a stream asks about each sentence that arrives alone.
    rounds = len(verdict.sentences) if stream else 1
    assert len(asked) in {2 * count for count in range(1, rounds + 1)}
    # What the application tells its model holds here too.
    assert all(body["messages"][0] == MESSAGES[0] for body in asked)
    # The main call is not the check's.
    assert verdict.usage.calls == len(bodies) - 1
