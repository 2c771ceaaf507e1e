"""Runs LiteLLM's own proxy on loopback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

__all__ = ["KEY", "free_port", "running"]

KEY = "sk-0123456789abcdef0123456789abcdef-resay"


@contextmanager
def running(config: dict[str, Any], folder: Path, port: int) -> Generator[str]:
    """Run a proxy.

    Args:
        config: Its configuration.
        folder: The folder for the configuration and the log.
        port: The port to serve on.

    Yields:
        Its address, without a path.
    """
    (folder / "config.yaml").write_text(json.dumps(config))  # JSON is valid YAML
    command = [Path(sys.executable).parent / "litellm", "--config", "config.yaml"]
    env = {
        **os.environ,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_LOG": "ERROR",
        "LITELLM_MASTER_KEY": KEY,
    }
    with (folder / "log.txt").open("w") as log:
        process = subprocess.Popen(
            [*map(str, command), "--host", "127.0.0.1", "--port", str(port)],
            cwd=folder,
            env=env,
            stdout=log,
            stderr=log,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_up(url, process, folder / "log.txt")
            yield url
        finally:
            process.terminate()
            process.wait(30)


def free_port() -> int:
    """Return an unused port."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def _wait_until_up(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/health/liveliness").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    pytest.fail(f"the proxy did not start: {log.read_text()[-2000:]}")
