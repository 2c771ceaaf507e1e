"""Guarding one request."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, cast

import httpx

from resay.adapting import (
    Relay,
    Upstream,
    cancelled_once,
    is_about_parameters,
    litellm_provider,
    verdict_data,
)
from resay.adapting.http import is_event_stream
from resay.apis import Api, Body, Event, EventReader, Request, encoded
from resay.errors import DeadlineExceededError, HallucinationBlocked, ProviderError
from resay.gateway.calls import Call, Headers
from resay.gateway.elsewhere import Elsewhere
from resay.gateway.observing import (
    Observation,
    graver,
    verdict_of_body,
    verdict_of_event,
)
from resay.gateway.outgoing import Outgoing
from resay.gateway.refusing import RefusedError, error_event
from resay.gateway.upstream import UpstreamClient, UpstreamError, answer_in, given_headers
from resay.guard import Guard

__all__ = ["UNGUARDED", "Guarding", "Wanted", "read_body"]

_STREAM: Headers = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
UNGUARDED: Headers = [(b"x-resay-action", b"unguarded")]
_ENCODED = ("identity", "")
_SCORE_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of a guarded request, beside its body.

    Attributes:
        call: The request.
        api: What is spoken.
        policy: The policy's name.
        guard: Who checks and acts.
        tenant: On whose behalf.
        client: Whose key it came with.
    """

    call: Call
    api: Api
    policy: str
    guard: Guard
    tenant: str | None
    client: str | None


def read_body(call: Call, data: bytes) -> Body:
    """Return the object that a request holds.

    Raises:
        RefusedError: There is none, so nobody could guard the answer.
    """
    encoding = (call.header(b"content-encoding") or "").strip().lower()
    if encoding not in _ENCODED:
        message = "a compressed request cannot be guarded; send it as it is"
        raise RefusedError(415, "unsupported_encoding", message)
    try:
        value: object = json.loads(data, parse_constant=_no_number)
    # Deep nesting is refused with a RecursionError.
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise RefusedError(400, "invalid_json", "the request's body is not a JSON object")
    return cast("Body", value)


def _no_number(name: str) -> object:
    raise ValueError(name)


