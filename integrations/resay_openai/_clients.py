"""Guarded OpenAI clients, and guards for the HTTP clients beneath other OpenAI-style clients."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property, lru_cache, partial, wraps
from pathlib import Path
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import openai
from openai import (
    AsyncAzureOpenAI,
    AsyncOpenAI,
    AzureOpenAI,
    DefaultAsyncHttpxClient,
    OpenAI,
)
from openai._models import FinalRequestOptions
from openai._types import NotGiven, Omit
from openai.lib.streaming.chat import (
    AsyncChatCompletionStreamManager,
    ChatCompletionStreamManager,
)
from typing_extensions import Self

from resay._internal.nesting import inside_guard, marked
from resay.adapters.http import (
    Change,
    answer,
    body_in,
    check,
    is_event_stream,
    package_of,
    spread_client,
    with_body,
)
from resay.adapters.http import stream as streamed
from resay.adapters.own_field import OWN_FIELD
from resay.adapters.policies import PolicyLike, check_client_policy, guard_of
from resay.adapters.relay import Relay
from resay.adapters.threads import ASYNC, BLOCKING, CallStyle, run_in_place
from resay.adapters.upstream import StreamedError, Upstream, is_about_parameters
from resay.adapters.verdicts import VERDICT_KEY
from resay.core.verdict import HallucinationBlocked, OnVerdict
from resay.errors import ConfigurationError, ResayError, UncheckableError
from resay.guard import Guard
from resay.providers.apis import (
    CHAT_COMPLETIONS,
    COMPLETIONS,
    MESSAGES,
    RESPONSES,
    Body,
    Event,
    Request,
)
from resay.providers.apis.base import listed, mapping
from resay_openai._errors import sdk_error

# Whether the SDK should return raw responses before processing them.
_receiving: ContextVar[bool] = ContextVar("resay_openai_receiving", default=False)


class Received:
    """A response as the SDK received it, before any processing.

    Attributes:
        response: The response of httpx or httpx2.
        rest: The other arguments of the SDK's response processing.
    """

    def __init__(self, **processing: Any) -> None:
        self.response: Any = processing.pop("response")
        self.rest = processing

    def with_body(self, body: Body) -> Received:
        """Return this response with the given body, or unchanged if the body is empty."""
        if body:
            self.response = with_body(self.response, body)
        return self


# The headers by which the SDK's methods tell each other what to return.
_INTERNAL = "x-stainless-"
_HELPER = "x-stainless-helper-method"
# Set during auxiliary calls (samples, judges), which are sent without the SDK's retries: Resay has
# its own.
_auxiliary: ContextVar[bool] = ContextVar("resay_openai_beside", default=False)


def body_of(options: FinalRequestOptions) -> Body | None:
    """Return the body of a request, or None if it is not a POST of a JSON object."""
    data: object = options.json_data
    if options.method.lower() != "post" or not isinstance(data, Mapping) or options.files:
        return None
    sent = {**cast("Body", data), **(options.extra_json or {})}
    return {k: v for k, v in sent.items() if not isinstance(v, (NotGiven, Omit))}


def without_verdicts(options: FinalRequestOptions) -> FinalRequestOptions:
    """Return a request without the verdicts that its messages carry.

    A message that the SDK assembled from a stream has a verdict, which providers would not accept.
    """
    data = mapping(options.json_data)
    messages = listed(data.get("messages"))
    if not any(VERDICT_KEY in mapping(message) for message in messages):
        return options
    cleaned = [_without_verdict(message) for message in messages]
    return options.model_copy(update={"json_data": {**data, "messages": cleaned}})


def _without_verdict(message: Any) -> Any:
    known = mapping(message)
    return {k: v for k, v in known.items() if k != VERDICT_KEY} if known else message


def assembles_stream(options: FinalRequestOptions) -> bool:
    """Return whether the SDK assembles the streamed answer for the user.

    The assembled message keeps only the fields of the chunks' deltas.
    """
    helper = [value for name, value in _headers(options).items() if name.lower() == _HELPER]
    return any("chat.completions.stream" in str(value) for value in helper)


def _headers(options: FinalRequestOptions) -> Mapping[str, Any]:
    given = None if isinstance(options.headers, NotGiven) else options.headers
    return cast("Mapping[str, Any]", given or {})


class SdkErrors(Change):
    """Makes the errors that end a stream errors of the SDK too.

    Args:
        request: The HTTP request of the stream.
    """

    def __init__(self, request: Any) -> None:
        self._request = request

    def error(self, error: ResayError) -> ResayError:
        """Return the error as one of the SDK's too."""
        return sdk_error(error, self._request)


