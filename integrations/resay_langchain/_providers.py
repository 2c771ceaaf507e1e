"""Runnables and their language models behind Resay's seam for providers."""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langsmith.run_helpers import (
    tracing_context,  # pyright: ignore[reportUnknownVariableType] - LangSmith's
)

from resay.adapters import cancelled_once, read_in_threads
from resay.adapters import in_thread as run_in_thread
from resay.core.query import Query
from resay.core.verdict import Usage
from resay.errors import ProviderError
from resay.providers.base import Chunk, Completions, Provider, prepare
from resay.providers.caching import source_of
from resay_langchain._inside import Judges
from resay_langchain._outcome import chunk_of, completion_of, usage_of

MakeConfig = Callable[[BaseCallbackHandler], RunnableConfig]
"""Makes the configuration of one child run, with a handler added to its callbacks."""


class Run(Protocol):
    """Runs a runnable once."""

    def __call__(
        self, runnable: Runnable[Any, Any], value: Any, config: RunnableConfig, **kwargs: Any
    ) -> Awaitable[Any]:
        """Give it an input and return its output."""
        ...


class Stream(Protocol):
    """Has a runnable stream."""

    def __call__(
        self, runnable: Runnable[Any, Any], value: Any, config: RunnableConfig, **kwargs: Any
    ) -> AsyncGenerator[Any]:
        """Give it an input and yield the pieces of its output."""
        ...


async def in_loop(
    runnable: Runnable[Any, Any], value: Any, config: RunnableConfig, **kwargs: Any
) -> Any:
    """Run a runnable on this event loop."""
    return await cancelled_once(runnable.ainvoke(value, config, **kwargs))


async def stream_in_loop(
    runnable: Runnable[Any, Any], value: Any, config: RunnableConfig, **kwargs: Any
) -> AsyncGenerator[Any]:
    """Have a runnable stream on this event loop."""
    async for message in runnable.astream(value, config, **kwargs):
        yield message


async def stream_in_thread(
    runnable: Runnable[Any, Any], value: Any, config: RunnableConfig, **kwargs: Any
) -> AsyncGenerator[Any]:
    """Have a runnable stream in a thread, by its synchronous side; see `in_thread`."""
    pieces = read_in_threads(runnable.stream(value, config, **kwargs))
    async with aclosing(pieces) as messages:
        async for message in messages:
            yield message


async def in_thread(
    runnable: Runnable[Any, Any], value: Any, config: RunnableConfig, **kwargs: Any
) -> Any:
    """Run a runnable in a thread, by its synchronous side.

    Its asynchronous clients belong to the event loop of whoever uses them first, so a loop of ours
    must not touch them. A run that is no longer wanted is left behind, since no thread can be
    stopped.
    """
    return await run_in_thread(partial(runnable.invoke, value, config, **kwargs))


