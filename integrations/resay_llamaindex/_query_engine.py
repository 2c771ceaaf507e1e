"""Guarding a query engine, and looking inside engines."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, closing
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from types import MethodType
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.llms import LLM
from llama_index.core.llms.structured_llm import StructuredLLM
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.response_synthesizers import BaseSynthesizer
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

from resay._internal.event_loops import run_sync
from resay.adapters import (
    VERDICT_KEY,
    OnVerdict,
    PolicyLike,
    aparts_of,
    in_thread,
    inside_guard,
    parts_of,
    refuse_without_writer,
)
from resay.core.query import Query
from resay.core.verdict import Usage, Verdict
from resay.engine.actions import Answer
from resay.errors import ConfigurationError
from resay.guard import Guard
from resay.providers.base import Chunk, Completion, Completions, Sources
from resay_llamaindex._llm import GuardedLLM
from resay_llamaindex._outcome import Recorder, last_raw
from resay_llamaindex._policies import guarding
from resay_llamaindex._providers import (
    InLoop,
    InThreads,
    JudgeProvider,
    Role,
    Spent,
    Way,
    for_judging,
    for_sampling,
    playing,
)

# What LlamaIndex's own engines call the parts that they are composed of.
_SYNTHESIZER = "_response_synthesizer"
_ENGINE = "_query_engine"
_LLM = "_llm"
_RETRIEVER = "_retriever"


def synthesizer_of(engine: BaseQueryEngine) -> BaseSynthesizer | None:
    """Return what writes an engine's answers, None where that cannot be seen."""
    found: object = vars(engine).get(_SYNTHESIZER)
    if isinstance(found, BaseSynthesizer):
        return found
    inner: object = vars(engine).get(_ENGINE)
    return synthesizer_of(inner) if isinstance(inner, BaseQueryEngine) else None


def llm_of(engine: BaseQueryEngine) -> LLM | None:
    """Return the LLM that writes an engine's answers, None where that cannot be seen."""
    synthesizer = synthesizer_of(engine)
    found: object = vars(synthesizer).get(_LLM) if synthesizer else None
    return found if isinstance(found, LLM) else None


def retriever_of(engine: BaseQueryEngine | BaseChatEngine) -> BaseRetriever | None:
    """Return what finds an engine's nodes, None where that cannot be seen.

    It is a copy that tells no callbacks: they would take words of a draft for the user's question.
    """
    found: object = vars(engine).get(_RETRIEVER)
    if isinstance(found, BaseRetriever):
        copied = copy(found)
        copied.callback_manager = CallbackManager([])
        return copied
    inner: object = vars(engine).get(_ENGINE)
    return retriever_of(inner) if isinstance(inner, BaseQueryEngine) else None


def can_retrieve(engine: BaseQueryEngine) -> bool:
    """Return whether an engine finds nodes first, and then writes an answer from them."""
    kind = type(engine)
    return (
        kind.retrieve is not BaseQueryEngine.retrieve
        and kind.synthesize is not BaseQueryEngine.synthesize
    )


def streams(engine: BaseQueryEngine) -> bool:
    """Return whether an engine is set to stream its answers."""
    return bool(getattr(synthesizer_of(engine), "_streaming", False))


def gives_objects(engine: BaseQueryEngine) -> bool:
    """Return whether an engine's answers are objects."""
    asked = getattr(synthesizer_of(engine), "_output_cls", None)
    return asked is not None or isinstance(llm_of(engine), StructuredLLM)


def copy_for_samples(engine: BaseQueryEngine, llm: LLM | None) -> BaseQueryEngine:
    """Return a copy of an engine that writes other answers, whole, and tells no callbacks.

    Args:
        engine: The engine; not changed.
        llm: Who writes them; None to leave the engine's own.
    """
    copied = copy(engine)
    copied.callback_manager = CallbackManager([])
    parts = vars(copied)
    if isinstance(found := parts.get(_SYNTHESIZER), BaseSynthesizer):
        setattr(copied, _SYNTHESIZER, _copy_synthesizer(found, llm))
    elif isinstance(inner := parts.get(_ENGINE), BaseQueryEngine):
        setattr(copied, _ENGINE, copy_for_samples(inner, llm))
    return copied


