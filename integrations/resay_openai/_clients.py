"""OpenAI's clients, guarded, and the HTTP clients beneath those that programs make themselves."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
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
from resay.adapters.policies import VERDICT_KEY, PolicyLike, check_client_policy, guard_of
from resay.adapters.relaying import OWN_FIELD, Relay
from resay.adapters.threads import BLOCKING, LOOPING, Side, finished
from resay.adapters.upstream import StreamedError, Upstream, is_about_parameters
from resay.core.verdict import HallucinationBlocked, OnVerdict
from resay.errors import ConfigurationError
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

# Whether the SDK is to hand over responses as they came, before it makes anything of them.
_receiving: ContextVar[bool] = ContextVar("resay_openai_receiving", default=False)


class Received:
    """What the SDK has of a response before it makes anything of it.

    Attributes:
        response: The response of httpx or httpx2.
        rest: What else the SDK knows of it.
    """

    def __init__(self, **processing: Any) -> None:
        self.response: Any = processing.pop("response")
        self.rest = processing

    def with_body(self, body: Body) -> Received:
        """Return the same with another body; as it is where there is none to give."""
        if body:
            self.response = with_body(self.response, body)
        return self


# The header by which the SDK's methods tell each other what to return.
_INTERNAL = "x-stainless-"
_HELPER = "x-stainless-helper-method"
# Set around what is asked beside a main call, so that its request is sent once: Resay has retries
# of its own.
_beside: ContextVar[bool] = ContextVar("resay_openai_beside", default=False)


def body_of(options: FinalRequestOptions) -> Body | None:
    """Return what a request holds; None where it is not an object that is posted."""
    data: object = options.json_data
    if options.method.lower() != "post" or not isinstance(data, Mapping) or options.files:
        return None
    sent = {**cast("Body", data), **(options.extra_json or {})}
    return {k: v for k, v in sent.items() if not isinstance(v, (NotGiven, Omit))}


def without_verdicts(options: FinalRequestOptions) -> FinalRequestOptions:
    """Return a request whose messages are as the provider knows them.

    The message that the SDK puts together from a stream has its verdict, and goes on as it is.
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


def accumulates(options: FinalRequestOptions) -> bool:
    """Return whether the SDK puts a streamed answer together for the user.

    What it makes of chunks keeps only what their deltas say.
    """
    helper = [value for name, value in _headers(options).items() if name.lower() == _HELPER]
    return any("chat.completions.stream" in str(value) for value in helper)


def _headers(options: FinalRequestOptions) -> Mapping[str, Any]:
    given = None if isinstance(options.headers, NotGiven) else options.headers
    return cast("Mapping[str, Any]", given or {})


class ForAccumulating(Change):
    """Has the verdict stand in the deltas of an event too."""

    def of(self, event: Event) -> Iterable[Event]:
        """Return an event, whose verdict stands in its deltas too."""
        choices = event.body.get("choices")
        if VERDICT_KEY not in event.body or not isinstance(choices, list):
            return (event,)
        told = [
            _told_in_delta(choice, event.body[VERDICT_KEY]) for choice in cast("list[Any]", choices)
        ]
        return (Event({**event.body, "choices": told}, event.name),)


def _told_in_delta(choice: Body, verdict: Any) -> Body:
    own = choice.get(VERDICT_KEY, verdict)
    return {**choice, "delta": {**(choice.get("delta") or {}), VERDICT_KEY: own}}


_SDK = str(Path(openai.__file__).parent) + os.sep


def is_plain(method: Any) -> bool:
    """Return whether a method is the SDK's own, and nobody stands around it: no tracer, say."""
    # What wraps a method may give away that method's own attributes as its own.
    if type(method) is not MethodType or type(method.__func__) is not FunctionType:
        return False
    return method.__func__.__code__.co_filename.startswith(_SDK)


