"""JSON Schemas of values as they are given, with what their classes say of each field."""

from __future__ import annotations

import re
from typing import Any, cast

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

__all__ = ["schemas_of", "schemas_of_models"]

_REF = "#/components/schemas/{model}"
_FIELDS = "\n\nAttributes:\n"
_FIELD = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
_NULL = re.compile(r"\bNone\b")
# Titles repeat the fields' names, and what is given has no defaults.
_NOISE = ("title", "default")


def schemas_of(kind: type[Any]) -> dict[str, Any]:
    """Return the schemas of a dataclass and of those it holds, by the names of their classes.

    Args:
        kind: The dataclass. Its fields are described by the section `Attributes` of its docstring.

    Returns:
        Schemas of values that have all their fields. They refer to each other as components of an
        OpenAPI document do.
    """
    made = TypeAdapter(kind).json_schema(mode="serialization", ref_template=_REF)
    inner = cast("dict[str, dict[str, Any]]", made.pop("$defs", {}))
    return {name: _described(one) for name, one in {kind.__name__: made, **inner}.items()}


def schemas_of_models(taken: type[BaseModel], given: type[BaseModel]) -> dict[str, Any]:
    """Return the schemas of what an endpoint takes and gives, by the names of their classes.

    Args:
        taken: What it takes.
        given: What it gives.

    Returns:
        Their schemas, and those of the models that they hold.
    """
    _, made = models_json_schema(
        [(taken, "validation"), (given, "serialization")], ref_template=_REF
    )
    return {name: _untitled(one) for name, one in made["$defs"].items()}


def _untitled(schema: dict[str, Any]) -> dict[str, Any]:
    fields = cast("dict[str, dict[str, Any]]", schema.get("properties", {}))
    bare = {name: _without(one, ("title",)) for name, one in fields.items()}
    return {**_without(schema, ("title",)), "properties": bare}


def _described(schema: dict[str, Any]) -> dict[str, Any]:
    what, _, said = str(schema.get("description", "")).partition(_FIELDS)
    told = {name: _NULL.sub("null", " ".join(text.split())) for name, text in _FIELD.findall(said)}
    fields = cast("dict[str, dict[str, Any]]", schema["properties"])
    return {
        "description": " ".join(what.split()),
        "type": "object",
        "required": list(fields),
        "properties": {name: _plain(one, told.get(name)) for name, one in fields.items()},
    }


def _plain(field: dict[str, Any], told: str | None) -> dict[str, Any]:
    kept = _without(field, _NOISE)
    return kept if told is None else {"description": told, **kept}


def _without(schema: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name not in names}
