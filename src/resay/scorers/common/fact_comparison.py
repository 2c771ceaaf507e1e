"""Compares the facts of a sentence with other texts: numbers, dates, names and other words.

The texts are answers to the same question, or documents. Documents answer neither yes nor no, say
much else beside what they are asked about, and word it differently, so fewer signs count against a
sentence there. What is compared, and how, is described in `resay.scorers.facts`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import sqrt
from operator import mul
from statistics import fmean
from typing import Literal

from resay._internal.event_loops import compute, stop_if_abandoned
from resay.core.citation_marks import without_marks
from resay.core.links import link_spans, normal_link
from resay.core.normalization import NormalizedText, normalized
from resay.core.passage import Passage, Sentence
from resay.core.quantities import Quantity, negations, quantities
from resay.core.query import Query
from resay.core.quotes import quoted_pieces
from resay.core.verdict import Band, Part
from resay.lang.detection import detect_from_words
from resay.scorers.common.contrast import Wording, parts_of
from resay.scorers.common.lists import Segments, Span, shared_lists
from resay.scorers.common.quotations import quotations_in
from resay.scorers.common.sample_index import (
    LONG_DIGITS,
    ClauseQuantities,
    Indexing,
    Key,
    SampleIndex,
    keys_of,
    letters_of,
    links_of,
    long_numbers,
    plain_stems,
    quantities_by_clause,
    ungrouped,
    without_noise,
)
from resay.scorers.common.sentence_items import (
    CASELESS,
    NAME_WEIGHT,
    QUANTITY_WEIGHT,
    UNDOUBTED,
    WORD_WEIGHT,
    WORDS_AT_MOST,
    NamesAndWords,
    quadratic_mean,
)
from resay.scorers.common.uncited import nearby_text, uncited_sentences
from resay.scorers.common.words import (
    Stems,
    ignored_words,
    out_of_order,
    restricts,
    share,
    stance,
    stems_of,
    words_of,
)
from resay.scorers.evidence import Evidence

_UNDOUBTED_OF_ITEM = 0.5
# A yes or no is the whole answer.
_STANCE_WEIGHT = 12.0
# A short answer as a whole.
_ANSWER_WEIGHT = 6.0
# Support for a quantity that a sample mentions in another context.
ELSEWHERE = 0.5
# Support from a sample that is silent on the matter.
_SILENT = 0.2
# Words count in full if short samples share at least this much of their words.
_REPEATED = 0.6
# With fewer samples, how much they repeat is down to chance.
_ENOUGH = 4
# Score of a sentence that all samples contradict.
_OPPOSITE = 0.75
# A sample's sentence is on the matter if it has this share of the sentence's words.
_SPEAKS = 0.4
# Support for a word of a name in another form.
_OTHER_FORM = 0.5
# Support from an answer to a yes-or-no question that says neither, and more than was asked.
_EVASIVE = 0.25
# Two sentences are about the same matter if they share this much of their words.
_SAME_SUBJECT = 0.5
# A sample words something as quoted if a sentence of it has this share of the words.
_SAME_WORDING = 0.8
_WORD_RUN = re.compile(r"\w+")
_CONVERSATION_CHARS = 1_000
_QUESTION_CHARS = 600
# What a number counts: "212 passengers", but not "212 hand-made lamps".
_COUNTED = re.compile(r" ([^\W\d_]+)(?![\w-])")
# Maximum number of digits in a country prefix.
_LONGEST_PREFIX = 3
# Maximum number of positions of a quantity to examine.
_MOST_PLACES = 256
# Each quantity is compared with each bound in a sample; longer lists are not compared.
_BOUND_AT_MOST = 24
# Cost of indexing one character of a sample, in characters; see `compute`.
_READING = 8

# Names in code, without the arguments of calls, which vary.
_CODE = re.compile(r"`([^`\n(]{1,80})(?:\([^`\n]{0,80})?`")
# Addresses and versions are not parsed as quantities, and are compared verbatim.
_DOTTED = re.compile(r"(?<![\w.])v?\d{1,4}(?:\.\d{1,4}){2,5}(?![\w.]*\w)")


FactKind = Literal["quantity", "name", "code", "quotation", "word", "relation"]


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact that a sentence states.

    Attributes:
        text: Its words.
        weight: Its weight.
        kind: What it is; a code is any text that is compared verbatim, a relation what the
            sentence says as a whole.
        support: By sample, how much of it the sample says, in [0, 1].
        said: By sample, whether it says it, whatever else counts as support.
        quantity: The quantity, if it is one.
        decides: Whether the sentence is wrong if this is, whatever else it says.
        instead: What samples say in its place, and how many do.
        reason: What to say if it is doubted, if there is a better one than how many say it.
        partly: How many samples say only a part of it.
        name: The name that the word belongs to, if it belongs to one.
        against: The position in the index of a sentence that says the opposite, if one does.
    """

    text: str
    weight: float
    kind: FactKind
    support: list[float]
    said: Sequence[bool] = ()
    quantity: Quantity | None = None
    decides: bool = False
    instead: tuple[str, int] | None = None
    reason: str | None = None
    partly: int = 0
    name: str = ""
    against: int | None = None


