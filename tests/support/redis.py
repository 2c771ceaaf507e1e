"""A Redis server for a test."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis

PROGRAM = shutil.which("redis-server")
needs_redis = pytest.mark.skipif(PROGRAM is None, reason="redis-server is not installed")


class RedisServer:
    """A server that can be stopped and started again on the same port."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, and return once it answers."""
        options = {"port": str(self.port), "bind": "127.0.0.1", "save": "", "appendonly": "no"}
        told = [part for name, value in options.items() for part in (f"--{name}", value)]
        self._process = subprocess.Popen(
            [PROGRAM or "", *told], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        with redis.Redis(port=self.port) as client:
            while True:
                assert self._process.poll() is None, "redis-server has ended"
                try:
                    client.ping()
                except redis.ConnectionError:
                    continue
                return

    def stop(self) -> None:
        """Kill it, losing all its data."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def forget(self) -> None:
        """Delete everything."""
        with redis.Redis(port=self.port) as client:
            client.flushall()

    def found(self) -> set[str]:
        """Return all keys."""
        with redis.Redis(port=self.port, decode_responses=True) as client:
            return set(client.keys())


@contextmanager
def redis_server() -> Iterator[RedisServer]:
    server = RedisServer()
    try:
        yield server
    finally:
        server.stop()