class VerdictInDeltas(SdkErrors):
    """Adds the verdict to the deltas of an event too."""

    def of(self, event: Event) -> Iterable[Event]:
        """Return the event, with the verdict repeated in its deltas."""
        choices = event.body.get("choices")
        if VERDICT_KEY not in event.body or not isinstance(choices, list):
            return (event,)
        changed = [
            _with_verdict_in_delta(choice, event.body[VERDICT_KEY])
            for choice in cast("list[Any]", choices)
        ]
        return (Event({**event.body, "choices": changed}, event.name),)


def _with_verdict_in_delta(choice: Body, verdict: Any) -> Body:
    own = choice.get(VERDICT_KEY, verdict)
    return {**choice, "delta": {**(choice.get("delta") or {}), VERDICT_KEY: own}}


_SDK = str(Path(openai.__file__).parent) + os.sep


def is_plain(method: Any) -> bool:
    """Return whether a method is the SDK's own, and not wrapped, by a tracer for example."""
    # A wrapper may expose the attributes of the wrapped method as its own.
    if type(method) is not MethodType or type(method.__func__) is not FunctionType:
        return False
    return method.__func__.__code__.co_filename.startswith(_SDK)


def auxiliary_request(options: FinalRequestOptions, body: Body) -> FinalRequestOptions:
    """Return an auxiliary request, to be sent without retries.

    Args:
        options: The main request, whose headers, query and timeout are kept.
        body: The body of the auxiliary request.
    """
    changed: dict[str, Any] = {"json_data": body, "extra_json": None, "max_retries": 0}
    return options.model_copy(
        update={**changed, "headers": _kept_headers(options), "idempotency_key": None}
    )


def _kept_headers(options: FinalRequestOptions) -> dict[str, Any]:
    return {
        k: v
        for k, v in _headers(options).items()
        if not k.lower().startswith(_INTERNAL) and k.lower() != "idempotency-key"
    }


def arguments(
    create: Callable[..., Any], body: Body, options: FinalRequestOptions
) -> dict[str, Any]:
    """Return the keyword arguments that make a method send an auxiliary request.

    Args:
        create: The method.
        body: The body to send.
        options: The main request, whose headers, query and timeout are kept.
    """
    known = _parameters(getattr(create, "__func__", create))
    call = {name: value for name, value in body.items() if name in known}
    further = {name: value for name, value in body.items() if name not in known}
    kept = _kept_headers(options)
    call |= {"extra_body": further} if further else {}
    call |= {"extra_headers": kept} if kept else {}
    call |= {"extra_query": options.params} if options.params else {}
    return call | ({} if isinstance(options.timeout, NotGiven) else {"timeout": options.timeout})


@lru_cache(maxsize=16)
def _parameters(create: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(create).parameters)


def source_of(client: Any) -> str:
    """Return a key that identifies the client's endpoint and credentials, for caching."""
    who = (client.api_key, client.organization, client.project)
    payer = hashlib.sha256(repr(who).encode()).hexdigest()
    return f"openai {client.base_url} {payer}"


