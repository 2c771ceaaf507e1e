"""The layers that count calls, tokens and cost."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

import anyio

from resay.core.request import Request
from resay.core.usage import Usage, last_reported
from resay.errors import ProviderError
from resay.providers.base import Chunk, Completions, Layer, Provider, open_stream
from resay.providers.prices import Prices


class Metered(Layer):
    """Count the calls, tokens and cost of requests passing through. Create one per total.

    Attributes:
        unusable: The first error of a provider that cannot be used as it is configured; None if
            there was none.
    """

    def __init__(self, inner: Provider) -> None:
        super().__init__(inner)
        self.unusable: ProviderError | None = None
        self._usage = Usage()
        self._answered = 0
        self._in_flight = 0
        self._cancelled = 0

    @property
    def answered(self) -> bool:
        """Whether any request was answered."""
        return self._answered > 0

    @property
    def usage(self) -> Usage:
        """The total so far. A call counts when it is sent, its tokens when it is answered.

        Calls in flight count as cancelled, which they are once nobody waits for their answers. The
        cost of such a call is not reported; it is taken to be the average of the answered calls.
        """
        cancelled = self._cancelled + self._in_flight
        cost = self._usage.cost_usd
        if cancelled and cost is not None:
            cost = cost * (1 + cancelled / self._answered) if self._answered else None
        return replace(self._usage, cost_usd=cost, cancelled=cancelled)

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Forward the request and count it."""
        self._usage += Usage(calls=1)
        self._in_flight += 1
        try:
            completions = await self.inner.complete(request, n=n)
        except anyio.get_cancelled_exc_class():
            self._cancelled += 1
            raise
        except ProviderError as error:
            if error.unusable and self.unusable is None:
                self.unusable = error
            raise
        finally:
            self._in_flight -= 1
        self._answered += 1
        self._add(completions.usage)
        return completions

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Forward the request and count it.

        The last report of each number counts; usually there is one report, in the last chunk. If
        there is none, because the stream broke, was left early or the provider does not report its
        usage, the cost is unknown.
        """
        self._usage += Usage(calls=1)
        reports: list[Usage] = []
        async with (
            open_stream(self.inner, request) as chunks,
            aclosing(self._reporting(chunks, reports)) as reporting,
        ):
            try:
                yield reporting
            finally:
                usage = last_reported(reports)
                if usage is None:
                    self._usage += Usage(cost_usd=None)
                else:
                    self._add(usage)

    async def _reporting(
        self, chunks: AsyncIterator[Chunk], reports: list[Usage]
    ) -> AsyncGenerator[Chunk]:
        async for chunk in chunks:
            if chunk.usage is not None:
                reports.append(chunk.usage)
            yield chunk

    def _add(self, usage: Usage) -> None:
        # One of our requests may be several to the provider: a chain with two models in it.
        self._usage += replace(usage, calls=max(usage.calls - 1, 0), cancelled=0)


class Priced(Layer):
    """Add the cost of answers if the provider does not report it, or if a price was given.

    Args:
        inner: The wrapped provider.
        prices: The prices.
        model: The model that answers a request naming none; None if unknown.
        share: Fraction of the price that is charged: less than 1 in batches, for example, whose
            answers come without a cost.
    """

    def __init__(
        self, inner: Provider, prices: Prices, model: str | None = None, *, share: float = 1.0
    ) -> None:
        super().__init__(inner)
        self._prices = prices
        self._model = model
        self._share = share

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Forward the request and price its answers."""
        completions = await self.inner.complete(request, n=n)
        return replace(completions, usage=self._priced(request, completions.usage))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Forward the request; each chunk that reports a usage gets the price of all so far."""
        async with (
            open_stream(self.inner, request) as chunks,
            aclosing(self._chunks(request, chunks)) as priced,
        ):
            yield priced

    async def _chunks(
        self, request: Request, chunks: AsyncIterator[Chunk]
    ) -> AsyncGenerator[Chunk]:
        usage: Usage | None = None
        async for chunk in chunks:
            if chunk.usage is None:
                yield chunk
                continue
            # What a part of the tokens costs depends on the others.
            usage = chunk.usage if usage is None else usage.updated(chunk.usage)
            yield replace(chunk, usage=self._priced(request, usage))

    def _priced(self, request: Request, usage: Usage) -> Usage:
        model = request.model or self._model
        if self._share == 1.0:
            return self._prices.priced(model, usage)
        cost = self._prices.cost_usd(model, usage)
        if cost is None and model is not None:
            # litellm lists the models of these providers without the prefix.
            name = model.removeprefix("openai/").removeprefix("anthropic/")
            cost = self._prices.cost_usd(name, usage)
        return replace(usage, cost_usd=None if cost is None else self._share * cost)
