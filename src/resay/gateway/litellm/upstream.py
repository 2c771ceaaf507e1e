"""Calls models through litellm, in place of an upstream that speaks a client's API.

Only the question and generation parameters of a client's request reach litellm, which accepts
addresses, keys, headers and entire other models as parameters, and fetches URLs in messages.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import uuid
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import httpx

from resay._internal.importing import load_optional
from resay._internal.nesting import marked
from resay.adapters.upstream import OPENAI_PARAMS, litellm_provider
from resay.core.query import Query
from resay.errors import ConfigurationError
from resay.gateway.calls import Call, contains_address
from resay.gateway.config import ModelConfig, named_model, unknown_model
from resay.gateway.errors import RefusedError, error_body
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
from resay.providers.apis import Body, Event, encoded, json_bytes
from resay.providers.apis.values import is_yes, listed, mapping, mappings, number, text

_SECONDS = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6})?")
_CLIENT, _SERVER, _END = 400, 500, 600
# A wrong key is the gateway's fault, not the client's.
_OWN_KEY = 401
_MISSING_KEY = ("Missing credentials", "api_key client option")
_LATE = (TimeoutError, asyncio.TimeoutError, httpx.TimeoutException)
_PASSED_ON = frozenset({503, 504, 529})
_BY_NAME: Mapping[str, tuple[str, str]] = {
    "ContentPolicyViolationError": ("content_policy_violation", "the provider's filter refuses it"),
    "ContextWindowExceededError": (
        "context_length_exceeded",
        "it is too long for this model; send less of it",
    ),
}
_BY_STATUS: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request", "the provider refuses the request"),
    403: ("permission_denied", "the provider does not permit it"),
    404: ("not_found", "the provider knows no such model"),
    413: ("request_too_large", "it is too large for the provider"),
    422: ("invalid_request", "the provider cannot make sense of the request"),
    429: ("rate_limit_exceeded", "the provider limits the rate; try again later"),
    503: ("upstream_overloaded", "the provider is too busy; try again later"),
    529: ("upstream_overloaded", "the provider is too busy; try again later"),
}


def refusal_of(error: Exception, name: str, request: Body) -> RefusedError:
    """Return the error for a client.

    Args:
        error: The error that litellm raised.
        name: The model's name in the client's request.
        request: The client's request.
    """
    if isinstance(error, RefusedError):
        return error
    chain = list(_error_chain(error))
    # Errors of streams are wrapped for litellm's own router.
    error = getattr(error, "original_exception", None) or error
    status, code, why = _reason(error, chain, request)
    return RefusedError(
        status, code, f"the model {name!r} did not answer: {why}", headers=_retry_after(error)
    )


def _reason(error: Exception, chain: list[BaseException], request: Body) -> tuple[int, str, str]:
    kind, said = type(error).__name__, getattr(error, "status_code", None)
    missing = next((e.name for e in chain if isinstance(e, ModuleNotFoundError) and e.name), None)
    if missing is not None:
        why = f"litellm needs the package {missing!r} for it, which is not installed here"
        return 501, "missing_dependency", why
    if kind == "Timeout" or any(isinstance(e, _LATE) for e in chain):
        return 504, "upstream_timeout", "no response arrived in time"
    if kind == "UnsupportedParamsError":
        return 400, "unsupported_parameter", _unsupported(error, request)
    if said == _OWN_KEY or any(words in str(error) for words in _MISSING_KEY):
        return 502, "upstream_key_refused", "its provider rejects the gateway's key"
    if not isinstance(said, int) or any(_is_about_connections(e) for e in chain):
        return 502, "upstream_unreachable", f"it cannot be reached, or broke off ({kind})"
    status, other = (
        said,
        ("invalid_request", f"the provider refuses the request with status {said}"),
    )
    if not (_CLIENT <= said < _SERVER or said in _PASSED_ON):
        status, other = 502, ("upstream_failed", "its provider failed")
    code, why = _BY_NAME.get(kind) or _BY_STATUS.get(status) or other
    return status, code, why


def _is_about_connections(error: BaseException) -> bool:
    # The SDKs that litellm uses each have their own type.
    named = type(error).__name__ in ("APIConnectionError", "ClientPayloadError")
    return named or isinstance(error, httpx.TransportError)


def _unsupported(error: Exception, request: Body) -> str:
    """Name the unsupported parameters of the client's request."""
    message = str(error)
    names = [name for name in sorted(request) if re.search(rf"\b{re.escape(name)}\b", message)]
    # litellm mentions these in any case.
    named = ", ".join(repr(name) for name in names if name not in ("model", "messages"))
    return f"it does not support {named or 'one of the parameters'}; omit it"


