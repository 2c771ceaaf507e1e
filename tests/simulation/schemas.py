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
import math
import random
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, Union, cast

from resay.testing.world import FUNCTION_WORDS, MONTHS, WORD, Invention, Subject, World, fold, stems
from simulation.chat_request import CALL, InvalidRequestError, name_words
from simulation.judges import recall

__all__ = [
    "Field",
    "Knowledge",
    "Leaf",
    "Node",
    "fill",
    "fits",
    "made_up_number",
    "made_up_text",
    "spoken",
]

T = TypeVar("T")

_NAMING_LISTED = """address article author book brand cities city companies company countries
country customer entity film item keyword location movie name organisation organization person place
product region song state subject symbol term ticker title topic town who"""
_KINDS_LISTED = """amount count day full id integer list month number string text time total
value"""
_PROSE_LISTED = """answer body content description explanation overview reply response summary
text"""
_ORDERS_LISTED = """compare create describe explain extract find get give list name search show
summarise summarize tell use using write"""
_NAMING = stems(_NAMING_LISTED.split())
_YEARS = stems(["year", "date"])
_ASKING = stems(["prompt", "query", "question"])
# What a field is, not what it is about.
_KINDS = _NAMING | _YEARS | stems(_KINDS_LISTED.split())
_PROSE = stems(_PROSE_LISTED.split())
_ORDERS = frozenset(_ORDERS_LISTED.split())
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|\.\d)")
_YEAR = re.compile(r"(?:in|since|of|from|until|by|before|after)\s+$", re.IGNORECASE)
_DATE = re.compile(rf"\d{{1,2}} (?:{'|'.join(MONTHS)}) \d{{4}}")
_QUOTED = re.compile(r"(?<!\w)(['\"“«「`])([^'\"“”«»「」`\n]+)['\"”»」`](?!\w)")


@dataclass(frozen=True, slots=True)
class Field:
    """A place in an object that is to be filled.

    Attributes:
        name: What the object calls it.
        description: What its schema says about it.
    """

    name: str
    description: str = ""

    @property
    def words(self) -> set[str]:
        """The stems of its name."""
        return stems(name_words(self.name))

    @property
    def described(self) -> set[str]:
        """The stems of its name and its description."""
        return self.words | stems(WORD.findall(self.description))

    @property
    def asks_for_a_name(self) -> bool:
        """Whether it takes the name of what the user speaks of."""
        return bool(self.words & _NAMING)

    @property
    def asks_for_a_year(self) -> bool:
        """Whether it takes a year."""
        return bool(self.described & _YEARS)

    @property
    def asks_for_prose(self) -> bool:
        """Whether it takes a text of several sentences."""
        return bool(self.words & _PROSE)


@dataclass(frozen=True, slots=True)
class _Number:
    value: float
    beside: set[str]
    is_year: bool


@dataclass(slots=True)
class _Said:
    """The values in the user's words that no field got yet.

    Attributes:
        numbers: The numbers.
        quoted: What stands in quotes.
        names: The names.
    """

    numbers: list[_Number] = field(default_factory=list[_Number])
    quoted: list[str] = field(default_factory=list[str])
    names: list[str] = field(default_factory=list[str])


