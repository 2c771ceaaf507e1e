"""Compares structured answers field by field with the objects of the samples.

This transfers self-consistency (Manakul, Liusie and Gales 2023, section 5) from prose to objects: a
sample supports a field if its object has the same value at the same path. A field's score is the
share of the samples that do not support it, the passage score is the mean over its fields (their
Eq. 12). The method is ours, without published figures.

Values agree if their normal forms (`resay.core.normalization`) are equal except for case and white
space; numbers, if numerically equal; measures, amounts and dates, if they mean the same; links, if
they lead to the same page; a scalar in a list, if it is anywhere in the sample's list. Keys agree
however they are written: `firstName` is `first_name`.
The objects in a list are compared with those that share most with them, in whichever order. A text
of more than six words scores the share of its words that the sample's text lacks, because no model
words a sentence the same way twice.

Cost: no calls besides the samples. Good at: names, numbers, choices. Bad at: free text in fields;
exclude it with `structured.ignore`.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from resay._internal.event_loops import compute, stop_if_abandoned
from resay._internal.patterns import lazy_pattern
from resay.core.contradiction import Contradiction
from resay.core.links import links_in, normal_link
from resay.core.normalization import normalized
from resay.core.passage import SEPARATOR, Passage
from resay.core.quantities import Quantity, quantities
from resay.core.tokens import InvertedIndex, tokenize
from resay.scorers.base import SampleConfig, ScorerTraits
from resay.scorers.common.comparing import Column, SampleScorer
from resay.scorers.common.items import Item, matches
from resay.scorers.evidence import Evidence
from resay.scorers.samples import Sample
from resay.scorers.structured import fields_in

_FEW_WORDS = 6
_MAX_MEASURE_CHARS = 400
# Measures of one sample's list that a value is compared with.
_MAX_MEASURES = 256
_MEANING = lazy_pattern(r"[\d./]|[^\W\d_]{3}")
_NUMBER = lazy_pattern(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,14})?")
_TRUTHS = {"true": True, "false": False}
_BETWEEN_WORDS = lazy_pattern(r"[\W_]+")
# Cost of comparing one character, in characters; see `compute`.
_COMPARING = 10


class Fields(SampleScorer):
    """Compares an object, rendered as one line for each field, with other objects."""

    name: ClassVar[str] = "fields"
    traits: ScorerTraits = replace(SampleScorer.traits, contradicts_at_once=True)

    class Config(SampleConfig):
        """Settings of the comparison of fields."""

        method: Literal["fields"] = "fields"
        ignore: tuple[str, ...] = ()

    def __init__(self, config: Fields.Config) -> None:
        self._ignored = _matcher(config.ignore) if config.ignore else None

    async def compare(self, passage: Passage, sample: Sample, evidence: Evidence) -> Column:
        """Compare every field with one sample."""
        chars = _COMPARING * (len(passage.text) + len(sample.text))
        return await compute(partial(self._compared, passage, sample, evidence), chars=chars)

    async def contradiction(
        self, sentence: str, evidence: Evidence, scores: Sequence[float | None]
    ) -> Contradiction | None:
        """Return the first different value that a sample has in the same place; see `Contradicts`.

        Args:
            sentence: The line of a field.
            evidence: The samples.
            scores: The field's entries in their columns.
        """
        for sample, score in zip(evidence.samples.arrived, scores, strict=False):
            if score and (line := sample.derived(_Object).counterpart(sentence)):
                return Contradiction("sample", sample.index, line)
        return None

    def _compared(self, passage: Passage, sample: Sample, evidence: Evidence) -> Column:
        # Items are matched by all their fields, even if only some fields are still to be compared.
        text, _, _ = passage.text.partition(SEPARATOR)
        own = evidence.samples.derived(_Parsing(text))
        other = sample.derived(_Object)
        entries = _ObjectComparison(other).run(own.tree)
        other.entries.update(entries)
        scores: list[float | None] = []
        for sentence in passage.sentences:
            path = _path_of(sentence.text)
            is_ignored = self._ignored is not None and self._ignored.match(path)
            scores.append(None if is_ignored else entries[path].score)
        return Column(tuple(scores))


def _matcher(patterns: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern for the paths at or under path patterns such as `items[].sku`."""
    paths = "|".join(re.escape(pattern).replace(r"\[\]", r"\[\d+\]") for pattern in patterns)
    return re.compile(rf"(?:{paths})(?![\w$-])")


