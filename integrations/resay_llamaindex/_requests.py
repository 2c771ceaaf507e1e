"""What an LLM can be asked for: a chat, a completion, or an object."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse
from llama_index.core.llms import LLM
from llama_index.core.prompts import PromptTemplate
from pydantic import BaseModel

__all__ = ["Chat", "Completing", "Predicting", "Request", "with_kwargs"]


@dataclass(frozen=True, slots=True)
class Chat:
    """Messages, for a message.

    Attributes:
        messages: The conversation.
        kwargs: Further keyword arguments for the LLM.
    """

    messages: Sequence[ChatMessage] = field(repr=False)
    kwargs: Mapping[str, Any] = field(repr=False)

    def ask(self, llm: LLM) -> ChatResponse:
        """Ask."""
        return llm.chat(list(self.messages), **self.kwargs)

    async def aask(self, llm: LLM) -> ChatResponse:
        """Ask on this event loop."""
        return await llm.achat(list(self.messages), **self.kwargs)

    def stream(self, llm: LLM) -> Iterator[ChatResponse]:
        """Ask for the response in pieces."""
        return llm.stream_chat(list(self.messages), **self.kwargs)

    async def astream(self, llm: LLM) -> AsyncIterator[ChatResponse]:
        """Ask for the response in pieces on this event loop."""
        return await llm.astream_chat(list(self.messages), **self.kwargs)


@dataclass(frozen=True, slots=True)
class Completing:
    """A prompt, for a text.

    Attributes:
        prompt: The prompt.
        formatted: Whether it is in the model's own form already.
        kwargs: Further keyword arguments for the LLM.
    """

    prompt: str = field(repr=False)
    formatted: bool
    kwargs: Mapping[str, Any] = field(repr=False)

    def ask(self, llm: LLM) -> CompletionResponse:
        """Ask."""
        return llm.complete(self.prompt, formatted=self.formatted, **self.kwargs)

    async def aask(self, llm: LLM) -> CompletionResponse:
        """Ask on this event loop."""
        return await llm.acomplete(self.prompt, formatted=self.formatted, **self.kwargs)

    def stream(self, llm: LLM) -> Iterator[CompletionResponse]:
        """Ask for the text in pieces."""
        return llm.stream_complete(self.prompt, formatted=self.formatted, **self.kwargs)

    async def astream(self, llm: LLM) -> AsyncIterator[CompletionResponse]:
        """Ask for the text in pieces on this event loop."""
        return await llm.astream_complete(self.prompt, formatted=self.formatted, **self.kwargs)


@dataclass(frozen=True, slots=True)
class Predicting:
    """A template, for an object.

    The LLM itself decides how to ask for it, with a schema, a tool or in words.

    Attributes:
        output_cls: The class of the object.
        template: The prompt.
        values: What to fill it with.
        kwargs: Further keyword arguments for the LLM.
    """

    output_cls: type[BaseModel]
    template: PromptTemplate = field(repr=False)
    values: Mapping[str, Any] = field(repr=False)
    kwargs: Mapping[str, Any] = field(repr=False)

    def ask(self, llm: LLM) -> BaseModel:
        """Ask."""
        # A copy, because LLMs change it.
        return llm.structured_predict(
            self.output_cls, self.template, llm_kwargs=dict(self.kwargs), **self.values
        )

    async def aask(self, llm: LLM) -> BaseModel:
        """Ask on this event loop."""
        return await llm.astructured_predict(
            self.output_cls, self.template, llm_kwargs=dict(self.kwargs), **self.values
        )


Request = Chat | Completing | Predicting


def with_kwargs(request: Request, kwargs: Mapping[str, Any]) -> Request:
    """Return the same request with other keyword arguments."""
    return replace(request, kwargs=kwargs)
