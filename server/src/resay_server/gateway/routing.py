"""Routes requests to the upstream, or to models called through litellm."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Collection
from contextlib import suppress
from typing import Any, cast
from urllib.parse import parse_qsl

from resay.adapters.apis import Body, json_bytes, mappings, text
from resay_server.gateway.calls import Call
from resay_server.gateway.config import named_model, unknown_model
from resay_server.gateway.errors import Dialect, RefusedError
from resay_server.gateway.litellm.response import LiteLLMResponse, headers_of, once
from resay_server.gateway.litellm.upstream import LiteLLMUpstream
from resay_server.gateway.upstream import UpstreamClient, UpstreamError, UpstreamResponse

_PATH = "/models"
_OWNER = "resay"
_EPOCH = "1970-01-01T00:00:00Z"
# Parameters that request a later page of Anthropic's list.
_LATER = frozenset({"after_id", "before_id"})


def asks_for_models(call: Call, names: Collection[str]) -> bool:
    """Return whether the gateway itself answers a request for the list of models.

    Args:
        call: The request.
        names: The names of its own models.
    """
    if call.method != "GET":
        return False
    return call.address.decoded == _PATH or _requested_model(call) in names


async def listed_models(
    call: Call, names: Collection[str], upstream: UpstreamClient | None
) -> Body:
    """Return the list of models, or the requested model, in the API's format.

    Args:
        call: The request.
        names: The names of the gateway's own models.
        upstream: The upstream, which may have others.
    """
    name = _requested_model(call)
    if name in names:
        return _model(name, call.dialect)
    query = {key for key, _ in parse_qsl(call.query.decode("latin-1"))}
    own = [] if query & _LATER else [_model(name, call.dialect) for name in sorted(names)]
    others: Body = {} if upstream is None else await _others(call, upstream)
    # If both have a model of the same name, the gateway's own is used.
    remaining = [model for model in mappings(others.get("data")) if model.get("id") not in names]
    return _list([*own, *remaining], others, call.dialect)


def _requested_model(call: Call) -> str:
    """Return the name of the one requested model, in its case; empty for the whole list."""
    before, _, name = call.address.decoded.partition(_PATH + "/")
    return "" if before else name


def _model(name: str, dialect: Dialect) -> dict[str, Any]:
    if dialect == "openai":
        return {"id": name, "object": "model", "created": 0, "owned_by": _OWNER}
    fields = {"display_name": name, "created_at": _EPOCH, "lifecycle": "active"}
    return {"type": "model", "id": name, **fields}


def _list(models: list[Any], others: Body, dialect: Dialect) -> dict[str, Any]:
    if dialect == "openai":
        return {"object": "list", "data": models}
    ids = [text(model.get("id")) or None for model in models] or [None]
    return {
        "data": models,
        "has_more": others.get("has_more") is True,
        "first_id": ids[0],
        "last_id": ids[-1],
    }


async def _others(call: Call, upstream: UpstreamClient) -> Body:
    """Return the upstream's list; empty if it returns none."""
    try:
        response = await upstream.forward(call.uncompressed, None)
        await response.read()
        return response.json()
    except (RefusedError, UpstreamError):
        return {}


class Routing:
    """Routes each request to the provider of its model.

    Args:
        upstream: Handles all other models and all other requests; None for no upstream.
        models: Handles the gateway's own models; None for none.

    Attributes:
        refuses_usage: Whether an upstream has refused to report usage at the end of a stream.
    """

    def __init__(self, upstream: UpstreamClient | None, models: LiteLLMUpstream | None) -> None:
        self._upstream = upstream
        self._models = models
        self.refuses_usage = False

    async def aclose(self) -> None:
        """Close all connections."""
        if self._models is not None:
            await self._models.aclose()
        if self._upstream is not None:
            await self._upstream.aclose()

    def source(self, call: Call, client: str | None) -> str:
        """Return a cache key that differs for clients whose requests are billed differently."""
        providers = (self._upstream, self._models)
        return " ".join(provider.source(call, client) for provider in providers if provider)

    def takes_n(self, body: Body) -> bool:
        """Return whether a model accepts requests for several answers."""
        own = self._own(body)
        return own is None or own.takes_n(body)

    def cost_usd(self, body: Body) -> float | None:
        """Return the cost of an answer from `ask`, in US dollars; None if unknown."""
        return None if self._models is None else self._models.cost_usd(body)

    async def open(self, call: Call, path: str, body: Body) -> UpstreamResponse:
        """Send a parsed request; return the response before its body is read.

        Args:
            call: The client's request.
            path: The API's path.
            body: The body to send.

        Raises:
            RefusedError: There is no such model, or sending failed, or no response came.
        """
        return await self._provider_for(body).open(call, path, body)

    async def ask(self, call: Call, path: str, body: Body) -> Body:
        """Send a parsed request and read its answer.

        Raises:
            UpstreamError: The response is not an answer that could be guarded.
            RefusedError: There is no such model, or sending failed, or no response came.
        """
        return await self._provider_for(body).ask(call, path, body)

    async def forward(self, call: Call, body: AsyncGenerator[bytes] | None) -> UpstreamResponse:
        """Forward a request unchanged; return the response before its body is read.

        Args:
            call: The client's request.
            body: Its body; None if it has none.

        Raises:
            RefusedError: There is no upstream for it, or it is refused while it is sent.
            ClientDisconnectedError: The client disconnects while its body is sent.
        """
        if self._models is not None and asks_for_models(call, self._models.models):
            return await self._model_list(call, self._models)
        if self._models is not None and call.api is not None and body is not None:
            content = b"".join([piece async for piece in body])
            parsed = _read(content)
            if self._upstream is None or self._models.has_model(parsed):
                return await self._provider_for(parsed).open(call, call.api.path, parsed)
            body = once(content)
        if self._upstream is None:
            message = "the gateway has no upstream for this request"
            raise RefusedError(404, "not_found", message)
        return await self._upstream.forward(call, body)

    async def _model_list(self, call: Call, models: LiteLLMUpstream) -> UpstreamResponse:
        body = await listed_models(call, models.models, self._upstream)
        content = json_bytes(body)
        length = (b"content-length", str(len(content)).encode())
        headers = [*headers_of(call, "application/json"), length]
        return LiteLLMResponse(200, headers, once(content), len(content), body=body)

    def _own(self, body: Body) -> LiteLLMUpstream | None:
        if self._models is not None and self._models.has_model(body):
            return self._models
        return None

    def _provider_for(self, body: Body) -> LiteLLMUpstream | UpstreamClient:
        provider = self._own(body) or self._upstream
        if provider is None:
            raise unknown_model(named_model(body), self._models.models if self._models else ())
        return provider


def _read(content: bytes) -> Body:
    """Parse the object in a request; empty if it contains none."""
    value: object = None
    with suppress(ValueError, RecursionError):
        value = json.loads(content)
    return cast("Body", value) if isinstance(value, dict) else {}
