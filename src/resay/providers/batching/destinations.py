"""Where requests go, and what they contain, in a batch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from resay.core.provider_params import CONNECTION_PARAMS
from resay.core.request import Request
from resay.errors import ProviderRefusedError
from resay.providers.base import model_of
from resay.providers.caching.keys import keys_of

# Parameters that identify an endpoint. Keys and headers do not: equal requests stay equal.
_ENDPOINT_PARAMS = ("api_base", "api_version", "base_url", "custom_llm_provider", "organization")
# Parameters that only litellm has, or that a request in a file cannot have.
_NOT_SENT = frozenset(
    {
        "additional_drop_params",
        "drop_params",
        "n",
        "request_timeout",
        "stream",
        "stream_options",
        "timeout",
    }
)
# Prefix of litellm's Vertex AI parameters: project, location and credentials.
_VERTEX = "vertex_"
_OPENAI_NAMES = ("gpt-", "chatgpt-", "o1", "o3", "o4")
_THROUGH_LITELLM = ("azure", "vertex_ai")


@dataclass(frozen=True, slots=True)
class Destination:
    """The API, account and model of a request.

    Attributes:
        api: The API: `openai`, `anthropic`, or a provider behind litellm.
        model: The model's name at the API.
        connection: The parameters for endpoint and account. It may hold a key.
    """

    api: str
    model: str
    connection: Mapping[str, Any] = field(repr=False)

    @property
    def through_litellm(self) -> bool:
        """Whether requests go through litellm."""
        return self.api in _THROUGH_LITELLM

    @property
    def key(self) -> str:
        """The key shared by requests that can go into one batch."""
        connection = json.dumps(self.connection, sort_keys=True, default=repr)
        return f"{self.api}\n{self.model}\n{connection}"

    @classmethod
    def of(cls, request: Request) -> Destination:
        """Return the destination of a request.

        Raises:
            ProviderRefusedError: No Batch API is known for it.
        """
        connection = {k: v for k, v in request.params.items() if _is_connection(k)}
        named_model = model_of(request)
        api, slash, model = named_model.partition("/")
        if connection.get("custom_llm_provider"):
            api, model = (
                str(connection["custom_llm_provider"]),
                named_model.removeprefix(f"{api}/"),
            )
        elif not slash:
            api, model = _guess_api(named_model), named_model
        if api not in ("openai", "anthropic", *_THROUGH_LITELLM):
            raise ProviderRefusedError(
                f"no Batch API is known for the model {request.model!r}; name one of 'openai/…',"
                " 'anthropic/…', 'azure/…' or 'vertex_ai/…', or leave `calls.via: batch` out"
            )
        return cls(api, model, connection)


def _guess_api(model: str) -> str:
    if model.startswith(_OPENAI_NAMES):
        return "openai"
    return "anthropic" if model.startswith("claude-") else ""


def request_id(request: Request) -> str | None:
    """Return a request's name in a batch: the same for the same question.

    It is a hash of the tenant, the model, the messages, the parameters and the index, without the
    account: the run after a crash finds its requests with another key too.

    Args:
        request: The request.

    Returns:
        64 hexadecimal digits; None if the request holds a value that JSON cannot represent.
    """
    params = sent_params(request)
    for name in _ENDPOINT_PARAMS:
        if name in request.params:
            params[name] = request.params[name]
    keys = keys_of(replace(request, params=params), 1, version="batch/1")
    return None if keys is None else keys[0]


def sent_params(request: Request) -> dict[str, Any]:
    """Return the parameters of a request that go into the request itself."""
    return {
        name: value
        for name, value in request.params.items()
        if not (name in _NOT_SENT or _is_connection(name))
    }


def _is_connection(name: str) -> bool:
    return name in CONNECTION_PARAMS or name.startswith(_VERTEX)