def beside(options: FinalRequestOptions, body: Body) -> FinalRequestOptions:
    """Return what is asked beside a request, once.

    Args:
        options: The request, whose headers, query and timeout are kept.
        body: What to ask.
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
    """Return how to call a method for a request like another.

    Args:
        create: The method.
        body: What to ask.
        options: The other request, whose headers, query and timeout are kept.
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
    """Return what tells a client's answers from those of one that asks elsewhere."""
    who = (client.api_key, client.organization, client.project)
    payer = hashlib.sha256(repr(who).encode()).hexdigest()
    return f"openai {client.base_url} {payer}"


def with_final_verdicts(chat: Any) -> Any:
    """Have the streams of one client's `chat.completions.stream` end with a verdict.

    What the SDK puts together of chunks keeps what their deltas say, and nothing of all else.

    Args:
        chat: The client's own resource, which is changed. Its class is left alone.
    """
    completions: Any = chat.completions
    stream: Callable[..., Any] = completions.stream

    @wraps(stream)
    def telling(*args: Any, **kwargs: Any) -> Any:
        manager = stream(*args, **kwargs)
        known = isinstance(manager, ChatCompletionStreamManager)
        manager.__class__ = _Manager if known else _AsyncManager
        return manager

    completions.stream = telling
    return chat


class _Manager(ChatCompletionStreamManager[Any]):
    def __enter__(self) -> Any:
        stream: Any = super().__enter__()
        final: Callable[[], Any] = stream.get_final_completion
        stream.get_final_completion = wraps(final)(lambda: _told(final()))
        return stream


class _AsyncManager(AsyncChatCompletionStreamManager[Any]):
    async def __aenter__(self) -> Any:
        stream: Any = await super().__aenter__()
        final: Callable[[], Any] = stream.get_final_completion

        @wraps(final)
        async def telling() -> Any:
            return _told(await final())

        stream.get_final_completion = telling
        return stream


def _told(completion: Any) -> Any:
    """Put the verdicts of a completion where they are without the helper."""
    found: list[Mapping[str, Any]] = []
    for choice in completion.choices:
        verdict = getattr(choice.message, VERDICT_KEY, None)
        if verdict is not None:
            setattr(choice, VERDICT_KEY, verdict)
            found.append(verdict)
    if found:
        setattr(completion, VERDICT_KEY, max(found, key=_gravity))
    return completion


def _gravity(verdict: Mapping[str, Any]) -> tuple[bool, bool, bool]:
    decision = verdict.get("decision")
    return verdict.get("action") == "block", decision == "flagged", decision == "inconclusive"


class Guarded:
    """What guarded clients have in common."""

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
        self._take(guard_of(policy, retriever, on_verdict))
        if isinstance(self, AsyncOpenAI) and kwargs.get("http_client") is None:
            kwargs["http_client"] = spread_client(DefaultAsyncHttpxClient)
        super().__init__(**kwargs)

    def _take(self, guard: Guard) -> None:
        check_client_policy(guard, "a client")
        self._guard = guard
        apis = (CHAT_COMPLETIONS, RESPONSES, COMPLETIONS)
        self._relays = {api.path: Relay(guard, api) for api in apis}

    @property
    def guard(self) -> Guard:
        """Who checks and acts."""
        return self._guard

    def with_policy(
        self,
        policy: PolicyLike,
        *,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
    ) -> Self:
        """Return the same client with another policy.

        Args:
            policy: The policy.
            retriever: Where documents are found, if it regenerates and does not say so itself.
            on_verdict: Who is notified of verdicts, in place of those who were, unless the given
                guard notifies them.
        """
        client: Any = self
        return client.copy(_extra_kwargs={"policy": guard_of(policy, retriever, on_verdict)})

    if not TYPE_CHECKING:
        # For type checkers these are the SDK's own, with all their parameters.

        @cached_property
        def chat(self) -> Any:
            return with_final_verdicts(super().chat)

        def copy(self, *, _extra_kwargs: Any = None, **kwargs: Any) -> Any:
            further = {"policy": self._guard, **(_extra_kwargs or {})}
            copied = super().copy(_extra_kwargs=further, **kwargs)
            # A class of somebody's own may make a copy as it was without us.
            known = isinstance(copied, Guarded)
            return copied if known else guarded_as(type(self), copied, guard_of(further["policy"]))

        with_options = copy

    def reading(self, options: FinalRequestOptions) -> tuple[Relay, Request] | None:
        """Return how a request is guarded; None where it is not."""
        known = self._relays.get(options.url)
        body = None if known is None or inside_guard() else body_of(options)
        return None if known is None or body is None else (known, known.read(body))


