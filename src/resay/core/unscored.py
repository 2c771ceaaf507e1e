"""The spans of a response that were not scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from resay._internal import plurals

UnscoredKind = Literal[
    "prose",
    "heading",
    "code",
    "table",
    "rule",
    "math",
    "html",
    "definition",
    "sentence",
    "field",
    "reasoning",
]

_UNSCORED_NAMES: Mapping[UnscoredKind, str] = {
    "prose": "text fragment",
    "code": "code block",
    "math": "formula",
    "html": "HTML block",
    "definition": "link definition",
}


@dataclass(frozen=True, slots=True)
class Unscored:
    """A span of the response, with a letter or a digit in it, that was not scored.

    Attributes:
        text: The span, exactly `response[start:end]`.
        start: Code-point offset of its first character in the response.
        end: Code-point offset after its last character.
        kind: A block without sentences (`heading`, `code`, `table`, `rule`, `math`, `html`,
            `definition`); a `sentence` that no method scored; a `field` of an object that the
            policy does not compare; the model's `reasoning` in the text, with the marks around it
            and around the answer; or other `prose`, such as the label of a footnote.
    """

    text: str
    start: int
    end: int
    kind: UnscoredKind

    @property
    def called(self) -> str:
        """The name of its kind in a sentence."""
        return _UNSCORED_NAMES.get(self.kind, self.kind)

    def moved(self, by: int) -> Unscored:
        """Return the same span after `by` more code points."""
        return replace(self, start=self.start + by, end=self.end + by)


def counted(unscored: Iterable[Unscored]) -> str:
    """Return the number of spans of each kind, without reasoning: `1 table, 2 headings`."""
    counts = Counter(span.called for span in unscored if span.kind != "reasoning")
    return ", ".join(plurals.counted(count, name) for name, count in counts.items())