async def index_texts(evidence: Evidence) -> SampleIndex:
    """Return an index of the texts in `evidence.samples`, built once for all sentences.

    Args:
        evidence: The texts, and the question, whose words are no facts of an answer.
    """
    query = evidence.user_query or evidence.query
    indexing = Indexing(*_texts(query)) if query else Indexing("", "")
    return await evidence.samples.derive(indexing, chars=_READING * evidence.samples.chars)


def comparison_cost(passage: Passage, index: SampleIndex) -> float:
    """Return what comparing a passage costs, in characters for `compute`."""
    sentences = sum(len(sentence.text) for sentence in passage.sentences)
    _, nearby = nearby_text(passage)
    chars = max(sentences, len(nearby))
    # A sample is read when it is first compared, however long it is.
    longest = max(map(len, index.texts), default=0)
    return _READING * (chars * (1 + index.count / 5) + longest)


def _texts(query: Query) -> tuple[str, str]:
    """Return the question, and the conversation that precedes it.

    A long message includes its own documents, whose facts are not taken for granted: only the
    question counts, which is its last sentence with a question mark or else its end.
    """
    question = query.question
    if len(question) <= _QUESTION_CHARS:
        return question, query.conversation(_CONVERSATION_CHARS)
    end = max(question.rfind("?"), question.rfind("？")) + 1 or len(question)
    start = max(question.rfind("\n", 0, end), question.rfind(". ", 0, end), end - 300)
    return question[start + 1 : end], ""


def compare_sentences(
    passage: Passage, index: SampleIndex, *, with_answers: bool
) -> Iterator[FactComparison | None]:
    """Compare each sentence of a passage with the indexed texts.

    Args:
        passage: The text; its `sentences` are compared.
        index: The index of the texts.
        with_answers: Whether these are answers to the same question, or documents.

    Yields:
        For each sentence its comparison; None if it only names sources.
    """
    for sentence, text in zip(passage.sentences, uncited_sentences(passage), strict=True):
        if text is None:
            yield None
        else:
            yield FactComparison(sentence, text, index, with_answers=with_answers)


async def parts_by_facts(
    passage: Passage, evidence: Evidence, *, with_answers: bool
) -> list[tuple[Part, ...]]:
    """Tell the words of sentences that texts say from those that they do not say.

    Args:
        passage: The text; its `sentences` are compared.
        evidence: The texts, as its `samples`, and the question.
        with_answers: Whether they are answers, most of which must say a fact, or documents, one of
            which is enough.

    Returns:
        For each sentence its numbers, names and other facts, in order, each supported or
        unsupported; none if all of it is in doubt, or nothing can be singled out.
    """
    index = await index_texts(evidence)
    if not index.count:
        return [()] * len(passage.sentences)

    def find() -> list[tuple[Part, ...]]:
        pooled = fmean if with_answers else max
        return [
            comparison.parts(pooled) if comparison else ()
            for comparison in compare_sentences(passage, index, with_answers=with_answers)
        ]

    return await compute(find, chars=comparison_cost(passage, index))


def scores_by_text(facts: Sequence[Fact], count: int, undoubted: float) -> list[float]:
    """Return the score that each text would give by itself.

    Args:
        facts: The facts of a sentence.
        count: Number of texts.
        undoubted: The weight of what the sentence says besides its facts.
    """
    # The fast form of `pooled_score` for each text: `bench defaults` spends its time here.
    weights = [fact.weight for fact in facts]
    most = undoubted + sum(weights)
    supports = zip(*(fact.support for fact in facts), strict=True) if facts else [()] * count
    doubts = ([1 - value for value in support] for support in supports)
    totals = (sum(map(mul, map(mul, weights, of_one), of_one)) for of_one in doubts)
    scores = [min(sqrt(total / most), 1.0) for total in totals]
    for fact in facts:
        if fact.decides:
            scores = [
                max(score, _OPPOSITE * (1 - support))
                for score, support in zip(scores, fact.support, strict=True)
            ]
    return scores


def pooled_score(facts: Sequence[Fact], doubts: Sequence[float], undoubted: float) -> float:
    """Return the score of a sentence: the weighted quadratic mean of the doubts in its facts.

    Args:
        facts: The facts of the sentence.
        doubts: How doubtful each of them is, from 0 to 1.
        undoubted: The weight of what the sentence says besides its facts.
    """
    weight = total = least = 0.0
    for fact, doubt in zip(facts, doubts, strict=True):
        weight += fact.weight
        total += fact.weight * doubt * doubt
        if fact.decides:
            least = max(least, doubt)
    return max(quadratic_mean(total, weight, undoubted), _OPPOSITE * least)


