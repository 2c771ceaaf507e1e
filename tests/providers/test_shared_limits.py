"""Limits that several processes share, by a real Redis server that is killed now and then."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from pydantic import ValidationError

from resay import Guard, Policy
from resay.adapters.limits import SharedLimits, SharedState, SharedStateConfig, SharedTotals
from resay.providers import shared_limits
from resay.providers.limits import ProcessLimits
from resay.providers.shared_limits import SharedLimitsConfig, shared_limiter
from support.redis import RedisServer, needs_redis, redis_server

pytestmark = [pytest.mark.anyio, needs_redis]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    # However busy this machine is.
    monkeypatch.setattr(shared_limits, "_TIMEOUT_S", 20.0)


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


def states(redis: RedisServer, prefix: str, members: int = 1) -> tuple[SharedState, SharedState]:
    """Two that share, each with connections of its own, as two processes have them."""
    config = SharedStateConfig(url=redis.url, prefix=prefix, members=members)
    return SharedState(config), SharedState(config)


async def acquainted(redis: RedisServer, prefix: str) -> tuple[SharedState, SharedState]:
    """Two that share, each of which knows of the other."""
    first, second = states(redis, prefix)
    for state in (first, second, first):
        await (await state.member()).send_heartbeat()
    return first, second


async def most_inside(limits: list[SharedLimits], count: int = 20) -> int:
    inside = most = 0

    async def work(limit: SharedLimits) -> None:
        nonlocal inside, most
        async with limit:
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(work(limit) for limit in limits for _ in range(count)))
    assert inside == 0
    return most


async def test_no_more_are_under_way_than_the_limit_of_all(redis: RedisServer) -> None:
    first, second = states(redis, "together")
    most = await most_inside([SharedLimits(state, "x", concurrency=3) for state in (first, second)])
    assert most <= 3
    assert not any("leases" in key for key in redis.found() if "{together}" in key)
    await first.aclose()
    await second.aclose()


async def test_a_minute_has_room_for_as_many_as_the_limit_says(redis: RedisServer) -> None:
    first, second = states(redis, "minute")
    limits = [SharedLimits(state, "x", per_minute=5) for state in (first, second)]
    waits = [await limits[n % 2].try_enter() for n in range(7)]
    assert waits[:5] == [0.0] * 5
    assert all(50 < wait <= 60 for wait in waits[5:])
    await first.aclose()
    await second.aclose()


async def test_what_others_hold_is_theirs_until_they_leave(redis: RedisServer) -> None:
    first, second = states(redis, "held")
    mine, theirs = (SharedLimits(state, "x", concurrency=1) for state in (first, second))
    assert await theirs.try_enter() == 0
    assert await mine.try_enter() == float("inf")
    waiting = asyncio.create_task(mine.__aenter__())
    await theirs.leave()
    await waiting
    assert await theirs.try_enter() == float("inf")
    await mine.leave()
    await first.aclose()
    await second.aclose()


async def test_who_ends_orderly_gives_all_back(redis: RedisServer) -> None:
    first, second = states(redis, "orderly")
    assert await SharedLimits(first, "x", concurrency=1).try_enter() == 0
    await first.aclose()
    assert await SharedLimits(second, "x", concurrency=1).try_enter() == 0
    await second.aclose()


HOLDER = """
import asyncio, sys
from resay.providers import shared_limits
shared_limits._LEASE_S = 2.0
from resay.providers.shared_limits import SharedLimits, SharedState, SharedStateConfig

