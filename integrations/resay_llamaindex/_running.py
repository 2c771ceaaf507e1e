"""Running requests under a guard, and showing what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Generic, TypeVar

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    MessageRole,
)
from llama_index.core.instrumentation.span import active_span_id

from resay._internal.telemetry import here, inside
from resay.adapters import verdict_data
from resay.core.verdict import HallucinationBlocked
from resay.engine.actions import Answer
from resay.engine.stream_gate import Part
from resay_llamaindex._outcome import announce, in_place_of, with_verdict

__all__ = ["Recorder", "Showing", "last_raw", "outcome"]

R = TypeVar("R", ChatResponse, CompletionResponse)


class Recorder:
    """Tells of one answer's verdict.

    Args:
        listener: Who is told besides the readers of events.
    """

    def __init__(self, listener: Callable[[dict[str, Any]], None] | None = None) -> None:
        # A stream is read elsewhere, where the span of its call is not the active one.
        self._span_id = active_span_id.get()
        self._place = here()
        self._listener = listener

    def record(self, answer: Answer) -> dict[str, Any]:
        """Tell what was decided, and return it."""
        return self._tell(verdict_data(answer.verdict, answer.action))

    def around(self) -> AbstractContextManager[None]:
        """Let the spans of the check belong to where the answer was asked for."""
        return inside(self._place)

    @contextmanager
    def watching(self) -> Generator[None]:
        """Tell of answers that are withheld with an exception."""
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
    """Return the response that a guarded LLM gives.

    Args:
        kind: The class of the response.
        answer: The guard's answer.
        data: Its verdict.
        in_message: Whether the message has the verdict too.
    """
    response = last_raw(answer)
    if answer.blocked or answer.regenerated or not isinstance(response, kind):
        return in_place_of(kind, response, answer.text, data, in_message=in_message)
    return with_verdict(response, data, in_message=in_message)


def last_raw(answer: Answer) -> object:
    """Return what the LLM gave: of a stream the last response, which holds the whole."""
    raw = answer.completion.raw if answer.completion else None
    if isinstance(raw, tuple):
        return raw[-1] if raw else None  # pyright: ignore[reportUnknownVariableType] - of anything
    return raw


class Showing(Generic[R]):
    """Turns the parts of a guarded answer into responses, each with all the text so far.

    Args:
        kind: The class of the responses.
        recorder: Tells of the verdict.
        in_message: Whether the last message has the verdict too.
    """

    def __init__(self, kind: type[R], recorder: Recorder, *, in_message: bool = True) -> None:
        self._kind: type[R] = kind
        self._recorder = recorder
        self._in_message = in_message
        self._text = ""
        self._notice: str | None = None

    def show(self, part: Part | Answer) -> Iterator[R]:
        """Yield the response for a part, if there is something to show, or for the end."""
        if isinstance(part, Answer):
            yield self._end(part)
        elif part.notice:
            self._notice = part.text
        elif part.chunk is not None:
            # Passed on as it came.
            if isinstance(part.chunk.raw, self._kind):
                yield part.chunk.raw
        elif part.text:
            self._text += part.text
            yield _piece(self._kind, self._text, part.text)

    def _end(self, answer: Answer) -> R:
        # The whole answer with its verdict, and nothing new; or the policy's message alone.
        data = self._recorder.record(answer)
        whole = outcome(self._kind, answer, data, in_message=self._in_message)
        return whole.model_copy(update={"delta": self._notice or ""})


def _piece(kind: type[R], text: str, delta: str) -> R:
    if issubclass(kind, ChatResponse):
        said = ChatMessage(role=MessageRole.ASSISTANT, content=text)
        return kind(message=said, delta=delta)
    return kind(text=text, delta=delta)
