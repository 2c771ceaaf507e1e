"""What an answer is kept under: everything that matters for what it says, and for whom it is."""

from __future__ import annotations

import hashlib
import json
import math
import uuid
from collections.abc import Mapping
from typing import Any, cast
from weakref import ReferenceType, ref

from resay.core.query import Query

__all__ = ["keys_of", "source_of"]

# A new number whenever the key or the record is made in another way.
_FORMAT = 1

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
            _FORMAT,
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
    return tuple(_digest([question, query.index + i]) for i in range(count))


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
    """Return what tells a provider's answers from those of others.

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
