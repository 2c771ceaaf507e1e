"""Models that leave their reasoning in the text, behind the gateway and its clients."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest

from simulation import SimulatedProvider
from support.gateway import ASKED, Gateways, Served
from support.reasoning import DRAFT, reasoning_world

POLICY = "chain: [{method: prompt}]\nsampling: {max: 3}\n"
STRICT = "action: {do: block, message: Withheld.}\non_error: block\non_unscored: block\n"
PATHS = [path for path in sorted(ASKED) if path != "/v1/completions"]
KNOWN, UNKNOWN = "Tell me about the Sydney Harbour Bridge.", "Tell me about the town of Zorblatt."
OPENINGS = {"tag": "<think>\n", "opened in the prompt": ""}


@pytest.fixture(params=OPENINGS.values(), ids=list(OPENINGS))
def gateways(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Gateways]:
    with ExitStack() as stack:
        world = reasoning_world(request.param)
        simulated = stack.enter_context(SimulatedProvider(seed=7, world=world))
        yield Gateways(tmp_path, simulated.root_url, stack)


def asked(path: str, question: str, *, stream: bool) -> dict[str, Any]:
    body = dict(ASKED[path])
    if "messages" in body:
        body["messages"] = [{"role": "user", "content": question}]
    else:
        body["input"] = question
    return {**body, "stream": stream}


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts of an answer, in order, wherever an API has them."""
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from texts_in(item)
    elif isinstance(value, dict):
        for name, item in cast("dict[str, Any]", value).items():
            if name in ("content", "text") and isinstance(item, str):
                yield item
            elif name not in ("hallucination", "metadata"):
                yield from texts_in(item)


def said(served: Served, path: str, question: str, *, stream: bool) -> tuple[str, dict[str, Any]]:
    """Return the text of an answer, and its verdict."""
    response = served.post(path, json=asked(path, question, stream=stream))
    assert response.status_code == 200, response.text
    if not stream:
        body = response.json()
        return "".join(texts_in(body)), verdict_of(body)
    lines = [line[6:] for line in response.text.splitlines() if line.startswith("data: {")]
    events = [json.loads(line) for line in lines]
    deltas: list[str] = []
    for event in events:
        if event.get("type") == "response.output_text.delta":
            deltas.append(event["delta"])
        elif event.get("type") == "content_block_delta":
            deltas.append(event["delta"].get("text", ""))
        elif "choices" in event:
            deltas += [choice["delta"].get("content") or "" for choice in event["choices"]]
    return "".join(deltas), next(filter(None, map(verdict_of, reversed(events))))


def verdict_of(value: Any) -> dict[str, Any]:
    """Return the verdict in a body or an event, wherever it is; empty if there is none."""
    items: list[Any] = []
    if isinstance(value, dict):
        body = cast("dict[str, Any]", value)
        own = body.get("hallucination")
        if own:
            return json.loads(own) if isinstance(own, str) else own
        items = list(body.values())
    elif isinstance(value, list):
        items = cast("list[Any]", value)
    for item in items:
        verdict = verdict_of(item)
        if verdict:
            return verdict
    return {}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("mode", [None, "hold", "after", "buffer"])
@pytest.mark.parametrize("strict", [False, True])
def test_reasoning_is_passed_on_and_not_scored(
    gateways: Gateways, path: str, mode: str | None, strict: bool
) -> None:
    policy = POLICY + STRICT * strict + (f"stream_mode: {mode}\n" if mode else "")
    text, verdict = said(gateways.start(policy), path, KNOWN, stream=mode is not None)
    assert DRAFT in text
    assert text.count("</think>") == 1
    assert verdict["decision"] == "consistent", verdict
    assert verdict["action"] == "allow"
    assert [stretch["kind"] for stretch in verdict["unscored"]] == ["reasoning"]
    for sentence in verdict["sentences"]:
        assert text[sentence["start"] : sentence["end"]] == sentence["text"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("mode", [None, "hold", "buffer"])
def test_reasoning_does_not_show_what_is_withheld(
    gateways: Gateways, path: str, mode: str | None
) -> None:
    policy = POLICY + STRICT + (f"stream_mode: {mode}\n" if mode else "")
    text, verdict = said(gateways.start(policy), path, UNKNOWN, stream=mode is not None)
    assert text == "Withheld."
    assert verdict["decision"] == "flagged"
