"""The interface to LLMs."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

from resay._internal.event_loops import compute
from resay.core.citations import Citation
from resay.core.documents import Document
from resay.core.logprobs import TokenLogprob, TopLogprob
from resay.core.references import Reference
from resay.core.request import Request
from resay.core.usage import Usage, last_reported
from resay.errors import ProviderRefusedError

__all__ = [
    "Chunk",
    "Completion",
    "Completions",
    "Declares",
    "Gathered",
    "Layer",
    "Prepares",
    "Provider",
    "Streams",
    "TokenLogprob",
    "ToolCall",
    "TopLogprob",
    "begin_stream",
    "model_of",
    "open_stream",
    "prepare",
    "supported_params",
    "with_counted_tokens",
]
# Joining a chunk takes about as long as processing this many characters.
_CHARS_PER_CHUNK = 10
# An estimate for texts whose tokens nobody counts.
_BYTES_PER_TOKEN = 4
# Reasons to stop that mean that the text is not complete, as the providers' APIs and litellm say.
_CUT_SHORT = frozenset(
    {
        "content_filter",
        "incomplete",
        "length",
        "max_length",
        "max_output_tokens",
        "max_tokens",
        "model_length",
    }
    | {"model_context_window_exceeded", "context_length_exceeded", "error_length", "limit"}
)
_NEW_WORDS = "the end of the stream has words that did not come before"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that the model requests, or a piece of one that is still being generated.

    Attributes:
        name: The tool's name.
        arguments: Its arguments, as JSON.
        index: Position among the answer's calls, from 0.
        id: The provider's id of the call, which tells apart the calls of a provider that gives
            several of them the same index; empty if unknown.
    """

    name: str
    arguments: str = field(default="", repr=False)
    index: int = 0
    id: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer.

    Attributes:
        text: The generated text; empty for a pure tool call.
        finish_reason: Why it stopped, as reported by the provider.
        logprobs: Its tokens, if they were requested and the provider returned them.
        raw: The provider's own object for this answer, untouched.
        calls: The tool calls it requests.
        references: Trusted texts it was written from, if the provider knows them, such as those a
            chain retrieved for the question. A `Document` is named by its title.
        unread: Which part of it cannot be parsed, and so is missing from the text; None if none.
        found: What the provider itself retrieved for it, such as its file search results.
        citations: The citations that the provider attached to it.
        ran: The tool calls that the provider ran itself for it, and their results, as its API has
            them.
    """

    text: str
    finish_reason: str | None = None
    logprobs: tuple[TokenLogprob, ...] = ()
    raw: object = field(default=None, repr=False, compare=False)
    calls: tuple[ToolCall, ...] = field(default=(), repr=False)
    references: tuple[str | Document, ...] = field(default=(), repr=False)
    unread: str | None = field(default=None, repr=False)
    found: tuple[Reference, ...] = field(default=(), repr=False)
    citations: tuple[Citation, ...] = field(default=(), repr=False)
    ran: tuple[Mapping[str, Any], ...] = field(default=(), repr=False, hash=False)

    @property
    def was_cut(self) -> bool:
        """Whether the provider says that the answer reached a limit of its length."""
        reason = (self.finish_reason or "").casefold().replace("-", "_")
        return reason in _CUT_SHORT


@dataclass(frozen=True, slots=True)
class Completions:
    """The answers to one request.

    Attributes:
        items: The answers that arrived.
        usage: Their tokens and cost.
        failures: Errors of requests that failed while others succeeded.
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
    """A piece of an answer that is still being generated.

    Attributes:
        text: The text it adds; the texts of all chunks joined are the answer.
        finish_reason: Why the model stopped, in the chunk that says so.
        logprobs: The tokens of this piece, if they were requested and returned.
        usage: The tokens and cost of the request so far, in each chunk that reports them. What a
            chunk leaves out is 0, or None for the cost; of what several report, the last counts.
        raw: The provider's own object for this chunk, untouched.
        calls: Pieces of the tool calls it requests; pieces with the same index belong together.
        references: Trusted texts the answer is written from, in the chunk that names them.
        unread: Which part of this piece cannot be parsed; None if none.
        found: What the provider itself retrieved for the answer, in the chunk that reports it.
        citations: The citations attached to the whole answer, in the chunk that reports them.
        ran: Tool calls that the provider ran itself, and results, in the chunk that reports them.
        repeats: Answer text that this piece repeats, after a name for the kind of piece: the
            pieces of one kind, joined, contain no words that did not come before.
        elsewhere: Which part of this piece has words where its API has no answer's; None if none.
            An answer that has words only there cannot be read.
    """

    text: str = ""
    finish_reason: str | None = None
    logprobs: tuple[TokenLogprob, ...] = ()
    usage: Usage | None = None
    raw: object = field(default=None, repr=False, compare=False)
    calls: tuple[ToolCall, ...] = field(default=(), repr=False)
    references: tuple[str | Document, ...] = field(default=(), repr=False)
    unread: str | None = field(default=None, repr=False)
    repeats: tuple[str, str] | None = field(default=None, repr=False)
    elsewhere: str | None = field(default=None, repr=False)
    found: tuple[Reference, ...] = field(default=(), repr=False)
    citations: tuple[Citation, ...] = field(default=(), repr=False)
    ran: tuple[Mapping[str, Any], ...] = field(default=(), repr=False, hash=False)


