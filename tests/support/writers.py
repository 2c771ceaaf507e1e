"""Two processes that write to the same file or database at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["run_two_writers"]


def run_two_writers(program: str, *arguments: str) -> None:
    """Run a program twice at once, as `one` and as `two`, and assert that both succeed.

    Args:
        program: The program. It prints `ready`, and waits for a line before it writes.
        arguments: Its arguments, before its name.
    """
    command = [sys.executable, "-W", "error", "-c", program, *arguments]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    tests = Path(__file__).parents[1]
    writers = [subprocess.Popen([*command, name], cwd=tests, **pipes) for name in ("one", "two")]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
