"""Responses with their verdicts, and the event that announces a verdict."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, Generic, TypeVar, cast

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    MessageRole,
    TextBlock,
)
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.span import active_span_id
from llama_index_instrumentation import get_dispatcher

from resay import Answer, AnswerChunk, HallucinationBlocked
from resay.adapters import current_trace_context, use_trace_context
from resay.adapters.verdicts import VERDICT_KEY, answer_data, verdict_data

R = TypeVar("R", ChatResponse, CompletionResponse)
_dispatcher = get_dispatcher(__name__)
# The metadata of a response that holds none of its text.
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
# If a message has one of these, some integrations send all its `additional_kwargs` to the provider.
_SENT_BACK = ("tool_calls", "function_call")


class HallucinationVerdictEvent(BaseEvent):
    """A guard has reached a verdict on an answer.

    Attributes:
        verdict: The fields of `resay.Verdict`, and the `action` taken. If the answer was
            withheld, its text is left out.
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
        span_id: The span in which the answer was requested.
    """
    _dispatcher.event(HallucinationVerdictEvent(verdict=data, span_id=span_id))


def with_verdict(response: R, data: dict[str, Any], *, in_message: bool = True) -> R:
    """Return a copy of a response with its verdict.

    Args:
        response: The LLM's response; not changed.
        data: The verdict.
        in_message: Whether to add the verdict to the message too, which is all that agents keep.
    """
    additional = cast("dict[str, Any]", response.additional_kwargs)
    changes: dict[str, Any] = {"additional_kwargs": {**additional, VERDICT_KEY: data}}
    if isinstance(response, ChatResponse):
        message = response.message
        kwargs = dict(message.additional_kwargs)
        if in_message and not any(name in kwargs for name in _SENT_BACK):
            kwargs[VERDICT_KEY] = data
        # Agents and chat engines may modify the message.
        copied = {"additional_kwargs": kwargs, "blocks": list(message.blocks)}
        changes["message"] = message.model_copy(update=copied)
    return response.model_copy(update=changes)


def in_place_of(
    kind: type[R], response: object, text: str, data: dict[str, Any], *, in_message: bool = True
) -> R:
    """Return a response that replaces a withheld or regenerated one.

    It is created anew, because the old text may be anywhere in the original: in blocks, tool calls,
    logprobs or the provider's own object.

    Args:
        kind: The class of the response.
        response: The LLM's response.
        text: The replacement text.
        data: The verdict.
        in_message: As for `with_verdict`.
    """
    counts: dict[str, Any] = {}
    if isinstance(response, (ChatResponse, CompletionResponse)):
        kwargs = cast("dict[str, Any]", response.additional_kwargs)
        counts = {k: v for k, v in kwargs.items() if k in _COUNTS}
    new_response = _response_with(kind, text, additional_kwargs=counts)
    return with_verdict(new_response, data, in_message=in_message)


def _response_with(kind: type[R], text: str, **fields: Any) -> R:
    if issubclass(kind, ChatResponse):
        message = ChatMessage(role=MessageRole.ASSISTANT, content=text)
        return kind(message=message, **fields)
    return kind(text=text, **fields)


def without_verdicts(messages: object) -> list[ChatMessage]:
    """Return messages without the verdicts that guards added, so that none is sent."""
    return [_without_verdict(message) for message in cast("list[ChatMessage]", messages)]


def _without_verdict(message: ChatMessage) -> ChatMessage:
    if VERDICT_KEY not in message.additional_kwargs:
        return message
    kwargs = {k: v for k, v in message.additional_kwargs.items() if k != VERDICT_KEY}
    return message.model_copy(update={"additional_kwargs": kwargs})


class Recorder:
    """Reports the verdict on one answer.

    Args:
        listener: Called with the verdict, in addition to the event.
    """

    def __init__(self, listener: Callable[[dict[str, Any]], None] | None = None) -> None:
        # Recorded now, because a stream may be read where another span is active.
        self._span_id = active_span_id.get()
        self._trace_context = current_trace_context()
        self._listener = listener

    def record(self, answer: Answer) -> dict[str, Any]:
        """Report the verdict on an answer, and return it."""
        return self._tell(answer_data(answer))

    def around(self) -> AbstractContextManager[None]:
        """Attach the spans of the check to the span in which the answer was requested."""
        return use_trace_context(self._trace_context)

    @contextmanager
    def watching(self) -> Generator[None]:
        """Report verdicts that arrive as exceptions."""
        try:
            yield
        except HallucinationBlocked as error:
            self._tell(verdict_data(error.verdict, "block"))
            raise

    def _tell(self, data: dict[str, Any]) -> dict[str, Any]:
        announce(data, self._span_id)
        if self._listener is not None:
            self._listener(data)
        return data


def outcome(kind: type[R], answer: Answer, data: dict[str, Any], *, in_message: bool = True) -> R:
    """Return the response of a guarded LLM.

    Args:
        kind: The class of the response.
        answer: The guard's answer.
        data: Its verdict.
        in_message: Whether the message has the verdict too.
    """
    response = last_raw(answer)
    if answer.blocked or answer.regenerated or not isinstance(response, kind):
        return in_place_of(kind, response, answer.text, data, in_message=in_message)
    return with_verdict(_marked(response, answer), data, in_message=in_message)


def _marked(response: R, answer: Answer) -> R:
    """Return a response with the marks in its text."""
    if not answer.marks:
        return response
    if isinstance(response, CompletionResponse):
        return response.model_copy(update={"text": answer.text})
    blocks: list[Any] = []
    start = 0
    for block in response.message.blocks:
        if isinstance(block, TextBlock):
            marked = answer.with_marks(block.text, start)
            # Its `content`, which is checked, has line breaks between the blocks.
            start += len(block.text) + 1
            block = block.model_copy(update={"text": marked})
        blocks.append(block)
    message = response.message.model_copy(update={"blocks": blocks})
    return response.model_copy(update={"message": message})


def last_raw(answer: Answer) -> object:
    """Return the LLM's response: for a stream the last one, which holds the whole text."""
    raw = answer.completion.raw if answer.completion else None
    if isinstance(raw, tuple):
        return raw[-1] if raw else None  # pyright: ignore[reportUnknownVariableType] - untyped
    return raw


