"""Structured answers: objects in place of prose, looked at field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, cast

from resay._internal.tasks import compute
from resay.core.passage import Passage
from resay.core.query import Query
from resay.providers.base import Completion, Completions, Layer

__all__ = ["Comparable", "compared", "fields_in", "object_in", "passage_of", "rendered"]

_FENCE = re.compile(r"```[\w-]*[^\S\n]*\n")
_DEEPEST = 100
READING = 5
"""As many characters take as long as one of an object that is read."""
_PLAIN_KEY = re.compile(r"[^\W\d][\w$-]*\Z")


def object_in(completion: Completion, query: Query) -> Any:
    """Return the object that a structured answer holds.

    Args:
        completion: The answer. Where it calls one of `query.object_tools`, the arguments are the
            object, as a list where there are several such calls; otherwise its text is read as
            JSON, in a code fence or not.
        query: What it answers.

    Returns:
        A mapping or a list, as `json.loads` gives it; None where there is none.
    """
    calls = [call for call in completion.calls if call.name in query.object_tools]
    if calls:
        objects = [_read(call.arguments) for call in calls]
        return objects[0] if len(objects) == 1 else objects
    opening = _FENCE.search(completion.text)
    inside = completion.text[opening.end() :].partition("```") if opening else None
    return _read(inside[0] if inside and inside[1] else completion.text)


def _read(text: str) -> Any:
    try:
        value: Any = json.loads(text)
    # Deep nesting is refused with a RecursionError.
    except (ValueError, RecursionError):
        return None
    return cast("Any", value) if isinstance(value, (dict, list)) and _is_shallow(value) else None


def _is_shallow(value: Any) -> bool:
    """Whether an object is nested no deeper than anybody nests one; paths grow with that."""
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        level = [item for inside in level for item in _items(inside)]
    return not level


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, list) else ()


def rendered(value: Any) -> str:
    """Return an object as text: one line for each value in it, `address.city: "Paris"`.

    Args:
        value: What JSON can hold. A value is a string, a number, a boolean, null, or an empty list
            or object.
    """
    lines = ((path, json.dumps(leaf, ensure_ascii=False)) for path, leaf in _leaves(value))
    return "\n".join(f"{path}: {leaf}" for path, leaf in lines)


def passage_of(value: Any) -> Passage:
    """Return an object as a passage whose sentences are the lines that `rendered` gives."""
    text = rendered(value)
    return Passage.from_sentences(text.split("\n"), text=text) if text else Passage.of("")


def fields_in(text: str) -> dict[str, Any]:
    """Read what `rendered` wrote.

    Returns:
        The values by their paths, in order.
    """
    lines = (line.partition(": ") for line in text.split("\n") if line)
    return {path: json.loads(leaf) for path, _, leaf in lines}


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, item in cast("Mapping[str, Any]", value).items():
            yield from _leaves(item, _step(path, key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(cast("list[Any]", value)):
            yield from _leaves(item, f"{path}[{index}]")
    else:
        yield path, value


def _step(path: str, key: str) -> str:
    if _PLAIN_KEY.match(key):
        return f"{path}.{key}" if path else key
    # So that the first ": " of a line ends its path, whatever a key is made of.
    quoted = json.dumps(key).replace(": ", ":\\u0020")
    return f"{path}[{quoted}]"


class Comparable(Layer):
    """Gives samples in the form in which they are compared.

    Where the query wants an object, a sample is that object, one line for each field; where it
    wants words, one that calls tools instead says nothing.
    """

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask, and keep of the answers what is compared."""
        answers = await self.inner.complete(query, n=n)
        texts = [t for a in answers.items for t in (a.text, *(c.arguments for c in a.calls))]
        chars = READING * sum(map(len, texts)) if query.wants_object else 0
        items = await compute(partial(_all_compared, answers.items, query), chars=chars)
        return Completions(items, answers.usage, answers.failures)


def _all_compared(items: Sequence[Completion], query: Query) -> tuple[Completion, ...]:
    return tuple(Completion(compared(item, query), item.finish_reason) for item in items)


def compared(completion: Completion, query: Query) -> str:
    """Return what of a sample is compared; an empty text where there is nothing.

    Args:
        completion: The sample.
        query: What it answers.
    """
    if not query.wants_object:
        return "" if completion.calls else completion.text
    found = object_in(completion, query)
    return "" if found is None else rendered(found)
