"""Answers as bytes: JSON with a version, and nothing in it that could be executed."""

from __future__ import annotations

import json
import math
from typing import Any

from resay.core.logprobs import TokenLogprob, TopLogprob
from resay.providers.base import Completion

__all__ = ["is_whole", "read_record", "record_of"]

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
