"""`ChatBedrockConverse` for litellm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from resay import Query
from resay.adapters.models import check_defaults
from resay.adapters.upstream import UnmappedError
from resay_langchain._litellm.messages import (
    NOT_SENT,
    OF_ALL,
    check_openai_tools,
    headers_of,
    name_of,
    openai_messages,
    require_plain_turns,
    require_single_turns,
    require_tools,
    secret,
    sent_of,
)

_BEDROCK_FIELDS = frozenset(
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
        # Without effect on the request, or set by Resay itself.
        "base_model_id",
        "bedrock_client",
        "provider",
        "supports_tool_choice_values",  # only affects binding tools, which came earlier
        "timeout",
    }
)
_BEDROCK_CALL = frozenset(
    {"max_tokens", "stop", "stop_sequences", "temperature", "tool_choice", "tools", "top_p"}
)


def bedrock_request(
    model: Any, messages: Sequence[BaseMessage], kwargs: Mapping[str, Any]
) -> Query:
    """Translate a complete request.

    Raises:
        UnmappedError: It cannot be translated faithfully.
    """
    check_defaults(model, OF_ALL | _BEDROCK_FIELDS)
    who = name_of(model)
    require_plain_turns(messages, who)
    require_single_turns(messages, who)
    call = sent_of(kwargs, _BEDROCK_CALL, who, NOT_SENT)
    stop = call.pop("stop", None) or call.pop("stop_sequences", None) or model.stop_sequences
    own = {name: getattr(model, name) for name in ("max_tokens", "temperature", "top_p")}
    params = {**own, "stop": stop, **call}
    # Parameters that the profile marks as unsupported are not sent to the model.
    profile: Mapping[str, Any] = model.profile or {}
    sets_sampling = params["temperature"] is not None or params["top_p"] is not None
    if profile.get("temperature") is False and sets_sampling:
        raise UnmappedError(f"{who} leaves parameters out for this model")
    check_openai_tools(params.get("tools"), who)
    require_tools(messages, params.get("tools"), who)
    if choice := params.pop("tool_choice", None):
        params["tool_choice"] = _choice(choice, who)
    model_name, connection = _bedrock_connection(model)
    params = {**connection, **{k: v for k, v in params.items() if v not in (None, [])}}
    return Query(openai_messages(messages, who), model_name, params)


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


def _bedrock_connection(model: Any) -> tuple[str, dict[str, Any]]:
    if "arn:" in model.model_id:
        raise UnmappedError(f"{name_of(model)} names its model by an ARN")
    meta = getattr(model.client, "meta", None)
    if meta is None or meta.config.proxies:
        raise UnmappedError(f"{name_of(model)} uses a custom client")
    connection = {
        **_credentials(model),
        "aws_region_name": meta.region_name,
        "aws_bedrock_runtime_endpoint": meta.endpoint_url,
    }
    if headers := headers_of(model, "default_headers"):
        connection["extra_headers"] = headers
    return f"bedrock/converse/{model.model_id}", connection


def _credentials(model: Any) -> dict[str, Any]:
    if model.bedrock_api_key:
        return {"api_key": secret(model, "bedrock_api_key")}
    # Each library resolves roles and profiles in its own way.
    keys = {name: secret(model, name) for name in ("aws_access_key_id", "aws_secret_access_key")}
    signer = getattr(model.client, "_request_signer", None)
    signing = getattr(getattr(signer, "_credentials", None), "access_key", None)
    if signing != keys["aws_access_key_id"]:
        raise UnmappedError(f"{name_of(model)} uses a custom client")
    if model.aws_session_token:
        keys["aws_session_token"] = secret(model, "aws_session_token")
    return keys
