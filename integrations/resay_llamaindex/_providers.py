"""LLMs behind Resay's seam for providers: copies for samples and judges, and what they cost."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

from llama_index.core.base.llms.types import ChatResponse, CompletionResponse
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.callbacks.base_handler import BaseCallbackHandler
from llama_index.core.constants import DEFAULT_TEMPERATURE
from llama_index.core.llms import LLM
from llama_index.core.llms.structured_llm import StructuredLLM
from llama_index_instrumentation.dispatcher import active_instrument_tags, instrument_tags

from resay.adapters import in_thread, litellm_provider, marked, read_in_threads
from resay.core.query import CONNECTION_PARAMS, Query
from resay.core.verdict import Usage
from resay.errors import ProviderError, ProviderRefusedError
from resay.policy import Sampling
from resay.providers.base import Chunk, Completions
from resay_llamaindex._requests import (
    Chat,
    Completing,
    Predicting,
    Request,
    calls_in,
    chat_messages,
    completion_of,
    finish_reason_in,
    logprobs_in,
    usage_in,
    with_kwargs,
)

_spent: ContextVar[list[Usage] | None] = ContextVar("resay_llamaindex_spent", default=None)


class Spent:
    """What was spent meanwhile."""

    def __init__(self) -> None:
        # Calls may run in parallel threads; appending is atomic.
        self._items: list[Usage] = []

    @contextmanager
    def counting(self) -> Generator[None]:
        """Count the calls of LLMs whose callbacks are those of `counted`."""
        token = _spent.set(self._items)
        try:
            yield
        finally:
            _spent.reset(token)

    @property
    def usage(self) -> Usage | None:
        """The sum; None where no call was seen."""
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
    """Return the callbacks of an LLM's copy, as a change of its fields.

    They are told of nothing but what is spent: LlamaIndex's callbacks have no tags by which the
    application's own could tell samples from answers.
    """
    return {"callback_manager": CallbackManager([_Counter()])}


class Asks(Protocol):
    """A request, which knows both sides of whom it goes to."""

    def ask(self, target: Any, /) -> Any:
        """Ask."""
        ...

    async def aask(self, target: Any, /) -> Any:
        """Ask on this event loop."""
        ...


class Streams(Asks, Protocol):
    """A request that can be answered in pieces."""

    def stream(self, target: Any, /) -> Iterator[Any]:
        """Ask for pieces."""
        ...

    async def astream(self, target: Any, /) -> AsyncIterator[Any]:
        """Ask for pieces on this event loop."""
        ...


class Way(Protocol):
    """One of the two ways to call."""

    async def ask(self, request: Asks, target: Any) -> Any:
        """Ask."""
        ...

    def stream(
        self, request: Streams, target: Any
    ) -> AbstractAsyncContextManager[AsyncIterator[Any]]:
        """Ask for pieces."""
        ...


class InLoop:
    """By the asynchronous side, on this event loop."""

    async def ask(self, request: Asks, target: Any) -> Any:
        """Ask."""
        return await request.aask(target)

    @asynccontextmanager
    async def stream(self, request: Streams, target: Any) -> AsyncGenerator[AsyncIterator[Any]]:
        """Ask for pieces."""
        pieces = await request.astream(target)
        try:
            yield pieces
        finally:
            if isinstance(pieces, AsyncGenerator):
                await pieces.aclose()


class InThreads:
    """By the synchronous side, in a thread.

    Asynchronous clients belong to the event loop of whoever uses them first, so a loop of ours must
    not touch them. A call that is no longer wanted is left behind, since no thread can be stopped.
    """

    async def ask(self, request: Asks, target: Any) -> Any:
        """Ask."""
        return await in_thread(partial(request.ask, target))

    @asynccontextmanager
    async def stream(self, request: Streams, target: Any) -> AsyncGenerator[AsyncIterator[Any]]:
        """Ask for pieces."""
        pieces = await in_thread(partial(request.stream, target))
        async with aclosing(read_in_threads(pieces)) as reading:
            yield reading


TAG = "resay"
"""The instrumentation tag on what happens inside a guard."""
Role = Literal["main", "sample", "judge"]


@contextmanager
def playing(role: Role) -> Generator[None]:
    """Mark what is called meanwhile: guards in it do nothing, its events and spans are tagged.

    Args:
        role: What the call is for.
    """
    with marked(), instrument_tags({**active_instrument_tags.get(), TAG: role}):
        yield


# What providers themselves take where nothing is said, and the only one that some models allow.
_PLAIN_TEMPERATURE = 1.0
# The same parameters that `Query.for_sampling` leaves out, as fields of an LLM.
_ONE_PLAIN_ANSWER = ("logprobs", "n", "top_logprobs")
_FRESH_ANSWER = ("seed", "store")
_CACHES = ("cache", "caching")


def too_cold(temperature: object) -> bool:
    """Return whether samples at this temperature would be near copies of each other.

    LlamaIndex sends 0.1 unless told otherwise, which says nothing about what the user wants of
    samples.
    """
    return isinstance(temperature, (int, float)) and temperature <= DEFAULT_TEMPERATURE


@dataclass(frozen=True, slots=True)
class Judges:
    """Copies of an LLM that judges ask.

    Attributes:
        plain: Gives one plain answer.
        varied: The same, but another answer each time.
    """

    plain: LLM
    varied: LLM

    def asked(self, query: Query) -> tuple[LLM, dict[str, Any]]:
        """Return which of them a query goes to, and the keyword arguments of the call."""
        kwargs = {k: v for k, v in query.params.items() if k not in CONNECTION_PARAMS}
        if not query.varied:
            return self.plain, kwargs
        return self.varied, _varied_kwargs(kwargs, self.varied)


def for_judging(llm: LLM, sampling: Sampling) -> Judges:
    """Return copies of an LLM that give judges plain answers, and tell no callbacks of them.

    Args:
        llm: The LLM; not changed.
        sampling: How the policy says to sample.

    Returns:
        The copies. They share the clients that the original has made already.
    """
    if isinstance(llm, StructuredLLM):
        return for_judging(llm.llm, sampling)
    plain = _with_fields(_with_defaults(llm, _ONE_PLAIN_ANSWER), counted())
    return Judges(plain, for_sampling(llm, sampling))


def for_sampling(llm: LLM, sampling: Sampling) -> LLM:
    """Return a copy of an LLM that gives another answer each time.

    Its seed, its caches and a temperature that leaves no choice are left out, and the policy's put
    in.

    Args:
        llm: The LLM; not changed.
        sampling: How the policy says to sample.

    Returns:
        The copy. It shares the clients that the original has made already.
    """
    if isinstance(llm, StructuredLLM):
        inside = for_sampling(llm.llm, sampling)
        return _with_fields(llm, {"llm": inside, "callback_manager": CallbackManager([])})
    fresh = _with_defaults(llm, _ONE_PLAIN_ANSWER + _FRESH_ANSWER)
    changes: dict[str, Any] = dict(counted())
    if further := getattr(llm, "additional_kwargs", None):
        changes["additional_kwargs"] = _fresh_kwargs(further, sampling)
    if sampling.temperature is not None:
        changes["temperature"] = sampling.temperature
    elif too_cold(getattr(llm, "temperature", None)):
        changes["temperature"] = _PLAIN_TEMPERATURE
    return _with_fields(fresh, changes)


def sampling_kwargs(kwargs: Mapping[str, Any], llm: LLM, sampling: Sampling) -> dict[str, Any]:
    """Return the keyword arguments of a call as they are for a sample.

    Args:
        kwargs: Those of the main call.
        llm: Who is asked.
        sampling: How the policy says to sample.
    """
    fresh = {**_fresh_kwargs(kwargs, sampling), **sampling.params}
    if sampling.temperature is not None and "temperature" not in type(llm).model_fields:
        fresh["temperature"] = sampling.temperature
    return fresh


def _fresh_kwargs(kwargs: Mapping[str, Any], sampling: Sampling) -> dict[str, Any]:
    fresh = dict(Query((), None, kwargs).for_sampling().params)
    if too_cold(fresh.get("temperature")):
        del fresh["temperature"]
    if "temperature" in fresh and sampling.temperature is not None:
        fresh["temperature"] = sampling.temperature
    return {k: v for k, v in fresh.items() if k not in _CACHES}


def _varied_kwargs(kwargs: Mapping[str, Any], llm: LLM) -> dict[str, Any]:
    fresh = {k: v for k, v in kwargs.items() if k not in _CACHES}
    temperature = fresh.pop("temperature", None)
    # Some LLMs refuse in a call what is a field of theirs.
    own = "temperature" in type(llm).model_fields and getattr(llm, "temperature", None)
    if temperature is None or temperature == own or too_cold(temperature):
        return fresh
    return {**fresh, "temperature": temperature}


def _with_defaults(llm: LLM, names: tuple[str, ...]) -> LLM:
    fields = type(llm).model_fields
    defaults = {
        name: fields[name].get_default(call_default_factory=True, validated_data={})
        for name in names
        if name in fields and not fields[name].is_required()
    }
    return _with_fields(llm, defaults)


def _with_fields(llm: LLM, changes: Mapping[str, Any]) -> LLM:
    fields = type(llm).model_fields
    return llm.model_copy(update={k: v for k, v in changes.items() if k in fields})


_LOGPROBS = ("logprobs", "top_logprobs")
# What providers answer to a parameter they do not take.
_ABOUT_PARAMETERS = (400, 403, 404, 422)


class LLMProvider:
    """Answers by sending one request to an LLM. What else a query says is known to the request.

    It has no `cache_source`: an LLM's fields need not say all that shapes its answers, so they are
    never kept for another request.

    Args:
        request: What to send.
        llm: Who is asked.
        way: How to call it.
        role: What the call is for.
        gives_logprobs: Whether the LLM takes OpenAI's parameters for log-probabilities.
    """

    def __init__(
        self, request: Request, llm: LLM, way: Way, role: Role, *, gives_logprobs: bool = False
    ) -> None:
        self._request = request
        self._llm = llm
        self._way = way
        self._role: Role = role
        self._gives_logprobs = gives_logprobs

    async def takes_n(self, query: Query) -> bool:
        """Say no: an LLM gives one response."""
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the LLM.

        Raises:
            Exception: Whatever the LLM raises, as it is.
        """
        request, asking = self._prepared(query)
        spent = Spent()
        try:
            with playing(self._role), spent.counting():
                response: object = await self._way.ask(request, self._llm)
        except Exception as error:
            if asking:
                _check_refused(error)
            raise
        usage = spent.usage or usage_in(response) or Usage(1, cost_usd=None)
        return Completions((completion_of(response),), usage)

    def _prepared(self, query: Query) -> tuple[Request, bool]:
        """Return what to send, and whether it asks for more than the application does."""
        known = self._request.kwargs
        wanted = {k: query.params[k] for k in _LOGPROBS if k in query.params and k not in known}
        if not wanted or not self._gives_logprobs:
            return self._request, False
        return with_kwargs(self._request, {**known, **wanted}), True


