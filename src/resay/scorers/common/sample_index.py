"""An index of what samples say: sentences, quantities, names, and their wording.

An index is built once for all sentences of an answer; parts that few sentences need are built on
first use.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, pairwise, zip_longest
from math import floor, log
from operator import attrgetter
from statistics import fmean

from resay._internal.event_loops import stop_if_abandoned
from resay.core.citation_marks import without_marks
from resay.core.links import link_spans, links_in, normal_link
from resay.core.normalization import NormalizedText, normalized
from resay.core.quantities import (
    MONEY,
    Quantity,
    may_negate,
    negations,
    quantities,
)
from resay.core.segmentation.sentences import is_abbreviation
from resay.core.segmentation.spans import Span
from resay.core.tokens import InvertedIndex
from resay.lang.detection import detect_from_words
from resay.lang.language import load
from resay.scorers.common.contrast import (
    Wording,
    parts_of,
    swapped,
)
from resay.scorers.common.lists import Segments
from resay.scorers.common.sentence_items import (
    QUANTITY_WEIGHT,
    NamesAndWords,
    quadratic_mean,
)
from resay.scorers.common.words import (
    WORD,
    asks_for_order,
    asks_yes_or_no,
    ignored_words,
    share,
    stance,
    stems_of,
    word_stems,
    words_of,
)
from resay.scorers.samples import Sample

# How far the samples agree is measured on so many of them.
_SCORED_AT_MOST = 5
# Sentences with more parts, and samples with more sentences, are not checked for swapped words.
_PARTS_AT_MOST = 6
# The characters of each text from which its language is guessed.
_GUESSED_FROM = 500
_NEARBY = 60
# Starts with a single character class, which the regex engine finds quickly.
_SENTENCE_END = re.compile(r"[.!?。！？।؟។៕။።۔\n](?:(?<=[.!?])\s+|(?<![.!?]))")
_ITEM_NUMBER = re.compile(r"(?m:^\s{0,8}\d{1,3}[.)]\s(?=\S))")
# By language, since "of", "o" and "ou" mean something else in other languages.
# Telephone numbers, IBANs, ISBNs, tracking codes and mail addresses are quoted verbatim, however
# their digits are grouped.
_LONG = re.compile(
    r"(?<![\w.,+-])(?:\+?(?:[A-Z]{0,4}\d{1,14}|\(\d{1,6}\))"
    r"(?:[ ./-]{0,2}\(?(?:\d{1,14}|[A-Z]{1,4}\d{1,14})\)?){1,9}"
    r"|(?=\w{0,30}\d)(?=\w{0,30}[A-Z])[A-Z0-9]{8,30}"
    r"|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{2,30}){1,4})(?!\w)"
)
# Not an article or pronoun at the beginning, an initial, a part of a name, a word or a number.
_LETTER = re.compile(
    r"(?<![\w.&'/-])(?:[B-HJ-Z](?![\w&'/]|-\w|\.\s?[A-Z]|\s[A-Z])|[AI](?=\W{0,3}\Z|[),;:]|\.(?:\s|\Z)))"
)
# A letter in lower case, where no word ends a text or is in brackets: "b", "(c)", "option d".
_SMALL_LETTER = re.compile(r"(?<![\w.&'/-])[a-z](?=\W{0,3}\Z|\))")
_BETWEEN_GROUPS = re.compile(r"(?<=\d)[ ./()-]{1,3}(?=[A-Za-z\d])|[+()]")
_WORD_RUN = re.compile(r"\w+")
# Where a text is looked for in a sample.
_MOST_POSITIONS = 256
LONG_DIGITS = 7
"""Minimum number of digits in a long number."""


@dataclass(frozen=True, slots=True)
class IndexedSentence:
    """One sentence of a sample.

    Attributes:
        sample: Position of its sample.
        words: Its stems.
        quantities: Its quantities.
        text: The sentence, in the form in which texts are compared.
        written: The sentence as written.
        start: Its offset in the form of the sample in which it is compared.
        negated: Whether it is negated.
        alone: Whether the sample has at most two sentences, and so is a direct answer.
    """

    sample: int
    words: frozenset[str]
    quantities: tuple[Quantity, ...]
    text: str
    written: str
    start: int
    negated: bool
    alone: bool

    def of(self, quantity: Quantity) -> str:
        """Return one of its quantities as written."""
        return self.text[quantity.start - self.start : quantity.end - self.start]


@dataclass(frozen=True, slots=True)
class ClauseQuantities:
    """Quantities with the words of the clause or list item that contains them."""

    words: frozenset[str]
    quantities: tuple[Quantity, ...]


def quantities_by_clause(
    text: str, found: Sequence[Quantity], start: int = 0, lists: Sequence[Span] = ()
) -> list[ClauseQuantities]:
    """Return the quantities of a sentence by clause or item.

    Args:
        text: The sentence.
        found: The quantities, with offsets in the text that has the sentence.
        start: Its offset in that text.
        lists: Spans of lists in the sentence that count as one item.
    """
    bound: list[ClauseQuantities] = []
    # "Almonds: 21 g protein, 50 g fat" is all about almonds.
    head = text.partition(":")[0] if ": " in text else ""
    for begins, ends in parts_of(text, lists) if found else ():
        mine = _within(found, start + begins, start + ends)
        if mine:
            bound.append(ClauseQuantities(plain_stems(f"{head} {text[begins:ends]}"), mine))
    return bound


def _row(heads: Sequence[str], row: IndexedSentence) -> Iterator[ClauseQuantities]:
    """Bind the cells of a table row to the headers of their row and column."""
    at = row.start
    cells = row.text.split("|")
    for cell, head in zip_longest(cells, heads[: len(cells)], fillvalue=""):
        mine = _within(row.quantities, at, at + len(cell))
        first = next((one for one in cells if one.strip()), "")
        if mine:
            yield ClauseQuantities(plain_stems(f"{first} {cell} {head}"), mine)
        at += len(cell) + 1


def _within(found: Sequence[Quantity], start: int, end: int) -> tuple[Quantity, ...]:
    """Return the quantities that begin in the range from start to end."""
    first = bisect_left(found, start, key=_START)
    return tuple(found[first : bisect_left(found, end, key=_START)])


_START = attrgetter("start")


def plain_stems(text: str) -> frozenset[str]:
    """Return the stems of a text without those that begin with a digit."""
    return frozenset(stem for stem in stems_of(text) if not stem[0].isdigit())


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """The question, and the conversation before it.

    Attributes:
        words: Stems that every answer may take for granted.
        quantities: Quantities of the question.
        topic: Stems of the question alone.
        is_polar: Whether it asks for yes or no.
        is_for_order: Whether it asks for an order.
        wording: The wording of the question.
    """

    words: frozenset[str]
    quantities: tuple[Quantity, ...]
    topic: frozenset[str]
    is_polar: bool
    is_for_order: bool
    wording: Wording

    @classmethod
    def of(cls, question: str, conversation: str, language: str) -> ParsedQuestion:
        """Parse a question and the conversation before it."""
        topic = frozenset(stems_of(question) + stems_of(question.replace("-", " ")))
        offered = frozenset(_offered(question))
        found = () if offered else quantities(question)
        is_polar = not offered and asks_yes_or_no(question)
        known = (topic | set(stems_of(conversation))) - offered
        order = asks_for_order(question)
        return cls(known, found, topic, is_polar, order, Wording(question, language))


@cache
def _or(language: str | None) -> re.Pattern[str]:
    """Return the pattern of "or" in a language and in those of other scripts."""
    own = load(language or "en").alternatives
    return re.compile(rf"\b(?:{own}|или|या|أم)\b|还是|還是|または", re.IGNORECASE)


def _offered(question: str) -> Iterator[str]:
    """Yield the stems next to an "or", one of which is the answer."""
    language = detect_from_words([match.group().lower() for match in WORD.finditer(question)])
    for match in _or(language).finditer(question):
        yield from stems_of(question[max(match.start() - _NEARBY, 0) : match.start()])[-2:]
        yield from stems_of(question[match.end() : match.end() + _NEARBY])[:2]


@dataclass(frozen=True, slots=True)
class SampleIndex:
    """An index of the samples.

    Attributes:
        count: Number of samples.
        words: By sample, the stems of its words.
        written: By sample, its words in lower case.
        links: By sample, its links, those in citation marks too; see `links_of`.
        letters: By sample, the letters that stand for themselves in it: an option, a vitamin.
        sentences: The sentences of all samples.
        shared: Finds the positions in `sentences` that share words with a sentence.
        quantities: Each distinct quantity, with its positions in `sentences`.
        keys: Positions in `quantities`, in order of value, by the keys that equal ones share.
        places: By sample, the positions of its sentences in `sentences`.
        topical: By sample, the position of the sentence with most words of the question.
        short: The samples of one or two sentences.
        alone: The positions of their sentences in `sentences`.
        stances: By sample, the "yes" or "no" that it begins with, if any.
        texts: By sample, its text in lower case.
        question: The question they answer.
        language: Their language.
        repetition: The share of their words, without those of the question, that others repeat.
        rivals: By sample, one quantity of each kind it has.
        wordings: By position in `sentences`, the wordings parsed so far.
        segmented: The cache of `segments`.
        neighbours: The cache of `between`.
        joined: The cache of `ungrouped`.
        bindings: The cache of `bound`, by sample.
        spellings: The cache of `as_said`.
        holders: The cache of `count_of`.
        positions: The cache of `has_literally`, by sample: where each word begins.
        disagreements: The cache of `disagreement`.
    """

    count: int
    words: tuple[set[str], ...]
    written: tuple[set[str], ...]
    letters: tuple[frozenset[str], ...]
    links: tuple[frozenset[str], ...]
    sentences: tuple[IndexedSentence, ...]
    shared: InvertedIndex
    quantities: tuple[tuple[Quantity, tuple[int, ...]], ...]
    keys: Mapping[Key, list[int]]
    places: tuple[range, ...]
    topical: tuple[int | None, ...]
    short: frozenset[int]
    alone: tuple[int, ...]
    stances: tuple[str | None, ...]
    texts: tuple[str, ...]
    question: ParsedQuestion
    language: str
    repetition: float
    rivals: tuple[tuple[Quantity, ...], ...]
    wordings: dict[int, Wording] = field(default_factory=dict[int, Wording])
    segmented: dict[int, Segments] = field(default_factory=dict[int, Segments])
    neighbours: dict[tuple[str, str], dict[str, None]] = field(
        default_factory=dict[tuple[str, str], dict[str, None]]
    )
    joined: list[str] = field(default_factory=list[str])
    bindings: dict[int, list[ClauseQuantities]] = field(
        default_factory=dict[int, list[ClauseQuantities]]
    )
    spellings: dict[str, str] = field(default_factory=dict[str, str])
    holders: dict[tuple[object, ...], frozenset[int]] = field(
        default_factory=dict[tuple[object, ...], frozenset[int]]
    )
    positions: dict[int, Mapping[str, list[int]]] = field(
        default_factory=dict[int, Mapping[str, list[int]]]
    )
    disagreements: list[float] = field(default_factory=list[float])

    @property
    def disagreement(self) -> float:
        """How little of each sample the others say, from 0 to 1.

        The mean score of the sentences of the first samples, each compared with the other samples.
        A sentence is scored as one of an answer is, by `facts`, except that quantities are compared
        by their meaning and words by their stems alone. So the samples that have each are counted
        once, for all sentences.
        """
        if not self.disagreements:
            self.disagreements.append(self._disagreement())
        return self.disagreements[0]

    def _disagreement(self) -> float:
        if self.count < 2:
            return 0.0
        with_word = Counter(word for words in self.words for word in words)
        means: list[float] = []
        for positions in self.places[:_SCORED_AT_MOST]:
            stop_if_abandoned()
            sentences = self.sentences[positions.start : positions.stop]
            if sentences:
                means.append(fmean(self._score(sentence, with_word) for sentence in sentences))
        return fmean(means) if means else 0.0

    def _score(self, sentence: IndexedSentence, with_word: Counter[str]) -> float:
        """Return how little of a sentence the samples say, its own left out.

        Args:
            sentence: The sentence.
            with_word: By stem, how many samples have it.
        """
        start = sentence.start
        stated = NamesAndWords.of(
            sentence.text,
            [(quantity.start - start, quantity.end - start) for quantity in sentence.quantities],
            known=self.question.words,
            nouns=self.language == "de",
        )
        meanings = dict.fromkeys(quantity.meaning for quantity in sentence.quantities)
        items = [(QUANTITY_WEIGHT, self.count_of(meaning)) for meaning in meanings]
        for weights in (stated.name_weights(), stated.word_weights()):
            items += [(weight, with_word[stem]) for stem, weight in weights.items()]
        squares = total = 0.0
        for weight, holders in items:
            doubt = 1 - max(holders - 1, 0) / (self.count - 1)
            squares += weight * doubt**2
            total += weight
        return quadratic_mean(squares, total)

    def sharing(self, words: Collection[str]) -> dict[int, float]:
        """Return how many of some stems each sentence has, by its position in `sentences`."""
        return self.shared.search(words)[0]

    def wording(self, place: int) -> Wording:
        """Return the wording of a sentence, parsed on first use because few are needed."""
        if place not in self.wordings:
            self.wordings[place] = Wording(self.sentences[place].text, self.language)
        return self.wordings[place]

    @property
    def between(self) -> Mapping[tuple[str, str], Collection[str]]:
        """By pair of words, the words that appear between them in samples."""
        if not self.neighbours:
            for sentence in self.sentences:
                words = ["", *words_of(sentence.text).findall(sentence.text.lower()), ""]
                for before, word, after in zip(words, words[1:], words[2:], strict=False):
                    self.neighbours.setdefault((before, after), {})[word] = None
        return self.neighbours

    def nearest(self, key: Key, quantity: Quantity, most: int) -> Sequence[int]:
        """Return the positions in `quantities` with a key: of many, those nearest in value."""
        places = self.keys.get(key, ())
        if len(places) <= most:
            return places
        middle = bisect_left(places, quantity.low, key=lambda place: self.quantities[place][0].low)
        return places[max(middle - most // 2, 0) : middle + most // 2]

    def as_said(self, word: str) -> str:
        """Return a lower-cased word as the first sample that has it writes it."""
        if not self.spellings:
            for sentence in self.sentences:
                for match in words_of(sentence.text).finditer(sentence.text):
                    self.spellings.setdefault(match[0].lower(), match[0])
        return self.spellings.get(word, word)

    def count_of(self, meaning: tuple[object, ...]) -> int:
        """Return how many samples have a quantity with this meaning."""
        if not self.holders:
            for quantity, places in self.quantities:
                samples = frozenset(self.sentences[place].sample for place in places)
                self.holders[quantity.meaning] = samples
        return len(self.holders.get(meaning, ()))

    def has_literally(self, sample: int, text: str) -> bool:
        """Return whether a sample has a lower-cased text word for word.

        Args:
            sample: The sample.
            text: The text. It is looked for where its rarest word is, in at most 256 places.
        """
        words = list(_WORD_RUN.finditer(text))
        if not words:
            return False
        written = self.texts[sample]
        if sample not in self.positions:
            positions = self.positions[sample] = defaultdict[str, list[int]](list)
            for match in _WORD_RUN.finditer(written):
                positions[match[0]].append(match.start())
        positions = self.positions[sample]
        rarest = min(words, key=lambda match: len(positions.get(match[0], ())))
        for position in positions.get(rarest[0], ())[:_MOST_POSITIONS]:
            start = position - rarest.start()
            if start < 0 or not written.startswith(text, start):
                continue
            around = (
                written[max(start - 1, 0) : start],
                written[start + len(text) : start + len(text) + 1],
            )
            if not any(map(_WORD_RUN.match, around)):
                return True
        return False

    def segments(self, position: int) -> Segments:
        """Return the segments of a sentence, which may be items of lists."""
        if position not in self.segmented:
            self.segmented[position] = Segments.of(self.sentences[position].text)
        return self.segmented[position]

    def mixes(
        self, sample: int, parts: Sequence[frozenset[str]], wordings: Mapping[int, Wording]
    ) -> bool:
        """Whether a short sample has the words of a sentence's parts swapped.

        Args:
            sample: The sample.
            parts: The stems of each part.
            wordings: By position, the wordings of its sentences that share a list.
        """
        if not 1 < len(parts) <= _PARTS_AT_MOST:
            return False
        places = self.places[sample]
        if len(places) > _PARTS_AT_MOST:
            return False
        compared = (wordings.get(k) or self.wording(k) for k in places)
        theirs = [part.stems for wording in compared for part in wording.parts]
        return swapped(parts, theirs[: 2 * _PARTS_AT_MOST])

    @property
    def ungrouped(self) -> Sequence[str]:
        """By sample, its text with the digits of long numbers joined."""
        if not self.joined:
            self.joined.extend(map(ungrouped, self.texts))
        return self.joined

    def bound(
        self, sample: int, lists: Mapping[int, Sequence[Span]] | None = None
    ) -> list[ClauseQuantities]:
        """Return the quantities of a sample with the words next to them.

        Args:
            sample: The sample.
            lists: By position of a sentence, the spans of lists that count as one item.
        """
        if lists:
            return self._bound(sample, lists)
        if sample not in self.bindings:
            self.bindings[sample] = self._bound(sample, {})
        return self.bindings[sample]

    def _bound(self, sample: int, lists: Mapping[int, Sequence[Span]]) -> list[ClauseQuantities]:
        bound: list[ClauseQuantities] = []
        heads: list[str] = []
        for position in self.places[sample]:
            sentence = self.sentences[position]
            if sentence.text.lstrip().startswith("|"):
                heads = heads or sentence.text.split("|")
                bound += _row(heads, sentence)
            else:
                heads = []
                bound += quantities_by_clause(
                    sentence.text,
                    sentence.quantities,
                    sentence.start,
                    lists.get(position, ()),
                )
        return bound


@dataclass(frozen=True, slots=True)
class Indexing:
    """Builds an index; a hashable key, so that equal ones share the result."""

    question: str
    conversation: str

    def __call__(self, samples: Sequence[Sample]) -> SampleIndex:
        """Index the samples."""
        words: list[set[str]] = []
        written: list[set[str]] = []
        sentences: list[IndexedSentence] = []
        spans: list[range] = []
        places: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
        kinds: dict[tuple[object, ...], Quantity] = {}
        stances: list[str | None] = []
        originals: list[str] = []
        links: list[frozenset[str]] = []
        for place, sample in enumerate(samples):
            stop_if_abandoned()
            original = NormalizedText.of(without_marks(sample.text))
            text = without_noise(original.text)
            originals.append(original.text)
            links.append(frozenset(links_of(normalized(sample.text))))
            stances.append(stance(text))
            mine, whole, first = set[str](), set[str](), len(sentences)
            for sentence in _sentences_of(text, sample.text, original, place, whole):
                mine |= sentence.words
                for quantity in sentence.quantities:
                    meaning = quantity.meaning
                    kinds.setdefault(meaning, quantity)
                    places[meaning].append(len(sentences))
                sentences.append(sentence)
            words.append(mine)
            written.append(whole)
            spans.append(range(first, len(sentences)))
        found = tuple((kinds[meaning], tuple(where)) for meaning, where in places.items())
        keys: defaultdict[Key, list[int]] = defaultdict(list)
        for place, (quantity, _) in enumerate(found):
            for key in keys_of(quantity):
                keys[key].append(place)
        asked = normalized(self.question)
        for sharing in keys.values():
            sharing.sort(key=lambda place: found[place][0].low)
        texts = (asked, *originals)
        heads = (text[:_GUESSED_FROM].lower() for text in texts)
        language = detect_from_words(chain.from_iterable(map(WORD.findall, heads))) or "en"
        kinds_of = [dict[object, Quantity]() for _ in samples]
        for sentence in sentences:
            for q in sentence.quantities:
                kinds_of[sentence.sample][q.kind, q.unit, q.year is None] = q
        rivals = tuple(tuple(one.values()) for one in kinds_of)
        question = ParsedQuestion.of(asked, normalized(self.conversation), language)
        topical = (
            max(span, key=lambda place: share(question.topic, sentences[place].words), default=None)
            for span in spans
        )
        sets = [sentence.words for sentence in sentences]
        return SampleIndex(
            len(samples),
            tuple(words),
            tuple(written),
            tuple(map(_said_letters, originals)),
            tuple(links),
            tuple(sentences),
            InvertedIndex(sets, lambda count: 1.0),
            found,
            keys,
            tuple(spans),
            tuple(topical),
            frozenset(sentence.sample for sentence in sentences if sentence.alone),
            tuple(place for place, sentence in enumerate(sentences) if sentence.alone),
            tuple(stances),
            tuple(text.lower() for text in originals),
            question,
            language,
            _repetition([mine - question.words - ignored_words() for mine in words]),
            rivals,
        )


def _repetition(words: Sequence[Collection[str]]) -> float:
    """Return the share of the samples' words that another sample has, on average.

    Args:
        words: By sample, the words that count.
    """
    counts = Counter(word for mine in words for word in mine).values()
    total, others = sum(counts), len(words) - 1
    if not total or others < 1:
        return 1.0
    return sum(count * (count - 1) for count in counts) / (total * others)


Key = tuple[object, ...]


def keys_of(quantity: Quantity, *, near: bool = False) -> Iterator[Key]:
    """Yield the keys that a quantity shares with every quantity it may agree with.

    Args:
        quantity: The quantity.
        near: Whether to add keys of slightly smaller and larger values.
    """
    if quantity.year is not None:
        yield "year", quantity.year
    if quantity.kind == "date":
        for month in {quantity.month, quantity.day if quantity.swapped else None} - {None}:
            yield "month", month
        return
    if quantity.unit in ("century", "decade"):
        is_century = quantity.unit == "century"
        yield "century", quantity.low if is_century else quantity.low // 100 + 1
    yield "plain", quantity.plain
    middle = (quantity.low + quantity.high) / 2
    for value in {quantity.low, middle, quantity.high}:
        size = floor(4 * log(abs(value))) if value else -1_000
        for k in (size - 1, size, size + 1) if near else (size,):
            yield quantity.unit, k
            if quantity.unit in MONEY:
                yield "money", k
            if quantity.unit in ("", "share"):
                yield "share or number", k


def _sentences_of(
    text: str,
    written: str,
    original: NormalizedText,
    sample: int,
    whole: set[str],
) -> Iterator[IndexedSentence]:
    """Split a sample into sentences, with a fast pattern."""
    cuts = [0]
    for match in _SENTENCE_END.finditer(text):
        if not (match[0][0] == "." and is_abbreviation(text, match.start(), cuts[-1])):
            cuts.append(match.end())
    cuts.append(len(text))
    near: list[list[Quantity]] = [[] for _ in cuts]
    for quantity in quantities(text):
        near[bisect_right(cuts, quantity.start)].append(quantity)
    find = words_of(text).findall
    sentences = [text[start:end] for start, end in pairwise(cuts)]
    words = [find(sentence.lower()) for sentence in sentences]
    kept = [i for i, found in enumerate(words) if found]
    alone = len(kept) <= 2
    for i in kept:
        whole.update(words[i])
        negated = may_negate(words[i]) and bool(negations(sentences[i]))
        found = frozenset([stem for word in words[i] for stem in word_stems(word)])
        start, end = original.span(cuts[i], cuts[i + 1])
        yield IndexedSentence(
            sample=sample,
            words=found,
            quantities=tuple(near[i + 1]),
            text=sentences[i],
            written=written[start:end],
            start=cuts[i],
            negated=negated,
            alone=alone,
        )


def links_of(text: str) -> tuple[str, ...]:
    """Return the links of a text in their normal form, each once."""
    return tuple(dict.fromkeys(map(normal_link, links_in(text))))


def letters_of(text: str, found: Sequence[Quantity] = ()) -> frozenset[str]:
    """Return the single capital letters of a text that stand for themselves.

    "B", "vitamin D" and "option (C)" have one; "A bridge", "I am" and "J. Moor" have none.

    Args:
        text: The text.
        found: Its quantities, whose letters are units, such as that of 350 °F.
    """
    units = {position for q in found for position in range(q.start, q.end)}
    matches = _LETTER.finditer(text)
    return frozenset(match[0] for match in matches if match.start() not in units)


def _said_letters(text: str) -> frozenset[str]:
    """Return the letters that a sample says, in capitals, however it writes them."""
    return letters_of(text) | {match[0].upper() for match in _SMALL_LETTER.finditer(text)}


def long_numbers(text: str, found: Sequence[Quantity]) -> Iterator[tuple[int, int]]:
    """Yield the spans of long numbers, grouped or not, that are not among a text's quantities."""
    for match in _LONG.finditer(text):
        groups = re.findall(r"\d+", match[0])
        # The quantity before it may overlap it.
        first = max(bisect_left(found, match.start(), key=_START) - 1, 0)
        near = found[first : bisect_left(found, match.end(), key=_START)]
        inside = [q for q in near if match.start() < q.end]
        short = sum(map(len, groups)) < LONG_DIGITS or max(map(len, groups)) < 2
        if short and "@" not in match[0]:
            continue
        years = bool(groups) and len(inside) == len(groups)
        years = years and all(q.year is not None for q in inside)
        measures = any(q.unit not in ("", "ordinal") or q.kind == "date" for q in inside)
        whole = any(q.start <= match.start() and match.end() <= q.end for q in inside)
        if not (years or measures or (whole and (len(groups) > 1 or len(groups[0]) < 9))):
            yield match.span()


def ungrouped(text: str) -> str:
    """Return a text in lower case with the digits of long numbers joined."""
    return _BETWEEN_GROUPS.sub("", text).lower()


def without_noise(text: str) -> str:
    """Blank out links, which are compared as a whole, and item numbers, keeping all offsets."""
    spans = list(link_spans(text))
    if text[:1].isdigit() or "\n" in text:
        spans += [match.span() for match in _ITEM_NUMBER.finditer(text)]
    if not spans:
        return text
    pieces: list[str] = []
    end = 0
    for start, stop in sorted(spans):
        pieces += (text[end:start], " " * (stop - start))
        end = stop
    return "".join([*pieces, text[end:]])