def _copy_synthesizer(synthesizer: BaseSynthesizer, llm: LLM | None) -> BaseSynthesizer:
    copied = copy(synthesizer)
    # Not by the property, which would tell the LLM too.
    changes: dict[str, Any] = {"_callback_manager": CallbackManager([]), "_streaming": False}
    if llm is not None:
        changes[_LLM] = llm
    # Some keep methods of their own to call later, which must be those of the copy.
    for name, value in vars(synthesizer).items():
        if isinstance(value, MethodType) and value.__self__ is synthesizer:
            changes[name] = MethodType(value.__func__, copied)
    vars(copied).update(changes)
    return copied


@dataclass(frozen=True, slots=True)
class Found:
    """What was found for a question.

    Attributes:
        nodes: What the answer is written from.
        further: What else is named as its source.
    """

    nodes: tuple[NodeWithScore, ...]
    further: tuple[NodeWithScore, ...] = ()

    @property
    def sources(self) -> list[NodeWithScore]:
        """What the response names as its sources."""
        return [*self.nodes, *self.further]

    @property
    def metadata(self) -> dict[str, Any]:
        """What the response tells of its sources."""
        return {found.node.node_id: found.node.metadata for found in self.sources}


@dataclass(frozen=True, slots=True)
class Synthesis:
    """An answer from nodes that were found already.

    Attributes:
        bundle: The question.
        found: What was found.
    """

    bundle: QueryBundle
    found: Found

    def ask(self, engine: BaseQueryEngine) -> RESPONSE_TYPE:
        """Ask."""
        return engine.synthesize(self.bundle, list(self.found.nodes), self.found.further)

    async def aask(self, engine: BaseQueryEngine) -> RESPONSE_TYPE:
        """Ask on this event loop."""
        return await engine.asynthesize(self.bundle, list(self.found.nodes), self.found.further)


@dataclass(frozen=True, slots=True)
class Querying:
    """An answer from an engine that finds nodes for itself.

    Attributes:
        bundle: The question.
    """

    bundle: QueryBundle

    def ask(self, engine: BaseQueryEngine) -> RESPONSE_TYPE:
        """Ask."""
        return engine.query(self.bundle)

    async def aask(self, engine: BaseQueryEngine) -> RESPONSE_TYPE:
        """Ask on this event loop."""
        return await engine.aquery(self.bundle)


@dataclass(frozen=True, slots=True)
class _Tokens:
    """What a response that streams still has to say, in the form of a request."""

    response: RESPONSE_TYPE

    def ask(self, target: Any) -> str:
        return "".join(self.stream(target))

    async def aask(self, target: Any) -> str:
        return "".join([token async for token in await self.astream(target)])

    def stream(self, target: Any) -> Iterator[str]:
        assert isinstance(self.response, StreamingResponse)  # noqa: S101 - the synchronous kind
        return self.response.response_gen

    async def astream(self, target: Any) -> AsyncIterator[str]:
        if isinstance(self.response, AsyncStreamingResponse):
            return self.response.response_gen
        return _pieces(self.stream(target))


async def _pieces(tokens: Iterator[str]) -> AsyncGenerator[str]:
    for token in tokens:
        yield token


class EngineProvider:
    """Answers by asking a query engine once. What else a query says is known to the request.

    Args:
        request: What to ask.
        engine: Who is asked.
        way: How to call it.
        role: What the call is for.
    """

    def __init__(
        self, request: Synthesis | Querying, engine: BaseQueryEngine, way: Way, role: Role
    ) -> None:
        self._request = request
        self._engine = engine
        self._way = way
        self._role: Role = role

    async def takes_n(self, query: Query) -> bool:
        """Say no: an engine gives one response."""
        return False

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask the engine.

        Raises:
            Exception: Whatever the engine raises, as it is.
        """
        spent = Spent()
        with playing(self._role), spent.counting():
            response: RESPONSE_TYPE = await self._way.ask(self._request, self._engine)
            if isinstance(response, (StreamingResponse, AsyncStreamingResponse)):
                text: str = await self._way.ask(_Tokens(response), None)
                response = replace(response, response_txt=text)
        completion = Completion(
            _text_of(response), raw=response, references=references_in(response.source_nodes)
        )
        return Completions((completion,), spent.usage or Usage(1, cost_usd=None))

    @asynccontextmanager
    async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Ask the engine for its response in pieces.

        Raises:
            Exception: Whatever the engine raises, as it is.
        """
        with playing(self._role):
            response: RESPONSE_TYPE = await self._way.ask(self._request, self._engine)
            if not isinstance(response, (StreamingResponse, AsyncStreamingResponse)):
                yield _only(_opening(response, _text_of(response)))
                return
            async with self._way.stream(_Tokens(response), None) as tokens:
                yield _chunks(response, tokens)