class Gathered:
    """Accumulate the chunks of one answer.

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
        """Add the next chunk."""
        self._chunks.append(chunk)
        self._completion = None

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(chunk.text for chunk in self._chunks)

    @property
    def usage(self) -> Usage | None:
        """Tokens and cost of the request; None until a chunk reports them."""
        return last_reported(chunk.usage for chunk in self._chunks)

    @property
    def completion(self) -> Completion:
        """The answer so far, with the provider's own chunk objects as a tuple in `raw`."""
        if self._completion is None:
            self._completion = self._complete()
        return self._completion

    async def whole(self) -> Completion:
        """Return `completion`, assembled off the event loop if that takes long."""
        chars = _CHARS_PER_CHUNK * len(self._chunks)
        return await compute(partial(getattr, self, "completion"), chars=chars)

    def _complete(self) -> Completion:
        finish_reason: str | None = None
        logprobs: list[TokenLogprob] = []
        raw: list[object] = []
        calls: list[ToolCall] = []
        references: list[str | Document] = []
        retrieved: list[Reference] = []
        citations: list[Citation] = []
        ran: list[Mapping[str, Any]] = []
        for chunk in self._chunks:
            finish_reason = chunk.finish_reason or finish_reason
            logprobs += chunk.logprobs
            if chunk.raw is not None:
                raw.append(chunk.raw)
            calls += chunk.calls
            references += chunk.references
            retrieved += chunk.found
            citations += chunk.citations
            ran += chunk.ran
        return Completion(
            text=self.text,
            finish_reason=finish_reason,
            logprobs=tuple(logprobs),
            raw=tuple(raw),
            calls=_join_calls(calls),
            references=tuple(references),
            unread=self._unread,
            found=tuple(retrieved),
            citations=tuple(citations),
            ran=tuple(ran),
        )

    @property
    def _unread(self) -> str | None:
        repeated: dict[str, list[str]] = {}
        elsewhere: str | None = None
        for chunk in self._chunks:
            if chunk.unread:
                return chunk.unread
            if chunk.repeats:
                kind, text = chunk.repeats
                repeated.setdefault(kind, []).append(text)
            elsewhere = elsewhere or chunk.elsewhere
        # Some providers trim the text they repeat.
        words = "".join(self.text.split()) if repeated else ""
        for texts in repeated.values():
            if "".join("".join(texts).split()) not in words:
                return _NEW_WORDS
        has_answer = any(chunk.calls or chunk.text.strip() for chunk in self._chunks)
        return None if has_answer else elsewhere


