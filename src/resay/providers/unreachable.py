"""Explain why a client could not connect, in words that reveal nothing but the address."""

from __future__ import annotations

import errno
import ipaddress
import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Why a client could not connect.

    Attributes:
        reason: The reason, such as "nothing listens at 127.0.0.1:11434".
        remedy: What to do about it.
    """

    reason: str
    remedy: str


def unreachable_by(error: BaseException) -> Unreachable | None:
    """Return which address a client could not connect to, and why.

    Args:
        error: The client's error.

    Returns:
        The reason; None if a connection was made, or if that is unknown.
    """
    causes = list(_causes(error))
    if not any(type(cause).__name__ in _CONNECTING for cause in causes):
        return None
    # litellm uses the same name when an established connection breaks.
    if any(getattr(cause, "errno", None) in _BROKEN for cause in causes):
        return None
    host, port = next(filter(None, map(_address, causes)), ("the host", None))
    address = host if port is None else f"{host}:{port}"
    remedy = _START if _is_private(host) else _CHECK_NETWORK
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return Unreachable(f"there is no host {host!r}", remedy)
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return Unreachable(f"nothing listens at {address}", remedy)
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return Unreachable(f"no secure connection to {address} could be made", _CHECK_CERTIFICATE)
    return Unreachable(f"{address} cannot be connected to", remedy)


_START = "start the server, or check `api_base`"
_CHECK_NETWORK = (
    "check the network connection, the proxy if there is one (HTTPS_PROXY), and the spelling of"
    " `api_base`"
)
_CHECK_CERTIFICATE = (
    "check whether `api_base` begins with the right one of http:// and https://, and the"
    " certificate of the server or of a proxy (SSL_CERT_FILE)"
)
# Names that only a private network has; a name without a dot is one, too.
_PRIVATE_ENDS = (".home.arpa", ".internal", ".lan", ".local", ".localhost", ".test")
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


def _is_private(host: str) -> bool:
    """Whether a host is this machine, or one of a private network: the user's own, most likely."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_private
    except ValueError:
        name = host.rstrip(".").lower()
        return "." not in name or name.endswith(_PRIVATE_ENDS)


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
