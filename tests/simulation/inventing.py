"""Numbers and texts that the simulated model makes up within the bounds of a JSON schema."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from resay.testing.world import Invention, stems

if TYPE_CHECKING:
    import random

    from simulation.fields import Field

__all__ = ["fits", "made_up_number", "made_up_text"]

Schema = Mapping[str, Any]

_SPAN = 9_999
_YEARS = (1712, 1994)
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
        return _YEARS if year else (1, _SPAN)
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
    year, month, day = rng.randint(*_YEARS), rng.randint(1, _MONTHS), rng.randint(1, _DAYS)
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
