"""The gateway as an ASGI application."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cached_property

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from resay.gateway.admission import Admission, is_loopback, without_port
from resay.gateway.calls import Headers
from resay.gateway.config import GatewayConfig
from resay.gateway.handling import Handling, Watch
from resay.gateway.litellm.upstream import LiteLLMUpstream
from resay.gateway.logs import log_request
from resay.gateway.metrics import Metrics, Readings
from resay.gateway.observing import Observer
from resay.gateway.openapi import document
from resay.gateway.policies import Policies
from resay.gateway.routing import Routing
from resay.gateway.upstream import UpstreamClient
from resay.reporting.dashboard import routes as dashboard
from resay.reporting.journal import open_journal

# What a proxy says of whom it asks for. They would all come from this machine.
_FORWARDED = frozenset({b"forwarded", b"via", b"x-forwarded-for", b"x-real-ip"})
# How old what other workers tell of themselves in the metrics may be.
_REFRESH_S = 1.0
_ASKED = {"www-authenticate": 'Basic realm="resay", charset="UTF-8"'}


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
            app = _refusal(403, "this needs an `operator_key` in the gateway file", {})
        elif self._key and not hmac.compare_digest(_hash(_presented(headers)), self._key):
            app = _refusal(401, "the operator's key is needed", _ASKED)
        else:
            app = self._app
        await app(scope, receive, send)


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


def _refusal(status: int, message: str, headers: dict[str, str]) -> Response:
    return PlainTextResponse(f"{message}\n", status, {**headers, "cache-control": "no-store"})


class Gateway:
    """Guards what clients ask of one upstream, and of models that are asked through litellm.

    Args:
        config: Its configuration.
        on_verdict: Who is notified of each guarded request, once, when it is over.

    Raises:
        ConfigurationError: A variable that is to hold a client's key holds none.
        MissingDependencyError: The journal's extra is not installed.

    Attributes:
        policies: The policies, and how they are read again.
        admission: How many requests are being guarded, and how many wait for it.
        draining: Whether it is to stop, so that nobody should send it anything new.
    """

    def __init__(self, config: GatewayConfig, *, on_verdict: Observer | None = None) -> None:
        self._config = config
        self.policies = Policies(config)
        self.admission = Admission(config.limits)
        self._models = _models(config)
        self._journal = open_journal(config.journal) if config.journal else None
        self._metrics = Metrics(self._readings())
        told = [log_request, self._metrics.observe, *([on_verdict] if on_verdict else [])]
        watch = Watch(told, self._journal, self._metrics)
        self._handling = Handling(config, self.policies, self.admission, watch)
        self.draining = False

    def _readings(self) -> Readings:
        admission, policies, journal = self.admission, self.policies, self._journal
        return Readings(
            guarded=lambda: admission.inside,
            waiting=lambda: admission.waiting,
            journal_lost=None if journal is None else lambda: journal.lost,
            reload_succeeded=lambda: policies.succeeded,
            reloaded_at=lambda: policies.reloaded_at,
        )

    @property
    def ready(self) -> bool:
        """Whether requests may be sent."""
        return self._handling.open and not self.draining

    def app(self, routes: Sequence[BaseRoute] = ()) -> Starlette:
        """Return the application.

        Args:
            routes: Further routes, which come before the gateway's own.
        """
        shown = [] if self._journal is None else dashboard(self._journal)
        router = Router([*shown, Route("/metrics", self._counted)])
        operators = ForOperators(router, self._config)
        own = [
            Route("/healthz", _healthy),
            Route("/readyz", self._readiness),
            Route("/openapi.json", self._description),
            *(Route(path, operators) for path in ("/metrics", "/ui", "/ui/{rest:path}")),
            Route("/{path:path}", self._handling),
        ]
        return Starlette(routes=[*routes, *own], lifespan=self._lifespan)

    async def _counted(self, request: Request) -> Response:
        accept = request.headers.get("accept")
        content, kind = await asyncio.to_thread(self._metrics.render, accept)
        return Response(content, headers={"content-type": kind, "cache-control": "no-store"})

    @asynccontextmanager
    async def _lifespan(self, app: object) -> AsyncGenerator[None]:
        del app
        await self.prepare()
        upstream = self._config.upstream
        known = None if upstream is None else UpstreamClient(self._config, upstream)
        routing = Routing(known, self._models)
        beside = [asyncio.ensure_future(self.policies.follow(self._config.reload_s))]
        if self._metrics.shared:
            beside.append(asyncio.ensure_future(self._refresh()))
        self._handling.begin(routing)
        try:
            yield
        finally:
            for task in beside:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            await self._handling.end()
            await routing.aclose()
            if self._journal is not None:
                await self._journal.aclose()

    async def _refresh(self) -> None:
        while True:
            self._metrics.refresh()
            await asyncio.sleep(_REFRESH_S)

    async def prepare(self) -> None:
        """Read the policies, load litellm, and see whether the journal can be read.

        Raises:
            ConfigurationError: A policy is not valid or cannot be used here, or litellm does not
                know one of the `models`.
            MissingDependencyError: litellm is not installed, and there are `models`.
            ScorerError: A model's server does not answer.
            JournalError: The journal cannot be read.
        """
        if self.policies.loaded:
            return
        await self.policies.load()
        if self._models is not None:
            await self._models.prepare()
        if self._journal is not None:
            await self._journal.recent(1)

    @cached_property
    def _described(self) -> bytes:
        return json.dumps(document(self._config)).encode()

    async def _description(self, request: Request) -> Response:
        return _json(200, self._described)

    async def _readiness(self, request: Request) -> Response:
        return _json(200, _READY) if self.ready else _json(503, _NOT_READY)


def _models(config: GatewayConfig) -> LiteLLMUpstream | None:
    if not config.models:
        return None
    timeout = {} if config.upstream is None else {"timeout_s": config.upstream.timeout_s}
    return LiteLLMUpstream(config.models, answer_bytes=config.limits.answer_bytes, **timeout)


_OK, _READY, _NOT_READY = (
    json.dumps({"status": status}).encode() for status in ("ok", "ready", "not ready")
)


async def _healthy(request: Request) -> Response:
    return _json(200, _OK)


def _json(status: int, content: bytes) -> Response:
    return Response(content, status, media_type="application/json")
