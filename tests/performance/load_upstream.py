"""An upstream for benches that repeats recorded answers of the simulated provider.

The simulated provider takes longer for an answer than a gateway takes to pass it on. So it answers
only the first few times that a question is asked; later requests get these answers again, in turn,
byte by byte, a stream event by event. The samples of a question therefore still differ.

`python -m performance.load_upstream '{}'` prints its address and serves until standard input
is closed. Beside the provider's paths, `GET /asked` says what it was asked, `GET /held?count=N`
answers once so many streams are held, and `POST /release` lets them go on.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from itertools import count

from aiohttp import ClientSession, TCPConnector, web

from simulation import SimulatedProvider

__all__ = ["Recorded", "RecordedUpstream", "main"]

_KEPT = 4
_GAP = b"\n\n"
_LEFT_OUT = frozenset({"content-length", "transfer-encoding", "connection", "date", "server"})
_BACKLOG = 4096
_END_S = 1.0


@dataclass(frozen=True, slots=True)
class Recorded:
    """An answer of the simulated provider.

    Attributes:
        status: Its status.
        headers: Its headers, without those of the connection.
        pieces: Its body; of a stream the events, else all of it in one piece.
        streamed: Whether it is a stream.
    """

    status: int
    headers: dict[str, str]
    pieces: tuple[bytes, ...]
    streamed: bool


@dataclass(slots=True)
class _Recordings:
    """The recorded answers to a question, and the number of the next request."""

    answers: list[Recorded] = field(default_factory=list[Recorded])
    turns: count[int] = field(default_factory=count)


class RecordedUpstream:
    """Repeats recorded answers, and records those to new questions.

    Args:
        api_base: The simulated provider.
        session: How it is asked.
        latency_s: How long an answer takes, in seconds; a stream spreads its events over it.
        kept: How many answers to one question are kept.
        held: Whether streams stop in their middle until they are let go.
    """

    def __init__(
        self,
        api_base: str,
        session: ClientSession,
        *,
        latency_s: float = 0.0,
        kept: int = _KEPT,
        held: bool = False,
    ) -> None:
        self._api_base = api_base
        self._session = session
        self._latency_s = latency_s
        self._most_recordings = kept
        self._holds = held
        self._recordings: dict[tuple[str, bytes], _Recordings] = {}
        self._counts: Counter[str] = Counter()
        self._holding = 0
        self._changed = asyncio.Condition()
        self._released = asyncio.Event()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        if request.path == "/asked":
            return web.json_response({**self._counts, "held": self._holding})
        if request.path == "/held":
            return await self._wait_for(int(request.query["count"]))
        if request.path == "/release":
            self._released.set()
            return web.json_response({})
        self._counts[request.path] += 1
        return await self._send(request, await self._answer(request.path, await request.read()))

    async def _wait_for(self, streams: int) -> web.Response:
        async with self._changed:
            await self._changed.wait_for(lambda: self._holding >= streams)
        return web.json_response({"held": self._holding})

    async def _answer(self, path: str, body: bytes) -> Recorded:
        recordings = self._recordings.setdefault((path, body), _Recordings())
        turn = next(recordings.turns)
        if turn >= self._most_recordings and recordings.answers:
            return recordings.answers[turn % len(recordings.answers)]
        recorded = await self._record(path, body)
        recordings.answers.append(recorded)
        return recorded

    async def _record(self, path: str, body: bytes) -> Recorded:
        url = self._api_base + path.removeprefix("/v1")
        async with self._session.post(url, data=body) as response:
            data = await response.read()
            headers = {k.lower(): v for k, v in response.headers.items()}
        streamed = headers.get("content-type", "").startswith("text/event-stream")
        pieces = [data]
        if streamed:
            pieces = [event + _GAP for event in data.split(_GAP) if event]
        own_headers = {k: v for k, v in headers.items() if k not in _LEFT_OUT}
        return Recorded(response.status, own_headers, tuple(pieces), streamed)

    async def _send(self, request: web.BaseRequest, answer: Recorded) -> web.StreamResponse:
        if answer.streamed:
            return await self._stream(request, answer)
        if self._latency_s:
            await asyncio.sleep(self._latency_s)
        return web.Response(status=answer.status, headers=answer.headers, body=answer.pieces[0])

    async def _stream(self, request: web.BaseRequest, answer: Recorded) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=answer.headers)
        response.enable_chunked_encoding()
        await response.prepare(request)
        pause = self._latency_s / len(answer.pieces)
        for position, piece in enumerate(answer.pieces):
            await asyncio.sleep(pause)
            if self._holds and position == len(answer.pieces) // 2:
                await self._hold()
            await response.write(piece)
        await response.write_eof()
        return response

    async def _hold(self) -> None:
        async with self._changed:
            self._holding += 1
            self._changed.notify_all()
        try:
            await self._released.wait()
        finally:
            self._holding -= 1


async def _serve(latency_s: float = 0.0, kept: int = _KEPT, held: bool = False) -> None:
    with SimulatedProvider() as provider:
        async with ClientSession(connector=TCPConnector(limit=0)) as session:
            answering = RecordedUpstream(
                provider.base_url, session, latency_s=latency_s, kept=kept, held=held
            )
            server = web.Server(answering.handle, access_log=None)
            runner = web.ServerRunner(server, shutdown_timeout=_END_S)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0, backlog=_BACKLOG)
            await site.start()
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
