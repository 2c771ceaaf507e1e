"""Who may see what the gateway does."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import TYPE_CHECKING

from resay.gateway.calls import Headers
from resay.gateway.config import GatewayConfig
from resay.gateway.hosts import is_loopback, without_port

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["ForOperators"]

# What a proxy says of whom it asks for. They would all come from this machine.
_FORWARDED = frozenset({b"forwarded", b"via", b"x-forwarded-for", b"x-real-ip"})
_ASKED = (b"www-authenticate", b'Basic realm="resay", charset="UTF-8"')


class ForOperators:
    """Shows an application to operators alone.

    They come with the operator's key, as HTTP Basic's password or as a bearer token. Where there
    is none, they come from this machine, and only while clients have no keys of their own.

    Args:
        app: The application.
        config: What the gateway was told.
    """

    def __init__(self, app: ASGIApp, config: GatewayConfig) -> None:
        self._app = app
        key = config.operator_key
        self._key = None if key is None else _hash(key.get_secret_value().encode())
        self._alone = not config.keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Show it, or say who may see it."""
        headers: Headers = list(scope["headers"])
        if self._key is None and not (self._alone and _from_here(scope, headers)):
            await _refuse(send, 403, "this needs an `operator_key` in the gateway file", [])
        elif self._key and not hmac.compare_digest(_hash(_presented(headers)), self._key):
            await _refuse(send, 401, "the operator's key is needed", [_ASKED])
        else:
            await self._app(scope, receive, send)


def _hash(key: bytes) -> bytes:
    # However long they are, comparing hashes takes the same time.
    return hashlib.sha256(key).digest()


def _presented(headers: Headers) -> bytes:
    value = next((value for name, value in headers if name == b"authorization"), b"")
    scheme, _, credentials = value.partition(b" ")
    if scheme.lower() == b"bearer":
        return credentials.strip()
    if scheme.lower() != b"basic":
        return b""
    try:
        return base64.b64decode(credentials.strip(), validate=True).partition(b":")[2]
    except binascii.Error:
        return b""


def _from_here(scope: Scope, headers: Headers) -> bool:
    """Return whether somebody on this machine asks, and by a name no page elsewhere could use."""
    client = scope.get("client")
    names = {name for name, _ in headers}
    hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
    return (
        client is not None
        and is_loopback(client[0])
        and not names & _FORWARDED
        and len(hosts) == 1
        and is_loopback(without_port(hosts[0]))
    )


async def _refuse(send: Send, status: int, message: str, headers: Headers) -> None:
    body = f"{message}\n".encode()
    own = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    length = (b"content-length", str(len(body)).encode())
    await send(
        {"type": "http.response.start", "status": status, "headers": [*headers, *own, length]}
    )
    await send({"type": "http.response.body", "body": body})
