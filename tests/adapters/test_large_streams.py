"""A stream of many events keeps nobody else on the event loop waiting."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Sequence
from itertools import pairwise
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from resay import Answer, AnswerChunk, Guard
from resay.adapters.apis import CHAT_COMPLETIONS, Body, Event, Outcome
from resay.adapters.relay import Relay
from resay.adapters.stream_rewriter import StreamRewriter
from resay.adapters.upstream import Upstream

POLICY: dict[str, Any] = {
    "chain": [{"method": "ngram"}],
    "threshold": {"passage": 1, "sentence": 1},
    "sampling": {"max": 3},
    "cache": {"store": "none"},
    "action": {"do": "block"},
}
REQUEST: Body = {
    "model": "m",
    "messages": [{"role": "user", "content": "When was the bridge opened?"}],
    "stream": True,
}
COUNT = 2_000


def chunk(delta: Body, finish_reason: str | None = None) -> Event:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return Event({"id": "c", "object": "chat.completion.chunk", "choices": [choice]})


async def ask(body: Body) -> Body:
    message = {"role": "assistant", "content": f"It was opened in {hash(str(body)) % 90 + 1900}."}
    return {"id": "a", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


async def stream() -> AsyncGenerator[Sequence[Event]]:
    yield [chunk({"role": "assistant", "content": ""})]
    yield [chunk({"content": f"word {number} "}) for number in range(COUNT)]
    yield [chunk({}, "stop"), Event("[DONE]")]


@pytest.mark.parametrize("mode", ["hold", "buffer"])
def test_many_events_are_shaped_off_the_event_loop_and_sent_in_turns(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: dict[int, int] = {}
    shape = StreamRewriter.of

    def of(
        self: StreamRewriter, item: AnswerChunk | Answer, outcome: Outcome | None = None
    ) -> list[Event]:
        events = shape(self, item, outcome)
        thread = threading.get_ident()
        threads[thread] = max(threads.get(thread, 0), len(events))
        return events

    monkeypatch.setattr(StreamRewriter, "of", of)
    turns = 0
    turns_before: list[int] = []
    sizes: list[int] = []

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async def relay() -> None:
        relay = Relay(Guard({**POLICY, "stream_mode": mode}), CHAT_COMPLETIONS)
        api_request = relay.read(REQUEST)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(take_turns)
            async for group in relay.aevents(api_request, stream(), Upstream(ask)):
                turns_before.append(turns)
                sizes.append(len(group))
            tasks.cancel_scope.cancel()

    anyio.run(relay)
    assert sum(sizes) == COUNT + 3
    assert max(sizes) <= 256
    assert all(later > earlier for earlier, later in pairwise(turns_before))
    assert threads.pop(threading.get_ident(), 0) <= 256
    assert max(threads.values()) > 256
