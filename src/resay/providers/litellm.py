"""Providers and embedders for every model that litellm supports."""

from __future__ import annotations

import asyncio
import inspect
import math
import os
import re
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

import anyio
import anyio.lowlevel
import anyio.to_thread

from resay._internal.event_loops import PerLoop
from resay._internal.nesting import marked
from resay._internal.retries import retrier, retry_after_s
from resay._internal.telemetry import Span, span
from resay.core.logprobs import read_logprobs
from resay.core.query import Query
from resay.core.usage import Usage
from resay.errors import (
    SEE_CAUSE,
    ConfigurationError,
    MissingDependencyError,
    ProviderError,
    ProviderRefusedError,
    ProviderTimeoutError,
)
from resay.providers.base import Chunk, Completion, Completions, ToolCall, with_counted_tokens
from resay.providers.limits import ProcessLimits
from resay.providers.unreachable import UNUSABLE_STATUSES, unreachable_by

# `Retrying` does the retries, and a cached answer is no sample. All settings are per call, because
# litellm's module globals belong to the application.
_PER_CALL: Mapping[str, Any] = {
    "num_retries": 0,
    "max_retries": 0,
    "caching": False,
    "cache": {"no-cache": True, "no-store": True},
    "stream": False,
}

_HINTS = {
    400: "check the model's name and parameters",
    401: "check the API key",
    403: "check what the API key may do",
    404: "check the model's name and `api_base`",
    429: "the provider limits the rate; lower `limits.concurrency` or raise `limits.retries`",
}

_NO_KEY = re.compile(r"Missing credentials|api_key client option|(?i:missing .{0,40}api key)")


class LiteLLMProvider:
    """Send queries to any model that litellm supports, in its notation (`openai/gpt-4.1-mini`).

    litellm is imported off the event loop, because that takes seconds: by `prepare`, or on the
    first request. If the application has not imported it before, its import is kept quiet: it
    reads no `.env` file and fetches no price list. The clients that litellm creates in an event
    loop are closed when that loop shuts down.

    Args:
        timeout_s: litellm's own request timeout, in seconds. The guard's own limits apply first.

    Raises:
        MissingDependencyError: litellm is not installed.
    """

    cache_source = "litellm"
    """The query alone determines where a request goes, so all instances are interchangeable."""

    def __init__(self, *, timeout_s: float = 600.0) -> None:
        if find_spec("litellm") is None:
            raise MissingDependencyError("litellm", "litellm", "calling a model")
        self._timeout_s = timeout_s

    async def prepare(self) -> None:
        """Import litellm."""
        await _import_litellm()

    async def takes_n(self, query: Query) -> bool:
        """Return whether litellm forwards `n` to the query's model."""
        litellm = await _import_litellm()
        try:
            supported = litellm.get_supported_openai_params(
                model=query.model,
                custom_llm_provider=query.params.get("custom_llm_provider"),
            )
        # litellm raises bare exceptions for unknown models; the request's error will be clearer.
        except Exception:
            return False
        return "n" in (supported or ())

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Send one request.

        Args:
            query: The query; `model` is required.
            n: Number of answers to ask for in this request.

        Returns:
            The answers received, possibly fewer than n.

        Raises:
            ProviderRefusedError: The request is wrong and would be refused again.
            ProviderTimeoutError: No answer arrived in time.
            ProviderError: Anything else that went wrong.
        """
        model = _model_of(query)
        kwargs = self._kwargs(query)
        if n > 1:
            kwargs["n"] = n
        return _read(await _send(model, kwargs), model)

    @asynccontextmanager
    async def stream(self, query: Query) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Send one request whose answer is streamed.

        The chunks are litellm's own: one without text holds a role, a tool call or reasoning, which
        `raw` contains. Of several choices only the first is used. The usage comes with the last
        chunk if the provider counts it; litellm's own estimate is ignored.

        Args:
            query: The query; `model` is required.

        Returns:
            A context manager around the chunks. Leaving it early closes the connection.

        Raises:
            ProviderRefusedError: On entering: the request is wrong and would be refused again.
            ProviderTimeoutError: On entering or between chunks: nothing arrived in time.
            ProviderError: Anything else that went wrong.
        """
        model = _model_of(query)
        pieces, requests = await self._open(query, model)
        try:
            async with aclosing(_counted(_chunks(pieces, model), requests)) as chunks:
                yield chunks
        finally:
            await pieces.aclose()

    async def _open(self, query: Query, model: str) -> tuple[Any, int]:
        """Open the stream; return its chunks and the number of requests that took."""
        options: Mapping[str, Any] | None = query.params.get("stream_options")
        kwargs = {**self._kwargs(query), "stream": True}
        with_usage = {**kwargs, "stream_options": {"include_usage": True, **(options or {})}}
        try:
            return await _send(model, with_usage), 1
        except ProviderRefusedError as error:
            # Older OpenAI-compatible servers do not support the parameter.
            if options is not None or error.status not in (400, 422):
                raise
        return await _send(model, kwargs), 2

    def _kwargs(self, query: Query) -> dict[str, Any]:
        messages = [dict(message) for message in query.messages]
        kwargs = {"timeout": self._timeout_s, **query.params, **_PER_CALL, "messages": messages}
        if kwargs.get("tools") and find_spec("mcp") is None:
            # litellm 1.106 checks every tool for MCP, with a package that it does not install.
            kwargs["_skip_mcp_handler"] = True
        bias = kwargs.get("logit_bias")
        if isinstance(bias, Mapping):
            # Token numbers are strings in JSON; litellm 1.110 fails where they are not.
            biases = cast("Mapping[Any, Any]", bias)
            kwargs["logit_bias"] = {str(token): value for token, value in biases.items()}
        return kwargs


