"""LLMs as providers of answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace

from llama_index.core.base.llms.types import ChatResponse, CompletionResponse
from llama_index.core.llms import LLM
from pydantic import BaseModel

from resay import Request, Usage
from resay.adapters import field_of, last_reported
from resay.adapters.apis import CHAT_COMPLETIONS
from resay.adapters.upstream import OneAnswer, is_about_parameters, refusal_of
from resay.errors import ProviderRefusedError
from resay.plugins import Chunk, Completions
from resay_llamaindex._callers import Caller, Role, tagged
from resay_llamaindex._requests import (
    LLMRequest,
    calls_in,
    completion_of,
    finish_reason_in,
    logprobs_in,
    usage_in,
    with_kwargs,
)
from resay_llamaindex._usage import UsageRecorder

_LOGPROBS = ("logprobs", "top_logprobs")


@dataclass(frozen=True, eq=False, repr=False)
class LLMProvider(OneAnswer):
    """Answers requests by sending its own request to an LLM, once per answer.

    A guarded request only adds log-probabilities to the request.

    Attributes:
        request: The request.
        llm: The LLM.
        caller: How to call the LLM.
        role: The purpose of the call.
        gives_logprobs: Whether the LLM accepts OpenAI's parameters for log-probabilities.
    """

    request: LLMRequest
    llm: LLM
    caller: Caller
    role: Role
    gives_logprobs: bool = False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Return the LLM's answer.

        Raises:
            Exception: Anything that the LLM raises, unchanged.
        """
        llm_request, asking = self._prepared(request)
        spent = UsageRecorder()
        try:
            with tagged(self.role), spent.counting():
                response: object = await self.caller.ask(llm_request, self.llm)
        except Exception as error:
            if asking:
                _check_refused(error)
            raise
        usage = spent.usage or usage_in(response) or Usage(1, cost_usd=None)
        return Completions((completion_of(response),), usage)

    def _prepared(self, request: Request) -> tuple[LLMRequest, bool]:
        """Return the request to send, and whether it asks for more than the application does."""
        kwargs = self.request.kwargs
        added = {k: request.params[k] for k in _LOGPROBS if k in request.params and k not in kwargs}
        if not added or not self.gives_logprobs:
            return self.request, False
        return with_kwargs(self.request, {**kwargs, **added}), True


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SampleProvider(LLMProvider):
    """Draws samples with a copy of the LLM, several in one request if it can.

    Attributes:
        source: Distinguishes the LLM from others.
        cache_source: The same, if answers may be cached; None otherwise.
        gives_choices: Whether the LLM takes OpenAI's `n`, and its responses hold all the choices.
    """

    source: str
    cache_source: str | None
    gives_choices: bool

    @property
    def endpoint(self) -> str:
        """Identifies the LLM, whatever the request."""
        return self.source

    async def takes_n(self, request: Request) -> bool:
        """Return whether the LLM can give several answers to this request."""
        return self.gives_choices

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Draw samples in one request.

        Raises:
            ProviderRefusedError: The provider refuses several answers at once.
            Exception: Anything else that the LLM raises, unchanged.
        """
        if n == 1:
            return await super().complete(request)
        llm_request = with_kwargs(self.request, {**self.request.kwargs, "n": n})
        try:
            answers = await replace(self, request=llm_request).complete(request)
        except Exception as error:
            if (refusal := refusal_of(error)) is not None:
                raise refusal from error
            raise
        # The LLM itself reads the first choice only.
        raw: object = field_of(answers.first.raw, "raw")
        if not isinstance(raw, BaseModel):
            return answers
        choices = CHAT_COMPLETIONS.completions(raw.model_dump())
        return replace(answers, items=choices or answers.items)


class StreamingProvider(LLMProvider):
    """An `LLMProvider` for requests whose response can be streamed."""

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Return the LLM's answer in chunks.

        Raises:
            Exception: Anything that the LLM raises, unchanged.
        """
        llm_request, asking = self._prepared(request)
        try:
            with tagged(self.role):
                async with (
                    self.caller.stream(llm_request, self.llm) as responses,
                    aclosing(_chunks(responses)) as chunks,
                ):
                    yield chunks
        except Exception as error:
            if asking:
                _check_refused(error)
            raise


async def _chunks(
    responses: AsyncIterator[ChatResponse | CompletionResponse],
) -> AsyncGenerator[Chunk]:
    last: ChatResponse | CompletionResponse | None = None
    usage: Usage | None = None
    async for last in responses:
        usage = last_reported((usage, usage_in(last)))
        yield Chunk(last.delta or "", finish_reason_in(last), logprobs_in(last), raw=last)
    # Each response repeats the tool calls so far, and may repeat the token counts.
    yield Chunk(usage=usage, calls=calls_in(last))


def _check_refused(error: Exception) -> None:
    if is_about_parameters(error):
        raise ProviderRefusedError(
            "the LLM returns no log-probabilities; see the error's __cause__",
            status=getattr(error, "status_code", None),
        ) from error


class RefusingProvider(OneAnswer):
    """Refuses to draw samples, for a given reason. The main answer does not depend on it."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Refuse.

        Raises:
            ProviderRefusedError: Always.
        """
        raise ProviderRefusedError(self._reason)
