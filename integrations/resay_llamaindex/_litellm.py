"""LLMs and their requests, for litellm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llama_index.core.llms import LLM

from resay import Query
from resay.adapters.models import check_defaults
from resay.adapters.upstream import LEFT_OUT, OPENAI_PARAMS, UnmappedError, check_chat_completions
from resay_llamaindex._requests import Chat, Completing, Predicting, Request, openai_message
from resay_llamaindex._samplers import too_cold

_OPENAI = "llama_index.llms.openai.base.OpenAI"
_OPENAI_LIKE = "llama_index.llms.openai_like.base.OpenAILike"
_AZURE = "llama_index.llms.azure_openai.base.AzureOpenAI"
_LITELLM = "llama_index.llms.litellm.base.LiteLLM"
# Fields that shape no request, or shape it before it is sent: prompts, tools, parsers.
# `rate_limiter` is excluded, because litellm would send requests past the user's limit, and
# `reuse_client`, because users who change it have had trouble with shared clients.
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
        # The fields translated below.
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
# Further arguments of LiteLLM's own LLM, for the endpoint and credentials.
_CONNECTION = frozenset({"api_base", "api_key", "api_version", "custom_llm_provider"})
_LEFT_OUT = LEFT_OUT | {"caching", "max_retries"}


def is_openai(llm: LLM) -> bool:
    """Return whether an LLM accepts OpenAI's log-probability parameters in a call."""
    return _class_of(llm) in (_OPENAI, _OPENAI_LIKE, _AZURE)


def mapped_query(request: Request, llm: LLM) -> Query:
    """Translate a request to an LLM into a query for litellm.

    Args:
        request: The request.
        llm: The LLM.

    Returns:
        The query, with the same parameters, endpoint and credentials.

    Raises:
        UnmappedError: The request cannot be translated faithfully.
    """
    if isinstance(request, Predicting):
        raise UnmappedError("structured output mode is left to the LLM")
    model, params = connection_of(llm, request.kwargs)
    return Query(_messages(request, llm), model, params)


def _messages(request: Chat | Completing, llm: LLM) -> tuple[Mapping[str, Any], ...]:
    if isinstance(request, Chat):
        return tuple(map(openai_message, request.messages))
    prompt = request.prompt
    if _class_of(llm) == _OPENAI_LIKE and not request.formatted and llm.completion_to_prompt:
        prompt = llm.completion_to_prompt(prompt)
    return ({"role": "user", "content": prompt},)


def connection_of(llm: LLM, kwargs: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    connect = _CONNECT.get(_class_of(llm))
    if connect is None:
        raise UnmappedError(f"{_name(llm)} is not known to litellm by its settings")
    if not llm.metadata.is_chat_model:
        raise UnmappedError(f"{_name(llm)} is not a chat model")
    check_defaults(llm, _KNOWN)
    model, where, payload = connect(llm, kwargs)
    sent = {k: v for k, v in payload.items() if v is not None and k not in _LEFT_OUT}
    if unmapped := sent.keys() - _SENT:
        raise UnmappedError(f"{_name(llm)} sends {min(unmapped)!r}")
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
        # litellm refuses parameters that it does not know a model to support; LlamaIndex lets the
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
    # The LLM's own method, although private: the payload differs from model to model.
    build: Callable[..., dict[str, Any]] | None = getattr(llm, "_get_model_kwargs", None)
    if build is None:
        raise UnmappedError(f"this version of {_name(llm)} builds requests in another way")
    return build(**kwargs)


def _check_clients(llm: Any, base: str | None) -> None:
    if any(getattr(llm, name, None) for name in ("_http_client", "_async_http_client")):
        raise UnmappedError(f"{_name(llm)} uses a custom client")
    for name in ("_client", "_aclient"):
        client: Any = getattr(llm, name, None)
        if client is not None and not _is_plain(client, llm, base):
            raise UnmappedError(f"{_name(llm)} uses a custom client")


def _is_plain(client: Any, llm: Any, base: str | None) -> bool:
    """Return whether the LLM may have created the client itself, from its fields."""
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
