"""The middleware that guards a client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

from anthropic import APIRequest, APIResponse, APIStatusError, AsyncAPIResponse, Middleware

from resay._internal.sync import run_sync
from resay.adapters import (
    OnVerdict,
    PolicyLike,
    Relay,
    StreamedError,
    Upstream,
    cancelled_once,
    check_client_policy,
    guard_of,
    in_thread,
    inside_guard,
    marked,
)
from resay.adapters.http import aevents_in, events_in, is_event_stream
from resay.errors import ConfigurationError
from resay.guard import Guard
from resay.providers.apis import MESSAGES, Body, Request
from resay_anthropic._calls import Call, Calls
from resay_anthropic._requests import beside, body_to_check
from resay_anthropic._responses import answered, astreaming, body_of, raw_of, streaming
from resay_anthropic._retries import returns_within_s

__all__ = ["HallucinationMiddleware"]

_Send = Callable[[APIRequest], Coroutine[Any, Any, Any]]

_AMAZONS = "application/vnd.amazon.eventstream"


class HallucinationMiddleware(Middleware):
    """Has a client's answers checked and acted on as a policy says.

    It is for `Anthropic` and `AsyncAnthropic`, and all other clients of the SDK that take a
    `middleware`; see `guard_client` for one that is there already. Guarded is whatever asks for a
    message: `messages` and `beta.messages`, with `create`, `parse` and `stream`, also by
    `with_raw_response` and `with_streaming_response`. Everything else is left alone. A message has
    its verdict at `hallucination`, which `verdict_of` reads.

    Samples are asked for with the client's own connection and settings, through the middleware that
    stands behind this one. The SDK does not try those again: Resay does, as `limits.retries` says.
    Should it try the main call again, it finds the samples of the first attempt.

    Inside another guard it does nothing. One middleware serves any number of clients and threads.

    Args:
        policy: A policy, a path to a policy file, the same as a mapping, or a `Guard`; None for
            the one that `RESAY_POLICY` names, or the default.
        retriever: Where documents are found, for a policy that regenerates: a `Retriever`, or
            whatever else `resay.retrieval.as_retriever` takes; in place of the one that the policy
            names.
        on_verdict: Called with each `resay.Verdict`, also of answers that are withheld or skipped:
            where the call was made, before it returns; of a stream, at its end. What an async
            function returns is awaited, what it raises is logged.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy asks for what cannot be had of such a client, or it
            regenerates and there is no retriever.

    Example:
        ```python
        client = Anthropic(middleware=[HallucinationMiddleware("policy.yaml")])
        ```
    """

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
    ) -> None:
        guard = guard_of(policy, retriever, on_verdict)
        check_client_policy(guard, "a client of Anthropic's")
        if method := guard.needing("logprobs"):
            raise ConfigurationError(
                f"method {method!r} looks at the probabilities of tokens, which Anthropic's API"
                " does not give; take a method that compares with samples"
            )
        self._guard = guard
        self._relay = Relay(guard, MESSAGES)
        self._calls = Calls()

    @property
    def guard(self) -> Guard:
        """Who checks and acts."""
        return self._guard

    def handle(
        self, request: APIRequest, call_next: Callable[[APIRequest], APIResponse[Any]]
    ) -> APIResponse[Any]:
        """Guard a request of a client that blocks. The SDK calls this.

        Raises:
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
            DeadlineExceededError: There was none within `limits.deadline_s`.
        """
        asked = self._asked(request)
        if asked is None:
            return call_next(request)
        send = partial(_sent, call_next)

        async def in_another_thread(sent: APIRequest) -> Any:
            return await in_thread(partial(send, sent))

        upstream = _upstream(request, in_another_thread)
        if request.stream:
            return self._streaming(_opened(call_next, request), asked, upstream)
        if self._guard.skips(asked.query) is not None:
            response = send(request)
            if not raw_of(response).is_success:
                return response
            body = body_of(response) or {}
            return answered(response, asked, self._relay.answer(asked, lambda _: body, upstream))
        try:
            return run_sync(self._attempt, request, asked, in_another_thread, None)
        except StreamedError as error:
            return self._streaming(error.response, asked, upstream)

    async def handle_async(
        self,
        request: APIRequest,
        call_next: Callable[[APIRequest], Awaitable[AsyncAPIResponse[Any]]],
    ) -> AsyncAPIResponse[Any]:
        """Guard a request of a client for event loops. The SDK calls this.

        Raises:
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
            DeadlineExceededError: There was none within `limits.deadline_s`.
        """
        asked = self._asked(request)
        if asked is None:
            return await call_next(request)
        send = partial(_asent, call_next)
        upstream = _upstream(request, send)
        if request.stream:
            response = await _aopened(call_next, request)
            return await self._astreaming(response, asked, upstream)
        try:
            return await self._attempt(request, asked, send, asyncio.current_task())
        except StreamedError as error:
            return await self._astreaming(error.response, asked, upstream)

    def _asked(self, request: APIRequest) -> Request | None:
        body = None if inside_guard() else body_to_check(request)
        return None if body is None else self._relay.read(body)

    async def _attempt(
        self,
        request: APIRequest,
        asked: Request,
        send: _Send,
        owner: asyncio.Task[Any] | None,
    ) -> Any:
        call = self._calls.take(request.options.idempotency_key, asked)
        if call is None:
            call = Call(self._relay, asked, _upstream(request, send))
        try:
            response = await call.during(partial(send, request))
            if is_event_stream(raw_of(response)) and raw_of(response).is_success:
                raise StreamedError(response)
            if raw_of(response).is_success:
                return answered(response, asked, await call.finish(body_of(response) or {}))
        except BaseException as error:
            await self._leave(call, request, error, owner)
            raise
        await self._leave(call, request, response, owner)
        return response

    async def _leave(
        self, call: Call, request: APIRequest, outcome: object, owner: asyncio.Task[Any] | None
    ) -> None:
        key, longest_s = request.options.idempotency_key, returns_within_s(request, outcome)
        if key is None or longest_s is None:
            await call.stop()
        else:
            self._calls.leave(key, call, longest_s, owner)

    def _streaming(self, response: Any, asked: Request, upstream: Upstream) -> Any:
        raw = raw_of(response)
        if not raw.is_success:
            return response
        if _is_amazons(raw):
            raw.close()
            raise _amazons()
        if not is_event_stream(raw):
            raw.read()
            body = body_of(response) or {}
            return answered(response, asked, self._relay.check(asked, body, upstream))
        return streaming(response, asked, self._relay.events(asked, events_in(raw), upstream))

    async def _astreaming(self, response: Any, asked: Request, upstream: Upstream) -> Any:
        raw = raw_of(response)
        if not raw.is_success:
            return response
        if _is_amazons(raw):
            await raw.aclose()
            raise _amazons()
        if not is_event_stream(raw):
            await raw.aread()
            body = body_of(response) or {}
            return answered(response, asked, await self._relay.acheck(asked, body, upstream))
        return astreaming(response, asked, self._relay.aevents(asked, aevents_in(raw), upstream))


def _opened(call_next: Callable[[APIRequest], Any], request: APIRequest) -> Any:
    # A guard further inside would check a second time.
    with marked():
        return call_next(request)


async def _aopened(call_next: Callable[[APIRequest], Awaitable[Any]], request: APIRequest) -> Any:
    with marked():
        return await call_next(request)


def _sent(call_next: Callable[[APIRequest], Any], request: APIRequest) -> Any:
    response = _opened(call_next, request)
    raw = raw_of(response)
    if raw.is_success:
        # With `with_streaming_response` the SDK leaves that to its users.
        raw.read()
    return response


async def _asent(call_next: Callable[[APIRequest], Awaitable[Any]], request: APIRequest) -> Any:
    response = await _aopened(call_next, request)
    raw = raw_of(response)
    if raw.is_success:
        await raw.aread()
    return response


def _upstream(request: APIRequest, send: _Send) -> Upstream:
    async def ask(body: Body) -> Body:
        response = await send(beside(request, body))
        raw = raw_of(response)
        if not raw.is_success:
            raise APIStatusError(f"status {raw.status_code}", response=raw, body=None)
        return body_of(response) or {}

    # A middleware does not know where its client asks and who pays for it, so what is answered here
    # is found by nobody else.
    return Upstream(lambda body: cancelled_once(ask(body)))


def _is_amazons(raw: Any) -> bool:
    return raw.headers.get("content-type", "").lower().startswith(_AMAZONS)


def _amazons() -> ConfigurationError:
    return ConfigurationError(
        "this stream comes in Amazon's own format, which is not checked; ask for it without"
        " `stream`, or with a client whose streams are server-sent events"
    )
