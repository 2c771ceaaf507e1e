"""The JSON Schema of a file in which `${NAME}` may stand for a value."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, cast

_VARIABLE = {"type": "string", "pattern": r"\$\{"}
_SCALARS = frozenset({"boolean", "integer", "number", "null"})
# Keys that describe the value at its place in the schema, and must stay there.
_DESCRIPTIONS = ("title", "description", "default", "examples", "deprecated")
_MAPPINGS_OF_SCHEMAS = ("properties", "$defs", "patternProperties")
_LISTS_OF_SCHEMAS = ("oneOf", "allOf", "prefixItems")
_SCHEMAS = ("items", "additionalProperties")
# Shorter parts are easier to read where they are.
_MIN_SHARED_CHARS = 150


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


def with_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema in which parts that occur more than once are definitions.

    Titles of keys, which only repeat their names, are left out.

    Args:
        schema: A JSON Schema.
    """
    schema = cast("dict[str, Any]", _without_key_titles(schema))
    sharing = _Sharing(schema)
    shared = {key: sharing.inside(key, value) for key, value in schema.items()}
    return {**shared, "$defs": dict(sorted(sharing.definitions.items()))}


def _without_key_titles(value: object) -> object:
    if isinstance(value, list):
        return [_without_key_titles(item) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    changed: dict[str, object] = {}
    for key, item in cast("dict[str, object]", value).items():
        changed[key] = _without_key_titles(item)
        if key == "properties":
            for part in cast("dict[str, dict[str, object]]", changed[key]).values():
                part.pop("title", None)
    return changed


class _Sharing:
    """Replaces the parts of a schema that occur more than once by references.

    Attributes:
        definitions: The definitions so far.
    """

    def __init__(self, schema: dict[str, Any]) -> None:
        self.definitions: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._taken: set[str] = set(schema.get("$defs", ()))
        for key, value in schema.items():
            self._count_inside(key, value)

    def inside(self, key: str, value: Any) -> Any:
        """Return a key's value with references."""
        if key == "$defs":
            for name, part in value.items():
                self.definitions[name] = self._with_references(part)
            return {}
        if key in _MAPPINGS_OF_SCHEMAS:
            return {name: self._part(part, name) for name, part in value.items()}
        if key in (*_LISTS_OF_SCHEMAS, "anyOf"):
            return [self._part(part, "Choice") for part in value]
        if key in _SCHEMAS and isinstance(value, dict):
            return self._part(cast("dict[str, Any]", value), key)
        return value

    def _with_references(self, part: dict[str, Any]) -> dict[str, Any]:
        return {key: self.inside(key, value) for key, value in part.items()}

    def _part(self, part: dict[str, Any], key: str) -> dict[str, Any]:
        text = _text_of(part)
        if self._counts[text] < 2 or len(text) < _MIN_SHARED_CHARS:
            return self._with_references(part)
        name = self._names.get(text)
        if name is None:
            name = self._names[text] = self._new_name(str(part.get("title") or key))
            self.definitions[name] = self._with_references(part)
        return {"$ref": f"#/$defs/{name}"}

    def _new_name(self, title: str) -> str:
        base = title.replace(" ", "")
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base}{number}"
        self._taken.add(name)
        return name

    def _count_inside(self, key: str, value: Any) -> None:
        parts: list[dict[str, Any]] = []
        if key in _MAPPINGS_OF_SCHEMAS:
            parts = list(value.values())
        elif key in (*_LISTS_OF_SCHEMAS, "anyOf"):
            parts = value
        elif key in _SCHEMAS and isinstance(value, dict):
            parts = [cast("dict[str, Any]", value)]
        for part in parts:
            if key != "$defs":
                self._counts[_text_of(part)] += 1
            for inner_key, inner in part.items():
                self._count_inside(inner_key, inner)


def _text_of(part: dict[str, Any]) -> str:
    return json.dumps(part, sort_keys=True)


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


def allow_auto(schema: dict[str, Any]) -> None:
    """Make the JSON Schema of a chain accept `auto`.

    Args:
        schema: The schema of the list; changed in place.
    """
    descriptions = {key: schema.pop(key) for key in ("title", "description") if key in schema}
    steps = dict(schema)
    schema.clear()
    # A text is `auto`, or short for a list of one step.
    names = steps["items"]["oneOf"][0]
    schema |= {**descriptions, "anyOf": [{"const": "auto"}, steps, names]}