def with_final_verdicts(chat: Any) -> Any:
    """Make the streams of one client's `chat.completions.stream` end with a verdict.

    The message that the SDK assembles from chunks keeps only the fields of their deltas.

    Args:
        chat: The client's own resource, which is modified. Its class is not.
    """
    completions: Any = chat.completions
    stream: Callable[..., Any] = completions.stream

    @wraps(stream)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        manager = stream(*args, **kwargs)
        known = isinstance(manager, ChatCompletionStreamManager)
        manager.__class__ = _Manager if known else _AsyncManager
        return manager

    completions.stream = wrapper
    return chat


class _Manager(ChatCompletionStreamManager[Any]):
    def __enter__(self) -> Any:
        stream: Any = super().__enter__()
        final: Callable[[], Any] = stream.get_final_completion
        stream.get_final_completion = wraps(final)(lambda: _with_verdicts(final()))
        return stream


class _AsyncManager(AsyncChatCompletionStreamManager[Any]):
    async def __aenter__(self) -> Any:
        stream: Any = await super().__aenter__()
        final: Callable[[], Any] = stream.get_final_completion

        @wraps(final)
        async def wrapper() -> Any:
            return _with_verdicts(await final())

        stream.get_final_completion = wrapper
        return stream


def _with_verdicts(completion: Any) -> Any:
    """Copy the verdicts of a completion to where `create` puts them."""
    found: list[Mapping[str, Any]] = []
    for choice in completion.choices:
        verdict = getattr(choice.message, VERDICT_KEY, None)
        if verdict is not None:
            setattr(choice, VERDICT_KEY, verdict)
            found.append(verdict)
    if found:
        setattr(completion, VERDICT_KEY, max(found, key=_severity))
    return completion


def _severity(verdict: Mapping[str, Any]) -> tuple[bool, bool, bool]:
    decision = verdict.get("decision")
    return verdict.get("action") == "block", decision == "flagged", decision == "inconclusive"


class Guarded:
    """The common base of guarded clients."""

    _guard: Guard
    _relays: Mapping[str, Relay]

    def __init__(
        self,
        *,
        policy: PolicyLike = None,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
        **kwargs: Any,
    ) -> None:
        self._set_guard(guard_of(policy, retriever, on_verdict))
        if isinstance(self, AsyncOpenAI) and kwargs.get("http_client") is None:
            kwargs["http_client"] = spread_client(DefaultAsyncHttpxClient)
        super().__init__(**kwargs)

    def _set_guard(self, guard: Guard) -> None:
        check_client_policy(guard, "a client")
        self._guard = guard
        apis = (CHAT_COMPLETIONS, RESPONSES, COMPLETIONS)
        self._relays = {api.path: Relay(guard, api) for api in apis}

    @property
    def guard(self) -> Guard:
        """The guard that checks answers and acts on verdicts."""
        return self._guard

    def with_policy(
        self,
        policy: PolicyLike,
        *,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
    ) -> Self:
        """Return a copy of this client with another policy.

        Args:
            policy: The policy.
            retriever: Finds documents for a policy that regenerates and names no retriever itself.
            on_verdict: Called with each verdict, in place of the existing callback, unless the
                given guard has its own.
        """
        client: Any = self
        return client.copy(_extra_kwargs={"policy": guard_of(policy, retriever, on_verdict)})

    if not TYPE_CHECKING:
        # Type checkers see the SDK's own versions, with all their parameters.

        @cached_property
        def chat(self) -> Any:
            return with_final_verdicts(super().chat)

        def copy(self, *, _extra_kwargs: Any = None, **kwargs: Any) -> Any:
            further = {"policy": self._guard, **(_extra_kwargs or {})}
            copied = super().copy(_extra_kwargs=further, **kwargs)
            # A custom client class may build its copies unguarded.
            known = isinstance(copied, Guarded)
            return copied if known else guarded_as(type(self), copied, guard_of(further["policy"]))

        with_options = copy

    def guarded_request(self, options: FinalRequestOptions) -> tuple[Relay, Request] | None:
        """Return the relay and the parsed request, or None if the request is not guarded."""
        known = self._relays.get(options.url)
        body = None if known is None or inside_guard() else body_of(options)
        return None if known is None or body is None else (known, known.read(body))


