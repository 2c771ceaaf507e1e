"""What a runnable gave: its text, and the verdict on it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from resay.actions import Answer
from resay.verdict import Verdict

__all__ = ["VERDICT_KEY", "outcome_of", "text_of", "verdict_data"]

VERDICT_KEY = "hallucination"
"""Where the verdict stands in a message's `response_metadata`."""

# What says where an answer came from. All else may hold its words, as `logprobs` does.
_ORIGIN = ("created_at", "id", "model", "model_name", "model_provider", "system_fingerprint")


def text_of(output: object) -> str:
    """Return the text of a message or a plain text, an empty one for anything else."""
    if isinstance(output, BaseMessage):
        return str(output.text)
    return output if isinstance(output, str) else ""


def outcome_of(answer: Answer) -> tuple[Any, dict[str, Any]]:
    """Return what a guarded runnable gives for the guard's answer.

    Args:
        answer: The answer; the raw object of its completion is the output of the runnable inside.

    Returns:
        The output to give, a copy with the verdict where it is a message, and the verdict.
    """
    output = answer.completion.raw if answer.completion else answer.response
    verdict = answer.verdict
    if not isinstance(output, (BaseMessage, str)):
        kind = type(output).__name__
        verdict = replace(verdict, reason=f"the output is of type {kind!r}, not text")
    data = verdict_data(verdict, answer.action)
    if answer.blocked:
        return _withheld(output, answer.text, data), data
    return _with_verdict(output, data), data


def verdict_data(verdict: Verdict, action: str) -> dict[str, Any]:
    """Return what users of LangChain see of a verdict.

    Args:
        verdict: The verdict.
        action: What was done. When the answer was withheld, its words are left out here too.

    Returns:
        The verdict as JSON-ready values, with `action`.
    """
    return {**verdict.to_dict(content=action != "block"), "action": action}


def _with_verdict(output: Any, data: dict[str, Any]) -> Any:
    if not isinstance(output, BaseMessage):
        return output
    metadata = {**output.response_metadata, VERDICT_KEY: data}
    return output.model_copy(update={"response_metadata": metadata})


def _withheld(output: Any, message: str, data: dict[str, Any]) -> Any:
    if not isinstance(output, BaseMessage):
        return message
    # A new message, because words can be anywhere in the old one: in content blocks, tool calls,
    # logprobs, `additional_kwargs`.
    origin = {k: v for k, v in output.response_metadata.items() if k in _ORIGIN}
    return AIMessage(
        message,
        id=output.id,
        name=output.name,
        usage_metadata=output.usage_metadata if isinstance(output, AIMessage) else None,
        response_metadata={**origin, VERDICT_KEY: data},
    )
