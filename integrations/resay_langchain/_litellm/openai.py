"""`ChatOpenAI` and `AzureChatOpenAI` for litellm."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import BaseMessage

from resay import Query
from resay.adapters.models import check_defaults
from resay.adapters.upstream import LEFT_OUT, OPENAI_PARAMS, UnmappedError, check_chat_completions
from resay_langchain._litellm.messages import (
    NOTES,
    OF_ALL,
    Model,
    check_openai_tools,
    headers_of,
    name_of,
    secret,
)

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
    model_name, connection = _openai_connection(
        model, payload.get("model"), bool(sent.get("tools"))
    )
    if sent.get("temperature") not in (None, 1) and _ONE_TEMPERATURE.search(model_name):
        raise UnmappedError("litellm does not send this model a temperature")
    headers: dict[str, Any] = dict(connection.pop("extra_headers", {}))
    headers.update(sent.pop("extra_headers", {}))
    params = {**connection, **sent}
    if headers:
        params["extra_headers"] = headers
    # litellm refuses parameters that it does not know a model to support; LangChain lets the
    # provider decide.
    params["allowed_openai_params"] = sorted(sent.keys() - {"extra_body"})
    return Query(tuple(payload["messages"]), model_name, params)


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
    if unmapped := message.keys() - _MESSAGE_KEYS:
        raise UnmappedError(f"{name_of(model)} sends {min(unmapped)!r} with a message")
    content: Any = message.get("content")
    for block in cast("list[Any]", content if isinstance(content, list) else []):
        kind: Any = cast("dict[str, Any]", block).get("type") if isinstance(block, dict) else None
        if kind not in ("text", "image_url"):
            raise UnmappedError(f"{name_of(model)} sends content of type {kind!r}")


def _sent(model: Model, payload: Mapping[str, Any]) -> dict[str, Any]:
    sent = {k: v for k, v in payload.items() if v is not None and k not in LEFT_OUT}
    if unmapped := sent.keys() - OPENAI_PARAMS:
        raise UnmappedError(f"{name_of(model)} sends {min(unmapped)!r}")
    check_openai_tools(sent.get("tools"), name_of(model))
    return sent


def _openai_connection(
    model: Any, model_name: str | None, tools: bool
) -> tuple[str, dict[str, Any]]:
    # Newer versions derive one field from the other when the model is created.
    if model.use_responses_api or (
        model.use_responses_api is None and model.output_version == "responses/v1"
    ):
        raise UnmappedError(f"{name_of(model)} uses the Responses API")
    azure = name_of(model) == "AzureChatOpenAI"
    client = _own_client(model, "AzureOpenAI" if azure else "OpenAI")
    name = model.deployment_name or model_name if azure else model_name
    if not name:
        raise UnmappedError(f"{name_of(model)} names no model")
    if azure and _NOT_AZURE.search(name):
        raise UnmappedError("litellm sends requests for this deployment elsewhere")
    check_chat_completions(name, tools=tools)
    headers = headers_of(model, "default_headers")
    # litellm does not send Azure the organization, and has no parameter for the project.
    account = {"OpenAI-Organization": client.organization, "OpenAI-Project": client.project}
    headers = {**{k: v for k, v in account.items() if v}, **headers}
    params = _azure(model) if azure else _openai(model, client)
    if headers:
        params["extra_headers"] = headers
    return f"{'azure' if azure else 'openai'}/{name}", params


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
        raise UnmappedError(f"{name_of(model)} uses a custom client")
    return root


def _is_openais(client: object, kind: str) -> bool:
    qualified_name = type(client).__module__.partition(".")[0], type(client).__name__
    return qualified_name == ("openai", kind)


def _openai(model: Model, client: Any) -> dict[str, Any]:
    return {"api_key": secret(model, "openai_api_key"), "api_base": str(client.base_url)}


def _azure(model: Any) -> dict[str, Any]:
    if model.openai_api_base or not model.azure_endpoint or not model.openai_api_version:
        raise UnmappedError("AzureChatOpenAI has no endpoint and version of its own")
    params = {"api_base": model.azure_endpoint, "api_version": model.openai_api_version}
    if model.azure_ad_token:
        return {**params, "azure_ad_token": secret(model, "azure_ad_token")}
    return {**params, "api_key": secret(model, "openai_api_key")}
