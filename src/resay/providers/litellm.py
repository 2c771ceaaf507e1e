"""Answers by every model that litellm supports."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any, cast

from resay._internal.nesting import marked
from resay.core.logprobs import read_logprobs
from resay.core.request import Request
from resay.errors import MissingDependencyError
from resay.providers.base import (
    Chunk,
    Completion,
    Completions,
    ToolCall,
    model_of,
    sent_messages,
    with_counted_tokens,
)
from resay.providers.litellm_client import PER_CALL, clients, load_litellm, translate, usage_of
from resay.providers.litellm_problems import litellm_source, problem_before_import
from resay.providers.stream_usage import open_with_usage, with_refused_requests
from resay.providers.unanswered import no_answer, no_choice


class LiteLLMProvider:
    """Send requests to any model that litellm supports, in its notation (`openai/gpt-4.1-mini`).

    litellm is imported off the event loop, because that takes seconds: by `prepare`, or on the
    first request. If the application has not imported it before, its import is kept quiet: it
    reads no `.env` file and fetches no price list. The clients that litellm creates in an event
    loop are closed when that loop shuts down.

    Args:
        timeout_s: litellm's own request timeout, in seconds. The guard's own limits apply first.

    Raises:
        MissingDependencyError: litellm is not installed.
    """

    def __init__(self, *, timeout_s: float = 600.0) -> None:
        if find_spec("litellm") is None:
            raise MissingDependencyError("litellm", "litellm", "LiteLLMProvider")
        self._timeout_s = timeout_s

    @property
    def cache_source(self) -> str:
        """All instances are interchangeable."""
        return litellm_source()

    async def prepare(self) -> None:
        """Import litellm."""
        await load_litellm()

    async def takes_n(self, request: Request) -> bool:
        """Return whether litellm forwards `n` to the request's model."""
        if problem_before_import(request) is not None:
            return False
        litellm = await load_litellm()
        try:
            supported = litellm.get_supported_openai_params(
                model=request.model,
                custom_llm_provider=request.params.get("custom_llm_provider"),
            )
        # litellm raises bare exceptions for unknown models; the request's error will be clearer.
        except Exception:
            return False
        return "n" in (supported or ())

    async def supported_params(self, request: Request) -> frozenset[str]:
        """Return which optional parameters litellm forwards to the request's model."""
        if problem_before_import(request) is not None:
            return frozenset()
        litellm = await load_litellm()
        provider = request.params.get("custom_llm_provider")
        try:
            known: Sequence[str] = (
                litellm.get_supported_openai_params(
                    model=request.model, custom_llm_provider=provider
                )
                or ()
            )
            takes_schema: bool = litellm.supports_response_schema(
                model=request.model, custom_llm_provider=provider
            )
        # litellm raises bare exceptions for unknown models; the request's error will be clearer.
        except Exception:
            return frozenset()
        supported = {"temperature"} & set(known)
        if "response_format" in known:
            supported |= {"json_object", "json_schema"} if takes_schema else {"json_object"}
        return frozenset(supported)

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Send one request.

        Args:
            request: The request; `model` is required.
            n: Number of answers to ask for in this request.

        Returns:
            The answers received, possibly fewer than n.

        Raises:
            ProviderRefusedError: The request is wrong and would be refused again.
            ProviderTimeoutError: No answer arrived in time.
            ProviderError: Anything else that went wrong.
        """
        model = _checked_model(request)
        kwargs = self._kwargs(request)
        if n > 1:
            kwargs["n"] = n
        return _read(await _send(model, kwargs), model)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Chunk]]:
        """Send one request whose answer is streamed.

        The chunks are litellm's own: one without text holds a role, a tool call or reasoning, which
        `raw` contains. Of several choices only the first is used. The usage comes with the last
        chunk if the provider counts it; litellm's own estimate is ignored.

        Args:
            request: The request; `model` is required.

        Returns:
            A context manager around the chunks. Leaving it early closes the connection.

        Raises:
            ProviderRefusedError: On entering: the request is wrong and would be refused again.
            ProviderTimeoutError: On entering or between chunks: nothing arrived in time.
            ProviderError: Anything else that went wrong.
        """
        model = _checked_model(request)
        kwargs = {**self._kwargs(request), "stream": True}
        pieces, requests = await open_with_usage(partial(_send, model), kwargs)
        try:
            stream = with_refused_requests(_chunks(pieces, model), requests)
            async with aclosing(stream) as chunks:
                yield chunks
        finally:
            await pieces.aclose()

    def _kwargs(self, request: Request) -> dict[str, Any]:
        messages = sent_messages(request)
        kwargs = {"timeout": self._timeout_s, **request.params, **PER_CALL, "messages": messages}
        if kwargs.get("tools") and find_spec("mcp") is None:
            # litellm 1.106 checks every tool for MCP, with a package that it does not install.
            kwargs["_skip_mcp_handler"] = True
        bias = kwargs.get("logit_bias")
        if isinstance(bias, Mapping):
            # Token numbers are strings in JSON; litellm 1.110 fails where they are not.
            biases = cast("Mapping[Any, Any]", bias)
            kwargs["logit_bias"] = {str(token): value for token, value in biases.items()}
        return kwargs


def _checked_model(request: Request) -> str:
    """Return a request's model; refuse what litellm would refuse, before its import."""
    model = model_of(request)
    problem = problem_before_import(request)
    if problem is not None:
        raise problem
    return model


async def _send(model: str, kwargs: Mapping[str, Any]) -> Any:
    litellm = await load_litellm()
    await clients.get()  # so that they are closed with the loop
    try:
        # In case a callback of litellm's is a guard too.
        with marked():
            return await litellm.acompletion(model=model, **kwargs)
    # litellm maps errors to some twenty types of its own, and lets others through.
    except Exception as error:
        raise translate(error, model) from None


# From litellm 1.110 on, a stream that ends without a reason is an error, after all of its chunks.
_NO_FINISH_REASON = "Stream ended before a finish_reason was received"


async def _chunks(pieces: Any, model: str) -> AsyncGenerator[Chunk]:
    has_answer = False
    try:
        async for piece in pieces:
            chunk = _chunk(pieces, piece)
            # At the end of a stream, litellm makes up a reason where the provider gave none: the
            # connection broke, or the provider gives none at all.
            if chunk.finish_reason and pieces.received_finish_reason is None:
                chunk = replace(chunk, finish_reason="incomplete")
            has_answer = has_answer or bool(chunk.text or chunk.calls)
            yield chunk
    except Exception as error:
        if _NO_FINISH_REASON not in str(error):
            raise translate(error, model) from None
        if has_answer:
            yield Chunk(finish_reason="incomplete")
    if not has_answer and pieces.received_finish_reason is None:
        raise no_answer(model)


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
        raise no_choice(model)
    # Documented by litellm.
    usage = usage_of(response, response._hidden_params.get("response_cost"))  # noqa: SLF001
    return Completions(tuple(items), with_counted_tokens(items, usage))


def _chunk(pieces: Any, piece: Any) -> Chunk:
    choice: Any = next((choice for choice in piece.choices if choice.index == 0), None)
    usage = getattr(piece, "usage", None)
    # If the provider counts no tokens, litellm does, with a tokenizer that may not be the model's.
    is_counted = usage is not None and any(getattr(p, "usage", None) for p in pieces.chunks)
    reported = usage_of(piece, getattr(usage, "cost", None)) if is_counted else None
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