def _path_of(line: str) -> str:
    """Return the path of a field's line."""
    return line.partition(": ")[0]


class _Leaf:
    """A value, analysed once for all that it is compared with.

    Args:
        path: Its path.
        value: The value.

    Attributes:
        words: The words of the value; see `_words`.
    """

    def __init__(self, path: str, value: Any) -> None:
        self.path = path
        self.value = value
        self.words = _words(str(value))

    @cached_property
    def meaning(self) -> Quantity | str | None:
        """What the text is by itself: a measure, an amount, a date, or the normal form of a link.

        None for any other text.
        """
        text: str = self.value
        if not _MEANING.search(text) or len(text) > _MAX_MEASURE_CHARS:
            return None
        return _measure_in(text) or _link_in(text)


_Node: TypeAlias = "_Leaf | dict[str | int, _Node]"
"""A value, or the values of an object by their keys, or of a list by their indexes."""


class _Entry(NamedTuple):
    """The comparison of one field.

    Attributes:
        score: How much it differs, in [0, 1].
        other: The path of the other object's value in its place; None if there is none.
    """

    score: float
    other: str | None


class _Object:
    """The fields of an object.

    Args:
        text: The object, as rendered.

    Attributes:
        tree: The fields.
        entries: The comparison of another object's fields with these, by their paths there.
    """

    def __init__(self, text: str) -> None:
        self.tree = _tree(fields_in(text))
        self.entries: dict[str, _Entry] = {}
        self._text = text

    @cached_property
    def _lines(self) -> dict[str, str]:
        """The line of each field, by path."""
        return {_path_of(line): line for line in self._text.split("\n")}

    def counterpart(self, line: str) -> str | None:
        """Return the line of this object in the place of another object's line that differs."""
        entry = self.entries.get(_path_of(line))
        if entry is None or not entry.score or entry.other is None:
            return None
        return self._lines[entry.other]


@dataclass(frozen=True, slots=True)
class _Parsing:
    """Parses an object that is compared with samples, once for all of them.

    Attributes:
        text: The object, as rendered.
    """

    text: str

    def __call__(self, samples: Sequence[Sample]) -> _Object:
        """Parse it."""
        return _Object(self.text)


_QUOTED_KEY = lazy_pattern(r'\[("(?:[^"\\]|\\.)*")\]')


def _tree(fields: Mapping[str, Any]) -> _Node:
    """Return the fields as they were nested."""
    root: dict[str | int, _Node] = {}
    nodes = {"": root}
    for path, value in fields.items():
        stop_if_abandoned()
        if not path:
            return _Leaf(path, value)
        parent, step = _last_step(path)
        _node_at(parent, nodes)[step] = _Leaf(path, value)
    return root


def _node_at(path: str, nodes: dict[str, dict[str | int, _Node]]) -> dict[str | int, _Node]:
    """Return the object or list at a path, made on first use, with those around it.

    Args:
        path: The path.
        nodes: All that are made, by path; at least the root.
    """
    node = nodes.get(path)
    if node is None:
        parent, step = _last_step(path)
        node = nodes[path] = {}
        _node_at(parent, nodes)[step] = node
    return node


def _last_step(path: str) -> tuple[str, str | int]:
    """Return the path of the object or list that holds a value, and its key or index there."""
    if path.endswith('"]'):
        *_, quoted = _QUOTED_KEY.finditer(path)
        return path[: quoted.start()], json.loads(quoted[1])
    if path.endswith("]"):
        parent, _, index = path[:-1].rpartition("[")
        return parent, int(index)
    _, _, key = path.rpartition(".")
    return path[: -len(key)].removesuffix("."), key


