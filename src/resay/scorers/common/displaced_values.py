"""Finds the values of a sentence that documents have only of something else.

Of "The pool closes at 10 pm", "The bar closes at 10 pm" has the value, and "The pool closes at 8
pm" another in its place: it shares with the sentence all words that the first shares, and more. So
do other values that it gives, such as the number of an invoice, or a year.

A document often names its subject only once. A sentence with the value may be about all that the
sentences before it name, back to one of something else: with another value in its place, or a
heading.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from resay.core.quantities import Quantity
from resay.lang.language import all_words
from resay.scorers.common.indexed_sentences import ClauseQuantities, IndexedSentence, plain_stems
from resay.scorers.common.sample_index import SampleIndex
from resay.scorers.common.statement import Statement
from resay.scorers.common.words import ignored_words

# A sentence is about the same matter if it shares this much of the words.
_SAME_MATTER = 0.5
# A value of more sentences is not compared.
_MAX_CONTEXTS = 1_000
# How many sentences before another may name what it is about.
_MAX_BEFORE = 8


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
class _Matter:
    """What a sentence says of a quantity.

    Attributes:
        words: The words of its clause, and of the question.
        values: For each other value of its clause, or else of the question, the positions of the
            sentences that have it.
    """

    words: frozenset[str]
    values: tuple[frozenset[int], ...]

    @property
    def size(self) -> int:
        """How many words and values it has."""
        return len(self.words) + len(self.values)


@dataclass(frozen=True, slots=True)
class _Context:
    """A sentence with a value.

    Attributes:
        sentence: The sentence.
        shared: What it shares with the matter: words, and indexes of values.
        shared_here: What it shares by itself and by what stands before it in its document.
    """

    sentence: IndexedSentence
    shared: frozenset[str | int]
    shared_here: frozenset[str | int]


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
        self._differing: dict[tuple[Quantity, int], bool] = {}

    def find(
        self, clauses: Sequence[ClauseQuantities], texts: Collection[int]
    ) -> DisplacedValue | None:
        """Return the first quantity that texts have elsewhere, and one another in its place.

        Args:
            clauses: The quantities of the sentence with the words of their clauses.
            texts: The positions of the texts.
        """
        topic = self._index.question.topic
        for clause in clauses:
            words = (clause.words | topic) - ignored_words()
            # A number without a unit may name what it is about: invoice 1001.
            for quantity in sorted(clause.quantities, key=lambda value: not value.unit):
                if quantity not in self._statement.quantities:
                    continue
                values = map(self._positions_with, self._values_beside(quantity, clause))
                displaced = self._displaced(quantity, _Matter(words, tuple(values)), texts)
                if displaced is not None:
                    return displaced
        return None

    def _values_beside(self, quantity: Quantity, clause: ClauseQuantities) -> list[Quantity]:
        """Return the other values of a clause, or those of the question that are of other kinds."""
        values = [other for other in clause.quantities if not other.agrees(quantity)]
        if not values and len(self._statement.all_quantities) == 1:
            for other in self._index.question.quantities:
                is_alike = other.unit == quantity.unit and other.comparable(quantity)
                if not is_alike:
                    values.append(other)
        return values

    def _displaced(
        self, quantity: Quantity, matter: _Matter, texts: Collection[int]
    ) -> DisplacedValue | None:
        index = self._index
        positions_with = self._positions_with(quantity)
        if len(positions_with) > _MAX_CONTEXTS:
            return None
        same = self._contexts_at(positions_with, quantity, matter, texts)
        # Nothing can share more than all, which is what most true claims share.
        if not same or any(len(context.shared_here) == matter.size for context in same):
            return None
        elsewhere = frozenset(context.sentence.sample for context in same)
        # A price that many sentences have is shared in few ways.
        distinct = {
            (context.sentence.sample, context.shared, context.shared_here): context
            for context in same
        }.values()
        positions = set(index.sharing(matter.words)).union(*matter.values)
        in_place: list[_Context] = []
        for position in sorted(positions):
            sentence = index.sentences[position]
            if sentence.sample not in texts or not sentence.quantities:
                continue
            is_here = sentence.sample in elsewhere
            if is_here:
                shared = self._shared_before(position, matter, quantity)
            else:
                shared = self._shared_at(position, matter)
            if len(shared) < _SAME_MATTER * matter.size:
                continue
            of_same = {
                context.shared_here
                if context.sentence.sample == sentence.sample
                else context.shared
                for context in distinct
            }
            if not all(shared_by_same < shared for shared_by_same in of_same):
                continue
            is_clear = not is_here or self._count_rivals(quantity, sentence) == 1
            if is_clear and self._differs_at(position, quantity):
                in_place.append(_Context(sentence, shared, shared))
        if not in_place:
            return None
        in_place.sort(key=lambda context: len(context.shared))
        return DisplacedValue(
            quantity=quantity,
            elsewhere=elsewhere,
            in_place={c.sentence.sample: c.sentence.written.strip() for c in in_place},
            is_certain=self._is_certain(quantity, same, in_place),
        )

    def _differs_at(self, position: int, quantity: Quantity) -> bool:
        """Whether a sentence has a value of the same kind as a quantity, but none the same."""
        key = quantity, position
        if key not in self._differing:
            values = _values_of_kind(quantity, self._index.sentences[position])
            self._differing[key] = self._differs(quantity, values)
        return self._differing[key]

    def _count_rivals(self, quantity: Quantity, sentence: IndexedSentence) -> int:
        """Return how many values of a sentence may stand in place of a quantity."""
        own = self._statement.all_quantities
        rivals = {
            other.value
            for other in _values_of_kind(quantity, sentence)
            if quantity.comparable(other) and not any(value.agrees(other) for value in own)
        }
        return len(rivals)

    def _positions_with(self, quantity: Quantity) -> frozenset[int]:
        """Return the positions of the sentences that have a quantity."""
        index = self._index
        positions: set[int] = set()
        for candidate in index.quantity_keys.candidates(quantity, len(index.quantities)):
            other, positions_of_other = index.quantities[candidate]
            if quantity.supported_by(other) or quantity.rounds(other):
                positions.update(positions_of_other)
        return frozenset(positions)

    def _contexts_at(
        self,
        positions: Collection[int],
        quantity: Quantity,
        matter: _Matter,
        texts: Collection[int],
    ) -> list[_Context]:
        """Return the sentences of texts among those that have a quantity."""
        contexts: list[_Context] = []
        for position in sorted(positions):
            sentence = self._index.sentences[position]
            if sentence.sample in texts:
                shared = self._shared_at(position, matter)
                shared_here = self._shared_before(position, matter, quantity)
                contexts.append(_Context(sentence, shared, shared_here))
        return contexts

    def _shared_at(self, position: int, matter: _Matter) -> frozenset[str | int]:
        """Return what a sentence shares, the one before it, or as names its text."""
        index = self._index
        sentence = index.sentences[position]
        shared = self._shared_in(position, matter) | self._shared_heading(position, matter)
        names = self._statement.names_and_words.names.keys() & index.stems[sentence.sample]
        if position > index.positions[sentence.sample].start:
            shared |= matter.words & index.sentences[position - 1].stems
        return shared | (matter.words & names)

    def _shared_before(
        self, position: int, matter: _Matter, quantity: Quantity
    ) -> frozenset[str | int]:
        """Return what a sentence shares, and those before it that may name what it is about."""
        sentences = self._index.sentences
        shared = self._shared_in(position, matter) | self._shared_heading(position, matter)
        first = self._index.positions[sentences[position].sample].start
        pronouns = all_words("sentence_ends", "pronouns")
        for earlier in range(position - 1, max(first, position - _MAX_BEFORE) - 1, -1):
            if sentences[earlier].is_heading:
                break
            if self._differs_at(earlier, quantity):
                # "It had 6 stops. Now it has 9" is about the same.
                if earlier == position - 1 and not pronouns.isdisjoint(sentences[position].words):
                    shared |= matter.words & sentences[earlier].stems
                break
            shared |= self._shared_in(earlier, matter)
        return shared

    def _shared_heading(self, position: int, matter: _Matter) -> frozenset[str | int]:
        heading = self._index.headings[position]
        if heading is None:
            return frozenset()
        return self._shared_in(heading, matter)

    def _shared_in(self, position: int, matter: _Matter) -> frozenset[str | int]:
        """Return what a sentence by itself shares."""
        shared: set[str | int] = set(matter.words & self._index.sentences[position].stems)
        for number, positions in enumerate(matter.values):
            if position in positions:
                shared.add(number)
        return frozenset(shared)

    def _is_certain(
        self, quantity: Quantity, same: Sequence[_Context], in_place: Sequence[_Context]
    ) -> bool:
        """Whether a sentence with another value can hardly be about something narrower."""
        # "Patients over 40" have no 40 mg.
        is_bare = not any(other.unit for c in same for other in _agreeing(quantity, c.sentence))
        # What both say cannot tell them apart.
        stated = self._statement.stems | self._index.question.topic
        stems_here: defaultdict[int, set[str]] = defaultdict(set)
        for context in same:
            stems_here[context.sentence.sample] |= context.sentence.stems
        for context in in_place:
            sentence = context.sentence
            in_both = set(stated)
            for sample, stems in stems_here.items():
                in_both |= stems if sample == sentence.sample else self._index.stems[sample]
            has_unit = any(other.unit == quantity.unit for other in sentence.quantities)
            if quantity.unit and has_unit and is_bare:
                return True
            if _words_beside_values(sentence) <= in_both:
                return True
        return False


def _values_of_kind(quantity: Quantity, sentence: IndexedSentence) -> list[Quantity]:
    """Return the values of a sentence that may stand in place of a quantity.

    "With 9 stops" has no other length than 7.4 km, and no other year than 1997.
    """
    return [
        other
        for other in sentence.quantities
        if other.year_or_date == quantity.year_or_date and (other.unit or not quantity.unit)
    ]


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
