"""Requests per second through the gateway, beside LiteLLM's proxy on the same machine.

All that serves is a process of its own: the upstream, LiteLLM's proxy, the gateway. They take turns
in short rounds, so that a machine that is busy for a while slows all of them, and what is compared
is measured in the same round.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from performance.load_asking import COUNT, Sent, Subject, body_of, client, require_client, send
from performance.load_files import SAMPLES, write_gateway
from performance.load_process import cpu_s, raise_file_limit
from performance.load_rows import COLUMNS, Round, rows_of
from performance.load_servers import Server, gateway, litellm_path, proxy, upstream
from performance.skipping import SkippedError
from performance.turns import Setting as Turn
from performance.turns import in_turns
from resay.adapters import run_sync
from resay_lab.benchmarks.table import ResultTable

__all__ = ["SUBJECTS", "Setting", "run", "total"]

_PASSED, _GUARDED = 2.0, 0.8
_FILES = 4096


def _subjects(*, streamed: bool) -> tuple[Subject, ...]:
    return (
        Subject("upstream alone", "upstream", streamed=streamed),
        Subject("LiteLLM proxy", "litellm", streamed=streamed),
        Subject(
            "gateway, off by `when`",
            "gateway",
            streamed=streamed,
            policy="off",
            decisions=frozenset({"skipped"}),
            least=_PASSED,
        ),
        Subject(
            "gateway, ngram",
            "gateway",
            streamed=streamed,
            policy="ngram",
            decisions=frozenset({"consistent", "flagged"}),
            samples=SAMPLES,
            least=_GUARDED,
        ),
    )


SUBJECTS = (
    *_subjects(streamed=False),
    Subject("gateway, passed on", "gateway", path=COUNT),
    *_subjects(streamed=True),
)
"""Who is asked, in order."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How much is asked.

    Attributes:
        concurrency: How many requests run beside each other.
        rounds: How often each has its turn.
        requests: How many requests a turn has.
        latency_s: How long the upstream takes for an answer, in seconds.
        questions: How many different questions there are.
        journal: Whether the gateway writes down its verdicts meanwhile.
    """

    concurrency: int = 32
    rounds: int = 10
    requests: int = 200
    latency_s: float = 0.0
    questions: int = 16
    journal: bool = False


def total(setting: Setting) -> int:
    """Return how many turns there are, if nothing is missing."""
    return setting.rounds * len(SUBJECTS)


def run(
    setting: Setting | None = None,
    *,
    litellm: str | None = None,
    done: Callable[[], object] = lambda: None,
) -> ResultTable:
    """Measure all of them. It blocks.

    Args:
        setting: How much is asked.
        litellm: The executable of LiteLLM's proxy; None to look for one.
        done: Called after each turn.

    Returns:
        A row for each, and rows that say why for those that could not be asked.

    Raises:
        SkippedError: Nothing can be measured here.
        MissingDependencyError: aiohttp is not installed.
    """
    require_client()
    setting = setting or Setting()
    raise_file_limit(_FILES)
    missing: dict[str, str] = {}
    with TemporaryDirectory(prefix="resay-load-") as name, ExitStack() as stack:
        folder = Path(name)
        options = {"latency_s": setting.latency_s}
        module = "performance.load_upstream"
        provider = stack.enter_context(upstream(module, options, folder / "upstream.log"))
        config = write_gateway(folder, provider.url, setting.concurrency, journal=setting.journal)
        ours = stack.enter_context(gateway(config, folder / "gateway.log"))
        servers: dict[str, Server] = {"upstream": provider, "gateway": ours}
        try:
            servers["litellm"] = stack.enter_context(_proxy(litellm, provider, folder))
        except SkippedError as error:
            missing["litellm"] = f"skipped: {error}"
        rounds = run_sync(_measure, servers, setting, done)
    rows = rows_of(SUBJECTS, rounds, missing)
    return ResultTable("load", COLUMNS, rows, _NOTES, {"setting": asdict(setting)})


def _proxy(litellm: str | None, provider: Server, folder: Path) -> Any:
    path = litellm_path(litellm)
    if path is None:
        called = "beside this python or on the path" if litellm is None else f"at {litellm!r}"
        raise SkippedError(f"no litellm {called}; name it with --litellm PATH")
    return proxy(path, f"{provider.url}/v1", folder)


async def _measure(
    servers: Mapping[str, Server], setting: Setting, done: Callable[[], object]
) -> Mapping[Subject, Sequence[Round]]:
    asked = [subject for subject in SUBJECTS if subject.server in servers]
    rounds: dict[Subject, list[Round]] = {subject: [] for subject in asked}
    async with client() as session:
        measured = partial(_turn, session, servers, setting)
        for subject in asked:
            # What is loaded at first use, and what the upstream has to think up, is no figure.
            await measured(subject)
        for number in range(setting.rounds):
            # Nobody comes behind the same one each time.
            first = number % len(asked)
            for subject in (*asked[first:], *asked[:first]):
                rounds[subject].append(await measured(subject))
                done()
    return rounds


async def _turn(
    session: Any, servers: Mapping[str, Server], setting: Setting, subject: Subject
) -> Round:
    server, provider = servers[subject.server], servers["upstream"]
    bodies = [body_of(subject, number) for number in range(setting.questions)]

    async def ask(number: int) -> Sent:
        return await send(session, server.url, subject, bodies[number % len(bodies)])

    turn = Turn(setting.requests, setting.concurrency, turns=1, latency_s=setting.latency_s)
    calls, worked = await _calls(session, provider), cpu_s(server.pid)
    started = time.perf_counter()
    sent = (await in_turns({"": ask}, turn, lambda: None))[""]
    seconds = time.perf_counter() - started
    ended = cpu_s(server.pid)
    return Round(
        seconds,
        tuple(sent),
        None if worked is None or ended is None else ended - worked,
        await _calls(session, provider) - calls,
    )


async def _calls(session: Any, provider: Server) -> int:
    async with session.get(f"{provider.url}/asked") as response:
        counts: Mapping[str, int] = await response.json()
    return sum(count for path, count in counts.items() if path.startswith("/v1/"))


_NOTES = (
    "Each row's requests go to a process of its own, and from there to the same upstream, in turns;"
    " every answer is read whole and looked at.",
    "off by `when`: chat completions by a policy that checks only what follows a tool's result,"
    " which nothing here does. passed on: /v1/messages/count_tokens, which the gateway does not"
    " look into; another call than LiteLLM's, so that it has no ratio.",
    "ngram: 3 samples, asked for together with the answer, in one more request. Streams are held"
    " until their sentences are checked.",
    "ratio: requests per second by those of LiteLLM's proxy in the same round, streams by streams;"
    " the median of all rounds, and between which values nine in ten of them are.",
    "CPU: what the process itself took of a core for one request, on Linux.",
    "The upstream thinks up each answer once, by the simulated provider, and repeats it in turn"
    " with three others to the same question; upstream alone is what it does without anything"
    " between. It and the load generator share the machine with who is measured.",
)
