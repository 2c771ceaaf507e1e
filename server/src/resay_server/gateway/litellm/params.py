"""The parameters of clients' requests that reach litellm."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from resay.adapters.apis import Body, listed, mapping, mappings, text
from resay_server.gateway.addresses import contains_address
from resay_server.gateway.errors import RefusedError
from resay_server.gateway.harmless_params import HARMLESS

_ON_THIS_MACHINE = re.compile(r"(?:bash|computer|memory|text_editor)_[0-9]{8}")


@dataclass(frozen=True, slots=True)
class _AllowedParams:
    """The allowed parameters of one API's requests.

    Attributes:
        asks: The parameters with the question.
        needs: The required ones, with their types.
        params: The generation parameters.
        refused: Parameters that cannot be dropped without changing the answer.
    """

    asks: frozenset[str]
    needs: Mapping[str, tuple[type, ...]]
    params: frozenset[str]
    refused: frozenset[str] = field(default=frozenset())


_ALLOWED: Mapping[str, _AllowedParams] = {
    "/chat/completions": _AllowedParams(
        frozenset({"messages"}),
        {"messages": (list,)},
        HARMLESS
        | {
            "audio",
            "function_call",
            "functions",
            "logprobs",
            "modalities",
            "n",
            "prediction",
            "seed",
            "thinking",
            "top_logprobs",
        },
        frozenset(
            {
                "container",
                "conversation",
                "previous_response_id",
                "thread_id",
                "web_search_options",
            }
        ),
    ),
    "/completions": _AllowedParams(
        frozenset({"prompt"}),
        {"prompt": (str, list)},
        frozenset(
            {
                "best_of",
                "echo",
                "frequency_penalty",
                "logit_bias",
                "logprobs",
                "max_tokens",
                "n",
                "presence_penalty",
                "seed",
                "stop",
                "suffix",
                "temperature",
                "top_p",
                "user",
            }
        ),
    ),
    "/responses": _AllowedParams(
        frozenset({"input", "instructions"}),
        {"input": (str, list)},
        frozenset(
            {
                "include",
                "max_output_tokens",
                "parallel_tool_calls",
                "prompt_cache_key",
                "reasoning",
                "safety_identifier",
                "service_tier",
                "store",
                "temperature",
                "text",
                "tool_choice",
                "tools",
                "top_logprobs",
                "top_p",
                "truncation",
                "user",
            }
        ),
        frozenset({"background", "conversation", "previous_response_id", "prompt"}),
    ),
    "/messages": _AllowedParams(
        frozenset({"messages", "system"}),
        {"max_tokens": (int,), "messages": (list,)},
        frozenset(
            {
                "max_tokens",
                "output_config",
                "service_tier",
                "stop_sequences",
                "temperature",
                "thinking",
                "tool_choice",
                "tools",
                "top_k",
                "top_p",
            }
        ),
        frozenset({"container", "mcp_servers"}),
    ),
}
# Values of `include` in the Responses API that do not come from elsewhere.
_INCLUDED = ("message.output_text.logprobs", "reasoning.encrypted_content")


def litellm_params(path: str, body: Body) -> dict[str, Any]:
    """Return the parameters for litellm, except the model.

    Args:
        path: The API's path.
        body: The client's request.

    Raises:
        RefusedError: It uses an unsupported feature, or refers to addresses.
    """
    form = _ALLOWED.get(path)
    if form is None:
        raise RefusedError(404, "unsupported_api", "this model does not support this API")
    _check_needs(form, body)
    for name in sorted(form.refused):
        if body.get(name):
            raise _refused(f"this model does not support {name!r}; omit it", name)
    _check_tools(path, body)
    if any(contains_address(body.get(name), "text") for name in form.asks):
        raise _refused(
            "the request contains URLs, and the gateway does not fetch them; send the content"
            " itself, as a `data:` URL"
        )
    allowed = form.asks | form.params
    request = {k: v for k, v in body.items() if k in allowed and v is not None}
    return request | _partial_params(path, body)


def _check_needs(form: _AllowedParams, body: Body) -> None:
    for name, kinds in form.needs.items():
        value: object = body.get(name)
        if isinstance(value, bool) or not isinstance(value, kinds):
            types = " or ".join(_NAMES[kind] for kind in kinds)
            raise _refused(f"{name!r} is required, as {types}", name)


_NAMES = {int: "a number", list: "a list", str: "a text"}


def _check_tools(path: str, body: Body) -> None:
    for tool in mappings(body.get("tools")):
        kind = text(tool.get("type")) or "function"
        own = kind in ("custom", "function")
        if not own and not (path == "/messages" and _ON_THIS_MACHINE.fullmatch(kind)):
            raise _refused(
                "this model supports only tools that the application runs; omit the others",
                "tools",
            )


def _partial_params(path: str, body: Body) -> dict[str, Any]:
    """Return the parameters of which only a part is passed on."""
    limited: dict[str, Any] = {}
    options = mapping(body.get("stream_options"))
    if body.get("stream") is True:
        limited["stream"] = True
        if path in ("/chat/completions", "/completions") and options.get("include_usage") is True:
            limited["stream_options"] = {"include_usage": True}
    if path == "/completions":
        limited["prompt"] = _prompt(body)
    if path == "/responses" and "include" in body:
        limited["include"] = [name for name in listed(body["include"]) if name in _INCLUDED]
    return limited


def _prompt(body: Body) -> str:
    prompts = [body["prompt"]] if isinstance(body["prompt"], str) else listed(body["prompt"])
    if len(prompts) != 1 or not isinstance(prompts[0], str):
        raise _refused("this model takes one `prompt`, which is a text", "prompt")
    return prompts[0]


def _refused(message: str, name: str | None = None) -> RefusedError:
    details = {} if name is None else {"param": name}
    return RefusedError(400, "unsupported_request", message, details=details)
