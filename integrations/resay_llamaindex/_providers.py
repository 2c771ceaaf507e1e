"""LLMs as Resay's providers of answers, samples and judgements, and their usage.

Samples and judgements come from copies of the LLM, or from litellm if it can stand in for it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, cast

from llama_index.core.base.llms.types import ChatResponse, CompletionResponse
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.callbacks.base_handler import BaseCallbackHandler
from llama_index.core.constants import DEFAULT_TEMPERATURE
from llama_index.core.llms import LLM
from llama_index.core.llms.structured_llm import StructuredLLM
from llama_index_instrumentation.dispatcher import active_instrument_tags, instrument_tags

from resay._internal.nesting import marked
from resay.adapters.models import (
    FRESH_ANSWER,
    ONE_PLAIN_ANSWER,
    check_defaults,
    tool_name,
    with_defaults,
    with_fields,
    with_sampling_on,
)
from resay.adapters.threads import BLOCKING, CallStyle, in_thread, read_in_threads
from resay.adapters.upstream import (
    LEFT_OUT,
    OPENAI_PARAMS,
    OneAnswer,
    OwnJudge,
    UnmappedError,
    check_chat_completions,
    is_about_parameters,
    litellm_provider,
)
from resay.core.query import CONNECTION_PARAMS, Query
from resay.core.usage import Usage, last_reported
from resay.errors import ConfigurationError, MissingDependencyError, ProviderRefusedError
from resay.guard import Guard
from resay.policy import Regenerate, Sampling
from resay.providers.base import Chunk, Completions, Provider, Sources
from resay_llamaindex._requests import (
    Call,
    Chat,
    Completing,
    Predicting,
    Request,
    asked_message,
    calls_in,
    chat_message,
    completion_of,
    finish_reason_in,
    logprobs_in,
    openai_message,
    readable_message,
    usage_in,
    with_kwargs,
)

_spent: ContextVar[list[Usage] | None] = ContextVar("resay_llamaindex_spent", default=None)


class UsageRecorder:
    """The usage of the LLM calls made within a context."""

    def __init__(self) -> None:
        # Calls may run in parallel threads; appending is atomic.
        self._items: list[Usage] = []

    @contextmanager
    def counting(self) -> Generator[None]:
        """Count the calls of LLMs that have the callbacks of `counted`."""
        token = _spent.set(self._items)
        try:
            yield
        finally:
            _spent.reset(token)

    @property
    def usage(self) -> Usage | None:
        """The sum, or None if no call was seen."""
        return sum(self._items, Usage(cost_usd=None)) if self._items else None


class _Counter(BaseCallbackHandler):
    def __init__(self) -> None:
        super().__init__([], [])

    def on_event_start(
        self,
        event_type: CBEventType,
        payload: dict[str, Any] | None = None,
        event_id: str = "",
        parent_id: str = "",
        **kwargs: Any,
    ) -> str:
        return event_id

    def on_event_end(
        self,
        event_type: CBEventType,
        payload: dict[str, Any] | None = None,
        event_id: str = "",
        **kwargs: Any,
    ) -> None:
        items = _spent.get()
        if event_type is CBEventType.LLM and items is not None:
            told = payload or {}
            response = told.get(EventPayload.RESPONSE) or told.get(EventPayload.COMPLETION)
            items.append(usage_in(response) or Usage(1, cost_usd=None))

    def start_trace(self, trace_id: str | None = None) -> None:
        pass

    def end_trace(
        self, trace_id: str | None = None, trace_map: dict[str, list[str]] | None = None
    ) -> None:
        pass


def counted() -> Mapping[str, Any]:
    """Return a field update that makes an LLM's copy count its usage, and call no other callbacks.

    LlamaIndex's callbacks have no tags by which the application's own could tell samples from
    answers.
    """
    return {"callback_manager": CallbackManager([_Counter()])}


class AsyncCaller:
    """Calls asynchronous methods, on the current event loop."""

    async def ask(self, call: Call, target: Any) -> Any:
        """Call the method and return its result."""
        return await call.to(target, "a")

    @asynccontextmanager
    async def stream(self, call: Call, target: Any) -> AsyncGenerator[AsyncIterator[Any]]:
        """Call the streaming method."""
        async with self.read(await call.to(target, "astream_")) as pieces:
            yield pieces

    @asynccontextmanager
    async def read(self, pieces: Any) -> AsyncGenerator[AsyncIterator[Any]]:
        """Iterate over pieces, and close their generator at the end."""
        if not isinstance(pieces, AsyncIterator):
            pieces = BLOCKING.iterate(pieces)
        try:
            yield pieces
        finally:
            if isinstance(pieces, AsyncGenerator):
                await pieces.aclose()


class ThreadCaller:
    """Calls synchronous methods, in a thread.

    Asynchronous clients belong to the event loop that first used them, so Resay's own loop must not
    touch them. A call that is no longer wanted is left behind, since a thread cannot be stopped.
    """

    async def ask(self, call: Call, target: Any) -> Any:
        """Call the method and return its result."""
        return await in_thread(partial(call.to, target))

    @asynccontextmanager
    async def stream(self, call: Call, target: Any) -> AsyncGenerator[AsyncIterator[Any]]:
        """Call the streaming method."""
        async with self.read(await in_thread(partial(call.to, target, "stream_"))) as pieces:
            yield pieces

    def read(self, pieces: Any) -> AbstractAsyncContextManager[AsyncIterator[Any]]:
        """Iterate over pieces, and close their generator at the end."""
        return aclosing(read_in_threads(pieces))


Caller = AsyncCaller | ThreadCaller


def caller_for(style: CallStyle) -> Caller:
    """Return how to call LLMs and engines for blocking or asynchronous callers."""
    return ThreadCaller() if style.blocking else AsyncCaller()


TAG = "resay"
"""The instrumentation tag on spans and events inside a guard."""
Role = Literal["main", "sample", "judge"]


@contextmanager
def tagged(role: Role) -> Generator[None]:
    """Tag the calls made in this context, and disable guards inside.

    Args:
        role: The purpose of the calls.
    """
    with marked(), instrument_tags({**active_instrument_tags.get(), TAG: role}):
        yield


# The providers' own default, and the only temperature that some models accept.
_PLAIN_TEMPERATURE = 1.0
_CACHES = ("cache", "caching")


def too_cold(temperature: object) -> bool:
    """Return whether samples at this temperature would be near copies of each other.

    LlamaIndex sends 0.1 by default, which says nothing about the temperature wanted for samples.
    """
    return isinstance(temperature, (int, float)) and temperature <= DEFAULT_TEMPERATURE


def judges_of(llm: LLM, sampling: Sampling) -> tuple[LLM, LLM]:
    """Return copies of an LLM for judging, without the application's callbacks.

    Args:
        llm: The LLM; not changed.
        sampling: How the policy samples.

    Returns:
        One copy that gives a plain answer, and one that gives a different answer each time. They
        share the clients that the original has created already.
    """
    if isinstance(llm, StructuredLLM):
        return judges_of(llm.llm, sampling)
    plain = with_fields(with_defaults(llm, ONE_PLAIN_ANSWER), counted())
    return plain, for_sampling(llm, sampling)


def own_judge(judges: tuple[LLM, LLM] | None, caller: Caller) -> OwnJudge:
    """Return the judge that uses the response's own LLM.

    Args:
        judges: The copies of the LLM, or None if it cannot be reached.
        caller: How to call it.
    """
    if judges is None:
        return OwnJudge(None)
    plain, varied = judges

    async def ask(query: Query) -> Completions:
        kwargs = {k: v for k, v in query.params.items() if k not in CONNECTION_PARAMS}
        llm = varied if query.varied else plain
        kwargs = _varied_kwargs(kwargs, llm) if query.varied else kwargs
        request = Chat([chat_message(m) for m in query.messages], kwargs)
        return await LLMProvider(request, llm, caller, "judge").complete(Query(()))

    return OwnJudge(ask)


def for_sampling(llm: LLM, sampling: Sampling) -> LLM:
    """Return a copy of an LLM that gives a different answer each time.

    The copy has no seed, no caches and no low temperature, but the policy's sampling parameters.

    Args:
        llm: The LLM; not changed.
        sampling: How the policy samples.

    Returns:
        The copy. It shares the clients that the original has created already.
    """
    if isinstance(llm, StructuredLLM):
        inside = for_sampling(llm.llm, sampling)
        return with_fields(llm, {"llm": inside, "callback_manager": CallbackManager([])})
    fresh = with_sampling_on(with_defaults(llm, FRESH_ANSWER))
    changes: dict[str, Any] = dict(counted())
    if further := getattr(llm, "additional_kwargs", None):
        changes["additional_kwargs"] = _fresh_kwargs(further, sampling)
    if sampling.temperature is not None:
        changes["temperature"] = sampling.temperature
    elif too_cold(getattr(llm, "temperature", None)):
        changes["temperature"] = _PLAIN_TEMPERATURE
    return with_fields(fresh, changes)


def sampling_kwargs(kwargs: Mapping[str, Any], llm: LLM, sampling: Sampling) -> dict[str, Any]:
    """Return the keyword arguments for a sample.

    Args:
        kwargs: The arguments of the main call.
        llm: The LLM that draws the sample.
        sampling: How the policy samples.
    """
    fresh = {**_fresh_kwargs(kwargs, sampling), **sampling.params}
    if sampling.temperature is not None and "temperature" not in type(llm).model_fields:
        fresh["temperature"] = sampling.temperature
    return fresh


def _fresh_kwargs(kwargs: Mapping[str, Any], sampling: Sampling) -> dict[str, Any]:
    fresh = dict(Query((), None, kwargs).for_sampling().params)
    if "temperature" in fresh and sampling.temperature is not None:
        fresh["temperature"] = sampling.temperature
    return {k: v for k, v in fresh.items() if k not in _CACHES}


def _varied_kwargs(kwargs: Mapping[str, Any], llm: LLM) -> dict[str, Any]:
    fresh = {k: v for k, v in kwargs.items() if k not in _CACHES}
    temperature = fresh.pop("temperature", None)
    # Some LLMs refuse call arguments that repeat one of their fields.
    own = "temperature" in type(llm).model_fields and getattr(llm, "temperature", None)
    if temperature is None or temperature == own or too_cold(temperature):
        return fresh
    return {**fresh, "temperature": temperature}


_LOGPROBS = ("logprobs", "top_logprobs")


@dataclass(frozen=True, eq=False, repr=False)
class LLMProvider(OneAnswer):
    """Answers queries by sending its own request to an LLM, once per answer.

    A query only adds log-probabilities to the request. There is no `cache_source`: an LLM's fields
    may not include everything that shapes its answers, so they are never cached for other requests.

    Attributes:
        request: The request.
        llm: The LLM.
        caller: How to call the LLM.
        role: The purpose of the call.
        gives_logprobs: Whether the LLM accepts OpenAI's parameters for log-probabilities.
    """

    request: Request
    llm: LLM
    caller: Caller
    role: Role
    gives_logprobs: bool = False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Return the LLM's answer.

        Raises:
            Exception: Anything that the LLM raises, unchanged.
        """
        request, asking = self._prepared(query)
        spent = UsageRecorder()
        try:
            with tagged(self.role), spent.counting():
                response: object = await self.caller.ask(request, self.llm)
        except Exception as error:
            if asking:
                _check_refused(error)
            raise
        usage = spent.usage or usage_in(response) or Usage(1, cost_usd=None)
        return Completions((completion_of(response),), usage)

    def _prepared(self, query: Query) -> tuple[Request, bool]:
        """Return the request to send, and whether it asks for more than the application does."""
        known = self.request.kwargs
        wanted = {k: query.params[k] for k in _LOGPROBS if k in query.params and k not in known}
        if not wanted or not self.gives_logprobs:
            return self.request, False
        return with_kwargs(self.request, {**known, **wanted}), True