def references_in(nodes: Sequence[NodeWithScore]) -> tuple[str, ...]:
    """Return the texts of nodes as the model reads them."""
    texts = (found.node.get_content(metadata_mode=MetadataMode.LLM) for found in nodes)
    return tuple(text for text in texts if text.strip())


def _text_of(response: RESPONSE_TYPE) -> str:
    if isinstance(response, Response):
        return response.response or ""
    if isinstance(response, PydanticResponse):
        return str(response) if response.response is not None else ""
    return response.response_txt or ""


def _opening(response: RESPONSE_TYPE, text: str = "") -> Chunk:
    return Chunk(text, raw=response, references=references_in(response.source_nodes))


async def _only(chunk: Chunk) -> AsyncGenerator[Chunk]:
    yield chunk


async def _chunks(response: RESPONSE_TYPE, tokens: AsyncIterator[str]) -> AsyncGenerator[Chunk]:
    yield _opening(response)
    async for token in tokens:
        yield Chunk(token)


Nodes = Sequence[NodeWithScore]


class GuardedQueryEngine(BaseQueryEngine):
    """A query engine whose answers are checked and acted on as a policy says.

    Nodes are retrieved once; the answer and its samples are written from the same ones, so that
    samples differ by what the model makes up alone. The texts of the nodes are the references of
    steps with `evidence: references`. An engine that cannot retrieve is asked again as a whole.

    A response comes with its verdict in `metadata["hallucination"]`, a streaming one when it was
    read; `verdict_of` reads it. A guarded LLM inside does nothing.

    Args:
        query_engine: The engine to guard.
        policy: A policy, a path to a policy file, the same as a mapping, or a `Guard`; None for
            that of a guarded LLM inside, the one that
            `RESAY_POLICY` names, or the default.
        llm: Who judges, and writes flagged answers again, where the policy names nobody; None for
            the LLM that writes the answers.
        retriever: Where documents are found, for a policy that regenerates: an index or a retriever
            of LlamaIndex's, or whatever else `as_retriever` takes; None for the one that the policy
            names, or else the engine's own, without its postprocessors.
        on_verdict: As for `GuardedLLM`.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy asks for what cannot be had of this engine, or it regenerates
            and there is no retriever.

    Example:
        ```python
        engine = GuardedQueryEngine(index.as_query_engine(), "policy.yaml")
        response = engine.query("Who designed the Sydney Harbour Bridge?")
        verdict_of(response).flagged
        ```
    """

    def __init__(
        self,
        query_engine: BaseQueryEngine,
        policy: PolicyLike = None,
        llm: LLM | None = None,
        *,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
    ) -> None:
        if not isinstance(query_engine, BaseQueryEngine):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
            raise ConfigurationError(
                "GuardedQueryEngine takes a query engine of LlamaIndex, not"
                f" {type(query_engine).__name__!r}"
            )
        super().__init__(query_engine.callback_manager)
        self._query_engine = query_engine
        inside = llm_of(query_engine)
        if isinstance(inside, GuardedLLM) and policy is None:
            policy = inside.guard if retriever is None else inside.policy
        self._guard = guarding(policy, retriever, on_verdict, own=retriever_of(query_engine))
        self._listener: Callable[[dict[str, Any]], None] | None = None
        writer = _unguarded(inside)
        judge = _unguarded(llm) or writer
        _check_policy(self._guard, judge, query_engine)
        # Made once, so that their clients keep their connections.
        sampling = self._guard.policy.sampling
        self._sampler = for_sampling(writer, sampling) if writer else None
        self._judge = for_judging(judge, sampling) if judge else None

    @property
    def guard(self) -> Guard:
        """Who checks and acts."""
        return self._guard

    def notifying(self, listener: Callable[[dict[str, Any]], None]) -> GuardedQueryEngine:
        """Return a copy that reports its verdicts.

        Args:
            listener: Called with each verdict.
        """
        copied = copy(self)
        copied._listener = listener  # noqa: SLF001 - its own
        return copied

    # Its prompts are those of the engine inside, by the same names.

    def _get_prompt_modules(self) -> PromptMixinType:
        return self._query_engine._get_prompt_modules()  # noqa: SLF001 - the mixin's own protocol

    def _get_prompts(self) -> dict[str, Any]:
        return self._query_engine._get_prompts()  # noqa: SLF001

    def _update_prompts(self, prompts: PromptDictType) -> None:
        self._query_engine._update_prompts(prompts)  # noqa: SLF001

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Do what the engine inside does."""
        return self._query_engine.retrieve(query_bundle)

    async def aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Do what the engine inside does."""
        return list(await self._aretrieve(query_bundle))

    def synthesize(
        self,
        query_bundle: QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Nodes | None = None,
    ) -> RESPONSE_TYPE:
        """Write an answer from nodes, check it and act."""
        further = tuple(additional_source_nodes or ())
        if inside_guard():
            return self._query_engine.synthesize(query_bundle, nodes, further)
        found = Found(tuple(nodes), further)
        return self._answer(query_bundle, found, Recorder(self._listener))

    async def asynthesize(
        self,
        query_bundle: QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Nodes | None = None,
    ) -> RESPONSE_TYPE:
        """Do what `synthesize` does, on the caller's event loop."""
        further = tuple(additional_source_nodes or ())
        if inside_guard():
            return await self._query_engine.asynthesize(query_bundle, nodes, further)
        found = Found(tuple(nodes), further)
        return await self._aanswer(query_bundle, found, Recorder(self._listener))

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        if inside_guard():
            return self._query_engine.query(query_bundle)
        recorder = Recorder(self._listener)
        with self.callback_manager.event(
            CBEventType.QUERY, payload={EventPayload.QUERY_STR: query_bundle.query_str}
        ) as event:
            response = self._answer(query_bundle, self._find(query_bundle), recorder)
            event.on_end(payload={EventPayload.RESPONSE: response})
        return response

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        if inside_guard():
            return await self._query_engine.aquery(query_bundle)
        recorder = Recorder(self._listener)
        with self.callback_manager.event(
            CBEventType.QUERY, payload={EventPayload.QUERY_STR: query_bundle.query_str}
        ) as event:
            found = await self._afind(query_bundle)
            response = await self._aanswer(query_bundle, found, recorder)
            event.on_end(payload={EventPayload.RESPONSE: response})
        return response

    def _find(self, bundle: QueryBundle) -> Found | None:
        """Return what is found; None where the engine does not say."""
        if not can_retrieve(self._query_engine):
            return None
        try:
            return Found(tuple(self._query_engine.retrieve(bundle)))
        # An engine may pass this on to another that cannot.
        except NotImplementedError:
            return None

    async def _afind(self, bundle: QueryBundle) -> Found | None:
        if not can_retrieve(self._query_engine):
            return None
        try:
            return Found(tuple(await self._aretrieve(bundle)))
        except NotImplementedError:
            return None

    async def _aretrieve(self, bundle: QueryBundle) -> Nodes:
        retrieve = getattr(self._query_engine, "aretrieve", None)
        if retrieve is None:
            return await in_thread(partial(self._query_engine.retrieve, bundle))
        return await retrieve(bundle)

    def _answer(self, bundle: QueryBundle, found: Found | None, told: Recorder) -> RESPONSE_TYPE:
        if self._found_nothing(found):
            return _unasked(self._query_engine.synthesize(bundle, []), told)
        query, sources = self._query_of(bundle), self._sources(bundle, found, InThreads())
        references = references_in(found.nodes) if found else ()
        if found is not None and streams(self._query_engine):
            stream = self._guard.arun_stream(query, sources, references=references)
            metadata = found.metadata
            tokens = _tokens(parts_of(stream, told.around()), told, metadata)
            return StreamingResponse(tokens, found.sources, metadata)
        with told.watching():
            answer = run_sync(self._guard.arun, query, sources, references=references)
        return _response(answer, told.record(answer))

    async def _aanswer(
        self, bundle: QueryBundle, found: Found | None, told: Recorder
    ) -> RESPONSE_TYPE:
        if self._found_nothing(found):
            return _unasked(await self._query_engine.asynthesize(bundle, []), told)
        query, sources = self._query_of(bundle), self._sources(bundle, found, InLoop())
        references = references_in(found.nodes) if found else ()
        if found is not None and streams(self._query_engine):
            stream = self._guard.arun_stream(query, sources, references=references)
            metadata = found.metadata
            tokens = _atokens(aparts_of(stream, told.around()), told, metadata)
            return AsyncStreamingResponse(tokens, found.sources, metadata)
        with told.watching():
            answer = await self._guard.arun(query, sources, references=references)
        return _response(answer, told.record(answer))

    def _found_nothing(self, found: Found | None) -> bool:
        # LlamaIndex's synthesizers ask no model then.
        none = found is not None and not found.nodes
        return none and synthesizer_of(self._query_engine) is not None

    def _query_of(self, bundle: QueryBundle) -> Query:
        asked = {"role": "user", "content": bundle.query_str}
        return Query((asked,), structured=gives_objects(self._query_engine))

    def _sources(self, bundle: QueryBundle, found: Found | None, way: Way) -> Sources:
        request = Querying(bundle) if found is None else Synthesis(bundle, found)
        # Made for each request, so that changes of the engine's prompts are seen.
        sampler = copy_for_samples(self._query_engine, self._sampler)
        return Sources(
            main=EngineProvider(request, self._query_engine, way, "main"),
            samples=EngineProvider(request, sampler, way, "sample"),
            judge=JudgeProvider(self._judge, way),
            finds_references=True,
        )


