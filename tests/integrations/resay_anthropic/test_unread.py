"""What nobody asked for, or can read, of whatever is asked by Anthropic's SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from itertools import count
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic

from resay_anthropic import guard_client
from support.attacks import Received, Upstream, http_response, stream_of

pytestmark = pytest.mark.anyio

SECRET = "Zorblatt"
WORDS = f"The bridge was built by {SECRET}."
PASS: Any = {
    "cache": {"store": "none"},
    "chain": [{"method": "ngram"}],
    "sampling": {"max": 2, "start": "after"},
}
BLOCK: Any = {
    **PASS,
    "threshold": {"passage": 0.01, "sentence": 0.01},
    "action": {"do": "block"},
    "on_error": "block",
}
ASKED: Any = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Who built the bridge?"}],
}


def block(text: str, kind: str = "text") -> dict[str, Any]:
    return {"type": kind, "text": text}


def message(*blocks: Any) -> dict[str, Any]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    known = {"id": "m", "type": "message", "role": "assistant", "model": "m", "usage": usage}
    return {**known, "content": [*blocks], "stop_reason": "end_turn", "stop_sequence": None}


def event(kind: str, **data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


STREAM = stream_of(
    event("message_start", message=message()),
    event("content_block_start", index=0, content_block=block("")),
    event("content_block_delta", index=0, delta={"type": "text_delta", "text": WORDS}),
    event("content_block_stop", index=0),
    event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 1}),
    event("message_stop"),
)
ODD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" + WORDS.encode()
ANSWERS = {
    "two blocks": http_response(message(block("Of steel. "), block(WORDS)), "Connection: close"),
    "an unknown block": http_response(message(block("Of steel."), block(WORDS, "rich"))),
    "a stream": STREAM,
    "no JSON": ODD,
}


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as upstream:
        yield upstream


def answering(first: bytes) -> Any:
    numbers = count()

    async def says(request: Received) -> AsyncIterator[bytes]:
        number = next(numbers)
        other = http_response(message(block(f"Nobody knows, {number} says.")), "Connection: close")
        yield other if number else first

    return says


@pytest.fixture(params=["sync", "async"])
async def client(request: pytest.FixtureRequest, upstream: Upstream) -> AsyncIterator[Any]:
    told: Any = {"base_url": upstream.root_url, "api_key": "k", "max_retries": 0}
    if request.param == "sync":
        with Anthropic(**told) as client:
            yield client
    else:
        async with AsyncAnthropic(**told) as client:
            yield client


async def text_of(client: Any, **asked: Any) -> str:
    """Return all that a client gives."""
    made = client.messages.with_raw_response.create(**ASKED, **asked)
    raw = await made if hasattr(made, "__await__") else made
    http = raw.http_response
    return (await http.aread() if isinstance(client, AsyncAnthropic) else http.read()).decode()


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("asked", [{}, {"stream": True}, {"extra_body": {"stream": 1}}])
async def test_it_is_checked_or_ends_by_on_error(
    client: Any, upstream: Upstream, answer: bytes, asked: Any
) -> None:
    upstream.says(answering(answer))
    assert SECRET not in await text_of(guard_client(client, BLOCK), **asked)
    upstream.says(answering(answer))
    given = await text_of(guard_client(client, PASS), **asked)
    assert SECRET in given
    assert "hallucination" in given or answer is ODD
