"""Guarded LLMs for LlamaIndex."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    LLMMetadata,
)
from llama_index.core.llms import LLM
from llama_index.core.llms.callbacks import (
    llm_chat_callback,  # pyright: ignore[reportUnknownVariableType] - has no types
    llm_completion_callback,  # pyright: ignore[reportUnknownVariableType] - has no types
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.llms.structured_llm import StructuredLLM
from llama_index.core.prompts import PromptTemplate
from llama_index.core.types import Model
from pydantic import BaseModel, Field, PrivateAttr, SerializeAsAny

from resay import Guard, HallucinationBlocked, Policy
from resay.adapters import GuardRuntime, OnVerdict, inside_guard
from resay.adapters.policies import PolicyLike
from resay.adapters.stream_parts import read_parts
from resay.adapters.threads import ASYNC, BLOCKING, CallStyle, iterate_in_place, run_in_place
from resay.errors import ConfigurationError
from resay_llamaindex._callers import caller_for
from resay_llamaindex._outcome import (
    Recorder,
    ResponseStream,
    last_raw,
    outcome,
    with_verdict,
    without_verdicts,
)
from resay_llamaindex._policies import guarding
from resay_llamaindex._queries import QueryFactory
from resay_llamaindex._requests import Chat, Completing, LLMRequest, Predicting

if TYPE_CHECKING:
    from llama_index.core.tools.types import BaseTool


class GuardedStructuredLLM(StructuredLLM):
    """A `StructuredLLM` around a guarded LLM, whose responses carry their verdicts.

    Objects are compared with those of the samples field by field. Withholding an object raises
    `HallucinationBlocked`, because no message could replace it. A stream yields the whole object at
    once.
    """

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises this LLM."""
        return "guarded_structured_llm"

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Request an object, check it and act."""
        return run_in_place(self._guarded_call(BLOCKING, messages, kwargs))

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Async version of `chat`."""
        return await self._guarded_call(ASYNC, messages, kwargs)

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """Do what `chat` does, as a stream of one response."""
        return iterate_in_place(self._streamed(BLOCKING, messages, kwargs))

    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> ChatResponseAsyncGen:
        """Async version of `stream_chat`."""
        return self._streamed(ASYNC, messages, kwargs)

    async def _guarded_call(
        self, style: CallStyle, messages: Sequence[ChatMessage], kwargs: Mapping[str, Any]
    ) -> ChatResponse:
        metadata: dict[str, Any] = {}
        # A plain `StructuredLLM`, around an LLM that reports its verdict here.
        guarded = cast("GuardedLLM", self.llm).notifying(metadata.update)
        structured_llm = StructuredLLM(llm=guarded, output_cls=self.output_cls)
        response = await style.either(
            partial(structured_llm.chat, messages, **kwargs),
            partial(structured_llm.achat, messages, **kwargs),
        )
        return with_verdict(response, metadata) if metadata else response

    async def _streamed(
        self, style: CallStyle, messages: Sequence[ChatMessage], kwargs: Mapping[str, Any]
    ) -> AsyncGenerator[ChatResponse, None]:
        yield await self._guarded_call(style, messages, kwargs)


Listener = Callable[[dict[str, Any]], None]


