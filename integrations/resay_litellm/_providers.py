"""LiteLLM's answers and its router behind Resay's seam for providers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

from resay.adapting import litellm_provider, marked
from resay.errors import ProviderError, ProviderRefusedError
from resay.providers.base import Chunk, Completion, Completions, Gathered
from resay.query import Query
from resay.verdict import Usage
from resay_litellm._chat import CHAT
from resay_litellm._outcome import field
from resay_litellm._relay import Relay
from resay_litellm._router import Target
from resay_litellm._shape import Data, Shape

__all__ = ["Answered", "Judge", "Relayed", "Sampler"]

# A cached answer is no sample, one of a fallback is another model's, and retries are the guard's.
_PER_CALL: Mapping[str, Any] = {
    "cache": {"no-cache": True, "no-store": True},
    "caching": False,
    "disable_fallbacks": True,
    "num_retries": 0,
    "stream": False,
}


class Answered:
    """Gives an answer that is there already.

    Args:
        completion: The answer.
        usage: What it cost.
    """

    def __init__(self, completion: Completion, usage: Usage) -> None:
        self._completions = Completions((completion,), usage)

    async def takes_n(self, query: Query) -> bool:
        """Say no: there is one."""
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Give the answer."""
        return self._completions


class Relayed:
    """Gives the answer that is coming in.

    Args:
        relay: Where it comes in.
    """

    def __init__(self, relay: Relay) -> None:
        self._relay = relay

    async def takes_n(self, query: Query) -> bool:
        """Say no: there is one."""
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Give the answer once it is complete.

        Raises:
            Exception: What broke the stream, as it is.
        """
        gathered = Gathered()
        async with self.stream(query) as chunks:
            async for chunk in chunks:
                gathered.add(chunk)
        return Completions((gathered.completion,), gathered.usage or Usage(1, cost_usd=None))

    @asynccontextmanager
    async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Give the answer piece by piece.

        Raises:
            Exception: What broke the stream, as it is.
        """
        async with aclosing(self._chunks()) as chunks:
            yield chunks

    async def _chunks(self) -> AsyncGenerator[Chunk]:
        async with aclosing(self._relay.pieces()) as pieces:
            async for piece in pieces:
                yield self._relay.wire.chunk(piece)


class Sampler:
    """Asks the deployment that answered once more, by the API that the client used.

    It has no `cache_source`: what a deployment is can be changed while the proxy runs, so its
    answers are never kept for another request.

    Args:
        shape: The API.
        data: The request of the main call.
        target: Who answered it.
    """

    def __init__(self, shape: Shape, data: Data, target: Target) -> None:
        self._shape = shape
        self._data = data
        self._target = target

    async def takes_n(self, query: Query) -> bool:
        """Return whether litellm forwards `n` to the deployment."""
        model = self._target.litellm_model if query.model is None else None
        if model is None or not self._shape.takes_n:
            return False
        return await litellm_provider().takes_n(replace(query, model=model))

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Send one request.

        Raises:
            ProviderError: There was no answer.
        """
        model = query.model or self._target.model
        if self._shape is CHAT and not (model and self._target.knows(model)):
            return await litellm_provider().complete(replace(query, model=model), n=n)
        kwargs = self._shape.asked_again(self._data, query)
        if n > 1:
            kwargs["n"] = n
        response = await _ask(self._target, self._shape, model, kwargs)
        items = self._shape.completions(response)
        if not items:
            raise ProviderError(f"{model!r} answered without a choice", retryable=True)
        return Completions(items, self._shape.usage(response))


class Judge:
    """Asks the deployment that answered, or the judge that a query names.

    A judge's name is that of one of the proxy's models, where it has one of that name.

    Args:
        target: Who answered.
    """

    def __init__(self, target: Target) -> None:
        self._target = target

    async def takes_n(self, query: Query) -> bool:
        """Say no: a judge is asked for one answer."""
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the judge.

        Raises:
            ProviderError: There was no answer.
        """
        model = query.model or self._target.model
        if not (model and self._target.knows(model)):
            return await litellm_provider().complete(replace(query, model=model))
        kwargs = {**query.params, "messages": [dict(m) for m in query.messages]}
        response = await _ask(self._target, CHAT, model, kwargs)
        return Completions(CHAT.completions(response), CHAT.usage(response))


async def _ask(target: Target, shape: Shape, model: str | None, kwargs: dict[str, Any]) -> Any:
    if not model:
        raise ProviderRefusedError("LiteLLM does not say which model answered")
    import litellm

    known = target.knows(model)
    call: Any = getattr(target.router, shape.method) if known else getattr(litellm, shape.function)
    try:
        with marked():
            return await call(model=model, **{**kwargs, **_PER_CALL})
    # litellm maps errors to some twenty types of its own, and repeats what it likes in them.
    except Exception as error:
        raise _translated(error, model) from error


def _translated(error: Exception, model: str) -> ProviderError:
    status = field(error, "status_code")
    status = status if isinstance(status, int) else None
    message = f"{model!r} failed with {type(error).__name__} (HTTP {status})"
    if status is not None and 400 <= status < 500 and status not in (408, 409, 429):
        return ProviderRefusedError(message, status=status)
    return ProviderError(message, status=status, retryable=status is not None)