def _error_chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all of its causes."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        original: object = getattr(one, "original_exception", None)
        waiting += [one.__cause__, one.__context__]
        waiting += [original] if isinstance(original, BaseException) else []


def _retry_after(error: Exception) -> dict[str, str]:
    response: Any = getattr(error, "response", None)
    for headers in (
        getattr(error, "litellm_response_headers", None),
        getattr(response, "headers", None),
    ):
        value: object = headers.get("retry-after") if headers is not None else None
        if isinstance(value, str) and _SECONDS.fullmatch(value):
            return {"retry-after": value}
    return {}


# A cached answer is not a sample, and retries are up to the guard and the client. These are passed
# with each call, because litellm's module globals belong to the application.
_PER_CALL: Mapping[str, Any] = {
    "num_retries": 0,
    "max_retries": 0,
    "caching": False,
    "cache": {"no-cache": True, "no-store": True},
}
# litellm's parsers of Anthropic's own streams, newest first. They need some packages of its proxy.
_PARSERS = (
    "litellm.llms.anthropic.messages.native.streaming_iterator",
    "litellm.llms.anthropic.pass_through.messages.streaming_iterator",
    "litellm.llms.anthropic.experimental_pass_through.messages.streaming_iterator",
)


class LiteLLM:
    """Calls models through litellm.

    Args:
        timeout_s: Seconds without data before a call fails, for models without their own setting.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._litellm: Any = None
        self._replayed: frozenset[str] = frozenset()

    async def load(self, models: Mapping[str, ModelConfig]) -> Mapping[str, bool]:
        """Load litellm, which takes seconds, and check that it knows the models.

        Args:
            models: The models.

        Returns:
            For each model, whether it accepts requests for several answers.

        Raises:
            MissingDependencyError: litellm is not installed.
            ConfigurationError: It does not know the provider of one of them.
        """
        provider, takes_n = litellm_provider(), dict[str, bool]()
        for name, config in models.items():
            # This loads litellm without its output, and off the event loop.
            takes_n[name] = await provider.takes_n(Query((), config.model, config.params))
        self._litellm = load_optional(
            "litellm", package="litellm", extra="litellm", purpose="the gateway's `models`"
        )
        for name, config in models.items():
            self._check(name, config)
        self._replayed = await asyncio.to_thread(self._without_parser, models)
        return takes_n

    def _without_parser(self, models: Mapping[str, ModelConfig]) -> frozenset[str]:
        """Return the models for which litellm needs a parser that it does not have here."""
        needing = frozenset(name for name, one in models.items() if self._needs_parser(one))
        return frozenset() if needing and _has_parser() else needing

    def replays(self, name: str) -> bool:
        """Return whether a model's streams of messages have to be made from complete ones.

        Only with packages of its proxy can litellm parse Anthropic's own streams.
        """
        return name in self._replayed

    async def send(self, config: ModelConfig, path: str, request: Mapping[str, Any]) -> Any:
        """Call a model.

        Args:
            config: The model.
            path: The API's path.
            request: The parameters.

        Raises:
            Exception: The error that litellm raises.
        """
        key = None if config.api_key is None else config.api_key.get_secret_value()
        where = {"api_key": key, "api_base": config.api_base}
        kwargs = {
            **config.params,
            **request,
            **_PER_CALL,
            **{k: v for k, v in where.items() if v is not None},
            "model": config.model,
            "timeout": config.timeout_s or self._timeout_s,
        }
        if request.get("tools") and find_spec("mcp") is None:
            # litellm 1.106 looks for MCP in every tool, using a package that it does not install.
            kwargs["_skip_mcp_handler"] = True
        # In case one of litellm's callbacks is a guard too.
        with marked():
            return await self._function(path)(**kwargs)

    def price(self, config: ModelConfig, message: Body) -> float | None:
        """Return the cost of a message of Anthropic's API, in US dollars; None if unknown."""
        usage = mapping(message.get("usage"))
        made = number(usage.get("cache_creation_input_tokens"))
        found = number(usage.get("cache_read_input_tokens"))
        # litellm raises if it does not know the model's price.
        with suppress(Exception):
            read, said = self._litellm.cost_per_token(
                model=config.model,
                prompt_tokens=number(usage.get("input_tokens")) + made + found,
                completion_tokens=number(usage.get("output_tokens")),
                cache_creation_input_tokens=made,
                cache_read_input_tokens=found,
            )
            return read + said
        return None

    def _check(self, name: str, config: ModelConfig) -> None:
        # litellm raises bare exceptions for models whose provider it does not know.
        with suppress(Exception):
            self._placed(config)
            return
        raise ConfigurationError(
            f"models.{name}: litellm does not know the provider of {config.model!r}; name the"
            " provider, as in 'openai/gpt-4.1-mini'"
        )

    def _placed(self, config: ModelConfig) -> tuple[str, str]:
        """Return a model's own name and its provider's."""
        model, provider, _, _ = self._litellm.get_llm_provider(
            model=config.model,
            custom_llm_provider=config.params.get("custom_llm_provider"),
            api_base=config.api_base,
        )
        return model, provider

    def _needs_parser(self, config: ModelConfig) -> bool:
        """Return whether litellm needs its parser of Anthropic's own streams for a model."""
        model, provider = self._placed(config)
        # litellm 1.110 also needs it at the end of streams that it makes from OpenAI's responses.
        if provider == "openai" and _exists(_PARSERS[0]):
            return True
        with suppress(Exception):
            known = self._litellm.LlmProviders(provider)
            configs = self._litellm.ProviderConfigManager
            return configs.get_provider_anthropic_messages_config(model, known) is not None
        return True

    def _function(self, path: str) -> Any:
        litellm = self._litellm
        return {
            "/chat/completions": litellm.acompletion,
            "/completions": litellm.atext_completion,
            "/responses": litellm.aresponses,
            "/messages": litellm.anthropic.messages.acreate,
        }[path]


