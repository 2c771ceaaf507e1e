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
    schema = TypeAdapter(kind).json_schema(mode="serialization", ref_template=_REF)
    schemas = {kind.__name__: schema, **schema.pop("$defs", {})}
    return {name: _described(schema) for name, schema in schemas.items()}


def schemas_of_models(request: type[BaseModel], response: type[BaseModel]) -> dict[str, Any]:
    """Return the schemas of an endpoint's request and response, by class name.

    Args:
        request: The request's model.
        response: The response's model.

    Returns:
        Their schemas, and those of the models nested in them.
    """
    _, document = models_json_schema(
        [(request, "validation"), (response, "serialization")], ref_template=_REF
    )
    return {name: _untitled(schema) for name, schema in document["$defs"].items()}


def _untitled(schema: dict[str, Any]) -> dict[str, Any]:
    fields = cast("dict[str, dict[str, Any]]", schema.get("properties", {}))
    properties = {name: _without(field, ("title",)) for name, field in fields.items()}
    return {**_without(schema, ("title",)), "properties": properties}


def _described(schema: dict[str, Any]) -> dict[str, Any]:
    summary, _, field_docs = str(schema.get("description", "")).partition(_FIELDS)
    descriptions: dict[str, str] = dict(_FIELD.findall(field_docs))
    properties: dict[str, Any] = {}
    for name, field in cast("dict[str, dict[str, Any]]", schema["properties"]).items():
        properties[name] = _without(field, _NOISE)
        if name in descriptions:
            text = " ".join(descriptions[name].split())
            properties[name] = {"description": _NULL.sub("null", text), **properties[name]}
    return {
        "description": " ".join(summary.split()),
        "type": "object",
        "required": list(properties),
        "properties": properties,
    }


def _without(schema: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name not in names}
