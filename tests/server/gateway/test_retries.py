"""What failing attempts cost: samples begin once, and stop with the main call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from anthropic import Anthropic
from openai import OpenAI

from resay.adapters.verdicts import verdict_of
from support.attacks import Received, Upstream, http_response
from support.gateway import ASKED, MESSAGES, POLICY, Gateways

# A sample is asked for when the one before it is there.
POLICIES = POLICY + "cache: {store: none}\nlimits: {concurrency: 1, retries: 0}\n"
KEY = {"idempotency-key": "once"}
WORDS = "The bridge is of steel."
MESSAGE = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


class Failing:
    """An upstream whose first main calls fail once a third sample is asked for."""

    def __init__(self, failures: int) -> None:
        self.main: list[int] = []
        self.samples = 0
        self._failures = failures
        self._third = asyncio.Event()
        self._answered = asyncio.Event()

    async def __call__(self, request: Received) -> AsyncIterator[bytes]:
        if not request.headers("idempotency-key"):
            self.samples += 1
            if self.samples == 3:
                self._third.set()
                await self._answered.wait()
            yield _answer(f"Nobody knows it, number {self.samples} says.")
        elif len(self.main) < self._failures:
            await self._third.wait()
            self.main.append(529)
            yield http_response(
                {"error": {"message": "busy"}}, "retry-after-ms: 1", status="529 Busy"
            )
        else:
            self.main.append(200)
            self._answered.set()
            yield _answer(WORDS)


def _answer(text: str) -> bytes:
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"id": "i", "type": "message", "role": "assistant", "status": "completed"}
    response = {
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "output": [item | {"content": [part]}],
    }
    both = {**response, **MESSAGE, "content": [{"type": "text", "text": text}]}
    return http_response(both)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as upstream:
        yield upstream


def openai(url: str) -> Any:
    with OpenAI(base_url=f"{url}/v1", api_key="k", default_headers=KEY) as client:
        return client.responses.create(model="m", input=MESSAGES[0]["content"])


def anthropic(url: str) -> Any:
    with Anthropic(base_url=url, api_key="k", default_headers=KEY) as client:
        return client.messages.create(model="m", max_tokens=200, messages=MESSAGES)


def by_hand(url: str) -> Any:
    body = ASKED["/v1/responses"]
    with httpx.Client(headers=KEY, timeout=30) as client:
        while not (answer := client.post(f"{url}/v1/responses", json=body)).is_success:
            assert answer.status_code == 529
        return answer.json()


@pytest.mark.parametrize("ask", [openai, anthropic, by_hand])
def test_a_client_that_tries_again_has_the_samples_of_its_first_try(
    tmp_path: Path, gateways: Gateways, upstream: Upstream, ask: Callable[[str], Any]
) -> None:
    served = gateways.start(POLICIES, upstream={"url": upstream.root_url})
    failing = Failing(2)
    upstream.says(failing)
    verdict = verdict_of(ask(served.url))
    assert verdict is not None
    assert verdict.samples == 3
    # Two were there, and the one that was stopped was asked for again, once there was an answer.
    assert (failing.main, failing.samples) == ([529, 529, 200], 4)
    assert [seen.verdict is None for seen in served.seen(3)] == [True, True, False]
