from __future__ import annotations

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
