"""Admission control: allowed hosts and origins, and the number of concurrent guarded requests.

A web page can send requests to any gateway that its visitor's browser can reach, and a page whose
host name resolves to such a gateway (DNS rebinding) can read the answers too. Neither has a
client's key. If clients need no key, such a page could spend the operator's.
"""

from __future__ import annotations

import ipaddress
import math
from contextlib import AbstractAsyncContextManager
from types import TracebackType

import anyio

from resay_server.dashboard.hosts import is_trusted_host
from resay_server.gateway.calls import Call, has_body
from resay_server.gateway.config import GatewayConfig, GatewayLimits
from resay_server.gateway.errors import RefusedError

_SHOWN = 64
_OTHER_SITES = frozenset({"cross-site", "same-site"})
# Content types that browsers send cross-site without a preflight request (Fetch standard,
# "CORS-safelisted request-header"). No client sends JSON as the first two; curl and others send it
# as the last two by default.
_TEXT, _UPLOAD = "text/plain", "multipart/form-data"
_DEFAULT_TYPES = frozenset({"", "application/x-www-form-urlencoded"})
# Headers that a web page cannot remove or forge.
_OF_BROWSERS = frozenset({b"origin", b"referer", b"sec-fetch-mode", b"sec-fetch-site"})
_BROWSER = "mozilla/"


def is_loopback(host: str) -> bool:
    """Return whether a host can only be this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def without_port(host: str) -> str:
    """Return the name or address in a `Host` header, in lower case."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


class HostRules:
    """Refuses requests that browsers send on behalf of other sites.

    Args:
        config: The gateway's configuration.
    """

    def __init__(self, config: GatewayConfig) -> None:
        self._needs_no_key = not config.keys
        self._hosts = frozenset(host.lower() for host in config.hosts)
        self._origins = frozenset(origin.lower() for origin in config.origins)

    def check(self, call: Call) -> None:
        """Check whether a request may be answered.

        Raises:
            RefusedError: It names an unknown host, or may come from a page of another site.
        """
        # A request with several is refused before.
        host = call.header(b"host") or ""
        if (self._needs_no_key or self._hosts) and not is_trusted_host(
            without_port(host), self._hosts
        ):
            message = f"the gateway does not accept the host {host[:_SHOWN]!r}; add it to `hosts`"
            raise RefusedError(403, "unknown_host", f"{message} in the gateway file")
        if self._needs_no_key:
            self._check_origin(call, host)
            _check_type(call)

    def _check_origin(self, call: Call, host: str) -> None:
        if not call.has_header(b"origin", b"sec-fetch-site"):
            return
        origins = {
            value.decode("latin-1").lower() for name, value in call.headers if name == b"origin"
        }
        own = {f"{scheme}://{host.lower()}" for scheme in ("http", "https")}
        refused = sorted(origins - own - self._origins)
        if refused:
            message = (
                f"pages of {refused[0][:_SHOWN]!r} may not use the gateway; add the origin to"
                " `origins` in the gateway file"
            )
            raise RefusedError(403, "unknown_origin", message)
        if not origins and (call.header(b"sec-fetch-site") or "").lower() in _OTHER_SITES:
            message = "pages of other sites may not use the gateway"
            raise RefusedError(403, "unknown_origin", message)


def _check_type(call: Call) -> None:
    if call.method != "POST" or not has_body(call):
        return
    kind = (call.header(b"content-type") or "").partition(";")[0].strip().lower()
    guarded = call.api is not None or call.own is not None
    unsupported = kind == _TEXT or (guarded and kind == _UPLOAD)
    if unsupported or (kind in _DEFAULT_TYPES and _is_browser(call)):
        message = f"the request's content-type is {kind[:_SHOWN]!r}; send `application/json`"
        raise RefusedError(415, "unsupported_content_type", message)


def _is_browser(call: Call) -> bool:
    agent = (call.header(b"user-agent") or "").lower()
    return agent.startswith(_BROWSER) or call.has_header(*_OF_BROWSERS)


class OverloadError(RefusedError):
    """There is no capacity for the request.

    Args:
        retry_after_s: When there may be capacity, in whole seconds.
    """

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(
            429,
            "overloaded",
            "the gateway is overloaded; try again later",
            headers={"retry-after": str(retry_after_s)},
        )


class Admission:
    """Limits concurrent requests and queues the excess.

    Args:
        limits: The limits on requests and on the queue.
    """

    def __init__(self, limits: GatewayLimits) -> None:
        self._limits = limits
        self._slots = anyio.Semaphore(limits.concurrency)
        self._queued = 0

    @property
    def in_flight(self) -> int:
        """The number of requests being guarded."""
        return self._limits.concurrency - self._slots.value

    @property
    def queued(self) -> int:
        """The number of requests in the queue."""
        return self._queued

    def check(self) -> None:
        """Check whether a new request could be admitted or queued now.

        Raises:
            OverloadError: The queue is full.
        """
        if not self._slots.value and self._queued >= self._limits.queue:
            raise self._overloaded()

    def slot(self, wait_s: float = math.inf) -> AbstractAsyncContextManager[None]:
        """Hold a slot while the context is open.

        Args:
            wait_s: How long to wait for one at most, if that is less than `queue_s`.

        Raises:
            OverloadError: The queue is full, or no slot was free for too long.
        """
        return _Slot(self, min(wait_s, self._limits.queue_s))

    async def enter(self, wait_s: float) -> None:
        """Take a slot, which `leave` gives back.

        Args:
            wait_s: How long to wait for one at most.
        """
        try:
            return self._slots.acquire_nowait()
        except anyio.WouldBlock:
            pass
        self.check()
        self._queued += 1
        try:
            with anyio.move_on_after(wait_s):
                return await self._slots.acquire()
        finally:
            self._queued -= 1
        raise self._overloaded()

    def leave(self) -> None:
        """Give a slot back."""
        self._slots.release()

    def _overloaded(self) -> OverloadError:
        return OverloadError(max(1, math.ceil(self._limits.queue_s / 2)))


class _Slot:
    # A class, because a generator takes several times as long.

    def __init__(self, admission: Admission, wait_s: float) -> None:
        self._admission = admission
        self._wait_s = wait_s

    async def __aenter__(self) -> None:
        await self._admission.enter(self._wait_s)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._admission.leave()
