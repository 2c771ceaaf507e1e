"""A node of LangGraph that checks the last answer, and an edge that depends on its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    convert_to_messages,
    convert_to_openai_messages,
)
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.graph import MessagesState

from resay import Document
from resay.adapters import CallLog, Message, OnVerdict, field_of, named_text, run_sync
from resay.adapters.policies import PolicyLike
from resay.adapters.verdicts import VERDICT_KEY, verdict_of
from resay_frameworks._checker import AskModel, Checker, Result, in_threads

__all__ = ["HallucinationNode", "HallucinationState", "route_by_verdict"]

# What messages say of tool calls; in OpenAI's format no result is marked as an error.
_CALL_FIELDS = {"type", "name", "content", "tool_calls", "tool_call_id", "status"}


class HallucinationState(MessagesState):
    """A state with messages and the verdict on the last answer.

    Attributes:
        hallucination: The verdict, in the format of `Verdict.to_dict`, with the `action` taken.
            `verdict_of(state)` reads it.
    """

    hallucination: Annotated[dict[str, Any], "the verdict"]


class HallucinationNode(Runnable[Any, dict[str, Any]]):
    """A node that checks the last message of the state, if it is an answer.

    It writes the verdict into the state under `hallucination`. If the policy replaces the answer,
    the new message has the id of the old one, and `add_messages` puts it in its place. A message
    that calls tools, or that is no message of a model, is left alone, and no verdict is written.

    Args:
        policy: A policy file's path, its content as a mapping, a `Policy` or a `Guard`; None for
            the policy that `RESAY_POLICY` names, or the default.
        model: What draws samples and judges: a chat model of LangChain, normally the one that
            answers, or the name of a model; None for a guard that has one.
        retriever: The source of documents, for a policy that regenerates.
        on_verdict: Called with each `resay.Verdict`.
        documents_key: The key of the state with documents to compare the answer with, as texts or
            as LangChain's documents; None for none.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that the node does not get.

    Example:
        ```python
        graph.add_node("guard", HallucinationNode(model=chat_model))
        graph.add_edge("answer", "guard")
        graph.add_conditional_edges("guard", route_by_verdict, {"passed": END, "flagged": "review"})
        ```
    """

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        model: BaseChatModel | str | None = None,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
        documents_key: str | None = None,
    ) -> None:
        self._chat_model = model if isinstance(model, BaseChatModel) else None
        self._documents_key = documents_key
        self._checker = Checker(
            policy,
            self,
            model=model if isinstance(model, str) else None,
            retriever=retriever,
            on_verdict=on_verdict,
            asks_own_model=self._chat_model is not None,
            takes_references=documents_key is not None,
        )

    def invoke(
        self,
        input: Any,  # noqa: A002 - the name of the base class
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Check the last message.

        Args:
            input: The state.
            config: The configuration of the run.
            **kwargs: Nothing.

        Returns:
            The changes of the state.

        Raises:
            HallucinationBlocked: The answer is withheld and the policy says `exit: raise`.
        """
        return run_sync(self._acheck, input, in_threads(self._ask))

    async def ainvoke(
        self,
        input: Any,  # noqa: A002 - the name of the base class
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Check the last message; see `invoke`."""
        return await self._acheck(input, self._aask)

    async def _acheck(self, state: Any, ask: AskModel) -> dict[str, Any]:
        messages = cast("Sequence[BaseMessage]", field_of(state, "messages") or ())
        last = messages[-1] if messages else None
        if not isinstance(last, AIMessage) or last.tool_calls:
            return {}
        result = await self._checker.acheck(
            str(last.text),
            lambda: _conversation(messages[:-1]),
            ask=None if self._chat_model is None else ask,
            references=self._documents(state),
            calls=lambda: _calls_in(messages[:-1]),
        )
        return _changes(last, result)

    def _documents(self, state: Any) -> list[str | Document]:
        documents: Any = field_of(state, self._documents_key) if self._documents_key else None
        references: list[str | Document] = []
        for document in documents or ():
            if isinstance(document, str):
                references.append(document)
            else:
                text, metadata = field_of(document, "page_content"), field_of(document, "metadata")
                references.append(named_text(str(text), metadata or {}))
        return references

    def _ask(self, messages: Sequence[Message]) -> str:
        assert self._chat_model is not None  # noqa: S101 - there is one to ask
        return str(self._chat_model.invoke([dict(m) for m in messages], _unseen()).text)

    async def _aask(self, messages: Sequence[Message]) -> str:
        assert self._chat_model is not None  # noqa: S101 - there is one to ask
        answer = await self._chat_model.ainvoke([dict(m) for m in messages], _unseen())
        return str(answer.text)


def route_by_verdict(state: Any) -> Literal["passed", "flagged"]:
    """Return the branch for the verdict in a graph's state.

    Args:
        state: The state after a `HallucinationNode`.

    Returns:
        `flagged` if the answer is flagged or was withheld, otherwise `passed`: also an answer that
        was regenerated and is consistent now, and one that could not be checked.
    """
    verdict = verdict_of(state)
    is_withheld = field_of(field_of(state, VERDICT_KEY), "action") == "block"
    return "flagged" if is_withheld or (verdict is not None and verdict.flagged) else "passed"


def _conversation(messages: Sequence[BaseMessage]) -> Sequence[Message]:
    return cast("list[Message]", convert_to_openai_messages(messages))


def _calls_in(messages: Sequence[BaseMessage]) -> CallLog:
    return CallLog.of(
        message.model_dump(include=_CALL_FIELDS) for message in convert_to_messages(messages)
    )


def _changes(last: AIMessage, result: Result) -> dict[str, Any]:
    text = result.text()
    changes: dict[str, Any] = {VERDICT_KEY: result.data}
    if text != str(last.text):
        # A new message, because the old text may be anywhere in the original.
        changes["messages"] = [AIMessage(text, id=last.id, name=last.name)]
    return changes


def _unseen() -> RunnableConfig:
    """Return the configuration of a call whose tokens the graph's streams do not show."""
    return {"callbacks": [], "tags": ["nostream"]}
