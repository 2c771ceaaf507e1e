"""`ChatOllama` for litellm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from langchain_core.messages import BaseMessage

from resay import Query
from resay.adapters.models import check_defaults
from resay.adapters.upstream import UnmappedError
from resay_langchain._litellm.messages import (
    OF_ALL,
    check_openai_tools,
    name_of,
    openai_messages,
    sent_of,
)

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
    model_name = call.pop("model", model.model)
    options = {name: getattr(model, name) for name in (*_OPTIONS, "keep_alive", "format", "stop")}
    params = {**options, "think": model.reasoning, **call}
    params["think"] = params.pop("reasoning", params["think"])
    if params["format"] is not None:
        # `format` takes precedence in the model itself.
        params.pop("response_format", None)
    if tools := params.pop("tools", None):
        check_openai_tools(tools, who)
        params["tools"] = [_as_sent(tool) for tool in tools]
    params = {k: v for k, v in params.items() if v is not None}
    sent = tuple(_joined(m) for m in openai_messages(messages, who, errors=True))
    return Query(sent, f"ollama_chat/{model_name}", {**_ollama_connection(model), **params})


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
    kwargs: Mapping[str, Any] = model.client_kwargs or {}
    if unmapped := kwargs.keys() - {"headers"}:
        raise UnmappedError(f"{who} sets {min(unmapped)!r} for its client")
    # The package reads the environment when it creates the client, so only the private client knows
    # the outcome.
    http = getattr(getattr(model, "_client", None), "_client", None)
    if http is None:
        raise UnmappedError(f"this version of {who} does not say where requests go")
    headers: dict[str, str] = dict(kwargs.get("headers") or {})
    if key := http.headers.get("authorization"):
        headers = {k: v for k, v in headers.items() if k.lower() != "authorization"}
        headers["Authorization"] = key
    connection: dict[str, Any] = {"api_base": str(http.base_url).rstrip("/")}
    if headers:
        connection["extra_headers"] = headers
    return connection
