"""Finds contradictions of what the model said in earlier turns, by words.

A claim contradicts a statement about the same matter with another number or date, a negation or an
opposite, or another name where there is only one ("the capital is"). They are about the same matter
if all that one says beside its value is in the other, in its question, or in the sentences around
it. The newest answer about the matter counts.

What may differ is no contradiction: a value that users or tools gave in the meantime, anything
after users objected, what they asked to change or tools may have changed, unless it is a year; and
what is supposed, quoted, drafted, attributed to others, or true of now alone. Nor is anything in an
answer that takes something back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, Literal

from resay._internal.patterns import lazy_pattern
from resay.core.contradiction import ContraryKind
from resay.core.normalization import NormalizedText, normalized
from resay.core.passage import Passage, Sentence
from resay.core.quantities import Quantity, quantities
from resay.core.questions import asking_part
from resay.core.segmentation.spans import Span, blanked
from resay.scorers.actions.claims import QUOTED, draft_spans, lower_case
from resay.scorers.actions.words import ActionWords, language_of
from resay.scorers.common.contrast import Wording
from resay.scorers.common.plain_comparison import span_of_value
from resay.scorers.common.words import stems_of, words_of
from resay.scorers.conversation.cues import cues_of
from resay.scorers.conversation.turns import EarlierAnswer, statements_of

_PUNCTUATION: Final = lazy_pattern(r"[,;!?](?=\s)|\.(?=\s)|[、，；。]|\s[–—-]\s|[()]")
_ASKS: Final = lazy_pattern(r"[?？؟]\s*\Z")
_SENTENCES: Final = lazy_pattern(r"(?<=[.!?。！？؟])\s*")
_NUMBERED_NAME: Final = lazy_pattern(r"(?:\A|\s)[^\W\d_]*[A-ZÀ-ÖØ-ÞА-Я][\w'’-]*[ -]\Z")
_NEXT_WORD: Final = lazy_pattern(r"[ \u00a0]([^\W\d_][\w'’-]*)")
_MAX_NAME_WORDS: Final = 4
# Each clause is compared with each earlier statement; of long answers, only the first ones are.
_MAX_COMPARISONS: Final = 20_000
_MIN_STEMS: Final = 2


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


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a claim or a statement.

    Attributes:
        lower: The word in its normal form, in lower case.
        start: Where it starts.
        end: Where it ends (exclusive).
        is_name: Whether it may be a part of a name.
    """

    lower: str
    start: int
    end: int
    is_name: bool


