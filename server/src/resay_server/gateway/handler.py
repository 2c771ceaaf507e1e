"""Answers the requests of clients: guards them, or passes them on."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import time
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any, get_args
from urllib.parse import unquote

from starlette.types import Receive, Scope, Send

from resay import request_id
from resay.adapters import GuardRuntime, compute, trace_context_from, use_trace_context
from resay.adapters.apis import CHAT_COMPLETIONS, RESPONSES, Body, Event, json_bytes
from resay.adapters.http import is_event_stream
from resay.adapters.limits import SharedState
from resay.adapters.verdicts import VerdictDetail
from resay_server.gateway.admission import Admission, HostRules, OverloadError
from resay_server.gateway.calls import (
    AGENTGATEWAY_REQUEST,
    AGENTGATEWAY_RESPONSE,
    CHECK,
    FEEDBACK,
    LITELLM_GUARDRAIL,
    PORTKEY,
    VERDICT_DETAIL,
    WEBHOOKS,
    Call,
    credential,
    has_body,
    read_call,
)
from resay_server.gateway.check import check
from resay_server.gateway.config import GatewayConfig
from resay_server.gateway.endpoints import EndpointState, Handler, Reply
from resay_server.gateway.errors import RefusedError
from resay_server.gateway.feedback import rate
from resay_server.gateway.guarded_request import (
    UNGUARDED,
    GuardedRequest,
    RequestContext,
    new_observation,
    verdict_headers,
)
from resay_server.gateway.headers import CONTROL_CHARACTER, Headers
from resay_server.gateway.incoming import ClientDisconnectedError, Incoming, run_until_disconnect
from resay_server.gateway.keys import Keyring
from resay_server.gateway.litellm.guardrail import check_for_litellm
from resay_server.gateway.logs import WithoutMessage
from resay_server.gateway.outgoing import Outgoing
from resay_server.gateway.paths import (
    PREFIX,
    PassThrough,
    contains_question,
    is_stored,
    plain_path,
    stored_id,
)
from resay_server.gateway.policies import Policies
from resay_server.gateway.reporter import Reporter
from resay_server.gateway.request_body import read_body
from resay_server.gateway.routing import Routing
from resay_server.gateway.shared import Quotas
from resay_server.gateway.stored import StoredAnswers
from resay_server.gateway.upstream import UpstreamError, UpstreamResponse, client_headers
from resay_server.gateway.webhooks import agentgateway_request, agentgateway_response, portkey

_logger = logging.getLogger("resay.gateway")
_HANDLERS: Mapping[str, Handler] = {
    CHECK: check,
    LITELLM_GUARDRAIL: check_for_litellm,
    PORTKEY: portkey,
    AGENTGATEWAY_REQUEST: agentgateway_request,
    AGENTGATEWAY_RESPONSE: agentgateway_response,
}
_JSON_TYPE = (b"content-type", b"application/json")
# Statuses from here on say that something went wrong.
_FIRST_ERROR = 400
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_LENGTH = re.compile(r"[0-9]+")
# Enough digits to show that a body is too long.
_DIGITS = 18
# How long requests may take to finish after the server has abandoned them.
_SHUTDOWN_GRACE_S = 5.0
_DOTS = re.compile(r"(?:^|[/\\])\.{1,2}(?:$|[/\\])")


class RequestHandler:
    """Guards requests, answers them itself, or passes them on.

    Args:
        config: The gateway's configuration.
        policies: The policies.
        admission: Admission control.
        reporter: Reports requests.
        quotas: Quotas of clients and tenants.
        state: State shared with other gateways.

    Raises:
        ConfigurationError: A variable that should contain a client's key is not set.
    """

    def __init__(
        self,
        config: GatewayConfig,
        policies: Policies,
        admission: Admission,
        reporter: Reporter,
        quotas: Quotas,
        state: SharedState | None,
    ) -> None:
        self._config = config
        self._rules = HostRules(config)
        self._keys = Keyring(config.keys)
        self._passes = PassThrough(config.pass_through)
        self._policies = policies
        self._admission = admission
        self._long_bodies = Admission(config.limits)
        self._reporter = reporter
        self._shared = EndpointState(config, policies, state, reporter.journal)
        self._quotas = quotas
        self._stored = StoredAnswers()
        self._tasks: set[asyncio.Task[object]] = set()
        self._routing: Routing | None = None

    @property
    def open(self) -> bool:
        """Whether requests are accepted."""
        return self._routing is not None

    def start(self, routing: Routing) -> None:
        """Accept requests.

        Args:
            routing: Routes them to providers.
        """
        self._routing = routing

    async def stop(self) -> None:
        """Accept no more requests, and wait for abandoned ones to report."""
        self._routing = None
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_SHUTDOWN_GRACE_S)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a server's
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        call = read_call(scope)
        outgoing = Outgoing(send, call, self._config.limits.write_s)
        incoming = self._incoming(call, receive)
        work = self._answer(call, incoming, outgoing)
        await run_until_disconnect(task, work, incoming, lambda: outgoing.complete)

    def _incoming(self, call: Call, receive: Receive) -> Incoming:
        limits = self._config.limits
        announced = call.header(b"content-length") or ""
        return Incoming(
            receive,
            int(announced[:_DIGITS]) if _LENGTH.fullmatch(announced) else None,
            limits.body_bytes if call.api or call.own else limits.upload_bytes,
            limits.body_s,
        )

    async def _answer(self, call: Call, incoming: Incoming, outgoing: Outgoing) -> None:
        request_id.set(call.request_id)
        began_s = time.monotonic()
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in call.headers}
        try:
            with use_trace_context(trace_context_from(headers)):
                await self._route(call, incoming, outgoing)
        except ClientDisconnectedError:
            # The server closes an unfinished response.
            return
        except RefusedError as error:
            await self._refuse(error, outgoing)
        except RecursionError:
            message = "the request, or the answer to it, is nested too deeply"
            await self._refuse(RefusedError(400, "nested_too_deeply", message), outgoing)
        except Exception as error:
            _logger.error(
                "request %s failed in the gateway", call.request_id, exc_info=WithoutMessage(error)
            )
            message = f"the gateway failed; see its log, at request {call.request_id!r}"
            await self._refuse(RefusedError(500, "internal_error", message), outgoing)
        finally:
            self._reporter.finish(call, outgoing, time.monotonic() - began_s)

    async def _refuse(self, error: RefusedError, outgoing: Outgoing) -> None:
        if outgoing.status is None:
            with suppress(ClientDisconnectedError):
                await outgoing.refuse(error)

    async def _route(self, call: Call, incoming: Incoming, outgoing: Outgoing) -> None:
        self._check_headers(call)
        self._rules.check(call)
        client = self._owner(call)
        if call.own is None:
            _check_path(call)
        if call.api is None and call.own is None:
            return await self._pass_unguarded(call, client, incoming, outgoing)
        if call.own == FEEDBACK:
            async with self._quotas.admit(client, call.tenant), await self._body_slot(incoming):
                body = read_body(call, await incoming.read_all())
                rating = await rate(call, client, body, self._shared)
            return await outgoing.send_complete(200, [_JSON_TYPE], json_bytes(rating))
        policy, guard = self._policies.choose(call.policy, brings_answer=call.own is not None)
        if call.own is None:
            remedy = f", which only {CHECK} is given; use another policy (x-resay-policy)"
            problem = GuardRuntime(guard).missing_inputs({"references": remedy})
            if problem is not None:
                raise RefusedError(400, "policy_needs_references", f"policy {policy!r}: {problem}")
        api = call.api or CHAT_COMPLETIONS
        detail = self._detail(call)
        context = RequestContext(
            call=call,
            api=api,
            policy=policy,
            guard=guard,
            client=client,
            detail=detail,
        )
        wait_s = self._config.limits.webhook_s if call.own in WEBHOOKS else math.inf
        try:
            async with self._quotas.admit(client, call.tenant), await self._body_slot(incoming):
                data = await incoming.read_all()
                async with self._admission.slot(wait_s):
                    await self._guard(context, data, outgoing)
        except OverloadError as error:
            await self._overloaded(error, context, incoming, outgoing)

    async def _pass_unguarded(
        self, call: Call, client: str | None, incoming: Incoming, outgoing: Outgoing
    ) -> None:
        asks_nothing = self._passes.check(call.method, call.address)
        if asks_nothing and has_body(call):
            await _check_asks_nothing(call, incoming, self._config.limits.body_bytes)
        if is_stored(call.method, call.address):
            name = stored_id(call.address)
            if self._policies.withheld or self._keys or self._stored.awaits(name):
                return await self._read_stored(call, client, incoming, outgoing)
        return await self._pass_through(call, incoming, outgoing, [])

    async def _body_slot(self, incoming: Incoming) -> AbstractAsyncContextManager[None]:
        """Return what to hold while there is a request's body. Slow uploads hold no guarding slot.

        Raises:
            OverloadError: There is no capacity for it.
        """
        self._admission.check()
        if await incoming.read_start():
            return nullcontext()
        # Long bodies use memory, so limit them to the number of guarding slots.
        return self._long_bodies.slot()

    def _check_headers(self, call: Call) -> None:
        limit = self._config.limits.header_bytes
        names = [name for name, _ in call.headers]
        values = b"".join([value for _, value in call.headers])
        if sum(map(len, names)) + len(values) + len(call.path) + len(call.query) > limit:
            message = f"the request's headers are longer than {limit} bytes"
            raise RefusedError(431, "headers_too_large", message, headers={"connection": "close"})
        # An upstream that supports TRACE echoes the request, including its key.
        if call.method not in _METHODS:
            raise RefusedError(405, "bad_method", f"the method {call.method[:16]!r} is not known")
        if names.count(b"host") != 1:
            # Servers choose differently (RFC 9112, section 3.2).
            raise RefusedError(400, "bad_host", "the request must have exactly one host")
        if call.has_header(b"content-length") and call.has_header(b"transfer-encoding"):
            # The next server could see it end elsewhere (RFC 9112, section 6.1).
            message = "the request states the length of its body in two ways"
            raise RefusedError(400, "bad_length", message, headers={"connection": "close"})
        codings = [value for name, value in call.headers if name == b"transfer-encoding"]
        if codings and [coding.strip().lower() for coding in codings] != [b"chunked"]:
            # The chunks are read here, but no other coding is undone, and the next server would
            # take the coded body for the plain one (RFC 9112, section 6.1).
            message = "the request's transfer-encoding must be 'chunked' alone"
            raise RefusedError(400, "bad_length", message, headers={"connection": "close"})
        if CONTROL_CHARACTER.search(values):
            raise RefusedError(400, "bad_header", "a header has a control character in its value")

    def _owner(self, call: Call) -> str | None:
        if not self._keys:
            return None
        presented = credential(call)
        if not presented:
            message = (
                "the request has no key; send one of the gateway's as `authorization: Bearer KEY`"
                " or `x-api-key: KEY`"
            )
            raise RefusedError(401, "invalid_api_key", message)
        owner = self._keys.owner(presented)
        if owner is None:
            raise RefusedError(401, "invalid_api_key", "the gateway does not know this key")
        return owner

    def _detail(self, call: Call) -> VerdictDetail:
        """Return how much of the verdict the client gets: at most what the gateway's file says."""
        allowed, requested = self._config.verdict, call.header(VERDICT_DETAIL)
        details = get_args(VerdictDetail)
        if requested is None:
            return allowed
        if requested not in details:
            message = f"the header x-resay-verdict must be {', '.join(details[:-1])} or none"
            raise RefusedError(400, "bad_header", message)
        return details[max(details.index(requested), details.index(allowed))]

    async def _guard(self, context: RequestContext, data: bytes, outgoing: Outgoing) -> None:
        body = read_body(context.call, data)
        if context.call.own is not None:
            return await self._answer_own(context, body, outgoing)
        if context.call.address.deployment is not None:
            # As at Azure, the deployment in the path decides.
            body = {**body, "model": context.call.address.deployment}
        if self._keys:
            self._stored.check_continued(body, context.client)
        guarded = self._guarded(context, body, outgoing)
        return await self._run_and_report(guarded, guarded.run(), outgoing)

    def _guarded(self, context: RequestContext, body: Body, outgoing: Outgoing) -> GuardedRequest:
        return GuardedRequest(
            context=context,
            body=body,
            routing=self._client,
            outgoing=outgoing,
            heartbeat_s=self._config.heartbeat_s,
            failed=self._shared.failed,
            stored=self._stored,
            max_answers=self._config.limits.answers,
        )

    async def _run_and_report(
        self, guarded: GuardedRequest, work: Coroutine[Any, Any, None], outgoing: Outgoing
    ) -> None:
        try:
            await work
        except RefusedError as error:
            await self._refuse(error, outgoing)
        finally:
            guarded.close()
            await self._reporter.report(guarded.observation(), outgoing)

    async def _answer_own(self, context: RequestContext, body: Body, outgoing: Outgoing) -> None:
        """Answer a request to one of the gateway's own endpoints."""
        began_s, reply = time.monotonic(), Reply({})
        try:
            try:
                handler = _HANDLERS[context.call.own or ""]
                reply = await handler(context, body, self._client, self._shared)
            except RefusedError as error:
                reply = Reply({}, refused=error)
            if reply.refused is not None:
                return await outgoing.refuse(reply.refused)
            headers = [_JSON_TYPE, *verdict_headers(reply.answers)]
            chars = sum(len(answer.text) for answer in reply.answers)
            content = await compute(partial(json_bytes, reply.body), chars=chars)
            await outgoing.send_complete(200, headers, content)
        finally:
            context = replace(context, policy=reply.policy or context.policy)
            seen = new_observation(
                context,
                outgoing,
                body,
                answers=reply.answers,
                question=reply.question,
                elapsed_s=time.monotonic() - began_s,
            )
            seen = replace(seen, api="check", model=reply.model)
            await self._reporter.report(seen, outgoing)

    async def _overloaded(
        self, error: OverloadError, context: RequestContext, incoming: Incoming, outgoing: Outgoing
    ) -> None:
        if self._config.overload == "refuse" or context.call.own is not None:
            raise error
        try:
            await self._pass_through(context.call, incoming, outgoing, UNGUARDED)
        finally:
            seen = new_observation(context, outgoing, None, unguarded=True)
            await self._reporter.report(seen, outgoing)

    async def _pass_through(
        self, call: Call, incoming: Incoming, outgoing: Outgoing, headers: Headers
    ) -> None:
        """Forward a request and its response unchanged."""
        response = await self._forward(call, incoming)
        if response.status_code >= _FIRST_ERROR:
            outgoing.cause = str(UpstreamError(response))
        try:
            await outgoing.start(
                response.status_code, [*client_headers(response, of_body=True), *headers]
            )
            async for piece in response.pieces(limited=False):
                await outgoing.write(piece)
        finally:
            response.close()
        await outgoing.write(b"", last=True)

    async def _forward(self, call: Call, incoming: Incoming) -> UpstreamResponse:
        if has_body(call):
            body = incoming.pieces()
        else:
            incoming.skip()
            body = None
        response = await self._client.forward(call, body)
        incoming.skip()
        return response

    async def _read_stored(
        self, call: Call, client: str | None, incoming: Incoming, outgoing: Outgoing
    ) -> None:
        """Return an answer stored by the upstream, without unreleased parts.

        A client with a key gets its own answers only, because all share the upstream's key.
        """
        name = stored_id(call.address)
        if self._keys and name:
            self._stored.check_owner(name, client)
        if name and not self._policies.withheld and not self._stored.awaits(name):
            return await self._pass_through(call, incoming, outgoing, [])
        response = await self._forward(call.uncompressed, incoming)
        if response.is_success and is_event_stream(response):
            headers = client_headers(response, of_body=False)
            async with aclosing(self._released_events(response)) as events:
                return await outgoing.send_events(response.status_code, headers, events, RESPONSES)
        await response.read()
        headers, content = client_headers(response, of_body=False), response.content
        if response.is_success and content:
            try:
                body = response.json()
            except UpstreamError:
                message = "the answer stored by the upstream cannot be read"
                raise RefusedError(502, "answer_unreadable", message) from None
            unchecked = self._stored.unchecked(body)
            if unchecked is not None:
                return await self._check_background(*unchecked, call, client, response, outgoing)
            if call.method == "POST" and not name:
                self._stored.remember_conversation(body, client)
            if self._keys and call.method == "GET" and not name:
                body = self._stored.own_entries(body, client)
            if self._policies.withheld:
                body = self._stored.filter_response(body)
            content = json_bytes(body)
        return await outgoing.send_complete(response.status_code, headers, content)

    async def _released_events(self, response: UpstreamResponse) -> AsyncGenerator[Sequence[Event]]:
        async with aclosing(response.events()) as events:
            async for group in events:
                for event in group:
                    self._stored.check_event(event)
                    yield [event]

    async def _check_background(
        self,
        policy: str,
        request_body: Body,
        call: Call,
        client: str | None,
        response: UpstreamResponse,
        outgoing: Outgoing,
    ) -> None:
        """Check an answer that was created in the background and is now complete."""
        name, guard = self._policies.get(policy)
        # The query applies to the stored answer, not to its samples.
        call = replace(call, query=b"")
        detail = self._detail(call)
        context = RequestContext(
            call=call,
            api=RESPONSES,
            policy=name,
            guard=guard,
            client=client,
            detail=detail,
        )
        guarded = self._guarded(context, request_body, outgoing)
        async with self._quotas.admit(client, call.tenant), self._admission.slot():
            await self._run_and_report(guarded, guarded.check(response), outgoing)

    @property
    def _client(self) -> Routing:
        if self._routing is None:
            raise RefusedError(503, "not_ready", "the gateway is not ready")
        return self._routing


