"""Answers by key, wherever they are kept. What cannot be had is a miss, never an error."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import anyio

from resay.core.logprobs import TokenLogprob, TopLogprob
from resay.providers.base import Completion
from resay.providers.caching.flights import Flights
from resay.providers.caching.store import Store, StoreError

__all__ = ["Cache", "is_whole", "read_record", "record_of"]

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
        _log.log(level, "%r cannot be used (%s); everything is asked for again", self.store, reason)
