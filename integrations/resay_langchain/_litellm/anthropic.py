"""`ChatAnthropic` for litellm."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from resay import Query
from resay.adapters.models import check_defaults
from resay.adapters.upstream import UnmappedError
from resay_langchain._litellm.messages import (
    OF_ALL,
    anthropic_choice,
    anthropic_tools,
    headers_of,
    name_of,
    openai_messages,
    require_plain_turns,
    require_tools,
    secret,
    sent_of,
)

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
_ANTHROPIC_PARAMS = ("max_tokens", "temperature", "top_k", "top_p")
_ANTHROPIC_CALL = frozenset({*_ANTHROPIC_PARAMS, "model", "stop", "tool_choice", "tools"})
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
    model_name = call.pop("model", model.model)
    own = {name: getattr(model, name) for name in _ANTHROPIC_PARAMS}
    params = {**own, **call, "stop": call.get("stop") or model.stop_sequences}
    require_tools(messages, params.get("tools"), who)
    if tools := params.pop("tools", None):
        params["tools"] = anthropic_tools(tools, who)
    if choice := params.pop("tool_choice", None):
        params.update(anthropic_choice(choice, who))
    _check_accepted(model_name, params)
    connection = _anthropic_connection(model)
    params = {**connection, **{k: v for k, v in params.items() if v not in (None, [])}}
    return Query(openai_messages(messages, who), f"anthropic/{model_name}", params)


def _check_accepted(model_name: str, params: Mapping[str, Any]) -> None:
    if _FIRST.search(model_name):
        raise UnmappedError("litellm asks this model in another way")
    forces_tool = params.get("tool_choice") not in (None, "auto", "none")
    sets_sampling = any(params.get(name) is not None for name in ("temperature", "top_k", "top_p"))
    if _LATEST.search(model_name) and (forces_tool or sets_sampling):
        raise UnmappedError("litellm does not send this model all of its parameters")


def _anthropic_connection(model: Any) -> dict[str, Any]:
    who = name_of(model)
    for variable in _FROM_ENVIRONMENT:
        if os.environ.get(variable):
            raise UnmappedError(f"{who} takes {variable!r} from the environment")
    key = secret(model, "anthropic_api_key")
    if key.startswith("sk-ant-oat"):
        raise UnmappedError(f"{who} has a token in place of a key")
    url = str(model.anthropic_api_url or _HOST).rstrip("/")
    headers = headers_of(model, "default_headers")
    if url != _HOST:
        headers = {**_bearer(model), **headers}
    connection: dict[str, Any] = {"api_key": key, "api_base": url}
    if headers:
        connection["extra_headers"] = headers
    return connection


def _bearer(model: Any) -> dict[str, str]:
    # Anthropic accepts the key in either header. A gateway may not, litellm always sends the older
    # one, and only the private client knows which one the model sends.
    client = getattr(model, "_client", None)
    if client is None:
        raise UnmappedError(f"this version of {name_of(model)} does not say how it sends its key")
    return {k: v for k, v in client.auth_headers.items() if k == "Authorization"}
