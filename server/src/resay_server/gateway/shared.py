"""State shared by gateways behind one address: quotas, remembered requests and policy versions.

With `state` in the gateway file, it is stored in Redis. Without it, and while Redis is unreachable,
each process has its own.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import OrderedDict
from collections.abc import AsyncGenerator, Hashable, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
)
from dataclasses import dataclass, field
from typing import Any, cast

from resay import Usage
from resay.adapters.apis import Body
from resay.adapters.limits import SharedLimits, SharedState, SharedTotals, open_state, using_ledger
from resay.adapters.terminal import counted
from resay_server.gateway.config import GatewayConfig, Quota
from resay_server.gateway.conversations import LONGEST_BYTES, REMEMBERED_S, Conversations
from resay_server.gateway.errors import RefusedError
from resay_server.gateway.observation import Observation

DEFAULT_QUOTA = "default"
_SHOWN = 64
_MOST_ACCOUNTS = 10_000
# Accounts checked for each new one, so that a flood of names costs little.
_CHECKED_PER_NEW = 100
_RETRY_AFTER_S = 60
_FIELDS: tuple[str, str, str, str] = ("calls", "tokens", "cost_usd", "unpriced")
_CALLS, _TOKENS, _COST, _UNPRICED = _FIELDS


def shared_state(config: GatewayConfig) -> SharedState | None:
    """Return the state shared with other gateways; None if nothing is shared.

    Raises:
        MissingDependencyError: The extra `redis` is not installed.
    """
    return None if config.state is None else open_state(config.state)


@dataclass(frozen=True, slots=True)
class _Account:
    """The usage of a key or a tenant.

    Attributes:
        label: The description of its owner for messages.
        quota: The quota.
        limits: Counts the requests in flight and those started within the last minute.
        totals: Today's usage.
        used: The totals when they were last read.
        reserved: What the requests in progress have used since.
    """

    label: str
    quota: Quota
    limits: SharedLimits
    totals: SharedTotals
    used: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_FIELDS, 0.0))
    reserved: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_FIELDS, 0.0))

    @property
    def idle(self) -> bool:
        """Whether it can be forgotten without losing any usage."""
        return self.limits.idle and self.totals.idle and not any(self.reserved.values())

    async def enter(self) -> None:
        """Start a request.

        Raises:
            RefusedError: The quota is used up.
        """
        quota = self.quota
        if quota.limits_days:
            self.used.update(await self.totals.read())
            problem = self.refusal
            if problem is not None:
                # SDKs retry after at most a minute, which would be pointless.
                raise _refusal(problem, self.totals.seconds_left, {"x-should-retry": "false"})
        wait_s = await self.limits.try_enter()
        if wait_s:
            many = f"{counted(quota.concurrency or 0, 'request')} at the same time"
            fast = f"{counted(quota.requests_per_minute or 0, 'request')} a minute"
            message = f"{self.label} may make {many if math.isinf(wait_s) else fast}"
            raise _refusal(message, 1 if math.isinf(wait_s) else max(1, math.ceil(wait_s)), {})

    async def record(self, amounts: Mapping[str, float]) -> None:
        """Add the usage of a request that is over to today's."""
        if self.quota.limits_days:
            await self.totals.add(amounts)
            for name, amount in amounts.items():
                self.used[name] += amount

    @property
    def calls_left(self) -> int | None:
        """How many more calls may be made today; None for any number."""
        limit = self.quota.calls_per_day
        if limit is None:
            return None
        return max(0, math.floor(limit - self.used[_CALLS] - self.reserved[_CALLS]))

    @property
    def refusal(self) -> str | None:
        """Why another call is refused; None if it is not."""
        used = {name: self.used[name] + self.reserved[name] for name in _FIELDS}
        quota, today = self.quota, "until midnight (UTC)"
        limits: tuple[tuple[float | None, str, str], ...] = (
            (quota.calls_per_day, _CALLS, counted(quota.calls_per_day or 0, "call")),
            (quota.tokens_per_day, _TOKENS, counted(quota.tokens_per_day or 0, "token")),
            (quota.cost_usd_per_day, _COST, f"${quota.cost_usd_per_day}"),
        )
        for limit, name, amount in limits:
            if limit is not None and used[name] >= limit:
                return f"{self.label} has used the {amount} of its quota {today}"
        if quota.cost_usd_per_day is not None and used[_UNPRICED]:
            return (
                f"{self.label} has used a model whose price is unknown, so its `cost_usd_per_day`"
                " cannot be enforced; set `prices` in the policy, or a quota of tokens"
            )
        return None


