"""Frameworks' models as litellm would call them, by the models' public fields."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel, SecretStr

from resay.adapters.models import is_default
from resay.adapters.upstream import LEFT_OUT, UnmappedError, digest_of
from resay.core.provider_params import CONNECTION_PARAMS
from resay.core.request import Message, Request
from resay.providers.apis.values import mapping
from resay.providers.caching import source_of

# Parameters of a framework's call that are notes for its traces, or choices that Resay makes.
_NOT_SENT = LEFT_OUT | {
    "cache",
    "caching",
    "ls_structured_output_format",
    "max_retries",
    "num_retries",
    "stream_usage",
    "streaming",
    "structured_output_format",
}
_PLAIN_PARTS = frozenset({"text", "image_url"})
# Settings of litellm with which it changes requests, and the variables that set them. They are not
# meant for requests that a framework sends itself; a proxy would receive the provider's key.
_SETTINGS = (
    "add_function_to_prompt",
    "drop_params",
    "headers",
    "model_alias_map",
    "modify_params",
    "route_all_chat_openai_to_responses",
    "use_litellm_proxy",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteLLMModel:
    """How litellm calls the models of one class.

    Attributes:
        prefix: litellm's prefix of the model's name; empty if the name has one already.
        name: The fields that may hold the model's name. The first that is set counts.
        fields: litellm's parameter for each field that shapes the request, or None for a mapping
            whose items are parameters themselves.
        required: The fields that must be set, because litellm would look elsewhere otherwise.
        unsent: The fields that shape no request. Any field that is neither here nor in `fields`
            must have its default value.
        call_params: The parameters that a call may have.
    """

    prefix: str
    name: tuple[str, ...] = ("model",)
    fields: Mapping[str, str | None]
    required: tuple[str, ...] = ()
    unsent: frozenset[str]
    call_params: frozenset[str]

    def request(
        self, model: BaseModel, messages: Sequence[Message], kwargs: Mapping[str, Any]
    ) -> Request:
        """Return a request to a model as a request for litellm.

        Args:
            model: The model.
            messages: The conversation, in OpenAI's format.
            kwargs: The parameters of the call.

        Raises:
            UnmappedError: The model has a setting, or the request a part, that would be lost.
        """
        kind = type(model).__name__
        _check_client(model)
        for field in type(model).model_fields:
            known = field in self.fields or field in self.name or field in self.unsent
            if not known and not is_default(model, field):
                raise UnmappedError(f"{kind} sets {field!r}")
        for field in self.required:
            if not getattr(model, field, None):
                raise UnmappedError(f"{kind} has no {field!r}")
        _check_content(messages, kind)
        params = self._params(model)
        for name, value in kwargs.items():
            if value is None or name in _NOT_SENT:
                continue
            if name not in self.call_params:
                raise UnmappedError(f"{kind} is called with {name!r}")
            _add(params, name, value)
        if self.prefix in ("openai/", "azure/"):
            # litellm refuses parameters that it does not know a model to support; frameworks let
            # the provider decide.
            shaping = params.keys() - {"extra_body", *CONNECTION_PARAMS}
            params["allowed_openai_params"] = sorted(shaping)
        return Request(tuple(messages), f"{self.prefix}{self._name_of(model)}", params)

    def _params(self, model: BaseModel) -> dict[str, Any]:
        kind = type(model).__name__
        params: dict[str, Any] = {}
        for field, param in self.fields.items():
            value = getattr(model, field, None)
            if isinstance(value, SecretStr):
                value = value.get_secret_value()
            if callable(value):
                raise UnmappedError(f"{kind} computes its {field!r}")
            if value is None or value in ("", {}, []):
                continue
            if param is not None:
                _add(params, param, value)
                continue
            for name, item in cast("Mapping[str, Any]", value).items():
                if name in _NOT_SENT:
                    continue
                if name not in self.call_params and name not in CONNECTION_PARAMS:
                    raise UnmappedError(f"{kind} sends {name!r}")
                _add(params, name, item)
        return params

    def _name_of(self, model: BaseModel) -> str:
        for field in self.name:
            name = getattr(model, field, None)
            if isinstance(name, str) and name:
                return name.removeprefix("models/")
        raise UnmappedError(f"{type(model).__name__} names no model")


LiteLLMModels = Mapping[tuple[str, str], LiteLLMModel]
"""By package and name of the class. By name, since the packages may not be installed."""


def litellm_request(
    models: LiteLLMModels,
    model: BaseModel,
    messages: Sequence[Message] = (),
    kwargs: Mapping[str, Any] | None = None,
) -> Request:
    """Return a request to a framework's model as a request for litellm.

    Args:
        models: The classes that can be called through litellm.
        model: The model.
        messages: The conversation, in OpenAI's format; none to describe the model alone.
        kwargs: The parameters of the call.

    Returns:
        The request, without `n`, log-probabilities, the seed, streaming, retries and the timeout.

    Raises:
        UnmappedError: litellm would not send the same conversation, to the same model, with the
            same settings.
    """
    row = _row(models, model)
    if row.prefix:
        _check_settings()
    return row.request(model, messages, kwargs or {})


def model_source(models: LiteLLMModels, model: BaseModel) -> str:
    """Return what distinguishes a model's answers from those of others.

    Args:
        models: The classes whose public fields are known to describe a model completely. Models of
            other classes, and models with a client of their own, are identified by the object.
        model: The model.
    """
    try:
        request = _row(models, model).request(model, (), {})
    except UnmappedError:
        return source_of(model)
    return digest_of([request.model, dict(request.params)])


def is_of_class(model: BaseModel, of_class: tuple[str, str]) -> bool:
    """Return whether a model is of a class, given as its package and name, and of no subclass."""
    package, name = of_class
    kind = type(model)
    return kind.__qualname__ == name and f"{kind.__module__}.".startswith(f"{package}.")


def _row(models: LiteLLMModels, model: BaseModel) -> LiteLLMModel:
    # A subclass may send anything.
    for of_class, row in models.items():
        if is_of_class(model, of_class):
            return row
    raise UnmappedError(f"{type(model).__name__} is not known to litellm by its settings")


def _add(params: dict[str, Any], name: str, value: Any) -> None:
    if name == "extra_headers":
        value = {**params.get(name, {}), **value}
    params[name] = value


def _check_client(model: BaseModel) -> None:
    # Frameworks keep HTTP clients that were passed to them out of the public fields.
    for value in (model.__pydantic_private__ or {}).values():
        if type(value).__module__.partition(".")[0] in ("httpx", "httpx2"):
            raise UnmappedError(f"{type(model).__name__} uses a custom client")


def _check_content(messages: Sequence[Message], kind: str) -> None:
    for message in messages:
        content: object = message.get("content")
        parts = cast("list[Any]", content) if isinstance(content, list) else []
        for part in parts:
            part_kind = mapping(part).get("type")
            if part_kind not in _PLAIN_PARTS:
                raise UnmappedError(f"{kind} is given content of type {part_kind!r}")


def _check_settings() -> None:
    litellm = sys.modules.get("litellm")
    for name in _SETTINGS:
        variable = name.upper() if name.startswith("use_") else f"LITELLM_{name.upper()}"
        if getattr(litellm, name, None) or os.environ.get(variable):
            raise UnmappedError(f"litellm has {name!r} set")
