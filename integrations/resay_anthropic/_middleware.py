"""The middleware that guards Anthropic clients, and verdicts on their responses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from copy import copy
from functools import partial
from typing import Any, TypeVar, cast

import anyio
from anthropic import (
    APIConnectionError,
    APIRequest,
    APIResponse,
    APIStatusError,
    AsyncAPIResponse,
    DefaultHttpxClient,
    Middleware,
    RetryableError,
)

from resay._internal.nesting import inside_guard, marked
from resay.adapters.http import (
    Change,
    body_in,
    check,
    is_event_stream,
    package_of,
    stream,
    with_body,
)
from resay.adapters.own_field import OWN_FIELD
from resay.adapters.policies import PolicyLike, check_client_policy, guard_of
from resay.adapters.relay import Relay
from resay.adapters.threads import ASYNC, BLOCKING, CallStyle, cancel_once, run_in_place
from resay.adapters.upstream import StreamedError, Upstream
from resay.adapters.verdicts import VERDICT_KEY, verdict_in
from resay.core.verdict import HallucinationBlocked, OnVerdict, Verdict
from resay.errors import ConfigurationError, ResayError
from resay.guard import Guard
from resay.providers.apis import MESSAGES, Body, Event, Request
from resay_anthropic._errors import sdk_error

R = TypeVar("R")

# The key in an httpx response's extensions that keeps the verdict if the SDK's objects drop it.
_KEY = "resay"


def verdict_of(response: object) -> Verdict | None:
    """Return the verdict on an answer.

    Args:
        response: A message, a stream, an event of a stream or a raw response of the SDK; or a
            mapping. A stream has its verdict once it is read to its end; so does that of
            `messages.stream()`, whose final message has none.

    Returns:
        The verdict, or None if there is none.
    """
    found = verdict_in(response)
    if found is not None:
        return found
    for name in ("response", "http_response"):
        extensions = getattr(getattr(response, name, None), "extensions", None)
        if isinstance(extensions, dict):
            return verdict_in(extensions.get(_KEY))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - the values are untyped
    return None


def raw_of(response: Any) -> Any:
    """Return the response of httpx or httpx2 behind the SDK's, or the response if it is raw."""
    return getattr(response, "http_response", response)


def body_of(response: Any) -> Body | None:
    """Return the JSON object in a response, or None if it failed, is unread or holds no object."""
    raw = raw_of(response)
    return body_in(raw) if raw.is_success else None


def answered(response: R, parsed: Request, body: Body) -> R:
    """Return a response with the guard's body, or unchanged if that is empty.

    Raises:
        HallucinationBlocked: The answer is an object and was withheld.
    """
    if not body:
        # The guard gives no body for a response that it cannot parse, unless it withholds it.
        return response
    notes = _VerdictCapture(parsed)
    notes.take(body)
    raw = with_body(raw_of(response), body)
    raw.extensions[_KEY] = notes.verdict
    return _with_raw(response, raw)


def streaming(response: R, parsed: Request, stream: Callable[[Change], Any]) -> R:
    """Return a response with the guard's events in place of its own.

    Reading them raises `HallucinationBlocked` if the answer is an object and is withheld.

    Args:
        response: The response.
        parsed: The request that it answers.
        stream: Creates the raw response with the guard's events.
    """
    notes = _VerdictCapture(parsed, raw_of(response).request)
    raw = stream(notes)
    raw.extensions[_KEY] = notes.verdict
    return _with_raw(response, raw)


def _with_raw(response: Any, raw: Any) -> Any:
    if raw_of(response) is response:
        return raw
    made: Any = copy(response)
    made.http_response = raw
    # The SDK caches a parsed response, which a middleware further inside may have parsed already.
    # There is no public way to clear the cache.
    vars(made)["_parsed_by_type"] = {}
    return made


class _VerdictCapture(Change):
    """Captures the verdict of a response, and raises if it withholds an object.

    The SDK parses an object from a message, and from each block of a stream as soon as the block is
    complete. It could not parse the policy's message, so withholding an object raises an exception,
    and a stream is held back from the end of its first block until the verdict arrives.

    Attributes:
        verdict: The verdict's data, once it has arrived.
    """

    def __init__(self, parsed: Request, request: Any = None) -> None:
        self.verdict: dict[str, Any] = {}
        self._request = request
        self._is_object = parsed.query.wants_object
        self._held: list[Event] = []

    def error(self, error: ResayError) -> ResayError:
        """Return the error as one of the SDK's too."""
        return sdk_error(error, self._request)

    def take(self, body: Body) -> None:
        """Store the verdict if the body has one, and raise if it withholds an object."""
        data = body.get(VERDICT_KEY)
        if data is None:
            return
        self.verdict[VERDICT_KEY] = data
        if self._is_object and data["action"] == "block":
            raise HallucinationBlocked(Verdict.from_dict(data))

    def of(self, event: Event) -> list[Event]:
        """Return the events that may be passed on now."""
        self.take(event.body)
        complete = event.body.get("type") == "content_block_stop"
        if self._is_object and not self.verdict and (self._held or complete):
            self._held.append(event)
            return []
        return [*self.rest(), event]

    def rest(self) -> list[Event]:
        """Return the events that are still held back."""
        rest, self._held = self._held, []
        return rest


