"""A proxy that only passes on, in aiohttp: what a gateway in Python takes at the least.

`python -m performance.gateway_proxy '{"upstream": "http://127.0.0.1:1234"}'` prints its address and
serves until standard input is closed. With `"samples": 3` it also asks for as many samples as a
check does, in one further request at the same time, whose answer it reads and drops.
"""

from __future__ import annotations

import asyncio
import json
import sys

from aiohttp import ClientSession, TCPConnector, web

__all__ = ["main"]

_LEFT_OUT = frozenset({"host", "content-length", "transfer-encoding", "connection"})
_BACKLOG = 4096
_END_S = 1.0


class _Proxy:
    def __init__(self, upstream: str, session: ClientSession, samples: int) -> None:
        self._upstream = upstream
        self._session = session
        self._samples = samples

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _LEFT_OUT}
        url = self._upstream + request.raw_path
        if not self._samples:
            return await self._pass_on(request, url, headers, body)
        sampling = asyncio.create_task(self._sample(url, headers, body))
        response = await self._pass_on(request, url, headers, body)
        await sampling
        return response

    async def _sample(self, url: str, headers: dict[str, str], body: bytes) -> None:
        fields = {**json.loads(body), "n": self._samples}
        fields.pop("stream", None)
        async with self._session.post(url, data=json.dumps(fields), headers=headers) as answer:
            await answer.read()

    async def _pass_on(
        self, request: web.BaseRequest, url: str, headers: dict[str, str], body: bytes
    ) -> web.StreamResponse:
        async with self._session.request(request.method, url, data=body, headers=headers) as answer:
            kept = {k: v for k, v in answer.headers.items() if k.lower() not in _LEFT_OUT}
            if "text/event-stream" not in answer.headers.get("content-type", ""):
                content = await answer.read()
                return web.Response(status=answer.status, headers=kept, body=content)
            response = web.StreamResponse(status=answer.status, headers=kept)
            response.enable_chunked_encoding()
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                await response.write(piece)
            await response.write_eof()
            return response


async def _serve(upstream: str, samples: int = 0) -> None:
    async with ClientSession(connector=TCPConnector(limit=0), auto_decompress=False) as session:
        server = web.Server(_Proxy(upstream, session, samples).handle, access_log=None)
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
