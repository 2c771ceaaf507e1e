"""The model behind a framework's client: as a provider, and as a request for litellm."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from resay._internal.nesting import marked
from resay._internal.retries import retry_after_s
from resay._internal.telemetry import TraceContext
from resay.adapters.events import SeenEvents
from resay.adapters.verdicts import NO_ANSWER
from resay.core.check_context import CheckContext
from resay.core.provider_params import CONNECTION_PARAMS, MAIN_CALL_ONLY
from resay.core.request import Request
from resay.core.usage import Usage
from resay.core.verdict import Via
from resay.errors import (
    SEE_CAUSE,
    ProviderError,
    ProviderRefusedError,
    ProviderTimeoutError,
    ResayError,
)
from resay.providers.apis import Api, ApiRequest, Body, Event, is_error
from resay.providers.apis.values import number
from resay.providers.base import (
    Chunk,
    Completion,
    Completions,
    Gathered,
    Provider,
    prepare,
    supported_params,
    with_counted_tokens,
)
from resay.providers.default import DefaultProvider
from resay.providers.limits import Budget
from resay.providers.litellm import LiteLLMProvider
from resay.providers.statuses import UNUSABLE_STATUSES, detail_of, hint_of
from resay.providers.unreachable import unreachable_by
from resay.scorers.structured import object_in

OPENAI_PARAMS = frozenset(
    {
        "extra_body",
        "extra_headers",
        "frequency_penalty",
        "logit_bias",
        "max_completion_tokens",
        "parallel_tool_calls",
        "presence_penalty",
        "prompt_cache_key",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "service_tier",
        "stop",
        "temperature",
        "tool_choice",
        "tools",
        "top_p",
        "user",
        "verbosity",
    }
)
"""Parameters of OpenAI's chat completions that litellm forwards unchanged."""
LEFT_OUT = MAIN_CALL_ONLY | {"messages", "model", "timeout"}
"""Fields of a request that are removed for a sample, which is one fresh, unstreamed answer."""
OPENAI_JUDGE_PARAMS = frozenset({"temperature", "json_object"})
"""What a judge may be asked for by OpenAI's parameters; who refuses is asked again without."""


class UnmappedError(ResayError):
    """litellm would not send the conversation and the settings of the framework's own model.

    The message is a short reason. It contains no content and no key.
    """


@cache
def litellm_provider() -> LiteLLMProvider:
    """Return the provider through which all adapters draw samples by `sampling.via: litellm`."""
    return LiteLLMProvider()


@cache
def default_provider() -> DefaultProvider:
    """Return the provider of the models that policies name, which all adapters share."""
    return DefaultProvider()


Send = Callable[[Body], Awaitable[Body]]
"""Sends one request whose answer is not streamed. Raises the client's own errors."""
# Statuses that providers return for an unsupported parameter.
_ABOUT_PARAMETERS = frozenset({400, 403, 404, 422})
_TEMPORARY = frozenset({408, 409, 429})


@dataclass(frozen=True, slots=True)
class Upstream:
    """How to send a client's requests besides its main call, for samples and judges.

    Attributes:
        ask: Sends a request, once.
        source: Distinguishes its answers from those of clients with another endpoint or account;
            None if unknown, so that none of them is reused for another request.
        named_provider: Returns the provider of the models that a policy names.
        via: How samples are drawn, for verdicts; None if that depends on the policy.
        takes_n: Whether one request may ask for several answers, for clients whose API alone does
            not determine that.
        cost_usd: Returns the cost of a response in US dollars, if the client knows it.
        endpoint: Identifies the server if `source` is unknown.
        parent_span: The parent of a stream's spans, because it may be read elsewhere.
        budget: The budget that all checks of the request share; None for one each.
    """

    ask: Send
    source: str | None = None
    named_provider: Callable[[], Provider] = default_provider
    via: Via | None = None
    takes_n: Callable[[], Awaitable[bool]] | None = None
    cost_usd: Callable[[Body], float | None] | None = None
    endpoint: str | None = None
    parent_span: TraceContext | None = None
    budget: Budget | None = None


