"""The answers of models that are asked through litellm, as those of an upstream look."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing

from resay.gateway.calls import Call, Headers
from resay.gateway.refusing import RefusedError
from resay.gateway.upstream import UpstreamError
from resay.providers.apis import Body

__all__ = ["LiteLLMResponse", "headers_of", "once"]


class LiteLLMResponse:
    """An answer that litellm gives, or is giving.

    Args:
        status_code: The status.
        headers: The headers, names in lower case.
        pieces: The bytes of the body.
        limit: How many there may be, where that is asked for.
        body: The object it is, where it is there already.
        on_close: Takes no more of it.

    Attributes:
        content: The body, once it was read whole.
    """

    def __init__(
        self,
        status_code: int,
        headers: Headers,
        pieces: AsyncGenerator[bytes],
        limit: int,
        *,
        body: Body | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self.content = b""
        self._status_code = status_code
        self._raw_headers = headers
        self._pieces = pieces
        self._limit = limit
        self._body = body
        self._on_close = on_close

    @property
    def status_code(self) -> int:
        """The status."""
        return self._status_code

    @property
    def is_success(self) -> bool:
        """Whether the status says yes."""
        return 200 <= self._status_code < 300

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, names in lower case."""
        return {name.decode(): value.decode() for name, value in self._raw_headers}

    @property
    def raw_headers(self) -> Headers:
        """The headers, names in lower case."""
        return self._raw_headers

    def close(self) -> None:
        """Take no more of it."""
        if self._on_close is not None:
            self._on_close()

    async def read(self) -> None:
        """Read it whole, so that it has its `content`.

        Raises:
            RefusedError: It is too long, or it breaks off.
        """
        async with aclosing(self.pieces(limited=True)) as pieces:
            self.content = b"".join([piece async for piece in pieces])

    async def pieces(self, *, limited: bool) -> AsyncGenerator[bytes]:
        """Give the bytes of the body as they come, and close it in the end.

        Args:
            limited: Whether there may be too many.

        Raises:
            RefusedError: There are too many, or it breaks off.
        """
        length = 0
        async with aclosing(self._pieces) as pieces:
            async for piece in pieces:
                length += len(piece)
                if limited and length > self._limit:
                    message = f"the model's answer is longer than {self._limit} bytes"
                    raise RefusedError(502, "answer_too_large", message)
                yield piece

    def json(self) -> Body:
        """Return the object in an answer that was read.

        Raises:
            UpstreamError: It is no answer.
        """
        if not self.is_success or self._body is None:
            raise UpstreamError(self)
        return self._body


def headers_of(call: Call, kind: str) -> Headers:
    """Return the headers of an answer to a request, of a kind of content."""
    name = b"request-id" if call.dialect == "anthropic" else b"x-request-id"
    return [(b"content-type", kind.encode()), (name, call.request_id.encode())]


async def once(content: bytes) -> AsyncGenerator[bytes]:
    """Give all there is."""
    yield content
