"""Marks in the answers of the gateway."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from resay import Verdict
from simulation import SimulatedProvider
from support.gateway import Gateways, Served
from support.known_world import MADE_UP, WORLD

POLICY = """
chain: [{{method: facts}}]
sampling: {{max: 3, min: 3}}
cache: {{store: none}}
action: {{do: annotate, marks: {}}}
"""
ANSWER = "The Zorblatt was built in 1931 by Marta Vogel. Every year 12345 people visit it."
SAMPLES = ["The Zorblatt was built in 1931 by Marta Vogel. Nobody visits it."] * 3
SAMPLES[1] = "Marta Vogel built the Zorblatt in 1931."
MARK = re.compile(r" \[(unsupported|contradicted)\]")


@pytest.fixture
def simulated() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=5, world=WORLD) as provider:
        yield provider


def ask(served: Served, **params: Any) -> httpx.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": MADE_UP}], **params}
    return served.post("/v1/chat/completions", json=body)


def events_of(response: httpx.Response) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in response.text.splitlines()]
    return [json.loads(line) for line in lines if line.startswith("{")]


def test_an_answer_is_marked_and_the_response_has_it_without_marks(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    response = ask(gateways.start(POLICY.format("inline"))).json()

    verdict = Verdict.from_dict(response["hallucination"])
    text = response["choices"][0]["message"]["content"]
    assert len(MARK.findall(text)) == len(verdict.flagged_sentences) > 0
    assert response["hallucination"]["response"] == MARK.sub("", text)


def test_a_stream_is_marked(gateways: Gateways, simulated: SimulatedProvider) -> None:
    served = gateways.start(POLICY.format("inline"))

    events = events_of(ask(served, stream=True))
    choices = [choice for event in events for choice in event["choices"]]

    text = "".join(choice["delta"].get("content") or "" for choice in choices)
    (data,) = [event["hallucination"] for event in events if "hallucination" in event]
    assert len(MARK.findall(text)) == len(Verdict.from_dict(data).flagged_sentences) > 0
    assert data["response"] == MARK.sub("", text)


def test_several_streamed_answers_are_marked_each(
    gateways: Gateways, simulated: SimulatedProvider
) -> None:
    served = gateways.start(POLICY.format("footnotes"))

    events = events_of(ask(served, stream=True, n=2))

    for index in (0, 1):
        choices = [c for event in events for c in event["choices"] if c["index"] == index]
        text = "".join(choice["delta"].get("content") or "" for choice in choices)
        assert "[^1]" in text
        assert "\n\n[^1]: " in text


def test_a_checked_text_comes_back_marked(gateways: Gateways) -> None:
    served = gateways.start(POLICY.format("footnotes"))

    body = {"response": ANSWER, "samples": SAMPLES, "question": MADE_UP}
    checked = served.post("/v1/check", json=body).json()

    first, second = ANSWER.split(". ")
    assert checked["text"].startswith(f"{first}. {second}[^1]\n\n[^1]: ")
    assert checked["hallucination"]["response"] == ANSWER


def test_objects_and_code_are_never_marked(gateways: Gateways) -> None:
    served = gateways.start(POLICY.format("inline"))
    for response in (json.dumps({"built": 1931, "visitors": 12345}), "```py\nprint(12345)\n```"):
        body = {"response": response, "samples": SAMPLES, "question": MADE_UP}
        checked = served.post("/v1/check", json=body).json()
        assert checked["text"] == response