def _refusal(message: str, after_s: int, headers: Mapping[str, str]) -> RefusedError:
    all_headers = {"retry-after": str(after_s), **headers}
    return RefusedError(429, "quota_exceeded", message, headers=all_headers)


class RequestLedger:
    """Counts the calls of one request against the quotas of its key and its tenant.

    Each call is counted before it is sent, and what it used once it is answered, so requests in
    progress do not exceed a quota together.

    Args:
        accounts: The accounts.
    """

    def __init__(self, accounts: Sequence[_Account]) -> None:
        self._accounts = [account for account in accounts if account.quota.limits_days]
        self._own = dict.fromkeys(_FIELDS, 0.0)

    def refusal(self) -> str | None:
        """Return why the next call would be refused; None if it would not."""
        return next(filter(None, (account.refusal for account in self._accounts)), None)

    def calls_left(self) -> int | None:
        """Return how many more calls may be sent; None for any number."""
        lefts = [account.calls_left for account in self._accounts]
        return min((left for left in lefts if left is not None), default=None)

    def count(self, usage: Usage) -> None:
        """Count usage; negative if a call was not sent."""
        amounts = _amounts(usage, usage)
        if usage.cost_usd is None:
            amounts[_UNPRICED] = max(usage.calls, 1)
        self._count(amounts)

    def close(self) -> None:
        """Stop counting the request, when it is over and its usage was recorded."""
        self._count({name: -amount for name, amount in self._own.items()})

    def _count(self, amounts: Mapping[str, float]) -> None:
        for name, amount in amounts.items():
            self._own[name] += amount
            for account in self._accounts:
                account.reserved[name] += amount


@asynccontextmanager
async def _counted(accounts: Sequence[_Account]) -> AsyncGenerator[None]:
    """Count a request against some accounts while the context is open."""
    async with AsyncExitStack() as stack:
        for account in accounts:
            await account.enter()
            stack.push_async_callback(account.limits.leave)
        if not any(account.quota.limits_days for account in accounts):
            yield
            return
        ledger = RequestLedger(accounts)
        stack.callback(ledger.close)
        stack.enter_context(using_ledger(ledger))
        # The main call.
        ledger.count(Usage(calls=1))
        yield


