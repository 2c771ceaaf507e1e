"""A middleware for Anthropic's SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from anthropic import (
    APIRequest,
    APIResponse,
    APIStatusError,
    AsyncAPIResponse,
    DefaultHttpxClient,
    Middleware,
)

from resay import Guard
from resay.adapters import GuardRuntime, OnVerdict, inside_guard, marked
from resay.adapters.apis import MESSAGES, ApiRequest, Body
from resay.adapters.http import check, is_event_stream, package_of, stream
from resay.adapters.own_field import OWN_FIELD
from resay.adapters.policies import PolicyLike, check_client_policy, guard_of
from resay.adapters.relay import Relay
from resay.adapters.threads import ASYNC, BLOCKING, CallStyle, cancel_once, run_in_place
from resay.adapters.upstream import StreamedError, Upstream
from resay.errors import ConfigurationError, ResayError
from resay_anthropic._calls import Call, Calls
from resay_anthropic._errors import sdk_error
from resay_anthropic._requests import auxiliary_request, body_to_check
from resay_anthropic._responses import answered, body_of, raw_of, streaming
from resay_anthropic._retries import retry_within_s

_Send = Callable[[APIRequest], Coroutine[Any, Any, Any]]
_AMAZON_STREAM = "application/vnd.amazon.eventstream"


class HallucinationMiddleware(Middleware):
    """Checks a client's answers and acts on them according to a policy.

    Pass it as `middleware` to `Anthropic`, `AsyncAnthropic` or any other client of the SDK that
    takes it; for an existing client, see `guard_client`. It guards all requests that create a
    message: `create`, `parse` and `stream` of `messages` and `beta.messages`, also through
    `with_raw_response` and `with_streaming_response`. Everything else is left alone. A message
    carries its verdict at `hallucination`; read it with `verdict_of`.

    Samples are requested with the client's own connection and settings, through the middleware that
    comes after this one. Resay retries them according to `limits.retries`, not the SDK. If the SDK
    retries the main call, it reuses the samples of the first attempt.

    Inside another guard, it does nothing. One middleware serves any number of clients and threads.

    Args:
        policy: A policy, a path to a policy file, a mapping with the same contents, or a `Guard`.
            None uses the policy that `RESAY_POLICY` names, or the default.
        retriever: Finds documents for a policy that regenerates: a `Retriever`, or anything that
            `resay.retrieval.as_retriever` accepts. It replaces the policy's retriever.
        on_verdict: Called with each `resay.Verdict`, including those on withheld and skipped
            answers: in the calling thread or event loop, before the call returns; for a stream, at
            its end. If it is async, it is awaited. Its exceptions are logged.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that such a client cannot provide, or it
            regenerates and has no retriever.

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
        remedy = ", which Anthropic's API does not return; use a method that compares with samples"
        GuardRuntime(guard).require_inputs({"logprobs": remedy})
        self._guard = guard
        self._relay = Relay(guard, MESSAGES)
        self._calls = Calls()

    @property
    def guard(self) -> Guard:
        """The guard that checks answers and acts on verdicts."""
        return self._guard

    def handle(
        self, request: APIRequest, call_next: Callable[[APIRequest], APIResponse[Any]]
    ) -> APIResponse[Any]:
        """Guard a request of a blocking client. The SDK calls this.

        Raises:
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
            DeadlineExceededError: No answer arrived within `limits.deadline_s`. It is an
                `anthropic.APIError` too.
            UncheckableError: The policy refuses the request. It is an `anthropic.AnthropicError`
                too.
        """
        with _sdk_errors(request):
            return run_in_place(self._handled(BLOCKING, request, call_next))

    async def handle_async(
        self,
        request: APIRequest,
        call_next: Callable[[APIRequest], Awaitable[AsyncAPIResponse[Any]]],
    ) -> AsyncAPIResponse[Any]:
        """Guard a request of an asynchronous client. The SDK calls this.

        Raises:
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
            DeadlineExceededError: No answer arrived within `limits.deadline_s`. It is an
                `anthropic.APIError` too.
            UncheckableError: The policy refuses the request. It is an `anthropic.AnthropicError`
                too.
        """
        with _sdk_errors(request):
            return await self._handled(ASYNC, request, call_next)

    async def _handled(
        self, style: CallStyle, request: APIRequest, call_next: Callable[[APIRequest], Any]
    ) -> Any:
        body = None if inside_guard() else body_to_check(request)
        if body is None:
            return await style.call(call_next, request)
        parsed = self._relay.read(body)
        if OWN_FIELD in body:
            request = request.copy(body=dict(parsed.body))
            request.options.extra_json = None
        send = partial(_send_and_read, style, call_next)
        sends: _Send = style.adapt_send(send) if style.blocking else send
        upstream = _upstream(request, sends)
        if request.stream:
            response = await _call_marked(style, call_next, request)
            return await self._streaming(style, response, parsed, upstream)
        if style.blocking and parsed.context.skip_reason is not None:
            response = await send(request)
            if not raw_of(response).is_success:
                return response
            original = body_of(response) or {}
            body = self._relay.answer(parsed, lambda _: original, upstream)
            return answered(response, parsed, body)
        # A blocking caller has no task.
        owner = None if style.blocking else asyncio.current_task()
        try:
            return await style.run(self._attempt, request, parsed, sends, owner)
        except StreamedError as error:
            return await self._streaming(style, error.response, parsed, upstream)

    async def _attempt(
        self,
        request: APIRequest,
        parsed: ApiRequest,
        send: _Send,
        owner: asyncio.Task[Any] | None,
    ) -> Any:
        call = self._calls.take(request.options.idempotency_key, parsed)
        if call is None:
            call = Call(self._relay, parsed, _upstream(request, send))
        try:
            response = await call.send_attempt(partial(send, request))
            if is_event_stream(raw_of(response)) and raw_of(response).is_success:
                raise StreamedError(response)
            if raw_of(response).is_success:
                return answered(response, parsed, await call.finish(body_of(response) or {}))
        except BaseException as error:
            await self._leave(call, request, error, owner)
            raise
        await self._leave(call, request, response, owner)
        return response

    async def _leave(
        self, call: Call, request: APIRequest, outcome: object, owner: asyncio.Task[Any] | None
    ) -> None:
        key, longest_s = request.options.idempotency_key, retry_within_s(request, outcome)
        if key is None or longest_s is None:
            await call.stop()
        else:
            self._calls.leave(key, call, longest_s, owner)

    async def _streaming(
        self, style: CallStyle, response: Any, parsed: ApiRequest, upstream: Upstream
    ) -> Any:
        raw = raw_of(response)
        if not raw.is_success:
            return response
        if raw.headers.get("content-type", "").lower().startswith(_AMAZON_STREAM):
            await style.either(raw.close, raw.aclose)
            raise ConfigurationError(
                "this stream comes in Amazon's own format, which is not checked; ask for it without"
                " `stream`, or with a client whose streams are server-sent events"
            )
        if not is_event_stream(raw):
            return answered(
                response, parsed, await check(style, self._relay, parsed, raw, upstream)
            )
        return streaming(
            response, parsed, partial(stream, style, self._relay, parsed, raw, upstream)
        )


