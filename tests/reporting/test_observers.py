"""Verdicts are pushed to the tools that a policy names, and no answer waits for it."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from opentelemetry import trace

from resay import (
    AnswerStream,
    ConfigurationError,
    Guard,
    HallucinationBlocked,
    Policy,
    PolicyError,
    Verdict,
    request_id,
)
from resay._internal.event_loops import in_background
from resay.adapters import GuardRuntime
from resay.adapters.observers import Finding, Observer, Place, place
from resay.core.regeneration import Regeneration
from resay.guard import core_of
from resay.plugins import VerdictRecord
from resay.reporting import sinks
from resay.reporting.delivery import Delivery
from resay_server.gateway import Gateway, GatewayConfig, serving
from simulation import SimulatedProvider
from support.otel import Seen, forget_providers

pytestmark = pytest.mark.anyio

FACT, ERROR = "It opened in 1932.", "It opened in 1947."
MODEL = "openai/simulated"
FLAGGED = Verdict("flagged", 0.9, "it differs")


class Kept(Observer):
    """Keeps what it is sent. It sends nothing while the gate is closed."""

    made: ClassVar[list[Kept]] = []

    def __init__(self) -> None:
        self.sent: list[tuple[Place, Finding]] = []
        self.flushed = 0
        self.gate = threading.Event()
        self.gate.set()
        self.began = threading.Event()
        self.made.append(self)

    def send(self, findings: Sequence[tuple[Place, Finding]], /) -> None:
        self.began.set()
        assert self.gate.wait(60)
        self.sent += findings

    def flush(self) -> None:
        self.flushed += 1


class Trace:
    """A trace of a tool, which forgets it once the application's function returns."""

    id = "t-9"


current_trace: ContextVar[weakref.ref[Trace]] = ContextVar("current_trace")


class Fleeting(Kept):
    """Knows a trace as long as it runs."""

    def place(self) -> Place | None:
        trace = current_trace.get()()
        return Place(trace.id) if trace else None


class Broken(Observer):
    def send(self, findings: Sequence[tuple[Place, Finding]], /) -> None:
        raise RuntimeError(f"key sk-secret refused {findings}")


class Leaving(Observer):
    def send(self, findings: Sequence[tuple[Place, Finding]], /) -> None:
        raise SystemExit(1)


class Nothing:
    """No observer."""


@pytest.fixture(autouse=True)
def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "_shared", {})
    Kept.made.clear()


@pytest.fixture
def placed() -> Iterator[Place]:
    where = Place("t-1", "s-1")
    token = place.set(where)
    yield where
    place.reset(token)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    forget_providers(monkeypatch)
    seen = Seen()
    yield seen
    seen.close()


def guarded(to: str = "Kept", **settings: Any) -> Guard:
    return Guard(policy(to, **settings))


def policy(to: str = "Kept", **settings: Any) -> dict[str, Any]:
    observer = {"to": f"{__name__}:{to}", **settings}
    return {"chain": [{"method": "facts"}], "observers": [observer]}


def delivery_of(guard: Guard) -> Delivery:
    (outbox,) = core_of(guard).reporter.outboxes
    assert isinstance(outbox, Delivery)
    return outbox


def record(verdict: Verdict = FLAGGED) -> VerdictRecord:
    return VerdictRecord(verdict=verdict, action="annotate", policy="p")


def findings() -> list[Finding]:
    return [finding for _, finding in Kept.made[0].sent]


async def read(stream: AnswerStream) -> None:
    async with stream:
        async for _ in stream:
            pass


async def test_a_verdict_is_pushed_without_its_words(placed: Place) -> None:
    guard = guarded()
    token = request_id.set("r-7")
    verdict = await guard.acheck(ERROR, references=[FACT])
    request_id.reset(token)
    await guard.aclose()
    ((where, finding),) = Kept.made[0].sent
    assert where is placed
    assert Kept.made[0].flushed == 1
    assert (finding.name, finding.decision) == ("hallucination", "flagged")
    assert (finding.score, finding.reason) == (verdict.score, verdict.reason)
    assert finding.metadata["action"] == "annotate"
    assert finding.metadata["request_id"] == "r-7"
    assert "1947" not in str(finding.details)


async def test_words_are_pushed_where_the_policy_says_so(placed: Place) -> None:
    guard = guarded(content=True, name="made_up")
    await guard.acheck(ERROR, references=[FACT])
    await guard.aclose()
    (finding,) = findings()
    assert finding.name == "made_up"
    assert finding.details["flagged_sentences"] == [ERROR]


