"""Loopback servers of embeddings, reranking and chat, with OpenAI's and Cohere's API."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from typing_extensions import Self

from simulation.inference import embed_words, mean_of, unit, words_of

__all__ = ["ChatServer", "EmbeddingServer", "RerankServer", "embedded", "shared_words"]


def embedded(text: str, dimensions: int = 8) -> list[float]:
    """Return the embedding of a text; texts with words in common have similar ones."""
    words = [word.text.lower() for word in words_of(text)] or [""]
    return unit(mean_of(embed_words(words, dimensions)))


class EmbeddingServer:
    """Answers `/v1/embeddings` with rows out of order, and records the requests.

    Args:
        change: Changes a response: takes its status and its body, and returns both.
    """

    def __init__(
        self, change: Callable[[int, dict[str, Any]], tuple[int, Any]] = lambda *given: given
    ) -> None:
        self.change = change
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.statuses: list[int] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, body: dict[str, Any]) -> tuple[int, Any]:
        if self.statuses:
            return self.statuses.pop(0), {"error": {"message": json.dumps(body)}}
        size = body.get("dimensions", 8)
        rows = [
            {"object": "embedding", "index": i, "embedding": embedded(text, size)}
            for i, text in enumerate(body["input"])
        ]
        tokens = sum(len(text.split()) for text in body["input"])
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        whole = {"object": "list", "model": body["model"], "data": rows[::-1], "usage": usage}
        return self.change(200, whole)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
                server.bodies.append(body)
                server.keys.append(self.headers.get("authorization"))
                status, said = server.answer(body)
                data = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                # Clients that wait before they retry are to do so at once.
                self.send_header("retry-after", "0")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its own name
                pass

        return Handler


def shared_words(query: str, text: str) -> float:
    """Return the share of the words of two texts that both have."""
    first, second = ({word.text.lower() for word in words_of(t)} for t in (query, text))
    return len(first & second) / max(len(first | second), 1)


class RerankServer(EmbeddingServer):
    """Answers `/v1/rerank` as Cohere and Jina do; see `EmbeddingServer` for the rest."""

    def answer(self, body: dict[str, Any]) -> tuple[int, Any]:
        if self.statuses:
            return self.statuses.pop(0), {"message": json.dumps(body)}
        rows = [
            {"index": i, "relevance_score": shared_words(body["query"], text)}
            for i, text in enumerate(body["documents"])
        ]
        best = sorted(rows, key=lambda row: -row["relevance_score"])[: body["top_n"]]
        return self.change(200, {"results": best})


class ChatServer(EmbeddingServer):
    """Answers `/v1/chat/completions`; see `EmbeddingServer` for the rest.

    Attributes:
        text: The answer to every request.
        reply: Returns the answer to a request in place of that, with the log probabilities of its
            tokens or None.
    """

    text = ""
    reply: Callable[[dict[str, Any]], tuple[str, Any]] | None = None

    def answer(self, body: dict[str, Any]) -> tuple[int, Any]:
        if self.statuses:
            return self.statuses.pop(0), {"message": json.dumps(body)}
        text, logprobs = self.reply(body) if self.reply else (self.text, None)
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": logprobs}
        body = {"id": "1", "object": "chat.completion", "created": 1, "model": body["model"]}
        return self.change(200, {**body, "choices": [choice]})
