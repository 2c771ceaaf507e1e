"""Asking for token log-probabilities without harm."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from resay.core.query import Query
from resay.errors import ProviderRefusedError
from resay.providers.base import (
    Chunk,
    Completions,
    Layer,
    Provider,
    begin_stream,
    open_stream,
)

__all__ = ["WithLogprobs"]

# What providers answer to a parameter they do not take: a bad request, a model whose
# log-probabilities are not given away, or nobody who would take the parameter.
_ABOUT_PARAMETERS = frozenset({400, 403, 404, 422})


class WithLogprobs(Layer):
    """Asks for token log-probabilities, and goes without them where they are refused.

    Where the query asks for them itself, or for more alternatives, it is left as it is.

    Args:
        inner: Who is asked.
        top: How many alternatives to ask for at each place; 0 for none.
    """

    def __init__(self, inner: Provider, top: int) -> None:
        super().__init__(inner)
        self._top = top

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the wrapped provider, once more as the caller would have where it refuses."""
        asked = self._asking(query)
        if asked.params == query.params:
            return await self.inner.complete(query, n=n)
        try:
            return await self.inner.complete(asked, n=n)
        except ProviderRefusedError as error:
            if error.status not in _ABOUT_PARAMETERS:
                raise
        return await self.inner.complete(query, n=n)

    @asynccontextmanager
    async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Ask the wrapped provider, once more as the caller would have where it refuses at once."""
        async with AsyncExitStack() as stack:
            chunks = await self._try_asking(stack, query)
            if chunks is None:
                chunks = await stack.enter_async_context(open_stream(self.inner, query))
            yield chunks

    async def _try_asking(self, stack: AsyncExitStack, query: Query) -> AsyncIterator[Chunk] | None:
        asked = self._asking(query)
        if asked.params == query.params:
            return None
        try:
            return await stack.enter_async_context(begin_stream(self.inner, asked))
        except ProviderRefusedError as error:
            if error.status not in _ABOUT_PARAMETERS:
                raise
        return None

    def _asking(self, query: Query) -> Query:
        params = {**query.params, "logprobs": True}
        if self._top:
            params["top_logprobs"] = max(self._top, query.params.get("top_logprobs") or 0)
        return replace(query, params=params)
