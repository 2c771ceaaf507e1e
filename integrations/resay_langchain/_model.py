"""A chat model whose answers are checked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.callbacks import (
    AsyncCallbackManagerForChainRun,
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForChainRun,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig, patch_config
from langchain_core.tools import BaseTool
from pydantic import PrivateAttr

from resay.adapters import (
    OnVerdict,
    PolicyLike,
    acarried,
    acarrying,
    carried,
    carrying,
    inside_guard,
)
from resay.guard import Guard
from resay.policy import Policy
from resay_langchain._asking import Asking, Reads
from resay_langchain._fitness import check_runnable
from resay_langchain._given import asked_for, with_standard
from resay_langchain._grafting import grafted
from resay_langchain._policies import guarding
from resay_langchain._request import Request
from resay_langchain._runs import RunManager, Runs
from resay_langchain._watch import Watch, watch_among

__all__ = ["GuardedChatModel"]

# How what a call already knows reaches the methods that LangChain calls in between.
_CALL = "resay_call"


@dataclass(frozen=True, slots=True)
class _Call:
    """What is known of a call before it reaches the model."""

    runs: Runs
    reads: Reads | None


class GuardedChatModel(BaseChatModel):
    """A chat model whose answers are checked and acted on as a policy says.

    It is a chat model wherever one is asked for: in chains, agents and graphs, with tools, with
    structured output, streaming or not. A message comes with its verdict in
    `response_metadata["hallucination"]`: the fields of `resay.Verdict` and the `action` that was
    taken. The verdict is dispatched as the custom event `resay_verdict` too.

    In callbacks and tracing a guarded call is a run named `GuardedChatModel` with the answer as a
    run of a chat model inside, beside it the samples and judges as `resay:sample` and
    `resay:judge`. Streams show nothing of those, and of the answer what the policy's `stream` lets
    through when it does. Of what was withheld only judges' runs have anything, in what they were
    asked.

    An answer that calls tools is passed on, unchecked. Of an object, asked for with
    `with_structured_output` or a JSON `response_format`, the fields are compared with those of the
    samples' objects. Of an answer in parts the text is checked; thoughts, images and other content
    pass through unchanged.

    Attributes:
        model: The chat model inside.
        policy: What is checked, and what is done about it.

    Example:
        ```python
        model = GuardedChatModel(ChatOpenAI(model="gpt-4.1-mini"), "policy.yaml")
        message = model.invoke("Who designed the Sydney Harbour Bridge?")
        message.response_metadata["hallucination"]["flagged"]
        ```
    """

    model: BaseChatModel
    policy: Policy

    # What is cached is the model's own answer, by the model inside.
    cache: Any = False

    _guard: Guard = PrivateAttr()
    _reads: Reads | None = PrivateAttr(default=None)
    _object_tools: tuple[str, ...] = PrivateAttr(default=())
    _watch: Watch | None = PrivateAttr(default=None)

    def __init__(
        self,
        model: BaseChatModel,
        policy: PolicyLike = None,
        *,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
        **fields: Any,
    ) -> None:
        """Wrap a chat model.

        Args:
            model: The chat model.
            policy: A policy, a path to a policy file, the same as a mapping, or a `Guard`; None
                for the one that `RESAY_POLICY` names, or the default.
            retriever: Where documents are found, for a policy that regenerates: a `BaseRetriever`,
                a `VectorStore`, or whatever else `as_retriever` takes; in place of the one that the
                policy names.
            on_verdict: Called with each `resay.Verdict`, also of answers that are withheld: where
                the call was made, before it returns; of a stream, at its end. What an async
                function returns is awaited, what it raises is logged.
            **fields: Further fields of a chat model, such as `tags`; `temperature`, `max_tokens`,
                `stop` and `streaming` are those of a copy of the model inside.

        Raises:
            PolicyError: The policy is not valid.
            ConfigurationError: The model is none, a field is unknown, the policy asks for what
                cannot be had from this model, or it regenerates and there is no retriever.
        """
        model = with_standard(model, fields, type(self).model_fields)
        guard = guarding(policy, retriever, on_verdict)
        check_runnable(model, guard)
        self._set_up(model, guard, fields)

    def _set_up(self, model: BaseChatModel, guard: Guard, fields: dict[str, Any]) -> None:
        # A guard inside would check the same answer again.
        inner = model.model if isinstance(model, GuardedChatModel) else model
        fields = {"callbacks": inner.callbacks, "profile": inner.profile, **fields}
        super().__init__(model=inner, policy=guard.policy, **fields)  # pyright: ignore[reportCallIssue] - pydantic's own
        self._guard = guard

    @classmethod
    def made(cls, model: BaseChatModel, guard: Guard, reads: Reads | None) -> GuardedChatModel:
        """Wrap a model inside a runnable that was checked as a whole."""
        made = cls.__new__(cls)
        made._set_up(model, guard, {})  # noqa: SLF001 - its own
        made._reads = reads  # noqa: SLF001 - its own
        return made

    @property
    def model_name(self) -> str | None:
        """The name of the model inside, whatever its class calls it."""
        names = (getattr(self.model, key, None) for key in ("model_name", "model", "model_id"))
        return next((name for name in names if isinstance(name, str)), None)

    @property
    def _llm_type(self) -> str:
        return f"guarded-{self.model._llm_type}"  # noqa: SLF001 - for subclasses and wrappers

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        return self.model._identifying_params  # noqa: SLF001 - for subclasses and wrappers

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        kwargs.pop(_CALL, None)
        return self.model._get_ls_params(stop=stop, **kwargs)  # noqa: SLF001 - for subclasses and wrappers

    def _get_invocation_params(
        self, stop: list[str] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        kwargs.pop(_CALL, None)
        return self.model._get_invocation_params(stop=stop, **kwargs)  # noqa: SLF001 - for subclasses and wrappers

    def __getattr__(self, name: str) -> Any:
        # What is not ours is the model's: `model_name`, `temperature`, and whatever else it has.
        if name.startswith("_") or "model" not in self.__dict__:
            inherited: Any = super()
            return inherited.__getattr__(name)
        return getattr(self.model, name)

    def get_num_tokens(self, text: str) -> int:
        """Count tokens as the model inside does."""
        return self.model.get_num_tokens(text)

    def get_token_ids(self, text: str) -> list[int]:
        """Tokenize as the model inside does."""
        return self.model.get_token_ids(text)

    def watched(self, watch: Watch, object_tools: tuple[str, ...] = ()) -> GuardedChatModel:
        """Return a copy that tells somebody what it finds, and leaves raising to them.

        Args:
            watch: Who is told, and who knows about documents.
            object_tools: The tools whose arguments are the answer.
        """
        copy = self.model_copy()
        copy._watch, copy._object_tools = watch, object_tools  # noqa: SLF001 - its own
        return copy

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools as the model inside does; see its own documentation.

        Raises:
            NotImplementedError: The model inside takes no tools.
        """
        bound = self.model.bind_tools(tools, **kwargs)
        guarded = grafted(bound, lambda model, _: self.model_copy(update={"model": model}))
        assert guarded is not None  # noqa: S101 - it holds the model
        return cast("Runnable[LanguageModelInput, AIMessage]", guarded)

    def with_structured_output(
        self, schema: dict[str, Any] | type, **kwargs: Any
    ) -> Runnable[LanguageModelInput, dict[str, Any] | Any]:
        """Ask for objects as the model inside does; see its own documentation.

        Their fields are compared with those of the samples' objects. An object that is withheld
        has nothing to stand in its place, so that always raises; with `include_raw=True` the error
        is under `parsing_error`, unless the policy says `exit: raise`.

        Raises:
            NotImplementedError: The model inside has no structured output.
        """
        from resay_langchain._guard import GuardedRunnable

        runnable = self.model.with_structured_output(schema, **kwargs)
        return GuardedRunnable(runnable=runnable, guard=self._guard)

    def invoke(
        self,
        input: LanguageModelInput,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Ask, check and act.

        Args:
            input: The conversation.
            config: LangChain's configuration.
            stop: Where the model is to stop.
            **kwargs: Further arguments for the model inside.

        Returns:
            The message; the policy's own in its place when it is withheld.

        Raises:
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
            DeadlineExceededError: There was no answer within `limits.deadline_s`.
            Exception: Whatever the model inside raises.
        """
        if inside_guard():
            return self.model.invoke(input, config, stop=stop, **kwargs)
        with carried():
            return self._call_with_config(self._invoke_run, input, config, stop=stop, **kwargs)

    def _invoke_run(
        self,
        value: LanguageModelInput,
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> AIMessage:
        told, call = self._begun(run_manager, config, kwargs)
        return super().invoke(value, told, **{_CALL: call}, **kwargs)

    async def ainvoke(
        self,
        input: LanguageModelInput,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Do what `invoke` does, on the caller's event loop."""
        if inside_guard():
            return await self.model.ainvoke(input, config, stop=stop, **kwargs)
        async with acarried():
            return await self._acall_with_config(
                self._ainvoke_run, input, config, stop=stop, **kwargs
            )

    async def _ainvoke_run(
        self,
        value: LanguageModelInput,
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> AIMessage:
        told, call = self._begun(run_manager, config, kwargs)
        return await super().ainvoke(value, told, **{_CALL: call}, **kwargs)

    def stream(
        self,
        input: LanguageModelInput,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> Iterator[AIMessageChunk]:
        """Do what `invoke` does, handing over the answer as the policy's `stream` says."""
        if inside_guard():
            yield from self.model.stream(input, config, stop=stop, **kwargs)
            return
        chunks = self._transform_stream_with_config(
            iter([input]), self._stream_run, config, stop=stop, **kwargs
        )
        # Typed as what `invoke` gives.
        yield from cast("Iterator[AIMessageChunk]", carrying(chunks))

    def _stream_run(
        self,
        inputs: Iterator[LanguageModelInput],
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Iterator[AIMessageChunk]:
        told, call = self._begun(run_manager, config, kwargs)
        for value in inputs:
            yield from super().stream(value, told, **{_CALL: call}, **kwargs)

    async def astream(
        self,
        input: LanguageModelInput,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[AIMessageChunk]:
        """Do what `stream` does, on the caller's event loop."""
        if inside_guard():
            chunks = self.model.astream(input, config, stop=stop, **kwargs)
        else:
            chunks = acarrying(
                self._atransform_stream_with_config(
                    _only(input), self._astream_run, config, stop=stop, **kwargs
                )
            )
        async for chunk in chunks:
            yield cast("AIMessageChunk", chunk)

    async def _astream_run(
        self,
        inputs: AsyncIterator[LanguageModelInput],
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> AsyncIterator[AIMessageChunk]:
        told, call = self._begun(run_manager, config, kwargs)
        async for value in inputs:
            async for chunk in super().astream(value, told, **{_CALL: call}, **kwargs):
                yield chunk

    def _begun(
        self, run_manager: RunManager, config: RunnableConfig, kwargs: Mapping[str, Any]
    ) -> tuple[RunnableConfig, _Call]:
        """Return the configuration of the answer's own run, and what else is known."""
        runs = Runs(run_manager, config)
        told = patch_config(config, callbacks=runs.child(), run_name=self.model.get_name())
        return told, _Call(runs, self._reads or asked_for(kwargs))

    def _request(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        run_manager: RunManager | None,
        kwargs: dict[str, Any],
        *,
        asynchronous: bool,
    ) -> Request:
        call: _Call | None = kwargs.pop(_CALL, None)
        runs = call.runs if call else Runs(run_manager, None)
        asking = Asking(
            model=self.model,
            policy=self.policy,
            messages=messages,
            kwargs={**kwargs, "stop": stop} if stop else kwargs,
            reads=(call.reads if call else self._reads) or "text",
            object_tools=self._object_tools,
            runs=runs,
            watch=self._watch or watch_among(runs.handlers),
            asynchronous=asynchronous,
        )
        return Request(self._guard, asking)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._request(messages, stop, run_manager, kwargs, asynchronous=False).generate()

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        request = self._request(messages, stop, run_manager, kwargs, asynchronous=True)
        return await request.agenerate()

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        return self._request(messages, stop, run_manager, kwargs, asynchronous=False).stream()

    def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        return self._request(messages, stop, run_manager, kwargs, asynchronous=True).astream()


async def _only(value: LanguageModelInput) -> AsyncIterator[LanguageModelInput]:
    yield value