class RunnableProvider:
    """Answers a query by running a runnable once.

    Args:
        runnable: What to run.
        value: Its input.
        kwargs: Further keyword arguments of its call.
        run: Where to run it.
        config: Makes the configuration of each run.
        cache_source: What distinguishes its answers from those of others, for a cache; None to keep
            none.
    """

    def __init__(
        self,
        runnable: Runnable[Any, Any],
        value: Any,
        kwargs: Mapping[str, Any],
        run: Run,
        config: MakeConfig,
        cache_source: str | None = None,
    ) -> None:
        self._runnable = runnable
        self._value = value
        self._kwargs = kwargs
        self._run = run
        self._config = config
        self.cache_source = cache_source

    async def takes_n(self, query: Query) -> bool:
        """Say no: a runnable gives one output."""
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Run it.

        Raises:
            Exception: Whatever the runnable raises, as it is.
        """
        tokens = TokenCounter()
        output = await self._run(self._runnable, self._value, self._config(tokens), **self._kwargs)
        return Completions((completion_of(output),), tokens.usage)


class ModelProvider(RunnableProvider):
    """Answers the main query by asking the chat model, in one piece or as it writes.

    Callbacks and tracing do not see it: the guarded call is the run they see.

    Args:
        model: The model.
        messages: The conversation.
        kwargs: Further keyword arguments of the call.
        run: Where to run it.
        stream: Where to have it stream.
        config: The configuration of its run.
        references: Returns the trusted texts that are known when the answer is complete.
    """

    def __init__(
        self,
        model: BaseChatModel,
        messages: Sequence[BaseMessage],
        kwargs: Mapping[str, Any],
        run: Run,
        stream: Stream,
        config: RunnableConfig,
        references: Callable[[], tuple[str, ...]],
    ) -> None:
        super().__init__(model, list(messages), kwargs, run, lambda _: config)
        self._stream = stream
        self._references = references

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the model.

        Raises:
            Exception: Whatever the model raises, as it is.
        """
        with self._unheard() as config:
            output = await self._run(self._runnable, self._value, config, **self._kwargs)
        completion = replace(completion_of(output), references=self._references())
        return Completions((completion,), usage_of([output]))

    @asynccontextmanager
    async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Ask the model for its answer in pieces.

        Raises:
            Exception: Whatever the model raises, as it is.
        """
        with self._unheard() as config:
            source = self._stream(self._runnable, self._value, config, **self._kwargs)
            async with aclosing(source) as messages, aclosing(self._read(messages)) as chunks:
                yield chunks

    @contextmanager
    def _unheard(self) -> Generator[RunnableConfig]:
        config = self._config(_NOBODY)
        # A model may run others without a configuration of their own.
        token = var_child_runnable_config.set(config)
        try:
            with tracing_context(enabled=False):
                yield config
        finally:
            var_child_runnable_config.reset(token)

    async def _read(self, messages: AsyncGenerator[Any]) -> AsyncGenerator[Chunk]:
        seen: list[Any] = []
        async for message in messages:
            seen.append(message)
            yield chunk_of(message)
        yield Chunk(usage=usage_of(seen), references=self._references())


class JudgeProvider:
    """Asks the response's own model, or the judge that a query names.

    Args:
        own: The response's own model; None when the policy never asks it.
        run: Where to run it.
        config: Makes the configuration of each run.
        named: Asks the judges that a policy names.
    """

    def __init__(self, own: Judges | None, run: Run, config: MakeConfig, named: Provider) -> None:
        self._own = own
        self._run = run
        self._config = config
        self._named = named
        # Nobody's, where there is no model: no answer of another is found then.
        self.cache_source: str | None = None
        if own is not None:
            self.cache_source = f"langchain {source_of(own.plain)}"

    async def prepare(self) -> None:
        """Have who answers for named judges load what it needs."""
        await prepare(self._named)

    async def takes_n(self, query: Query) -> bool:
        """Say no: a judge is asked for one answer."""
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the judge.

        Raises:
            ProviderError: There was no answer.
        """
        if query.model is not None or self._own is None:
            return await self._named.complete(query)
        messages = [dict(message) for message in query.messages]
        model = self._own.varied if query.varied else self._own.plain
        asked = RunnableProvider(model, messages, query.params, self._run, self._config)
        try:
            return await asked.complete(query)
        # Each provider's package has its own exceptions, and repeats what it likes in them.
        except Exception as error:
            # The model has retries of its own.
            raise ProviderError(f"the judge failed with {type(error).__name__}") from error


class TokenCounter(BaseCallbackHandler):
    """Counts the tokens of every language model that takes part in a run."""

    run_inline = True

    def __init__(self) -> None:
        # Steps may run in parallel threads; appending is atomic.
        self._messages: list[Any] = []

    @property
    def usage(self) -> Usage:
        """What the run has cost so far; nobody says how many dollars."""
        return usage_of(self._messages)

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        for generation in (g for group in response.generations for g in group):
            if isinstance(generation, ChatGeneration):
                self._messages.append(generation.message)


_NOBODY = BaseCallbackHandler()
