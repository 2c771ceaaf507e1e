"""The processes that the benches of the gateway start: an upstream, a gateway, LiteLLM's proxy."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from performance.readings import environment
from performance.skipping import SkippedError

__all__ = ["MODEL", "Server", "free_port", "gateway", "litellm_path", "proxy", "start", "upstream"]

MODEL = "simulated"
"""What all servers call the model."""

_PATIENCE_S = 120.0
_PAUSE_S = 0.1
_END_S = 60.0
_TOLD = 300
_OURS = (sys.executable, "-m", "resay", "serve")


@dataclass(frozen=True, slots=True)
class Server:
    """A process that serves.

    Attributes:
        name: What it is called here.
        url: Its address, without a path.
        process: The process.
    """

    name: str
    url: str
    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self.process.pid

    def tell_to_stop(self) -> None:
        """Send SIGTERM; nothing happens where it is gone already."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def wait(self, timeout_s: float = _END_S) -> int:
        """Wait until it has ended, and return its exit status.

        Raises:
            subprocess.TimeoutExpired: It did not end.
        """
        return self.process.wait(timeout_s)


def free_port() -> int:
    """Return a port of the loopback interface that nobody uses right now."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@contextmanager
def upstream(module: str, options: Mapping[str, Any], log: Path) -> Generator[Server]:
    """Run one of the benches' upstreams, which serves until its standard input is closed.

    Args:
        module: The module that serves; it prints its address.
        options: What it is told.
        log: Where its errors go.

    Raises:
        SkippedError: It did not start.
    """
    command = [sys.executable, "-m", module, json.dumps(options)]
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment(),
        ) as process,
    ):
        line = process.stdout.readline().decode().strip() if process.stdout else ""
        if not line:
            process.wait(_END_S)
            raise SkippedError(f"the upstream did not start: {_last_line(log)}")
        try:
            yield Server("upstream", line, process)
        finally:
            process.communicate()


class Redis:
    """A Redis of the run's own that can be stopped and started again; what it had is gone then."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        program = shutil.which("redis-server")
        if program is None:
            raise SkippedError("redis-server is not installed")
        self._port = port or free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._command = [program, "--port", str(self._port), "--bind", "127.0.0.1", "--save", ""]
        self._command += ["--appendonly", "no", "--dir", str(folder)]
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + _END_S
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                with socket.create_connection(("127.0.0.1", self._port), 1) as connection:
                    connection.sendall(b"PING\r\n")
                    if connection.recv(16).startswith(b"+PONG"):
                        return
            except OSError:
                pass
            time.sleep(0.05)
        raise SkippedError("redis-server did not start")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def start(
    name: str,
    command: Sequence[str],
    url: str,
    ready: str,
    log: Path,
    env: Mapping[str, str] | None = None,
) -> Generator[Server]:
    """Run a server until the end of the block, then tell it to stop.

    Args:
        name: What it is called here.
        command: Its command line.
        url: Its address.
        ready: The path that answers with status 200 once it can be asked.
        log: Where it writes what it says.
        env: Its environment.

    Raises:
        SkippedError: It did not start.
    """
    with log.open("ab") as written:
        process = subprocess.Popen(
            list(command), stdout=written, stderr=written, env=dict(env or environment())
        )
    server = Server(name, url, process)
    try:
        _wait_until_ready(server, ready, log)
        yield server
    finally:
        _end(server)


def _wait_until_ready(server: Server, ready: str, log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline and server.process.poll() is None:
        try:
            if httpx.get(server.url + ready, timeout=5).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(_PAUSE_S)
    raise SkippedError(f"{server.name} did not start: {_last_line(log)}")


def _end(server: Server) -> None:
    server.tell_to_stop()
    try:
        server.wait()
    except subprocess.TimeoutExpired:
        server.process.kill()
        server.wait()


def _last_line(log: Path) -> str:
    return log.read_text(errors="replace").strip().rpartition("\n")[2][:_TOLD] or "it said nothing"


def gateway(config: Path, log: Path, port: int | None = None) -> Any:
    """Run `resay serve` with a gateway file.

    Args:
        config: The gateway file.
        log: Where it writes what it says.
        port: Where it serves; a free port by default.

    Returns:
        A context manager that yields the `Server`.
    """
    port = port or free_port()
    command = [*_OURS, "--config", str(config), "--port", str(port)]
    return start("resay serve", command, f"http://127.0.0.1:{port}", "/readyz", log)


def litellm_path(named: str | None) -> str | None:
    """Return the executable of LiteLLM's proxy.

    Args:
        named: As the user named it; None to look beside this interpreter, then on the path.
    """
    if named is not None:
        return shutil.which(named)
    beside = Path(sys.executable).parent / "litellm"
    return str(beside) if beside.is_file() else shutil.which("litellm")


def proxy(path: str, api_base: str, folder: Path) -> Any:
    """Run LiteLLM's proxy as a plain way to one upstream: no key, callback, database or log.

    Args:
        path: Its executable.
        api_base: The upstream, as OpenAI's clients take it.
        folder: Where its file and its log go.

    Returns:
        A context manager that yields the `Server`.
    """
    config = folder / "litellm.yaml"
    config.write_text(json.dumps(_proxy_config(api_base)))  # YAML it is
    port = free_port()
    command = [path, "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    command += ["--num_workers", "1"]
    env = {
        **os.environ,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_LOG": "ERROR",
        "LITELLM_MODE": "PRODUCTION",
    }
    url, log = f"http://127.0.0.1:{port}", folder / "litellm.log"
    return start("the LiteLLM proxy", command, url, "/health/liveliness", log, env)


def _proxy_config(api_base: str) -> Mapping[str, Any]:
    params = {"model": f"openai/{MODEL}", "api_base": api_base, "api_key": "simulated"}
    return {
        "model_list": [{"model_name": MODEL, "litellm_params": params}],
        "litellm_settings": {"set_verbose": False, "num_retries": 0, "telemetry": False},
        "router_settings": {"disable_cooldowns": True, "num_retries": 0},
        "general_settings": {
            "disable_spend_logs": True,
            # Our gateway is asked without keys too; newer versions want to be told so.
            "dangerously_permit_weak_or_unset_master_key": True,
        },
    }
