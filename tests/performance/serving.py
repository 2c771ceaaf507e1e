"""A simulated provider in a process of its own, so that its work is not what is measured."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from performance.readings import environment
from performance.skipping import SkippedError

__all__ = ["simulated_elsewhere"]

# Serves until its standard input is closed.
_SERVER = """\
import json, sys
from simulation import SimulatedProvider
with SimulatedProvider(**json.loads(sys.argv[1])) as provider:
    print(json.dumps(provider.params), flush=True)
    sys.stdin.read()
"""


@contextmanager
def simulated_elsewhere(**options: float) -> Generator[dict[str, Any]]:
    """Run a `SimulatedProvider` in another process.

    Args:
        **options: Its options.

    Yields:
        The parameters that send a query there.

    Raises:
        SkippedError: It did not start.
    """
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER, json.dumps(options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        line = process.stdout.readline() if process.stdout else b""
        if not line:
            _, error = process.communicate()
            last = error.decode(errors="replace").strip().rpartition("\n")[2]
            raise SkippedError(f"the simulated provider did not start: {last}")
        try:
            yield json.loads(line)
        finally:
            process.communicate()
