"""Three gateways behind nginx, with Redis and PostgreSQL, that are killed under load.

nginx has the settings of `deploy/nginx.conf`. Gateways are killed (SIGKILL) one after the other and
started again, the second time with Redis away for a while, and in the end told to stop (SIGTERM) in
turn, as in a rolling update. Clients do as SDKs do: whoever gets no answer asks again, under the
same request id. No answer may be lost, no request may be in the journal twice, and no answer may be
called checked that was not.

`python -m performance.fleet '{}'` is the upstream: every fourth thing that it is asked about it
makes up, so that each of its answers has a verdict that is known beforehand.
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

__all__ = ["Asked", "Found", "Phase", "Setting", "fleet", "judge", "main", "run"]

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
_MADE_UP = 4
_ATTEMPTS, _FIRST_PAUSE_S, _LONGEST_PAUSE_S = 8, 0.25, 4.0
_DELAY_S, _DRAIN_S = 1.0, 20.0
_END_S = 60.0
_PAGE = 1000
# How long before a gateway was killed an answer may have been given that it had not yet written
# down, and after: the client's clock runs on while the gateway is killed.
_UNWRITTEN_S = 2.0
_SCANNED = frozenset({"consistent", "flagged"})
_SHOWN = 20
# Below the ports that the system gives to whoever connects: one that is free while its gateway is
# started again must still be free then.
_PORTS = range(20_000, 32_000)

Trouble = Literal["killed", "away", "restarted"]


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of the run.

    Attributes:
        name: What happens meanwhile, for readers.
        trouble: What happens: gateways are killed; killed while Redis is away; told to stop.
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
    """How much is asked.

    Attributes:
        requests: How many requests.
        concurrency: How many run beside each other.
        kills: How often a gateway is killed in each of the first two phases.
        outage_s: For how long Redis is away, in seconds.
        seed: Decides what is asked, and who is killed.
    """

    requests: int = 100_000
    concurrency: int = 32
    kills: int = 9
    outage_s: float = 20.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of a request.

    Attributes:
        ended: How its last attempt ended.
        failures: How each attempt before that ended.
        ended_s: When it ended, in seconds of `time.monotonic`.
    """

    ended: Ended
    failures: tuple[str, ...] = ()
    ended_s: float = 0.0

    @property
    def answered(self) -> bool:
        """Whether its client has an answer in the end."""
        return self.ended.outcome in ("answered", "blocked")


@dataclass(slots=True)
class Found:
    """What is known of a phase.

    Attributes:
        phase: The phase.
        asked: Its requests.
        killed_s: When gateways were killed, in seconds of `time.monotonic`.
        stopped: How many gateways were killed or told to stop.
        away_s: For how long Redis was away, in seconds.
        most: How many calls for samples the upstream had under way at the most.
        seconds: How long it took.
    """

    phase: Phase
    asked: list[Asked] = field(default_factory=list[Asked])
    killed_s: list[float] = field(default_factory=list[float])
    stopped: int = 0
    away_s: float = 0.0
    most: int = 0
    seconds: float = 0.0


