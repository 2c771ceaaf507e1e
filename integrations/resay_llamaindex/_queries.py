"""The queries and sources of guarded LLMs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from llama_index.core.llms import LLM
from llama_index.core.llms.structured_llm import StructuredLLM

from resay import Guard, Request, Sources
from resay.adapters import CallLog, CheckContext, GuardRuntime, source_of
from resay.adapters.models import tool_name
from resay.adapters.policies import check_via
from resay.adapters.upstream import UnmappedError, litellm_provider
from resay.errors import MissingDependencyError
from resay.plugins import Provider
from resay_llamaindex._callers import Caller
from resay_llamaindex._litellm import is_openai, mapped_request, source_of_llm
from resay_llamaindex._providers import (
    LLMProvider,
    RefusingProvider,
    SampleProvider,
    StreamingProvider,
)
from resay_llamaindex._requests import (
    Chat,
    Completing,
    LLMRequest,
    Predicting,
    asked_message,
    logged_message,
    openai_message,
    readable_message,
    with_kwargs,
)
from resay_llamaindex._samplers import for_sampling, judges_of, own_judge, sampling_kwargs

# How providers spell a `tool_choice` that requires a tool call: any tool, or a specific one.
_FORCED = ("any", "function", "required", "tool")


class QueryFactory:
    """Creates queries and sources for requests to one LLM.

    Args:
        guard: The guard.
        llm: The LLM.

    Raises:
        ConfigurationError: The policy needs something that this LLM cannot provide.
    """

    def __init__(self, guard: Guard, llm: LLM) -> None:
        self.guard = guard
        self.llm = llm
        self._policy = guard.policy
        # Created once, so that their clients keep their connections.
        self._sampler = for_sampling(llm, guard.policy.sampling)
        self._judges = judges_of(llm, guard.policy.sampling)
        self._source = source_of_llm(llm)
        self._takes_openai_params = is_openai(llm)
        check_via(guard.policy.sampling, self._unmapped_reason())
        _check_chain(guard, llm)

    def _unmapped_reason(self) -> str | None:
        """Return the reason why samples cannot go through litellm, or None if they can."""
        if self._policy.sampling.via != "litellm":
            return None
        try:
            mapped_request(self.llm)
            litellm_provider()
        except (UnmappedError, MissingDependencyError) as error:
            return str(error)
        return None

    def context_and_sources(
        self, request: LLMRequest, caller: Caller
    ) -> tuple[CheckContext, Sources]:
        """Return a request as the guard sees it, and the providers that answer for it.

        Args:
            request: The request.
            caller: How to call the LLM.
        """
        guarded_request = self._mapped(request)
        messages: tuple[Mapping[str, Any], ...] = ()
        if guarded_request is None:
            messages = _openai_messages(request)
            guarded_request = Request(
                messages or _readable_messages(request), None, self._params(request)
            )
        context = CheckContext(
            guarded_request,
            calls=_calls_before(request),
            structured=isinstance(request, Predicting) or isinstance(self.llm, StructuredLLM),
            object_tools=_object_tools(request),
        )
        context = GuardRuntime(self.guard).with_skip_reason(context)
        sources = self._sources(request, guarded_request, caller, is_whole=bool(messages))
        return context, sources

    def _mapped(self, request: LLMRequest) -> Request | None:
        if self._policy.sampling.via != "litellm":
            return None
        try:
            return mapped_request(self.llm, request)
        except UnmappedError:
            return None

    def _params(self, request: LLMRequest) -> dict[str, Any]:
        """Return a request's parameters, and those of the LLM that affect how it is checked."""
        own: Mapping[str, Any] = getattr(self.llm, "additional_kwargs", None) or {}
        decisive = {name: own[name] for name in ("response_format", "tools") if own.get(name)}
        return {**decisive, **request.kwargs}

    def _sources(
        self, request: LLMRequest, guarded_request: Request, caller: Caller, *, is_whole: bool
    ) -> Sources:
        """Return the providers of answers, samples and judgements for a request.

        Args:
            request: The request.
            guarded_request: The request as the guard sees it.
            caller: How to call the LLM.
            is_whole: Whether the guard sees all of the request.
        """
        judge = own_judge(
            self._judges,
            caller,
            source=self._source,
            takes_openai_params=self._takes_openai_params,
        )
        main = LLMProvider(request, self.llm, caller, "main")
        if not isinstance(request, Predicting):
            gives = self._takes_openai_params
            main = StreamingProvider(request, self.llm, caller, "main", gives_logprobs=gives)
        names_model = self._policy.sampling.model is not None
        if guarded_request.model is not None or (
            names_model and not isinstance(request, Predicting)
        ):
            return Sources(main, self._via_litellm(request, guarded_request), judge, "litellm")
        samples = self._native(request, caller, is_whole=is_whole)
        return Sources(main, samples, judge, model=self.llm.metadata.model_name)

    def _via_litellm(self, request: LLMRequest, guarded_request: Request) -> Provider:
        messages = (
            request.messages if isinstance(request, Chat) and guarded_request.model is None else ()
        )
        for message in messages:
            if any(block.block_type != "text" for block in message.blocks):
                return RefusingProvider(
                    "a message holds more than text, which cannot be carried over"
                )
        return litellm_provider()

    def _native(self, request: LLMRequest, caller: Caller, *, is_whole: bool) -> Provider:
        if isinstance(request, Predicting) and self._policy.sampling.model is not None:
            return RefusingProvider(
                "structured output mode is left to the LLM, and `sampling.model` is another"
            )
        is_chat = not isinstance(request, Predicting) and self.llm.metadata.is_chat_model
        # If the guard sees the whole request, answers may be cached for others.
        is_cached = is_whole and not isinstance(self.llm, StructuredLLM)
        cache_source = self._source
        if isinstance(request, Completing):
            # The prompt may still be formatted, by any function.
            formatter = source_of(self.llm.completion_to_prompt)
            cache_source = f"{self._source} {formatter} {request.formatted}"
        kwargs = sampling_kwargs(request.kwargs, self._sampler, self._policy.sampling)
        return SampleProvider(
            request=with_kwargs(request, kwargs),
            llm=self._sampler,
            caller=caller,
            role="sample",
            source=self._source,
            cache_source=cache_source if is_cached else None,
            gives_choices=self._takes_openai_params and is_chat,
        )