def _unguarded(llm: LLM | None) -> LLM | None:
    return llm.llm if isinstance(llm, GuardedLLM) else llm


def _check_policy(guard: Guard, judge: LLM | None, engine: BaseQueryEngine) -> None:
    sampling = guard.policy.sampling
    if sampling.model is not None or sampling.via == "litellm":
        key = "model" if sampling.model is not None else "via"
        raise ConfigurationError(
            f"`sampling.{key}` is {sampling.model or sampling.via!r}, but a query engine's samples"
            f" are written by its own LLM; leave `sampling.{key}` out"
        )
    inside = ", which query engines do not pass on; guard the LLM inside with GuardedLLM"
    guard.refuse({"logprobs": inside})
    if judge is None:
        refuse_without_writer(guard, engine, " pass `llm`, or")


def _response(answer: Answer, data: dict[str, Any]) -> RESPONSE_TYPE:
    response: Any = last_raw(answer)
    metadata: dict[str, Any] = {**(response.metadata or {}), VERDICT_KEY: data}
    if isinstance(response, (StreamingResponse, AsyncStreamingResponse)):
        return _streamed(response, answer.text, metadata)
    if answer.blocked or answer.regenerated:
        return Response(answer.text, response.source_nodes, metadata)
    return replace(response, metadata=metadata)