def judge(
    found: Found, entries: Sequence[Written], samples: Mapping[int, int], allowed: int
) -> tuple[Row, list[str]]:
    """Return what a phase came to, and what must not be.

    Args:
        found: The phase.
        entries: The whole journal.
        samples: How many samples the upstream gave for each number of a request.
        allowed: How many calls for samples may be under way together.
    """
    numbers = {one.ended.plan.request_id for one in found.asked}
    written = Counter(entry.request_id for entry in entries if entry.request_id in numbers)
    lost = [one for one in found.asked if not one.answered]
    wrong = [one for one in found.asked if one.answered and one.ended.problems]
    judged = [one for one in found.asked if one.answered and one.ended.decision in _SCANNED]
    unscanned = [one for one in judged if not _was_scanned(one, samples)]
    twice = [name for name, count in written.items() if count > 1]
    missing = [
        one
        for one in found.asked
        if one.answered and one.ended.decision and not written[one.ended.plan.request_id]
    ]
    # What a gateway has not yet written goes with it.
    unexplained = [one for one in missing if not _at_a_kill(one.ended_s, found.killed_s)]
    again = Counter(failure for one in found.asked for failure in one.failures)
    problems = [f"{one.ended.plan} is lost: {(*one.failures, one.ended.outcome)}" for one in lost]
    problems += [f"{one.ended.plan}: {problem}" for one in wrong for problem in one.ended.problems]
    problems += [
        f"{one.ended.plan} is said to be {one.ended.decision}, with"
        f" {samples.get(one.ended.plan.number, 0)} samples"
        for one in unscanned
    ]
    problems += [f"{name!r} is in the journal {written[name]} times" for name in twice]
    problems += [f"{one.ended.plan} is not in the journal" for one in unexplained]
    if found.most > allowed:
        problems.append(f"{found.most} calls were under way, and {allowed} are allowed")
    if found.phase.trouble == "restarted" and again:
        problems.append(f"attempts failed though nobody was killed: {dict(again)}")
    row = {
        "phase": found.phase.name,
        "requests": len(found.asked),
        "stopped": found.stopped,
        "away_s": round(found.away_s, 1),
        "again": sum(bool(one.failures) for one in found.asked),
        "failures": dict(again),
        "lost": len(lost),
        "wrong": len(wrong),
        "twice": len(twice),
        "unscanned": len(unscanned),
        "unchecked": sum(one.answered for one in found.asked) - len(judged),
        "unwritten": len(missing),
        "most": f"{found.most} of {allowed}",
        "rate": round(len(found.asked) / found.seconds, 1) if found.seconds else None,
    }
    return row, problems


def _was_scanned(one: Asked, samples: Mapping[int, int]) -> bool:
    number = one.ended.plan.number
    known = "flagged" if _made_up(number) else "consistent"
    return one.ended.decision == known and samples.get(number, 0) >= SAMPLES


def _at_a_kill(moment: float, kills: Iterable[float]) -> bool:
    return any(abs(moment - kill) <= _UNWRITTEN_S for kill in kills)


def _made_up(number: int) -> bool:
    return number % _MADE_UP == 0


