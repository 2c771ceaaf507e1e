"""A loopback server that speaks the Batch APIs of OpenAI (Azure's paths too) and Anthropic."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import anyio
import anyio.lowlevel
from typing_extensions import Self

from simulation.batches import lines_in_form
from simulation.server import Exchange, HandlerServer

__all__ = ["LONGEST_S", "WAIT_S", "BatchServer", "Fate", "Fault", "Made", "once_idle"]

LONGEST_S = 30.0
WAIT_S = 1.0
"""How long test providers wait for more requests; `once_idle` recognises the value."""
_OPENAI = re.compile(r"(?:/v1|/openai(?:/v1)?)(/files|/batches)(?:/([\w-]+))?(/content)?")
_ANTHROPIC = re.compile(r"/v1/messages/batches(?:/([\w-]+))?(/results)?")

Fate = str | tuple[int, str] | None
"""The outcome of a request: the words of its answer, a status with a code, `expired`, `cancelled`,
or None if it appears in no file."""


async def once_idle(seconds: float) -> None:
    """Replace sleeping: wait for more requests until none can come, and for nothing else."""
    if seconds == WAIT_S:
        await anyio.wait_all_tasks_blocked()
    else:
        await anyio.lowlevel.checkpoint()


@dataclass
class Fault:
    """A fault that occurs once.

    Attributes:
        method: The method of the request.
        path: The end of the request's path.
        status: The status of the response; None to cut the connection.
        headers: The headers of the response.
        after: Whether the request takes effect all the same.
    """

    method: str
    path: str
    status: int | None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    after: bool = False


@dataclass
class Made:
    """A batch that was created."""

    name: str
    requests: list[dict[str, Any]]
    metadata: Mapping[str, str] | None
    end: str
    polls: int
    created: datetime

    def body(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        return request.get("body") or request["params"]


def _echo(body: Mapping[str, Any], batch: int) -> Fate:
    del batch
    return f"About: {body['messages'][-1]['content']}"


class BatchServer:
    """Serves the Batch APIs while the context is open.

    Args:
        fate: Returns the outcome of a request, by its body and the number of its batch.
        ends: How OpenAI's batches end, in order of creation; `completed` for the rest. A failed one
            has the reason after a colon.
        polls: How often a batch is polled before it has ended.
        faults: The faults to inject.

    Attributes:
        batches: The created batches.
        log: The requests: methods with paths.
        polled: Set when a batch was polled.
        made: Set when a batch was created.
        hold: Whether no batch ends.
        mute_creation: Whether the creation of a batch gets no response.
        waits: The headers of responses to GET requests.
    """

    def __init__(
        self,
        fate: Callable[[Mapping[str, Any], int], Fate] = _echo,
        *,
        ends: Sequence[str] = (),
        polls: int = 1,
        faults: Sequence[Fault] = (),
    ) -> None:
        self._fate = fate
        self._ends = list(ends)
        self._polls = polls
        self.faults = list(faults)
        self.batches: list[Made] = []
        self.log: list[str] = []
        self.keys: set[str] = set()
        self.polled = threading.Event()
        self.made = threading.Event()
        self.hold = False
        self.mute_creation = False
        self.waits: dict[str, str] = {}
        self._files: dict[str, list[dict[str, Any]]] = {}
        self._server = HandlerServer(self._handle)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._server.port}"

    def created(self) -> int:
        """Return how many batches were requested."""
        return sum(1 for line in self.log if re.fullmatch(r"POST .*/batches", line))

    def sent(self, number: int = -1) -> list[Mapping[str, Any]]:
        """Return the bodies of a batch's requests."""
        batch = self.batches[number]
        return [batch.body(request) for request in batch.requests]

    async def _handle(self, exchange: Exchange) -> None:
        self.log.append(f"{exchange.method} {exchange.path}")
        headers = exchange.headers
        self.keys.add(
            headers.get("x-api-key")
            or headers.get("api-key")
            or headers.get("authorization", "").removeprefix("Bearer ")
        )
        fault = next(
            (
                f
                for f in self.faults
                if f.method == exchange.method and exchange.path.endswith(f.path)
            ),
            None,
        )
        if fault is not None:
            self.faults.remove(fault)
            if fault.after:
                self._answer(exchange)
            if fault.status is None:
                await exchange.cut()
            error = {"error": {"message": "SECRET WORDS", "code": "broken", "type": "broken"}}
            return await self._give(exchange, fault.status or 0, error, fault.headers)
        status, answer = self._answer(exchange)
        if exchange.method == "POST" and exchange.path.endswith("/batches"):
            self.made.set()
            if self.mute_creation:
                await anyio.sleep_forever()
        await self._give(exchange, status, answer, self.waits if exchange.method == "GET" else {})
        return None

    async def _give(
        self,
        exchange: Exchange,
        status: int,
        answer: Mapping[str, Any] | list[Any],
        headers: Mapping[str, str],
    ) -> None:
        if isinstance(answer, list):
            lines = (json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in answer)
            await exchange.start(status, "application/octet-stream", headers.items())
            return await exchange.send(b"".join(lines), last=True)
        await exchange.start(status, "application/json", headers.items())
        return await exchange.send(json.dumps(answer).encode(), last=True)

    def _answer(self, exchange: Exchange) -> tuple[int, Mapping[str, Any] | list[Any]]:
        if match := _ANTHROPIC.fullmatch(exchange.path):
            return self._anthropic(exchange, *match.groups())
        match = _OPENAI.fullmatch(exchange.path)
        assert match, exchange.path
        return self._openai(exchange, *match.groups())

    def _make(self, requests: list[dict[str, Any]], metadata: Any) -> Made:
        number = len(self.batches)
        end = self._ends[number] if number < len(self._ends) else "completed"
        now = datetime.now(timezone.utc)
        made = Made(f"batch_{number}", requests, metadata, end, self._polls, now)
        self.batches.append(made)
        return made

    def _find(self, name: str | None) -> Made | None:
        return next((made for made in self.batches if made.name == name), None)

    def _looked_at(self, made: Made) -> bool:
        """Count a poll of a batch; return whether it has ended."""
        self.polled.set()
        if self.hold or made.polls > 0:
            made.polls -= 1
            return False
        return True

    # OpenAI

    def _openai(
        self, exchange: Exchange, kind: str, name: str | None, content: str | None
    ) -> tuple[int, Mapping[str, Any] | list[Any]]:
        if kind == "/files" and exchange.method == "POST":
            return 200, self._upload(exchange)
        if kind == "/files" and content:
            return 200, self._results(str(name))
        if exchange.method == "POST":
            asked = json.loads(exchange.body)
            assert asked["endpoint"] == "/v1/chat/completions"
            assert asked["completion_window"] == "24h"
            made = self._make(self._files[asked["input_file_id"]], asked.get("metadata"))
            return 200, self._batch(made, "validating")
        if name is None:
            data = [self._batch(made, "in_progress") for made in reversed(self.batches)]
            return 200, {"object": "list", "data": data, "has_more": False}
        made = self._find(name)
        if made is None:
            return 404, {"error": {"message": "No batch", "code": "not_found"}}
        ended = self._looked_at(made)
        return 200, self._batch(made, made.end.partition(":")[0] if ended else "in_progress")

    def _upload(self, exchange: Exchange) -> Mapping[str, Any]:
        lines = lines_in_form(exchange.headers["content-type"], exchange.body)
        name = f"file-{len(self._files)}"
        self._files[name] = lines
        return {
            "id": name,
            "object": "file",
            "purpose": "batch",
            "filename": "resay.jsonl",
            "bytes": 1,
            "created_at": 1_700_000_000,
            "status": "processed",
        }

    def _batch(self, made: Made, status: str) -> Mapping[str, Any]:
        over = status in ("completed", "expired", "cancelled")
        error = {"code": made.end.partition(":")[2], "message": "SECRET WORDS", "line": 1}
        return {
            "id": made.name,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "input_file_id": "file-0",
            "created_at": int(made.created.timestamp()),
            "status": status,
            "metadata": made.metadata,
            "output_file_id": f"{made.name}-output" if over else None,
            "error_file_id": f"{made.name}-error" if over else None,
            "errors": {"object": "list", "data": [error]} if status == "failed" else None,
            "request_counts": {"total": len(made.requests), "completed": 0, "failed": 0},
        }

    def _results(self, name: str) -> list[Any]:
        batch, _, kind = name.rpartition("-")
        made = self._find(batch)
        assert made
        # In a different order from the requests.
        lines = [self._line(made, request) for request in reversed(made.requests)]
        wanted = [line for line in lines if line is not None]
        good = [
            line for line in wanted if line["response"] and line["response"]["status_code"] < 300
        ]
        return good if kind == "output" else [line for line in wanted if line not in good]

    def _line(self, made: Made, request: Mapping[str, Any]) -> dict[str, Any] | None:
        fate = self._fate(made.body(request), self.batches.index(made))
        line = {"id": "batch_req_1", "custom_id": request["custom_id"], "error": None}
        if fate is None:
            return None
        if isinstance(fate, tuple):
            error = {"message": "SECRET WORDS", "code": fate[1]}
            response = {"status_code": fate[0], "request_id": "r", "body": {"error": error}}
            return {**line, "response": response}
        if fate in ("expired", "cancelled"):
            error = {"code": f"batch_{fate}", "message": "SECRET WORDS"}
            return {**line, "response": None, "error": error}
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": fate, "refusal": None},
            "finish_reason": "stop",
            "logprobs": None,
        }
        body = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": made.body(request)["model"],
            "choices": [choice],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }
        return {**line, "response": {"status_code": 200, "request_id": "r", "body": body}}

    # Anthropic

    def _anthropic(
        self, exchange: Exchange, name: str | None, results: str | None
    ) -> tuple[int, Mapping[str, Any] | list[Any]]:
        if exchange.method == "POST":
            made = self._make(json.loads(exchange.body)["requests"], None)
            return 200, self._message_batch(made, ended=False)
        if name is None:
            data = [self._message_batch(made, ended=False) for made in reversed(self.batches)]
            ends = {"first_id": None, "last_id": None}
            return 200, {"data": data, "has_more": False, **ends}
        made = self._find(name)
        if made is None:
            error = {"type": "not_found_error", "message": "none"}
            return 404, {"type": "error", "error": error}
        if results:
            return 200, [
                line for request in reversed(made.requests) if (line := self._row(made, request))
            ]
        # The SDK polls by itself before it reads the results.
        return 200, self._message_batch(made, ended=self._looked_at(made))

    def _message_batch(self, made: Made, *, ended: bool) -> Mapping[str, Any]:
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        return {
            "id": made.name,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": {**counts, "processing": len(made.requests)},
            "created_at": made.created.isoformat(),
            "expires_at": "2026-01-02T00:00:00Z",
            "ended_at": "2026-01-01T01:00:00Z" if ended else None,
            "cancel_initiated_at": None,
            "archived_at": None,
            "results_url": f"{self.root}/v1/messages/batches/{made.name}/results"
            if ended
            else None,
        }

    def _row(self, made: Made, request: Mapping[str, Any]) -> dict[str, Any] | None:
        fate = self._fate(made.body(request), self.batches.index(made))
        if fate is None:
            return None
        if isinstance(fate, tuple):
            error = {"type": fate[1], "message": "SECRET WORDS"}
            told: dict[str, Any] = {"type": "errored", "error": {"type": "error", "error": error}}
        elif fate in ("expired", "cancelled"):
            told = {"type": "expired" if fate == "expired" else "canceled"}
        else:
            message = {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": made.body(request)["model"],
                "content": [{"type": "text", "text": fate}],
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 100, "output_tokens": 10},
            }
            told = {"type": "succeeded", "message": message}
        return {"custom_id": request["custom_id"], "result": told}
