"""What samples say, ready to be looked up: sentences, quantities, names, and how they are worded.

An index is made once for all sentences of an answer, and what few sentences need is made when it
is first asked for.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise, zip_longest
from math import floor, log
from operator import attrgetter
from statistics import median
from typing import Final

from resay._internal.event_loops import stop_if_abandoned
from resay.core.languages import Language, guess_language
from resay.core.quantities import (
    Quantity,
    may_negate,
    negations,
    quantities,
)
from resay.core.tokens import Shared
from resay.scorers.common.contrast import (
    Wording,
    exchanged,
    parts_of,
)
from resay.scorers.common.words import (
    STOP,
    WORD,
    Stems,
    asks_for_order,
    asks_yes_or_no,
    share,
    stance,
    stems_of,
    words_of,
)
from resay.scorers.evidence import Sample

# A sample with more numbers than this, and than so many times the usual, tells nothing of how far
# the samples agree.
_LISTING, _LISTING_TIMES = 15, 4
# Sentences of more parts, and samples of more sentences, are not looked at for an exchange.
_PARTS_AT_MOST = 6
# The characters of each text from which its language is guessed.
_GUESSED_FROM = 500
_NEARBY = 60
# Begins with one set of characters, which is looked for quickly.
_SENTENCE_END = re.compile(r"[.!?。！？।؟។៕။።۔\n](?:(?<=[.!?])\s+|(?<![.!?]))")
# Marks of sources, addresses, and the labels of a list before its items say nothing.
_NOISE = re.compile(
    r"\[\d{1,3}(?:\s?[,–-]\s?\d{1,3}){0,9}\]|https?://\S+|(?m:^\s{0,8}\d{1,3}[.)]\s(?=\S))"
)
# By language, since "of", "o" and "ou" mean something else elsewhere.
_ALTERNATIVES: Final[Mapping[str | None, re.Pattern[str]]] = {
    language: re.compile(rf"\b(?:{words}|или|या|أم)\b|还是|還是|または", re.IGNORECASE)
    for language, words in {
        None: "or",
        "en": "or",
        "de": "oder",
        "fr": "ou",
        "es": "[ou]",
        "it": "o|oppure",
        "pt": "ou",
        "nl": "of",
    }.items()
}
# Telephone numbers, IBANs, ISBNs, tracking codes and mail addresses are quoted as they are, too,
# however their digits are grouped.
_LONG = re.compile(
    r"(?<![\w.,+-])(?:\+?(?:[A-Z]{0,4}\d{1,14}|\(\d{1,6}\))"
    r"(?:[ ./-]{0,2}\(?(?:\d{1,14}|[A-Z]{1,4}\d{1,14})\)?){1,9}"
    r"|(?=\w{0,30}\d)(?=\w{0,30}[A-Z])[A-Z0-9]{8,30}"
    r"|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{2,30}){1,4})(?!\w)"
)
_BETWEEN_GROUPS = re.compile(r"(?<=\d)[ ./()-]{1,3}(?=[A-Za-z\d])|[+()]")
LONG_DIGITS = 7
"""How many digits a long number has at least."""


@dataclass(frozen=True, slots=True)
class Said:
    """What one sentence of a sample says.

    Attributes:
        sample: The place of its sample.
        words: Its words.
        quantities: Its quantities.
        text: The sentence.
        start: Where it begins in its sample.
        negated: Whether it is negated.
        alone: Whether the sample says no more than two sentences: an answer to the question.
    """

    sample: int
    words: frozenset[str]
    quantities: tuple[Quantity, ...]
    text: str
    start: int
    negated: bool
    alone: bool

    def of(self, quantity: Quantity) -> str:
        """How one of its quantities is written."""
        return self.text[quantity.start - self.start : quantity.end - self.start]


@dataclass(frozen=True, slots=True)
class Bound:
    """Quantities, with the words of the clause or the item that they stand in."""

    words: frozenset[str]
    quantities: tuple[Quantity, ...]


def bound_in(text: str, found: Sequence[Quantity], start: int = 0) -> list[Bound]:
    """Return what is bound together in a sentence that begins at an offset of its text."""
    bound: list[Bound] = []
    # "Almonds: 21 g protein, 50 g fat" is all about almonds.
    head = text.partition(":")[0] if ": " in text else ""
    for begins, ends in parts_of(text) if found else ():
        mine = _within(found, start + begins, start + ends)
        if mine:
            bound.append(Bound(plain_stems(f"{head} {text[begins:ends]}"), mine))
    return bound


def _row(heads: Sequence[str], row: Said) -> Iterator[Bound]:
    """Bind the cells of a table's row to the heads of the row and of their columns."""
    at = row.start
    cells = row.text.split("|")
    for cell, head in zip_longest(cells, heads[: len(cells)], fillvalue=""):
        mine = _within(row.quantities, at, at + len(cell))
        first = next((one for one in cells if one.strip()), "")
        if mine:
            yield Bound(plain_stems(f"{first} {cell} {head}"), mine)
        at += len(cell) + 1


