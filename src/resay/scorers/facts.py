"""Checks the facts of each sentence against samples (`facts`): numbers, dates, names, rare words.

A sentence is split into items: quantities (numbers, measures, dates), names, and its other words
without the commonest. Anything the question already says is not an item. Each item i has the share
v_i of samples that do not say it, and a weight w_i by its kind: 6 for a quantity, which can hardly
be paraphrased, and for a name in code; 4 for a name, divided among its words; up to 1 for another
word, which may be paraphrased, by its length, since short words are mostly grammar. The score is
the weighted quadratic mean

    score = sqrt(sum_i w_i v_i^2 / (2 + sum_i w_i))

so that one wrong fact outweighs a few paraphrased words. The 2 stands for undoubted content: a
sentence of one common word says little (in a list item or a table row, 0.5). The other words weigh
3 at most in total.

Quantities are compared by value: "5 km" is "5,000 m", "about 42,000" is 41,870, and 1932-03-19 is
19 March 1932 (`resay.core.quantities`). A quantity counts in full if a sample has it in a sentence
that shares a word with the scored one, and half elsewhere. The yes or no that a question asks for
is an item of weight 12, since it is the whole answer.

A sample that is silent on the matter, because no sentence of it shares 40 % of the words, counts as
one that says a fifth of it: silence is weaker evidence than saying something else. A sample of one
or two sentences is never silent. If c samples confirm a quantity or a name, and d deny it, one that
does not mention it counts as saying c / (c + d + 1) of it. Words weigh less if short samples share
few of them: answers that are worded differently each time are poorly compared by words. Among short
samples the share v that has no word of the sentence is an item of weight 6 v: that nobody else says
anything of it is the strongest sign. A sentence that says no more than the question is compared by
the question's words.

The same words may say the opposite. If a share o of the samples contradicts the sentence, by the
opposites and roles that `resay.scorers.common.contrast` knows, by two values swapped, or by another
word between the same two words, the score is at least 0.75 o. A list in another order, "white, blue
and red", says the same (`resay.scorers.common.lists`), unless the question or the sentence says
that the order counts.

A sample of a few words supports what it says: "Paris." supports "The capital is Paris." In scripts
without capitals no word counts as a name, and in those without spaces pairs of characters count as
words. With `evidence: references` an item counts as said if any of the references says it.

Every sentence is scored by itself. `disagreement` mixes in how little the samples repeat each
other, which shows how well the model knows the matter at all. `lean` mixes in the passage's mean,
since sentences next to wrong ones are more often wrong; that needs the whole answer, so a stream is
held to its end.

Cost: no calls, no model. Good at: numbers, dates and names that samples do not repeat, short
answers. Bad at: paraphrase, and relations beyond its rules ("only if", "all but").
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from math import sqrt
from operator import mul
from statistics import fmean
from typing import ClassVar, Final, Literal

from pydantic import Field

from resay._internal.event_loops import compute, stop_if_abandoned
from resay.core.citations import without_marks
from resay.core.languages import guess_language
from resay.core.normalization import NormalizedText, normalized
from resay.core.passage import Passage
from resay.core.quantities import Quantity, negations, quantities
from resay.core.query import Query
from resay.core.verdict import Band, Part, Scores
from resay.scorers.base import Need, SampleConfig, Unit
from resay.scorers.common.contrast import Wording, parts_of
from resay.scorers.common.lists import Segments, Span, shared_lists
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
from resay.scorers.common.uncited import uncited_sentences
from resay.scorers.common.words import (
    STOP,
    Stems,
    out_of_order,
    restricts,
    share,
    stance,
    stems_of,
    words_of,
)
from resay.scorers.evidence import Evidence

_QUANTITY_WEIGHT, _NAME_WEIGHT, _WORD_WEIGHT, _WORDS_AT_MOST = 6.0, 4.0, 1.0, 3.0
_UNDOUBTED = 2.0
# A list item or table row says little besides its value.
_UNDOUBTED_OF_ITEM = 0.5
# A yes or no is the whole answer.
_STANCE_WEIGHT = 12.0
# A short answer as a whole.
_ANSWER_WEIGHT = 6.0
_LONG_WORD = 6
_CASELESS = 1.5
# Support for a quantity that a sample mentions in another context.
_ELSEWHERE = 0.5
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
_COMMON: Final = STOP | {""}
_CONVERSATION_CHARS = 1_000
_QUESTION_CHARS = 600
_LONGEST_NAME = 8
# What a number counts: "212 passengers".
_COUNTED = re.compile(r" ([^\W\d_]+)")
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
_HOST_OR_FILE = re.compile(r"\w\.[a-z]{2,}$")
# Addresses and versions are not parsed as quantities, and are compared verbatim.
_DOTTED = re.compile(r"(?<![\w.])v?\d{1,4}(?:\.\d{1,4}){2,5}(?![\w.]*\w)")


@dataclass(frozen=True, slots=True)
class _Item:
    """One fact that a sentence states.

    Attributes:
        text: Its words.
        weight: Its weight.
        support: By sample, how much of it the sample says, in [0, 1].
        said: By sample, whether it says it, whatever else counts as support.
        quantity: The quantity, if it is one.
        decides: Whether the sentence is wrong if this is, whatever else it says.
        instead: What samples say in its place, and how many do.
        why: The reason to give if it is doubted, if there is a better one than how many say it.
        partly: How many samples say only a part of it.
    """

    text: str
    weight: float
    support: list[float]
    said: Sequence[bool] = ()
    quantity: Quantity | None = None
    decides: bool = False
    instead: tuple[str, int] | None = None
    why: str | None = None
    partly: int = 0


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
            description="The weight, in each sentence's score, of the disagreement among the"
            " samples: a model that answers differently each time does not know the answer.",
        )

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or self.Config()
        self.by_sentence = self.config.lean == 0

    async def score(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score sentences and passage; see the module docstring.

        Args:
            passage: The text; its `sentences` are scored.
            evidence: The samples, and the question, whose words are not facts of the answer.

        Returns:
            Scores in [0, 1] with a column for each sample; none without samples.
        """
        await evidence.samples.all()
        return await self.look(passage, evidence)

    async def look(self, passage: Passage, evidence: Evidence) -> Scores:
        """Score by the samples that have arrived, as `score` does once all have."""
        query = evidence.user_query or evidence.query
        indexing = Indexing(*_texts(query)) if query else Indexing("", "")
        # Built once for all sentences of a streamed response, each of which is scored alone.
        index = await evidence.samples.derive(indexing, chars=_READING * evidence.samples.chars)
        if not index.count:
            return Scores(sentences=(None,) * len(passage.sentences))
        work = partial(self._score, passage, index)
        return await compute(work, chars=_reading_cost(passage, index))

    async def denials(self, passage: Passage, evidence: Evidence) -> Sequence[Mapping[int, str]]:
        """Return for each sentence the texts that say otherwise.

        Args:
            passage: The text; its `sentences` are compared.
            evidence: The evidence, as for `look`.

        Returns:
            By position of the text, its sentence on the same matter that has another number or
            date, or denies the sentence.
        """
        query = evidence.user_query or evidence.query
        indexing = Indexing(*_texts(query)) if query else Indexing("", "")
        index = await evidence.samples.derive(indexing, chars=_READING * evidence.samples.chars)

        def find() -> list[Mapping[int, str]]:
            return [_Claim(text or "", index).denied() for text in uncited_sentences(passage)]

        return await compute(find, chars=_reading_cost(passage, index))

    async def parts(self, passage: Passage, evidence: Evidence) -> list[tuple[Part, ...]]:
        """Tell the words of sentences that samples say from those that they do not say.

        Args:
            passage: The text; its `sentences` are compared.
            evidence: The evidence, as for `look`.

        Returns:
            For each sentence its numbers, names and other facts, in order, each supported or
            unsupported; none if all of it is in doubt, or nothing can be singled out.
        """
        query = evidence.user_query or evidence.query
        indexing = Indexing(*_texts(query)) if query else Indexing("", "")
        index = await evidence.samples.derive(indexing, chars=_READING * evidence.samples.chars)
        if not index.count:
            return [()] * len(passage.sentences)
        best = max if self.config.evidence == "references" else fmean

        def find() -> list[tuple[Part, ...]]:
            parts: list[tuple[Part, ...]] = []
            for sentence, text in zip(passage.sentences, uncited_sentences(passage), strict=True):
                claim = _Claim(text or "", index, standalone=text or "")
                parts.append(claim.parts(sentence.start, best))
            return parts

        return await compute(find, chars=_reading_cost(passage, index))

    def _score(self, passage: Passage, index: SampleIndex) -> Scores:
        any_of = self.config.evidence == "references"
        disagreement = 0.0 if any_of else self.config.disagreement
        scores: list[float | None] = []
        rows: list[Sequence[float | None]] = []
        why: list[str | None] = []
        for sentence, text in zip(passage.sentences, uncited_sentences(passage), strict=True):
            if text is None:
                scores.append(None)
                rows.append((None,) * index.count)
                why.append("it only names sources")
                continue
            standalone = text
            if sentence.standalone != sentence.text:
                standalone = without_marks(sentence.standalone)
            claim = _Claim(
                text,
                index,
                with_answers=not any_of,
                standalone=standalone,
                cited=sentence.text,
            )
            items = claim.items()
            undoubted = _UNDOUBTED_OF_ITEM if sentence.unit in {"item", "row"} else _UNDOUBTED
            score = _pooled(items, _doubts(items, any_of=any_of), undoubted)
            scores.append((1 - disagreement) * score + disagreement * index.disagreement)
            rows.append(_by_sample(items, index.count, undoubted))
            why.append(_why(claim, items))
        return Scores(
            sentences=_leaning(scores, self.config.lean),
            columns=tuple(zip(*rows, strict=True)),
            why=tuple(why),
        )


