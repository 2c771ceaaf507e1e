"""The chaos bench must see what is wrong."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from typing import Any

import anyio
import pytest
from typer.testing import CliRunner

from performance.__main__ import app
from performance.chaos import Ended, Report, mismatches
from performance.chaos_plan import CACHED, Plan
from performance.chaos_watch import (
    HEADER,
    Call,
    Lateness,
    Tracked,
    census,
    current_request,
    growth,
    requests_sent,
    tasks_left,
    unmatched,
)
from resay import Request, Usage
from resay.errors import ProviderError
from resay.plugins import Chunk, Completion, Completions
from resay.providers.caching.in_flight import InFlight
from simulation import RequestRecord

PLAN = Plan(3, 0, None, "Why?")


def received(number: int, *, status: int = 200, tokens: int = 0) -> RequestRecord:
    return RequestRecord(
        "/v1/chat/completions",
        {},
        {HEADER: str(number)},
        0.0,
        status=status,
        prompt_tokens=tokens,
    )


def sent(number: int = 0, **changes: Any) -> Call:
    fields = {"request": 3, "main": False, "streamed": False, "fate": "answered", "tokens": 7}
    return Call(number, **{**fields, **changes})


def test_what_was_sent_and_received_matches() -> None:
    calls = [sent(0), sent(1, fate="cancelled", tokens=0), sent(2, fate="failed", tokens=0)]
    assert unmatched(calls, [received(0, tokens=7), received(2, status=500)]) == []
    both = [received(0, tokens=7), received(1, tokens=5), received(2, status=500)]
    assert unmatched(calls, both) == []


def test_a_stream_that_is_asked_for_again_is_one_call() -> None:
    records = [received(0, status=400), received(0, tokens=7)]
    assert unmatched([sent(streamed=True, requests=2)], records) == []
    assert unmatched([sent(streamed=True)], records)
    assert unmatched([sent()], records)


def test_a_stream_that_is_asked_for_again_is_two_requests() -> None:
    counted = sent(streamed=True, requests=2)
    left = [sent(1, streamed=True, fate=fate) for fate in ("cancelled", "failed")]
    for again in (counted, *left):
        records = [received(again.number, status=400), received(again.number, tokens=7)]
        assert requests_sent([again], records) == 2
        # No other call may become two, and no stream three.
        other = replace(again, streamed=False, requests=1)
        assert requests_sent([other], records) == 1
        assert requests_sent([again], [*records, records[-1]]) == 2
        assert requests_sent([replace(again, requests=1)], records[1:] * 2) == 1


def test_a_call_that_never_arrived_was_sent_too() -> None:
    assert requests_sent([sent(0), sent(1, fate="cancelled", tokens=0)], [received(0)]) == 2


@pytest.mark.parametrize(
    ("call", "records"),
    [
        (sent(), []),
        (sent(fate="failed"), []),
        (sent(), [received(0, tokens=7), received(0)]),
        (sent(fate="cancelled"), [received(0), received(0)]),
        (sent(), [received(0, tokens=8)]),
        (sent(), [received(0, tokens=7), received(1)]),
    ],
)
def test_what_does_not_match_is_told(call: Call, records: list[RequestRecord]) -> None:
    assert len(unmatched([call], records)) == 1


def ended(*usage: int) -> list[Ended]:
    calls, tokens, cancelled = usage
    return [Ended(PLAN, outcome="answered", spent=(calls, tokens, cancelled))]


def test_what_a_request_says_it_took_is_what_was_sent_for_it() -> None:
    calls = [sent(0), sent(1, tokens=5), sent(2, fate="cancelled", tokens=0), sent(3, request=4)]
    assert mismatches(ended(3, 12, 1), calls) == []
    assert mismatches([Ended(PLAN)], calls) == []
    for wrong in ((4, 12, 1), (2, 12, 1), (3, 11, 1), (3, 12, 0), (3, 12, 2)):
        assert len(mismatches(ended(*wrong), calls)) == 1


def test_an_answer_that_came_as_the_check_was_over_is_one_of_the_cancelled() -> None:
    calls = [sent(0), sent(1, tokens=5)]
    assert mismatches(ended(2, 7, 1), calls) == []
    assert mismatches(ended(2, 5, 1), calls) == []
    assert mismatches(ended(2, 6, 1), calls)


def test_the_check_is_told_from_the_main_call() -> None:
    calls = [sent(0, main=True), sent(1, tokens=5)]
    end = Ended(PLAN, outcome="HallucinationBlocked", checked=(1, 5, 0))
    assert mismatches([end], calls) == []
    assert mismatches([Ended(PLAN, outcome="HallucinationBlocked", checked=(2, 12, 0))], calls)


def test_growth_is_told_and_chance_is_not() -> None:
    assert growth({"resay.a.A": 10}, {"resay.a.A": 14}) == []
    assert growth({"resay.a.A": 10}, {"resay.a.A": 40, "resay.b.B": 1}) == [
        "40 of resay.a.A, which are more than 22"
    ]
    entries = "resay.providers.caching.stores._Entry"
    assert growth({entries: 10}, {entries: CACHED}) == []
    assert growth({entries: CACHED}, {entries: CACHED + 13})


def test_the_census_sees_what_is_kept() -> None:
    async def keep() -> int:
        objects = [InFlight() for _ in range(3)]
        count = census()["resay.providers.caching.in_flight.InFlight"]
        assert len(objects) == 3
        return count

    before = census().get("resay.providers.caching.in_flight.InFlight", 0)
    assert asyncio.run(keep()) == before + 3


@pytest.mark.anyio
async def test_a_loop_that_stands_still_is_seen() -> None:
    lateness = Lateness()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lateness.run)
        await anyio.sleep(0.03)
        start = anyio.current_time()
        time.sleep(0.2)  # noqa: ASYNC251 - that is the point
        end = anyio.current_time()
        # It is seen at once, before the beat that it holds up is over.
        assert 0.15 < lateness.between(start, end) <= end - start
        assert lateness.at(start) == pytest.approx(lateness.between(start, end), abs=0.05)
        await anyio.sleep(0.03)
        assert 0.15 < lateness.between(start, anyio.current_time()) < 1
        assert lateness.longest > 0.15
        assert lateness.between(start - 10, start - 9) == 0
        tasks.cancel_scope.cancel()


@pytest.mark.anyio
async def test_a_task_that_is_left_is_seen() -> None:
    before = asyncio.all_tasks()
    left = asyncio.create_task(Lateness().run())
    assert len(await tasks_left(before)) == 1
    left.cancel()
    await asyncio.wait([left])
    assert await tasks_left(before) == []


class Answering:
    async def takes_n(self, request: Request) -> bool:
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        self.last_request = request
        if request.question == "hang":
            await anyio.sleep_forever()
        if request.question == "fail":
            raise ProviderError("no")
        return Completions((Completion("Yes"),), Usage(1, 3, 4))


@pytest.mark.anyio
async def test_calls_are_kept_with_their_fate() -> None:
    inner = Answering()
    tracked = Tracked(inner)
    current_request.set(5)
    await tracked.complete(Request.of("why", params={"metadata": {"call": "main"}}))
    assert inner.last_request.params["extra_headers"] == {HEADER: "0"}
    with pytest.raises(ProviderError):
        await tracked.complete(Request.of("fail"))
    with anyio.move_on_after(0):
        await tracked.complete(Request.of("hang"))
    async with tracked.stream(Request.of("why")) as chunks:
        assert [chunk async for chunk in chunks] == [Chunk("Yes", usage=Usage(1, 3, 4))]
    async with tracked.stream(Request.of("why")):
        pass
    assert [(c.number, c.request, c.main, c.streamed, c.fate, c.tokens) for c in tracked.calls] == [
        (0, 5, True, False, "answered", 7),
        (1, 5, False, False, "failed", 0),
        (2, 5, False, False, "cancelled", 0),
        (3, 5, False, True, "answered", 7),
        (4, 5, False, True, "cancelled", 0),
    ]


@pytest.mark.parametrize(("problems", "code"), [((), 0), (("something is left",), 1)])
def test_the_command_fails_on_a_problem(
    monkeypatch: pytest.MonkeyPatch, problems: tuple[str, ...], code: int
) -> None:
    async def run(requests: int, **_: Any) -> Report:
        return Report(problems, {"answered": requests}, (9, 8), (70, 80), 0.1, 0.2, 1.5)

    monkeypatch.setattr("performance.chaos.run", run)
    result = CliRunner().invoke(app, ["chaos", "--requests", "7", "--json"])
    assert result.exit_code == code
    document = json.loads(result.stdout)
    assert document["rows"] == [{"outcome": "answered", "requests": 7}]
    assert document["problems"] == list(problems)
    assert document["calls"] == [9, 8]
