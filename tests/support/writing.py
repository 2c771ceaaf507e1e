"""A server that writes a given response and given samples, and ways to ask it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import anyio.lowlevel

from resay import Answer, AnswerChunk, Guard, Request
from resay.plugins import Chunk, Completion, Completions, ToolCall

QUESTION = "When did the bridge open?"
Mode = Literal["hold", "after", "buffer"]
MODES: Sequence[Mode] = ("hold", "after", "buffer")


class Server:
    """Writes a response in pieces, and samples."""

    def __init__(
        self,
        response: str,
        samples: Sequence[str],
        *,
        size: int = 7,
        finish_reason: str = "stop",
        samples_finish: str = "stop",
        calls: tuple[ToolCall, ...] = (),
    ) -> None:
        self.response = response
        self.samples = samples
        self.size = size
        self.finish_reason = finish_reason
        self.samples_finish = samples_finish
        self.calls = calls

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        await anyio.lowlevel.checkpoint()
        # Samples never inherit the seed.
        if request.params.get("seed"):
            answer = Completion(self.response, self.finish_reason, calls=self.calls)
            return Completions((answer,))
        text = self.samples[request.index % len(self.samples)]
        return Completions((Completion(text, self.samples_finish),))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        yield self._chunks()

    async def _chunks(self) -> AsyncGenerator[Chunk]:
        for start in range(0, len(self.response), self.size):
            await anyio.lowlevel.checkpoint()
            yield Chunk(self.response[start : start + self.size])
        yield Chunk("", self.finish_reason, calls=self.calls)


def policy(method: str = "facts", **settings: Any) -> dict[str, Any]:
    return {
        "chain": [{"method": method}],
        "sampling": {"max": 4, "min": 2},
        "cache": {"store": "none"},
        **settings,
    }


async def ask(server: Server, **settings: Any) -> Answer:
    return await Guard(policy(**settings), provider=server).aask(QUESTION, params={"seed": 1})


async def read(server: Server, mode: Mode, **settings: Any) -> tuple[list[AnswerChunk], Answer]:
    guard = Guard(policy(**settings), provider=server)
    async with guard.astream(QUESTION, stream_mode=mode, params={"seed": 1}) as stream:
        parts = [part async for part in stream]
    return parts, stream.answer
