"""Asking an LLM under a guard: who answers what, and what the guard is told of the request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from llama_index.core.llms import LLM
from llama_index.core.llms.structured_llm import StructuredLLM

from resay.adapters import UnmappedError, litellm_provider
from resay.core.query import Query
from resay.errors import ConfigurationError, MissingDependencyError
from resay.guard import Guard
from resay.policy import Regenerate
from resay.providers.base import Provider
from resay.providers.routes import Sources
from resay_llamaindex._fresh import for_judging, for_sampling, sampling_kwargs
from resay_llamaindex._litellm import check_mapped, is_openai, mapped_query
from resay_llamaindex._messages import asked_messages, readable_messages
from resay_llamaindex._providers import (
    JudgeProvider,
    LLMProvider,
    RefusingProvider,
    streaming,
)
from resay_llamaindex._requests import Chat, Completing, Predicting, Request, with_kwargs
from resay_llamaindex._ways import Way

__all__ = ["Asking"]

# How providers say that a tool has to be called: one of them, or a certain one.
_FORCED = ("any", "function", "required", "tool")


class Asking:
    """Makes queries and sources for requests to one LLM.

    Args:
        guard: Who checks.
        llm: Who is asked.

    Raises:
        ConfigurationError: The policy asks for what cannot be had of this LLM.
    """

    def __init__(self, guard: Guard, llm: LLM) -> None:
        self.guard = guard
        self._llm = llm
        self._policy = guard.policy
        # Made once, so that their clients keep their connections.
        self._sampler = for_sampling(llm, guard.policy.sampling)
        self._judge = for_judging(llm, guard.policy.sampling)
        self._reason = self._check_way()
        _check_chain(guard, llm)

    def _check_way(self) -> str | None:
        """Return why samples do not go through litellm; None where they do."""
        if self._policy.sampling.via == "native":
            if self._policy.sampling.model is not None:
                raise ConfigurationError(
                    f"`sampling.model` is {self._policy.sampling.model!r}, which is asked through"
                    " litellm; leave `via: native` out"
                )
            return "the policy says `via: native`"
        try:
            check_mapped(self._llm)
            litellm_provider()
        except (UnmappedError, MissingDependencyError) as error:
            if self._policy.sampling.via == "litellm" and self._policy.sampling.model is None:
                raise ConfigurationError(
                    f"`sampling.via` is 'litellm', but {error}; leave it out, or name a"
                    " `sampling.model`"
                ) from error
            return str(error)
        return None

    def query(self, request: Request) -> Query:
        """Return what the guard needs to know of a request."""
        return replace(
            self._mapped(request) or Query(self._messages(request), None, self._params(request)),
            structured=isinstance(request, Predicting) or isinstance(self._llm, StructuredLLM),
            object_tools=_object_tools(request),
        )

    def _mapped(self, request: Request) -> Query | None:
        if self._reason is not None:
            return None
        try:
            return mapped_query(request, self._llm)
        except UnmappedError:
            return None

    def _params(self, request: Request) -> dict[str, Any]:
        """Return what of a request decides how it is checked."""
        further: object = getattr(self._llm, "additional_kwargs", None)
        own = cast("Mapping[str, Any] | None", further) or {}
        asked: dict[str, Any] = {**own, **request.kwargs}
        decisive = {k: asked[k] for k in ("response_format", "tools") if asked.get(k)}
        # Whoever writes the answer again is asked in the same way.
        return {**request.kwargs, **decisive} if self._regenerates else decisive

    @property
    def _regenerates(self) -> bool:
        return isinstance(self._policy.action, Regenerate)

    def _messages(self, request: Request) -> tuple[Mapping[str, Any], ...]:
        if isinstance(request, Completing):
            return ({"role": "user", "content": request.prompt},)
        if isinstance(request, Predicting):
            return readable_messages(request.template.format_messages(**request.values))
        # Read by rules and judges, and asked again in full where the answer may be written again.
        read = asked_messages if self._regenerates else readable_messages
        return read(request.messages)

    def sources(self, request: Request, query: Query, way: Way) -> Sources:
        """Return who answers what.

        Args:
            request: What is asked.
            query: The same, as the guard knows it.
            way: How the LLM is called.
        """
        judge = JudgeProvider(self._judge, way)
        main = self._main(request, way)
        if query.model is not None or (
            self._policy.sampling.model is not None and not isinstance(request, Predicting)
        ):
            return Sources(main, self._elsewhere(request, query), judge, "litellm")
        return Sources(main, self._native(request, way), judge)

    def _main(self, request: Request, way: Way) -> Provider:
        gives = is_openai(self._llm)
        if isinstance(request, Predicting):
            return LLMProvider(request, self._llm, way, "main")
        return streaming(request, self._llm, way, "main", gives_logprobs=gives)

    def _elsewhere(self, request: Request, query: Query) -> Provider:
        if query.model is None and isinstance(request, Chat) and _beyond_text(request):
            return RefusingProvider("a message holds more than text, which cannot be carried over")
        return litellm_provider()

    def _native(self, request: Request, way: Way) -> Provider:
        kwargs = sampling_kwargs(request.kwargs, self._sampler, self._policy.sampling)
        if isinstance(request, Predicting) and self._policy.sampling.model is not None:
            return RefusingProvider(
                "an object is asked for as the LLM itself sees fit, which `sampling.model` is not"
            )
        return LLMProvider(with_kwargs(request, kwargs), self._sampler, way, "sample")


def _object_tools(request: Request) -> tuple[str, ...]:
    """Return the one tool that is offered and has to be called, whose arguments are the answer."""
    tools: object = request.kwargs.get("tools")
    choice: object = request.kwargs.get("tool_choice")
    if isinstance(choice, Mapping):
        choice = cast("Mapping[str, object]", choice).get("type")
    if not isinstance(tools, list) or len(cast("list[object]", tools)) != 1:
        return ()
    name = _tool_name(cast("list[object]", tools)[0])
    return (name,) if name and choice in _FORCED else ()


def _tool_name(tool: object) -> str | None:
    if not isinstance(tool, Mapping):
        return None
    spec = cast("Mapping[str, Any]", tool)
    # OpenAI's shape, or a flat one such as Anthropic's.
    name: object = spec.get("function", spec).get("name")
    return name if isinstance(name, str) else None


def _beyond_text(request: Chat) -> bool:
    return any(block.block_type != "text" for m in request.messages for block in m.blocks)


def _check_chain(guard: Guard, llm: LLM) -> None:
    if method := guard.needing("references"):
        raise ConfigurationError(
            f"method {method!r} compares with references, and an LLM has none to give; guard the"
            " query engine with GuardedQueryEngine, or leave `evidence: references` out"
        )
    method = guard.needing("logprobs")
    if method and not is_openai(llm):
        raise ConfigurationError(
            f"method {method!r} looks at the probabilities of the response's tokens, which are not"
            f" known to be had from {type(llm).__name__}; guard an OpenAI, OpenAILike or"
            " AzureOpenAI"
        )