def _leaning(scores: Sequence[float | None], lean: float) -> tuple[float | None, ...]:
    """Return the scores with their mean mixed in."""
    compared = [score for score in scores if score is not None]
    mean = fmean(compared) if compared else 0.0
    return tuple(None if score is None else (1 - lean) * score + lean * mean for score in scores)


def _reading_cost(passage: Passage, index: SampleIndex) -> float:
    """Return what comparing a passage costs, in characters for `compute`."""
    chars = sum(len(sentence.text) for sentence in passage.sentences)
    # Citation marks are looked for in all of the text.
    chars = max(chars, len(passage.text))
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


def _doubts(items: Sequence[_Item], *, any_of: bool) -> list[float]:
    """Return the share of samples that do not say each item."""
    best = max if any_of else fmean
    return [1 - best(item.support) for item in items]


def _by_sample(items: Sequence[_Item], count: int, undoubted: float) -> list[float]:
    """Return the score that each sample would give by itself."""
    weights = [item.weight for item in items]
    most = undoubted + sum(weights)
    supports = zip(*(item.support for item in items), strict=True) if items else [()] * count
    doubts = ([1 - value for value in support] for support in supports)
    totals = (sum(map(mul, map(mul, weights, of_one), of_one)) for of_one in doubts)
    scores = [min(sqrt(total / most), 1.0) for total in totals]
    for item in items:
        if item.decides:
            scores = [
                max(s, _OPPOSITE * (1 - v)) for s, v in zip(scores, item.support, strict=True)
            ]
    return scores


