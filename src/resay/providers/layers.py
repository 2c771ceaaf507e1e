"""Provider layers: what is added to the requests and the answers of any provider."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Hashable,
    Sequence,
)
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    aclosing,
    asynccontextmanager,
)
from dataclasses import replace
from functools import partial
from weakref import WeakValueDictionary

import anyio
import anyio.lowlevel

from resay._internal.retries import call_with_retries
from resay._internal.telemetry import current_trace_context, span
from resay.core.logprobs import TokenLogprob
from resay.core.reasoning import split_reasoning
from resay.core.request import Request
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
from resay.providers.base_urls import base_url_in

# Upper bound of the random delay before the second attempt, in seconds.
_BACKOFF_S = 0.5


class Limited(Layer):
    """Limit concurrent requests and queue the excess.

    anyio's limiters belong to one event loop: create them where the loop runs. `ProcessLimits`
    works across event loops.
    """

    def __init__(self, inner: Provider, limiter: AbstractAsyncContextManager[object]) -> None:
        super().__init__(inner)
        self._limiter = limiter

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Wait for a free slot, then forward the request."""
        async with self._limiter:
            # A request cancelled just as its slot became free must not be sent.
            await anyio.lowlevel.checkpoint_if_cancelled()
            return await self.inner.complete(request, n=n)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Wait for a free slot, and hold it until the stream is closed."""
        async with self._limiter:
            await anyio.lowlevel.checkpoint_if_cancelled()
            async with open_stream(self.inner, request) as chunks:
                yield chunks


class TimeLimited(Layer):
    """Give up on a request that takes too long, or on a stream that stalls.

    Args:
        inner: The wrapped provider.
        seconds: Timeout for a whole answer, or for the next chunk of a streamed one. A long answer
            that keeps coming is not late, and time the caller spends between chunks is not counted.
    """

    def __init__(self, inner: Provider, seconds: float) -> None:
        super().__init__(inner)
        self._seconds = seconds

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Forward the request.

        Raises:
            ProviderTimeoutError: No answer arrived in time.
        """
        with anyio.move_on_after(self._seconds):
            return await self.inner.complete(request, n=n)
        raise self._timeout("no answer within")

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Forward the request.

        Raises:
            ProviderTimeoutError: On entering or between chunks: nothing arrived in time.
        """
        # Scopes nest: ending this one once the stream is open would end those the stream opened.
        with anyio.CancelScope(deadline=anyio.current_time() + self._seconds) as opening:
            async with open_stream(self.inner, request) as chunks:
                if opening.cancel_called:
                    raise self._timeout("no data received for")
                opening.deadline = math.inf
                async with aclosing(self._timed(chunks)) as timed:
                    yield timed
        if opening.cancelled_caught:
            raise self._timeout("no data received for")

    async def _timed(self, chunks: AsyncIterator[Chunk]) -> AsyncGenerator[Chunk]:
        while True:
            chunk = None
            with anyio.move_on_after(self._seconds) as waiting:
                chunk = await anext(chunks, None)
            if waiting.cancelled_caught:
                raise self._timeout("no data received for")
            if chunk is None:
                return
            yield chunk

    def _timeout(self, what_happened: str) -> ProviderTimeoutError:
        setting = "limits.timeout_s"
        error = ProviderTimeoutError(f"{what_happened} {self._seconds:g} s; raise `{setting}`")
        error.setting = setting
        return error


class Retrying(Layer):
    """Retry a request if the failure indicates that this may help.

    The only layer that retries: the SDKs' own retries are switched off, so that a budget of two
    retries never becomes nine requests. Waits as long as the provider asks (`Retry-After`), at most
    60 s, or else a random delay growing from 0.5 s. It gives up at once where the provider asks for
    more than the deadline or all retries together allow.

    Args:
        inner: The wrapped provider.
        retries: The maximum number of retries.
        deadline: When the caller stops waiting, on the event loop's clock. That of the cancel
            scopes around a call counts, too.
    """

    def __init__(self, inner: Provider, retries: int, *, deadline: float = math.inf) -> None:
        super().__init__(inner)
        self._retries = retries
        self._deadline = deadline

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Forward the request, repeatedly if necessary.

        Raises:
            ProviderError: The last failure, once retries are used up or pointless.
        """
        return await call_with_retries(
            partial(self.inner.complete, request, n=n), self._retries, _BACKOFF_S, self._deadline
        )

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Forward the request, repeatedly if necessary, until the first chunk arrives.

        Passed-on chunks cannot be taken back: a stream that breaks later is not restarted.

        Raises:
            ProviderError: The last failure, once retries are used up or pointless.
        """
        async with AsyncExitStack() as stack:

            async def begin() -> AsyncIterator[Chunk]:
                return await stack.enter_async_context(begin_stream(self.inner, request))

            yield await call_with_retries(begin, self._retries, _BACKOFF_S, self._deadline)


class Traced(Layer):
    """Open a span around each request that is not streamed.

    All spans have the span active at the layer's creation as their parent: the caller that happens
    to need an answer first may have finished before it arrives.

    Args:
        inner: The wrapped provider.
        name: The name of the spans.
    """

    def __init__(self, inner: Provider, name: str) -> None:
        super().__init__(inner)
        self._name = name
        self._parent = current_trace_context()

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Forward the request."""
        attributes = {"gen_ai.request.model": request.model, "gen_ai.request.choice.count": n}
        with span(self._name, attributes, parent=self._parent) as active_span:
            completions = await self.inner.complete(request, n=n)
            usage = completions.usage
            active_span.set(
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
    request: Request,
    count: int,
    on_answer: Callable[[Completion], None],
    on_failure: Callable[[Exception], None],
) -> Usage:
    """Request `count` answers and pass on each as it arrives.

    A provider that supports `n` gets one request, then single requests for the missing answers.
    Many ignore `n` and answer once, and a proxy may refuse it, or a server may refuse more answers
    than it has slots: then every answer gets its own request, and the process remembers it. Each
    answer is requested under its own index, counting from the request's; a request for several
    carries the first of their indices.

    Args:
        provider: The provider.
        request: The request.
        count: Number of answers to request, at least 0.
        on_answer: Called with each answer, in order of arrival.
        on_failure: Called with the error of each request that failed for good.

    Returns:
        The tokens and cost of the requests that succeeded.
    """
    usages: list[Usage] = []

    async def send(first: int, n: int) -> Completions:
        answers = await provider.complete(replace(request, index=request.index + first), n=n)
        usages.append(answers.usage)
        for completion in answers.items[:n]:
            on_answer(completion)
        return answers

    async def request_one(index: int) -> None:
        try:
            await send(index, 1)
        # A provider's error, of any type, costs this answer only and never the user's own.
        except Exception as error:
            on_failure(error)

    arrived, is_short = 0, False
    if 1 < count < _refused_count(provider, request) and await provider.takes_n(request):
        arrived, failures = await _request_together(send, count)
        lasting = [error for error in failures if not refuses_n(error)]
        for error in lasting:
            on_failure(error)
        if lasting:
            return sum(usages, Usage())
        is_short = arrived < count
    answered_together = len(usages)
    async with anyio.create_task_group() as tasks:
        for index in range(arrived, count):
            tasks.start_soon(request_one, index)
    # If single requests fail as well, it was not about their number.
    if is_short and len(usages) > answered_together:
        _remember_refusal(provider, request, count)
    return sum(usages, Usage())


