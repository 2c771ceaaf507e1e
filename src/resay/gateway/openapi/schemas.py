"""JSON Schemas of dataclasses and models, as components of an OpenAPI document."""

from __future__ import annotations

import re
from typing import Any, cast

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

_REF = "#/components/schemas/{model}"
_FIELDS = "\n\nAttributes:\n"
_FIELD = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
_NULL = re.compile(r"\bNone\b")
# Titles only repeat the fields' names, and values that are always returned need no defaults.
_NOISE = ("title", "default")


def schemas_of(kind: type[Any]) -> dict[str, Any]:
    """Return the schemas of a dataclass and of those nested in it, by class name.

    Args:
        kind: The dataclass. Its docstring's `Attributes` section describes its fields.

    Returns:
        Schemas of values with all their fields, referring to each other as components of an OpenAPI
        document.
    """
    made = TypeAdapter(kind).json_schema(mode="serialization", ref_template=_REF)
    inner = cast("dict[str, dict[str, Any]]", made.pop("$defs", {}))
    return {name: _described(one) for name, one in {kind.__name__: made, **inner}.items()}


def schemas_of_models(taken: type[BaseModel], given: type[BaseModel]) -> dict[str, Any]:
    """Return the schemas of an endpoint's request and response, by class name.

    Args:
        taken: The request's model.
        given: The response's model.

    Returns:
        Their schemas, and those of the models nested in them.
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
    descriptions = {
        name: _NULL.sub("null", " ".join(text.split())) for name, text in _FIELD.findall(said)
    }
    fields = cast("dict[str, dict[str, Any]]", schema["properties"])
    return {
        "description": " ".join(what.split()),
        "type": "object",
        "required": list(fields),
        "properties": {name: _plain(one, descriptions.get(name)) for name, one in fields.items()},
    }


def _plain(field: dict[str, Any], description: str | None) -> dict[str, Any]:
    kept = _without(field, _NOISE)
    return kept if description is None else {"description": description, **kept}


def _without(schema: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name not in names}
