"""Structured answers as text: one line for each field."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from resay._internal.event_loops import compute
from resay._internal.patterns import lazy_pattern
from resay.core.check_context import CheckContext
from resay.core.passage import Passage, whole_part
from resay.core.request import Request
from resay.providers.base import Completion, Completions, Layer, Provider
from resay.scorers.common.objects import best_object, schema_of

_MAX_DEPTH = 100
PARSING = 5
"""Cost of parsing one character of an object, in characters; see `compute`."""
_json = json.JSONEncoder(ensure_ascii=False).encode
_PLAIN_KEY = lazy_pattern(r"[^\W\d][\w$-]*\Z")


def object_in(completion: Completion, context: CheckContext) -> Any:
    """Return the object that a structured answer contains.

    Args:
        completion: The answer. If it calls one of `context.object_tools`, the arguments are the
            object, as a list if there are several such calls; otherwise the object is looked for in
            its text, in a code fence or not, with words around it or not.
        context: The context, with the schema that the object has to follow, if any.

    Returns:
        A mapping or a list, as returned by `json.loads`; None if there is none.
    """
    return object_with_words(completion, context)[0]


def object_with_words(completion: Completion, context: CheckContext) -> tuple[Any, str]:
    """Return the object that a structured answer contains, and the words around it.

    Args:
        completion: The answer, as for `object_in`.
        context: The context of the request it answers.

    Returns:
        The object, None if there is none; and the text before and after it, without the code fence.
    """
    calls = [call for call in completion.calls if call.name in context.object_tools]
    if calls:
        objects = [parse_object(call.arguments) for call in calls]
        return (objects[0] if len(objects) == 1 else objects), ""
    text = completion.text
    best = best_object(text, schema_of(context.request))
    if best is None or not _is_shallow(best.value):
        return None, ""
    before = _OPENING_FENCE.sub("", text[: best.start])
    after = _CLOSING_FENCE.sub("", text[best.end :])
    return best.value, f"{before}\n\n{after}".strip()


_OPENING_FENCE = lazy_pattern(r"(?:```|~~~)[^\n]*\n\s*\Z")
_CLOSING_FENCE = lazy_pattern(r"\A\s*(?:```|~~~)")


def parse_object(text: str) -> Any:
    """Parse a text as a JSON mapping or list; None if it is neither."""
    try:
        value: Any = json.loads(text, strict=False)
    # Deep nesting raises a RecursionError.
    except (ValueError, RecursionError):
        return None
    return cast("Any", value) if isinstance(value, (dict, list)) and _is_shallow(value) else None


def _is_shallow(value: Any) -> bool:
    """Return whether an object is nested no deeper than real ones; paths grow with the depth."""
    values: list[Any] = [value]
    for _ in range(_MAX_DEPTH):
        inner: list[Any] = []
        for outer in values:
            inner += _items(outer)
        values = inner
    return not values


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, list) else ()


def rendered(value: Any) -> str:
    """Render an object as text: one line for each value in it, `address.city: "Paris"`.

    Args:
        value: Any JSON value. The values in it are strings, numbers, booleans, null, and empty
            lists or objects.
    """
    lines: list[str] = []
    _add_lines(value, "", lines)
    return "\n".join(lines)


def passage_of(value: Any, *, beside: str = "") -> Passage:
    """Return an object as a passage whose sentences are the lines of `rendered`.

    Args:
        value: The object.
        beside: What the answer claims beside the object, which is not scored.
    """
    return Passage.of_lines(rendered(value), beside=beside)


def fields_in(text: str) -> dict[str, Any]:
    """Parse the output of `rendered`.

    Returns:
        The values by their paths, in order.
    """
    lines = [line.partition(": ") for line in text.split("\n") if line]
    # Parsing one text is much faster than parsing many.
    values = json.loads(f"[{','.join(leaf for _, _, leaf in lines)}]")
    return {path: value for (path, _, _), value in zip(lines, values, strict=True)}


def _add_lines(value: Any, path: str, lines: list[str]) -> None:
    if isinstance(value, list) and value:
        for index, item in enumerate(cast("list[Any]", value)):
            _add_lines(item, f"{path}[{index}]", lines)
    elif isinstance(value, Mapping) and value:
        for key, item in cast("Mapping[str, Any]", value).items():
            _add_lines(item, _step(path, key), lines)
    else:
        lines.append(f"{path}: {_json(value)}")


def _step(path: str, key: str) -> str:
    if _PLAIN_KEY.match(key):
        return f"{path}.{key}" if path else key
    # Escaped so that the first ": " of a line ends its path, whatever characters a key has.
    quoted = json.dumps(key).replace(": ", ":\\u0020")
    return f"{path}[{quoted}]"


class Comparable(Layer):
    """Converts samples to the form in which they are compared.

    Args:
        inner: The provider of the samples.
        to_text: Returns the text of a sample to compare; empty if there is none.
        parses_objects: Whether `to_text` parses objects, which takes time.
    """

    def __init__(
        self, inner: Provider, to_text: Callable[[Completion], str], *, parses_objects: bool
    ) -> None:
        super().__init__(inner)
        self._to_text = to_text
        self._parses_objects = parses_objects

    async def complete(self, request: Request, *, n: int = 1) -> Completions:
        """Ask, and reduce the answers to the text to compare."""
        answers = await self.inner.complete(request, n=n)
        parses = self._parses_objects or any(item.was_cut for item in answers.items)
        chars = 0
        for item in answers.items if parses else ():
            chars += PARSING * len(item.text)
            chars += PARSING * sum(len(call.arguments) for call in item.calls)
        items = await compute(partial(self._converted, answers.items), chars=chars)
        return Completions(items, answers.usage, answers.failures)

    def _converted(self, items: Sequence[Completion]) -> tuple[Completion, ...]:
        converted: list[Completion] = []
        for item in items:
            text = self._to_text(item)
            logprobs = item.logprobs if text == item.text else ()
            converted.append(Completion(text, item.finish_reason, logprobs))
        return tuple(converted)


def comparable_text(completion: Completion, context: CheckContext) -> str:
    """Return the text of a sample to compare; empty if there is none.

    If the request wants an object, it is the object, one line for each field; if it wants
    prose, a sample that calls tools instead has none, and one that was cut off ends with its last
    whole sentence.

    Args:
        completion: The sample.
        context: The context of the request it answers.
    """
    if not context.wants_object:
        text = "" if completion.calls else completion.text
        return whole_part(text) if completion.was_cut else text
    value = object_in(completion, context)
    return "" if value is None else rendered(value)
