"""OpenAI's clients, guarded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeVar

from openai import AsyncAzureOpenAI, AsyncOpenAI, AzureOpenAI, OpenAI
from openai._models import FinalRequestOptions

from resay.adapters import (
    OnVerdict,
    PolicyLike,
    Relay,
    StreamedError,
    Upstream,
    guard_of,
    is_about_parameters,
)
from resay.adapters.http import (
    BLOCKING,
    LOOPING,
    Change,
    Side,
    body_in,
    finished,
    is_event_stream,
)
from resay.errors import ConfigurationError
from resay.providers.apis import Api, Body, Request
from resay_openai._requests import (
    ForAccumulating,
    Guarded,
    Received,
    accumulates,
    arguments,
    as_sent,
    beside,
    create_of,
    guarded_as,
    is_receiving,
    receiving,
    source_of,
    with_sent,
    without_verdicts,
)

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
        return finished(_requested(BLOCKING, self, send, options, stream=stream))

    def _process_response(self, **processing: Any) -> Any:
        if is_receiving():
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
        return await _requested(LOOPING, self, send, options, stream=stream)

    async def _process_response(self, **processing: Any) -> Any:
        if is_receiving():
            return Received(**processing)
        parent: Any = super()
        return await parent._process_response(**processing)  # noqa: SLF001 - its own


async def _requested(
    side: Side,
    client: Any,
    send: Callable[[FinalRequestOptions], Any],
    options: FinalRequestOptions,
    *,
    stream: bool,
) -> Any:
    options = without_verdicts(options)
    reading = client.reading(options)
    if reading is None:
        return await side.call(send, as_sent(options))

    async def receive(body: Body) -> Received:
        sent = options if body is request.body else with_sent(options, body)
        with receiving():
            return await side.call(send, sent)

    async def create(body: Body) -> Body:
        method = create_of(client, api)
        with beside():
            return (await side.call(method, **arguments(method, body, options))).to_dict()

    api: Api
    relay: Relay
    request: Request
    api, relay, request = reading
    upstream = Upstream(side.sends(create), source_of(client))
    exchange = _Exchange(side, receive, relay, request, upstream)
    if stream:
        change = ForAccumulating() if accumulates(options) else Change()
        received = await exchange.streaming(await exchange.opened(), change)
    else:
        received = await exchange.answered()
    process: Callable[..., Any] = client._process_response  # noqa: SLF001 - one of ours
    return await side.call(process, response=received.response, **received.rest)


@dataclass(frozen=True, slots=True)
class _Exchange:
    """One request and what comes back."""

    side: Side
    receive: Callable[[Body], Awaitable[Received]]
    relay: Relay
    request: Request
    upstream: Upstream

    async def opened(self) -> Received:
        asked = self.relay.asked(self.request)
        try:
            return await self.receive(asked)
        except Exception as error:
            if asked is self.request.body or not is_about_parameters(error):
                raise
        return await self.receive(self.request.body)

    async def streaming(self, received: Received, *change: Change) -> Received:
        given = (self.relay, self.request, received.response, self.upstream)
        # A provider that does not stream gives something else.
        if not is_event_stream(received.response):
            return received.with_body(await self.side.check(*given))
        received.response = self.side.stream(*given, *change)
        return received

    async def answered(self) -> Received:
        kept: list[Received] = []

        async def send(body: Body) -> Body:
            received = await self.receive(body)
            if is_event_stream(received.response):
                raise StreamedError(received)
            # The SDK leaves that to users who want to read it themselves.
            await self.side.read(received.response)
            kept.append(received)
            return body_in(received.response) or {}

        try:
            answered = await self.side.answer(self.relay, self.request, send, self.upstream)
        except StreamedError as error:
            streaming = await self.streaming(error.response)
            await self.side.read(streaming.response)
            return streaming
        return kept[-1].with_body(answered)


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