class BrokenAnswerError(ProviderError):
    """The answer failed or broke off, although the response has status 200.

    Args:
        error: The response, or the event of a stream, that says so in the provider's own words;
            None if the stream just ended.
        answer: The text of the answers that arrived before it.
    """

    def __init__(self, error: Body | Event | None = None, answer: str = "") -> None:
        what = "reported an error in place of the answer, or of its end"
        if error is None:
            what = "ended the stream before its last event"
        super().__init__(f"the provider {what}")
        self.error = error
        self.answer = answer


class StreamedError(Exception):
    """A response was streamed although no stream was requested.

    Args:
        response: The client's response object.
    """

    def __init__(self, response: Any) -> None:
        super().__init__("the provider streamed an answer that was not to be streamed")
        self.response = response


class OneAnswer:
    """A provider that returns one answer per request."""

    async def takes_n(self, request: Request) -> bool:
        """Return False."""
        return False


@dataclass(frozen=True, eq=False, repr=False)
class OwnJudge(OneAnswer):
    """Request the response's own model, or the judge that a request names.

    Attributes:
        own: Queries the response's own model; None if it cannot be reached.
        cache_source: Distinguishes its answers from those of others.
        named: The provider of judges that a policy names.
        takes_openai_params: Whether the model's own class takes OpenAI's parameters in a call.
    """

    own: Callable[[Request], Awaitable[Completions]] | None
    cache_source: str | None = None
    named: Provider = field(default_factory=default_provider)
    takes_openai_params: bool = False

    async def prepare(self) -> None:
        """Let the provider of named judges load what it needs."""
        await prepare(self.named)

    async def supported_params(self, request: Request) -> frozenset[str]:
        """Return which optional parameters the own model takes, or the provider of a named one."""
        if request.model is not None or self.own is None:
            return await supported_params(self.named, request)
        return OPENAI_JUDGE_PARAMS if self.takes_openai_params else frozenset()

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Request the judge.

        Raises:
            ProviderError: There was no answer.
        """
        if request.model is not None or self.own is None:
            return await self.named.complete(request)
        try:
            return await self.own(request)
        # Each provider's package has its own exceptions, which may repeat any content.
        except Exception as error:
            if (refusal := refusal_of(error)) is not None:
                raise refusal from error
            # Not retryable: the model has retries of its own.
            raise ProviderError(f"the judge failed with {type(error).__name__}") from error


@dataclass(frozen=True, eq=False, repr=False)
class MainProvider(OneAnswer):
    """Provide the answer to the main call, which the adapter's caller sends.

    Attributes:
        api: The API.
        api_request: The request.
        send: Sends it.
        cost_usd: Returns the cost of a response in US dollars, if the client knows it.
    """

    api: Api
    api_request: ApiRequest
    send: Send
    cost_usd: Callable[[Body], float | None] | None = None

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Send the request, with log-probabilities enabled if the guard asks for them.

        Raises:
            BrokenAnswerError: The response is an error.
            Exception: The client's own error.
        """
        body = self.api_request.body
        asking = "logprobs" in request.params and not self.api_request.request.params.get(
            "logprobs"
        )
        if asking:
            body = self.api.with_logprobs(body, number(request.params.get("top_logprobs")))
        try:
            response = await self.send(body)
        except Exception as error:
            if asking and is_about_parameters(error):
                raise provider_error(error) from error
            raise
        if is_error(response):
            raise BrokenAnswerError(response)
        items = completions_in(self.api, response)
        return Completions(items[:1], _usage(self.api, response, self.cost_usd))


def completions_in(api: Api, response: Body) -> tuple[Completion, ...]:
    """Return the answers in a response; if there is none, a single unreadable one."""
    return api.completions(response) or (Completion("", raw=response, unread=NO_ANSWER),)


