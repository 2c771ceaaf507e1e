"""Layers around a provider: retries, concurrency, time limit, spans, fan-out, logprobs."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    aclosing,
    asynccontextmanager,
)
from dataclasses import replace
from functools import partial

import anyio
import anyio.lowlevel

from resay._internal.retrying import retried
from resay._internal.telemetry import here, span
from resay.core.query import Query
from resay.core.usage import Usage
from resay.errors import ProviderRefusedError, ProviderTimeoutError
from resay.providers.base import (
    Chunk,
    Completion,
    Completions,
    Layer,
    Provider,
    begin_stream,
    open_stream,
)

# The longest random time before the second attempt, in seconds.
_BACKOFF_S = 0.5


class Limited(Layer):
    """Lets at most so many requests through at once; the others wait their turn.

    anyio's limiters belong to one event loop: make them where the loop runs. `ProcessLimits` serves
    all loops.
    """

    def __init__(self, inner: Provider, limiter: AbstractAsyncContextManager[object]) -> None:
        super().__init__(inner)
        self._limiter = limiter

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Wait for a free place, then ask the wrapped provider."""
        async with self._limiter:
            # Who was cancelled in the moment in which a place became free sends nothing.
            await anyio.lowlevel.checkpoint_if_cancelled()
            return await self.inner.complete(query, n=n)

    @asynccontextmanager
    async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Wait for a free place, and keep it until the stream is left."""
        async with self._limiter:
            await anyio.lowlevel.checkpoint_if_cancelled()
            async with open_stream(self.inner, query) as chunks:
                yield chunks


class TimeLimited(Layer):
    """Gives up on a request that takes too long, or on a stream that falls silent.

    Args:
        inner: Who is asked.
        seconds: How long a whole answer may take, or the next piece of one that is streamed. A long
            answer that keeps coming is not late, and what is done between pieces does not count.
    """

    def __init__(self, inner: Provider, seconds: float) -> None:
        super().__init__(inner)
        self._seconds = seconds

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the wrapped provider.

        Raises:
            ProviderTimeoutError: There was no answer in time.
        """
        with anyio.move_on_after(self._seconds):
            return await self.inner.complete(query, n=n)
        raise ProviderTimeoutError(
            f"no answer within {self._seconds:g} s; raise `limits.timeout_s`"
        )

    @asynccontextmanager
    async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Ask the wrapped provider.

        Raises:
            ProviderTimeoutError: On entering, or between chunks: nothing came in time.
        """
        # Scopes nest: one that ended when the stream is open would end those the stream opened.
        with anyio.CancelScope(deadline=anyio.current_time() + self._seconds) as opening:
            async with open_stream(self.inner, query) as chunks:
                if opening.cancel_called:
                    raise self._silence()
                opening.deadline = math.inf
                async with aclosing(self._timed(chunks)) as timed:
                    yield timed
        if opening.cancelled_caught:
            raise self._silence()

    async def _timed(self, chunks: AsyncIterator[Chunk]) -> AsyncGenerator[Chunk]:
        while True:
            chunk = None
            with anyio.move_on_after(self._seconds) as waiting:
                chunk = await anext(chunks, None)
            if waiting.cancelled_caught:
                raise self._silence()
            if chunk is None:
                return
            yield chunk

    def _silence(self) -> ProviderTimeoutError:
        return ProviderTimeoutError(
            f"nothing came for {self._seconds:g} s; raise `limits.timeout_s`"
        )


class Retrying(Layer):
    """Sends a request again when the failure says that this may help.

    The only layer that retries: those of the SDKs below are switched off, so that a budget of two
    retries never becomes nine requests. Waits as long as the provider asks (`Retry-After`), at
    most 60 s, else a random time growing from 0.5 s.
    """

    def __init__(self, inner: Provider, retries: int) -> None:
        super().__init__(inner)
        self._retries = retries

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the wrapped provider, several times if need be.

        Raises:
            ProviderError: The last failure, when retries are used up or pointless.
        """
        return await retried(partial(self.inner.complete, query, n=n), self._retries, _BACKOFF_S)

    @asynccontextmanager
    async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Ask the wrapped provider, several times if need be, until the first chunk came.

        What was given away cannot be taken back: a stream that breaks later is not begun again.

        Raises:
            ProviderError: The last failure, when retries are used up or pointless.
        """
        async with AsyncExitStack() as stack:

            async def begin() -> AsyncIterator[Chunk]:
                return await stack.enter_async_context(begin_stream(self.inner, query))

            yield await retried(begin, self._retries, _BACKOFF_S)


class Traced(Layer):
    """Opens a span around each request that is not streamed.

    All belong to the span in which the layer was made: whoever happens to be the first to need an
    answer may be done before it comes.

    Args:
        inner: Who is asked.
        name: What the spans are called.
    """

    def __init__(self, inner: Provider, name: str) -> None:
        super().__init__(inner)
        self._name = name
        self._place = here()

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the wrapped provider."""
        asked = {"gen_ai.request.model": query.model, "gen_ai.request.choice.count": n}
        with span(self._name, asked, parent=self._place) as around:
            completions = await self.inner.complete(query, n=n)
            usage = completions.usage
            around.set(
                {
                    "resay.samples": len(completions.items),
                    "gen_ai.usage.input_tokens": usage.prompt_tokens,
                    "gen_ai.usage.output_tokens": usage.completion_tokens,
                    "resay.cost_usd": usage.cost_usd,
                }
            )
            return completions


