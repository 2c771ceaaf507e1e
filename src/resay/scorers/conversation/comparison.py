"""Finds contradictions of what the model said in earlier turns, by words.

A claim contradicts a statement about the same matter with another number or date, a negation or an
opposite, or another name where there is only one ("the capital is"). They are about the same matter
if all that one says beside its value is in the other, in its question, or in the sentences around
it. The newest answer about the matter counts. The same in other words needs a judge.

What may differ is no contradiction: a value that users or tools gave in the meantime, anything
after users objected, what they asked to change or tools may have changed, unless it is a year; and
what is supposed, quoted, drafted, attributed to others, or true of now alone. Nor is anything in an
answer that takes something back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from resay._internal.patterns import lazy_pattern
from resay.core.contradiction import ContraryKind
from resay.core.normalization import NormalizedText, normalized
from resay.core.passage import Passage, Sentence
from resay.core.quantities import Quantity, quantities
from resay.core.questions import asking_part
from resay.core.segmentation.spans import Span
from resay.scorers.actions.claims import QUOTED, draft_spans, lower_case
from resay.scorers.actions.words import language_of
from resay.scorers.common.plain_comparison import span_of_value
from resay.scorers.common.words import stems_of, words_of
from resay.scorers.conversation.clauses import Clause, clauses_of
from resay.scorers.conversation.cues import cues_of
from resay.scorers.conversation.names import Word, other_name, words_in
from resay.scorers.conversation.turns import EarlierAnswer, statements_of

_ASKS: Final = lazy_pattern(r"[?？؟]\s*\Z")
_SENTENCES: Final = lazy_pattern(r"(?<=[.!?。！？؟])\s*")
# Each clause is compared with each earlier statement; of long answers, only the first ones are.
_MAX_COMPARISONS: Final = 20_000
_MIN_STEMS: Final = 2
_MIN_COMMON_CHARS: Final = 3
_UNSPACED: Final = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Conflict:
    """A contradiction of an earlier answer.

    Attributes:
        answer: The answer.
        text: Its statement.
        span: The words of the claim, in the response, that contradict it.
        kind: What they are.
    """

    answer: EarlierAnswer
    text: str
    span: Span
    kind: ContraryKind


@dataclass(frozen=True)
class _EarlierStatement:
    """A statement of an earlier answer, to be compared with claims.

    Attributes:
        text: The statement.
        clauses: Its clauses.
    """

    text: str
    clauses: Sequence[Clause]

    @cached_property
    def words(self) -> list[Word]:
        """Its words."""
        return words_in(self.text)


@dataclass(frozen=True)
class _ComparedAnswer:
    """An earlier answer, to be compared with claims.

    Attributes:
        answer: The answer.
        statements: What it asserts.
    """

    answer: EarlierAnswer
    statements: Sequence[_EarlierStatement]

    @cached_property
    def later_values(self) -> list[Quantity]:
        """The values that users or tools gave after it."""
        values: list[Quantity] = []
        for text in (*self.answer.requests, *self.answer.results):
            values += quantities(normalized(text))
        return values

    @cached_property
    def later_sentences(self) -> list[str]:
        """The sentences that users wrote after it, in lower case."""
        sentences: list[str] = []
        for text in self.answer.requests:
            sentences += filter(None, _SENTENCES.split(lower_case(text)))
        return sentences


class ConversationComparison:
    """Compares the claims of an answer with earlier ones.

    Args:
        passage: The answer, with its claims as `sentences`.
        question: The question that it answers.
        answers: The earlier answers, the newest last.
    """

    def __init__(self, passage: Passage, question: str, answers: Sequence[EarlierAnswer]) -> None:
        self._passage = passage
        asked = asking_part(question)
        self._asked = asked
        self._question = frozenset(stems_of(asked))
        words = language_of(passage.text, " ".join([asked, *(a.text[:500] for a in answers)]))
        self._words = words
        self._cues = cues_of(words.code)
        self._lowered = lower_case(passage.text)
        self._drafts = draft_spans(self._lowered, words)
        self._answers: list[_ComparedAnswer] = []
        # What was said in the turns before.
        self._told: set[str] = set()
        self._told_values: list[Quantity] = []
        self._comparisons = 0
        for answer in reversed(answers):
            statements: list[_EarlierStatement] = []
            for statement in statements_of(answer, words):
                if self._is_asserted(statement.text):
                    clauses = clauses_of(statement.text, statement.context, words)
                    statements.append(_EarlierStatement(statement.text, clauses))
                    for clause in clauses:
                        self._told_values += clause.values
            self._answers.append(_ComparedAnswer(answer, statements))
            self._told.update(stems_of(f"{answer.question} {answer.text}"))

    def conflicts(self) -> list[tuple[Conflict, ...]]:
        """Return what each claim contradicts."""
        if self._cues.corrects.search(self._lowered):
            return [()] * len(self._passage.sentences)
        context = set(self._question)
        conflicts: list[tuple[Conflict, ...]] = []
        for claim in self._passage.sentences:
            conflicts.append(self._conflicts_of(claim, frozenset(context)))
            context.update(stems_of(claim.text))
        return conflicts

    def _conflicts_of(self, claim: Sentence, context: frozenset[str]) -> tuple[Conflict, ...]:
        """Return what the newest answers about the matter of a claim say in its place."""
        in_draft = any(start <= claim.start < end for start, end in self._drafts)
        if in_draft or _ASKS.search(claim.text) or not self._is_asserted(claim.standalone):
            return ()
        conflicts: list[Conflict] = []
        for clause in clauses_of(claim.standalone, context, self._words):
            for answer in self._answers:
                self._comparisons += len(answer.statements)
                if self._comparisons > _MAX_COMPARISONS:
                    break
                outcomes = [
                    self._compare(claim, clause, answer, statement)
                    for statement in answer.statements
                ]
                if any(outcomes):
                    if "same" not in outcomes:
                        conflicts += [each for each in outcomes if isinstance(each, Conflict)][:1]
                    break
        if not conflicts:
            conflicts += self._conflicting_names(claim)
        return tuple(conflicts)

    @cached_property
    def _is_about_something_new(self) -> bool:
        """Whether the answer has a word of the question that nobody said before."""
        stems = self._question.intersection(stems_of(self._passage.text))
        return any(not _is_in(stem, self._told) for stem in stems)

    @cached_property
    def _own_values(self) -> Sequence[Quantity]:
        """The values of the answer itself."""
        return quantities(normalized(self._passage.text))

    def _conflicting_span(
        self,
        claim: Sentence,
        clause: Clause,
        own: Quantity,
        told: Quantity,
        answer: _ComparedAnswer,
    ) -> Span | None:
        """Return where a claim has a value in place of one of an answer; None if it may differ."""
        span = span_of_value(own, claim)
        if span is None or self._may_differ(answer, own):
            return None
        if _is_part(own, told, self._own_values):
            return None
        return span[0], span[1] + clause.length_of_counted(own)

    def _is_asserted(self, text: str) -> bool:
        """Return whether a sentence states something for good, in the model's own name."""
        lowered = lower_case(text)
        if QUOTED.search(text):
            return False
        cues = self._cues
        return not any(
            pattern.search(lowered) for pattern in (cues.supposes, cues.current, cues.attributes)
        )

    def _compare(
        self,
        claim: Sentence,
        clause: Clause,
        answer: _ComparedAnswer,
        statement: _EarlierStatement,
    ) -> Conflict | Literal["same"] | None:
        """Compare a clause of a claim with a statement.

        Returns:
            What contradicts it; "same" if it says the same; None if it is about something else.
        """
        outcome: Literal["same"] | None = None
        for other in statement.clauses:
            is_same = self._is_same_matter(clause, other)
            is_same = is_same and self._is_under_same_conditions(clause, other)
            for own, value in _comparable(clause, other) if is_same else ():
                if own.agrees(value):
                    if _has_same_values(clause.beside, other.beside):
                        outcome = "same"
                    continue
                if not self._has_same_conditions(own, clause, other):
                    continue
                span = self._conflicting_span(claim, clause, own, value, answer)
                if span is not None:
                    kind = "date" if own.year_or_date else "number"
                    return Conflict(answer.answer, statement.text, span, kind)
            is_opposite = self._is_opposite(clause, other)
            if is_opposite and not self._may_differ(answer, None):
                start, end = _locate(clause.text, claim.text)
                span = claim.start + start, claim.start + end
                return Conflict(answer.answer, statement.text, span, "negation")
            if is_opposite is False:
                outcome = "same"
        return outcome

    def _is_same_matter(self, clause: Clause, other: Clause) -> bool:
        """Return whether two clauses are about the same, apart from their values."""
        own, others = clause.stems, other.stems
        if not own & others:
            return False
        extra = own - others - other.around
        if extra and not self._is_aside(extra, clause, others):
            return False
        if self._answers_something_new(clause, other):
            return False
        return not others - own - clause.around

    def _answers_something_new(self, clause: Clause, other: Clause) -> bool:
        """Return whether a sentence has a word of its question that is not about a statement."""
        asked = clause.sentence & self._question
        if any(not _is_in(stem, other.around) for stem in asked):
            return True
        # "And the Tessel B1?" "It has two ports."
        counted = {clause.counted(value) for value in clause.values}
        is_named = len((clause.stems - counted) & other.stems) >= _MIN_STEMS
        is_named = is_named or not clause.subject.isdisjoint(other.subject)
        return self._is_about_something_new and not is_named

    def _is_under_same_conditions(self, clause: Clause, other: Clause) -> bool:
        """Return whether what is said beside the value of a clause is known, or no condition of it.

        "With its suburbs, Marn has 61,000 inhabitants." is of something else than Marn alone.
        """
        known = other.stems | other.around
        if clause.subject - known or clause.conditions - known - self._told:
            return False
        return clause.wording.negated == other.wording.negated

    def _is_aside(self, extra: frozenset[str], clause: Clause, others: frozenset[str]) -> bool:
        """Return whether what a clause adds is behind its value, and told in another answer."""
        if not clause.values or len(others) < _MIN_STEMS or others - clause.stems:
            return False
        is_behind = extra.isdisjoint(clause.before(clause.values[-1]))
        return is_behind and extra <= self._told and extra.isdisjoint(self._question)

    def _may_differ(self, answer: _ComparedAnswer, value: Quantity | None, name: str = "") -> bool:
        """Return whether something happened after an answer by which a claim may differ from it."""
        cues, sentences = self._cues, answer.later_sentences
        if value is not None and any(value.agrees(other) for other in answer.later_values):
            return True
        written = (*answer.answer.requests, *answer.answer.results)
        if name and any(name.lower() in text.lower() for text in written):
            return True
        if any(cues.objects.search(sentence) for sentence in sentences):
            return True
        if value is not None and value.year is not None:
            return False
        if answer.answer.acted or cues.supposes.search(lower_case(self._asked)):
            return True
        told = [sentence for sentence in sentences if not _ASKS.search(sentence)]
        if value is not None:
            for sentence in told:
                # "I throw a 6.", "We are only two.", but not "In one sentence."
                numbers = [max(each.high, each.plain) for each in quantities(normalized(sentence))]
                if cues.situation.search(sentence) or max(numbers, default=0) > 1:
                    return True
        return any(cues.changes.search(sentence) for sentence in told)

    def _has_same_conditions(self, value: Quantity, clause: Clause, other: Clause) -> bool:
        """Return whether the values beside one are those of another clause, such as its year.

        A value that an answer told is no condition: "Founded in 1974, the clinic has 210 beds."
        """
        known = (*other.beside, *self._told_values)
        for beside in clause.beside:
            is_itself = beside[2:] == value[2:]
            if not is_itself and not any(beside.agrees(told) for told in known):
                return False
        return True

    def _is_opposite(self, clause: Clause, other: Clause) -> bool | None:
        """Return whether two clauses say the opposite; None if they are of different matters."""
        if len(clause.values) != len(other.values) or clause.stems.isdisjoint(other.stems):
            return None
        if not _has_same_values(clause.values, other.values):
            return None
        own, others = clause.wording, other.wording
        if own.negated != others.negated:
            stems, other_stems = own.stems, others.stems
        else:
            stems, other_stems = own.neutral_stems, others.neutral_stems
        is_same = not (stems - other_stems - other.around or other_stems - stems - clause.around)
        if not stems & other_stems or not is_same:
            return None
        differing = words_of(clause.text).findall(clause.text.lower())
        if any(map(self._words.is_weekday, differing)) and own.stems != others.stems:
            return None
        return own.contradicts(others, None)

    def _conflicting_names(self, claim: Sentence) -> Iterator[Conflict]:
        """Yield the name in place of which the newest answer about it has another."""
        own = words_in(claim.text)
        for answer in self._answers:
            self._comparisons += len(answer.statements)
            if self._comparisons > _MAX_COMPARISONS:
                return
            for statement in answer.statements:
                span = other_name(own, statement.words, self._cues)
                if span is None:
                    continue
                start, end = span
                if not self._may_differ(answer, None, claim.text[start:end]):
                    span = claim.start + start, claim.start + end
                    yield Conflict(answer.answer, statement.text, span, "name")
                return


