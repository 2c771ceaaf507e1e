"""HTTP clients that guard what passes through them, for programs that make the SDK's themselves."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, TypeVar, cast

from resay._internal.nesting import inside_guard
from resay.adapters.http import (
    body_in,
    check,
    is_event_stream,
    package_of,
    with_body,
)
from resay.adapters.http import stream as streamed
from resay.adapters.policies import PolicyLike, check_client_policy, guard_of
from resay.adapters.relaying import OWN_FIELD, Relay
from resay.adapters.threads import BLOCKING, LOOPING, Side, finished
from resay.adapters.upstream import Upstream, is_about_parameters
from resay.core.verdict import HallucinationBlocked, OnVerdict
from resay.errors import ConfigurationError
from resay.providers.apis import (
    CHAT_COMPLETIONS,
    COMPLETIONS,
    MESSAGES,
    RESPONSES,
    Body,
    Request,
)

H = TypeVar("H")

# The path of chat completions ends like that of completions too; the first counts.
_APIS = (CHAT_COMPLETIONS, RESPONSES, MESSAGES, COMPLETIONS)
_SECRET = ("authorization", "api-key", "x-api-key", "openai-organization", "openai-project")
# Headers of a request that are not those of another one like it.
_OWN = frozenset({"content-length", "idempotency-key", "transfer-encoding"})


def guard_http_client(
    client: H,
    policy: PolicyLike = None,
    *,
    retriever: object = None,
    on_verdict: OnVerdict | None = None,
) -> H:
    """Return an HTTP client like the one given that guards the requests it knows.

    It is for clients that take an `http_client`, where `GuardedOpenAI` cannot be used. Known are
    requests for chat completions, responses and completions (OpenAI) and messages (Anthropic),
    wherever they go.
    The verdict is in the JSON under `hallucination`: it reaches all who keep unknown fields.

    Here a request is seen each time it is tried, so the main call is sent first and samples are
    drawn once it has succeeded. What the policy blocks with `exit: raise` is answered with status
    422, which no SDK tries again.

    Args:
        client: A `Client` or `AsyncClient` of httpx or httpx2. It stays as it is; connections are
            shared, and closing either closes them.
        policy: As for `GuardedOpenAI`.
        retriever: As for `GuardedOpenAI`.
        on_verdict: As for `GuardedOpenAI`.

    Returns:
        A client whose class is a subclass of the given one's.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: It is no such client, the policy asks for what cannot be had of one, or
            it regenerates and there is no retriever.
    """
    kind: type[Any] = type(client)
    package = package_of(kind)
    if package is None or not issubclass(kind, (package.Client, package.AsyncClient)):
        raise ConfigurationError(
            f"guard_http_client takes a client of httpx or httpx2, not {kind.__name__!r}"
        )
    guard = guard_of(policy, retriever, on_verdict)
    check_client_policy(guard, "a client")
    side = LOOPING if issubclass(kind, package.AsyncClient) else BLOCKING
    guarded_kind = _guarded_class(getattr(kind, "unguarded", kind), side)
    guarded: Any = object.__new__(guarded_kind)
    guarded.__dict__ |= client.__dict__
    guarded.relays = [Relay(guard, api) for api in _APIS]
    # Some close their connections when nobody holds them any more.
    guarded.shared_with = client
    return cast("H", guarded)


Relays = Sequence[Relay]
Reading = tuple[Relay, Request]


def _reading(relays: Relays, request: Any) -> Reading | None:
    """Return how a request is guarded; None where it is not."""
    if request.method != "POST" or inside_guard():
        return None
    known = [relay for relay in relays if request.url.path.endswith(relay.api.path)]
    body = body_in(request) if known else None
    return None if body is None else (known[0], known[0].read(body))


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
def _guarded_class(kind: type[Any], side: Side) -> type[Any]:
    class Guarded(kind):
        unguarded = kind

        def send(self, request: Any, *, stream: bool = False, **kwargs: Any) -> Any:
            """Send a request, check the answer and act."""
            parent: Any = super()
            send: Callable[..., Any] = partial(parent.send, **kwargs)
            work = _guarded(side, send, self.relays, request, stream=stream)
            return finished(work) if side.blocking else work

    Guarded.__name__ = Guarded.__qualname__ = f"Guarded{kind.__name__}"
    Guarded.__doc__ = f"A `{kind.__name__}` that guards what passes through it."
    return Guarded


async def _guarded(
    side: Side, send: Callable[..., Any], relays: Relays, request: Any, *, stream: bool
) -> Any:
    reading = _reading(relays, request)
    if reading is None:
        return await side.call(send, request, stream=stream)
    response = await _answered(side, send, request, reading)
    if not stream:
        await side.either(response.read, response.aread)
    return response


async def _answered(side: Side, send: Callable[..., Any], request: Any, reading: Reading) -> Any:
    relay, asked = reading
    if OWN_FIELD in (body_in(request) or {}):
        request = _like(request, asked.body)
    wanted = relay.asked(asked)
    sent = request if wanted is asked.body else _like(request, wanted)
    response = await side.call(send, sent, stream=True)
    if sent is not request and is_about_parameters(_FailedError(response)):
        await side.either(response.close, response.aclose)
        response = await side.call(send, request, stream=True)
    if not response.is_success:
        return response

    async def ask(body: Body) -> Body:
        return _read(await side.call(send, _like(request, body), stream=False))

    upstream = Upstream(side.sends(ask), _source(request))
    if is_event_stream(response):
        return streamed(side, relay, asked, response, upstream)
    try:
        body = await check(side, relay, asked, response, upstream)
    except HallucinationBlocked as error:
        # An SDK makes an error of it that it does not try again.
        data = {
            "message": str(error),
            "type": "hallucination_blocked",
            "code": "hallucination_blocked",
            "param": None,
            "verdict": error.verdict.to_dict(content=False),
        }
        return with_body(response, {"error": data}, status=422)
    # What cannot be read has nothing in its place, unless it is withheld.
    return with_body(response, body) if body else response


class _FailedError(Exception):
    """A response as an error."""

    def __init__(self, response: Any) -> None:
        super().__init__()
        self.response = response


def _read(response: Any) -> Body:
    if not response.is_success:
        raise _FailedError(response)
    return body_in(response) or {}