class _StreamingProvider(LLMProvider):
    """The same for requests whose response can come in pieces."""

    @asynccontextmanager
    async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Ask the LLM for its response in pieces.

        Raises:
            Exception: Whatever the LLM raises, as it is.
        """
        request, asking = self._prepared(query)
        assert not isinstance(request, Predicting)  # noqa: S101 - see `streaming`
        try:
            with playing(self._role):
                async with (
                    self._way.stream(request, self._llm) as responses,
                    aclosing(_chunks(responses)) as chunks,
                ):
                    yield chunks
        except Exception as error:
            if asking:
                _check_refused(error)
            raise


def streaming(
    request: Chat | Completing, llm: LLM, way: Way, role: Role, *, gives_logprobs: bool
) -> LLMProvider:
    """Return an `LLMProvider` that streams."""
    return _StreamingProvider(request, llm, way, role, gives_logprobs=gives_logprobs)


async def _chunks(
    responses: AsyncIterator[ChatResponse | CompletionResponse],
) -> AsyncGenerator[Chunk]:
    last, usage = None, None
    async for last in responses:
        usage = usage_in(last) or usage
        yield Chunk(last.delta or "", finish_reason_in(last), logprobs_in(last), raw=last)
    # Each response repeats the calls so far, and may repeat the count of tokens.
    yield Chunk(usage=usage, calls=calls_in(last))


def _check_refused(error: Exception) -> None:
    status = getattr(error, "status_code", None)
    if status in _ABOUT_PARAMETERS:
        raise ProviderRefusedError(
            "the LLM gives no log-probabilities; see the error's __cause__", status=status
        ) from error


class JudgeProvider:
    """Asks the response's own LLM, or the judge that a query names.

    Args:
        own: The response's own; None where it cannot be reached.
        way: How to call it.
    """

    def __init__(self, own: Judges | None, way: Way) -> None:
        self._own = own
        self._way = way

    async def prepare(self) -> None:
        """Have litellm loaded, which asks named judges."""
        await litellm_provider().prepare()

    async def takes_n(self, query: Query) -> bool:
        """Say no: a judge is asked for one answer."""
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the judge.

        Raises:
            ProviderError: There was no answer.
        """
        if query.model is not None or self._own is None:
            return await litellm_provider().complete(query)
        llm, kwargs = self._own.asked(query)
        request = Chat(chat_messages(query.messages), kwargs)
        try:
            return await LLMProvider(request, llm, self._way, "judge").complete(Query(()))
        # Each provider's package has its own exceptions, and repeats what it likes in them.
        except Exception as error:
            # The LLM has retries of its own.
            raise ProviderError(f"the judge failed with {type(error).__name__}") from error


class RefusingProvider:
    """Gives no samples, and says why. The answer itself does not depend on it.

    Args:
        reason: Why.
    """

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def takes_n(self, query: Query) -> bool:
        """Say no."""
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Refuse.

        Raises:
            ProviderRefusedError: Always.
        """
        raise ProviderRefusedError(self._reason)
