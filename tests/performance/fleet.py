"""Three gateways behind nginx, with Redis and PostgreSQL, that are killed under load.

nginx has the settings of `deploy/nginx.conf`. Gateways are killed (SIGKILL) one after the other and
started again, the second time with Redis away for a while, and in the end told to stop (SIGTERM) in
turn, as in a rolling update. Clients retry as SDKs do: a request without an answer is sent again,
under the same request id. No answer may be lost, no request may be in the journal twice, and no
answer that was not checked may be called checked.

`python -m performance.fleet '{}'` is the upstream. It invents its answer to every fourth question,
so that the verdict on each answer is known beforehand.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import re
import shutil
import signal
import socket
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio
import anyio.to_thread
import httpx
import typer

from performance.load_asking import client, require_client
from performance.load_process import raise_file_limit
from performance.load_servers import MODEL, Redis, Server, gateway, start, upstream
from performance.readings import environment
from performance.skipping import SkippedError
from performance.soak_answers import Ended, ask
from performance.soak_checks import Written
from performance.soak_plan import Plan
from resay.adapters import run_sync
from resay.commands import JsonOption
from resay.errors import MissingDependencyError
from resay_lab.benchmarks.bench import MarkdownOption, format_of, print_result, progress
from resay_lab.benchmarks.table import Column, ResultTable, Row
from resay_server.journal import JournalConfig, open_journal

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["FinishedRequest", "Phase", "PhaseLog", "Setting", "fleet", "judge_phase", "main", "run"]

MEMBERS = 3
"""How many gateways there are."""
CALLS = 12
"""How many calls for samples all of them together may have under way."""
ALLOWED = CALLS + math.ceil(CALLS / MEMBERS)
"""How many there may be where Redis goes or comes back: one share more."""
SAMPLES = 3
"""How many samples a check compares."""

_DEPLOYED = Path(__file__).resolve().parents[2] / "deploy" / "nginx.conf"
_FILES = 8192
_STREAMED = 0.3
_INVENTED_EVERY = 4
_ATTEMPTS, _FIRST_PAUSE_S, _LONGEST_PAUSE_S = 8, 0.25, 4.0
_DELAY_S, _DRAIN_S = 1.0, 20.0
_END_S = 60.0
_PAGE = 1000
_ERROR = re.compile(r" (?:ERROR|CRITICAL) |Traceback")
# How long before or after a kill an answer may end without an entry in the journal, in seconds:
# the gateway had not written it yet, and the client's clock runs on while the gateway is killed.
_UNWRITTEN_S = 2.0
_SCANNED = frozenset({"consistent", "flagged"})
_SHOWN = 20
# Below the ports that the system gives to outgoing connections: the port of a gateway must still
# be free when the gateway is started again.
_PORTS = range(20_000, 32_000)

Trouble = Literal["killed", "away", "restarted"]


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the run.

    Attributes:
        name: What happens meanwhile, for readers.
        trouble: `killed`: gateways are killed; `away`: killed while Redis is away; `restarted`:
            told to stop and started again.
        share: Its share of all requests.
    """

    name: str
    trouble: Trouble
    share: float


PHASES = (
    Phase("gateways killed (SIGKILL)", "killed", 0.4),
    Phase("the same, Redis stopped", "away", 0.4),
    Phase("gateways restarted in turn (SIGTERM)", "restarted", 0.2),
)
"""What happens, in order."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The load and the faults of a run.

    Attributes:
        requests: How many requests are sent.
        concurrency: How many of them at the same time.
        kills: How often a gateway is killed in each of the first two phases.
        outage_s: For how long Redis is away, in seconds.
        seed: Decides what is asked, and which gateway is killed.
    """

    requests: int = 100_000
    concurrency: int = 32
    kills: int = 9
    outage_s: float = 20.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class FinishedRequest:
    """A request that was answered, or given up after its last attempt.

    Attributes:
        end: How its last attempt ended.
        failures: How each attempt before that ended.
        ended_s: When it ended, in seconds of `time.monotonic`.
    """

    end: Ended
    failures: tuple[str, ...] = ()
    ended_s: float = 0.0

    @property
    def answered(self) -> bool:
        """Whether its client got an answer in the end."""
        return self.end.outcome in ("answered", "blocked")


