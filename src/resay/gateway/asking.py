"""Whoever answers behind the gateway, however it is reached."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Protocol

from resay.gateway.calls import Headers
from resay.providers.apis import Body

__all__ = ["Asked"]


class Asked(Protocol):
    """An answer, of which nothing need be there yet.

    Attributes:
        content: The body, once it was read whole.
    """

    content: bytes

    @property
    def status_code(self) -> int:
        """The status."""
        ...

    @property
    def is_success(self) -> bool:
        """Whether the status says yes."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers."""
        ...

    @property
    def raw_headers(self) -> Headers:
        """The headers, names in lower case."""
        ...

    def close(self) -> None:
        """Take no more of it."""
        ...

    async def read(self) -> None:
        """Read it whole, so that it has its `content`.

        Raises:
            RefusedError: It is too long, or it breaks off.
        """
        ...

    def pieces(self, *, limited: bool) -> AsyncGenerator[bytes]:
        """Give the bytes of the body as they come, and close it in the end.

        Args:
            limited: Whether there may be too many.

        Raises:
            RefusedError: There are too many, or it breaks off.
        """
        ...

    def json(self) -> Body:
        """Return the object in an answer that was read.

        Raises:
            UpstreamError: There is none, or it is no answer.
        """
        ...
