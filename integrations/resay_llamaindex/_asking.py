"""Asking an LLM under a guard: who answers what, and LLMs that litellm can stand in for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from llama_index.core.llms import LLM
from llama_index.core.llms.structured_llm import StructuredLLM

from resay.adapters.models import check_defaults, tool_name
from resay.adapters.upstream import (
    LEFT_OUT,
    OPENAI_PARAMS,
    UnmappedError,
    check_chat_completions,
    litellm_provider,
)
from resay.core.query import Query
from resay.errors import ConfigurationError, MissingDependencyError
from resay.guard import Guard
from resay.policy import Regenerate
from resay.providers.base import Provider, Sources
from resay_llamaindex._providers import (
    LLMProvider,
    RefusingProvider,
    StreamingProvider,
    Way,
    for_sampling,
    judges_of,
    own_judge,
    sampling_kwargs,
    too_cold,
)
from resay_llamaindex._requests import (
    Chat,
    Completing,
    Predicting,
    Request,
    asked_message,
    openai_message,
    readable_message,
    with_kwargs,
)

_OPENAI = "llama_index.llms.openai.base.OpenAI"
_OPENAI_LIKE = "llama_index.llms.openai_like.base.OpenAILike"
_AZURE = "llama_index.llms.azure_openai.base.AzureOpenAI"
_LITELLM = "llama_index.llms.litellm.base.LiteLLM"
# Fields that shape no request, or shape it before it is sent: prompts, tools, what is parsed.
# `rate_limiter` is not among them, because whoever set one does not want the provider asked past
# it, nor is `reuse_client`, because whoever changed it had trouble with shared clients.
_KNOWN = frozenset(
    {
        "callback_manager",
        "completion_to_prompt",
        "context_window",
        "is_chat_model",
        "is_function_calling_model",
        "logprobs",
        "max_retries",
        "messages_to_prompt",
        "output_parser",
        "pydantic_program_mode",
        "query_wrapper_prompt",
        "should_use_structured_outputs",
        "strict",
        "system_prompt",
        "timeout",
        "tokenizer",
        "top_logprobs",
        # What is translated.
        "additional_kwargs",
        "api_base",
        "api_key",
        "api_version",
        "azure_deployment",
        "azure_endpoint",
        "default_headers",
        "engine",
        "max_tokens",
        "model",
        "reasoning_effort",
        "temperature",
        "use_azure_ad",
    }
)
_SENT = OPENAI_PARAMS | {"max_tokens"}
# What LiteLLM's own LLM takes besides, to say where requests go and who pays.
_CONNECTION = frozenset({"api_base", "api_key", "api_version", "custom_llm_provider"})
_LEFT_OUT = LEFT_OUT | {"caching", "max_retries"}


def is_openai(llm: LLM) -> bool:
    """Return whether an LLM takes OpenAI's parameters for log-probabilities in a call."""
    return _class_of(llm) in (_OPENAI, _OPENAI_LIKE, _AZURE)


def mapped_query(request: Request, llm: LLM) -> Query:
    """Translate a request to an LLM.

    Args:
        request: The request.
        llm: The LLM.

    Returns:
        The same for litellm: all that is asked, where it goes and who pays.

    Raises:
        UnmappedError: It cannot be translated faithfully.
    """
    if isinstance(request, Predicting):
        raise UnmappedError("an object is asked for as the LLM itself sees fit")
    model, params = _connection(llm, request.kwargs)
    return Query(_messages(request, llm), model, params)


def _messages(request: Chat | Completing, llm: LLM) -> tuple[Mapping[str, Any], ...]:
    if isinstance(request, Chat):
        return tuple(map(openai_message, request.messages))
    prompt = request.prompt
    if _class_of(llm) == _OPENAI_LIKE and not request.formatted and llm.completion_to_prompt:
        prompt = llm.completion_to_prompt(prompt)
    return ({"role": "user", "content": prompt},)