class Knowledge:
    """What is known while one object is filled in. What a field gets no other one gets.

    Args:
        said: The user's messages, or what else holds values to use, oldest first.
        world: What the model knows.
        keys: The names of the fields, which are no values where the user quotes them.
    """

    def __init__(self, said: Sequence[str], world: World, keys: frozenset[str]) -> None:
        texts = [text.replace(CALL, " ") for text in reversed(said)]
        self._subject = next((found for text in texts if (found := world.find(text))), None)
        self._last = texts[0].strip() if texts else ""
        named = [_names_in(_QUOTED.sub(". ", text)) or _subject_in(text, world) for text in texts]
        quoted = [[q for q in _quoted_in(text) if q not in keys] for text in texts]
        self._left = _Said(_last(map(_numbers_in, texts)), _last(quoted), _last(named))
        self._mentioned = {fold(word) for text in texts for word in WORD.findall(text)}

    def number(self, wanted: Field, fits: Callable[[object], bool]) -> float | None:
        """Return the number that is known for a field, None where none is."""
        fact = self._fact(wanted)
        recalled = [n.value for n in _numbers_in(fact) if n.is_year == wanted.asks_for_a_year]
        known = next(filter(fits, recalled), None)
        return self._number_said(wanted, fits) if known is None else known

    def numbers(self) -> list[float]:
        """Return all numbers that are left in the user's words."""
        numbers, self._left.numbers = self._left.numbers, []
        return [number.value for number in numbers if not number.is_year]

    def text(self, wanted: Field, fits: Callable[[object], bool]) -> str | None:
        """Return the text that is known for a field, None where none is."""
        recalled = next(filter(fits, self._recalled(wanted)), None)
        if recalled is not None:
            return recalled
        if wanted.words & _ASKING and fits(self._last):
            return self._last
        for values in (self._left.quoted, self._left.names if wanted.asks_for_a_name else []):
            value = next(filter(fits, values), None)
            if value is not None:
                values.remove(value)
                return value
        return None

    def texts(self, wanted: Field) -> list[str]:
        """Return all names that are left in the user's words, where a list asks for names."""
        if not wanted.asks_for_a_name:
            return self._recalled(wanted)
        names, self._left.names = self._left.names, []
        return names

    def choice(self, wanted: Field, allowed: Sequence[object]) -> object | None:
        """Return the first allowed value that the user said or a fact has, None where none is."""
        for text in (self._last, self._fact(wanted)):
            said = {fold(word) for word in WORD.findall(text)}
            for value in allowed:
                words = WORD.findall(value) if isinstance(value, str) else []
                if words and {fold(word) for word in words} <= said:
                    return value
        return None

    def _number_said(self, wanted: Field, fits: Callable[[object], bool]) -> float | None:
        numbers = [n for n in self._left.numbers if fits(n.value)]
        numbers = [n for n in numbers if wanted.asks_for_a_year or not n.is_year]
        beside = [n for n in numbers if n.beside & (wanted.words - _KINDS or wanted.words)]
        chosen = next(iter(beside or numbers), None)
        if chosen is None:
            return None
        self._left.numbers.remove(chosen)
        return chosen.value

    def _fact(self, wanted: Field) -> str:
        """Return the fact that a field asks for, in the first of its wordings."""
        asked = (wanted.words, stems(WORD.findall(wanted.description)))
        for words in asked:
            telling = " ".join(sorted(words - _KINDS))
            found = recall(self._subject, telling) if self._subject and telling else ()
            if found:
                return found[0]
        return ""

    def _recalled(self, wanted: Field) -> list[str]:
        fact = self._fact(wanted)
        if self._subject is None or not fact:
            return []
        names = [name for name in _names_in(fact) if not self._was_said(name, self._subject)]
        itself = [self._subject.name] if self._subject.name in fact else []
        return names or _DATE.findall(fact) or itself or [fact]

    def _was_said(self, name: str, subject: Subject) -> bool:
        words = {fold(word) for word in WORD.findall(name)}
        return words <= self._mentioned or words <= {fold(w) for w in WORD.findall(subject.name)}


def _last(found: Iterable[list[T]]) -> list[T]:
    """Return what the last message holds that holds anything; it comes first."""
    empty: list[T] = []
    return next((values for values in found if values), empty)


def _numbers_in(text: str) -> list[_Number]:
    found: list[_Number] = []
    for match in _NUMBER.finditer(text):
        before, after = text[: match.start()], text[match.end() :]
        value = float(match[0].replace(",", ""))
        around = [*WORD.findall(before)[-1:], *WORD.findall(after)[:1]]
        dated = match[0].isdigit() and len(match[0]) == 4
        is_year = dated and bool(_YEAR.search(before) or before.rstrip().endswith(MONTHS))
        is_day = after.lstrip().startswith(MONTHS)
        if not is_day:
            found.append(
                _Number(int(value) if value.is_integer() else value, stems(around), is_year)
            )
    return found


def _quoted_in(text: str) -> list[str]:
    return [quoted.strip() for _, quoted in _QUOTED.findall(text)]


def _subject_in(text: str, world: World) -> list[str]:
    subject = world.find(text)
    return [subject.name] if subject else []


def _names_in(text: str) -> list[str]:
    """Return the runs of capitalised words; the first word of a sentence is none by itself."""
    names: list[str] = []
    run: list[re.Match[str]] = []
    for match in [*WORD.finditer(text), None]:
        if run and (
            match is None or text[run[-1].end() : match.start()] != " " or not _is_name(match)
        ):
            names += _name(run, text)
            run = []
        if match is not None and _is_name(match):
            run.append(match)
    return list(dict.fromkeys(names))


def _is_name(word: re.Match[str]) -> bool:
    return word[0][0].isupper() and word[0] not in ("JSON", "I") and word[0] not in MONTHS


def _name(run: list[re.Match[str]], text: str) -> list[str]:
    opening = not text[: run[0].start()].strip() or text[: run[0].start()].rstrip()[-1] in ".!?:"
    first = run[0][0].lower()
    if opening and (len(run) == 1 or first in FUNCTION_WORDS or first in _ORDERS):
        run = run[1:]
    return [re.sub(r"['’]s$", "", " ".join(word[0] for word in run))] if run else []


Schema = Mapping[str, Any]