def _pooled(items: Sequence[_Item], doubts: Sequence[float], undoubted: float) -> float:
    weights = [item.weight for item in items]
    total = sum(w * v * v for w, v in zip(weights, doubts, strict=True))
    least = max((v for item, v in zip(items, doubts, strict=True) if item.decides), default=0.0)
    return max(min(sqrt(total / (undoubted + sum(weights))), 1.0), _OPPOSITE * least)


class _Claim:
    """A sentence to compare with the samples.

    Args:
        text: The sentence.
        index: The index of the samples.
        with_answers: Whether these are answers to the same question; documents answer neither yes
            nor no, and say much else.
        standalone: The sentence with its context, such as a cell with its headers.
        cited: The sentence with its citation marks.
    """

    def __init__(
        self,
        text: str,
        index: SampleIndex,
        *,
        with_answers: bool = True,
        standalone: str = "",
        cited: str = "",
    ) -> None:
        stop_if_abandoned()
        self._standalone = normalized(standalone)
        self._with_answers = with_answers
        self._written = text
        self._original = NormalizedText.of(text)
        # `references` compares links with the documents, and with their addresses.
        self._links = links_of(self._original.text) if with_answers else ()
        self._cited_links = links_of(normalized(cited)) if with_answers else ()
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
        self._names, self._words = self._sort_words()
        self._own = frozenset(self._names) | frozenset(self._words)

    def _sort_words(self) -> tuple[dict[str, tuple[str, int]], dict[str, str]]:
        """Return the words of names, each with the size of its name, and the other words."""
        text, names, words = self._text, dict[str, tuple[str, int]](), dict[str, str]()
        spans = [(q.start, q.end) for q in self._found]
        spans += self._long
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
            if word in self._letters:
                continue
            is_name = word[0].isupper() and _is_name(text, written, i, nouns=nouns)
            # Hosts and files are called so, whatever the sentence says of them.
            is_name = is_name or _HOST_OR_FILE.search(word) is not None
            parts = stems[word.lower()]
            for part in parts:
                if part in self._index.question.words:
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
        """Return the facts that the sentence states, with the support of each sample."""
        found = [self._quantity(q) for q in self._quantities]
        found += [_item(code, _QUANTITY_WEIGHT, self._quoting(code)) for code in self._codes]
        for start, end in self._long:
            support = self._numbering(self._text[start:end])
            written = self._original.as_written(start, end)
            found.append(_item(written, _QUANTITY_WEIGHT, support, decides=True))
        for stem, (word, size) in self._names.items():
            found.append(self._name(stem, word, _NAME_WEIGHT / size))
        sizes = {stem: _word_weight(word) for stem, word in self._words.items()}
        scale = min(1.0, _WORDS_AT_MOST / sum(sizes.values())) if sizes else 1.0
        scale *= self._telling
        found += [_item(w, sizes[s] * scale, self._holding(s)) for s, w in self._words.items()]
        found += [self._link(link) for link in self._links]
        if any(self._index.links):
            cited = [link for link in self._cited_links if link not in self._links]
            found += [self._cited_link(link) for link in cited]
        found += [_item(letter, _NAME_WEIGHT, self._lettered(letter)) for letter in self._letters]
        polarity, contradiction = self._polarity(), self._contradiction()
        found += [item for item in (polarity, contradiction) if item]
        if not found:
            found = self._restated()
        answer = self._answer(found) if polarity is None else None
        found += [answer] if answer else []
        supported = [i.quantity for i in found if i.quantity and max(i.support) >= _ELSEWHERE]
        found += self._substituted([*self._long, *((q.start, q.end) for q in supported)])
        silent = self._silent()
        for item in found if silent else ():
            for k in silent:
                item.support[k] = max(item.support[k], _SILENT)
        return found

    def _restated(self) -> list[_Item]:
        """Return what the sentence says as items if it says no more than the question does."""
        found = [self._quantity(quantity) for quantity in _distinct(self._found)]
        words: dict[str, str] = {}
        stems = Stems()
        for match in words_of(self._text).finditer(self._text):
            for stem in stems[match[0].lower()]:
                words.setdefault(stem, match[0])
        weight = _WORDS_AT_MOST / max(len(words), 1)
        return found + [_item(word, weight, self._holding(stem)) for stem, word in words.items()]

    def _answer(self, items: Sequence[_Item]) -> _Item | None:
        """Return the sentence as an item that a short sample supports if they share a word.

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
        quantities = [item.support for item in items if item.quantity is not None]
        said: list[bool] = []
        for sample, words in enumerate(theirs):
            repeated = any(support[sample] >= _ELSEWHERE for support in quantities)
            said.append(repeated or not words.isdisjoint(own) or self._has_a_synonym(sample))
        support = list(map(float, said))
        self._excuse(support, [sample for sample, words in enumerate(theirs) if not words])
        weight = _ANSWER_WEIGHT * (1 - fmean(support))
        why = f"{sum(said)} of {index.count} texts compared have a word of it, or a synonym"
        return _Item(self._shown, weight, support, said, why=why)

    def _has_a_synonym(self, sample: int) -> bool:
        """Whether a short sample has a word of the same meaning, or the opposite and a "not"."""
        for wording in map(self._index.wording, self._index.places[sample]):
            alike = wording.negated == self._wording.negated
            for group in wording.sides.keys() & self._wording.sides.keys():
                if wording.sides[group].isdisjoint(self._wording.sides[group]) != alike:
                    return True
        return False

    def _link(self, link: str) -> _Item:
        """Return a link as an item: another address, or a part of one, does not support it."""
        support = [float(link in links) for links in self._index.links]
        return _item(link, _QUANTITY_WEIGHT, support, decides=True)

    def _cited_link(self, link: str) -> _Item:
        """Return the link of a citation as an item: a sample that links nothing cites nothing."""
        item = self._link(link)
        self._excuse(item.support, [k for k, links in enumerate(self._index.links) if not links])
        return item

    def _lettered(self, letter: str) -> list[float]:
        """Return each sample's support for a letter that stands for itself."""
        return [float(letter in letters) for letters in self._index.letters]

    def parts(self, start: int, pooled: Callable[[Sequence[float]], float]) -> tuple[Part, ...]:
        """Return the facts that samples say, and those that they do not, with their places.

        Args:
            start: The sentence's offset in the response.
            pooled: Pools the support of the samples.
        """
        said: list[_Item] = []
        unsaid: list[_Item] = []
        for item in self.items():
            if item.text in (self._shown, self._text.strip()):
                continue
            if pooled(item.support) >= _ELSEWHERE:
                said.append(item)
            # Other words may be paraphrased.
            elif item.weight > _WORD_WEIGHT * _CASELESS or item.instead:
                unsaid.append(item)
        if not said or not unsaid:
            return ()
        parts = [part for item in unsaid for part in self._places(item, start, "unsupported")]
        for item in said:
            if item.weight > _WORD_WEIGHT * _CASELESS:
                parts += self._places(item, start, "supported")
        return _joined(parts, self._original.written, start)

    def _places(self, item: _Item, start: int, band: Band) -> Iterator[Part]:
        if item.quantity is not None:
            kind = "date" if item.quantity.year_or_date else "number"
            span = self._original.span(item.quantity.start, item.quantity.end)
            yield Part(start + span[0], start + span[1], band, kind)
            return
        kind = "name" if item.text[:1].isupper() else "other"
        for match in re.finditer(
            rf"(?<!\w){re.escape(item.text)}(?!\w)", self._text, re.IGNORECASE
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
        speaks = set(self._index.short)
        for place, shared in self._beside.items():
            if shared >= _SPEAKS * len(self._own):
                speaks.add(self._index.sentences[place].sample)
        return [k for k in range(self._index.count) if k not in speaks] if self._own else []

    def _name(self, stem: str, word: str, weight: float) -> _Item:
        """Return a word of a name as an item: supported in full, or partly in another form."""
        small, index = word.lower(), self._index
        support = [
            1.0 if small in written else _OTHER_FORM * (stem in words)
            for written, words in zip(index.written, index.words, strict=True)
        ]
        said = list(map(bool, support))
        self._excuse(support, [k for k in self._terse if not support[k]])
        return _Item(word, weight, support, said)

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

    def _substituted(self, supported_spans: Sequence[tuple[int, int]]) -> Iterator[_Item]:
        """Yield the words that no sample has, if most have another word in the same place.

        Args:
            supported_spans: The spans of quantities that samples support, maybe in another form.
        """
        index = self._index
        matches = list(words_of(self._text).finditer(self._text))
        words = ["", *(m.group().lower() for m in matches), ""]
        for i, match in enumerate(matches, 1):
            word = words[i]
            if word in STOP or any(word in written for written in index.written):
                continue
            is_said = any(start <= match.start() < end for start, end in supported_spans)
            if is_said or index.question.words.issuperset(stems_of(word)):
                continue
            around = words[i - 1], words[i + 1]
            named = match.group()[0].isupper() or word[0].isdigit()
            # Different words between common words may mean the same; and a document, which is not
            # a second answer, is worded differently throughout.
            common = sum(one in _COMMON for one in around)
            if not named and common > (1 if self._with_answers else 0):
                continue
            others = [
                (sum(other in written for written in index.written), other)
                for other in islice(index.between.get(around, ()), _MOST_PLACES)
                if other not in STOP and other[0].isdigit() == word[0].isdigit()
            ]
            times, other = max(others, default=(0, ""))
            if 2 * times >= index.count and other not in words:
                support = [float(other not in written) for written in index.written]
                yield _Item(
                    text=self._original.as_written(*match.span()),
                    weight=0.0,
                    support=support,
                    said=[False] * index.count,
                    decides=True,
                    instead=(index.as_said(other), times),
                )

    def _holding(self, stem: str) -> list[float]:
        return [1.0 if stem in words else 0.0 for words in self._index.words]

    def _quantity(self, quantity: Quantity) -> _Item:
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
                    value = most if near else most * _ELSEWHERE
                    support[sentence.sample] = max(support[sentence.sample], value)
        partly = sum(map(bool, support)) - sum(said)
        silent = (k for k, held in enumerate(support) if not held)
        self._excuse(
            support, [k for k in silent if not any(map(quantity.comparable, index.rivals[k]))]
        )
        written = self._original.as_written(quantity.start, quantity.end)
        return _Item(written, _QUANTITY_WEIGHT, support, said, quantity, partly=partly)

    def _excuse(self, support: list[float], silent: Sequence[int]) -> None:
        """Let samples that do not mention an item follow those that do."""
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

    def explain(self, item: _Item) -> str:
        """Return in how many samples an item is."""
        index = self._index
        written = normalized(item.text).lower()
        in_text = [index.has_literally(sample, written) for sample in range(index.count)]
        count = sum(item.said)
        of_all = f"{count} of {index.count} texts compared"
        if any(there and not said for there, said in zip(in_text, item.said, strict=True)):
            return f"{of_all} have {item.text!r} in this sense"
        if any(said and not there for there, said in zip(in_text, item.said, strict=True)):
            return f"{item.text!r}, or the same in another form, is in {of_all}"
        return f"{item.text!r} is in {of_all}"

    @cached_property
    def _beside(self) -> dict[int, float]:
        """The number of its own words that each sentence shares, by position in the index."""
        return self._near(self._own)

    def denied(self) -> dict[int, str]:
        """Return, by sample, its sentence on the same matter that says otherwise, if any."""
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
                held[sentence.sample] < _ELSEWHERE and _differs(quantity, sentence.quantities)
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

    def _polarity(self) -> _Item | None:
        """Return the sentence's answer to a yes-or-no question as an item, or None."""
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
            return _Item(self._shown, _STANCE_WEIGHT, support, why=why)
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

    def _contradiction(self) -> _Item | None:
        """Return the sentence as an item if samples say the opposite, or None."""
        index = self._index
        verdicts: list[bool | None] = [None] * index.count
        against = None
        for place, found in self._compared():
            sentence = index.sentences[place]
            verdicts[sentence.sample] = verdicts[sentence.sample] or found
            against = against or (sentence.written.strip() if found else None)
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
            why = f"{why}, such as {against!r}"
        return _Item(self._shown, 0.0, support, decides=True, why=why)

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
        if counted is not None and counted[1].lower() not in STOP:
            part = replace(part, end=start + counted.end())
        joined.append(part)
    return tuple(joined)


def _word_weight(word: str) -> float:
    weight = _WORD_WEIGHT * min(len(word), _LONG_WORD) / _LONG_WORD
    # In scripts without capitals, any word may be a name.
    return weight if word.lower() != word.upper() else _CASELESS * weight


def _is_name(text: str, written: Sequence[re.Match[str]], i: int, *, nouns: bool) -> bool:
    """Return whether a capitalised word is part of a name.

    The first word of a sentence is one only next to another capitalised word, or alone. If nouns
    are capitalised, as in German, every name needs another capitalised word next to it.
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
    first = i == 0 and not text[: written[0].start()].strip(" \t\"'“”«»„*_(-#>")
    return beside or not first or len(written) == 1


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


def _item(text: str, weight: float, support: list[float], *, decides: bool = False) -> _Item:
    """Return an item that samples say or do not say."""
    return _Item(text, weight, support, list(map(bool, support)), decides=decides)


def _why(claim: _Claim, items: Sequence[_Item]) -> str | None:
    """Explain the most doubtful item: in how many samples it is, and what they say instead."""
    if not items:
        return None
    deciding = [item for item in items if item.decides and fmean(item.support) < _ELSEWHERE]
    if deciding:
        worst = min(deciding, key=lambda item: fmean(item.support))
    else:
        worst = max(items, key=lambda item: item.weight * (1 - fmean(item.support)) ** 2)
    if worst.why is not None:
        return worst.why
    why = claim.explain(worst)
    if worst.partly:
        why = f"{why}, and a part of it in {worst.partly}"
    instead = worst.instead
    if worst.quantity and fmean(worst.support) < _ELSEWHERE:
        instead = claim.instead(worst.quantity)
    if instead is None:
        return why
    words, times = instead
    if 2 * times > len(worst.support):
        return f"{why}; most of them say {words!r}"
    return f"{why}; {times} of them {'says' if times == 1 else 'say'} {words!r}"