def _join_calls(pieces: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """Join the pieces of tool calls that are still being generated."""
    calls: list[ToolCall] = []
    # The position of the last call with an index, and of the call with an index and an id.
    positions: dict[int | tuple[int, str], int] = {}
    for piece in pieces:
        position = positions.get((piece.index, piece.id)) if piece.id else None
        if position is None:
            position = positions.get(piece.index)
            if position is not None and _begins_call(piece, calls[position]):
                position = None
        if position is None:
            position = len(calls)
            calls.append(ToolCall("", index=piece.index))
        positions[piece.index] = position
        if piece.id:
            positions[piece.index, piece.id] = position
        call = calls[position]
        # Some servers repeat the name in each piece.
        name = call.name if piece.name == call.name else call.name + piece.name
        arguments = call.arguments + piece.arguments
        calls[position] = ToolCall(name, arguments, call.index, call.id or piece.id)
    calls.sort(key=lambda call: call.index)
    # Arguments without a named call belong to a tool that the provider runs itself.
    named = [call for call in calls if call.name]
    if len({call.index for call in named}) == len(named):
        return tuple(named)
    return tuple(replace(call, index=index) for index, call in enumerate(named))


def _begins_call(piece: ToolCall, call: ToolCall) -> bool:
    """Return whether a piece with the index of a call begins another one."""
    if piece.id and call.id:
        return piece.id != call.id
    return bool(piece.name and call.name) and _is_complete(call.arguments)


def _is_complete(arguments: str) -> bool:
    if not arguments.rstrip().endswith("}"):
        return False
    try:
        json.loads(arguments)
    # Deep nesting is refused with a RecursionError.
    except (ValueError, RecursionError):
        return False
    return True


def with_counted_tokens(answers: Sequence[Completion], usage: Usage) -> Usage:
    """Return the usage of several answers, with their tokens counted if the reported ones are few.

    A token holds at most one word, so a server that reports fewer tokens than there are words has
    counted one of its answers.

    Args:
        answers: The answers of one request.
        usage: What the server reports about it.

    Returns:
        The usage; with an estimate of the tokens, and without a cost, if it cannot be right.
    """
    if len(answers) < 2 or not usage.completion_tokens:
        return usage
    words, size = 0, 0
    for answer in answers:
        for text in (answer.text, *(call.arguments for call in answer.calls)):
            words += len(text.split())
            size += len(text.encode("utf-8", "replace"))
    if usage.completion_tokens >= words:
        return usage
    estimated = max(words, size // _BYTES_PER_TOKEN)
    return replace(usage, completion_tokens=estimated, cost_usd=None)


def model_of(request: Request) -> str:
    """Return the model that a request names.

    Raises:
        ProviderRefusedError: It names none.
    """
    if not request.model:
        raise ProviderRefusedError(
            "no model was named; pass `model`, such as 'openai/gpt-4.1-mini'"
        )
    return request.model


def sent_messages(request: Request) -> list[dict[str, Any]]:
    """Return the messages of a request as chat completions have them.

    A tool's result that is marked as an error loses the mark: it is for the log of calls, and
    servers that validate requests refuse fields that they do not know.
    """
    messages: list[dict[str, Any]] = []
    for message in request.messages:
        sent = dict(message)
        if sent.get("role") == "tool":
            sent.pop("is_error", None)
        messages.append(sent)
    return messages


class Provider(Protocol):
    """Anything that answers queries.

    Added behaviour (retries, a limit, a meter) wraps a provider and is one itself; see `Layer`.
    """

    async def takes_n(self, request: Request) -> bool:
        """Return whether one request may ask for several answers to this request."""
        ...

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Send one request.

        Args:
            request: The request.
            n: Number of answers to ask for; more than 1 only if `takes_n` allows it. A provider may
                return fewer: `FanOut` makes up the difference.

        Returns:
            At least one answer, at most n.

        Raises:
            ProviderError: No answer was received.
        """
        ...


@runtime_checkable
class Streams(Protocol):
    """A provider that can stream an answer while it is being generated."""

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
        """Send one request whose answer is streamed.

        Args:
            request: The request.

        Returns:
            A context manager around the chunks. Leaving it early ends the request. It must be left
            in the task that entered it.

        Raises:
            ProviderError: On entering or between chunks: no (further) answer was received.
        """
        ...


@runtime_checkable
class Prepares(Protocol):
    """A provider that has something to load before its first request.

    A request waits for that until its deadline, and then cancels it.
    """

    async def prepare(self) -> None:
        """Load it. Does nothing if it is already loaded."""
        ...


@runtime_checkable
class Declares(Protocol):
    """A provider that knows which optional parameters a model takes."""

    async def supported_params(self, request: Request) -> frozenset[str]:
        """Return which of `temperature`, `json_object` and `json_schema` a request may ask for.

        The last two are kinds of `response_format`.
        """
        ...


class Layer:
    """A provider that wraps another and forwards every call. Override the calls you add to."""

    def __init__(self, inner: Provider) -> None:
        self.inner = inner

    async def prepare(self) -> None:
        """Let the wrapped provider load what it needs."""
        await prepare(self.inner)

    async def takes_n(self, request: Request) -> bool:
        """Forward to the wrapped provider."""
        return await self.inner.takes_n(request)

    async def supported_params(self, request: Request) -> frozenset[str]:
        """Forward to the wrapped provider, even if it declares none."""
        return await supported_params(self.inner, request)

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Forward to the wrapped provider."""
        return await self.inner.complete(request, n=n)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
        """Forward to the wrapped provider, even if it cannot stream; see `open_stream`."""
        return open_stream(self.inner, request)


async def prepare(provider: Provider) -> None:
    """Let any provider load what it needs."""
    # `isinstance` with a protocol takes as long as a small request.
    prepares: Callable[[], Awaitable[None]] | None = getattr(provider, "prepare", None)
    if prepares is not None:
        await prepares()


async def supported_params(provider: Provider, request: Request) -> frozenset[str]:
    """Return the optional parameters that any provider declares for a request; see `Declares`."""
    declares: Callable[[Request], Awaitable[frozenset[str]]] | None = getattr(
        provider, "supported_params", None
    )
    return frozenset() if declares is None else await declares(request)


def open_stream(
    provider: Provider, request: Request
) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]:
    """Stream an answer from any provider.

    Args:
        provider: The provider. One that cannot stream yields its whole answer as one chunk.
        request: The request.

    Returns:
        A context manager around the chunks. Leaving it early ends the request. It must be left in
        the task that entered it.

    Raises:
        ProviderError: On entering or between chunks: no (further) answer was received.
    """
    streams: Callable[[Request], Any] | None = getattr(provider, "stream", None)
    return _one_chunk(provider, request) if streams is None else streams(request)


@asynccontextmanager
async def begin_stream(
    provider: Provider, request: Request
) -> AsyncGenerator[AsyncIterator[Chunk]]:
    """Open a stream like `open_stream`, but wait for the first chunk while entering.

    For layers that retry: an error on entering means that nothing was passed on yet.

    Args:
        provider: The provider.
        request: The request.

    Raises:
        ProviderError: No answer was received.
    """
    async with open_stream(provider, request) as chunks:
        first = await anext(chunks, None)
        async with aclosing(_prepend(first, chunks)) as all_chunks:
            yield all_chunks


async def _prepend(first: Chunk | None, others: AsyncIterator[Chunk]) -> AsyncGenerator[Chunk]:
    if first is not None:
        yield first
    async for chunk in others:
        yield chunk


@asynccontextmanager
async def _one_chunk(provider: Provider, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
    completions = await provider.complete(request)
    answer = completions.first
    chunk = Chunk(
        text=answer.text,
        finish_reason=answer.finish_reason,
        logprobs=answer.logprobs,
        usage=completions.usage,
        raw=answer.raw,
        calls=answer.calls,
        references=answer.references,
    )
    async with aclosing(_only(chunk)) as chunks:
        yield chunks


async def _only(chunk: Chunk) -> AsyncGenerator[Chunk]:
    yield chunk
