"""The cache: its settings, keys, answers by key, and the layer that asks only for the rest.

What cannot be had is a miss, never an error.
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
"""An answer; the error in place of one; or None, and whoever waits must ask for itself."""


class Flight:
    """One answer that somebody is asking for."""

    def __init__(self) -> None:
        # Made by the first who waits: mostly nobody does.
        self._landed: anyio.Event | None = None
        self._has_landed = False
        self._outcome: Outcome = None

    def land(self, outcome: Outcome) -> None:
        """Wake everybody who waits."""
        self._outcome = outcome
        self._has_landed = True
        if self._landed is not None:
            self._landed.set()

    async def wait(self) -> Outcome:
        """Wait until it lands and return what came of it."""
        if not self._has_landed:
            self._landed = self._landed or anyio.Event()
            await self._landed.wait()
        return self._outcome


class Flights:
    """Who is asking for what, in each event loop by itself.

    Not across loops: a loop stands still while a blocking call is made in it, and a request in
    another loop that waited for one in this would then wait for ever if the blocking call waits for
    that request. All blocking calls share one loop, so they also share their flights.
    """

    def __init__(self) -> None:
        self._under_way: dict[tuple[asyncio.AbstractEventLoop, str], Flight] = {}

    def claim(self, keys: Sequence[str]) -> tuple[list[str], dict[str, Flight]]:
        """Take what nobody is asking for; whoever does must land all of it, come what may.

        Args:
            keys: What is wanted.

        Returns:
            The keys that are now the caller's to ask for, and the flights of the others.
        """
        loop = asyncio.get_running_loop()
        # Only this loop's own thread changes this loop's entries.
        followed = {k: self._under_way[loop, k] for k in keys if (loop, k) in self._under_way}
        led = [key for key in keys if key not in followed]
        self._under_way.update({(loop, key): Flight() for key in led})
        return led, followed

    def land(self, key: str, outcome: Outcome) -> None:
        """Wake everybody who waits for what the caller claimed."""
        self._under_way.pop((asyncio.get_running_loop(), key)).land(outcome)


# A new number whenever the key or the record is made in another way.
_KEY_FORMAT = 1
_tokens: dict[int, tuple[ReferenceType[object], str]] = {}


class _UnknownValueError(Exception):
    """A value that has no one way to be written down."""


def keys_of(query: Query, count: int, *, version: str, source: str = "") -> tuple[str, ...] | None:
    """Return the keys of several answers to one query.

    Two keys are equal only if the tenant, the model, the messages, the parameters (those that say
    where the request goes and who pays among them), the version, the source and the index are. The
    order of a mapping's keys does not matter.

    Args:
        query: What is asked; its index is that of the first answer.
        count: How many answers.
        version: What asks, and in which version.
        source: Who answers.

    Returns:
        One key for each answer, 64 hexadecimal digits; None where the query holds a value that JSON
        does not know, so that nothing can be said about what equals it.
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
    # Half a surrogate pair cannot be sent either; what is nested too deeply nobody reads.
    except (_UnknownValueError, UnicodeEncodeError, RecursionError):
        return None
    # The JSON of the two, without an encoder for each.
    each = (f'["{question}",{query.index + i}]' for i in range(count))
    return tuple(hashlib.sha256(text.encode()).hexdigest() for text in each)


# A plain hash, not a keyed one: several processes must find the same key, whoever can read the keys
# can read the answers beside them, and what must stay secret in them, a provider's key, cannot be
# guessed. A JSON array says where one part ends and the next begins.
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

    The same model name means something else to another provider. One that answers the same in
    every process says so with an attribute `cache_source`, a text. What any other says is known to
    be the same only for the very same object, so its answers are found again only by whoever holds
    it, in this process. An object to which there can be no weak reference is never the same.

    Args:
        provider: Who answers.
    """
    named = getattr(provider, "cache_source", None)
    return f"named:{named}" if isinstance(named, str) else f"object:{_token_of(provider)}"


def _token_of(provider: object) -> str:
    token, number = uuid.uuid4().hex, id(provider)
    try:
        # Not by equality, of which a class may have a notion of its own. The number is not given to
        # another object before the entry is gone.
        reference = ref(provider, lambda _gone: _tokens.pop(number, None))
    except TypeError:
        return token
    return _tokens.setdefault(number, (reference, token))[1]


_FORMAT = 1
# Why models stop when they have said what they had to say, or as much as they were allowed to.
# Anything else, such as a filter or an error, may be otherwise the next time.
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
    """Return whether an answer has words and came to its end."""
    reason = completion.finish_reason
    return bool(completion.text.strip()) and (reason is None or reason.casefold() in _WHOLE)


def record_of(completion: Completion) -> bytes:
    """Return an answer as bytes, without the provider's own object."""
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
    """Read an answer; None where it cannot be read, as one written by another version."""
    try:
        record = json.loads(data)
        if record["format"] != _FORMAT:
            return None
        return Completion(
            _text(record["text"]),
            _maybe_text(record["finish_reason"]),
            tuple(_token(entry) for entry in _list(record["logprobs"])),
        )
    # Whatever is there, it was not written by us.
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
# An answer costs seconds; to look for it longer than this would make things worse.
_PATIENCE_S = 2.0
# How long a store that failed is left alone, so that not every request waits for it in vain.
_REST_S = 30.0


