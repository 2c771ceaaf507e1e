"""Guarding a chat engine."""

from __future__ import annotations

from copy import copy
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine.types import (
    AGENT_CHAT_RESPONSE_TYPE,
    AgentChatResponse,
    BaseChatEngine,
    StreamingAgentChatResponse,
)
from llama_index.core.llms import LLM

from resay.adapters.policies import VERDICT_KEY, PolicyLike
from resay.adapters.threads import BLOCKING, LOOPING, Side, finished
from resay.core.verdict import OnVerdict
from resay.errors import ConfigurationError
from resay.guard import Guard
from resay_llamaindex._llm import GuardedLLM
from resay_llamaindex._policies import guarding
from resay_llamaindex._query_engine import GuardedQueryEngine, retriever_of

# What LlamaIndex's own engines call whoever writes their answers.
_LLM = "_llm"
_ENGINE = "_query_engine"


class GuardedChatEngine(BaseChatEngine):
    """A chat engine whose answers are checked and acted on as a policy says.

    What the engine asks to find its way, such as the question that a conversation is condensed to,
    is left alone. A response comes with its verdict in `metadata["hallucination"]`, a streaming one
    when it was read; `verdict_of` reads it. The engine's memory holds what was shown, without
    verdicts.

    Args:
        chat_engine: An engine of the modes `simple`, `context`, `condense_plus_context` or
            `condense_question`, or one that keeps its LLM where these do.
        policy: A policy, a path to a policy file, the same as a mapping, or a `Guard`; None for
            that of a guarded LLM or query engine inside, the one that
            `RESAY_POLICY` names, or the default.
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
        engine = GuardedChatEngine(index.as_chat_engine(chat_mode="context"), "policy.yaml")
        response = engine.chat("Who designed the Sydney Harbour Bridge?")
        verdict_of(response).flagged
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
        """Who checks and acts."""
        return self._writer.guard

    def chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> AGENT_CHAT_RESPONSE_TYPE:
        """Answer a message, check the answer and act.

        Args:
            message: What the user says.
            chat_history: The conversation so far; None for the engine's own memory.

        Raises:
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
            Exception: Whatever the engine raises.
        """
        return finished(self._asked(BLOCKING, "chat", message, chat_history))

    async def achat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> AGENT_CHAT_RESPONSE_TYPE:
        """Do what `chat` does, on the caller's event loop."""
        return await self._asked(LOOPING, "achat", message, chat_history)

    def stream_chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> StreamingAgentChatResponse:
        """Answer a message in pieces, checked as the policy's `stream` says; see `chat`."""
        return finished(self._asked(BLOCKING, "stream_chat", message, chat_history))

    async def astream_chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> StreamingAgentChatResponse:
        """Do what `stream_chat` does, on the caller's event loop."""
        return await self._asked(LOOPING, "astream_chat", message, chat_history)

    def reset(self) -> None:
        """Forget the conversation."""
        self._inner.reset()

    @property
    def chat_history(self) -> list[ChatMessage]:
        """The conversation so far."""
        return self._inner.chat_history

    async def _asked(
        self, side: Side, method: str, message: str, chat_history: list[ChatMessage] | None
    ) -> Any:
        """Call a method of the engine, for one answer that its verdict is put beside."""
        found: dict[str, Any] = {}

        def listen(data: dict[str, Any]) -> None:
            found[VERDICT_KEY] = data

        engine = copy(self._inner)
        if isinstance(self._writer, GuardedLLM):
            setattr(engine, _LLM, self._writer.notifying(listen, answers_only=True))
        else:
            setattr(engine, _ENGINE, self._writer.notifying(listen))
        response = await side.call(getattr(engine, method), message, chat_history)
        if isinstance(response, AgentChatResponse):
            response.metadata = {**(response.metadata or {}), **found}
        else:
            # It has no field for metadata, which its counterpart has.
            vars(response)["metadata"] = found
        return response


def _writer_of(
    chat_engine: BaseChatEngine,
    policy: PolicyLike,
    retriever: object,
    on_verdict: OnVerdict | None,
) -> GuardedLLM | GuardedQueryEngine:
    parts = vars(chat_engine)
    engine: object = parts.get(_ENGINE)
    if isinstance(engine, GuardedQueryEngine) and policy is None:
        if retriever is None and on_verdict is None:
            return engine
        policy = engine.guard if retriever is None else engine.guard.policy
    if isinstance(engine, BaseQueryEngine):
        return GuardedQueryEngine(engine, policy, retriever=retriever, on_verdict=on_verdict)
    llm: object = parts.get(_LLM)
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