class _Zero(int):
    def __bool__(self) -> bool:
        return True


_PER_EMBEDDING: Mapping[str, Any] = {
    **{key: value for key, value in _PER_CALL.items() if key != "stream"},
    # litellm 1.106 evaluates `max_retries or 2` for embeddings, so its 0 has to be truthy.
    "max_retries": _Zero(),
}


class LiteLLMEmbedder:
    """Embed texts with any model that litellm supports, named in its notation.

    Requests are retried, limited and counted here; see `usage`. Errors contain neither the texts
    nor the provider's own words.

    Args:
        model: The embedding model (`openai/text-embedding-3-small`).
        api_base: Base URL, for servers with OpenAI's API; None = litellm's default.
        api_key: The provider's key; None = from the environment.
        dimensions: Number of dimensions to request; None = the model's default.
        batch: Maximum number of texts per request, at least 1.
        timeout_s: Timeout of a request, in seconds.
        retries: How often a failed request is sent again.
        concurrency: Maximum number of concurrent requests, at least 1.

    Attributes:
        model: The model.

    Raises:
        ConfigurationError: `batch` or `concurrency` is less than 1.
        MissingDependencyError: litellm is not installed.
    """

    def __init__(
        self,
        model: str,
        *,
        api_base: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        batch: int = 64,
        timeout_s: float = 30.0,
        retries: int = 2,
        concurrency: int = 8,
    ) -> None:
        if find_spec("litellm") is None:
            raise MissingDependencyError("litellm", "litellm", "calling an embedding model")
        if batch < 1:
            raise ConfigurationError(f"`batch` is {batch!r}; give 1 or more")
        self._kwargs: dict[str, Any] = {
            **_PER_EMBEDDING,
            "timeout": timeout_s,
            # litellm would not send it to other models behind OpenAI's API.
            "allowed_openai_params": ["dimensions"],
        }
        options = {"api_base": api_base, "api_key": api_key, "dimensions": dimensions}
        for name, value in options.items():
            if value is not None:
                self._kwargs[name] = value
        self.model = model
        self._dimensions = dimensions
        self._batch = batch
        self._timeout_s = timeout_s
        self._attempts = partial(retrier, retries, 0.5)
        self._slots = ProcessLimits(concurrency)
        self._usage = Usage()
        self._lock = threading.Lock()

    @property
    def usage(self) -> Usage:
        """Usage of the requests that were answered, in all event loops and threads."""
        return self._usage

    async def prepare(self) -> None:
        """Import litellm."""
        await _import_litellm()

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Embed texts.

        Args:
            texts: Any number of texts.

        Returns:
            One embedding per text, in their order, all of the same length.

        Raises:
            ProviderRefusedError: The request is wrong and would be refused again.
            ProviderTimeoutError: No answer arrived in time.
            ProviderError: Anything else that went wrong, such as an answer with too few embeddings.
        """
        # Lone surrogates cannot be encoded, and empty texts are refused.
        encodable = [text.encode(errors="replace").decode() or " " for text in texts]
        embeddings: list[list[float]] = []
        for start in range(0, len(encodable), self._batch):
            batch = encodable[start : start + self._batch]
            batch_embeddings: list[list[float]] = await self._attempts()(self._request, batch)
            embeddings += batch_embeddings
        if len(set(map(len, embeddings))) > 1:
            raise ProviderError(f"{self.model!r} returned embeddings of different lengths")
        return embeddings

    async def _request(self, texts: Sequence[str]) -> list[list[float]]:
        litellm = await _import_litellm()
        await _clients.get()  # so that they are closed with the loop
        attributes = {"gen_ai.request.model": self.model, "resay.texts": len(texts)}
        async with self._slots:
            with span("resay.embed", attributes) as active_span:
                try:
                    with marked(), anyio.fail_after(self._timeout_s):
                        answer = await litellm.aembedding(
                            model=self.model, input=list(texts), **self._kwargs
                        )
                except Exception as error:
                    failure = _translate(error, self.model, "see the provider's log")
                else:
                    self._count(answer, active_span)
                    return self._read(answer, len(texts))
                # Raised without its cause, which may repeat the texts.
                raise failure

    def _count(self, answer: Any, active_span: Span) -> None:
        usage = _usage(answer, answer._hidden_params.get("response_cost"))  # noqa: SLF001 - documented
        with self._lock:
            self._usage += usage
        active_span.set(
            {"gen_ai.usage.input_tokens": usage.prompt_tokens, "resay.cost_usd": usage.cost_usd}
        )

    def _read(self, answer: Any, count: int) -> list[list[float]]:
        try:
            numbered = sorted(map(_embedding, answer.data))
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            name = type(error).__name__
            raise ProviderError(
                f"{self.model!r} answered in a form that cannot be read ({name}); check that it is"
                " an embedding model"
            ) from None
        indices = [index for index, _ in numbered]
        embeddings = [embedding for _, embedding in numbered]
        if indices != list(range(count)):
            raise ProviderError(
                f"{self.model!r} returned {len(indices)} embeddings for {count} texts, not one for"
                " each"
            )
        sizes = set(map(len, embeddings))
        if self._dimensions is not None and sizes != {self._dimensions}:
            raise ProviderError(
                f"{self.model!r} returned embeddings of {max(sizes)} numbers, but `dimensions` is"
                f" {self._dimensions}; leave it out, or name a model that supports it"
            )
        for embedding in embeddings:
            if not all(map(math.isfinite, embedding)):
                raise ProviderError(f"{self.model!r} returned non-numeric embeddings")
        return embeddings


def _embedding(item: Any) -> tuple[int, list[float]]:
    """Return the index of an embedding's text, and its numbers."""
    fields = cast("Mapping[str, Any]", item if isinstance(item, dict) else vars(item))
    return int(fields["index"]), [float(number) for number in fields["embedding"]]


