"""What nobody asked for, or can read, of whatever is asked by OpenAI's SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from itertools import count
from typing import Any

import openai
import pytest

from resay_openai import GuardedAsyncOpenAI, GuardedOpenAI, guard_http_client, verdict_of
from support.attacks import ANSWER, Received, Upstream, http_response, stream_of

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
ASKED: Any = {"model": "m", "messages": [{"role": "user", "content": "Who built the bridge?"}]}


def choice(content: str, index: int = 0) -> dict[str, Any]:
    message = {"role": "assistant", "content": content}
    return {"index": index, "message": message, "finish_reason": "stop"}


def piece(content: str, index: int = 0) -> bytes:
    delta = {"index": index, "delta": {"content": content}, "finish_reason": "stop"}
    known = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps({**known, 'choices': [delta]})}\n\n".encode()


TWO = http_response(
    ANSWER | {"choices": [choice("Of steel."), choice(WORDS, 1)]}, "Connection: close"
)
STREAM = stream_of(piece("Of steel."), piece(WORDS, 1), b"data: [DONE]\n\n")
ODD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" + WORDS.encode()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as upstream:
        yield upstream


def answering(first: bytes) -> Any:
    numbers = count()

    async def says(request: Received) -> AsyncIterator[bytes]:
        number = next(numbers)
        other = http_response(ANSWER | {"choices": [choice(f"Nobody knows, {number} says.")]})
        yield other if number else first

    return says


async def text_of(client: Any, **asked: Any) -> str:
    """Return all that a client gives."""
    create = client.chat.completions.with_raw_response.create
    made = create(**ASKED, **asked)
    raw = await made if hasattr(made, "__await__") else made
    http = raw.http_response
    data = await http.aread() if isinstance(client, openai.AsyncOpenAI) else http.read()
    return data.decode()


@pytest.fixture(params=["sync", "async", "http"])
async def make(request: pytest.FixtureRequest, upstream: Upstream) -> AsyncIterator[Any]:
    made: list[Any] = []

    def make(policy: Any) -> Any:
        told: Any = {"base_url": f"{upstream.root_url}/v1", "api_key": "k", "max_retries": 0}
        if request.param == "http":
            http = guard_http_client(openai.DefaultHttpxClient(), policy)
            made.append(openai.OpenAI(**told, http_client=http))
        else:
            kind: Any = GuardedOpenAI if request.param == "sync" else GuardedAsyncOpenAI
            made.append(kind(policy=policy, **told))
        return made[-1]

    yield make
    for client in made:
        closing = client.close()
        if closing is not None:
            await closing


@pytest.mark.parametrize("answer", [TWO, STREAM, ODD], ids=["two", "stream", "odd"])
@pytest.mark.parametrize("asked", [{}, {"stream": True}, {"n": 2}, {"extra_body": {"stream": 1}}])
async def test_it_is_checked_or_ends_by_on_error(
    make: Any, upstream: Upstream, answer: bytes, asked: Any
) -> None:
    upstream.says(answering(answer))
    assert SECRET not in await text_of(make(BLOCK), **asked)
    upstream.says(answering(answer))
    assert SECRET in await text_of(make(PASS), **asked)


async def test_each_of_two_answers_has_its_verdict(make: Any, upstream: Upstream) -> None:
    upstream.says(answering(TWO))
    answer = json.loads(await text_of(make(PASS)))
    assert verdict_of(answer) is not None
    assert all(verdict_of(one) is not None for one in answer["choices"])
