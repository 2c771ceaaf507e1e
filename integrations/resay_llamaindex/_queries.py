"""The queries and sources of guarded LLMs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from llama_index.core.llms import LLM
from llama_index.core.llms.structured_llm import StructuredLLM

from resay import Guard, Query, Sources
from resay.adapters import CheckContext, Regenerate
from resay.adapters.models import tool_name
from resay.adapters.upstream import UnmappedError, litellm_provider
from resay.errors import ConfigurationError, MissingDependencyError
from resay.plugins import Provider
from resay_llamaindex._callers import Caller
from resay_llamaindex._litellm import connection_of, is_openai, mapped_query
from resay_llamaindex._providers import LLMProvider, RefusingProvider, StreamingProvider
from resay_llamaindex._requests import (
    Chat,
    Completing,
    Predicting,
    Request,
    asked_message,
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
        self._reason = self._native_reason()
        _check_chain(guard, llm)

    def _native_reason(self) -> str | None:
        """Return the reason why samples cannot go through litellm, or None if they can."""
        if self._policy.sampling.via == "native":
            if self._policy.sampling.model is not None:
                raise ConfigurationError(
                    f"`sampling.model` is {self._policy.sampling.model!r}, which is called through"
                    " litellm; omit `via: native`"
                )
            return "the policy says `via: native`"
        try:
            connection_of(self.llm, {})
            litellm_provider()
        except (UnmappedError, MissingDependencyError) as error:
            if self._policy.sampling.via == "litellm" and self._policy.sampling.model is None:
                raise ConfigurationError(
                    f"`sampling.via` is 'litellm', but {error}; leave it out, or name a"
                    " `sampling.model`"
                ) from error
            return str(error)
        return None

    def context(self, request: Request) -> CheckContext:
        """Return a request as the guard sees it."""
        query = self._mapped(request)
        if query is None:
            query = Query(self._messages(request), None, self._params(request))
        context = CheckContext(
            query,
            structured=isinstance(request, Predicting) or isinstance(self.llm, StructuredLLM),
            object_tools=_object_tools(request),
        )
        return self.guard.with_skip_reason(context)

    def _mapped(self, request: Request) -> Query | None:
        if self._reason is not None:
            return None
        try:
            return mapped_query(request, self.llm)
        except UnmappedError:
            return None

    def _params(self, request: Request) -> dict[str, Any]:
        """Return the parameters of a request that affect how it is checked."""
        own: Mapping[str, Any] = getattr(self.llm, "additional_kwargs", None) or {}
        kwargs: dict[str, Any] = {**own, **request.kwargs}
        decisive = {k: kwargs[k] for k in ("response_format", "tools") if kwargs.get(k)}
        # Regeneration sends the same parameters.
        return {**request.kwargs, **decisive} if self._regenerates else decisive

    @property
    def _regenerates(self) -> bool:
        return isinstance(self._policy.action, Regenerate)

    def _messages(self, request: Request) -> tuple[Mapping[str, Any], ...]:
        if isinstance(request, Completing):
            return ({"role": "user", "content": request.prompt},)
        if isinstance(request, Predicting):
            messages = request.template.format_messages(**request.values)
            return tuple(map(readable_message, messages))
        # Rules and judges need only the text; regeneration needs the complete messages.
        read = asked_message if self._regenerates else readable_message
        return tuple(map(read, request.messages))

    def sources(self, request: Request, query: Query, caller: Caller) -> Sources:
        """Return the providers of answers, samples and judgements for a request.

        Args:
            request: The request.
            query: The request as the guard sees it.
            caller: How to call the LLM.
        """
        judge = own_judge(self._judges, caller)
        main = LLMProvider(request, self.llm, caller, "main")
        if not isinstance(request, Predicting):
            gives = is_openai(self.llm)
            main = StreamingProvider(request, self.llm, caller, "main", gives_logprobs=gives)
        if query.model is not None or (
            self._policy.sampling.model is not None and not isinstance(request, Predicting)
        ):
            return Sources(main, self._via_litellm(request, query), judge, "litellm")
        return Sources(main, self._native(request, caller), judge)

    def _via_litellm(self, request: Request, query: Query) -> Provider:
        messages = request.messages if isinstance(request, Chat) and query.model is None else ()
        for message in messages:
            if any(block.block_type != "text" for block in message.blocks):
                return RefusingProvider(
                    "a message holds more than text, which cannot be carried over"
                )
        return litellm_provider()

    def _native(self, request: Request, caller: Caller) -> Provider:
        kwargs = sampling_kwargs(request.kwargs, self._sampler, self._policy.sampling)
        if isinstance(request, Predicting) and self._policy.sampling.model is not None:
            return RefusingProvider(
                "structured output mode is left to the LLM, and `sampling.model` is another"
            )
        return LLMProvider(with_kwargs(request, kwargs), self._sampler, caller, "sample")


def _object_tools(request: Request) -> tuple[str, ...]:
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
    guard.require_inputs({"references": f"{engine} leave `evidence: references` out"})
    if not is_openai(llm):
        kind = type(llm).__name__
        remedy = f", which {kind} may not return; guard an OpenAI, OpenAILike or AzureOpenAI"
        guard.require_inputs({"logprobs": remedy})