class KnownProvider(OneAnswer):
    """Provide an existing answer."""

    def __init__(self, completion: Completion, usage: Usage) -> None:
        self._answer = Completions((completion,), usage)

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Return the answer."""
        return self._answer


@dataclass(frozen=True, eq=False, repr=False)
class OpenedProvider(OneAnswer):
    """Provide an answer from the events of a stream that is already open.

    Attributes:
        api: The API.
        events: The events. They are closed at the end.
        seen: Where events are added as they are read.
    """

    api: Api
    events: AsyncGenerator[Event]
    seen: SeenEvents

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Read the stream to its end."""
        gathered = Gathered()
        async with self.stream(request) as chunks:
            async for chunk in chunks:
                gathered.add(chunk)
        usage = gathered.usage or Usage(1, cost_usd=None)
        return Completions((await gathered.whole(),), usage)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Read the stream."""
        async with aclosing(self.events), aclosing(self._chunks()) as chunks:
            yield chunks

    async def _chunks(self) -> AsyncGenerator[Chunk]:
        answered = False
        async for event in self.events:
            chunks = [chunk for index, chunk in self.api.chunks(event) if index == 0]
            self.seen.add(event, "".join([chunk.text for chunk in chunks]))
            # Each event is yielded, even if it adds nothing.
            for chunk in chunks or [Chunk(raw=event)]:
                answered = answered or bool(chunk.text or chunk.calls or chunk.finish_reason)
                yield chunk
        if not answered:
            yield Chunk(unread=NO_ANSWER)


@dataclass(frozen=True, eq=False, repr=False)
class SampleProvider:
    """Request samples from the client, or from the provider of the model that the policy names.

    Attributes:
        api: The API.
        api_request: The request of the main call.
        upstream: How to send the client's requests.
    """

    api: Api
    api_request: ApiRequest
    upstream: Upstream

    @property
    def cache_source(self) -> str | None:
        """Distinguishes its answers from others: by the whole request, endpoint and account."""
        # A request holds all of an API's request only if that is one of chat completions.
        return _source(self.api, self.upstream, self.api_request.body)

    @property
    def endpoint(self) -> str | None:
        """Identifies the model and the server, whatever the request; None if unknown."""
        server = self.upstream.endpoint or self.upstream.source
        return None if server is None else f"{server} {self.api.path} {self.api_request.model}"

    async def takes_n(self, request: Request) -> bool:
        """Return whether the API supports it."""
        if request.model is not None:
            return await self.upstream.named_provider().takes_n(request)
        asks = self.upstream.takes_n
        return self.api.takes_n and (asks is None or await asks())

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Request n samples.

        Raises:
            ProviderError: There was no answer.
        """
        if request.model is not None:
            return await self.upstream.named_provider().complete(request, n=n)
        return await _ask_upstream(
            self.api, self.upstream, self.api.sample(self.api_request, request, n)
        )