@contextmanager
def _sdk_errors(request: APIRequest) -> Generator[None]:
    """Make the errors of a guarded request errors of the SDK too."""
    try:
        yield
    except ResayError as error:
        about = package_of(DefaultHttpxClient).Request(request.method, request.url)
        translated = sdk_error(error, about)
        if translated is error:
            raise
        raise translated from error


async def _call_marked(
    style: CallStyle, call_next: Callable[[APIRequest], Any], request: APIRequest
) -> Any:
    # Keeps guards further inside from checking a second time.
    with marked():
        return await style.call(call_next, request)


async def _send_and_read(
    style: CallStyle, call_next: Callable[[APIRequest], Any], request: APIRequest
) -> Any:
    response = await _call_marked(style, call_next, request)
    raw = raw_of(response)
    if raw.is_success:
        # With `with_streaming_response`, the SDK leaves reading to its users.
        await style.either(raw.read, raw.aread)
    return response


def _upstream(request: APIRequest, send: _Send) -> Upstream:
    async def ask(body: Body) -> Body:
        response = await send(auxiliary_request(request, body))
        raw = raw_of(response)
        if not raw.is_success:
            raise APIStatusError(f"status {raw.status_code}", response=raw, body=None)
        return body_of(response) or {}

    # A middleware does not know its client's endpoint and credentials, so its answers must not be
    # cached for other requests.
    return Upstream(lambda body: cancel_once(ask(body)))


C = TypeVar("C")


def guard_client(
    client: C,
    policy: PolicyLike = None,
    *,
    retriever: object = None,
    on_verdict: OnVerdict | None = None,
) -> C:
    """Return a guarded copy of a client.

    The copy shares its connections with the original, which stays as it is. The original's other
    middleware comes after the guard, and so handles samples too.

    Args:
        client: A client of Anthropic's SDK: `Anthropic`, `AsyncAnthropic`, those for Bedrock,
            Vertex AI and Foundry, or of your own subclass.
        policy: As for `HallucinationMiddleware`. It replaces the policy of an already guarded
            client.
        retriever: As for `HallucinationMiddleware`.
        on_verdict: As for `HallucinationMiddleware`.

    Returns:
        A client of the same class, with a `HallucinationMiddleware`.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The client is of another class, the policy needs something that a client
            cannot provide, or it regenerates and has no retriever.
    """
    guarded: Any = client
    # The classes share no public base, but all accept middleware the same way.
    takes_middleware = hasattr(guarded, "middleware") and hasattr(guarded, "with_options")
    if isinstance(guarded, type) or not takes_middleware:
        raise ConfigurationError(
            f"guard_client takes a client of Anthropic's SDK that takes middleware, not a"
            f" {type(client).__name__!r}"
        )
    others = [m for m in guarded.middleware if not isinstance(m, HallucinationMiddleware)]
    ours = HallucinationMiddleware(policy, retriever=retriever, on_verdict=on_verdict)
    return guarded.with_options(middleware=[ours, *others])
