"""The JSON Schema of a file in which `${NAME}` may stand for a value."""

from __future__ import annotations

from typing import Any, cast

_VARIABLE = {"type": "string", "pattern": r"\$\{"}
_SCALARS = frozenset({"boolean", "integer", "number", "null"})
# Keys that describe the value at its place in the schema, and must stay there.
_DESCRIPTIONS = ("title", "description", "default", "examples", "deprecated")
_MAPPINGS_OF_SCHEMAS = ("properties", "$defs", "patternProperties")
_LISTS_OF_SCHEMAS = ("oneOf", "allOf", "prefixItems")
_SCHEMAS = ("items", "additionalProperties")


def with_variables(schema: dict[str, Any]) -> dict[str, Any]:
    """Accept `${NAME}` wherever a number, boolean, null or one of several texts is expected.

    Args:
        schema: A JSON Schema.

    Returns:
        A schema that accepts what `schema` accepts, and text with a variable in place of a scalar.
        A text constant is left alone, because it selects one of several models.
    """
    if _is_scalar(schema):
        outer = {key: value for key, value in schema.items() if key in _DESCRIPTIONS}
        inner = {key: value for key, value in schema.items() if key not in _DESCRIPTIONS}
        return {**outer, "anyOf": [inner, _VARIABLE]}
    return {key: _inside(key, value) for key, value in schema.items()}


def _alternatives(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the variable once, and only if no alternative already accepts any text."""
    alternatives: list[dict[str, Any]] = []
    has_scalar = takes_text = False
    for choice in choices:
        if _is_scalar(choice):
            has_scalar = True
            alternatives.append(choice)
        else:
            takes_text |= choice.get("type") == "string" and "const" not in choice
            alternatives.append(with_variables(choice))
    if has_scalar and not takes_text:
        alternatives.append(_VARIABLE)
    return alternatives


def _inside(key: str, value: Any) -> Any:
    if key in _MAPPINGS_OF_SCHEMAS:
        schemas = cast("dict[str, Any]", value)
        return {name: with_variables(schema) for name, schema in schemas.items()}
    if key == "anyOf":
        return _alternatives(cast("list[dict[str, Any]]", value))
    if key in _LISTS_OF_SCHEMAS:
        return [with_variables(schema) for schema in cast("list[Any]", value)]
    if key in _SCHEMAS and isinstance(value, dict):
        return with_variables(cast("dict[str, Any]", value))
    return value


def _is_scalar(schema: dict[str, Any]) -> bool:
    if "const" in schema:
        return not isinstance(schema["const"], str)
    return "enum" in schema or schema.get("type") in _SCALARS
