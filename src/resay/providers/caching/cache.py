"""The cache: its settings, keys and records, and the layer that requests only missing answers.

A cache that fails counts as a miss, never as an error.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import math
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar, cast
from urllib.parse import urlsplit
from weakref import ReferenceType, ref

import anyio
from pydantic import BaseModel, Field, field_validator

from resay._internal.importing import require_optional
from resay._internal.strict import Strict
from resay.core.logprobs import TokenLogprob, TopLogprob
from resay.core.query import Query
from resay.core.usage import Usage
from resay.errors import BudgetExceededError
from resay.providers.base import Completion, Completions, Layer, Provider
from resay.providers.caching.stores import MemoryStore, Store, StoreError
from resay.providers.layers import refuses_n

Outcome = Completion | Exception | None
"""An answer; an error instead; or None, and the waiter must send the request itself."""


class InFlight:
    """One answer that is being requested."""

    def __init__(self) -> None:
        # Created by the first waiter: usually there is none.
        self._done: anyio.Event | None = None
        self._is_done = False
        self._outcome: Outcome = None

    def set_outcome(self, outcome: Outcome) -> None:
        """Set the outcome and wake all waiters."""
        self._outcome = outcome
        self._is_done = True
        if self._done is not None:
            self._done.set()

    async def wait(self) -> Outcome:
        """Wait for the outcome and return it."""
        if not self._is_done:
            self._done = self._done or anyio.Event()
            await self._done.wait()
        return self._outcome


class RequestsInFlight:
    """Requests in flight, separately for each event loop.

    Not shared across loops: a blocking call stops its loop, and a request in another loop that
    waits for one in the stopped loop would deadlock if the blocking call waits for that request.
    All blocking calls share one loop, so they also share their flights.
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[asyncio.AbstractEventLoop, str], InFlight] = {}

    def claim(self, keys: Sequence[str]) -> tuple[list[str], dict[str, InFlight]]:
        """Claim the keys that are not in flight; the caller must complete each, even on failure.

        Args:
            keys: The keys of the answers.

        Returns:
            The keys that the caller must now request, and the in-flight requests for the others.
        """
        loop = asyncio.get_running_loop()
        # Only this loop's own thread changes this loop's entries.
        others = {k: self._entries[loop, k] for k in keys if (loop, k) in self._entries}
        claimed = [key for key in keys if key not in others]
        self._entries.update({(loop, key): InFlight() for key in claimed})
        return claimed, others

    def complete(self, key: str, outcome: Outcome) -> None:
        """Set the outcome of a claimed key and wake all waiters."""
        self._entries.pop((asyncio.get_running_loop(), key)).set_outcome(outcome)


# Increment it whenever keys or records are computed differently.
_KEY_FORMAT = 1
_tokens: dict[int, tuple[ReferenceType[object], str]] = {}


class _UnknownValueError(Exception):
    """A value without a unique JSON representation."""


def keys_of(query: Query, count: int, *, version: str, source: str = "") -> tuple[str, ...] | None:
    """Return the keys of several answers to one query.

    Two keys are equal only if the tenant, the model, the messages, the parameters (including
    endpoint and account), the version, the source and the index are. The order of a mapping's keys
    does not matter.

    Args:
        query: The query; its index is that of the first answer.
        count: Number of answers.
        version: Name and version of the caller.
        source: The source of the answers.

    Returns:
        One key for each answer, 64 hexadecimal digits; None if the query holds a value that JSON
        cannot represent, so that equality with it is undefined.
    """
    try:
        parts = [
            _KEY_FORMAT,
            version,
            source,
            query.tenant,
            query.model,
            _plain(query.messages),
            _plain(query.params),
        ]
        question = _digest(parts)
    # Lone surrogates cannot be sent either; too deeply nested values cannot be parsed.
    except (_UnknownValueError, UnicodeEncodeError, RecursionError):
        return None
    # Formatted by hand, which saves an encoder call for each.
    each = (f'["{question}",{query.index + i}]' for i in range(count))
    return tuple(hashlib.sha256(text.encode()).hexdigest() for text in each)


# A plain hash, not a keyed one: several processes must compute the same key, anyone who can read
# the keys can read the answers next to them, and the one secret in them, a provider's key, cannot
# be guessed. A JSON array delimits the parts unambiguously.
def _digest(parts: list[Any]) -> str:
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: object) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast("list[object] | tuple[object, ...]", value)]
    if isinstance(value, Mapping):
        return _plain_mapping(cast("Mapping[object, object]", value))
    raise _UnknownValueError


def _plain_mapping(value: Mapping[object, object]) -> dict[str, Any]:
    # json would write the key 1 as "1", which is another key.
    if not all(isinstance(key, str) for key in value):
        raise _UnknownValueError
    return {str(key): _plain(item) for key, item in value.items()}


