"""Finds texts that say the opposite of a sentence in the same words.

A text says the opposite by the opposites and roles that `resay.scorers.common.contrast` knows, by
two values or parts in each other's place, by another order where the question asks for one, or by
the other answer to a yes-or-no question. A list in another order says the same
(`resay.scorers.common.lists`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace
from functools import cached_property

from resay.core.non_claims import non_claim_kind
from resay.core.quantities import Quantity, negations
from resay.core.segmentation.spans import Span
from resay.lang.language import all_words
from resay.lang.tables import table, word_set
from resay.scorers.base import TEXTS_COMPARED
from resay.scorers.common.contrast import (
    TOWARDS,
    Relation,
    Wording,
    name_of_group,
    parts_of,
)
from resay.scorers.common.displaced_values import DisplacedValue, DisplacedValues
from resay.scorers.common.fact import Fact
from resay.scorers.common.indexed_sentences import (
    ClauseQuantities,
    plain_stems,
    quantities_by_clause,
)
from resay.scorers.common.lists import Segments, shared_lists
from resay.scorers.common.sample_index import (
    MAX_QUANTITIES,
    Agreement,
    ClauseValues,
    SampleIndex,
)
from resay.scorers.common.statement import Statement
from resay.scorers.common.words import is_quick, out_of_order, restricts, share, stance, stems_of

# A yes or no is the whole answer.
_STANCE_WEIGHT = 12.0
# Support from an answer to a yes-or-no question that says neither, and more than was asked.
_EVASIVE = 0.25
# Two sentences are about the same matter if they share this much of their words.
_SAME_SUBJECT = 0.5
# Each quantity is compared with each of a text; longer lists are not compared.
_MAX_QUANTITIES = 24

# Of each part one word in each of two parts of a text.
_MIN_MIXED_WORDS = 4

SharedLists = tuple[Sequence[Span], Sequence[Span]]
"""The lists that two sentences share in another order: their spans in each."""


class Opposition:
    """Compares what a sentence says as a whole with texts.

    Args:
        statement: The sentence.
        index: The index of the texts.
        with_answers: Whether these are answers to the same question, or documents.
    """

    def __init__(self, statement: Statement, index: SampleIndex, *, with_answers: bool) -> None:
        self._statement = statement
        self._index = index
        self._with_answers = with_answers
        # By position of a sentence, the lists it shares in another order.
        self._shared_lists: dict[int, SharedLists] = {}

    def stance_fact(self) -> Fact | None:
        """Return the sentence's answer to a yes-or-no question as a fact, if it is one."""
        statement, question = self._statement, self._index.question
        # "No" in a table cell does not answer a question.
        is_cell = statement.standalone not in ("", statement.text)
        own_stance = None if is_cell else stance(statement.text)
        if not self._with_answers and (own_stance == "no" or statement.wording.negated):
            # Documents say otherwise that something is not so: "excluded".
            return None
        if own_stance is None:
            is_answer = share(question.topic, statement.stems) >= _SAME_SUBJECT
            if not question.is_polar or not is_answer:
                return None
        clauses = [statement.text[start:end] for start, end in parts_of(statement.text)]
        answer = max(clauses, key=lambda clause: share(question.topic, stems_of(clause)))
        is_negative = own_stance == "no" or (
            own_stance is None
            and Wording(answer, self._index.language).answers_no(question.wording)
        )
        is_limited = restricts(statement.text)
        support = [
            self._stance_support(sample, is_negative=is_negative, is_limited=is_limited)
            for sample in range(self._index.count)
        ]
        opposing_count = support.count(0.0)
        agreeing_count = support.count(1.0)
        texts = f"of {len(support)} {TEXTS_COMPARED}"
        if opposing_count:
            reason = f"{opposing_count} {texts} answer the other way"
        elif agreeing_count == len(support):
            reason = f"{agreeing_count} {texts} answer the same way"
        else:
            reason = f"{len(support) - agreeing_count} {texts} do not answer the same way"
        opposing_sentences = [
            self._index.topical[sample]
            for sample, value in enumerate(support)
            if not value and self._index.topical[sample] is not None
        ]
        return Fact(
            text=statement.written,
            weight=_STANCE_WEIGHT,
            kind="relation",
            support=support,
            reason=reason,
            opposing_sentence=next(iter(opposing_sentences), None),
        )

    def _stance_support(self, sample: int, *, is_negative: bool, is_limited: bool) -> float:
        """Return how far a sample gives the same yes or no as the sentence."""
        index = self._index
        sample_stance, position = index.readings[sample].stance, index.topical[sample]
        if position is None:
            return float((sample_stance == "no") == is_negative)
        sentence, wording = index.sentences[position], index.wording(position)
        if sample_stance is None and non_claim_kind(sentence.text, is_open=True) == "refusal":
            return _EVASIVE
        denies = sample_stance == "no"
        if sample_stance is None:
            denies = wording.answers_no(index.question.wording)
        if denies != is_negative:
            return 0.0
        if not self._with_answers:
            return 1.0
        if sample_stance is None and not is_negative:
            stated = index.question.topic | self._statement.stems | index.question.given_stems
            says_more = bool(sentence.stems - stated) or bool(sentence.quantities)
            if restricts(sentence.text) != is_limited or (says_more and not is_limited):
                return _EVASIVE
        return _EVASIVE if is_limited and not restricts(sentence.text) else 1.0

    def contradiction_fact(self) -> Fact | None:
        """Return the sentence as a fact that decides, if texts say the opposite."""
        index = self._index
        swaps = [self._swaps_values_or_parts(sample) for sample in range(index.count)]
        if True not in swaps and not self.opposing:
            # Which texts say the same takes long to find, and matters only beside others.
            return None
        opposing_samples = {index.sentences[position].sample for position in self.opposing}
        # By text, whether it says the opposite; None if it says nothing on the matter.
        opposes: list[bool | None] = []
        for sample, swapped in enumerate(swaps):
            if swapped or sample in opposing_samples:
                opposes.append(True)
            elif swapped is False or self.agrees(sample):
                opposes.append(False)
            else:
                opposes.append(None)
        opposing_sentence = next(iter(self.opposing), None)
        agreeing, opposing = opposes.count(False), opposes.count(True)
        # A silent sample follows the others, with one more that agrees.
        support_of_silent = (agreeing + 1) / (agreeing + opposing + 1)
        if not self._with_answers and not agreeing:
            # A document about something else does not speak for it.
            support_of_silent = 0.0
        support = [
            support_of_silent if is_opposite is None else float(not is_opposite)
            for is_opposite in opposes
        ]
        reason = f"{opposing} of {index.count} {TEXTS_COMPARED} say otherwise"
        if opposing_sentence is not None:
            quoted = index.sentences[opposing_sentence].written.strip()
            reason = f"{reason}, such as {quoted!r}"
        return Fact(
            text=self._statement.written,
            weight=0.0,
            kind="relation",
            support=support,
            decides=True,
            reason=reason,
            opposing_sentence=opposing_sentence,
        )

    def _swaps_values_or_parts(self, sample: int) -> bool | None:
        """Return whether a sample has values, parts or items of the sentence the other way round.

        None if it has none of them.
        """
        index = self._index
        may_swap_values = self._has_value_of(sample)
        is_row = sample in index.rows
        may_mix_parts = self._has_parts and not is_row and self._may_be_mixed_in(sample)
        own_lists: Sequence[Span] = ()
        sample_lists: Mapping[int, Sequence[Span]] = {}
        if may_swap_values or may_mix_parts:
            own_lists, sample_lists = self._lists_shared_with(sample)
        swaps = None
        if may_swap_values:
            clauses = self._clauses_with(own_lists) if own_lists else self._clauses
            swaps = self._swaps_values(clauses, index.clauses(sample, sample_lists))
        if not swaps and not is_row and index.question.is_for_order:
            swaps = out_of_order(self._statement.text, index.texts[sample])
        if swaps or not may_mix_parts:
            return swaps
        parts = self._own_wording(own_lists).part_stems
        wordings = {
            position: index.wording(position, lists) for position, lists in sample_lists.items()
        }
        return True if index.mixes(sample, parts, wordings) else swaps

    def _may_be_mixed_in(self, sample: int) -> bool:
        """Whether a sample is short enough, and has two words of each of two parts."""
        index, statement = self._index, self._statement
        if not index.may_mix(sample):
            return False
        has_same_words = is_quick(statement.text) and not index.unlike_sample.intersection(
            index.positions[sample]
        )
        shared_count = len(statement.stems & index.stems[sample])
        return shared_count >= _MIN_MIXED_WORDS or not has_same_words

    def _has_value_of(self, sample: int) -> bool:
        """Whether a sample has a value that agrees with one of the sentence."""
        return not self._agreeing_values.isdisjoint(self._index.values_of(sample))

    @cached_property
    def _agreeing_values(self) -> frozenset[int]:
        """The numbers of the samples' values that agree with one of the sentence."""
        agreeing: set[int] = set()
        if len(self._statement.all_quantities) > _MAX_QUANTITIES:
            return frozenset()
        for quantity in self._statement.all_quantities:
            agreeing |= self._index.agreement_with(quantity).agreeing
        return frozenset(agreeing)

    @cached_property
    def _has_parts(self) -> bool:
        """Whether it has several parts; lists can only join them."""
        return len(self._statement.wording.spans) > 1

    @cached_property
    def opposing(self) -> Sequence[int]:
        """The positions of the comparable sentences that say the opposite, in order."""
        index, own = self._index, self._statement.wording
        opposing: list[int] = []
        is_denial = own.negated and not self._with_answers
        if is_denial and not all_words("numbers", "than").isdisjoint(self._statement.words):
            # "No more than three hours", of "up to three hours".
            return opposing
        for position in self.comparable:
            if self._is_excepted_at(position) or self._denies_a_part_of(position):
                opposing.append(position)
                continue
            if position not in self._contrasting or (is_denial and self._may_deny(position)):
                continue
            if index.sentences[position].sample in index.rows and not own.compares_parts(
                index.wording(position)
            ):
                # The order of fields says nothing of who does what.
                continue
            question = self._question_at(position)
            if not own.may_contradict(index.wording(position), question):
                continue
            if self._is_opposite_at(position):
                opposing.append(position)
        return opposing

    def _may_deny(self, position: int) -> bool:
        """Whether a denial may be true beside what a sentence says: of something else."""
        index, statement = self._index, self._statement
        if not all_words("comparison", "conditions").isdisjoint(index.sentences[position].words):
            # "Not covered", of "covered unless".
            return True
        # "Not after 30 days", of "within 30 days".
        other_sides = index.wording(position).sides.keys()
        return bool(statement.all_quantities and statement.wording.sides.keys() - other_sides)

    def _is_excepted_at(self, position: int) -> bool:
        """Whether a sentence says all that this one says, but of a part of it that it does not."""
        statement, sentence = self._statement, self._index.sentences[position]
        exceptions = all_words("comparison", "exceptions")
        if self._with_answers or statement.wording.negated or sentence.negated:
            return False
        if exceptions.isdisjoint(sentence.words) or not exceptions.isdisjoint(statement.words):
            return False
        # "All but hail" says the same as "all except hail".
        other_words = set(statement.words).difference(sentence.words)
        if not statement.stems <= sentence.stems or not other_words <= all_words(
            "comparison", "besides"
        ):
            return False
        cut = min(sentence.words.index(word) for word in exceptions & set(sentence.words))
        before = frozenset(stems_of(" ".join(sentence.words[:cut])))
        # "Except in May, it is open" begins with it.
        return bool(statement.stems & before) and not statement.stems <= before

    @cached_property
    def _conditions(self) -> frozenset[str]:
        """The words of conditions in the texts' language; in others "se" or "of" are none."""
        return word_set(table(self._index.language, "comparison").get("conditions", ""))

    def _denies_a_part_of(self, position: int) -> bool:
        """Whether a sentence says in one of its parts all that this one says is not so."""
        statement, sentence = self._statement, self._index.sentences[position]
        if self._with_answers or not statement.wording.negated:
            return False
        if statement.all_quantities or sentence.negated:
            return False
        if not self._conditions.isdisjoint((*statement.words, *sentence.words)):
            return False
        if len(statement.stems) < 2 or restricts(statement.text) or restricts(sentence.text):
            return False
        return any(statement.stems <= part for part in self._index.wording(position).part_stems)

    def agrees(self, sample: int) -> bool:
        """Return whether a sample of which no sentence says the opposite has one that agrees."""
        index, own = self._index, self._statement.wording
        contrasting: list[int] = []
        for position in self._comparable_by_sample.get(sample, ()):
            if position in self._contrasting:
                contrasting.append(position)
            elif own.is_similar_to(index.sentences[position].stems):
                return True
        return any(self._is_opposite_at(position) is False for position in contrasting)

    def _question_at(self, position: int) -> Wording | None:
        """Return the question if a sentence is a short answer to it, else None."""
        index = self._index
        return index.question.wording if index.sentences[position].alone else None

    def _is_opposite_at(self, position: int) -> bool | None:
        """Return whether a comparable sentence says the opposite; see `Wording.contradicts`."""
        index, own = self._index, self._statement.wording
        other = index.wording(position)
        if own.compares_parts(other):
            own_lists, other_lists = self._lists_shared_at(position)
            own = self._own_wording(own_lists)
            other = index.wording(position, other_lists)
        is_opposite = own.contradicts(other, self._question_at(position))
        if not is_opposite or self._with_answers or own.negated == other.negated:
            return is_opposite
        return True if own.shares_negated(other) else None

    @cached_property
    def _contrasting(self) -> Set[int]:
        """The positions of sentences that have more to be compared than how similar they are."""
        index, own = self._index, self._statement.wording
        if own.negated or own.scores:
            return set(self.comparable)
        positions = {*index.negated, *index.unlike_sample}
        for group in own.contrasting_groups:
            positions |= index.groups.get(group, set())
        if own.opposite_adjectives:
            positions |= index.with_words(own.opposite_adjectives)
        for relation in own.relations:
            positions |= self._relating(relation)
        return positions

    def _relating(self, relation: Relation) -> Set[int]:
        """Return the positions of sentences that may relate the same names, by the same words."""
        index = self._index
        if TOWARDS in relation.by:
            return set(self.comparable)
        positions = index.with_stems(relation.by)
        for group, of_group in index.groups.items():
            if name_of_group(group) in relation.by:
                positions |= of_group
        if relation.second:
            # One of the names must be there.
            positions &= index.with_stems(relation.first | relation.second)
        return positions

    @cached_property
    def comparable(self) -> list[int]:
        """The positions of the sentences that are compared, in order."""
        index, stems = self._index, self._statement.stems
        positions = set(index.alone)
        for position, shared in index.sharing(stems).items():
            shorter = min(len(stems), len(index.sentences[position].stems))
            if shared >= 2 and shared >= shorter / 4:
                positions.add(position)
        return sorted(positions)

    @cached_property
    def _segments(self) -> Segments:
        statement = self._statement
        return Segments.of(statement.text, statement.words)

    def _lists_shared_at(self, position: int) -> SharedLists:
        """Return the lists that it shares with a comparable sentence in another order."""
        shared = self._shared_lists.get(position)
        if shared is None:
            shared = self._shared_lists[position] = self._find_lists_shared_at(position)
        return shared

    def _find_lists_shared_at(self, position: int) -> SharedLists:
        index, segments = self._index, self._segments
        if index.question.is_for_order:
            return (), ()
        count = segments.count_shared(index.distinct_words(position))
        if not count:
            return (), ()
        if count == 1 and len(segments.words) > 1 and index.has_separator(position):
            return (), ()
        return shared_lists(segments, index.segments(position))

    def _lists_shared_with(self, sample: int) -> tuple[list[Span], dict[int, Sequence[Span]]]:
        """Return the lists shared with any sentence of a sample, and its own by position."""
        own_lists: list[Span] = []
        sample_lists: dict[int, Sequence[Span]] = {}
        for position in self._comparable_by_sample.get(sample, ()):
            spans, other_spans = self._lists_shared_at(position)
            if spans or other_spans:
                own_lists += spans
                sample_lists[position] = other_spans
        return own_lists, sample_lists

    @cached_property
    def _comparable_by_sample(self) -> Mapping[int, Sequence[int]]:
        by_sample: defaultdict[int, list[int]] = defaultdict(list)
        for position in self.comparable:
            by_sample[self._index.sentences[position].sample].append(position)
        return by_sample

    def _own_wording(self, lists: Sequence[Span]) -> Wording:
        statement = self._statement
        if not lists:
            return statement.wording
        return Wording(statement.text, statement.language, lists)

    @cached_property
    def _clauses(self) -> list[ClauseQuantities]:
        """Its quantities with the words of their clauses."""
        return self._clauses_with(())

    def _clauses_with(self, lists: Sequence[Span]) -> list[ClauseQuantities]:
        statement = self._statement
        clauses = quantities_by_clause(self._own_wording(lists), statement.all_quantities)
        if len(clauses) == 1 and statement.standalone:
            words = plain_stems(statement.standalone)
            return [ClauseQuantities(words, clauses[0].quantities)]
        return clauses

    def _swaps_values(
        self, clauses: Sequence[ClauseQuantities], others: Sequence[ClauseValues]
    ) -> bool | None:
        """Return whether a text has a quantity elsewhere, and another in its place.

        Another quantity is in its place if the words around that one share more with the words
        here: all that the words around the same quantity share, and others.

        Args:
            clauses: The quantities of the sentence with the words of their clauses.
            others: The values of the text with the words of their clauses.

        Returns:
            False if it has them in their place, None if it has none of them.
        """
        if len(self._statement.all_quantities) > _MAX_QUANTITIES:
            return None
        if sum(other.count for other in others) > MAX_QUANTITIES:
            return None
        swaps: bool | None = None
        for clause in clauses:
            for quantity in clause.quantities:
                agreement = self._agreement_with(quantity)
                is_swapped = _is_swapped(agreement, clause.words, others)
                if is_swapped:
                    return True
                if is_swapped is False:
                    swaps = False
        return swaps

    def _agreement_with(self, quantity: Quantity) -> Agreement:
        """Return the values that agree with a quantity, and those that stand in its place."""
        agreement = self._index.agreement_with(quantity)
        if self._with_answers:
            return agreement
        # Of "$19 with 3 seats", a document's 3 is in the place of the 3.
        elsewhere: set[int] = set()
        for other in self._statement.all_quantities:
            if quantity.unit and not other.unit:
                elsewhere |= self._index.agreement_with(other).agreeing
        return replace(agreement, differing=agreement.differing - elsewhere)

    def exchanges_values(self, texts: Sequence[int]) -> bool:
        """Return whether a text has a value of the sentence elsewhere, and one another there.

        Args:
            texts: The positions of the texts.
        """
        clauses = [clause for text in texts for clause in self._index.clauses(text)]
        return self._swaps_values(self._clauses, clauses) is True

    def displaced(self, texts: Collection[int]) -> DisplacedValue | None:
        """Return a quantity that texts have elsewhere, and one another in its place.

        Args:
            texts: The positions of the texts.
        """
        if len(self._statement.all_quantities) > _MAX_QUANTITIES:
            return None
        search = DisplacedValues(self._statement, self._index, self._differs)
        return search.find(self._clauses, texts)

    def denials(self, support: Sequence[Sequence[float]], threshold: float) -> dict[int, str]:
        """Return, by position of a text, its sentence that says otherwise on the same matter.

        A sentence says otherwise if it has another value, or if it has most words of the sentence
        and only one of them is negated. Of several, the one with most of its words counts.

        Args:
            support: For each of the sentence's quantities the support of each text.
            threshold: The support from which a text is taken to have the quantity.
        """
        index, statement = self._index, self._statement
        # If it says no more than the question, its matter is the question's topic. A document may
        # name its subject in another sentence: "Its battery lasts 30 hours."
        matters = (statement.own_stems or index.question.topic, statement.word_stems)
        is_negated = bool(negations(statement.text))
        shared_words: dict[int, float] = {}
        denials: dict[int, str] = {}
        for position, shared in index.sharing(statement.stems | index.question.topic).items():
            sentence = index.sentences[position]
            if shared <= shared_words.get(sentence.sample, 0.0):
                continue
            if all(share(matter, sentence.stems) < _SAME_SUBJECT for matter in matters):
                continue
            has_other_value = any(
                by_text[sentence.sample] < threshold
                and self._differs(quantity, sentence.quantities)
                for quantity, by_text in zip(statement.quantities, support, strict=True)
            )
            common, union = statement.stems & sentence.stems, statement.stems | sentence.stems
            negates = sentence.negated != is_negated and len(common) >= _SAME_SUBJECT * len(union)
            negates = negates or self._denies_a_part_of(position) or self._is_excepted_at(position)
            if has_other_value or negates:
                shared_words[sentence.sample] = shared
                denials[sentence.sample] = sentence.written.strip()
        return denials

    def _differs(self, quantity: Quantity, others: Sequence[Quantity]) -> bool:
        """Return whether others are of the same kind, but none can be the same."""
        # The number of a name that both have, such as "Aria 2", is no other value.
        own_others = [own for own in self._statement.all_quantities if own is not quantity]
        comparable = [
            other
            for other in others
            if quantity.comparable(other) and not any(own.agrees(other) for own in own_others)
        ]
        if any(quantity.agrees(other) for other in comparable):
            return False
        if not self._with_answers and any(quantity.rounds(other) for other in comparable):
            return False
        return bool(comparable)


def _is_swapped(
    agreement: Agreement, words: frozenset[str], others: Sequence[ClauseValues]
) -> bool | None:
    """Return whether a text has a quantity elsewhere; None if it does not have it, or both ways.

    Args:
        agreement: The values that agree with the quantity, and others.
        words: The words of its clause.
        others: The values of the text with the words of their clauses.
    """
    # The words that its clause shares with clauses that have the same quantity, or another.
    same: list[frozenset[str]] = []
    different: list[frozenset[str]] = []
    for other in others:
        if not agreement.agreeing.isdisjoint(other.values):
            same.append(words & other.words)
        elif not agreement.differing.isdisjoint(other.values):
            different.append(words & other.words)
    if not same:
        return None
    # Most clauses that share less than another share a part of it.
    most = max(same, key=len)
    is_in_place = True
    for rival in different:
        if most < rival and all(shared < rival for shared in same):
            return True
        if not (rival < most or any(rival < shared for shared in same)):
            is_in_place = False
    return False if is_in_place else None