_SPAN = 9_999
_YEARS_MADE_UP = (1712, 1994)
_PERSONS_LISTED = "architect author by customer engineer name painter person user who"
_PLACES_LISTED = "address birthplace cities city countries country location place region state town"
_PERSON, _PLACE = stems(_PERSONS_LISTED.split()), stems(_PLACES_LISTED.split())
_MONTHS, _DAYS, _HOURS, _MINUTES = 12, 28, 24, 60
_FORMATS: Mapping[str, re.Pattern[str]] = {
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "time": re.compile(r"\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)"),
    "date-time": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)"),
    "email": re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    "uri": re.compile(r"[a-z][a-z0-9+.-]*:\S+"),
    "uuid": re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
}


def fits(schema: Schema, kind: str, value: object) -> bool:
    """Return whether a number or a text satisfies the bounds of a schema of its kind."""
    if kind == "string":
        return isinstance(value, str) and _fits_text(schema, value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (kind == "number" or isinstance(value, int)) and _fits_number(schema, value)


def _fits_text(schema: Schema, text: str) -> bool:
    form = _FORMATS.get(schema.get("format", ""))
    return (
        schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", len(text))
        and (form is None or form.fullmatch(text) is not None)
        and ("pattern" not in schema or re.search(schema["pattern"], text) is not None)
    )


def _fits_number(schema: Schema, value: float) -> bool:
    step = schema.get("multipleOf")
    return _within(schema, value) and (step is None or float(value / step).is_integer())


def _within(schema: Schema, value: float) -> bool:
    return (
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
        and ("exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"])
        and ("exclusiveMaximum" not in schema or value < schema["exclusiveMaximum"])
    )


def made_up_number(schema: Schema, kind: str, rng: random.Random, *, year: bool) -> float:
    """Return a number within the bounds of a schema.

    Args:
        schema: The schema.
        kind: `integer` or `number`.
        rng: Where it is drawn from.
        year: Whether it is the number of a year, where the bounds leave that open.
    """
    low, high = _bounds(schema, year=year)
    if kind == "number" and "multipleOf" not in schema:
        value = round(rng.uniform(low, high), 2)
        inside = low + (high - low) * rng.uniform(0.25, 0.75)
        return value if _fits_number(schema, value) else inside
    step = schema.get("multipleOf", 1)
    first, last = math.ceil(low / step), math.floor(high / step)
    # A bound may be excluded.
    first += not _within(schema, first * step)
    last -= not _within(schema, last * step)
    return rng.randint(first, max(first, last)) * step


def _bounds(schema: Schema, *, year: bool) -> tuple[float, float]:
    lows = [schema[name] for name in ("minimum", "exclusiveMinimum") if name in schema]
    highs = [schema[name] for name in ("maximum", "exclusiveMaximum") if name in schema]
    if not lows and not highs:
        return _YEARS_MADE_UP if year else (1, _SPAN)
    span = max(_SPAN, 2 * schema.get("multipleOf", 1))
    low = max(lows) if lows else min(highs) - span
    return low, min(highs) if highs else low + span


def made_up_text(schema: Schema, field: Field, rng: random.Random) -> str:
    """Return a text for a field, within the lengths and in the format that a schema asks for."""
    form = schema.get("format", "")
    if form in _MADE_UP:
        return _MADE_UP[form](rng)
    text = Invention(_template(field)).say(rng)
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    while len(text) < least:
        text += f" {Invention('{person} of {place}').say(rng)}"
    return text[:most]


def _template(field: Field) -> str:
    if field.words & _PLACE:
        return "{place}"
    if field.words & _PERSON:
        return "{person}"
    if field.asks_for_a_year:
        return "{month} {year}"
    return "what {person} of {place} wrote down in {year}"


def _date(rng: random.Random) -> str:
    year, month, day = rng.randint(*_YEARS_MADE_UP), rng.randint(1, _MONTHS), rng.randint(1, _DAYS)
    return f"{year}-{month:02}-{day:02}"


def _time(rng: random.Random) -> str:
    hour, minute, second = rng.randrange(_HOURS), rng.randrange(_MINUTES), rng.randrange(_MINUTES)
    return f"{hour:02}:{minute:02}:{second:02}Z"


def _host(rng: random.Random) -> str:
    return f"{Invention('{place}').say(rng).lower()}.example"


_MADE_UP: Mapping[str, Callable[[random.Random], str]] = {
    "date": _date,
    "time": _time,
    "date-time": lambda rng: f"{_date(rng)}T{_time(rng)}",
    "email": lambda rng: f"{rng.randint(1, _SPAN)}@{_host(rng)}",
    "uri": lambda rng: f"https://{_host(rng)}/{rng.randint(1, _SPAN)}",
    "uuid": lambda rng: str(uuid.UUID(int=rng.getrandbits(128), version=4)),
}


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
