"""What a sample says: its sentences, words and quantities, without comparing it with others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from resay.core.citation_marks import without_marks
from resay.core.normalization import NormalizedText, normalized
from resay.core.quantities import Quantity
from resay.scorers.common.indexed_sentences import IndexedSentence, sentences_of
from resay.scorers.common.verbatim import letters_in_any_case, links_of, without_noise
from resay.scorers.common.words import stance


@dataclass(frozen=True, slots=True)
class SampleReading:
    """What a sample says.

    Attributes:
        text: It in the form in which texts are compared, without citation marks.
        sentences: Its sentences.
        words: Its words, in lower case.
        stems: Their stems.
        links: Its links, those in citation marks too; see `links_of`.
        letters: The letters that stand for themselves in it: an option, a vitamin.
        stance: The "yes" or "no" that it begins with, if any.
        rivals: One quantity of each kind and unit that it has.
    """

    text: str
    sentences: tuple[IndexedSentence, ...]
    words: set[str]
    stems: set[str]
    links: frozenset[str]
    letters: frozenset[str]
    stance: str | None
    rivals: tuple[Quantity, ...]


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
        unmarked = without_marks(text)
        original = NormalizedText.of(unmarked)
        plain = without_noise(original.text)
        sentences = tuple(sentences_of(plain, original, text, self.position))
        words: set[str] = set()
        stems: set[str] = set()
        for sentence in sentences:
            words.update(sentence.words)
            stems.update(sentence.stems)
        return SampleReading(
            text=original.text,
            sentences=sentences,
            words=words,
            stems=stems,
            links=frozenset(links_of(original.text if unmarked == text else normalized(text))),
            letters=letters_in_any_case(original.text),
            stance=stance(plain),
            rivals=_one_of_each_kind(sentences),
        )


def _one_of_each_kind(sentences: Iterable[IndexedSentence]) -> tuple[Quantity, ...]:
    """Return one quantity of each kind and unit."""
    by_kind: dict[object, Quantity] = {}
    for sentence in sentences:
        for quantity in sentence.quantities:
            by_kind[quantity.kind, quantity.unit, quantity.year is None] = quantity
    return tuple(by_kind.values())