def _within(found: Sequence[Quantity], start: int, end: int) -> tuple[Quantity, ...]:
    """Return the quantities that begin between two places."""
    first = bisect_left(found, start, key=_START)
    return tuple(found[first : bisect_left(found, end, key=_START)])


_START = attrgetter("start")


def plain_stems(text: str) -> frozenset[str]:
    """Return the words of a text without those that begin with a digit."""
    return frozenset(stem for stem in stems_of(text) if not stem[0].isdigit())


@dataclass(frozen=True, slots=True)
class Asked:
    """What the question says, and the conversation before it.

    Attributes:
        words: Words that every answer may take for granted.
        quantities: Quantities of the question.
        topic: The words of the question alone.
        is_polar: Whether yes or no is asked for.
        is_for_order: Whether an order is asked for.
        wording: The question, as it is worded.
    """

    words: frozenset[str]
    quantities: tuple[Quantity, ...]
    topic: frozenset[str]
    is_polar: bool
    is_for_order: bool
    wording: Wording

    @classmethod
    def of(cls, question: str, conversation: str, language: Language) -> Asked:
        """Read a question and the conversation before it."""
        topic = frozenset(stems_of(question) + stems_of(question.replace("-", " ")))
        offered = frozenset(_offered(question))
        found = () if offered else quantities(question)
        is_polar = not offered and asks_yes_or_no(question)
        known = (topic | set(stems_of(conversation))) - offered
        order = asks_for_order(question)
        return cls(known, found, topic, is_polar, order, Wording(question, language))


def _offered(question: str) -> Iterator[str]:
    """The words nearest to an "or": the answer is one of them."""
    language = guess_language([match.group().lower() for match in WORD.finditer(question)])
    for match in _ALTERNATIVES[language].finditer(question):
        yield from stems_of(question[max(match.start() - _NEARBY, 0) : match.start()])[-2:]
        yield from stems_of(question[match.end() : match.end() + _NEARBY])[:2]


