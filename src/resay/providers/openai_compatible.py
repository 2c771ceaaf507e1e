"""Answers by every server with OpenAI's chat completions: OpenAI, Ollama, vLLM, llama.cpp."""

from __future__ import annotations

import json
import math
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

import anyio.to_thread

from resay._internal._version import __version__
from resay._internal.event_loops import PerLoop
from resay._internal.http_environment import naming_variables
from resay._internal.retries import retry_after_s
from resay.core.request import Request
from resay.errors import (
    ConfigurationError,
    ProviderError,
    ProviderRefusedError,
    ProviderTimeoutError,
)
from resay.providers.apis.chat_completions import CHAT_COMPLETIONS
from resay.providers.apis.endings import StreamEnd, is_error, is_error_event
from resay.providers.apis.events import Event, EventReader
from resay.providers.apis.values import Body, json_bytes, mapping, mappings
from resay.providers.base import (
    Chunk,
    Completions,
    model_of,
    sent_messages,
    with_counted_tokens,
)
from resay.providers.base_urls import (
    CHAT_PATH,
    base_url_in,
    host_of,
    problem_with_url,
    shown,
    url_at,
    with_version,
)
from resay.providers.litellm_problems import is_litellm_provider, needs_key
from resay.providers.statuses import UNUSABLE_STATUSES, detail_of, hint_of, is_final
from resay.providers.stream_usage import open_with_usage, with_refused_requests
from resay.providers.unanswered import no_answer, no_choice
from resay.providers.unreachable import unreachable_by

if TYPE_CHECKING:
    import httpx

# How litellm names servers with OpenAI's API, and the variables in which it looks for their keys.
_PREFIXES: Mapping[str, str] = {
    "custom_openai": "OPENAI_API_KEY",
    "hosted_vllm": "HOSTED_VLLM_API_KEY",
    "llamafile": "LLAMAFILE_API_KEY",
    "lm_studio": "LM_STUDIO_API_KEY",
    "openai": "OPENAI_API_KEY",
}
_OPENAI_HOST = "openai.com"
_OPENAI_VARIABLE = "OPENAI_API_KEY"
# Parameters for the connection, for litellm, or that are set here.
_NOT_SENT = frozenset(
    {
        "additional_drop_params",
        "allowed_openai_params",
        "api_base",
        "api_key",
        "api_version",
        "base_url",
        "cache",
        "caching",
        "custom_llm_provider",
        "drop_params",
        "extra_body",
        "extra_headers",
        "headers",
        "max_retries",
        "messages",
        "metadata",
        "mock_response",
        "model",
        "n",
        "num_retries",
        "organization",
        "request_timeout",
        "stream",
        "timeout",
    }
)
_CONNECT_TIMEOUT_S = 10.0
_SUPPORTED_PARAMS = frozenset({"temperature", "json_object", "json_schema"})
_LOOPBACK = ("localhost", "127.", "::1")


def is_compatible(request: Request) -> bool:
    """Return whether a request names a server with OpenAI's API, rather than litellm's provider.

    It does if it has an `api_base`, and its model's name does not begin with one of litellm's
    providers that have an API of their own, such as `anthropic/` or `ollama/`.

    Args:
        request: The request.
    """
    if base_url_in(request.params) is None:
        return False
    provider = request.params.get("custom_llm_provider")
    if provider is None:
        provider, slash, _ = (request.model or "").partition("/")
        if not slash:
            return True
    return provider in _PREFIXES or not is_litellm_provider(provider)


def problem_before_sending(request: Request) -> ProviderRefusedError | None:
    """Return why a request cannot be sent: its address is none, or a key is missing for sure.

    Args:
        request: The request; it is compatible.
    """
    model, base_url = model_of(request), base_url_in(request.params) or ""
    problem = problem_with_url(base_url)
    if problem is not None:
        return ProviderRefusedError(f"`api_base` {problem}", unusable=True)
    key_variable = _key_variable(model, base_url)
    if _is_openai(base_url) and not _has_key(_headers(request.params, key_variable)):
        return needs_key(model, key_variable)
    return None


