"""Compares structured answers field by field with the objects of the samples.

This transfers self-consistency (Manakul, Liusie and Gales 2023, section 5) from prose to objects: a
sample supports a field if its object has the same value at the same path. A field's score is the
share of the samples that do not support it, the passage score is the mean over its fields (their
Eq. 12). The method is ours, without published figures.

Values agree if equal except for case and white space; numbers, if numerically equal; a scalar in a
list, if it is anywhere in the sample's list. A text of more than six words scores the share of its
words that the sample's text lacks, because no model words a sentence the same way twice.

Cost: no calls besides the samples. Good at: names, numbers, choices. Bad at: free text in fields;
exclude it with `structured.ignore`.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, cast

from resay._internal.event_loops import compute, stop_if_abandoned
from resay.core.passage import Passage
from resay.core.query import Query
from resay.core.tokens import InvertedIndex, tokenize
from resay.core.verdict import Contradiction
from resay.providers.base import Completion, Completions, Layer, Provider
from resay.scorers.base import SampleConfig
from resay.scorers.common.comparing import Column, SampleScorer
from resay.scorers.evidence import Evidence, Sample

_FENCE = re.compile(r"```[\w-]*[^\S\n]*\n")
_DEEPEST = 100
PARSING = 5
"""Cost of parsing one character of an object, in characters; see `compute`."""
_PLAIN_KEY = re.compile(r"[^\W\d][\w$-]*\Z")


def object_in(completion: Completion, query: Query) -> Any:
    """Return the object that a structured answer contains.

    Args:
        completion: The answer. If it calls one of `query.object_tools`, the arguments are the
            object, as a list if there are several such calls; otherwise its text is parsed as
            JSON, in a code fence or not.
        query: The query it answers.

    Returns:
        A mapping or a list, as returned by `json.loads`; None if there is none.
    """
    calls = [call for call in completion.calls if call.name in query.object_tools]
    if calls:
        objects = [parse_object(call.arguments) for call in calls]
        return objects[0] if len(objects) == 1 else objects
    opening = _FENCE.search(completion.text)
    inside = completion.text[opening.end() :].partition("```") if opening else None
    return parse_object(inside[0] if inside and inside[1] else completion.text)


def parse_object(text: str) -> Any:
    """Parse a text as a JSON mapping or list; None if it is neither."""
    try:
        value: Any = json.loads(text)
    # Deep nesting raises a RecursionError.
    except (ValueError, RecursionError):
        return None
    return cast("Any", value) if isinstance(value, (dict, list)) and _is_shallow(value) else None


def _is_shallow(value: Any) -> bool:
    """Whether an object is nested no deeper than real ones are; paths grow with the depth."""
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        level = [item for inside in level for item in _items(inside)]
    return not level


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
    lines = ((path, json.dumps(leaf, ensure_ascii=False)) for path, leaf in _leaves(value))
    return "\n".join(f"{path}: {leaf}" for path, leaf in lines)


def passage_of(value: Any) -> Passage:
    """Return an object as a passage whose sentences are the lines of `rendered`."""
    text = rendered(value)
    return Passage.of_lines(text) if text else Passage.of("")


def fields_in(text: str) -> dict[str, Any]:
    """Parse the output of `rendered`.

    Returns:
        The values by their paths, in order.
    """
    lines = [line.partition(": ") for line in text.split("\n") if line]
    # Parsing one text is much faster than parsing many.
    values = json.loads(f"[{','.join(leaf for _, _, leaf in lines)}]")
    return {path: value for (path, _, _), value in zip(lines, values, strict=True)}


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

    async def complete(self, query: Query, *, n: int = 1) -> Completions:
        """Ask, and reduce the answers to the text to compare."""
        answers = await self.inner.complete(query, n=n)
        texts = [t for a in answers.items for t in (a.text, *(c.arguments for c in a.calls))]
        chars = PARSING * sum(map(len, texts)) if self._parses_objects else 0
        items = await compute(partial(self._converted, answers.items), chars=chars)
        return Completions(items, answers.usage, answers.failures)

    def _converted(self, items: Sequence[Completion]) -> tuple[Completion, ...]:
        converted = [(item, self._to_text(item)) for item in items]
        return tuple(
            Completion(text, item.finish_reason, item.logprobs if text == item.text else ())
            for item, text in converted
        )


def comparable_text(completion: Completion, query: Query) -> str:
    """Return the text of a sample to compare; empty if there is none.

    If the query wants an object, it is the object, one line for each field; if the query wants
    prose, a sample that calls tools instead has none.

    Args:
        completion: The sample.
        query: The query it answers.
    """
    if not query.wants_object:
        return "" if completion.calls else completion.text
    found = object_in(completion, query)
    return "" if found is None else rendered(found)


_LAST_INDEX = re.compile(r"\[\d+\]\Z")
_FEW_WORDS = 6
# Cost of comparing one character, in characters; see `compute`.
_COMPARING = 10


class Fields(SampleScorer):
    """Compares an object, rendered as one line for each field, with other objects.

    Attributes:
        contradicts_at_once: Whether `contradiction` returns without waiting for anything.
    """

    name: ClassVar[str] = "fields"
    contradicts_at_once: ClassVar[bool] = True

    class Config(SampleConfig):
        """Settings of the comparison of fields."""

        method: Literal["fields"] = "fields"
        ignore: tuple[str, ...] = ()

    def __init__(self, config: Config) -> None:
        self._ignored = tuple(_matcher(pattern) for pattern in config.ignore)

    async def compare(self, passage: Passage, sample: Sample, evidence: Evidence) -> Column:
        """Compare every field with one sample."""
        chars = _COMPARING * (len(passage.text) + len(sample.text))
        return await compute(partial(self._compared, passage, sample), chars=chars)

    async def contradiction(
        self, sentence: str, evidence: Evidence, scores: Sequence[float | None]
    ) -> Contradiction | None:
        """Return the first different value that a sample has at the same path; see `Contradicts`.

        Args:
            sentence: The line of a field.
            evidence: The samples.
            scores: The field's entries in their columns.
        """
        path = sentence.partition(": ")[0]
        for sample, score in zip(evidence.samples.arrived, scores, strict=False):
            if score and (line := sample.derived(_Object).lines.get(path)):
                return Contradiction("sample", sample.index, line)
        return None

    def _compared(self, passage: Passage, sample: Sample) -> Column:
        others = sample.derived(_Object)
        own = fields_in("\n".join(sentence.text for sentence in passage.sentences))
        return Column(tuple(self._entry(path, own[path], others) for path in own))

    def _entry(self, path: str, value: Any, others: _Object) -> float | None:
        stop_if_abandoned()
        if any(matcher.match(path) for matcher in self._ignored):
            return None
        same_place = others.at(path)
        if same_place is not None:
            return same_place.least_disagreement(value)
        # A sample that omits a null or empty value agrees.
        return float(not _is_nothing(value) or others.has_inside(path))


def _matcher(pattern: str) -> re.Pattern[str]:
    """Return a pattern for the paths at or under a path pattern such as `items[].sku`."""
    return re.compile(re.escape(pattern).replace(r"\[\]", r"\[\d+\]") + r"(?![\w$-])")


class _Object:
    """The fields of a sample's object, indexed for comparison.

    Attributes:
        lines: The line of each field, by its path.
    """

    def __init__(self, text: str) -> None:
        values = fields_in(text)
        self.lines = {line.partition(": ")[0]: line for line in text.split("\n")}
        self._values: dict[str, _Values] = {}
        containers: defaultdict[str, list[Any]] = defaultdict(list)
        for path, value in values.items():
            stop_if_abandoned()
            container = _container_path(path)
            containers[container].append(value)
            if container == path:
                self._values[path] = _Values([value])
        self._containers = {container: _Values(items) for container, items in containers.items()}
        self._paths = sorted(values)

    def at(self, path: str) -> _Values | None:
        """Return the value at a path; in a list, the values anywhere in it."""
        container = _container_path(path)
        return self._values.get(path) if container == path else self._containers.get(container)

    def has_inside(self, path: str) -> bool:
        """Return whether there is an object or a list at a path."""
        return any(self._has_beginning(path + mark) for mark in ".[")

    def _has_beginning(self, path: str) -> bool:
        place = bisect_left(self._paths, path)
        return self._paths[place : place + 1] != [] and self._paths[place].startswith(path)


def _container_path(path: str) -> str:
    """Return the path of a value, or of the list it is in."""
    return _LAST_INDEX.sub("", path)


class _Values:
    """The values that a sample has at one path, indexed for comparison."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._has_nothing = any(map(_is_nothing, values))
        self._truths = {value for value in values if isinstance(value, bool)}
        given = [v for v in values if not (_is_nothing(v) or isinstance(v, bool))]
        self._texts = [str(value) for value in given]
        numbers = [value for value in given if not isinstance(value, str)]
        self._given = {_words(value) for value in given if isinstance(value, str)}
        self._written = {_words(str(number)) for number in numbers}
        self._numbers = sorted(n for n in map(_as_float, numbers) if not math.isnan(n))

    def least_disagreement(self, value: Any) -> float:
        """Return how much a value differs from the most similar one, in [0, 1]."""
        if _is_nothing(value):
            return float(not self._has_nothing)
        if isinstance(value, bool):
            return float(value not in self._truths)
        words = _words(str(value))
        if words in self._given:
            return 0.0
        if not isinstance(value, str):
            return float(not self._has_number(_as_float(value)))
        if words in self._written:
            return 0.0
        if len(words) <= _FEW_WORDS:
            return 1.0
        tokens = _counted(value)
        return (len(tokens) - self._most_shared(tokens)) / len(tokens)

    def _has_number(self, number: float) -> bool:
        # A number close to any is close to the nearest on either side.
        place = bisect_left(self._numbers, number)
        nearest = self._numbers[max(place - 1, 0) : place + 1]
        return any(math.isclose(number, other) for other in nearest)

    def _most_shared(self, tokens: frozenset[str]) -> int:
        found, _ = self._shared.search(tokens)
        bounds = [(-count, place) for place, count in found.items()]
        near = (self._tokens[place] for _, place in self._shared.smallest(bounds))
        return max((len(tokens & other) for other in near), default=0)

    @cached_property
    def _tokens(self) -> list[frozenset[str]]:
        return [_counted(text) for text in self._texts]

    @cached_property
    def _shared(self) -> InvertedIndex:
        return InvertedIndex(self._tokens, lambda count: 1.0)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.casefold().split())


def _counted(text: str) -> frozenset[str]:
    """Return the tokens of a text, numbered so that repeated tokens are distinct."""
    counts: Counter[str] = Counter()
    tokens: list[str] = []
    for token in tokenize(text):
        tokens.append(f"{token} {counts[token]}")
        counts[token] += 1
    return frozenset(tokens)


def _as_float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _is_nothing(value: Any) -> bool:
    return value is None or value in ("", [], {})