@dataclass(frozen=True, slots=True)
class SampleIndex:
    """The samples, ready to be looked up.

    Attributes:
        count: How many there are.
        words: By sample, its words, cut down to what their forms have in common.
        written: The same as they are written, in small letters.
        said: What their sentences say.
        shared: Finds the places in `said` that share words with a sentence.
        quantities: Each quantity that is said, once, and its places in `said`.
        keys: By what equal quantities have in common, places in `quantities`.
        places: By sample, the places in `said` of its sentences.
        topical: By sample, the place of the sentence that has most words of the question.
        short: The samples of one or two sentences.
        stances: By sample, "yes" or "no" where it begins so.
        texts: By sample, its text in small letters.
        disagreement: How little of what samples say the others repeat, from 0 to 1: of their
            quantities, or of their words where they have none.
        asked: What they answer.
        language: Theirs.
        repetition: How many of their words, without those of the question, others repeat.
        rivals: By sample, one quantity of each kind that it has.
        wordings: By place in `said`, how that is worded, where it was looked at.
        neighbours: What `between` is made of, once it was asked for.
        joined: What `ungrouped` is made of.
        bindings: What `bound` is made of, by sample.
    """

    count: int
    words: tuple[set[str], ...]
    written: tuple[set[str], ...]
    said: tuple[Said, ...]
    shared: Shared
    quantities: tuple[tuple[Quantity, tuple[int, ...]], ...]
    keys: Mapping[Key, list[int]]
    places: tuple[range, ...]
    topical: tuple[int | None, ...]
    short: frozenset[int]
    stances: tuple[str | None, ...]
    texts: tuple[str, ...]
    disagreement: float
    asked: Asked
    language: Language
    repetition: float
    rivals: tuple[tuple[Quantity, ...], ...]
    wordings: dict[int, Wording] = field(default_factory=dict[int, Wording])
    neighbours: dict[tuple[str, str], dict[str, None]] = field(
        default_factory=dict[tuple[str, str], dict[str, None]]
    )
    joined: list[str] = field(default_factory=list[str])
    bindings: dict[int, list[Bound]] = field(default_factory=dict[int, list[Bound]])

    def wording(self, place: int) -> Wording:
        """How a sentence is worded; few are looked at."""
        if place not in self.wordings:
            self.wordings[place] = Wording(self.said[place].text, self.language)
        return self.wordings[place]

    @property
    def between(self) -> Mapping[tuple[str, str], Collection[str]]:
        """By two words, those that stand between them in samples."""
        if not self.neighbours:
            for said in self.said:
                words = ["", *words_of(said.text).findall(said.text.lower()), ""]
                for before, word, after in zip(words, words[1:], words[2:], strict=False):
                    self.neighbours.setdefault((before, after), {})[word] = None
        return self.neighbours

    def mixes(self, sample: int, parts: Sequence[frozenset[str]]) -> bool:
        """Whether a short sample has the words of a sentence's parts in each other's place."""
        if not 1 < len(parts) <= _PARTS_AT_MOST:
            return False
        places = self.places[sample]
        if len(places) > _PARTS_AT_MOST:
            return False
        theirs = [part.stems for k in places for part in self.wording(k).parts]
        return exchanged(parts, theirs[: 2 * _PARTS_AT_MOST])

    @property
    def ungrouped(self) -> Sequence[str]:
        """By sample, its text with the digits of long numbers side by side."""
        if not self.joined:
            self.joined.extend(map(ungrouped, self.texts))
        return self.joined

    def bound(self, sample: int) -> list[Bound]:
        """The quantities of a sample with the words next to them."""
        if sample not in self.bindings:
            found: list[Bound] = []
            heads: list[str] = []
            for said in map(self.said.__getitem__, self.places[sample]):
                if said.text.lstrip().startswith("|"):
                    heads = heads or said.text.split("|")
                    found += _row(heads, said)
                else:
                    heads = []
                    found += bound_in(said.text, said.quantities, said.start)
            self.bindings[sample] = found
        return self.bindings[sample]


@dataclass(frozen=True, slots=True)
class Indexing:
    """Makes an index; equal ones make the same."""

    question: str
    conversation: str

    def __call__(self, samples: Sequence[Sample]) -> SampleIndex:
        """Take the samples apart."""
        words: list[set[str]] = []
        written: list[set[str]] = []
        said: list[Said] = []
        spans: list[range] = []
        places: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
        kinds: dict[tuple[object, ...], Quantity] = {}
        stems = Stems()
        stances: list[str | None] = []
        for place, sample in enumerate(samples):
            stop_if_abandoned()
            text = without_noise(sample.text)
            stances.append(stance(text))
            mine, whole, first = set[str](), set[str](), len(said)
            for sentence in _read(text, place, stems, whole):
                mine |= sentence.words
                for quantity in sentence.quantities:
                    meaning = quantity.meaning
                    kinds.setdefault(meaning, quantity)
                    places[meaning].append(len(said))
                said.append(sentence)
            words.append(mine)
            written.append(whole)
            spans.append(range(first, len(said)))
        found = tuple((kinds[meaning], tuple(where)) for meaning, where in places.items())
        keys: defaultdict[Key, list[int]] = defaultdict(list)
        for place, (quantity, _) in enumerate(found):
            for key in keys_of(quantity):
                keys[key].append(place)
        texts = (self.question, *(sample.text for sample in samples))
        heads = (text[:_GUESSED_FROM].lower() for text in texts)
        language = guess_language(chain.from_iterable(map(WORD.findall, heads))) or "en"
        kinds_of = [dict[object, Quantity]() for _ in samples]
        for sentence in said:
            for q in sentence.quantities:
                kinds_of[sentence.sample][q.kind, q.unit, q.year is None] = q
        rivals = tuple(tuple(one.values()) for one in kinds_of)
        asked = Asked.of(self.question, self.conversation, language)
        topical = (
            max(span, key=lambda place: share(asked.topic, said[place].words), default=None)
            for span in spans
        )
        sets = [sentence.words for sentence in said]
        return SampleIndex(
            len(samples),
            tuple(words),
            tuple(written),
            tuple(said),
            Shared(sets, lambda count: 1.0),
            found,
            keys,
            tuple(spans),
            tuple(topical),
            frozenset(sentence.sample for sentence in said if sentence.alone),
            tuple(stances),
            tuple(sample.text.lower() for sample in samples),
            _disagreement([{said[i].sample for i in where} for _, where in found], words),
            asked,
            language,
            1 - _disagreement([], [mine - asked.words for mine in words]),
            rivals,
        )


