"""Guarding an LLM whose responses are objects."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from typing import Any, Protocol, cast

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
)
from llama_index.core.llms import LLM
from llama_index.core.llms.structured_llm import StructuredLLM

from resay_llamaindex._outcome import with_verdict

__all__ = ["GuardedStructuredLLM"]


class _Telling(Protocol):
    def telling(self, listener: Callable[[dict[str, Any]], None]) -> LLM: ...


class GuardedStructuredLLM(StructuredLLM):
    """A `StructuredLLM` around a guarded LLM, whose responses come with their verdicts.

    An object is compared field by field with those of the samples. One that is withheld raises
    `HallucinationBlocked`, because nothing else would be an object. A stream gives the whole object
    at once.
    """

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex stores it."""
        return "guarded_structured_llm"

    def _telling(self, found: dict[str, Any]) -> StructuredLLM:
        guarded = cast("_Telling", self.llm).telling(found.update)
        return StructuredLLM(llm=guarded, output_cls=self.output_cls)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Ask for an object, check it and act."""
        found: dict[str, Any] = {}
        return _with(self._telling(found).chat(messages, **kwargs), found)

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Do what `chat` does, on the caller's event loop."""
        found: dict[str, Any] = {}
        return _with(await self._telling(found).achat(messages, **kwargs), found)

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """Do what `chat` does, in a stream of one response."""
        found: dict[str, Any] = {}
        responses = self._telling(found).stream_chat(messages, **kwargs)

        def shown() -> Generator[ChatResponse, None, None]:
            for response in responses:
                yield _with(response, found)

        return shown()

    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> ChatResponseAsyncGen:
        """Do what `stream_chat` does, on the caller's event loop."""
        found: dict[str, Any] = {}
        responses = await self._telling(found).astream_chat(messages, **kwargs)

        async def shown() -> AsyncGenerator[ChatResponse, None]:
            async for response in responses:
                yield _with(response, found)

        return shown()


def _with(response: ChatResponse, found: dict[str, Any]) -> ChatResponse:
    return with_verdict(response, dict(found)) if found else response
