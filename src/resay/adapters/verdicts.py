"""A verdict as frameworks pass it on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from resay.core.logprobs import field_of
from resay.core.verdict import Verdict
from resay.errors import ConfigurationError, DeadlineExceededError

NO_ANSWER = "no answer can be read in what the provider sent"
"""Why the check of what is no answer is inconclusive."""

VERDICT_KEY = "hallucination"
"""Where the verdict appears in what a framework says of an answer beside its words."""


def verdict_data(verdict: Verdict, action: str) -> dict[str, Any]:
    """Return what users of a framework see of a verdict.

    Args:
        verdict: The verdict.
        action: What was done. When the answer was withheld, its words are left out here too.

    Returns:
        The verdict as JSON-ready values, with `action`.
    """
    return {**verdict.to_dict(content=action != "block"), "action": action}


def failed_check(error: Exception) -> Verdict:
    """Return what is known of an answer whose check broke."""
    why = f"the check failed with {type(error).__name__}"
    if isinstance(error, DeadlineExceededError):
        why = "the answer was not complete within `limits.deadline_s`"
    return Verdict("inconclusive", None, why)


def verdict_in(response: object) -> Verdict | None:
    """Return the verdict that a guard left in a provider's response.

    Args:
        response: A response, an event of a stream, or one of several answers; an object of an SDK
            or a mapping. An event may hold its verdict in what it is about.

    Returns:
        The verdict; None where there is none.
    """
    for holder in _holders(response):
        data = field_of(holder, VERDICT_KEY)
        if isinstance(data, Mapping):
            try:
                return Verdict.from_dict(cast("dict[str, Any]", data))
            # Somebody else's entry of the same name.
            except ConfigurationError:
                continue
    return None


def _holders(response: object) -> Iterator[object]:
    yield response
    # The last event of a stream holds the whole response, or what is said of one answer.
    yield from (field_of(response, name) for name in ("response", "chunk", "message", "delta"))
    choices = field_of(response, "choices")
    for choice in cast("list[object]", choices) if isinstance(choices, list) else []:
        delta = field_of(choice, "delta")
        yield from (choice, field_of(choice, "message"), delta)
        # The one place that litellm sends on of what it does not know.
        yield field_of(delta, "provider_specific_fields")