def _streamed(
    response: StreamingResponse | AsyncStreamingResponse, text: str, metadata: dict[str, Any]
) -> RESPONSE_TYPE:
    """Return the text of a stream that nobody expected as a stream of one piece."""
    nodes = response.source_nodes
    if isinstance(response, StreamingResponse):
        return StreamingResponse((piece for piece in (text,)), nodes, metadata)
    return AsyncStreamingResponse(_one(text), nodes, metadata)


async def _one(text: str) -> AsyncGenerator[str, None]:
    yield text


def _unasked(response: RESPONSE_TYPE, told: Recorder) -> RESPONSE_TYPE:
    verdict = Verdict("skipped", None, "nothing was retrieved, so the model was not asked")
    data = told.record(Answer("", "", "allow", verdict))
    response.metadata = {**(response.metadata or {}), VERDICT_KEY: data}
    return response


def _tokens(
    parts: Generator[Any, None, None], told: Recorder, metadata: dict[str, Any]
) -> Generator[str, None, None]:
    with told.watching(), closing(parts):
        for part in parts:
            if isinstance(part, Answer):
                metadata[VERDICT_KEY] = told.record(part)
            else:
                yield part.text


async def _atokens(
    parts: AsyncGenerator[Any], told: Recorder, metadata: dict[str, Any]
) -> AsyncGenerator[str, None]:
    with told.watching():
        async with aclosing(parts):
            async for part in parts:
                if isinstance(part, Answer):
                    metadata[VERDICT_KEY] = told.record(part)
                else:
                    yield part.text
