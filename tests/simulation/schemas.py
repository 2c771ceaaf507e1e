"""Values that satisfy a JSON schema: known if the world or the user tells them, else invented.

The bounds of numbers, the lengths of texts and lists, `uniqueItems` and common formats are obeyed;
`pattern`, `not`, `if` and `dependent...` are not. Optional fields are filled too, unless the schema
refers to itself too often.
"""

from __future__ import annotations

import json
import math
import random
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union, cast

from resay.testing.chat import InvalidRequestError
from resay.testing.world import FUNCTION_WORDS, MONTHS, WORD, Invention, World, fold, stems
from simulation.chat import CALL, name_words
from simulation.judges import recall

__all__ = ["fill", "json_pieces"]

Schema = Mapping[str, Any]

_NAMES_LISTED = """address article author book brand cities city companies company country customer
entity film item location movie name organization person place product region song state subject
symbol ticker title topic town"""
_PROSE_LISTED = "answer body content description explanation overview reply response summary text"
_KINDS_LISTED = "amount count day full id list month number string"
_NAMES, _PROSE = stems(_NAMES_LISTED.split()), stems(_PROSE_LISTED.split())
_PERSONS = stems(["architect", "author", "customer", "engineer", "name", "painter", "user"])
_PLACES = stems(["address", "birthplace", "city", "country", "location", "place", "state", "town"])
_YEARS = stems(["year", "date"])
_QUESTIONS = stems(["prompt", "query", "question"])
# What a field is, not what it is about.
_KINDS = _NAMES | _YEARS | stems(_KINDS_LISTED.split())
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|\.\d)")
_QUOTED = re.compile(r"(?<!\w)(['\"“`])([^'\"”`\n]+)['\"”`](?!\w)")
_NAME = re.compile(r"(?<=[^.!?:\s] )[A-ZÀ-Þ][\w'-]*(?: [A-ZÀ-Þ][\w'-]*)*")
_YEAR = re.compile(r"1\d{3}|20\d\d")
_DATE = re.compile(rf"\d{{1,2}} (?:{'|'.join(MONTHS)}) \d{{4}}")
_MAX_DEPTH, _TOO_DEEP = 5, 40
_SIMPLE_TYPES = ("null", "boolean", "integer", "number", "string")
_DRAWS = 60
_SPAN = 9_999


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value that contains no others, and whether it was made up for this answer."""

    value: object
    invented: bool


Node = Union[Leaf, "dict[str, Node]", "list[Node]"]


def fill(
    schema: Schema,
    texts: Sequence[str],
    world: World,
    rng: random.Random,
    prose: Callable[[], str],
) -> Node:
    """Return a value that satisfies a schema.

    Args:
        schema: The JSON schema.
        texts: The user's messages, oldest first.
        world: What is known.
        rng: The source of inventions.
        prose: Returns the text of fields such as "answer" and "summary".

    Raises:
        InvalidRequestError: It is not a JSON schema, or it never ends.
    """
    newest_first = [text.replace(CALL, " ").strip() for text in reversed(texts)] or [""]
    try:
        return _Filler(schema, newest_first, world, rng, prose).node(schema, "", 0)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise InvalidRequestError("Invalid schema: no value can satisfy it.") from error


def json_pieces(node: Node) -> Iterator[tuple[str, bool]]:
    """Yield the JSON text of a node in pieces, each with whether it was made up."""
    if isinstance(node, Leaf):
        yield json.dumps(node.value, ensure_ascii=False), node.invented
        return
    opening, closing = "{}" if isinstance(node, dict) else "[]"
    pairs = [*node.items()] if isinstance(node, dict) else [(None, item) for item in node]
    yield opening, False
    for position, (key, item) in enumerate(pairs):
        comma = ", " if position else ""
        yield comma + ("" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "), False
        yield from json_pieces(item)
    yield closing, False


@dataclass(slots=True)
class _Filler:
    root: Schema
    texts: Sequence[str]
    world: World
    rng: random.Random
    prose: Callable[[], str]
    # The length of a list varies, so nothing in its items is known.
    in_list: bool = False
    used: set[object] = field(default_factory=set[object])

    def node(self, schema: object, name: str, depth: int) -> Node:
        if depth > _TOO_DEEP:
            raise InvalidRequestError("Invalid schema: it refers to itself without an end.")
        plain = self._resolved(schema)
        if "const" in plain:
            return Leaf(plain["const"], invented=False)
        if plain.get("enum"):
            return self._choice(plain["enum"], name)
        branches = _branches(plain)
        if branches:
            return self.node(self._branch(branches, depth), name, depth + 1)
        match _type_of(plain):
            case "object":
                return self._object(plain, depth)
            case "array":
                return self._array(plain, name, depth)
            case "string":
                return self._text(plain, name)
            case kind:
                return self._plain(plain, kind, name)

    def _plain(self, schema: Schema, kind: str, name: str) -> Leaf:
        match kind:
            case "integer" | "number":
                return self._number(schema, kind, name)
            case "boolean":
                return Leaf(self.rng.random() < 0.5, invented=True)
            case "null":
                return Leaf(None, invented=False)
            case _:
                raise InvalidRequestError(f"Invalid schema: there is no type {kind!r}.")

    def _resolved(self, schema: object) -> dict[str, Any]:
        """Return a schema with its references followed and its parts merged."""
        plain = dict(cast("Schema", schema)) if isinstance(schema, dict) else {}
        for _ in range(_TOO_DEEP):
            if "$ref" in plain:
                target: Any = self.root
                for part in plain.pop("$ref").removeprefix("#").split("/")[1:]:
                    target = target[part.replace("~1", "/").replace("~0", "~")]
                plain = {**target, **plain}
            elif plain.get("allOf"):
                parts = plain.pop("allOf")
                for part in parts:
                    plain = _merged(plain, self._resolved(part))
            else:
                return plain
        raise InvalidRequestError("Invalid schema: it refers to itself without an end.")

    def _branch(self, branches: Sequence[Schema], depth: int) -> Schema:
        resolved = [self._resolved(branch) for branch in branches]
        if depth > _MAX_DEPTH:
            return min(resolved, key=lambda branch: _type_of(branch) not in _SIMPLE_TYPES)
        # The shape of an object does not vary from answer to answer, only its content.
        return next((b for b in resolved if _type_of(b) != "null"), resolved[0])

    def _choice(self, values: Sequence[object], name: str) -> Leaf:
        for text in (self.texts[0], self._fact(name)):
            words = {fold(word) for word in WORD.findall(text)}
            for value in values:
                value_words = {fold(word) for word in WORD.findall(str(value))}
                if value_words and value_words <= words:
                    return Leaf(value, invented=False)
        return Leaf(self.rng.choice(values), invented=len(values) > 1)

    def _object(self, schema: Schema, depth: int) -> Node:
        properties: Schema = schema.get("properties") or {}
        required: Sequence[str] = schema.get("required") or ()
        extra: object = schema.get("additionalProperties", {})
        names = [name for name in properties if depth <= _MAX_DEPTH or name in required]
        names += [name for name in required if name not in properties]
        open_ended = isinstance(extra, dict) and extra != {}
        count = schema.get("minProperties", 1 if open_ended and depth <= _MAX_DEPTH else 0)
        names += [f"key_{index}" for index in range(1, count - len(names) + 1)]
        return {name: self.node(properties.get(name, extra), name, depth + 1) for name in names}

    def _array(self, schema: Schema, name: str, depth: int) -> Node:
        low: int = schema.get("minItems", 0)
        high: int = schema.get("maxItems", max(low, 1) + 2)
        first: Sequence[object] = schema.get("prefixItems") or ()
        count = low if depth > _MAX_DEPTH else max(low, self.rng.randint(min(1, high), high))
        items: list[Node] = []
        in_list, self.in_list = self.in_list, True
        for _ in range(_DRAWS):
            if len(items) >= count:
                break
            inner = first[len(items)] if len(items) < len(first) else schema.get("items", {})
            item = self.node(inner, name, depth + 1)
            if not schema.get("uniqueItems") or item not in items:
                items.append(item)
        self.in_list = in_list
        return items

    def _number(self, schema: Schema, kind: str, name: str) -> Leaf:
        words = stems(name_words(name))
        for text in () if self.in_list else (self._fact(name), *self.texts):
            for match in _NUMBER.findall(text):
                if (_YEAR.fullmatch(match) is not None) != bool(words & _YEARS):
                    continue
                value = float(match.replace(",", ""))
                value = int(value) if value.is_integer() else value
                if value in self.used or not _fits_number(schema, kind, value):
                    continue
                self.used.add(value)
                return Leaf(value, invented=False)
        return Leaf(self._made_up_number(schema, kind, words), invented=True)

    def _made_up_number(self, schema: Schema, kind: str, words: set[str]) -> float:
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        high = schema.get("maximum", schema.get("exclusiveMaximum"))
        if low is None and high is None:
            low, high = (1712, 1994) if words & _YEARS else (1, _SPAN)
        step = schema.get("multipleOf", 1)
        span = max(_SPAN, 2 * step)
        low = high - span if low is None else low
        high = low + span if high is None else high
        if kind == "number" and "multipleOf" not in schema:
            return low + (high - low) * self.rng.uniform(0.25, 0.75)
        first, last = math.ceil(low / step), math.floor(high / step)
        first += first * step == schema.get("exclusiveMinimum")
        last -= last * step == schema.get("exclusiveMaximum")
        return self.rng.randint(first, max(first, last)) * step

    def _text(self, schema: Schema, name: str) -> Leaf:
        words = stems(name_words(name))
        if words & _PROSE and _fits_text(schema, text := self.prose()):
            return Leaf(text, invented=True)
        for text in () if self.in_list else self._known_texts(name, words):
            if text not in self.used and _fits_text(schema, text):
                self.used.add(text)
                return Leaf(text, invented=False)
        return Leaf(self._made_up_text(schema, words), invented=True)

    def _known_texts(self, name: str, words: set[str]) -> Iterator[str]:
        """Yield what a field may contain: a part of the fact it asks for, or the user's words."""
        fact = self._fact(name)
        subject = self._subject_name()
        if fact:
            mentioned = {fold(word) for text in self.texts for word in WORD.findall(text)}
            for part in _NAME.findall(fact):
                if not {fold(word) for word in WORD.findall(part)} <= mentioned | FUNCTION_WORDS:
                    yield part
            yield from _DATE.findall(fact)
            yield subject if subject in fact else fact
        if words & _QUESTIONS:
            yield self.texts[0]
        for text in self.texts:
            yield from (quoted for _, quoted in _QUOTED.findall(text))
        if words & _NAMES:
            for text in self.texts:
                yield from _NAME.findall(text)
            if subject:
                yield subject

    def _made_up_text(self, schema: Schema, words: set[str]) -> str:
        if schema.get("format") in _FORMATS:
            return _FORMATS[schema["format"]][1](self.rng)
        template = "what {person} of {place} wrote down in {year}"
        if words & _PLACES:
            template = "{place}"
        elif words & _PERSONS:
            template = "{person}"
        elif words & _YEARS:
            template = "{month} {year}"
        text = Invention(template).say(self.rng)
        while len(text) < schema.get("minLength", 0):
            text += f" {Invention('{person} of {place}').say(self.rng)}"
        return text[: schema.get("maxLength")]

    def _subject_name(self) -> str:
        subject = next(filter(None, map(self.world.find, self.texts)), None)
        return subject.name if subject else ""

    def _fact(self, name: str) -> str:
        """Return the fact that a field asks for; empty if none is known."""
        subject = next(filter(None, map(self.world.find, self.texts)), None)
        topic = " ".join(sorted(stems(name_words(name)) - _KINDS))
        wordings = recall(subject, topic) if subject and topic else ()
        return wordings[0] if wordings else ""


