"""ChatLiteLLM, which speaks to litellm already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from resay.adapters import UnmappedError
from resay.core.query import CONNECTION_PARAMS, Query
from resay_langchain._litellm.calls import LEFT_OUT, sent_of
from resay_langchain._litellm.fields import Fields, check_fields, headers_of, name_of
from resay_langchain._litellm.messages import openai_messages
from resay_langchain._litellm.tools import check_openai_tools

__all__ = ["request"]

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

_PLACE = ("api_base", "custom_llm_provider", "organization")
_ASKED = ("base_model", "max_tokens", "num_ctx", "temperature", "top_k", "top_p")

_FIELDS = Fields(
    translated=frozenset(
        {"api_key", "extra_headers", "model", "model_kwargs", "model_name", "use_responses_api"}
    )
    .union(_KEYS.values())
    .union(_PLACE, _ASKED),
    irrelevant=frozenset({"client", "n", "request_timeout", "stream_options"}),
)

_FURTHER = CONNECTION_PARAMS | {
    "additional_drop_params",
    "allowed_openai_params",
    "drop_params",
    "extra_body",
    "frequency_penalty",
    "logit_bias",
    "max_completion_tokens",
    "parallel_tool_calls",
    "presence_penalty",
    "reasoning_effort",
    "response_format",
    "safety_settings",
    "service_tier",
    "stop",
    "thinking",
    "tool_choice",
    "tools",
    "user",
    "verbosity",
}
_CALL = _FURTHER.union(_ASKED)
_LEFT_OUT = LEFT_OUT | {"metadata", "prediction", "store"}


def request(model: Any, messages: Sequence[BaseMessage], kwargs: Mapping[str, Any]) -> Query:
    """Translate a whole request.

    Raises:
        UnmappedError: It cannot be translated faithfully.
    """
    check_fields(model, _FIELDS)
    who = name_of(model)
    own = {name: getattr(model, name) for name in _ASKED}
    # A call may not go elsewhere than the model: its key would have to be another one.
    further = sent_of(model.model_kwargs, _CALL, who, _LEFT_OUT)
    call = sent_of(kwargs, _CALL - CONNECTION_PARAMS, who, _LEFT_OUT)
    named, connection = _connection(model)
    asked = {**own, **further, **connection, **call}
    check_openai_tools(asked.get("tools"), who)
    params = {k: v for k, v in asked.items() if v is not None}
    return Query(openai_messages(messages, who, links=True, errors=True), named, params)


def _connection(model: Any) -> tuple[str, dict[str, Any]]:
    # Older versions of langchain-litellm do not have it.
    if getattr(model, "use_responses_api", False):
        raise UnmappedError(f"{name_of(model)} uses the Responses API")
    named: str = model.model if model.model_name is None else model.model_name
    places = {name: getattr(model, name) for name in _PLACE}
    headers = headers_of(model, "extra_headers")
    params = {k: v for k, v in places.items() if v is not None}
    if headers:
        params["extra_headers"] = headers
    if key := _key(model, named):
        params["api_key"] = key
    return named, params


def _key(model: Any, named: str) -> str | None:
    if model.api_key or model.model_kwargs.get("api_key"):
        return model.api_key or model.model_kwargs["api_key"]
    # Without any, litellm looks in the environment, for the model as for a sample.
    if not any(getattr(model, field) for field in _KEYS.values()):
        return None
    provider = model.model_kwargs.get("custom_llm_provider") or model.custom_llm_provider
    provider = provider or named.partition("/")[0]
    if provider not in _KEYS:
        raise UnmappedError(f"{name_of(model)} has keys, and which is the model's is not said")
    return getattr(model, _KEYS[provider]) or None
