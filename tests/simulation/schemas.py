"""Values that satisfy a JSON schema, filled with what is known and made up for the rest.

Understood are `type` (one or several), `properties`, `required`, `additionalProperties`, `items`,
`prefixItems`, `enum`, `const`, `anyOf`, `oneOf`, `allOf`, local `$ref`s, the bounds of numbers,
`multipleOf`, the lengths of texts and lists, `uniqueItems`, and the `format` of dates, times,
addresses and identifiers. `pattern` and what stands under `not`, `if` or `dependent...` is not
looked at. Optional fields are filled in too, as long as the schema does not lead back to itself
too often.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union, cast

from simulation.body import InvalidRequestError
from simulation.fields import Field, Knowledge
from simulation.inventing import fits, made_up_number, made_up_text

if TYPE_CHECKING:
    import random

    from resay.testing.world import World

__all__ = ["Leaf", "Node", "fill", "spoken"]

Schema = Mapping[str, Any]

_NO_SCHEMA = (
    *(ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError),
    re.error,
)
_DEEP = 5
_TOO_DEEP = 40
_DRAWS = 60


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value that holds no others.

    Attributes:
        value: A text, a number, a truth value or None; anything where the schema says which.
        invented: Whether it was made up for this answer.
    """

    value: object
    invented: bool


Node = Union[Leaf, "dict[str, Node]", "list[Node]"]
"""A JSON value in the making."""


def fill(
    schema: Schema,
    said: Sequence[str],
    world: World,
    rng: random.Random,
    prose: Callable[[], str],
) -> Node:
    """Return a value that satisfies a schema.

    Args:
        schema: The JSON schema.
        said: The user's messages, or what else holds values to use, oldest first.
        world: What is known.
        rng: Where everything unknown is drawn from.
        prose: Called for the text of fields like "answer" and "summary".

    Raises:
        InvalidRequestError: It is no JSON schema, a `$ref` of it leads nowhere, or it has no end.
    """
    try:
        keys = frozenset(_keys(schema))
        filler = _Filler(schema, Knowledge(said, world, keys), rng, prose)
        return filler.node(schema, Field(""), 0)
    except _NO_SCHEMA as error:
        # There are more ways to be no JSON schema than are worth telling apart here.
        raise InvalidRequestError(
            "Invalid schema: it is no JSON schema, or no value can satisfy it."
        ) from error


def spoken(node: Node) -> Iterator[tuple[str, bool]]:
    """Return the JSON text of a node in pieces, each with whether it was made up."""
    if isinstance(node, Leaf):
        yield json.dumps(node.value, ensure_ascii=False), node.invented
        return
    opening, closing = "{}" if isinstance(node, dict) else "[]"
    if not node:
        yield opening + closing, False
        return
    pairs = node.items() if isinstance(node, dict) else ((None, item) for item in node)
    yield opening, False
    for position, (key, item) in enumerate(pairs):
        comma = ", " if position else ""
        yield comma + (f"{json.dumps(key, ensure_ascii=False)}: " if key is not None else ""), False
        yield from spoken(item)
    yield closing, False