@dataclass(slots=True)
class PhaseLog:
    """What happened in a phase.

    Attributes:
        phase: The phase.
        requests: Its requests.
        killed_s: When gateways were killed, in seconds of `time.monotonic`.
        stopped: How many gateways were killed or told to stop.
        away_s: For how long Redis was away, in seconds.
        most_calls: The most calls for samples that the upstream had under way at once.
        seconds: How long the phase took.
    """

    phase: Phase
    requests: list[FinishedRequest] = field(default_factory=list[FinishedRequest])
    killed_s: list[float] = field(default_factory=list[float])
    stopped: int = 0
    away_s: float = 0.0
    most_calls: int = 0
    seconds: float = 0.0


def judge_phase(
    log: PhaseLog, entries: Sequence[Written], samples: Mapping[int, int], allowed: int
) -> tuple[Row, list[str]]:
    """Return the row of a phase, and its problems.

    Args:
        log: What happened in the phase.
        entries: The whole journal.
        samples: How many samples the upstream gave, by the number of the request.
        allowed: How many calls for samples may be under way together.
    """
    answered = [request for request in log.requests if request.answered]
    checked = [request for request in answered if request.end.decision in _SCANNED]
    request_ids = {request.end.plan.request_id for request in log.requests}
    written = Counter(entry.request_id for entry in entries if entry.request_id in request_ids)
    lost = [request for request in log.requests if not request.answered]
    wrong = [request for request in answered if request.end.problems]
    unscanned = [request for request in checked if not _was_scanned(request, samples)]
    doubled = [request_id for request_id, count in written.items() if count > 1]
    decided = [request for request in answered if request.end.decision]
    unwritten = [request for request in decided if not written[request.end.plan.request_id]]
    failures = Counter[str]()
    for request in log.requests:
        failures.update(request.failures)

    problems: list[str] = []
    for request in lost:
        attempts = (*request.failures, request.end.outcome)
        problems.append(f"{request.end.plan} is lost: {attempts}")
    for request in wrong:
        problems += [f"{request.end.plan}: {problem}" for problem in request.end.problems]
    for request in unscanned:
        end, count = request.end, samples.get(request.end.plan.number, 0)
        problems.append(f"{end.plan} is said to be {end.decision}, with {count} samples")
    for request_id in doubled:
        problems.append(f"{request_id!r} is in the journal {written[request_id]} times")
    for request in unwritten:
        # Entries that a gateway has not written yet are lost when it is killed.
        if not _near_a_kill(request.ended_s, log.killed_s):
            problems.append(f"{request.end.plan} is not in the journal")
    if log.most_calls > allowed:
        problems.append(f"{log.most_calls} calls were under way, and {allowed} are allowed")
    if log.phase.trouble == "restarted" and failures:
        problems.append(f"attempts failed though nobody was killed: {dict(failures)}")
    row = {
        "phase": log.phase.name,
        "requests": len(log.requests),
        "stopped": log.stopped,
        "away_s": round(log.away_s, 1),
        "again": sum(bool(request.failures) for request in log.requests),
        "failures": dict(failures),
        "lost": len(lost),
        "wrong": len(wrong),
        "twice": len(doubled),
        "unscanned": len(unscanned),
        "unchecked": len(answered) - len(checked),
        "unwritten": len(unwritten),
        "most": f"{log.most_calls} of {allowed}",
        "rate": round(len(log.requests) / log.seconds, 1) if log.seconds else None,
    }
    return row, problems


def _was_scanned(request: FinishedRequest, samples: Mapping[int, int]) -> bool:
    number = request.end.plan.number
    expected = "flagged" if _is_invented(number) else "consistent"
    return request.end.decision == expected and samples.get(number, 0) >= SAMPLES


def _near_a_kill(ended_s: float, kills_s: Iterable[float]) -> bool:
    return any(abs(ended_s - killed_s) <= _UNWRITTEN_S for killed_s in kills_s)


def _is_invented(number: int) -> bool:
    return number % _INVENTED_EVERY == 0


