"""The gateway as an ASGI application."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cached_property
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from resay.adapters.limits import SharedState
from resay_server.dashboard import routes as dashboard
from resay_server.gateway.admission import Admission
from resay_server.gateway.config import GatewayConfig, GatewayLimits
from resay_server.gateway.handler import RequestHandler
from resay_server.gateway.litellm.upstream import LiteLLMUpstream
from resay_server.gateway.logs import log_request
from resay_server.gateway.metrics import Metrics, Readings
from resay_server.gateway.observation import Observer
from resay_server.gateway.openapi.document import document
from resay_server.gateway.operators import OperatorAuth
from resay_server.gateway.paths import PREFIX
from resay_server.gateway.policies import Policies
from resay_server.gateway.reporter import Reporter
from resay_server.gateway.routing import Routing
from resay_server.gateway.shared import Quotas, shared_state
from resay_server.gateway.upstream import UpstreamClient
from resay_server.gateway.upstream_health import UpstreamHealth
from resay_server.journal import open_journal

# The maximum age of other workers' values in the metrics.
_REFRESH_S = 1.0
_API_PREFIX = f"{PREFIX}/"

_logger = logging.getLogger("resay.gateway")


class Gateway:
    """Guards requests to one upstream, and to models called through litellm.

    Args:
        config: Its configuration.
        on_verdict: Called once for each guarded request, when it is over.

    Raises:
        ConfigurationError: A variable that should contain a client's key is not set.
        MissingDependencyError: The journal's extra is not installed.

    Attributes:
        policies: The policies, and their reloading.
        admission: Admission control, with the numbers of guarded and queued requests.
        draining: Whether it is shutting down, and should receive no new requests.
    """

    def __init__(self, config: GatewayConfig, *, on_verdict: Observer | None = None) -> None:
        self._config = config
        self.policies = Policies(config)
        self.admission = Admission(config.limits)
        self._models = _models(config)
        self._journal = open_journal(config.journal) if config.journal else None
        self._state = shared_state(config)
        self._health = UpstreamHealth()
        self._metrics = Metrics(self._readings())
        observers: list[Observer] = [log_request, self._metrics.observe]
        if on_verdict is not None:
            observers.append(on_verdict)
        quotas = Quotas(config, self._state)
        self._handler = RequestHandler(
            config=config,
            policies=self.policies,
            admission=self.admission,
            reporter=Reporter(observers, self._journal, self._metrics, quotas),
            quotas=quotas,
            state=self._state,
        )
        self.draining = False

    def _readings(self) -> Readings:
        admission, policies, journal = self.admission, self.policies, self._journal
        state = self._state
        return Readings(
            guarded=lambda: admission.in_flight,
            waiting=lambda: admission.queued,
            journal_lost=None if journal is None else lambda: journal.lost,
            reload_succeeded=lambda: policies.succeeded,
            reloaded_at=lambda: policies.reloaded_at,
            state_degraded=None if state is None else lambda: state.degraded,
            state_members=None if state is None else lambda: state.members,
            policy_versions=None if state is None else lambda: max(1, len(state.notes)),
        )

    @property
    def limits(self) -> GatewayLimits:
        """The limits of its configuration."""
        return self._config.limits

    @property
    def ready(self) -> bool:
        """Whether requests may be sent."""
        return self._handler.open and not self.draining

    def app(self, routes: Sequence[BaseRoute] = ()) -> Starlette:
        """Return the application.

        Args:
            routes: Additional routes, matched before the gateway's own.
        """
        pages: list[BaseRoute] = []
        if self._journal is not None:
            pages = dashboard(self._journal, hosts=None, policies=self.policies.guards)
        router = Router([*pages, Route("/metrics", self._metrics_response)])
        operators = OperatorAuth(router, self._config)
        own = [
            Route("/healthz", _healthy),
            Route("/readyz", self._readiness_response),
            Route("/openapi.json", self._openapi_response),
            *(Route(path, operators) for path in ("/metrics", "/ui", "/ui/{rest:path}")),
            *([Route("/", _home)] if pages else []),
            Route("/{path:path}", self._handler),
        ]
        # Nothing of the application's own comes before these paths, so they need no router.
        direct = None if routes else self._handler
        return _Application(direct, routes=[*routes, *own], lifespan=self._lifespan)

    async def _metrics_response(self, request: Request) -> Response:
        accept = request.headers.get("accept")
        content, kind = await asyncio.to_thread(self._metrics.render, accept)
        return Response(content, headers={"content-type": kind, "cache-control": "no-store"})

    @asynccontextmanager
    async def _lifespan(self, app: object) -> AsyncGenerator[None]:
        del app
        await self.prepare()
        upstream: UpstreamClient | None = None
        if self._config.upstream is not None:
            upstream = UpstreamClient(self._config, self._config.upstream, self._health)
        routing = Routing(upstream, self._models)
        background = [asyncio.ensure_future(self.policies.watch_files(self._config.reload_s))]
        if self._state is not None:
            background.append(asyncio.ensure_future(self._share(self._state)))
        if self._metrics.shared:
            background.append(asyncio.ensure_future(self._refresh()))
        if self._config.pass_through:
            opened = ", ".join(self._config.pass_through)
            _logger.warning("passed through unguarded, with the upstream's key: %s", opened)
        self._handler.start(routing)
        try:
            yield
        finally:
            for task in background:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            await self._handler.stop()
            await routing.aclose()
            if self._journal is not None:
                await self._journal.aclose()
            if self._state is not None:
                await self._state.aclose()

    async def _share(self, state: SharedState) -> None:
        """Publish the version of the policies in use to the other gateways."""
        while True:
            member = await state.member()
            if state.note != self.policies.version:
                state.note = self.policies.version
                await member.send_heartbeat()
            await asyncio.sleep(_REFRESH_S)

    async def _refresh(self) -> None:
        while True:
            self._metrics.refresh()
            await asyncio.sleep(_REFRESH_S)

    async def prepare(self) -> None:
        """Load the policies and litellm, and check that the journal is readable.

        Raises:
            ConfigurationError: A policy is not valid or cannot be used here, or litellm does not
                know one of the `models`.
            MissingDependencyError: litellm is not installed, and there are `models`.
            ScorerError: A model's server does not respond.
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
    def _openapi_bytes(self) -> bytes:
        return json.dumps(document(self._config)).encode()

    async def _openapi_response(self, request: Request) -> Response:
        return _json(200, self._openapi_bytes)

    async def _readiness_response(self, request: Request) -> Response:
        ready = self.ready
        body: dict[str, object] = {"status": "ready" if ready else "not ready"}
        # It changes nothing of the status: gateways that are all taken out of service because of
        # one upstream could not even say so, and models called through litellm have others.
        if self._config.upstream is not None:
            body["upstream"] = self._health.to_dict()
        if self._journal is not None:
            body["journal"] = {"lost": self._journal.lost}
        body["policies"] = self.policies.version
        # It changes nothing of the status either: those that were loaded before are in use.
        body["policy_reload"] = self.policies.reload_status()
        if self._state is not None:
            state = self._state
            body["state"] = "degraded" if state.degraded else "ok"
            body["members"] = state.members
            # Several versions: some gateways have not loaded the new files yet.
            body["policy_versions"] = state.notes
        return _json(200 if ready else 503, json.dumps(body).encode())


class _Application(Starlette):
    """An application whose requests to the APIs skip the router and its middleware.

    Those would take a twentieth of the time of a request.

    Args:
        direct: Answers these requests; None for the router.
        routes: The routes.
        lifespan: The lifespan of the application.
    """

    def __init__(self, direct: ASGIApp | None, **options: Any) -> None:
        super().__init__(**options)
        self._direct = direct

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_direct = scope["type"] == "http" and scope["path"].startswith(_API_PREFIX)
        if is_direct and self._direct is not None and not scope.get("root_path"):
            await self._direct(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def _models(config: GatewayConfig) -> LiteLLMUpstream | None:
    if not config.models:
        return None
    timeout = {} if config.upstream is None else {"timeout_s": config.upstream.timeout_s}
    return LiteLLMUpstream(config.models, answer_bytes=config.limits.answer_bytes, **timeout)


_OK = json.dumps({"status": "ok"}).encode()


async def _home(request: Request) -> Response:
    return RedirectResponse(f"{request.scope.get('root_path', '')}/ui")


async def _healthy(request: Request) -> Response:
    return _json(200, _OK)


def _json(status: int, content: bytes) -> Response:
    return Response(content, status, media_type="application/json")
