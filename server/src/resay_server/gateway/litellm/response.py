"""A response that litellm has returned or is streaming."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable

from resay.adapters.apis import Body
from resay_server.gateway.calls import Call
from resay_server.gateway.headers import Headers
from resay_server.gateway.upstream import UpstreamError, UpstreamResponse


class LiteLLMResponse(UpstreamResponse):
    """A response that litellm has returned or is streaming.

    Args:
        status_code: The status.
        headers: The headers, names in lower case.
        pieces: The bytes of the body.
        limit: The maximum length in bytes, if it is enforced.
        body: The JSON object in it, if it is complete.
        on_close: Closes the stream.
    """

    _source_label = "the model's"

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
        super().__init__(status_code, headers, limit)
        self._pieces = pieces
        self._body = body
        self._on_close = on_close

    def close(self) -> None:
        """Close the response without reading the rest."""
        if self._on_close is not None:
            self._on_close()

    def _bytes(self) -> AsyncGenerator[bytes]:
        return self._pieces

    def json(self) -> Body:
        """Return the JSON object in a response that was read.

        Raises:
            UpstreamError: It contains none, or is not a success.
        """
        if not self.is_success or self._body is None:
            raise UpstreamError(self)
        return self._body


def headers_of(call: Call, kind: str) -> Headers:
    """Return the headers of a response with a content type."""
    name = b"request-id" if call.dialect == "anthropic" else b"x-request-id"
    return [(b"content-type", kind.encode()), (name, call.request_id.encode())]


async def once(content: bytes) -> AsyncGenerator[bytes]:
    """Yield the content in one piece."""
    yield content
