"""The records of cached answers."""

from __future__ import annotations

import json
import math
from typing import Any

from resay.core.logprobs import TokenLogprob, TopLogprob
from resay.providers.base import Completion

# Increment it whenever records are written differently.
_FORMAT = 1
# Finish reasons of complete answers and of those that reached their length limit. An answer with
# another reason, such as a filter or an error, may differ the next time.
_COMPLETE = frozenset(
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


def is_complete(completion: Completion) -> bool:
    """Return whether an answer has words and ended normally."""
    reason = completion.finish_reason
    return bool(completion.text.strip()) and (reason is None or reason.casefold() in _COMPLETE)


def record_of(completion: Completion) -> bytes:
    """Serialize an answer, without the provider's own object."""
    record = {
        "format": _FORMAT,
        "text": completion.text,
        "finish_reason": completion.finish_reason,
        "logprobs": list(map(_entry_of, completion.logprobs)),
    }
    return json.dumps(record, separators=(",", ":")).encode()


def _entry_of(token: TokenLogprob) -> list[Any]:
    top = [[alternative.token, alternative.logprob] for alternative in token.top]
    return [token.token, token.logprob, token.bytes, top, token.entropy]


def read_record(data: bytes) -> Completion | None:
    """Deserialize an answer; return None if that fails, as for another version's format."""
    try:
        record = json.loads(data)
        if record["format"] != _FORMAT:
            return None
        finish_reason = record["finish_reason"]
        return Completion(
            text=_text(record["text"]),
            finish_reason=None if finish_reason is None else _text(finish_reason),
            logprobs=tuple(map(_token, _list(record["logprobs"]))),
        )
    # Not a record of ours.
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return None


def _token(entry: Any) -> TokenLogprob:
    token, logprob, data, top, entropy = _list(entry)
    alternatives = [TopLogprob(_text(text), _number(value)) for text, value in _list(top)]
    return TokenLogprob(
        token=_text(token),
        logprob=_maybe_number(logprob),
        bytes=None if data is None else tuple(bytes(_list(data))),
        top=tuple(alternatives),
        entropy=_maybe_number(entropy),
    )


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value  # pyright: ignore[reportUnknownVariableType] - it comes from JSON


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    if math.isnan(value):
        raise ValueError
    return float(value)


def _maybe_number(value: object) -> float | None:
    return None if value is None else _number(value)
