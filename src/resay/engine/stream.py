"""A guarded answer while it is being written."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from types import TracebackType

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from resay._internal.sync import enter_sync, run_sync
from resay._internal.telling import Carrier
from resay.engine.actions import Answer
from resay.engine.stream_gate import Part
from resay.errors import ConfigurationError, StreamUnfinishedError

__all__ = ["AnswerStream", "SyncAnswerStream"]

Work = Callable[[MemoryObjectSendStream[Part]], Awaitable[Answer]]


class AnswerStream:
    """A guarded answer in parts. Leaving the `async with` early cancels everything.

    Args:
        work: Streams the answer into a channel and returns it when all is said and checked.
        every_chunk: Whether parts without text are handed over too.

    Example:
        ```python
        async with guard.astream("Who designed the Sydney Harbour Bridge?") as stream:
            async for part in stream:
                print(part.text, end="")
        print(stream.answer.verdict.reason)
        ```
    """

    def __init__(self, work: Work, *, every_chunk: bool = False) -> None:
        self._work = work
        self._every_chunk = every_chunk
        self._parts: MemoryObjectReceiveStream[Part] | None = None
        self._tasks: TaskGroup | None = None
        self._answer: Answer | None = None
        self._error: Exception | None = None
        self._carrier = Carrier()

    @property
    def answer(self) -> Answer:
        """The answer with its verdict, once the stream was read to its end.

        Raises:
            StreamUnfinishedError: It was not, so nothing was checked as a whole.
            ResayError: What the iteration raised.
        """
        if self._error is not None:
            raise self._error
        if self._answer is None:
            raise StreamUnfinishedError(
                "the answer is not complete and not checked; read the stream to its end first"
            )
        return self._answer

    async def __aenter__(self) -> AnswerStream:
        if self._tasks is not None:
            raise ConfigurationError("a stream can be entered once; ask again for another")
        # As large as the answer: a slow reader holds up neither the model nor the check.
        send, self._parts = anyio.create_memory_object_stream[Part](math.inf)
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._run, send)
        return self

    async def _run(self, parts: MemoryObjectSendStream[Part]) -> None:
        with parts:
            try:
                with self._carrier.around():
                    self._answer = await self._work(parts)
            except Exception as error:
                self._error = error

    def __aiter__(self) -> AnswerStream:
        return self

    async def __anext__(self) -> Part:
        if self._parts is None:
            raise ConfigurationError(
                "enter the stream first: async with guard.astream(…) as stream"
            )
        try:
            part = await self._parts.receive()
            while not (part.text or self._every_chunk):
                part = await self._parts.receive()
            return part
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            await self._carrier.adeliver(last=True)
            if self._error is not None:
                raise self._error from None
            raise StopAsyncIteration from None

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._tasks is not None  # noqa: S101 - entered before
        assert self._parts is not None  # noqa: S101 - entered before
        self._tasks.cancel_scope.cancel()
        try:
            # Without the reader's own error, which a task group would wrap.
            await self._tasks.__aexit__(None, None, None)
        finally:
            # A reader who is cancelled meanwhile does not come past here otherwise.
            self._parts.close()


class SyncAnswerStream:
    """The same for callers that are not async: `with`, `for`."""

    def __init__(self, stream: AnswerStream) -> None:
        self._stream = stream
        self._entered: AbstractContextManager[AnswerStream] | None = None

    @property
    def answer(self) -> Answer:
        """The answer with its verdict, once the stream was read to its end; see `AnswerStream`."""
        return self._stream.answer

    def __enter__(self) -> SyncAnswerStream:
        self._entered = enter_sync(self._stream)
        self._entered.__enter__()
        return self

    def __iter__(self) -> Iterator[Part]:
        return self

    def __next__(self) -> Part:
        try:
            return run_sync(self._stream.__anext__)
        except StopAsyncIteration:
            raise StopIteration from None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._entered is not None:
            self._entered.__exit__(kind, error, traceback)
