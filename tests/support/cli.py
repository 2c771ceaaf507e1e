"""Runs the command `resay` as a user does or, much faster, in this process."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TextIO

import pytest

from resay.adapters import run_sync
from resay.cli import main
from resay.providers.caching import close_caches

__all__ = ["resay_cli", "resay_here"]


def resay_cli(
    *words: str | Path, cwd: Path | None = None, stdout: TextIO | int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, as a user does."""
    code = "from resay.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        check=False,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


def resay_here(
    *words: str | Path, cwd: Path | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the command in this process, where litellm is imported only once.

    Not for tests that cancel calls: litellm then leaves coroutines behind and warns of them later.
    """
    out, err = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        patch.setattr(sys, "argv", ["resay", *map(str, words)])
        patch.setattr(sys, "stdin", io.StringIO(stdin))
        patch.chdir(cwd or Path.cwd())
        litellm = sys.modules.get("litellm")
        if litellm is not None:
            # The first importer decides whether litellm prints its advertisements on stdout.
            patch.setattr(litellm, "suppress_debug_info", True)
        with pytest.raises(SystemExit) as left:
            main()
    # A process of its own would not find the answers that this one has cached.
    run_sync(close_caches)
    code = left.value.code
    assert code is None or isinstance(code, int)
    return subprocess.CompletedProcess(words, code or 0, out.getvalue(), err.getvalue())
