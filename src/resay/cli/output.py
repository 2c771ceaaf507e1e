"""What the command line prints on, and the codes it exits with."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TypeGuard

from rich.console import Console

__all__ = [
    "BAD_INPUT",
    "FAILED",
    "FLAGGED",
    "INCONCLUSIVE",
    "INTERRUPTED",
    "NOBODY_READS",
    "NO_ANSWER",
    "cannot_write",
    "finish",
    "prepare_output",
    "unwritten",
]

FLAGGED, BAD_INPUT, INCONCLUSIVE, NO_ANSWER, FAILED = 1, 2, 3, 4, 5
# As of a process that the signal ends: SIGINT, SIGPIPE.
INTERRUPTED, NOBODY_READS = 130, 141


_UNWRITABLE = frozenset({errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})


def prepare_output() -> None:
    """Have characters replaced that the output's encoding does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def finish(code: int) -> int:
    """Write out what is still buffered.

    Args:
        code: What the command exits with.

    Returns:
        The same; another code where the output could not be written.
    """
    try:
        # There is none where the process was started without.
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
            sys.stdout.flush()
    except BrokenPipeError:
        _discard()
        return NOBODY_READS
    except OSError as error:
        return unwritten(error)
    return code


def cannot_write(error: Exception) -> TypeGuard[OSError]:
    """Return whether an error says that there is no room for the output."""
    return isinstance(error, OSError) and error.errno in _UNWRITABLE and error.filename is None


def unwritten(error: OSError) -> int:
    """Say that the output cannot be written, and return the exit code."""
    _discard()
    Console(stderr=True).print(
        f"the output cannot be written: {error.strerror}", style="red", highlight=False
    )
    return FAILED


def _discard() -> None:
    """Keep Python from trying to write the rest once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
