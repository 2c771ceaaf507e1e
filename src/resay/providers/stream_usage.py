"""The usage of streamed answers, which servers report only if they are asked to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

from resay.core.usage import Usage
from resay.errors import ProviderRefusedError
from resay.providers.apis.values import mapping
from resay.providers.base import Chunk

T = TypeVar("T")


async def open_with_usage(
    send: Callable[[Mapping[str, Any]], Awaitable[T]], body: Mapping[str, Any]
) -> tuple[T, int]:
    """Open a stream that reports its usage, or one that does not if the server refuses that.

    Args:
        send: Sends the request with a body, and opens the stream.
        body: The body. Options of its own (`stream_options`) are kept.

    Returns:
        What `send` returned, and the number of requests that it took.
    """
    own_options = body.get("stream_options")
    options = {"include_usage": True, **mapping(own_options)}
    try:
        return await send({**body, "stream_options": options}), 1
    except ProviderRefusedError as error:
        # Older servers do not support the parameter.
        if own_options is not None or error.status not in (400, 422):
            raise
    return await send(body), 2


async def with_refused_requests(
    chunks: AsyncGenerator[Chunk], requests: int
) -> AsyncGenerator[Chunk]:
    """Yield the chunks of a stream; report at its end that an earlier request was refused.

    Args:
        chunks: The chunks.
        requests: The number of requests that it took.
    """
    async with aclosing(chunks) as stream:
        async for chunk in stream:
            yield chunk
    if requests > 1:
        yield Chunk(usage=Usage(requests, cost_usd=None))