def _openai_messages(request: LLMRequest) -> tuple[Mapping[str, Any], ...]:
    """Return the whole conversation in OpenAI's format, or nothing if it cannot be converted."""
    if isinstance(request, Completing):
        return ({"role": "user", "content": request.prompt},)
    if isinstance(request, Predicting):
        return ()
    try:
        return tuple(map(openai_message, request.messages))
    except UnmappedError:
        return ()


def _calls_before(request: LLMRequest) -> CallLog | None:
    """Return the tool calls in a conversation, also where a message cannot be converted."""
    if isinstance(request, (Completing, Predicting)):
        return None
    return CallLog.of(map(logged_message, request.messages))


def _readable_messages(request: LLMRequest) -> tuple[Mapping[str, Any], ...]:
    if isinstance(request, Predicting):
        messages = request.template.format_messages(**request.values)
        return tuple(map(readable_message, messages))
    messages = request.messages if isinstance(request, Chat) else ()
    return tuple(map(asked_message, messages))


def _object_tools(request: LLMRequest) -> tuple[str, ...]:
    """Return the one tool on offer if it must be called: its arguments are the answer."""
    tools: object = request.kwargs.get("tools")
    choice: object = request.kwargs.get("tool_choice")
    if isinstance(choice, Mapping):
        choice = cast("Mapping[str, object]", choice).get("type")
    if not isinstance(tools, list) or len(cast("list[object]", tools)) != 1:
        return ()
    name = tool_name(cast("list[object]", tools)[0])
    return (name,) if name and choice in _FORCED else ()


def _check_chain(guard: Guard, llm: LLM) -> None:
    engine = ", and an LLM has none; guard the query engine with GuardedQueryEngine, or"
    GuardRuntime(guard).require_inputs({"references": f"{engine} use `evidence: documents`"})
    if not is_openai(llm):
        kind = type(llm).__name__
        remedy = f", which {kind} may not return; guard an OpenAI, OpenAILike or AzureOpenAI"
        GuardRuntime(guard).require_inputs({"logprobs": remedy})
