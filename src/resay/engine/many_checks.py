"""Checks many responses concurrently."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
)
from dataclasses import dataclass
from typing import Any, cast

from resay.core.verdict import Verdict
from resay.errors import ConfigurationError

CheckItem = str | Mapping[str, Any]
"""An item to check: a response, or the arguments of `Guard.check` including the response."""
# With ordered results, a slow check does not hold up later ones, up to this many per slot.
_LOOKAHEAD = 4


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of one of many checks.

    Attributes:
        index: The position of the item, from 0.
        verdict: The verdict; None if the check failed.
        error: The error of a failed check, or None.
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
    """Check items concurrently. A failed check does not affect the others.

    Args:
        check: Checks one item, given its arguments.
        items: The items to check, consumed lazily.
        concurrency: The maximum number of checks running at the same time.
        ordered: Whether to yield results in order, or each as soon as it is finished.

    Yields:
        The result of each item.
    """
    slots = asyncio.Semaphore(concurrency)
    waiting: deque[asyncio.Task[Checked]] = deque()

    async def check_item(index: int, item: CheckItem) -> Checked:
        async with slots:
            try:
                return Checked(index, await check(**_arguments(item)))
            # An error of a scorer or a policy's function concerns this item only.
            except Exception as error:
                return Checked(index, error=error)

    numbered = _numbered(items)
    max_waiting = concurrency * (_LOOKAHEAD if ordered else 1)
    try:
        at_end = False
        while waiting or not at_end:
            while not at_end and len(waiting) < max_waiting:
                numbered_item = await anext(numbered, None)
                if numbered_item is None:
                    at_end = True
                else:
                    waiting.append(asyncio.ensure_future(check_item(*numbered_item)))
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
        await numbered.aclose()


def _arguments(item: CheckItem) -> Mapping[str, Any]:
    if isinstance(item, str):
        return {"response": item}
    if not isinstance(cast("object", item), Mapping):
        kind = type(item).__name__
        raise ConfigurationError(
            f"an item must be a response, or a mapping with the arguments of `check`, not a {kind}"
        )
    return item


async def _numbered(
    items: Iterable[CheckItem] | AsyncIterable[CheckItem],
) -> AsyncGenerator[tuple[int, CheckItem], None]:
    if isinstance(items, AsyncIterable):
        index = 0
        async for item in items:
            yield index, item
            index += 1
        return
    for numbered_item in enumerate(items):
        yield numbered_item
