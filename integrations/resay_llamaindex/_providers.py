"""LLMs behind Resay's seam for providers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from llama_index.core.base.llms.types import ChatResponse, CompletionResponse
from llama_index.core.llms import LLM

from resay.adapters import litellm_provider
from resay.core.query import Query
from resay.core.verdict import Usage
from resay.errors import ProviderError, ProviderRefusedError
from resay.providers.base import Chunk, Completions
from resay_llamaindex._counting import Spent
from resay_llamaindex._fresh import Judges
from resay_llamaindex._messages import chat_messages
from resay_llamaindex._nesting import Role, playing
from resay_llamaindex._reading import (
    calls_in,
    completion_of,
    finish_reason_in,
    logprobs_in,
    usage_in,
)
from resay_llamaindex._requests import Chat, Completing, Predicting, Request, with_kwargs
from resay_llamaindex._ways import Way

__all__ = ["JudgeProvider", "LLMProvider", "RefusingProvider", "streaming"]

_LOGPROBS = ("logprobs", "top_logprobs")

# What providers answer to a parameter they do not take.
_ABOUT_PARAMETERS = (400, 403, 404, 422)


class LLMProvider:
    """Answers by sending one request to an LLM. What else a query says is known to the request.

    It has no `cache_source`: an LLM's fields need not say all that shapes its answers, so they are
    never kept for another request.

    Args:
        request: What to send.
        llm: Who is asked.
        way: How to call it.
        role: What the call is for.
        gives_logprobs: Whether the LLM takes OpenAI's parameters for log-probabilities.
    """

    def __init__(
        self, request: Request, llm: LLM, way: Way, role: Role, *, gives_logprobs: bool = False
    ) -> None:
        self._request = request
        self._llm = llm
        self._way = way
        self._role: Role = role
        self._gives_logprobs = gives_logprobs

    async def takes_n(self, query: Query) -> bool:
        """Say no: an LLM gives one response."""
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the LLM.

        Raises:
            Exception: Whatever the LLM raises, as it is.
        """
        request, asking = self._prepared(query)
        spent = Spent()
        try:
            with playing(self._role), spent.counting():
                response: object = await self._way.ask(request, self._llm)
        except Exception as error:
            if asking:
                _check_refused(error)
            raise
        usage = spent.usage or usage_in(response) or Usage(1, cost_usd=None)
        return Completions((completion_of(response),), usage)

    def _prepared(self, query: Query) -> tuple[Request, bool]:
        """Return what to send, and whether it asks for more than the application does."""
        known = self._request.kwargs
        wanted = {k: query.params[k] for k in _LOGPROBS if k in query.params and k not in known}
        if not wanted or not self._gives_logprobs:
            return self._request, False
        return with_kwargs(self._request, {**known, **wanted}), True


class _StreamingProvider(LLMProvider):
    """The same for requests whose response can come in pieces."""

    @asynccontextmanager
    async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Ask the LLM for its response in pieces.

        Raises:
            Exception: Whatever the LLM raises, as it is.
        """
        request, asking = self._prepared(query)
        assert not isinstance(request, Predicting)  # noqa: S101 - see `streaming`
        try:
            with playing(self._role):
                async with (
                    self._way.stream(request, self._llm) as responses,
                    aclosing(_chunks(responses)) as chunks,
                ):
                    yield chunks
        except Exception as error:
            if asking:
                _check_refused(error)
            raise


def streaming(
    request: Chat | Completing, llm: LLM, way: Way, role: Role, *, gives_logprobs: bool
) -> LLMProvider:
    """Return an `LLMProvider` that streams."""
    return _StreamingProvider(request, llm, way, role, gives_logprobs=gives_logprobs)


async def _chunks(
    responses: AsyncIterator[ChatResponse | CompletionResponse],
) -> AsyncGenerator[Chunk]:
    last, usage = None, None
    async for last in responses:
        usage = usage_in(last) or usage
        yield Chunk(last.delta or "", finish_reason_in(last), logprobs_in(last), raw=last)
    # Each response repeats the calls so far, and may repeat the count of tokens.
    yield Chunk(usage=usage, calls=calls_in(last))


def _check_refused(error: Exception) -> None:
    status = getattr(error, "status_code", None)
    if status in _ABOUT_PARAMETERS:
        raise ProviderRefusedError(
            "the LLM gives no log-probabilities; see the error's __cause__", status=status
        ) from error


class JudgeProvider:
    """Asks the response's own LLM, or the judge that a query names.

    Args:
        own: The response's own; None where it cannot be reached.
        way: How to call it.
    """

    def __init__(self, own: Judges | None, way: Way) -> None:
        self._own = own
        self._way = way

    async def prepare(self) -> None:
        """Have litellm loaded, which asks named judges."""
        await litellm_provider().prepare()

    async def takes_n(self, query: Query) -> bool:
        """Say no: a judge is asked for one answer."""
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the judge.

        Raises:
            ProviderError: There was no answer.
        """
        if query.model is not None or self._own is None:
            return await litellm_provider().complete(query)
        llm, kwargs = self._own.asked(query)
        request = Chat(chat_messages(query.messages), kwargs)
        try:
            return await LLMProvider(request, llm, self._way, "judge").complete(Query(()))
        # Each provider's package has its own exceptions, and repeats what it likes in them.
        except Exception as error:
            # The LLM has retries of its own.
            raise ProviderError(f"the judge failed with {type(error).__name__}") from error


class RefusingProvider:
    """Gives no samples, and says why. The answer itself does not depend on it.

    Args:
        reason: Why.
    """

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def takes_n(self, query: Query) -> bool:
        """Say no."""
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Refuse.

        Raises:
            ProviderRefusedError: Always.
        """
        raise ProviderRefusedError(self._reason)