def source_of(provider: object) -> str:
    """Return what distinguishes a provider's answers from those of others.

    The same model name means something else to another provider. A provider that answers the same
    in every process declares it with a string attribute `cache_source`. Any other is identified by
    the object itself, so its answers are found again only through that object, in this process. An
    object without support for weak references never matches.

    Args:
        provider: The provider.
    """
    named = getattr(provider, "cache_source", None)
    return f"named:{named}" if isinstance(named, str) else f"object:{_token_of(provider)}"


def _token_of(provider: object) -> str:
    token, number = uuid.uuid4().hex, id(provider)
    try:
        # By identity, because a class may define its own equality. The id is not reused before the
        # entry is gone.
        reference = ref(provider, lambda _gone: _tokens.pop(number, None))
    except TypeError:
        return token
    return _tokens.setdefault(number, (reference, token))[1]


_FORMAT = 1
# Finish reasons of complete answers and of those that reached their length limit. An answer with
# another reason, such as a filter or an error, may differ the next time.
_WHOLE = frozenset(
    {
        "complete",
        "completed",
        "end_turn",
        "eos",
        "eos_token",
        "function_call",
        "length",
        "max_tokens",
        "stop",
        "stop_sequence",
        "tool_calls",
        "tool_use",
    }
)


def is_whole(completion: Completion) -> bool:
    """Return whether an answer has words and ended normally."""
    reason = completion.finish_reason
    return bool(completion.text.strip()) and (reason is None or reason.casefold() in _WHOLE)


def record_of(completion: Completion) -> bytes:
    """Serialize an answer, without the provider's own object."""
    record = {
        "format": _FORMAT,
        "text": completion.text,
        "finish_reason": completion.finish_reason,
        "logprobs": [
            [
                token.token,
                token.logprob,
                token.bytes,
                [[top.token, top.logprob] for top in token.top],
                token.entropy,
            ]
            for token in completion.logprobs
        ],
    }
    return json.dumps(record, separators=(",", ":")).encode()


def read_record(data: bytes) -> Completion | None:
    """Deserialize an answer; return None if that fails, as for another version's format."""
    try:
        record = json.loads(data)
        if record["format"] != _FORMAT:
            return None
        return Completion(
            _text(record["text"]),
            _maybe_text(record["finish_reason"]),
            tuple(_token(entry) for entry in _list(record["logprobs"])),
        )
    # Not a record of ours.
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return None


def _token(entry: Any) -> TokenLogprob:
    token, logprob, data, top, entropy = _list(entry)
    return TokenLogprob(
        _text(token),
        _maybe_number(logprob),
        None if data is None else tuple(bytes(_list(data))),
        tuple(TopLogprob(_text(text), _number(value)) for text, value in _list(top)),
        _maybe_number(entropy),
    )


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value  # pyright: ignore[reportUnknownVariableType] - it comes from JSON


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _maybe_text(value: object) -> str | None:
    return None if value is None else _text(value)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    if math.isnan(value):
        raise ValueError
    return float(value)


def _maybe_number(value: object) -> float | None:
    return None if value is None else _number(value)


T = TypeVar("T")
_log = logging.getLogger(__name__)
# Answers take seconds; a cache lookup slower than this would not pay off.
_PATIENCE_S = 2.0
# How long to avoid a failed store, so that not every request waits for it in vain.
_REST_S = 30.0


