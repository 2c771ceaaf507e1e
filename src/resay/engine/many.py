"""Many checks at once: as many as are wanted, and never more rows in memory than that takes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from resay.core.verdict import Verdict

CheckItem = str | Mapping[str, Any]
"""What is checked: a response, or the arguments of `Guard.check` with the response among them."""

# A slow check does not keep those behind it from being begun, up to here.
_AHEAD = 4


@dataclass(frozen=True, slots=True)
class Checked:
    """One of many checks.

    Attributes:
        index: Its place among them, from 0.
        verdict: What was found; None where the check failed.
        error: Why it failed, or None.
    """

    index: int
    verdict: Verdict | None = None
    error: Exception | None = None


async def acheck_each(
    check: Callable[..., Awaitable[Verdict]],
    items: Iterable[CheckItem] | AsyncIterable[CheckItem],
    concurrency: int,
    *,
    ordered: bool,
) -> AsyncGenerator[Checked, None]:
    """Check items, some at the same time. A check that fails costs the others nothing.

    Args:
        check: Checks one, given its arguments.
        items: What to check; taken only as far as they can be worked on.
        concurrency: How many at the same time.
        ordered: Whether to give them in order, or each as soon as it is finished.

    Yields:
        What came of each.
    """
    slots = asyncio.Semaphore(concurrency)
    waiting: deque[asyncio.Task[Checked]] = deque()

    async def one(index: int, item: CheckItem) -> Checked:
        async with slots:
            given = {"response": item} if isinstance(item, str) else item
            try:
                return Checked(index, await check(**given))
            # Whatever a scorer or a function of the policy raises is about this one alone.
            except Exception as error:
                return Checked(index, error=error)

    source = _numbered(items)
    most = concurrency * (_AHEAD if ordered else 1)
    try:
        more = True
        while more or waiting:
            while more and len(waiting) < most:
                found = await anext(source, None)
                more = found is not None
                if found is not None:
                    waiting.append(asyncio.ensure_future(one(*found)))
            if ordered and waiting:
                yield await waiting.popleft()
            elif waiting:
                done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                waiting = deque(task for task in waiting if task not in done)
                for task in done:
                    yield task.result()
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await source.aclose()


async def _numbered(
    items: Iterable[CheckItem] | AsyncIterable[CheckItem],
) -> AsyncGenerator[tuple[int, CheckItem], None]:
    if isinstance(items, AsyncIterable):
        index = 0
        async for item in items:
            yield index, item
            index += 1
        return
    for found in enumerate(items):
        yield found
