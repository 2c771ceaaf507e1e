"""Runnables and language models as Resay's providers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langsmith.run_helpers import (
    tracing_context,  # pyright: ignore[reportUnknownVariableType] - LangSmith's
)

from resay import Query, Usage
from resay.adapters import source_of
from resay.adapters.threads import ASYNC, CallStyle, cancel_once, in_thread, read_in_threads
from resay.adapters.upstream import OneAnswer, OwnJudge
from resay.plugins import Chunk, Completions, Provider
from resay_langchain._inside import AnyRunnable
from resay_langchain._outcome import chunk_of, completion_of, stream_usage_of, usage_of

MakeConfig = Callable[[BaseCallbackHandler], RunnableConfig]
"""Creates the configuration of one child run, with a handler added to its callbacks."""


# A runnable's asynchronous clients belong to the event loop that first used them, so Resay's own
# loop must not touch them: for blocking callers, the synchronous methods run in threads. A run
# that is no longer wanted is left behind there, since a thread cannot be stopped.


async def ran(
    style: CallStyle, runnable: AnyRunnable, value: Any, config: RunnableConfig, **kwargs: Any
) -> Any:
    """Run a runnable for blocking or asynchronous callers."""
    if style.blocking:
        return await in_thread(partial(runnable.invoke, value, config, **kwargs))
    return await cancel_once(runnable.ainvoke(value, config, **kwargs))


def streamed(
    style: CallStyle, runnable: AnyRunnable, value: Any, config: RunnableConfig, **kwargs: Any
) -> AsyncGenerator[Any]:
    """Stream a runnable's output for blocking or asynchronous callers."""
    if style.blocking:
        return read_in_threads(runnable.stream(value, config, **kwargs))
    return ASYNC.iterate(runnable.astream(value, config, **kwargs))


@dataclass(eq=False, repr=False, kw_only=True)
class RunnableProvider(OneAnswer):
    """Answers queries by running a runnable once.

    Attributes:
        runnable: The runnable.
        value: Its input.
        kwargs: Further keyword arguments of its call.
        style: Whether the caller blocks or runs an event loop.
        config: Creates the configuration of each run.
        cache_source: Distinguishes its answers from those of other sources in a cache; None to
            disable caching.
    """

    runnable: Runnable[Any, Any]
    value: Any
    kwargs: Mapping[str, Any]
    style: CallStyle
    config: MakeConfig
    cache_source: str | None = None

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Run the runnable.

        Raises:
            Exception: Anything that the runnable raises, unchanged.
        """
        tokens = TokenCounter()
        output = await ran(
            self.style, self.runnable, self.value, self.config(tokens), **self.kwargs
        )
        return Completions((completion_of(output),), tokens.usage)


@dataclass(eq=False, repr=False, kw_only=True)
class ModelProvider(RunnableProvider):
    """Answers the main query with the chat model, whole or streamed.

    Callbacks and traces do not see this call: the guarded call is the run that they see.

    Attributes:
        references: Returns the trusted texts known when the answer is complete.
    """

    references: Callable[[], tuple[str, ...]]

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Call the model.

        Raises:
            Exception: Anything that the model raises, unchanged.
        """
        with self._untraced() as config:
            output = await ran(self.style, self.runnable, self.value, config, **self.kwargs)
        completion = replace(completion_of(output), references=self.references())
        return Completions((completion,), usage_of([output]))

    @asynccontextmanager
    async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Stream the model's answer.

        Raises:
            Exception: Anything that the model raises, unchanged.
        """
        with self._untraced() as config:
            source = streamed(self.style, self.runnable, self.value, config, **self.kwargs)
            async with aclosing(source) as messages, aclosing(self._read(messages)) as chunks:
                yield chunks

    @contextmanager
    def _untraced(self) -> Generator[RunnableConfig]:
        config = self.config(_NO_HANDLER)
        # A model may run others without passing on its configuration.
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
        yield Chunk(usage=stream_usage_of(seen), references=self.references())


def own_judge(
    judges: tuple[AnyRunnable, AnyRunnable] | None,
    style: CallStyle,
    config: MakeConfig,
    named_judges: Provider,
) -> OwnJudge:
    """Return the judge that uses the response's own model.

    Args:
        judges: The copies of the model; None if the policy never calls it.
        style: Whether the caller blocks or runs an event loop.
        config: Creates the configuration of each run.
        named_judges: Answers for the judges that a policy names.
    """
    if judges is None:
        # Without a source, it shares no cached answers.
        return OwnJudge(None, named=named_judges)
    plain, varied = judges

    async def ask(query: Query) -> Completions:
        judge = RunnableProvider(
            runnable=varied if query.varied else plain,
            value=[dict(message) for message in query.messages],
            kwargs=query.params,
            style=style,
            config=config,
        )
        return await judge.complete(query)

    return OwnJudge(ask, f"langchain {source_of(plain)}", named_judges)


class TokenCounter(BaseCallbackHandler):
    """Counts the tokens of every language model in a run."""

    run_inline = True

    def __init__(self) -> None:
        # Steps may run in parallel threads; appending is atomic.
        self._messages: list[Any] = []

    @property
    def usage(self) -> Usage:
        """The usage of the run so far; its cost in dollars is unknown."""
        return usage_of(self._messages)

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        for generation in (g for group in response.generations for g in group):
            if isinstance(generation, ChatGeneration):
                self._messages.append(generation.message)


_NO_HANDLER = BaseCallbackHandler()
