"""Many guarded streams held open at once, and the memory that the gateway takes for them.

The upstream stops each stream in its middle until all are there, so that none can end before the
last one has begun.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from performance.load_asking import Sent, Subject, body_of, client, require_client, send
from performance.load_files import SAMPLES, write_gateway
from performance.load_process import memory_mb, peak_mb, raise_file_limit
from performance.load_servers import Server, gateway, upstream
from performance.readings import COLUMNS, Part, Reading, row_of
from performance.skipping import SkippedError
from resay.adapters import run_sync
from resay_lab.benchmarks.table import ResultTable, Row

__all__ = ["Held", "rows", "run"]

_MOST_MB = 1024.0
_QUESTIONS = 16
# A gateway has a connection to the client, one to the upstream, and one for the samples.
_FILES_PER_STREAM = 3
_MORE_FILES = 256
_PATIENCE_S = 60.0
_PATIENCE_PER_STREAM_S = 0.2

_STREAMED = Subject(
    "gateway, ngram",
    "gateway",
    streamed=True,
    policy="ngram",
    decisions=frozenset({"consistent", "flagged"}),
    samples=SAMPLES,
)


@dataclass(frozen=True, slots=True)
class Held:
    """The streams of a run, and the memory of the gateway.

    Attributes:
        held: How many streams the upstream held at the same time.
        sent: The answer of each stream.
        before_mb: The memory of the gateway's process before, in MiB; None where unknown.
        open_mb: Its memory while all streams were open, in MiB.
        peak_mb: Its largest memory, in MiB.
    """

    held: int
    sent: tuple[Sent, ...]
    before_mb: float | None
    open_mb: float | None
    peak_mb: float | None

    @property
    def whole(self) -> int:
        """How many streams ended as they should, with a verdict."""
        return sum(answer.problem is None for answer in self.sent)


def run(streams: int = 1000, *, done: Callable[[], object] = lambda: None) -> ResultTable:
    """Hold streams open. It blocks.

    Args:
        streams: How many.
        done: Called after each.

    Returns:
        How many were held and ended whole, and the gateway's memory.

    Raises:
        SkippedError: So many files may not be open here, or a server did not start.
        MissingDependencyError: aiohttp is not installed.
    """
    require_client()
    needed = _FILES_PER_STREAM * streams + _MORE_FILES
    allowed = raise_file_limit(needed)
    if allowed is not None and allowed < needed:
        raise SkippedError(
            f"{streams} streams take {needed} open files, and {allowed} are allowed; see `ulimit`"
        )
    with TemporaryDirectory(prefix="resay-streams-") as name, ExitStack() as stack:
        folder = Path(name)
        provider = stack.enter_context(
            upstream("performance.load_upstream", {"held": True}, folder / "upstream.log")
        )
        config = write_gateway(folder, provider.url, streams)
        ours = stack.enter_context(gateway(config, folder / "gateway.log"))
        held = run_sync(_hold, ours, provider, streams, done)
    about = {"streams": streams, "seconds": round(max(answer.seconds for answer in held.sent), 3)}
    return ResultTable("streams", COLUMNS, rows(held, streams), _NOTES, about)


async def _hold(ours: Server, provider: Server, streams: int, done: Callable[[], object]) -> Held:
    sent: list[Sent] = []

    async def read(session: Any, number: int) -> None:
        body = body_of(_STREAMED, number % _QUESTIONS)
        sent.append(await send(session, ours.url, _STREAMED, body))
        done()

    async with client() as session:
        before, held, while_open = memory_mb(ours.pid), 0, None
        async with anyio.create_task_group() as tasks:
            for number in range(streams):
                tasks.start_soon(read, session, number)
            held = await _all_held(session, provider, streams)
            while_open = memory_mb(ours.pid)
            async with session.post(f"{provider.url}/release"):
                pass
        return Held(held, tuple(sent), before, while_open, peak_mb(ours.pid))


async def _all_held(session: Any, provider: Server, streams: int) -> int:
    """Wait until the upstream holds all streams, for a while; return how many it does."""
    with anyio.move_on_after(_PATIENCE_S + _PATIENCE_PER_STREAM_S * streams):
        async with session.get(f"{provider.url}/held", params={"count": streams}) as response:
            return (await response.json())["held"]
    async with session.get(f"{provider.url}/asked") as response:
        return (await response.json())["held"]


def rows(held: Held, streams: int) -> tuple[Row, ...]:
    """Return a row for each thing that is wanted.

    Args:
        held: What came of the streams.
        streams: How many there were to be.
    """
    parts = (
        (Part("held", "streams open at once", "streams", least=streams), _held(held)),
        (Part("whole", "streams that ended whole", "streams", least=streams), _whole(held)),
        (Part("memory", "most memory of the gateway (RSS)", "MiB", most=_MOST_MB), _peak(held)),
    )
    return tuple(row_of(part, measure, digits=1) for part, measure in parts)


def _held(held: Held) -> Callable[[], Reading]:
    return lambda: Reading(held.held)


def _whole(held: Held) -> Callable[[], Reading]:
    problems = Counter(answer.problem for answer in held.sent if answer.problem)
    listed = ", ".join(f"{count} x {problem}" for problem, count in problems.most_common(3))
    return lambda: Reading(held.whole, listed or None)


def _peak(held: Held) -> Callable[[], Reading]:
    def measure() -> Reading:
        if held.peak_mb is None:
            raise SkippedError("the system does not say what a process holds")
        sizes = {"before": held.before_mb, "while open": held.open_mb}
        details = {name: round(size, 1) for name, size in sizes.items() if size is not None}
        remark = ", ".join(f"{size:.0f} MiB {name}" for name, size in details.items())
        return Reading(held.peak_mb, remark or None, details)

    return measure


_NOTES = (
    "All streams are guarded, by ngram with 3 samples, and held until their sentences are checked."
    " The upstream stops each in its middle until it holds all of them.",
    "whole: every event came, with one verdict that is not inconclusive.",
)