# The smallest number of answers at once that an endpoint has refused or did not give; the latest is
# last. A wrong entry only costs a provider that would take `n` some requests.
_refused_counts: OrderedDict[Hashable, int] = OrderedDict()
_MAX_ENDPOINTS = 1024
# The providers that are endpoints themselves. An id is not reused while its provider is in here.
_providers: WeakValueDictionary[int, Provider] = WeakValueDictionary()


def _refused_count(provider: Provider, request: Request) -> float:
    innermost = _innermost(provider)
    is_known = hasattr(innermost, "endpoint") or _providers.get(id(innermost)) is innermost
    endpoint = _endpoint(innermost, request) if is_known else None
    return math.inf if endpoint is None else _refused_counts.get(endpoint, math.inf)


def _remember_refusal(provider: Provider, request: Request, count: int) -> None:
    innermost = _innermost(provider)
    endpoint = _endpoint(innermost, request)
    if endpoint is None:
        return
    if not hasattr(innermost, "endpoint"):
        try:
            _providers[id(innermost)] = innermost
        # A class without support for weak references.
        except TypeError:
            return
    _refused_counts[endpoint] = min(count, _refused_counts.get(endpoint, count))
    _refused_counts.move_to_end(endpoint)
    if len(_refused_counts) > _MAX_ENDPOINTS:
        _refused_counts.popitem(last=False)


def _innermost(provider: Provider) -> Provider:
    while isinstance(provider, Layer):
        provider = provider.inner
    return provider


def _endpoint(innermost: Provider, request: Request) -> Hashable | None:
    """Return what identifies the model and the server of a provider; None if unknown."""
    # A provider made for one request knows a lasting name.
    name: object = getattr(innermost, "endpoint", id(innermost))
    if not isinstance(name, (str, int)):
        return None
    return name, request.model, base_url_in(request.params)


async def _request_together(
    request: Callable[[int, int], Awaitable[Completions]], count: int
) -> tuple[int, tuple[Exception, ...]]:
    """Request all answers at once; return how many arrived, and why the others did not."""
    try:
        answers = await request(0, count)
    except Exception as error:
        return 0, (error,)
    arrived = len(answers.items)
    return arrived, answers.failures if arrived < count else ()