def guarded_as(kind: type[Any], client: Any, guard: Guard) -> Any:
    """Create a guarded client from the state of another client.

    Args:
        kind: The guarded class. Its constructor is not called, since subclasses may take any
            arguments.
        client: The other client, which must not be used afterwards.
        guard: The guard that checks answers and acts on verdicts.
    """
    guarded: Any = object.__new__(kind)
    guarded.__dict__ |= client.__dict__
    guarded._set_guard(guard)  # noqa: SLF001 - a class of ours
    return guarded


C = TypeVar("C", bound="OpenAI | AsyncOpenAI")


class Sync(Guarded):
    """The request methods of blocking guarded clients."""

    def request(
        self,
        cast_to: Any,
        options: FinalRequestOptions,
        *,
        stream: bool = False,
        stream_cls: Any = None,
    ) -> Any:
        """Send a request, check the answer and act. All methods of the SDK call this.

        Raises:
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
            DeadlineExceededError: No answer arrived within `limits.deadline_s`. It is an
                `openai.APITimeoutError` too.
            UncheckableError: The policy refuses the request. It is an `openai.OpenAIError` too.
        """
        parent: Any = super()
        send = partial(parent.request, cast_to, stream=stream, stream_cls=stream_cls)
        ask = partial(parent.request, cast_to)
        with _sdk_errors(self, options):
            return run_in_place(_guarded_call(BLOCKING, self, send, ask, options, stream=stream))

    def _process_response(self, **processing: Any) -> Any:
        if _receiving.get():
            return Received(**processing)
        parent: Any = super()
        return parent._process_response(**processing)  # noqa: SLF001 - the SDK's hook


class Async(Guarded):
    """The request methods of asynchronous guarded clients."""

    async def request(
        self,
        cast_to: Any,
        options: FinalRequestOptions,
        *,
        stream: bool = False,
        stream_cls: Any = None,
    ) -> Any:
        """Async version of `Sync.request`."""
        parent: Any = super()
        send = partial(parent.request, cast_to, stream=stream, stream_cls=stream_cls)
        ask = partial(parent.request, cast_to)
        with _sdk_errors(self, options):
            return await _guarded_call(ASYNC, self, send, ask, options, stream=stream)

    async def _process_response(self, **processing: Any) -> Any:
        if _receiving.get():
            return Received(**processing)
        parent: Any = super()
        return await parent._process_response(**processing)  # noqa: SLF001 - the SDK's hook


@contextmanager
def _sdk_errors(client: Any, options: FinalRequestOptions) -> Generator[None]:
    """Make the errors of a guarded request errors of the SDK too."""
    try:
        yield
    except ResayError as error:
        url = f"{str(client.base_url).rstrip('/')}{options.url}"
        request = package_of(DefaultAsyncHttpxClient).Request(options.method, url)
        translated = sdk_error(error, request)
        if translated is error:
            raise
        raise translated from error


