"""What of a response was not scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["Unscored", "UnscoredKind", "counted"]

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
]
_CALLED: Mapping[UnscoredKind, str] = {
    "prose": "text fragment",
    "code": "code block",
    "math": "formula",
    "html": "HTML block",
    "definition": "link definition",
}


@dataclass(frozen=True, slots=True)
class Unscored:
    """A stretch of the response, with a letter or a digit in it, that was not scored.

    Attributes:
        text: The stretch, exactly `response[start:end]`.
        start: Code-point offset of its first character in the response.
        end: Code-point offset after its last character.
        kind: What it is: a block that holds no sentences (`heading`, `code`, `table`, `rule`,
            `math`, `html`, `definition`); a `sentence` about which no method gave a score; a
            `field` of an object that the policy does not compare; or other `prose`, such as the
            label of a footnote.
    """

    text: str
    start: int
    end: int
    kind: UnscoredKind

    @property
    def called(self) -> str:
        """What its kind is called in a sentence."""
        return _CALLED.get(self.kind, self.kind)


def counted(unscored: Iterable[Unscored]) -> str:
    """Return how many stretches of each kind there are: `1 table, 2 headings`."""
    counts = Counter(stretch.called for stretch in unscored)
    return ", ".join(f"{n} {name}{'s' * (n > 1)}" for name, n in counts.items())
