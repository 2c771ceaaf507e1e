"""Runnables and their language models behind Resay's seam for providers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial
from typing import Any, Protocol

import anyio
import anyio.to_thread
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import Runnable, RunnableConfig

from resay.errors import ProviderError
from resay.logprobs import TokenLogprob, read_logprobs
from resay.providers.base import Completion, Completions
from resay.providers.litellm import LiteLLMProvider
from resay.query import Query
from resay.verdict import Usage
from resay_langchain._inside import Model
from resay_langchain._outcome import text_of

__all__ = ["JudgeProvider", "MakeConfig", "Run", "RunnableProvider", "in_loop", "in_thread"]

MakeConfig = Callable[[BaseCallbackHandler], RunnableConfig]
"""Makes the configuration of one child run, with a handler added to its callbacks."""


class Run(Protocol):
    """Runs a runnable once."""

    def __call__(
        self, runnable: Runnable[Any, Any], value: Any, config: RunnableConfig, **kwargs: Any
    ) -> Awaitable[Any]:
        """Give it an input and return its output."""
        ...


async def in_loop(
    runnable: Runnable[Any, Any], value: Any, config: RunnableConfig, **kwargs: Any
) -> Any:
    """Run a runnable on this event loop."""
    return await runnable.ainvoke(value, config, **kwargs)


async def in_thread(
    runnable: Runnable[Any, Any], value: Any, config: RunnableConfig, **kwargs: Any
) -> Any:
    """Run a runnable in a thread, by its synchronous side.

    Its asynchronous clients belong to the event loop of whoever uses them first, so a loop of ours
    must not touch them. A run that is no longer wanted is left behind, since no thread can be
    stopped.
    """
    return await anyio.to_thread.run_sync(
        partial(runnable.invoke, value, config, **kwargs),
        abandon_on_cancel=True,
        # The policy limits how many there are. The event loop's own few dozen threads must stay
        # free, or the guards that these threads may be waiting for could not go on.
        limiter=anyio.CapacityLimiter(1),
    )


class RunnableProvider:
    """Answers a query by running a runnable once.

    Args:
        runnable: What to run.
        value: Its input.
        kwargs: Further keyword arguments of its call.
        run: Where to run it.
        config: Makes the configuration of each run.
    """

    def __init__(
        self,
        runnable: Runnable[Any, Any],
        value: Any,
        kwargs: Mapping[str, Any],
        run: Run,
        config: MakeConfig,
    ) -> None:
        self._runnable = runnable
        self._value = value
        self._kwargs = kwargs
        self._run = run
        self._config = config

    async def takes_n(self, query: Query) -> bool:
        """Say no: a runnable gives one output."""
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Run it.

        Raises:
            Exception: Whatever the runnable raises, as it is.
        """
        tokens = _TokenCounter()
        output = await self._run(self._runnable, self._value, self._config(tokens), **self._kwargs)
        completion = Completion(text_of(output), logprobs=_logprobs_of(output), raw=output)
        return Completions((completion,), tokens.usage)


def _logprobs_of(output: object) -> tuple[TokenLogprob, ...]:
    # Where OpenAI's and compatible chat models put what the provider returned.
    return read_logprobs(getattr(output, "response_metadata", {}).get("logprobs"))


class JudgeProvider:
    """Asks the response's own model, or the judge that a query names.

    Args:
        model: The response's own model; None when the policy never asks it.
        run: Where to run it.
        config: Makes the configuration of each run.
    """

    def __init__(self, model: Model | None, run: Run, config: MakeConfig) -> None:
        self._model = model
        self._run = run
        self._config = config

    async def takes_n(self, query: Query) -> bool:
        """Say no: a judge is asked for one answer."""
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the judge.

        Raises:
            ProviderError: There was no answer.
        """
        if query.model is not None or self._model is None:
            return await _litellm().complete(query)
        messages = [dict(message) for message in query.messages]
        asked = RunnableProvider(self._model, messages, query.params, self._run, self._config)
        try:
            return await asked.complete(query)
        # Each provider's package has its own exceptions, and repeats what it likes in them.
        except Exception as error:
            # The model has retries of its own.
            raise ProviderError(f"the judge failed with {type(error).__name__}") from error


@cache
def _litellm() -> LiteLLMProvider:
    return LiteLLMProvider()


class _TokenCounter(BaseCallbackHandler):
    """Counts the tokens of every language model that takes part in a run."""

    run_inline = True

    def __init__(self) -> None:
        # Steps may run in parallel threads; appending is atomic.
        self._spent: list[Usage] = []

    @property
    def usage(self) -> Usage:
        return sum(self._spent, Usage(calls=1, cost_usd=None))

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        for generation in (g for group in response.generations for g in group):
            message = generation.message if isinstance(generation, ChatGeneration) else None
            if usage := getattr(message, "usage_metadata", None):
                self._spent.append(Usage(0, usage["input_tokens"], usage["output_tokens"]))
