"""A guarded stream as generators read it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractContextManager, ExitStack, nullcontext

from resay._internal.telling import Carrier
from resay.engine.actions import Answer
from resay.engine.stream import AnswerStream, SyncAnswerStream
from resay.engine.stream_gate import Part

__all__ = ["aparts_of", "parts_of"]

Around = AbstractContextManager[None]
_Item = Part | Answer | BaseException


def parts_of(
    stream: AnswerStream, around: Around | None = None
) -> Generator[Part | Answer, None, None]:
    """Read a guarded stream for callers that are not async.

    Args:
        stream: The stream.
        around: What its work is done in.

    Yields:
        Its parts, and the answer at last.
    """
    with ExitStack() as stack:
        # A generator may be left in another context than it was begun in.
        with around or nullcontext():
            entered = stack.enter_context(SyncAnswerStream(stream))
        yield from entered
    yield stream.answer


async def aparts_of(
    stream: AnswerStream, around: Around | None = None
) -> AsyncGenerator[Part | Answer, None]:
    """Read a guarded stream.

    Tasks that a generator starts must not outlive it, and it may be read in several tasks and left
    anywhere: the stream is read in a task of its own.

    Args:
        stream: The stream.
        around: What its work is done in.

    Yields:
        Its parts, and the answer at last.
    """
    line: asyncio.Queue[_Item] = asyncio.Queue()
    carrier = Carrier()
    with carrier.around():
        task = asyncio.create_task(_fill(stream, line, around or nullcontext()))
    try:
        while isinstance(item := await line.get(), Part):
            yield item
    finally:
        task.cancel()
        await asyncio.wait([task])
        await carrier.adeliver(last=True)
    if isinstance(item, BaseException):
        raise item
    yield item


async def _fill(stream: AnswerStream, line: asyncio.Queue[_Item], around: Around) -> None:
    try:
        with around:
            async with stream:
                async for part in stream:
                    line.put_nowait(part)
            line.put_nowait(stream.answer)
    except BaseException as error:
        line.put_nowait(error)
        if not isinstance(error, Exception):
            raise