@dataclass(frozen=True, eq=False, repr=False)
class JudgeProvider(OneAnswer):
    """Request the model of the main call, or the judge that a request names.

    It is asked to judge, and to rewrite an answer.

    Attributes:
        api: The API.
        body: The request of the main call.
        upstream: How to send the client's requests.
    """

    api: Api
    body: Body
    upstream: Upstream

    @property
    def cache_source(self) -> str | None:
        """Distinguishes its answers from others to the same request."""
        return _source(self.api, self.upstream, self.api.fresh(self.body, Request(())))

    async def prepare(self) -> None:
        """Let the provider of named judges load what it needs."""
        await prepare(self.upstream.named_provider())

    async def supported_params(self, request: Request) -> frozenset[str]:
        """Return which optional parameters the API knows, or the provider of a named judge."""
        if request.model is not None:
            return await supported_params(self.upstream.named_provider(), request)
        return OPENAI_JUDGE_PARAMS if self.api.path in _PATHS_WITH_FORMATS else frozenset()

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Request the judge.

        Raises:
            ProviderError: There was no answer.
        """
        if request.model is not None:
            return await self.upstream.named_provider().complete(request)
        params = {k: v for k, v in request.params.items() if k not in CONNECTION_PARAMS}
        judge_request = Request(request.messages, None, params)
        return await _ask_upstream(
            self.api, self.upstream, self.api.fresh(self.body, judge_request)
        )


# Of OpenAI's two APIs for conversations, which most servers speak.
_PATHS_WITH_FORMATS = frozenset({"/chat/completions", "/responses"})


def sample_of(item: Completion, context: CheckContext) -> str:
    """Return an answer in the form of a sample for others."""
    if not context.wants_object:
        return "" if item.calls else item.text
    value = object_in(item, context)
    return "" if value is None else json.dumps(value)


def _source(api: Api, upstream: Upstream, request: Body) -> str | None:
    if upstream.source is None:
        return None
    return digest_of([upstream.source, api.path, request])


def digest_of(value: object) -> str:
    """Return what distinguishes a value from others; what is no JSON counts by its `repr`."""
    text = json.dumps(value, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


async def _ask_upstream(api: Api, upstream: Upstream, body: Body) -> Completions:
    try:
        # In case the client is guarded again, or by another adapter too.
        with marked():
            response = await upstream.ask(body)
    # Each client has its own exceptions, which may repeat the prompt.
    except Exception as error:
        raise provider_error(error) from error
    items = () if is_error(response) else api.completions(response)
    if not items:
        raise ProviderError("the model's reply has no answer in it", retryable=True)
    usage = with_counted_tokens(items, _usage(api, response, upstream.cost_usd))
    return Completions(items, usage)


def _usage(api: Api, response: Body, cost_usd: Callable[[Body], float | None] | None) -> Usage:
    usage = api.usage(response)
    return usage if cost_usd is None else replace(usage, cost_usd=cost_usd(response))


def is_about_parameters(error: Exception) -> bool:
    """Return whether a provider may have refused a parameter."""
    return _status(error) in _ABOUT_PARAMETERS


def refusal_of(error: Exception) -> ProviderRefusedError | None:
    """Return a client's error as the refusal of a request, or None if it is about anything else."""
    if isinstance(error, TypeError):
        # Clients refuse parameters that they do not know before they send anything.
        return ProviderRefusedError(f"the client refuses a parameter; {SEE_CAUSE}", status=400)
    translated = provider_error(error)
    return translated if isinstance(translated, ProviderRefusedError) else None


def provider_error(error: Exception) -> ProviderError:
    """Translate a client's error into a provider error, without the client's words."""
    if isinstance(error, ProviderError):
        return error
    name, status = type(error).__name__, _status(error)
    if "Timeout" in name:
        return ProviderTimeoutError(f"there was no answer in time ({name})", status=status)
    unreachable = unreachable_by(error)
    if unreachable is not None:
        message = f"the request failed: {unreachable.reason}"
        return ProviderError(message, retryable=True, unusable=True)
    after = retry_after_s(getattr(getattr(error, "response", None), "headers", None))
    hint = hint_of(status, after, SEE_CAUSE) if status == 429 else SEE_CAUSE
    message = f"the request failed with {name}; {hint}"
    if status is not None and 400 <= status < 500 and status not in _TEMPORARY:
        return ProviderRefusedError(message, status=status, unusable=status in UNUSABLE_STATUSES)
    temporary = status is not None or "Connect" in name
    return ProviderError(
        message,
        status=status,
        retry_after_s=after,
        retryable=temporary,
        detail=detail_of(status, after) if status else name,
    )


def _status(error: Exception) -> int | None:
    response: object = getattr(error, "response", None)
    status: object = getattr(error, "status_code", getattr(response, "status_code", None))
    return status if isinstance(status, int) else None
