"""Faithful translation of LangChain's chat models and requests for litellm."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, cast

from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage

from resay.adapters.models import check_defaults
from resay.adapters.upstream import LEFT_OUT, OPENAI_PARAMS, UnmappedError, check_chat_completions
from resay.core.query import CONNECTION_PARAMS, Query
from resay_langchain._litellm.messages import (
    NOT_SENT,
    NOTES,
    OF_ALL,
    Model,
    anthropic_choice,
    anthropic_tools,
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

__all__ = ["UnmappedError", "connection_of", "request_of"]

# Global settings that change requests. litellm adds its `headers` to requests without any.
_CHANGING = (
    "add_function_to_prompt",
    "drop_params",
    "headers",
    "model_alias_map",
    "modify_params",
    "route_all_chat_openai_to_responses",
    "use_litellm_proxy",
)
_VARIABLES = (
    "LITELLM_DROP_PARAMS",
    "LITELLM_MODIFY_PARAMS",
    "LITELLM_ROUTE_ALL_CHAT_OPENAI_TO_RESPONSES",
    "USE_LITELLM_PROXY",
)


def check_settings() -> None:
    """Check that the application has not configured litellm to change requests.

    Such settings are not meant for requests that LangChain sends itself; a proxy would receive the
    provider's key.

    Raises:
        UnmappedError: A setting would change requests.
    """
    litellm = sys.modules.get("litellm")
    told = [name for name in _CHANGING if getattr(litellm, name, None)]
    told += [name for name in _VARIABLES if os.environ.get(name)]
    if told:
        raise UnmappedError(f"litellm has {told[0]!r} set")


# `thinking` is not translated: litellm rewrites it for some models.
_ANTHROPIC_FIELDS = frozenset(
    {
        "anthropic_api_key",
        "anthropic_api_url",
        "default_headers",
        "max_tokens",
        "model",
        "stop_sequences",
        "temperature",
        "top_k",
        "top_p",
        # Without effect on the request, or set by Resay itself.
        "default_request_timeout",
        "stream_usage",
    }
)
_ANTHROPIC_ASKED = ("max_tokens", "temperature", "top_k", "top_p")
_ANTHROPIC_CALL = frozenset({*_ANTHROPIC_ASKED, "model", "stop", "tool_choice", "tools"})
# litellm calls the first generations through another API, and withholds from the latest ones
# parameters that Anthropic would refuse. At other endpoints, these may be mere names.
_FIRST = re.compile(r"claude-(2|instant)")
_LATEST = re.compile(r"claude-(opus-(4-[7-9]|[5-9])|(sonnet|haiku)-[5-9]|fable)")
# Read by Anthropic's own client, but not by litellm, or not in the same way.
_FROM_ENVIRONMENT = ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS")
_HOST = "https://api.anthropic.com"


def anthropic_request(
    model: Any, messages: Sequence[BaseMessage], kwargs: Mapping[str, Any]
) -> Query:
    """Translate a complete request.

    Raises:
        UnmappedError: It cannot be translated faithfully.
    """
    check_defaults(model, OF_ALL | _ANTHROPIC_FIELDS)
    who = name_of(model)
    require_plain_turns(messages, who)
    call = sent_of(kwargs, _ANTHROPIC_CALL, who)
    named = call.pop("model", model.model)
    own = {name: getattr(model, name) for name in _ANTHROPIC_ASKED}
    asked = {**own, **call, "stop": call.get("stop") or model.stop_sequences}
    require_tools(messages, asked.get("tools"), who)
    if tools := asked.pop("tools", None):
        asked["tools"] = anthropic_tools(tools, who)
    if choice := asked.pop("tool_choice", None):
        asked.update(anthropic_choice(choice, who))
    _check_taken(named, asked)
    params = {k: v for k, v in asked.items() if v not in (None, [])}
    return Query(openai_messages(messages, who), *_place(model, named, params))


def _check_taken(named: str, asked: Mapping[str, Any]) -> None:
    if _FIRST.search(named):
        raise UnmappedError("litellm asks this model in another way")
    forced = asked.get("tool_choice") not in (None, "auto", "none")
    drawn = any(asked.get(name) is not None for name in ("temperature", "top_k", "top_p"))
    if _LATEST.search(named) and (forced or drawn):
        raise UnmappedError("litellm does not send this model all of its parameters")


def _place(model: Any, named: str, params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    who = name_of(model)
    for variable in _FROM_ENVIRONMENT:
        if os.environ.get(variable):
            raise UnmappedError(f"{who} takes {variable!r} from the environment")
    key = secret(model, "anthropic_api_key")
    if key.startswith("sk-ant-oat"):
        raise UnmappedError(f"{who} has a token in place of a key")
    url = str(model.anthropic_api_url or _HOST).rstrip("/")
    headers = {**({} if url == _HOST else _bearer(model)), **headers_of(model, "default_headers")}
    connection: dict[str, Any] = {"api_key": key, "api_base": url}
    if headers:
        connection["extra_headers"] = headers
    return f"anthropic/{named}", {**connection, **params}


def _bearer(model: Any) -> dict[str, str]:
    # Anthropic accepts the key in either header. A gateway may not, litellm always sends the older
    # one, and only the private client knows which one the model sends.
    client = getattr(model, "_client", None)
    if client is None:
        raise UnmappedError(f"this version of {name_of(model)} does not say how it sends its key")
    return {k: v for k, v in client.auth_headers.items() if k == "Authorization"}


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
    asked = {**own, "stop": stop, **call}
    # Parameters that the profile marks as unsupported are not sent to the model.
    profile: Mapping[str, Any] = model.profile or {}
    silent = profile.get("temperature") is False
    if silent and not (asked["temperature"] is None and asked["top_p"] is None):
        raise UnmappedError(f"{who} leaves parameters out for this model")
    check_openai_tools(asked.get("tools"), who)
    require_tools(messages, asked.get("tools"), who)
    if choice := asked.pop("tool_choice", None):
        asked["tool_choice"] = _choice(choice, who)
    params = {k: v for k, v in asked.items() if v not in (None, [])}
    named, connection = _bedrock_connection(model)
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


def _bedrock_connection(model: Any) -> tuple[str, dict[str, Any]]:
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
    # Each library resolves roles and profiles in its own way.
    keys = {name: secret(model, name) for name in ("aws_access_key_id", "aws_secret_access_key")}
    signer = getattr(model.client, "_request_signer", None)
    signing = getattr(getattr(signer, "_credentials", None), "access_key", None)
    if signing != keys["aws_access_key_id"]:
        raise UnmappedError(f"{name_of(model)} has a client of its own")
    if model.aws_session_token:
        keys["aws_session_token"] = secret(model, "aws_session_token")
    return keys


_GEMINI_FIELDS = frozenset(
    {
        "additional_headers",
        "base_url",
        "google_api_key",
        "max_output_tokens",
        "model",
        "temperature",
        "top_k",
        "top_p",
        "transport",
        # Without effect on the request, or set by Resay itself.
        "async_client_running",
        "client",
        "default_metadata",  # derived from `additional_headers`
        "n",
        "stop",  # the model only sends that of a call
        "timeout",
    }
)
# Without tools: both libraries rewrite their schemas and results, each in its own way.
_GEMINI_CALL = frozenset({"max_output_tokens", "stop"})


def gemini_request(model: Any, messages: Sequence[BaseMessage], kwargs: Mapping[str, Any]) -> Query:
    """Translate a complete request.

    Raises:
        UnmappedError: It cannot be translated faithfully.
    """
    check_defaults(model, OF_ALL | _GEMINI_FIELDS)
    who = name_of(model)
    require_plain_turns(messages, who)
    require_single_turns(messages, who)
    require_tools(messages, None, who)
    call = sent_of(kwargs, _GEMINI_CALL, who, NOT_SENT)
    limit = call.pop("max_output_tokens", model.max_output_tokens)
    own = {name: getattr(model, name) for name in ("temperature", "top_k", "top_p")}
    asked = {**own, "max_tokens": limit, **call}
    params = {k: v for k, v in asked.items() if v not in (None, [])}
    named, connection = _gemini_connection(model)
    return Query(openai_messages(messages, who), named, {**connection, **params})


def _gemini_connection(model: Any) -> tuple[str, dict[str, Any]]:
    params: dict[str, Any] = {"api_key": secret(model, "google_api_key")}
    if model.base_url:
        if model.transport != "rest":
            raise UnmappedError(
                f"{name_of(model)} uses gRPC with a `base_url`, which litellm cannot do"
            )
        params["api_base"] = f"{model.base_url.rstrip('/')}/v1beta"
    if headers := headers_of(model, "additional_headers"):
        params["extra_headers"] = headers
    return f"gemini/{model.model.removeprefix('models/')}", params


_OPTIONS = (
    "mirostat",
    "mirostat_eta",
    "mirostat_tau",
    "num_ctx",
    "num_gpu",
    "num_predict",
    "num_thread",
    "repeat_last_n",
    "repeat_penalty",
    "temperature",
    "tfs_z",
    "top_k",
    "top_p",
)
_OLLAMA_FIELDS = frozenset(
    {
        *_OPTIONS,
        "base_url",
        "client_kwargs",
        "format",
        "keep_alive",
        "model",
        "reasoning",
        "stop",
        # Without effect on the request, or set by Resay itself.
        "logprobs",
        "seed",
        "top_logprobs",
        "validate_model_on_init",
    }
)
# The model itself drops `strict`.
_OLLAMA_CALL = frozenset(
    {"format", "keep_alive", "model", "reasoning", "response_format", "stop", "strict", "tools"}
)


def ollama_request(model: Any, messages: Sequence[BaseMessage], kwargs: Mapping[str, Any]) -> Query:
    """Translate a complete request.

    Raises:
        UnmappedError: It cannot be translated faithfully.
    """
    check_defaults(model, OF_ALL | _OLLAMA_FIELDS)
    who = name_of(model)
    call = sent_of(kwargs, _OLLAMA_CALL, who)
    call.pop("strict", None)
    named = call.pop("model", model.model)
    options = {name: getattr(model, name) for name in (*_OPTIONS, "keep_alive", "format", "stop")}
    asked = {**options, "think": model.reasoning, **call}
    asked["think"] = asked.pop("reasoning", asked["think"])
    if asked["format"] is not None:
        # `format` takes precedence in the model itself.
        asked.pop("response_format", None)
    if tools := asked.pop("tools", None):
        check_openai_tools(tools, who)
        asked["tools"] = [_as_sent(tool) for tool in tools]
    params = {k: v for k, v in asked.items() if v is not None}
    sent = tuple(_joined(m) for m in openai_messages(messages, who, errors=True))
    return Query(sent, f"ollama_chat/{named}", {**_ollama_connection(model), **params})


def _as_sent(tool: Mapping[str, Any]) -> dict[str, Any]:
    # Ollama's package sends only the parts of a schema that it knows.
    package: Any = import_module("ollama")
    return package.Tool.model_validate(tool).model_dump(exclude_none=True)


def _joined(message: Mapping[str, Any]) -> dict[str, Any]:
    # Ollama accepts one text and its images; both libraries join several texts, in different ways.
    # Nor does the model itself send the id of the call that a result answers.
    message = {k: v for k, v in message.items() if k != "tool_call_id"}
    content: Any = message["content"]
    if content is None or isinstance(content, str):
        return message
    images = [block for block in content if block["type"] == "image_url"]
    text = "".join(f"\n{block['text']}" for block in content if block["type"] == "text")
    joined = [{"type": "text", "text": text}, *images] if images else text
    return {**message, "content": joined}


def _ollama_connection(model: Any) -> dict[str, Any]:
    who = name_of(model)
    given: Mapping[str, Any] = model.client_kwargs or {}
    if further := given.keys() - {"headers"}:
        raise UnmappedError(f"{who} sets {min(further)!r} for its client")
    # The package reads the environment when it creates the client, so only the private client knows
    # the outcome.
    http = getattr(getattr(model, "_client", None), "_client", None)
    if http is None:
        raise UnmappedError(f"this version of {who} does not say where requests go")
    headers: dict[str, str] = dict(given.get("headers") or {})
    if key := http.headers.get("authorization"):
        headers = {k: v for k, v in headers.items() if k.lower() != "authorization"}
        headers["Authorization"] = key
    connection = {"api_base": str(http.base_url).rstrip("/")}
    return {**connection, **({"extra_headers": headers} if headers else {})}


_OPENAI_FIELDS = frozenset(
    {
        "async_client",
        "azure_ad_token",
        "azure_endpoint",
        "client",
        "default_headers",
        "deployment_name",
        "extra_body",
        "frequency_penalty",
        "logit_bias",
        "max_tokens",
        "model_kwargs",
        "model_name",
        "openai_api_base",
        "openai_api_key",
        "openai_api_version",
        "openai_organization",
        "presence_penalty",
        "reasoning_effort",
        "root_async_client",
        "root_client",
        "service_tier",
        "stop",
        "temperature",
        "top_p",
        "use_responses_api",
        "verbosity",
        # Without effect on the request, or set by Resay itself.
        "disabled_params",  # only affects binding tools, which came earlier
        "http_socket_options",
        "include_response_headers",
        "logprobs",
        "model_version",
        "n",
        "openai_api_type",
        "request_timeout",
        "seed",
        "store",
        "stream_chunk_timeout",
        "stream_usage",
        "tiktoken_model_name",
        "top_logprobs",
        "validate_base_url",
    }
)
_MESSAGE_KEYS = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})
# litellm treats such deployments as OpenAI-compatible servers.
_NOT_AZURE = re.compile(r"command|[dimp]stral|mistral|mixtral|codestral")
# litellm refuses to send these models a temperature, even to other servers that would accept it.
_ONE_TEMPERATURE = re.compile(r"(^|/)o\d|gpt-[5-9]")


def openai_request(model: Any, messages: Sequence[BaseMessage], kwargs: Mapping[str, Any]) -> Query:
    """Translate a complete request.

    Raises:
        UnmappedError: It cannot be translated faithfully.
    """
    check_defaults(model, OF_ALL | _OPENAI_FIELDS)
    payload = _payload(model, messages, kwargs)
    sent = _sent(model, payload)
    named, connection = _openai_connection(model, payload.get("model"), bool(sent.get("tools")))
    if sent.get("temperature") not in (None, 1) and _ONE_TEMPERATURE.search(named):
        raise UnmappedError("litellm does not send this model a temperature")
    headers: dict[str, Any] = dict(connection.pop("extra_headers", {}))
    headers.update(sent.pop("extra_headers", {}))
    params = {**connection, **sent, **({"extra_headers": headers} if headers else {})}
    # litellm refuses parameters that it does not know a model to support; LangChain lets the
    # provider decide.
    params["allowed_openai_params"] = sorted(sent.keys() - {"extra_body"})
    return Query(tuple(payload["messages"]), named, params)


def _payload(
    model: Model, messages: Sequence[BaseMessage], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    # The model's own translation, although private: it already has OpenAI's format, and the public
    # `convert_to_openai_messages` differs in many ways (it joins lists of texts, keeps system
    # messages for o-series models, and does not read content in LangChain's own format).
    build: Callable[..., dict[str, Any]] | None = getattr(model, "_get_request_payload", None)
    if build is None:
        raise UnmappedError(f"this version of {name_of(model)} builds requests in another way")
    payload = build(list(messages), **{k: v for k, v in kwargs.items() if k not in NOTES})
    if "messages" not in payload:
        raise UnmappedError(f"{name_of(model)} uses the Responses API")
    for message in payload["messages"]:
        _check_message(model, message)
    return payload


def _check_message(model: Model, message: Mapping[str, Any]) -> None:
    if further := message.keys() - _MESSAGE_KEYS:
        raise UnmappedError(f"{name_of(model)} sends {min(further)!r} with a message")
    content: Any = message.get("content")
    for block in cast("list[Any]", content if isinstance(content, list) else []):
        kind: Any = cast("dict[str, Any]", block).get("type") if isinstance(block, dict) else None
        if kind not in ("text", "image_url"):
            raise UnmappedError(f"{name_of(model)} sends content of type {kind!r}")


def _sent(model: Model, payload: Mapping[str, Any]) -> dict[str, Any]:
    asked = {k: v for k, v in payload.items() if v is not None and k not in LEFT_OUT}
    if further := asked.keys() - OPENAI_PARAMS:
        raise UnmappedError(f"{name_of(model)} sends {min(further)!r}")
    check_openai_tools(asked.get("tools"), name_of(model))
    return asked


def _openai_connection(model: Any, asked: str | None, tools: bool) -> tuple[str, dict[str, Any]]:
    # Newer versions derive one field from the other when the model is created.
    if model.use_responses_api or (
        model.use_responses_api is None and model.output_version == "responses/v1"
    ):
        raise UnmappedError(f"{name_of(model)} uses the Responses API")
    azure = name_of(model) == "AzureChatOpenAI"
    client = _own_client(model, "AzureOpenAI" if azure else "OpenAI")
    place = model.deployment_name or asked if azure else asked
    if not place:
        raise UnmappedError(f"{name_of(model)} names no model")
    if azure and _NOT_AZURE.search(place):
        raise UnmappedError("litellm sends requests for this deployment elsewhere")
    check_chat_completions(place, tools=tools)
    headers = headers_of(model, "default_headers")
    # litellm does not send Azure the organization, and has no parameter for the project.
    billed = {"OpenAI-Organization": client.organization, "OpenAI-Project": client.project}
    headers = {**{k: v for k, v in billed.items() if v}, **headers}
    params = {
        **(_azure(model) if azure else _openai(model, client)),
        **({"extra_headers": headers} if headers else {}),
    }
    return f"{'azure' if azure else 'openai'}/{place}", params


def _own_client(model: Any, kind: str) -> Any:
    root, asynchronous = model.root_client, model.root_async_client
    own = (
        _is_openais(root, kind)
        and _is_openais(asynchronous, f"Async{kind}")
        and model.client is root.chat.completions
        and model.async_client is asynchronous.chat.completions
        and root.base_url == asynchronous.base_url
    )
    if not own:
        raise UnmappedError(f"{name_of(model)} has a client of its own")
    return root


def _is_openais(client: object, kind: str) -> bool:
    named = type(client).__module__.partition(".")[0], type(client).__name__
    return named == ("openai", kind)


def _openai(model: Model, client: Any) -> dict[str, Any]:
    return {"api_key": secret(model, "openai_api_key"), "api_base": str(client.base_url)}


def _azure(model: Any) -> dict[str, Any]:
    if model.openai_api_base or not model.azure_endpoint or not model.openai_api_version:
        raise UnmappedError("AzureChatOpenAI has no endpoint and version of its own")
    if model.azure_ad_token:
        paid = {"azure_ad_token": secret(model, "azure_ad_token")}
    else:
        paid = {"api_key": secret(model, "openai_api_key")}
    return {**paid, "api_base": model.azure_endpoint, "api_version": model.openai_api_version}


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
_PASSED_ASKED = ("base_model", "max_tokens", "num_ctx", "temperature", "top_k", "top_p")
_PASSED_FIELDS = frozenset(
    {
        *_KEYS.values(),
        *_PLACE,
        *_PASSED_ASKED,
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
_PASSED_CALL = _FURTHER.union(_PASSED_ASKED)
_LEFT_OUT = NOT_SENT | {"metadata", "prediction", "store"}


def passed_request(model: Any, messages: Sequence[BaseMessage], kwargs: Mapping[str, Any]) -> Query:
    """Translate a complete request.

    Raises:
        UnmappedError: It cannot be translated faithfully.
    """
    check_defaults(model, OF_ALL | _PASSED_FIELDS)
    who = name_of(model)
    own = {name: getattr(model, name) for name in _PASSED_ASKED}
    # A call must not change the endpoint, which would need another key.
    further = sent_of(model.model_kwargs, _PASSED_CALL, who, _LEFT_OUT)
    call = sent_of(kwargs, _PASSED_CALL - CONNECTION_PARAMS, who, _LEFT_OUT)
    named, connection = _passed_connection(model)
    asked = {**own, **further, **connection, **call}
    check_openai_tools(asked.get("tools"), who)
    params = {k: v for k, v in asked.items() if v is not None}
    return Query(openai_messages(messages, who, links=True, errors=True), named, params)


def _passed_connection(model: Any) -> tuple[str, dict[str, Any]]:
    # Missing in older versions of langchain-litellm.
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
    # Without a key, litellm looks in the environment, for the model as for samples.
    if not any(getattr(model, field) for field in _KEYS.values()):
        return None
    provider = model.model_kwargs.get("custom_llm_provider") or model.custom_llm_provider
    provider = provider or named.partition("/")[0]
    if provider not in _KEYS:
        raise UnmappedError(
            f"{name_of(model)} has provider-specific API keys, and its model {named!r} names no"
            " provider"
        )
    return getattr(model, _KEYS[provider]) or None


# By name, since these packages may not be installed.
_TO_QUERY: Mapping[str, Callable[..., Query]] = {
    "langchain_anthropic.ChatAnthropic": anthropic_request,
    "langchain_aws.ChatBedrockConverse": bedrock_request,
    "langchain_google_genai.ChatGoogleGenerativeAI": gemini_request,
    "langchain_litellm.ChatLiteLLM": passed_request,
    "langchain_ollama.ChatOllama": ollama_request,
    "langchain_openai.AzureChatOpenAI": openai_request,
    "langchain_openai.ChatOpenAI": openai_request,
}


def request_of(
    model: BaseLanguageModel[Any], messages: Sequence[BaseMessage], kwargs: Mapping[str, Any]
) -> Query:
    """Translate a complete request.

    Args:
        model: The chat model.
        messages: The conversation.
        kwargs: The keyword arguments of the call, including those bound to the model.

    Returns:
        The query for litellm, without `n`, log-probabilities, the seed, streaming, retries, the
        timeout and caching.

    Raises:
        UnmappedError: litellm would send a different request than the model does.
    """
    to_query = _to_query(model)
    if to_query is not passed_request:
        check_settings()
    return to_query(model, messages, kwargs)


def connection_of(model: BaseLanguageModel[Any]) -> Query:
    """Translate a model: its endpoint, credentials and parameters.

    Args:
        model: The chat model.

    Returns:
        A query without messages.

    Raises:
        UnmappedError: litellm would send a different request than the model does.
    """
    return request_of(model, (), {})


def _to_query(model: BaseLanguageModel[Any]) -> Callable[..., Query]:
    # A subclass may send anything.
    kind = type(model)
    named = f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"
    if named not in _TO_QUERY:
        raise UnmappedError(f"{kind.__name__} is not known to be the same through litellm")
    return _TO_QUERY[named]