class Guarding:
    """Guards one request.

    Args:
        wanted: What is wanted.
        body: The request's body.
        client: How the upstream is asked.
        outgoing: Where the answer goes.
        heartbeat_s: After how long a silent stream gets a comment.
    """

    def __init__(
        self,
        wanted: Wanted,
        body: Body,
        client: UpstreamClient,
        outgoing: Outgoing,
        heartbeat_s: float,
    ) -> None:
        self._wanted = wanted
        self._body = body
        self._client = client
        self._outgoing = outgoing
        self._heartbeat_s = heartbeat_s
        self._relay = Relay(wanted.guard, wanted.api)
        self._verdict: Body | None = None
        self._main: httpx.Response | None = None
        self._began_s = time.monotonic()

    async def run(self) -> None:
        """Ask, check, and answer the client.

        Raises:
            RefusedError: There is no answer, and nothing was given yet.
        """
        wanted = self._wanted
        request = self._relay.read(self._body)
        request = replace(request, query=replace(request.query, tenant=wanted.tenant))
        source = self._client.source(wanted.call, wanted.client)
        elsewhere = Elsewhere(litellm_provider(), request.query, wanted.guard.policy)
        upstream = Upstream(self._ask, source, elsewhere)
        try:
            await (self._stream if request.streams else self._whole)(request, upstream)
        except UpstreamError as error:
            await self._pass_on(error.response)
        except (HallucinationBlocked, DeadlineExceededError, ProviderError) as error:
            raise self._refusal(error) from None

    async def _ask(self, body: Body) -> Body:
        return await cancelled_once(self._client.ask(self._wanted.call, body))

    def observation(self) -> Observation:
        """Return what observers are told, once it is over."""
        wanted = self._wanted
        model: object = self._body.get("model")
        return Observation(
            request_id=wanted.call.request_id,
            path=wanted.api.path,
            model=model if isinstance(model, str) else None,
            policy=wanted.policy,
            tenant=wanted.tenant,
            client=wanted.client,
            stream=bool(self._body.get("stream")),
            # What nginx calls a client that went away before it was given anything.
            status=self._outgoing.status or 499,
            action=None if self._verdict is None else self._verdict.get("action"),
            verdict=self._verdict,
            request=self._body,
            elapsed_s=time.monotonic() - self._began_s,
            complete=self._outgoing.complete,
        )

    async def _whole(self, request: Request, upstream: Upstream) -> None:
        response = await self._relay.aanswer(request, self._send, upstream)
        await self._give(response)

    async def _send(self, body: Body) -> Body:
        response = await self._client.open(self._wanted.call, body)
        await self._client.read(response)
        self._main = response
        return answer_in(response)

    async def _give(self, body: Body) -> None:
        self._verdict = verdict_of_body(body)
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        kept: Headers = [] if self._main is None else given_headers(self._main, of_body=False)
        status = 200 if self._main is None else self._main.status_code
        await self._outgoing.whole(status, [*kept, *_told(self._verdict)], content)

    async def _pass_on(self, response: httpx.Response) -> None:
        """Give what cannot be guarded as it is: an error, above all."""
        headers = given_headers(response, of_body=False)
        headers += UNGUARDED if response.is_success else []
        await self._outgoing.whole(response.status_code, headers, response.content)

    async def _stream(self, request: Request, upstream: Upstream) -> None:
        response = await self._open(request)
        if not response.is_success or not is_event_stream(response):
            await self._client.read(response)
            self._main = response
            checked = await self._relay.acheck(request, answer_in(response), upstream)
            return await self._give(checked)
        kept = given_headers(response, of_body=False)
        fresh = {name for name, _ in _STREAM}
        headers = [*((k, v) for k, v in kept if k not in fresh), *_STREAM]
        events = self._relay.aevents(request, self._events(response), upstream)
        try:
            async with self._outgoing.kept_alive(headers, self._heartbeat_s), aclosing(events):
                return await self._give_events(events, headers)
        finally:
            # Events that nobody began to read close nothing.
            await response.aclose()

    async def _open(self, request: Request) -> httpx.Response:
        call, asked = self._wanted.call, self._relay.asked(request)
        response = await self._client.open(call, asked)
        if asked is not request.body and is_about_parameters(UpstreamError(response)):
            await response.aclose()
            response = await self._client.open(call, request.body)
        return response

    async def _events(self, response: httpx.Response) -> AsyncGenerator[Event]:
        reader = EventReader()
        async with aclosing(self._client.pieces(response, raw=False)) as pieces:
            async for piece in pieces:
                for event in reader.feed(piece):
                    yield event
            for event in reader.finish():
                yield event

    async def _give_events(self, events: AsyncGenerator[Event], headers: Headers) -> None:
        try:
            async for event in events:
                self._verdict = graver(self._verdict, verdict_of_event(event))
                if self._outgoing.status is None:
                    await self._outgoing.start(200, headers)
                await self._outgoing.write(encoded(event))
        except (RefusedError, HallucinationBlocked, DeadlineExceededError, ProviderError) as error:
            refusal = error if isinstance(error, RefusedError) else self._refusal(error)
            if self._outgoing.status is None:
                raise refusal from None
            call = self._wanted.call
            event = error_event(refusal, call.dialect, self._wanted.api, call.request_id)
            await self._outgoing.write(encoded(event))
        if self._outgoing.status is None:
            await self._outgoing.start(200, headers)
        await self._outgoing.write(b"", last=True)

    def _refusal(self, error: Exception) -> RefusedError:
        """Return what a client is told of what the guard raised."""
        if isinstance(error, HallucinationBlocked):
            self._verdict = verdict_data(error.verdict, "block")
            return RefusedError(
                422,
                "hallucination_blocked",
                str(error),
                headers={name.decode(): value.decode() for name, value in _told(self._verdict)},
                details={"verdict": error.verdict.to_dict(content=False)},
            )
        if isinstance(error, DeadlineExceededError):
            return RefusedError(504, "deadline_exceeded", str(error))
        return RefusedError(502, "upstream_failed", str(error))


def _told(verdict: Body | None) -> Headers:
    """Return what the headers say of a verdict."""
    if verdict is None:
        return []
    told: dict[str, Any] = {"action": verdict.get("action"), "decision": verdict.get("decision")}
    score = verdict.get("score")
    told |= {} if score is None else {"score": round(score, _SCORE_DIGITS)}
    return [(f"x-resay-{name}".encode(), f"{value}".encode()) for name, value in told.items()]
