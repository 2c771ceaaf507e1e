"""Everything a scorer may look at: samples on demand, references, token logprobs, and a judge."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import anyio
from anyio.abc import TaskGroup

from resay.errors import ProviderError
from resay.logprobs import TokenLogprob
from resay.passage import Passage, Splitter
from resay.providers.base import Completion, Completions, Provider
from resay.providers.fanout import FanOut, draw
from resay.query import Message, Query

__all__ = ["Evidence", "Judge", "Sample", "Samples", "as_messages"]


class Sample:
    """Another response to the same query.

    Attributes:
        index: Its place among the samples, from 0, in order of arrival.
        text: What the model wrote this time.
    """

    def __init__(self, index: int, text: str, splitter: Splitter = "builtin") -> None:
        self.index = index
        self.text = text
        self._splitter: Splitter = splitter

    @cached_property
    def passage(self) -> Passage:
        """The sample split into sentences; split once for all scorers."""
        return Passage.of(self.text, splitter=self._splitter)


class Samples:
    """A growing pool of samples, shared by all scorers of one check.

    Whoever iterates gets every sample from the first on, as they land; each is drawn once.

    Args:
        texts: Samples that are there from the start.
        splitter: How samples are split into sentences.

    Attributes:
        failures: The errors of requests for samples that failed for good.
    """

    def __init__(self, texts: Sequence[str] = (), *, splitter: Splitter = "builtin") -> None:
        self._splitter: Splitter = splitter
        self._items: list[Sample] = []
        self._changed = anyio.Event()
        self._drawing = 0
        self.failures: list[Exception] = []
        for text in texts:
            self._add(text)

    def _add(self, text: str) -> None:
        # An empty text (a tool call, a filtered answer) says nothing about the passage.
        if text.strip():
            self._items.append(Sample(len(self._items), text, self._splitter))

    def start_drawing(self, tasks: TaskGroup, provider: Provider, query: Query, count: int) -> None:
        """Start to draw samples in the background.

        Args:
            tasks: The task group the drawing lives in; cancelling it ends the drawing.
            provider: Who is asked.
            query: What is asked.
            count: How many samples to draw.
        """
        self._drawing += 1
        tasks.start_soon(self._draw, provider, query, count)

    async def _draw(self, provider: Provider, query: Query, count: int) -> None:
        try:
            await draw(provider, query, count, self._land, self._fail)
        # A provider that breaks in an unforeseen way costs its samples, not the user's answer.
        except Exception as error:
            self._fail(error)
        finally:
            self._drawing -= 1
            self._notify()

    def _land(self, completion: Completion) -> None:
        self._add(completion.text)
        self._notify()

    def _fail(self, error: Exception) -> None:
        self.failures.append(error)

    def _notify(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    def __len__(self) -> int:
        return len(self._items)

    async def __aiter__(self) -> AsyncIterator[Sample]:
        position = 0
        while True:
            while position < len(self._items):
                yield self._items[position]
                position += 1
            if not self._drawing:
                return
            await self._changed.wait()

    @property
    def landed(self) -> tuple[Sample, ...]:
        """The samples that are there now."""
        return tuple(self._items)

    async def all(self) -> tuple[Sample, ...]:
        """Wait until nothing more is being drawn and return every sample."""
        return tuple([sample async for sample in self])

    @property
    def identical(self) -> bool:
        """Whether there are several samples and every one is the same text.

        Stochastic answers do not repeat byte for byte; a cache, a seed or a temperature of 0 does
        that, and then agreement between the samples means nothing.
        """
        return len(self._items) > 1 and len({s.text for s in self._items}) == 1


@dataclass(frozen=True, slots=True)
class Judge:
    """The LLM a prompt-based scorer asks."""

    provider: Provider
    query: Query

    async def ask(self, prompt: str | Sequence[Message]) -> str:
        """Ask one question and return the answer as text.

        Args:
            prompt: The question, or a conversation that ends with one.

        Raises:
            ProviderError: No answer could be had.
        """
        return (await self.complete(prompt)).first.text

    async def complete(self, prompt: str | Sequence[Message], *, n: int = 1) -> Completions:
        """Ask one question.

        Args:
            prompt: The question, or a conversation that ends with one.
            n: How many answers are wanted, at least 1.

        Returns:
            The answers that could be had, at least one, with the failures of the others attached.

        Raises:
            ProviderError: No answer could be had.
        """
        query = replace(self.query, messages=as_messages(prompt))
        asked = self.provider if n == 1 else FanOut(self.provider)
        try:
            return await asked.complete(query, n=n)
        except ProviderError:
            raise
        # Providers written elsewhere raise what they like; it costs this one answer.
        except Exception as error:
            raise ProviderError(f"the judge failed with {type(error).__name__}") from error

    def with_params(self, **params: Any) -> Judge:
        """Return the same judge asked with further parameters."""
        return replace(self, query=replace(self.query, params={**self.query.params, **params}))

    def varied(self, temperature: float | None = None) -> Judge:
        """Return the same judge asked for answers that differ.

        Args:
            temperature: The temperature; None for the judge's own unless that is 0.
        """
        return replace(self, query=self.query.for_sampling(temperature=temperature))


def as_messages(prompt: str | Sequence[Message]) -> tuple[Message, ...]:
    """Return a prompt as a conversation."""
    if isinstance(prompt, str):
        return ({"role": "user", "content": prompt},)
    return tuple(prompt)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a check has to go by.

    Attributes:
        samples: The pool of samples.
        references: Trusted texts supplied by the user or a retriever, in the form of a pool
            that methods can compare with as they do with samples.
        query: The query the response answers, where it is known.
        judge_provider: Who answers for judges, or None when nobody can be asked.
        logprobs: The tokens of the response with their probabilities; empty where there are none.
        scores: What the steps before this one say, one entry per sentence of the passage; for
            corrections.
    """

    samples: Samples = field(default_factory=Samples)
    references: Samples = field(default_factory=Samples)
    query: Query | None = None
    judge_provider: Provider | None = None
    logprobs: tuple[TokenLogprob, ...] = ()
    scores: tuple[float | None, ...] = ()
