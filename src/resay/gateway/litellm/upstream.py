"""Asking models through litellm, in the place of an upstream that speaks a client's API."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from typing import Any

from resay.gateway.calls import Call
from resay.gateway.litellm.answers import (
    Priced,
    answered_body,
    cost_of,
    message_body,
    plain,
    response_body,
)
from resay.gateway.litellm.asking import LiteLLM, close_pieces, written
from resay.gateway.litellm.errors import refusal_of
from resay.gateway.litellm.requests import asked_of_litellm
from resay.gateway.litellm.response import LiteLLMResponse, headers_of, once
from resay.gateway.litellm.streams import events_of, events_of_message
from resay.gateway.models import ModelConfig, named_model, unknown_model
from resay.gateway.refusing import RefusedError, error_body
from resay.providers.apis import Body, Event, json_bytes
from resay.providers.apis.reading import is_yes

__all__ = ["LiteLLMUpstream"]

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
