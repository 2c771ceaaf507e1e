"""The gateway as an ASGI application."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING

from resay.errors import MissingDependencyError
from resay.gateway.admitting import Admission
from resay.gateway.config import GatewayConfig
from resay.gateway.handling import Handling
from resay.gateway.litellm_upstream import LiteLLMUpstream
from resay.gateway.logs import log_request
from resay.gateway.metrics import Metrics, Readings
from resay.gateway.observing import Observer
from resay.gateway.openapi import document
from resay.gateway.operators import ForOperators
from resay.gateway.policies import Policies
from resay.gateway.routing import Routing
from resay.gateway.upstream import UpstreamClient
from resay.gateway.watching import Watch
from resay.reporting.dashboard import routes as dashboard
from resay.reporting.journal import open_journal

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute
    from starlette.types import Receive, Scope, Send

__all__ = ["Gateway"]


class Gateway:
    """Guards what clients ask of one upstream, and of models that are asked through litellm.

    Args:
        config: What it is told.
        on_verdict: Who is told of each guarded request, once, when it is over.

    Raises:
        ConfigurationError: A variable that is to hold a client's key holds none.
        MissingDependencyError: The extra `server` is not installed, or that of the journal.

    Attributes:
        draining: Whether it is to stop, so that nobody should send it anything new.
    """

    def __init__(self, config: GatewayConfig, *, on_verdict: Observer | None = None) -> None:
        self._config = config
        self._policies = Policies(config)
        self._admission = Admission(config.limits)
        self._models = _models(config)
        self._journal = open_journal(config.journal) if config.journal else None
        self._metrics = Metrics(self._readings())
        told = [log_request, self._metrics.observe, *([on_verdict] if on_verdict else [])]
        watch = Watch(told, self._journal, self._metrics)
        self._handling = Handling(config, self._policies, self._admission, watch)
        self.draining = False

    def _readings(self) -> Readings:
        admission, policies, journal = self._admission, self._policies, self._journal
        return Readings(
            guarded=lambda: admission.inside,
            waiting=lambda: admission.waiting,
            journal_lost=None if journal is None else lambda: journal.lost,
            reload_succeeded=lambda: policies.succeeded,
            reloaded_at=lambda: policies.reloaded_at,
        )

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
        return self._handling.open and not self.draining

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
            Route("/healthz", _Told(lambda: (200, _OK)), methods=["GET"]),
            Route("/readyz", _Told(self._readiness), methods=["GET"]),
            Route("/openapi.json", _Told(lambda: (200, self._described)), methods=["GET"]),
            *self._shown(),
            Route("/{path:path}", self._handling),
        ]
        return Starlette(routes=[*routes, *own], lifespan=self._lifespan)

    def _shown(self) -> list[BaseRoute]:
        """Return the routes of what only operators see."""
        from starlette.routing import Route, Router

        shown = [] if self._journal is None else dashboard(self._journal)
        router = Router([*shown, Route("/metrics", self._counted)])
        app = ForOperators(router, self._config)
        return [Route(path, app) for path in ("/metrics", "/ui", "/ui/{rest:path}")]

    async def _counted(self, request: Request) -> Response:
        from starlette.responses import Response

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
        following = asyncio.ensure_future(self._policies.follow(self._config.reload_s))
        self._handling.begin(routing)
        try:
            yield
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
            await self._handling.end()
            await routing.aclose()
            if self._journal is not None:
                await self._journal.aclose()

    async def prepare(self) -> None:
        """Read the policies, load litellm, and see whether the journal can be read.

        Raises:
            ConfigurationError: A policy is not valid or cannot be used here, or litellm does not
                know one of the `models`.
            MissingDependencyError: litellm is not installed, and there are `models`.
            ScorerError: A model's server does not answer.
            JournalError: The journal cannot be read.
        """
        if self._policies.loaded:
            return
        await self._policies.load()
        if self._models is not None:
            await self._models.prepare()
        if self._journal is not None:
            await self._journal.recent(1)

    @cached_property
    def _described(self) -> bytes:
        return json.dumps(document(self._config)).encode()

    def _readiness(self) -> tuple[int, bytes]:
        return (200, _READY) if self.ready else (503, _NOT_READY)


def _models(config: GatewayConfig) -> LiteLLMUpstream | None:
    if not config.models:
        return None
    timeout = {} if config.upstream is None else {"timeout_s": config.upstream.timeout_s}
    return LiteLLMUpstream(config.models, answer_bytes=config.limits.answer_bytes, **timeout)


_OK, _READY, _NOT_READY = (
    json.dumps({"status": status}).encode() for status in ("ok", "ready", "not ready")
)


class _Told:
    """Answers with what a function says, a status and JSON, to whoever may ask."""

    def __init__(self, told: Callable[[], tuple[int, bytes]]) -> None:
        self._told = told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, body = self._told()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