@pytest.mark.parametrize(
    ("direction", "score", "pushed"),
    [
        ({}, 0.75, 0.75),
        ({"score": "bad"}, 0.75, 0.75),
        ({"score": "good"}, 0.75, 0.25),
        ({"score": "good"}, 0.0, 1.0),
        ({"score": "good"}, None, None),
    ],
)
def test_a_score_of_1_may_be_good(
    placed: Place, direction: dict[str, str], score: float | None, pushed: float | None
) -> None:
    guard = guarded(**direction)
    GuardRuntime(guard).report(replace(FLAGGED, score=score))
    guard.close()
    (finding,) = findings()
    assert (finding.score, finding.decision) == (pushed, "flagged")


@pytest.mark.parametrize("to", ["langfuse", "langsmith", "mlflow", "phoenix", "weave"])
def test_each_tool_takes_the_direction(to: str) -> None:
    (config,) = Policy.of({**policy(), "observers": [{"to": to, "score": "good"}]}).observers
    assert (config.score, config.settings) == ("good", {})
    with pytest.raises(PolicyError, match="score"):
        Policy.of({**policy(), "observers": [{"to": to, "score": "better"}]})


@pytest.mark.usefixtures("placed")
async def test_answers_and_streams_and_withheld_ones(simulated: SimulatedProvider) -> None:
    blocking = {"action": {"do": "block", "exit": "raise"}, "sampling": {"max": 3}}
    guard = Guard({**policy(), **blocking, "chain": [{"method": "ngram"}]}, model=MODEL)
    question = "Tell me about the Sydney Harbour Bridge."
    with pytest.raises(HallucinationBlocked):
        await guard.aask(question, params=simulated.params)
    with pytest.raises(HallucinationBlocked):
        await read(guard.astream(question, params=simulated.params))
    await guard.aclose()
    assert [one.metadata["action"] for one in findings()] == ["block", "block"]
    assert [one.metadata["model"] for one in findings()] == [MODEL, MODEL]


@pytest.mark.usefixtures("placed")
async def test_what_is_skipped_is_not_pushed() -> None:
    guard = guarded()
    assert (await guard.acheck("  ", references=[FACT])).skipped
    await guard.aclose()
    assert not findings()


@pytest.mark.usefixtures("placed")
async def test_no_answer_waits_for_a_tool_that_hangs(caplog: pytest.LogCaptureFixture) -> None:
    guard = guarded(max_waiting=2)
    Kept.made[0].gate.clear()
    with caplog.at_level(logging.WARNING):
        await guard.acheck(ERROR, references=[FACT])
        assert Kept.made[0].began.wait(60)
        for _ in range(8):
            assert (await guard.acheck(ERROR, references=[FACT])).flagged
    delivery = delivery_of(guard)
    # One is being sent, two wait.
    assert delivery.lost == 6
    Kept.made[0].gate.set()
    await guard.aclose()
    assert (delivery.sent, len(findings())) == (3, 3)
    assert "too many verdicts were waiting" in caplog.text
    assert len(caplog.records) == 3  # at 1, 2 and 4


@pytest.mark.usefixtures("placed")
async def test_what_a_tool_raises_is_named_by_its_type(caplog: pytest.LogCaptureFixture) -> None:
    guard = guarded("Broken", content=True)
    with caplog.at_level(logging.WARNING):
        assert (await guard.acheck(ERROR, references=[FACT])).flagged
        await guard.aclose()
    assert delivery_of(guard).lost == 1
    assert "sending failed with RuntimeError" in caplog.text
    assert "secret" not in caplog.text
    assert "1947" not in caplog.text


@pytest.mark.usefixtures("placed")
async def test_a_tool_that_would_end_the_thread_costs_one_batch() -> None:
    guard = guarded("Leaving")
    for lost in (1, 2):
        await guard.acheck(ERROR, references=[FACT])
        await guard.aclose()
        assert delivery_of(guard).lost == lost


