"""Agreement on the fields of structured answers.

What self-consistency is for prose (Manakul, Liusie and Gales 2023, section 5), taken to objects: a
field is supported by a sample whose object has the same value at the same place. A field's score is
the share of the samples that do not support it, the passage's is the mean over its fields (their
Eq. 12). It is our own, and has no published figures.

Values agree when they are the same but for case and white space, numbers when they are equal, a
scalar in a list when it is anywhere in the sample's list. Of a text of more than six words the
share of its words counts that the sample's text does not have: no model says a sentence twice.

Cost: no calls beside the samples. Good at: names, numbers, choices. Bad at: free text in fields;
have them left out with `structured.ignore`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from resay.evidence import Evidence, Sample
from resay.objects import fields_in
from resay.passage import Passage
from resay.scorers.base import SampleConfig
from resay.scorers.comparing import Column, SampleScorer
from resay.tokens import tokenize
from resay.verdict import Contradiction

__all__ = ["Fields"]

_LAST_INDEX = re.compile(r"\[\d+\]\Z")
_FEW_WORDS = 6


class Fields(SampleScorer):
    """Compares an object, rendered as one line for each field, with other objects."""

    name: ClassVar[str] = "fields"

    class Config(SampleConfig):
        """Agreement on fields."""

        method: Literal["fields"] = "fields"
        ignore: tuple[str, ...] = ()

    def __init__(self, config: Config) -> None:
        self._ignored = tuple(_matcher(pattern) for pattern in config.ignore)

    async def compare(self, passage: Passage, sample: Sample, evidence: Evidence) -> Column:
        """Compare every field with one sample."""
        others = fields_in(sample.text)
        own = fields_in("\n".join(sentence.text for sentence in passage.sentences))
        return Column(tuple(self._entry(path, own[path], others) for path in own))

    async def contradiction(
        self, sentence: str, evidence: Evidence, scores: Sequence[float | None]
    ) -> Contradiction | None:
        """Return the first other value that a sample has at the same place, as `Contradicts` says.

        Args:
            sentence: The line of a field.
            evidence: The samples.
            scores: The field's entries in their columns.
        """
        ((path, _),) = fields_in(sentence).items()
        for sample, score in zip(evidence.samples.landed, scores, strict=False):
            lines = [line for line in sample.text.split("\n") if line.startswith(f"{path}: ")]
            if score and lines:
                return Contradiction("sample", sample.index, lines[0])
        return None

    def _entry(self, path: str, value: Any, others: Mapping[str, Any]) -> float | None:
        if any(matcher.match(path) for matcher in self._ignored):
            return None
        same_place = _same_place(path, others)
        if same_place:
            return min(_disagreement(value, other) for other in same_place)
        # A sample that leaves out what is null, or empty, says the same.
        return float(not _is_nothing(value) or _has_children(path, others))


def _matcher(pattern: str) -> re.Pattern[str]:
    """Return what matches the paths at or under a pattern such as `items[].sku`."""
    return re.compile(re.escape(pattern).replace(r"\[\]", r"\[\d+\]") + r"(?![\w$-])")


def _has_children(path: str, others: Mapping[str, Any]) -> bool:
    return any(place.startswith((f"{path}.", f"{path}[")) for place in others)


def _same_place(path: str, others: Mapping[str, Any]) -> list[Any]:
    """Return what stands at a path; in a list, what stands anywhere in it."""
    shelf = _LAST_INDEX.sub("", path)
    if shelf == path:
        return [others[path]] if path in others else []
    return [value for place, value in others.items() if _LAST_INDEX.sub("", place) == shelf]


def _is_nothing(value: Any) -> bool:
    return value is None or value in ("", [], {})


def _disagreement(value: Any, other: Any) -> float:
    """Return how much two values differ, in [0, 1]."""
    if _is_nothing(value) or _is_nothing(other):
        return float(_is_nothing(value) != _is_nothing(other))
    if isinstance(value, bool) or isinstance(other, bool):
        return float(value is not other)
    if isinstance(value, (int, float)) and isinstance(other, (int, float)):
        return float(not math.isclose(value, other))
    words, others = str(value).casefold().split(), str(other).casefold().split()
    if words == others:
        return 0.0
    if len(words) <= _FEW_WORDS:
        return 1.0
    tokens = tokenize(str(value))
    missing = Counter(tokens) - Counter(tokenize(str(other)))
    return sum(missing.values()) / len(tokens)
