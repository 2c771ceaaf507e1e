"""Calls that do not go through LangChain, shown to its callbacks and tracing all the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anyio
from langchain_core.callbacks import AsyncCallbackManager, CallbackManager
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from langchain_core.outputs import ChatGeneration, LLMResult

from resay.core.query import Query
from resay.providers.base import Completion, Completions, Layer, Provider
from resay_langchain._runs import Manager

__all__ = ["Traced"]


class Traced(Layer):
    """Makes each request a run of a chat model, named as given, whatever asks it.

    Args:
        inner: Who is asked.
        manager: Makes the callbacks of a run.
        name: The run's name.
        messages: The conversation as LangChain knows it; None to take the query's.
    """

    cache_source = "litellm"
    """Whoever is asked, the query alone says where it goes."""

    def __init__(
        self,
        inner: Provider,
        manager: Callable[[str], Manager],
        name: str,
        messages: Sequence[BaseMessage] | None = None,
    ) -> None:
        super().__init__(inner)
        self._manager = manager
        self._name = name
        self._messages = messages

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask, as a run of its own."""
        messages = self._messages
        if messages is None:
            messages = convert_to_messages([dict(message) for message in query.messages])
        started = await self._start(query, list(messages))
        try:
            answers = await self.inner.complete(query, n=n)
        except BaseException as error:
            # Cancelled calls end as runs too.
            with anyio.CancelScope(shield=True):
                await _told(started.on_llm_error(error))
            raise
        await _told(started.on_llm_end(_result(answers, query.model)))
        return answers

    async def _start(self, query: Query, messages: list[BaseMessage]) -> Any:
        manager = self._manager(self._name)
        # No parameters: the key is among them.
        options: dict[str, Any] = {"name": self._name, "invocation_params": {"model": query.model}}
        manager.add_metadata({"ls_model_name": query.model, "ls_model_type": "chat"}, inherit=False)
        if isinstance(manager, AsyncCallbackManager):
            return (await manager.on_chat_model_start({}, [messages], **options))[0]
        assert isinstance(manager, CallbackManager)  # noqa: S101 - there are no others
        return manager.on_chat_model_start({}, [messages], **options)[0]


async def _told(outcome: Any) -> None:
    # Synchronous run managers have told it already.
    if outcome is not None:
        await outcome


def _result(answers: Completions, model: str | None) -> LLMResult:
    generations = [ChatGeneration(message=_message(item, model)) for item in answers.items]
    usage = answers.usage
    if generations:
        generations[0].message.usage_metadata = {  # pyright: ignore[reportAttributeAccessIssue] - an AIMessage has it
            "input_tokens": usage.prompt_tokens,
            "output_tokens": usage.completion_tokens,
            "total_tokens": usage.tokens,
        }
    return LLMResult(generations=[list(generations)])


def _message(completion: Completion, model: str | None) -> AIMessage:
    # Whoever counts usage by model looks for its name here.
    metadata = {"finish_reason": completion.finish_reason, "model_name": model}
    return AIMessage(completion.text, response_metadata=metadata)