class Cache:
    """Store complete answers, and track those being requested.

    Answers without words and those that were filtered or interrupted are not stored. A store that
    fails is not used for half a minute, and everything is requested anew in the meantime; the first
    failure is logged as a warning.

    Args:
        store: The store.
        clock: Monotonic clock, in seconds.

    Attributes:
        store: The store.
        in_flight: The requests in flight.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.store = store
        self.in_flight = RequestsInFlight()
        self._clock = clock
        self._paused_until = float("-inf")
        self._has_warned = False

    def __repr__(self) -> str:
        return f"Cache({self.store!r})"

    async def get(self, keys: Sequence[str]) -> dict[str, Completion]:
        """Return the stored answers for these keys."""
        nothing: Mapping[str, bytes] = {}
        found = await self._attempt(lambda: self.store.get_many(keys), nothing)
        read = {key: read_record(data) for key, data in found.items() if key in keys}
        return {key: completion for key, completion in read.items() if completion is not None}

    async def put(self, completions: Mapping[str, Completion]) -> None:
        """Store the answers that are complete."""
        records = {key: record_of(c) for key, c in completions.items() if is_whole(c)}
        if records:
            await self._attempt(lambda: self.store.set_many(records), None)

    async def aclose(self) -> None:
        """Close what the store opened in the running event loop."""
        await self.store.aclose()

    async def _attempt(self, work: Callable[[], Awaitable[T]], otherwise: T) -> T:
        if self._clock() < self._paused_until:
            return otherwise
        try:
            with anyio.fail_after(_PATIENCE_S):
                return await work()
        # A store's error, of any type, costs its answers only, never the check.
        except Exception as error:
            self._pause(error)
            return otherwise

    def _pause(self, error: Exception) -> None:
        self._paused_until = self._clock() + _REST_S
        level = logging.DEBUG if self._has_warned else logging.WARNING
        self._has_warned = True
        # Only our own errors are known to hold neither content nor a password.
        reason = str(error) if isinstance(error, StoreError) else type(error).__name__
        _log.log(
            level,
            "cannot use the cache %r (%s); all answers are requested anew",
            self.store,
            reason,
        )


class Caching(Layer):
    """Return cached answers, and request only the missing ones.

    Cached answers cost nothing. Equal concurrent requests are sent once: the first caller pays, the
    others get the same answer, or the same error. If the first is cancelled, or refused because its
    own budget is used up, another takes over. Failures are never cached, and neither is the
    provider's own object for an answer.

    It belongs outside the layers that retry, limit and meter, so that cached answers use none of
    their time or slots.

    Args:
        inner: The provider of missing answers.
        cache: The cache.
        version: Name and version of the caller, such as `prompt/1.2.0`. Answers to other callers
            are not found.
        source: The result of `source_of`; answers from other sources are not found.
    """

    def __init__(self, inner: Provider, cache: Cache, *, version: str, source: str = "") -> None:
        super().__init__(inner)
        self._cache = cache
        self._version = version
        self._source = source

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Return n answers, those with the indices `query.index` to `query.index + n - 1`.

        Args:
            query: The query. If it holds values that JSON cannot represent, it bypasses the cache.
            n: Number of answers.

        Returns:
            The first of them, without a gap: all of them, unless the wrapped provider returned
            fewer or failed for some, whose errors are then attached.

        Raises:
            ProviderError: The first answer is missing.
        """
        keys = keys_of(query, n, version=self._version, source=self._source)
        if keys is None:
            return await self.inner.complete(query, n=n)
        return await _Request(self.inner, self._cache, query, keys).run()


class _Request:
    """One request and its results so far."""

    def __init__(self, inner: Provider, cache: Cache, query: Query, keys: tuple[str, ...]) -> None:
        self._inner = inner
        self._cache = cache
        self._query = query
        self._keys = keys
        self._answers: dict[str, Completion] = {}
        self._failures: list[Exception] = []
        self._usage = Usage()

    async def run(self) -> Completions:
        wanted = list(self._keys)
        while wanted:
            # Our own keys are completed before we wait for others, or two requests could deadlock.
            claimed, others = self._cache.in_flight.claim(wanted)
            await self._fetch(claimed)
            outcomes = {key: await request.wait() for key, request in others.items()}
            for key, outcome in outcomes.items():
                self._add(key, outcome)
            wanted = [key for key, outcome in outcomes.items() if outcome is None]
        return self._result()

    async def _fetch(self, keys: list[str]) -> None:
        error: Exception | None = None
        try:
            self._answers.update(await self._cache.get(keys) if keys else {})
            missing = [key for key in keys if key not in self._answers]
            if missing:
                error = await self._ask(missing)
        finally:
            for key in keys:
                answer = self._answers.get(key)
                if answer is not None and answer.raw is not None:
                    answer = replace(answer, raw=None)
                self._cache.in_flight.complete(key, error if answer is None else answer)

    async def _ask(self, keys: list[str]) -> Exception | None:
        """Request answers; return an error if it applies to all of their waiters."""
        first = self._query.index + self._keys.index(keys[0])
        try:
            arrived = await self._inner.complete(replace(self._query, index=first), n=len(keys))
        except Exception as error:
            self._failures.append(error)
            return error if _is_shared(error, len(keys)) else None
        fresh = dict(zip(keys, arrived.items, strict=False))
        self._answers.update(fresh)
        self._failures.extend(arrived.failures)
        self._usage += arrived.usage
        await self._cache.put(fresh)
        return None

    def _add(self, key: str, outcome: Outcome) -> None:
        if isinstance(outcome, Completion):
            self._answers[key] = outcome
        elif outcome is not None and outcome not in self._failures:
            self._failures.append(outcome)

    def _result(self) -> Completions:
        items: list[Completion] = []
        # Up to the first gap: a caller that tops up the rest continues from there, and must not
        # get the answers behind it twice.
        for key in self._keys:
            if key not in self._answers:
                break
            items.append(self._answers[key])
        if not items and self._failures:
            raise self._failures[0]
        return Completions(tuple(items), self._usage, tuple(self._failures))


