"""The rate and the times of a gateway under load: a small simulation beside the gateway itself.

Clients ask, wait for the whole answer, and ask again. A request takes a worker's core for a while,
piece by piece, and waits for its provider in between; a core does one piece at a time, in the order
in which they come. From the processor time of a request, the provider's latency and how many
clients there are follow the rate and the times. The simulation says what to expect of machines that
nobody has measured; the bench holds it against the gateway on this one.
"""

from __future__ import annotations

import heapq
import random
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import anyio
import typer

from performance.gateway_cpu import cpu_of, serving_gateway
from performance.load_asking import Sent, Subject, body_of, client, require_client, send
from performance.load_files import SAMPLES, write_gateway
from performance.load_process import raise_file_limit
from performance.load_servers import Server, upstream
from performance.skipping import SkippedError
from resay.adapters import run_sync
from resay.commands import JsonOption
from resay_lab.benchmarks.bench import MarkdownOption, format_of, print_result, progress
from resay_lab.benchmarks.table import Column, ResultTable, Row

__all__ = ["Expected", "expect", "queueing"]

_FILES = 8192
_QUESTIONS = 16
# Of a request: reading it, sending it on, each answer that comes, the check, the response.
_PIECES = 6
_COLUMNS = (
    Column("policy", "policy"),
    Column("clients", "clients"),
    Column("cpu_ms", "CPU ms", 2),
    Column("rate", "requests/s", 1),
    Column("expected_rate", "expected", 1),
    Column("ratio", "ratio", 2),
    Column("median_s", "median s", 3),
    Column("expected_median_s", "expected", 3),
    Column("p95_s", "95 % s", 3),
    Column("expected_p95_s", "expected", 3),
    Column("remark", "remark"),
)
_NOTES = (
    "expected: by a simulation that knows what a request took of a core, the provider's latency,"
    " and how many clients and workers there are.",
)


@dataclass(frozen=True, slots=True)
class Expected:
    """The rate and the times of a gateway.

    Attributes:
        rate: Requests per second.
        median_s: The median of their times, in seconds.
        p95_s: The time that 95 % of them stay under, in seconds.
    """

    rate: float
    median_s: float
    p95_s: float


