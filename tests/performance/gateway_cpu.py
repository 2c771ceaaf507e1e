"""The processor time of a request through the gateway, beside a proxy that only passes it on.

The upstream, the bare proxy and the gateways are processes of their own. The proxy and the gateways
take turns in short rounds.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from performance.load_asking import Sent, Subject, body_of, client, require_client, send
from performance.load_files import SAMPLES, write_gateway
from performance.load_process import raise_file_limit
from performance.load_servers import Redis, Server, free_port, start, upstream
from performance.readings import environment
from performance.skipping import SkippedError
from performance.turns import Setting as Turn
from performance.turns import in_turns
from resay.adapters import run_sync
from resay.commands import JsonOption
from resay_lab.benchmarks.bench import MarkdownOption, format_of, print_result, progress
from resay_lab.benchmarks.table import Column, ResultTable, Row

__all__ = ["cpu_of", "gateway_cpu", "run", "serving_gateway"]

_FILES = 4096
_QUESTIONS = 16
_PAUSE_S = 0.1
_COLUMNS = (
    Column("subject", "who is asked"),
    Column("answer", "answer"),
    Column("cpu_ms", "CPU ms", 2),
    Column("limit_ms", "bare proxy", 2),
    Column("ratio", "ratio", 2),
    Column("as_many", "of as many requests", 2),
    Column("rate", "requests/s", 0),
    Column("per_core", "requests/s a core", 0),
    Column("target", "target"),
    Column("outcome", "outcome"),
    Column("remark", "remark"),
)
_NOTES = (
    "CPU: what all processes of the one that is asked took of a core for one request, the median of"
    " all rounds; bare proxy: the same of one in aiohttp that only passes on.",
    "of as many requests: times a bare proxy that asks for as many samples as the check, in one"
    " further request, and drops them.",
    "a core: by the processor time that was taken, so that it does not matter who else was busy.",
)


@dataclass(frozen=True, slots=True)
class _Measured:
    """Something that is measured.

    Attributes:
        subject: The requests that are sent.
        server: The name of the server that gets them.
        most: The most processor time allowed, as a multiple of the bare proxy's.
    """

    subject: Subject
    server: str
    most: float | None = None


def _gateway_subjects(server: str, *, goals: bool) -> list[_Measured]:
    off = {"policy": "off", "decisions": frozenset({"skipped"})}
    checked = {
        "policy": "ngram",
        "decisions": frozenset({"consistent", "flagged"}),
        "samples": SAMPLES,
    }

    def measured(name: str, most: float, policy: Mapping[str, Any], *, streamed: bool) -> _Measured:
        subject = Subject(f"{server}, {name}", "gateway", streamed=streamed, **policy)
        return _Measured(subject, server, most if goals else None)

    return [
        measured("off", 2.5, off, streamed=False),
        measured("ngram", 8, checked, streamed=False),
        measured("off", 2.5, off, streamed=True),
        measured("ngram, held", 8, checked, streamed=True),
    ]


@contextmanager
def serving_gateway(config: Path, log: Path, source: Path | None, workers: int) -> Any:
    """Run `resay serve`, of this checkout or of another whose `src` is given."""
    port = free_port()
    env = environment()
    if source is not None:
        env["PYTHONPATH"] = os.pathsep.join([str(source), env.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "resay", "serve"]
    command += ["--config", str(config), "--port", str(port)]
    command += ["--workers", str(workers)] if workers > 1 else []
    with start("resay serve", command, f"http://127.0.0.1:{port}", "/readyz", log, env) as server:
        # The first of several workers is ready before the others.
        while b"serving on" not in log.read_bytes():
            time.sleep(_PAUSE_S)
        yield server


def _worker_pids(pid: int) -> list[int]:
    """Return the workers of a process, without the process that keeps their semaphores."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if _is_worker(child)]


def _is_worker(pid: str) -> bool:
    return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()


