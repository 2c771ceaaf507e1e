"""What a sample says: its sentences, words and quantities, without comparing it with others."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from resay.core.citation_marks import marks_in, without_marks
from resay.core.normalization import NormalizedText, normalized
from resay.core.quantities import Quantity
from resay.scorers.common.indexed_sentences import IndexedSentence, sentences_of
from resay.scorers.common.verbatim import letters_in_any_case, links_of, without_noise
from resay.scorers.common.words import stance


@dataclass(frozen=True)
class SampleReading:
    """What a sample says.

    What few claims are compared with is read when the first is.

    Attributes:
        written: It as written.
        text: It in the form in which texts are compared, without citation marks.
        sentences: Its sentences.
        words: Its words, in lower case.
        stems: Their stems.
    """

    written: str
    text: str
    sentences: tuple[IndexedSentence, ...]
    words: set[str]
    stems: set[str]

    @cached_property
    def links(self) -> frozenset[str]:
        """Its links, those in citation marks too; see `links_of`."""
        return frozenset(links_of(normalized(self.written)))

    @cached_property
    def letters(self) -> frozenset[str]:
        """The letters that stand for themselves in it: an option, a vitamin."""
        return letters_in_any_case(self.text)

    @cached_property
    def stance(self) -> str | None:
        """The "yes" or "no" that it begins with, if any."""
        return stance(without_noise(self.text))

    @cached_property
    def rivals(self) -> Collection[Quantity]:
        """One quantity of each kind and unit that it has."""
        by_kind: dict[object, Quantity] = {}
        for sentence in self.sentences:
            for quantity in sentence.quantities:
                by_kind[quantity.kind, quantity.unit, quantity.year is None] = quantity
        return by_kind.values()


@dataclass(frozen=True, slots=True)
class SampleReader:
    """Reads a sample; a hashable key, so that it is read once however many arrive after it.

    Attributes:
        position: The position of the sample among all.
    """

    position: int

    def __call__(self, text: str) -> SampleReading:
        """Read a sample.

        Args:
            text: The sample.
        """
        original = NormalizedText.of(text)
        marks = marks_in(original)
        if marks:
            original = NormalizedText.of(without_marks(text, marks))
        plain = without_noise(original.text)
        sentences = tuple(sentences_of(plain, original, text, self.position))
        words: set[str] = set()
        stems: set[str] = set()
        for sentence in sentences:
            words.update(sentence.words)
            stems.update(sentence.stems)
        return SampleReading(
            written=text, text=original.text, sentences=sentences, words=words, stems=stems
        )
