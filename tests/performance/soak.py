"""Many mixed requests through `resay serve`, while much goes wrong, and a restart in the middle.

The provider fails in all the ways that providers do, clients go away, and the gateway, a process of
its own with a journal, is told to stop and started again on the same port and journal. No answer
may be lost or come twice, no verdict may be missing in the journal or appear there twice, and no
process may grow.
"""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import anyio.to_thread

from performance.load_asking import client, require_client
from performance.load_process import memory_mb, peak_mb, raise_file_limit
from performance.load_servers import Server, free_port, gateway
from performance.skipping import SkippedError
from performance.soak_answers import Ended, ask
from performance.soak_checks import (
    Memory,
    Spell,
    Written,
    growth,
    growth_problems,
    journal_problems,
    lost_and_doubled,
    refused_problems,
    windows,
)
from performance.soak_plan import DRAIN_S, FAULTS, Plan, draw, write_files
from resay_server.journal import JournalConfig, open_journal
from simulation import SimulatedProvider

__all__ = ["Life", "Report", "Setting", "run"]

_FILES = 4096
_SAMPLED = 400
_PAGE = 1000
_MORE_S = 10
_TOLD, _MOST_LINES = 200, 5
_LOGGED = re.compile(r"^.* (?:ERROR|CRITICAL) .*$", re.MULTILINE)
_ENDED_WELL = frozenset({0, -signal.SIGTERM})