class FactComparison:
    """Compares the facts of a sentence with texts.

    Args:
        sentence: The sentence.
        text: The sentence without its citation marks.
        index: The index of the texts.
        with_answers: Whether these are answers to the same question; documents answer neither yes
            nor no, and say much else.

    Attributes:
        undoubted: The weight of what it says besides its facts.
    """

    def __init__(
        self, sentence: Sentence, text: str, index: SampleIndex, *, with_answers: bool
    ) -> None:
        stop_if_abandoned()
        # A list item or table row says little besides its value.
        self.undoubted = _UNDOUBTED_OF_ITEM if sentence.unit in {"item", "row"} else UNDOUBTED
        self._start = sentence.start
        # A cell with its headers, for example.
        self._standalone = text
        if sentence.standalone != sentence.text:
            self._standalone = without_marks(sentence.standalone)
        self._standalone = normalized(self._standalone)
        self._with_answers = with_answers
        self._written = text
        self._original = NormalizedText.of(text)
        # `references` compares links with the documents, and with their addresses.
        self._links = links_of(self._original.text) if with_answers else ()
        self._cited_links = links_of(normalized(sentence.text)) if with_answers else ()
        self._text = without_noise(self._original.text)
        self._index = index
        question = index.question
        found = quantities(self._text)
        self._long = list(long_numbers(self._text, found))
        ends = [end for _, end in self._long]
        after = [self._long[i : i + 1] for i in (bisect_right(ends, q.start) for q in found)]
        self._found = [
            q for q, long in zip(found, after, strict=True) if not long or q.end <= long[0][0]
        ]
        self._quantities = [
            quantity
            for quantity in _distinct(self._found)
            if not any(_repeats_question(quantity, other) for other in question.quantities)
        ]
        self._all = frozenset(stems_of(self._text))
        # Names in code are compared verbatim.
        self._codes = [m.group(1) for m in _CODE.finditer(self._text) if m.group(1).strip()]
        counted = {q.start for q in self._found}
        self._codes += [m[0] for m in _DOTTED.finditer(self._text) if m.start() not in counted]
        # The "F" of 350 °F is no letter of its own.
        self._letters = letters_of(self._text, self._found)
        self._stated = self._sort_words()
        self._own = frozenset(self._stated.names) | frozenset(self._stated.words)

    def _sort_words(self) -> NamesAndWords:
        text = self._text
        spans = [(q.start, q.end) for q in self._found]
        spans += self._long
        spans += [match.span() for pattern in (_CODE, _DOTTED) for match in pattern.finditer(text)]
        words = [match.group().lower() for match in words_of(text).finditer(text)]
        return NamesAndWords.of(
            text,
            sorted(spans),
            known=self._index.question.words,
            letters=self._letters,
            nouns=detect_from_words(words) == "de",
        )

    def facts(self) -> list[Fact]:
        """Return the facts that the sentence states, with the support of each sample."""
        found = [self._quantity(q) for q in self._quantities]
        found += [_fact(code, QUANTITY_WEIGHT, "code", self._quoting(code)) for code in self._codes]
        for start, end in self._long:
            support = self._numbering(self._text[start:end])
            written = self._original.as_written(start, end)
            found.append(_fact(written, QUANTITY_WEIGHT, "code", support, decides=True))
        for stem, weight in self._stated.name_weights().items():
            word, name = self._stated.names[stem]
            found.append(self._name(stem, word, " ".join(name), weight))
        for stem, weight in self._stated.word_weights().items():
            word = self._stated.words[stem]
            found.append(_fact(word, weight * self._telling, "word", self._holding(stem)))
        found += [self._link(link) for link in self._links]
        if any(self._index.links):
            cited = [link for link in self._cited_links if link not in self._links]
            found += [self._cited_link(link) for link in cited]
        found += [
            _fact(letter, NAME_WEIGHT, "code", self._lettered(letter)) for letter in self._letters
        ]
        found += self._quotations()
        polarity, contradiction = self._polarity(), self._contradiction()
        found += [fact for fact in (polarity, contradiction) if fact]
        if not found:
            found = self._restated()
        answer = self._answer(found) if polarity is None and self._with_answers else None
        found += [answer] if answer else []
        supported = [i.quantity for i in found if i.quantity and max(i.support) >= ELSEWHERE]
        found += self._substituted([*self._long, *((q.start, q.end) for q in supported)])
        # A document that is silent on the matter says nothing for it.
        silent = self._silent() if self._with_answers else []
        for fact in found if silent else ():
            for k in silent:
                fact.support[k] = max(fact.support[k], _SILENT)
        return found

    def _restated(self) -> list[Fact]:
        """Return what the sentence says as facts if it says no more than the question does."""
        found = [self._quantity(quantity) for quantity in _distinct(self._found)]
        words: dict[str, str] = {}
        stems = Stems()
        for match in words_of(self._text).finditer(self._text):
            for stem in stems[match[0].lower()]:
                words.setdefault(stem, match[0])
        weight = WORDS_AT_MOST / max(len(words), 1)
        return found + [
            _fact(word, weight, "word", self._holding(stem)) for stem, word in words.items()
        ]

    def _answer(self, facts: Sequence[Fact]) -> Fact | None:
        """Return the sentence as a fact that a short sample supports if they share a word.

        A quantity or a synonym counts too, and words of the question if the sentence has no others.
        """
        index = self._index
        own: Collection[str] = self._own or self._all
        theirs = index.words
        if not own:
            # "y" and "x" are common words.
            own, theirs = set(words_of(self._text).findall(self._text.lower())), index.written
        if len(index.short) < index.count or not own:
            return None
        quantities = [fact.support for fact in facts if fact.quantity is not None]
        said: list[bool] = []
        for sample, words in enumerate(theirs):
            repeated = any(support[sample] >= ELSEWHERE for support in quantities)
            said.append(repeated or not words.isdisjoint(own) or self._has_a_synonym(sample))
        support = list(map(float, said))
        self._excuse(support, [sample for sample, words in enumerate(theirs) if not words])
        weight = _ANSWER_WEIGHT * (1 - fmean(support))
        why = f"{sum(said)} of {index.count} texts compared have a word of it, or a synonym"
        return Fact(self._shown, weight, "relation", support, said, reason=why)

    def _has_a_synonym(self, sample: int) -> bool:
        """Whether a short sample has a word of the same meaning, or the opposite and a "not"."""
        for wording in map(self._index.wording, self._index.places[sample]):
            alike = wording.negated == self._wording.negated
            for group in wording.sides.keys() & self._wording.sides.keys():
                if wording.sides[group].isdisjoint(self._wording.sides[group]) != alike:
                    return True
        return False

    def _link(self, link: str) -> Fact:
        """Return a link as a fact: another address, or a part of one, does not support it."""
        support = [float(link in links) for links in self._index.links]
        return _fact(link, QUANTITY_WEIGHT, "code", support, decides=True)

    def _cited_link(self, link: str) -> Fact:
        """Return the link of a citation as a fact: a sample that links nothing cites nothing."""
        fact = self._link(link)
        self._excuse(fact.support, [k for k, links in enumerate(self._index.links) if not links])
        return fact

    def _quotations(self) -> Iterator[Fact]:
        """Yield what the sentence quotes, each quotation as a whole.

        Answers that quote nothing on the matter do not say that it was worded otherwise; if all
        are like that, a quotation is no fact to compare.
        """
        index = self._index
        for start, end in quotations_in(self._text):
            quotation = self._text[start:end]
            stems = frozenset(stems_of(quotation))
            if stems <= index.question.words:
                continue
            near = self._near(stems)
            worded = {
                index.sentences[place].sample
                for place in near
                if share(stems, index.sentences[place].words) >= _SAME_WORDING
            }
            said = [k in worded or self._words_so(k, quotation) for k in range(index.count)]
            support = list(map(float, said))
            if self._with_answers:
                quoting = self._quoting_on_the_matter()
                if not any(said) and not quoting:
                    continue
                silent = [k for k in range(index.count) if not said[k] and k not in quoting]
                self._excuse(support, silent)
                if not any(said):
                    for k in silent:
                        support[k] = len(silent) / index.count
            written = self._original.as_written(start, end)
            yield Fact(written, QUANTITY_WEIGHT, "quotation", support, said)

    def _words_so(self, sample: int, quotation: str) -> bool:
        """Whether a sample has the words of a quotation in this order, also with an ellipsis."""
        position = 0
        for piece in quoted_pieces(quotation):
            words = map(re.escape, _WORD_RUN.findall(piece.lower()))
            match = re.compile(r"\W+".join(words)).search(self._index.texts[sample], position)
            if match is None:
                return False
            position = match.end()
        return True

    def _quoting_on_the_matter(self) -> set[int]:
        """Return the samples that quote anything in a sentence on the same matter."""
        index = self._index
        least = _SPEAKS * len(self._own)
        places = {place for place, shared in self._beside.items() if shared >= least}
        quoting: set[int] = set()
        for place in places.union(index.alone):
            sentence = index.sentences[place]
            # The mark behind a full stop belongs to the sentence.
            end = sentence.start + len(sentence.text) + 1
            if any(quotations_in(index.texts[sentence.sample][sentence.start : end])):
                quoting.add(sentence.sample)
        return quoting

    def _lettered(self, letter: str) -> list[float]:
        """Return each sample's support for a letter that stands for itself."""
        return [float(letter in letters) for letters in self._index.letters]

    def parts(self, pooled: Callable[[Sequence[float]], float]) -> tuple[Part, ...]:
        """Return the facts that texts say, and those that they do not, with their places.

        Args:
            pooled: Pools the support of the texts for a fact.
        """
        start = self._start
        said: list[Fact] = []
        unsaid: list[Fact] = []
        for fact in self.facts():
            if fact.text in (self._shown, self._text.strip()):
                continue
            if pooled(fact.support) >= ELSEWHERE:
                said.append(fact)
            # Other words may be paraphrased.
            elif fact.weight > WORD_WEIGHT * CASELESS or fact.instead:
                unsaid.append(fact)
        if not said or not unsaid:
            return ()
        parts = [part for fact in unsaid for part in self._places(fact, start, "unsupported")]
        for fact in said:
            if fact.weight > WORD_WEIGHT * CASELESS:
                parts += self._places(fact, start, "supported")
        return _joined(parts, self._original.written, start)

    def _places(self, fact: Fact, start: int, band: Band) -> Iterator[Part]:
        if fact.quantity is not None:
            kind = "date" if fact.quantity.year_or_date else "number"
            span = self._original.span(fact.quantity.start, fact.quantity.end)
            yield Part(start + span[0], start + span[1], band, kind)
            return
        if fact.text in self._links:
            written = self._original.written
            for begin, end in link_spans(written):
                if normal_link(written[begin:end]) == fact.text:
                    yield Part(start + begin, start + end, band, "link")
            return
        kind = "name" if fact.text[:1].isupper() else "other"
        for match in re.finditer(
            rf"(?<!\w){re.escape(fact.text)}(?!\w)", self._text, re.IGNORECASE
        ):
            span = self._original.span(*match.span())
            yield Part(start + span[0], start + span[1], band, kind)

    @property
    def _telling(self) -> float:
        """The factor of words: lower if short answers word the same thing differently each time.

        It is 1 in scripts without capitals, where any word may be a name.
        """
        index = self._index
        has_case = self._text.lower() != self._text.upper()
        if index.count < _ENOUGH or len(index.short) < index.count or not has_case:
            return 1.0
        return min(1.0, index.repetition / _REPEATED)

    def _silent(self) -> list[int]:
        """Return the samples without a sentence on the same matter."""
        # A sample that has another name in the same sentence is not silent.
        matter = frozenset(self._stated.words) or self._own
        if not matter:
            return []
        speaks = set(self._index.short)
        for position, shared in self._near(matter).items():
            if shared >= _SPEAKS * len(matter):
                speaks.add(self._index.sentences[position].sample)
        return [sample for sample in range(self._index.count) if sample not in speaks]

    def _name(self, stem: str, word: str, name: str, weight: float) -> Fact:
        """Return a word of a name as a fact: supported in full, or partly in another form."""
        small, index = word.lower(), self._index
        support = [
            1.0 if small in written else _OTHER_FORM * (stem in words)
            for written, words in zip(index.written, index.words, strict=True)
        ]
        said = list(map(bool, support))
        self._excuse(support, [k for k in self._terse if not support[k]])
        return Fact(word, weight, "name", support, said, name=name)

    @cached_property
    def _terse(self) -> list[int]:
        """The samples that say nothing but what this sentence or the question says."""
        known = self._all | self._index.question.words
        return [k for k, words in enumerate(self._index.words) if words <= known]

    def _quoting(self, code: str) -> list[float]:
        return [float(code.lower() in text) for text in self._index.texts]

    def _numbering(self, number: str) -> list[float]:
        """Return each sample's support for a long number, however it is grouped, or an address."""
        if "@" in number:
            address = re.compile(rf"(?<![\w.+-]){re.escape(number.lower())}(?![\w-]|\.\w)")
            return [float(address.search(text) is not None) for text in self._index.texts]
        plain = ungrouped(number)
        # A sample may omit a country prefix, or the 0 before an area code.
        forms = {plain, plain.lstrip("0")}
        if number.startswith("+"):
            forms |= {plain[k:] for k in range(1, _LONGEST_PREFIX + 1)}
        forms = {form for form in forms if len(form) >= LONG_DIGITS}
        return [float(any(form in text for form in forms)) for text in self._index.ungrouped]

    def _substituted(self, supported_spans: Sequence[tuple[int, int]]) -> Iterator[Fact]:
        """Yield the words that no sample has, if most have another word in the same place.

        Args:
            supported_spans: The spans of quantities that samples support, maybe in another form.
        """
        index = self._index
        matches = list(words_of(self._text).finditer(self._text))
        words = ["", *(m.group().lower() for m in matches), ""]
        for i, match in enumerate(matches, 1):
            word = words[i]
            if word in ignored_words() or any(word in written for written in index.written):
                continue
            is_said = any(start <= match.start() < end for start, end in supported_spans)
            if is_said or index.question.words.issuperset(stems_of(word)):
                continue
            around = words[i - 1], words[i + 1]
            named = match.group()[0].isupper() or word[0].isdigit()
            # Different words between common words may mean the same; and a document, which is not
            # a second answer, is worded differently throughout.
            common = sum(word == "" or word in ignored_words() for word in around)
            if not named and common > (1 if self._with_answers else 0):
                continue
            others = [
                (sum(other in written for written in index.written), other)
                for other in islice(index.between.get(around, ()), _MOST_PLACES)
                if other not in ignored_words() and other[0].isdigit() == word[0].isdigit()
            ]
            times, other = max(others, default=(0, ""))
            if 2 * times >= index.count and other not in words:
                support = [float(other not in written) for written in index.written]
                yield Fact(
                    text=self._original.as_written(*match.span()),
                    weight=0.0,
                    kind="relation",
                    support=support,
                    said=[False] * index.count,
                    decides=True,
                    instead=(index.as_said(other), times),
                )

    def _holding(self, stem: str) -> list[float]:
        return [1.0 if stem in words else 0.0 for words in self._index.words]

    def _quantity(self, quantity: Quantity) -> Fact:
        index, support = self._index, [0.0] * self._index.count
        said = [False] * index.count
        candidates = {
            place
            for key in keys_of(quantity, near=True)
            for place in index.nearest(key, quantity, _MOST_PLACES)
        }
        for candidate in sorted(candidates):
            other, places = index.quantities[candidate]
            most = quantity.supported_by(other)
            for place in places[:_MOST_PLACES] if most else ():
                sentence = index.sentences[place]
                # "1932" is a part of "March 1932".
                said[sentence.sample] |= most == 1.0
                if support[sentence.sample] < most:
                    near = (
                        sentence.alone or not self._own or not self._own.isdisjoint(sentence.words)
                    )
                    value = most if near else most * ELSEWHERE
                    support[sentence.sample] = max(support[sentence.sample], value)
        partly = sum(map(bool, support)) - sum(said)
        silent = (k for k, held in enumerate(support) if not held)
        self._excuse(
            support, [k for k in silent if not any(map(quantity.comparable, index.rivals[k]))]
        )
        written = self._original.as_written(quantity.start, quantity.end)
        return Fact(written, QUANTITY_WEIGHT, "quantity", support, said, quantity, partly=partly)

    def _excuse(self, support: list[float], silent: Sequence[int]) -> None:
        """Let answers that do not mention a fact follow those that do."""
        if not self._with_answers:
            return
        confirm = sum(support)
        deny = len(support) - len(silent) - confirm
        if confirm >= 1:
            for k in silent:
                support[k] = confirm / (confirm + deny + 1)

    def instead(self, quantity: Quantity) -> tuple[str, int] | None:
        """Return the value samples give most often instead of a quantity, and how many do."""
        said_by: defaultdict[Key, set[int]] = defaultdict(set)
        written: dict[Key, str] = {}
        likely = (place for place, shared in self._beside.items() if shared >= len(self._own) / 4)
        for place in {*likely, *self._index.alone[:_MOST_PLACES]}:
            sentence = self._index.sentences[place]
            for other in sentence.quantities:
                # "Two" is not said in place of a year.
                same_kind = quantity.year_or_date == other.year_or_date
                if same_kind and quantity.comparable(other) and not quantity.agrees(other):
                    said_by[other.meaning].add(sentence.sample)
                    written.setdefault(other.meaning, sentence.of(other))
        if not said_by:
            return None
        most = max(said_by, key=lambda meaning: (len(said_by[meaning]), written[meaning]))
        return written[most], self._index.count_of(most)

    def explain(self, fact: Fact) -> str:
        """Return in how many samples a fact is."""
        index = self._index
        written = normalized(fact.text).lower()
        in_text = [index.has_literally(sample, written) for sample in range(index.count)]
        count = sum(fact.said)
        of_all = f"{count} of {index.count} texts compared"
        if any(there and not said for there, said in zip(in_text, fact.said, strict=True)):
            return f"{of_all} have {fact.text!r} in this sense"
        if any(said and not there for there, said in zip(in_text, fact.said, strict=True)):
            return f"{fact.text!r}, or the same in another form, is in {of_all}"
        return f"{fact.text!r} is in {of_all}"

    @cached_property
    def _beside(self) -> dict[int, float]:
        """The number of its own words that each sentence shares, by position in the index."""
        return self._near(self._own)

    def denials(self) -> dict[int, str]:
        """Return, by position of a text, its sentence that says otherwise on the same matter."""
        index = self._index
        # If it says no more than the question, its matter is the question's topic.
        matter = self._own or index.question.topic
        support = [self._quantity(q).support for q in self._quantities]
        negated = bool(negations(self._text))
        found: dict[int, tuple[float, str]] = {}
        shared = self._near(self._all | index.question.topic)
        for place, likeness in shared.items():
            sentence = index.sentences[place]
            if likeness <= found.get(sentence.sample, (0.0, ""))[0]:
                continue
            if share(matter, sentence.words) < _SAME_SUBJECT:
                continue
            other = any(
                held[sentence.sample] < ELSEWHERE and _differs(quantity, sentence.quantities)
                for quantity, held in zip(self._quantities, support, strict=True)
            )
            union = len(self._all | sentence.words)
            denies = (
                sentence.negated != negated
                and len(self._all & sentence.words) >= _SAME_SUBJECT * union
            )
            if other or denies:
                found[sentence.sample] = likeness, sentence.written.strip()
        return {sample: text for sample, (_, text) in found.items()}

    def _near(self, words: frozenset[str]) -> dict[int, float]:
        """Return how many words each sentence shares, by position in the index."""
        return self._index.shared.search(words)[0]

    def _polarity(self) -> Fact | None:
        """Return the sentence's answer to a yes-or-no question as a fact, or None."""
        question = self._index.question
        # "No" in a table cell does not answer a question.
        mine = None if self._standalone not in ("", self._text) else stance(self._text)
        polar = question.is_polar or mine is not None
        if polar and (mine or share(question.topic, self._all) >= _SAME_SUBJECT):
            parts = [self._text[start:end] for start, end in parts_of(self._text)]
            answer = max(parts, key=lambda part: share(question.topic, stems_of(part)))
            wording = Wording(answer, self._index.language)
            negative = mine == "no" or (mine is None and wording.answers_no(question.wording))
            limited = restricts(self._text)
            support = [1.0] * self._index.count
            for k in range(self._index.count):
                support[k] = self._answers(k, negative=negative, limited=limited)
            other_way = support.count(0.0)
            why = f"{other_way} of {len(support)} texts compared answer the other way"
            if not other_way:
                evasive = sum(value < 1 for value in support)
                why = f"{evasive} of {len(support)} texts compared do not answer the same way"
            denying = (k for k, value in enumerate(support) if not value)
            places = (self._index.topical[k] for k in denying)
            against = next((place for place in places if place is not None), None)
            return Fact(
                self._shown, _STANCE_WEIGHT, "relation", support, reason=why, against=against
            )
        return None

    def _answers(self, k: int, *, negative: bool, limited: bool) -> float:
        """Return how far a sample gives the same yes or no as this sentence."""
        stance, place = self._index.stances[k], self._index.topical[k]
        if place is None:
            return float((stance == "no") == negative)
        nearest, wording = self._index.sentences[place], self._index.wording(place)
        denies = stance == "no" or (
            stance is None and wording.answers_no(self._index.question.wording)
        )
        if denies != negative:
            return 0.0
        if not self._with_answers:
            return 1.0
        if stance is None and not negative:
            known = self._index.question.topic | self._all | self._index.question.words
            more = bool(nearest.words - known) or bool(nearest.quantities)
            if restricts(nearest.text) != limited or (more and not limited):
                return _EVASIVE
        return _EVASIVE if limited and not restricts(nearest.text) else 1.0

    def _contradiction(self) -> Fact | None:
        """Return the sentence as a fact if samples say the opposite, or None."""
        index = self._index
        verdicts: list[bool | None] = [None] * index.count
        against = None
        for place, found in self._compared():
            sentence = index.sentences[place]
            verdicts[sentence.sample] = verdicts[sentence.sample] or found
            if found and against is None:
                against = place
        for k in range(index.count):
            mine, theirs = self._lists_shared_with(k)
            found = self._exchanges(self._clauses(mine), index.bound(k, theirs))
            if not found and index.question.is_for_order:
                found = out_of_order(self._text, index.texts[k])
            wordings = {
                position: self._wording_of(position, spans) for position, spans in theirs.items()
            }
            parts = [part.stems for part in self._own_wording(mine).parts]
            if not found and index.mixes(k, parts, wordings):
                found = True
            if found is not None:
                verdicts[k] = verdicts[k] or found
        if True not in verdicts:
            return None
        # A silent sample follows the others, with one more that agrees.
        agree, oppose = verdicts.count(False), verdicts.count(True)
        rest = (agree + 1) / (agree + oppose + 1)
        if not self._with_answers and not agree:
            # A document about something else does not speak for it.
            rest = 0.0
        support = [rest if v is None else float(not v) for v in verdicts]
        why = f"{oppose} of {index.count} texts compared say otherwise"
        if against is not None:
            why = f"{why}, such as {index.sentences[against].written.strip()!r}"
        return Fact(
            self._shown, 0.0, "relation", support, decides=True, reason=why, against=against
        )

    @property
    def _shown(self) -> str:
        return self._written.strip()

    @cached_property
    def _wording(self) -> Wording:
        return Wording(self._text, self._index.language)

    def _compared(self) -> Iterator[tuple[int, bool]]:
        """Yield the positions of comparable sentences, and whether each says the opposite."""
        index = self._index
        for place in self._comparable:
            question = index.question.wording if index.sentences[place].alone else None
            mine, theirs = self._shared_lists.get(place, ((), ()))
            wording = self._own_wording(mine)
            found = wording.contradicts(self._wording_of(place, theirs), question)
            if found is not None:
                yield place, found

    @cached_property
    def _comparable(self) -> list[int]:
        """The positions of the sentences that are compared, in order."""
        index = self._index
        places = {
            place
            for place, shared in self._near(self._all).items()
            if shared >= 2 and shared >= min(len(self._all), len(index.sentences[place].words)) / 4
        }
        places.update(index.alone)
        return sorted(places)

    @cached_property
    def _shared_lists(self) -> dict[int, tuple[Sequence[Span], Sequence[Span]]]:
        """By position of a sentence, the lists it shares in another order: here, and there."""
        index = self._index
        if index.question.is_for_order:
            return {}
        segments = Segments.of(self._text)
        shared: dict[int, tuple[Sequence[Span], Sequence[Span]]] = {}
        for position in self._comparable:
            mine, theirs = shared_lists(segments, index.segments(position))
            if mine or theirs:
                shared[position] = mine, theirs
        return shared

    def _lists_shared_with(self, sample: int) -> tuple[list[Span], dict[int, Sequence[Span]]]:
        """Return the lists shared with any sentence of a sample, and theirs by position."""
        mine: list[Span] = []
        theirs: dict[int, Sequence[Span]] = {}
        for position in self._index.places[sample] if self._shared_lists else ():
            if position in self._shared_lists:
                spans, theirs[position] = self._shared_lists[position]
                mine += spans
        return mine, theirs

    def _own_wording(self, lists: Sequence[Span]) -> Wording:
        return Wording(self._text, self._index.language, lists) if lists else self._wording

    def _wording_of(self, position: int, lists: Sequence[Span]) -> Wording:
        index = self._index
        if not lists:
            return index.wording(position)
        return Wording(index.sentences[position].text, index.language, lists)

    def _clauses(self, lists: Sequence[Span] = ()) -> list[ClauseQuantities]:
        bound = quantities_by_clause(self._text, self._found, lists=lists)
        if len(bound) == 1 and self._standalone:
            return [ClauseQuantities(plain_stems(self._standalone), bound[0].quantities)]
        return bound

    def exchanges_values(self, texts: Sequence[int]) -> bool:
        """Whether a text has a value of the sentence elsewhere, and one has another in its place.

        Args:
            texts: The positions of the texts.
        """
        theirs = [bound for k in texts for bound in self._index.bound(k)]
        return self._exchanges(self._clauses(), theirs) is True

    def _exchanges(
        self,
        mine_by_clause: Sequence[ClauseQuantities],
        theirs_by_clause: Sequence[ClauseQuantities],
    ) -> bool | None:
        """Return whether a sample has one of its quantities elsewhere, and another in its place.

        Another quantity is in its place if the words around that one share more with the words
        here: all that the words around the same quantity share, and others.

        Args:
            mine_by_clause: Its quantities with the words of their clauses.
            theirs_by_clause: The same of the sample.
        """
        found = None
        theirs = sum(len(one.quantities) for one in theirs_by_clause)
        if len(self._found) > _BOUND_AT_MOST or theirs > _MOST_PLACES:
            return None
        for mine in mine_by_clause:
            for quantity in mine.quantities:
                here, there = list[frozenset[str]](), list[frozenset[str]]()
                for one in theirs_by_clause:
                    if any(map(quantity.agrees, one.quantities)):
                        here.append(mine.words & one.words)
                    elif _differs(quantity, one.quantities):
                        there.append(mine.words & one.words)
                if here and there and any(all(h < t for h in here) for t in there):
                    return True
                if here and all(any(t < h for h in here) for t in there):
                    found = False
        return found