class Quotas:
    """Enforces the quotas of clients and tenants.

    A request counts against the quota of its key and of its tenant, if there are such quotas. The
    quota `default` applies to each key without its own or, if clients need no keys, to each tenant.

    Args:
        config: The gateway's configuration.
        state: The state shared with other gateways.
    """

    def __init__(self, config: GatewayConfig, state: SharedState | None) -> None:
        self._quotas = config.quotas
        self._state = state
        # Accounts named in the gateway file, which are never forgotten.
        self._named: dict[tuple[str, str], _Account] = {}
        # Tenants with names chosen by clients, least recently used first.
        self._others: OrderedDict[tuple[str, str], _Account] = OrderedDict()

    def admit(self, client: str | None, tenant: str | None) -> AbstractAsyncContextManager[None]:
        """Count a request against its quotas while the context is open, and its calls beforehand.

        Args:
            client: The owner of its key; None if clients need none.
            tenant: The tenant of the request.

        Raises:
            RefusedError: A quota is used up, or too many tenants have used theirs.
        """
        accounts = self._of(client, tenant)
        return _counted(accounts) if accounts else nullcontext()

    async def record_usage(self, observation: Observation) -> None:
        """Count the usage of a request: the main call, its check, and regeneration."""
        if not self._quotas:
            return
        usage = observation.usage + observation.check_usage
        amounts = _amounts(usage, observation.usage, observation.check_usage)
        if any(amounts.values()):
            for account in self._of(observation.client, observation.tenant, entered=True):
                await account.record(amounts)

    def _of(
        self, client: str | None, tenant: str | None, *, entered: bool = False
    ) -> list[_Account]:
        if not self._quotas:
            return []
        accounts: list[_Account] = []
        if client is not None:
            accounts += self._account("key", client, self._quotas.get(DEFAULT_QUOTA), entered)
        if client is None or tenant in self._quotas:
            default = self._quotas.get(DEFAULT_QUOTA) if client is None else None
            accounts += self._account("tenant", tenant or "", default, entered)
        return accounts

    def _account(
        self, kind: str, name: str, default: Quota | None, entered: bool
    ) -> list[_Account]:
        quota = self._quotas.get(name, default)
        if quota is None:
            return []
        key = (kind, name)
        is_named = kind == "key" or not name or name in self._quotas
        accounts = self._named if is_named else self._others
        if key not in accounts:
            # A request that was admitted is always counted.
            if not is_named and not self._has_room() and not entered:
                problem = (
                    f"{_MOST_ACCOUNTS} other tenants have used their quotas, so no further one can"
                    " be counted for now; ask the operator to name this tenant in `quotas`, or to"
                    " give clients `keys`"
                )
                raise _refusal(problem, _RETRY_AFTER_S, {"x-should-retry": "false"})
            shared_name = f"{kind}:{hashlib.sha256(name.encode()).hexdigest()[:32]}"
            limits = SharedLimits(
                self._state,
                shared_name,
                concurrency=quota.concurrency,
                per_minute=quota.requests_per_minute,
            )
            label = f"the {kind} {name[:_SHOWN]!r}" if name else "a client that names no tenant"
            totals = SharedTotals(self._state, shared_name, _FIELDS)
            accounts[key] = _Account(label, quota, limits, totals)
        elif not is_named:
            self._others.move_to_end(key)
        return [accounts[key]]

    def _has_room(self) -> bool:
        """Forget idle tenants until there is room for another; return whether there is."""
        for _ in range(_CHECKED_PER_NEW):
            if len(self._others) < _MOST_ACCOUNTS:
                return True
            key, account = self._others.popitem(last=False)
            if not account.idle:
                # Keep it, as the most recently used.
                self._others[key] = account
        return len(self._others) < _MOST_ACCOUNTS


def _amounts(usage: Usage, *parts: Usage) -> dict[str, float]:
    return {
        _CALLS: usage.calls,
        _TOKENS: usage.prompt_tokens + usage.completion_tokens,
        _COST: sum(part.cost_usd or 0.0 for part in parts),
        _UNPRICED: sum(part.calls for part in parts if part.cost_usd is None),
    }


class SharedConversations:
    """Remembers requests for the other gateways too.

    Args:
        state: The state shared with them; None if there are none.
    """

    def __init__(self, state: SharedState | None) -> None:
        self._state = state
        self._own = Conversations()

    async def remember(self, key: Hashable, request: Body) -> None:
        """Remember a request for 15 minutes, unless it is longer than 4 MiB.

        Args:
            key: The key to find it by.
            request: The request.
        """
        self._own.remember(key, request)
        if self._state is None:
            return
        data = json.dumps(request)
        if len(data) <= LONGEST_BYTES:
            name, member = self._name(self._state, key), await self._state.member()
            await member.send(lambda client: client.set(name, data, px=round(REMEMBERED_S * 1000)))

    async def recall(self, key: Hashable) -> Body | None:
        """Return a request; None if it is unknown or expired."""
        own = self._own.recall(key)
        if own is not None or self._state is None:
            return own
        name, member = self._name(self._state, key), await self._state.member()
        data = await member.send(lambda client: client.get(name))
        try:
            value: Any = None if data is None else json.loads(data)
        except ValueError:
            return None
        return cast("Body", value) if isinstance(value, dict) else None

    @staticmethod
    def _name(state: SharedState, key: Hashable) -> str:
        return state.key("asked", hashlib.sha256(repr(key).encode()).hexdigest())
