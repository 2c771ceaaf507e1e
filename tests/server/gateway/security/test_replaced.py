"""Text that a policy replaces, which no client of the gateway sees."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.attacks import ANSWER, Received, Upstream, ask, http_response, stream_of
from support.gateway import Gateways, Served

DESIGNED = "It was designed by Marta Vogel in 1931."
DRAFT = f"The Kessel Bridge crosses the Oder. {DESIGNED} It carries a road and two tracks."
SAMPLES = (
    "The Kessel Bridge crosses the Oder. It carries a road and two tracks.",
    "It carries a road and two tracks. The Kessel Bridge crosses the Oder.",
    "A road and two tracks: the Kessel Bridge carries them. The Kessel Bridge crosses the Oder.",
)
REPAIR = """
chain: [{method: facts}]
sampling: {max: 3, start: after}
cache: {store: none}
stream_mode: %s
action: {do: regenerate, from: samples, mode: consistent, otherwise: block}
"""
PATHS = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "What of the bridge?"}]},
    "/v1/responses": {"input": "What of the bridge?", "store": True},
    "/v1/messages": {
        "max_tokens": 99,
        "messages": [{"role": "user", "content": "What of the bridge?"}],
    },
}


def chat(*texts: str) -> dict[str, Any]:
    choices = [
        {
            "index": index,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "stop",
        }
        for index, text in enumerate(texts)
    ]
    return {**ANSWER, "choices": choices}


def response(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant", "content": [part]}
    return {"id": "resp_1", "object": "response", "status": "completed", "output": [item]}


def message(text: str) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
    }


def chat_stream(text: str) -> bytes:
    pieces = [{"index": 0, "delta": {"content": word}} for word in text.split(" ") if word]
    spaced = [{**piece, "delta": {"content": piece["delta"]["content"] + " "}} for piece in pieces]
    spaced.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    events = [
        b"data: %s\n\n" % json.dumps({"id": "chatcmpl-1", "choices": [piece]}).encode()
        for piece in spaced
    ]
    return stream_of(*events, b"data: [DONE]\n\n")


class Drafting:
    """Answers with the draft first, and then with samples that do not have its middle sentence."""

    def __init__(self) -> None:
        self._texts = iter([DRAFT, *SAMPLES])

    async def __call__(self, request: Received) -> AsyncIterator[bytes]:
        body = request.json
        texts = [next(self._texts) for _ in range(body.get("n", 1))]
        if body.get("stream"):
            yield chat_stream(texts[0])
        elif "chat" in request.target:
            yield http_response(chat(*texts))
        elif "responses" in request.target:
            yield http_response(response(texts[0]))
        else:
            yield http_response(message(texts[0]))


@pytest.fixture(scope="module")
def repairing(starter: Gateways) -> Served:
    hold = starter.policy(REPAIR % "hold", "repair-hold.yaml")
    return starter.start(REPAIR % "buffer", policies={"hold": hold}, selectable_policies=["hold"])


@pytest.mark.parametrize("path", PATHS)
def test_a_client_does_not_get_the_draft_of_a_repaired_answer(
    repairing: Served, upstream: Upstream, path: str
) -> None:
    upstream.says(Drafting())
    answer = ask(repairing, {"model": "m", **PATHS[path]}, target=path)
    verdict = json.loads(answer.body)["hallucination"]
    assert verdict["action"] == "regenerate"
    assert verdict["regeneration"]["edits"]
    assert verdict["regeneration"]["adopted"] is not None
    assert b"Vogel" not in answer.data
    # Ids and times may have the digits.
    assert b" 1931" not in answer.data


@pytest.mark.parametrize("policy", ["default", "hold"])
def test_nor_does_it_in_a_stream(repairing: Served, upstream: Upstream, policy: str) -> None:
    upstream.says(Drafting())
    body = {"model": "m", "stream": True, **PATHS["/v1/chat/completions"]}
    answer = ask(repairing, body, f"x-resay-policy: {policy}")
    assert b'"regeneration"' in answer.data
    assert b"two tracks" in answer.data
    assert b"Vogel" not in answer.data
    # Ids and times may have the digits.
    assert b" 1931" not in answer.data
