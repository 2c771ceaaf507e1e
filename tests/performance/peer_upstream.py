"""An upstream that records its calls: how many there were, and in how many rounds.

`python -m performance.peer_upstream '{"latency_s": 0.2}'` prints its address and serves until
standard input is closed. `GET /times` returns when each request since the last such call came and
ended, in seconds.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from aiohttp import ClientSession, TCPConnector, web

from performance.load_upstream import RecordedUpstream
from simulation import SimulatedProvider

__all__ = ["main", "rounds_of"]

# What OpenAI's own check of hallucinations reads: the answer of a judge that searched files.
_JUDGEMENT = '{"flagged": false, "confidence": 0.1}'


def rounds_of(times: Sequence[tuple[float, float]]) -> int:
    """Return how many of the requests had to wait for one another.

    Args:
        times: When each came and ended, in seconds.

    Returns:
        The length of the longest chain in which each came after the one before had ended.
    """
    rounds, last_end = 0, float("-inf")
    for start, end in sorted(times, key=lambda time: time[1]):
        if start >= last_end:
            rounds, last_end = rounds + 1, end
    return rounds


class _Timed:
    """A recorded upstream that notes the time of each request."""

    def __init__(self, answering: RecordedUpstream, latency_s: float) -> None:
        self._answering = answering
        self._latency_s = latency_s
        self._times: list[tuple[float, float]] = []

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/times":
            times, self._times = self._times, []
            return web.json_response(times)
        started = time.monotonic()
        if request.path.endswith("/responses"):
            await asyncio.sleep(self._latency_s)
            answer: web.StreamResponse = web.json_response(_judgement(await request.json()))
        else:
            answer = await self._answering.handle(request)
        self._times.append((started, time.monotonic()))
        return answer


def _judgement(request: dict[str, Any]) -> dict[str, Any]:
    content = {"type": "output_text", "text": _JUDGEMENT, "annotations": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": request["model"],
        "status": "completed",
        "output": [{**message, "content": [content]}],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": request.get("tools", []),
    }


async def _serve(latency_s: float) -> None:
    with SimulatedProvider() as provider:
        async with ClientSession(connector=TCPConnector(limit=0)) as session:
            answering = RecordedUpstream(provider.base_url, session, latency_s=latency_s)
            server = web.Server(_Timed(answering, latency_s).handle, access_log=None)
            runner = web.ServerRunner(server, shutdown_timeout=1.0)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            _, port = runner.addresses[0][:2]
            sys.stdout.write(f"http://127.0.0.1:{port}\n")
            sys.stdout.flush()
            await asyncio.to_thread(sys.stdin.read)
            await runner.cleanup()


def main() -> None:
    """Serve as the options say, a JSON object in the first argument."""
    asyncio.run(_serve(**json.loads(sys.argv[1])))


if __name__ == "__main__":
    main()
