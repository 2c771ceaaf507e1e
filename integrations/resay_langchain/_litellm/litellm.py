"""`ChatLiteLLM`, which litellm calls itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from resay import Query
from resay.adapters import CONNECTION_PARAMS
from resay.adapters.models import check_defaults
from resay.adapters.upstream import OPENAI_PARAMS, UnmappedError
from resay_langchain._litellm.messages import (
    NOT_SENT,
    OF_ALL,
    check_openai_tools,
    headers_of,
    name_of,
    openai_messages,
    sent_of,
)

_KEYS = {
    "anthropic": "anthropic_api_key",
    "azure": "azure_api_key",
    "cohere": "cohere_api_key",
    "huggingface": "huggingface_api_key",
    "openai": "openai_api_key",
    "openrouter": "openrouter_api_key",
    "replicate": "replicate_api_key",
    "together_ai": "together_ai_api_key",
}
_ENDPOINT = ("api_base", "custom_llm_provider", "organization")
_PASSED_PARAMS = ("base_model", "max_tokens", "num_ctx", "temperature", "top_k", "top_p")
_PASSED_FIELDS = frozenset(
    {
        *_KEYS.values(),
        *_ENDPOINT,
        *_PASSED_PARAMS,
        "api_key",
        "extra_headers",
        "model",
        "model_kwargs",
        "model_name",
        "use_responses_api",
        # Without effect on the request, or set by Resay itself.
        "client",
        "n",
        "request_timeout",
        "stream_options",
    }
)
_FURTHER = (CONNECTION_PARAMS | OPENAI_PARAMS) | {
    "additional_drop_params",
    "allowed_openai_params",
    "drop_params",
    "safety_settings",
    "thinking",
}
_PASSED_CALL = _FURTHER.union(_PASSED_PARAMS)
_LEFT_OUT = NOT_SENT | {"metadata", "prediction", "store"}


def passed_request(model: Any, messages: Sequence[BaseMessage], kwargs: Mapping[str, Any]) -> Query:
    """Translate a complete request.

    Raises:
        UnmappedError: It cannot be translated faithfully.
    """
    check_defaults(model, OF_ALL | _PASSED_FIELDS)
    who = name_of(model)
    own = {name: getattr(model, name) for name in _PASSED_PARAMS}
    # A call must not change the endpoint, which would need another key.
    model_kwargs = sent_of(model.model_kwargs, _PASSED_CALL, who, _LEFT_OUT)
    call = sent_of(kwargs, _PASSED_CALL - CONNECTION_PARAMS, who, _LEFT_OUT)
    model_name, connection = _passed_connection(model)
    params = {**own, **model_kwargs, **connection, **call}
    check_openai_tools(params.get("tools"), who)
    params = {k: v for k, v in params.items() if v is not None}
    return Query(openai_messages(messages, who, links=True, errors=True), model_name, params)


def _passed_connection(model: Any) -> tuple[str, dict[str, Any]]:
    # Missing in older versions of langchain-litellm.
    if getattr(model, "use_responses_api", False):
        raise UnmappedError(f"{name_of(model)} uses the Responses API")
    model_name: str = model.model if model.model_name is None else model.model_name
    endpoint = {name: getattr(model, name) for name in _ENDPOINT}
    params = {k: v for k, v in endpoint.items() if v is not None}
    if headers := headers_of(model, "extra_headers"):
        params["extra_headers"] = headers
    if key := _key(model, model_name):
        params["api_key"] = key
    return model_name, params


def _key(model: Any, model_name: str) -> str | None:
    if model.api_key or model.model_kwargs.get("api_key"):
        return model.api_key or model.model_kwargs["api_key"]
    # Without a key, litellm looks in the environment, for the model as for samples.
    if not any(getattr(model, field) for field in _KEYS.values()):
        return None
    provider = model.model_kwargs.get("custom_llm_provider") or model.custom_llm_provider
    provider = provider or model_name.partition("/")[0]
    if provider not in _KEYS:
        raise UnmappedError(
            f"{name_of(model)} has provider-specific API keys, and its model {model_name!r} names"
            " no provider"
        )
    return getattr(model, _KEYS[provider]) or None