async def _guarded_call(
    style: CallStyle,
    client: Any,
    send: Callable[[FinalRequestOptions], Any],
    ask: Callable[[FinalRequestOptions], Any],
    options: FinalRequestOptions,
    *,
    stream: bool,
) -> Any:
    options = without_verdicts(options)
    guarded: tuple[Relay, Request] | None = client.guarded_request(options)
    if guarded is None:
        # An auxiliary call is sent once.
        once = {"max_retries": 0} if _auxiliary.get() else {}
        return await style.call(send, options.model_copy(update=once))
    relay, request = guarded
    if OWN_FIELD in {**mapping(options.json_data), **(options.extra_json or {})}:
        options = options.model_copy(update={"json_data": request.body, "extra_json": None})

    async def receive(body: Body) -> Received:
        changed = {} if body is request.body else {"json_data": body, "extra_json": None}
        with marked(_receiving):
            return await style.call(send, options.model_copy(update=changed))

    async def create(body: Body) -> Body:
        # The public methods, looked up on each call, since that is where tracers attach.
        chat = client.completions if relay.api is COMPLETIONS else client.chat.completions
        method: Callable[..., Any] = (client.responses if relay.api is RESPONSES else chat).create
        if is_plain(method) and is_plain(client.post):
            # Nothing observes these, so skip the SDK's parsing, which takes as long as sending.
            with marked(_receiving):
                received = await style.call(ask, auxiliary_request(options, body))
            return body_in(received.response) or {}
        with marked(_auxiliary):
            return (await style.call(method, **arguments(method, body, options))).to_dict()

    upstream = Upstream(style.adapt_send(create), source_of(client))

    async def streaming(received: Received, change: type[SdkErrors] = SdkErrors) -> Received:
        given = (style, relay, request, received.response, upstream)
        # The provider may not have streamed.
        if not is_event_stream(received.response):
            return received.with_body(await check(*given))
        received.response = streamed(*given, change(received.response.request))
        return received

    if stream:
        change = VerdictInDeltas if assembles_stream(options) else SdkErrors
        received = await streaming(await relay.send_main(request, receive), change)
    else:
        received = await _answered(style, relay, request, upstream, receive, streaming)
    process: Callable[..., Any] = client._process_response  # noqa: SLF001 - a client of ours
    return await style.call(process, response=received.response, **received.rest)


async def _answered(
    style: CallStyle,
    relay: Relay,
    request: Request,
    upstream: Upstream,
    receive: Callable[[Body], Awaitable[Received]],
    streaming: Callable[[Received], Awaitable[Received]],
) -> Received:
    kept: list[Received] = []

    async def send(body: Body) -> Body:
        received = await receive(body)
        if is_event_stream(received.response):
            raise StreamedError(received)
        # The SDK leaves reading to users who asked for the response itself.
        await style.either(received.response.read, received.response.aread)
        kept.append(received)
        return body_in(received.response) or {}

    try:
        body = await answer(style, relay, request, send, upstream)
    except StreamedError as error:
        given = await streaming(error.response)
        await style.either(given.response.read, given.response.aread)
        return given
    return kept[-1].with_body(body)


class GuardedOpenAI(Sync, OpenAI):
    """OpenAI's client, with answers checked and acted on according to a policy.

    It guards `create`, `parse` and `stream` of `chat.completions` and `responses`, and
    `completions.create`, also through `with_raw_response` and `with_streaming_response`. Everything
    else is the SDK's own, including all types. A response carries its verdict at `hallucination`;
    read it with `verdict_of`.

    Inside another guard, the client does nothing.

    Args:
        policy: A policy, a path to a policy file, a mapping with the same contents, or a `Guard`.
            None uses the policy that `RESAY_POLICY` names, or the default.
        retriever: Finds documents for a policy that regenerates: a `Retriever`, or anything that
            `resay.retrieval.as_retriever` accepts. It replaces the policy's retriever.
        on_verdict: Called with each `resay.Verdict`, including those on withheld and skipped
            answers: in the calling thread or event loop, before the call returns; for a stream, at
            its end. If it is async, it is awaited. Its exceptions are logged.
        **kwargs: The arguments of `OpenAI`.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that a client cannot provide, or it
            regenerates and has no retriever.

    Example:
        ```python
        client = GuardedOpenAI(policy={"chain": [{"method": "ngram"}]})
        response = client.responses.create(
            model="gpt-4.1-mini", input="Who designed the Sydney Harbour Bridge?"
        )
        verdict_of(response).flagged
        ```
    """


class GuardedAsyncOpenAI(Async, AsyncOpenAI):
    """The asynchronous `GuardedOpenAI`.

    Args:
        policy: As for `GuardedOpenAI`.
        retriever: As for `GuardedOpenAI`.
        on_verdict: As for `GuardedOpenAI`.
        **kwargs: The arguments of `AsyncOpenAI`.
    """