def _joined(parts: Sequence[Part], text: str, start: int) -> tuple[Part, ...]:
    """Return parts in order, without overlaps, with the words of a name joined.

    A name is flagged if any of its words is.

    Args:
        parts: The parts.
        text: The sentence.
        start: Its offset in the response.
    """
    ordered = sorted(parts, key=lambda part: (part.start, not part.flagged))
    joined: list[Part] = []
    for part in ordered:
        if joined and part.start < joined[-1].end:
            continue
        previous = joined[-1] if joined else None
        if previous is not None and previous.kind == part.kind == "name":
            between = text[previous.end - start : part.start - start]
            if not between.strip(" -.'"):
                band = part.band if part.flagged else previous.band
                joined[-1] = replace(previous, end=part.end, band=band)
                continue
        counted = _COUNTED.match(text, part.end - start) if part.kind == "number" else None
        if counted is not None and counted[1].lower() not in ignored_words():
            part = replace(part, end=start + counted.end())
        joined.append(part)
    return tuple(joined)


def _distinct(found: Sequence[Quantity]) -> Iterator[Quantity]:
    """Yield quantities not given before, with or without a unit: "12, so 12 euros"."""
    seen = set[Key]()
    for q in found:
        value = (q.kind, q.plain, q.year, q.month, q.day)
        if (q.unit, *value) not in seen and ("", *value) not in seen:
            if q.unit or ("any", *value) not in seen:
                yield q
            seen |= {(q.unit, *value), ("any", *value)}


def _repeats_question(quantity: Quantity, other: Quantity) -> bool:
    """Whether a quantity repeats the question's in the same unit: a conversion is an answer."""
    return quantity.agrees(other) and (quantity.kind == "date" or quantity.plain == other.plain)


def _differs(quantity: Quantity, others: Sequence[Quantity]) -> bool:
    """Return whether others are of the same kind, but none can be the same."""
    comparable = [other for other in others if quantity.comparable(other)]
    return bool(comparable) and not any(quantity.agrees(other) for other in comparable)


def _fact(
    text: str, weight: float, kind: FactKind, support: list[float], *, decides: bool = False
) -> Fact:
    """Return a fact that samples say or do not say."""
    return Fact(text, weight, kind, support, list(map(bool, support)), decides=decides)
