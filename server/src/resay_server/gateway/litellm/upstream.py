"""The models of a gateway file, called through litellm."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import Any

from resay.adapters.apis import Body, Event, encoded, is_yes, json_bytes
from resay_server.gateway.calls import Call
from resay_server.gateway.config import ModelConfig, named_model, unknown_model
from resay_server.gateway.errors import RefusedError, error_body
from resay_server.gateway.litellm.answers import (
    Priced,
    answered_body,
    cost_of,
    message_body,
    plain,
    response_body,
)
from resay_server.gateway.litellm.client import LiteLLM
from resay_server.gateway.litellm.errors import refusal_of
from resay_server.gateway.litellm.params import litellm_params
from resay_server.gateway.litellm.response import LiteLLMResponse, headers_of, once
from resay_server.gateway.litellm.streams import events_of, events_of_message


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
        unstreamed = {k: v for k, v in request.items() if k != "stream"}
        answer = await self._litellm.send(config, "/messages", unstreamed)
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
