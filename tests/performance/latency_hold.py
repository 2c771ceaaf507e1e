"""When a held stream releases its first sentence, and when it could have."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from resay import Guard, Request, SentenceVerdict, Sources
from resay.adapters import CheckContext, GuardRuntime
from resay.plugins import Chunk, Completions, Layer, Provider
from resay.providers.base import open_stream

__all__ = ["Moments", "Released", "first_release"]


class Moments(Layer):
    """Records when samples, and the pieces of a stream, arrived.

    Attributes:
        samples: For each sample when it came, in seconds of `time.perf_counter`.
        pieces: For each piece of the stream when it came, and how long the text was with it.
        questions: What was asked, and for how many seconds it was waited for the answer.
    """

    def __init__(self, inner: Provider) -> None:
        super().__init__(inner)
        self.samples: list[float] = []
        self.pieces: list[tuple[float, int]] = []
        self.questions: list[tuple[str, float]] = []

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Ask the wrapped provider, and keep when its answers came."""
        started = time.perf_counter()
        completions = await self.inner.complete(request, n=n)
        ended = time.perf_counter()
        self.samples += [ended] * len(completions.items)
        self.questions.append((request.question, ended - started))
        return completions

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Ask the wrapped provider, and keep when its pieces came."""
        async with (
            open_stream(self.inner, request) as chunks,
            aclosing(self._noted(chunks)) as noted,
        ):
            yield noted

    async def _noted(self, chunks: AsyncIterator[Chunk]) -> AsyncGenerator[Chunk]:
        length = 0
        async for chunk in chunks:
            length += len(chunk.text)
            self.pieces.append((time.perf_counter(), length))
            yield chunk

    def judging(self, sentence: str, least: int) -> float:
        """Return how many seconds the slowest of the first questions about a sentence took."""
        about = [seconds for question, seconds in self.questions if sentence in question]
        return max(about[:least], default=0.0)

    def ready(self, end: int, least: int) -> float:
        """Return when a beginning of the text and so many samples were there.

        Args:
            end: How long the beginning is, in characters.
            least: How many samples.
        """
        written = next(at for at, length in self.pieces if length >= end)
        return max(written, sorted(self.samples)[least - 1])


@dataclass(frozen=True, slots=True)
class Released:
    """The first release of a stream.

    Attributes:
        seconds: When its reader had it, from asking on.
        ready_s: When its sentence and the samples it needs were there, from asking on, and as much
            later as the slowest of its judge's answers took.
        calls: How many calls the whole answer took.
        samples: How many samples were compared in the end.
        inconclusive: Whether nothing could be said in the end.
    """

    seconds: float
    ready_s: float
    calls: int
    samples: int
    inconclusive: bool


async def first_release(guard: Guard, request: Request, provider: Provider) -> Released:
    """Stream an answer, and take the time of the first sentence released.

    Args:
        guard: The guard.
        request: What is asked; its answer has at least one sentence.
        provider: Who answers everything.

    Returns:
        What was measured.
    """
    moments, judge = Moments(provider), Moments(provider)
    sources = Sources(main=moments, samples=moments, judge=judge)
    released: float | None = None
    sentence = SentenceVerdict("", 0, 0)
    started = time.perf_counter()
    async with GuardRuntime(guard).astream_with(
        CheckContext(request), sources, stream_mode="hold"
    ) as stream:
        async for part in stream:
            if released is None and part.sentences:
                released, sentence = time.perf_counter(), part.sentences[0]
    verdict = stream.answer.verdict
    least = guard.policy.sampling.min
    ready = moments.ready(sentence.end, least) + judge.judging(sentence.text, least)
    assert released is not None
    return Released(
        released - started,
        ready - started,
        stream.answer.usage.calls,
        verdict.samples,
        verdict.inconclusive,
    )