def guarded_as(kind: type[Any], client: Any, guard: Guard) -> Any:
    """Make a guarded client of what another has become.

    Args:
        kind: Its class. Constructors of subclasses take what they like, so none is called.
        client: The other, which nobody uses from now on.
        guard: Who checks and acts.
    """
    guarded: Any = object.__new__(kind)
    guarded.__dict__ |= client.__dict__
    guarded._take(guard)  # noqa: SLF001 - it is one of ours
    return guarded


C = TypeVar("C", bound="OpenAI | AsyncOpenAI")


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
        send = partial(parent.request, cast_to, stream=stream, stream_cls=stream_cls)
        ask = partial(parent.request, cast_to)
        return finished(_requested(BLOCKING, self, send, ask, options, stream=stream))

    def _process_response(self, **processing: Any) -> Any:
        if _receiving.get():
            return Received(**processing)
        parent: Any = super()
        return parent._process_response(**processing)  # noqa: SLF001 - its own


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
        """Do what `Sync.request` does."""
        parent: Any = super()
        send = partial(parent.request, cast_to, stream=stream, stream_cls=stream_cls)
        ask = partial(parent.request, cast_to)
        return await _requested(LOOPING, self, send, ask, options, stream=stream)

    async def _process_response(self, **processing: Any) -> Any:
        if _receiving.get():
            return Received(**processing)
        parent: Any = super()
        return await parent._process_response(**processing)  # noqa: SLF001 - its own


async def _requested(
    side: Side,
    client: Any,
    send: Callable[[FinalRequestOptions], Any],
    ask: Callable[[FinalRequestOptions], Any],
    options: FinalRequestOptions,
    *,
    stream: bool,
) -> Any:
    options = without_verdicts(options)
    reading: tuple[Relay, Request] | None = client.reading(options)
    if reading is None:
        # Once, where it is not the main call.
        once = {"max_retries": 0} if _beside.get() else {}
        return await side.call(send, options.model_copy(update=once))
    relay, request = reading
    if OWN_FIELD in {**mapping(options.json_data), **(options.extra_json or {})}:
        options = options.model_copy(update={"json_data": request.body, "extra_json": None})

    async def receive(body: Body) -> Received:
        changed = {} if body is request.body else {"json_data": body, "extra_json": None}
        with marked(_receiving):
            return await side.call(send, options.model_copy(update=changed))

    async def create(body: Body) -> Body:
        # The public ones, looked up anew: that is where tracers sit.
        chat = client.completions if relay.api is COMPLETIONS else client.chat.completions
        method: Callable[..., Any] = (client.responses if relay.api is RESPONSES else chat).create
        if is_plain(method) and is_plain(client.post):
            # What they make of a request and its answer takes as long as sending it, and nobody
            # would see it.
            with marked(_receiving):
                received = await side.call(ask, beside(options, body))
            return body_in(received.response) or {}
        with marked(_beside):
            return (await side.call(method, **arguments(method, body, options))).to_dict()

    upstream = Upstream(side.sends(create), source_of(client))

    async def streaming(received: Received, *change: Change) -> Received:
        given = (side, relay, request, received.response, upstream)
        # A provider that does not stream gives something else.
        if not is_event_stream(received.response):
            return received.with_body(await check(*given))
        received.response = streamed(*given, *change)
        return received

    if stream:
        change = ForAccumulating() if accumulates(options) else Change()
        received = await streaming(await relay.opened(request, receive), change)
    else:
        received = await _answered(side, relay, request, upstream, receive, streaming)
    process: Callable[..., Any] = client._process_response  # noqa: SLF001 - one of ours
    return await side.call(process, response=received.response, **received.rest)


