"""A server that gives one answer in the formats of all APIs."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class FixedAnswer:
    """The answer that the server gives next, and the blocks or items before it.

    Attributes:
        url: The server's address.
        text: The answer.
        before: Content blocks or items that precede its text, such as tool calls.
        calls: Tool calls in the format of chat completions.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.text = ""
        self.before: list[Mapping[str, Any]] = []
        self.calls: Sequence[Mapping[str, Any]] = ()

    def body(self, path: str) -> dict[str, Any]:
        """Return the response of an API."""
        if path.endswith("/messages"):
            content = [*self.before, {"type": "text", "text": self.text}]
            usage = {"input_tokens": 1, "output_tokens": 1}
            message = {"id": "m", "type": "message", "role": "assistant", "model": "fixed"}
            return {**message, "content": content, "stop_reason": "end_turn", "usage": usage}
        if path.endswith("/responses"):
            part: dict[str, Any] = {"type": "output_text", "text": self.text, "annotations": []}
            item = {"id": "i", "type": "message", "role": "assistant", "status": "completed"}
            output: list[Mapping[str, Any]] = [*self.before, {**item, "content": [part]}]
            response = {"id": "r", "object": "response", "created_at": 1, "model": "fixed"}
            return {**response, "status": "completed", "output": output}
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.calls:
            message["tool_calls"] = self.calls
        reason = "tool_calls" if self.calls else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        completion = {"id": "c", "object": "chat.completion", "created": 1, "model": "fixed"}
        return {**completion, "choices": [choice]}


@contextmanager
def fixed_answers() -> Generator[FixedAnswer, None, None]:
    """Serve on this machine until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            body = json.dumps(answer.body(self.path)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            del code, size

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    answer = FixedAnswer(f"http://127.0.0.1:{server.server_address[1]}")
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield answer
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
