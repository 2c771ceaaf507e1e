"""`ChatGoogleGenerativeAI` for litellm."""

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
    headers_of,
    name_of,
    openai_messages,
    require_plain_turns,
    require_single_turns,
    require_tools,
    secret,
    sent_of,
)

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
    params = {**own, "max_tokens": limit, **call}
    model_name, connection = _gemini_connection(model)
    params = {**connection, **{k: v for k, v in params.items() if v not in (None, [])}}
    return Query(openai_messages(messages, who), model_name, params)


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
