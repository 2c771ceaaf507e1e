"""Starts gateways, and talks to them in ways that no client does."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    ExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Condition, Event
from typing import Any, Protocol

import httpx

from resay_server.gateway import Gateway, GatewayConfig, Observation, serving
from simulation import RequestRecord, SimulatedProvider
from support.conformance import POLICY as CONFORMING
from support.conformance import Sdk, Seen
from support.loop_server import LoopServer

POLICY = "chain: [{method: ngram}]\nsampling: {max: 3}\n"
MESSAGES = [{"role": "user", "content": "Tell me about the Sydney Harbour Bridge."}]
CHAT: Mapping[str, Any] = {"model": "simulated", "messages": MESSAGES}
ASKED: Mapping[str, Mapping[str, Any]] = {
    "/v1/chat/completions": CHAT,
    "/v1/completions": {"model": "simulated", "prompt": MESSAGES[0]["content"], "max_tokens": 200},
    "/v1/responses": {"model": "simulated", "input": MESSAGES[0]["content"]},
    "/v1/messages": {**CHAT, "max_tokens": 200},
}


@dataclass(slots=True)
class Served:
    """A running gateway.

    Attributes:
        url: Its address.
        gateway: The gateway.
    """

    url: str
    gateway: Gateway
    _seen: list[Observation] = field(default_factory=list[Observation])
    _changed: Condition = field(default_factory=Condition)

    def observe(self, observation: Observation) -> None:
        """Record an observation: the gateway's observer."""
        with self._changed:
            self._seen.append(observation)
            self._changed.notify_all()

    @property
    def told(self) -> list[Observation]:
        """The observations so far."""
        with self._changed:
            return list(self._seen)

    def seen(self, count: int) -> list[Observation]:
        """Return the observations, once there are this many."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self._seen) >= count, 10)
            assert len(self._seen) == count
            return list(self._seen)

    def post(self, path: str = "/v1/chat/completions", **kwargs: Any) -> httpx.Response:
        """Send a request over a connection of its own."""
        known = {"json": ASKED.get(path)} if "content" not in kwargs else {}
        return httpx.post(self.url + path, timeout=30, **(known | kwargs))

    @contextmanager
    def connected(self) -> Iterator[socket.socket]:
        """Open a raw connection."""
        host, port = self.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            yield connection


class Gateways:
    """Starts gateways, and stops them at the end.

    Args:
        folder: The folder of the policy files.
        upstream: The address of the upstream.
        stack: Stops the gateways.
        reloads: Whether they notice when a policy file changes. If several gateways run at the same
            time, the file of one is overwritten by the next.
    """

    def __init__(
        self, folder: Path, upstream: str, stack: ExitStack, *, reloads: bool = True
    ) -> None:
        self._reloading = {} if reloads else {"reload_s": 86_400.0}
        self.folder = folder
        self.upstream = upstream
        self.stack = stack

    def stop(self) -> None:
        """Stop all of them, and wait until they have finished their work."""
        self.stack.close()

    def policy(self, text: str, name: str = "policy.yaml") -> str:
        """Write a policy file, and return its path."""
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def start(self, policy: str = POLICY, **told: Any) -> Served:
        """Start a gateway.

        Args:
            policy: The default policy's text.
            **told: Further settings of the gateway file.
        """
        policies = {"default": self.policy(policy), **told.pop("policies", {})}
        upstream = {"url": self.upstream, **told.pop("upstream", {})}
        settings = {"upstream": upstream, "policies": policies, **self._reloading, **told}
        config = GatewayConfig.of(settings)
        served = Served("", Gateway(config, on_verdict=lambda seen: served.observe(seen)))
        served.url = self.stack.enter_context(serving(served.gateway, config.limits))
        return served


def received(connection: socket.socket) -> bytes:
    """Return everything received until the other side closes."""
    pieces: list[bytes] = []
    while piece := connection.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


class Waiting(logging.Handler):
    """Waits for a log message."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self._words = words
        self._came = Event()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())
        if self._words in self.said[-1]:
            self._came.set()

    def wait(self) -> str:
        assert self._came.wait(20), self.said
        return self.said[-1]


@contextmanager
def logged(words: str) -> Iterator[Waiting]:
    """Run the block, and wait until the gateway has logged these words."""
    logger, waiting = logging.getLogger("resay.gateway"), Waiting(words)
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(waiting)
    try:
        yield waiting
        waiting.wait()
    finally:
        logger.removeHandler(waiting)
        logger.setLevel(level)


