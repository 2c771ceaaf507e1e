"""The stream that a caller reads: `async for chunk in stream`, or `for chunk in stream`."""

from __future__ import annotations

import math
import weakref
from collections.abc import Awaitable, Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from resay._internal.event_loops import EnteredInBackground, run_sync
from resay._internal.lazy_types import lazy_type
from resay._internal.notify import VerdictRelay
from resay.errors import ConfigurationError, StreamUnfinishedError

if TYPE_CHECKING:
    from resay.engine.actions import Answer
    from resay.engine.answer_chunk import AnswerChunk
else:
    Answer = lazy_type("resay.engine.actions", "Answer")
    AnswerChunk = lazy_type("resay.engine.answer_chunk", "AnswerChunk")

Work = Callable[[MemoryObjectSendStream[AnswerChunk]], Awaitable[Answer]]


class AnswerStream:
    """A guarded answer in parts. Leaving the `async with` early cancels everything.

    A stream that is left early has no verdict, so that no sink and no `on_verdict` hears of it.

    Args:
        work: Streams the answer into a channel and returns it when all of it is sent and checked.
        every_chunk: Whether to yield parts without text too.

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
        self._parts: MemoryObjectReceiveStream[AnswerChunk] | None = None
        self._tasks: TaskGroup | None = None
        self._answer: Answer | None = None
        self._error: Exception | None = None
        self._relay = VerdictRelay()

    @property
    def answer(self) -> Answer:
        """The answer with its verdict, available after reading the stream to its end.

        Raises:
            StreamUnfinishedError: It was not read to its end, so nothing was checked as a whole.
            ResayError: The error that the iteration raised.
        """
        if self._error is not None:
            raise self._error
        if self._answer is None:
            raise StreamUnfinishedError(
                "the answer is not yet complete and checked; read the stream to its end first"
            )
        return self._answer

    async def __aenter__(self) -> AnswerStream:
        if self._tasks is not None:
            raise ConfigurationError("a stream can be entered only once; start another one")
        # Unbounded, so that a slow reader holds up neither the model nor the check.
        send, self._parts = anyio.create_memory_object_stream["AnswerChunk"](math.inf)
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._run, send)
        return self

    async def _run(self, parts: MemoryObjectSendStream[AnswerChunk]) -> None:
        with parts:
            try:
                with self._relay.capture():
                    self._answer = await self._work(parts)
            except Exception as error:
                self._error = error

    def __aiter__(self) -> AnswerStream:
        return self

    async def __anext__(self) -> AnswerChunk:
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
            await self._relay.adeliver(last=True)
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
            # In `finally`, because a reader may be cancelled while waiting here.
            self._parts.close()


class SyncAnswerStream:
    """The synchronous counterpart of `AnswerStream`: `with`, `for`.

    Without `with` it begins with the loop, and ends with it.
    """

    def __init__(self, stream: AnswerStream) -> None:
        self._stream = stream
        self._entered: EnteredInBackground[AnswerStream] | None = None
        self._ends_with_loop = False

    @property
    def answer(self) -> Answer:
        """The answer with its verdict, available after reading to the end; see `AnswerStream`."""
        return self._stream.answer

    def __enter__(self) -> SyncAnswerStream:
        self._entered = EnteredInBackground(self._stream)
        self._entered.__enter__()
        # Dropped without being exited, it would go on in the background for ever.
        weakref.finalize(self, self._entered.leave_soon).atexit = False
        return self

    def __iter__(self) -> Iterator[AnswerChunk]:
        return self

    def __next__(self) -> AnswerChunk:
        if self._entered is None:
            self.__enter__()
            self._ends_with_loop = True
        try:
            return run_sync(self._stream.__anext__)
        except BaseException as error:
            if self._ends_with_loop:
                self._ends_with_loop = False
                self.__exit__(None, None, None)
            if isinstance(error, StopAsyncIteration):
                raise StopIteration from None
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._entered is not None:
            self._entered.__exit__(kind, error, traceback)
