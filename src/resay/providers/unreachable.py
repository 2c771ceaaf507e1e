"""Explain why a client could not connect, in words that reveal nothing but the address."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator, Mapping
from typing import Any


def unreachable_by(error: BaseException) -> str | None:
    """Return which address a client could not connect to, and why.

    Args:
        error: The client's error.

    Returns:
        The reason, such as "nothing listens at 127.0.0.1:11434"; None if a connection was made, or
        if that is unknown.
    """
    chain = list(_chain(error))
    failed = next((e for e in chain if type(e).__name__ in _CONNECTING), None)
    # litellm uses the same name when an established connection breaks.
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


UNUSABLE_STATUSES = frozenset({401, 403, 404})
"""The HTTP statuses for a bad key, one that may not do this, and a model that does not exist."""
_PORTS: Mapping[str, int] = {"http": 80, "https": 443}
_BROKEN = (errno.ECONNRESET, errno.EPIPE)
# Errors of aiohttp, httpx and Python itself.
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
    """Return the address a client tried to connect to, if this error names it."""
    host: object = getattr(error, "host", None)
    port: object = getattr(error, "port", None)
    if type(error).__name__ == "ConnectError":
        try:
            url = error.request.url
        # httpx raises it for an error without a request.
        except (AttributeError, RuntimeError):
            return None
        host, port = url.host, url.port or _PORTS.get(url.scheme)
    if not isinstance(host, str) or not host:
        return None
    return host, port if isinstance(port, int) else None
