"""What OpenAI's client does beyond guarded answers: the same by way of the gateway."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from openai import NotFoundError, OpenAI

from simulation import SimulatedInference
from simulation.server import Exchange, HandlerServer
from support.gateway import Shared, shared_gateway

SOUND = bytes(range(256)) * 4000
COMPLETION = {
    "id": "cmpl-1",
    "object": "text_completion",
    "created": 1,
    "model": "simulated",
    "choices": [{"index": 0, "text": " is a city.", "logprobs": None, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 2, "completion_tokens": 4, "total_tokens": 6},
}


class Store:
    """An upstream that keeps a file, speaks, and completes texts."""

    def __init__(self) -> None:
        self.kept = b""
        self._server = HandlerServer(self._handle)

    def __enter__(self) -> Store:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    @property
    def root_url(self) -> str:
        return f"http://127.0.0.1:{self._server.port}"

    async def _handle(self, exchange: Exchange) -> None:
        match exchange.method, exchange.path.removeprefix("/v1"):
            case "POST", "/files":
                self.kept = _uploaded(exchange)
                await _tell(exchange, self._file())
            case "GET", "/files":
                await _tell(exchange, {"object": "list", "data": [self._file()], "has_more": False})
            case "GET", "/files/file-1/content":
                await _give(exchange, "application/octet-stream", self.kept)
            case "DELETE", "/files/file-1":
                await _tell(exchange, {"id": "file-1", "object": "file", "deleted": True})
            case "POST", "/audio/speech":
                await _give(exchange, "audio/mpeg", SOUND)
            case "POST", "/completions" if json.loads(exchange.body).get("stream"):
                await _give(exchange, "text/event-stream", _streamed(COMPLETION))
            case "POST", "/completions":
                await _tell(exchange, COMPLETION)
            case _:
                await _tell(exchange, {"error": {"message": "none", "code": "none"}}, 404)

    def _file(self) -> dict[str, Any]:
        named = hashlib.sha256(self.kept).hexdigest()
        known = {"id": "file-1", "object": "file", "bytes": len(self.kept), "created_at": 1}
        return {**known, "filename": named, "purpose": "assistants", "status": "processed"}


class Embedder(SimulatedInference):
    """An upstream that embeds texts."""

    def __init__(self) -> None:
        super().__init__(api="vllm", serves="embedder")


def _uploaded(exchange: Exchange) -> bytes:
    """Return the last part of a form."""
    boundary = exchange.headers["content-type"].partition("boundary=")[2].encode()
    part = exchange.body.split(b"--" + boundary)[-2]
    return part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")


def _streamed(completion: dict[str, Any]) -> bytes:
    events = [json.dumps({**completion, "usage": None}), json.dumps({**completion, "choices": []})]
    return b"".join(f"data: {event}\n\n".encode() for event in [*events, "[DONE]"])


async def _tell(exchange: Exchange, value: object, status: int = 200) -> None:
    await exchange.start(status, "application/json")
    await exchange.send(json.dumps(value).encode(), last=True)


async def _give(exchange: Exchange, kind: str, data: bytes) -> None:
    """Give an answer in pieces."""
    await exchange.start(200, kind)
    for start in range(0, len(data), 100_000):
        await exchange.send(data[start : start + 100_000], last=False)
    await exchange.send(b"", last=True)


def upload(client: OpenAI) -> Any:
    return client.files.create(file=("sound.bin", SOUND), purpose="assistants")


def read_back(client: OpenAI) -> Any:
    upload(client)
    return hashlib.sha256(client.files.content("file-1").read()).hexdigest()


def pages(client: OpenAI) -> Any:
    return [file.model_dump() for file in client.files.list()]


def delete(client: OpenAI) -> Any:
    return client.files.delete("file-1")


def speak(client: OpenAI) -> Any:
    with client.audio.speech.with_streaming_response.create(
        model="m", voice="alloy", input="Hello."
    ) as answer:
        return answer.headers["content-type"], b"".join(answer.iter_bytes(10_000)) == SOUND


def complete(client: OpenAI) -> Any:
    return without_verdict(client.completions.create(model="m", prompt="Canberra"))


def stream_completion(client: OpenAI) -> Any:
    pieces = client.completions.create(model="m", prompt="Canberra", stream=True)
    text = "".join(choice.text for piece in pieces for choice in piece.choices)
    return type(pieces).__name__, text


def missing(client: OpenAI) -> Any:
    with pytest.raises(NotFoundError) as caught:
        client.files.retrieve("file-2")
    return str(caught.value), caught.value.body


def embed(client: OpenAI) -> Any:
    made = client.embeddings.create(model="simulated", input=["one", "two"])
    return [item.embedding for item in made.data], made.usage


def without_verdict(value: Any) -> Any:
    """Return a completion as what the SDK makes of it, whether it was guarded or not."""
    said = value.model_dump()
    for holder in (said, *said["choices"]):
        holder.pop("hallucination", None)
    return type(value).__name__, said


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    with shared_gateway(tmp_path_factory.mktemp("gateway")) as shared:
        yield shared


def asked_both_ways(shared: Shared, upstream: Any, shape: Callable[[OpenAI], Any]) -> list[Any]:
    def ask(mode: str | None) -> Any:
        with ExitStack() as stack:
            provider = stack.enter_context(upstream)
            url, headers = stack.enter_context(shared.asked(provider, mode))
            client = OpenAI(base_url=f"{url}/v1", api_key="k", default_headers=headers)
            return shape(stack.enter_context(client))

    return [ask(None), ask("after")]


SHAPES = [
    upload, read_back, pages, delete, speak, complete, stream_completion, missing,
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_call(shared: Shared, shape: Callable[[OpenAI], Any]) -> None:
    plain, ours = asked_both_ways(shared, Store(), shape)
    assert ours == plain


def test_a_file_comes_whole(shared: Shared) -> None:
    with (
        Store() as store,
        shared.asked(store, "after") as (url, _),
        OpenAI(base_url=f"{url}/v1", api_key="k") as client,
    ):
        assert upload(client).bytes == len(SOUND)
    assert store.kept == SOUND


def test_embeddings(shared: Shared) -> None:
    plain, ours = asked_both_ways(shared, Embedder(), embed)
    assert ours == plain
    assert len(ours[0]) == 2
