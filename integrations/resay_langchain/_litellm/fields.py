"""Looking at every field of a model, so that none that shapes the request is missed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseLanguageModel
from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from resay.adapters import UnmappedError

__all__ = ["Fields", "Model", "check_fields", "headers_of", "name_of", "secret"]

Model = BaseLanguageModel[Any]

# Of langchain_core's chat models. `rate_limiter` is not among them: whoever set one does not want
# the provider asked past it.
_OF_ALL = frozenset(
    {
        "cache",
        "callbacks",
        "custom_get_token_ids",
        "disable_streaming",
        "max_retries",
        "metadata",
        "name",
        "output_version",
        "profile",
        "streaming",
        "tags",
        "verbose",
    }
)


@dataclass(frozen=True, slots=True)
class Fields:
    """What is known of a class's fields. Any other must have its default value.

    Another may shape the answer, and the translation would lose it.

    Attributes:
        translated: Those that the translation reads.
        irrelevant: Those that do not change the request, and those that Resay sets itself.
    """

    translated: frozenset[str]
    irrelevant: frozenset[str]


def check_fields(model: Model, fields: Fields) -> None:
    """See that nothing that shapes the request is left behind.

    Args:
        model: The model.
        fields: What is known of its class's fields.

    Raises:
        UnmappedError: A field outside the table has another value than its default.
    """
    known = fields.translated | fields.irrelevant | _OF_ALL
    for name, field in type(model).model_fields.items():
        if name not in known and not _is_default(getattr(model, name), field):
            raise UnmappedError(f"{name_of(model)} sets {name!r}")


def _is_default(value: Any, field: FieldInfo) -> bool:
    if value is None:
        return field.default in (None, PydanticUndefined)
    if field.default_factory is None:
        return bool(value == field.default)
    # A default may come from the environment, and shapes the request all the same.
    return value in ("", {}, [], ())


def name_of(model: Model) -> str:
    """Return what the model's class is called."""
    return type(model).__name__


def secret(model: Model, field: str) -> str:
    """Return the key in a field.

    Raises:
        UnmappedError: There is none, or a function that makes one.
    """
    value = getattr(model, field)
    key = value.get_secret_value() if isinstance(value, SecretStr) else None
    if not key:
        raise UnmappedError(f"{name_of(model)} has no fixed key in {field!r}")
    return key


def headers_of(model: Model, field: str) -> dict[str, str]:
    """Return a copy of the headers in a field."""
    given: Mapping[str, str] | None = getattr(model, field)
    return dict(given or {})