def _has_parser() -> bool:
    """Return whether litellm can parse Anthropic's own streams here."""
    try:
        import_module(next(filter(_exists, _PARSERS)))
    except (ImportError, StopIteration):
        return False
    return True


def _exists(module: str) -> bool:
    # Importing a module by an old name warns, so it is tried under its newest one only.
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its package does not exist either
        return False


async def encode_events(
    events: AsyncGenerator[Event], pieces: Any, request: Body, name: str
) -> AsyncGenerator[bytes]:
    """Encode events for sending, and close litellm's stream at the end.

    Args:
        events: The events.
        pieces: litellm's stream that they come from.
        request: The client's request.
        name: The model's name for clients.

    Raises:
        RefusedError: The stream failed.
    """
    ended = False
    try:
        async with aclosing(events):
            async for event in events:
                yield encoded(event)
        ended = True
    # litellm maps errors to some twenty types of its own, and lets others through.
    except Exception as error:
        ended = True
        raise refusal_of(error, name, request) from None
    finally:
        if not ended:
            await close_pieces(pieces)


async def close_pieces(pieces: Any) -> None:
    """Close one of litellm's streams.

    Closing some of them leaves the connection open. All of them release it if they are cancelled
    while waiting for more.
    """
    if pieces is None:
        return
    while await _has_next_piece(pieces):
        pass
    close = getattr(pieces, "aclose", None)
    if close is not None:
        await close()


async def _has_next_piece(pieces: Any) -> bool:
    """Return whether the stream had another piece available without waiting."""
    reading = asyncio.ensure_future(anext(aiter(pieces)))
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait({reading})
    return not reading.cancelled() and reading.exception() is None


_CHAT_PARAMS = OPENAI_PARAMS - {"extra_body", "extra_headers"}
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
            "the request refers to other addresses, and the gateway fetches nothing from them; send"
            " the content itself, as a `data:` URL"
        )
    kept = form.asks | form.params
    request = {k: v for k, v in body.items() if k in kept and v is not None}
    return request | _partial_params(path, body)


def _check_needs(form: _AllowedParams, body: Body) -> None:
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


_JSON = "application/json"
_EVENTS = "text/event-stream; charset=utf-8"


