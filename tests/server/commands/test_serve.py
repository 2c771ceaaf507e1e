from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

import httpx
import pytest
from typer.testing import CliRunner

from resay.cli.app import app
from resay.errors import ConfigurationError, PolicyError
from simulation import Hang, SimulatedProvider
from support.cli import resay_here
from support.gateway import CHAT, POLICY

BLOCK = POLICY + "threshold: {passage: 0.01, sentence: 0.01}\naction: {do: block}\n"


class Process:
    """`resay serve`, with what it says."""

    def __init__(self, policy: Path, upstream: str, *words: str, delay_s: float = 0) -> None:
        self.workers: dict[int, int] = {}
        # Policies are read again when it is told to, and not before.
        config = policy.with_name("gateway.yaml")
        config.write_text(f"reload_s: 1000\nlimits: {{shutdown_delay_s: {delay_s}}}\n")
        files = ("--config", str(config), "--policy", str(policy))
        words = ("serve", *files, "--upstream", upstream, "--port", "0", *words)
        code = "from resay.cli import main; main()"
        self.running = subprocess.Popen(
            [sys.executable, "-c", code, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=policy.parent,
        )
        assert self.running.stdout is not None
        assert self.running.stderr is not None
        self._log: IO[str] = self.running.stderr
        said = re.fullmatch(
            r"serving on (http://127\.0\.0\.1:\d+)/v1\n", self.running.stdout.readline()
        )
        assert said
        self.url = said[1]
        self.folder = policy.parent

    def wait_for(self, words: str) -> str:
        for line in self._log:
            if named := re.search(r"worker (\d+) is process (\d+)", line):
                self.workers[int(named[1])] = int(named[2])
            if words in line:
                return line
        raise AssertionError(f"it ended without saying {words!r}")

    def action(self) -> str:
        response = httpx.post(f"{self.url}/v1/chat/completions", json=CHAT, timeout=30)
        return response.headers["x-resay-action"]

    def metrics(self) -> str:
        return httpx.get(f"{self.url}/metrics").text

    def counted(self) -> float:
        """Return how many requests have been counted, by all that serve."""
        found = re.findall(r"^resay_gateway_requests_total\{.* (\S+)$", self.metrics(), re.M)
        return sum(map(float, found))


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


@contextmanager
def served(policy: Path, upstream: str, *words: str, delay_s: float = 0) -> Iterator[Process]:
    """A process that is stopped in the end, whatever happens to it before."""
    process = Process(policy, upstream, *words, delay_s=delay_s)
    with process.running:
        try:
            yield process
        finally:
            process.running.terminate()


def ends_what_it_began(process: Process, simulated: SimulatedProvider, *, servers: int) -> str:
    """Stop it while it asks; return the action of the answer that it was waiting for."""
    simulated.set_faults(Hang(first=1))
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(process.action)
        simulated.wait_calls(simulated.calls + 1)
        process.running.send_signal(signal.SIGTERM)
        for _ in range(servers):
            process.wait_for("Shutting down")
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{process.url}/readyz")
        simulated.release()
        action = asked.result()
    assert process.running.wait(20) == 0
    return action


def journaled(path: Path) -> Counter[str]:
    """Count the actions in a journal."""
    with closing(sqlite3.connect(path)) as journal:
        return Counter(a for (a,) in journal.execute("SELECT action FROM resay_journal_entries"))


def test_it_serves_until_what_was_begun_is_ended(
    policy: Path, simulated: SimulatedProvider
) -> None:
    policy.write_text(f"{policy.read_text()}\njournal: {{url: 'sqlite:///mine.db'}}\n")
    with served(policy, simulated.base_url) as process:
        assert httpx.get(f"{process.url}/readyz").status_code == 200
        assert process.action() == "annotate"
        policy.write_text("chain:\n  - method: nothing\n")
        process.running.send_signal(signal.SIGHUP)
        assert "policy.yaml:2: chain[0].method" in process.wait_for("were not reloaded")
        assert process.action() == "annotate"
        policy.write_text(BLOCK)
        process.running.send_signal(signal.SIGHUP)
        process.wait_for("were reloaded")
        assert process.action() == "block"
        assert ends_what_it_began(process, simulated, servers=1) == "block"
    # The gateway's journal is its policy's.
    assert journaled(policy.parent / "mine.db") == {"annotate": 2, "block": 2}


def test_a_load_balancer_is_told_before_requests_are_refused(
    policy: Path, simulated: SimulatedProvider
) -> None:
    with (
        served(policy, simulated.base_url, delay_s=3600) as process,
        httpx.Client(base_url=process.url, timeout=30) as client,
    ):
        before = client.get("/readyz")
        process.running.send_signal(signal.SIGTERM)
        process.wait_for("taken for another 3600 s")
        told = client.get("/readyz")
        answer = client.post("/v1/chat/completions", json=CHAT)
        # Supervisors may tell each process of a group, which then hears of it twice.
        process.running.send_signal(signal.SIGTERM)
        again = client.get("/healthz")
        process.running.send_signal(signal.SIGINT)
        process.wait_for("Shutting down")
        assert process.running.wait(20) == 0
        with pytest.raises(httpx.TransportError):
            client.get("/readyz")
    assert (before.status_code, told.status_code, again.status_code) == (200, 503, 200)
    assert told.json()["status"] == "not ready"
    assert answer.headers["x-resay-action"] == "annotate"
    # A proxy that kept the connection would send its next request into a closed one.
    assert "connection" not in before.headers
    assert told.headers["connection"] == answer.headers["connection"] == "close"


def test_those_that_have_connected_may_ask_after_the_listeners_are_closed(
    policy: Path, simulated: SimulatedProvider
) -> None:
    with (
        served(policy, simulated.base_url, "--workers", "2", delay_s=2) as process,
        httpx.Client(base_url=process.url, timeout=30) as client,
    ):
        assert client.get("/readyz").status_code == 200
        process.running.send_signal(signal.SIGTERM)
        for _ in range(2):
            process.wait_for("taken for another 2 s")
        while is_served(process.url):
            time.sleep(0.02)
        answer = client.post("/v1/chat/completions", json=CHAT)
        assert answer.headers["x-resay-action"] == "annotate"
        assert process.running.wait(20) == 0
    assert journaled(policy.parent / "resay-journal.db") == {"annotate": 1}


def is_served(url: str) -> bool:
    """Return whether somebody can connect."""
    host, port = url.removeprefix("http://").split(":")
    try:
        socket.create_connection((host, int(port)), 10).close()
    except ConnectionError:
        return False
    return True


@pytest.fixture(scope="module")
def upstream() -> Iterator[SimulatedProvider]:
    with SimulatedProvider(seed=7) as provider:
        yield provider


@pytest.fixture(scope="module")
def several(
    upstream: SimulatedProvider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Process]:
    """`resay serve` with two workers that both serve, until the last test here ends them."""
    policy = tmp_path_factory.mktemp("several") / "policy.yaml"
    policy.write_text(POLICY)
    words = ("--workers", "2", "--journal", "sqlite:///elsewhere.db")
    with served(policy, upstream.base_url, *words) as process:
        process.wait_for("worker 1 is process")
        process.wait_for("worker 2 is process")
        yield process


def test_several_workers_share_a_port_a_journal_and_what_they_count(several: Process) -> None:
    before = several.counted()
    assert [several.action() for _ in range(12)] == ["annotate"] * 12
    for _ in range(6):
        assert several.counted() == before + 12
    metrics = several.metrics()
    assert "resay_gateway_policies_last_reload_successful 1.0" in metrics
    assert re.search(r"^resay_gateway_guarded_requests \d", metrics, re.M)
    assert "resay_gateway_info{" in metrics


def test_a_worker_that_dies_is_replaced(several: Process) -> None:
    assert several.action() == "annotate"
    count, before = several.counted(), dict(several.workers)
    os.kill(before[2], signal.SIGKILL)
    assert "signal 9" in several.wait_for(f"worker 2 (process {before[2]}) ended")
    several.wait_for("worker 2 serves again")
    assert several.workers[1] == before[1]
    assert several.workers[2] != before[2]
    assert [several.action() for _ in range(6)] == ["annotate"] * 6
    # What the dead one counted is not forgotten.
    assert several.counted() == count + 6


def test_workers_do_not_share_the_port_of_others(several: Process) -> None:
    port = several.url.rpartition(":")[2]
    policy = str(several.folder / "policy.yaml")
    words = ("--policy", policy, "--upstream", "http://127.0.0.1:9", "--port", port)
    for number in ("1", "2"):
        message = f"cannot serve on '127.0.0.1' and port {port}: it is in use; choose another with"
        assert f"{message} `--port`" in str(refused(*words, "--workers", number))


def test_workers_read_the_policies_again_and_end_what_they_began(
    several: Process, upstream: SimulatedProvider
) -> None:
    (several.folder / "policy.yaml").write_text(BLOCK)
    several.running.send_signal(signal.SIGHUP)
    several.wait_for("were reloaded")
    several.wait_for("were reloaded")
    assert [several.action() for _ in range(8)] == ["block"] * 8
    assert ends_what_it_began(several, upstream, servers=2) == "block"
    assert journaled(several.folder / "elsewhere.db")["block"] == 9
    assert not (several.folder / "resay-journal.db").exists()


def test_workers_do_not_outlive_who_started_them(
    policy: Path, simulated: SimulatedProvider
) -> None:
    words = ("--workers", "2", "--journal", "none")
    with served(policy, simulated.base_url, *words) as process:
        assert process.action() == "annotate"
        process.running.kill()
        process.wait_for("Shutting down")
        process.wait_for("Shutting down")
    # No journal is kept where none is wanted.
    assert {file.name for file in policy.parent.iterdir()} == {"gateway.yaml", "policy.yaml"}


def test_what_workers_cannot_do_is_said_once(policy: Path, simulated: SimulatedProvider) -> None:
    policy.write_text("chain: []")
    words = ("--policy", str(policy), "--upstream", simulated.base_url, "--workers", "3")
    done = subprocess.run(
        [sys.executable, "-m", "resay", "serve", "--port", "0", *words],
        capture_output=True,
        text=True,
        cwd=policy.parent,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("policy.yaml:1: chain") == 1
    assert done.stdout == ""


def refused(*words: str) -> BaseException:
    done = CliRunner().invoke(app, ["serve", *words])
    assert done.exception is not None
    return done.exception


@pytest.mark.parametrize("port", ["-1", "65536", "99999"])
def test_a_port_that_does_not_exist_is_refused(port: str) -> None:
    done = resay_here("serve", "--port", port)
    assert done.returncode == 2
    assert "Invalid value for '--port'" in done.stderr


def test_a_key_that_is_too_short_is_named_without_being_shown(tmp_path: Path) -> None:
    config = tmp_path / "gateway.yaml"
    config.write_text("upstream: {url: http://x}\noperator_key: team-secret\n")
    done = resay_here("serve", "--config", str(config))
    assert done.returncode == 2
    assert f"{config}:2: operator_key: must have at least 16 characters" in done.stderr
    assert "team-secret" not in done.stderr


def test_what_it_cannot_do_is_said_at_once(tmp_path: Path, policy: Path) -> None:
    assert "pass --upstream URL" in str(refused())
    assert "no such file" in str(refused("--upstream", "http://x", "--config", "none.yaml"))
    policy.write_text("chain: []")
    bad = refused("--upstream", "http://x", "--policy", str(policy), "--port", "0")
    assert isinstance(bad, PolicyError)
    assert "policy.yaml:1: chain" in str(bad)
    for name in ("a", "b"):
        said = f"chain: [{{method: ngram}}]\njournal: {{url: 'sqlite:///{name}.db'}}\n"
        (tmp_path / f"{name}.yaml").write_text(said)
    several = tmp_path / "several.yaml"
    several.write_text("upstream: {url: http://x}\npolicies: {a: a.yaml, b: b.yaml}\n")
    assert "the policies name different journals" in str(refused("--config", str(several)))
    taken = refused("--upstream", "http://x", "--host", "no.such.host.invalid")
    assert isinstance(taken, ConfigurationError)
    config = tmp_path / "gateway.yaml"
    config.write_text("upstream: {url: http://x, api_key: k}\n")
    open_door = refused("--config", str(config), "--host", "0.0.0.0")
    assert "anyone could use" in str(open_door)
