"""One request of a guarded chat model: what is asked, and who answers what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    BaseMessage,
    HumanMessage,
    ToolMessage,
    convert_to_openai_messages,
)
from langchain_core.utils.function_calling import convert_to_openai_tool

from resay.adapters import litellm_provider
from resay.core.query import Message, Query
from resay.policy import Policy
from resay.providers.base import Provider
from resay.providers.caching import source_of
from resay.providers.routes import Sources
from resay_langchain._inside import for_judging, for_sampling, sampling_kwargs
from resay_langchain._litellm import UnmappedError, request_of
from resay_langchain._providers import (
    JudgeProvider,
    ModelProvider,
    Run,
    RunnableProvider,
    Stream,
    in_loop,
    in_thread,
    stream_in_loop,
    stream_in_thread,
)
from resay_langchain._runs import JUDGE, SAMPLE, Runs
from resay_langchain._traced import Traced
from resay_langchain._watch import Watch, documents_in

__all__ = ["Asking", "Reads"]

Reads = Literal["text", "json", "tools"]
"""What an answer is: words, or an object in its text or in the arguments of its calls."""


@dataclass(frozen=True)
class Asking:
    """One request.

    Attributes:
        model: The chat model inside.
        policy: What is to be done.
        messages: The conversation.
        kwargs: Keyword arguments of the call.
        reads: What the answer is to be read as.
        object_tools: The tools whose arguments are the answer, where the caller knows.
        runs: Makes the child runs.
        watch: Who knows about retrieved documents.
        asynchronous: Whether the caller's event loop is to be used.
    """

    model: BaseChatModel
    policy: Policy
    messages: Sequence[BaseMessage]
    kwargs: Mapping[str, Any]
    reads: Reads
    object_tools: tuple[str, ...]
    runs: Runs
    watch: Watch | None
    asynchronous: bool

    @cached_property
    def query(self) -> Query:
        """What is asked, as litellm takes it where the model can be reached that way."""
        mapped = self._mapped
        query = mapped or Query(self._openai_messages or self._plain_messages, None, self._params)
        tools = _tool_names(self.kwargs.get("tools")) if self.reads == "tools" else ()
        return replace(
            query, structured=self.reads == "json", object_tools=self.object_tools or tools
        )

    @cached_property
    def _mapped(self) -> Query | None:
        if self.policy.sampling.via == "native":
            return None
        try:
            return request_of(self.model, self.messages, self.kwargs)
        except UnmappedError:
            return None

    @cached_property
    def _openai_messages(self) -> tuple[Message, ...]:
        # Content of an unknown kind is refused in many ways.
        with suppress(Exception):
            return tuple(cast("list[Message]", convert_to_openai_messages(list(self.messages))))
        return ()

    @property
    def _plain_messages(self) -> tuple[Message, ...]:
        """The conversation as far as it is text, for what the policy looks at."""
        return tuple(
            {"role": "user" if isinstance(m, HumanMessage) else m.type, "content": str(m.text)}
            for m in self.messages
        )

    @property
    def _params(self) -> dict[str, Any]:
        # The guard gives one answer; who wants several, or a stream, gets it from LangChain.
        return {k: v for k, v in self.kwargs.items() if k not in ("n", "stream")}

    @property
    def sources(self) -> Sources:
        """Who answers what."""
        return Sources(
            main=self._main,
            samples=self._samples,
            judge=self._judge,
            via="litellm" if self._through_litellm else "native",
            finds_references=True,
        )

    @property
    def _through_litellm(self) -> bool:
        return self._mapped is not None or self.policy.sampling.model is not None

    @property
    def _run(self) -> Run:
        return in_loop if self.asynchronous else in_thread

    @property
    def _main(self) -> Provider:
        stream: Stream = stream_in_loop if self.asynchronous else stream_in_thread
        # The callbacks of the model itself hear of the guarded call instead: they may show what
        # they are told to whoever waits for the answer.
        model = self.model.model_copy(update={"callbacks": None})
        return ModelProvider(
            model, self.messages, self.kwargs, self._run, stream, self.runs.plain(), self._found
        )

    def _found(self) -> tuple[str, ...]:
        tools = [message for message in self.messages if isinstance(message, ToolMessage)]
        texts = [document.page_content for document in documents_in(tools)]
        return tuple(dict.fromkeys((*(self.watch.references if self.watch else ()), *texts)))

    @property
    def _samples(self) -> Provider:
        if self._through_litellm:
            return Traced(litellm_provider(), self.runs.manager, SAMPLE, self.messages)
        sampling = self.policy.sampling
        # The same model answers the same for whoever asks, if all of the question is in the query.
        source = f"langchain {source_of(self.model)}" if self._openai_messages else None
        return RunnableProvider(
            for_sampling(self.model, sampling),
            list(self.messages),
            sampling_kwargs(self.model, self.kwargs, sampling),
            self._run,
            partial(self.runs.config, SAMPLE),
            source,
        )

    @property
    def _judge(self) -> Provider:
        asked = Traced(litellm_provider(), self.runs.manager, JUDGE)
        if self._mapped is not None:
            return asked
        config = partial(self.runs.config, JUDGE)
        own = for_judging(self.model, self.policy.sampling)
        return JudgeProvider(own, self._run, config, asked)


def _tool_names(tools: object) -> tuple[str, ...]:
    """Return the names of tools in whatever shape the model's provider has them."""
    listed = cast("Sequence[Any]", tools) if isinstance(tools, (list, tuple)) else ()
    return tuple(name for tool in listed if (name := _tool_name(tool)))


def _tool_name(tool: Any) -> str | None:
    if not isinstance(tool, dict):
        with suppress(Exception):
            return str(convert_to_openai_tool(tool)["function"]["name"])
        return None
    known = cast("dict[str, Any]", tool)
    shapes: list[Any] = [known.get("function"), known.get("toolSpec"), known]
    held = [cast("dict[str, Any]", shape) for shape in shapes if isinstance(shape, dict)]
    names: list[Any] = [shape.get("name") for shape in held]
    return next((name for name in names if isinstance(name, str)), None)
