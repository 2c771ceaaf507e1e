"""ChatBedrockConverse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from resay.adapters import UnmappedError
from resay.core.query import Query
from resay_langchain._litellm.calls import LEFT_OUT, sent_of
from resay_langchain._litellm.fields import Fields, check_fields, headers_of, name_of, secret
from resay_langchain._litellm.messages import (
    openai_messages,
    require_plain_turns,
    require_single_turns,
    require_tools,
)
from resay_langchain._litellm.tools import check_openai_tools

__all__ = ["request"]

_FIELDS = Fields(
    translated=frozenset(
        {
            "aws_access_key_id",
            "aws_secret_access_key",
            "aws_session_token",
            "bedrock_api_key",
            "client",
            "default_headers",
            "endpoint_url",
            "max_tokens",
            "model_id",
            "region_name",
            "stop_sequences",
            "temperature",
            "top_p",
        }
    ),
    irrelevant=frozenset(
        {
            "base_model_id",
            "bedrock_client",
            "provider",
            "supports_tool_choice_values",  # about binding tools, which was before
            "timeout",
        }
    ),
)

_CALL = frozenset(
    {"max_tokens", "stop", "stop_sequences", "temperature", "tool_choice", "tools", "top_p"}
)


def request(model: Any, messages: Sequence[BaseMessage], kwargs: Mapping[str, Any]) -> Query:
    """Translate a whole request.

    Raises:
        UnmappedError: It cannot be translated faithfully.
    """
    check_fields(model, _FIELDS)
    who = name_of(model)
    require_plain_turns(messages, who)
    require_single_turns(messages, who)
    call = sent_of(kwargs, _CALL, who, LEFT_OUT)
    stop = call.pop("stop", None) or call.pop("stop_sequences", None) or model.stop_sequences
    own = {name: getattr(model, name) for name in ("max_tokens", "temperature", "top_p")}
    asked = {**own, "stop": stop, **call}
    # Such a model is not sent what its profile says that it does not take.
    profile: Mapping[str, Any] = model.profile or {}
    silent = profile.get("temperature") is False
    if silent and not (asked["temperature"] is None and asked["top_p"] is None):
        raise UnmappedError(f"{who} leaves parameters out for this model")
    check_openai_tools(asked.get("tools"), who)
    require_tools(messages, asked.get("tools"), who)
    if choice := asked.pop("tool_choice", None):
        asked["tool_choice"] = _choice(choice, who)
    params = {k: v for k, v in asked.items() if v not in (None, [])}
    named, connection = _connection(model)
    return Query(openai_messages(messages, who), named, {**connection, **params})


def _choice(choice: object, who: str) -> Any:
    if choice == {"auto": {}}:
        return "auto"
    if choice == {"any": {}}:
        return "required"
    match choice:
        case {"tool": {"name": str(name)}}:
            return {"type": "function", "function": {"name": name}}
        case _:
            raise UnmappedError(f"{who} has a tool choice of an unknown shape")


def _connection(model: Any) -> tuple[str, dict[str, Any]]:
    if "arn:" in model.model_id:
        raise UnmappedError(f"{name_of(model)} names its model by an ARN")
    meta = getattr(model.client, "meta", None)
    if meta is None or meta.config.proxies:
        raise UnmappedError(f"{name_of(model)} has a client of its own")
    headers = headers_of(model, "default_headers")
    connection = {
        **_paid(model),
        "aws_region_name": meta.region_name,
        "aws_bedrock_runtime_endpoint": meta.endpoint_url,
        **({"extra_headers": headers} if headers else {}),
    }
    return f"bedrock/converse/{model.model_id}", connection


def _paid(model: Any) -> dict[str, Any]:
    if model.bedrock_api_key:
        return {"api_key": secret(model, "bedrock_api_key")}
    # Roles and profiles are resolved by each library in its own way.
    keys = {name: secret(model, name) for name in ("aws_access_key_id", "aws_secret_access_key")}
    signer = getattr(model.client, "_request_signer", None)
    signing = getattr(getattr(signer, "_credentials", None), "access_key", None)
    if signing != keys["aws_access_key_id"]:
        raise UnmappedError(f"{name_of(model)} has a client of its own")
    if model.aws_session_token:
        keys["aws_session_token"] = secret(model, "aws_session_token")
    return keys
