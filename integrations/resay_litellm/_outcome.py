"""What comes out of a guard: the verdict, and what the answer is worth to its reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from resay.actions import Answer
from resay.adapting import VERDICT_KEY
from resay.errors import DeadlineExceededError
from resay.verdict import Verdict

__all__ = ["can_block", "failed", "field", "of_several", "told", "verdict_of"]


def verdict_of(response: object) -> Verdict | None:
    """Return the verdict on whatever LiteLLM gave.

    Args:
        response: A response of litellm's, the last piece of a stream, what a client of the proxy
            made of one, or the same as a mapping.

    Returns:
        The verdict, None where nothing was guarded or a stream has not come to its end.

    Raises:
        ConfigurationError: What stands in its place is no verdict.
    """
    data = told(response)
    return None if data is None else Verdict.from_dict(data)


def told(response: object) -> Mapping[str, Any] | None:
    """Return what a response says of its verdict, as it stands there."""
    # A piece of chat completions has it where LiteLLM sends on what it does not know itself. The
    # last event of the Responses API has it in the response that is complete with it.
    places = [response, field(response, "response")]
    for choice in _listed(field(response, "choices")):
        delta = field(choice, "delta")
        places.append(field(delta, "provider_specific_fields"))
    for place in places:
        data = field(place, VERDICT_KEY)
        if isinstance(data, Mapping):
            return cast("Mapping[str, Any]", data)
    return None


def field(holder: object, name: str) -> Any:
    """Return a field of an object or of a mapping, None where it has none."""
    if isinstance(holder, Mapping):
        return cast("Mapping[str, Any]", holder).get(name)
    return getattr(holder, name, None)


def _listed(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()


def failed(error: Exception) -> Verdict:
    """Return what is known of an answer whose check broke."""
    why = f"the check failed with {type(error).__name__}"
    if isinstance(error, DeadlineExceededError):
        why = "the answer was not complete within `limits.deadline_s`"
    return Verdict("inconclusive", None, why)


def of_several(answer: Answer, count: int) -> Answer:
    """Say in a verdict that it is about the first of several choices."""
    if count < 2:
        return answer
    reason = f"{answer.verdict.reason} (the first of {count} choices; no other was checked)"
    return replace(answer, verdict=replace(answer.verdict, reason=reason))


def can_block(policy: Any) -> bool:
    """Return whether a policy may withhold an answer."""
    return policy.action.do == "block" or policy.on_error == "block"
