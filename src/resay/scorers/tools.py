"""Compares tool calls with those of the samples, and with the texts given to the model.

A call is compared like an object: the tool's name and each of its arguments are a field, whose
score is the share of the samples with something else in its place (`structured`). A sample that
calls no tool, or another one, has none of its arguments. Several calls of one tool are compared in
order. The method is ours, without published figures.

In addition, it reports values that the model must have made up: numbers, dates, names, identifiers
and longer texts that appear neither in the conversation nor in a tool's result, a reference or the
definition of a tool. This changes no score, as values may be computed, or known to the model:
"tomorrow" becomes a date, "Paris" an airport code.

Cost: no calls besides the samples. No tool is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, cast

from resay._internal.event_loops import compute, stop_if_abandoned
from resay._internal.patterns import lazy_pattern
from resay.core.passage import Passage
from resay.core.quantities import Quantity, quantities
from resay.core.scores import Scores
from resay.core.tokens import tokenize
from resay.providers.base import Completion, ToolCall
from resay.scorers.evidence import Evidence
from resay.scorers.fields import Fields
from resay.scorers.structured import fields_in, parse_object, rendered

NOT_GIVEN = "appears in neither the conversation nor a tool's result"
"""The note on a value that the model must have made up."""

_NAMES = lazy_pattern(r"tools\[\d+\]\Z")
_CODE = lazy_pattern(r"[A-Z]{1,3}\Z")
_RUN = lazy_pattern(r"[^\W\d_]+|\d+")
_DIGIT = lazy_pattern(r"\d")
_ADDRESS = lazy_pattern(r"://|@")
_LONG_WORDS = 7
# Compiling a pattern takes a thousand times as long as searching for the same text.
_MAX_PATTERN_CHARS = 200
_CONTENT_CHARS = 4
# Minimum support of a quantity: a date without its year is supported by two thirds.
_MIN_SUPPORT = 0.5
_READING = 20
# Fields of a message without text, and parts with what the model itself passed to tools.
_NO_WORDS = frozenset(
    {"cache_control", "file_data", "function_call", "id", "image_url", "role", "tool_call_id"}
    | {"tool_calls", "tool_use_id", "type"}
)
_OF_THE_MODEL = frozenset({"custom_tool_call", "function_call", "tool_use"})


def rendered_calls(calls: Sequence[ToolCall]) -> str:
    """Render tool calls as text: one line for each field, `get_weather.city: "Paris"`.

    Args:
        calls: The calls, in order; without any, the line shows an empty list of tools.
    """
    lines = [rendered({"tools": [call.name for call in calls]})]
    keys: set[str] = set()
    for call in calls:
        key, count = call.name, 1
        while key in keys:
            count += 1
            key = f"{call.name} {count}"
        keys.add(key)
        # Arguments that are not JSON are passed to the tool verbatim.
        arguments = parse_object(call.arguments)
        if arguments is None:
            arguments = call.arguments.strip()
        if arguments:
            lines.append(rendered({key: arguments}))
    return "\n".join(lines)


def comparable_calls(completion: Completion) -> str:
    """Return the text of a sample to compare with calls; empty if the sample is empty."""
    content = completion.calls or completion.text.strip()
    return rendered_calls(completion.calls) if content else ""


def passage_of_calls(calls: Sequence[ToolCall]) -> Passage:
    """Return tool calls as a passage whose sentences are the lines of `rendered_calls`."""
    return Passage.of_lines(rendered_calls(calls))


class Arguments(Fields):
    """Compares tool calls, rendered as one line for each field, with those of the samples."""

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Compare with the samples, and note the values that were never given."""
        scores = await super().score(passage, evidence)
        texts = list(_texts_given(evidence))
        lines = [sentence.text for sentence in passage.sentences]
        find = partial(_made_up, lines, texts)
        made_up = await compute(find, chars=_READING * sum(map(len, [*lines, *texts])))
        reasons: list[str | None] = list(scores.reasons or (None,) * len(lines))
        for index in made_up:
            reason = reasons[index]
            reasons[index] = f"{reason}; {NOT_GIVEN}" if reason else NOT_GIVEN
        return replace(scores, reasons=tuple(reasons))


