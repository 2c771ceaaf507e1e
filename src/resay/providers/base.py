"""The seam to whatever answers queries, and the routes of a check to its providers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, runtime_checkable

from resay._internal.event_loops import compute
from resay.core.logprobs import TokenLogprob, TopLogprob
from resay.core.query import Query
from resay.core.references import Citation, Reference
from resay.core.usage import Usage
from resay.core.verdict import Via

__all__ = [
    "Chunk",
    "Completion",
    "Completions",
    "Gathered",
    "Layer",
    "Prepares",
    "Provider",
    "Sources",
    "Streams",
    "TokenLogprob",
    "ToolCall",
    "TopLogprob",
    "begin_stream",
    "open_stream",
    "prepare",
]
# As many characters take as long as a chunk that is put with those before it.
_GATHERING = 10
_NEW_WORDS = "the end of the stream has words that did not come before"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool that the model asks for, or a piece of one that is still being written.

    Attributes:
        name: The tool's name.
        arguments: What it is given, as JSON.
        index: Which of the answer's calls it is, from 0.
    """

    name: str
    arguments: str = field(default="", repr=False)
    index: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer.

    Attributes:
        text: What the model wrote; empty for a pure tool call.
        finish_reason: Why it stopped, as the provider says.
        logprobs: Its tokens, where they were asked for and the provider returned them.
        raw: The provider's own object for this answer, untouched.
        calls: The calls of tools it asks for.
        references: Trusted texts it was written from, where the provider knows them: what a chain
            retrieved for the question, say. Together they are one reference.
        unread: What of it cannot be read, and so is not in the text; None where all can.
        found: What the provider itself found for it: the results of its file search, say.
        citations: The citations that the provider attached to it.
    """

    text: str
    finish_reason: str | None = None
    logprobs: tuple[TokenLogprob, ...] = ()
    raw: object = field(default=None, repr=False, compare=False)
    calls: tuple[ToolCall, ...] = field(default=(), repr=False)
    references: tuple[str, ...] = field(default=(), repr=False)
    unread: str | None = field(default=None, repr=False)
    found: tuple[Reference, ...] = field(default=(), repr=False)
    citations: tuple[Citation, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Completions:
    """The answers to one query.

    Attributes:
        items: The answers that arrived.
        usage: What they cost.
        failures: Requests that failed while others succeeded.
    """

    items: tuple[Completion, ...]
    usage: Usage = field(default_factory=Usage)
    failures: tuple[Exception, ...] = ()

    @property
    def first(self) -> Completion:
        """The first answer."""
        return self.items[0]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of an answer that is still being written.

    Attributes:
        text: What it adds to the text; the texts of all chunks joined are the answer.
        finish_reason: Why the model stopped, in the chunk that says so.
        logprobs: The tokens of this piece, where they were asked for and are given.
        usage: What the request cost, in the chunk that says so.
        raw: The provider's own object for this chunk, untouched.
        calls: Pieces of the calls of tools it asks for; pieces with the same index belong together.
        references: Trusted texts the answer is written from, in the chunk that says so.
        unread: What of this piece cannot be read; None where all can.
        found: What the provider itself found for the answer, in the chunk that says so.
        citations: The citations attached to the whole answer, in the chunk that says so.
        repeats: Text of the answer that this piece gives once more, after a name for the kind of
            piece: those of one kind, joined, have no words that did not come before.
    """

    text: str = ""
    finish_reason: str | None = None
    logprobs: tuple[TokenLogprob, ...] = ()
    usage: Usage | None = None
    raw: object = field(default=None, repr=False, compare=False)
    calls: tuple[ToolCall, ...] = field(default=(), repr=False)
    references: tuple[str, ...] = field(default=(), repr=False)
    unread: str | None = field(default=None, repr=False)
    repeats: tuple[str, str] | None = field(default=None, repr=False)
    found: tuple[Reference, ...] = field(default=(), repr=False)
    citations: tuple[Citation, ...] = field(default=(), repr=False)


class Gathered:
    """What the chunks of one answer have said so far.

    Example:
        >>> gathered = Gathered()
        >>> for chunk in (Chunk("Yes"), Chunk(".", finish_reason="stop")):
        ...     gathered.add(chunk)
        >>> gathered.completion
        Completion(text='Yes.', finish_reason='stop', logprobs=())
    """

    def __init__(self) -> None:
        self._chunks: list[Chunk] = []
        self._completion: Completion | None = None

    def add(self, chunk: Chunk) -> None:
        """Take the next chunk."""
        self._chunks.append(chunk)
        self._completion = None

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(chunk.text for chunk in self._chunks)

    @property
    def usage(self) -> Usage | None:
        """What the request cost; None as long as no chunk says so."""
        told = [chunk.usage for chunk in self._chunks if chunk.usage is not None]
        return sum(told, Usage()) if told else None

    @property
    def completion(self) -> Completion:
        """The answer so far, with the provider's own objects of its chunks as a tuple in `raw`."""
        if self._completion is None:
            self._completion = self._complete()
        return self._completion

    async def whole(self) -> Completion:
        """Return `completion`, put together off the event loop where that takes time."""
        chars = _GATHERING * len(self._chunks)
        return await compute(partial(getattr, self, "completion"), chars=chars)

    def _complete(self) -> Completion:
        reasons = [chunk.finish_reason for chunk in self._chunks if chunk.finish_reason]
        return Completion(
            self.text,
            reasons[-1] if reasons else None,
            tuple(token for chunk in self._chunks for token in chunk.logprobs),
            tuple(chunk.raw for chunk in self._chunks if chunk.raw is not None),
            _joined([call for chunk in self._chunks for call in chunk.calls]),
            tuple(text for chunk in self._chunks for text in chunk.references),
            self._unread,
            tuple(found for chunk in self._chunks for found in chunk.found),
            tuple(citation for chunk in self._chunks for citation in chunk.citations),
        )

    @property
    def _unread(self) -> str | None:
        unread = next((chunk.unread for chunk in self._chunks if chunk.unread), None)
        if unread is not None:
            return unread
        repeated: dict[str, list[str]] = {}
        for kind, text in (chunk.repeats for chunk in self._chunks if chunk.repeats):
            repeated.setdefault(kind, []).append(text)
        said = _squeezed(self.text) if repeated else ""
        known = all(_squeezed("".join(texts)) in said for texts in repeated.values())
        return None if known else _NEW_WORDS


