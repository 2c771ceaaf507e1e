"""Samples: other responses to the same request, drawn on demand."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeVar, cast

import anyio
from anyio.abc import TaskGroup

from resay._internal.event_loops import compute
from resay.core.decoding import is_fixed
from resay.core.logprobs import TokenLogprob
from resay.core.passage import Passage
from resay.core.request import Request
from resay.core.segmentation.choices import Splitter
from resay.core.tokens import CachedTokenizer
from resay.providers.base import Completion, Provider
from resay.providers.layers import draw

SPLITTING = 5
"""Cost of splitting one character of text into sentences, in characters; see `compute`."""

T = TypeVar("T")
# Independent samples may give answers up to this length in the same words.
_SHORT_CHARS = 60


class Sample:
    """Another response to the same request.

    Attributes:
        index: Its position among the samples, from 0, in order of arrival.
        text: The response.
        runs: Splits it into words; shared with the other samples of a pool.
        logprobs: Its tokens, if they were requested and the provider returned them.
    """

    def __init__(
        self,
        index: int,
        text: str,
        splitter: Splitter = "builtin",
        runs: CachedTokenizer | None = None,
        logprobs: tuple[TokenLogprob, ...] = (),
    ) -> None:
        self.index = index
        self.text = text
        self.logprobs = logprobs
        self.runs = CachedTokenizer() if runs is None else runs
        self._splitter: Splitter = splitter
        self._derived: dict[object, object] = {}

    @cached_property
    def passage(self) -> Passage:
        """The sample split into sentences; split once for all scorers."""
        return Passage.of(self.text, splitter=self._splitter)

    async def split(self) -> Passage:
        """Return `passage`, split off the event loop if that takes long."""
        return await compute(lambda: self.passage, chars=SPLITTING * len(self.text))

    def derived(self, make: Callable[[str], T]) -> T:
        """Return a value derived from the text, computed once for all callers.

        Args:
            make: Computes the value; also its cache key.
        """
        if make not in self._derived:
            self._derived[make] = make(self.text)
        return cast("T", self._derived[make])


class Samples:
    """A growing pool of samples, shared by all scorers of one check.

    Nothing is drawn until a caller needs it, and each sample is drawn once for all callers.
    Iterating draws all samples; `first` draws as many as requested.

    Args:
        texts: Initial samples.
        splitter: How samples are split into sentences.

    Attributes:
        failures: The errors of sample requests that finally failed.
        chars: Total number of characters of the existing samples.
        runs: Splits all of them into words.
    """

    def __init__(self, texts: Sequence[str] = (), *, splitter: Splitter = "builtin") -> None:
        self._splitter: Splitter = splitter
        self._arrived: list[Sample] = []
        self._changed = anyio.Event()
        self._source: _Source | None = None
        self.failures: list[Exception] = []
        self._derived: dict[object, tuple[int, object]] = {}
        self._deriving = anyio.Lock()
        self._differ = False
        self._cut: re.Pattern[str] | None = None
        self.chars = 0
        self.runs = CachedTokenizer()
        self.add(texts)

    def add(self, texts: Iterable[str]) -> None:
        """Add existing samples."""
        for text in texts:
            self._add(text)

    def cut_words(self, beginning: str) -> None:
        """Cut words with this beginning after it, in existing samples and in those to come.

        The response ends in the beginning of a word; what its samples say there is no other word.

        Args:
            beginning: The beginning, at least two letters or digits.
        """
        self._cut = re.compile(rf"(?<![^\W_])({re.escape(beginning)})[^\W_]+")
        uncut = self._arrived
        self._arrived, self._differ, self.chars = [], False, 0
        self._derived.clear()
        for sample in uncut:
            self._add(sample.text, sample.logprobs)

    def _add(self, text: str, logprobs: tuple[TokenLogprob, ...] = ()) -> None:
        if self._cut is not None:
            text = self._cut.sub(r"\1", text)
        # An empty text (a tool call, a filtered answer) says nothing about the passage.
        if not text or text.isspace():
            return
        if self._arrived and text != self._arrived[0].text:
            self._differ = True
        index = len(self._arrived)
        self._arrived.append(Sample(index, text, self._splitter, self.runs, logprobs))
        self.chars += len(text)

    def draw_from(
        self,
        tasks: TaskGroup,
        provider: Provider,
        request: Request,
        *,
        max_requests: int,
        ahead: int = 0,
    ) -> None:
        """Set the source of samples, without drawing any yet.

        Args:
            tasks: The task group that draws; cancelling it stops the drawing.
            provider: The provider to ask.
            request: The request to send.
            max_requests: Maximum number of samples to request, failed requests included.
            ahead: Number of samples to draw beyond those asked for.
        """
        self._source = _Source(
            tasks=tasks,
            provider=provider,
            request=request,
            max_requests=max_requests,
            ahead=ahead,
        )

    def start_drawing(self, count: int) -> None:
        """Start drawing until this many samples exist, or no more can be drawn."""
        source = self._source
        if source is None:
            return
        source.target = max(source.target, count)
        wave = source.next_wave(len(self._arrived))
        if wave:
            source.tasks.start_soon(self._draw, source, wave)

    async def _draw(self, source: _Source, wave: range) -> None:
        request = replace(source.request, index=wave.start)
        pending = len(wave)

        def add_arrived(completion: Completion) -> None:
            nonlocal pending
            pending -= 1
            source.in_flight -= 1
            self._add(completion.text, completion.logprobs)
            self._replace_and_notify()

        try:
            await draw(source.provider, request, len(wave), add_arrived, self.failures.append)
        # A provider that raises an unforeseen error costs its samples, not the user's answer.
        except Exception as error:
            self.failures.append(error)
        except anyio.get_cancelled_exc_class():
            source.max_requests = source.requested
            raise
        finally:
            source.in_flight -= pending
            self._replace_and_notify()

    def _replace_and_notify(self) -> None:
        """Draw replacements for failed samples, and wake the waiters."""
        self.start_drawing(0)
        self._changed.set()
        self._changed = anyio.Event()

    def __len__(self) -> int:
        return len(self._arrived)

    async def __aiter__(self) -> AsyncIterator[Sample]:
        async for sample in self.first(self.available):
            yield sample

    async def first(self, count: int, *, after: int = 0) -> AsyncIterator[Sample]:
        """Yield the first samples, each as soon as it arrives.

        Args:
            count: Number of samples to yield, skipped ones included.
            after: Number of leading samples to skip.

        Yields:
            At most `count - after` samples; fewer if no more can be drawn.
        """
        self.start_drawing(count)
        position = after
        while position < count:
            if position < len(self._arrived):
                yield self._arrived[position]
                position += 1
            elif self._source is not None and self._source.in_flight:
                await self._changed.wait()
            else:
                return

    @property
    def available(self) -> int:
        """Number of samples if every remaining request succeeded."""
        source = self._source
        return len(self._arrived) + (source.in_flight + source.remaining if source else 0)

    @property
    def was_requested(self) -> bool:
        """Whether any samples were requested."""
        return self._source is not None and self._source.requested > 0

    @property
    def arrived(self) -> tuple[Sample, ...]:
        """The samples that have arrived."""
        return tuple(self._arrived)

    def derived(self, make: Callable[[Sequence[Sample]], T]) -> T:
        """Return a value derived from the samples so far, computed once until more arrive.

        Args:
            make: Computes the value; also its cache key.
        """
        if not self._has(make):
            arrived = self.arrived
            self._derived[make] = len(arrived), make(arrived)
        return cast("T", self._derived[make][1])

    async def derive(self, make: Callable[[Sequence[Sample]], T], *, chars: float) -> T:
        """Return the same as `derived`, computed off the event loop if that takes long.

        Args:
            make: Computes the value; also its cache key.
            chars: Cost of computing it, in characters; see `compute`.
        """
        if not self._has(make):
            # Concurrent callers wait for the same value instead of computing it again.
            async with self._deriving:
                await compute(partial(self.derived, make), chars=0 if self._has(make) else chars)
        return self.derived(make)

    def _has(self, make: object) -> bool:
        return self._derived.get(make, (-1,))[0] == len(self._arrived)

    async def all(self) -> tuple[Sample, ...]:
        """Draw all remaining samples and return every sample."""
        self.start_drawing(self.available)
        while self._source is not None and self._source.in_flight:
            await self._changed.wait()
        return self.arrived

    @property
    def all_identical(self) -> bool:
        """Whether there are several samples and all are copies of one answer.

        They are if all have the same text, and were drawn by greedy decoding or with a seed, or are
        long: independent answers of more than a few words never repeat byte for byte, but
        "Paris." does.
        """
        if len(self._arrived) < 2 or self._differ:
            return False
        return self.are_fixed or len(self._arrived[0].text) > _SHORT_CHARS

    @property
    def are_fixed(self) -> bool:
        """Whether the samples are drawn by greedy decoding or with a seed."""
        return self._source is not None and is_fixed(self._source.request.params)


@dataclass(slots=True)
class _Source:
    """The source of samples, and the number of samples requested from it."""

    tasks: TaskGroup
    provider: Provider
    request: Request
    max_requests: int
    ahead: int
    target: int = 0
    requested: int = 0
    in_flight: int = 0

    @property
    def remaining(self) -> int:
        return self.max_requests - self.requested

    def next_wave(self, existing: int) -> range:
        """Return the indexes of the samples to request now."""
        if not self.target:
            return range(0)
        missing = self.target + self.ahead - existing - self.in_flight
        count = max(min(missing, self.remaining), 0)
        wave = range(self.requested, self.requested + count)
        self.requested += count
        self.in_flight += count
        return wave
