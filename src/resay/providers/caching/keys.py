"""The keys of cached answers."""

from __future__ import annotations

import hashlib
import json
import math
import uuid
from collections.abc import Mapping
from typing import Any, cast
from weakref import ReferenceType, ref

from resay.core.request import Request

# Increment it whenever keys are computed differently.
_FORMAT = 1
_tokens: dict[int, tuple[ReferenceType[object], str]] = {}


class _UnknownValueError(Exception):
    """A value without a unique JSON representation."""


def keys_of(
    request: Request, count: int, *, version: str, source: str = ""
) -> tuple[str, ...] | None:
    """Return the keys of several answers to one request.

    Two keys are equal only if the tenant, the model, the messages, the parameters (including
    endpoint and account), the version, the source and the index are. The order of a mapping's keys
    does not matter.

    Args:
        request: The request; its index is that of the first answer.
        count: Number of answers.
        version: Name and version of the caller.
        source: The source of the answers.

    Returns:
        One key for each answer, 64 hexadecimal digits; None if the request holds a value that JSON
        cannot represent, so that equality with it is undefined.
    """
    try:
        parts = [
            _FORMAT,
            version,
            source,
            request.tenant,
            request.model,
            _jsonable(request.messages),
            _jsonable(request.params),
        ]
        digest = _digest(parts)
    # Lone surrogates cannot be sent either; too deeply nested values cannot be parsed.
    except (_UnknownValueError, UnicodeEncodeError, RecursionError):
        return None
    # Formatted by hand, which saves an encoder call for each.
    indices = range(request.index, request.index + count)
    return tuple(hashlib.sha256(f'["{digest}",{i}]'.encode()).hexdigest() for i in indices)


# A plain hash, not a keyed one: several processes must compute the same key, anyone who can read
# the keys can read the answers next to them, and the one secret in them, a provider's key, cannot
# be guessed. A JSON array delimits the parts unambiguously.
def _digest(parts: list[Any]) -> str:
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _jsonable(value: object) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (list, tuple)):
        return [_jsonable(item) for item in cast("list[object] | tuple[object, ...]", value)]
    if isinstance(value, Mapping):
        return _jsonable_mapping(cast("Mapping[object, object]", value))
    raise _UnknownValueError


def _jsonable_mapping(value: Mapping[object, object]) -> dict[str, Any]:
    # json would write the key 1 as "1", which is another key.
    if not all(isinstance(key, str) for key in value):
        raise _UnknownValueError
    return {str(key): _jsonable(item) for key, item in value.items()}


def source_of(provider: object) -> str:
    """Return what distinguishes a provider's answers from those of others.

    The same model name means something else to another provider. A provider that answers the same
    in every process declares it with a string attribute `cache_source`. Any other is identified by
    the object itself, so its answers are found again only through that object, in this process. An
    object without support for weak references never matches.

    Args:
        provider: The provider.
    """
    name = getattr(provider, "cache_source", None)
    return f"named:{name}" if isinstance(name, str) else f"object:{_token_of(provider)}"


def _token_of(provider: object) -> str:
    token, number = uuid.uuid4().hex, id(provider)
    try:
        # By identity, because a class may define its own equality. The id is not reused before the
        # entry is gone.
        reference = ref(provider, lambda _gone: _tokens.pop(number, None))
    except TypeError:
        return token
    return _tokens.setdefault(number, (reference, token))[1]
