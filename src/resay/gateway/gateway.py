"""The gateway as an ASGI application."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from resay.errors import MissingDependencyError
from resay.gateway.admitting import Admission, OverloadedError
from resay.gateway.calls import PREFIX, Call, Headers, credential, read_call
from resay.gateway.config import GatewayConfig
from resay.gateway.guarding import UNGUARDED, Guarding, Wanted, read_body
from resay.gateway.incoming import GoneError, Incoming, unless_gone
from resay.gateway.keys import Keyring
from resay.gateway.observing import Observation, Observer, notify
from resay.gateway.outgoing import Outgoing
from resay.gateway.policies import Policies
from resay.gateway.refusing import RefusedError
from resay.gateway.upstream import UpstreamClient, given_headers

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.routing import BaseRoute
    from starlette.types import Receive, Scope, Send

__all__ = ["Gateway"]

logger = logging.getLogger("resay.gateway")

_JSON: Headers = [(b"content-type", b"application/json")]
_LENGTH = re.compile(r"[0-9]{1,18}")
_DOTS = re.compile(r"(?:^|[/\\])\.{1,2}(?:$|[/\\])")


class Gateway:
    """Guards what clients ask of one upstream.

    Args:
        config: What it is told.
        on_verdict: Who is told of each guarded request, once, when it is over.

    Raises:
        ConfigurationError: A variable that is to hold a client's key holds none.

    Attributes:
        draining: Whether it is to stop, so that nobody should send it anything new.
    """

    def __init__(self, config: GatewayConfig, *, on_verdict: Observer | None = None) -> None:
        self._config = config
        self._keys = Keyring(config.keys)
        self._policies = Policies(config)
        self._admission = Admission(config.limits)
        self._observer = on_verdict
        self._opened: UpstreamClient | None = None
        self.draining = False

    @property
    def policies(self) -> Policies:
        """The policies, and how they are read again."""
        return self._policies

    @property
    def admission(self) -> Admission:
        """How many requests are being guarded, and how many wait for it."""
        return self._admission

    @property
    def ready(self) -> bool:
        """Whether requests may be sent."""
        return self._opened is not None and not self.draining

    def app(self, routes: Sequence[BaseRoute] = ()) -> Starlette:
        """Return the application.

        Args:
            routes: Further routes, which come before the gateway's own.

        Raises:
            MissingDependencyError: The extra `server` is not installed.
        """
        try:
            from starlette.applications import Starlette
            from starlette.routing import Route
        except ImportError as error:
            raise MissingDependencyError("starlette", "server", "the gateway") from error
        own = [
            Route("/healthz", _Told(lambda: (200, {"status": "ok"})), methods=["GET"]),
            Route("/readyz", _Told(self._readiness), methods=["GET"]),
            Route("/{path:path}", self),
        ]
        return Starlette(routes=[*routes, *own], lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, app: object) -> AsyncGenerator[None]:
        del app
        if not self._policies.loaded:
            await self._policies.load()
        client = UpstreamClient(self._config)
        following = asyncio.ensure_future(self._policies.follow(self._config.reload_s))
        self._opened = client
        try:
            yield
        finally:
            self._opened = None
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
            await client.aclose()

    def _readiness(self) -> tuple[int, Mapping[str, Any]]:
        return (200, {"status": "ready"}) if self.ready else (503, {"status": "not ready"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        call = read_call(scope)
        outgoing = Outgoing(send, call, self._config.limits.write_s)
        incoming = self._incoming(call, receive)
        work = self._answer(call, incoming, outgoing)
        await unless_gone(incoming, work, lambda: outgoing.complete)

    def _incoming(self, call: Call, receive: Receive) -> Incoming:
        limits = self._config.limits
        announced = call.header(b"content-length") or ""
        return Incoming(
            receive,
            int(announced) if _LENGTH.fullmatch(announced) else None,
            limits.upload_bytes if call.api is None else limits.body_bytes,
            limits.body_s,
        )

    async def _answer(self, call: Call, incoming: Incoming, outgoing: Outgoing) -> None:
        try:
            await self._route(call, incoming, outgoing)
        except GoneError:
            # The server closes what was begun and not ended.
            return
        except RefusedError as error:
            await self._refuse(error, outgoing)
        # What it says may hold what was asked.
        except Exception as error:
            logger.error("%s (request %s)", _place_of(error), call.request_id)
            failure = RefusedError(500, "internal_error", "the gateway failed; see its log")
            await self._refuse(failure, outgoing)

    async def _refuse(self, error: RefusedError, outgoing: Outgoing) -> None:
        if outgoing.status is None:
            with suppress(GoneError):
                await outgoing.refuse(error)

    async def _route(self, call: Call, incoming: Incoming, outgoing: Outgoing) -> None:
        self._check_headers(call)
        client = self._owner(call)
        if call.api is None:
            _check_path(call)
            return await self._pass(call, incoming, outgoing, [])
        policy, guard = self._policies.get(call.policy)
        wanted = Wanted(call, call.api, policy, guard, call.tenant, client)
        try:
            async with self._admission.place():
                await self._guard(wanted, incoming, outgoing)
        except OverloadedError as error:
            await self._overloaded(error, wanted, incoming, outgoing)

    def _check_headers(self, call: Call) -> None:
        limit = self._config.limits.header_bytes
        if sum(len(name) + len(value) for name, value in call.headers) > limit:
            message = f"the request's headers are longer than {limit} bytes"
            raise RefusedError(431, "headers_too_large", message, headers={"connection": "close"})

    def _owner(self, call: Call) -> str | None:
        if not self._keys:
            return None
        owner = self._keys.owner(credential(call))
        if owner is None:
            raise RefusedError(401, "invalid_api_key", "this key is not known to the gateway")
        return owner

    async def _guard(self, wanted: Wanted, incoming: Incoming, outgoing: Outgoing) -> None:
        body = read_body(wanted.call, await incoming.whole())
        guarding = Guarding(wanted, body, self._client, outgoing, self._config.heartbeat_s)
        try:
            await guarding.run()
        except RefusedError as error:
            await self._refuse(error, outgoing)
        finally:
            notify(self._observer, guarding.observation())

    async def _overloaded(
        self, error: OverloadedError, wanted: Wanted, incoming: Incoming, outgoing: Outgoing
    ) -> None:
        if self._config.overload == "refuse":
            raise RefusedError(
                429,
                "overloaded",
                "too much is asked of the gateway at the same time; try again",
                headers={"retry-after": str(error.retry_after_s)},
            )
        try:
            await self._pass(wanted.call, incoming, outgoing, UNGUARDED)
        finally:
            notify(self._observer, _unguarded(wanted, outgoing))

    async def _pass(
        self, call: Call, incoming: Incoming, outgoing: Outgoing, headers: Headers
    ) -> None:
        """Pass a request on untouched, and its answer."""
        if _has_body(call):
            body = incoming.pieces()
        else:
            incoming.nothing()
            body = None
        response = await self._client.forward(call, body)
        incoming.nothing()
        try:
            await outgoing.start(
                response.status_code, [*given_headers(response, of_body=True), *headers]
            )
            async for piece in self._client.pieces(response, raw=True):
                await outgoing.write(piece)
        finally:
            await response.aclose()
        await outgoing.write(b"", last=True)

    @property
    def _client(self) -> UpstreamClient:
        if self._opened is None:
            raise RefusedError(503, "not_ready", "the gateway is not ready")
        return self._opened


class _Told:
    """Answers with what a function says, to whoever may ask."""

    def __init__(self, told: Any) -> None:
        self._told = told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, data = self._told()
        body = json.dumps(data).encode()
        length = (b"content-length", str(len(body)).encode())
        headers = [*_JSON, length]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def _has_body(call: Call) -> bool:
    return (
        call.header(b"transfer-encoding") is not None
        or (call.header(b"content-length") or "0").strip("0") != ""
    )


def _check_path(call: Call) -> None:
    decoded = unquote(call.path.decode("latin-1"))
    if not decoded.startswith(PREFIX + "/") or not call.path.startswith(PREFIX.encode() + b"/"):
        raise RefusedError(404, "not_found", f"the gateway has nothing here; it serves {PREFIX}/")
    if _DOTS.search(decoded) or any(ord(c) < 0x20 or c in "\x7f\\" for c in decoded):
        raise RefusedError(400, "bad_path", "the path leads elsewhere")


def _unguarded(wanted: Wanted, outgoing: Outgoing) -> Observation:
    return Observation(
        request_id=wanted.call.request_id,
        path=wanted.api.path,
        model=None,
        policy=wanted.policy,
        tenant=wanted.tenant,
        client=wanted.client,
        stream=False,
        status=outgoing.status or 499,
        action="unguarded",
        verdict=None,
        request=None,
        elapsed_s=0.0,
        complete=outgoing.complete,
    )


def _place_of(error: Exception) -> str:
    """Return what broke and where, without a word of what was said."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" in {trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
    return f"{type(error).__name__}{where}"