class GuardedResponder:
    """Returns checked responses.

    Args:
        queries: Creates queries and sources.
        listener: Called with each verdict, which is then left out of messages.
        answers_only: Whether to check only a chat engine's answers, not its intermediate requests.
            Engines request answers with messages, or with prompts that are formatted already.
    """

    def __init__(
        self, queries: QueryFactory, listener: Listener | None = None, *, answers_only: bool = False
    ) -> None:
        self.queries = queries
        self._listener = listener
        self._answers_only = answers_only

    async def ask(self, style: CallStyle, request: LLMRequest) -> Any:
        """Return a response, or an object.

        Raises:
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`, or the
                answer is an object, which no message could replace.
        """
        formatted = not isinstance(request, Completing) or request.formatted
        if inside_guard() or (self._answers_only and not formatted):
            return await self._unguarded(style, request)
        recorder = Recorder(self._listener)
        context, sources = self.queries.context_and_sources(request, caller_for(style))
        with recorder.watching():
            answer = await style.run(GuardRuntime(self.queries.guard).aask_with, context, sources)
        data = recorder.record(answer)
        if not isinstance(request, Predicting):
            return outcome(request.response, answer, data, in_message=self._in_message)
        if answer.blocked:
            raise HallucinationBlocked(answer.verdict)
        return last_raw(answer)

    async def stream(self, style: CallStyle, request: Chat | Completing) -> Any:
        """Return a streamed response, as a generator of the caller's kind."""
        if inside_guard():
            return await self._unguarded(style, request, "stream_")
        # Created now, because the stream may be read elsewhere.
        responses = self._responses(style, request, Recorder(self._listener))
        return iterate_in_place(responses) if style.blocking else responses

    async def _responses(
        self, style: CallStyle, request: Chat | Completing, recorder: Recorder
    ) -> AsyncGenerator[Any, None]:
        showing = ResponseStream(request.response, recorder, in_message=self._in_message)
        context, sources = self.queries.context_and_sources(request, caller_for(style))
        stream = GuardRuntime(self.queries.guard).astream_with(
            context, sources, every_chunk=True, explained=False
        )
        with recorder.watching():
            async with aclosing(read_parts(style, stream, recorder.around())) as parts:
                async for part in parts:
                    for response in showing.show(part):
                        yield response

    async def _unguarded(self, style: CallStyle, request: LLMRequest, prefix: str = "") -> Any:
        prefix = prefix if style.blocking else f"a{prefix}"
        return await style.call(request.to, self.queries.llm, prefix)

    @property
    def _in_message(self) -> bool:
        return self._listener is None


F = TypeVar("F", bound=Callable[..., Any])


# How an LLM transforms prompts before it sends them. The guarded LLM does this in its place.
_PROMPTING = (
    "completion_to_prompt",
    "messages_to_prompt",
    "output_parser",
    "pydantic_program_mode",
    "query_wrapper_prompt",
    "system_prompt",
)


def _observed_chat(method: F) -> F:
    return cast("F", llm_chat_callback()(method))


def _observed_completion(method: F) -> F:
    return cast("F", llm_completion_callback()(method))