async def _answered(
    side: Side,
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
        # The SDK leaves that to users who want to read it themselves.
        await side.either(received.response.read, received.response.aread)
        kept.append(received)
        return body_in(received.response) or {}

    try:
        body = await answer(side, relay, request, send, upstream)
    except StreamedError as error:
        given = await streaming(error.response)
        await side.either(given.response.read, given.response.aread)
        return given
    return kept[-1].with_body(body)


class GuardedOpenAI(Sync, OpenAI):
    """OpenAI's client, with answers that are checked and acted on as a policy says.

    Guarded are `chat.completions` and `responses`: `create`, `parse` and `stream`, and
    `completions.create`, also by `with_raw_response` and `with_streaming_response`. Everything else
    is the SDK's own, and so are all types. A response has its verdict at `hallucination`, which
    `verdict_of` reads.

    Inside another guard it does nothing.

    Args:
        policy: A policy, a path to a policy file, the same as a mapping, or a `Guard`; None for
            the one that `RESAY_POLICY` names, or the default.
        retriever: Where documents are found, for a policy that regenerates: a `Retriever`, or
            whatever else `resay.retrieval.as_retriever` takes; in place of the one that the policy
            names.
        on_verdict: Called with each `resay.Verdict`, also of answers that are withheld or skipped:
            where the call was made, before it returns; of a stream, at its end. What an async
            function returns is awaited, what it raises is logged.
        **kwargs: Whatever `OpenAI` takes.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy asks for what cannot be had of a client, or it regenerates
            and there is no retriever.

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
    """The same for event loops; see `GuardedOpenAI`.

    Args:
        policy: As for `GuardedOpenAI`.
        retriever: As for `GuardedOpenAI`.
        on_verdict: As for `GuardedOpenAI`.
        **kwargs: Whatever `AsyncOpenAI` takes.
    """


class GuardedAzureOpenAI(Sync, AzureOpenAI):
    """The same for Azure; see `GuardedOpenAI`.

    Args:
        policy: As for `GuardedOpenAI`.
        retriever: As for `GuardedOpenAI`.
        on_verdict: As for `GuardedOpenAI`.
        **kwargs: Whatever `AzureOpenAI` takes.
    """


class GuardedAsyncAzureOpenAI(Async, AsyncAzureOpenAI):
    """The same for Azure and event loops; see `GuardedOpenAI`.

    Args:
        policy: As for `GuardedOpenAI`.
        retriever: As for `GuardedOpenAI`.
        on_verdict: As for `GuardedOpenAI`.
        **kwargs: Whatever `AsyncAzureOpenAI` takes.
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
    """Return a client like the one given, guarded.

    Any client of the SDK will do: one that asks another provider, or one of a class of your own.
    It shares its connections with the one given, which stays as it is.

    Args:
        client: An `OpenAI`, `AsyncOpenAI`, `AzureOpenAI` or `AsyncAzureOpenAI`, or a subclass.
        policy: As for `GuardedOpenAI`. It takes the place of the policy of a guarded client.
        retriever: As for `GuardedOpenAI`.
        on_verdict: As for `GuardedOpenAI`.

    Returns:
        A client whose class is a subclass of the given one's.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: It is no such client, the policy asks for what cannot be had of one, or
            it regenerates and there is no retriever.
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
    side = Async if issubclass(kind, AsyncOpenAI) else Sync
    return type(f"Guarded{kind.__name__}", (side, kind), {})


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
    guarded_kind = _guarded_kind(getattr(kind, "unguarded", kind), side)
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
def _guarded_kind(kind: type[Any], side: Side) -> type[Any]:
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
    response = await _answered_by(side, send, request, reading)
    if not stream:
        await side.either(response.read, response.aread)
    return response


async def _answered_by(side: Side, send: Callable[..., Any], request: Any, reading: Reading) -> Any:
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
