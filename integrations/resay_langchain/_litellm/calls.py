"""What comes with a call, beside the messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resay.adapters import UnmappedError

__all__ = ["LEFT_OUT", "NOTES", "sent_of"]

# Resay sets its own: a sample is one fresh answer in one piece, never cached.
LEFT_OUT = frozenset(
    {
        "cache",
        "logprobs",
        "max_retries",
        "n",
        "num_retries",
        "seed",
        "stream",
        "stream_options",
        "stream_usage",
        "streaming",
        "timeout",
        "top_logprobs",
    }
)

# LangChain keeps these from the provider: they are notes for its traces.
NOTES = frozenset({"ls_structured_output_format", "structured_output_format"})


def sent_of(
    kwargs: Mapping[str, Any],
    allowed: frozenset[str],
    who: str,
    left_out: frozenset[str] = LEFT_OUT,
) -> dict[str, Any]:
    """Return the keyword arguments that shape the request.

    Args:
        kwargs: Those of the call.
        allowed: Those that can be translated.
        who: The class of the model, for the reason.
        left_out: Those that are not sent for a sample.

    Returns:
        Those of `allowed` that are there and not None.

    Raises:
        UnmappedError: There is another one.
    """
    asked = {k: v for k, v in kwargs.items() if v is not None and k not in left_out | NOTES}
    if further := asked.keys() - allowed:
        raise UnmappedError(f"{who} is called with {min(further)!r}")
    return asked