class OpenAICompatibleProvider:
    """Send requests to a server with OpenAI's API, whose address is the request's `api_base`.

    The connections of an event loop are shared by all instances, and closed when that loop shuts
    down. The model's name is sent as it is, without a leading `openai/`. Parameters are passed on
    as they are, those that only litellm knows are left out, and those of `extra_body` are added.

    Args:
        timeout_s: Seconds without data before a request fails, unless it has its own `timeout`.
    """

    cache_source = "openai-compatible"
    """The request alone determines where a request goes, so all instances are interchangeable."""
    endpoint = "openai-compatible"
    """The server is known from the request alone."""

    def __init__(self, *, timeout_s: float = 600.0) -> None:
        self._timeout_s = timeout_s

    async def prepare(self) -> None:
        """Load what connections need."""
        await _clients.get_ready()

    async def aclose(self) -> None:
        """Close the running event loop's connections; the next request opens new ones."""
        await _clients.aclose()

    async def models(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the names of the models that a server has.

        Args:
            params: The parameters of a request: `api_base`, and perhaps `api_key`.

        Raises:
            ProviderError: The server does not say.
        """
        request = Request((), "server", params)
        http_request = replace(_http_request_of(request, self._timeout_s), path="/models")
        client = await _clients.get_ready()
        try:
            response = await client.get(
                http_request.url, headers=http_request.headers, timeout=http_request.timeout
            )
            _raise_for_status(response)
            listed = _parsed(response.content, http_request)
        except Exception as error:
            raise http_request.error(error) from None
        return tuple(str(model.get("id")) for model in mappings(listed.get("data")))

    async def embed(self, request: Request, texts: Sequence[str]) -> Body:
        """Return a server's response with the embeddings of texts.

        Args:
            request: The model, and the parameters of a request; `api_base` is required.
            texts: The texts.

        Raises:
            ProviderError: As for `complete`.
        """
        http_request = replace(_http_request_of(request, self._timeout_s), path="/embeddings")
        body = {name: value for name, value in http_request.body.items() if name != "messages"}
        client = await _clients.get_ready()
        try:
            options = http_request.options({**body, "input": list(texts)})
            response = await client.post(http_request.url, **options)
            _raise_for_status(response)
            return _parsed(response.content, http_request)
        except Exception as error:
            raise http_request.error(error) from None

    async def takes_n(self, request: Request) -> bool:
        """Return True: who does not take `n` refuses it, or answers once, and is asked again."""
        del request
        return True

    async def supported_params(self, request: Request) -> frozenset[str]:
        """Return the optional parameters of the API; a server may refuse them all the same."""
        del request
        return _SUPPORTED_PARAMS

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Send one request.

        Args:
            request: The request; `model` and `api_base` are required.
            n: Number of answers to ask for in this request.

        Returns:
            The answers received, possibly fewer than n.

        Raises:
            ProviderRefusedError: The request is wrong and would be refused again.
            ProviderTimeoutError: No answer arrived in time.
            ProviderError: Anything else that went wrong.
        """
        http_request = _http_request_of(request, self._timeout_s)
        body = {**http_request.body, "n": n} if n > 1 else http_request.body
        client = await _clients.get_ready()
        try:
            response = await client.post(http_request.url, **http_request.options(body))
            _raise_for_status(response)
            answer = _parsed(response.content, http_request)
        # httpx's errors, and httpcore's, which it does not translate all.
        except Exception as error:
            raise http_request.error(error) from None
        return _read(answer, http_request)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Send one request whose answer is streamed.

        Of several choices only the first is used. A server that answers at once, without a stream,
        gives one chunk.

        Args:
            request: The request; `model` and `api_base` are required.

        Returns:
            A context manager around the chunks. Leaving it early closes the connection.

        Raises:
            ProviderRefusedError: On entering: the request is wrong and would be refused again.
            ProviderTimeoutError: On entering or between chunks: nothing arrived in time.
            ProviderError: Anything else that went wrong.
        """
        http_request = _http_request_of(request, self._timeout_s)
        body = {**http_request.body, "stream": True}
        response, requests = await open_with_usage(partial(_send, http_request), body)
        try:
            stream = with_refused_requests(_chunks(response, http_request), requests)
            async with aclosing(stream) as chunks:
                yield chunks
        finally:
            await response.aclose()


@dataclass(frozen=True, slots=True)
class _HttpRequest:
    """A request as it is sent, and what messages about it name.

    Attributes:
        model: The model as the user named it.
        sent_model: The model as the server knows it.
        base_url: The address of the API.
        headers: The HTTP headers. They may contain a key.
        body: The body of a request for one answer that is not streamed.
        timeout: The time-outs.
        key_variable: The environment variable for the key; None if there is none.
        path: The path after the address.
    """

    model: str
    sent_model: str
    base_url: str
    headers: Mapping[str, str] = field(repr=False)
    body: Body = field(repr=False)
    timeout: httpx.Timeout
    key_variable: str | None
    path: str = CHAT_PATH

    @property
    def url(self) -> str:
        """The address that the request is sent to."""
        return url_at(self.base_url, self.path)

    @property
    def has_key(self) -> bool:
        """Whether it is sent with a key."""
        return _has_key(self.headers)

    def options(self, body: Body) -> dict[str, Any]:
        """Return httpx's options for sending a body.

        Raises:
            ProviderRefusedError: A parameter holds what JSON cannot represent.
        """
        try:
            content = json_bytes(body)
        except (TypeError, ValueError, RecursionError):
            raise _not_json(body) from None
        return {"content": content, "headers": self.headers, "timeout": self.timeout}

    def error(self, error: Exception) -> ProviderError:
        """Translate an error into one of ours, without the server's words."""
        if isinstance(error, ProviderError):
            return error
        name = type(error).__name__
        if isinstance(error, _StatusError):
            return self._status_error(error)
        if "Timeout" in name:
            return ProviderTimeoutError(f"{self.model!r} did not answer in time ({name})")
        unreachable = unreachable_by(error)
        if unreachable is not None:
            return ProviderError(
                f"{self.model!r} cannot be reached: {unreachable.reason}; {unreachable.remedy}",
                # Nothing begins to listen on this machine within a moment.
                retryable=not host_of(self.base_url).startswith(_LOOPBACK),
                unusable=True,
            )
        if name == "DecodingError":
            return ProviderError(
                f"{shown(self.url)} answered with data that cannot be decompressed ({name}); check"
                " the server, and a proxy in front of it",
                retryable=True,
                detail=name,
            )
        return ProviderError(
            f"the connection to {shown(self.url)} broke ({name}); see the server's log",
            retryable=True,
            detail=name,
        )

    def _status_error(self, error: _StatusError) -> ProviderError:
        status = error.status
        message = f"{self.model!r} failed at {shown(self.url)} (HTTP {status}); {self._hint(error)}"
        if is_final(status):
            return ProviderRefusedError(
                message, status=status, unusable=status in UNUSABLE_STATUSES or status < 400
            )
        return ProviderError(
            message,
            status=status,
            retry_after_s=error.retry_after_s,
            retryable=True,
            detail=detail_of(status, error.retry_after_s),
        )

    def _hint(self, error: _StatusError) -> str:
        status = error.status
        if status < 400:
            return "the server redirects to another address; check `api_base`"
        if status in (401, 403) and not self.has_key:
            if self.key_variable is None:
                return "it needs an API key; pass `api_key`"
            return f"it needs an API key; set {self.key_variable} or pass `api_key`"
        if status == 404:
            return self._not_found_hint(error.text)
        return hint_of(status, error.retry_after_s, "see the server's log")

    def _not_found_hint(self, text: str) -> str:
        """Return what to do about an address or a model that does not exist."""
        if "model" in text.lower() and "invalid url" not in text.lower():
            hint = f"the server has no model {self.sent_model!r}; check the model's name"
            if self.sent_model != self.model and not _is_openai(self.base_url):
                hint += f", or write 'openai/{self.model}' if the server names it {self.model!r}"
            return hint
        base_url = shown(self.base_url).rstrip("/")
        if with_version(base_url) != base_url:
            return f"did you mean the `api_base` {with_version(base_url)!r}?"
        return "nothing is at this address; check `api_base`"


class _StatusError(Exception):
    """A response whose status is not a success, with its text."""

    def __init__(self, status: int, text: str, retry_after_s: float | None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.retry_after_s = retry_after_s


def _raise_for_status(response: httpx.Response) -> None:
    if not response.is_success:
        after = retry_after_s(response.headers)
        raise _StatusError(response.status_code, response.text, after)


def _http_request_of(request: Request, timeout_s: float) -> _HttpRequest:
    import httpx

    model = model_of(request)
    base_url = base_url_in(request.params)
    if base_url is None:
        raise ProviderRefusedError("no address was given; pass `api_base`", unusable=True)
    problem = problem_before_sending(request)
    if problem is not None:
        raise problem
    key_variable = _key_variable(model, base_url)
    seconds = _timeout_in(request.params, timeout_s)
    prefix, slash, name = model.partition("/")
    sent_model = name if slash and prefix in _PREFIXES else model
    return _HttpRequest(
        model=model,
        sent_model=sent_model,
        base_url=base_url,
        headers=_headers(request.params, key_variable),
        body=_body(request, sent_model),
        timeout=httpx.Timeout(seconds, connect=min(_CONNECT_TIMEOUT_S, seconds)),
        key_variable=key_variable,
    )


def _key_variable(model: str, base_url: str) -> str | None:
    """Return the environment variable with the key for a model at an address; None if none."""
    prefix, slash, _ = model.partition("/")
    if slash and prefix in _PREFIXES:
        return _PREFIXES[prefix]
    return _OPENAI_VARIABLE if _is_openai(base_url) else None


def _is_openai(base_url: str) -> bool:
    host = host_of(base_url)
    return host == _OPENAI_HOST or host.endswith(f".{_OPENAI_HOST}")


def _has_key(headers: Mapping[str, str]) -> bool:
    return any(name.lower() in ("authorization", "api-key") for name in headers)


def _timeout_in(params: Mapping[str, Any], default_s: float) -> float:
    value: object = params.get("timeout", params.get("request_timeout"))
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return default_s
    return float(value) if 0 < value < math.inf else default_s


def _headers(params: Mapping[str, Any], key_variable: str | None) -> dict[str, str]:
    headers = {"content-type": "application/json", "user-agent": f"resay/{__version__}"}
    key: object = params.get("api_key") or (key_variable and os.environ.get(key_variable))
    if key:
        headers["authorization"] = f"Bearer {key}"
    if params.get("organization"):
        headers["openai-organization"] = str(params["organization"])
    for name in ("headers", "extra_headers"):
        for header, value in mapping(params.get(name)).items():
            headers[header.lower()] = str(value)
    return headers


def _body(request: Request, sent_model: str) -> dict[str, Any]:
    """Return the body of a request."""
    body: dict[str, Any] = {
        "model": sent_model,
        "messages": sent_messages(request),
    }
    for name, value in request.params.items():
        if name not in _NOT_SENT and value is not None:
            body[name] = _json_schema_of(value) if name == "response_format" else value
    body.update(mapping(request.params.get("extra_body")))
    return body


def _not_json(body: Body) -> ProviderRefusedError:
    """Return the error of a body that JSON cannot represent."""
    name = next(name for name, value in body.items() if not _is_json(value))
    return ProviderRefusedError(
        f"{name!r} holds a value that JSON cannot represent; give texts, numbers, lists and"
        " mappings",
        status=400,
    )


def _is_json(value: object) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _json_schema_of(value: Any) -> Any:
    """Return a response format, which may be a pydantic model, as JSON."""
    schema = getattr(value, "model_json_schema", None)
    if not isinstance(value, type) or schema is None:
        return value
    return {"type": "json_schema", "json_schema": {"name": value.__name__, "schema": schema()}}


async def _send(http_request: _HttpRequest, body: Body) -> httpx.Response:
    client = await _clients.get_ready()
    try:
        request = client.build_request("POST", http_request.url, **http_request.options(body))
        response = await client.send(request, stream=True)
        if not response.is_success:
            try:
                await response.aread()
                _raise_for_status(response)
            finally:
                await response.aclose()
    except Exception as error:
        raise http_request.error(error) from None
    return response


async def _chunks(response: httpx.Response, http_request: _HttpRequest) -> AsyncGenerator[Chunk]:
    has_answer = False
    end = StreamEnd(CHAT_COMPLETIONS)
    last_finish: str | None = None
    try:
        async with aclosing(_events(response, http_request)) as events:
            async for event in events:
                if is_error_event(event):
                    raise ProviderError(
                        f"{http_request.model!r} ended its answer with an error; see the server's"
                        " log",
                        retryable=True,
                        detail="an error in the stream",
                    )
                if _is_broken(event) and not end.is_complete:
                    # Words of the answer may be in it.
                    raise ProviderError(
                        f"{http_request.model!r} streamed an event that is not JSON; see the"
                        " server's log",
                        retryable=True,
                        detail="no JSON in the stream",
                    )
                end.note(event)
                for index, chunk in CHAT_COMPLETIONS.chunks(event):
                    if index != 0:
                        continue
                    has_answer = has_answer or bool(chunk.text or chunk.calls)
                    last_finish = chunk.finish_reason or last_finish
                    yield replace(chunk, raw=dict(event.body))
    except Exception as error:
        raise http_request.error(error) from None
    if not has_answer and last_finish is None:
        raise no_answer(http_request.model)
    if last_finish is None and not end.is_complete:
        # The connection broke, or the server gives no reasons.
        yield Chunk(finish_reason="incomplete")


async def _events(response: httpx.Response, http_request: _HttpRequest) -> AsyncGenerator[Event]:
    """Read the events of a stream; a whole answer becomes one event."""
    if "json" in response.headers.get("content-type", ""):
        answer = _parsed(await response.aread(), http_request)
        choice = dict(mapping(_choices_of(answer, http_request)[0]))
        choice["delta"] = choice.pop("message", {})
        yield Event({**answer, "choices": [choice]})
        return
    reader = EventReader()
    async for piece in response.aiter_bytes():
        for event in reader.feed(piece):
            yield event
    for event in reader.finish():
        # The connection broke in the middle of one, which the stream's missing end tells.
        if not _is_broken(event):
            yield event


def _is_broken(event: Event) -> bool:
    """Return whether an event was meant to be a JSON object."""
    return isinstance(event.data, str) and event.data.lstrip().startswith("{")


def _parsed(content: bytes, http_request: _HttpRequest) -> Body:
    try:
        body: object = json.loads(content)
    # Deep nesting is refused with a RecursionError.
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise ProviderError(
            f"{http_request.model!r} answered with something other than a JSON object; check"
            " `api_base`",
            retryable=True,
            detail="no JSON",
        )
    return cast("Body", body)


def _choices_of(answer: Body, http_request: _HttpRequest) -> Sequence[Any]:
    """Return the choices of a response, at least one."""
    if is_error(answer):
        raise ProviderError(
            f"{http_request.model!r} answered with an error; see the server's log",
            retryable=True,
            detail="an error as the answer",
        )
    choices = mappings(answer.get("choices"))
    if not choices:
        raise no_choice(http_request.model)
    return choices


def _read(answer: Body, http_request: _HttpRequest) -> Completions:
    _choices_of(answer, http_request)
    items = CHAT_COMPLETIONS.completions(answer)
    return Completions(items, with_counted_tokens(items, CHAT_COMPLETIONS.usage(answer)))


class _Clients:
    """The HTTP client of each event loop."""

    def __init__(self) -> None:
        self._per_loop: PerLoop[httpx.AsyncClient] = PerLoop(_new_client, _close)

    async def get_ready(self) -> httpx.AsyncClient:
        """Return the running loop's client; what it needs is loaded off the loop.

        Raises:
            ProviderRefusedError: An environment variable that it reads is malformed.
        """
        try:
            with naming_variables():
                if not _ssl_context.cache_info().currsize:
                    await anyio.to_thread.run_sync(_ssl_context, abandon_on_cancel=True)
                return await self._per_loop.get()
        except ConfigurationError as error:
            raise ProviderRefusedError(str(error), unusable=True) from None

    async def aclose(self) -> None:
        """Close the running loop's client, if there is one."""
        await self._per_loop.aclose()


@cache
def _ssl_context() -> ssl.SSLContext:
    import httpx

    context = httpx.create_ssl_context()
    # Imports what httpx otherwise imports on the event loop, when the first client is created.
    httpx.AsyncHTTPTransport(verify=context)
    return context


def _new_client() -> httpx.AsyncClient:
    import httpx

    # The guard limits how many requests are sent at once.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
    # A proxy on the way to this machine would be somewhere else.
    direct: dict[str, httpx.AsyncBaseTransport | None] = {
        f"all://{host}": None for host in ("127.0.0.1", "localhost", "[::1]")
    }
    return httpx.AsyncClient(verify=_ssl_context(), limits=limits, mounts=direct)


async def _close(client: httpx.AsyncClient) -> None:
    await client.aclose()


_clients = _Clients()