async def run(
    setting: Setting | None = None, *, done: Callable[[], object] = lambda: None
) -> tuple[ResultTable, list[str]]:
    """Send requests, kill gateways meanwhile, and look at what came of it all.

    Args:
        setting: How much is asked.
        done: Called after each request.

    Returns:
        A row for each phase, and what must not be.

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
        asked = stack.enter_context(upstream("performance.fleet", {}, folder / "upstream.log"))
        config = _write_files(folder, asked.url, redis.url, journal)
        members = [_Member(stack, config, folder / f"{n}.log") for n in range(MEMBERS)]
        for member in members:
            await member.start()
        balancer = stack.enter_context(_nginx(folder, [member.port for member in members]))
        fleet = _Fleet(setting, balancer.url, asked.url, members, redis, done)
        phases = await fleet.run()
        for member in members:
            await member.stop()
        entries = await _journal(journal)
        samples = {int(n): count for n, count in _get(asked, "/samples").items()}
        problems = [*fleet.problems, *_logged(folder)]
    rows: list[Row] = []
    for found in phases:
        row, wrong = judge(found, entries, samples, ALLOWED)
        rows.append(row)
        problems += [f"{found.phase.name}: {problem}" for problem in wrong]
    return _table(setting, rows, problems), problems


def _write_files(folder: Path, asked: str, redis: str, journal: str) -> Path:
    state = {"url": redis, "members": MEMBERS}
    policy = {
        "chain": [{"method": "ngram"}],
        "sampling": {"max": SAMPLES, "min": SAMPLES, "start": "together", "temperature": 1.0},
        "limits": {"deadline_s": 60, "timeout_s": 30, "shared": {**state, "concurrency": CALLS}},
        "cache": {"store": "redis", "url": redis},
    }
    (folder / "policy.yaml").write_text(json.dumps(policy))
    config = {
        "upstream": {"url": f"{asked}/v1"},
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
        asked: str,
        members: Sequence[_Member],
        redis: Redis,
        done: Callable[[], object],
    ) -> None:
        self._setting = setting
        self._url = url
        self._asked = asked
        self._members = members
        self._redis = redis
        self._done = done
        self._rng = random.Random(f"fleet {setting.seed}")  # who is killed is no secret
        self._turns: deque[_Member] = deque()
        self._reached = anyio.Event()
        self._cut = 0
        self.problems: list[str] = []

    async def run(self) -> list[Found]:
        """Send everything."""
        phases: list[Found] = []
        async with client() as session:
            first = 0
            for phase in PHASES:
                count = max(1, round(self._setting.requests * phase.share))
                found = Found(phase)
                phases.append(found)
                await self._send(session, found, first, count)
                first += count
        return phases

    async def _send(self, session: Any, found: Found, first: int, count: int) -> None:
        _get_url(self._asked, "/most")  # begins anew
        began_s = time.monotonic()
        plans = iter([self._plan(first + number) for number in range(count)])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._trouble, found, count)
            async with anyio.create_task_group() as clients:
                for _ in range(self._setting.concurrency):
                    clients.start_soon(self._work, session, plans, found)
            found.seconds = time.monotonic() - began_s
        found.most = await anyio.to_thread.run_sync(_get_url, self._asked, "/most")

    def _plan(self, number: int) -> Plan:
        return Plan(number, "chat", streamed=self._rng.random() < _STREAMED)

    async def _work(self, session: Any, plans: Iterator[Plan], found: Found) -> None:
        for plan in plans:
            found.asked.append(await self._ask(session, plan))
            if len(found.asked) >= self._cut:
                self._reached.set()
            self._done()

    async def _ask(self, session: Any, plan: Plan) -> Asked:
        """Ask as SDKs do: again, after longer and longer pauses."""
        failures: list[str] = []
        pause_s = _FIRST_PAUSE_S
        while True:
            ended = await ask(session, self._url, plan)
            asked = Asked(ended, tuple(failures), time.monotonic())
            if asked.answered or len(failures) + 1 == _ATTEMPTS:
                return asked
            failures.append(": ".join((ended.outcome, *ended.problems[:1])))
            await anyio.sleep(pause_s * (1 - self._rng.random() / 4))
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _trouble(self, found: Found, count: int) -> None:
        async with anyio.create_task_group() as tasks:
            if found.phase.trouble == "away":
                tasks.start_soon(self._outage, found)
            times = MEMBERS if found.phase.trouble == "restarted" else self._setting.kills
            for turn in range(1, times + 1):
                self._reached, self._cut = anyio.Event(), count * turn // (times + 1)
                if len(found.asked) < self._cut:
                    await self._reached.wait()
                member = self._next()
                found.stopped += 1
                if found.phase.trouble == "restarted":
                    await member.stop()
                else:
                    found.killed_s.append(await member.kill())
                try:
                    await member.start()
                except SkippedError as error:
                    self.problems.append(f"a gateway was not started again: {error}")
                    return

    def _next(self) -> _Member:
        """Return whose turn it is: each once, in an order drawn by lot, and then all over."""
        if not self._turns:
            self._turns.extend(self._rng.sample(list(self._members), MEMBERS))
        return self._turns.popleft()

    async def _outage(self, found: Found) -> None:
        began_s = time.monotonic()
        await anyio.to_thread.run_sync(self._redis.stop)
        await anyio.sleep(self._setting.outage_s)
        await anyio.to_thread.run_sync(self._redis.start)
        found.away_s = time.monotonic() - began_s


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
        """Kill it; return when."""
        server = self._serving
        server.process.send_signal(signal.SIGKILL)
        killed_s = time.monotonic()
        await anyio.to_thread.run_sync(server.wait)
        return killed_s

    async def stop(self) -> None:
        """Tell it to stop, and wait until it has ended what it began."""
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
    """Run nginx with the settings that are deployed, but for names, ports and files."""
    program = shutil.which("nginx", path=os.pathsep.join([os.environ["PATH"], "/usr/sbin"]))
    if program is None:
        raise SkippedError("nginx is not installed")
    port = _port()
    text = _DEPLOYED.read_text().replace("listen 8100;", f"listen 127.0.0.1:{port};")
    servers = re.findall(r"^ *server gateway-\w+:8100(.*;)\n", text, re.MULTILINE)
    listed = "".join(f"    server 127.0.0.1:{number}{servers[0]}\n" for number in ports)
    text = re.sub(r"(?:^ *server gateway-\w+:8100.*;\n)+", listed, text, flags=re.MULTILINE)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"  {kind}_temp_path {folder / kind};\n" for kind in kinds)
    text = text.replace("http {\n", f"http {{\n{places}")
    log = folder / "nginx.log"
    own = f"daemon off;\npid {folder / 'nginx.pid'};\nerror_log {log};\n"
    own += "user root;\n" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(own + text)
    command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(log)]
    return start("nginx", command, f"http://127.0.0.1:{port}", "/readyz", log, environment())


def _port() -> int:
    for port in random.SystemRandom().sample(_PORTS, 100):
        with socket.socket() as trying:
            try:
                trying.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise SkippedError(f"no port of {_PORTS} is free")


async def _journal(url: str) -> list[Written]:
    journal = open_journal(JournalConfig(url=url))
    written: list[Written] = []
    last: str | None = None
    try:
        while page := await journal.recent(_PAGE, before=last):
            written += [Written(e.request_id, e.decision, e.policy, e.tenant) for e in page]
            last = page[-1].id
    finally:
        await journal.aclose()
    return written


def _logged(folder: Path) -> list[str]:
    """Return what gateways say that they did wrong."""
    found = [
        line
        for number in range(MEMBERS)
        for line in (folder / f"{number}.log").read_text(errors="replace").splitlines()
        if re.search(r" (?:ERROR|CRITICAL) |Traceback", line)
    ]
    return [f"a gateway's log says: {line[:200]}" for line in found[:5]]


def _get(server: Server, path: str) -> Any:
    return _get_url(server.url, path)


def _get_url(url: str, path: str) -> Any:
    return httpx.get(url + path, timeout=_END_S).json()


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
_WORDS = tuple(one + other for one in _BEGINNINGS for other in _ENDINGS)
_SENTENCES, _LENGTH = 3, 9
_ANSWER_S, _SAMPLES_S = 0.02, 0.1
_PIECES = 6


class _Upstream:
    """Answers, and counts what it is asked."""

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
        wanted: int = body.get("n") or 1
        if body.get("stream"):
            return await _streamed(request, _text(marker[0], 0))
        if wanted == 1:
            await asyncio.sleep(_ANSWER_S)
            return web.json_response(_whole([_text(marker[0], 0)]))
        self._under_way += 1
        self._most = max(self._most, self._under_way)
        try:
            await asyncio.sleep(_SAMPLES_S)
        finally:
            self._under_way -= 1
        self._samples[_number(marker[1])] += wanted
        return web.json_response(_whole([_text(marker[0], turn + 1) for turn in range(wanted)]))


def _number(letters: str) -> int:
    """Return the number of the request that asks about a name, see `Plan.marker`."""
    number = 0
    for letter in letters:
        number = number * _LETTERS + ord(letter) - ord("a")
    return number


def _text(marker: str, turn: int) -> str:
    """Return an answer: those to one question have one meaning, unless it is made up."""
    number = _number(marker[1:])
    rng = random.Random(f"{number} {turn if _made_up(number) else 0}")  # an answer is no secret
    said = [" ".join(rng.choices(_WORDS, k=_LENGTH)).capitalize() for _ in range(_SENTENCES)]
    first = turn % _SENTENCES
    told = ". ".join(said[first:] + said[:first])
    return f"Thank you for asking about the {marker} Mill. {told}."


def _whole(texts: Sequence[str]) -> Mapping[str, Any]:
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


async def _streamed(request: web.BaseRequest, text: str) -> web.StreamResponse:
    from aiohttp import web

    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    words = text.split(" ")
    width = math.ceil(len(words) / _PIECES)
    about = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": MODEL}
    for first in range(0, len(words), width):
        await asyncio.sleep(_ANSWER_S / _PIECES)
        said = (" " if first else "") + " ".join(words[first : first + width])
        await response.write(_event(about, {"content": said}, None))
    await response.write(_event(about, {}, "stop") + b"data: [DONE]\n\n")
    await response.write_eof()
    return response


def _event(about: Mapping[str, Any], delta: Mapping[str, str], finish: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({**about, "choices": [choice]}).encode() + b"\n\n"


async def _serve() -> None:
    from aiohttp import web

    # Whoever is killed has nothing under way any more.
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