def _connection(llm: LLM, kwargs: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    connect = _CONNECT.get(_class_of(llm))
    if connect is None:
        raise UnmappedError(f"{_name(llm)} is not known to litellm by its settings")
    if not llm.metadata.is_chat_model:
        raise UnmappedError(f"{_name(llm)} is not a chat model")
    check_defaults(llm, _KNOWN)
    model, where, payload = connect(llm, kwargs)
    sent = {k: v for k, v in payload.items() if v is not None and k not in _LEFT_OUT}
    if further := sent.keys() - _SENT:
        raise UnmappedError(f"{_name(llm)} sends {min(further)!r}")
    if too_cold(sent.get("temperature")):
        del sent["temperature"]
    headers: dict[str, str] = {
        **where.pop("extra_headers", {}),
        **(sent.pop("extra_headers", None) or {}),
    }
    return model, {
        **where,
        **sent,
        **({"extra_headers": headers} if headers else {}),
        # litellm refuses parameters that it does not know a model to take; LlamaIndex lets the
        # provider decide.
        "allowed_openai_params": sorted(sent.keys() - {"extra_body"}),
    }


_Connected = tuple[str, dict[str, Any], dict[str, Any]]


def _openai(llm: Any, kwargs: Mapping[str, Any]) -> _Connected:
    _check_clients(llm, str(llm.api_base))
    payload = _payload(llm, kwargs)
    model: str = payload["model"]
    check_chat_completions(model, tools=bool(payload.get("tools")))
    where = {"api_key": llm.api_key, "api_base": llm.api_base}
    return f"openai/{model}", {**where, **_headers(llm)}, payload


def _azure(llm: Any, kwargs: Mapping[str, Any]) -> _Connected:
    _check_clients(llm, None)
    if llm.use_azure_ad or llm.azure_ad_token_provider:
        raise UnmappedError("AzureOpenAI signs in with tokens of its own")
    if not llm.azure_endpoint or not llm.api_version:
        raise UnmappedError("AzureOpenAI has no endpoint and version of its own")
    where = {
        "api_key": llm.api_key,
        "api_base": llm.azure_endpoint,
        "api_version": llm.api_version,
    }
    model = f"azure/{llm.azure_deployment or llm.engine}"
    return model, {**where, **_headers(llm)}, _payload(llm, kwargs)


def _headers(llm: Any) -> dict[str, Any]:
    return {"extra_headers": dict(llm.default_headers)} if llm.default_headers else {}


def _litellm(llm: Any, kwargs: Mapping[str, Any]) -> _Connected:
    fields = {"temperature": llm.temperature, "max_tokens": llm.max_tokens}
    payload = {**fields, **llm.additional_kwargs, **kwargs}
    provider: str | None = getattr(llm, "_custom_llm_provider", None)
    where = {k: payload.pop(k) for k in _CONNECTION & payload.keys()}
    if provider:
        where["custom_llm_provider"] = provider
    return llm.model, where, payload


_CONNECT: Mapping[str, Callable[[Any, Mapping[str, Any]], _Connected]] = {
    _OPENAI: _openai,
    _OPENAI_LIKE: _openai,
    _AZURE: _azure,
    _LITELLM: _litellm,
}


def _payload(llm: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    # The LLM's own, although it is private: what it sends differs from model to model.
    build: Callable[..., dict[str, Any]] | None = getattr(llm, "_get_model_kwargs", None)
    if build is None:
        raise UnmappedError(f"this version of {_name(llm)} builds requests in another way")
    return build(**kwargs)


def _check_clients(llm: Any, base: str | None) -> None:
    if any(getattr(llm, name, None) for name in ("_http_client", "_async_http_client")):
        raise UnmappedError(f"{_name(llm)} has a client of its own")
    for name in ("_client", "_aclient"):
        client: Any = getattr(llm, name, None)
        if client is not None and not _is_plain(client, llm, base):
            raise UnmappedError(f"{_name(llm)} has a client of its own")


def _is_plain(client: Any, llm: Any, base: str | None) -> bool:
    """Return whether the LLM itself may have made the client, from its fields."""
    inside = type(getattr(client, "_client", None)).__name__
    same_place = base is None or str(client.base_url).rstrip("/") == base.rstrip("/")
    return (
        inside.endswith("HttpxClientWrapper")
        and same_place
        and client.api_key == llm.api_key
        and dict(getattr(client, "_custom_headers", {})) == (llm.default_headers or {})
    )


def _class_of(llm: LLM) -> str:
    return f"{type(llm).__module__}.{type(llm).__qualname__}"


def _name(llm: LLM) -> str:
    return type(llm).__name__


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
        self.llm = llm
        self._policy = guard.policy
        # Made once, so that their clients keep their connections.
        self._sampler = for_sampling(llm, guard.policy.sampling)
        self._judges = judges_of(llm, guard.policy.sampling)
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
            _connection(self.llm, {})
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
            structured=isinstance(request, Predicting) or isinstance(self.llm, StructuredLLM),
            object_tools=_object_tools(request),
        )

    def _mapped(self, request: Request) -> Query | None:
        if self._reason is not None:
            return None
        try:
            return mapped_query(request, self.llm)
        except UnmappedError:
            return None

    def _params(self, request: Request) -> dict[str, Any]:
        """Return what of a request decides how it is checked."""
        further: object = getattr(self.llm, "additional_kwargs", None)
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
            messages = request.template.format_messages(**request.values)
            return tuple(map(readable_message, messages))
        # Read by rules and judges, and asked again in full where the answer may be written again.
        read = asked_message if self._regenerates else readable_message
        return tuple(map(read, request.messages))

    def sources(self, request: Request, query: Query, way: Way) -> Sources:
        """Return who answers what.

        Args:
            request: What is asked.
            query: The same, as the guard knows it.
            way: How the LLM is called.
        """
        judge = own_judge(self._judges, way)
        main = LLMProvider(request, self.llm, way, "main")
        if not isinstance(request, Predicting):
            gives = is_openai(self.llm)
            main = StreamingProvider(request, self.llm, way, "main", gives_logprobs=gives)
        if query.model is not None or (
            self._policy.sampling.model is not None and not isinstance(request, Predicting)
        ):
            return Sources(main, self._elsewhere(request, query), judge, "litellm")
        return Sources(main, self._native(request, way), judge)

    def _elsewhere(self, request: Request, query: Query) -> Provider:
        blocks = (
            [b for m in request.messages for b in m.blocks] if isinstance(request, Chat) else []
        )
        if query.model is None and any(block.block_type != "text" for block in blocks):
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
    name = tool_name(cast("list[object]", tools)[0])
    return (name,) if name and choice in _FORCED else ()


def _check_chain(guard: Guard, llm: LLM) -> None:
    engine = ", and an LLM has none to give; guard the query engine with GuardedQueryEngine, or"
    guard.refuse({"references": f"{engine} leave `evidence: references` out"})
    if not is_openai(llm):
        known = f", which are not known to be had from {type(llm).__name__}; guard an OpenAI,"
        guard.refuse({"logprobs": f"{known} OpenAILike or AzureOpenAI"})