class StreamingProvider(LLMProvider):
    """An `LLMProvider` for requests whose response can be streamed."""

    @asynccontextmanager
    async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Return the LLM's answer in chunks.

        Raises:
            Exception: Anything that the LLM raises, unchanged.
        """
        request, asking = self._prepared(query)
        try:
            with tagged(self.role):
                async with (
                    self.caller.stream(request, self.llm) as responses,
                    aclosing(_chunks(responses)) as chunks,
                ):
                    yield chunks
        except Exception as error:
            if asking:
                _check_refused(error)
            raise


async def _chunks(
    responses: AsyncIterator[ChatResponse | CompletionResponse],
) -> AsyncGenerator[Chunk]:
    last: ChatResponse | CompletionResponse | None = None
    usage: Usage | None = None
    async for last in responses:
        usage = last_reported((usage, usage_in(last)))
        yield Chunk(last.delta or "", finish_reason_in(last), logprobs_in(last), raw=last)
    # Each response repeats the tool calls so far, and may repeat the token counts.
    yield Chunk(usage=usage, calls=calls_in(last))


def _check_refused(error: Exception) -> None:
    if is_about_parameters(error):
        raise ProviderRefusedError(
            "the LLM returns no log-probabilities; see the error's __cause__",
            status=getattr(error, "status_code", None),
        ) from error


class RefusingProvider(OneAnswer):
    """Refuses to draw samples, for a given reason. The main answer does not depend on it."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Refuse.

        Raises:
            ProviderRefusedError: Always.
        """
        raise ProviderRefusedError(self._reason)


_OPENAI = "llama_index.llms.openai.base.OpenAI"
_OPENAI_LIKE = "llama_index.llms.openai_like.base.OpenAILike"
_AZURE = "llama_index.llms.azure_openai.base.AzureOpenAI"
_LITELLM = "llama_index.llms.litellm.base.LiteLLM"
# Fields that shape no request, or shape it before it is sent: prompts, tools, parsers.
# `rate_limiter` is excluded, because litellm would send requests past the user's limit, and
# `reuse_client`, because users who change it have had trouble with shared clients.
_KNOWN = frozenset(
    {
        "callback_manager",
        "completion_to_prompt",
        "context_window",
        "is_chat_model",
        "is_function_calling_model",
        "logprobs",
        "max_retries",
        "messages_to_prompt",
        "output_parser",
        "pydantic_program_mode",
        "query_wrapper_prompt",
        "should_use_structured_outputs",
        "strict",
        "system_prompt",
        "timeout",
        "tokenizer",
        "top_logprobs",
        # The fields translated below.
        "additional_kwargs",
        "api_base",
        "api_key",
        "api_version",
        "azure_deployment",
        "azure_endpoint",
        "default_headers",
        "engine",
        "max_tokens",
        "model",
        "reasoning_effort",
        "temperature",
        "use_azure_ad",
    }
)
_SENT = OPENAI_PARAMS | {"max_tokens"}
# Further arguments of LiteLLM's own LLM, for the endpoint and credentials.
_CONNECTION = frozenset({"api_base", "api_key", "api_version", "custom_llm_provider"})
_LEFT_OUT = LEFT_OUT | {"caching", "max_retries"}


def is_openai(llm: LLM) -> bool:
    """Return whether an LLM accepts OpenAI's log-probability parameters in a call."""
    return _class_of(llm) in (_OPENAI, _OPENAI_LIKE, _AZURE)


