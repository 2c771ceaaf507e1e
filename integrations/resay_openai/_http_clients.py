"""Guards for the HTTP clients beneath other OpenAI-style clients."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, TypeVar, cast

from resay import HallucinationBlocked
from resay.adapters import OnVerdict, inside_guard
from resay.adapters.apis import CHAT_COMPLETIONS, COMPLETIONS, MESSAGES, RESPONSES, ApiRequest, Body
from resay.adapters.http import body_in, check, is_event_stream, package_of, with_body
from resay.adapters.http import stream as guarded_stream
from resay.adapters.own_field import OWN_FIELD
from resay.adapters.policies import PolicyLike, check_client_policy, guard_of
from resay.adapters.relay import Relay
from resay.adapters.threads import ASYNC, BLOCKING, CallStyle, run_in_place
from resay.adapters.upstream import Upstream, is_about_parameters
from resay.errors import ConfigurationError, UncheckableError

H = TypeVar("H")

# `/chat/completions` also ends in `/completions`; the first match counts.
_APIS = (CHAT_COMPLETIONS, RESPONSES, MESSAGES, COMPLETIONS)
_SECRET = ("authorization", "api-key", "x-api-key", "openai-organization", "openai-project")
# Headers that belong to one request, and must not be copied to another.
_OWN = frozenset({"content-length", "idempotency-key", "transfer-encoding"})


def guard_http_client(
    client: H,
    policy: PolicyLike = None,
    *,
    retriever: object = None,
    on_verdict: OnVerdict | None = None,
) -> H:
    """Return a copy of an HTTP client that guards the requests it knows.

    Use it for clients that take an `http_client`, if `GuardedOpenAI` cannot be used. Requests for
    chat completions, responses and completions (OpenAI) and messages (Anthropic) are guarded,
    regardless of their host. The verdict is in the JSON under `hallucination`; SDKs that keep
    unknown fields pass it on.

    An HTTP client sees each attempt of a call, so the main call is sent first and samples are
    drawn once it has succeeded. An answer that the policy blocks with `exit: raise` becomes a
    response with status 422, which no SDK retries.

    Args:
        client: A `Client` or `AsyncClient` of httpx or httpx2. It stays as it is; the connections
            are shared, and closing either client closes them.
        policy: As for `GuardedOpenAI`.
        retriever: As for `GuardedOpenAI`.
        on_verdict: As for `GuardedOpenAI`.

    Returns:
        A client whose class is a subclass of the original's.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The client is of another class, the policy needs something that a client
            cannot provide, or it regenerates and has no retriever.
    """
    kind: type[Any] = type(client)
    package = package_of(kind)
    if package is None or not issubclass(kind, (package.Client, package.AsyncClient)):
        raise ConfigurationError(
            f"guard_http_client takes a client of httpx or httpx2, not {kind.__name__!r}"
        )
    guard = guard_of(policy, retriever, on_verdict)
    check_client_policy(guard, "a client")
    style = ASYNC if issubclass(kind, package.AsyncClient) else BLOCKING
    guarded_kind = _guarded_kind(getattr(kind, "unguarded", kind), style)
    guarded: Any = object.__new__(guarded_kind)
    guarded.__dict__ |= client.__dict__
    guarded.relays = [Relay(guard, api) for api in _APIS]
    # Keep the original alive: some clients close their connections when garbage-collected.
    guarded.shared_with = client
    return cast("H", guarded)


Relays = Sequence[Relay]
GuardedRequest = tuple[Relay, ApiRequest]


def _guarded_request(relays: Relays, request: Any) -> GuardedRequest | None:
    """Return the relay and the parsed request, or None if the request is not guarded."""
    if request.method != "POST" or inside_guard():
        return None
    for relay in relays:
        if request.url.path.endswith(relay.api.path):
            body = body_in(request)
            return None if body is None else (relay, relay.read(body))
    return None


def _refusal(request: Any, error: UncheckableError) -> Any:
    """Return the response to a request that the policy refuses."""
    data = {
        "message": str(error),
        "type": "invalid_request_error",
        "code": "uncheckable_request",
        "param": error.field,
    }
    package: Any = package_of(type(request))
    return package.Response(400, json={"error": data}, request=request)


def _like(request: Any, body: Body) -> Any:
    """Return a request with another body."""
    headers = [(k, v) for k, v in request.headers.multi_items() if k.lower() not in _OWN]
    return type(request)(
        request.method,
        request.url,
        headers=headers,
        content=json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass"),
        extensions=request.extensions,
    )


def _source(request: Any) -> str:
    payer = [request.headers.get(name) for name in _SECRET]
    return f"http {request.url} {hashlib.sha256(repr(payer).encode()).hexdigest()}"


@cache
def _guarded_kind(kind: type[Any], style: CallStyle) -> type[Any]:
    class Guarded(kind):
        unguarded = kind

        def send(self, request: Any, *, stream: bool = False, **kwargs: Any) -> Any:
            """Send a request, check the answer and act."""
            parent: Any = super()
            send: Callable[..., Any] = partial(parent.send, **kwargs)
            work = _guarded(style, send, self.relays, request, stream=stream)
            return run_in_place(work) if style.blocking else work

    Guarded.__name__ = Guarded.__qualname__ = f"Guarded{kind.__name__}"
    Guarded.__doc__ = f"A `{kind.__name__}` that guards what passes through it."
    return Guarded


async def _guarded(
    style: CallStyle, send: Callable[..., Any], relays: Relays, request: Any, *, stream: bool
) -> Any:
    try:
        guarded = _guarded_request(relays, request)
    except UncheckableError as error:
        # SDKs take an exception for a broken connection, and try again.
        return _refusal(request, error)
    if guarded is None:
        return await style.call(send, request, stream=stream)
    response = await _answered_by(style, send, request, guarded)
    if not stream:
        await style.either(response.read, response.aread)
    return response


async def _answered_by(
    style: CallStyle, send: Callable[..., Any], request: Any, guarded: GuardedRequest
) -> Any:
    relay, parsed = guarded
    if OWN_FIELD in (body_in(request) or {}):
        request = _like(request, parsed.body)
    main_body = relay.main_body(parsed)
    main_request = request if main_body is parsed.body else _like(request, main_body)
    response = await style.call(send, main_request, stream=True)
    if main_request is not request and is_about_parameters(_FailedError(response)):
        await style.either(response.close, response.aclose)
        response = await style.call(send, request, stream=True)
    if not response.is_success:
        return response

    async def ask(body: Body) -> Body:
        return _read(await style.call(send, _like(request, body), stream=False))

    upstream = Upstream(style.adapt_send(ask), _source(request))
    if is_event_stream(response):
        return guarded_stream(style, relay, parsed, response, upstream)
    try:
        body = await check(style, relay, parsed, response, upstream)
    except HallucinationBlocked as error:
        # SDKs turn this into an error that they do not retry.
        data = {
            "message": str(error),
            "type": "hallucination_blocked",
            "code": "hallucination_blocked",
            "param": None,
            "verdict": error.verdict.to_dict(content=False),
        }
        return with_body(response, {"error": data}, status=422)
    # The guard gives no body for a response that it cannot parse, unless it withholds it.
    return with_body(response, body) if body else response


class _FailedError(Exception):
    """A failed response as an exception."""

    def __init__(self, response: Any) -> None:
        super().__init__()
        self.response = response


def _read(response: Any) -> Body:
    if not response.is_success:
        raise _FailedError(response)
    return body_in(response) or {}