class Cache:
    """Keeps whole answers in a store, and knows which are being asked for right now.

    Answers without words and those that were filtered or broken off are not kept. A store that
    fails is left alone for half a minute, and everything is asked for again in the meantime; the
    first time this is logged as a warning.

    Args:
        store: Where answers are kept.
        clock: Seconds since some moment.

    Attributes:
        store: Where answers are kept.
        flights: The requests under way.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.store = store
        self.flights = Flights()
        self._clock = clock
        self._rests_until = float("-inf")
        self._has_warned = False

    def __repr__(self) -> str:
        return f"Cache({self.store!r})"

    async def get(self, keys: Sequence[str]) -> dict[str, Completion]:
        """Return the answers that are there and can be read."""
        nothing: Mapping[str, bytes] = {}
        found = await self._attempt(lambda: self.store.get_many(keys), nothing)
        read = {key: read_record(data) for key, data in found.items() if key in keys}
        return {key: completion for key, completion in read.items() if completion is not None}

    async def put(self, completions: Mapping[str, Completion]) -> None:
        """Keep the answers that are whole."""
        records = {key: record_of(c) for key, c in completions.items() if is_whole(c)}
        if records:
            await self._attempt(lambda: self.store.set_many(records), None)

    async def aclose(self) -> None:
        """Close what the store opened in the running event loop."""
        await self.store.aclose()

    async def _attempt(self, work: Callable[[], Awaitable[T]], otherwise: T) -> T:
        if self._clock() < self._rests_until:
            return otherwise
        try:
            with anyio.fail_after(_PATIENCE_S):
                return await work()
        # Whatever a store raises costs us what is in it, never the check.
        except Exception as error:
            self._rest(error)
            return otherwise

    def _rest(self, error: Exception) -> None:
        self._rests_until = self._clock() + _REST_S
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
    """Gives what was answered before, and asks only for the rest.

    What is found costs nothing. Equal requests at the same time are sent once: whoever came first
    pays, the others get the same answer, or the same error. When the first is cancelled, or may not
    ask because its own budget is used up, another takes over. Failures are never kept, and neither
    is the provider's own object for an answer.

    It goes around the layers that retry, limit and meter, so that what is found takes none of
    their time or places.

    Args:
        inner: Who answers what is not there.
        cache: What is there.
        version: What asks and in which version, such as `prompt/1.2.0`. Answers given to another
            are not found.
        source: Who answers, as `source_of` says; answers of others are not found.
    """

    def __init__(self, inner: Provider, cache: Cache, *, version: str, source: str = "") -> None:
        super().__init__(inner)
        self._cache = cache
        self._version = version
        self._source = source

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Give n answers, those with the indices `query.index` to `query.index + n - 1`.

        Args:
            query: What to ask. Where it holds values that JSON does not know, it is passed on.
            n: How many answers to ask for.

        Returns:
            The first of them, without a gap: all of them, unless the wrapped provider gave fewer
            or failed for some, whose errors are then attached.

        Raises:
            ProviderError: The first could not be had.
        """
        keys = keys_of(query, n, version=self._version, source=self._source)
        if keys is None:
            return await self.inner.complete(query, n=n)
        return await _Request(self.inner, self._cache, query, keys).run()


class _Request:
    """One request: what it has so far."""

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
            # What is ours lands before we wait for others, or two requests could wait for each
            # other.
            led, followed = self._cache.flights.claim(wanted)
            await self._lead(led)
            outcomes = {key: await flight.wait() for key, flight in followed.items()}
            for key, outcome in outcomes.items():
                self._take(key, outcome)
            wanted = [key for key, outcome in outcomes.items() if outcome is None]
        return self._result()

    async def _lead(self, keys: list[str]) -> None:
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
                self._cache.flights.land(key, error if answer is None else answer)

    async def _ask(self, keys: list[str]) -> Exception | None:
        """Ask for answers; return the error that is true of all who want one of them."""
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

    def _take(self, key: str, outcome: Outcome) -> None:
        if isinstance(outcome, Completion):
            self._answers[key] = outcome
        elif outcome is not None and outcome not in self._failures:
            self._failures.append(outcome)

    def _result(self) -> Completions:
        items: list[Completion] = []
        # Up to the first gap: whoever tops up the rest goes on from there, and must not be given
        # twice what lies behind it.
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


# A year; what is older than that speaks of another model under the same name.
_Ttl = Annotated[float, Field(gt=0, le=31_536_000)]


class MemoryCacheConfig(Strict):
    """Keep answers in this process."""

    store: Literal["memory"] = Field(default="memory", description="Cache answers in this process.")
    max_entries: int = Field(default=10_000, ge=1, description="The most answers to keep.")
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
    """Where a Redis is, and how the keys there begin."""

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
            # Without the value, in which a password may stand.
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
    """Return what a policy's `cache` can be, by the name of the store."""
    return {
        "memory": MemoryCacheConfig,
        "sqlite": SqliteCacheConfig,
        "redis": RedisCacheConfig,
        "none": NoCacheConfig,
    }


def open_cache(config: CacheConfig) -> Cache | None:
    """Return the cache a policy describes.

    There is one for equal descriptions in a process, whoever asks, so that everybody finds what
    anybody was answered. Nothing is opened or connected to before it is used.

    Args:
        config: The description.

    Returns:
        The cache; None where nothing is to be kept.

    Raises:
        MissingDependencyError: What the store needs is not installed.
    """
    if isinstance(config, NoCacheConfig):
        return None
    with _lock:
        if config not in _caches:
            _caches[config] = Cache(_store(config))
        return _caches[config]


async def close_caches() -> None:
    """Close what the caches of this process opened in the running event loop.

    What is kept in memory is lost, what is in a file or in Redis stays there. Guards that use a
    cache go on with it, and open again what they need.
    """
    with _lock:
        caches = list(_caches.values())
    for cache in caches:
        await cache.aclose()


# Imported where they are wanted, because most want none of them.
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
