"""Guarding an LLM."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

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

from resay._internal.event_loops import run_sync
from resay.adapters import OnVerdict, PolicyLike, aparts_of, inside_guard, parts_of
from resay.core.verdict import HallucinationBlocked
from resay.engine.actions import Answer
from resay.engine.stream import AnswerStream
from resay.errors import ConfigurationError
from resay.guard import Guard
from resay.policy import Policy
from resay_llamaindex._asking import Asking
from resay_llamaindex._outcome import (
    Recorder,
    Showing,
    last_raw,
    outcome,
    with_verdict,
    without_verdicts,
)
from resay_llamaindex._policies import guarding
from resay_llamaindex._providers import InLoop, InThreads, Way
from resay_llamaindex._requests import Chat, Completing, Predicting, Request

if TYPE_CHECKING:
    from llama_index.core.tools.types import BaseTool


class _Notifying(Protocol):
    def notifying(self, listener: Callable[[dict[str, Any]], None]) -> LLM: ...


class GuardedStructuredLLM(StructuredLLM):
    """A `StructuredLLM` around a guarded LLM, whose responses come with their verdicts.

    An object is compared field by field with those of the samples. One that is withheld raises
    `HallucinationBlocked`, because nothing else would be an object. A stream gives the whole object
    at once.
    """

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex stores it."""
        return "guarded_structured_llm"

    def _notifying(self, found: dict[str, Any]) -> StructuredLLM:
        guarded = cast("_Notifying", self.llm).notifying(found.update)
        return StructuredLLM(llm=guarded, output_cls=self.output_cls)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Ask for an object, check it and act."""
        found: dict[str, Any] = {}
        return _with(self._notifying(found).chat(messages, **kwargs), found)

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Do what `chat` does, on the caller's event loop."""
        found: dict[str, Any] = {}
        return _with(await self._notifying(found).achat(messages, **kwargs), found)

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """Do what `chat` does, in a stream of one response."""
        found: dict[str, Any] = {}
        responses = self._notifying(found).stream_chat(messages, **kwargs)

        def shown() -> Generator[ChatResponse, None, None]:
            for response in responses:
                yield _with(response, found)

        return shown()

    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> ChatResponseAsyncGen:
        """Do what `stream_chat` does, on the caller's event loop."""
        found: dict[str, Any] = {}
        responses = await self._notifying(found).astream_chat(messages, **kwargs)

        async def shown() -> AsyncGenerator[ChatResponse, None]:
            async for response in responses:
                yield _with(response, found)

        return shown()


def _with(response: ChatResponse, found: dict[str, Any]) -> ChatResponse:
    return with_verdict(response, dict(found)) if found else response


R = TypeVar("R", ChatResponse, CompletionResponse)

Listener = Callable[[dict[str, Any]], None]


class Answering:
    """Gives checked responses.

    Args:
        asking: Makes queries and sources.
        listener: Who is notified of verdicts, in place of finding them in messages.
    """

    def __init__(self, asking: Asking, listener: Listener | None = None) -> None:
        self._asking = asking
        self._listener = listener

    @property
    def guard(self) -> Guard:
        """Who checks and acts."""
        return self._asking.guard

    def notifying(self, listener: Listener) -> Answering:
        """Return the same with a listener."""
        return Answering(self._asking, listener)

    def ask(self, kind: type[R], request: Chat | Completing) -> R:
        """Return a response of the class `kind`.

        Raises:
            HallucinationBlocked: It was withheld and the policy says `exit: raise`.
        """
        told = Recorder(self._listener)
        answer = self._run(request, told)
        return outcome(kind, answer, told.record(answer), in_message=self._in_message)

    async def aask(self, kind: type[R], request: Chat | Completing) -> R:
        """Do what `ask` does, on this event loop."""
        told = Recorder(self._listener)
        answer = await self._arun(request, told)
        return outcome(kind, answer, told.record(answer), in_message=self._in_message)

    def stream(self, kind: type[R], request: Chat | Completing) -> Generator[R, None, None]:
        """Return a response in pieces."""
        # Now, because the pieces may be read elsewhere.
        return self._shown(kind, request, Recorder(self._listener))

    def astream(self, kind: type[R], request: Chat | Completing) -> AsyncGenerator[R, None]:
        """Return a response in pieces, for this event loop."""
        return self._ashown(kind, request, Recorder(self._listener))

    def predict(self, request: Predicting) -> object:
        """Return an object.

        Raises:
            HallucinationBlocked: It was withheld; there is no object to give in its place.
        """
        told = Recorder(self._listener)
        return _object_in(self._run(request, told), told)

    async def apredict(self, request: Predicting) -> object:
        """Do what `predict` does, on this event loop."""
        told = Recorder(self._listener)
        return _object_in(await self._arun(request, told), told)

    @property
    def _in_message(self) -> bool:
        return self._listener is None

    def _run(self, request: Request, told: Recorder) -> Answer:
        query = self._asking.query(request)
        sources = self._asking.sources(request, query, InThreads())
        with told.watching():
            return run_sync(self.guard.arun, query, sources)

    async def _arun(self, request: Request, told: Recorder) -> Answer:
        query = self._asking.query(request)
        sources = self._asking.sources(request, query, InLoop())
        with told.watching():
            return await self.guard.arun(query, sources)

    def _shown(
        self, kind: type[R], request: Chat | Completing, told: Recorder
    ) -> Generator[R, None, None]:
        showing = Showing(kind, told, in_message=self._in_message)
        stream = self._open(request, InThreads())
        with told.watching(), closing(parts_of(stream, told.around())) as parts:
            for part in parts:
                yield from showing.show(part)

    async def _ashown(
        self, kind: type[R], request: Chat | Completing, told: Recorder
    ) -> AsyncGenerator[R, None]:
        showing = Showing(kind, told, in_message=self._in_message)
        with told.watching():
            stream = self._open(request, InLoop())
            async with aclosing(aparts_of(stream, told.around())) as parts:
                async for part in parts:
                    for response in showing.show(part):
                        yield response

    def _open(self, request: Chat | Completing, way: Way) -> AnswerStream:
        query = self._asking.query(request)
        sources = self._asking.sources(request, query, way)
        return self.guard.arun_stream(query, sources, every_chunk=True)