def _is_shared(error: Exception, n: int) -> bool:
    # Others have their own budget, and may want a single answer, for which no `n` can be refused.
    return not isinstance(error, BudgetExceededError) and not (n > 1 and refuses_n(error))


# A year; older answers come from another model under the same name.
_Ttl = Annotated[float, Field(gt=0, le=31_536_000)]


class MemoryCacheConfig(Strict):
    """Keep answers in this process."""

    store: Literal["memory"] = Field(default="memory", description="Cache answers in this process.")
    max_entries: int = Field(
        default=10_000, ge=1, description="The maximum number of answers to keep."
    )
    max_mb: float = Field(default=64.0, gt=0, description="Megabytes (10^6 bytes) for all answers.")
    ttl_s: _Ttl = Field(default=3600.0, description="Seconds to keep an answer.")


class SqliteCacheConfig(Strict):
    """Keep answers in a file."""

    store: Literal["sqlite"] = Field(default="sqlite", description="Cache answers in a file.")
    path: str = Field(
        min_length=1,
        description="The file, on a local disk; created if missing, readable only by its owner."
        " Several processes may share it.",
    )
    max_mb: float = Field(
        default=256.0, ge=1, description="Megabytes (10^6 bytes) for all answers."
    )
    ttl_s: _Ttl = Field(default=86_400.0, description="Seconds to keep an answer.")


class RedisAddress(Strict):
    """The address of a Redis server, and the prefix of the keys."""

    url: str = Field(
        repr=False,  # it may hold a password
        description="The server: redis://…, rediss://… (with TLS) or unix://….",
    )
    prefix: str = Field(
        default="resay",
        pattern=r"^[\w.:-]{1,100}$",
        description="A prefix for all keys, so that other applications can use the same database.",
    )

    @field_validator("url")
    @classmethod
    def _must_be_an_address(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            good = bool(parts.path) if parts.scheme == "unix" else bool(parts.hostname)
            good = good and parts.scheme in {"redis", "rediss", "unix"} and parts.port != 0
        except ValueError:
            good = False
        if not good:
            # Without the value, which may contain a password.
            raise ValueError("must be an address such as redis://localhost:6379/0")
        return url


class RedisCacheConfig(RedisAddress):
    """Keep answers in Redis."""

    store: Literal["redis"] = Field(
        default="redis", description="Cache answers in Redis; needs resay[redis]."
    )
    ttl_s: _Ttl = Field(default=86_400.0, description="Seconds to keep an answer.")


class NoCacheConfig(Strict):
    """Keep nothing."""

    store: Literal["none"] = Field(default="none", description="Do not cache.")


CacheConfig = MemoryCacheConfig | SqliteCacheConfig | RedisCacheConfig | NoCacheConfig
_lock = threading.Lock()
_caches: dict[CacheConfig, Cache] = {}


def cache_configs() -> Mapping[str, type[BaseModel]]:
    """Return the classes of a policy's `cache`, by the name of the store."""
    return {
        "memory": MemoryCacheConfig,
        "sqlite": SqliteCacheConfig,
        "redis": RedisCacheConfig,
        "none": NoCacheConfig,
    }


def open_cache(config: CacheConfig) -> Cache | None:
    """Return the cache that a policy describes.

    There is one per process for equal descriptions, so that all callers share their answers.
    Nothing is opened or connected to before it is used.

    Args:
        config: The description.

    Returns:
        The cache; None if nothing is to be cached.

    Raises:
        MissingDependencyError: A package that the store needs is not installed.
    """
    if isinstance(config, NoCacheConfig):
        return None
    with _lock:
        if config not in _caches:
            _caches[config] = Cache(_store(config))
        return _caches[config]


async def close_caches() -> None:
    """Close what the caches of this process opened in the running event loop.

    Answers in memory are lost, those in a file or in Redis are retained. Guards that use a cache
    continue to work, and reopen what they need.
    """
    with _lock:
        caches = list(_caches.values())
    for cache in caches:
        await cache.aclose()


# Imported on demand, because most processes need none of them.
def _store(config: MemoryCacheConfig | SqliteCacheConfig | RedisCacheConfig) -> Store:
    if isinstance(config, MemoryCacheConfig):
        return MemoryStore(max_entries=config.max_entries, max_mb=config.max_mb, ttl_s=config.ttl_s)
    if isinstance(config, SqliteCacheConfig):
        from resay.providers.caching.sqlite import SqliteStore

        return SqliteStore(config.path, ttl_s=config.ttl_s, max_mb=config.max_mb, deferred=True)
    _require("redis", config.store)
    from resay.providers.caching.stores import RedisStore

    return RedisStore(config.url, ttl_s=config.ttl_s, prefix=config.prefix)


def _require(package: str, store: str) -> None:
    require_optional(package, package=package, extra=store, purpose=f"the cache store {store!r}")