def _check_path(call: Call) -> None:
    """Check that a path leads to the same place for everybody who reads it.

    Raises:
        RefusedError: It does not.
    """
    # A guarded request is sent to its API's own path, below the deployment that it names.
    if call.api is not None and call.address.deployment is None:
        return
    decoded = unquote(call.path.decode("latin-1"))
    if call.api is None and call.address.forwarded is None:
        raise RefusedError(404, "not_found", f"unknown path; the gateway serves {PREFIX}/")
    lenient = plain_path(call.path)
    # An encoded question mark begins the query for those who decode first.
    leads_away = "#" in decoded or "?" in lenient or _DOTS.search(lenient) is not None
    if leads_away or any(ord(c) < 0x20 or c in "\x7f\\" for c in decoded):
        raise RefusedError(400, "bad_path", "the path leads outside of the API")


def _may_be_object(beginning: bytes) -> bool:
    """Return whether a body that begins like this may be a JSON object, in any encoding."""
    text = beginning.decode(json.detect_encoding(beginning), "replace").lstrip("\ufeff \t\r\n")
    return text[:1] in ("", "{")


async def _check_asks_nothing(call: Call, incoming: Incoming, limit: int) -> None:
    """Check that the body of a request that is passed through asks no model anything.

    Args:
        call: The request.
        incoming: Its body.
        limit: The maximum length of a body in JSON.

    Raises:
        RefusedError: It does, or cannot be read.
    """
    encoding = (call.header(b"content-encoding") or "identity").strip().lower()
    if encoding == "identity" and not _may_be_object(await incoming.beginning()):
        return
    if contains_question(read_body(call, await incoming.read_all(limit))):
        apis = "its answer would not be guarded; send it to a guarded API, or name just this path"
        raise RefusedError(
            403, "path_closed", f"the request asks a model something, and {apis} in `pass_through`"
        )