async def run(
    setting: Setting | None = None, *, done: Callable[[], object] = lambda: None
) -> tuple[ResultTable, list[str]]:
    """Send requests, kill gateways meanwhile, and check every answer and the journal.

    Args:
        setting: The load and the faults.
        done: Called after each request.

    Returns:
        A row for each phase, and all problems.

    Raises:
        SkippedError: Something that is needed is not installed, or did not start.
        MissingDependencyError: aiohttp is not installed.
    """
    require_client()
    setting = setting or Setting()
    raise_file_limit(_FILES)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="resay-fleet-")))
        redis = Redis(folder, _port())
        stack.callback(redis.stop)
        journal = stack.enter_context(_postgres()).database()
        provider = stack.enter_context(upstream("performance.fleet", {}, folder / "upstream.log"))
        config = _write_files(folder, provider.url, redis.url, journal)
        members = [_Member(stack, config, folder / f"{n}.log") for n in range(MEMBERS)]
        for member in members:
            await member.start()
        balancer = stack.enter_context(_nginx(folder, [member.port for member in members]))
        fleet = _Fleet(setting, balancer.url, provider.url, members, redis, done)
        logs = await fleet.run()
        for member in members:
            await member.stop()
        entries = await _journal_entries(journal)
        samples = {int(n): count for n, count in _get_json(f"{provider.url}/samples").items()}
        problems = [*fleet.problems, *_logged_errors(folder)]
    rows: list[Row] = []
    for log in logs:
        row, phase_problems = judge_phase(log, entries, samples, ALLOWED)
        rows.append(row)
        problems += [f"{log.phase.name}: {problem}" for problem in phase_problems]
    return _table(setting, rows, problems), problems


def _write_files(folder: Path, provider: str, redis: str, journal: str) -> Path:
    state = {"url": redis, "members": MEMBERS}
    policy = {
        "chain": [{"method": "ngram"}],
        "sampling": {"max": SAMPLES, "min": SAMPLES, "start": "together", "temperature": 1.0},
        "limits": {"deadline_s": 60, "timeout_s": 30, "shared": {**state, "concurrency": CALLS}},
        "cache": {"store": "redis", "url": redis},
    }
    (folder / "policy.yaml").write_text(json.dumps(policy))
    config = {
        "upstream": {"url": f"{provider}/v1"},
        "policies": {"default": "policy.yaml"},
        "journal": {"url": journal, "content": "none"},
        "limits": {"shutdown_delay_s": _DELAY_S, "drain_s": _DRAIN_S},
        "state": state,
    }
    path = folder / "gateway.yaml"
    path.write_text(json.dumps(config))  # YAML it is
    return path


