"""Access to the pages for operators."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from resay_server.gateway.admission import is_loopback, without_port
from resay_server.gateway.config import GatewayConfig
from resay_server.gateway.headers import Headers

# Headers naming a proxy's client: all proxied requests seem to come from this machine.
_FORWARDED = frozenset({b"forwarded", b"via", b"x-forwarded-for", b"x-real-ip"})
_CHALLENGE = {"www-authenticate": 'Basic realm="resay", charset="UTF-8"'}


class OperatorAuth:
    """Restricts an application to operators.

    They authenticate with the operator's key, as HTTP Basic's password or as a bearer token. If
    there is none, access is limited to this machine, and only while clients have no keys.

    Args:
        app: The application.
        config: The gateway's configuration.
    """

    def __init__(self, app: ASGIApp, config: GatewayConfig) -> None:
        self._app = app
        key = config.operator_key
        self._key = None if key is None else _hash(key.get_secret_value().encode())
        self._allows_local = not config.keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the application, or refuse access."""
        headers: Headers = list(scope["headers"])
        if self._key is None and not (self._allows_local and _is_loopback(scope, headers)):
            app = _refusal(403, "access needs an `operator_key` in the gateway file", {})
        elif self._key and not hmac.compare_digest(_hash(_presented_key(headers)), self._key):
            app = _refusal(401, "the operator's key is needed", _CHALLENGE)
        else:
            app = self._app
        await app(scope, receive, send)


def _hash(key: bytes) -> bytes:
    # Hashes make the comparison take the same time for keys of any length.
    return hashlib.sha256(key).digest()


def _presented_key(headers: Headers) -> bytes:
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


def _is_loopback(scope: Scope, headers: Headers) -> bool:
    """Return whether a request is from this machine, under a name that no remote page can use."""
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


def _refusal(status: int, message: str, headers: dict[str, str]) -> Response:
    return PlainTextResponse(f"{message}\n", status, {**headers, "cache-control": "no-store"})
