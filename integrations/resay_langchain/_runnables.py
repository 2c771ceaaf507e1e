"""Guarded chat models, and guards around any other runnable."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
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
from pydantic import PrivateAttr, model_validator

from resay import Guard, Policy
from resay.adapters import (
    OnVerdict,
    arelay_stream,
    arelay_verdicts,
    inside_guard,
    relay_stream,
    relay_verdicts,
)
from resay.adapters.models import model_name
from resay.adapters.policies import PolicyLike
from resay.adapters.threads import ASYNC, BLOCKING, CallStyle, iterate_in_place, run_in_place
from resay.errors import ConfigurationError
from resay_langchain._guarded_run import GuardedRun
from resay_langchain._insertion import Rerun, with_guard_inserted
from resay_langchain._inside import Wrapper, check_rerun, check_runnable
from resay_langchain._policies import guarding
from resay_langchain._request import ChatModelRequest, OutputFormat, output_format_in, with_standard
from resay_langchain._runs import RunManager, Runs, Watch, watch_among

# The keyword argument that carries a `_Call` through LangChain's own methods.
_CALL = "resay_call"


@dataclass(frozen=True, slots=True)
class _Call:
    """The context of a call, known before it reaches the model."""

    runs: Runs
    output_format: OutputFormat | None


class GuardedChatModel(BaseChatModel):
    """A chat model whose answers are checked and acted on according to a policy.

    Use it wherever LangChain takes a chat model: in chains, agents and graphs, with tools,
    structured output and streaming. A message carries its verdict in
    `response_metadata["hallucination"]`: the fields of `resay.Verdict` and the `action` taken. The
    verdict is also dispatched as the custom event `resay_verdict`.

    In callbacks and traces, a guarded call is a run named `GuardedChatModel`. It contains the
    answer as the run of a chat model, and samples and judges as `resay:sample` and `resay:judge`.
    Streams do not show those, and show the answer only as the policy's `stream_mode` releases it.
    Withheld text appears only in the prompts of judges' runs.

    Answers that call tools are passed on unchecked. Objects, requested with
    `with_structured_output` or a JSON `response_format`, are compared field by field with the
    samples' objects. In an answer with several content blocks, the text is checked; thoughts,
    images and other content pass through unchanged.

    Attributes:
        model: The chat model inside.
        policy: The policy that answers are checked against.

    Example:
        ```python
        model = GuardedChatModel(ChatOpenAI(model="gpt-4.1-mini"), "policy.yaml")
        message = model.invoke("Who designed the Sydney Harbour Bridge?")
        message.response_metadata["hallucination"]["flagged"]
        ```
    """

    model: BaseChatModel
    policy: Policy

    # The model inside caches its own answers, unless the policy can withhold them. Checked answers
    # are not cached.
    cache: Any = False

    _guard: Guard = PrivateAttr()
    _output_format: OutputFormat | None = PrivateAttr(default=None)
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
            policy: A policy, a path to a policy file, a mapping with the same contents, or a
                `Guard`. None uses the policy that `RESAY_POLICY` names, or the default.
            retriever: Finds documents for a policy that regenerates: a `BaseRetriever`, a
                `VectorStore`, or anything else that `as_retriever` accepts. It replaces the
                policy's retriever.
            on_verdict: Called with each `resay.Verdict`, including those on withheld answers: in
                the calling thread or event loop, before the call returns; for a stream, at its end.
                If it is async, it is awaited. Its exceptions are logged.
            **fields: Further fields of a chat model, such as `tags`. `temperature`, `max_tokens`,
                `stop` and `streaming` are set on a copy of the model inside.

        Raises:
            PolicyError: The policy is not valid.
            ConfigurationError: The model is not a chat model, a field is unknown, the policy needs
                something that this model cannot provide, or it regenerates and has no retriever.
        """
        model = with_standard(model, fields, type(self).model_fields)
        guard = guarding(policy, retriever, on_verdict)
        check_runnable(model, guard)
        self._set_up(model, guard, fields)

    def _set_up(self, model: BaseChatModel, guard: Guard, fields: dict[str, Any]) -> None:
        # A guard inside would check the same answer twice.
        inner = model.model if isinstance(model, GuardedChatModel) else model
        fields = {"callbacks": inner.callbacks, "profile": inner.profile, **fields}
        super().__init__(model=inner, policy=guard.policy, **fields)  # pyright: ignore[reportCallIssue] - pydantic's constructor
        self._guard = guard

    @classmethod
    def around(
        cls, model: BaseChatModel, guard: Guard, output_format: OutputFormat | None
    ) -> GuardedChatModel:
        """Wrap a model inside a runnable that has already been checked as a whole."""
        guarded = cls.__new__(cls)
        guarded._set_up(model, guard, {})  # noqa: SLF001 - an instance of this class
        guarded._output_format = output_format  # noqa: SLF001 - an instance of this class
        return guarded

    @property
    def model_name(self) -> str | None:
        """The name of the model inside, from whichever field its class uses."""
        return model_name(self.model)

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
        # Delegate other attributes to the model inside: `temperature`, for example.
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
        """Return a copy that reports to a watch, and leaves raising to it.

        Args:
            watch: Receives verdicts, and collects documents.
            object_tools: The tools whose arguments are the answer.
        """
        copy = self.model_copy()
        copy._watch, copy._object_tools = watch, object_tools  # noqa: SLF001 - a copy of this class
        return copy

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools to the model inside, and guard the result; see the model's documentation.

        Raises:
            NotImplementedError: The model inside does not support tools.
        """
        bound = self.model.bind_tools(tools, **kwargs)
        guarded = with_guard_inserted(
            bound, lambda model, _: self.model_copy(update={"model": model})
        )
        assert guarded is not None  # noqa: S101 - it holds the model
        return cast("Runnable[LanguageModelInput, AIMessage]", guarded)

    def with_structured_output(
        self, schema: dict[str, Any] | type, **kwargs: Any
    ) -> Runnable[LanguageModelInput, dict[str, Any] | Any]:
        """Request objects from the model inside, and guard them; see the model's documentation.

        Objects are compared with the samples' objects field by field. No message could replace a
        withheld object, so withholding one always raises; with `include_raw=True`, the error is
        under `parsing_error` instead, unless the policy says `exit: raise`.

        Raises:
            NotImplementedError: The model inside does not support structured output.
        """
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
        """Call the model, check the answer and act.

        Args:
            input: The conversation.
            config: LangChain's configuration.
            stop: The strings at which the model stops.
            **kwargs: Further arguments for the model inside.

        Returns:
            The message, or the policy's message if it is withheld.

        Raises:
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
            DeadlineExceededError: No answer arrived within `limits.deadline_s`.
            Exception: Anything that the model inside raises.
        """
        if inside_guard():
            return self.model.invoke(input, config, stop=stop, **kwargs)
        with relay_verdicts():
            return self._call_with_config(self._invoke_run, input, config, stop=stop, **kwargs)

    def _invoke_run(
        self,
        value: LanguageModelInput,
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> AIMessage:
        run_config, call = self._start(run_manager, config, kwargs)
        return super().invoke(value, run_config, **{_CALL: call}, **kwargs)

    async def ainvoke(
        self,
        input: LanguageModelInput,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Async version of `invoke`."""
        if inside_guard():
            return await self.model.ainvoke(input, config, stop=stop, **kwargs)
        async with arelay_verdicts():
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
        run_config, call = self._start(run_manager, config, kwargs)
        return await super().ainvoke(value, run_config, **{_CALL: call}, **kwargs)

    def stream(
        self,
        input: LanguageModelInput,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> Iterator[AIMessageChunk]:
        """Like `invoke`, but stream the answer as the policy's `stream_mode` says."""
        if inside_guard():
            yield from self.model.stream(input, config, stop=stop, **kwargs)
            return
        chunks = self._transform_stream_with_config(
            iter([input]), self._stream_run, config, stop=stop, **kwargs
        )
        # LangChain types the chunks like the result of `invoke`.
        yield from cast("Iterator[AIMessageChunk]", relay_stream(chunks))

    def _stream_run(
        self,
        inputs: Iterator[LanguageModelInput],
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Iterator[AIMessageChunk]:
        run_config, call = self._start(run_manager, config, kwargs)
        for value in inputs:
            yield from super().stream(value, run_config, **{_CALL: call}, **kwargs)

    async def astream(
        self,
        input: LanguageModelInput,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[AIMessageChunk]:
        """Async version of `stream`."""
        if inside_guard():
            chunks = self.model.astream(input, config, stop=stop, **kwargs)
        else:
            chunks = arelay_stream(
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
        run_config, call = self._start(run_manager, config, kwargs)
        async for value in inputs:
            async for chunk in super().astream(value, run_config, **{_CALL: call}, **kwargs):
                yield chunk

    def _start(
        self, run_manager: RunManager, config: RunnableConfig, kwargs: Mapping[str, Any]
    ) -> tuple[RunnableConfig, _Call]:
        """Return the configuration of the answer's run, and the context of the call."""
        runs = Runs(run_manager, config)
        run_config = patch_config(config, callbacks=runs.child(), run_name=self.model.get_name())
        return run_config, _Call(runs, self._output_format or output_format_in(kwargs))

    def _request(
        self,
        style: CallStyle,
        messages: list[BaseMessage],
        stop: list[str] | None,
        run_manager: RunManager | None,
        kwargs: dict[str, Any],
    ) -> ChatModelRequest:
        call: _Call | None = kwargs.pop(_CALL, None)
        runs = call.runs if call else Runs(run_manager, None)
        return ChatModelRequest(
            guard=self._guard,
            model=self.model,
            messages=messages,
            kwargs={**kwargs, "stop": stop} if stop else kwargs,
            output_format=(call.output_format if call else self._output_format) or "text",
            object_tools=self._object_tools,
            runs=runs,
            watch=self._watch or watch_among(runs.handlers),
            style=style,
        )

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return run_in_place(self._request(BLOCKING, messages, stop, run_manager, kwargs).generate())

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await self._request(ASYNC, messages, stop, run_manager, kwargs).generate()

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        return iterate_in_place(
            self._request(BLOCKING, messages, stop, run_manager, kwargs).stream()
        )

    def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        return self._request(ASYNC, messages, stop, run_manager, kwargs).stream()


async def _only(value: Any) -> AsyncIterator[Any]:
    yield value


def guard_runnable(
    runnable: Runnable[Any, Any],
    policy: PolicyLike = None,
    *,
    retriever: object = None,
    on_verdict: OnVerdict | None = None,
) -> Runnable[Any, Any]:
    """Guard any runnable whose output a chat model writes.

    In a chain, samples are drawn only from the model that writes the output, with the same input;
    the steps before it run once. If that model cannot be determined, because a function calls it,
    the whole runnable runs again for each sample: in that case, guard only runnables without side
    effects.

    Args:
        runnable: A chat model, or any runnable composed around one.
        policy: A policy, a path to a policy file, a mapping with the same contents, or a `Guard`.
            None uses the policy that `RESAY_POLICY` names, or the default.
        retriever: Finds documents for a policy that regenerates: a `BaseRetriever`, a
            `VectorStore`, or anything else that `as_retriever` accepts. It replaces the policy's
            retriever.
        on_verdict: As for `GuardedChatModel`.

    Returns:
        A `GuardedChatModel` for a chat model, a `GuardedRunnable` for anything else. Both accept
        the same input and return the same kind of output as the original.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that this runnable cannot provide, or it
            regenerates and has no retriever.

    Example:
        ```python
        chain = guard_runnable(prompt | model, {"chain": [{"method": "ngram"}]})
        message = chain.invoke({"question": "Who designed the Sydney Harbour Bridge?"})
        message.response_metadata["hallucination"]["flagged"]
        ```
    """
    if not isinstance(runnable, Runnable):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise ConfigurationError(
            f"guard_runnable() takes a LangChain runnable, not {type(runnable).__name__!r}"
        )
    if isinstance(runnable, BaseChatModel):
        return GuardedChatModel(runnable, policy, retriever=retriever, on_verdict=on_verdict)
    return GuardedRunnable(runnable=runnable, guard=guarding(policy, retriever, on_verdict))


class GuardedRunnable(Wrapper):
    """A runnable whose output is checked and acted on according to a policy.

    A message carries its verdict in `response_metadata["hallucination"]`, and a mapping under the
    key `hallucination`; plain texts and objects have no place for one. In every case, the verdict
    is dispatched as the custom event `resay_verdict`, which `VerdictCollector`, other callbacks and
    `astream_events` receive.

    No message could replace a withheld object, so withholding one raises `HallucinationBlocked`
    regardless of `exit`. An output with `parsing_error`, from `with_structured_output(…,
    include_raw=True)`, holds the error there instead.

    Inside a guarded model, or a runnable that runs again, further guards do nothing.

    Attributes:
        runnable: The runnable inside.
        guard: The guard that checks outputs and acts on verdicts.
    """

    guard: Guard

    _guarded: Runnable[Any, Any] = PrivateAttr()

    @model_validator(mode="after")
    def _must_be_able_to(self) -> GuardedRunnable:
        # First, because its error for several models does not depend on the policy.
        inside = with_guard_inserted(
            self.runnable,
            lambda model, output_format: GuardedChatModel.around(model, self.guard, output_format),
        )
        check_runnable(self.runnable, self.guard)
        if inside is None:
            check_rerun(self.runnable, self.guard)
            inside = Rerun(runnable=self.runnable, guard=self.guard)
        self._guarded = inside
        return self

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        """Run the runnable, check its output and act.

        Args:
            input: The input of the runnable inside.
            config: LangChain's configuration, which is also passed to the runnable inside.
            **kwargs: Further arguments for the runnable inside.

        Returns:
            The output, or the policy's message if it is withheld.

        Raises:
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
            DeadlineExceededError: No answer arrived within `limits.deadline_s`.
            Exception: Anything that the runnable inside raises.
        """
        if inside_guard():
            return self.runnable.invoke(input, config, **kwargs)
        with relay_verdicts():
            return self._call_with_config(self._run, input, config, **kwargs)

    def _run(
        self,
        value: Any,
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        run = GuardedRun(self.guard, run_manager, config)
        with run.explaining():
            output = self._guarded.invoke(value, run.config, **kwargs)
        return run.finished(output)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        """Async version of `invoke`."""
        if inside_guard():
            return await self.runnable.ainvoke(input, config, **kwargs)
        async with arelay_verdicts():
            return await self._acall_with_config(self._arun, input, config, **kwargs)

    async def _arun(
        self,
        value: Any,
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        run = GuardedRun(self.guard, run_manager, config)
        with run.explaining():
            output = await self._guarded.ainvoke(value, run.config, **kwargs)
        return run.finished(output)

    def transform(
        self,
        input: Iterator[Any],  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Iterator[Any]:
        """Like `invoke`, but stream the output as the policy's `stream_mode` says."""
        if inside_guard():
            yield from self.runnable.transform(input, config, **kwargs)
            return
        yield from relay_stream(
            self._transform_stream_with_config(input, self._transform, config, **kwargs)
        )

    def _transform(
        self,
        inputs: Iterator[Any],
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Iterator[Any]:
        run = GuardedRun(self.guard, run_manager, config)
        yield from iterate_in_place(
            run.shown(BLOCKING, self._guarded.transform(inputs, run.config, **kwargs))
        )

    def stream(
        self,
        input: Any,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Iterator[Any]:
        """Like `transform`, but for a complete input."""
        yield from self.transform(iter([input]), config, **kwargs)

    async def atransform(
        self,
        input: AsyncIterator[Any],  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """Async version of `transform`."""
        if inside_guard():
            chunks = self.runnable.atransform(input, config, **kwargs)
        else:
            chunks = arelay_stream(
                self._atransform_stream_with_config(input, self._atransform, config, **kwargs)
            )
        async for chunk in chunks:
            yield chunk

    async def _atransform(
        self,
        inputs: AsyncIterator[Any],
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        run = GuardedRun(self.guard, run_manager, config)
        chunks = self._guarded.atransform(inputs, run.config, **kwargs)
        async with aclosing(run.shown(ASYNC, chunks)) as pieces:
            async for chunk in pieces:
                yield chunk

    async def astream(
        self,
        input: Any,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """Async version of `stream`."""
        async for chunk in self.atransform(_only(input), config, **kwargs):
            yield chunk