async def main():
    state = SharedState(SharedStateConfig(url=sys.argv[1], prefix="killed"))
    assert await SharedLimits(state, "x", concurrency=1).try_enter() == 0
    print("held", flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


async def test_what_a_killed_process_held_is_free_after_its_life(
    redis: RedisServer,
) -> None:
    command = [sys.executable, "-c", HOLDER, redis.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: ASYNC220
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        state = SharedState(SharedStateConfig(url=redis.url, prefix="killed"))
        limit = SharedLimits(state, "x", concurrency=1)
        assert await limit.try_enter() == float("inf")
        process.kill()
    # Nobody keeps it alive any more, so that it ends by itself.
    async with limit:
        pass
    await state.aclose()


async def test_without_redis_each_keeps_to_its_share(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_limits, "_RETRY_S", 0.0)
    with redis_server() as redis:
        first, second = await acquainted(redis, "share")
        limits = [SharedLimits(state, "x", concurrency=6) for state in (first, second)]
        held = [await limits[n % 2].try_enter() for n in range(2)]
        assert held == [0, 0]
        assert (first.members, first.degraded) == (2, False)

        redis.stop()
        waits = [await limits[0].try_enter() for _ in range(4)]
        assert waits == [0, 0, float("inf"), float("inf")]
        assert first.degraded
        warnings = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
        assert sum("does not answer" in message for message in warnings) == 1

        redis.start()
        # What was entered meanwhile counts for the others as soon as it is heard of.
        for state in (first, second):
            await (await state.member()).send_heartbeat()
        assert not first.degraded
        assert [await limits[1].try_enter() for _ in range(3)] == [0, 0, float("inf")]
        for state in (first, second):
            await state.aclose()


async def test_leases_are_counted_from_the_moment_redis_returns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared_limits, "_RETRY_S", 0.0)
    monkeypatch.setattr(shared_limits, "_HEARTBEAT_S", 3600.0)
    with redis_server() as redis:
        first, second = await acquainted(redis, "returns")
        limits = [SharedLimits(state, "x", concurrency=6) for state in (first, second)]
        assert [await limit.try_enter() for limit in limits] == [0, 0]
        redis.stop()
        for limit in limits:
            assert [await limit.try_enter() for _ in range(3)] == [0, 0, float("inf")]
        # It has forgotten what it knew, and what was taken meanwhile it never knew.
        redis.start()
        assert [await limit.try_enter() for limit in limits] == [float("inf")] * 2
        assert not first.degraded
        for _ in range(2):
            await limits[0].leave()
        waits = await asyncio.gather(*(limits[0].try_enter() for _ in range(6)))
        assert sorted(waits) == [0] * 2 + [float("inf")] * 4
        for state in (first, second):
            await state.aclose()


async def test_a_process_never_exceeds_the_limit_whatever_redis_forgot(redis: RedisServer) -> None:
    state, _ = states(redis, "forgotten")
    limit = SharedLimits(state, "x", concurrency=2)
    assert [await limit.try_enter() for _ in range(2)] == [0, 0]
    redis.forget()
    assert await limit.try_enter() == float("inf")
    await state.aclose()


async def test_a_busy_event_loop_is_not_mistaken_for_a_silent_redis(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_limits, "_TIMEOUT_S", 1.0)
    state, _ = states(redis, "busy")
    limit = SharedLimits(state, "x", concurrency=2)
    entering = asyncio.create_task(limit.try_enter())
    # Long enough to begin to connect, which takes several exchanges.
    for _ in range(10):
        await asyncio.sleep(0)
    time.sleep(1.2)  # noqa: ASYNC251
    assert await entering == 0
    assert not state.degraded
    await state.aclose()


async def test_who_never_reached_redis_has_the_share_that_was_named() -> None:
    config = SharedStateConfig(url="redis://127.0.0.1:1/0", members=4)
    state = SharedState(config)
    limit = SharedLimits(state, "x", concurrency=8, per_minute=100)
    waits = [await limit.try_enter() for _ in range(3)]
    assert waits == [0, 0, float("inf")]
    rate = SharedLimits(state, "y", per_minute=8)
    waits = [await rate.try_enter() for _ in range(3)]
    assert waits[:2] == [0, 0]
    assert 50 < waits[2] <= 60
    await state.aclose()


async def test_a_server_that_is_silent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = 0

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        requests += 1
        await reader.read()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        state = SharedState(SharedStateConfig(url=f"redis://127.0.0.1:{port}/0"))
        limit = SharedLimits(state, "x", concurrency=100)
        monkeypatch.setattr(shared_limits, "_TIMEOUT_S", 0.01)
        monkeypatch.setattr(shared_limits, "_RETRY_S", 3600.0)
        assert [await limit.try_enter() for _ in range(50)] == [0] * 50
        assert state.degraded
        # The beat and the first of them may both have asked; the others found it silent.
        assert requests <= 4
        await state.aclose()


async def test_sums_are_those_of_all_of_them(redis: RedisServer) -> None:
    first, second = states(redis, "sums")
    sums = [SharedTotals(state, "acme", ("calls", "cost_usd")) for state in (first, second)]
    await sums[0].add({"calls": 3, "cost_usd": 0.25})
    await sums[1].add({"calls": 1})
    for total in sums:
        assert await total.read() == {"calls": 4, "cost_usd": 0.25}
    await first.aclose()
    await second.aclose()


async def test_what_was_added_without_redis_is_told_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_limits, "_RETRY_S", 0.0)
    with redis_server() as redis:
        first, second = states(redis, "later", members=3)
        sums = [SharedTotals(state, "acme", ("calls",)) for state in (first, second)]
        await sums[0].add({"calls": 5})
        assert await sums[1].read() == {"calls": 5}
        redis.stop()
        await sums[0].add({"calls": 2})
        # For all it knows, each of the three may have added as much.
        assert await sums[0].read() == {"calls": 5 + 3 * 2}
        redis.start()
        assert await sums[0].read() == {"calls": 2}
        assert await sums[1].read() == {"calls": 2}
        for state in (first, second):
            await state.aclose()