class _Fleet:
    """One run."""

    def __init__(
        self,
        setting: Setting,
        url: str,
        provider: str,
        members: Sequence[_Member],
        redis: Redis,
        done: Callable[[], object],
    ) -> None:
        self._setting = setting
        self._url = url
        self._provider = provider
        self._members = members
        self._redis = redis
        self._done = done
        self._rng = random.Random(f"fleet {setting.seed}")  # which one is killed is no secret
        self._turns: deque[_Member] = deque()
        self._next_kill = anyio.Event()
        self._next_kill_at = 0  # requests of the phase
        self.problems: list[str] = []

    async def run(self) -> list[PhaseLog]:
        """Send the requests of all phases."""
        logs: list[PhaseLog] = []
        async with client() as session:
            first = 0
            for phase in PHASES:
                count = max(1, round(self._setting.requests * phase.share))
                log = PhaseLog(phase)
                logs.append(log)
                await self._run_phase(session, log, first, count)
                first += count
        return logs

    async def _run_phase(self, session: Any, log: PhaseLog, first: int, count: int) -> None:
        _get_json(f"{self._provider}/most")  # resets the count
        began_s = time.monotonic()
        plans = iter([self._plan(first + number) for number in range(count)])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._make_trouble, log, count)
            async with anyio.create_task_group() as clients:
                for _ in range(self._setting.concurrency):
                    clients.start_soon(self._send_plans, session, plans, log)
            log.seconds = time.monotonic() - began_s
        log.most_calls = await anyio.to_thread.run_sync(_get_json, f"{self._provider}/most")

    def _plan(self, number: int) -> Plan:
        return Plan(number, "chat", streamed=self._rng.random() < _STREAMED)

    async def _send_plans(self, session: Any, plans: Iterator[Plan], log: PhaseLog) -> None:
        for plan in plans:
            log.requests.append(await self._send_with_retries(session, plan))
            if len(log.requests) >= self._next_kill_at:
                self._next_kill.set()
            self._done()

    async def _send_with_retries(self, session: Any, plan: Plan) -> FinishedRequest:
        """Send a request as SDKs do: again where it fails, after longer and longer pauses."""
        failures: list[str] = []
        pause_s = _FIRST_PAUSE_S
        while True:
            end = await ask(session, self._url, plan)
            request = FinishedRequest(end, tuple(failures), time.monotonic())
            if request.answered or len(failures) + 1 == _ATTEMPTS:
                return request
            failures.append(": ".join((end.outcome, *end.problems[:1])))
            await anyio.sleep(pause_s * (1 - self._rng.random() / 4))
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _make_trouble(self, log: PhaseLog, count: int) -> None:
        """Kill or stop gateways, evenly over the requests of a phase."""
        async with anyio.create_task_group() as tasks:
            if log.phase.trouble == "away":
                tasks.start_soon(self._stop_redis, log)
            stops = MEMBERS if log.phase.trouble == "restarted" else self._setting.kills
            for stop in range(1, stops + 1):
                self._next_kill = anyio.Event()
                self._next_kill_at = count * stop // (stops + 1)
                if len(log.requests) < self._next_kill_at:
                    await self._next_kill.wait()
                member = self._next_member()
                log.stopped += 1
                if log.phase.trouble == "restarted":
                    await member.stop()
                else:
                    log.killed_s.append(await member.kill())
                try:
                    await member.start()
                except SkippedError as error:
                    self.problems.append(f"a gateway was not started again: {error}")
                    return

    def _next_member(self) -> _Member:
        """Return the next gateway: each once, in a random order, and then all over."""
        if not self._turns:
            self._turns.extend(self._rng.sample(list(self._members), MEMBERS))
        return self._turns.popleft()

    async def _stop_redis(self, log: PhaseLog) -> None:
        began_s = time.monotonic()
        await anyio.to_thread.run_sync(self._redis.stop)
        await anyio.sleep(self._setting.outage_s)
        await anyio.to_thread.run_sync(self._redis.start)
        log.away_s = time.monotonic() - began_s


class _Member:
    """A gateway that is killed, stopped and started again, on the same port."""

    def __init__(self, stack: ExitStack, config: Path, log: Path) -> None:
        self._stack = stack
        self._config = config
        self._log = log
        self._server: Server | None = None
        self.port = _port()

    async def start(self) -> None:
        starting = gateway(self._config, self._log, self.port)
        self._server = await anyio.to_thread.run_sync(self._stack.enter_context, starting)

    async def kill(self) -> float:
        """Kill it, and return when, in seconds of `time.monotonic`."""
        server = self._serving
        server.process.send_signal(signal.SIGKILL)
        killed_s = time.monotonic()
        await anyio.to_thread.run_sync(server.wait)
        return killed_s

    async def stop(self) -> None:
        """Tell it to stop, and wait until it has answered the requests that it began."""
        server = self._serving
        server.tell_to_stop()
        await anyio.to_thread.run_sync(server.wait, _END_S)

    @property
    def _serving(self) -> Server:
        assert self._server is not None
        return self._server


def _postgres() -> Any:
    from support.postgres import PostgresServer, binaries

    programs = binaries()
    if programs is None:
        raise SkippedError("PostgreSQL is not installed")
    return PostgresServer(programs)


def _nginx(folder: Path, ports: Sequence[int]) -> Any:
    """Run nginx with the deployed settings, but with names, ports and files of this run."""
    program = shutil.which("nginx", path=os.pathsep.join([os.environ["PATH"], "/usr/sbin"]))
    if program is None:
        raise SkippedError("nginx is not installed")
    port = _port()
    text = _DEPLOYED.read_text().replace("listen 8100;", f"listen 127.0.0.1:{port};")
    servers = re.findall(r"^ *server gateway-\w+:8100(.*;)\n", text, re.MULTILINE)
    own_servers = "".join(f"    server 127.0.0.1:{number}{servers[0]}\n" for number in ports)
    text = re.sub(r"(?:^ *server gateway-\w+:8100.*;\n)+", own_servers, text, flags=re.MULTILINE)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temp_paths = "".join(f"  {kind}_temp_path {folder / kind};\n" for kind in kinds)
    text = text.replace("http {\n", f"http {{\n{temp_paths}")
    log = folder / "nginx.log"
    head = f"daemon off;\npid {folder / 'nginx.pid'};\nerror_log {log};\n"
    head += "user root;\n" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(head + text)
    command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(log)]
    return start("nginx", command, f"http://127.0.0.1:{port}", "/readyz", log, environment())


