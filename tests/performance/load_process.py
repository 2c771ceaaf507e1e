"""What a process takes of the machine, as Linux tells it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

__all__ = ["cpu_s", "memory_mb", "peak_mb", "raise_file_limit"]

_PROC = Path("/proc")
_KB_PER_MB = 1024
_LINE = re.compile(r"^(\w+):\s+(\d+) kB$", re.MULTILINE)
# Of the fields behind the name in /proc/PID/stat (proc(5)): time in user and in kernel mode.
_USER, _KERNEL = 11, 12


def cpu_s(pid: int) -> float | None:
    """Return the seconds of processor time that a process has taken, its children's not counted.

    Args:
        pid: The process.

    Returns:
        The seconds; None where the system does not say, or there is no such process.
    """
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The name appears in parentheses and may hold anything.
    fields = stat.rpartition(")")[2].split()
    return (int(fields[_USER]) + int(fields[_KERNEL])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int) -> float | None:
    """Return the memory that a process holds right now (VmRSS), in MiB; None where unknown."""
    return _status(pid).get("VmRSS")


def peak_mb(pid: int) -> float | None:
    """Return the most memory that a process ever held (VmHWM), in MiB; None where unknown."""
    return _status(pid).get("VmHWM")


def _status(pid: int) -> Mapping[str, float]:
    try:
        status = (_PROC / str(pid) / "status").read_text()
    except OSError:
        return {}
    return {name: int(size) / _KB_PER_MB for name, size in _LINE.findall(status)}


def raise_file_limit(wanted: int) -> int | None:
    """Let this process, and those it starts, open as many files as they may.

    Args:
        wanted: How many are needed.

    Returns:
        How many may be open now; None where the system has no such limit.
    """
    try:
        import resource
    except ImportError:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    if soft == unlimited or soft >= wanted:
        return None if soft == unlimited else soft
    allowed = wanted if hard == unlimited else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return allowed