class LiteLLMUpstream:
    """Calls the models of a gateway file.

    Only the question and generation parameters of a client's request reach them.

    Args:
        models: The models, by their names for clients.
        timeout_s: Seconds without data before a call fails, for models without their own setting.
        answer_bytes: The maximum length of an answer.
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
        self._models_hash = hashlib.sha256(repr(_identities(models)).encode()).hexdigest()
        self._takes_n: Mapping[str, bool] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def models(self) -> Mapping[str, ModelConfig]:
        """The models, by their names for clients."""
        return self._models

    def has_model(self, body: Body) -> bool:
        """Return whether a request is for one of the models."""
        return named_model(body) in self._models

    async def prepare(self) -> None:
        """Load litellm, which takes seconds, and check that it knows the models.

        Raises:
            MissingDependencyError: litellm is not installed.
            ConfigurationError: It does not know the provider of one of them.
        """
        self._takes_n = await self._litellm.load(self._models)

    def takes_n(self, body: Body) -> bool:
        """Return whether a model accepts requests for several answers."""
        return self._takes_n.get(named_model(body) or "", False)

    def cost_usd(self, body: Body) -> float | None:
        """Return the cost of an answer from `ask`, in US dollars; None if unknown."""
        return body.cost_usd if isinstance(body, Priced) else None

    def source(self, call: Call, client: str | None) -> str:
        """Return a cache key that differs between clients, and between sets of models."""
        del call
        identity = repr((self._models_hash, client)).encode("utf-8", "surrogatepass")
        return f"gateway litellm {hashlib.sha256(identity).hexdigest()}"

    async def aclose(self) -> None:
        """Wait until all abandoned streams are closed."""
        if self._closing:
            await asyncio.gather(*self._closing, return_exceptions=True)

    async def ask(self, call: Call, path: str, body: Body) -> Body:
        """Send a request, and read its answer.

        Raises:
            UpstreamError: The response is not a success.
            RefusedError: The request cannot be sent.
        """
        response = await self.open(call, path, body)
        await response.read()
        return response.json()

    async def open(self, call: Call, path: str, body: Body) -> LiteLLMResponse:
        """Send a request; return the response before its body is read.

        Args:
            call: The client's request, of which nothing else is sent.
            path: The API's path.
            body: The body to send.

        Raises:
            RefusedError: The request cannot be sent.
        """
        name = named_model(body)
        config = self._models.get(name or "")
        if config is None or name is None:
            raise unknown_model(name, self._models)
        streams = is_yes(body.get("stream"))
        request = litellm_params(path, {**body, "stream": True} if streams else body)
        if streams and path == "/messages" and self._litellm.replays(name):
            return self._stream(call, self._replayed(config, request, name), None, body, name)
        try:
            answer = await self._litellm.send(config, path, request)
        # litellm maps errors to some twenty types of its own, and lets others through.
        except Exception as error:
            refusal = refusal_of(error, name, body)
        else:
            if streams:
                events = events_of(path, answer, body, name)
                return self._stream(call, events, answer, body, name)
            return self._response(call, path, answer, body, config)
        return self._failed(call, refusal)

    async def _replayed(
        self, config: ModelConfig, request: Mapping[str, Any], name: str
    ) -> AsyncGenerator[Event]:
        whole = {k: v for k, v in request.items() if k != "stream"}
        answer = await self._litellm.send(config, "/messages", whole)
        for event in events_of_message(message_body(plain(answer), name)):
            yield event

    def _response(
        self, call: Call, path: str, answer: Any, request: Body, config: ModelConfig
    ) -> LiteLLMResponse:
        body = Priced(_body(path, plain(answer), request, named_model(request) or ""))
        body.cost_usd = cost_of(answer)
        if path == "/messages" and body.cost_usd is None:
            body.cost_usd = self._litellm.price(config, body)
        content = json_bytes(body)
        headers = headers_of(call, _JSON)
        return LiteLLMResponse(200, headers, once(content), self._limit, body=body)

    def _stream(
        self, call: Call, events: AsyncGenerator[Event], pieces: Any, request: Body, name: str
    ) -> LiteLLMResponse:
        content = encode_events(events, pieces, request, name)

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


def _body(path: str, data: Body, request: Body, name: str) -> dict[str, Any]:
    if path == "/responses":
        return response_body(data, request, name, f"resp_{uuid.uuid4().hex}")
    return message_body(data, name) if path == "/messages" else answered_body(data, name)


async def _closed(content: AsyncGenerator[bytes], pieces: Any) -> None:
    # A reader may still be iterating; it closes the stream when it ends.
    with suppress(RuntimeError):
        await content.aclose()
        # Closing an unstarted generator does not close the stream.
        await close_pieces(pieces)
