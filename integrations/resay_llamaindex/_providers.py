"""LLMs behind Resay's seam for providers: copies for samples and judges, and what they cost."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from llama_index.core.base.llms.types import ChatResponse, CompletionResponse
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.callbacks.base_handler import BaseCallbackHandler
from llama_index.core.constants import DEFAULT_TEMPERATURE
from llama_index.core.llms import LLM
from llama_index.core.llms.structured_llm import StructuredLLM
from llama_index_instrumentation.dispatcher import active_instrument_tags, instrument_tags

from resay._internal.nesting import marked
from resay.adapters.models import FRESH_ANSWER, ONE_PLAIN_ANSWER, with_defaults, with_fields
from resay.adapters.threads import BLOCKING, Side, in_thread, read_in_threads
from resay.adapters.upstream import OneAnswer, OwnJudge, is_about_parameters
from resay.core.query import CONNECTION_PARAMS, Query
from resay.core.verdict import Usage
from resay.errors import ProviderRefusedError
from resay.policy import Sampling
from resay.providers.base import Chunk, Completions
from resay_llamaindex._requests import (
    Call,
    Chat,
    Request,
    calls_in,
    chat_message,
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


class InLoop:
    """Calls by the asynchronous side, on this event loop."""

    async def ask(self, call: Call, target: Any) -> Any:
        """Call."""
        return await call.to(target, "a")

    @asynccontextmanager
    async def stream(self, call: Call, target: Any) -> AsyncGenerator[AsyncIterator[Any]]:
        """Call for pieces."""
        async with self.read(await call.to(target, "astream_")) as pieces:
            yield pieces

    @asynccontextmanager
    async def read(self, pieces: Any) -> AsyncGenerator[AsyncIterator[Any]]:
        """Read pieces, and close what gives them in the end."""
        if not isinstance(pieces, AsyncIterator):
            pieces = BLOCKING.each(pieces)
        try:
            yield pieces
        finally:
            if isinstance(pieces, AsyncGenerator):
                await pieces.aclose()


class InThreads:
    """Calls by the synchronous side, in a thread.

    Asynchronous clients belong to the event loop of whoever uses them first, so a loop of ours must
    not touch them. A call that is no longer wanted is left behind, since no thread can be stopped.
    """

    async def ask(self, call: Call, target: Any) -> Any:
        """Call."""
        return await in_thread(partial(call.to, target))

    @asynccontextmanager
    async def stream(self, call: Call, target: Any) -> AsyncGenerator[AsyncIterator[Any]]:
        """Call for pieces."""
        async with self.read(await in_thread(partial(call.to, target, "stream_"))) as pieces:
            yield pieces

    def read(self, pieces: Any) -> AbstractAsyncContextManager[AsyncIterator[Any]]:
        """Read pieces, and close what gives them in the end."""
        return aclosing(read_in_threads(pieces))


Way = InLoop | InThreads


def way_of(side: Side) -> Way:
    """Return how to call for callers of a side."""
    return InThreads() if side.blocking else InLoop()


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
_CACHES = ("cache", "caching")


def too_cold(temperature: object) -> bool:
    """Return whether samples at this temperature would be near copies of each other.

    LlamaIndex sends 0.1 unless told otherwise, which says nothing about what the user wants of
    samples.
    """
    return isinstance(temperature, (int, float)) and temperature <= DEFAULT_TEMPERATURE


def judges_of(llm: LLM, sampling: Sampling) -> tuple[LLM, LLM]:
    """Return copies of an LLM that judges ask, and that tell no callbacks of them.

    Args:
        llm: The LLM; not changed.
        sampling: How the policy says to sample.

    Returns:
        One that gives a plain answer, and one that gives another answer each time. They share the
        clients that the original has made already.
    """
    if isinstance(llm, StructuredLLM):
        return judges_of(llm.llm, sampling)
    plain = with_fields(with_defaults(llm, ONE_PLAIN_ANSWER), counted())
    return plain, for_sampling(llm, sampling)


def own_judge(judges: tuple[LLM, LLM] | None, way: Way) -> OwnJudge:
    """Return who answers for judges.

    Args:
        judges: The copies of the response's own LLM; None where it cannot be reached.
        way: How to call it.
    """
    if judges is None:
        return OwnJudge(None)
    plain, varied = judges

    async def ask(query: Query) -> Completions:
        kwargs = {k: v for k, v in query.params.items() if k not in CONNECTION_PARAMS}
        llm = varied if query.varied else plain
        kwargs = _varied_kwargs(kwargs, llm) if query.varied else kwargs
        request = Chat([chat_message(m) for m in query.messages], kwargs)
        return await LLMProvider(request, llm, way, "judge").complete(Query(()))

    return OwnJudge(ask)


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
        return with_fields(llm, {"llm": inside, "callback_manager": CallbackManager([])})
    fresh = with_defaults(llm, FRESH_ANSWER)
    changes: dict[str, Any] = dict(counted())
    if further := getattr(llm, "additional_kwargs", None):
        changes["additional_kwargs"] = _fresh_kwargs(further, sampling)
    if sampling.temperature is not None:
        changes["temperature"] = sampling.temperature
    elif too_cold(getattr(llm, "temperature", None)):
        changes["temperature"] = _PLAIN_TEMPERATURE
    return with_fields(fresh, changes)


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


_LOGPROBS = ("logprobs", "top_logprobs")


@dataclass(frozen=True, eq=False, repr=False)
class LLMProvider(OneAnswer):
    """Answers by sending one request to an LLM. What else a query says is known to the request.

    It has no `cache_source`: an LLM's fields need not say all that shapes its answers, so they are
    never kept for another request.

    Attributes:
        request: What to send.
        llm: Who is asked.
        way: How to call it.
        role: What the call is for.
        gives_logprobs: Whether the LLM takes OpenAI's parameters for log-probabilities.
    """

    request: Request
    llm: LLM
    way: Way
    role: Role
    gives_logprobs: bool = False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the LLM.

        Raises:
            Exception: Whatever the LLM raises, as it is.
        """
        request, asking = self._prepared(query)
        spent = Spent()
        try:
            with playing(self.role), spent.counting():
                response: object = await self.way.ask(request, self.llm)
        except Exception as error:
            if asking:
                _check_refused(error)
            raise
        usage = spent.usage or usage_in(response) or Usage(1, cost_usd=None)
        return Completions((completion_of(response),), usage)

    def _prepared(self, query: Query) -> tuple[Request, bool]:
        """Return what to send, and whether it asks for more than the application does."""
        known = self.request.kwargs
        wanted = {k: query.params[k] for k in _LOGPROBS if k in query.params and k not in known}
        if not wanted or not self.gives_logprobs:
            return self.request, False
        return with_kwargs(self.request, {**known, **wanted}), True


class StreamingProvider(LLMProvider):
    """The same for requests whose response can come in pieces."""

    @asynccontextmanager
    async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Ask the LLM for its response in pieces.

        Raises:
            Exception: Whatever the LLM raises, as it is.
        """
        request, asking = self._prepared(query)
        try:
            with playing(self.role):
                async with (
                    self.way.stream(request, self.llm) as responses,
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
    last, usage = None, None
    async for last in responses:
        usage = usage_in(last) or usage
        yield Chunk(last.delta or "", finish_reason_in(last), logprobs_in(last), raw=last)
    # Each response repeats the calls so far, and may repeat the count of tokens.
    yield Chunk(usage=usage, calls=calls_in(last))


def _check_refused(error: Exception) -> None:
    if is_about_parameters(error):
        raise ProviderRefusedError(
            "the LLM gives no log-probabilities; see the error's __cause__",
            status=getattr(error, "status_code", None),
        ) from error


class RefusingProvider(OneAnswer):
    """Gives no samples, and says why. The answer itself does not depend on it."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Refuse.

        Raises:
            ProviderRefusedError: Always.
        """
        raise ProviderRefusedError(self._reason)
