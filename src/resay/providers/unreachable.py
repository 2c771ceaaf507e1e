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
    causes = list(_causes(error))
    if not any(type(cause).__name__ in _CONNECTING for cause in causes):
        return None
    # litellm uses the same name when an established connection breaks.
    if any(getattr(cause, "errno", None) in _BROKEN for cause in causes):
        return None
    host, port = next(filter(None, map(_address, causes)), ("the host", None))
    address = host if port is None else f"{host}:{port}"
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return f"there is no host {host!r}"
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return f"nothing listens at {address}"
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return f"no secure connection to {address} could be made"
    return f"{address} cannot be connected to"


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


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and those that caused it."""
    ids: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in ids:
        ids.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


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