@dataclass(frozen=True, slots=True)
class Setting:
    """How much is asked.

    Attributes:
        requests: How many requests.
        concurrency: How many run beside each other.
        restarts: How often the gateway is stopped and started again meanwhile.
        seed: Decides what is asked, what goes wrong, and who leaves.
    """

    requests: int = 20_000
    concurrency: int = 32
    restarts: int = 1
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Life:
    """One process of the gateway.

    Attributes:
        samples: Its memory, over time.
        peak_mb: Its largest memory, in MiB; None where unknown.
        stopped_s: How long it took to stop, in seconds.
    """

    samples: tuple[Memory, ...]
    peak_mb: float | None
    stopped_s: float

    @property
    def requests(self) -> int:
        """How many requests it ended."""
        return self.samples[-1].ended if self.samples else 0

    @property
    def windows(self) -> tuple[float, ...]:
        """Its memory after the warm-up, see `performance.soak_checks.windows`."""
        return windows(self.samples)

    @property
    def growth(self) -> float | None:
        """By which share it grew."""
        return growth(self.samples)


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a run.

    Attributes:
        problems: What did not hold.
        outcomes: How many requests ended with each outcome.
        verdicts: How many answers came with a verdict, and how many entries the journal has.
        faults: How many requests of the gateway's met a fault at the provider.
        calls: How many requests the provider received.
        lives: The processes of the gateway, in order.
        seconds: The time of the whole run, in seconds.
    """

    problems: tuple[str, ...]
    outcomes: Mapping[str, int]
    verdicts: tuple[int, int]
    faults: int
    calls: int
    lives: tuple[Life, ...]
    seconds: float


async def run(
    setting: Setting | None = None, *, done: Callable[[], object] = lambda: None
) -> Report:
    """Send requests, restart the gateway meanwhile, and look at what came of it all.

    Args:
        setting: How much is asked.
        done: Called after each request.

    Returns:
        What was found.

    Raises:
        SkippedError: The gateway did not start.
        MissingDependencyError: aiohttp is not installed.
    """
    require_client()
    setting = setting or Setting()
    raise_file_limit(_FILES)
    with (
        TemporaryDirectory(prefix="resay-soak-") as name,
        SimulatedProvider(
            seed=setting.seed, latency_s=0.01, jitter_s=0.04, faults=FAULTS
        ) as provider,
    ):
        soak = _Soak(provider, Path(name), setting, done)
        return await soak.run()


class _Soak:
    """One run."""

    def __init__(
        self,
        provider: SimulatedProvider,
        folder: Path,
        setting: Setting,
        done: Callable[[], object],
    ) -> None:
        self._provider = provider
        self._folder = folder
        self._setting = setting
        self._done = done
        self._config = write_files(folder, provider.base_url)
        self._log = folder / "gateway.log"
        self._port = free_port()
        self._url = f"http://127.0.0.1:{self._port}"
        self._ended: list[Ended] = []
        self._lives: list[Life] = []
        self._spells: list[Spell] = []
        self._problems: list[str] = []
        self._server: Server | None = None
        self._samples: list[Memory] = []
        self._ended_before = 0
        self._running = anyio.Event()
        self._next_restart = anyio.Event()
        self._next_restart_at = 0

    async def run(self) -> Report:
        """Send everything, and look at what came of it."""
        began_s = time.monotonic()
        plans = draw(self._setting.requests, self._setting.seed)
        with ExitStack() as servers:
            await self._start(servers)
            async with client() as session, anyio.create_task_group() as tasks:
                tasks.start_soon(self._restart, servers)
                queue = iter(plans)
                for _ in range(self._setting.concurrency):
                    tasks.start_soon(self._work, session, queue)
            await self._wait_for_provider()
            await self._stop()
        self._look_at(plans, entries := await self._journal())
        records = self._provider.requests
        return Report(
            tuple(self._problems),
            Counter(end.outcome for end in self._ended),
            (sum(end.decision is not None for end in self._ended), len(entries)),
            sum(record.fault is not None for record in records),
            len(records),
            tuple(self._lives),
            time.monotonic() - began_s,
        )

    async def _work(self, session: Any, queue: Iterator[Plan]) -> None:
        for plan in queue:
            ended = await ask(session, self._url, plan)
            self._ended.append(ended)
            self._sample()
            if len(self._ended) >= self._next_restart_at:
                self._next_restart.set()
            self._done()
            if ended.outcome == "refused":
                # Whoever was turned away waits for the next gateway.
                await self._running.wait()

    def _sample(self) -> None:
        every = max(1, self._setting.requests // _SAMPLED)
        mb = memory_mb(self._server.pid) if self._server and self._running.is_set() else None
        if mb is not None and len(self._ended) % every == 0:
            self._samples.append(Memory(len(self._ended) - self._ended_before, mb))

    async def _restart(self, servers: ExitStack) -> None:
        """Stop the gateway and start it again, whenever its share of the requests has ended."""
        shares = self._setting.restarts + 1
        for part in range(1, shares):
            self._next_restart, self._next_restart_at = (
                anyio.Event(),
                self._setting.requests * part // shares,
            )
            await self._next_restart.wait()
            stopped_s = time.monotonic()
            self._running = anyio.Event()
            self._spells.append(Spell(stopped_s))
            await self._stop()
            try:
                await self._start(servers)
            except SkippedError as error:
                self._problems.append(f"it was not started again: {error}")
                # Whoever waits for it need not wait any more.
                self._running.set()
                return
            self._spells[-1] = Spell(stopped_s, time.monotonic())

    async def _start(self, servers: ExitStack) -> None:
        starting = gateway(self._config, self._log, self._port)
        self._server = await anyio.to_thread.run_sync(servers.enter_context, starting)
        self._samples, self._ended_before = [], len(self._ended)
        self._running.set()

    async def _stop(self) -> None:
        server = self._server
        assert server is not None
        peak, stopping_s = peak_mb(server.pid), time.monotonic()
        server.tell_to_stop()
        try:
            status = await anyio.to_thread.run_sync(server.wait, DRAIN_S + _MORE_S)
        except subprocess.TimeoutExpired:
            self._problems.append("the gateway did not stop")
        else:
            if status not in _ENDED_WELL:
                self._problems.append(f"the gateway ended with status {status}")
        self._lives.append(Life(tuple(self._samples), peak, time.monotonic() - stopping_s))

    async def _wait_for_provider(self) -> None:
        """See that nothing goes on at the provider that nobody waits for any more."""
        try:
            await anyio.to_thread.run_sync(self._provider.wait_idle, _MORE_S)
        except TimeoutError:
            left = self._provider.in_flight
            self._problems.append(f"{left} requests are left at the provider")

    async def _journal(self) -> list[Written]:
        journal = open_journal(JournalConfig(url=f"sqlite:///{self._folder / 'journal.db'}"))
        entries: list[Written] = []
        last: str | None = None
        try:
            while page := await journal.recent(_PAGE, before=last):
                entries += [Written(e.request_id, e.decision, e.policy, e.tenant) for e in page]
                last = page[-1].id
        finally:
            await journal.aclose()
        return entries

    def _look_at(self, plans: Sequence[Plan], entries: Sequence[Written]) -> None:
        begun = {record.headers.get("x-request-id", "") for record in self._provider.requests}
        self._problems += lost_and_doubled(plans, self._ended)
        self._problems += refused_problems(self._ended, begun, self._spells)
        self._problems += journal_problems(self._ended, entries)
        self._problems += growth_problems([life.samples for life in self._lives])
        self._problems += [
            f"the gateway's log says: {line[:_TOLD]}"
            for line in _LOGGED.findall(self._log.read_text(errors="replace"))[:_MOST_LINES]
        ]