def _keys(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        for name, inner in cast("Schema", schema).items():
            if name == "properties":
                yield from cast("Schema", inner)
            yield from _keys(cast("object", inner))
    elif isinstance(schema, list):
        for inner in cast("list[object]", schema):
            yield from _keys(inner)


@dataclass(slots=True)
class _Filler:
    root: Schema
    known: Knowledge
    rng: random.Random
    prose: Callable[[], str]
    # How many fields a list has varies, so nothing in its items is known.
    listed: bool = False

    def node(self, schema: object, field: Field, depth: int) -> Node:
        if depth > _TOO_DEEP:
            raise InvalidRequestError("Invalid schema: it leads back to itself without an end.")
        plain = self._resolved(schema)
        field = Field(field.name, plain.get("description", field.description))
        if "const" in plain:
            return Leaf(plain["const"], invented=False)
        if plain.get("enum"):
            return self._choice(plain["enum"], field)
        if branches := _branches(plain):
            return self.node(self._branch(branches, depth), field, depth + 1)
        return self._typed(plain, _type_of(plain), field, depth)

    def _typed(self, schema: Schema, kind: str, field: Field, depth: int) -> Node:
        match kind:
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, field, depth)
            case "integer" | "number":
                return self._number(schema, kind, field)
            case "boolean":
                return Leaf(self.rng.random() < 0.5, invented=True)
            case "null":
                return Leaf(None, invented=False)
            case "string":
                return self._text(schema, field)
            case _:
                raise InvalidRequestError(f"Invalid schema: there is no type {kind!r}.")

    def _resolved(self, schema: object) -> Schema:
        """Return a schema with its references followed and its parts merged."""
        if not isinstance(schema, dict):
            return {}
        plain = cast("Schema", schema)
        for _ in range(_TOO_DEEP):
            if "$ref" in plain:
                beside = {name: value for name, value in plain.items() if name != "$ref"}
                plain = {**self._target(plain["$ref"]), **beside}
            elif plain.get("allOf"):
                beside = {name: value for name, value in plain.items() if name != "allOf"}
                plain = _merged([beside, *map(self._resolved, plain["allOf"])])
            else:
                return plain
        raise InvalidRequestError("Invalid schema: it leads back to itself without an end.")

    def _target(self, reference: object) -> Schema:
        parts = reference.split("/") if isinstance(reference, str) else []
        found: object = self.root if parts[:1] == ["#"] else None
        for part in parts[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            found = cast("Schema", found).get(name) if isinstance(found, dict) else None
        if not isinstance(found, dict):
            raise InvalidRequestError(f"Invalid schema: the reference {reference!r} leads nowhere.")
        return cast("Schema", found)

    def _branch(self, branches: Sequence[Schema], depth: int) -> Schema:
        resolved = [self._resolved(branch) for branch in branches]
        kinds = [_type_of(branch) for branch in resolved]
        if depth > _DEEP:
            simple = ("null", "boolean", "integer", "number", "string")
            ranks = [simple.index(kind) if kind in simple else len(simple) for kind in kinds]
            return resolved[ranks.index(min(ranks))]
        telling = [b for b, kind in zip(resolved, kinds, strict=True) if kind != "null"]
        # What an object looks like does not vary from answer to answer, only what is in it.
        return (telling or resolved)[0]

    def _choice(self, allowed: Sequence[object], field: Field) -> Leaf:
        if len(allowed) == 1:
            return Leaf(allowed[0], invented=False)
        known = self.known.choice(field, allowed)
        chosen = self.rng.choice(allowed) if known is None else known
        return Leaf(chosen, invented=known is None)

    def _object(self, schema: Schema, depth: int) -> dict[str, Node]:
        properties: Schema = schema.get("properties") or {}
        required: Sequence[str] = schema.get("required") or ()
        extra: object = schema.get("additionalProperties", {})
        names = [name for name in properties if depth <= _DEEP or name in required]
        names += [name for name in required if name not in properties]
        open_ended = isinstance(extra, dict) and extra != {}
        least = schema.get("minProperties", 1 if open_ended and depth <= _DEEP else 0)
        names += [f"key_{i + 1}" for i in range(least - len(names))]
        inner = {name: properties.get(name, extra) for name in names}
        return {name: self.node(one, Field(name), depth + 1) for name, one in inner.items()}

    def _array(self, schema: Schema, field: Field, depth: int) -> list[Node]:
        least: int = schema.get("minItems", 0)
        most: int = schema.get("maxItems", max(least, 1) + 2)
        first: Sequence[object] = schema.get("prefixItems") or ()
        rest = schema.get("items", {})
        known = self._known_items(self._resolved(rest), field)[:most] if not first else []
        items: list[Node] = [Leaf(value, invented=False) for value in known]
        wanted = least if depth > _DEEP else max(least, self.rng.randint(min(1, most), most))
        if items:
            wanted = least
        listed, self.listed = self.listed, True
        for _ in range(_DRAWS):
            if len(items) >= wanted:
                break
            inner = first[len(items)] if len(items) < len(first) else rest
            item = self.node(inner, field, depth + 1)
            if not schema.get("uniqueItems") or _plain(item) not in map(_plain, items):
                items.append(item)
        self.listed = listed
        return items

    def _known_items(self, schema: Schema, field: Field) -> list[object]:
        if self.listed or "enum" in schema or "const" in schema or _branches(schema):
            return []
        kind = _type_of(schema)
        found: Sequence[object] = ()
        if kind == "string":
            found = self.known.texts(field)
        if kind in ("integer", "number"):
            found = self.known.numbers()
        return list(dict.fromkeys(value for value in found if fits(schema, kind, value)))

    def _number(self, schema: Schema, kind: str, field: Field) -> Leaf:
        known = None if self.listed else self.known.number(field, _checks(schema, kind))
        if known is not None:
            return Leaf(known, invented=False)
        value = made_up_number(schema, kind, self.rng, year=field.asks_for_a_year)
        return Leaf(value, invented=True)

    def _text(self, schema: Schema, field: Field) -> Leaf:
        checks = _checks(schema, "string")
        if field.asks_for_prose and checks(text := self.prose()):
            return Leaf(text, invented=True)
        known = None if self.listed else self.known.text(field, checks)
        if known is not None:
            return Leaf(known, invented=False)
        return Leaf(made_up_text(schema, field, self.rng), invented=True)


def _checks(schema: Schema, kind: str) -> Callable[[object], bool]:
    return lambda value: fits(schema, kind, value)


def _branches(schema: Schema) -> Sequence[Schema]:
    """Return what a schema leaves the choice between; nothing where it leaves none."""
    beside = {k: v for k, v in schema.items() if k not in ("anyOf", "oneOf", "type")}
    offered: object = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(offered, list) and offered:
        base = {**beside, "type": schema["type"]} if "type" in schema else beside
        return [
            _merged([base, cast("Schema", one)])
            for one in cast("list[object]", offered)
            if isinstance(one, dict)
        ]
    kinds: object = schema.get("type")
    if isinstance(kinds, list):
        return [{**beside, "type": kind} for kind in cast("list[object]", kinds)]
    return []


def _type_of(schema: Schema) -> str:
    kind: object = schema.get("type")
    if isinstance(kind, str):
        return kind
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    return "number" if "minimum" in schema or "maximum" in schema else "string"


def _merged(schemas: Sequence[Schema]) -> Schema:
    merged: dict[str, Any] = {}
    for schema in schemas:
        both = {name: merged[name] for name in ("properties", "required") if name in merged}
        merged |= schema
        if "properties" in both and "properties" in schema:
            merged["properties"] = {**both["properties"], **schema["properties"]}
        if "required" in both and "required" in schema:
            merged["required"] = [*both["required"], *schema["required"]]
    return merged


def _plain(node: Node) -> str:
    return "".join(text for text, _ in spoken(node))
