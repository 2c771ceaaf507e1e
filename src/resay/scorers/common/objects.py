"""Find the JSON object in an answer: alone, in a code fence, or between words.

Every object and list in the text is read, in one pass. The one that answers the schema of the
request is the answer; of several, the last, because a draft comes before the final object. Without
a schema it is the longest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from resay._internal.patterns import lazy_pattern
from resay.core.request import Request

# The beginning of an object or a list, not of "[sic]" or "{name}".
_BEGINNING = lazy_pattern(r"""\{\s*["}]|\[\s*["{}\[\]\d\-tfnNI]""")
# A text with more beginnings of what is no JSON contains no answer. Each costs a look at the text.
_MOST_FAILURES = 1000
# Models write line breaks into strings.
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class JsonSpan:
    """An object or a list in a text.

    Attributes:
        value: It, as returned by `json.loads`.
        start: Its start in the text, in code points.
        end: Its end (exclusive), in code points.
    """

    value: Any
    start: int
    end: int


def objects_in(text: str) -> Iterator[JsonSpan]:
    """Yield the objects and lists in a text, in order, without those inside others."""
    position = failures = 0
    while failures < _MOST_FAILURES:
        beginning = _BEGINNING.search(text, position)
        if beginning is None:
            return
        start = beginning.start()
        try:
            value, end = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            # What was read up to there is part of something that is no JSON, not an answer.
            position = max(error.pos, start + 1)
            failures += 1
        except (ValueError, RecursionError):
            # Numbers too long, or nested too deeply, for any real object.
            return
        else:
            yield JsonSpan(value, start, end)
            position = end


def best_object(text: str, schema: Mapping[str, Any] | None) -> JsonSpan | None:
    """Return the object or list in a text that is the answer; None if there is none.

    Args:
        text: The text.
        schema: The JSON Schema that it has to answer; None if there is none.
    """
    best: JsonSpan | None = None
    best_rank: tuple[int, ...] = ()
    for candidate in objects_in(text):
        if schema is None:
            rank: tuple[int, ...] = (candidate.end - candidate.start,)
        else:
            rank = _fit(candidate.value, schema)
        if best is None or rank >= best_rank:
            best, best_rank = candidate, rank
    return best


def _fit(value: Any, schema: Mapping[str, Any]) -> tuple[bool, int]:
    """Return whether a value answers a schema's outermost level, and how many properties it has."""
    kind = schema.get("type")
    if kind == "array":
        return isinstance(value, list), 0
    properties: Any = schema.get("properties")
    if kind != "object" and not isinstance(properties, Mapping):
        return True, 0
    if not isinstance(value, dict):
        return False, 0
    required: Any = schema.get("required")
    required_names = cast("Iterable[object]", required) if isinstance(required, list) else ()
    names = cast("Iterable[object]", properties) if isinstance(properties, Mapping) else ()
    has_required = all(name in value for name in required_names)
    return has_required, sum(name in value for name in names)


def schema_of(request: Request) -> Mapping[str, Any] | None:
    """Return the JSON Schema that a request's answer has to follow; None if it names none."""
    response_format: Any = request.params.get("response_format")
    if isinstance(response_format, Mapping):
        fields = cast("Mapping[str, Any]", response_format)
        if fields.get("type") == "json_object":
            return {"type": "object"}
        named: Any = fields.get("json_schema")
        schema: Any = cast("Mapping[str, Any]", named).get("schema") if named else None
        return cast("Mapping[str, Any]", schema) if isinstance(schema, Mapping) else None
    # A model of pydantic's.
    model_json_schema: Any = getattr(response_format, "model_json_schema", None)
    if model_json_schema is None:
        return None
    try:
        return cast("Mapping[str, Any]", model_json_schema())
    # A class of the application's may have no JSON Schema.
    except Exception:
        return None
