"""Asking models through litellm, in the place of an upstream that speaks a client's API.

Of a client's request only what says how to answer reaches litellm, which takes addresses, keys,
headers and whole other models among its parameters, and fetches what messages refer to.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from resay.adapters.upstream import OPENAI_PARAMS
from resay.gateway.calls import Call
from resay.gateway.config import ModelConfig, named_model, unknown_model
from resay.gateway.litellm.answers import (
    LiteLLMResponse,
    Priced,
    answered_body,
    cost_of,
    events_of,
    events_of_message,
    headers_of,
    message_body,
    once,
    plain,
    response_body,
)
from resay.gateway.litellm.asking import LiteLLM, close_pieces, refusal_of, written
from resay.gateway.refusing import RefusedError, error_body
from resay.providers.apis import Body, Event, json_bytes
from resay.providers.apis.base import is_yes, listed, mapping, mappings, text

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
    if any(refers(body.get(name), "text") for name in form.asks):
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
            named = " or ".join(_NAMES[kind] for kind in kinds)
            raise _refused(f"{name!r} is required, as {named}", name)


_NAMES = {int: "a number", list: "a list", str: "a text"}


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


def refers(value: object, name: str) -> bool:
    """Return whether there is an address in what is no text.

    Args:
        value: What a client sends.
        name: The name of the field that it is in.
    """
    if isinstance(value, str):
        return name not in _SAID and _is_address(value, name)
    if isinstance(value, Mapping):
        known = cast("Mapping[str, object]", value)
        looked_at = known.keys() - _CALLS
        if known.get("type") in _SAYING and not _holds_more(known):
            looked_at &= _INNER
        return any(refers(known[key], key) for key in looked_at)
    if isinstance(value, (list, tuple)):
        return any(refers(item, name) for item in cast("Sequence[object]", value))
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


_JSON = "application/json"
_EVENTS = "text/event-stream; charset=utf-8"


class LiteLLMUpstream:
    """Asks the models of a gateway file.

    Nothing of a client's request reaches them but what it asks and what says how to answer.

    Args:
        models: The models, by the names that clients give them.
        timeout_s: How long one may be silent that says nothing of it, in seconds.
        answer_bytes: How long an answer may be.
    """

    def __init__(
        self,
        models: Mapping[str, ModelConfig],
        *,
        timeout_s: float = 600.0,
        answer_bytes: int = 67_108_864,
    ) -> None:
        self._models = models
        self._litellm = LiteLLM(timeout_s)
        self._limit = answer_bytes
        self._told = hashlib.sha256(repr(_identities(models)).encode()).hexdigest()
        self._takes_n: Mapping[str, bool] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def models(self) -> Mapping[str, ModelConfig]:
        """The models, by the names that clients give them."""
        return self._models

    def knows(self, body: Body) -> bool:
        """Return whether a request asks for one of the models."""
        return named_model(body) in self._models

    async def prepare(self) -> None:
        """Load litellm, which takes seconds, and see whether it knows the models.

        Raises:
            MissingDependencyError: litellm is not installed.
            ConfigurationError: It cannot tell whose model one of them is.
        """
        self._takes_n = await self._litellm.load(self._models)

    def takes_n(self, body: Body) -> bool:
        """Return whether one request to a model may ask for several answers."""
        return self._takes_n.get(named_model(body) or "", False)

    def cost_usd(self, body: Body) -> float | None:
        """Return what an answer cost that `ask` gave, in US dollars; None where nobody knows."""
        return body.cost_usd if isinstance(body, Priced) else None

    def source(self, call: Call, client: str | None) -> str:
        """Return what tells a client's answers from those of others, and of other models."""
        del call
        told = repr((self._told, client)).encode("utf-8", "surrogatepass")
        return f"gateway litellm {hashlib.sha256(told).hexdigest()}"

    async def aclose(self) -> None:
        """Wait until all streams are closed that nobody reads any more."""
        if self._closing:
            await asyncio.gather(*self._closing, return_exceptions=True)

    async def ask(self, call: Call, path: str, body: Body) -> Body:
        """Send a request, and read its answer.

        Raises:
            UpstreamError: It is no answer.
            RefusedError: It is no request that is sent.
        """
        response = await self.open(call, path, body)
        await response.read()
        return response.json()

    async def open(self, call: Call, path: str, body: Body) -> LiteLLMResponse:
        """Send a request; return its answer before that is read.

        Args:
            call: The client's request, of which nothing else is sent.
            path: The API's path.
            body: What to ask.

        Raises:
            RefusedError: It is no request that is sent.
        """
        name = named_model(body)
        config = self._models.get(name or "")
        if config is None or name is None:
            raise unknown_model(name, self._models)
        streams = is_yes(body.get("stream"))
        asked = asked_of_litellm(path, {**body, "stream": True} if streams else body)
        if streams and path == "/messages" and self._litellm.replays(config):
            return self._stream(call, self._replayed(config, asked, name), None, body, name)
        try:
            answer = await self._litellm.send(config, path, asked)
        # litellm maps errors to some twenty types of its own, and lets others slip through.
        except Exception as error:
            refusal = refusal_of(error, name, body)
        else:
            if streams:
                events = events_of(path, answer, body, name)
                return self._stream(call, events, answer, body, name)
            return self._given(call, path, answer, body, config)
        return self._failed(call, refusal)

    async def _replayed(
        self, config: ModelConfig, asked: Mapping[str, Any], name: str
    ) -> AsyncGenerator[Event]:
        whole = {k: v for k, v in asked.items() if k != "stream"}
        answer = await self._litellm.send(config, "/messages", whole)
        for event in events_of_message(message_body(plain(answer), name)):
            yield event

    def _given(
        self, call: Call, path: str, answer: Any, asked: Body, config: ModelConfig
    ) -> LiteLLMResponse:
        body = Priced(_body(path, plain(answer), asked, named_model(asked) or ""))
        body.cost_usd = cost_of(answer)
        if path == "/messages" and body.cost_usd is None:
            body.cost_usd = self._litellm.price(config, body)
        content = json_bytes(body)
        headers = headers_of(call, _JSON)
        return LiteLLMResponse(200, headers, once(content), self._limit, body=body)

    def _stream(
        self, call: Call, events: AsyncGenerator[Event], pieces: Any, asked: Body, name: str
    ) -> LiteLLMResponse:
        content = written(events, pieces, asked, name)

        def close() -> None:
            task = asyncio.ensure_future(_closed(content, pieces))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

        headers = headers_of(call, _EVENTS)
        return LiteLLMResponse(200, headers, content, self._limit, on_close=close)

    def _failed(self, call: Call, refusal: RefusedError) -> LiteLLMResponse:
        headers = headers_of(call, _JSON)
        headers += [(k.encode(), v.encode()) for k, v in refusal.headers.items()]
        content = error_body(refusal, call.dialect, call.request_id)
        return LiteLLMResponse(refusal.status, headers, once(content), self._limit)


def _identities(models: Mapping[str, ModelConfig]) -> list[tuple[Any, ...]]:
    return [
        (name, config.model, config.api_base, sorted(config.params.items(), key=repr))
        for name, config in sorted(models.items())
    ]


def _body(path: str, data: Body, asked: Body, name: str) -> dict[str, Any]:
    if path == "/responses":
        return response_body(data, asked, name, f"resp_{uuid.uuid4().hex}")
    return message_body(data, name) if path == "/messages" else answered_body(data, name)


async def _closed(content: AsyncGenerator[bytes], pieces: Any) -> None:
    # Somebody may be reading it still, who closes it when that ends.
    with suppress(RuntimeError):
        await content.aclose()
        # What nobody began to read closes nothing.
        await close_pieces(pieces)
