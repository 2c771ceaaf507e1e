"""The models that clients are shown: the gateway's own, and those of its upstream."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, unquote

from resay.gateway.calls import PREFIX, Call
from resay.gateway.refusing import Dialect, RefusedError
from resay.gateway.upstream import UpstreamClient, UpstreamError
from resay.providers.apis import Body
from resay.providers.apis.reading import mappings, text

__all__ = ["asks_for_models", "listed_models"]

_PATH = f"{PREFIX}/models"
_OWNER = "resay"
_EPOCH = "1970-01-01T00:00:00Z"
# What asks for a later page of Anthropic's list.
_LATER = frozenset({"after_id", "before_id"})


def asks_for_models(call: Call, names: Collection[str]) -> bool:
    """Return whether the gateway itself says which models there are.

    Args:
        call: The request.
        names: The names of its own models.
    """
    if call.method != "GET":
        return False
    return _path(call) == _PATH or _one(call) in names


async def listed_models(
    call: Call, names: Collection[str], upstream: UpstreamClient | None
) -> Body:
    """Return the list of models, or the one model that is asked for, as the API has it.

    Args:
        call: The request.
        names: The names of the gateway's own models.
        upstream: Who may have others.
    """
    name = _one(call)
    if name in names:
        return _model(name, call.dialect)
    query = {key for key, _ in parse_qsl(call.query.decode("latin-1"))}
    own = [] if query & _LATER else [_model(name, call.dialect) for name in sorted(names)]
    others: Body = {} if upstream is None else await _others(call, upstream)
    # Where both have one of a name, the gateway's own is asked.
    known = [model for model in mappings(others.get("data")) if model.get("id") not in names]
    return _list([*own, *known], others, call.dialect)


def _path(call: Call) -> str:
    return unquote(call.path.decode("latin-1")).rstrip("/")


def _one(call: Call) -> str:
    """Return the name of the one model that is asked for; empty where it is all of them."""
    found, _, name = _path(call).partition(_PATH + "/")
    return "" if found else name


def _model(name: str, dialect: Dialect) -> dict[str, Any]:
    if dialect == "openai":
        return {"id": name, "object": "model", "created": 0, "owned_by": _OWNER}
    told = {"display_name": name, "created_at": _EPOCH, "lifecycle": "active"}
    return {"type": "model", "id": name, **told}


def _list(models: list[Any], others: Body, dialect: Dialect) -> dict[str, Any]:
    if dialect == "openai":
        return {"object": "list", "data": models}
    ids = [text(model.get("id")) or None for model in models] or [None]
    more = others.get("has_more") is True
    return {"data": models, "has_more": more, "first_id": ids[0], "last_id": ids[-1]}


async def _others(call: Call, upstream: UpstreamClient) -> Body:
    """Return the upstream's list; an empty one where it gives none."""
    plain = [(k, v) for k, v in call.headers if k != b"accept-encoding"]
    asked = replace(call, headers=[*plain, (b"accept-encoding", b"identity")])
    try:
        response = await upstream.forward(asked, None)
        await response.read()
        return response.json()
    except (RefusedError, UpstreamError):
        return {}