def _texts_given(evidence: Evidence) -> Iterator[str]:
    """Yield all texts given to the model: conversation, tool results, definitions, references."""
    request = evidence.request
    yield from _texts_in(request.messages)
    for name in ("tools", "functions", "documents"):
        yield from _texts_in(request.params.get(name))
    yield from (reference.text for reference in evidence.client_references)
    yield from (reference.text for reference in evidence.sources)
    yield from (sample.text for sample in evidence.references.arrived)


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if not value.startswith("data:"):
            yield value
    elif isinstance(value, Mapping):
        part = cast("Mapping[Any, Any]", value)
        if part.get("type") not in (*_OF_THE_MODEL, "base64"):
            for name, inner in part.items():
                if name not in _NO_WORDS:
                    yield from _texts_in(inner)
    elif isinstance(value, (list, tuple)):
        for inner in cast("Sequence[Any]", value):
            yield from _texts_in(inner)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield str(value)


def _made_up(lines: Sequence[str], texts: Sequence[str]) -> list[int]:
    """Return the indexes of the lines whose values appear nowhere in the given texts."""
    given = _GivenTexts("\n".join(texts))
    made_up: list[int] = []
    for index, line in enumerate(lines):
        stop_if_abandoned()
        ((path, value),) = fields_in(line).items()
        if not (_NAMES.match(path) or given.have(value)):
            made_up.append(index)
    return made_up


class _GivenTexts:
    """The texts given to the model, indexed to search for values."""

    def __init__(self, text: str) -> None:
        self._text = text

    def have(self, value: Any) -> bool:
        """Return whether a value appears in them, or is of a kind that need not."""
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            return True
        if isinstance(value, (int, float)):
            # 0 and 1 are counts, switches and starting points.
            return value in (0, 1) or self._have_number(value)
        if not value.strip() or self._have_words(value):
            return True
        if len(value.split()) >= _LONG_WORDS:
            return self._have_most(value)
        if _DIGIT.search(value):
            return self._have_quantities(value)
        # A lower-case word is a choice, such as "celsius".
        names = [word for word in value.split() if _looks_named(word)]
        return all(set(tokenize(name)) <= self._words for name in names)

    def _have_words(self, value: str) -> bool:
        """Return whether the words of a value appear in order: "ord-4711" appears in "ORD 4711"."""
        if len(value) > _MAX_PATTERN_CHARS:
            return value.casefold() in self._folded
        run = r"[\W_]*".join(_RUN.findall(value.casefold()))
        # Scripts without capitals may not use spaces either.
        if not any(map(_is_caseless, value)):
            run = rf"(?<![^\W_])(?<!\d[.,]){run}(?![^\W_]|[.,]\d)"
        return bool(re.search(run, self._folded))

    def _have_number(self, value: float) -> bool:
        number = next(iter(quantities(str(value))), None)
        for quantity in self._quantities:
            if value in (quantity.low, quantity.plain):
                return True
            if number is not None and number.agrees(quantity):
                return True
        return False

    def _have_quantities(self, value: str) -> bool:
        """Return whether they have all quantities of a text; an identifier has none."""
        numbers = quantities(value)
        end = 0
        for quantity in numbers:
            if any(map(str.isalnum, value[end : quantity.start])):
                return False
            end = max(end, quantity.end)
        if not numbers or any(map(str.isalnum, value[end:])):
            return False
        return all(map(self._support, numbers))

    def _have_most(self, value: str) -> bool:
        """Return whether they have half of a text's longer words, and all of its numbers."""
        words = {word for word in tokenize(value) if len(word) >= _CONTENT_CHARS}
        if len(words & self._words) * 2 < len(words):
            return False
        return all(map(self._support, quantities(value)))

    def _support(self, quantity: Quantity) -> bool:
        """Return whether they mention a quantity."""
        # First the same, so that a long table is not compared with each number of another.
        return quantity.meaning in self._meanings or any(
            quantity.supported_by(other) >= _MIN_SUPPORT for other in self._quantities
        )

    @cached_property
    def _folded(self) -> str:
        return self._text.casefold()

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(tokenize(self._text))

    @cached_property
    def _quantities(self) -> Sequence[Quantity]:
        return quantities(self._text)

    @cached_property
    def _meanings(self) -> frozenset[tuple[object, ...]]:
        return frozenset(quantity.meaning for quantity in self._quantities)


def _looks_named(word: str) -> bool:
    """Return whether a word is a name or an address: it has a capital, or its script has none."""
    bare = word.strip(".,;:!?()'\"")
    if _CODE.match(bare):
        return False
    has_capital = any(mark.isupper() or _is_caseless(mark) for mark in bare)
    return has_capital or bool(_ADDRESS.search(bare))


def _is_caseless(mark: str) -> bool:
    return mark.isalpha() and mark.lower() == mark.upper()
