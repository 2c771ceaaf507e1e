"""What comes out of a guard: responses with their verdicts, and the event that carries them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    MessageRole,
)
from llama_index.core.instrumentation.events import BaseEvent
from llama_index_instrumentation import get_dispatcher

from resay.adapters import VERDICT_KEY
from resay.core.verdict import Verdict

__all__ = [
    "HallucinationVerdictEvent",
    "LLMResponse",
    "announce",
    "in_place_of",
    "verdict_of",
    "with_verdict",
    "without_verdicts",
]

LLMResponse = ChatResponse | CompletionResponse

R = TypeVar("R", ChatResponse, CompletionResponse)

_dispatcher = get_dispatcher(__name__)

# What a response says of itself that holds none of its words.
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")

# With these in a message, some integrations send all its `additional_kwargs` to the provider.
_SENT_BACK = ("tool_calls", "function_call")


class HallucinationVerdictEvent(BaseEvent):
    """A guard has decided about an answer.

    Attributes:
        verdict: The fields of `resay.Verdict`, and the `action` that was taken. When the answer
            was withheld, its words are left out.
    """

    verdict: dict[str, Any]

    @classmethod
    def class_name(cls) -> str:
        """Return the name that event handlers see."""
        return "HallucinationVerdictEvent"


def announce(data: dict[str, Any], span_id: str | None) -> None:
    """Dispatch the event that carries a verdict.

    Args:
        data: The verdict, as `verdict_data` gives it.
        span_id: The span in which the answer was asked for.
    """
    _dispatcher.event(HallucinationVerdictEvent(verdict=data, span_id=span_id))


def verdict_of(response: object) -> Verdict | None:
    """Return the verdict on whatever LlamaIndex gave.

    Args:
        response: What an LLM, a query engine, a chat engine or an agent returned, or a message in
            it. Of a stream, the last response, or the streaming response once it was read.

    Returns:
        The verdict, None where nothing was guarded or a stream has not come to its end.
    """
    for name in ("additional_kwargs", "metadata"):
        held = getattr(response, name, None)
        if isinstance(held, Mapping) and VERDICT_KEY in held:
            return Verdict.from_dict(cast("Mapping[str, Any]", held)[VERDICT_KEY])
    # An agent's output keeps the message alone.
    message = getattr(response, "response", None)
    return verdict_of(message) if isinstance(message, ChatMessage) else None


def with_verdict(response: R, data: dict[str, Any], *, in_message: bool = True) -> R:
    """Return a copy of a response with its verdict.

    Args:
        response: What the LLM gave; not changed.
        data: The verdict.
        in_message: Whether the message has it too, because agents keep nothing else.
    """
    told = cast("dict[str, Any]", response.additional_kwargs)
    changes: dict[str, Any] = {"additional_kwargs": {**told, VERDICT_KEY: data}}
    if isinstance(response, ChatResponse):
        message = response.message
        kwargs = dict(message.additional_kwargs)
        if in_message and not any(name in kwargs for name in _SENT_BACK):
            kwargs[VERDICT_KEY] = data
        # Whoever gets the response may change its message: agents and chat engines do.
        copied = {"additional_kwargs": kwargs, "blocks": list(message.blocks)}
        changes["message"] = message.model_copy(update=copied)
    return response.model_copy(update=changes)


def in_place_of(
    kind: type[R], response: object, text: str, data: dict[str, Any], *, in_message: bool = True
) -> R:
    """Return a response in place of another that is withheld or was written again.

    It is new, because words can be anywhere in the old one: in blocks, tool calls, logprobs, in
    the provider's own object.

    Args:
        kind: The class of the response.
        response: What the LLM gave.
        text: What to say in its place.
        data: The verdict.
        in_message: As for `with_verdict`.
    """
    told: dict[str, Any] = {}
    if isinstance(response, (ChatResponse, CompletionResponse)):
        counts = cast("dict[str, Any]", response.additional_kwargs)
        told = {k: v for k, v in counts.items() if k in _COUNTS}
    return with_verdict(_saying(kind, text, told), data, in_message=in_message)


def _saying(kind: type[R], text: str, told: dict[str, Any]) -> R:
    if issubclass(kind, ChatResponse):
        said = ChatMessage(role=MessageRole.ASSISTANT, content=text)
        return kind(message=said, additional_kwargs=told)
    return kind(text=text, additional_kwargs=told)


def without_verdicts(messages: object) -> list[ChatMessage]:
    """Return messages without the verdicts that guards left in them, so that none is sent."""
    return [_without_verdict(message) for message in cast("list[ChatMessage]", messages)]


def _without_verdict(message: ChatMessage) -> ChatMessage:
    if VERDICT_KEY not in message.additional_kwargs:
        return message
    kept = {k: v for k, v in message.additional_kwargs.items() if k != VERDICT_KEY}
    return message.model_copy(update={"additional_kwargs": kept})