def _disagreement(holders: Sequence[Collection[int]], words: Sequence[set[str]]) -> float:
    """Return how little of what a sample says each of the others says on average.

    Args:
        holders: For each quantity that is said, the samples that say it.
        words: By sample, its words.
    """
    # One sample that is full of numbers, such as a table, would speak for all of them.
    had = Counter(sample for samples in holders for sample in samples)
    usual = median(had[sample] for sample in range(len(words))) if words else 0.0
    listing = {s for s, count in had.items() if count > max(_LISTING, _LISTING_TIMES * usual)}
    counts = [len(kept) for kept in (set(samples) - listing for samples in holders) if kept]
    if not counts:
        counts = list(Counter(word for mine in words for word in mine - STOP).values())
        listing.clear()
    said, others = sum(counts), len(words) - len(listing) - 1
    if not said or others <= 0:
        return 0.0
    return 1 - sum(count * (count - 1) for count in counts) / (said * others)


Key = tuple[object, ...]


def keys_of(quantity: Quantity, *, near: bool = False) -> Iterator[Key]:
    """What a quantity has in common with each that it may agree with.

    Args:
        quantity: The quantity.
        near: Whether to add what is a little more or less.
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


def _read(text: str, sample: int, stems: Stems, whole: set[str]) -> Iterator[Said]:
    """Take a sample apart into sentences, quickly."""
    cuts = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
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
        found = frozenset([stem for word in words[i] for stem in stems[word]])
        yield Said(sample, found, tuple(near[i + 1]), sentences[i], cuts[i], negated, alone)


def long_numbers(text: str, found: Sequence[Quantity]) -> Iterator[tuple[int, int]]:
    """Where a text has numbers that are none of the quantities in it, but written in groups."""
    for match in _LONG.finditer(text):
        groups = re.findall(r"\d+", match[0])
        # One before it may reach into it.
        first = max(bisect_left(found, match.start(), key=_START) - 1, 0)
        near = found[first : bisect_left(found, match.end(), key=_START)]
        inside = [q for q in near if match.start() < q.end]
        short = sum(map(len, groups)) < LONG_DIGITS or max(map(len, groups)) < 2
        if short and "@" not in match[0]:
            continue
        years = all(q.year is not None for q in inside) and len(inside) == len(groups)
        measures = any(q.unit not in ("", "ordinal") or q.kind == "date" for q in inside)
        whole = any(q.start <= match.start() and match.end() <= q.end for q in inside)
        if not (years or measures or (whole and (len(groups) > 1 or len(groups[0]) < 9))):
            yield match.span()


def ungrouped(text: str) -> str:
    """Return a text in small letters with the digits of long numbers side by side."""
    return _BETWEEN_GROUPS.sub("", text).lower()


def without_noise(text: str) -> str:
    """Blank out what says nothing, without moving the rest."""
    if "[" not in text and "://" not in text and not text[:1].isdigit() and "\n" not in text:
        return text
    return _NOISE.sub(lambda match: " " * len(match.group()), text)