class _ObjectComparison:
    """Compares the fields of an object with those in the same places of another.

    Args:
        other: The other object.
    """

    def __init__(self, other: _Object) -> None:
        self._other = other
        self._entries: dict[str, _Entry] = {}

    def run(self, own: _Node) -> dict[str, _Entry]:
        """Return the comparison of each field, by its path."""
        self._compare(own, self._other.tree)
        return self._entries

    def _compare(self, own: _Node, other: _Node | None) -> None:
        if isinstance(own, _Leaf):
            self._compare_value(own, other)
        elif any(isinstance(step, int) for step in own):
            self._compare_list(own, other)
        else:
            others = other if isinstance(other, dict) else {}
            folded = {_folded(key): node for key, node in others.items()}
            for key, inner in own.items():
                self._compare(inner, others.get(key) or folded.get(_folded(key)))

    def _compare_value(self, own: _Leaf, other: _Node | None) -> None:
        stop_if_abandoned()
        if isinstance(other, _Leaf):
            score = _Values([other]).disagreement(own)
            self._entries[own.path] = _Entry(score, other.path)
        else:
            # A sample that omits a null or empty value agrees.
            agrees = _is_nothing(own.value) and other is None
            self._entries[own.path] = _Entry(float(not agrees), None)

    def _compare_list(self, own: Mapping[str | int, _Node], other: _Node | None) -> None:
        # One value is as good as a list of it.
        others: Mapping[str | int, _Node] = {} if other is None else {0: other}
        if isinstance(other, dict):
            others = other
        leaves = {key: node for key, node in others.items() if isinstance(node, _Leaf)}
        values = _Values(leaves.values()) if leaves else None
        for key, inner in own.items():
            if not isinstance(inner, _Leaf):
                continue
            if values is None:
                self._compare_value(inner, others.get(key))
                continue
            stop_if_abandoned()
            same_key = leaves.get(key)
            score = values.disagreement(inner)
            self._entries[inner.path] = _Entry(score, None if same_key is None else same_key.path)
        items = [node for node in own.values() if isinstance(node, dict)]
        if not items:
            return
        other_items = [node for node in others.values() if isinstance(node, dict)]
        matched = matches([_item(node) for node in items], [_item(node) for node in other_items])
        for index, inner in enumerate(items):
            match = matched.get(index)
            self._compare(inner, None if match is None else other_items[match])


def _item(node: _Node) -> Item:
    """Return what an item of a list can be recognized by: its values, and the words of texts."""
    features: list[str] = []
    open_nodes: list[tuple[str, _Node]] = [("", node)]
    while open_nodes:
        path, inner = open_nodes.pop()
        if isinstance(inner, dict):
            for step, child in reversed(inner.items()):
                key = "" if isinstance(step, int) else _folded(step)
                open_nodes.append((f"{path}/{key}", child))
        elif not _is_nothing(inner.value):
            words = _words(_written(inner.value))
            features.append(f"{path}={words}")
            if _are_many(words):
                features += [f"{path}~{word}" for word in words.split(" ")]
    return Item(frozenset(features), features[0] if features else None)


def _folded(key: str | int) -> str:
    """Return a key in the form in which `firstName`, `first_name` and `First name` are equal."""
    return _BETWEEN_WORDS.sub("", str(key)).casefold() or str(key)


def _written(value: Any) -> str:
    """Return a value as text, equal for numbers that are equal."""
    is_number = isinstance(value, float) and value.is_integer()
    return str(int(value) if is_number else value)


