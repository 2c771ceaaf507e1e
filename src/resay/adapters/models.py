"""Modified copies of frameworks' pydantic models, and access to their fields and tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from resay.core.decoding import is_greedy, with_sampling
from resay.core.logprobs import field_of
from resay.providers.apis.values import mapping

M = TypeVar("M", bound=BaseModel)

# The parameters that `Request.for_sampling` removes, as model fields. `metadata` is not among them:
# as a field it goes to a framework's traces, not to the provider.
ONE_PLAIN_ANSWER = ("logprobs", "n", "top_logprobs")
"""Fields that are reset for a judge's answer."""
FRESH_ANSWER = (*ONE_PLAIN_ANSWER, "seed", "store")
"""Fields that are reset for a sample."""


def with_fields(model: M, changes: Mapping[str, Any]) -> M:
    """Return a copy of a model with changed values, for those fields that it has."""
    fields = type(model).model_fields
    return model.model_copy(update={k: v for k, v in changes.items() if k in fields})


def with_defaults(model: M, names: Iterable[str]) -> M:
    """Return a copy of a model with the default values of some fields."""
    return with_fields(model, {name: default_of(model, name) for name in names})


def with_sampling_on(model: M) -> M:
    """Return a copy of a model whose fields select no greedy decoding and no seed."""
    params: dict[str, Any] = {}
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, (str, int, float, Mapping)):
            params[name] = value
    sampling_params = with_sampling(params)
    changes = {name: value for name, value in sampling_params.items() if params.get(name) != value}
    for name in params.keys() - sampling_params.keys():
        default = default_of(model, name)
        changes[name] = None if is_greedy({name: default}) else default
    return with_fields(model, changes)


def default_of(model: BaseModel, name: str) -> Any:
    """Return the default value of a field; None if it has none."""
    field = type(model).model_fields.get(name)
    if field is None or field.is_required():
        return None
    return field.get_default(call_default_factory=True, validated_data={})


def is_default(model: BaseModel, name: str) -> bool:
    """Return whether a field has a value that shapes no request."""
    field, value = type(model).model_fields[name], getattr(model, name)
    if value is None:
        return field.default in (None, PydanticUndefined)
    if field.default_factory is None:
        return bool(value == field.default)
    # A default may come from the environment, and shapes the request all the same.
    return value in ("", {}, [], ())


def model_name(model: BaseModel) -> str | None:
    """Return the name of the provider's model, from whichever field its class uses."""
    for field in ("model_name", "model", "model_id"):
        name = getattr(model, field, None)
        if isinstance(name, str):
            return name
    return None


def tool_name(tool: object) -> str | None:
    """Return the name of a tool in the format of any provider's API; None if it has none."""
    shapes = (field_of(tool, "function"), field_of(tool, "toolSpec"), tool)
    names = (shape.get("name") for shape in map(mapping, shapes))
    return next((name for name in names if isinstance(name, str)), None)
