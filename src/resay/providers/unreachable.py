"""What keeps a client from connecting, in words that hold nothing but the address."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator, Mapping
from typing import Any


def unreachable_by(error: BaseException) -> str | None:
    """Return what a client could not connect to, and why.

    Args:
        error: What the client raised.

    Returns:
        The reason, such as "nothing listens at 127.0.0.1:11434"; None where there was a connection,
        or where that is not known.
    """
    chain = list(_chain(error))
    failed = next((e for e in chain if type(e).__name__ in _CONNECTING), None)
    # litellm calls it so too when a connection that was made before breaks.
    if failed is None or any(getattr(e, "errno", None) in _BROKEN for e in chain):
        return None
    host, port = next(filter(None, map(_address, chain)), ("the host", None))
    where = host if port is None else f"{host}:{port}"
    if any(isinstance(e, socket.gaierror) for e in chain):
        return f"there is no host {host!r}"
    if any(isinstance(e, ConnectionRefusedError) for e in chain):
        return f"nothing listens at {where}"
    if any(isinstance(e, ssl.SSLError) for e in chain):
        return f"no secure connection to {where} could be made"
    return f"{where} cannot be connected to"


_PORTS: Mapping[str, int] = {"http": 80, "https": 443}
_BROKEN = (errno.ECONNRESET, errno.EPIPE)
# aiohttp's, httpx's, and Python's own.
_CONNECTING = frozenset(
    {
        "ClientConnectorCertificateError",
        "ClientConnectorDNSError",
        "ClientConnectorError",
        "ClientConnectorSSLError",
        "ConnectError",
        "ConnectionRefusedError",
        "gaierror",
    }
)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        yield at
        at = at.__cause__ or at.__context__


def _address(error: Any) -> tuple[str, int | None] | None:
    """Return where a client wanted to connect to, if this error of it says so."""
    host: object = getattr(error, "host", None)
    port: object = getattr(error, "port", None)
    if type(error).__name__ == "ConnectError":
        try:
            url = error.request.url
        # httpx raises it for an error that knows of no request.
        except (AttributeError, RuntimeError):
            return None
        host, port = url.host, url.port or _PORTS.get(url.scheme)
    if not isinstance(host, str) or not host:
        return None
    return host, port if isinstance(port, int) else None
