from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
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
from support.gateway import CHAT, POLICY

BLOCK = POLICY + "threshold: {passage: 0.01, sentence: 0.01}\naction: {do: block}\n"


class Process:
    """`resay serve`, with what it says."""

    def __init__(self, policy: Path, upstream: str, *words: str) -> None:
        self.workers: dict[int, int] = {}
        words = ("serve", "--policy", str(policy), "--upstream", upstream, "--port", "0", *words)
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


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


@contextmanager
def stopped(process: Process) -> Iterator[Process]:
    """Stop a process in the end, whatever happens to it before."""
    with process.running:
        try:
            yield process
        finally:
            process.running.terminate()


@pytest.fixture
def process(policy: Path, simulated: SimulatedProvider) -> Iterator[Process]:
    with stopped(Process(policy, simulated.base_url)) as process:
        yield process


def test_it_serves_until_what_was_begun_is_ended(
    process: Process, simulated: SimulatedProvider
) -> None:
    assert httpx.get(f"{process.url}/readyz").status_code == 200
    simulated.set_faults(Hang(first=1))
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(process.action)
        simulated.wait_calls(1)
        process.running.send_signal(signal.SIGTERM)
        process.wait_for("Shutting down")
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{process.url}/readyz")
        simulated.release()
        assert asked.result() == "annotate"
    assert process.running.wait(20) == 0
    assert journaled(process.folder) == 1


def journaled(folder: Path) -> int:
    """Return how many entries the journal has that is there by default."""
    with closing(sqlite3.connect(folder / "resay-journal.db")) as journal:
        return journal.execute("SELECT count(*) FROM resay_journal_entries").fetchone()[0]


def test_no_journal_is_kept_where_none_is_wanted(
    policy: Path, simulated: SimulatedProvider
) -> None:
    process = Process(policy, simulated.base_url, "--journal", "none")
    with stopped(process):
        assert process.action() == "annotate"
    assert sorted(file.name for file in policy.parent.iterdir()) == ["policy.yaml"]


def test_the_journal_is_where_it_is_told_to_be(policy: Path, simulated: SimulatedProvider) -> None:
    process = Process(policy, simulated.base_url, "--journal", "sqlite:///elsewhere.db")
    with stopped(process):
        assert process.action() == "annotate"
    assert (policy.parent / "elsewhere.db").exists()
    assert not (policy.parent / "resay-journal.db").exists()


def test_sighup_has_the_policies_read_again(process: Process, policy: Path) -> None:
    assert process.action() == "annotate"
    policy.write_text("chain:\n  - method: nothing\n")
    process.running.send_signal(signal.SIGHUP)
    assert "policy.yaml:2: chain[0].method" in process.wait_for("stay as they were")
    assert process.action() == "annotate"
    policy.write_text(BLOCK)
    process.running.send_signal(signal.SIGHUP)
    process.wait_for("read again")
    assert process.action() == "block"


@pytest.fixture
def several(policy: Path, simulated: SimulatedProvider) -> Iterator[Process]:
    """`resay serve` with two workers that both serve."""
    with stopped(Process(policy, simulated.base_url, "--workers", "2")) as process:
        process.wait_for("worker 1 is process")
        process.wait_for("worker 2 is process")
        yield process


def test_several_workers_share_a_port_a_journal_and_what_they_count(several: Process) -> None:
    actions = [several.action() for _ in range(12)]
    assert actions == ["annotate"] * 12
    for _ in range(6):
        counted = httpx.get(f"{several.url}/metrics").text
        assert re.findall(r"^resay_gateway_requests_total\{.* (\S+)$", counted, re.M) == ["12.0"]
        assert "resay_gateway_policies_last_reload_successful 1.0" in counted
        assert re.search(r"^resay_gateway_guarded_requests \d", counted, re.M)
        assert "resay_gateway_info{" in counted
    several.running.terminate()
    assert several.running.wait(20) == 0
    assert journaled(several.folder) == 12


def test_a_worker_that_dies_is_replaced(several: Process) -> None:
    assert several.action() == "annotate"
    before = dict(several.workers)
    os.kill(before[2], signal.SIGKILL)
    assert "signal 9" in several.wait_for(f"worker 2 (process {before[2]}) ended")
    several.wait_for("worker 2 serves again")
    assert several.workers[1] == before[1]
    assert several.workers[2] != before[2]
    assert [several.action() for _ in range(6)] == ["annotate"] * 6
    # What the dead one counted is not forgotten.
    counted = httpx.get(f"{several.url}/metrics").text
    assert re.findall(r"^resay_gateway_requests_total\{.* (\S+)$", counted, re.M) == ["7.0"]


def test_workers_end_what_they_began(several: Process, simulated: SimulatedProvider) -> None:
    simulated.set_faults(Hang(first=1))
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(several.action)
        simulated.wait_calls(1)
        several.running.send_signal(signal.SIGTERM)
        several.wait_for("Shutting down")
        several.wait_for("Shutting down")
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{several.url}/readyz")
        simulated.release()
        assert asked.result() == "annotate"
    assert several.running.wait(20) == 0


def test_workers_all_read_the_policies_again(several: Process, policy: Path) -> None:
    policy.write_text(BLOCK)
    several.running.send_signal(signal.SIGHUP)
    several.wait_for("read again")
    several.wait_for("read again")
    assert [several.action() for _ in range(8)] == ["block"] * 8


def test_workers_do_not_outlive_who_started_them(several: Process) -> None:
    several.running.kill()
    several.wait_for("Shutting down")
    several.wait_for("Shutting down")


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


def test_workers_do_not_share_the_port_of_others(several: Process, policy: Path) -> None:
    port = several.url.rpartition(":")[2]
    words = ("--policy", str(policy), "--upstream", "http://127.0.0.1:9", "--port", port)
    for number in ("1", "2"):
        assert "cannot serve on" in str(refused(*words, "--workers", number))


def refused(*words: str) -> BaseException:
    done = CliRunner().invoke(app, ["serve", *words])
    assert done.exception is not None
    return done.exception


def test_what_it_cannot_do_is_said_at_once(tmp_path: Path, policy: Path) -> None:
    assert "pass --upstream URL" in str(refused())
    assert "no such file" in str(refused("--upstream", "http://x", "--config", "none.yaml"))
    policy.write_text("chain: []")
    bad = refused("--upstream", "http://x", "--policy", str(policy), "--port", "0")
    assert isinstance(bad, PolicyError)
    assert "policy.yaml:1: chain" in str(bad)
    taken = refused("--upstream", "http://x", "--host", "no.such.host.invalid")
    assert isinstance(taken, ConfigurationError)
    config = tmp_path / "gateway.yaml"
    config.write_text("upstream: {url: http://x, api_key: k}\n")
    open_door = refused("--config", str(config), "--host", "0.0.0.0")
    assert "everybody could use" in str(open_door)