class GuardedAzureOpenAI(Sync, AzureOpenAI):
    """`GuardedOpenAI` for Azure.

    Args:
        policy: As for `GuardedOpenAI`.
        retriever: As for `GuardedOpenAI`.
        on_verdict: As for `GuardedOpenAI`.
        **kwargs: The arguments of `AzureOpenAI`.
    """


class GuardedAsyncAzureOpenAI(Async, AsyncAzureOpenAI):
    """The asynchronous `GuardedOpenAI` for Azure.

    Args:
        policy: As for `GuardedOpenAI`.
        retriever: As for `GuardedOpenAI`.
        on_verdict: As for `GuardedOpenAI`.
        **kwargs: The arguments of `AsyncAzureOpenAI`.
    """


_OURS: Mapping[type[Any], type[Any]] = {
    OpenAI: GuardedOpenAI,
    AsyncOpenAI: GuardedAsyncOpenAI,
    AzureOpenAI: GuardedAzureOpenAI,
    AsyncAzureOpenAI: GuardedAsyncAzureOpenAI,
}


def guard_client(
    client: C,
    policy: PolicyLike = None,
    *,
    retriever: object = None,
    on_verdict: OnVerdict | None = None,
) -> C:
    """Return a guarded copy of a client.

    Any client of the SDK will do, including one for another provider or of your own subclass. The
    copy shares its connections with the original, which stays as it is.

    Args:
        client: An `OpenAI`, `AsyncOpenAI`, `AzureOpenAI` or `AsyncAzureOpenAI`, or a subclass.
        policy: As for `GuardedOpenAI`. It replaces the policy of an already guarded client.
        retriever: As for `GuardedOpenAI`.
        on_verdict: As for `GuardedOpenAI`.

    Returns:
        A client whose class is a subclass of the original's.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The client is of another class, the policy needs something that a client
            cannot provide, or it regenerates and has no retriever.
    """
    if isinstance(client, Guarded):
        return client.with_policy(policy, retriever=retriever, on_verdict=on_verdict)
    if not isinstance(client, (OpenAI, AsyncOpenAI)):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise ConfigurationError(
            f"guard_client takes a client of OpenAI's SDK, not {type(client).__name__!r}"
        )
    guard = guard_of(policy, retriever, on_verdict)
    return guarded_as(_guarded_class(type(client)), client.copy(), guard)


@cache
def _guarded_class(kind: type[Any]) -> type[Any]:
    if kind in _OURS:
        return _OURS[kind]
    base = Async if issubclass(kind, AsyncOpenAI) else Sync
    return type(f"Guarded{kind.__name__}", (base, kind), {})


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
GuardedRequest = tuple[Relay, Request]


def _guarded_request(relays: Relays, request: Any) -> GuardedRequest | None:
    """Return the relay and the parsed request, or None if the request is not guarded."""
    if request.method != "POST" or inside_guard():
        return None
    known = [relay for relay in relays if request.url.path.endswith(relay.api.path)]
    body = body_in(request) if known else None
    return None if body is None else (known[0], known[0].read(body))


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
    relay, asked = guarded
    if OWN_FIELD in (body_in(request) or {}):
        request = _like(request, asked.body)
    wanted = relay.main_body(asked)
    sent = request if wanted is asked.body else _like(request, wanted)
    response = await style.call(send, sent, stream=True)
    if sent is not request and is_about_parameters(_FailedError(response)):
        await style.either(response.close, response.aclose)
        response = await style.call(send, request, stream=True)
    if not response.is_success:
        return response

    async def ask(body: Body) -> Body:
        return _read(await style.call(send, _like(request, body), stream=False))

    upstream = Upstream(style.adapt_send(ask), _source(request))
    if is_event_stream(response):
        return streamed(style, relay, asked, response, upstream)
    try:
        body = await check(style, relay, asked, response, upstream)
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
