"""The facts of each sentence among the samples (`facts`): numbers, dates, names and rare words.

What a sentence says is taken apart into items: quantities (numbers, measures, dates), names, and
its other words without the commonest. What the question says already is no item. Each item i has a
share v_i of samples that do not say it, and a weight w_i by its kind: 6 for a quantity, which can
hardly be said otherwise, and for a name in code; 4 for a name, shared by its words; up to 1 for
another word, which may be paraphrased, by its length, since short words are mostly grammar. The
score is the weighted quadratic mean

    score = sqrt(sum_i w_i v_i^2 / (2 + sum_i w_i))

so that one wrong fact weighs more than a few words that are worded otherwise. The 2 stands for
more that nobody doubts: a sentence of one common word says little (in an item of a list or a row
of a table, 0.5). The other words together
weigh 3 at most.

Quantities are compared by what they mean: "5 km" is "5,000 m", "about 42,000" is 41,870, and
1932-03-19 is 19 March 1932 (`resay.core.quantities`). One counts in full where a sample says it in
a sentence that shares a word with the one to be scored, and half elsewhere. Where a sample's
sentence on the same matter is negated and this one is not, or the answers to a question that asks
for yes or no differ, that is an item too, of 6 or, since it is the whole answer, of 12.

A sample that does not speak of the matter, in which no sentence shares 40 % of the words, counts as
one that says a fifth of it: it is weaker evidence than one that says something else. A sample of
one or two sentences always speaks of it.

A sample of a few words supports what it says: "Paris." supports "The capital is Paris." In scripts
without capitals every word is looked at as a word, and in those without spaces pairs of characters.
With `evidence: references` an item counts as said where any of the references says it.

Every sentence is scored by itself. `disagreement` mixes in how little of what the samples say they
repeat among themselves, which tells how well the model knows the matter at all. `lean` mixes the
passage's mean in, since what is said next to wrong sentences is more often wrong; that needs the
whole answer, so a stream is held to its end.

Cost: no calls, no model. Good at: numbers, dates and names that samples do not repeat, short
answers. Bad at: paraphrase, and facts whose words are right and whose relation is wrong ("A beat
B").
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice, pairwise
from math import floor, log, sqrt
from operator import mul
from statistics import fmean, median
from typing import ClassVar, Final, Literal

from pydantic import Field

from resay._internal.event_loops import compute, stop_if_abandoned
from resay.core.passage import Passage
from resay.core.quantities import (
    Quantity,
    guess_language,
    may_negate,
    negations,
    quantities,
)
from resay.core.query import Query
from resay.core.tokens import Shared
from resay.core.verdict import Scores
from resay.scorers.base import Need, SampleConfig, Unit
from resay.scorers.common.polarity import asks_yes_or_no, restricts, stance
from resay.scorers.common.stems import STOP, WORD, Stems, stems_of, words_of
from resay.scorers.evidence import Evidence, Sample

_QUANTITY_WEIGHT, _NAME_WEIGHT, _WORD_WEIGHT, _WORDS_AT_MOST = 6.0, 4.0, 1.0, 3.0
_UNDOUBTED = 2.0
# Of an item or a row there is little more than its value.
_UNDOUBTED_OF_ITEM = 0.5
# Yes or no is the whole answer.
_STANCE_WEIGHT = 12.0
_LONG_WORD = 6
_CASELESS = 1.5
# What a quantity counts that a sample says of something else.
_ELSEWHERE = 0.5
# What a sample counts that does not speak of the matter.
_SILENT = 0.2
# The share of a sentence's words from which a sample's sentence speaks of the matter.
_SPEAKS = 0.4
# What another form of a word counts in a name.
_OTHER_FORM = 0.5
# What an answer to yes or no counts that says neither, and more than was asked.
_EVASIVE = 0.25
# The share of common words from which two sentences are about the same.
_SAME_MATTER = 0.5
# A sample with more numbers than this, and than so many times the usual, tells nothing of how far
# the samples agree.
_LISTING, _LISTING_TIMES = 15, 4
_CONVERSATION_CHARS = 1_000
_QUESTION_CHARS = 600
_NEARBY = 60
_LONGEST_NAME = 8
# So many places where a quantity is said are looked at.
_MOST_PLACES = 256
# As many characters take as long as one of a sample that is taken apart.
_READING = 8

# Names in code; the arguments of a call are anybody's.
_CODE = re.compile(r"`([^`\n(]{1,80})(?:\([^`\n]{0,80})?`")
# Addresses and versions are none of the numbers that quantities are, and are quoted as they are.
_DOTTED = re.compile(r"(?<![\w.])v?\d{1,4}(?:\.\d{1,4}){2,5}(?![\w.]*\w)")
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


def _without_noise(text: str) -> str:
    """Blank out what says nothing, without moving the rest."""
    if "[" not in text and "://" not in text and not text[:1].isdigit() and "\n" not in text:
        return text
    return _NOISE.sub(lambda match: " " * len(match.group()), text)


@dataclass(frozen=True, slots=True)
class _Said:
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
class _Asked:
    """What the question says, and the conversation before it.

    Attributes:
        words: Words that every answer may take for granted.
        quantities: Quantities of the question.
        topic: The words of the question alone.
        is_polar: Whether yes or no is asked for.
    """

    words: frozenset[str]
    quantities: tuple[Quantity, ...]
    topic: frozenset[str]
    is_polar: bool

    @classmethod
    def of(cls, question: str, conversation: str) -> _Asked:
        topic = frozenset(stems_of(question))
        offered = frozenset(_offered(question))
        found = () if offered else quantities(question)
        is_polar = not offered and asks_yes_or_no(question)
        return cls((topic | set(stems_of(conversation))) - offered, found, topic, is_polar)


def _offered(question: str) -> Iterator[str]:
    """The words nearest to an "or": the answer is one of them."""
    language = guess_language([match.group().lower() for match in WORD.finditer(question)])
    for match in _ALTERNATIVES[language].finditer(question):
        yield from stems_of(question[max(match.start() - _NEARBY, 0) : match.start()])[-2:]
        yield from stems_of(question[match.end() : match.end() + _NEARBY])[:2]


@dataclass(frozen=True, slots=True)
class _Index:
    """The samples, ready to be looked up.

    Attributes:
        count: How many there are.
        words: By sample, its words, cut down to what their forms have in common.
        written: The same as they are written, in small letters.
        said: What their sentences say.
        shared: Finds the places in `said` that share words with a sentence.
        quantities: Each quantity that is said, once, and its places in `said`.
        keys: By what equal quantities have in common, places in `quantities`.
        topical: By sample, the sentence that has most words of the question.
        short: The samples of one or two sentences.
        stances: By sample, "yes" or "no" where it begins so.
        texts: By sample, its text in small letters.
        disagreement: How little of what samples say the others repeat, from 0 to 1: of their
            quantities, or of their words where they have none.
        asked: What they answer.
    """

    count: int
    words: tuple[set[str], ...]
    written: tuple[set[str], ...]
    said: tuple[_Said, ...]
    shared: Shared
    quantities: tuple[tuple[Quantity, tuple[int, ...]], ...]
    keys: Mapping[_Key, list[int]]
    topical: tuple[_Said | None, ...]
    short: frozenset[int]
    stances: tuple[str | None, ...]
    texts: tuple[str, ...]
    disagreement: float
    asked: _Asked


@dataclass(frozen=True, slots=True)
class _Indexing:
    """Makes an index; equal ones make the same."""

    question: str
    conversation: str

    def __call__(self, samples: Sequence[Sample]) -> _Index:
        words: list[set[str]] = []
        written: list[set[str]] = []
        said: list[_Said] = []
        places: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
        kinds: dict[tuple[object, ...], Quantity] = {}
        stems = Stems()
        stances: list[str | None] = []
        for place, sample in enumerate(samples):
            stop_if_abandoned()
            text = _without_noise(sample.text)
            stances.append(stance(text))
            mine, whole = set[str](), set[str]()
            for sentence in _read(text, place, stems, whole):
                mine |= sentence.words
                for quantity in sentence.quantities:
                    meaning = quantity.meaning
                    kinds.setdefault(meaning, quantity)
                    places[meaning].append(len(said))
                said.append(sentence)
            words.append(mine)
            written.append(whole)
        found = tuple((kinds[meaning], tuple(where)) for meaning, where in places.items())
        keys: defaultdict[_Key, list[int]] = defaultdict(list)
        for place, (quantity, _) in enumerate(found):
            for key in _keys(quantity):
                keys[key].append(place)
        asked = _Asked.of(self.question, self.conversation)
        topical: list[_Said | None] = [None] * len(samples)
        for sentence in said:
            best = topical[sentence.sample]
            if best is None or _share(asked.topic, best.words) < _share(
                asked.topic, sentence.words
            ):
                topical[sentence.sample] = sentence
        sets = [sentence.words for sentence in said]
        return _Index(
            len(samples),
            tuple(words),
            tuple(written),
            tuple(said),
            Shared(sets, lambda count: 1.0),
            found,
            keys,
            tuple(topical),
            frozenset(sentence.sample for sentence in said if sentence.alone),
            tuple(stances),
            tuple(sample.text.lower() for sample in samples),
            _disagreement([{said[i].sample for i in where} for _, where in found], words),
            asked,
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


_Key = tuple[object, ...]


def _keys(quantity: Quantity, *, near: bool = False) -> Iterator[_Key]:
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


def _read(text: str, sample: int, stems: Stems, whole: set[str]) -> Iterator[_Said]:
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
        yield _Said(sample, found, tuple(near[i + 1]), sentences[i], cuts[i], negated, alone)


@dataclass(frozen=True, slots=True)
class _Item:
    """Something that a sentence says.

    Attributes:
        text: Its words.
        weight: How much it counts.
        support: By sample, how much of it that one says.
        quantity: It, where it is one.
    """

    text: str
    weight: float
    support: list[float]
    quantity: Quantity | None = None


class Facts:
    """Scores sentences by how many samples repeat their numbers, dates, names and words.

    Attributes:
        by_sentence: Whether a sentence's score depends on nothing else in the passage.
    """

    name: ClassVar[str] = "facts"
    needs: ClassVar[frozenset[Need]] = frozenset({"samples"})

    class Config(SampleConfig):
        """Settings of `facts`."""

        method: Literal["facts"] = "facts"
        lean: Unit = Field(
            default=0.0,
            description="The weight of the passage's mean in each sentence's score; at 0 each"
            " sentence is scored by itself, also while the answer streams in.",
        )
        disagreement: Unit = Field(
            default=0.1,
            description="The weight, in each sentence's score, of how far the samples disagree"
            " among themselves: who tells it otherwise each time does not know the matter.",
        )

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or self.Config()
        self.by_sentence = self.config.lean == 0

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score sentences and passage; see the module's text.

        Args:
            passage: The text; its `sentences` are scored.
            evidence: The samples, and the question, whose words are no facts of the answer.

        Returns:
            Scores in [0, 1] with a column for each sample; none where there are no samples.
        """
        await evidence.samples.all()
        return await self.look(passage, evidence)

    async def look(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score by the samples that are there, as `score` does once all are."""
        query = evidence.asked or evidence.query
        indexing = _Indexing(*_texts(query)) if query else _Indexing("", "")
        # Once for all sentences of a streamed response, each of which is scored by itself.
        index = await evidence.samples.derive(indexing, chars=_READING * evidence.samples.chars)
        if not index.count:
            return Scores(sentences=(None,) * len(passage.sentences))
        chars = sum(len(sentence.text) for sentence in passage.sentences)
        work = partial(self._score, passage, index)
        return await compute(work, chars=_READING * chars * (1 + index.count / 5))

    async def denials(self, passage: Passage, evidence: Evidence) -> Sequence[Mapping[int, str]]:
        """Return for each sentence what the texts that are there say otherwise.

        Args:
            passage: The text; its `sentences` are looked at.
            evidence: The texts, as `look` has them.

        Returns:
            By the place of a text, its sentence on the same matter that has another number or
            date, or denies what is said.
        """
        query = evidence.asked or evidence.query
        indexing = _Indexing(*_texts(query)) if query else _Indexing("", "")
        index = await evidence.samples.derive(indexing, chars=_READING * evidence.samples.chars)
        chars = sum(len(sentence.text) for sentence in passage.sentences)

        def find() -> list[Mapping[int, str]]:
            return [_Claim(sentence.text, index).denied() for sentence in passage.sentences]

        return await compute(find, chars=_READING * chars * (1 + index.count / 5))

    def _score(self, passage: Passage, index: _Index) -> Scores:
        any_of = self.config.evidence == "references"
        claims = [_Claim(s.text, index, with_answers=not any_of) for s in passage.sentences]
        found = [claim.items() for claim in claims]
        known = 0.0 if any_of else self.config.disagreement
        more = [
            _UNDOUBTED_OF_ITEM if s.unit in {"item", "row"} else _UNDOUBTED
            for s in passage.sentences
        ]
        alone = [
            (1 - known) * _pooled(items, _doubts(items, any_of=any_of), rest)
            + known * index.disagreement
            for items, rest in zip(found, more, strict=True)
        ]
        mean, lean = fmean(alone) if alone else 0.0, self.config.lean
        by_sample = (
            _by_sample(items, index.count, rest) for items, rest in zip(found, more, strict=True)
        )
        columns = zip(*by_sample, strict=True)
        return Scores(
            sentences=tuple((1 - lean) * score + lean * mean for score in alone),
            columns=tuple(columns),
            why=tuple(
                _why(claim, items, index.count) for claim, items in zip(claims, found, strict=True)
            ),
        )


def _texts(query: Query) -> tuple[str, str]:
    """The question, and the end of the conversation up to it.

    A long message brings its own documents, whose facts are not taken for granted: of that only
    what is asked counts, its last sentence with a question mark or its end.
    """
    question = query.question
    if len(question) <= _QUESTION_CHARS:
        return question, query.conversation(_CONVERSATION_CHARS)
    end = max(question.rfind("?"), question.rfind("？")) + 1 or len(question)
    start = max(question.rfind("\n", 0, end), question.rfind(". ", 0, end), end - 300)
    return question[start + 1 : end], ""


def _doubts(items: Sequence[_Item], *, any_of: bool) -> list[float]:
    """Return for each item the share of samples that do not say it."""
    best = max if any_of else fmean
    return [1 - best(item.support) for item in items]


def _by_sample(items: Sequence[_Item], count: int, undoubted: float) -> list[float]:
    """Return the score that each sample alone would give."""
    weights = [item.weight for item in items]
    most = undoubted + sum(weights)
    supports = zip(*(item.support for item in items), strict=True) if items else [()] * count
    doubts = ([1 - value for value in support] for support in supports)
    totals = (sum(map(mul, map(mul, weights, of_one), of_one)) for of_one in doubts)
    return [min(sqrt(total / most), 1.0) for total in totals]


def _pooled(items: Sequence[_Item], doubts: Sequence[float], undoubted: float) -> float:
    weights = [item.weight for item in items]
    total = sum(w * v * v for w, v in zip(weights, doubts, strict=True))
    return min(sqrt(total / (undoubted + sum(weights))), 1.0)


class _Claim:
    """A sentence that is compared with the samples.

    Args:
        text: The sentence.
        index: What there is to compare with.
        with_answers: Whether these are answers to the same question, and no documents, which say
            neither yes nor no and much besides.
    """

    def __init__(self, text: str, index: _Index, *, with_answers: bool = True) -> None:
        stop_if_abandoned()
        self._with_answers = with_answers
        self._text = _without_noise(text)
        self._index = index
        asked = index.asked
        self._found = quantities(self._text)
        self._quantities = [
            quantity
            for quantity in _distinct(self._found)
            if not any(_is_as_asked(quantity, other) for other in asked.quantities)
        ]
        self._all = frozenset(stems_of(self._text))
        # A name in code is compared as it is written.
        self._codes = [m.group(1) for m in _CODE.finditer(self._text) if m.group(1).strip()]
        counted = {q.start for q in self._found}
        self._codes += [m[0] for m in _DOTTED.finditer(self._text) if m.start() not in counted]
        self._names, self._words = self._sort_words()
        self._own = frozenset(self._names) | frozenset(self._words)

    def _sort_words(self) -> tuple[dict[str, tuple[str, int]], dict[str, str]]:
        """Return the words of names, each with how many its name has, and the other words."""
        text, names, words = self._text, dict[str, tuple[str, int]](), dict[str, str]()
        spans = [(q.start, q.end) for q in self._found]
        spans += [match.span() for pattern in (_CODE, _DOTTED) for match in pattern.finditer(text)]
        spans.sort()
        written = list(words_of(text).finditer(text))
        nouns = guess_language([match.group().lower() for match in written]) == "de"
        stems = Stems()
        run: list[str] = []
        last, span, covered = -1, 0, 0
        for i, match in enumerate(written):
            while span < len(spans) and spans[span][0] <= match.start():
                covered, span = max(covered, spans[span][1]), span + 1
            if match.start() < covered:
                continue
            word = match.group()
            is_name = word[0].isupper() and _is_name(text, written, i, nouns=nouns)
            parts = stems[word.lower()]
            for part in parts:
                if part in self._index.asked.words:
                    continue
                shown = word if len(parts) == 1 else part
                if not is_name:
                    words.setdefault(part, shown)
                elif part not in names:
                    goes_on = i == last + 1 and len(run) < _LONGEST_NAME
                    run = [*run, part] if goes_on else [part]
                    last = i
                    names |= {p: (names.get(p, (shown,))[0], len(run)) for p in run}
        return names, words

    def items(self) -> list[_Item]:
        """What the sentence says, and how far each sample says it."""
        found = [self._quantity(q) for q in self._quantities]
        found += [_Item(code, _QUANTITY_WEIGHT, self._quoting(code)) for code in self._codes]
        for stem, (word, size) in self._names.items():
            found.append(_Item(word, _NAME_WEIGHT / size, self._naming(stem, word)))
        sizes = {stem: _word_weight(word) for stem, word in self._words.items()}
        scale = min(1.0, _WORDS_AT_MOST / sum(sizes.values())) if sizes else 1.0
        found += [_Item(w, sizes[s] * scale, self._holding(s)) for s, w in self._words.items()]
        polarity = self._polarity()
        if polarity:
            found.append(polarity)
        silent = self._silent()
        for item in found if silent else ():
            for k in silent:
                item.support[k] = max(item.support[k], _SILENT)
        return found

    def _silent(self) -> list[int]:
        """The samples in which no sentence is about the same."""
        speaks = set(self._index.short)
        for place, shared in self._beside.items():
            if shared >= _SPEAKS * len(self._own):
                speaks.add(self._index.said[place].sample)
        return [k for k in range(self._index.count) if k not in speaks] if self._own else []

    def _naming(self, stem: str, word: str) -> list[float]:
        """How far each sample has a word of a name: in full as it is, in part in another form."""
        small, index = word.lower(), self._index
        return [
            1.0 if small in written else _OTHER_FORM * (stem in words)
            for written, words in zip(index.written, index.words, strict=True)
        ]

    def _quoting(self, code: str) -> list[float]:
        return [float(code.lower() in text) for text in self._index.texts]

    def _holding(self, stem: str) -> list[float]:
        return [1.0 if stem in words else 0.0 for words in self._index.words]

    def _quantity(self, quantity: Quantity) -> _Item:
        index, support = self._index, [0.0] * self._index.count
        candidates = {
            place for key in _keys(quantity, near=True) for place in index.keys.get(key, ())
        }
        for candidate in candidates if len(candidates) <= _MOST_PLACES else sorted(candidates):
            other, places = index.quantities[candidate]
            share = quantity.supported_by(other)
            for place in places[:_MOST_PLACES] if share else ():
                said = index.said[place]
                if support[said.sample] < share:
                    near = said.alone or not self._own or not self._own.isdisjoint(said.words)
                    value = share if near else share * _ELSEWHERE
                    support[said.sample] = max(support[said.sample], value)
        written = self._text[quantity.start : quantity.end]
        return _Item(written, _QUANTITY_WEIGHT, support, quantity)

    def instead(self, quantity: Quantity) -> tuple[str, int] | None:
        """What samples say most often in place of a quantity, and how many say it."""
        said_by: defaultdict[_Key, set[int]] = defaultdict(set)
        written: dict[_Key, str] = {}
        alone = (k for k, said in enumerate(self._index.said) if said.alone)
        likely = (place for place, shared in self._beside.items() if shared >= len(self._own) / 4)
        for place in {*likely, *islice(alone, _MOST_PLACES)}:
            said = self._index.said[place]
            for other in said.quantities:
                if quantity.comparable(other) and not quantity.agrees(other):
                    said_by[other.meaning].add(said.sample)
                    written.setdefault(other.meaning, said.of(other))
        if not said_by:
            return None
        most = max(said_by, key=lambda meaning: (len(said_by[meaning]), written[meaning]))
        return written[most], len(said_by[most])

    @cached_property
    def _beside(self) -> dict[int, float]:
        """The places of sentences that share its own words, with how many."""
        return self._near(self._own)

    def denied(self) -> dict[int, str]:
        """By sample, the sentence on the same matter that says otherwise, where it has one."""
        index = self._index
        # Where it says no more than was asked about, what was asked about is its matter.
        matter = self._own or index.asked.topic
        support = [self._quantity(q).support for q in self._quantities]
        negated = bool(negations(self._text))
        found: dict[int, tuple[float, str]] = {}
        shared = self._near(self._all | index.asked.topic)
        for place, likeness in shared.items():
            said = index.said[place]
            if likeness <= found.get(said.sample, (0.0, ""))[0]:
                continue
            if _share(matter, said.words) < _SAME_MATTER:
                continue
            other = any(
                held[said.sample] < _ELSEWHERE and _differs(quantity, said.quantities)
                for quantity, held in zip(self._quantities, support, strict=True)
            )
            union = len(self._all | said.words)
            denies = said.negated != negated and len(self._all & said.words) >= _SAME_MATTER * union
            if other or denies:
                found[said.sample] = likeness, said.text.strip()
        return {sample: text for sample, (_, text) in found.items()}

    def _near(self, words: frozenset[str]) -> dict[int, float]:
        """The places of sentences that share words, with how many."""
        return self._index.shared.with_any(words)[0]

    def _polarity(self) -> _Item | None:
        """What the sentence answers to yes or no, or whether it negates what samples say."""
        asked = self._index.asked
        mine = stance(self._text)
        polar = asked.is_polar or mine is not None
        if polar and (mine or _share(asked.topic, self._all) >= _SAME_MATTER):
            negative = mine == "no" or (mine is None and bool(negations(self._text)))
            limited = restricts(self._text)
            support = [1.0] * self._index.count
            for k in range(self._index.count):
                support[k] = self._answers(k, negative=negative, limited=limited)
            return _Item(self._text.strip(), _STANCE_WEIGHT, support)
        return self._negation()

    def _answers(self, k: int, *, negative: bool, limited: bool) -> float:
        """How far a sample answers yes or no as this sentence does."""
        stance, nearest = self._index.stances[k], self._index.topical[k]
        if nearest is None:
            return float((stance == "no") == negative)
        denies = stance == "no" or (stance is None and nearest.negated)
        if denies != negative:
            return 0.0
        if not self._with_answers:
            return 1.0
        if stance is None and not negative:
            known = self._index.asked.topic | self._all | self._index.asked.words
            more = bool(nearest.words - known) or bool(nearest.quantities)
            if restricts(nearest.text) != limited or (more and not limited):
                return _EVASIVE
        return _EVASIVE if limited and not restricts(nearest.text) else 1.0

    def _negation(self) -> _Item | None:
        """Whether samples deny what the sentence says, or say what it denies."""
        negated = bool(negations(self._text))
        support = [1.0] * self._index.count
        if len(self._all) < 2:
            return None
        for place, shared in self._near(self._all).items():
            said = self._index.said[place]
            union = len(self._all) + len(said.words) - shared
            if said.negated != negated and shared / union >= _SAME_MATTER:
                support[said.sample] = 0.0
        if all(support):
            return None
        return _Item(self._text.strip(), _QUANTITY_WEIGHT, support)


def _word_weight(word: str) -> float:
    weight = _WORD_WEIGHT * min(len(word), _LONG_WORD) / _LONG_WORD
    # In scripts without capitals any word may be a name.
    return weight if word.lower() != word.upper() else _CASELESS * weight


def _is_name(text: str, written: Sequence[re.Match[str]], i: int, *, nouns: bool) -> bool:
    """Whether a capitalised word is a part of a name.

    The first word of a sentence is one only beside another, or alone. Where nouns have capitals,
    as in German, a name is what stands beside another capitalised word.
    """

    def capital(k: int) -> bool:
        if not 0 <= k < len(written):
            return False
        word = written[k].group()
        between = text[written[min(k, i)].end() : written[max(k, i)].start()]
        return word[0].isupper() and word.lower() not in STOP and between in (" ", ". ", "-", "'")

    beside = capital(i + 1) or (capital(i - 1) and (i > 1 or not nouns))
    if nouns:
        return beside or len(written) == 1
    first = not text[: written[i].start()].strip(" \t\"'“”«»„*_(-#>")
    return beside or not first or len(written) == 1


def _distinct(found: Sequence[Quantity]) -> Iterator[Quantity]:
    """Leave out what is said before, were it with a unit or without: "12, so 12 euros"."""
    seen = set[_Key]()
    for q in found:
        said = (q.kind, q.plain, q.year, q.month, q.day)
        if (q.unit, *said) not in seen and ("", *said) not in seen:
            if q.unit or ("any", *said) not in seen:
                yield q
            seen |= {(q.unit, *said), ("any", *said)}


def _is_as_asked(quantity: Quantity, asked: Quantity) -> bool:
    """Whether a quantity repeats one of the question, in its unit: a conversion is an answer."""
    return quantity.agrees(asked) and (quantity.kind == "date" or quantity.plain == asked.plain)


def _differs(quantity: Quantity, others: Sequence[Quantity]) -> bool:
    """Whether others are of the same kind, and none of them can be the same."""
    comparable = [other for other in others if quantity.comparable(other)]
    return bool(comparable) and not any(quantity.agrees(other) for other in comparable)


def _share(wanted: frozenset[str], words: frozenset[str]) -> float:
    return len(wanted & words) / len(wanted) if wanted else 0.0


def _why(claim: _Claim, items: Sequence[_Item], samples: int) -> str | None:
    """Return which item is most in doubt, in how many samples it is, and what they say instead."""
    if not items:
        return None
    worst = max(items, key=lambda item: item.weight * (1 - fmean(item.support)) ** 2)
    count = sum(value > _SILENT for value in worst.support)
    why = f"{worst.text!r} is in {count} of {samples} texts compared"
    doubted = fmean(worst.support) < _ELSEWHERE
    other = claim.instead(worst.quantity) if worst.quantity and doubted else None
    if other is None:
        return why
    words, times = other
    return f"{why}; {'most' if 2 * times > samples else times} of them say {words!r}"
