"""A layer that says what answers cost."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

from resay.core.query import Query
from resay.core.verdict import Usage
from resay.providers.base import Chunk, Completions, Layer, Provider, open_stream
from resay.providers.prices import Prices

__all__ = ["Priced"]


class Priced(Layer):
    """Says what answers cost where the provider does not, or where a price was given.

    Args:
        inner: Who is asked.
        prices: The prices.
        model: Who answers a query that names no model; None where that is not known.
    """

    def __init__(self, inner: Provider, prices: Prices, model: str | None = None) -> None:
        super().__init__(inner)
        self._prices = prices
        self._model = model

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the wrapped provider."""
        completions = await self.inner.complete(query, n=n)
        return replace(completions, usage=self._priced(query, completions.usage))

    @asynccontextmanager
    async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Ask the wrapped provider; each chunk that tells what it cost is priced by itself."""
        async with (
            open_stream(self.inner, query) as chunks,
            aclosing(self._chunks(query, chunks)) as priced,
        ):
            yield priced

    async def _chunks(self, query: Query, chunks: AsyncIterator[Chunk]) -> AsyncGenerator[Chunk]:
        async for chunk in chunks:
            told = chunk.usage
            yield chunk if told is None else replace(chunk, usage=self._priced(query, told))

    def _priced(self, query: Query, usage: Usage) -> Usage:
        return self._prices.priced(query.model or self._model, usage)