class ResponseStream(Generic[R]):
    """Converts the parts of a guarded answer to responses, each with all the text so far.

    Args:
        kind: The class of the responses.
        recorder: Reports the verdict.
        in_message: Whether to add the verdict to the last message too.
    """

    def __init__(self, kind: type[R], recorder: Recorder, *, in_message: bool = True) -> None:
        self._kind: type[R] = kind
        self._recorder = recorder
        self._in_message = in_message
        self._text = ""
        self._notice: str | None = None
        self._passes_on = False

    def show(self, part: AnswerChunk | Answer) -> Iterator[R]:
        """Yield the response for a part, if it has anything to show, or for the end."""
        if isinstance(part, Answer):
            yield self._end(part)
        elif part.is_replacement:
            self._notice = part.text
        elif part.provider_chunk is not None:
            # Passed on unchanged.
            self._text += part.text
            self._passes_on = True
            if isinstance(part.provider_chunk.raw, self._kind):
                yield part.provider_chunk.raw
        elif part.text:
            self._text += part.text
            yield _response_with(self._kind, self._text, delta=part.text)

    def _end(self, answer: Answer) -> R:
        # The whole answer with its verdict and no new text. Of one that was withheld after it was
        # shown, only the policy's message: a memory is not to keep the rest.
        if answer.blocked and self._passes_on:
            answer = replace(answer, text=answer.message)
        data = self._recorder.record(answer)
        response = outcome(self._kind, answer, data, in_message=self._in_message)
        return response.model_copy(update={"delta": self._notice or ""})
