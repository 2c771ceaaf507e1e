"""Guards one request, for any provider."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from resay import Answer, Guard, HallucinationBlocked
from resay.adapters import compute, withheld_stops
from resay.adapters.apis import (
    CHAT_COMPLETIONS,
    COMPLETIONS,
    RESPONSES,
    Api,
    ApiRequest,
    Body,
    Event,
    is_yes,
    json_bytes,
    refusal_without_answer,
)
from resay.adapters.http import is_event_stream
from resay.adapters.outcomes import outcome_of
from resay.adapters.own_field import without_own_field
from resay.adapters.relay import Events, Relay
from resay.adapters.terminal import counted
from resay.adapters.threads import cancel_once
from resay.adapters.upstream import StreamedError, Upstream, default_provider, is_about_parameters
from resay.adapters.verdicts import VerdictDetail, verdict_cost, withheld_data
from resay.errors import ConfigurationError, DeadlineExceededError, ProviderError, UncheckableError
from resay.plugins import ApiName
from resay_server.gateway.calls import Call
from resay_server.gateway.conversations import Conversations
from resay_server.gateway.errors import RefusedError
from resay_server.gateway.harmless_params import HarmlessParams
from resay_server.gateway.headers import Headers
from resay_server.gateway.observation import Observation, worst_answer
from resay_server.gateway.outgoing import Outgoing
from resay_server.gateway.routing import Routing
from resay_server.gateway.stored import StoredAnswers, ids_of, is_unfinished, without_output
from resay_server.gateway.upstream import UpstreamError, UpstreamResponse, client_headers

# The other APIs always report usage.
_USAGE_ON_REQUEST = frozenset({CHAT_COMPLETIONS.path, COMPLETIONS.path})
_OPTIONS, _INCLUDE_USAGE = "stream_options", "include_usage"


def with_usage_option(api: Api, body: Body) -> Body:
    """Return a streaming request that asks for usage at the end.

    Args:
        api: The API.
        body: The request.

    Returns:
        The request; the same object if there is nothing to add.
    """
    options: object = {} if body.get(_OPTIONS) is None else body[_OPTIONS]
    if api.path not in _USAGE_ON_REQUEST or not isinstance(options, Mapping):
        return body
    fields = cast("Mapping[str, object]", options)
    if fields.get(_INCLUDE_USAGE) is not None:
        return body
    return {**body, _OPTIONS: {**fields, _INCLUDE_USAGE: True}}


def is_usage_only(event: Event) -> bool:
    """Return whether an event only reports the usage of a stream."""
    body = event.body
    return body.get("choices") == [] and isinstance(body.get("usage"), Mapping)


_STREAM: Headers = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
UNGUARDED: Headers = [(b"x-resay-action", b"unguarded")]
# The end of a stream, which an upstream that is cut off early cannot send.
_DONE = "[DONE]"
_ENDS_WITH_DONE = frozenset({CHAT_COMPLETIONS.path, COMPLETIONS.path})


@dataclass(frozen=True, slots=True)
class RequestContext:
    """A request to be guarded, apart from its body.

    Attributes:
        call: The request.
        api: The API.
        policy: The policy's name.
        guard: The guard that checks and acts.
        client: The owner of its key.
        detail: How much of the verdict the client gets.
    """

    call: Call
    api: Api
    policy: str
    guard: Guard
    client: str | None
    detail: VerdictDetail = "full"


@dataclass(eq=False, repr=False)
class GuardedRequest:
    """Guards one request.

    Attributes:
        context: The request.
        body: The request's body.
        routing: The routing to upstreams.
        outgoing: The response to the client.
        heartbeat_s: The silent interval after which a stream gets a comment.
        failed: Samples drawn for requests whose main call failed.
        stored: Outcomes of the answers that the upstream stores.
        max_answers: The maximum number of answers of a request.
    """

    context: RequestContext
    body: Body
    routing: Routing
    outgoing: Outgoing
    heartbeat_s: float
    failed: Conversations
    stored: StoredAnswers
    max_answers: int

    def __post_init__(self) -> None:
        self._ids: list[str] = []
        self._answers: list[Answer] = []
        self._relay = Relay(
            self.context.guard,
            self.context.api,
            # What a policy replaces is not for clients.
            shows_draft=False,
            detail=self.context.detail,
            on_answer=self._record_answer,
            on_failure=self._record_failure,
        )
        self._question: str | None = None
        self._main: UpstreamResponse | None = None
        # Requests for samples with their responses: of this request, and of one that it retries.
        self._samples: list[tuple[Body, Body]] = []
        self._earlier_samples: list[tuple[Body, Body]] = []
        self._adds_usage = False
        self._expected = 1
        self._began_s = time.monotonic()

    async def run(self) -> None:
        """Make the main call, check its answer, and respond to the client.

        Raises:
            RefusedError: There is no answer, and nothing was sent yet.
        """
        request, upstream = self._prepare()
        try:
            if request.streams:
                await self._answer_stream(request, upstream)
            else:
                await self._answer_complete(request, upstream)
        except UpstreamError as error:
            response = error.response
            headers = client_headers(response, of_body=False)
            content = response.content
            if self.context.guard.policy.can_withhold:
                content = _without_answer(content)
            self.outgoing.cause = str(error)
            await self.outgoing.send_complete(response.status_code, headers, content)
        except (HallucinationBlocked, DeadlineExceededError, ProviderError) as error:
            raise await self._refusal(error) from None

    async def check(self, response: UpstreamResponse) -> None:
        """Check an answer that was created in the background, and send it.

        Args:
            response: The response, already read.

        Raises:
            RefusedError: It is withheld by an error.
        """
        request, upstream = self._prepare()
        self._main, body = response, response.json()
        self._ids = ids_of(body)
        try:
            await self._send_answer(await self._relay.acheck(request, body, upstream))
        except HallucinationBlocked as error:
            raise await self._refusal(error) from None

    @property
    def _in_background(self) -> bool:
        """Whether the answer is created in the background, and checked when the client reads it."""
        return self.context.api is RESPONSES and bool(self.body.get("background"))

    def _prepare(self) -> tuple[ApiRequest, Upstream]:
        """Return the parsed request, and the upstream for further calls."""
        context, body = self.context, self.body
        if self._in_background:
            # It prevents no check here: the gateway sees the answer when the client reads it.
            body = {name: value for name, value in body.items() if name != "background"}
        try:
            api_request = self._relay.read(body, tenant=context.call.tenant)
        except UncheckableError as error:
            details = {"param": error.field}
            raise RefusedError(400, "uncheckable_request", str(error), details=details) from None
        except ConfigurationError as error:
            raise RefusedError(400, "invalid_request", str(error)) from None
        if body is not self.body:
            api_request = replace(api_request, body=without_own_field(self.body))
        request = api_request.request
        self._question = request.question
        self._expected = 1 if api_request.context.skip_reason else api_request.n
        if self._expected > self.max_answers:
            message = (
                f"`n` is {api_request.n}, and this gateway checks at most"
                f" {counted(self.max_answers, 'answer')} of a request; ask for fewer, or raise"
                " `limits.answers` in the gateway file"
            )
            raise RefusedError(400, "too_many_answers", message)
        upstream = Upstream(
            self._ask,
            self.routing.source(context.call, context.client),
            lambda: HarmlessParams(default_provider(), request, context.guard.policy),
            takes_n=self._takes_n,
            cost_usd=self.routing.cost_usd,
        )
        return api_request, upstream

    @property
    def _may_be_stored(self) -> bool:
        """Whether the upstream may store the answer, so that clients can fetch it by its id."""
        api, stores = self.context.api, self.body.get("store")
        return (api is RESPONSES and stores is not False) or (
            api is CHAT_COMPLETIONS and bool(stores)
        )

    def _record_answer(self, answer: Answer) -> None:
        self._answers.append(answer)
        if len(self._answers) >= self._expected:
            self._store_outcomes()

    def _record_failure(self) -> None:
        self.outgoing.refused = "upstream_failed"

    def _store_outcomes(self) -> None:
        """Remember the outcome of the answer, if the upstream may have stored it."""
        if self._may_be_stored:
            stops = withheld_stops(self.context.guard.policy)
            outcomes = [
                outcome_of(answer, stops=stops, shows_draft=False, detail=self.context.detail)
                for answer in self._answers
            ]
            self.stored.record_outcomes(self._ids, outcomes, self.context.client)

    async def _ask(self, body: Body) -> Body:
        context = self.context
        for index, (request, response) in enumerate(self._earlier_samples):
            if request == body:
                del self._earlier_samples[index]
                return response
        response = await cancel_once(self.routing.ask(context.call, context.api.path, body))
        if self._main is None:
            self._samples.append((body, response))
        return response

    async def _takes_n(self) -> bool:
        return self.routing.takes_n(self.body)

    def close(self) -> None:
        """Let go of the relay, which refers to this request, so that both are freed at once.

        Python's garbage collector would free them, with all that was read and checked, much later.
        """
        del self._relay

    def observation(self) -> Observation:
        """Return the observation for observers, once the request is over."""
        return new_observation(
            self.context,
            self.outgoing,
            self.body,
            answers=tuple(self._answers),
            question=self._question,
            elapsed_s=time.monotonic() - self._began_s,
        )

    async def _answer_complete(self, api_request: ApiRequest, upstream: Upstream) -> None:
        if self._in_background:
            return await self._answer_in_background(api_request, upstream)
        # Usually none has failed, and hashing a long body takes time.
        failed = self.failed.take(self._key(upstream)) if len(self.failed) else None
        self._earlier_samples = [] if failed is None else failed["samples"]
        # The first try drew samples, so a retry draws its own only once it has an answer.
        retries = failed is not None or self.context.call.is_retry
        try:
            response = await self._relay.aanswer(
                api_request, self._send, upstream, main_first=retries
            )
        except StreamedError as error:
            return await self._answer_events(api_request, error.response, upstream)
        finally:
            if self._main is None or not self._main.is_success:
                samples = [*self._earlier_samples, *self._samples]
                self.failed.remember(self._key(upstream), {"samples": samples})
        return await self._send_answer(response)

    async def _answer_in_background(self, api_request: ApiRequest, upstream: Upstream) -> None:
        """Start an answer in the background. It is checked when it is read."""
        try:
            response = await self._send(api_request.body)
        except StreamedError as error:
            return await self._answer_events(api_request, error.response, upstream)
        # Some upstreams do not support this, and answer immediately.
        if not is_unfinished(response):
            return await self._send_answer(
                await self._relay.acheck(api_request, response, upstream)
            )
        name = next(iter(self._ids), "")
        self.stored.remember_background(name, self.context.policy, self.body, self.context.client)
        return await self._send_answer(without_output(response))

    def _key(self, upstream: Upstream) -> str:
        """Return the key that identifies a request when a client retries it."""
        context = self.context
        owner = (context.client, context.call.tenant)
        scope = (upstream.source, *owner, context.policy, context.api.path)
        return hashlib.sha256(json_bytes([scope, self.body])).hexdigest()

    async def _send(self, body: Body) -> Body:
        response = await self.routing.open(self.context.call, self.context.api.path, body)
        if response.is_success and is_event_stream(response):
            raise StreamedError(response)
        return await self._read(response)

    async def _read(self, response: UpstreamResponse) -> Body:
        """Parse the object in a response; empty if it contains none.

        Raises:
            UpstreamError: It is an error.
        """
        await response.read()
        self._main = response
        try:
            body = response.json()
        except UpstreamError:
            if not response.is_success:
                raise
            return {}
        if self._may_be_stored or self._in_background:
            self._ids = ids_of(body)
        return body

    async def _send_answer(self, body: Body) -> None:
        main = self._main
        assert main is not None  # noqa: S101 - there was a main call
        headers = [*client_headers(main, of_body=False), *verdict_headers(self._answers)]
        # An unreadable answer is passed on unchanged, unless it is withheld.
        content = main.content
        if body:
            # Its own verdict is about as long again, at most.
            content = await compute(partial(json_bytes, body), chars=len(content))
            headers = [(name, value) for name, value in headers if name != b"content-type"]
            headers.append((b"content-type", b"application/json"))
        await self.outgoing.send_complete(main.status_code, headers, content)

    async def _answer_stream(self, api_request: ApiRequest, upstream: Upstream) -> None:
        response = await self._open(api_request)
        if response.is_success and is_event_stream(response):
            await self._answer_events(api_request, response, upstream)
            return
        checked = await self._relay.acheck(api_request, await self._read(response), upstream)
        await self._send_answer(checked)

    async def _answer_events(
        self, api_request: ApiRequest, response: UpstreamResponse, upstream: Upstream
    ) -> None:
        own_names = {name for name, _ in _STREAM}
        upstream_headers = client_headers(response, of_body=False)
        headers = [(name, value) for name, value in upstream_headers if name not in own_names]
        headers += _STREAM
        events = self._relay.aevents(api_request, self._events(response), upstream)
        try:
            async with self.outgoing.keep_alive(headers, self.heartbeat_s), aclosing(events):
                client_events = self._client_events(events)
                await self.outgoing.send_events(200, headers, client_events, self.context.api)
        finally:
            # Closing an unstarted generator does not close the response.
            response.close()

    async def _open(self, api_request: ApiRequest) -> UpstreamResponse:
        call, path = self.context.call, self.context.api.path
        main_body = self._relay.main_body(api_request)
        body = main_body
        if not self.routing.refuses_usage:
            body = with_usage_option(self.context.api, main_body)
        response = await self.routing.open(call, path, body)
        self._adds_usage = body is not main_body
        # The upstream may have refused our own addition.
        if self._adds_usage and is_about_parameters(UpstreamError(response)):
            response.close()
            response = await self.routing.open(call, path, main_body)
            self._adds_usage, self.routing.refuses_usage = False, response.is_success
        if main_body is not api_request.body and is_about_parameters(UpstreamError(response)):
            response.close()
            response = await self.routing.open(call, path, api_request.body)
        return response

    def _events(self, response: UpstreamResponse) -> AsyncGenerator[Events]:
        events = response.events()
        return self._with_ids(events) if self._may_be_stored else events

    async def _with_ids(self, events: AsyncGenerator[Events]) -> AsyncGenerator[Events]:
        """Yield events, and remember the ids of the answer in them."""
        async with aclosing(events) as groups:
            async for group in groups:
                for event in group:
                    # Each event repeats the answer's id.
                    self._ids += (name for name in ids_of(event.body) if name not in self._ids[-2:])
                yield group

    async def _client_events(self, events: AsyncGenerator[Events]) -> AsyncGenerator[Events]:
        """Yield the guard's events as the client receives them."""
        last: object = None
        try:
            async for group in events:
                last = group[-1].data if group else last
                if self._adds_usage:
                    group = [event for event in group if not is_usage_only(event)]
                yield group
        except (HallucinationBlocked, DeadlineExceededError, ProviderError) as error:
            raise await self._refusal(error) from None
        is_withheld = any(answer.blocked for answer in self._answers)
        if is_withheld and last != _DONE and self.context.api.path in _ENDS_WITH_DONE:
            yield [Event(_DONE)]

    async def _refusal(self, error: Exception) -> RefusedError:
        """Return the error for the client if the guard raised."""
        if isinstance(error, HallucinationBlocked):
            answer, refusal = await withheld_answer(error, self.context.detail)
            self._answers.append(answer)
            headers = verdict_headers(self._answers)
            refusal.headers = {name.decode(): value.decode() for name, value in headers}
            return refusal
        if isinstance(error, DeadlineExceededError):
            return RefusedError(504, "deadline_exceeded", str(error))
        return RefusedError(502, "upstream_failed", str(error))


