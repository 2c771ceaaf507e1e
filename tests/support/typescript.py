"""The package for TypeScript, and commands of its tools."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

__all__ = ["PACKAGE", "run"]

PACKAGE = Path(__file__).resolve().parents[2] / "integrations" / "typescript"


def run(*command: str | Path, folder: Path, env: Mapping[str, str] | None = None) -> str:
    """Run a command, and return what it prints.

    Args:
        command: The program and its arguments.
        folder: Where to run it.
        env: Environment variables besides those of this process.
    """
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