async def draw(
    provider: Provider,
    query: Query,
    count: int,
    land: Callable[[Completion], None],
    fail: Callable[[Exception], None],
) -> Usage:
    """Ask for `count` answers and hand over each as it lands.

    A provider that takes `n` is asked once, then topped up one by one for what it left out. Many
    ignore `n` and answer once, and a proxy may refuse it: then every answer gets its own request.
    Each answer is asked for under its own index, from the query's on; in a request for several the
    first stands for all.

    Args:
        provider: Who is asked.
        query: What is asked.
        count: How many answers are wanted, at least 0.
        land: Called with each answer, in order of arrival.
        fail: Called with the error of each request that failed for good.

    Returns:
        What the requests that succeeded cost.
    """
    spent: list[Usage] = []

    async def ask(first: int, n: int) -> Completions:
        answers = await provider.complete(replace(query, index=query.index + first), n=n)
        spent.append(answers.usage)
        for completion in answers.items[:n]:
            land(completion)
        return answers

    async def ask_for_one(place: int) -> None:
        try:
            await ask(place, 1)
        # Whatever a provider raises costs this answer only, never the user's own.
        except Exception as error:
            fail(error)

    landed = 0
    if count > 1 and await provider.takes_n(query):
        landed, failures = await _together(ask, count)
        lasting = [error for error in failures if not refuses_n(error)]
        for error in lasting:
            fail(error)
        if lasting:
            return sum(spent, Usage())
    async with anyio.create_task_group() as tasks:
        for place in range(landed, count):
            tasks.start_soon(ask_for_one, place)
    return sum(spent, Usage())


async def _together(
    ask: Callable[[int, int], Awaitable[Completions]], count: int
) -> tuple[int, tuple[Exception, ...]]:
    """Ask for all at once; return how many there are, and why the others are not."""
    try:
        answers = await ask(0, count)
    except Exception as error:
        return 0, (error,)
    landed = len(answers.items)
    return landed, answers.failures if landed < count else ()


def refuses_n(error: Exception) -> bool:
    """Return whether each answer should be asked for on its own after this error."""
    # A bad request may be about `n` alone; a bad key or an overload is not, and asking n times
    # more would only make it worse.
    return isinstance(error, ProviderRefusedError) and error.status in (400, 422)


class FanOut(Layer):
    """Makes a provider keep its promise of n answers."""

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask for exactly n answers.

        Args:
            query: What to ask.
            n: How many answers are wanted, at least 1.

        Returns:
            The answers that could be had, at least one, with the failures of the others attached.

        Raises:
            Exception: Nothing could be had; the first failure is raised.
        """
        items: list[Completion] = []
        failures: list[Exception] = []
        usage = await draw(self.inner, query, n, items.append, failures.append)
        if not items:
            raise failures[0]
        return Completions(tuple(items), usage, tuple(failures))


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
            asked = query.params.get("top_logprobs")
            # A client may have written anything there.
            params["top_logprobs"] = max(self._top, asked if isinstance(asked, int) else 0)
        return replace(query, params=params)
