"""The soak bench must see what is lost, what comes twice and what grows; a small one runs here."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from typer.testing import CliRunner

from performance.__main__ import app
from performance.load_servers import gateway
from performance.skipping import SkippedError
from performance.soak import Life, Report
from performance.soak_answers import Ended, Received, read
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
from performance.soak_plan import POLICIES, Plan, draw

PLANS = tuple(Plan(number, "chat", policy="block", tenant="red") for number in range(3))
ENDED = tuple(Ended(plan, "answered", "flagged", sent_s=100.0 + i) for i, plan in enumerate(PLANS))
ENTRIES = tuple(Written(plan.request_id, "flagged", "block", "red") for plan in PLANS)
HEADERS = {"x-resay-request-id": PLANS[1].request_id}
ANSWER = f"Thank you for asking about {PLANS[1].marker} Mill; here is a short overview. More."
VERDICT = {"decision": "flagged", "action": "annotate"}


def chat(text: str = ANSWER, **fields: Any) -> bytes:
    choice = {"message": {"content": text}, "finish_reason": "stop"}
    return json.dumps({"choices": [choice], "hallucination": VERDICT, **fields}).encode()


def events(*bodies: object) -> bytes:
    texts = [body if isinstance(body, str) else json.dumps(body) for body in bodies]
    return "".join(f"data: {text}\n\n" for text in texts).encode()


def delta(text: str) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": text}, "finish_reason": None}]}


LAST = {"choices": [{"delta": {}, "finish_reason": "stop"}], "hallucination": VERDICT}
STREAM = (delta(ANSWER[:9]), delta(ANSWER[9:]), LAST, "[DONE]")


def whole(data: bytes, status: int = 200, **headers: str) -> Ended:
    return read(PLANS[1], Received(status, {**HEADERS, **headers}, data))


def streamed(*bodies: object) -> Ended:
    headers = {**HEADERS, "content-type": "text/event-stream; charset=utf-8"}
    return read(replace(PLANS[1], streamed=True), Received(200, headers, events(*bodies)))


def test_plans_are_mixed_and_told_apart() -> None:
    plans = draw(500, seed=3)
    assert plans == draw(500, seed=3) != draw(500, seed=4)
    assert len({plan.marker for plan in plans}) == len({plan.request_id for plan in plans}) == 500
    assert {plan.ask for plan in plans} == {"chat", "responses", "messages", "passed"}
    assert {plan.policy for plan in plans} == set(POLICIES)
    assert any(plan.leave_s is not None for plan in plans)
    assert {plan.streamed for plan in plans} == {True, False}


def test_a_good_answer_has_no_problem() -> None:
    for ended in (whole(chat()), streamed(*STREAM)):
        assert (ended.outcome, ended.decision, ended.problems) == ("answered", "flagged", ())


def test_an_answer_that_was_withheld_says_nothing_of_what_was_asked() -> None:
    blocked = {"decision": "flagged", "action": "block"}
    ended = whole(chat("Withheld.", hallucination=blocked))
    assert (ended.outcome, ended.decision, ended.problems) == ("blocked", "flagged", ())
    assert whole(chat("Withheld.")).problems


@pytest.mark.parametrize(
    ("ended", "problem"),
    [
        (whole(chat(), **{"x-resay-request-id": "soak-2"}), "it was called 'soak-2'"),
        (whole(chat(ANSWER + ANSWER)), "it has 2 answers in it"),
        (whole(chat("")), "it has 0 answers in it"),
        (whole(chat(ANSWER.replace(PLANS[1].marker, "the"))), "it has 1 answers in it"),
        (whole(chat(f"{ANSWER} {PLANS[2].marker}")), "it has another request's answer"),
        (whole(chat(hallucination=None)), "it has 0 verdicts"),
        (whole(chat(again={"hallucination": VERDICT})), "it has 2 verdicts"),
        (whole(chat()[:-9]), "its answer cannot be read"),
        (whole(b"Service Unavailable", 503), "it ended with an unclear error"),
        (whole(b'{"error": {"message": ""}}', 502), "it ended with an unclear error"),
        (
            whole(b'{"error": {"message": "it broke", "code": "internal_error"}}', 500),
            "the gateway itself failed",
        ),
        (streamed(*STREAM[:2]), "its stream ended 0 times"),
        (streamed(*STREAM[:3]), "its stream was closed 0 times"),
        (streamed(*STREAM, *STREAM), "its stream ended 2 times"),
        (streamed(STREAM[0], *STREAM[2:]), "it has 0 answers in it"),
        (
            streamed(delta(""), {**delta(ANSWER), "hallucination": VERDICT}, *STREAM[2:]),
            "it has 2 verdicts",
        ),
        (
            read(PLANS[1], Received(200, HEADERS, b"", "ServerDisconnectedError")),
            "it broke off with",
        ),
        (
            read(replace(PLANS[1], ask="passed"), Received(200, HEADERS, b'{"input_tokens": 99}')),
            "it was told 99 tokens",
        ),
    ],
)
def test_a_bad_answer_is_seen(ended: Ended, problem: str) -> None:
    assert problem in " ".join(lost_and_doubled([ended.plan], [ended]))


def test_errors_are_an_end_where_they_are_clear() -> None:
    refused = b'{"error": {"message": "too much", "code": "overloaded"}}'
    error = {"type": "error", "message": "it broke off", "code": "upstream_unreachable"}
    withheld = {"message": "withheld", "code": "x", "verdict": {"decision": "flagged"}}
    assert whole(refused, 429).outcome == "error"
    assert streamed(delta("Thank"), error).outcome == "error"
    blocked = whole(json.dumps({"error": withheld}).encode(), 422)
    assert (blocked.outcome, blocked.decision, blocked.problems) == ("blocked", "flagged", ())
    unguarded = whole(b"{", **{"x-resay-action": "unguarded"})
    assert (unguarded.outcome, unguarded.problems) == ("unguarded", ())
    assert read(PLANS[1], Received(error="ClientConnectorError")).outcome == "refused"


def test_the_other_apis_are_read_too() -> None:
    plan = PLANS[1]
    parts = [{"type": "output_text", "text": ANSWER}]
    responses = json.dumps({"output": [{"content": parts}], "hallucination": VERDICT}).encode()
    messages = json.dumps({"content": parts, "hallucination": VERDICT}).encode()
    for api, data in (("responses", responses), ("messages", messages)):
        ended = read(replace(plan, ask=api), Received(200, HEADERS, data))
        assert (ended.outcome, ended.problems) == ("answered", ())
    piece = {"type": "response.output_text.delta", "delta": ANSWER}
    end = {"type": "response.completed", "response": {"error": None, "hallucination": VERDICT}}
    block = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": ANSWER}}
    stop = ({"type": "message_delta", "hallucination": VERDICT}, {"type": "message_stop"})
    headers = {**HEADERS, "content-type": "text/event-stream"}
    for api, bodies in (("responses", (piece, end)), ("messages", (block, *stop))):
        plan_of_api = replace(plan, ask=api, streamed=True)
        ended = read(plan_of_api, Received(200, headers, events(*bodies)))
        assert (ended.outcome, ended.decision, ended.problems) == ("answered", "flagged", ())


def test_what_is_lost_or_comes_twice_is_seen() -> None:
    assert lost_and_doubled(PLANS, ENDED) == []
    assert "ended 0 times" in lost_and_doubled(PLANS, ENDED[1:])[0]
    assert "ended 2 times" in lost_and_doubled(PLANS, [*ENDED, ENDED[0]])[0]
    lost = replace(ENDED[0], outcome="lost")
    assert lost_and_doubled(PLANS, [lost, *ENDED[1:]]) == [f"{PLANS[0]}, lost: it was lost"]


def test_the_journal_has_every_verdict_once() -> None:
    assert journal_problems(ENDED, ENTRIES) == []
    assert "is not in the journal" in journal_problems(ENDED, ENTRIES[1:])[0]
    assert journal_problems(ENDED, [*ENTRIES, ENTRIES[1]]) == ["'soak-1' is in the journal 2 times"]
    strange = replace(ENTRIES[0], request_id="soak-9")
    assert journal_problems(ENDED, [*ENTRIES, strange]) == [
        "nobody sent 'soak-9', which is in the journal"
    ]
    for changed in (
        replace(ENTRIES[2], decision="consistent"),
        replace(ENTRIES[2], policy="default"),
        replace(ENTRIES[2], tenant="blue"),
    ):
        assert len(journal_problems(ENDED, [*ENTRIES[:2], changed])) == 1
    # A client that left was given no verdict; its request may be there, but not twice.
    left = [replace(ENDED[0], outcome="left", decision=None), *ENDED[1:]]
    assert journal_problems(left, ENTRIES) == journal_problems(left, ENTRIES[1:]) == []
    assert journal_problems(left, [ENTRIES[0], *ENTRIES])


def test_only_a_gateway_that_stops_may_refuse() -> None:
    refused = [replace(ENDED[0], outcome="refused", decision=None, sent_s=100.0)]
    assert refused_problems(refused, set(), [Spell(99.0, 101.0)]) == []
    assert "while the gateway ran" in refused_problems(refused, set(), [])[0]
    assert "while the gateway ran" in refused_problems(refused, set(), [Spell(90.0, 99.0)])[0]
    assert "was begun" in refused_problems(refused, {"soak-0"}, [Spell(99.0, 101.0)])[0]
    assert refused_problems(ENDED, {"soak-0"}, []) == []


def held(*sizes: float) -> Sequence[Memory]:
    """Return what a process held that grew in equal steps, with a warm-up before."""
    share = len(sizes) * 0.3 / 0.7
    warm = [Memory(round(1000 * i / 10), 10.0) for i in range(1, round(10 * share) + 1)]
    start = warm[-1].ended
    return [*warm, *(Memory(start + 1000 * i, mb) for i, mb in enumerate(sizes, start=1))]


def test_memory_that_grows_is_seen() -> None:
    flat = held(100, 101, 100, 101, 102, 101, 100, 101)
    assert windows(flat) == (100.5, 100.5, 101.5, 100.5)
    assert growth(flat) == pytest.approx(1 / 100.5)
    assert growth_problems([flat]) == []
    growing = held(100, 100, 102, 102, 104, 104, 106, 106)
    assert growth_problems([flat, growing]) == [
        "process 2 grew by 6.0%: 100.0, 102.0, 104.0, 106.0 MiB"
    ]
    # A hump is growth too; a process that ended few requests is not judged.
    assert growth_problems([held(100, 100, 120, 120, 100, 100, 100, 100)])
    assert growth_problems([growing], judged=10**6) == []
    assert (windows([]), growth([Memory(1, 5.0)])) == ((), None)


@pytest.mark.parametrize(("problems", "code"), [((), 0), (("something was lost",), 1)])
def test_a_problem_is_an_exit_code(
    problems: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(*_: object, **__: object) -> Report:
        life = Life(tuple(held(100, 100, 100, 100, 100, 100, 100, 100)), 110.0, 0.5)
        return Report(problems, {"answered": 7}, (7, 8), 2, 20, (life,), 1.0)

    monkeypatch.setattr("performance.soak.run", run)
    result = CliRunner().invoke(app, ["soak", "--json"])
    assert result.exit_code == code
    document = json.loads(result.stdout)
    assert document["rows"][0]["requests"] == 7
    assert document["problems"] == list(problems)
    assert document["processes"][0]["windows_mb"] == [100.0] * 4
    assert any(note == f"Problem: {p}" for p in problems for note in document["notes"]) == bool(
        code
    )


def test_a_gateway_that_does_not_start_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("aiohttp")
    broken = ("-c", "import sys; sys.exit('it is broken')")
    monkeypatch.setattr("performance.load_servers._OURS", (sys.executable, *broken))
    result = CliRunner().invoke(app, ["soak", "--requests", "2"])
    assert result.exit_code == 1
    assert result.stderr == "soak failed: resay serve did not start: it is broken\n"


def test_a_gateway_that_does_not_start_again_is_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("aiohttp")
    started = iter([gateway])

    def once(*args: Any) -> Any:
        for start in started:
            return start(*args)
        raise SkippedError("it is broken")

    monkeypatch.setattr("performance.soak.gateway", once)
    result = CliRunner().invoke(app, ["soak", "--requests", "8", "--concurrency", "2", "--json"])
    document = json.loads(result.stdout)
    assert (result.exit_code, document["problems"]) == (
        1,
        ["it was not started again: it is broken"],
    )
    assert sum(row["requests"] for row in document["rows"]) == 8


def test_a_small_one_loses_nothing() -> None:
    pytest.importorskip("aiohttp")
    result = CliRunner().invoke(app, ["soak", "--requests", "240", "--seed", "1", "--json"])
    document = json.loads(result.stdout)
    assert (result.exit_code, document["problems"]) == (0, [])
    ended = {row["name"]: row["requests"] for row in document["rows"]}
    assert sum(ended.values()) == 240
    assert ended["lost"] == 0
    assert min(ended["answered"], ended["blocked"], ended["left"]) > 0
    verdicts, entries = document["verdicts"]
    assert 100 < verdicts <= entries
    assert document["faults"] > 0
    assert len(document["processes"]) == 2
