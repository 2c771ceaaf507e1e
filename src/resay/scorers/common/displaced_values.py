"""Finds the values of a sentence that documents have only of something else.

Of "The pool closes at 10 pm", "The bar closes at 10 pm" has the value, and "The pool closes at 8
pm" another in its place: it shares with the sentence all words that the first shares, and more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from resay.core.quantities import Quantity
from resay.scorers.common.indexed_sentences import ClauseQuantities, IndexedSentence, plain_stems
from resay.scorers.common.sample_index import SampleIndex
from resay.scorers.common.statement import Statement
from resay.scorers.common.words import ignored_words

# A sentence is about the same matter if it shares this much of the words.
_SAME_MATTER = 0.5


@dataclass(frozen=True, slots=True)
class DisplacedValue:
    """A quantity of a sentence that texts have elsewhere, and others another in its place.

    Attributes:
        quantity: The quantity.
        elsewhere: The positions of the texts that have it.
        in_place: By position of a text that has another value, its sentence.
        is_certain: Whether one of these sentences says nothing else, which may make it one about
            something narrower ("The deposit for pets is 100 euros"), or alone has the unit.
    """

    quantity: Quantity
    elsewhere: frozenset[int]
    in_place: Mapping[int, str]
    is_certain: bool


@dataclass(frozen=True, slots=True)
class _Context:
    """A sentence with a value, and the words that it shares with the one compared."""

    sentence: IndexedSentence
    shared: frozenset[str]


class DisplacedValues:
    """Finds the values of a sentence that texts have only of something else.

    Args:
        statement: The sentence.
        index: The index of the texts.
        differs: Whether quantities are of the same kind as one, but none can be the same.
    """

    def __init__(
        self,
        statement: Statement,
        index: SampleIndex,
        differs: Callable[[Quantity, Sequence[Quantity]], bool],
    ) -> None:
        self._statement = statement
        self._index = index
        self._differs = differs

    def find(
        self, clauses: Sequence[ClauseQuantities], texts: Collection[int]
    ) -> DisplacedValue | None:
        """Return the first quantity that texts have elsewhere, and one another in its place.

        Args:
            clauses: The quantities of the sentence with the words of their clauses.
            texts: The positions of the texts.
        """
        for clause in clauses:
            words = (clause.words | self._index.question.topic) - ignored_words()
            for quantity in clause.quantities:
                if quantity not in self._statement.quantities:
                    continue
                displaced = self._displaced(quantity, words, texts)
                if displaced is not None:
                    return displaced
        return None

    def _displaced(
        self, quantity: Quantity, words: frozenset[str], texts: Collection[int]
    ) -> DisplacedValue | None:
        same = self._contexts_of(quantity, words, texts)
        # Nothing can share more than all words, which is what most true claims share.
        if not same or any(context.shared == words for context in same):
            return None
        elsewhere = frozenset(context.sentence.sample for context in same)
        in_place: list[_Context] = []
        for position in sorted(self._index.sharing(words)):
            sentence = self._index.sentences[position]
            if sentence.sample in elsewhere or sentence.sample not in texts:
                continue
            shared = self._shared_at(position, words)
            is_on_the_matter = len(shared) >= _SAME_MATTER * len(words)
            is_nearer = all(context.shared < shared for context in same)
            if is_on_the_matter and is_nearer and self._differs(quantity, sentence.quantities):
                in_place.append(_Context(sentence, shared))
        if not in_place:
            return None
        in_place.sort(key=lambda context: len(context.shared))
        return DisplacedValue(
            quantity=quantity,
            elsewhere=elsewhere,
            in_place={c.sentence.sample: c.sentence.written.strip() for c in in_place},
            is_certain=self._is_certain(quantity, same, in_place),
        )

    def _contexts_of(
        self, quantity: Quantity, words: frozenset[str], texts: Collection[int]
    ) -> list[_Context]:
        """Return the sentences of texts that have a quantity."""
        index = self._index
        positions: set[int] = set()
        for candidate in index.quantity_keys.candidates(quantity, len(index.quantities)):
            other, positions_of_other = index.quantities[candidate]
            if quantity.supported_by(other) or quantity.rounds(other):
                positions.update(positions_of_other)
        return [
            _Context(index.sentences[position], self._shared_at(position, words))
            for position in sorted(positions)
            if index.sentences[position].sample in texts
        ]

    def _shared_at(self, position: int, words: frozenset[str]) -> frozenset[str]:
        """Return the words that a sentence has, the one before it, or as names its text."""
        index = self._index
        sentence = index.sentences[position]
        stems = sentence.stems
        if position > index.positions[sentence.sample].start:
            stems |= index.sentences[position - 1].stems
        names = words & self._statement.names_and_words.names.keys()
        return (words & stems) | (names & index.stems[sentence.sample])

    def _is_certain(
        self, quantity: Quantity, same: Sequence[_Context], in_place: Sequence[_Context]
    ) -> bool:
        """Whether a sentence with another value can hardly be about something narrower."""
        # "Patients over 40" have no 40 mg.
        is_bare = not any(other.unit for c in same for other in _agreeing(quantity, c.sentence))
        # What both say cannot tell them apart.
        stated = self._statement.stems | self._index.question.topic
        for context in same:
            stated |= self._index.stems[context.sentence.sample]
        for context in in_place:
            sentence = context.sentence
            has_unit = any(other.unit == quantity.unit for other in sentence.quantities)
            if quantity.unit and has_unit and is_bare:
                return True
            if _words_beside_values(sentence) <= stated:
                return True
        return False


def _agreeing(quantity: Quantity, sentence: IndexedSentence) -> list[Quantity]:
    """Return the quantities of a sentence that may be the same as one."""
    return [
        other
        for other in sentence.quantities
        if quantity.supported_by(other) or quantity.rounds(other)
    ]


def _words_beside_values(sentence: IndexedSentence) -> frozenset[str]:
    """Return the stems of a sentence's words that are in no quantity, the commonest left out."""
    pieces: list[str] = []
    position = 0
    for quantity in sentence.quantities:
        pieces.append(sentence.text[position : quantity.start - sentence.start])
        position = quantity.end - sentence.start
    pieces.append(sentence.text[position:])
    return plain_stems(" ".join(pieces)) - ignored_words()
