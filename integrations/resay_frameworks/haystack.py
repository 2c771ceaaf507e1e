"""A component of Haystack."""

# The framework is not installed where types are checked.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.core.serialization import component_to_dict
from haystack.dataclasses import ChatMessage
from haystack.utils import (
    deserialize_callable,
    deserialize_chatgenerator_inplace,
    serialize_callable,
)

from resay import Guard, Policy
from resay.adapters import CallLog, Message, OnVerdict, named_text, run_sync
from resay.adapters.policies import PolicyLike
from resay.adapters.verdicts import VERDICT_KEY
from resay.errors import ConfigurationError
from resay_frameworks._checker import AskModel, Checker, Result, in_threads

__all__ = ["HallucinationChecker"]


@component
class HallucinationChecker:
    """Checks the replies of a chat generator.

    Inputs are the `replies`, the `messages` that they answer, and optionally `documents` to compare
    them with. Outputs are the `replies`, each with its verdict in `meta["hallucination"]`, and the
    `verdicts` alone. A reply that is withheld, written again or marked is replaced by a new one.
    Replies that call tools are passed on.

    Args:
        policy: A policy file's path, its content as a mapping, a `Policy` or a `Guard`; None for
            the policy that `RESAY_POLICY` names, or the default. A pipeline with a `Policy` or a
            `Guard` cannot be saved.
        model: The name of the model that draws samples and judges.
        chat_generator: A chat generator that does so in its place, normally the same as that of the
            replies.
        retriever: The source of documents, for a policy that regenerates. A pipeline with one
            cannot be saved: let the policy name it.
        on_verdict: Called with each `resay.Verdict`.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that the component does not get.
    """

    def __init__(
        self,
        policy: PolicyLike = None,
        *,
        model: str | None = None,
        chat_generator: Any = None,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
    ) -> None:
        self.policy = policy
        self.model = model
        self.chat_generator = chat_generator
        self.retriever = retriever
        self.on_verdict = on_verdict
        self._checker = Checker(
            policy,
            self,
            model=model,
            retriever=retriever,
            on_verdict=on_verdict,
            asks_own_model=chat_generator is not None,
            takes_references=True,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the component as a mapping.

        Raises:
            ConfigurationError: It has a `Policy`, a `Guard` or a retriever.
        """
        if self.retriever is not None:
            raise ConfigurationError(
                f"`retriever` is a {type(self.retriever).__name__!r}, which cannot be saved; name"
                " it in the policy as `action.retriever`"
            )
        generator = self.chat_generator
        return default_to_dict(
            self,
            policy=_saved(self.policy),
            model=self.model,
            chat_generator=generator and component_to_dict(generator, "chat_generator"),
            on_verdict=self.on_verdict and serialize_callable(self.on_verdict),
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> HallucinationChecker:
        """Return the component of a mapping."""
        settings = data.get("init_parameters", {})
        if settings.get("chat_generator"):
            deserialize_chatgenerator_inplace(settings, key="chat_generator")
        if settings.get("on_verdict"):
            settings["on_verdict"] = deserialize_callable(settings["on_verdict"])
        return default_from_dict(cls, data)

    def warm_up(self) -> None:
        """Load the policy's models, and those of the chat generator."""
        if hasattr(self.chat_generator, "warm_up"):
            self.chat_generator.warm_up()
        run_sync(self._checker.aprepare)

    @component.output_types(replies=list[ChatMessage], verdicts=list[dict[str, Any]])
    def run(
        self,
        replies: list[ChatMessage],
        messages: list[ChatMessage] | str,
        documents: list[Document] | None = None,
    ) -> dict[str, Any]:
        """Check replies.

        Args:
            replies: The replies.
            messages: The conversation that they answer, or the question.
            documents: Documents to compare them with.

        Returns:
            The `replies` to pass on, and their `verdicts`.

        Raises:
            HallucinationBlocked: One is withheld and the policy says `exit: raise`.
        """
        return run_sync(self._acheck, replies, messages, documents, in_threads(self._ask))

    @component.output_types(replies=list[ChatMessage], verdicts=list[dict[str, Any]])
    async def run_async(
        self,
        replies: list[ChatMessage],
        messages: list[ChatMessage] | str,
        documents: list[Document] | None = None,
    ) -> dict[str, Any]:
        """Check replies; see `run`."""
        asks_async = hasattr(self.chat_generator, "run_async")
        ask = self._aask if asks_async else in_threads(self._ask)
        return await self._acheck(replies, messages, documents, ask)

    async def _acheck(
        self,
        replies: list[ChatMessage],
        messages: list[ChatMessage] | str,
        documents: list[Document] | None,
        ask: AskModel,
    ) -> dict[str, Any]:
        checked: list[ChatMessage] = []
        verdicts: list[dict[str, Any]] = []
        for reply in replies:
            if reply.tool_calls:
                checked.append(reply)
                continue
            result = await self._checker.acheck(
                reply.text,
                lambda: _conversation(messages),
                ask=None if self.chat_generator is None else ask,
                references=[named_text(d.content or "", d.meta) for d in documents or ()],
                calls=lambda: _calls_in(messages),
            )
            checked.append(_reply_with(reply, result))
            verdicts.append(result.data)
        return {"replies": checked, "verdicts": verdicts}

    def _ask(self, messages: Sequence[Message]) -> str:
        return _text_of(self.chat_generator.run(_chat(messages)))

    async def _aask(self, messages: Sequence[Message]) -> str:
        return _text_of(await self.chat_generator.run_async(_chat(messages)))


def _saved(policy: PolicyLike) -> Any:
    # They may hold the values of environment variables.
    if isinstance(policy, (Guard, Policy)):
        kind = type(policy).__name__
        raise ConfigurationError(
            f"`policy` is a {kind}, which cannot be saved; pass the path of a policy file, or its"
            " content as a mapping"
        )
    if isinstance(policy, PathLike):
        return fspath(policy)
    return dict(policy) if isinstance(policy, Mapping) else policy


def _conversation(messages: list[ChatMessage] | str) -> list[Message]:
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    return [message.to_openai_dict_format(require_tool_call_ids=False) for message in messages]


def _calls_in(messages: list[ChatMessage] | str) -> CallLog:
    """Return the calls of tools; in OpenAI's format no result is marked as an error."""
    conversation = _conversation(messages)
    if isinstance(messages, str):
        return CallLog.of(conversation)
    logged: list[Message] = []
    for message, converted in zip(messages, conversation, strict=True):
        is_error = any(result.error for result in message.tool_call_results)
        logged.append({**converted, "is_error": is_error})
    return CallLog.of(logged)


def _chat(messages: Sequence[Message]) -> list[ChatMessage]:
    return [ChatMessage.from_openai_dict_format(dict(message)) for message in messages]


def _text_of(output: Any) -> str:
    return output["replies"][0].text or ""


def _reply_with(reply: ChatMessage, result: Result) -> ChatMessage:
    text = result.text()
    meta = {VERDICT_KEY: result.data}
    if text == reply.text:
        return replace(reply, _meta={**reply.meta, **meta})
    # A new message, because the old text may be anywhere in the original.
    return ChatMessage.from_assistant(text, meta=meta, name=reply.name)
