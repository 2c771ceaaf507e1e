"""OpenAI's Batch API: files of requests, batches that end at once, files of answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

from resay.testing.server import Exchange

__all__ = ["Batches", "lines_in_form"]

_PATH = re.compile(r"/v1/(files|batches)(?:/([\w-]+))?(/content)?")
_MADE = 1_700_000_000


def lines_in_form(content_type: str, body: bytes) -> list[dict[str, Any]]:
    """Return the requests in a form with a file for a batch."""
    head = f"content-type: {content_type}\r\n\r\n".encode()
    form: Any = BytesParser(policy=HTTP).parsebytes(head + body)
    parts = {
        part.get_param("name", header="content-disposition"): part for part in form.iter_parts()
    }
    assert parts["purpose"].get_content().strip() == "batch"
    text: bytes = parts["file"].get_payload(decode=True)
    return [json.loads(line) for line in text.decode().split("\n")]


class Batches:
    """What was uploaded, and what came of it.

    Args:
        answer: Answers the body of a chat completion request.
    """

    def __init__(self, answer: Callable[[dict[str, Any]], Mapping[str, Any]]) -> None:
        self._answer = answer
        self._files: dict[str, list[dict[str, Any]]] = {}

    def serves(self, path: str) -> bool:
        """Return whether a path is one of this API's."""
        return _PATH.fullmatch(path) is not None

    async def respond(self, exchange: Exchange) -> None:
        """Answer a request to a path that is served."""
        match = _PATH.fullmatch(exchange.path)
        kind, name, content = match.groups() if match else ("", None, None)
        if exchange.method == "POST" and kind == "files":
            lines = lines_in_form(exchange.headers.get("content-type", ""), exchange.body)
            return await exchange.reply(200, self._upload(lines))
        if exchange.method == "POST":
            return await exchange.reply(
                200, self._batch(json.loads(exchange.body)["input_file_id"])
            )
        if content and name in self._files:
            await exchange.start(200, "application/octet-stream")
            lines = (json.dumps(line).encode() for line in self._files[name])
            return await exchange.send(b"\n".join(lines), last=True)
        if name is not None and name.removeprefix("batch-") in self._files:
            return await exchange.reply(200, self._batch(name.removeprefix("batch-")))
        error = {"message": f"No {kind} {name}", "code": "not_found"}
        return await exchange.reply(404, {"error": error})

    def _upload(self, lines: list[dict[str, Any]]) -> Mapping[str, Any]:
        name = f"file-{len(self._files)}"
        self._files[name] = lines
        self._files[f"{name}-output"] = [self._answered(line) for line in lines]
        about = {"bytes": 1, "created_at": _MADE, "filename": "batch.jsonl", "status": "processed"}
        return {"id": name, "object": "file", "purpose": "batch", **about}

    def _answered(self, line: dict[str, Any]) -> dict[str, Any]:
        response = {"status_code": 200, "request_id": "r", "body": self._answer(line["body"])}
        return {"custom_id": line["custom_id"], "response": response, "error": None}

    def _batch(self, file: str) -> Mapping[str, Any]:
        return {
            "id": f"batch-{file}",
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "created_at": _MADE,
            "input_file_id": file,
            "output_file_id": f"{file}-output",
            "status": "completed",
        }
