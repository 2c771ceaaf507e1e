"""What of a client's request reaches litellm: what says how to answer, and nothing else.

litellm takes addresses, keys, headers and whole other models among its parameters, and fetches what
messages refer to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from resay.adapters import OPENAI_PARAMS
from resay.gateway.refusing import RefusedError
from resay.providers.apis import Body
from resay.providers.apis.reading import listed, mapping, mappings, text

__all__ = ["asked_of_litellm"]

_CHAT_PARAMS = OPENAI_PARAMS - {"extra_body", "extra_headers"}
_ON_THIS_MACHINE = re.compile(r"(?:bash|computer|memory|text_editor)_[0-9]{8}")
_SCHEME = re.compile(r"\s*[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_DATA = "data:"


@dataclass(frozen=True, slots=True)
class _Form:
    """What requests of one API may hold.

    Attributes:
        asks: What is asked, by its names.
        needs: What of it there must be, and as what.
        params: What says how to answer.
        refused: What an answer would be another without.
    """

    asks: frozenset[str]
    needs: Mapping[str, tuple[type, ...]]
    params: frozenset[str]
    refused: frozenset[str] = field(default=frozenset())


_FORMS: Mapping[str, _Form] = {
    "/chat/completions": _Form(
        frozenset({"messages"}),
        {"messages": (list,)},
        _CHAT_PARAMS
        | {
            "audio",
            "function_call",
            "functions",
            "logprobs",
            "max_tokens",
            "modalities",
            "n",
            "prediction",
            "seed",
            "thinking",
            "top_k",
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
    "/completions": _Form(
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
    "/responses": _Form(
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
    "/messages": _Form(
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
# What the Responses API may add that does not come from elsewhere.
_INCLUDED = ("message.output_text.logprobs", "reasoning.encrypted_content")
# Texts, numbers of others, and what a model was told or said: nothing of it is looked up.
_SAID = frozenset(
    {
        "arguments",
        "call_id",
        "content",
        "context",
        "id",
        "input",
        "name",
        "output",
        "reasoning_content",
        "refusal",
        "role",
        "signature",
        "text",
        "thinking",
        "title",
        "tool_call_id",
        "tool_use_id",
        "type",
    }
)
_CALLS = frozenset({"function_call", "thinking_blocks", "tool_calls"})
_SAYING = frozenset(
    {
        "custom_tool_call",
        "function_call",
        "input_text",
        "output_text",
        "reasoning",
        "redacted_thinking",
        "refusal",
        "search_result",
        "summary_text",
        "text",
        "thinking",
        "tool_use",
    }
)
# Where messages and the results of tools have their parts, whatever type they say they are.
_INNER = frozenset({"content", "output"})
_ADDRESSES = frozenset(
    {"audio_url", "file_uri", "file_url", "image_url", "uri", "url", "video_url"}
)
_MEDIA = _ADDRESSES | {"audio", "document", "file", "image", "input_audio", "source", "video"}


def asked_of_litellm(path: str, body: Body) -> dict[str, Any]:
    """Return what litellm is asked with, apart from the model.

    Args:
        path: The API's path.
        body: The client's request.

    Raises:
        RefusedError: It asks for what cannot be done this way, or refers to addresses.
    """
    form = _FORMS.get(path)
    if form is None:
        raise RefusedError(404, "unsupported_api", "this model is not asked through this API")
    _check_needs(form, body)
    for name in sorted(form.refused):
        if body.get(name):
            raise _refused(f"{name!r} is not there for this model; leave it out", name)
    _check_tools(path, body)
    if any(_refers(body.get(name), "text") for name in form.asks):
        raise _refused(
            "the request refers to other addresses, which the gateway has nobody fetch; send what"
            " is there, as a `data:` URL"
        )
    kept = form.asks | form.params
    asked = {k: v for k, v in body.items() if k in kept and v is not None}
    return asked | _limited(path, body)


def _check_needs(form: _Form, body: Body) -> None:
    for name, kinds in form.needs.items():
        value: object = body.get(name)
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise _refused(f"{name!r} is required, as {_named(kinds)}", name)


def _named(kinds: Sequence[type]) -> str:
    names = {int: "a number", list: "a list", str: "a text"}
    return " or ".join(names[kind] for kind in kinds)


def _check_tools(path: str, body: Body) -> None:
    for tool in mappings(body.get("tools")):
        kind = text(tool.get("type")) or "function"
        own = kind in ("custom", "function")
        if not own and not (path == "/messages" and _ON_THIS_MACHINE.fullmatch(kind)):
            raise _refused(
                "this model is offered only tools that the application runs; leave the others out",
                "tools",
            )


def _limited(path: str, body: Body) -> dict[str, Any]:
    """Return the parameters of which not everything is kept."""
    limited: dict[str, Any] = {}
    if body.get("stream") is True:
        limited["stream"] = True
    if path in ("/chat/completions", "/completions") and _wants_usage(body):
        limited["stream_options"] = {"include_usage": True}
    if path == "/completions":
        limited["prompt"] = _prompt(body)
    if path == "/responses" and "include" in body:
        limited["include"] = [name for name in listed(body["include"]) if name in _INCLUDED]
    return limited


def _wants_usage(body: Body) -> bool:
    options = mapping(body.get("stream_options"))
    return body.get("stream") is True and options.get("include_usage") is True


def _prompt(body: Body) -> str:
    prompts = [body["prompt"]] if isinstance(body["prompt"], str) else listed(body["prompt"])
    if len(prompts) != 1 or not isinstance(prompts[0], str):
        raise _refused("this model takes one `prompt`, which is a text", "prompt")
    return prompts[0]


def _refused(message: str, name: str | None = None) -> RefusedError:
    details = {} if name is None else {"param": name}
    return RefusedError(400, "unsupported_request", message, details=details)


def _refers(value: object, name: str) -> bool:
    """Return whether there is an address in what is no text."""
    if isinstance(value, str):
        return name not in _SAID and _is_address(value, name)
    if isinstance(value, Mapping):
        known = cast("Mapping[str, object]", value)
        looked_at = known.keys() - _CALLS
        if known.get("type") in _SAYING and not _holds_more(known):
            looked_at &= _INNER
        return any(_refers(known[key], key) for key in looked_at)
    if isinstance(value, (list, tuple)):
        return any(_refers(item, name) for item in cast("Sequence[object]", value))
    return False


def _holds_more(part: Mapping[str, object]) -> bool:
    """Return whether what says that it is a text has something beside it."""
    media = _MEDIA & part.keys()
    # Of a result of a search, only where it comes from.
    return bool(media - {"source"} if part.get("type") == "search_result" else media)


def _is_address(value: str, name: str) -> bool:
    if value.lower().startswith(_DATA):
        return False
    return name in _ADDRESSES or "://" in value or _SCHEME.match(value) is not None