def _model_of(query: Query) -> str:
    if not query.model:
        raise ProviderRefusedError(
            "no model was named; pass `model`, such as 'openai/gpt-4.1-mini'"
        )
    return query.model


async def _send(model: str, kwargs: Mapping[str, Any]) -> Any:
    litellm = await _import_litellm()
    await _clients.get()  # so that they are closed with the loop
    try:
        # In case a callback of litellm's is a guard too.
        with marked():
            return await litellm.acompletion(model=model, **kwargs)
    # litellm maps errors to some twenty types of its own, and lets others through.
    except Exception as error:
        raise _translate(error, model) from error


async def _counted(chunks: AsyncGenerator[Chunk], requests: int) -> AsyncGenerator[Chunk]:
    """Report at the end of the stream that an earlier request was refused."""
    async with aclosing(chunks) as inner:
        async for chunk in inner:
            yield chunk
    if requests > 1:
        yield Chunk(usage=Usage(requests, cost_usd=None))


async def _chunks(pieces: Any, model: str) -> AsyncGenerator[Chunk]:
    try:
        async for piece in pieces:
            yield _chunk(pieces, piece)
    except Exception as error:
        raise _translate(error, model) from error


async def _import_litellm() -> Any:
    loaded = sys.modules.get("litellm")
    # A module is in sys.modules while it is still being imported by another thread.
    if loaded is not None and not getattr(loaded.__spec__, "_initializing", False):
        return loaded
    return await anyio.to_thread.run_sync(_import_quietly)


