"""Guarded clients for event loops."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from openai._models import FinalRequestOptions

from resay.adapters import (
    Relay,
    StreamedError,
    Upstream,
    cancelled_once,
    is_about_parameters,
)
from resay.adapters.http import aevents_in, body_in, is_event_stream, with_aevents
from resay.providers.apis import Api, Body, Event, Request
from resay_openai._requests import (
    Guarded,
    Received,
    accumulates,
    arguments,
    as_sent,
    beside,
    create_of,
    for_accumulating,
    is_receiving,
    receiving,
    source_of,
    with_sent,
    without_verdicts,
)

Receive = Callable[[Body], Awaitable[Received]]


class Async(Guarded):
    """What guarded clients for event loops do."""

    async def request(
        self,
        cast_to: Any,
        options: FinalRequestOptions,
        *,
        stream: bool = False,
        stream_cls: Any = None,
    ) -> Any:
        """Send a request, check the answer and act. All of the SDK's methods come through here.

        Raises:
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
            DeadlineExceededError: There was none within `limits.deadline_s`.
        """
        parent: Any = super()
        options = without_verdicts(options)
        reading = self._reading(options)
        if reading is None:
            sent = as_sent(options)
            return await parent.request(cast_to, sent, stream=stream, stream_cls=stream_cls)

        async def receive(body: Body) -> Received:
            sent = options if body is request.body else with_sent(options, body)
            with receiving():
                return await parent.request(cast_to, sent, stream=stream, stream_cls=stream_cls)

        api, relay, request = reading
        upstream = self._upstream(api, options)
        if stream:
            received = await _opened(receive, relay, request)
            told = accumulates(options)
            streaming = await _streaming(received, relay, request, upstream, told=told)
            return await self._finish(streaming)
        return await self._finish(await _answered(receive, relay, request, upstream))

    def _upstream(self, api: Api, options: FinalRequestOptions) -> Upstream:
        async def create(body: Body) -> Body:
            method = create_of(self, api)
            with beside():
                return (await method(**arguments(method, body, options))).to_dict()

        return Upstream(lambda body: cancelled_once(create(body)), source_of(self))

    async def _finish(self, received: Received) -> Any:
        return await self._process_response(response=received.response, **received.rest)

    async def _process_response(self, **processing: Any) -> Any:
        if is_receiving():
            return Received(**processing)
        parent: Any = super()
        return await parent._process_response(**processing)  # noqa: SLF001 - its own


async def _opened(receive: Receive, relay: Relay, request: Request) -> Received:
    asked = relay.asked(request)
    try:
        return await receive(asked)
    except Exception as error:
        if asked is request.body or not is_about_parameters(error):
            raise
    return await receive(request.body)


async def _streaming(
    received: Received, relay: Relay, request: Request, upstream: Upstream, *, told: bool = False
) -> Received:
    if not is_event_stream(received.response):
        await received.response.aread()
        body = body_in(received.response) or {}
        return received.with_body(await relay.acheck(request, body, upstream))
    guarded = relay.aevents(request, aevents_in(received.response), upstream)
    events = _for_accumulating(guarded) if told else guarded
    received.response = with_aevents(received.response, events)
    return received


async def _for_accumulating(events: AsyncGenerator[Event]) -> AsyncGenerator[Event]:
    async with aclosing(events):
        async for event in events:
            yield for_accumulating(event)


async def _answered(
    receive: Receive, relay: Relay, request: Request, upstream: Upstream
) -> Received:
    kept: list[Received] = []

    async def send(body: Body) -> Body:
        received = await receive(body)
        if is_event_stream(received.response):
            raise StreamedError(received)
        await received.response.aread()
        kept.append(received)
        return body_in(received.response) or {}

    try:
        answered = await relay.aanswer(request, lambda body: cancelled_once(send(body)), upstream)
    except StreamedError as error:
        streaming = await _streaming(error.response, relay, request, upstream)
        await streaming.response.aread()
        return streaming
    return kept[-1].with_body(answered)