@pytest.mark.usefixtures("placed")
def test_a_thread_that_cannot_start_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    delivery = delivery_of(guarded())
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", fail)
        delivery.put(record())
    delivery.put(record())
    assert delivery.flush()
    assert (delivery.lost, len(findings())) == (1, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.usefixtures("placed")
def test_a_fork_does_not_wait_for_a_thread_that_it_does_not_have() -> None:
    delivery = delivery_of(guarded())
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with delivery._changed:
            held.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(60)
    child = os.fork()
    if not child:
        signal.alarm(60)
        delivery.put(record())
        os._exit(0 if delivery.flush() and len(findings()) == 1 else 1)
    done.set()
    holder.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.usefixtures("placed")
def test_an_abstention_in_place_of_the_answer_is_pushed() -> None:
    delivery = delivery_of(guarded())
    repaired = Regeneration("repair", (), adopted=0, abstains=True)
    for regeneration in (None, repaired):
        verdict = Verdict("skipped", None, "it claims nothing", regeneration=regeneration)
        delivery.put(record(verdict))
    delivery.flush()
    assert [one.decision for one in findings()] == ["skipped"]


async def test_a_trace_may_end_before_the_background_loop_gets_to_run() -> None:
    guard = guarded("Fleeting")
    gate = threading.Event()

    async def block() -> None:
        gate.wait(60)

    blocked = in_background(block)
    trace = Trace()
    token = current_trace.set(weakref.ref(trace))
    await guard.acheck(ERROR, references=[FACT])
    current_trace.reset(token)
    del trace
    gc.collect()
    gate.set()
    await asyncio.wrap_future(blocked)
    await guard.aclose()
    assert [where.trace_id for where, _ in Kept.made[0].sent] == ["t-9"]


async def test_outside_of_a_trace_nothing_is_pushed(caplog: pytest.LogCaptureFixture) -> None:
    guard = guarded()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            await guard.acheck(ERROR, references=[FACT])
    await guard.aclose()
    assert (delivery_of(guard).unplaced, findings()) == (2, [])
    (record,) = caplog.records
    assert "has no current trace" in record.message


async def test_a_verdict_belongs_to_the_span_of_the_application(seen: Seen) -> None:
    guard = guarded()
    with trace.get_tracer("app").start_as_current_span("request") as span:
        guard.check(ERROR, references=[FACT])
    await guard.acheck(FACT, references=[FACT])
    GuardRuntime(guard).report(await guard.acheck(FACT, references=[FACT]))
    await guard.aclose()
    context = span.get_span_context()
    places = [where for where, _ in Kept.made[0].sent]
    assert places[0] == Place(f"{context.trace_id:032x}", f"{context.span_id:016x}")
    checks = [span for span in seen.spans if span.name == "resay.check"]
    assert [p.span_id for p in places[1:]] == [f"{c.context.span_id:016x}" for c in checks[1:]]
    assert delivery_of(guard).unplaced == 1


def test_guards_with_the_same_settings_share_one_and_can_be_pickled() -> None:
    guard = guarded()
    runtime = GuardRuntime(guard)
    copies = [
        pickle.loads(pickle.dumps(guard)),
        guard.with_options(policy=guard.policy),
        runtime.with_listener(print),
    ]
    assert [GuardRuntime(copied).sinks for copied in copies] == [runtime.sinks] * 3
    assert len(Kept.made) == 1


@pytest.mark.parametrize(
    ("to", "error", "message"),
    [
        ("honeycomb", PolicyError, "must be one of langfuse"),
        (f"{__name__}:Missing", ConfigurationError, "has no 'Missing'"),
        (f"{__name__}:Nothing", ConfigurationError, "has no method `on_verdict`"),
    ],
)
def test_an_observer_that_cannot_be_had_is_refused(
    to: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Guard({"chain": [{"method": "facts"}], "observers": [{"to": to}]})


@pytest.mark.usefixtures("seen")
def test_the_gateway_pushes_to_the_span_that_its_client_names(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(json.dumps(policy()))
    told = {"upstream": {"url": "http://127.0.0.1:9"}, "policies": {"default": str(file)}}
    config = GatewayConfig.of({**told, "journal": None})
    trace_id, span_id = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    with serving(Gateway(config), config.limits) as url:
        answer = httpx.post(
            f"{url}/v1/check",
            json={"response": ERROR, "references": [FACT]},
            headers={"traceparent": f"00-{trace_id}-{span_id}-01"},
        )
    assert answer.status_code == 200, answer.text
    Guard(policy()).close()
    ((where, finding),) = Kept.made[0].sent
    assert (where, finding.decision) == (Place(trace_id, span_id), "flagged")


PROGRAM = """
import asyncio, queue, sys, threading
from resay import Guard
from resay.adapters.observers import Observer, Place

class Client:
    # It sends when it is flushed, from a thread that ends with the main thread.
    def __init__(self):
        self.queue = queue.Queue()
        self.flushed = threading.Event()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while threading.main_thread().is_alive():
            if self.flushed.wait(0.01) and threading.main_thread().is_alive():
                print(self.queue.get())
                self.queue.task_done()

class Tool(Observer):
    def __init__(self):
        self.client = Client()

    def place(self):
        return Place("t-1")

    def send(self, findings):
        for _, finding in findings:
            self.client.queue.put(finding.decision)

    def flush(self):
        self.client.flushed.set()
        self.client.queue.join()

guard = Guard({"chain": [{"method": "facts"}], "observers": [{"to": "__main__:Tool"}]})
asyncio.run(guard.acheck("It opened in 1947.", references=["It opened in 1932."]))
"""


def test_what_is_left_is_pushed_while_the_main_thread_lives() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == ("flagged\n", "")