def _import_quietly() -> Any:
    first = "litellm" not in sys.modules
    if first:
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    litellm: Any = import_module("litellm")
    if first:
        # Nothing else uses it yet, so its advertisements on stdout can be turned off.
        litellm.suppress_debug_info = True
    return litellm


class _Clients:
    """The clients that litellm creates in the running event loop."""

    def __init__(self) -> None:
        self._litellm: Any = import_module("litellm")
        # What litellm appends to the keys of a loop's clients. Before 1.110 that is its address,
        # which an earlier loop may have had. Open clients are left alone: the application may have
        # created them in this loop.
        self._key_suffix: str = self._cache.update_cache_key_with_event_loop("")
        self._remove(_is_closed)

    @property
    def _cache(self) -> Any:
        return self._litellm.in_memory_llm_clients_cache

    def _remove(self, matches: Callable[[Any], bool] = lambda _: True) -> list[Any]:
        """Remove the matching clients from litellm's cache, and return them."""
        cache = self._cache
        removed: list[Any] = []
        for key, client in tuple(cache.cache_dict.items()):
            if key.endswith(self._key_suffix) and matches(client):
                cache.delete_cache(key)
                removed.append(client)
        return removed

    async def aclose(self) -> None:
        shared = (self._litellm.aclient_session, self._litellm.client_session)
        for client in self._remove():
            inner = getattr(client, "_client", client)
            close = getattr(client, "aclose", None) or getattr(client, "close", None)
            # The application may use its shared session in other loops too.
            if close is None or any(inner is session for session in shared):
                continue
            # A client that fails to close must not keep the others open.
            with suppress(Exception):
                result = close()
                if inspect.isawaitable(result):
                    await result
        # A connection releases its socket in the loop's next iteration.
        await anyio.lowlevel.checkpoint()


def _is_closed(client: Any) -> bool:
    # litellm's own clients wrap an httpx client; those of SDKs have a method.
    closed: Any = getattr(getattr(client, "client", client), "is_closed", False)
    return bool(closed() if callable(closed) else closed)


_clients: PerLoop[_Clients] = PerLoop(_Clients, _Clients.aclose)


def _translate(error: Exception, model: str, otherwise: str = SEE_CAUSE) -> ProviderError:
    has_timed_out = _has_timed_out(error)
    # An error that breaks a stream comes wrapped for litellm's own router.
    error = getattr(error, "original_exception", None) or error
    name = type(error).__name__
    status = getattr(error, "status_code", None)
    # The provider's message may repeat the prompt or the key; it stays in `__cause__`.
    if name == "Timeout" or isinstance(error, TimeoutError) or has_timed_out:
        return ProviderTimeoutError(f"{model!r} did not answer in time ({name})", status=status)
    if _NO_KEY.search(str(error)):
        return ProviderRefusedError(
            f"{model!r} needs an API key; set its environment variable or pass `api_key`",
            status=401,
            unusable=True,
        )
    if "LLM Provider NOT provided" in str(error):
        return ProviderRefusedError(_no_provider_message(model), status=status, unusable=True)
    unreachable = unreachable_by(error)
    if unreachable is not None:
        return ProviderError(
            f"{model!r} cannot be reached: {unreachable}; check the server and `api_base`",
            retryable=True,
            unusable=True,
        )
    hint = _HINTS.get(status or 0, otherwise)
    message = f"{model!r} failed with {name} (HTTP {status}); {hint}"
    if status is not None and 400 <= status < 500 and status not in (408, 409, 429):
        return ProviderRefusedError(message, status=status, unusable=status in UNUSABLE_STATUSES)
    after = retry_after_s(getattr(error, "litellm_response_headers", None))
    return ProviderError(message, status=status, retry_after_s=after, retryable=status is not None)


