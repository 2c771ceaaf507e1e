"""Starting gateways, and speaking to them in ways no client does."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Event
from typing import Any

import httpx

from resay.gateway import Gateway, GatewayConfig, Observation, serving

POLICY = "chain: [{method: ngram}]\nsampling: {max: 3}\n"
MESSAGES = [{"role": "user", "content": "Tell me about the Sydney Harbour Bridge."}]
CHAT: Mapping[str, Any] = {"model": "simulated", "messages": MESSAGES}
ASKED: Mapping[str, Mapping[str, Any]] = {
    "/v1/chat/completions": CHAT,
    "/v1/responses": {"model": "simulated", "input": MESSAGES[0]["content"]},
    "/v1/messages": {**CHAT, "max_tokens": 200},
}


@dataclass(slots=True)
class Served:
    """A gateway that serves.

    Attributes:
        url: Its address.
        gateway: The gateway.
    """

    url: str
    gateway: Gateway
    _seen: list[Observation] = field(default_factory=list[Observation])
    _changed: Condition = field(default_factory=Condition)

    def observe(self, observation: Observation) -> None:
        """Be told of an answer: the gateway's observer."""
        with self._changed:
            self._seen.append(observation)
            self._changed.notify_all()

    def seen(self, count: int) -> list[Observation]:
        """Return what the observer was told, once it was told so often."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self._seen) >= count, 10)
            assert len(self._seen) == count
            return list(self._seen)

    def post(self, path: str = "/v1/chat/completions", **kwargs: Any) -> httpx.Response:
        """Ask something over a connection of its own."""
        known = {"json": ASKED.get(path)} if "content" not in kwargs else {}
        return httpx.post(self.url + path, timeout=30, **(known | kwargs))

    @contextmanager
    def connected(self) -> Iterator[socket.socket]:
        """Have a bare connection."""
        host, port = self.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            yield connection


class Gateways:
    """Starts gateways, and stops them in the end."""

    def __init__(self, folder: Path, upstream: str, stack: ExitStack) -> None:
        self.folder = folder
        self.upstream = upstream
        self._stack = stack

    def policy(self, text: str, name: str = "policy.yaml") -> str:
        """Write a policy file."""
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def start(self, policy: str = POLICY, **told: Any) -> Served:
        """Start one.

        Args:
            policy: The default policy's text.
            **told: What else the gateway file would say.
        """
        policies = {"default": self.policy(policy), **told.pop("policies", {})}
        upstream = {"url": self.upstream, **told.pop("upstream", {})}
        config = GatewayConfig.of({"upstream": upstream, "policies": policies, **told})
        served = Served("", Gateway(config, on_verdict=lambda seen: served.observe(seen)))
        served.url = self._stack.enter_context(serving(served.gateway, config.limits))
        return served


def received(connection: socket.socket) -> bytes:
    """Return all that comes until the other side closes."""
    pieces: list[bytes] = []
    while piece := connection.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


class Waiting(logging.Handler):
    """Waits for what is logged."""

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
    """Do something, and wait until the gateway has said so in its log."""
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
