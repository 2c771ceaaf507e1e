"""The processor time of guarded requests of OpenAI's SDK, many at a time.

Clients with different connections send the same requests, in turns: the guarded client with its own
connections, one with the SDK's pool, and one with the SDK's aiohttp transport where that is
installed (`openai[aiohttp]`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import median
from typing import Annotated, Any

import typer

from performance.latency import percentile
from performance.serving import simulated_elsewhere
from performance.skipping import SkippedError
from performance.turns import Setting as Turn
from performance.turns import in_turns
from resay.adapters import run_sync
from resay.commands import JsonOption
from resay_lab.benchmarks.bench import MarkdownOption, format_of, print_result, progress
from resay_lab.benchmarks.table import Column, ResultTable, Row

__all__ = ["clients_at_once", "run"]

_COLUMNS = (
    Column("client", "client"),
    Column("cpu_ms", "CPU ms", 1),
    Column("limit_ms", "the SDK's", 1),
    Column("cpu_ratio", "ratio", 2),
    Column("p50_ms", "p50 ms", 0),
    Column("ratio", "p50 of the SDK's", 2),
    Column("calls", "calls", 1),
    Column("target", "target"),
    Column("met", "met"),
)
_NOTES = (
    "CPU: what this process took of a core for one request, with all of its calls, the median of"
    " all rounds. The provider is a process of its own.",
)
_PLAIN = "the SDK's client, not guarded"
_CPU_MS, _P50 = 20.0, 2.3
_POLICY = {
    "chain": [{"method": "prompt"}],
    "cache": {"store": "none"},
    "limits": {"deadline_s": 600, "timeout_s": 600},
}


def clients_at_once(
    concurrency: Annotated[int, typer.Option(min=1, help="Requests at the same time.")] = 32,
    rounds: Annotated[int, typer.Option(min=1, help="How often each has its turn.")] = 4,
    latency_s: Annotated[float, typer.Option(min=0.0, help="How long an answer takes.")] = 0.4,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure what a guarded request takes of a core where many are under way."""
    form = format_of(as_json, as_markdown)
    try:
        table = run(concurrency, rounds, latency_s)
    except SkippedError as error:
        typer.echo(f"clients-at-once skipped: {error}", err=True)
        return
    print_result(table, form)


def run(concurrency: int = 32, rounds: int = 4, latency_s: float = 0.4) -> ResultTable:
    """Measure all clients.

    Args:
        concurrency: Requests at the same time.
        rounds: How often each has its turn.
        latency_s: How long an answer takes, in seconds.

    Returns:
        A row for each client.

    Raises:
        SkippedError: The simulated provider did not start.
    """
    with (
        simulated_elsewhere(latency_s=latency_s, judge_latency_s=latency_s / 3) as params,
        progress("clients-at-once", rounds) as done,
    ):
        measured = run_sync(_measure, params, concurrency, rounds, done)
    rows = [_row(name, turns, measured[_PLAIN]) for name, turns in measured.items()]
    about = {"concurrency": concurrency, "rounds": rounds, "latency_s": latency_s}
    return ResultTable("clients-at-once", _COLUMNS, tuple(rows), _NOTES, about)


@dataclass(frozen=True, slots=True)
class _Round:
    """One turn of a client.

    Attributes:
        cpu_s: The processor time of a request, in seconds.
        seconds: The time on the clock of each request, in seconds.
        calls: The calls of a request, the mean.
    """

    cpu_s: float
    seconds: Sequence[float]
    calls: float


def _row(name: str, turns: Sequence[_Round], plain: Sequence[_Round]) -> Row:
    cpu_ms, p50_ms = _medians_ms(turns)
    plain_cpu_ms, plain_ms = _medians_ms(plain)
    has_goal = name != _PLAIN
    return {
        "client": name,
        "cpu_ms": round(cpu_ms, 2),
        "limit_ms": round(plain_cpu_ms, 2),
        "cpu_ratio": round(cpu_ms / plain_cpu_ms, 2),
        "p50_ms": round(p50_ms, 1),
        "ratio": round(p50_ms / plain_ms, 2),
        "calls": round(sum(turn.calls for turn in turns) / len(turns), 2),
        "target": f"<= {_CPU_MS:g} ms, p50 <= {_P50:g}" if has_goal else None,
        "met": cpu_ms <= _CPU_MS and p50_ms <= _P50 * plain_ms if has_goal else None,
    }


def _medians_ms(turns: Sequence[_Round]) -> tuple[float, float]:
    """Return the median processor time and the median time of a request, in milliseconds."""
    cpu_s = median(turn.cpu_s for turn in turns)
    seconds = [second for turn in turns for second in turn.seconds]
    return 1000 * cpu_s, 1000 * percentile(seconds, 0.5)


def _clients(params: Mapping[str, Any]) -> dict[str, Any]:
    from openai import AsyncOpenAI, DefaultAioHttpClient, DefaultAsyncHttpxClient

    from resay_openai import GuardedAsyncOpenAI

    options: dict[str, Any] = {
        "base_url": params["api_base"],
        "api_key": "simulated",
        "timeout": 600,
    }
    guarded_options: dict[str, Any] = {**options, "policy": _POLICY}
    clients: dict[str, Any] = {
        _PLAIN: AsyncOpenAI(**options),
        "guarded": GuardedAsyncOpenAI(**guarded_options),
        "guarded, the SDK's own pool": GuardedAsyncOpenAI(
            **guarded_options, http_client=DefaultAsyncHttpxClient()
        ),
    }
    if find_spec("httpx_aiohttp") is not None:
        clients["guarded, the SDK's aiohttp transport"] = GuardedAsyncOpenAI(
            **guarded_options, http_client=DefaultAioHttpClient()
        )
    return clients


async def _measure(
    params: Mapping[str, Any], concurrency: int, rounds: int, done: Callable[[], object]
) -> dict[str, list[_Round]]:
    clients = _clients(params)
    measured: dict[str, list[_Round]] = {name: [] for name in clients}
    for number in range(-1, rounds):
        names = list(clients)
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            figure = await _turn(clients[name], concurrency)
            # The first round is not counted: it loads modules.
            if number >= 0:
                measured[name].append(figure)
        done()
    for client in clients.values():
        await client.close()
    return measured


async def _turn(client: Any, concurrency: int) -> _Round:
    calls: list[int] = []

    async def ask(number: int) -> float:
        question = f"Tell me about the lighthouse at Quarrel Point. ({number % 16})"
        started = time.perf_counter()
        answer = await client.chat.completions.create(
            model="gpt-4.1-mini", messages=[{"role": "user", "content": question}]
        )
        verdict = getattr(answer, "hallucination", None)
        calls.append(1 + (verdict["usage"]["calls"] if verdict else 0))
        return time.perf_counter() - started

    turn = Turn(2 * concurrency, concurrency, turns=1)
    worked = time.process_time()
    seconds = (await in_turns({"": ask}, turn, lambda: None))[""]
    cpu_s = (time.process_time() - worked) / turn.requests
    return _Round(cpu_s, seconds, sum(calls) / len(calls))