def _squeezed(text: str) -> str:
    # Some trim what they repeat.
    return "".join(text.split())


def _joined(pieces: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    parts: dict[int, list[ToolCall]] = {}
    for piece in pieces:
        parts.setdefault(piece.index, []).append(piece)
    calls = (
        ToolCall("".join(p.name for p in of), "".join(p.arguments for p in of), index)
        for index, of in sorted(parts.items())
    )
    # Arguments that belong to no call are those of a tool that the provider runs itself.
    return tuple(call for call in calls if call.name)


class Provider(Protocol):
    """Anything that answers queries.

    Whatever adds behaviour (retries, a limit, a meter) wraps one and is one; see `Layer`.
    """

    async def takes_n(self, query: Query) -> bool:
        """Return whether one request may ask for several answers to this query."""
        ...

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Send one request.

        Args:
            query: What to ask.
            n: How many answers to ask for; more than 1 only where `takes_n` says so. A provider
                may return fewer: `FanOut` is what makes up the number.

        Returns:
            At least one answer, at most n.

        Raises:
            ProviderError: No answer could be had.
        """
        ...


@runtime_checkable
class Streams(Protocol):
    """A provider that can hand over an answer while it is being written."""

    def stream(self, query: Query) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
        """Send one request whose answer comes in pieces.

        Args:
            query: What to ask.

        Returns:
            A context manager around the chunks. Leaving it early ends the request. It is left in
            the task that entered it.

        Raises:
            ProviderError: On entering, or between chunks: no (more) answer could be had.
        """
        ...


@runtime_checkable
class Prepares(Protocol):
    """A provider that has something to load before it can be asked."""

    async def prepare(self) -> None:
        """Load it. Does nothing where it is loaded."""
        ...


class Layer:
    """A provider that wraps another and passes everything on. Override what you add to."""

    def __init__(self, inner: Provider) -> None:
        self.inner = inner

    async def prepare(self) -> None:
        """Have the wrapped provider load what it needs."""
        await prepare(self.inner)

    async def takes_n(self, query: Query) -> bool:
        """Ask the wrapped provider."""
        return await self.inner.takes_n(query)

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the wrapped provider."""
        return await self.inner.complete(query, n=n)

    def stream(self, query: Query) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
        """Ask the wrapped provider, whether it streams or not; see `open_stream`."""
        return open_stream(self.inner, query)


async def prepare(provider: Provider) -> None:
    """Have any provider load what it needs."""
    # `isinstance` with a protocol takes as long as a small request.
    prepares: Callable[[], Awaitable[None]] | None = getattr(provider, "prepare", None)
    if prepares is not None:
        await prepares()


def open_stream(
    provider: Provider, query: Query
) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
    """Ask any provider for an answer in pieces.

    Args:
        provider: Who is asked. One that does not stream gives its whole answer in one piece.
        query: What to ask.

    Returns:
        A context manager around the chunks. Leaving it early ends the request. It is left in the
        task that entered it.

    Raises:
        ProviderError: On entering, or between chunks: no (more) answer could be had.
    """
    streams: Callable[[Query], Any] | None = getattr(provider, "stream", None)
    return _in_one(provider, query) if streams is None else streams(query)


@asynccontextmanager
async def begin_stream(provider: Provider, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
    """Do what `open_stream` does, and wait for the first chunk before entering is done.

    For layers that ask again: what fails on entering has given nothing away yet.

    Args:
        provider: Who is asked.
        query: What to ask.

    Raises:
        ProviderError: No answer could be had.
    """
    async with open_stream(provider, query) as chunks:
        first = await anext(chunks, None)
        async with aclosing(_put_back(first, chunks)) as whole:
            yield whole


async def _put_back(first: Chunk | None, others: AsyncIterator[Chunk]) -> AsyncGenerator[Chunk]:
    if first is not None:
        yield first
    async for chunk in others:
        yield chunk


@asynccontextmanager
async def _in_one(provider: Provider, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
    completions = await provider.complete(query)
    answer = completions.first
    whole = Chunk(
        answer.text,
        answer.finish_reason,
        answer.logprobs,
        completions.usage,
        answer.raw,
        answer.calls,
        answer.references,
    )
    async with aclosing(_only(whole)) as chunks:
        yield chunks


async def _only(chunk: Chunk) -> AsyncGenerator[Chunk]:
    yield chunk


@dataclass(frozen=True, slots=True)
class Sources:
    """Who answers what. Adapters use it to send each kind of call its own way.

    Attributes:
        main: Gives the response.
        samples: Gives the samples.
        judge: Answers for judges, those named in the policy and the response's own model.
        via: Which way samples are drawn, for the verdict.
        finds_references: Whether answers come with the trusted texts they were written from.
        model: Who answers a query that names no model, for its price; None where that is not known.
    """

    main: Provider
    samples: Provider
    judge: Provider
    via: Via = "native"
    finds_references: bool = False
    model: str | None = None

    @classmethod
    def all(cls, provider: Provider, via: Via = "native") -> Sources:
        """Let one provider answer everything."""
        return cls(provider, provider, provider, via)
