"""Sinks take the record of each guarded call, and no answer waits for them or fails with them."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from resay import ConfigurationError, Guard, HallucinationBlocked, PolicyError, Verdict, request_id
from resay.adapters import run_sync
from resay.errors import MissingDependencyError
from resay.plugins import Completions, Request, VerdictRecord
from resay.reporting import outbox, sinks
from resay.testing import ScriptedProvider
from support.installed import installed

pytestmark = pytest.mark.anyio

FACT, ERROR = "It opened in 1932.", "It opened in 1947."
POLICY: dict[str, Any] = {"chain": [{"method": "facts"}]}


class Collected:
    """A sink that collects its records."""

    records: ClassVar[list[VerdictRecord]] = []

    async def on_verdict(self, record: VerdictRecord) -> None:
        self.records.append(record)


class Broken:
    async def on_verdict(self, record: VerdictRecord) -> None:
        raise RuntimeError(f"key sk-secret refused {record.question}")

    async def aflush(self) -> None:
        raise OSError("the disk is full")


class Hanging:
    """A sink that takes a record only when its gate is open."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.records: list[VerdictRecord] = []

    async def on_verdict(self, record: VerdictRecord) -> None:
        await self.gate.wait()
        self.records.append(record)

    async def aflush(self) -> None:
        assert self.gate.is_set()


@pytest.fixture(autouse=True)
def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "_shared", {})
    Collected.records.clear()


async def test_a_sink_gets_the_record_of_an_answer() -> None:
    provider = ScriptedProvider([FACT, ERROR])
    sink = Collected()
    policy = {"chain": [{"method": "ngram"}], "sampling": {"max": 1}}
    guard = Guard(policy, model="acme/large", provider=provider, sinks=[sink])
    token = request_id.set("r-7")
    answer = await guard.aask("When did it open?", tenant="acme")
    request_id.reset(token)
    await guard.aclose()
    (record,) = sink.records
    assert record.verdict == answer.verdict
    assert (record.action, record.policy, record.api) == (answer.action, "unnamed", "chat")
    assert (record.model, record.tenant, record.request_id) == ("acme/large", "acme", "r-7")
    assert record.question == "When did it open?"
    assert record.usage == answer.usage.since(answer.verdict.usage)
    assert record.check_usage == answer.verdict.usage
    assert record.latency_s >= answer.verdict.elapsed_s
    assert "When did" not in repr(record)


async def test_checks_streams_and_withheld_answers_have_one_record_each() -> None:
    heard: list[Verdict] = []
    policy = {
        "chain": [{"method": "facts"}],
        "action": {"do": "block", "exit": "raise"},
    }
    provider = ScriptedProvider([FACT, ERROR])
    sink = Collected()
    guard = Guard(policy, model="m", provider=provider, sinks=[sink], on_verdict=heard.append)
    async with guard.astream("When?", references=[FACT]) as stream:
        async for _ in stream:
            pass
    with pytest.raises(HallucinationBlocked):
        await guard.aask("When?", references=[FACT])
    await guard.acheck(ERROR, references=[FACT])
    await guard.aclose()
    assert [record.action for record in sink.records] == ["allow", "block", "annotate"]
    assert [record.api for record in sink.records] == ["chat", "chat", "check"]
    assert [record.verdict for record in sink.records] == heard


async def test_what_a_sink_raises_is_named_by_its_type(caplog: pytest.LogCaptureFixture) -> None:
    sink = Collected()
    guard = Guard(POLICY, sinks=[Broken(), sink])
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            verdict = await guard.acheck(ERROR, references=[FACT], question="When?")
            assert verdict.flagged
        with pytest.raises(OSError, match="the disk is full"):
            await guard.aclose()
    assert len(sink.records) == 3
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2  # the first and the second
    assert all("RuntimeError" in line for line in lines)
    assert "secret" not in caplog.text
    assert "1947" not in caplog.text


async def test_a_sink_that_exits_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Exiting:
        async def on_verdict(self, record: VerdictRecord) -> None:
            sys.exit(1)

    guard = Guard(POLICY, sinks=[Exiting(), Collected()])
    for count in (1, 2):
        await guard.acheck(FACT, references=[FACT])
        await guard.aclose()
        assert len(Collected.records) == count
    assert "it failed with SystemExit" in caplog.text


