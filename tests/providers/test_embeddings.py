from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from resay.errors import (
    ConfigurationError,
    ProviderError,
    ProviderRefusedError,
    ProviderTimeoutError,
)
from resay.providers import LiteLLMEmbedder
from support.alone import needs
from support.embeddings import EmbeddingServer, embedded

pytestmark = [pytest.mark.anyio, needs("litellm")]

SECRET = "sesame-opens-nothing"
MODEL = "openai/text-embedding-3-small"
TEXTS = [f"The bridge number {i} is old." for i in range(7)]


@pytest.fixture(params=["direct", "litellm"])
def server(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[EmbeddingServer]:
    """A server, asked directly, or through litellm, which finds its address by itself."""
    with EmbeddingServer() as server:
        if request.param == "litellm":
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def embedder(server: EmbeddingServer, **settings: Any) -> LiteLLMEmbedder:
    given = {"api_key": SECRET, "retries": 0, **settings}
    if os.environ.get("OPENAI_BASE_URL") != server.url:
        given["api_base"] = server.url
    return LiteLLMEmbedder(given.pop("model", MODEL), **given)


async def test_each_text_has_its_embedding_in_order(server: EmbeddingServer) -> None:
    model = embedder(server, batch=3)
    await model.prepare()
    rows = await model.embed([*TEXTS, TEXTS[0]])
    for row, text in zip(rows, [*TEXTS, TEXTS[0]], strict=True):
        assert row == pytest.approx(embedded(text))
    assert [len(body["input"]) for body in server.bodies] == [3, 3, 2]
    assert set(server.keys) == {f"Bearer {SECRET}"}
    assert await model.embed([]) == []
    assert len(server.bodies) == 3


async def test_nothing_is_sent_that_is_not_meant_to_be(server: EmbeddingServer) -> None:
    await embedder(server).embed(["one", "", "\ud800"])
    await embedder(server, dimensions=5, model="openai/of-others").embed(["one"])
    first, second = server.bodies
    assert first.pop("input") == ["one", " ", "?"]
    assert first == {"model": "text-embedding-3-small"}
    assert second == {"model": "of-others", "input": ["one"], "dimensions": 5}


async def test_what_it_cost_is_counted(server: EmbeddingServer) -> None:
    model = embedder(server, batch=3)
    assert model.usage.calls == 0
    await model.embed(TEXTS)
    assert (model.usage.calls, model.usage.prompt_tokens) == (3, 42)
    assert model.usage.cost_usd == pytest.approx(42 * 0.02e-6)
    unknown = embedder(server, model="openai/somebody's-own")
    await unknown.embed(TEXTS)
    assert (unknown.usage.prompt_tokens, unknown.usage.cost_usd) == (42, None)


async def test_what_may_pass_is_asked_again(server: EmbeddingServer) -> None:
    server.statuses = [429, 503]
    rows = await embedder(server, retries=2).embed(TEXTS[:1])
    assert rows == [pytest.approx(embedded(TEXTS[0]))]
    assert len(server.bodies) == 3

    server.statuses = [503, 503]
    with pytest.raises(ProviderError, match="HTTP 503"):
        await embedder(server, retries=1).embed(TEXTS[:1])
    assert len(server.bodies) == 5


@pytest.mark.parametrize(("status", "hint"), [(400, "check the model's name"), (401, "API key")])
async def test_what_is_refused_is_not_asked_again(
    server: EmbeddingServer, status: int, hint: str
) -> None:
    server.statuses = [status, status]
    with pytest.raises(ProviderRefusedError, match=hint) as caught:
        await embedder(server, retries=2).embed([f"What is {SECRET}?"])
    assert len(server.bodies) == 1
    # The server repeats what it was sent.
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def without_one(status: int, body: dict[str, Any]) -> tuple[int, Any]:
    return status, {**body, "data": body["data"][1:]}


def one_twice(status: int, body: dict[str, Any]) -> tuple[int, Any]:
    return status, {**body, "data": [{**row, "index": 0} for row in body["data"]]}


def one_shorter(status: int, body: dict[str, Any]) -> tuple[int, Any]:
    first, *others = body["data"]
    return status, {**body, "data": [{**first, "embedding": [1.0, 2.0]}, *others]}


def in_words(status: int, body: dict[str, Any]) -> tuple[int, Any]:
    return status, {**body, "data": [{**row, "embedding": SECRET} for row in body["data"]]}


@pytest.mark.parametrize(
    ("change", "settings", "why"),
    [
        (without_one, {}, "returned 2 embeddings for 3 texts, not one for each"),
        (one_twice, {}, "returned 3 embeddings for 3 texts, not one for each"),
        (one_shorter, {}, "returned embeddings of different lengths"),
        (one_shorter, {"dimensions": 4}, "`dimensions` is 4"),
        (in_words, {}, r"in a form that cannot be read|failed with"),
    ],
)
async def test_an_answer_that_does_not_fit_is_no_answer(
    server: EmbeddingServer, change: Any, settings: dict[str, Any], why: str
) -> None:
    server.change = change
    with pytest.raises(ProviderError, match=why) as caught:
        await embedder(server, **settings).embed(TEXTS[:3])
    assert SECRET not in "".join(traceback.format_exception(caught.value))


async def test_lengths_are_the_same_in_all_requests(server: EmbeddingServer) -> None:
    server.change = lambda status, body: (
        one_shorter(status, body) if len(server.bodies) == 2 else (status, body)
    )
    with pytest.raises(ProviderError, match="different lengths"):
        await embedder(server, batch=1).embed(TEXTS[:3])


async def test_a_server_that_hangs_is_given_up(server: EmbeddingServer) -> None:
    released = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hang(status: int, body: dict[str, Any]) -> tuple[int, Any]:
        asyncio.run_coroutine_threadsafe(released.wait(), loop).result(30)
        return status, body

    server.change = hang
    with pytest.raises(ProviderTimeoutError, match="did not answer in time"):
        await embedder(server, timeout_s=0.2).embed(TEXTS[:1])
    released.set()


async def test_an_address_where_nobody_is_is_told_of() -> None:
    with EmbeddingServer() as gone:
        pass
    with pytest.raises(ProviderError, match="cannot be reached"):
        await embedder(gone).embed(TEXTS[:1])


def test_settings_that_make_no_sense_are_refused(server: EmbeddingServer) -> None:
    for wrong in ({"batch": 0}, {"concurrency": 0}):
        with pytest.raises(ConfigurationError):
            embedder(server, **wrong)


PROGRAM = """
import asyncio, sys
from resay.providers import LiteLLMEmbedder
sys.modules["litellm"] = None  # as if it were not installed
model = LiteLLMEmbedder("nomic-embed-text", api_base=sys.argv[1])
print(len(asyncio.run(model.embed(["It opened in 1932."]))))
"""


def test_a_server_with_an_address_needs_no_litellm(server: EmbeddingServer) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, server.url], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert server.bodies == [{"model": "nomic-embed-text", "input": ["It opened in 1932."]}]
