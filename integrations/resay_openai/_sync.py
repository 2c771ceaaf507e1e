"""Guarded clients that block."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from typing import Any

from openai._models import FinalRequestOptions

from resay.adapters import Relay, StreamedError, Upstream, in_thread, is_about_parameters
from resay.adapters.http import body_in, events_in, is_event_stream, with_events
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

Receive = Callable[[Body], Received]


class Sync(Guarded):
    """What guarded clients that block do."""

    def request(
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
            return parent.request(cast_to, sent, stream=stream, stream_cls=stream_cls)

        def receive(body: Body) -> Received:
            sent = options if body is request.body else with_sent(options, body)
            with receiving():
                return parent.request(cast_to, sent, stream=stream, stream_cls=stream_cls)

        api, relay, request = reading
        upstream = self._upstream(api, options)
        if stream:
            received = _opened(receive, relay, request)
            told = accumulates(options)
            streaming = _streaming(received, relay, request, upstream, told=told)
            return self._finish(streaming)
        return self._finish(_answered(receive, relay, request, upstream))

    def _upstream(self, api: Api, options: FinalRequestOptions) -> Upstream:
        def create(body: Body) -> Body:
            method = create_of(self, api)
            with beside():
                return method(**arguments(method, body, options)).to_dict()

        return Upstream(lambda body: in_thread(partial(create, body)), source_of(self))

    def _finish(self, received: Received) -> Any:
        return self._process_response(response=received.response, **received.rest)

    def _process_response(self, **processing: Any) -> Any:
        if is_receiving():
            return Received(**processing)
        parent: Any = super()
        return parent._process_response(**processing)  # noqa: SLF001 - its own


def _opened(receive: Receive, relay: Relay, request: Request) -> Received:
    asked = relay.asked(request)
    try:
        return receive(asked)
    except Exception as error:
        if asked is request.body or not is_about_parameters(error):
            raise
    return receive(request.body)


def _streaming(
    received: Received, relay: Relay, request: Request, upstream: Upstream, *, told: bool = False
) -> Received:
    # A provider that does not stream gives something else.
    if not is_event_stream(received.response):
        received.response.read()
        body = body_in(received.response) or {}
        return received.with_body(relay.check(request, body, upstream))
    guarded = relay.events(request, events_in(received.response), upstream)
    events = _for_accumulating(guarded) if told else guarded
    received.response = with_events(received.response, events)
    return received


def _for_accumulating(events: Generator[Event, None, None]) -> Generator[Event, None, None]:
    with closing(events):
        for event in events:
            yield for_accumulating(event)


def _answered(receive: Receive, relay: Relay, request: Request, upstream: Upstream) -> Received:
    kept: list[Received] = []

    def send(body: Body) -> Body:
        received = receive(body)
        if is_event_stream(received.response):
            raise StreamedError(received)
        # The SDK leaves that to users who want to read it themselves.
        received.response.read()
        kept.append(received)
        return body_in(received.response) or {}

    try:
        answered = relay.answer(request, send, upstream)
    except StreamedError as error:
        streaming = _streaming(error.response, relay, request, upstream)
        streaming.response.read()
        return streaming
    return kept[-1].with_body(answered)