def cpu_of(server: Server) -> float:
    """Return the processor time of a server and its workers so far, in seconds."""
    pids = [server.pid, *_worker_pids(server.pid)]
    # The clocks of other processes (clock_getcpuclockid(3)); /proc has hundredths of a second.
    return sum(time.clock_gettime(~pid << 3 | 2) for pid in pids)


def gateway_cpu(
    concurrency: Annotated[int, typer.Option(min=1, help="Requests at the same time.")] = 32,
    rounds: Annotated[int, typer.Option(min=1, help="How often each has its turn.")] = 8,
    requests: Annotated[int, typer.Option(min=1, help="Requests of a turn.")] = 200,
    workers: Annotated[
        int | None, typer.Option(min=2, help="Measure a gateway of so many processes, too.")
    ] = None,
    before: Annotated[
        Path | None,
        typer.Option(help="The `src` of another checkout, whose gateway is measured, too."),
    ] = None,
    shared: Annotated[
        bool, typer.Option(help="Measure a gateway that shares its state in Redis, too.")
    ] = False,
    only: Annotated[
        str | None, typer.Option(help="Only those whose name holds this, and the bare proxies.")
    ] = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure what the gateway takes of a core, beside a proxy that only passes on."""
    form = format_of(as_json, as_markdown)
    try:
        table = run(
            concurrency,
            rounds,
            requests,
            workers=workers,
            before=before,
            shared=shared,
            only=only,
        )
    except SkippedError as error:
        typer.echo(f"gateway-cpu skipped: {error}", err=True)
        return
    print_result(table, form)


def run(
    concurrency: int = 32,
    rounds: int = 8,
    requests: int = 200,
    *,
    workers: int | None = None,
    before: Path | None = None,
    shared: bool = False,
    only: str | None = None,
) -> ResultTable:
    """Measure the gateway and the bare proxy.

    Args:
        concurrency: Requests at the same time.
        rounds: How often each has its turn.
        requests: Requests of a turn.
        workers: Measure a gateway of so many processes, too.
        before: The `src` of another checkout, whose gateway is measured, too.
        shared: Measure a gateway that shares its state in Redis, too: quotas, remembered
            questions and the limit of all gateways on requests for samples.
        only: Only those whose name holds this, and the bare proxy.

    Returns:
        A row for each that is asked.

    Raises:
        SkippedError: Nothing can be measured here.
    """
    bare = [
        _Measured(Subject("bare proxy", "gateway", streamed=streamed), "bare")
        for streamed in (False, True)
    ]
    sampling = [
        _Measured(Subject("bare proxy, sampling", "gateway", streamed=streamed), "bare, sampling")
        for streamed in (False, True)
    ]
    proxies = bare + sampling
    measured = [*proxies, *_gateway_subjects("gateway", goals=True)]
    if before is not None:
        measured += _gateway_subjects("before", goals=False)
    if workers is not None:
        measured += _gateway_subjects(f"{workers} workers", goals=False)
    if shared:
        measured += _gateway_subjects("shared state", goals=False)
    if only is not None:
        measured = [item for item in measured if item in proxies or only in item.subject.name]
    require_client()
    raise_file_limit(_FILES)
    with progress("gateway-cpu", len(measured) * rounds) as done, ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="resay-cpu-")))
        provider = stack.enter_context(
            upstream("performance.load_upstream", {}, folder / "upstream.log")
        )
        passing = {"upstream": provider.url}
        servers = {
            "bare": stack.enter_context(
                upstream("performance.gateway_proxy", passing, folder / "proxy.log")
            ),
            "bare, sampling": stack.enter_context(
                upstream(
                    "performance.gateway_proxy",
                    {**passing, "samples": SAMPLES},
                    folder / "sampling.log",
                )
            ),
        }
        config = write_gateway(folder, provider.url, concurrency)
        kinds: list[tuple[str, Path | None, int]] = [
            ("gateway", None, 1),
            ("before", before, 1),
            (f"{workers} workers", None, workers or 1),
            ("shared state", None, 1),
        ]
        for name, source, count in kinds:
            if any(item.server == name for item in measured):
                if name == "shared state":
                    redis = Redis(folder)
                    stack.callback(redis.stop)
                    (folder / "shared").mkdir()
                    config = write_gateway(
                        folder / "shared", provider.url, concurrency, state=redis.url
                    )
                log = folder / f"{name}.log"
                servers[name] = stack.enter_context(serving_gateway(config, log, source, count))
        turn = Turn(requests, concurrency, turns=1, latency_s=0.0)
        figures = run_sync(_measure, servers, measured, rounds, turn, done)
    about = {"concurrency": concurrency, "rounds": rounds, "requests": requests}
    rows = [_row(item, figures, bare, sampling) for item in measured]
    return ResultTable("gateway-cpu", _COLUMNS, tuple(rows), _NOTES, about)


@dataclass(frozen=True, slots=True)
class _Round:
    """One turn of a subject.

    Attributes:
        cpu_s: The processor time of one request, in seconds.
        seconds: The time on the clock of the turn, by its requests.
        problems: What was wrong with its answers.
    """

    cpu_s: float
    seconds: float
    problems: Sequence[str]


async def _measure(
    servers: Mapping[str, Server],
    measured: Sequence[_Measured],
    rounds: int,
    turn: Turn,
    done: Callable[[], object],
) -> dict[Subject, list[_Round]]:
    figures: dict[Subject, list[_Round]] = {item.subject: [] for item in measured}
    async with client() as session:
        for number in range(-1, rounds):
            # Each round begins with another one.
            first = number % len(measured)
            for item in (*measured[first:], *measured[:first]):
                figure = await _turn(session, servers[item.server], item.subject, turn)
                # The first round is not counted: it loads modules, and the upstream records.
                if number >= 0:
                    figures[item.subject].append(figure)
                    done()
    return figures


async def _turn(session: Any, server: Server, subject: Subject, turn: Turn) -> _Round:
    bodies = [body_of(subject, number) for number in range(_QUESTIONS)]

    async def ask(number: int) -> Sent:
        return await send(session, server.url, subject, bodies[number % len(bodies)])

    worked, started = cpu_of(server), time.perf_counter()
    sent = (await in_turns({"": ask}, turn, lambda: None))[""]
    seconds = time.perf_counter() - started
    problems = [answer.problem for answer in sent if answer.problem]
    return _Round((cpu_of(server) - worked) / turn.requests, seconds / turn.requests, problems)


def _row(
    item: _Measured,
    figures: Mapping[Subject, Sequence[_Round]],
    bare: Sequence[_Measured],
    sampling: Sequence[_Measured],
) -> Row:
    own = figures[item.subject]
    streamed = item.subject.streamed
    cpu = median(figure.cpu_s for figure in own)
    limit = _cpu_s(figures, bare, streamed=streamed)
    ratio = cpu / limit
    as_many = None
    if item.subject.samples is not None:
        as_many = round(cpu / _cpu_s(figures, sampling, streamed=streamed), 2)
    met = None if item.most is None else ratio <= item.most
    problems = [problem for figure in own for problem in figure.problems]
    return {
        "subject": item.subject.name,
        "answer": "streamed" if streamed else "whole",
        "cpu_ms": round(1000 * cpu, 3),
        "limit_ms": round(1000 * limit, 3),
        "ratio": round(ratio, 2),
        "as_many": as_many,
        "rate": round(1 / median(figure.seconds for figure in own), 1),
        "per_core": round(1 / cpu, 1),
        "target": None if item.most is None else f"<= {item.most:g}",
        "met": met,
        "outcome": None if met is None else "met" if met else "MISSED",
        "remark": f"{len(problems)} failed: {problems[0]}" if problems else None,
    }


def _cpu_s(
    figures: Mapping[Subject, Sequence[_Round]], proxies: Sequence[_Measured], *, streamed: bool
) -> float:
    """Return what a bare proxy took for an answer of the same kind."""
    subject = next(proxy.subject for proxy in proxies if proxy.subject.streamed == streamed)
    return median(figure.cpu_s for figure in figures[subject])