def refuses_n(error: Exception) -> bool:
    """Return whether to request each answer separately after this error."""
    # A bad request may be about `n` alone; a bad key or an overload is not, and sending n more
    # requests would only make it worse.
    return isinstance(error, ProviderRefusedError) and error.status in (400, 422)


class AnswersOnly(Layer):
    """Drop the reasoning that a server leaves in the text of its answers.

    For samples, judges and writers, whose reasoning nobody reads: it is not what they say.

    Args:
        inner: The wrapped provider.

    Attributes:
        saw_unopened: Whether an answer had a closing mark without an opening one, because the
            server opens the reasoning of this model in the prompt.
    """

    def __init__(self, inner: Provider) -> None:
        super().__init__(inner)
        self.saw_unopened = False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Forward the request, and reduce the answers to what they say."""
        completions = await self.inner.complete(request, n=n)
        return replace(completions, items=tuple(map(self._answer_in, completions.items)))

    def _answer_in(self, completion: Completion) -> Completion:
        split = split_reasoning(completion.text)
        self.saw_unopened = self.saw_unopened or split.is_unopened
        if not split.reasoning:
            # Where the prompt opens the reasoning, a text cut before its end shows no mark.
            is_cut = self.saw_unopened and completion.was_cut
            return replace(completion, text="", logprobs=()) if is_cut else completion
        tokens = answer_tokens(completion.logprobs)
        return replace(completion, text=split.answer, logprobs=tokens)


def answer_tokens(tokens: Sequence[TokenLogprob]) -> tuple[TokenLogprob, ...]:
    """Return the tokens of an answer, without those of the reasoning around or inside it."""
    split = split_reasoning("".join([token.token for token in tokens]))
    remaining: list[TokenLogprob] = []
    position = 0
    for token in tokens:
        end = position + len(token.token)
        is_reasoning = any(start < end and position < stop for start, stop in split.reasoning)
        if not is_reasoning:
            remaining.append(token)
        position = end
    return tuple(remaining)


class FanOut(Layer):
    """Complete the number of answers when a provider returns fewer than n."""

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Return n answers.

        Args:
            request: The request.
            n: Number of answers to request, at least 1.

        Returns:
            The answers that arrived, at least one, with the failures of the others attached.

        Raises:
            Exception: No answer arrived; the first failure is raised.
        """
        items: list[Completion] = []
        failures: list[Exception] = []
        usage = await draw(self.inner, request, n, items.append, failures.append)
        if not items:
            raise failures[0]
        return Completions(tuple(items), usage, tuple(failures))


# Statuses that providers return for an unsupported parameter: a bad request, a model that does not
# expose log-probabilities, or no endpoint that supports the parameter.
_ABOUT_PARAMETERS = frozenset({400, 403, 404, 422})


class WithLogprobs(Layer):
    """Request token log-probabilities, and fall back to none if they are refused.

    A request that already requests them, with at least as many alternatives, is left unchanged.

    Args:
        inner: The wrapped provider.
        top: Number of alternatives to request per token; 0 for none.
    """

    def __init__(self, inner: Provider, top: int) -> None:
        super().__init__(inner)
        self._top = top

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Forward the request with log-probabilities, and unchanged if they are refused."""
        with_logprobs = self._with_logprobs(request)
        if with_logprobs.params == request.params:
            return await self.inner.complete(request, n=n)
        try:
            return await self.inner.complete(with_logprobs, n=n)
        except ProviderRefusedError as error:
            if error.status not in _ABOUT_PARAMETERS:
                raise
        return await self.inner.complete(request, n=n)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Forward like `complete`; falls back only if refused before the first chunk."""
        async with AsyncExitStack() as stack:
            chunks = await self._try_stream(stack, request)
            if chunks is None:
                chunks = await stack.enter_async_context(open_stream(self.inner, request))
            yield chunks

    async def _try_stream(
        self, stack: AsyncExitStack, request: Request
    ) -> AsyncIterator[Chunk] | None:
        with_logprobs = self._with_logprobs(request)
        if with_logprobs.params == request.params:
            return None
        try:
            return await stack.enter_async_context(begin_stream(self.inner, with_logprobs))
        except ProviderRefusedError as error:
            if error.status not in _ABOUT_PARAMETERS:
                raise
        return None

    def _with_logprobs(self, request: Request) -> Request:
        params = {**request.params, "logprobs": True}
        if self._top:
            top = request.params.get("top_logprobs")
            # The client's value may be of any type.
            params["top_logprobs"] = max(self._top, top if isinstance(top, int) else 0)
        return replace(request, params=params)