def _without_answer(content: bytes) -> bytes:
    """Return the body of an error without what the model wrote before it."""
    body: object = None
    with suppress(ValueError, RecursionError):
        body = json.loads(content)
    if not isinstance(body, dict):
        return content
    error = cast("Body", body)
    refusal = refusal_without_answer(error)
    return content if refusal == error else json_bytes(refusal)


async def withheld_answer(
    error: HallucinationBlocked, detail: VerdictDetail
) -> tuple[Answer, RefusedError]:
    """Return the answer for observers, and the error for the client, of a withheld answer.

    Args:
        error: The guard's error.
        detail: How much of the verdict the client gets.
    """
    represent = partial(withheld_data, error.verdict, detail)
    details = await compute(represent, chars=verdict_cost(error.verdict))
    refusal = RefusedError(422, "hallucination_blocked", str(error), details=details)
    return Answer("", "", "block", error.verdict, error.usage), refusal


def new_observation(
    context: RequestContext,
    outgoing: Outgoing,
    body: Body | None,
    *,
    answers: tuple[Answer, ...] = (),
    question: str | None = None,
    elapsed_s: float = 0.0,
    unguarded: bool = False,
) -> Observation:
    """Return an observation of a request.

    Args:
        context: The request.
        outgoing: The response to the client.
        body: The request's body, if it was read.
        answers: Its answers.
        question: Its question, if it was read.
        elapsed_s: How long it took, in seconds.
        unguarded: Whether its answer was passed on unchecked.
    """
    model: object = body.get("model") if body is not None else None
    return Observation(
        request_id=context.call.request_id,
        api=cast("ApiName", context.api.path.split("/")[1]),
        model=model if isinstance(model, str) else None,
        policy=context.policy,
        tenant=context.call.tenant,
        client=context.client,
        stream=body is not None and is_yes(body.get("stream")),
        # nginx's status for a client that disconnected before the response.
        status=outgoing.status or 499,
        answers=answers,
        unguarded=unguarded,
        question=question,
        request=body,
        elapsed_s=elapsed_s,
        complete=outgoing.complete,
        error=outgoing.refused,
        cause=outgoing.cause,
    )


def verdict_headers(answers: Sequence[Answer]) -> Headers:
    """Return the headers about the verdict that represents all answers."""
    answer = worst_answer(answers)
    if answer is None:
        return []
    values: dict[str, object] = {"action": answer.action, "decision": answer.verdict.decision}
    if answer.verdict.score is not None:
        # Not rounded: a score just above the threshold must not look like one at it.
        values["score"] = answer.verdict.score
    return [(f"x-resay-{name}".encode(), f"{value}".encode()) for name, value in values.items()]
