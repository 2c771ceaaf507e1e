"""Answers by OpenAI's own API without litellm, whose import takes seconds.

Only requests that mean the same to both are sent this way. litellm sends those with parameters of
its own, and all once it is imported: the application may have set keys, callbacks or caches in it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from resay._internal.patterns import lazy_pattern
from resay.core.request import Request
from resay.core.usage import Usage
from resay.providers.apis.values import mapping, mappings
from resay.providers.base import Chunk, Completions, model_of
from resay.providers.base_urls import base_url_in
from resay.providers.litellm_names import is_openai_model
from resay.providers.litellm_problems import (
    is_configured_elsewhere,
    litellm_source,
    openai_url_variable,
)
from resay.providers.openai_compatible import OpenAICompatibleProvider
from resay.providers.prices import litellm_cost, litellm_entries, load_litellm_list

_URL = "https://api.openai.com/v1"
_PREFIX = "openai/"
# The headers by which OpenAI knows whose account pays, and where litellm and the SDK find them.
_ACCOUNT_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "openai-organization": ("OPENAI_ORGANIZATION", "OPENAI_ORG_ID"),
    "openai-project": ("OPENAI_PROJECT_ID",),
}
# Settings of litellm's connections.
_LITELLM_VARIABLES = ("SSL_CERTIFICATE", "SSL_SECURITY_LEVEL", "SSL_VERIFY")
# Parameters that mean the same to litellm: of all models, and of those that reason or do not.
_COMMON_PARAMS = frozenset(
    {
        "api_key",
        "extra_body",
        "extra_headers",
        "max_completion_tokens",
        "max_tokens",
        "organization",
        "request_timeout",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "store",
        "timeout",
    }
)
_REASONING_PARAMS = _COMMON_PARAMS | {"verbosity"}
_PLAIN_PARAMS = _COMMON_PARAMS | {
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "presence_penalty",
    "stop",
    "temperature",
    "top_logprobs",
    "top_p",
}
# Models that reason take other parameters; litellm knows them by their names too.
_REASONS = lazy_pattern(r"gpt-[5-9](?!-chat)|o[34](?:-|\Z)")
# Models with parameters, messages or an API of their own.
_SPECIAL = lazy_pattern(
    r"o1|ft:o|computer-use|.*(?:audio|codex|instruct|pro\b|realtime|research|search|transcribe|tts)"
)
_WITHOUT_JSON = frozenset({"gpt-3.5-turbo-16k", "gpt-4"})
_MESSAGE_KEYS = frozenset({"content", "name", "role"})
_ROLES = frozenset({"assistant", "developer", "system", "user"})


def is_openai(request: Request) -> bool:
    """Return whether a request goes to OpenAI's API directly.

    Args:
        request: The request.
    """
    return (
        sys.modules.get("litellm") is None
        and not is_configured_elsewhere()
        and not any(os.environ.get(variable) for variable in _LITELLM_VARIABLES)
        and base_url_in(request.params) is None
        # An administrator's key is the SDK's business.
        and bool(os.environ.get("OPENAI_API_KEY") or not os.environ.get("OPENAI_ADMIN_KEY"))
        and _is_plain_model(request.model or "")
        and _has_plain_params(request)
        and all(map(_is_plain_message, request.messages))
    )


def _is_plain_model(model: str) -> bool:
    """Return whether a model has OpenAI's chat completions, without peculiarities."""
    name = model.removeprefix(_PREFIX)
    if not name or "/" in name or _SPECIAL.match(name):
        return False
    if is_openai_model(name):
        return True
    entry = _entry(name)
    if not entry:
        # litellm takes a name without a prefix for OpenAI's only if it is listed.
        return name != model
    return entry.get("litellm_provider") == "openai" and entry.get("mode") == "chat"


def _entry(name: str) -> Mapping[str, Any]:
    """Return what litellm's list says of a model of OpenAI's; empty if it is not in it."""
    return mapping(litellm_entries().get(name))


def _has_plain_params(request: Request) -> bool:
    name = (request.model or "").removeprefix(_PREFIX)
    params = {key for key, value in request.params.items() if value is not None}
    allowed = _REASONING_PARAMS if _REASONS.match(name) else _PLAIN_PARAMS
    response_format: object = request.params.get("response_format")
    return params <= allowed and (response_format is None or isinstance(response_format, Mapping))