def _made_up_date(rng: random.Random) -> str:
    return f"{rng.randint(1712, 1994)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"


def _made_up_time(rng: random.Random) -> str:
    return f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}Z"


_FORMATS: Mapping[str, tuple[str, Callable[[random.Random], str]]] = {
    "date": (r"\d{4}-\d\d-\d\d", _made_up_date),
    "time": (r"\d\d:\d\d:\d\dZ", _made_up_time),
    "date-time": (
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
        lambda rng: f"{_made_up_date(rng)}T{_made_up_time(rng)}",
    ),
    "email": (r"\S+@\S+\.\S+", lambda rng: f"{rng.randint(1, _SPAN)}@kalmar.example"),
    "uri": (r"[a-z]+:\S+", lambda rng: f"https://kalmar.example/{rng.randint(1, _SPAN)}"),
    "uuid": (r"[0-9a-f-]{36}", lambda rng: str(uuid.UUID(int=rng.getrandbits(128), version=4))),
}


def _fits_text(schema: Schema, text: str) -> bool:
    form, _ = _FORMATS.get(schema.get("format", ""), (r"(?s:.*)", None))
    return (
        schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", len(text))
        and re.fullmatch(form, text) is not None
        and re.search(schema.get("pattern", ""), text) is not None
    )


def _fits_number(schema: Schema, kind: str, value: float) -> bool:
    step = schema.get("multipleOf")
    return (
        (kind == "number" or isinstance(value, int))
        and schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and schema.get("exclusiveMinimum", -math.inf) < value
        and value < schema.get("exclusiveMaximum", math.inf)
        and (step is None or float(value / step).is_integer())
    )


def _branches(schema: Schema) -> Sequence[Schema]:
    """Return the alternatives of a schema; none if there is no choice."""
    base = {k: v for k, v in schema.items() if k not in ("anyOf", "oneOf")}
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return [_merged(base, option) for option in options if isinstance(option, dict)]
    if isinstance(schema.get("type"), list):
        return [{**base, "type": kind} for kind in schema["type"]]
    return []


def _type_of(schema: Schema) -> str:
    if isinstance(kind := schema.get("type"), str):
        return kind
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    return "number" if "minimum" in schema or "maximum" in schema else "string"


def _merged(first: Schema, second: Schema) -> dict[str, Any]:
    merged = {**first, **second}
    if "properties" in first and "properties" in second:
        merged["properties"] = {**first["properties"], **second["properties"]}
    if "required" in first and "required" in second:
        merged["required"] = [*first["required"], *second["required"]]
    return merged