T = TypeVar("T")
_CLOSING_S = 5.0


class Call:
    """One call and all its attempts, bound to the event loop that created it.

    The SDK runs its middleware once per attempt. The first attempt requests the samples, which the
    later ones reuse.

    Args:
        relay: The relay that guards the call.
        parsed: The request.
        upstream: How to send the guard's own requests.
    """

    def __init__(self, relay: Relay, parsed: Request, upstream: Upstream) -> None:
        self.parsed = parsed
        loop = asyncio.get_running_loop()
        self._response: asyncio.Future[Body] = loop.create_future()
        self._work = loop.create_task(relay.aanswer(parsed, self._main, upstream))
        self._work.add_done_callback(_retrieved)
        self._waiting = ExitStack()

    async def _main(self, body: Body) -> Body:
        del body
        # Cancelling the wait, at a deadline for example, must not cancel the shared future.
        return await asyncio.shield(self._response)

    async def send_attempt(self, send: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Send an attempt.

        Returns:
            The response, which may be a failure.

        Raises:
            DeadlineExceededError: No answer arrived within `limits.deadline_s`.
            Exception: As raised by `send`.
        """
        if self._work.done():
            self._work.result()
        attempt = asyncio.ensure_future(send())
        attempt.add_done_callback(_retrieved)
        try:
            await asyncio.wait({attempt, self._work}, return_when=asyncio.FIRST_COMPLETED)
            if not attempt.done():
                self._work.result()
        finally:
            await _stop(attempt)
        return attempt.result()

    async def finish(self, response: Body) -> Body:
        """Pass a response to the guard, and return the guard's result."""
        self._response.set_result(response)
        return await self._work

    async def stop(self) -> None:
        """Cancel the guard's work, and wait for its end."""
        await _stop(self._work)

    def cancel(self) -> None:
        """Cancel the guard's work without waiting for its end."""
        self._work.cancel()

    def wait_for_retry(
        self, longest_s: float, owner: asyncio.Task[Any] | None, give_up: Callable[[], None]
    ) -> None:
        """Start to wait for the next attempt.

        Args:
            longest_s: The time in seconds after which no further attempt is expected.
            owner: The task that makes the call, if known; once it is done, none is expected either.
            give_up: Called when no further attempt is expected.
        """
        timer = asyncio.get_running_loop().call_later(longest_s, give_up)
        self._waiting.callback(timer.cancel)
        if owner is not None:

            def over(_: object) -> None:
                give_up()

            owner.add_done_callback(over)
            self._waiting.callback(owner.remove_done_callback, over)

    def stop_waiting(self) -> None:
        """Stop waiting for the next attempt."""
        self._waiting.close()


def _retrieved(work: asyncio.Task[Any]) -> None:
    # Retrieve the exception of an abandoned call, or asyncio would log it as never retrieved.
    if not work.cancelled():
        work.exception()


async def _stop(task: asyncio.Future[Any]) -> None:
    if not task.done():
        task.cancel()
        with anyio.move_on_after(_CLOSING_S, shield=True):
            await asyncio.wait([task])


class Calls:
    """Calls that wait for their next attempt.

    The key is the event loop and the idempotency key, which all attempts of a call share.
    """

    def __init__(self) -> None:
        self._waiting: dict[tuple[int, str], Call] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def take(self, key: str | None, parsed: Request) -> Call | None:
        """Return the waiting call that an attempt belongs to, or None for a first attempt."""
        call = None if key is None else self._waiting.pop(_loop_key(key), None)
        if call is None:
            return None
        call.stop_waiting()
        if call.parsed.body == parsed.body:
            return call
        # A middleware further outside may send a different body under the same key.
        call.cancel()
        return None

    def leave(
        self, key: str, call: Call, longest_s: float, owner: asyncio.Task[Any] | None
    ) -> None:
        """Keep a call for its next attempt; see `Call.wait_for_retry`."""
        place = _loop_key(key)
        self._forget(place, self._waiting.get(place))
        self._waiting[place] = call
        call.wait_for_retry(longest_s, owner, partial(self._forget, place, call))

    def _forget(self, place: tuple[int, str], call: Call | None) -> None:
        if call is not None and self._waiting.get(place) is call:
            del self._waiting[place]
            call.stop_waiting()
            call.cancel()


def _loop_key(key: str) -> tuple[int, str]:
    return id(asyncio.get_running_loop()), key


_PATH = f"/v1{MESSAGES.path}"
# Headers of the main request alone. The second marks that the SDK's caller wants the raw
# response.
_MAIN_ONLY = frozenset({"idempotency-key", "x-stainless-raw-response"})


def body_to_check(request: APIRequest) -> Body | None:
    """Return the body of a request, or None if it does not create a message."""
    path, _, _ = request.url.partition("?")
    body: object = request.json
    if path != _PATH or request.method.lower() != "post" or not isinstance(body, Mapping):
        return None
    # Older versions of the SDK merge the two only when they send the request.
    extra = cast("Body | None", request.options.extra_json)
    return {**cast("Body", body), **(extra or {})}


def auxiliary_request(request: APIRequest, body: Body) -> APIRequest:
    """Return a request to the same endpoint, without the main request's response handling."""
    made = request.copy(body=dict(body))
    # `copy` keeps all of these, and takes no parameters for them.
    made.stream, made.stream_cls = False, None
    options: Any = made.options
    options.extra_json = None
    options.idempotency_key = None
    options.headers = {k: v for k, v in request.headers.items() if k.lower() not in _MAIN_ONLY}
    return made


# The SDK's first and longest delay without a `retry-after` header, which doubles with each retry.
_FIRST_S = 0.5
_LONGEST_S = 8.0
# Slack for a busy machine, and for the SDK's own work between attempts.
_SLACK_S = 5.0


def retry_within_s(request: APIRequest, outcome: object) -> float | None:
    """Return the time within which the SDK will retry a request.

    Args:
        request: The attempt.
        outcome: The unsuccessful response to it, or the exception that it raised.

    Returns:
        An upper bound in seconds, or None if this was the last attempt. Without a response, that
        cannot be known, because only the client knows its `max_retries`.
    """
    wanted, raw = _retry_decision(outcome)
    if not wanted or not _has_retries_left(request, outcome):
        return None
    usual = min(_FIRST_S * 2.0 ** min(request.retries_taken, 10), _LONGEST_S)
    return max(usual, _retry_after_s(raw)) + _SLACK_S


def _retry_decision(outcome: object) -> tuple[bool, Any]:
    """Return whether the SDK retries after an outcome, and the outcome's raw response."""
    if not isinstance(outcome, BaseException):
        raw = raw_of(outcome)
        return _is_temporary(raw), raw
    for error in _causes(outcome):
        if isinstance(error, APIStatusError):
            return _is_temporary(error.response), error.response
        if isinstance(error, (APIConnectionError, RetryableError)):
            return True, None
    return False, None


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        yield current
        seen.add(id(current))
        current = current.__cause__


def _is_temporary(raw: Any) -> bool:
    if raw.is_success:
        return False
    told = raw.headers.get("x-should-retry")
    if told in ("true", "false"):
        return told == "true"
    return raw.status_code in (408, 409, 429) or raw.status_code >= 500


def _has_retries_left(request: APIRequest, outcome: object) -> bool:
    allowed: object = request.max_retries
    if not isinstance(allowed, int):
        # No public attribute of a request or a response leads to the client.
        allowed = getattr(getattr(outcome, "_client", None), "max_retries", None)
    return not isinstance(allowed, int) or request.retries_taken < allowed


def _retry_after_s(raw: Any) -> float:
    headers: Mapping[str, str] = {} if raw is None else raw.headers
    in_ms, in_s = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        return float(in_ms) / 1000 if in_ms else float(in_s or 0)
    # A date, which Anthropic does not send.
    except ValueError:
        return 0.0


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
        given = ", which Anthropic's API does not return; use a method that compares with samples"
        guard.refuse({"logprobs": given})
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
        if style.blocking and self._guard.skip_reason(parsed.query) is not None:
            response = await send(request)
            if not raw_of(response).is_success:
                return response
            known = body_of(response) or {}
            return answered(response, parsed, self._relay.answer(parsed, lambda _: known, upstream))
        # A blocking caller has no task.
        owner = None if style.blocking else asyncio.current_task()
        try:
            return await style.run(self._attempt, request, parsed, sends, owner)
        except StreamedError as error:
            return await self._streaming(style, error.response, parsed, upstream)

    async def _attempt(
        self,
        request: APIRequest,
        parsed: Request,
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
        self, style: CallStyle, response: Any, parsed: Request, upstream: Upstream
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
