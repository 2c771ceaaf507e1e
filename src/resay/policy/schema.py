"""What a policy's JSON Schema has that pydantic does not know of."""

from __future__ import annotations

from typing import Any, cast

__all__ = ["with_variables"]

_VARIABLE = {"type": "string", "pattern": r"\$\{"}
_SCALARS = frozenset({"boolean", "integer", "number", "null"})
# What says something about the value in another place, and must stay where it is.
_NOTES = ("title", "description", "default", "examples", "deprecated")
_NAMED = ("properties", "$defs", "patternProperties")
_LISTED = ("oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties")


def with_variables(schema: dict[str, Any]) -> dict[str, Any]:
    """Let `${NAME}` stand wherever a number, a boolean, null or one of several texts is expected.

    Args:
        schema: A JSON Schema.

    Returns:
        A schema that takes what `schema` takes, and text with a variable in place of a scalar.
        A text that can be one thing only says which of several models is meant, and stays.
    """
    if _is_scalar(schema):
        notes = {key: value for key, value in schema.items() if key in _NOTES}
        rest = {key: value for key, value in schema.items() if key not in _NOTES}
        return {**notes, "anyOf": [rest, _VARIABLE]}
    return {key: _inside(key, value) for key, value in schema.items()}


def _alternatives(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the variable once, and only where no alternative takes any text already."""
    widened = [choice if _is_scalar(choice) else with_variables(choice) for choice in choices]
    takes_text = any(
        c.get("type") == "string" and "const" not in c and not _is_scalar(c) for c in choices
    )
    is_missing = not takes_text and any(_is_scalar(c) for c in choices)
    return [*widened, _VARIABLE] if is_missing else widened


def _inside(key: str, value: Any) -> Any:
    if key in _NAMED:
        named = cast("dict[str, Any]", value)
        return {name: with_variables(part) for name, part in named.items()}
    if key == "anyOf":
        return _alternatives(cast("list[dict[str, Any]]", value))
    if key in _LISTED:
        return [with_variables(part) for part in cast("list[Any]", value)]
    if key in _SINGLE and isinstance(value, dict):
        return with_variables(cast("dict[str, Any]", value))
    return value


def _is_scalar(schema: dict[str, Any]) -> bool:
    if "const" in schema:
        return not isinstance(schema["const"], str)
    return "enum" in schema or schema.get("type") in _SCALARS
