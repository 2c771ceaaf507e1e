"""The methods of guarded clients."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from openai._models import FinalRequestOptions
from typing_extensions import Self

from resay import Guard
from resay.adapters import OnVerdict, inside_guard, marked
from resay.adapters.apis import (
    CHAT_COMPLETIONS,
    COMPLETIONS,
    RESPONSES,
    Api,
    ApiRequest,
    Body,
    mapping,
)
from resay.adapters.connections import spread_client
from resay.adapters.http import answer, body_in, check, is_event_stream, package_of, with_body
from resay.adapters.http import stream as guarded_stream
from resay.adapters.own_field import OWN_FIELD
from resay.adapters.policies import PolicyLike, check_client_policy, guard_of
from resay.adapters.relay import Relay
from resay.adapters.threads import ASYNC, BLOCKING, CallStyle, run_in_place
from resay.adapters.upstream import StreamedError, Upstream
from resay.errors import ResayError
from resay_openai._errors import sdk_error
from resay_openai._requests import (
    arguments,
    assembles_stream,
    auxiliary_request,
    body_of,
    is_plain,
    source_of,
    without_verdicts,
)
from resay_openai._streams import (
    SdkErrors,
    VerdictInDeltas,
    with_final_responses,
    with_final_verdicts,
)

# Whether the SDK should return raw responses before processing them.
_receiving: ContextVar[bool] = ContextVar("resay_openai_receiving", default=False)


class Received:
    """A response as the SDK received it, before any processing.

    Attributes:
        response: The response of httpx or httpx2.
        processing: The other arguments of the SDK's response processing.
    """

    def __init__(self, **processing: Any) -> None:
        self.response: Any = processing.pop("response")
        self.processing = processing

    def with_body(self, body: Body) -> Received:
        """Return this response with the given body, or unchanged if the body is empty."""
        if body:
            self.response = with_body(self.response, body)
        return self


# Set during auxiliary calls (samples, judges), which are sent without the SDK's retries: Resay has
# its own.
_auxiliary: ContextVar[bool] = ContextVar("resay_openai_beside", default=False)


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

        @cached_property
        def responses(self) -> Any:
            return with_final_responses(super().responses)

        def copy(self, *, _extra_kwargs: Any = None, **kwargs: Any) -> Any:
            extra_kwargs = {"policy": self._guard, **(_extra_kwargs or {})}
            copied = super().copy(_extra_kwargs=extra_kwargs, **kwargs)
            # A custom client class may build its copies unguarded.
            if isinstance(copied, Guarded):
                return copied
            return guarded_as(type(self), copied, guard_of(extra_kwargs["policy"]))

        with_options = copy

    def guarded_request(self, options: FinalRequestOptions) -> tuple[Relay, ApiRequest] | None:
        """Return the relay and the parsed request, or None if the request is not guarded."""
        relay = self._relays.get(options.url)
        if relay is None or inside_guard():
            return None
        body = body_of(options)
        return None if body is None else (relay, relay.read(body))


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


def _resource(client: Any, api: Api) -> Any:
    if api is RESPONSES:
        return client.responses
    return client.completions if api is COMPLETIONS else client.chat.completions


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
    guarded: tuple[Relay, ApiRequest] | None = client.guarded_request(options)
    if guarded is None:
        # An auxiliary call is sent once.
        update = {"max_retries": 0} if _auxiliary.get() else {}
        return await style.call(send, options.model_copy(update=update))
    relay, request = guarded
    if OWN_FIELD in {**mapping(options.json_data), **(options.extra_json or {})}:
        options = options.model_copy(update={"json_data": request.body, "extra_json": None})

    async def receive(body: Body) -> Received:
        update = {} if body is request.body else {"json_data": body, "extra_json": None}
        with marked(_receiving):
            return await style.call(send, options.model_copy(update=update))

    async def create(body: Body) -> Body:
        # The public methods, looked up on each call, since that is where tracers attach.
        method: Callable[..., Any] = _resource(client, relay.api).create
        if is_plain(method) and is_plain(client.post):
            # Nothing observes these, so skip the SDK's parsing, which takes as long as sending.
            with marked(_receiving):
                received = await style.call(ask, auxiliary_request(options, body))
            return body_in(received.response) or {}
        with marked(_auxiliary):
            return (await style.call(method, **arguments(method, body, options))).to_dict()

    upstream = Upstream(style.adapt_send(create), source_of(client))

    async def guard_stream(received: Received, change: type[SdkErrors] = SdkErrors) -> Received:
        response = received.response
        # The provider may not have streamed.
        if not is_event_stream(response):
            return received.with_body(await check(style, relay, request, response, upstream))
        received.response = guarded_stream(
            style, relay, request, response, upstream, change(response.request)
        )
        return received

    if stream:
        change = VerdictInDeltas if assembles_stream(options) else SdkErrors
        received = await guard_stream(await relay.send_main(request, receive), change)
    else:
        received = await _answered(style, relay, request, upstream, receive, guard_stream)
    process: Callable[..., Any] = client._process_response  # noqa: SLF001 - a client of ours
    return await style.call(process, response=received.response, **received.processing)


async def _answered(
    style: CallStyle,
    relay: Relay,
    api_request: ApiRequest,
    upstream: Upstream,
    receive: Callable[[Body], Awaitable[Received]],
    guard_stream: Callable[[Received], Awaitable[Received]],
) -> Received:
    responses: list[Received] = []

    async def send(body: Body) -> Body:
        received = await receive(body)
        if is_event_stream(received.response):
            raise StreamedError(received)
        # The SDK leaves reading to users who asked for the response itself.
        await style.either(received.response.read, received.response.aread)
        responses.append(received)
        return body_in(received.response) or {}

    try:
        body = await answer(style, relay, api_request, send, upstream)
    except StreamedError as error:
        received = await guard_stream(error.response)
        await style.either(received.response.read, received.response.aread)
        return received
    return responses[-1].with_body(body)
