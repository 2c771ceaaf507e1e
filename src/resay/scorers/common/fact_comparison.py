"""Compares the facts of a sentence with other texts: numbers, dates, names and other words.

The texts are answers to the same question, or documents. Documents answer neither yes nor no, say
much else beside what they are asked about, and word it differently, so fewer signs count against a
sentence there. What is compared, and how, is described in `resay.scorers.facts`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from resay._internal.event_loops import stop_if_abandoned
from resay._internal.patterns import lazy_pattern
from resay.core.names import capital_runs
from resay.core.normalization import normalized
from resay.core.passage import Passage, Sentence
from resay.core.quantities import Quantity
from resay.core.quotes import quoted_pieces
from resay.core.request import Request
from resay.core.segmentation.spans import Span
from resay.lang.detection import detect_from_words
from resay.lang.language import all_words
from resay.scorers.base import TEXTS_COMPARED
from resay.scorers.common.contrast import are_synonyms, side_of
from resay.scorers.common.displaced_values import DisplacedValue
from resay.scorers.common.fact import Fact, FactKind
from resay.scorers.common.indexed_sentences import IndexedSentence, plain_stems
from resay.scorers.common.opposition import Opposition
from resay.scorers.common.quantity_keys import Key
from resay.scorers.common.quotations import quotations_in
from resay.scorers.common.sample_index import Indexing, SampleIndex
from resay.scorers.common.sentence_items import NAME_WEIGHT, QUANTITY_WEIGHT, WORDS_AT_MOST
from resay.scorers.common.statement import Statement, distinct_quantities
from resay.scorers.common.uncited import nearby_text, uncited_sentences
from resay.scorers.common.verbatim import LONG_DIGITS, ungrouped
from resay.scorers.common.words import ignored_words, share, stems_of, word_stems, words_of
from resay.scorers.evidence import Evidence

# A short answer as a whole.
_ANSWER_WEIGHT = 6.0
# Support for a quantity that a sample mentions in another context.
ELSEWHERE = 0.5
# Support from a sample that is silent on the matter.
_SILENT = 0.2
# Words count in full if short samples share at least this much of their words.
_REPEATED = 0.6
# With fewer samples, how much they repeat is down to chance.
_ENOUGH_SAMPLES = 4
# A sample's sentence is on the matter if it has this share of the sentence's words.
_ON_THE_MATTER = 0.4
# Support for a word of a name in another form.
_OTHER_FORM = 0.5
# A sample words something as quoted if a sentence of it has this share of the words.
_SAME_WORDING = 0.8
_WORD_RUN = lazy_pattern(r"\w+")
_CONVERSATION_CHARS = 1_000
_QUESTION_CHARS = 600
# The end of a long message that is taken for its question, if it has no other beginning.
_QUESTION_END_CHARS = 300
# Maximum number of digits in a country prefix.
_LONGEST_PREFIX = 3
# The characters in which "than" and an article precede a name.
_NEAR = 24
# Maximum number of positions of a quantity to examine.
_MAX_POSITIONS = 256
# Cost of indexing one character of a sample, in characters; see `compute`.
_INDEXING_COST = 8


async def index_texts(evidence: Evidence, rows: Collection[int] = ()) -> SampleIndex:
    """Return an index of the texts in `evidence.samples`, built once for all sentences.

    Args:
        evidence: The texts, and the question, whose words are no facts of an answer.
        rows: The positions of texts that are rows of tables, or objects.
    """
    question, conversation = _question_of(evidence.user_request or evidence.request)
    indexing = Indexing(question, conversation, frozenset(rows))
    return await evidence.samples.derive(indexing, chars=_INDEXING_COST * evidence.samples.chars)


def _question_of(request: Request) -> tuple[str, str]:
    """Return the question, and the conversation that precedes it.

    A long message includes its own documents, whose facts are not taken for granted: only the
    question counts, which is its last sentence with a question mark or else its end.
    """
    message = request.question
    if len(message) <= _QUESTION_CHARS:
        return message, request.conversation(_CONVERSATION_CHARS)
    end = max(message.rfind("?"), message.rfind("？")) + 1 or len(message)
    start = max(
        message.rfind("\n", 0, end),
        message.rfind(". ", 0, end),
        end - _QUESTION_END_CHARS,
    )
    return message[start + 1 : end], ""


def comparison_cost(passage: Passage, index: SampleIndex) -> float:
    """Return what comparing a passage costs, in characters for `compute`."""
    sentence_chars = sum(len(sentence.text) for sentence in passage.sentences)
    _, nearby = nearby_text(passage)
    chars = max(sentence_chars, len(nearby))
    # A sample is read when it is first compared, however long it is.
    longest_sample = max(map(len, index.texts), default=0)
    return _INDEXING_COST * (chars * (1 + index.count / 5) + longest_sample)


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


@dataclass(frozen=True, slots=True)
class Rival:
    """A value that samples give in place of one of a sentence.

    Attributes:
        written: The value as written.
        count: How many samples have it.
        position: The position of a sentence about the same that has it; None if there is none.
    """

    written: str
    count: int
    position: int | None


class FactComparison:
    """Compares the facts of a sentence with texts.

    Args:
        sentence: The sentence.
        text: The sentence without its citation marks.
        index: The index of the texts.
        with_answers: Whether these are answers to the same question; documents answer neither yes
            nor no, and say much else.

    Attributes:
        statement: What the sentence states.
    """

    def __init__(
        self, sentence: Sentence, text: str, index: SampleIndex, *, with_answers: bool
    ) -> None:
        stop_if_abandoned()
        self.statement = Statement(
            sentence,
            text,
            index.question,
            index.language,
            # `references` compares links with the documents, and with their addresses.
            with_links=with_answers,
            parts_of_months=not with_answers,
        )
        self._index = index
        self._with_answers = with_answers
        # "The last Sunday of August" is no date that could agree with the end of August.
        self.statement.quantities = [
            quantity
            for quantity in self.statement.quantities
            if (not quantity.is_part_of_month or quantity.month in index.months)
            and not (not with_answers and self._is_in_compared_name(quantity))
        ]
        self._opposition = Opposition(self.statement, index, with_answers=with_answers)

    def _is_in_compared_name(self, quantity: Quantity) -> bool:
        """Whether a number is a part of a name that texts have: "louder than the Aerovia 6"."""
        if quantity.unit or quantity.year_or_date:
            return False
        return any(start < quantity.start < end for start, end in self._compared_names)

    @cached_property
    def _compared_names(self) -> list[Span]:
        """The spans of the names that texts have, directly behind "than" in the sentence."""
        text, than = self.statement.text, all_words("numbers", "than")
        if than.isdisjoint(self.statement.words):
            return []
        spans: list[Span] = []
        for start, end in capital_runs(text):
            before = text[max(start - _NEAR, 0) : start].lower().split()[-2:]
            if not than.isdisjoint(before):
                name = text[start:end].lower()
                if any(name in other for other in self._index.texts):
                    spans.append((start, end))
        return spans

    def facts(self, *, with_contradiction: bool = True) -> list[Fact]:
        """Return the facts that the sentence states, with the support of each text.

        Args:
            with_contradiction: Whether to look for texts that say the opposite of the sentence as a
                whole, which takes most of the time.
        """
        statement = self.statement
        facts = [self._quantity_fact(quantity) for quantity in statement.quantities]
        facts += [self._code_fact(code) for code in statement.codes]
        facts += [self._long_number_fact(start, end) for start, end in statement.long_numbers]
        facts += self._name_facts()
        facts += self._word_facts()
        facts += self._link_facts()
        facts += [self._letter_fact(letter) for letter in sorted(statement.letters)]
        facts += self._quotation_facts()
        stance = self._opposition.stance_fact()
        if stance is not None:
            facts.append(stance)
        if with_contradiction or not facts:
            contradiction = self._opposition.contradiction_fact()
            if contradiction is not None:
                facts.append(contradiction)
        if not facts:
            facts = self._repeated_facts()
        if stance is None and self._with_answers:
            answer = self._answer_fact(facts)
            if answer is not None:
                facts.append(answer)
        facts += self._substitution_facts(facts)
        if self._with_answers:
            # A document that is silent on the matter says nothing for it.
            silent = self._silent_samples()
            for fact in facts:
                for sample in silent:
                    fact.support[sample] = max(fact.support[sample], _SILENT)
        return facts

    # Each kind of fact.

    def _quantity_fact(self, quantity: Quantity) -> Fact:
        """Return a quantity as a fact: supported in full where it has a word beside it."""
        index, own_stems = self._index, self.statement.own_stems
        support = [0.0] * index.count
        mentioned = [False] * index.count
        for candidate in index.quantity_keys.candidates(quantity, _MAX_POSITIONS):
            other, positions = index.quantities[candidate]
            share_confirmed = self._share_confirmed(quantity, other)
            if not share_confirmed:
                continue
            for position in self._on_any_matter(quantity, other, positions[:_MAX_POSITIONS]):
                sentence = index.sentences[position]
                sample = sentence.sample
                # "1932" is a part of "March 1932".
                mentioned[sample] |= share_confirmed == 1.0
                if support[sample] >= share_confirmed:
                    continue
                is_near = sentence.alone or not own_stems
                is_near = is_near or not own_stems.isdisjoint(sentence.stems)
                value = share_confirmed if is_near else share_confirmed * ELSEWHERE
                support[sample] = max(support[sample], value)
        if not self._with_answers and (quantity.unit or quantity.year_or_date):
            for sample, value in enumerate(support):
                if value == ELSEWHERE and self._is_only_one(quantity, sample):
                    support[sample] = 1.0
        if not self._with_answers and self.statement.is_day(quantity):
            for sample in index.samples_by_day.get(int(quantity.plain), ()):
                support[sample] = max(support[sample], 1.0)
                mentioned[sample] = True
        mentioned_in_part = sum(map(bool, support)) - sum(mentioned)
        silent = [
            sample
            for sample, value in enumerate(support)
            if not value and not any(map(quantity.comparable, index.readings[sample].rivals))
        ]
        self._excuse(support, silent)
        return Fact(
            text=self.statement.original.as_written(quantity.start, quantity.end),
            weight=QUANTITY_WEIGHT,
            kind="quantity",
            support=support,
            mentioned=mentioned,
            quantity=quantity,
            mentioned_in_part=mentioned_in_part,
        )

    def _on_any_matter(
        self, quantity: Quantity, other: Quantity, positions: Sequence[int]
    ) -> Sequence[int]:
        """Return the positions at which a quantity of documents may be one of the sentence.

        "Version 30 was released" says nothing of 30 days, if the document has no word of the
        sentence or the question.
        """
        index = self._index
        is_measure = quantity.unit and not other.unit
        if self._with_answers or not is_measure or not self._is_in_language_of_texts:
            return positions
        words = plain_stems(self.statement.text) | index.question.topic
        words -= ignored_words()
        on_any_matter: list[int] = []
        for position in positions:
            sample = index.sentences[position].sample
            if sample in index.rows or not words.isdisjoint(index.stems[sample]):
                on_any_matter.append(position)
        return on_any_matter

    @cached_property
    def _is_in_language_of_texts(self) -> bool:
        return detect_from_words(self.statement.words) in (None, self._index.language)

    def _share_confirmed(self, quantity: Quantity, other: Quantity) -> float:
        """Return how much of a quantity another confirms; documents may round it."""
        share_confirmed = quantity.supported_by(other)
        if share_confirmed or self._with_answers:
            return share_confirmed
        return float(quantity.rounds(other))

    def _is_only_one(self, quantity: Quantity, sample: int) -> bool:
        """Whether a text has no other value of a quantity's kind, so that no word need tell it."""
        for position in self._index.positions[sample]:
            for other in self._index.sentences[position].quantities:
                is_alike = other.unit == quantity.unit and quantity.comparable(other)
                if is_alike and not quantity.agrees(other):
                    return False
        return True

    def _code_fact(self, code: str) -> Fact:
        support = [float(code.lower() in text) for text in self._index.texts]
        return _fact(code, QUANTITY_WEIGHT, "code", support)

    def _long_number_fact(self, start: int, end: int) -> Fact:
        """Return a long number, however it is grouped, or a mail address as a fact."""
        number = self.statement.text[start:end]
        if "@" in number:
            address = re.compile(rf"(?<![\w.+-]){re.escape(number.lower())}(?![\w-]|\.\w)")
            support = [float(address.search(text) is not None) for text in self._index.texts]
        else:
            forms = _forms_of_number(number)
            support = [float(any(form in text for form in forms)) for text in self._index.ungrouped]
        written = self.statement.original.as_written(start, end)
        return _fact(written, QUANTITY_WEIGHT, "code", support, decides=True)

    def _name_facts(self) -> Iterator[Fact]:
        """Yield the words of names: supported in full, or partly in another form."""
        index, names = self._index, self.statement.names_and_words.names
        for stem, weight in self.statement.names_and_words.name_weights().items():
            word, name = names[stem]
            lowered = word.lower()
            support = [
                1.0 if lowered in written else _OTHER_FORM * (stem in stems)
                for written, stems in zip(index.words, index.stems, strict=True)
            ]
            mentioned = list(map(bool, support))
            self._excuse(support, [k for k in self._terse_samples if not support[k]])
            yield Fact(
                text=word,
                weight=weight,
                kind="name",
                support=support,
                mentioned=mentioned,
                name=" ".join(name),
            )

    @cached_property
    def _terse_samples(self) -> list[int]:
        """The samples that say nothing but what this sentence or the question says."""
        stated = self.statement.stems | self._index.question.given_stems
        return [sample for sample, words in enumerate(self._index.stems) if words <= stated]

    def _word_facts(self) -> Iterator[Fact]:
        words = self.statement.names_and_words.words
        factor = self._word_factor()
        for stem, weight in self.statement.names_and_words.word_weights().items():
            support = self._support_of_stem(stem)
            if not self._with_answers:
                self._add_synonyms(words[stem].lower(), support)
            yield _fact(words[stem], weight * factor, "word", support)

    def _add_synonyms(self, word: str, support: list[float]) -> None:
        """Let documents support a word that have one of the same meaning: "shut" and "closed"."""
        group_and_side = side_of(word, self._index.language)
        if group_and_side is None:
            return
        group, side = group_and_side
        for position in self._index.groups.get(group, ()):
            if side in self._index.wording(position).sides.get(group, ()):
                support[self._index.sentences[position].sample] = 1.0

    def _word_factor(self) -> float:
        """Return the factor of words: lower if short answers word the same thing differently.

        It is 1 in scripts without capitals, where any word may be a name.
        """
        index, text = self._index, self.statement.text
        has_case = text.lower() != text.upper()
        if index.count < _ENOUGH_SAMPLES or len(index.short) < index.count or not has_case:
            return 1.0
        return min(1.0, index.repetition / _REPEATED)

    def _support_of_stem(self, stem: str) -> list[float]:
        return [1.0 if stem in stems else 0.0 for stems in self._index.stems]

    def _link_facts(self) -> Iterator[Fact]:
        """Yield links: another address, or a part of one, does not support them.

        A sample that links nothing cites nothing, so it says nothing about the link of a citation.
        """
        links = self.statement.links
        for link in links:
            yield _fact(link, QUANTITY_WEIGHT, "code", self._support_of_link(link), decides=True)
        cited_links = [link for link in self.statement.cited_links if link not in links]
        if not cited_links:
            return
        readings = self._index.readings
        unlinked = [sample for sample, reading in enumerate(readings) if not reading.links]
        if len(unlinked) == self._index.count:
            return
        for link in cited_links:
            fact = _fact(link, QUANTITY_WEIGHT, "code", self._support_of_link(link), decides=True)
            self._excuse(fact.support, unlinked)
            yield fact

    def _support_of_link(self, link: str) -> list[float]:
        return [float(link in reading.links) for reading in self._index.readings]

    def _letter_fact(self, letter: str) -> Fact:
        """Return a letter that stands for itself as a fact."""
        if self._with_answers:
            support = [float(letter in reading.letters) for reading in self._index.readings]
        else:
            # "11 V" is a letter in a document, too.
            word = re.compile(rf"(?<!\w){re.escape(letter.lower())}(?!\w)")
            support = [float(word.search(text) is not None) for text in self._index.texts]
        return _fact(letter, NAME_WEIGHT, "code", support)

    def _quotation_facts(self) -> Iterator[Fact]:
        """Yield what the sentence quotes, each quotation as a whole.

        Answers that quote nothing on the matter do not say that it was worded otherwise; if all
        are like that, a quotation is no fact to compare.
        """
        index, text = self._index, self.statement.text
        for start, end in quotations_in(text):
            quotation = text[start:end]
            stems = frozenset(stems_of(quotation))
            if stems <= index.question.given_stems:
                continue
            samples_in_these_words: set[int] = set()
            for position in index.sharing(stems):
                sentence = index.sentences[position]
                if share(stems, sentence.stems) >= _SAME_WORDING:
                    samples_in_these_words.add(sentence.sample)
            mentioned = [
                sample in samples_in_these_words or self._has_quotation(sample, quotation)
                for sample in range(index.count)
            ]
            support = list(map(float, mentioned))
            if self._with_answers:
                quoting = self._samples_quoting_on_the_matter()
                if not any(mentioned) and not quoting:
                    continue
                silent = [
                    sample
                    for sample in range(index.count)
                    if not mentioned[sample] and sample not in quoting
                ]
                self._excuse(support, silent)
                if not any(mentioned):
                    for sample in silent:
                        support[sample] = len(silent) / index.count
            yield Fact(
                text=self.statement.original.as_written(start, end),
                weight=QUANTITY_WEIGHT,
                kind="quotation",
                support=support,
                mentioned=mentioned,
            )

    def _has_quotation(self, sample: int, quotation: str) -> bool:
        """Return whether a sample has the words of a quotation in order, also with an ellipsis."""
        position = 0
        for piece in quoted_pieces(quotation):
            words = map(re.escape, _WORD_RUN.findall(piece.lower()))
            match = re.compile(r"\W+".join(words)).search(self._index.texts[sample], position)
            if match is None:
                return False
            position = match.end()
        return True

    def _samples_quoting_on_the_matter(self) -> set[int]:
        """Return the samples that quote anything in a sentence on the same matter."""
        index = self._index
        threshold = _ON_THE_MATTER * len(self.statement.own_stems)
        positions = set(index.alone)
        for position, shared in self._sharing_own_stems.items():
            if shared >= threshold:
                positions.add(position)
        quoting: set[int] = set()
        for position in positions:
            sentence = index.sentences[position]
            # The mark behind a full stop belongs to the sentence.
            end = sentence.start + len(sentence.text) + 1
            if any(quotations_in(index.texts[sentence.sample][sentence.start : end])):
                quoting.add(sentence.sample)
        return quoting

    def _repeated_facts(self) -> list[Fact]:
        """Return what the sentence says as facts if it says no more than the question does."""
        statement = self.statement
        facts = [self._quantity_fact(q) for q in distinct_quantities(statement.all_quantities)]
        words: dict[str, str] = {}
        for match in words_of(statement.text).finditer(statement.text):
            for stem in word_stems(match[0].lower()):
                words.setdefault(stem, match[0])
        weight = WORDS_AT_MOST / max(len(words), 1)
        for stem, word in words.items():
            facts.append(_fact(word, weight, "word", self._support_of_stem(stem)))
        return facts

    def _answer_fact(self, facts: Sequence[Fact]) -> Fact | None:
        """Return the sentence as a fact that a short sample supports if they share a word.

        A quantity or a synonym counts too, and words of the question if the sentence has no others.
        """
        index, statement = self._index, self.statement
        own_words: Collection[str] = statement.own_stems or statement.stems
        sample_words = index.stems
        if not own_words:
            # "y" and "x" are common words.
            own_words = set(words_of(statement.text).findall(statement.text.lower()))
            sample_words = index.words
        if len(index.short) < index.count or not own_words:
            return None
        quantity_facts = [fact for fact in facts if fact.quantity is not None]
        mentioned: list[bool] = []
        for sample, words in enumerate(sample_words):
            has_quantity = any(fact.support[sample] >= ELSEWHERE for fact in quantity_facts)
            has_word = has_quantity or not words.isdisjoint(own_words)
            mentioned.append(has_word or self._has_synonym(sample))
        support = list(map(float, mentioned))
        self._excuse(support, [sample for sample, words in enumerate(sample_words) if not words])
        return Fact(
            text=statement.written,
            weight=_ANSWER_WEIGHT * (1 - fmean(support)),
            kind="relation",
            support=support,
            mentioned=mentioned,
            reason=f"{sum(mentioned)} of {index.count} {TEXTS_COMPARED} have a word of it,"
            " or a synonym",
        )

    def _has_synonym(self, sample: int) -> bool:
        """Return whether a short sample has a synonym, or the opposite and a "not"."""
        own = self.statement.wording
        for position in self._index.positions[sample]:
            other = self._index.wording(position)
            has_same_negation = other.negated == own.negated
            for group in other.sides.keys() & own.sides.keys():
                is_opposite = other.sides[group].isdisjoint(own.sides[group])
                if is_opposite != has_same_negation:
                    return True
        return False

    def _substitution_facts(self, facts: Sequence[Fact]) -> Iterator[Fact]:
        """Yield the words that no text has, if most have another word in the same place.

        Args:
            facts: The facts of the sentence; texts may write supported quantities otherwise.
        """
        index, statement = self._index, self.statement
        supported = list(statement.long_numbers)
        supported += [
            (fact.quantity.start, fact.quantity.end)
            for fact in facts
            if fact.quantity is not None and max(fact.support) >= ELSEWHERE
        ]
        matches = list(words_of(statement.text).finditer(statement.text))
        words = ["", *(match[0].lower() for match in matches), ""]
        for i, match in enumerate(matches, 1):
            word = words[i]
            if word in ignored_words() or any(word in text_words for text_words in index.words):
                continue
            is_supported = any(start <= match.start() < end for start, end in supported)
            if is_supported or index.question.given_stems.issuperset(stems_of(word)):
                continue
            around = words[i - 1], words[i + 1]
            # Different words between common words may mean the same; and a document, which is not
            # a second answer, is worded differently throughout.
            is_distinctive = match[0][0].isupper() or word[0].isdigit()
            if not self._with_answers and i == 1 and not word[0].isdigit():
                is_distinctive = False
            common_count = sum(other == "" or other in ignored_words() for other in around)
            if not is_distinctive and common_count > (1 if self._with_answers else 0):
                continue
            other, count = index.most_frequent_between(around, is_number=word[0].isdigit())
            if 2 * count < index.count or other in words:
                continue
            if not self._with_answers and are_synonyms(word, other, index.language):
                continue
            # The fields of a row have no words between them that could mean something else.
            support = [
                float(sample in index.rows or other not in text_words)
                for sample, text_words in enumerate(index.words)
            ]
            yield Fact(
                text=statement.original.as_written(*match.span()),
                weight=0.0,
                kind="relation",
                support=support,
                mentioned=[False] * index.count,
                decides=True,
                rival=(index.as_said(other), count),
                opposing_sentence=self._nearest_with(other),
            )

    def _nearest_with(self, word: str) -> int | None:
        """Return the position of the sentence with a word that is most like this one."""
        positions = sorted(self._index.with_words([word]))
        sentences = self._index.sentences
        return max(positions, key=lambda k: self._likeness_to(sentences[k]), default=None)

    # Silence.

    def _silent_samples(self) -> list[int]:
        """Return the samples without a sentence on the same matter."""
        # A sample that has another name in the same sentence is not silent.
        matter = frozenset(self.statement.names_and_words.words) or self.statement.own_stems
        if not matter:
            return []
        speaking = set(self._index.short)
        for position, shared in self._index.sharing(matter).items():
            if shared >= _ON_THE_MATTER * len(matter):
                speaking.add(self._index.sentences[position].sample)
        return [sample for sample in range(self._index.count) if sample not in speaking]

    def _excuse(self, support: list[float], silent: Sequence[int]) -> None:
        """Let answers that do not mention a fact follow those that do."""
        if not self._with_answers:
            return
        confirming = sum(support)
        denying = len(support) - len(silent) - confirming
        if confirming >= 1:
            for sample in silent:
                support[sample] = confirming / (confirming + denying + 1)

    @cached_property
    def _sharing_own_stems(self) -> dict[int, float]:
        """The number of its own words that each sentence shares, by position in the index."""
        return self._index.sharing(self.statement.own_stems)

    # What else texts say.

    def denials(self) -> dict[int, str]:
        """Return, by position of a text, its sentence that says otherwise on the same matter."""
        support = [self._quantity_fact(q).support for q in self.statement.quantities]
        return self._opposition.denials(support, ELSEWHERE)

    def exchanges_values(self, texts: Sequence[int]) -> bool:
        """Return whether a text has a value of the sentence elsewhere, and one another there.

        Args:
            texts: The positions of the texts.
        """
        return self._opposition.exchanges_values(texts)

    def displaced(self, texts: Collection[int]) -> DisplacedValue | None:
        """Return a quantity that texts have elsewhere, and one another in its place.

        Args:
            texts: The positions of the texts.
        """
        return self._opposition.displaced(texts)

    def rival_of(self, quantity: Quantity) -> Rival | None:
        """Return the value samples give most often in place of a quantity.

        Of several, the one in the sentence that is most like this one.
        """
        index = self._index
        positions = set(index.alone[:_MAX_POSITIONS])
        for position, shared in self._sharing_own_stems.items():
            if shared >= len(self.statement.own_stems) / 4:
                positions.add(position)
        samples_by_meaning: defaultdict[Key, set[int]] = defaultdict(set)
        nearest: dict[Key, tuple[float, Rival]] = {}
        for position in sorted(positions):
            sentence = index.sentences[position]
            for other in sentence.quantities:
                # "Two" does not take the place of a year.
                is_same_kind = quantity.year_or_date == other.year_or_date
                if is_same_kind and quantity.comparable(other) and not quantity.agrees(other):
                    samples_by_meaning[other.meaning].add(sentence.sample)
                    likeness = self._likeness_to(sentence)
                    if likeness > nearest.get(other.meaning, (-1.0,))[0]:
                        count = index.count_of(other.meaning)
                        # "Six lanes" is the other number that there is, and no other of lamps.
                        own_stems = self.statement.own_stems
                        is_same = not own_stems or not own_stems.isdisjoint(sentence.stems)
                        quoted = position if is_same else None
                        rival = Rival(sentence.as_written(other), count, quoted)
                        nearest[other.meaning] = likeness, rival
        if not samples_by_meaning:
            return None
        most_frequent = max(
            samples_by_meaning,
            key=lambda meaning: (len(samples_by_meaning[meaning]), nearest[meaning][0]),
        )
        return nearest[most_frequent][1]

    def _likeness_to(self, sentence: IndexedSentence) -> float:
        """Return the share of the words of both sentences that they have in common."""
        stems = self.statement.stems
        return len(stems & sentence.stems) / max(len(stems | sentence.stems), 1)

    def explain(self, fact: Fact) -> str:
        """Return in how many texts a fact is."""
        index = self._index
        written = normalized(fact.text).lower()
        of_all = f"{sum(fact.mentioned)} of {index.count} {TEXTS_COMPARED}"
        has_other_sense = has_other_form = False
        for sample, is_mentioned in enumerate(fact.mentioned):
            is_literal = index.has_literally(sample, written)
            has_other_sense = has_other_sense or (is_literal and not is_mentioned)
            has_other_form = has_other_form or (is_mentioned and not is_literal)
        if has_other_sense:
            return f"{of_all} have {fact.text!r} in this sense"
        other_form = ", or the same in another form," if has_other_form else ""
        reason = f"{fact.text!r}{other_form} is in {of_all}"
        if fact.quantity is None:
            return reason
        # Such a number is in doubt although texts have it.
        elsewhere = sum(
            is_mentioned and 0 < support <= ELSEWHERE
            for is_mentioned, support in zip(fact.mentioned, fact.support, strict=True)
        )
        return f"{reason}, but beside other words in {elsewhere}" if elsewhere else reason


def _fact(
    text: str, weight: float, kind: FactKind, support: list[float], *, decides: bool = False
) -> Fact:
    """Return a fact that texts say or do not say."""
    return Fact(
        text=text,
        weight=weight,
        kind=kind,
        support=support,
        mentioned=list(map(bool, support)),
        decides=decides,
    )


def _forms_of_number(number: str) -> set[str]:
    """Return the forms of a long number: without its country prefix, or the 0 of its area code."""
    digits = ungrouped(number)
    forms = {digits, digits.lstrip("0")}
    if number.startswith("+"):
        forms |= {digits[prefix:] for prefix in range(1, _LONGEST_PREFIX + 1)}
    return {form for form in forms if len(form) >= LONG_DIGITS}