class GuardedLLM(FunctionCallingLLM):
    """An LLM whose answers are checked and acted on according to a policy.

    Use it wherever LlamaIndex takes an LLM: in `Settings.llm`, query engines, chat engines and
    agents. Responses and messages carry verdicts in `additional_kwargs["hallucination"]`; read them
    with `verdict_of`. Every verdict is also dispatched as a `HallucinationVerdictEvent`. Calls
    inside have the instrumentation tag `resay`: `main`, `sample` or `judge`.

    Inside another guard, it does nothing.

    Args:
        llm: The LLM to guard.
        policy: A policy, a path to a policy file, a mapping with the same contents, or a `Guard`.
            None uses the policy that `RESAY_POLICY` names, or the default.
        retriever: Finds documents for a policy that regenerates: an index or a retriever of
            LlamaIndex, or anything else that `as_retriever` accepts. It replaces the policy's
            retriever.
        on_verdict: Called with each `resay.Verdict`, including those on withheld and skipped
            answers: in the calling thread or event loop, before the call returns; for a stream, at
            its end. If it is async, it is awaited. Its exceptions are logged.
        **kwargs: Further fields of LlamaIndex's LLMs, such as `callback_manager`.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy needs something that this LLM cannot provide, or it
            regenerates and has no retriever.

    Example:
        ```python
        llm = GuardedLLM(OpenAI(model="gpt-4.1-mini"), {"chain": [{"method": "ngram"}]})
        response = llm.chat([ChatMessage("Who designed the Sydney Harbour Bridge?")])
        verdict = verdict_of(response)
        ```
    """

    llm: SerializeAsAny[LLM] = Field(description="The LLM that is guarded.")
    policy: Policy = Field(description="What is checked, and what is done about it.")

    _responder: GuardedResponder = PrivateAttr()

    def __init__(
        self,
        llm: LLM,
        policy: PolicyLike = None,
        *,
        retriever: object = None,
        on_verdict: OnVerdict | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(llm, LLM):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
            raise ConfigurationError(
                f"GuardedLLM takes an LLM of LlamaIndex, not {type(llm).__name__!r}"
            )
        guard = guarding(policy, retriever, on_verdict)
        prompting = {name: getattr(llm, name) for name in _PROMPTING}
        super().__init__(llm=llm, policy=guard.policy, **{**prompting, **kwargs})
        self._responder = GuardedResponder(QueryFactory(guard, llm))

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises this LLM."""
        return "guarded_llm"

    @property
    def metadata(self) -> LLMMetadata:
        """The metadata of the LLM inside."""
        return self.llm.metadata

    @property
    def guard(self) -> Guard:
        """The guard that checks answers and acts on verdicts."""
        return self._responder.queries.guard

    def notifying(self, listener: Listener, *, answers_only: bool = False) -> GuardedLLM:
        """Return a copy that passes verdicts to a listener and leaves them out of messages.

        Args:
            listener: Called with each verdict.
            answers_only: As for `GuardedResponder`.
        """
        copy = self.model_copy()
        answers = GuardedResponder(self._responder.queries, listener, answers_only=answers_only)
        copy._responder = answers  # noqa: SLF001 - a copy of this class
        return copy

    @_observed_chat
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Chat, check and act.

        Args:
            messages: The conversation; not changed.
            **kwargs: Further arguments for the LLM inside.

        Returns:
            The LLM's response, or the policy's message if it is withheld.

        Raises:
            HallucinationBlocked: The answer was withheld and the policy says `exit: raise`.
            DeadlineExceededError: No answer arrived within `limits.deadline_s`.
            Exception: Anything that the LLM inside raises.
        """
        request = Chat(without_verdicts(messages), kwargs)
        return run_in_place(self._responder.ask(BLOCKING, request))

    @_observed_chat
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Async version of `chat`."""
        request = Chat(without_verdicts(messages), kwargs)
        return await self._responder.ask(ASYNC, request)

    @_observed_chat
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """Stream the response, checked as the policy's `stream_mode` says.

        Args:
            messages: The conversation; not changed.
            **kwargs: Further arguments for the LLM inside.

        Returns:
            Responses with all the text so far. The last one adds no text of the answer and carries
            its verdict; if the answer was withheld, it holds only the policy's message. Iterating
            raises the exceptions of `chat`.
        """
        request = Chat(without_verdicts(messages), kwargs)
        return run_in_place(self._responder.stream(BLOCKING, request))

    @_observed_chat
    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> ChatResponseAsyncGen:
        """Async version of `stream_chat`."""
        request = Chat(without_verdicts(messages), kwargs)
        return await self._responder.stream(ASYNC, request)

    @_observed_completion
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Complete a prompt, check and act; see `chat`."""
        request = Completing(prompt, formatted, kwargs)
        return run_in_place(self._responder.ask(BLOCKING, request))

    @_observed_completion
    async def acomplete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        """Async version of `complete`."""
        request = Completing(prompt, formatted, kwargs)
        return await self._responder.ask(ASYNC, request)

    @_observed_completion
    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseGen:
        """Complete a prompt and stream the result; see `stream_chat`."""
        request = Completing(prompt, formatted, kwargs)
        return run_in_place(self._responder.stream(BLOCKING, request))

    @_observed_completion
    async def astream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseAsyncGen:
        """Async version of `stream_complete`."""
        request = Completing(prompt, formatted, kwargs)
        return await self._responder.stream(ASYNC, request)

    def structured_predict(
        self,
        output_cls: type[Model],
        prompt: PromptTemplate,
        llm_kwargs: dict[str, Any] | None = None,
        **prompt_args: Any,
    ) -> Model:
        """Predict an object, check it field by field and act.

        The LLM inside decides how to request it: with a schema, a tool or a prompt.

        Args:
            output_cls: The class of the object.
            prompt: The prompt.
            llm_kwargs: Further arguments for the LLM inside.
            **prompt_args: The values of the prompt's variables.

        Returns:
            The object. Its verdict is dispatched as an event.

        Raises:
            HallucinationBlocked: The object was withheld; no message could replace it.
            Exception: Anything that the LLM inside raises.
        """
        request = Predicting(output_cls, prompt, prompt_args, llm_kwargs or {})
        return run_in_place(self._responder.ask(BLOCKING, request))

    async def astructured_predict(
        self,
        output_cls: type[Model],
        prompt: PromptTemplate,
        llm_kwargs: dict[str, Any] | None = None,
        **prompt_args: Any,
    ) -> Model:
        """Async version of `structured_predict`."""
        request = Predicting(output_cls, prompt, prompt_args, llm_kwargs or {})
        return await self._responder.ask(ASYNC, request)

    def stream_structured_predict(
        self,
        output_cls: type[Model],
        prompt: PromptTemplate,
        llm_kwargs: dict[str, Any] | None = None,
        **prompt_args: Any,
    ) -> Generator[Model, None, None]:
        """Do what `structured_predict` does. The whole object comes at once, once it is checked."""
        yield self.structured_predict(output_cls, prompt, llm_kwargs, **prompt_args)

    async def astream_structured_predict(
        self,
        output_cls: type[Model],
        prompt: PromptTemplate,
        llm_kwargs: dict[str, Any] | None = None,
        **prompt_args: Any,
    ) -> AsyncGenerator[Model, None]:
        """Async version of `stream_structured_predict`."""

        async def whole() -> AsyncGenerator[Model, None]:
            yield await self.astructured_predict(output_cls, prompt, llm_kwargs, **prompt_args)

        return whole()

    def as_structured_llm(self, output_cls: type[BaseModel], **kwargs: Any) -> GuardedStructuredLLM:
        """Return an LLM that responds with objects and their verdicts."""
        return GuardedStructuredLLM(llm=self, output_cls=output_cls, **kwargs)

    def _prepare_chat_with_tools(
        self,
        tools: Sequence[BaseTool],
        user_msg: str | ChatMessage | None = None,
        chat_history: list[ChatMessage] | None = None,
        verbose: bool = False,
        allow_parallel_tool_calls: bool = False,
        tool_required: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        return self._function_calling._prepare_chat_with_tools_compat(  # noqa: SLF001 - of its class
            tools,
            user_msg=user_msg,
            # A copy, because LLMs append to it.
            chat_history=list(chat_history) if chat_history else None,
            verbose=verbose,
            allow_parallel_tool_calls=allow_parallel_tool_calls,
            tool_required=tool_required,
            **kwargs,
        )

    def _validate_chat_with_tools_response(
        self,
        response: ChatResponse,
        tools: Sequence[BaseTool],
        allow_parallel_tool_calls: bool = False,
        **kwargs: Any,
    ) -> ChatResponse:
        return self._function_calling._validate_chat_with_tools_response(  # noqa: SLF001 - of its class
            response, tools, allow_parallel_tool_calls=allow_parallel_tool_calls, **kwargs
        )

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        """Return the tool calls of a response, as parsed by the LLM inside."""
        return self._function_calling.get_tool_calls_from_response(
            response, error_on_no_tool_call=error_on_no_tool_call, **kwargs
        )

    @property
    def _function_calling(self) -> FunctionCallingLLM:
        if not isinstance(self.llm, FunctionCallingLLM):
            raise ConfigurationError(
                f"{type(self.llm).__name__} does not support function calling; guard an LLM that"
                " does, or use a ReActAgent"
            )
        return self.llm
