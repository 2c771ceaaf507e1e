"""A server that writes down what arrives, for a model and for litellm."""

from __future__ import annotations

import json
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio.to_thread
import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import BaseTool, tool

from resay.providers.litellm import LiteLLMProvider
from resay_langchain._litellm.requests import request_of

TEXT = '{"name": "Ada"}'
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

# What libraries say of themselves, of the connection, and of retries.
_OWN_HEADERS = {
    "accept",
    "accept-encoding",
    "amz-sdk-invocation-id",
    "amz-sdk-request",
    "connection",
    "content-length",
    "content-type",
    "host",
    "user-agent",
    "x-amz-date",
    "x-goog-api-client",
    "x-goog-request-params",
}


@dataclass(frozen=True, slots=True)
class Arrived:
    """One request.

    Attributes:
        path: Its path and query.
        headers: Its headers but for those that libraries write about themselves.
        body: Its body.
    """

    path: str
    headers: dict[str, str]
    body: Any


class Recorder:
    """Answers every question alike, in the shape of whichever provider is asked."""

    def __init__(self) -> None:
        self.arrived: list[Arrived] = []
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                kept = {
                    name: value
                    for name, value in headers.items()
                    if name not in _OWN_HEADERS and not name.startswith("x-stainless-")
                }
                recorder.arrived.append(Arrived(self.path, kept, json.loads(body)))
                answer = json.dumps(_answer(self.path)).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def running(self) -> Iterator[Recorder]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()


def _answer(path: str) -> dict[str, Any]:
    if path.endswith("/v1/messages"):
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [{"type": "text", "text": TEXT}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    if path.endswith("/api/chat"):
        return {
            "model": "m",
            "created_at": "2025-01-01T00:00:00Z",
            "message": {"role": "assistant", "content": TEXT},
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": 1,
            "eval_count": 1,
        }
    if path.endswith("/converse"):
        return {
            "output": {"message": {"role": "assistant", "content": [{"text": TEXT}]}},
            "stopReason": "end_turn",
            "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
            "metrics": {"latencyMs": 1},
        }
    if ":generateContent" in path:
        content = {"role": "model", "parts": [{"text": TEXT}]}
        return {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {
                "promptTokenCount": 1,
                "candidatesTokenCount": 1,
                "totalTokenCount": 2,
            },
        }
    message = {"role": "assistant", "content": TEXT}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with Recorder().running() as running:
        yield running


@pytest.fixture(scope="module")
def aws_read_once() -> Iterator[None]:
    """Let all clients share what botocore reads: each would read megabytes of its own."""
    loaders = pytest.importorskip("botocore.loaders")
    shared = loaders.JSONFileLoader()
    shared.load_file = cache(shared.load_file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loaders.Loader, "FILE_LOADER_CLASS", staticmethod(lambda: shared))
        yield


def _asked(recorder: Recorder) -> list[Arrived]:
    # litellm asks Ollama for what it knows of a model, too, whenever that comes.
    return [one for one in recorder.arrived if one.path.partition("?")[0] != "/api/show"]


Twice = Callable[..., Awaitable[tuple[Arrived, Arrived]]]


@pytest.fixture
async def twice(recorder: Recorder, litellm: Any) -> Twice:
    """Ask with the model itself and through litellm; return what arrived each time."""

    async def ask(
        model: Any, messages: Sequence[BaseMessage], kwargs: Mapping[str, Any] | None = None
    ) -> tuple[Arrived, Arrived]:
        def invoke() -> None:
            model.bind(**(kwargs or {})).invoke(list(messages))

        await anyio.to_thread.run_sync(invoke)
        (own,) = _asked(recorder)
        recorder.arrived.clear()
        got = await LiteLLMProvider().complete(request_of(model, messages, kwargs or {}))
        assert got.first.text == TEXT
        (through,) = _asked(recorder)
        return own, through

    return ask


@pytest.fixture
def weather() -> BaseTool:
    @tool
    def weather(city: str, days: int = 1) -> str:
        """Say what the weather will be like."""
        return f"Sun in {city} for {days} days."

    return weather


@pytest.fixture
def question() -> list[BaseMessage]:
    return [SystemMessage("Be brief."), HumanMessage("Who was it?")]


@pytest.fixture
def earlier() -> list[BaseMessage]:
    """A conversation with an answer that was guarded."""
    verdict = {"hallucination": {"decision": "flagged"}, "model_name": "m"}
    answer = AIMessage("Ada.", response_metadata=verdict, id="run-1")
    return [HumanMessage("Who was it?"), answer, HumanMessage("Are you sure?")]


@pytest.fixture
def image() -> list[BaseMessage]:
    url = {"type": "image_url", "image_url": {"url": PIXEL}}
    return [HumanMessage([{"type": "text", "text": "What is this?"}, url])]


@pytest.fixture
def parts() -> list[BaseMessage]:
    """Texts in several parts, from people with names."""

    def texts(*said: str) -> list[str | dict[Any, Any]]:
        return [{"type": "text", "text": text} for text in said]

    return [
        SystemMessage(texts("Be brief.", "Be kind.")),
        HumanMessage(texts("Who?", "When?"), name="bob"),
        AIMessage(texts("Ada.", "In 1843."), name="agent", id="run-2"),
        HumanMessage(texts("Sure?")),
    ]


@pytest.fixture
def in_a_row() -> list[BaseMessage]:
    """Several messages of one role one after the other."""
    return [
        SystemMessage("Be brief."),
        SystemMessage("Be kind."),
        HumanMessage("Who?"),
        HumanMessage([{"type": "text", "text": "And when?"}]),
    ]


@pytest.fixture
def tool_use() -> list[BaseMessage]:
    """Two tools were called, and their results are there."""
    calls = [
        {"id": f"call_{i}", "name": "weather", "args": {"city": city}, "type": "tool_call"}
        for i, city in enumerate(["Zürich", "Bonn"])
    ]
    return [
        SystemMessage("Be brief."),
        HumanMessage("Will it rain?"),
        AIMessage("", tool_calls=calls),
        ToolMessage("Sun.", tool_call_id="call_0"),
        ToolMessage("Rain.", tool_call_id="call_1"),
    ]