def _is_plain_message(message: Mapping[str, Any]) -> bool:
    """Return whether litellm sends a message as it is."""
    content: object = message.get("content")
    parts = mappings(content)
    is_text = isinstance(content, str)
    has_text_parts = bool(parts) and all(set(part) == {"type", "text"} for part in parts)
    return (
        message.keys() <= _MESSAGE_KEYS
        and message.get("role") in _ROLES
        and (is_text or has_text_parts)
    )


class OpenAIProvider:
    """Send requests to OpenAI, as `is_openai` describes, over the connections of our own client.

    The key, the address and the account are those that litellm would use: the request's, or those
    of the environment.

    Args:
        timeout_s: Seconds without data before a request fails, unless it has its own `timeout`.
    """

    endpoint = "openai-compatible"
    """The server is known from the request alone."""

    def __init__(self, *, timeout_s: float = 600.0) -> None:
        self._server = OpenAICompatibleProvider(timeout_s=timeout_s)

    @property
    def cache_source(self) -> str:
        """The answers are those that come through litellm."""
        return litellm_source()

    async def prepare(self) -> None:
        """Load what connections need, and the prices."""
        await self._server.prepare()
        await load_litellm_list()

    async def takes_n(self, request: Request) -> bool:
        """Return True: OpenAI's chat completions take `n`."""
        del request
        return True

    async def supported_params(self, request: Request) -> frozenset[str]:
        """Return the optional parameters that the request's model takes, by litellm's list."""
        name = model_of(request).removeprefix(_PREFIX)
        await load_litellm_list()
        entry = _entry(name)
        supported = {"temperature"}
        # Without reasoning, which some models do unless they are told to, others take it too.
        if _REASONS.match(name) and entry.get("default_reasoning_effort") != "none":
            supported.clear()
        if name not in _WITHOUT_JSON:
            supported.add("json_object")
            if entry.get("supports_response_schema"):
                supported.add("json_schema")
        return frozenset(supported)

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Send one request; as `OpenAICompatibleProvider.complete`, which needs an address."""
        completions = await self._server.complete(_to_openai(request), n=n)
        usage = await _with_cost(model_of(request), completions.usage, completions.first.raw)
        return replace(completions, usage=usage)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Send one request whose answer is streamed; as `complete`."""
        async with self._server.stream(_to_openai(request)) as chunks:
            yield _with_costs(model_of(request), chunks)


async def _with_costs(model: str, chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    async for chunk in chunks:
        if chunk.usage is None:
            yield chunk
        else:
            yield replace(chunk, usage=await _with_cost(model, chunk.usage, chunk.raw))


async def _with_cost(model: str, usage: Usage, raw: object) -> Usage:
    """Return a usage with its cost, with tokens that OpenAI had cached at their lower price."""
    details = mapping(mapping(mapping(raw).get("usage")).get("prompt_tokens_details"))
    cached: object = details.get("cached_tokens")
    cached_tokens = cached if isinstance(cached, int) else 0
    await load_litellm_list()
    return replace(usage, cost_usd=litellm_cost(model, usage, cached_tokens=cached_tokens))


def _to_openai(request: Request) -> Request:
    """Return a request with the address, the key and the account that litellm would use."""
    params = dict(request.params)
    url_variable = openai_url_variable()
    params["api_base"] = os.environ[url_variable] if url_variable else _URL
    params["api_key"] = params.get("api_key") or os.environ.get("OPENAI_API_KEY")
    headers: dict[str, Any] = {}
    for header, variables in _ACCOUNT_VARIABLES.items():
        values = [os.environ[variable] for variable in variables if os.environ.get(variable)]
        if values:
            headers[header] = values[0]
    if params.get("organization"):
        headers.pop("openai-organization", None)
    params["extra_headers"] = {**headers, **mapping(params.get("extra_headers"))}
    name = model_of(request).removeprefix(_PREFIX)
    if _REASONS.match(name) and "max_tokens" in params:
        params["max_completion_tokens"] = params.pop("max_tokens")
    return replace(request, params=params)
