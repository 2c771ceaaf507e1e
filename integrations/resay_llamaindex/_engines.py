"""Guarded query and chat engines."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.callbacks import CBEventType, EventPayload
from llama_index.core.chat_engine.types import (
    AGENT_CHAT_RESPONSE_TYPE,
    AgentChatResponse,
    BaseChatEngine,
    StreamingAgentChatResponse,
)
from llama_index.core.llms import LLM
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.schema import NodeWithScore, QueryBundle

from resay import Answer, AnswerChunk, Guard, Request, Sources, Verdict
from resay.adapters import CheckContext, GuardRuntime, OnVerdict, given_references, inside_guard
from resay.adapters.policies import PolicyLike, refuse_without_writer
from resay.adapters.stream_parts import read_parts
from resay.adapters.threads import (
    ASYNC,
    BLOCKING,
    CallStyle,
    in_thread,
    iterate_in_place,
    run_in_place,
)
from resay.adapters.verdicts import VERDICT_KEY
from resay.errors import ConfigurationError
from resay_llamaindex._callers import Caller, caller_for
from resay_llamaindex._engine_parts import (
    ENGINE,
    LLM_FIELD,
    can_retrieve,
    copy_for_samples,
    gives_objects,
    llm_of,
    retriever_of,
    streams,
    synthesizer_of,
)
from resay_llamaindex._engine_provider import (
    EngineProvider,
    Querying,
    RetrievedNodes,
    Synthesis,
    only,
    references_in,
)
from resay_llamaindex._llm import GuardedLLM
from resay_llamaindex._outcome import Recorder, last_raw
from resay_llamaindex._policies import guarding
from resay_llamaindex._samplers import for_sampling, judges_of, own_judge

Nodes = Sequence[NodeWithScore]


class GuardedQueryEngine(BaseQueryEngine):
    """A query engine whose answers are checked and acted on according to a policy.

    Nodes are retrieved once. The answer and its samples are written from the same nodes, so samples
    differ only in what the model makes up. The texts of the nodes are the references of steps with
    `evidence: references`. An engine that does not separate retrieval runs as a whole for each
    sample.

    A response carries its verdict in `metadata["hallucination"]`, a stream once it has been read;
    read it with `verdict_of`. A guarded LLM inside does nothing.

    Args:
        query_engine: The engine to guard.
        policy: A policy, a path to a policy file, a mapping with the same contents, or a `Guard`.
            None uses the policy of a guarded LLM inside, the one that `RESAY_POLICY` names, or the
            default.
        llm: The LLM that judges and rewrites flagged answers, unless the policy names one. None
            for the LLM that writes the answers.
        retriever: Finds documents for a policy that regenerates: an index or a retriever of
            LlamaIndex, or anything else that `as_retriever` accepts. None for the policy's, or else
            the engine's own, without its postprocessors.
        on_verdict: As for `GuardedLLM`.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that this engine cannot provide, or it
            regenerates and has no retriever.

    Example:
        ```python
        engine = GuardedQueryEngine(index.as_query_engine(), "policy.yaml")
        response = engine.query("Who designed the Sydney Harbour Bridge?")
        verdict = verdict_of(response)
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
        # Created once, so that their clients keep their connections.
        sampling = self._guard.policy.sampling
        self._sampler = for_sampling(writer, sampling) if writer else None
        self._judges = judges_of(judge, sampling) if judge else None

    @property
    def guard(self) -> Guard:
        """The guard that checks answers and acts on verdicts."""
        return self._guard

    def notifying(self, listener: Callable[[dict[str, Any]], None]) -> GuardedQueryEngine:
        """Return a copy that passes its verdicts to a listener.

        Args:
            listener: Called with each verdict.
        """
        copied = copy(self)
        copied._listener = listener  # noqa: SLF001 - a copy of this class
        return copied

    # The prompts are those of the engine inside, under the same names.

    def _get_prompt_modules(self) -> PromptMixinType:
        return self._query_engine._get_prompt_modules()  # noqa: SLF001 - the mixin's own protocol

    def _get_prompts(self) -> dict[str, Any]:
        return self._query_engine._get_prompts()  # noqa: SLF001

    def _update_prompts(self, prompts: PromptDictType) -> None:
        self._query_engine._update_prompts(prompts)  # noqa: SLF001

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Retrieve nodes with the engine inside."""
        return self._query_engine.retrieve(query_bundle)

    async def aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Async version of `retrieve`."""
        return list(await self._aretrieve(query_bundle))

    def synthesize(
        self,
        query_bundle: QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Nodes | None = None,
    ) -> RESPONSE_TYPE:
        """Write an answer from nodes, check it and act."""
        retrieved = RetrievedNodes(tuple(nodes), tuple(additional_source_nodes or ()))
        return run_in_place(self._synthesized(BLOCKING, query_bundle, retrieved))

    async def asynthesize(
        self,
        query_bundle: QueryBundle,
        nodes: list[NodeWithScore],
        additional_source_nodes: Nodes | None = None,
    ) -> RESPONSE_TYPE:
        """Async version of `synthesize`."""
        retrieved = RetrievedNodes(tuple(nodes), tuple(additional_source_nodes or ()))
        return await self._synthesized(ASYNC, query_bundle, retrieved)

    async def _synthesized(
        self, style: CallStyle, bundle: QueryBundle, retrieved: RetrievedNodes
    ) -> RESPONSE_TYPE:
        if not inside_guard():
            return await self._answer(style, bundle, retrieved, Recorder(self._listener))
        engine = self._query_engine
        return await style.either(
            engine.synthesize,
            engine.asynthesize,
            bundle,
            list(retrieved.nodes),
            retrieved.additional,
        )

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        return run_in_place(self._guarded_call(BLOCKING, query_bundle))

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        return await self._guarded_call(ASYNC, query_bundle)

    async def _guarded_call(self, style: CallStyle, bundle: QueryBundle) -> RESPONSE_TYPE:
        if inside_guard():
            return await style.either(self._query_engine.query, self._query_engine.aquery, bundle)
        recorder = Recorder(self._listener)
        with self.callback_manager.event(
            CBEventType.QUERY, payload={EventPayload.QUERY_STR: bundle.query_str}
        ) as event:
            retrieved = await self._find(style, bundle)
            response = await self._answer(style, bundle, retrieved, recorder)
            event.on_end(payload={EventPayload.RESPONSE: response})
        return response

    async def _find(self, style: CallStyle, bundle: QueryBundle) -> RetrievedNodes | None:
        """Return the retrieved nodes, or None if the engine does not separate retrieval."""
        if not can_retrieve(self._query_engine):
            return None
        try:
            nodes = await style.either(self._query_engine.retrieve, self._aretrieve, bundle)
        # An engine may delegate to another that cannot retrieve.
        except NotImplementedError:
            return None
        return RetrievedNodes(tuple(nodes))

    async def _aretrieve(self, bundle: QueryBundle) -> Nodes:
        retrieve = getattr(self._query_engine, "aretrieve", None)
        if retrieve is None:
            return await in_thread(partial(self._query_engine.retrieve, bundle))
        return await retrieve(bundle)

    async def _answer(
        self,
        style: CallStyle,
        bundle: QueryBundle,
        retrieved: RetrievedNodes | None,
        recorder: Recorder,
    ) -> RESPONSE_TYPE:
        engine = self._query_engine
        if self._retrieved_nothing(retrieved):
            response = await style.either(engine.synthesize, engine.asynthesize, bundle, [])
            return _without_nodes(response, recorder)
        context = self._context_of(bundle, retrieved)
        sources = self._sources(bundle, retrieved, caller_for(style))
        if retrieved is not None and streams(engine):
            stream = GuardRuntime(self._guard).astream_with(context, sources)
            metadata = retrieved.metadata
            tokens = _tokens(read_parts(style, stream, recorder.around()), recorder, metadata)
            if style.blocking:
                return StreamingResponse(iterate_in_place(tokens), retrieved.sources, metadata)
            return AsyncStreamingResponse(tokens, retrieved.sources, metadata)
        with recorder.watching():
            answer = await style.run(GuardRuntime(self._guard).aask_with, context, sources)
        return _response(answer, recorder.record(answer))

    def _retrieved_nothing(self, retrieved: RetrievedNodes | None) -> bool:
        # LlamaIndex's synthesizers call no model without nodes.
        if retrieved is None or retrieved.nodes:
            return False
        return synthesizer_of(self._query_engine) is not None

    def _context_of(self, bundle: QueryBundle, retrieved: RetrievedNodes | None) -> CheckContext:
        question = {"role": "user", "content": bundle.query_str}
        context = CheckContext(
            Request((question,)),
            references=given_references(references_in(retrieved.nodes)) if retrieved else (),
            structured=gives_objects(self._query_engine),
        )
        return GuardRuntime(self._guard).with_skip_reason(context)

    def _sources(
        self, bundle: QueryBundle, retrieved: RetrievedNodes | None, caller: Caller
    ) -> Sources:
        request = Querying(bundle) if retrieved is None else Synthesis(bundle, retrieved)
        # Created for each request, to follow changes of the engine's prompts.
        sampler = copy_for_samples(self._query_engine, self._sampler)
        return Sources(
            main=EngineProvider(request, self._query_engine, caller, "main"),
            samples=EngineProvider(request, sampler, caller, "sample"),
            judge=own_judge(self._judges, caller),
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
    GuardRuntime(guard).require_inputs({"logprobs": inside})
    if judge is None:
        refuse_without_writer(guard, engine, " pass `llm`, or")


def _response(answer: Answer, data: dict[str, Any]) -> RESPONSE_TYPE:
    response: Any = last_raw(answer)
    metadata: dict[str, Any] = {**(response.metadata or {}), VERDICT_KEY: data}
    if isinstance(response, (StreamingResponse, AsyncStreamingResponse)):
        return _streamed(response, answer.text, metadata)
    if answer.blocked or answer.regenerated:
        return Response(answer.text, response.source_nodes, metadata)
    if answer.marks and isinstance(response, Response):
        return replace(response, response=answer.text, metadata=metadata)
    return replace(response, metadata=metadata)


def _streamed(
    response: StreamingResponse | AsyncStreamingResponse, text: str, metadata: dict[str, Any]
) -> RESPONSE_TYPE:
    """Return the text of an unexpected stream, as a stream of one piece."""
    nodes = response.source_nodes
    if isinstance(response, StreamingResponse):
        return StreamingResponse((piece for piece in (text,)), nodes, metadata)
    return AsyncStreamingResponse(only(text), nodes, metadata)


def _without_nodes(response: RESPONSE_TYPE, recorder: Recorder) -> RESPONSE_TYPE:
    verdict = Verdict("skipped", None, "nothing was retrieved, so the model was not asked")
    data = recorder.record(Answer("", "", "allow", verdict))
    response.metadata = {**(response.metadata or {}), VERDICT_KEY: data}
    return response


async def _tokens(
    parts: AsyncGenerator[AnswerChunk | Answer], recorder: Recorder, metadata: dict[str, Any]
) -> AsyncGenerator[str, None]:
    with recorder.watching():
        async with aclosing(parts):
            async for part in parts:
                if isinstance(part, Answer):
                    metadata[VERDICT_KEY] = recorder.record(part)
                else:
                    yield part.text


class GuardedChatEngine(BaseChatEngine):
    """A chat engine whose answers are checked and acted on according to a policy.

    The engine's intermediate requests, such as condensing a conversation to a question, are left
    alone. A response carries its verdict in `metadata["hallucination"]`, a stream once it has been
    read; read it with `verdict_of`. The engine's memory holds the answers as shown, without
    verdicts.

    Args:
        chat_engine: An engine of the modes `simple`, `context`, `condense_plus_context` or
            `condense_question`, or another that stores its LLM in the same attribute.
        policy: A policy, a path to a policy file, a mapping with the same contents, or a `Guard`.
            None uses the policy of a guarded LLM or query engine inside, the one that
            `RESAY_POLICY` names, or the default.
        retriever: Finds documents for a policy that regenerates: an index or a retriever of
            LlamaIndex, or anything else that `as_retriever` accepts. None for the policy's, or else
            the engine's own, without its postprocessors.
        on_verdict: As for `GuardedLLM`.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that this engine cannot provide, or it
            regenerates and has no retriever.

    Example:
        ```python
        engine = GuardedChatEngine(index.as_chat_engine(chat_mode="context"), "policy.yaml")
        response = engine.chat("Who designed the Sydney Harbour Bridge?")
        verdict = verdict_of(response)
        ```
    """

    def __init__(
        self,
        chat_engine: BaseChatEngine,
        policy: PolicyLike = None,
        *,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
    ) -> None:
        if not isinstance(chat_engine, BaseChatEngine):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
            raise ConfigurationError(
                "GuardedChatEngine takes a chat engine of LlamaIndex, not"
                f" {type(chat_engine).__name__!r}"
            )
        self._inner = chat_engine
        self._writer = _writer_of(chat_engine, policy, retriever, on_verdict)

    @property
    def guard(self) -> Guard:
        """The guard that checks answers and acts on verdicts."""
        return self._writer.guard

    def chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> AGENT_CHAT_RESPONSE_TYPE:
        """Answer a message, check the answer and act.

        Args:
            message: The user's message.
            chat_history: The conversation so far; None for the engine's own memory.

        Raises:
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
            Exception: Anything that the engine raises.
        """
        return run_in_place(self._guarded_call(BLOCKING, "chat", message, chat_history))

    async def achat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> AGENT_CHAT_RESPONSE_TYPE:
        """Async version of `chat`."""
        return await self._guarded_call(ASYNC, "achat", message, chat_history)

    def stream_chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> StreamingAgentChatResponse:
        """Stream the answer to a message, checked as `stream_mode` says; see `chat`."""
        return run_in_place(self._guarded_call(BLOCKING, "stream_chat", message, chat_history))

    async def astream_chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> StreamingAgentChatResponse:
        """Async version of `stream_chat`."""
        return await self._guarded_call(ASYNC, "astream_chat", message, chat_history)

    def reset(self) -> None:
        """Clear the conversation."""
        self._inner.reset()

    @property
    def chat_history(self) -> list[ChatMessage]:
        """The conversation so far."""
        return self._inner.chat_history

    async def _guarded_call(
        self, style: CallStyle, method: str, message: str, chat_history: list[ChatMessage] | None
    ) -> Any:
        """Call a method of the engine, and return its response with the verdict."""
        metadata: dict[str, Any] = {}

        def listen(data: dict[str, Any]) -> None:
            metadata[VERDICT_KEY] = data

        engine = copy(self._inner)
        if isinstance(self._writer, GuardedLLM):
            setattr(engine, LLM_FIELD, self._writer.notifying(listen, answers_only=True))
        else:
            setattr(engine, ENGINE, self._writer.notifying(listen))
        response = await style.call(getattr(engine, method), message, chat_history)
        if isinstance(response, AgentChatResponse):
            response.metadata = {**(response.metadata or {}), **metadata}
        else:
            # `AgentChatResponse` has a field for metadata, but the streaming class does not.
            vars(response)["metadata"] = metadata
        return response


def _writer_of(
    chat_engine: BaseChatEngine,
    policy: PolicyLike,
    retriever: object,
    on_verdict: OnVerdict | None,
) -> GuardedLLM | GuardedQueryEngine:
    parts = vars(chat_engine)
    engine: object = parts.get(ENGINE)
    if isinstance(engine, GuardedQueryEngine) and policy is None:
        if retriever is None and on_verdict is None:
            return engine
        policy = engine.guard if retriever is None else engine.guard.policy
    if isinstance(engine, BaseQueryEngine):
        return GuardedQueryEngine(engine, policy, retriever=retriever, on_verdict=on_verdict)
    llm: object = parts.get(LLM_FIELD)
    if not isinstance(llm, LLM):
        raise ConfigurationError(
            f"the LLM inside this {type(chat_engine).__name__} cannot be found; build the engine"
            " with a GuardedLLM instead"
        )
    if isinstance(llm, GuardedLLM):
        if policy is None and retriever is None and on_verdict is None:
            return llm
        own = llm.guard if retriever is None else llm.policy
        policy, llm = policy or own, llm.llm
    return GuardedLLM(llm, guarding(policy, retriever, on_verdict, own=retriever_of(chat_engine)))
