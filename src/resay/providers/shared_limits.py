"""Limits that several processes and machines share through Redis.

Each process asks Redis before a limited operation. While Redis is unreachable, each falls back to
its share: the limit divided by the number of processes last seen. Limits always apply, and a Redis
outage never makes a request fail.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import anyio
from pydantic import Field

from resay._internal.event_loops import PerLoop
from resay._internal.importing import load_optional, require_optional
from resay.providers.caching.config import RedisAddress
from resay.providers.limits import ProcessLimits, Slots

logger = logging.getLogger("resay.shared_limits")

_MINUTE_S = 60.0
# Redis calls delay the answer.
_TIMEOUT_S = 0.1
# The timeout is spent in turns of the event loop. A loop that was busy for longer finds the answer
# that arrived meanwhile, and does not mistake its own delay for a failure of Redis.
_TURNS = 5
_RETRY_S = 1.0
_HEARTBEAT_S = 2.0
# Leases of a killed process expire after this.
_LEASE_S = 6.0
_FIRST_POLL_S, _LAST_POLL_S = 0.01, 0.1
_FULL = -1

# KEYS: leases, window. ARGV: maximum concurrency, maximum per minute (0 = no limit), the lease's
# name, its lifetime in ms. Returns 0 if it may begin, -1 if too many are in flight, or the number
# of ms until the window has room. Uses the server's clock.
_ENTER = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local most, rate = tonumber(ARGV[1]), tonumber(ARGV[2])
if most > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
  if redis.call('ZCARD', KEYS[1]) >= most then return -1 end
end
if rate > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - 60000)
  if redis.call('ZCARD', KEYS[2]) >= rate then
    local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
    return math.max(1, tonumber(first[2]) + 60000 - now)
  end
  redis.call('ZADD', KEYS[2], now, ARGV[3])
  redis.call('PEXPIRE', KEYS[2], 61000)
end
if most > 0 then
  redis.call('ZADD', KEYS[1], now + tonumber(ARGV[4]), ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
return 0
"""

# KEYS: members, notes, then one set of leases each. ARGV: the member's name, its note, the lifetime
# in ms, then for each set the number of leases and their names. Returns the live members' notes.
_HEARTBEAT = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local life = tonumber(ARGV[3])
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now)) do
  redis.call('ZREM', KEYS[1], gone)
  redis.call('HDEL', KEYS[2], gone)
end
redis.call('ZADD', KEYS[1], now + life, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], life)
redis.call('PEXPIRE', KEYS[2], life)
local at = 4
for i = 3, #KEYS do
  local last = at + tonumber(ARGV[at])
  for j = at + 1, last do redis.call('ZADD', KEYS[i], now + life, ARGV[j]) end
  redis.call('PEXPIRE', KEYS[i], life)
  at = last + 1
