"""What a person at a terminal sees while a model does not answer, and Ctrl-C."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from resay.cli import waiting
from simulation import Hang, SimulatedProvider, Slow
from support.cli import resay_here

pty = pytest.importorskip("pty")

# Where the tests themselves run in the background, Ctrl-C is ignored, which children inherit.
CODE = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    " from resay.cli import main; main()"
)


def first_line_at_terminal(words: Sequence[str | Path], cwd: Path) -> tuple[str, int, str]:
    """Run a command whose stderr is a terminal until it says something, then press Ctrl-C.

    Returns:
        What it said, its exit code, and what it said after Ctrl-C.
    """
    terminal, stderr = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", CODE, *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=stderr,
            stdin=subprocess.DEVNULL,
            cwd=cwd,
        )
        os.close(stderr)
        said = read(terminal, 30)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        return said, process.returncode, read(terminal, 1)
    finally:
        os.close(terminal)


def read(terminal: int, timeout_s: float) -> str:
    """Return what a terminal shows within some seconds, up to the end of a line."""
    text = b""
    end = time.monotonic() + timeout_s
    while not text.endswith(b"\n"):
        readable, _, _ = select.select([terminal], [], [], max(0.0, end - time.monotonic()))
        try:
            text += os.read(terminal, 4096) if readable else b""
        # Linux says so of a terminal that nobody has open any more.
        except OSError:
            break
        if not readable:
            break
    return text.decode()


@pytest.mark.parametrize(
    "words",
    [
        ("ask", "Who built it?"),
        ("ask", "Who built it?", "--stream-mode", "hold"),
        ("check", "--question", "Who built it?", "-r", "response.txt"),
    ],
    ids=["ask", "stream", "check"],
)
def test_a_terminal_shows_what_is_waited_for_and_until_when(
    words: tuple[str, ...], simulated: SimulatedProvider, tmp_path: Path
) -> None:
    simulated.set_faults(Hang(only="any"))
    base_url = simulated.base_url
    (tmp_path / "response.txt").write_text("Ada Moor built it.")
    options = ("--model", "slow/model", "--api-base", base_url)
    said, code, after = first_line_at_terminal([*words, *options], tmp_path)
    assert said.startswith(f"waiting for 'slow/model' at {base_url}, until ")
    assert "at the latest (`limits.deadline_s`); Ctrl-C stops" in said
    assert code == 130
    assert "Traceback" not in after


def test_where_there_is_no_terminal_nothing_is_said(
    simulated: SimulatedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "NOTICE_AFTER_S", 0.01)
    simulated.set_faults(Slow(0.3))
    done = resay_here("ask", "Who?", "-m", "m", "--api-base", simulated.base_url)
    assert done.stderr == ""
