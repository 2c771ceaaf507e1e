"""Recorded answers in place of a provider, for tests and benchmarks."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from functools import partial

import anyio.lowlevel

from resay._internal.patterns import lazy_pattern
from resay.core.request import Request
from resay.core.usage import Usage
from resay.errors import ProviderError
from resay.providers.base import Chunk, Completion, Completions, Provider

_WORD = lazy_pattern(r"\s*\S+|\s+")


class ReplayProvider:
    """Replay recorded answers, keyed on the text of the last message.

    Each recorded answer is returned once, in the order recorded; two requests with the same text
    get its first and its second recording.

    Args:
        recording: The answers for each prompt, in order. None marks a call that failed when it was
            recorded and fails again on replay.
        repeat: Return the last answer of a prompt again once its recordings are used up.

    Example:
        >>> ReplayProvider({"What is the capital of Australia?": ["Canberra.", "Sydney."]})
        ReplayProvider(prompts=1)
    """

    def __init__(
        self, recording: Mapping[str, Iterable[str | None]], *, repeat: bool = False
    ) -> None:
        self._answers = {prompt: deque(answers) for prompt, answers in recording.items()}
        self._repeat = repeat

    def __repr__(self) -> str:
        return f"ReplayProvider(prompts={len(self._answers)})"

    async def takes_n(self, request: Request) -> bool:
        """Return True: any number of recorded answers can be returned at once."""
        return True

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Return the next n recorded answers to the last message, fewer if fewer are left.

        Raises:
            ProviderError: No recording is left for it, or the recorded call failed.
        """
        await anyio.lowlevel.checkpoint()
        answers = self._answers.get(str(request.messages[-1].get("content")))
        if not answers:
            raise ProviderError("no recording left for this prompt; record it first")
        items: list[Completion] = []
        for _ in range(min(n, len(answers))):
            text = self._next(answers)
            if text is not None:
                items.append(Completion(text))
        if not items:
            raise ProviderError("the recorded call failed")
        return Completions(tuple(items), Usage(calls=1, cost_usd=None))

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
        """Stream the next recorded answer word by word.

        Raises:
            ProviderError: No recording is left for it, or the recorded call failed.
        """
        return _stream_words(self, request)

    def _next(self, answers: deque[str | None]) -> str | None:
        if self._repeat and len(answers) == 1:
            return answers[0]
        return answers.popleft()


class ScriptedProvider:
    """Answer in memory, with the texts of a list in order, or with those of a function.

    For tests, and for conversations whose turns follow from each other. Each request gets one
    answer; the main call is made before samples are drawn.

    Args:
        answers: The answers in order, whatever the requests; or a function that takes the request
            and returns the answer.

    Attributes:
        requests: The requests so far, in order.

    Example:
        >>> provider = ScriptedProvider(["It has 6 lanes.", "It has 8 lanes."])
        >>> guard = Guard({"chain": [{"method": "facts"}]}, provider=provider)
    """

    def __init__(self, answers: Iterable[str] | Callable[[Request], str]) -> None:
        self.queries: list[Request] = []
        self._answer: Callable[[Request], str]
        if callable(answers):
            self._answer = answers
        else:
            self._answer = partial(_next_of, deque(answers))

    def __repr__(self) -> str:
        return f"ScriptedProvider(queries={len(self.queries)})"

    async def takes_n(self, request: Request) -> bool:
        """Return False: each request gets one answer."""
        return False

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Return the answer to a request.

        Raises:
            ProviderError: No answer is left.
        """
        self.queries.append(request)
        text = self._answer(request)
        await anyio.lowlevel.checkpoint()
        return Completions((Completion(text),), Usage(calls=1, cost_usd=None))

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
        """Stream the answer to a request word by word.

        Raises:
            ProviderError: No answer is left.
        """
        return _stream_words(self, request)


def _next_of(answers: deque[str], request: Request) -> str:
    del request
    if not answers:
        raise ProviderError("the script ran out of answers; add more")
    return answers.popleft()


@asynccontextmanager
async def _stream_words(
    provider: Provider, request: Request
) -> AsyncGenerator[AsyncIterator[Chunk]]:
    completions = await provider.complete(request)
    async with aclosing(_words(completions)) as chunks:
        yield chunks


async def _words(completions: Completions) -> AsyncGenerator[Chunk]:
    for word in _WORD.findall(completions.first.text):
        await anyio.lowlevel.checkpoint()
        yield Chunk(word)
    yield Chunk(usage=completions.usage)