def _object_in(answer: Answer, told: Recorder) -> object:
    told.record(answer)
    if answer.blocked:
        raise HallucinationBlocked(answer.verdict)
    return last_raw(answer)


F = TypeVar("F", bound=Callable[..., Any])


# What an LLM does to prompts before they are sent is done by whoever is asked from outside.
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
    """An LLM whose answers are checked and acted on as a policy says.

    It stands wherever an LLM does: in `Settings.llm`, query engines, chat engines and agents. Its
    responses come with their verdicts in `additional_kwargs["hallucination"]`, and so do their
    messages; `verdict_of` reads them. Every verdict is dispatched as a `HallucinationVerdictEvent`
    too. What happens inside has the instrumentation tag `resay`: `main`, `sample` or `judge`.

    Inside another guard it does nothing.

    Args:
        llm: The LLM to guard.
        policy: A policy, a path to a policy file, the same as a mapping, or a `Guard`; None for
            the one that `RESAY_POLICY` names, or the default.
        retriever: Where documents are found, for a policy that regenerates: an index or a retriever
            of LlamaIndex's, or whatever else `as_retriever` takes; in place of the one that the
            policy names.
        on_verdict: Called with each `resay.Verdict`, also of answers that are withheld or skipped:
            where the call was made, before it returns; of a stream, at its end. What an async
            function returns is awaited, what it raises is logged.
        **kwargs: Further fields of LlamaIndex's LLMs, such as `callback_manager`.

    Raises:
        PolicyError: The policy is not valid.
        ConfigurationError: The policy asks for what cannot be had of this LLM, or it regenerates
            and there is no retriever.

    Example:
        ```python
        llm = GuardedLLM(OpenAI(model="gpt-4.1-mini"), {"chain": [{"method": "ngram"}]})
        response = llm.chat([ChatMessage("Who designed the Sydney Harbour Bridge?")])
        verdict_of(response).flagged
        ```
    """

    llm: SerializeAsAny[LLM] = Field(description="The LLM that is guarded.")
    policy: Policy = Field(description="What is checked, and what is done about it.")

    _answers: Answering = PrivateAttr()
    _answers_only: bool = PrivateAttr(default=False)

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
        self._answers = Answering(Asking(guard, llm))

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex stores it."""
        return "guarded_llm"

    @property
    def metadata(self) -> LLMMetadata:
        """What the LLM inside can do."""
        return self.llm.metadata

    @property
    def guard(self) -> Guard:
        """Who checks and acts."""
        return self._answers.guard

    def notifying(self, listener: Listener, *, answers_only: bool = False) -> GuardedLLM:
        """Return a copy that reports its verdicts in place of leaving them in messages.

        Args:
            listener: Called with each verdict.
            answers_only: Whether to leave alone what a chat engine asks to find its way. Engines
                ask for answers by messages, or by prompts that are formatted already.
        """
        copy = self.model_copy()
        copy._answers = self._answers.notifying(listener)  # noqa: SLF001 - its own
        copy._answers_only = answers_only  # noqa: SLF001
        return copy

    def _leaves_alone(self, formatted: bool) -> bool:
        return inside_guard() or (self._answers_only and not formatted)

    @_observed_chat
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Chat, check and act.

        Args:
            messages: The conversation; not changed.
            **kwargs: Further arguments for the LLM inside.

        Returns:
            The LLM's response; the policy's message in its place when it is withheld.

        Raises:
            HallucinationBlocked: It was withheld and the policy says `exit: raise`.
            DeadlineExceededError: There was none within `limits.deadline_s`.
            Exception: Whatever the LLM inside raises.
        """
        request = Chat(without_verdicts(messages), kwargs)
        return request.ask(self.llm) if inside_guard() else self._answers.ask(ChatResponse, request)

    @_observed_chat
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Do what `chat` does, on the caller's event loop."""
        request = Chat(without_verdicts(messages), kwargs)
        if inside_guard():
            return await request.aask(self.llm)
        return await self._answers.aask(ChatResponse, request)

    @_observed_chat
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """Hand over the response while it is written, checked as the policy's `stream` says.

        Args:
            messages: The conversation; not changed.
            **kwargs: Further arguments for the LLM inside.

        Returns:
            Responses with all the text so far. The last one adds no text of the answer and has its
            verdict; when the answer was withheld, it holds the policy's message alone. Iterating
            raises what `chat` raises.
        """
        request = Chat(without_verdicts(messages), kwargs)
        if inside_guard():
            return cast("ChatResponseGen", request.stream(self.llm))
        return self._answers.stream(ChatResponse, request)

    @_observed_chat
    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> ChatResponseAsyncGen:
        """Do what `stream_chat` does, on the caller's event loop."""
        request = Chat(without_verdicts(messages), kwargs)
        if inside_guard():
            return cast("ChatResponseAsyncGen", await request.astream(self.llm))
        return self._answers.astream(ChatResponse, request)

    @_observed_completion
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Complete a prompt, check and act; see `chat`."""
        request = Completing(prompt, formatted, kwargs)
        if self._leaves_alone(formatted):
            return request.ask(self.llm)
        return self._answers.ask(CompletionResponse, request)

    @_observed_completion
    async def acomplete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        """Do what `complete` does, on the caller's event loop."""
        request = Completing(prompt, formatted, kwargs)
        if self._leaves_alone(formatted):
            return await request.aask(self.llm)
        return await self._answers.aask(CompletionResponse, request)

    @_observed_completion
    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseGen:
        """Complete a prompt, in pieces; see `stream_chat`."""
        request = Completing(prompt, formatted, kwargs)
        if inside_guard():
            return cast("CompletionResponseGen", request.stream(self.llm))
        return self._answers.stream(CompletionResponse, request)

    @_observed_completion
    async def astream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseAsyncGen:
        """Do what `stream_complete` does, on the caller's event loop."""
        request = Completing(prompt, formatted, kwargs)
        if inside_guard():
            return cast("CompletionResponseAsyncGen", await request.astream(self.llm))
        return self._answers.astream(CompletionResponse, request)

    def structured_predict(
        self,
        output_cls: type[Model],
        prompt: PromptTemplate,
        llm_kwargs: dict[str, Any] | None = None,
        **prompt_args: Any,
    ) -> Model:
        """Predict an object, check it field by field and act.

        It is asked for as the LLM inside does: with a schema, a tool or in words.

        Args:
            output_cls: Its class.
            prompt: The prompt.
            llm_kwargs: Further arguments for the LLM inside.
            **prompt_args: What to fill the prompt with.

        Returns:
            The object. Its verdict is dispatched as an event.

        Raises:
            HallucinationBlocked: It was withheld; there is no object to give in its place.
            Exception: Whatever the LLM inside raises.
        """
        request = Predicting(output_cls, prompt, prompt_args, llm_kwargs or {})
        if inside_guard():
            return cast("Model", request.ask(self.llm))
        return cast("Model", self._answers.predict(request))

    async def astructured_predict(
        self,
        output_cls: type[Model],
        prompt: PromptTemplate,
        llm_kwargs: dict[str, Any] | None = None,
        **prompt_args: Any,
    ) -> Model:
        """Do what `structured_predict` does, on the caller's event loop."""
        request = Predicting(output_cls, prompt, prompt_args, llm_kwargs or {})
        if inside_guard():
            return cast("Model", await request.aask(self.llm))
        return cast("Model", await self._answers.apredict(request))

    def stream_structured_predict(
        self,
        output_cls: type[Model],
        prompt: PromptTemplate,
        llm_kwargs: dict[str, Any] | None = None,
        **prompt_args: Any,
    ) -> Generator[Model, None, None]:
        """Do what `structured_predict` does: the whole object comes at once, once it is checked."""
        yield self.structured_predict(output_cls, prompt, llm_kwargs, **prompt_args)

    async def astream_structured_predict(
        self,
        output_cls: type[Model],
        prompt: PromptTemplate,
        llm_kwargs: dict[str, Any] | None = None,
        **prompt_args: Any,
    ) -> AsyncGenerator[Model, None]:
        """Do what `stream_structured_predict` does, on the caller's event loop."""

        async def whole() -> AsyncGenerator[Model, None]:
            yield await self.astructured_predict(output_cls, prompt, llm_kwargs, **prompt_args)

        return whole()

    def as_structured_llm(self, output_cls: type[BaseModel], **kwargs: Any) -> GuardedStructuredLLM:
        """Return an LLM whose responses are objects, with their verdicts."""
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
        """Return the calls of tools in a response, as the LLM inside reads them."""
        return self._function_calling.get_tool_calls_from_response(
            response, error_on_no_tool_call=error_on_no_tool_call, **kwargs
        )

    @property
    def _function_calling(self) -> FunctionCallingLLM:
        if not isinstance(self.llm, FunctionCallingLLM):
            raise ConfigurationError(
                f"{type(self.llm).__name__} calls no functions; guard an LLM that does, or use a"
                " ReActAgent"
            )
        return self.llm