def _comparable(clause: Clause, other: Clause) -> Iterator[tuple[Quantity, Quantity]]:
    """Yield the values of two clauses that measure the same, if each has one of them only."""
    for own in clause.values:
        same_kind = [value for value in clause.values if _measure_same(own, clause, value, clause)]
        matching = [value for value in other.values if _measure_same(own, clause, value, other)]
        agreeing = next((value for value in matching if own.agrees(value)), None)
        if agreeing is not None:
            yield own, agreeing
        elif len(same_kind) == 1 and len(matching) == 1:
            yield own, matching[0]


def _measure_same(own: Quantity, clause: Clause, value: Quantity, other: Clause) -> bool:
    if not own.comparable(value) or own.year_or_date != value.year_or_date:
        return False
    if own.unit or value.unit or own.year_or_date:
        return True
    return clause.counted(own) == other.counted(value)


def _has_same_values(values: Sequence[Quantity], others: Sequence[Quantity]) -> bool:
    """Return whether each value is one of others."""
    return all(any(value.agrees(other) for other in others) for value in values)


def _locate(clause: str, text: str) -> Span:
    """Return the span of a clause in a text; all of it if its words were completed."""
    source = NormalizedText.of(text)
    bare = clause.strip(" ,;.!")
    start = source.text.find(bare)
    return (0, len(text)) if start < 0 else source.span(start, start + len(bare))


def _is_part(quantity: Quantity, whole: Quantity, values: Sequence[Quantity]) -> bool:
    """Return whether a value and another one of an answer add up to what was told.

    Args:
        quantity: The value.
        whole: What was told.
        values: The values of the answer.
    """
    if quantity.year_or_date:
        return False
    others = [v.low for v in values if v.unit == quantity.unit and not v.agrees(quantity)]
    return any(math.isclose(quantity.low + other, whole.low) for other in others)


def _is_in(stem: str, stems: Set[str]) -> bool:
    """Return whether a stem, or that of another form of its word, is among others."""
    if stem in stems:
        return True
    if _UNSPACED.match(stem):
        characters = "".join(stems)
        return all(character in characters for character in stem)
    if not stem.isalpha():
        return False
    for other in stems:
        # "row" and "rowing".
        length = max(min(len(stem), len(other)) - 1, _MIN_COMMON_CHARS)
        if other.isalpha() and stem[:length] == other[:length]:
            return True
    return False