def _no_provider_message(model: str) -> str:
    provider, slash, _ = model.partition("/")
    reason = (
        f"{provider!r} is not a provider that litellm knows" if slash else "it names no provider"
    )
    return (
        f"the model {model!r} cannot be called because {reason}; write 'openai/{model}' for OpenAI"
        f" and servers with its API, 'ollama/{model}' for Ollama, or the prefix of another provider"
    )


def _has_timed_out(error: Exception) -> bool:
    # Mid-stream, litellm reports a timeout as a lost connection; the original is in the context.
    cause = error.__context__ if hasattr(error, "original_exception") else None
    while cause is not None:
        # The same class since Python 3.11.
        if isinstance(cause, (TimeoutError, asyncio.TimeoutError)):
            return True
        cause = cause.__cause__
    return False


def _read(response: Any, model: str) -> Completions:
    items: list[Completion] = []
    for choice in response.choices:
        completion = Completion(
            text=_text(choice.message),
            finish_reason=choice.finish_reason,
            logprobs=read_logprobs(getattr(choice, "logprobs", None)),
            raw=response,
            calls=_calls(choice.message),
        )
        items.append(completion)
    if not items:
        raise ProviderError(f"{model!r} answered without a choice", retryable=True)
    # Documented by litellm.
    usage = _usage(response, response._hidden_params.get("response_cost"))  # noqa: SLF001
    return Completions(tuple(items), with_counted_tokens(items, usage))


def _chunk(pieces: Any, piece: Any) -> Chunk:
    choice: Any = next((choice for choice in piece.choices if choice.index == 0), None)
    usage = getattr(piece, "usage", None)
    # If the provider counts no tokens, litellm does, with a tokenizer that may not be the model's.
    is_counted = usage is not None and any(getattr(p, "usage", None) for p in pieces.chunks)
    reported = _usage(piece, getattr(usage, "cost", None)) if is_counted else None
    if choice is None:
        return Chunk(usage=reported, raw=piece)
    return Chunk(
        text=_text(choice.delta),
        finish_reason=choice.finish_reason,
        logprobs=read_logprobs(getattr(choice, "logprobs", None)),
        usage=reported,
        raw=piece,
        calls=_calls(choice.delta),
    )


def _text(message: Any) -> str:
    """Return the text of a message or delta. A refusal is an answer too."""
    fields: Any = getattr(message, "provider_specific_fields", None) or {}
    refusal: object = getattr(message, "refusal", None) or fields.get("refusal")
    return (message.content or "") + (refusal if isinstance(refusal, str) else "")


def _calls(message: Any) -> tuple[ToolCall, ...]:
    """Return the tool calls in a message, or the pieces of them in a delta."""
    calls: list[ToolCall] = []
    for position, tool_call in enumerate(getattr(message, "tool_calls", None) or ()):
        if getattr(tool_call, "function", None) is None:
            continue
        index = getattr(tool_call, "index", None)
        call = ToolCall(
            name=tool_call.function.name or "",
            arguments=tool_call.function.arguments or "",
            index=position if index is None else index,
            id=getattr(tool_call, "id", None) or "",
        )
        calls.append(call)
    return tuple(calls)


def _usage(answer: Any, cost_usd: float | None) -> Usage:
    usage = getattr(answer, "usage", None)
    return Usage(
        calls=1,
        prompt_tokens=getattr(usage, "prompt_tokens", None) or 0,
        completion_tokens=getattr(usage, "completion_tokens", None) or 0,
        cost_usd=cost_usd,
    )