end
return redis.call('HVALS', KEYS[2])
"""

# KEYS: totals. ARGV: fields with their increments, then seconds to live. Returns the totals.
_ADD = """
local totals = {}
for i = 1, #ARGV - 1, 2 do
  totals[#totals + 1] = redis.call('HINCRBYFLOAT', KEYS[1], ARGV[i], ARGV[i + 1])
end
redis.call('EXPIRE', KEYS[1], ARGV[#ARGV])
return totals
"""


class SharedStateConfig(RedisAddress):
    """The Redis connection of processes that share limits: those with equal address and prefix."""

    members: int = Field(
        default=1,
        ge=1,
        le=10_000,
        description="The minimum number of processes that share the state. While Redis cannot be"
        " reached, each process takes its part of every limit: the limit divided by this number,"
        " or by the number of processes last seen if that is greater.",
    )


class SharedLimitsConfig(SharedStateConfig):
    """Limits shared by the checks of all processes with the same shared state."""

    concurrency: int | None = Field(
        default=None, ge=1, le=100_000, description="Concurrent calls; null = no limit."
    )
    calls_per_minute: int | None = Field(
        default=None, ge=1, le=100_000, description="Calls per minute (sliding); null = no limit."
    )


class SharedState:
    """State shared by several processes. Any number of event loops may use one object.

    Each event loop is a member of its own: it has its own connections and its own leases.

    Args:
        config: The Redis connection.

    Raises:
        MissingDependencyError: The extra `redis` is not installed.

    Attributes:
        note: What the other members see of this process.
    """

    def __init__(self, config: SharedStateConfig) -> None:
        require_optional("redis", package="redis", extra="redis", purpose="shared limits")
        self.note = ""
        self.config = config
        self._members: PerLoop[Member] = PerLoop(lambda: Member(self), _close)
        self._last_notes: Mapping[str, int] = {}
        self._unreachable = False

    def __repr__(self) -> str:
        parts = urlsplit(self.config.url)
        return f"SharedState({parts.hostname or parts.path!r})"

    async def member(self) -> Member:
        """Return the running event loop's membership."""
        return await self._members.get()

    async def aclose(self) -> None:
        """Release what the running event loop holds, and close its connections."""
        await self._members.aclose()

    @property
    def degraded(self) -> bool:
        """Whether Redis was unreachable at the last attempt."""
        return self._unreachable

    @property
    def members(self) -> int:
        """Number of members last seen, including this one; at least `config.members`."""
        return max(1, self.config.members, sum(self._last_notes.values()))

    @property
    def notes(self) -> Mapping[str, int]:
        """Number of members with each note when they were last seen."""
        return self._last_notes

    def key(self, *names: str) -> str:
        """Return a key. All share one hash tag, so that Redis Cluster stores them together."""
        return ":".join((f"{{{self.config.prefix}}}", *names))

    def record_notes(self, notes: Sequence[bytes]) -> None:
        """Record the notes of the members that are alive."""
        self._last_notes = Counter(note.decode(errors="replace") for note in notes)

    def record_reachable(self, is_reachable: bool, error: str = "") -> None:
        """Record whether Redis answers, and log changes."""
        if is_reachable != self._unreachable:
            return
        self._unreachable = not is_reachable
        if is_reachable:
            logger.warning("Redis answers again: limits are shared")
        else:
            logger.warning(
                "Redis does not answer (%s): each process keeps to its share of the limits", error
            )


def _retrieve_error(task: asyncio.Future[Any]) -> None:
    """Retrieve a task's error, so that asyncio does not report it."""
    if not task.cancelled():
        task.exception()


async def _close(member: Member) -> None:
    await member.aclose()


class Member:
    """One event loop that shares limits with others. Call its methods in that loop.

    Args:
        state: The shared state.
    """

    def __init__(self, state: SharedState) -> None:
        self._state = state
        self._name = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._count = 0
        self._leases: dict[str, set[str]] = {}
        self._retry_at = -math.inf
        self._has_missed = False
        self._settles_at = -math.inf
        asynchronous = _load("redis.asyncio")
        self._client = asynchronous.Redis.from_url(
            state.config.url,
            # `send` cancels much earlier, and is not misled by a busy event loop.
            socket_timeout=10 * _TIMEOUT_S,
            socket_connect_timeout=10 * _TIMEOUT_S,
            # Retry once immediately, because the server may have closed a pooled connection.
            retry=_load("redis.asyncio.retry").Retry(_load("redis.backoff").NoBackoff(), 1),
        )
        self._scripts = {
            text: self._client.register_script(text) for text in (_ENTER, _HEARTBEAT, _ADD)
        }
        self._heartbeats = asyncio.get_running_loop().create_task(self._send_heartbeats())

    def new_lease(self) -> str:
        """Return a unique lease name."""
        self._count += 1
        return f"{self._name}-{self._count}"

    def hold(self, key: str, lease: str) -> None:
        """Keep a lease alive until it is dropped."""
        self._leases.setdefault(key, set()).add(lease)

    async def drop(self, key: str) -> None:
        """Release one of the leases under a key; they are interchangeable."""
        leases = self._leases.get(key)
        if leases:
            lease = leases.pop()
            # A lease that cannot be released expires.
            with anyio.CancelScope(shield=True):
                await self.send(lambda client: client.zrem(key, lease))

    async def script(self, text: str, keys: Sequence[str], args: Sequence[object]) -> Any:
        """Run a script; return None if Redis does not answer."""
        return await self.send(lambda _: self._scripts[text](keys=keys, args=args))

    async def send(self, command: Callable[[Any], Any]) -> Any:
        """Send a command to Redis. After a failure, further calls return at once for a while.

        Args:
            command: Takes a client, and returns an awaitable.

        Returns:
            The answer; None if there is none.
        """
        if time.monotonic() < self._retry_at:
            return None
        # In its own task: redis-py mistakes a cancellation while connecting for an answer.
        task = asyncio.ensure_future(command(self._client))
        task.add_done_callback(_retrieve_error)
        try:
            for _ in range(_TURNS):
                if (await asyncio.wait({task}, timeout=_TIMEOUT_S / _TURNS))[0]:
                    break
        finally:
            task.cancel()
        error = TimeoutError() if not task.done() else task.exception()
        if isinstance(error, (TimeoutError, OSError, _load("redis").RedisError)):
            self._retry_at = time.monotonic() + _RETRY_S
            self._has_missed = True
            self._state.record_reachable(False, type(error).__name__)
            # The pool's other connections are dead too, and each would fail once more.
            with suppress(Exception):
                await self._client.connection_pool.disconnect(inuse_connections=False)
            return None
        self._state.record_reachable(True)
        return task.result()

    async def is_settling(self) -> bool:
        """Return whether Redis may not know all leases yet, since it answers again.

        It does not know those taken without it, or any if it was restarted. This member reports its
        own at once, the others with their next heartbeat. A restart that no call noticed is made up
        for by the next heartbeats.
        """
        if self._has_missed:
            await self.send_heartbeat()
        return time.monotonic() < self._settles_at

    async def send_heartbeat(self) -> None:
        """Report that this member is alive, and renew its leases."""
        state = self._state
        keys = [state.key("members"), state.key("notes")]
        args: list[object] = [self._name, state.note, round(_LEASE_S * 1000)]
        for key, leases in self._leases.items():
            if leases:
                keys.append(key)
                args += [len(leases), *leases]
        notes = await self.script(_HEARTBEAT, keys, args)
        if notes is not None:
            if self._has_missed:
                self._has_missed = False
                # The others try again within this time, and then send a heartbeat.
                self._settles_at = time.monotonic() + _RETRY_S + _HEARTBEAT_S + _TIMEOUT_S
            if time.monotonic() >= self._settles_at:
                state.record_notes(notes)

    async def _send_heartbeats(self) -> None:
        while True:
            await self.send_heartbeat()
            await asyncio.sleep(_HEARTBEAT_S)

    async def aclose(self) -> None:
        """Leave, and release all leases."""
        self._heartbeats.cancel()
        with suppress(asyncio.CancelledError):
            await self._heartbeats
        for key, leases in self._leases.items():
            if leases:
                names = tuple(leases)
                await self.send(lambda client, key=key, names=names: client.zrem(key, *names))
        members, notes = self._state.key("members"), self._state.key("notes")
        await self.send(lambda client: client.zrem(members, self._name))
        await self.send(lambda client: client.hdel(notes, self._name))
        await self._client.aclose()


class SharedLimits:
    """Limits shared by all members: an async context manager for one request.

    It serves any number of tasks in any number of event loops. Waiters within a process are served
    in order of arrival; between processes there is no order.

    Args:
        state: The shared state; None for this process alone.
        name: What is limited. Limits with the same name count together.
        concurrency: Maximum number of concurrent requests; None = no limit.
        per_minute: How many may begin within any 60 s; None = no limit.
        inner: Entered first, such as the limits of the process; None for nothing.
    """

    def __init__(
        self,
        state: SharedState | None,
        name: str,
        *,
        concurrency: int | None = None,
        per_minute: int | None = None,
        inner: ProcessLimits | None = None,
    ) -> None:
        self._state = state
        self._concurrency = concurrency
        self._per_minute = per_minute
        self._inner = inner
        self._turn = Slots(1)
        self._lock = threading.Lock()
        self._in_flight = 0
        self._reserved = 0
        self._started_at: deque[float] = deque()
        if state is not None:
            self._leases, self._window = state.key("leases", name), state.key("window", name)

    async def __aenter__(self) -> None:
        if self._inner is not None:
            await self._inner.__aenter__()
        try:
            # Only this process's first waiter asks Redis; the others would ask pointlessly.
            async with self._turn:
                poll_s = _FIRST_POLL_S
                while wait_s := await self.try_enter():
                    await anyio.sleep(poll_s if math.isinf(wait_s) else wait_s)
                    poll_s = min(2 * poll_s, _LAST_POLL_S)
        except BaseException:
            if self._inner is not None:
                await self._inner.__aexit__(None, None, None)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self.leave()
        finally:
            if self._inner is not None:
                await self._inner.__aexit__(kind, error, traceback)

    async def try_enter(self) -> float:
        """Enter if there is room.

        Returns:
            0 if entered; otherwise the seconds until the next attempt, or infinity if that depends
            on others leaving.
        """
        if self._concurrency is None and self._per_minute is None:
            return 0.0
        if self._state is None:
            return self._enter_alone(1)
        member = await self._state.member()
        is_settling = await member.is_settling()
        if not self._reserve(self._state.members if is_settling else 1):
            return math.inf
        lease = member.new_lease()
        life_ms = round(_LEASE_S * 1000)
        args = (self._concurrency or 0, self._per_minute or 0, lease, life_ms)
        try:
            answer = await member.script(_ENTER, (self._leases, self._window), args)
        finally:
            with self._lock:
                self._reserved -= 1
        if answer is None:
            wait_s = self._enter_alone(self._state.members)
        else:
            wait_s = math.inf if answer == _FULL else answer / 1000
            if not wait_s:
                with self._lock:
                    self._enter()
        # A lease taken without Redis counts for the other members once Redis is back.
        if not wait_s and self._concurrency is not None:
            member.hold(self._leases, lease)
        return wait_s

    @property
    def idle(self) -> bool:
        """Whether nothing of this process is in flight or has begun within the last 60 s."""
        with self._lock:
            started_at = self._started_at[-1] if self._started_at else -math.inf
            return not self._in_flight and started_at <= time.monotonic() - _MINUTE_S

    async def leave(self) -> None:
        """Release a slot that was entered."""
        if self._concurrency is None and self._per_minute is None:
            return
        with self._lock:
            self._in_flight -= 1
        if self._state is not None and self._concurrency is not None:
            await (await self._state.member()).drop(self._leases)

    def _reserve(self, members: int) -> bool:
        """Count an attempt, unless all that are under way would exceed a member's share."""
        with self._lock:
            has_room = self._has_room(self._in_flight + self._reserved, members)
            self._reserved += has_room
            return has_room

    def _has_room(self, count: int, members: int) -> bool:
        return self._concurrency is None or count < max(1, self._concurrency // members)

    def _enter(self) -> None:
        self._in_flight += 1
        if self._per_minute is not None:
            self._started_at.append(time.monotonic())
            while self._started_at[0] < self._started_at[-1] - _MINUTE_S:
                self._started_at.popleft()

    def _enter_alone(self, members: int) -> float:
        """Enter within this process's share of the limit."""
        with self._lock:
            if not self._has_room(self._in_flight, members):
                return math.inf
            if self._per_minute is not None:
                now, share = time.monotonic(), max(1, self._per_minute // members)
                while self._started_at and self._started_at[0] <= now - _MINUTE_S:
                    self._started_at.popleft()
                if len(self._started_at) >= share:
                    return self._started_at[-share] + _MINUTE_S - now
            self._enter()
        return 0.0


class SharedTotals:
    """Daily totals (UTC) that all members add to.

    Args:
        state: The shared state; None for this process alone.
        name: Whose totals they are.
        fields: The names of the totals.
        clock: The time in seconds since the epoch.
    """

    def __init__(
        self,
        state: SharedState | None,
        name: str,
        fields: Sequence[str],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._state = state
        self._name = name
        self._fields = tuple(fields)
        self._clock = clock
        self._lock = threading.Lock()
        self._day = ""
        self._totals = dict.fromkeys(self._fields, 0.0)
        self._pending = dict.fromkeys(self._fields, 0.0)

    async def add(self, amounts: Mapping[str, float]) -> None:
        """Add to today's totals. Amounts that cannot reach Redis now are sent later."""
        with self._lock:
            self._reset_daily()
            for field, amount in amounts.items():
                self._pending[field] += amount
        await self._exchange()

    async def read(self) -> Mapping[str, float]:
        """Return today's totals.

        If Redis does not answer, they are the last known totals, plus for each member as much as
        this one has added since.
        """
        with self._lock:
            self._reset_daily()
        is_reached = await self._exchange()
        members = 1 if self._state is None or is_reached else self._state.members
        with self._lock:
            totals: dict[str, float] = {}
            for field in self._fields:
                totals[field] = self._totals[field] + members * self._pending[field]
            return totals

    @property
    def idle(self) -> bool:
        """Whether no amount added today is still waiting to be sent."""
        with self._lock:
            self._reset_daily()
            return not any(self._pending.values())

    @property
    def seconds_left(self) -> int:
        """Seconds until today ends, in whole seconds, at least 1."""
        return max(1, math.ceil(86_400 - self._clock() % 86_400))

    def _reset_daily(self) -> None:
        day = time.strftime("%Y-%m-%d", time.gmtime(self._clock()))
        if day != self._day:
            self._day = day
            self._totals = dict.fromkeys(self._fields, 0.0)
            self._pending = dict.fromkeys(self._fields, 0.0)

    async def _exchange(self) -> bool:
        if self._state is None:
            return False
        member = await self._state.member()
        with self._lock:
            day, amounts = self._day, self._pending
            # Amounts added meanwhile go with the next exchange.
            self._pending = dict.fromkeys(self._fields, 0.0)
        args: list[object] = []
        for field, amount in amounts.items():
            args += [field, repr(amount)]
        key = self._state.key("day", day, self._name)
        totals = None
        try:
            totals = await member.script(_ADD, (key,), [*args, 2 * 86_400])
        finally:
            with self._lock:
                if day == self._day and totals is None:
                    for field, amount in amounts.items():
                        self._pending[field] += amount
                elif day == self._day:
                    self._totals = dict(zip(self._fields, map(float, totals or ()), strict=True))
        return totals is not None


_lock = threading.Lock()
_states: dict[tuple[int, SharedStateConfig], SharedState] = {}
_limits: dict[tuple[object, ...], SharedLimits] = {}


def open_state(config: SharedStateConfig) -> SharedState:
    """Return the state for a configuration, one object per process and configuration.

    Raises:
        MissingDependencyError: The extra `redis` is not installed.
    """
    key = (os.getpid(), config)
    with _lock:
        if key not in _states:
            _states[key] = SharedState(config)
        return _states[key]


def shared_limiter(config: SharedLimitsConfig, inner: ProcessLimits) -> SharedLimits:
    """Return the limits on all calls that several processes share.

    Args:
        config: The shared state and its limits.
        inner: The limits of the process, which come first.

    Raises:
        MissingDependencyError: The extra `redis` is not installed.
    """
    state = open_state(
        SharedStateConfig(url=config.url, prefix=config.prefix, members=config.members)
    )
    key = (os.getpid(), config, id(inner))
    with _lock:
        if key not in _limits:
            _limits[key] = SharedLimits(
                state,
                "calls",
                concurrency=config.concurrency,
                per_minute=config.calls_per_minute,
                inner=inner,
            )
        return _limits[key]


def _load(module: str) -> Any:
    return load_optional(module, package="redis", extra="redis", purpose="shared limits")