def expect(
    cpu_s: float,
    latency_s: float,
    *,
    clients: int,
    workers: int = 1,
    requests: int = 4000,
    rounds: int = 1,
    seed: int = 0,
) -> Expected:
    """Simulate clients that ask one request after the other.

    Args:
        cpu_s: What a request takes of a core, in seconds.
        latency_s: How long the provider takes, in seconds.
        clients: How many ask at the same time.
        workers: How many processes serve, each on a core of its own.
        requests: How many requests to simulate; the first quarter is not counted.
        rounds: How often a request waits for its provider, one time after the other.
        seed: Which processor times are drawn: half of a piece's is fixed, half exponential.

    Returns:
        The rate and the times.
    """
    rng = random.Random(seed)
    piece_s = cpu_s / (_PIECES * rounds)
    pieces = _PIECES * rounds
    # A provider is waited for behind the first pieces of each round.
    waits = {number * _PIECES + 1 for number in range(rounds)}
    free_at = [0.0] * workers
    order = count()
    # When a client's next piece can begin: time, tie-breaker, client, piece, when it asked.
    events = [(0.0, next(order), number, 0, 0.0) for number in range(clients)]
    heapq.heapify(events)
    ended: list[tuple[float, float]] = []
    while len(ended) < requests:
        now, _, number, piece, sent_at = heapq.heappop(events)
        core = number % workers
        begins = max(now, free_at[core])
        ends = begins + piece_s * (0.5 + 0.5 * rng.expovariate(1.0))
        free_at[core] = ends
        if piece + 1 == pieces:
            ended.append((ends, ends - sent_at))
            heapq.heappush(events, (ends, next(order), number, 0, ends))
            continue
        ready = ends + (latency_s if piece in waits else 0.0)
        heapq.heappush(events, (ready, next(order), number, piece + 1, sent_at))
    ended.sort()
    counted = ended[requests // 4 :]
    times = [seconds for _, seconds in counted]
    rate = (len(counted) - 1) / (counted[-1][0] - counted[0][0])
    return Expected(rate, median(times), quantiles(times, n=20)[-1])


def queueing(
    clients: Annotated[
        str, typer.Option(help="How many clients ask at the same time, one number after the other.")
    ] = "4,16,64,128,256",
    latency_s: Annotated[float, typer.Option(min=0.0, help="How long the provider takes.")] = 0.2,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long to ask each time.")] = 8.0,
    workers: Annotated[int, typer.Option(min=1, help="How many processes serve.")] = 1,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Hold a simulation of queues against the gateway."""
    form = format_of(as_json, as_markdown)
    numbers = sorted(int(number) for number in clients.split(","))
    subjects = [
        Subject("off", "gateway", policy="off", decisions=frozenset({"skipped"})),
        Subject(
            "ngram",
            "gateway",
            policy="ngram",
            decisions=frozenset({"consistent", "flagged"}),
            samples=SAMPLES,
        ),
    ]
    try:
        require_client()
        raise_file_limit(_FILES)
        total = len(subjects) * len(numbers)
        with progress("queueing", total) as done, ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="resay-queue-")))
            options = {"latency_s": latency_s}
            provider = stack.enter_context(
                upstream("performance.load_upstream", options, folder / "upstream.log")
            )
            config = write_gateway(folder, provider.url, numbers[-1])
            server = stack.enter_context(
                serving_gateway(config, folder / "gateway.log", None, workers)
            )
            rows = run_sync(_measure, server, subjects, numbers, latency_s, seconds, workers, done)
    except SkippedError as error:
        typer.echo(f"queueing skipped: {error}", err=True)
        return
    about = {"latency_s": latency_s, "seconds": seconds, "workers": workers}
    print_result(ResultTable("queueing", _COLUMNS, tuple(rows), _NOTES, about), form)


async def _measure(
    server: Server,
    subjects: Sequence[Subject],
    numbers: Sequence[int],
    latency_s: float,
    seconds: float,
    workers: int,
    done: Callable[[], object],
) -> list[Row]:
    rows: list[Row] = []
    async with client() as session:
        for subject in subjects:
            # The first round is not counted: it loads modules, and the upstream records.
            await _ask(session, server, subject, numbers[0], seconds)
            for number in numbers:
                worked, started = cpu_of(server), time.perf_counter()
                sent = await _ask(session, server, subject, number, seconds)
                rate = len(sent) / (time.perf_counter() - started)
                # It falls where much is read and written at a time, so each has its own.
                cpu_s = (cpu_of(server) - worked) / len(sent)
                expected = expect(cpu_s, latency_s, clients=number, workers=workers)
                rows.append(_row(subject, number, sent, rate, cpu_s, expected))
                done()
    return rows


async def _ask(
    session: Any, server: Server, subject: Subject, clients: int, seconds: float
) -> list[Sent]:
    bodies = [body_of(subject, number) for number in range(_QUESTIONS)]
    end = time.perf_counter() + seconds
    sent: list[Sent] = []

    async def go_on(number: int) -> None:
        while time.perf_counter() < end:
            sent.append(await send(session, server.url, subject, bodies[number % _QUESTIONS]))
            number += 1

    async with anyio.create_task_group() as tasks:
        for number in range(clients):
            tasks.start_soon(go_on, number)
    return sent


def _row(
    subject: Subject,
    number: int,
    sent: Sequence[Sent],
    rate: float,
    cpu_s: float,
    expected: Expected,
) -> Row:
    times = [answer.seconds for answer in sent]
    problems = [answer.problem for answer in sent if answer.problem]
    return {
        "policy": subject.name,
        "clients": number,
        "rate": round(rate, 1),
        "expected_rate": round(expected.rate, 1),
        "ratio": round(rate / expected.rate, 3),
        "median_s": round(median(times), 4),
        "expected_median_s": round(expected.median_s, 4),
        "p95_s": round(quantiles(times, n=20)[-1], 4),
        "expected_p95_s": round(expected.p95_s, 4),
        "cpu_ms": round(1000 * cpu_s, 3),
        "remark": f"{len(problems)} failed: {problems[0]}" if problems else None,
    }