class _Values:
    """The values that a sample has at one path, indexed for comparison."""

    def __init__(self, leaves: Collection[_Leaf]) -> None:
        self._has_nothing = False
        self._truths: set[bool] = set()
        self._given: set[str] = set()
        self._written: set[str] = set()
        self._numbers: list[float] = []
        self._texts: list[str] = []
        for leaf in leaves:
            value = leaf.value
            if _is_nothing(value):
                self._has_nothing = True
            elif isinstance(value, bool):
                self._truths.add(value)
            elif isinstance(value, str):
                self._given.add(leaf.words)
                self._texts.append(value)
                truth = _TRUTHS.get(value.strip().casefold())
                if truth is not None:
                    self._truths.add(truth)
            else:
                self._written.add(leaf.words)
                self._texts.append(str(value))
                number = _as_float(value)
                if not math.isnan(number):
                    self._numbers.append(number)
        self._numbers.sort()

    def disagreement(self, own: _Leaf) -> float:
        """Return how much a value differs from the most similar one, in [0, 1]."""
        value = own.value
        if _is_nothing(value):
            return float(not self._has_nothing)
        if isinstance(value, bool):
            return float(value not in self._truths)
        words = own.words
        if words in self._given:
            return 0.0
        if not isinstance(value, str):
            number = _as_float(value)
            return float(not self._has_number(number) and number not in self._numbers_in_texts)
        if words in self._written or self._means_the_same(own):
            return 0.0
        if not _are_many(words):
            return 1.0
        tokens = _counted(value)
        return (len(tokens) - self._most_shared(tokens)) / len(tokens)

    def _means_the_same(self, own: _Leaf) -> bool:
        """Return whether the sample has a text as a number, measure, date, truth or link."""
        value: str = own.value
        if self._truths and _TRUTHS.get(value.strip().casefold()) in self._truths:
            return True
        number = _number_in(value) if self._numbers else None
        if number is not None and self._has_number(number):
            return True
        meaning = own.meaning
        if isinstance(meaning, Quantity):
            return any(meaning.comparable(m) and meaning.agrees(m) for m in self._measures)
        return meaning is not None and meaning in self._links

    @cached_property
    def _numbers_in_texts(self) -> frozenset[float | None]:
        return frozenset(map(_number_in, self._short_texts))

    @cached_property
    def _measures(self) -> list[Quantity]:
        measures = map(_measure_in, self._short_texts[:_MAX_MEASURES])
        return [measure for measure in measures if measure is not None]

    @cached_property
    def _links(self) -> frozenset[str | None]:
        return frozenset(map(_link_in, self._short_texts))

    @cached_property
    def _short_texts(self) -> list[str]:
        return [text for text in self._texts if len(text) <= _MAX_MEASURE_CHARS]

    def _has_number(self, number: float) -> bool:
        # A number close to any is close to the nearest on either side.
        index = bisect_left(self._numbers, number)
        nearest = self._numbers[max(index - 1, 0) : index + 1]
        return any(math.isclose(number, other) for other in nearest)

    def _most_shared(self, tokens: frozenset[str]) -> int:
        counts, _ = self._shared.search(tokens)
        bounds = [(-count, text) for text, count in counts.items()]
        near = (self._tokens[text] for _, text in self._shared.smallest(bounds))
        return max((len(tokens & other) for other in near), default=0)

    @cached_property
    def _tokens(self) -> list[frozenset[str]]:
        return [_counted(text) for text in self._texts]

    @cached_property
    def _shared(self) -> InvertedIndex:
        return InvertedIndex(self._tokens, lambda count: 1.0)


def _number_in(text: str) -> float | None:
    """Return the number that a text is, unless its digits may be those of an identifier."""
    return float(text) if _NUMBER.fullmatch(text) else None


def _measure_in(text: str) -> Quantity | None:
    """Return the measure, amount or date that a text is; bare numbers may be versions or ids."""
    stripped = text.strip()
    measures = quantities(stripped)
    if len(measures) != 1:
        return None
    (measure,) = measures
    is_all = measure.start == 0 and measure.end == len(stripped)
    return measure if is_all and (measure.unit or measure.kind == "date") else None


def _link_in(text: str) -> str | None:
    """Return the normal form of the link that a text is."""
    stripped = text.strip()
    return normal_link(stripped) if list(links_in(stripped)) == [stripped] else None


def _words(text: str) -> str:
    """Return the words of a text in the form in which they are compared, with spaces between."""
    return " ".join(normalized(text).casefold().split())


def _are_many(words: str) -> bool:
    return words.count(" ") >= _FEW_WORDS


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
