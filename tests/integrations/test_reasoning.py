"""A model that leaves its reasoning in the text, the same way whoever asks it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import resay
from resay import Policy, Verdict
from simulation import SimulatedProvider
from support.clients import CLIENTS
from support.reasoning import DRAFT, reasoning_world

KNOWN, UNKNOWN = "Tell me about the Sydney Harbour Bridge.", "Tell me about the town of Zorblatt."
STRICT = {
    "chain": [{"method": "prompt"}],
    "sampling": {"max": 3},
    "cache": {"store": "none"},
    "action": {"do": "block", "message": "Withheld."},
    "on_error": "block",
    "on_unscored": "block",
    "stream_mode": "hold",
}


@pytest.fixture(params=["<think>\n", ""], ids=["tag", "opened in the prompt"])
def provider(request: pytest.FixtureRequest) -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=5, world=reasoning_world(request.param)) as provider:
        yield provider


def last() -> Verdict:
    verdict = resay.last_verdict()
    assert verdict is not None
    return verdict


@pytest.mark.parametrize("way", CLIENTS)
@pytest.mark.parametrize("stream", [False, True])
def test_reasoning_is_passed_on_and_only_the_answer_is_scored(
    provider: SimulatedProvider, way: Any, stream: bool
) -> None:
    text = way(provider, Policy.of(STRICT), stream=stream)(KNOWN)
    verdict = last()
    assert DRAFT in text
    assert text.count("</think>") == 1
    assert verdict.decision == "consistent"
    assert [stretch.kind for stretch in verdict.unscored] == ["reasoning"]
    assert "Fenella" in verdict.unscored[0].text
    for sentence in verdict.sentences:
        assert text[sentence.start : sentence.end] == sentence.text


@pytest.mark.parametrize("way", CLIENTS)
@pytest.mark.parametrize("stream", [False, True])
def test_reasoning_does_not_show_what_is_withheld(
    provider: SimulatedProvider, way: Any, stream: bool
) -> None:
    assert way(provider, Policy.of(STRICT), stream=stream)(UNKNOWN) == "Withheld."
    assert last().flagged
