"""Runnables and language models as Resay's providers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langsmith.run_helpers import (
    tracing_context,  # pyright: ignore[reportUnknownVariableType] - LangSmith's
)

from resay import Document, Request, Usage
from resay.adapters import Sampling
from resay.adapters.threads import ASYNC, CallStyle, cancel_once, in_thread, read_in_threads
from resay.adapters.upstream import OneAnswer, OwnJudge, refusal_of
from resay.plugins import Chunk, Completions, Provider
from resay_langchain._inside import AnyRunnable, Model, judges_of
from resay_langchain._litellm import is_openai, source_of_model
from resay_langchain._outcome import (
    chunk_of,
    completion_of,
    shared_usage_of,
    stream_usage_of,
    usage_of,
)

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
    """Answers requests by running a runnable once.

    Attributes:
        runnable: The runnable.
        value: Its input.
        kwargs: Further keyword arguments of its call.
        style: Whether the caller blocks or runs an event loop.
        config: Creates the configuration of each run.
    """

    runnable: Runnable[Any, Any]
    value: Any
    kwargs: Mapping[str, Any]
    style: CallStyle
    config: MakeConfig

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
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
class SampleProvider(RunnableProvider):
    """Draws samples with a copy of the chat model, several in one request if it can.

    Attributes:
        model: The copy.
        source: Distinguishes the model from others.
        cache_source: The same, if answers may be cached; None otherwise.
    """

    model: BaseChatModel
    source: str
    cache_source: str | None

    @property
    def endpoint(self) -> str:
        """Identifies the model, whatever the request."""
        return self.source

    async def takes_n(self, request: Request) -> bool:
        """Return whether the model's class has a number of answers among its settings."""
        return "n" in type(self.model).model_fields

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Draw samples in one request.

        Raises:
            ProviderRefusedError: The provider refuses several answers at once.
            Exception: Anything else that the model raises, unchanged.
        """
        if n == 1:
            return await super().complete(request)
        config = self.config(_NO_HANDLER)
        kwargs: dict[str, Any] = {
            **self.kwargs,
            "callbacks": config.get("callbacks"),
            "tags": config.get("tags"),
            "metadata": config.get("metadata"),
            "run_name": config.get("run_name"),
        }
        model = self.model.model_copy(update={"n": n})
        try:
            # `invoke` returns the first answer only.
            if self.style.blocking:
                result = await in_thread(partial(model.generate, [self.value], **kwargs))
            else:
                result = await cancel_once(model.agenerate([self.value], **kwargs))
        except Exception as error:
            if (refusal := refusal_of(error)) is not None:
                raise refusal from error
            raise
        messages = [cast("ChatGeneration", item).message for item in result.generations[0]]
        return Completions(tuple(map(completion_of, messages)), shared_usage_of(messages))


@dataclass(eq=False, repr=False, kw_only=True)
class ModelProvider(RunnableProvider):
    """Answers the main request with the chat model, whole or streamed.

    Callbacks and traces do not see this call: the guarded call is the run that they see.

    Attributes:
        references: Returns the trusted texts known when the answer is complete.
    """

    references: Callable[[], tuple[str | Document, ...]]

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Call the model.

        Raises:
            Exception: Anything that the model raises, unchanged.
        """
        with self._untraced() as config:
            output = await ran(self.style, self.runnable, self.value, config, **self.kwargs)
        completion = replace(completion_of(output), references=self.references())
        return Completions((completion,), usage_of([output]))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
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
        # Sentences are compared with them while they arrive.
        early = self.references()
        if early:
            yield Chunk(references=early)
        seen: list[Any] = []
        async for message in messages:
            seen.append(message)
            yield chunk_of(message)
        late = tuple(each for each in self.references() if each not in early)
        yield Chunk(usage=stream_usage_of(seen), references=late)


def own_judge(
    model: Model | None,
    sampling: Sampling,
    style: CallStyle,
    config: MakeConfig,
    named_judges: Provider,
) -> OwnJudge:
    """Return the judge that uses the response's own model.

    Args:
        model: The model; None if it cannot be determined.
        sampling: How the policy samples.
        style: Whether the caller blocks or runs an event loop.
        config: Creates the configuration of each run.
        named_judges: Answers for the judges that a policy names.
    """
    if model is None:
        # Without a source, it shares no cached answers.
        return OwnJudge(None, named=named_judges)
    plain, varied = judges_of(model, sampling)

    async def ask(request: Request) -> Completions:
        judge = RunnableProvider(
            runnable=varied if request.varied else plain,
            value=[dict(message) for message in request.messages],
            kwargs=request.params,
            style=style,
            config=config,
        )
        return await judge.complete(request)

    return OwnJudge(
        own=ask,
        cache_source=source_of_model(model),
        named=named_judges,
        takes_openai_params=is_openai(model),
    )


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