@dataclass(frozen=True)
class _Clause:
    """A clause of a statement.

    Attributes:
        text: Its words, in their normal form.
        language: Its language.
        around: The stems of what it may be about: of the sentence, and the statement's context.
        beside: Its quantities, and those that no "and" or "but" divides from them.
        edges: How that which nothing divides from it begins and ends.
        subject: The stems of the first name in the statement, which may be what it is about.
    """

    text: str
    language: str
    around: frozenset[str]
    beside: tuple[Quantity, ...] = ()
    edges: str = ""
    subject: frozenset[str] = frozenset()

    @cached_property
    def values(self) -> tuple[Quantity, ...]:
        """Its quantities."""
        return tuple(_values_in(self.text))

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of its words beside the quantities."""
        return frozenset(stems_of(_without(self.values, self.text)))

    @cached_property
    def wording(self) -> Wording:
        """Its wording."""
        return Wording(self.text, self.language)

    @cached_property
    def conditions(self) -> frozenset[str]:
        """The stems of what is said beside its value, which may be a condition of it."""
        return frozenset(stems_of(_without(quantities(self.edges), self.edges)))

    def counted(self, value: Quantity) -> str | None:
        """Return the stem of what a bare number counts; None if nothing follows it."""
        word = _NEXT_WORD.match(self.text, value.end)
        stems = stems_of(word[1]) if word else []
        return stems[0] if stems else None

    def before(self, value: Quantity) -> frozenset[str]:
        """Return the stems of the words before a quantity."""
        return frozenset(stems_of(self.text[: value.start]))


def _values_in(text: str) -> Iterator[Quantity]:
    """Yield the quantities of a text that are no parts of names, such as that of "Lumo 3"."""
    for value in quantities(text):
        is_bare = not value.unit and value.year is None and value.kind == "number"
        if not (is_bare and _NUMBERED_NAME.search(text[: value.start])):
            yield value


def _without(values: Sequence[Quantity], text: str) -> str:
    return blanked(text, [(value.start, value.end) for value in values])


def _clauses(text: str, context: frozenset[str], words: ActionWords) -> list[_Clause]:
    """Return the clauses of a statement, in its normal form, without what takes back another."""
    written = normalized(text)
    repeats = cues_of(words.code).repeats.search(lower_case(written))
    if repeats is not None:
        written = f"{written[: repeats.start()]} {written[repeats.end() :]}"
    admission, colon, stated = written.partition(": ")
    if colon and cues_of(words.code).corrects.search(lower_case(admission)):
        written = stated
    around = context | frozenset(stems_of(_without(quantities(written), written)))
    subject = _first_name(written)
    joins = [match.start() for match in words.joins.finditer(lower_case(written))]
    marks = [match.end() for match in _PUNCTUATION.finditer(written)]
    clauses: list[_Clause] = []
    for first, last in pairwise(sorted({0, *joins, len(written)})):
        beside = tuple(_values_in(written[first:last]))
        cuts = {first, *(mark for mark in marks if first < mark < last), last}
        spans = list(pairwise(sorted(cuts)))
        # What commas enclose in the middle is an aside.
        edges = [written[start:end] for start, end in (spans[0], spans[-1])]
        for start, end in spans:
            if words_of(written[start:end]).search(written[start:end]):
                clauses.append(
                    _Clause(
                        text=written[start:end],
                        language=words.code,
                        around=around,
                        beside=beside,
                        edges=" ".join(edges),
                        subject=subject,
                    )
                )
    return clauses


def _first_name(text: str) -> frozenset[str]:
    """Return the stems of the first word with a capital that is no common word; none if all are."""
    for match in words_of(text).finditer(text):
        stems = stems_of(match[0]) if match[0][:1].isupper() else []
        if stems:
            return frozenset(stems)
    return frozenset()


@dataclass(frozen=True)
class _EarlierStatement:
    """A statement of an earlier answer, to be compared with claims.

    Attributes:
        text: The statement.
        clauses: Its clauses.
    """

    text: str
    clauses: Sequence[_Clause]

    @cached_property
    def words(self) -> list[_Word]:
        """Its words."""
        return _words(self.text)


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
                    clauses = _clauses(statement.text, statement.context, words)
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
        for clause in _clauses(claim.standalone, context, self._words):
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
        clause: _Clause,
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
                span = span_of_value(own, claim)
                if span is not None and not self._may_differ(answer, own):
                    kind = "date" if own.year_or_date else "number"
                    end = span[1] + _length_of_counted(own, clause)
                    return Conflict(answer.answer, statement.text, (span[0], end), kind)
            is_opposite = self._is_opposite(clause, other)
            if is_opposite and not self._may_differ(answer, None):
                start, end = _locate(clause.text, claim.text)
                span = claim.start + start, claim.start + end
                return Conflict(answer.answer, statement.text, span, "negation")
            if is_opposite is False:
                outcome = "same"
        return outcome

    def _is_same_matter(self, clause: _Clause, other: _Clause) -> bool:
        """Return whether two clauses are about the same, apart from their values."""
        own, others = clause.stems, other.stems
        if not own & others:
            return False
        extra = own - others - other.around
        if extra and not self._is_aside(extra, clause, others):
            return False
        if len(clause.stems | (clause.around - self._question)) < _MIN_STEMS:
            known = self._question & (others | other.around)
            if self._question and 2 * len(known) < len(self._question):
                # "And the tunnel?" "It opened in 1950."
                return False
        beyond = others - own - clause.around
        if not beyond:
            return True
        if len(own) < _MIN_STEMS or own - others or not other.values:
            return False
        # "The bridge opened in 1932 after a long dispute" is still about when it opened.
        return beyond.isdisjoint(other.before(other.values[0]))

    def _is_under_same_conditions(self, clause: _Clause, other: _Clause) -> bool:
        """Return whether what is said beside the value of a clause is known, or no condition of it.

        "With its suburbs, Marn has 61,000 inhabitants." is of something else than Marn alone.
        """
        known = other.stems | other.around
        if clause.subject - known or clause.conditions - known - self._told:
            return False
        return clause.wording.negated == other.wording.negated

    def _is_aside(self, extra: frozenset[str], clause: _Clause, others: frozenset[str]) -> bool:
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
        if answer.answer.acted or any(cues.supposes.search(sentence) for sentence in sentences):
            return True
        told = [sentence for sentence in sentences if not _ASKS.search(sentence)]
        if value is not None:
            for sentence in told:
                # "I throw a 6.", "We are only two.", but not "In one sentence."
                numbers = [number.high for number in quantities(normalized(sentence))]
                if cues.situation.search(sentence) or max(numbers, default=0) > 1:
                    return True
        return any(cues.changes.search(sentence) for sentence in told)

    def _has_same_conditions(self, value: Quantity, clause: _Clause, other: _Clause) -> bool:
        """Return whether the values beside one are those of another clause, such as its year.

        A value that an answer told is no condition: "Founded in 1974, the clinic has 210 beds."
        """
        known = (*other.beside, *self._told_values)
        for beside in clause.beside:
            is_itself = beside[2:] == value[2:]
            if not is_itself and not any(beside.agrees(told) for told in known):
                return False
        return True

    def _is_opposite(self, clause: _Clause, other: _Clause) -> bool | None:
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
        own = _words(claim.text)
        for answer in self._answers:
            for statement in answer.statements:
                span = self._other_name(own, statement.words)
                if span is None:
                    continue
                start, end = span
                if not self._may_differ(answer, None, claim.text[start:end]):
                    span = claim.start + start, claim.start + end
                    yield Conflict(answer.answer, statement.text, span, "name")
                return

    def _other_name(self, own: Sequence[_Word], other: Sequence[_Word]) -> Span | None:
        """Return where a claim has another name than a statement, if only one can be.

        Args:
            own: The words of the claim.
            other: The words of the statement.
        """
        shorter = min(len(own), len(other))
        first = 0
        while first < shorter and own[first].lower == other[first].lower:
            first += 1
        last = 0
        while last < shorter - first and own[-1 - last].lower == other[-1 - last].lower:
            last += 1
        names = own[first : len(own) - last]
        other_names = other[first : len(other) - last]
        if not (0 < len(names) <= _MAX_NAME_WORDS and 0 < len(other_names) <= _MAX_NAME_WORDS):
            return None
        if not all(word.is_name for word in (*names, *other_names)):
            return None
        before = " ".join(word.lower for word in own[:first])
        after = " ".join(word.lower for word in own[len(own) - last :])
        is_unique = bool(before) and self._cues.unique.search(before) is not None
        is_unique = is_unique or (not before and self._cues.unique_after.search(after) is not None)
        if not is_unique or len(set(stems_of(f"{before} {after}"))) < _MIN_STEMS - 1:
            return None
        return names[0].start, names[-1].end


def _comparable(clause: _Clause, other: _Clause) -> Iterator[tuple[Quantity, Quantity]]:
    """Yield the values of two clauses that measure the same, if each has one of them only."""
    for own in clause.values:
        same_kind = [value for value in clause.values if _measure_same(own, clause, value, clause)]
        matching = [value for value in other.values if _measure_same(own, clause, value, other)]
        agreeing = next((value for value in matching if own.agrees(value)), None)
        if agreeing is not None:
            yield own, agreeing
        elif len(same_kind) == 1 and len(matching) == 1:
            yield own, matching[0]


def _measure_same(own: Quantity, clause: _Clause, value: Quantity, other: _Clause) -> bool:
    if not own.comparable(value) or own.year_or_date != value.year_or_date:
        return False
    if own.unit or value.unit or own.year_or_date:
        return True
    return clause.counted(own) == other.counted(value)


def _length_of_counted(value: Quantity, clause: _Clause) -> int:
    """Return the length of the word that says what a bare number counts, with its space."""
    word = None if value.unit or value.year_or_date else _NEXT_WORD.match(clause.text, value.end)
    return len(word[0]) if word else 0


def _has_same_values(values: Sequence[Quantity], others: Sequence[Quantity]) -> bool:
    """Return whether each value is one of others."""
    return all(any(value.agrees(other) for other in others) for value in values)


def _words(text: str) -> list[_Word]:
    source = NormalizedText.of(text)
    words: list[_Word] = []
    for match in words_of(source.text).finditer(source.text):
        start, end = source.span(*match.span())
        is_name = end - start > 1 and text[start].isupper()
        words.append(_Word(match[0].lower(), start, end, is_name))
    return words


def _locate(clause: str, text: str) -> Span:
    """Return the span of a clause in a text; all of it if its words were completed."""
    source = NormalizedText.of(text)
    bare = clause.strip(" ,;.!")
    start = source.text.find(bare)
    return (0, len(text)) if start < 0 else source.span(start, start + len(bare))
