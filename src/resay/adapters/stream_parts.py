"""Guarded streams, in parts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractContextManager, ExitStack, nullcontext

from resay._internal.notify import VerdictRelay
from resay.adapters.threads import CallStyle
from resay.engine.actions import Answer
from resay.engine.answer_chunk import AnswerChunk
from resay.engine.answer_stream import AnswerStream, SyncAnswerStream

Around = AbstractContextManager[None]
_Item = AnswerChunk | Answer | BaseException


def parts_of(
    stream: AnswerStream, around: Around | None = None
) -> Generator[AnswerChunk | Answer, None, None]:
    """Iterate over a guarded stream for synchronous callers.

    Args:
        stream: The stream.
        around: A context in which the stream is entered.

    Yields:
        Its parts, and finally the answer.
    """
    with ExitStack() as stack:
        # A generator may be closed in another context than it was started in.
        with around or nullcontext():
            entered = stack.enter_context(SyncAnswerStream(stream))
        yield from entered
    yield stream.answer


async def aparts_of(
    stream: AnswerStream, around: Around | None = None
) -> AsyncGenerator[AnswerChunk | Answer, None]:
    """Iterate over a guarded stream.

    Tasks started by a generator must not outlive it, and it may be read in several tasks and closed
    anywhere, so the stream is read in a task of its own.

    Args:
        stream: The stream.
        around: A context in which the stream is entered and read.

    Yields:
        Its parts, and finally the answer.
    """
    queue: asyncio.Queue[_Item] = asyncio.Queue()
    relay = VerdictRelay()
    with relay.capture():
        task = asyncio.create_task(_fill(stream, queue, around or nullcontext()))
    try:
        while isinstance(item := await queue.get(), AnswerChunk):
            yield item
    finally:
        task.cancel()
        await asyncio.wait([task])
        await relay.adeliver(last=True)
    if isinstance(item, BaseException):
        raise item
    yield item


def read_parts(
    style: CallStyle, stream: AnswerStream, around: Around | None = None
) -> AsyncGenerator[AnswerChunk | Answer]:
    """Iterate over a guarded stream in either call style; see `aparts_of`."""
    return style.iterate((parts_of if style.blocking else aparts_of)(stream, around))


async def _fill(stream: AnswerStream, queue: asyncio.Queue[_Item], around: Around) -> None:
    try:
        with around:
            async with stream:
                async for part in stream:
                    queue.put_nowait(part)
            queue.put_nowait(stream.answer)
    except BaseException as error:
        queue.put_nowait(error)
        if not isinstance(error, Exception):
            raise