def mapped_query(request: Request, llm: LLM) -> Query:
    """Translate a request to an LLM into a query for litellm.

    Args:
        request: The request.
        llm: The LLM.

    Returns:
        The query, with the same parameters, endpoint and credentials.

    Raises:
        UnmappedError: The request cannot be translated faithfully.
    """
    if isinstance(request, Predicting):
        raise UnmappedError("an object is asked for as the LLM itself sees fit")
    model, params = _connection(llm, request.kwargs)
    return Query(_messages(request, llm), model, params)


def _messages(request: Chat | Completing, llm: LLM) -> tuple[Mapping[str, Any], ...]:
    if isinstance(request, Chat):
        return tuple(map(openai_message, request.messages))
    prompt = request.prompt
    if _class_of(llm) == _OPENAI_LIKE and not request.formatted and llm.completion_to_prompt:
        prompt = llm.completion_to_prompt(prompt)
    return ({"role": "user", "content": prompt},)


def _connection(llm: LLM, kwargs: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    connect = _CONNECT.get(_class_of(llm))
    if connect is None:
        raise UnmappedError(f"{_name(llm)} is not known to litellm by its settings")
    if not llm.metadata.is_chat_model:
        raise UnmappedError(f"{_name(llm)} is not a chat model")
    check_defaults(llm, _KNOWN)
    model, where, payload = connect(llm, kwargs)
    sent = {k: v for k, v in payload.items() if v is not None and k not in _LEFT_OUT}
    if further := sent.keys() - _SENT:
        raise UnmappedError(f"{_name(llm)} sends {min(further)!r}")
    if too_cold(sent.get("temperature")):
        del sent["temperature"]
    headers: dict[str, str] = {
        **where.pop("extra_headers", {}),
        **(sent.pop("extra_headers", None) or {}),
    }
    return model, {
        **where,
        **sent,
        **({"extra_headers": headers} if headers else {}),
        # litellm refuses parameters that it does not know a model to support; LlamaIndex lets the
        # provider decide.
        "allowed_openai_params": sorted(sent.keys() - {"extra_body"}),
    }


_Connected = tuple[str, dict[str, Any], dict[str, Any]]


def _openai(llm: Any, kwargs: Mapping[str, Any]) -> _Connected:
    _check_clients(llm, str(llm.api_base))
    payload = _payload(llm, kwargs)
    model: str = payload["model"]
    check_chat_completions(model, tools=bool(payload.get("tools")))
    where = {"api_key": llm.api_key, "api_base": llm.api_base}
    return f"openai/{model}", {**where, **_headers(llm)}, payload


def _azure(llm: Any, kwargs: Mapping[str, Any]) -> _Connected:
    _check_clients(llm, None)
    if llm.use_azure_ad or llm.azure_ad_token_provider:
        raise UnmappedError("AzureOpenAI signs in with tokens of its own")
    if not llm.azure_endpoint or not llm.api_version:
        raise UnmappedError("AzureOpenAI has no endpoint and version of its own")
    where = {
        "api_key": llm.api_key,
        "api_base": llm.azure_endpoint,
        "api_version": llm.api_version,
    }
    model = f"azure/{llm.azure_deployment or llm.engine}"
    return model, {**where, **_headers(llm)}, _payload(llm, kwargs)


def _headers(llm: Any) -> dict[str, Any]:
    return {"extra_headers": dict(llm.default_headers)} if llm.default_headers else {}


def _litellm(llm: Any, kwargs: Mapping[str, Any]) -> _Connected:
    fields = {"temperature": llm.temperature, "max_tokens": llm.max_tokens}
    payload = {**fields, **llm.additional_kwargs, **kwargs}
    provider: str | None = getattr(llm, "_custom_llm_provider", None)
    where = {k: payload.pop(k) for k in _CONNECTION & payload.keys()}
    if provider:
        where["custom_llm_provider"] = provider
    return llm.model, where, payload


_CONNECT: Mapping[str, Callable[[Any, Mapping[str, Any]], _Connected]] = {
    _OPENAI: _openai,
    _OPENAI_LIKE: _openai,
    _AZURE: _azure,
    _LITELLM: _litellm,
}


def _payload(llm: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    # The LLM's own method, although private: the payload differs from model to model.
    build: Callable[..., dict[str, Any]] | None = getattr(llm, "_get_model_kwargs", None)
    if build is None:
        raise UnmappedError(f"this version of {_name(llm)} builds requests in another way")
    return build(**kwargs)


def _check_clients(llm: Any, base: str | None) -> None:
    if any(getattr(llm, name, None) for name in ("_http_client", "_async_http_client")):
        raise UnmappedError(f"{_name(llm)} has a client of its own")
    for name in ("_client", "_aclient"):
        client: Any = getattr(llm, name, None)
        if client is not None and not _is_plain(client, llm, base):
            raise UnmappedError(f"{_name(llm)} has a client of its own")


def _is_plain(client: Any, llm: Any, base: str | None) -> bool:
    """Return whether the LLM may have created the client itself, from its fields."""
    inside = type(getattr(client, "_client", None)).__name__
    same_place = base is None or str(client.base_url).rstrip("/") == base.rstrip("/")
    return (
        inside.endswith("HttpxClientWrapper")
        and same_place
        and client.api_key == llm.api_key
        and dict(getattr(client, "_custom_headers", {})) == (llm.default_headers or {})
    )


def _class_of(llm: LLM) -> str:
    return f"{type(llm).__module__}.{type(llm).__qualname__}"


def _name(llm: LLM) -> str:
    return type(llm).__name__


# How providers spell a `tool_choice` that requires a tool call: any tool, or a specific one.
_FORCED = ("any", "function", "required", "tool")


class QueryFactory:
    """Creates queries and sources for requests to one LLM.

    Args:
        guard: The guard.
        llm: The LLM.

    Raises:
        ConfigurationError: The policy needs something that this LLM cannot provide.
    """

    def __init__(self, guard: Guard, llm: LLM) -> None:
        self.guard = guard
        self.llm = llm
        self._policy = guard.policy
        # Created once, so that their clients keep their connections.
        self._sampler = for_sampling(llm, guard.policy.sampling)
        self._judges = judges_of(llm, guard.policy.sampling)
        self._reason = self._native_reason()
        _check_chain(guard, llm)

    def _native_reason(self) -> str | None:
        """Return the reason why samples cannot go through litellm, or None if they can."""
        if self._policy.sampling.via == "native":
            if self._policy.sampling.model is not None:
                raise ConfigurationError(
                    f"`sampling.model` is {self._policy.sampling.model!r}, which is called through"
                    " litellm; omit `via: native`"
                )
            return "the policy says `via: native`"
        try:
            _connection(self.llm, {})
            litellm_provider()
        except (UnmappedError, MissingDependencyError) as error:
            if self._policy.sampling.via == "litellm" and self._policy.sampling.model is None:
                raise ConfigurationError(
                    f"`sampling.via` is 'litellm', but {error}; leave it out, or name a"
                    " `sampling.model`"
                ) from error
            return str(error)
        return None

    def query(self, request: Request) -> Query:
        """Return a request as the guard sees it."""
        return replace(
            self._mapped(request) or Query(self._messages(request), None, self._params(request)),
            structured=isinstance(request, Predicting) or isinstance(self.llm, StructuredLLM),
            object_tools=_object_tools(request),
        )

    def _mapped(self, request: Request) -> Query | None:
        if self._reason is not None:
            return None
        try:
            return mapped_query(request, self.llm)
        except UnmappedError:
            return None

    def _params(self, request: Request) -> dict[str, Any]:
        """Return the parameters of a request that affect how it is checked."""
        further: object = getattr(self.llm, "additional_kwargs", None)
        own = cast("Mapping[str, Any] | None", further) or {}
        asked: dict[str, Any] = {**own, **request.kwargs}
        decisive = {k: asked[k] for k in ("response_format", "tools") if asked.get(k)}
        # Regeneration sends the same parameters.
        return {**request.kwargs, **decisive} if self._regenerates else decisive

    @property
    def _regenerates(self) -> bool:
        return isinstance(self._policy.action, Regenerate)

    def _messages(self, request: Request) -> tuple[Mapping[str, Any], ...]:
        if isinstance(request, Completing):
            return ({"role": "user", "content": request.prompt},)
        if isinstance(request, Predicting):
            messages = request.template.format_messages(**request.values)
            return tuple(map(readable_message, messages))
        # Rules and judges need only the text; regeneration needs the complete messages.
        read = asked_message if self._regenerates else readable_message
        return tuple(map(read, request.messages))

    def sources(self, request: Request, query: Query, caller: Caller) -> Sources:
        """Return the providers of answers, samples and judgements for a request.

        Args:
            request: The request.
            query: The request as the guard sees it.
            caller: How to call the LLM.
        """
        judge = own_judge(self._judges, caller)
        main = LLMProvider(request, self.llm, caller, "main")
        if not isinstance(request, Predicting):
            gives = is_openai(self.llm)
            main = StreamingProvider(request, self.llm, caller, "main", gives_logprobs=gives)
        if query.model is not None or (
            self._policy.sampling.model is not None and not isinstance(request, Predicting)
        ):
            return Sources(main, self._via_litellm(request, query), judge, "litellm")
        return Sources(main, self._native(request, caller), judge)

    def _via_litellm(self, request: Request, query: Query) -> Provider:
        blocks = (
            [b for m in request.messages for b in m.blocks] if isinstance(request, Chat) else []
        )
        if query.model is None and any(block.block_type != "text" for block in blocks):
            return RefusingProvider("a message holds more than text, which cannot be carried over")
        return litellm_provider()

    def _native(self, request: Request, caller: Caller) -> Provider:
        kwargs = sampling_kwargs(request.kwargs, self._sampler, self._policy.sampling)
        if isinstance(request, Predicting) and self._policy.sampling.model is not None:
            return RefusingProvider(
                "an object is asked for as the LLM itself sees fit, which `sampling.model` is not"
            )
        return LLMProvider(with_kwargs(request, kwargs), self._sampler, caller, "sample")


def _object_tools(request: Request) -> tuple[str, ...]:
    """Return the one tool on offer if it must be called: its arguments are the answer."""
    tools: object = request.kwargs.get("tools")
    choice: object = request.kwargs.get("tool_choice")
    if isinstance(choice, Mapping):
        choice = cast("Mapping[str, object]", choice).get("type")
    if not isinstance(tools, list) or len(cast("list[object]", tools)) != 1:
        return ()
    name = tool_name(cast("list[object]", tools)[0])
    return (name,) if name and choice in _FORCED else ()


def _check_chain(guard: Guard, llm: LLM) -> None:
    engine = ", and an LLM has none; guard the query engine with GuardedQueryEngine, or"
    guard.refuse({"references": f"{engine} leave `evidence: references` out"})
    if not is_openai(llm):
        known = f", which are not known to be had from {type(llm).__name__}; guard an OpenAI,"
        guard.refuse({"logprobs": f"{known} OpenAILike or AzureOpenAI"})
