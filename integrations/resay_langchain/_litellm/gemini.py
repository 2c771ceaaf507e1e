"""ChatGoogleGenerativeAI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from resay.adapters import UnmappedError
from resay.core.query import Query
from resay_langchain._litellm.calls import LEFT_OUT, sent_of
from resay_langchain._litellm.fields import (
    Fields,
    check_fields,
    headers_of,
    name_of,
    secret,
)
from resay_langchain._litellm.messages import (
    openai_messages,
    require_plain_turns,
    require_single_turns,
    require_tools,
)

__all__ = ["request"]

_FIELDS = Fields(
    translated=frozenset(
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
        }
    ),
    irrelevant=frozenset(
        {
            "async_client_running",
            "client",
            "default_metadata",  # made of `additional_headers`
            "n",
            "stop",  # the model itself sends only what a call brings
            "timeout",
        }
    ),
)

# No tools: both libraries rewrite their schemas and results, each in its own way.
_CALL = frozenset({"max_output_tokens", "stop"})


def request(model: Any, messages: Sequence[BaseMessage], kwargs: Mapping[str, Any]) -> Query:
    """Translate a whole request.

    Raises:
        UnmappedError: It cannot be translated faithfully.
    """
    check_fields(model, _FIELDS)
    who = name_of(model)
    require_plain_turns(messages, who)
    require_single_turns(messages, who)
    require_tools(messages, None, who)
    call = sent_of(kwargs, _CALL, who, LEFT_OUT)
    limit = call.pop("max_output_tokens", model.max_output_tokens)
    own = {name: getattr(model, name) for name in ("temperature", "top_k", "top_p")}
    asked = {**own, "max_tokens": limit, **call}
    params = {k: v for k, v in asked.items() if v not in (None, [])}
    named, connection = _connection(model)
    return Query(openai_messages(messages, who), named, {**connection, **params})


def _connection(model: Any) -> tuple[str, dict[str, Any]]:
    params: dict[str, Any] = {"api_key": secret(model, "google_api_key")}
    if model.base_url:
        if model.transport != "rest":
            raise UnmappedError(f"{name_of(model)} speaks gRPC to a server of its own")
        params["api_base"] = f"{model.base_url.rstrip('/')}/v1beta"
    if headers := headers_of(model, "additional_headers"):
        params["extra_headers"] = headers
    return f"gemini/{model.model.removeprefix('models/')}", params
