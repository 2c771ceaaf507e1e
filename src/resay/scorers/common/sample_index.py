"""An index of what samples say: sentences, quantities, names, and their wording.

An index is built once for all sentences of an answer; parts that few sentences need are built on
first use.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from statistics import fmean

from resay._internal.event_loops import stop_if_abandoned
from resay.core.normalization import normalized
from resay.core.quantities import Quantity, may_contain_negation
from resay.core.segmentation.spans import Span
from resay.core.tokens import InvertedIndex
from resay.lang.detection import detect_from_words
from resay.scorers.common.contrast import Wording, groups_of, swapped
from resay.scorers.common.indexed_sentences import (
    ClauseQuantities,
    IndexedSentence,
    quantities_by_cell,
    quantities_by_clause,
)
from resay.scorers.common.lists import Segments, has_separator
from resay.scorers.common.parsed_question import ParsedQuestion
from resay.scorers.common.quantity_keys import QuantityKeys
from resay.scorers.common.sample_reading import SampleReader, SampleReading
from resay.scorers.common.sentence_items import (
    QUANTITY_WEIGHT,
    NamesAndWords,
    quadratic_mean,
)
from resay.scorers.common.verbatim import ungrouped
from resay.scorers.common.words import WORD, ignored_words, share, words_of
from resay.scorers.samples import Sample

# How far the samples agree is measured on so many of them.
_MAX_SCORED_SAMPLES = 5
# Sentences with more parts, and samples with more sentences, are not checked for swapped words.
_MAX_PARTS = 6
# The characters of each text from which its language is guessed.
_LANGUAGE_CHARS = 500
MAX_QUANTITIES = 256
"""Quantities of texts with more are not compared with each other."""
# How many words are compared by how many samples have them in the same place.
_MAX_CANDIDATES = 256


@dataclass(frozen=True, slots=True)
class ClauseValues:
    """The values in a clause of a sample.

    Attributes:
        words: The stems of the clause.
        values: The numbers of its distinct values.
        count: How many quantities it has.
    """

    words: frozenset[str]
    values: frozenset[int]
    count: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """Which values of samples a quantity can be the same as.

    Attributes:
        agreeing: The numbers of those that agree with it.
        differing: The numbers of those of the same kind that do not.
    """

    agreeing: frozenset[int]
    differing: frozenset[int]


@dataclass(frozen=True)
class SampleIndex:
    """An index of the samples.

    Attributes:
        count: Number of samples.
        question: The question they answer.
        language: Their language.
        texts: By sample, its text in lower case.
        words: By sample, its words in lower case.
        stems: By sample, the stems of its words.
        readings: By sample, what else it says.
        sentences: The sentences of all samples. Elsewhere, a position is one in this sequence.
        positions: By sample, the positions of its sentences.
        short: The samples of one or two sentences.
        alone: The positions of their sentences.
        quantities: Each distinct quantity, with the positions of the sentences that have it.
        quantity_keys: Finds those that another quantity may agree with.
        shared: Finds the sentences that share words with another.
        rows: The samples that are rows or objects, whose fields have no grammar between them.
    """

    count: int
    question: ParsedQuestion
    language: str
    texts: tuple[str, ...]
    words: tuple[set[str], ...]
    stems: tuple[set[str], ...]
    readings: tuple[SampleReading, ...]
    sentences: tuple[IndexedSentence, ...]
    positions: tuple[range, ...]
    short: frozenset[int]
    alone: tuple[int, ...]
    quantities: tuple[tuple[Quantity, tuple[int, ...]], ...]
    quantity_keys: QuantityKeys
    shared: InvertedIndex
    rows: frozenset[int] = frozenset()
    # Caches, by position of a sentence or by sample.
    _wordings: dict[int, Wording] = field(default_factory=dict[int, Wording], init=False)
    _segments: dict[int, Segments] = field(default_factory=dict[int, Segments], init=False)
    _distinct_words: dict[int, frozenset[str]] = field(
        default_factory=dict[int, frozenset[str]], init=False
    )
    _clauses: dict[int, Sequence[ClauseValues]] = field(
        default_factory=dict[int, "Sequence[ClauseValues]"], init=False
    )
    # A cache by value.
    _agreements: dict[tuple[object, ...], Agreement] = field(
        default_factory=dict[tuple[object, ...], "Agreement"], init=False
    )
    # A cache by pair of words, and by whether a number is looked for.
    _most_frequent: dict[tuple[tuple[str, str], bool], tuple[str, int]] = field(
        default_factory=dict[tuple[tuple[str, str], bool], tuple[str, int]], init=False
    )

    # How far the samples agree.

    @cached_property
    def disagreement(self) -> float:
        """How little of each sample the others say, from 0 to 1.

        The mean score of the sentences of the first samples, each compared with the other samples.
        A sentence is scored as one of an answer is, by `facts`, except that quantities are compared
        by their meaning and words by their stems alone. So the samples that have each are counted
        once, for all sentences.
        """
        if self.count < 2:
            return 0.0
        samples_with_stem = Counter(stem for stems in self.stems for stem in stems)
        sample_scores: list[float] = []
        for positions in self.positions[:_MAX_SCORED_SAMPLES]:
            stop_if_abandoned()
            scores = [
                self._disagreement_on(self.sentences[position], samples_with_stem)
                for position in positions
            ]
            if scores:
                sample_scores.append(fmean(scores))
        return fmean(sample_scores) if sample_scores else 0.0

    def _disagreement_on(self, sentence: IndexedSentence, samples_with_stem: Counter[str]) -> float:
        """Return how little of a sentence the samples say, its own left out.

        Args:
            sentence: The sentence.
            samples_with_stem: By stem, how many samples have it.
        """
        start = sentence.start
        stated = NamesAndWords.of(
            sentence.text,
            [(quantity.start - start, quantity.end - start) for quantity in sentence.quantities],
            known=self.question.given_stems,
            nouns=self.language == "de",
        )
        meanings = dict.fromkeys(quantity.meaning for quantity in sentence.quantities)
        items = [(QUANTITY_WEIGHT, self.count_of(meaning)) for meaning in meanings]
        for weights in (stated.name_weights(), stated.word_weights()):
            items += [(weight, samples_with_stem[stem]) for stem, weight in weights.items()]
        squares = total = 0.0
        for weight, sample_count in items:
            doubt = 1 - max(sample_count - 1, 0) / (self.count - 1)
            squares += weight * doubt**2
            total += weight
        return quadratic_mean(squares, total)

    @cached_property
    def repetition(self) -> float:
        """The share of the samples' words that another sample has, on average.

        Those of the question and common ones do not count.
        """
        ignored = self.question.given_stems | ignored_words()
        counts = Counter(stem for stems in self.stems for stem in stems - ignored).values()
        total, other_count = sum(counts), self.count - 1
        if not total or other_count < 1:
            return 1.0
        return sum(count * (count - 1) for count in counts) / (total * other_count)

    # Words.

    @cached_property
    def topical(self) -> Sequence[int | None]:
        """By sample, the position of the sentence with most words of the question, if any."""
        return [_most_topical(span, self.sentences, self.question) for span in self.positions]

    def sharing(self, stems: Collection[str]) -> dict[int, float]:
        """Return how many of some stems each sentence has, by its position."""
        return self.shared.search(stems)[0]

    def most_frequent_between(self, pair: tuple[str, str], *, is_number: bool) -> tuple[str, int]:
        """Return the word between two words that most samples have, and how many have it.

        Args:
            pair: The lower-cased words before and after it.
            is_number: Whether it is a number, or a word that is not.
        """
        key = (pair, is_number)
        if key not in self._most_frequent:
            word, count = "", 0
            for candidate in islice(self._words_between(*pair), _MAX_CANDIDATES):
                if candidate in ignored_words() or candidate[0].isdigit() != is_number:
                    continue
                sample_count = sum(candidate in words for words in self.words)
                count, word = max((count, word), (sample_count, candidate))
            self._most_frequent[key] = (word, count)
        return self._most_frequent[key]

    def _words_between(self, before: str, after: str) -> Collection[str]:
        """Return the words that appear between two words in samples, in order.

        Args:
            before: The word before them; empty at the beginning of a sentence.
            after: The word after them; empty at its end.
        """
        between: dict[str, None] = {}
        for position in self._positions_of_both(before, after):
            words = ["", *self._words_at(position), ""]
            for left, word, right in zip(words, words[1:], words[2:], strict=False):
                if left == before and right == after:
                    between[word] = None
        return between

    def _positions_of_both(self, word: str, other: str) -> Sequence[int]:
        """Return the positions of sentences that have two words; each has an empty one."""
        everywhere = range(len(self.sentences))
        positions = self._positions_by_word.get(word, ()) if word else everywhere
        others = self._positions_by_word.get(other, ()) if other else everywhere
        if len(others) < len(positions):
            positions, other = others, word
        if not other:
            return positions
        return [position for position in positions if other in self.distinct_words(position)]

    def as_said(self, word: str) -> str:
        """Return a lower-cased word as the first sample that has it writes it."""
        for position in self._positions_by_word.get(word, ()):
            text = self.sentences[position].text
            for spelling in words_of(text).findall(text):
                if spelling.lower() == word:
                    return spelling
        return word

    def has_literally(self, sample: int, text: str) -> bool:
        """Return whether a sample has a lower-cased text word for word.

        Args:
            sample: The sample.
            text: The text.
        """
        if not any(map(_is_of_word, text)):
            return False
        sample_text = self.texts[sample]
        start = sample_text.find(text)
        while start >= 0:
            end = start + len(text)
            around = sample_text[max(start - 1, 0) : start] + sample_text[end : end + 1]
            if not any(map(_is_of_word, around)):
                return True
            start = sample_text.find(text, start + 1)
        return False

    @cached_property
    def ungrouped(self) -> Sequence[str]:
        """By sample, its text with the digits of long numbers joined."""
        return [ungrouped(text) for text in self.texts]

    @cached_property
    def headings(self) -> Sequence[int | None]:
        """By position of a sentence, that of the heading above it in its sample, if any."""
        headings: list[int | None] = []
        for positions in self.positions:
            heading: int | None = None
            for position in positions:
                if self.sentences[position].is_heading:
                    heading = position
                headings.append(heading)
        return headings

    # Quantities.

    def count_of(self, meaning: tuple[object, ...]) -> int:
        """Return how many samples have a quantity with this meaning."""
        return self._counts_by_meaning[meaning]

    @cached_property
    def _counts_by_meaning(self) -> Mapping[tuple[object, ...], int]:
        counts: dict[tuple[object, ...], int] = {}
        for quantity, positions in self.quantities:
            samples = {self.sentences[position].sample for position in positions}
            counts[quantity.meaning] = len(samples)
        return counts

    @cached_property
    def months(self) -> Set[int | None]:
        """The months of which samples have a day."""
        return {quantity.month for quantity, _ in self.quantities if quantity.day is not None}

    @cached_property
    def samples_by_day(self) -> Mapping[int, Set[int]]:
        """By day of a month, the samples that have a date with it."""
        samples: defaultdict[int, set[int]] = defaultdict(set)
        for quantity, positions in self.quantities:
            if quantity.day is not None:
                samples[quantity.day].update(self.sentences[p].sample for p in positions)
        return samples

    def agreement_with(self, quantity: Quantity) -> Agreement:
        """Return the numbers of the values in samples that agree with a quantity, and others."""
        agreement = self._agreements.get(quantity.value)
        if agreement is None:
            agreeing: set[int] = set()
            differing: set[int] = set()
            for number, other in enumerate(self._distinct_values.values()):
                if quantity.agrees(other):
                    agreeing.add(number)
                elif quantity.comparable(other):
                    differing.add(number)
            agreement = Agreement(agreeing=frozenset(agreeing), differing=frozenset(differing))
            self._agreements[quantity.value] = agreement
        return agreement

    def values_of(self, sample: int) -> frozenset[int]:
        """Return the numbers of the values that a sample has; none if it has too many."""
        return self._values_by_sample[sample]

    def clauses(
        self, sample: int, lists: Mapping[int, Sequence[Span]] | None = None
    ) -> Sequence[ClauseValues]:
        """Return the values of a sample with the words next to them.

        Args:
            sample: The sample.
            lists: By position of a sentence, the spans of lists that count as one item.
        """
        if lists:
            return self._clauses_with(sample, lists)
        if sample not in self._clauses:
            self._clauses[sample] = self._clauses_with(sample, {})
        return self._clauses[sample]

    def _clauses_with(
        self, sample: int, lists: Mapping[int, Sequence[Span]]
    ) -> Sequence[ClauseValues]:
        clauses: list[ClauseQuantities] = []
        table_header: list[str] = []
        for position in self.positions[sample]:
            sentence = self.sentences[position]
            if sentence.text.lstrip().startswith("|"):
                table_header = table_header or sentence.text.split("|")
                clauses += quantities_by_cell(table_header, sentence)
            else:
                table_header = []
                wording = self.wording(position, lists.get(position, ()))
                clauses += quantities_by_clause(wording, sentence.quantities, sentence.start)
        return [
            ClauseValues(
                words=clause.words,
                values=self._values_in(clause.quantities),
                count=len(clause.quantities),
            )
            for clause in clauses
        ]

    @cached_property
    def _quantities_by_sample(self) -> Sequence[Sequence[Quantity]]:
        """By sample, its quantities if they are compared with those of sentences."""
        quantities = [list[Quantity]() for _ in range(self.count)]
        for sentence in self.sentences:
            quantities[sentence.sample] += sentence.quantities
        return [() if len(own) > MAX_QUANTITIES else own for own in quantities]

    @cached_property
    def _distinct_values(self) -> Mapping[tuple[object, ...], Quantity]:
        """By value, the first quantity that has it."""
        quantities: dict[tuple[object, ...], Quantity] = {}
        for quantity in chain.from_iterable(self._quantities_by_sample):
            quantities.setdefault(quantity.value, quantity)
        return quantities

    @cached_property
    def _numbers_of_values(self) -> Mapping[tuple[object, ...], int]:
        """By value, its number, by which values are compared in sets."""
        return {value: number for number, value in enumerate(self._distinct_values)}

    @cached_property
    def _values_by_sample(self) -> Sequence[frozenset[int]]:
        return [self._values_in(quantities) for quantities in self._quantities_by_sample]

    def _values_in(self, quantities: Iterable[Quantity]) -> frozenset[int]:
        """Return the numbers of the values of quantities, if their texts have not too many."""
        numbers = self._numbers_of_values
        values = (numbers.get(quantity.value) for quantity in quantities)
        return frozenset(value for value in values if value is not None)

    # Wording.

    def wording(self, position: int, lists: Sequence[Span] = ()) -> Wording:
        """Return the wording of a sentence, parsed on first use because few are needed.

        Args:
            position: The position of the sentence.
            lists: Spans of lists in it that count as one item.
        """
        if lists:
            return Wording(self.sentences[position].text, self.language, lists)
        if position not in self._wordings:
            sentence = self.sentences[position]
            words = self._shared_words(position)
            self._wordings[position] = Wording(
                sentence.text, self.language, words=words, stems=sentence.stems
            )
        return self._wordings[position]

    @cached_property
    def unlike_sample(self) -> frozenset[int]:
        """The positions of sentences whose words may not be those of `Wording`."""
        return frozenset(i for i, sentence in enumerate(self.sentences) if not sentence.plain)

    @cached_property
    def negated(self) -> frozenset[int]:
        """The positions of sentences that may be negated."""
        positions: set[int] = set()
        for position, sentence in enumerate(self.sentences):
            if may_contain_negation(sentence.words):
                positions.add(position)
        return frozenset(positions)

    @cached_property
    def groups(self) -> Mapping[int, Set[int]]:
        """By group of synonyms and opposites, the positions of sentences with a word of it."""
        positions_by_group: defaultdict[int, set[int]] = defaultdict(set)
        for position, sentence in enumerate(self.sentences):
            for group in groups_of(sentence.words, self.language):
                positions_by_group[group].add(position)
        return positions_by_group

    def with_words(self, words: Iterable[str]) -> set[int]:
        """Return the positions of sentences that have any of these words."""
        positions: set[int] = set()
        for word in words:
            positions.update(self._positions_by_word.get(word, ()))
        return positions

    @cached_property
    def _positions_by_word(self) -> Mapping[str, Sequence[int]]:
        positions_by_word: defaultdict[str, list[int]] = defaultdict(list)
        for position in range(len(self.sentences)):
            for word in self.distinct_words(position):
                positions_by_word[word].append(position)
        return positions_by_word

    def with_stems(self, stems: Iterable[str]) -> set[int]:
        """Return the positions of sentences that have any of these stems."""
        positions: set[int] = set()
        for stem in stems:
            positions.update(self.shared.indices(stem))
        return positions

    def segments(self, position: int) -> Segments:
        """Return the segments of a sentence, which may be items of lists."""
        if position not in self._segments:
            text, words = self.sentences[position].text, self._words_at(position)
            self._segments[position] = Segments.of(text, words)
        return self._segments[position]

    def has_separator(self, position: int) -> bool:
        """Return whether a sentence has other than a single segment."""
        return has_separator(self.sentences[position].text, self._words_at(position))

    def distinct_words(self, position: int) -> frozenset[str]:
        """Return the distinct words of a sentence."""
        if position not in self._distinct_words:
            self._distinct_words[position] = frozenset(self._words_at(position))
        return self._distinct_words[position]

    def _words_at(self, position: int) -> Sequence[str]:
        """Return the words of a sentence by the pattern for it, not for its whole sample."""
        text = self.sentences[position].text
        return self._shared_words(position) or words_of(text).findall(text.lower())

    def _shared_words(self, position: int) -> Sequence[str]:
        """Return the words of a sentence if they are those of it by itself, else none."""
        sentence = self.sentences[position]
        return sentence.words if sentence.plain else ()

    def may_mix(self, sample: int) -> bool:
        """Return whether a sample is short enough for `mixes`."""
        return len(self.positions[sample]) <= _MAX_PARTS

    def mixes(
        self, sample: int, parts: Sequence[frozenset[str]], wordings: Mapping[int, Wording]
    ) -> bool:
        """Return whether a short sample has the words of a sentence's parts swapped.

        Args:
            sample: The sample.
            parts: The stems of each part.
            wordings: By position, the wordings of its sentences that share a list.
        """
        if not 1 < len(parts) <= _MAX_PARTS or not self.may_mix(sample):
            return False
        sample_parts: list[frozenset[str]] = []
        for position in self.positions[sample]:
            wording = wordings.get(position) or self.wording(position)
            sample_parts += wording.part_stems
        return swapped(parts, sample_parts[: 2 * _MAX_PARTS])


@dataclass(frozen=True, slots=True)
class Indexing:
    """Builds an index; a hashable key, so that equal ones share the result.

    Attributes:
        question: The question that the samples answer.
        conversation: The conversation before it.
        rows: The positions of samples that are rows or objects.
    """

    question: str
    conversation: str
    rows: frozenset[int] = frozenset()

    def __call__(self, samples: Sequence[Sample]) -> SampleIndex:
        """Index the samples."""
        readings: list[SampleReading] = []
        sentences: list[IndexedSentence] = []
        positions: list[range] = []
        for position, sample in enumerate(samples):
            stop_if_abandoned()
            reading = sample.derived(SampleReader(position))
            readings.append(reading)
            positions.append(range(len(sentences), len(sentences) + len(reading.sentences)))
            sentences += reading.sentences
        question_text = normalized(self.question)
        language = _language_of([question_text, *(reading.text for reading in readings)])
        question = ParsedQuestion.of(question_text, normalized(self.conversation), language)
        quantities = _distinct_quantities(sentences)
        return SampleIndex(
            count=len(samples),
            rows=self.rows,
            question=question,
            language=language,
            texts=tuple(reading.text.lower() for reading in readings),
            words=tuple(reading.words for reading in readings),
            stems=tuple(reading.stems for reading in readings),
            readings=tuple(readings),
            sentences=tuple(sentences),
            positions=tuple(positions),
            short=frozenset(sentence.sample for sentence in sentences if sentence.alone),
            alone=tuple(i for i, sentence in enumerate(sentences) if sentence.alone),
            quantities=quantities,
            quantity_keys=QuantityKeys([quantity for quantity, _ in quantities]),
            shared=InvertedIndex([sentence.stems for sentence in sentences], lambda count: 1.0),
        )


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _language_of(texts: Sequence[str]) -> str:
    # Each different word counts once, and texts share most of what they have between spaces.
    runs: set[str] = set()
    for text in texts:
        runs.update(text[:_LANGUAGE_CHARS].lower().split())
    return detect_from_words(WORD.findall(" ".join(runs))) or "en"


def _distinct_quantities(
    sentences: Sequence[IndexedSentence],
) -> tuple[tuple[Quantity, tuple[int, ...]], ...]:
    """Return one quantity of each meaning, with the positions of the sentences that have it."""
    by_meaning: dict[tuple[object, ...], tuple[Quantity, list[int]]] = {}
    for position, sentence in enumerate(sentences):
        for quantity in sentence.quantities:
            _, positions = by_meaning.setdefault(quantity.meaning, (quantity, []))
            positions.append(position)
    return tuple((quantity, tuple(positions)) for quantity, positions in by_meaning.values())


def _most_topical(
    positions: range, sentences: Sequence[IndexedSentence], question: ParsedQuestion
) -> int | None:
    """Return the position of the sentence with most words of the question, if there is any."""
    if not question.topic:
        return next(iter(positions), None)
    return max(
        positions,
        key=lambda position: share(question.topic, sentences[position].stems),
        default=None,
    )