async def test_each_day_begins_with_nothing(redis: RedisServer) -> None:
    now = 86_400.0 * 20_000 - 10
    first, second = states(redis, "days")
    sums = SharedTotals(first, "acme", ("calls",), clock=lambda: now)
    await sums.add({"calls": 7})
    assert sums.seconds_left == 10
    now += 10
    assert await sums.read() == {"calls": 0}
    assert sums.seconds_left == 86_400
    alone = SharedTotals(None, "acme", ("calls",), clock=lambda: now)
    await alone.add({"calls": 7})
    assert await alone.read() == {"calls": 7}
    await first.aclose()
    await second.aclose()


async def test_members_see_the_notes_of_each_other(redis: RedisServer) -> None:
    first, second = states(redis, "notes")
    first.note, second.note = "new", "old"
    for state in (first, second, first):
        await (await state.member()).send_heartbeat()
    assert first.notes == {"new": 1, "old": 1}
    await second.aclose()
    await (await first.member()).send_heartbeat()
    assert (first.notes, first.members) == ({"new": 1}, 1)
    await first.aclose()


async def test_all_keys_lie_in_one_slot_of_a_cluster(redis: RedisServer) -> None:
    state, _ = states(redis, "slot")
    limit = SharedLimits(state, "x", concurrency=1, per_minute=5)
    await limit.try_enter()
    await SharedTotals(state, "x", ("calls",)).add({"calls": 1})
    await (await state.member()).send_heartbeat()
    keys = {key for key in redis.found() if "slot" in key}
    assert len(keys) == 5
    assert all(key.startswith("{slot}:") for key in keys)
    await state.aclose()


async def test_a_policy_limits_the_calls_of_all_processes(redis: RedisServer) -> None:
    shared = {"url": redis.url, "prefix": "policy", "concurrency": 2, "calls_per_minute": 50}
    policy = Policy.model_validate({"chain": [{"method": "ngram"}], "limits": {"shared": shared}})
    assert policy.limits.shared is not None
    assert "127.0.0.1" not in repr(policy.limits.shared)
    inner = ProcessLimits(4)
    limit = shared_limiter(policy.limits.shared, inner)
    assert limit is shared_limiter(policy.limits.shared, inner)
    assert await most_inside([limit]) <= 2
    Guard(policy)


@pytest.mark.parametrize("url", ["http://x", "redis://:s3cret@", "10.0.0.7:6379"])
def test_an_address_that_is_none_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ValidationError, match="must be an address such as redis") as error:
        SharedLimitsConfig(url=url)
    assert url not in str(error.value)


def test_no_password_is_shown() -> None:
    state = SharedState(SharedStateConfig(url="redis://user:s3cret@example.org:6379/0"))
    assert repr(state) == "SharedState('example.org')"
    assert "s3cret" not in repr(state.config)