class Rooted(Protocol):
    """A server with an address."""

    @property
    def root_url(self) -> str: ...


class Switch(LoopServer):
    """A port behind which one upstream can replace another.

    Tests that each need a provider of their own can thus share a gateway.
    """

    def __init__(self) -> None:
        self._target: tuple[str, int] | None = None
        self._open: set[asyncio.StreamWriter] = set()
        super().__init__()

    @property
    def url(self) -> str:
        """Its address, with the path of the API."""
        return f"{self.root_url}/v1"

    @contextmanager
    def to(self, provider: Rooted) -> Iterator[None]:
        """Forward to a provider while the context is open, and nowhere afterwards."""
        host, port = provider.root_url.removeprefix("http://").split(":")
        self._target = host, int(port)
        try:
            yield
        finally:
            self._target = None
            self._do(self._close())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target or ("", 0))
        except OSError:
            writer.close()
            return
        self._open |= {writer, far_writer}
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        self._open -= {writer, far_writer}

    async def _close(self) -> None:
        open_ = list(self._open)
        for writer in open_:
            writer.close()
        await asyncio.gather(*(w.wait_closed() for w in open_), return_exceptions=True)

    async def _end(self) -> None:
        await self._close()
        await super()._end()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Forward data; when either side closes, so does the other."""
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


class FirstOfEach:
    """Tells a client's requests from those that the gateway adds for them, which come later.

    The gateway sends the id of the client's request with all of its own requests for it.
    """

    def __init__(self) -> None:
        self._known: set[str] = set()

    def __call__(self, request: RequestRecord) -> bool:
        number = request.headers.get("x-request-id")
        if number is None or number not in self._known:
            self._known |= {number} if number else set()
            return True
        return False


@dataclass(frozen=True, slots=True)
class Shared:
    """One gateway in front of any provider.

    Attributes:
        served: The gateway, with a policy for each way to stream.
        switch: Its upstream, which leads to the provider.
    """

    served: Served
    switch: Switch

    @contextmanager
    def asked(self, provider: Rooted, mode: str | None) -> Iterator[Client]:
        """Yield how to reach a provider: directly, or through the gateway if there is a mode."""
        if mode is None:
            yield provider.root_url, {}
            return
        with self.switch.to(provider):
            yield self.served.url, {"x-resay-policy": mode}

    def sdk(
        self,
        opened: Callable[..., AbstractContextManager[Any]],
        opened_async: Callable[..., AbstractAsyncContextManager[Any]],
        **differing: Any,
    ) -> Sdk:
        """Return how to use an SDK in a comparison, with a mode in place of a policy.

        Args:
            opened: Opens a client: `opened(url, headers, **settings)`.
            opened_async: Opens an async client in the same way.
            **differing: Further attributes of `Sdk`.
        """

        @contextmanager
        def client(provider: SimulatedProvider, mode: str | None, **told: Any) -> Iterator[Any]:
            with self.asked(provider, mode) as asked, opened(*asked, **told) as client:
                yield client

        @asynccontextmanager
        async def aclient(
            provider: SimulatedProvider, mode: str | None, **told: Any
        ) -> AsyncIterator[Any]:
            with self.asked(provider, mode) as asked:
                async with opened_async(*asked, **told) as client:
                    yield client

        return _Through(client, aclient, FirstOfEach(), **differing)


class _Through(Sdk):
    def _seen(self, outcome: Any, provider: SimulatedProvider) -> Seen:
        seen = super()._seen(outcome, provider)
        # The gateway itself asks for a stream's usage. Any effect on clients is in the outcome.
        without = [
            (path, {k: v for k, v in (body or {}).items() if k != "stream_options"}, *rest)
            for path, body, *rest in seen.asked
        ]
        return replace(seen, asked=without)


Client = tuple[str, Mapping[str, str]]
MODES = ("after", "hold", "buffer")


@contextmanager
def shared_gateway(folder: Path) -> Iterator[Shared]:
    """Run one gateway for all tests of a module."""
    with ExitStack() as stack:
        switch = stack.enter_context(Switch())
        gateways = Gateways(folder, switch.url, stack)
        policies = {
            mode: gateways.policy(json.dumps(CONFORMING | {"stream_mode": mode}), f"{mode}.yaml")
            for mode in MODES
        }
        opened = ["/v1/files", "/v1/files/*", "/v1/audio/speech"]
        yield Shared(gateways.start(policies=policies, pass_through=opened), switch)
