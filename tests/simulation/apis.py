"""What the APIs of the simulated provider differ in, apart from requests and answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from simulation import messages_wire, wire

if TYPE_CHECKING:
    from simulation.body import InvalidRequestError
    from simulation.chat_body import ChatBody
    from simulation.events import Event
    from simulation.wire import Completion

__all__ = ["Answer", "Api", "ChatRequest", "Request", "api_of"]


class Answer(Protocol):
    """An answer in the words of an API."""

    @property
    def reports_usage(self) -> bool:
        """Whether it says what it cost."""
        ...

    def body(self) -> dict[str, Any]:
        """Return the whole answer."""
        ...

    def events(self) -> Iterator[Event]:
        """Return the answer as a stream."""
        ...


class Request(Protocol):
    """A request in the words of an API."""

    @property
    def chat(self) -> ChatBody:
        """The chat completion request that asks for the same."""
        ...

    def answer(self, completion: Completion) -> Answer:
        """Put an answer in the words of the API."""
        ...


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A chat completion request.

    Attributes:
        chat: The request.
    """

    chat: ChatBody

    def answer(self, completion: Completion) -> Completion:
        """Return the answer as it is."""
        return completion


class Api(ABC):
    """How an API numbers its answers, words its errors and lists its models."""

    id_header: str

    @abstractmethod
    def error(
        self, status: int, message: str, request_id: str, cause: InvalidRequestError | None
    ) -> dict[str, Any]:
        """Return the body of an error."""

    @abstractmethod
    def models(self) -> dict[str, Any]:
        """Return the list of models."""


class _OpenAI(Api):
    id_header = "x-request-id"

    def error(
        self, status: int, message: str, request_id: str, cause: InvalidRequestError | None
    ) -> dict[str, Any]:
        param, code = (cause.param, cause.code) if cause else (None, None)
        return wire.error_body(status, message, param, code)

    def models(self) -> dict[str, Any]:
        return wire.models_body()


class _Anthropic(Api):
    id_header = "request-id"

    def error(
        self, status: int, message: str, request_id: str, cause: InvalidRequestError | None
    ) -> dict[str, Any]:
        return messages_wire.error_body(status, message, request_id)

    def models(self) -> dict[str, Any]:
        return messages_wire.models_body()


_OPENAI, _ANTHROPIC = _OpenAI(), _Anthropic()


def api_of(path: str, headers: Mapping[str, str]) -> Api:
    """Return the API that a request is meant for; what both have is told apart by a header."""
    anthropic = path.startswith("/v1/messages") or "anthropic-version" in headers
    return _ANTHROPIC if anthropic else _OPENAI