def _port() -> int:
    for port in random.SystemRandom().sample(_PORTS, 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise SkippedError(f"no port of {_PORTS} is free")


async def _journal_entries(url: str) -> list[Written]:
    journal = open_journal(JournalConfig(url=url))
    entries: list[Written] = []
    last: str | None = None
    try:
        while page := await journal.recent(_PAGE, before=last):
            entries += [Written(e.request_id, e.decision, e.policy, e.tenant) for e in page]
            last = page[-1].id
    finally:
        await journal.aclose()
    return entries


def _logged_errors(folder: Path) -> list[str]:
    """Return the first errors in the logs of the gateways."""
    errors: list[str] = []
    for number in range(MEMBERS):
        log = (folder / f"{number}.log").read_text(errors="replace")
        errors += [line for line in log.splitlines() if _ERROR.search(line)]
    return [f"a gateway's log says: {line[:200]}" for line in errors[:5]]


def _get_json(url: str) -> Any:
    return httpx.get(url, timeout=_END_S).json()


_COLUMNS = (
    Column("phase", "meanwhile"),
    Column("requests", "requests", 0),
    Column("stopped", "stopped", 0),
    Column("away_s", "Redis away, s", 0),
    Column("again", "asked again", 0),
    Column("lost", "lost", 0),
    Column("wrong", "wrong", 0),
    Column("twice", "twice in the journal", 0),
    Column("unscanned", "called checked, but not", 0),
    Column("unchecked", "called unchecked", 0),
    Column("unwritten", "not in the journal", 0),
    Column("most", "calls at once"),
    Column("rate", "requests/s", 0),
)


def _table(setting: Setting, rows: Sequence[Row], problems: Sequence[str]) -> ResultTable:
    notes = (
        f"{MEMBERS} gateways behind nginx, {setting.concurrency} clients, 3 in 10 answers streamed,"
        f" {SAMPLES} samples and `ngram` for each; the journal in PostgreSQL, samples in Redis.",
        "asked again: requests whose first attempt failed; clients send them again as SDKs do,"
        " under the same request id.",
        "not in the journal: answered just before a gateway was killed, which had not written it.",
        f"calls at once: all gateways share a limit of {CALLS} (`limits.shared`). Where Redis goes"
        " or comes back they may exceed it by one gateway's share.",
        *(f"Problem: {problem}" for problem in problems[:_SHOWN]),
    )
    about = {
        "requests": setting.requests,
        "concurrency": setting.concurrency,
        "kills": setting.kills,
        "outage_s": setting.outage_s,
        "problems": list(problems),
    }
    return ResultTable("fleet", _COLUMNS, tuple(rows), notes, about)


_DEFAULT = Setting()


def fleet(
    requests: Annotated[int, typer.Option(min=5, help="How many requests.")] = _DEFAULT.requests,
    concurrency: Annotated[int, typer.Option(min=1, help="How many at the same time.")] = (
        _DEFAULT.concurrency
    ),
    kills: Annotated[
        int, typer.Option(min=0, help="How often a gateway is killed, in each phase.")
    ] = _DEFAULT.kills,
    outage_s: Annotated[float, typer.Option(min=0, help="How long Redis is away.")] = (
        _DEFAULT.outage_s
    ),
    seed: Annotated[int, typer.Option(help="Decides who is killed.")] = _DEFAULT.seed,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Kill and restart three gateways behind nginx under load, with Redis stopped for a while.

    Exit code 1 where an answer is lost, comes twice in the journal, or is called checked but is
    not, or where more calls are under way than are allowed.
    """
    form = format_of(as_json, as_markdown)
    setting = Setting(requests, concurrency, kills, outage_s, seed)
    try:
        with progress("fleet", requests) as done:
            table, problems = run_sync(run, setting, done=done)
    except (MissingDependencyError, SkippedError) as error:
        typer.echo(f"fleet skipped: {error}", err=True)
        return
    print_result(table, form)
    if problems:
        raise typer.Exit(1)


_MARKER = re.compile(r"\bZ([a-z]{6})\b")
_LETTERS = 26
_BEGINNINGS = ("stone", "water", "corn", "wheel", "river", "north", "iron", "oak", "salt", "wind")
_ENDINGS = ("field", "works", "house", "keeper", "gate", "bridge", "yard", "barn", "market", "path")
_WORDS = tuple(beginning + ending for beginning in _BEGINNINGS for ending in _ENDINGS)
_SENTENCES, _LENGTH = 3, 9
_ANSWER_S, _SAMPLES_S = 0.02, 0.1
_PIECES = 6


class _Upstream:
    """Answers questions about mills, and counts the samples that it gave."""

    def __init__(self) -> None:
        self._samples: Counter[int] = Counter()
        self._under_way = 0
        self._most = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        from aiohttp import web

        if request.path == "/samples":
            return web.json_response(self._samples)
        if request.path == "/most":
            most, self._most = self._most, self._under_way
            return web.json_response(most)
        body = json.loads(await request.read())
        marker = _MARKER.search(body["messages"][-1]["content"])
        if marker is None:
            return web.json_response({"error": {"message": "ask about a mill"}}, status=400)
        count: int = body.get("n") or 1
        if body.get("stream"):
            return await _stream(request, _answer(marker[0], 0))
        if count == 1:
            await asyncio.sleep(_ANSWER_S)
            return web.json_response(_completion([_answer(marker[0], 0)]))
        self._under_way += 1
        self._most = max(self._most, self._under_way)
        try:
            await asyncio.sleep(_SAMPLES_S)
        finally:
            self._under_way -= 1
        self._samples[_number(marker[1])] += count
        answers = [_answer(marker[0], turn + 1) for turn in range(count)]
        return web.json_response(_completion(answers))


def _number(letters: str) -> int:
    """Return the number of the request that asks about a name, see `Plan.marker`."""
    number = 0
    for letter in letters:
        number = number * _LETTERS + ord(letter) - ord("a")
    return number


def _answer(marker: str, turn: int) -> str:
    """Return an answer: those to one question have one meaning, unless it is invented."""
    number = _number(marker[1:])
    rng = random.Random(f"{number} {turn if _is_invented(number) else 0}")  # no secret
    sentences = [" ".join(rng.choices(_WORDS, k=_LENGTH)).capitalize() for _ in range(_SENTENCES)]
    first = turn % _SENTENCES
    text = ". ".join(sentences[first:] + sentences[:first])
    return f"Thank you for asking about the {marker} Mill. {text}."


def _completion(texts: Sequence[str]) -> Mapping[str, Any]:
    choices = [
        {
            "index": index,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "stop",
        }
        for index, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 12, "completion_tokens": 40 * len(texts)}
    usage["total_tokens"] = sum(usage.values())
    about = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": MODEL}
    return {**about, "choices": choices, "usage": usage}


async def _stream(request: web.BaseRequest, text: str) -> web.StreamResponse:
    from aiohttp import web

    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    words = text.split(" ")
    width = math.ceil(len(words) / _PIECES)
    about = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": MODEL}
    for first in range(0, len(words), width):
        await asyncio.sleep(_ANSWER_S / _PIECES)
        piece = (" " if first else "") + " ".join(words[first : first + width])
        await response.write(_event(about, {"content": piece}, None))
    await response.write(_event(about, {}, "stop") + b"data: [DONE]\n\n")
    await response.write_eof()
    return response


def _event(about: Mapping[str, Any], delta: Mapping[str, str], finish: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({**about, "choices": [choice]}).encode() + b"\n\n"


async def _serve() -> None:
    from aiohttp import web

    # The calls of a gateway that is killed end with it.
    server = web.Server(_Upstream().handle, access_log=None, handler_cancellation=True)
    runner = web.ServerRunner(server, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=4096).start()
    sys.stdout.write(f"http://127.0.0.1:{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


def main() -> None:
    """Serve as the upstream until standard input is closed."""
    asyncio.run(_serve())


if __name__ == "__main__":
    main()