async def test_no_answer_waits_for_a_sink_that_hangs(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(outbox, "_MAX_WAITING", 2)
    sink = Hanging()
    guard = Guard(POLICY, sinks=[sink])
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            assert (await guard.acheck(ERROR, references=[FACT])).flagged
    assert "too many verdicts were waiting" in caplog.text
    run_sync(_open, sink.gate)
    await guard.aclose()
    assert len(sink.records) == 2


async def _open(gate: asyncio.Event) -> None:
    gate.set()


async def test_functions_are_called_before_the_call_returns_and_sinks_later() -> None:
    heard: list[Verdict] = []
    sink = Hanging()
    guard = Guard(POLICY, sinks=[sink], on_verdict=heard.append)
    verdict = await guard.acheck(ERROR, references=[FACT])
    assert heard == [verdict]
    assert not sink.records
    run_sync(_open, sink.gate)
    await guard.aclose()
    assert [record.verdict for record in sink.records] == [verdict]


CODE = """
class Sink:
    records = []

    async def on_verdict(self, record):
        self.records.append(record)
"""


@pytest.mark.parametrize("content", [False, True])
@pytest.mark.parametrize("to", ["acme", "acme_sink:Sink"])
async def test_a_policy_names_a_sink(tmp_path: Path, to: str, content: bool) -> None:
    points = {"resay.sinks": "acme = acme_sink:Sink"}
    with installed(tmp_path, CODE, points, name="acme_sink"):
        guard = Guard({**POLICY, "observers": [{"to": to, "content": content}]})
        verdict = await guard.acheck(ERROR, references=[FACT], question="When?")
        await guard.aclose()
        (record,) = sys.modules["acme_sink"].Sink.records
    assert record.verdict.decision == verdict.decision
    assert record.verdict.score == verdict.score
    words = str(record.verdict.to_dict()) + str(record.question) + str(record.verdict.references)
    assert ("1947" in words, "When?" in words, "1932" in words) == (content, content, content)


def test_a_name_that_nothing_installs_is_refused() -> None:
    with pytest.raises(PolicyError, match="must be one of langfuse"):
        Guard({**POLICY, "observers": [{"to": "journal"}]})


def test_what_is_no_sink_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="is a 'object', which has no method"):
        Guard(POLICY, sinks=[object()])  # pyright: ignore[reportArgumentType]


def test_a_journal_without_the_server_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sinks, "installed_names", lambda _: ())
    with pytest.raises(MissingDependencyError, match=r"pip install 'resay\[server\]'"):
        Guard({**POLICY, "journal": {}})


async def test_copies_of_a_guard_report_to_the_same_ones(tmp_path: Path) -> None:
    file = tmp_path / "support.yaml"
    file.write_text("chain: [{method: facts}]\n", encoding="utf-8")
    heard: list[Verdict] = []
    sink = Collected()
    guard = Guard(file, sinks=[sink], on_verdict=heard.append)
    changed = guard.with_options(policy=guard.policy.model_copy(update={"claims": "sentences"}))
    verdict = await changed.acheck(ERROR, references=[FACT])
    await changed.aclose()
    assert heard == [verdict]
    assert [record.policy for record in sink.records] == ["support"]
    pickled = pickle.loads(pickle.dumps(Guard(file, sinks=[Collected()])))
    await pickled.acheck(ERROR, references=[FACT])
    await pickled.aclose()
    assert [record.policy for record in Collected.records] == ["support", "support"]


PROGRAM = """
import asyncio, sys
from pathlib import Path
from resay import Guard

class Slow:
    async def on_verdict(self, record):
        await asyncio.sleep(0.2)
        self.decision = record.verdict.decision

    async def aflush(self):
        Path(sys.argv[1]).write_text(self.decision)

guard = Guard({"chain": [{"method": "facts"}]}, sinks=[Slow()])
guard.check("It opened in 1947.", references=["It opened in 1932."])
"""


def test_what_is_left_is_delivered_when_the_process_ends(tmp_path: Path) -> None:
    file = tmp_path / "decision"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(file)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert file.read_text() == "flagged"


IN_THREADS = """
import asyncio, sys
from pathlib import Path
from resay import Guard

class InThreads:
    def __init__(self):
        self.gate = asyncio.Event()

    async def on_verdict(self, record):
        # The process is ending when it goes on.
        await self.gate.wait()
        await asyncio.to_thread(Path(sys.argv[1]).write_text, record.verdict.decision)

    async def aflush(self):
        await asyncio.to_thread(Path(sys.argv[2]).touch)

class Opens:
    async def on_verdict(self, record): ...

    async def aflush(self):
        sinks[0].gate.set()

sinks = [InThreads(), Opens()]
guard = Guard({"chain": [{"method": "facts"}]}, sinks=sinks)
guard.check("It opened in 1947.", references=["It opened in 1932."])
"""


def test_a_sink_may_use_threads_when_the_process_ends(tmp_path: Path) -> None:
    taken, flushed = tmp_path / "taken", tmp_path / "flushed"
    done = subprocess.run(
        [sys.executable, "-c", IN_THREADS, str(taken), str(flushed)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert taken.read_text() == "flagged"
    assert flushed.exists()


class Endless:
    """A provider whose answer never ends."""

    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        await asyncio.Event().wait()
        raise AssertionError


def test_a_stream_that_is_left_has_no_record() -> None:
    sink, heard = Collected(), list[Verdict]()
    guard = Guard(POLICY, provider=Endless(), sinks=[sink], on_verdict=heard.append)
    with guard.stream("When?", references=[FACT]):
        pass
    guard.close()
    assert not sink.records
    assert not heard


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_does_not_wait_for_what_its_parent_delivers() -> None:
    sink = Hanging()
    guard = Guard(POLICY, sinks=[sink])
    guard.check(ERROR, references=[FACT])
    child = os.fork()
    if not child:
        signal.alarm(60)
        sink.gate.set()
        guard.close()
        os._exit(len(sink.records))
    run_sync(_open, sink.gate)
    guard.close()
    assert len(sink.records) == 1
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
