"""Claims: what a response says, in the units that its writer made.

A unit is a sentence, an item of a list, a cell of a table, a heading, or a field such as "Opened:
1932". It is completed with what it needs to be understood alone: the lead-in or heading of its
list, the heads of its row and column. Nothing is cut inside a sentence: which of its words are
wrong is for the evidence to say (`ClaimVerdict.parts`).

`Rules` finds claims without calls, in linear time, one sentence after the other, so that a response
that is still being written yields the same claims as the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from resay._internal.patterns import lazy_pattern
from resay.core.details import (
    has_new_number,
    has_new_predicate,
    has_new_reason,
    new_names,
    words_in,
)
from resay.core.non_claims import NonClaim, non_claim_kind
from resay.core.passage import Passage, Sentence
from resay.core.questions import asking_part, invention_predicate, is_open_question

# The type of an inherited field, for `typing.get_type_hints`.
from resay.core.segmentation.kinds import SentenceUnit as SentenceUnit
from resay.lang.detection import detect
from resay.lang.language import all_alternatives, all_words, load

ClaimKind = Literal["fact", "hedged", "label", "source"] | NonClaim
"""The kind of a claim: a fact, a statement marked as uncertain, a label such as a table's header or
the lead-in of a list, an entry of a list of sources, or another kind that claims nothing."""


@dataclass(frozen=True, slots=True)
class Claim(Sentence):
    """A unit of a response, and what it claims.

    Attributes:
        text: Its own words, exactly `response[start:end]`.
        start: The start of these words in the response, in code points.
        end: Their end (exclusive), in code points.
        unit: The kind of its sentence.
        kind: Whether and what it claims.
        completed_text: Its words, completed with words from elsewhere; empty if they suffice.
        sentence: The index of its sentence in the passage.
    """

    kind: ClaimKind = "fact"
    completed_text: str = ""
    sentence: int = 0

    @property
    def standalone(self) -> str:
        """Its statement, understandable without context."""
        return self.completed_text or self.text

    @property
    def is_checkable(self) -> bool:
        """Whether it claims anything, so that it can be checked."""
        return self.kind in _CLAIMING


class Rules:
    """Finds the claims of a response by rules, sentence by sentence.

    Args:
        question: The question that the response answers; empty if unknown.
        splits: Whether the cells of a row, and the fields of a block of lines, are claims of their
            own; otherwise each sentence is one.
        skips: Whether to recognize greetings, refusals, labels and the like.
        classify: Returns the kind of a sentence that claims nothing, given it and the question, as
            a `NonClaim`; None for a claim. Called for sentences that the rules take for claims;
            exceptions and other results are ignored.
        claims: Returns whether a sentence claims something although it looks as if it did not, by
            what a method of the chain is about.
        strict: Whether titles that may name something are claims: "Owner North Korea" is written
            like "Key Features".

    Attributes:
        question: The question that the response answers.
    """

    def __init__(
        self,
        question: str = "",
        *,
        splits: bool = True,
        skips: bool = True,
        classify: Callable[[str, str], object] | None = None,
        claims: Callable[[str], bool] | None = None,
        strict: bool = False,
    ) -> None:
        self.question = question
        self._classify = classify
        self._claims = claims
        self._strict = strict
        asking = asking_part(question)
        self._question_words = words_in(asking)
        self._folded_question = asking.casefold()
        self._is_open = is_open_question(question)
        self._invents = invention_predicate(question)
        self._splits = splits
        self._skips = skips
        self._heading: Sentence | None = None
        self._lead: Sentence | None = None
        self._columns: dict[int, Sentence] = {}

    def read(self, sentence: Sentence, index: int, *, alone: bool = False) -> tuple[Claim, ...]:
        """Process the next sentence.

        Args:
            sentence: The sentence, in the order of the response.
            index: Its index in the passage.
            alone: Whether it is all that the response says (`is_single_sentence`): "**Oslo**" is
                then an answer, not a title.

        Returns:
            Its claims in order, at least one; if it claims nothing, one whose kind says so.
        """
        kind = self._kind(sentence, alone=alone)
        if sentence.unit == "heading":
            self._heading, self._lead = sentence, None
        elif sentence.unit == "head":
            self._columns = dict(cells_of(sentence))
        elif sentence.text.endswith((":", "：")):
            self._lead = sentence
        elif sentence.unit == "sentence":
            self._lead = None
        if not self._splits or kind not in _CLAIMING:
            return (_claim(sentence, sentence, kind, index),)
        above = self._context(sentence)
        if sentence.unit == "row":
            cells = tuple(self._of_row(sentence, index))
            return cells or (_claim(sentence, sentence, kind, index),)
        fields = _fields(sentence)
        if fields:
            above = above or _if_short(self._heading)
            return tuple(_claim(sentence, field, kind, index, above) for field in fields)
        return (_claim(sentence, sentence, kind, index, above),)

    def kind_of(self, text: str) -> ClaimKind:
        """Return the kind of a sentence, or of words of one, that is no label and no invention.

        Args:
            text: The sentence or its words.
        """
        if not self._skips:
            return "fact"
        kind = non_claim_kind(text, is_open=self._is_open, question=self.question)
        kind = kind or self._user_kind(text)
        if kind is not None:
            return kind
        # "Launch moved to May 3"
        words = {word.lower() for word in text.split() if word != "May"}
        return "fact" if words.isdisjoint(all_words("claims", "hedges")) else "hedged"

    def _kind(self, sentence: Sentence, *, alone: bool) -> ClaimKind:
        if not self._skips:
            return "fact"
        text = sentence.text
        if self._claims is not None and self._claims(text):
            return "fact"
        if self._invents is not None and self._invents(text):
            return "creative"
        leads_in = text.rstrip("*_").endswith((":", "："))
        is_answer = alone and sentence.unit == "sentence" and not leads_in
        if is_answer or not _is_label(sentence, self._folded_question):
            return self.kind_of(text)
        return self.kind_of(text) if self._names_in(sentence) else "label"

    def _names_in(self, sentence: Sentence) -> bool:
        """Return whether a label contains a name, a number or a date that was not asked about."""
        if sentence.unit == "head":
            parts = [cell.text for _, cell in cells_of(sentence)]
        else:
            parts = [_numbering().sub("", sentence.text.strip("*_ "))]
        words = self._question_words
        for part in parts:
            if has_new_number(part, words) or has_new_reason(part, words):
                return True
            if self._strict and has_new_predicate(part, words):
                return True
        code = detect(sentence.text) or detect(self.question)
        if code is not None and _capitalises_nouns(code):
            return False
        return any(self._names_something(part) for part in parts)

    def _names_something(self, label: str) -> bool:
        names = list(new_names(label, self._question_words))
        if not names or self._strict:
            return bool(names)
        # In a title every word is capitalised; in other labels names alone.
        words = _LETTERS.findall(label)[1:]
        return any(word.islower() and len(word) > _MAX_FUNCTION_WORD for word in words)

    def _user_kind(self, text: str) -> NonClaim | None:
        if self._classify is None:
            return None
        # It is user code, and no failure in it may lose the answer.
        with suppress(Exception):
            result = self._classify(text, self.question)
            return next((kind for kind in get_args(NonClaim) if kind == result), None)
        return None

    def _context(self, sentence: Sentence) -> list[Sentence]:
        """Return the context that an item or a row needs from above it."""
        above = self._heading if sentence.unit in {"item", "row"} else None
        if sentence.unit == "item" and self._lead is not None:
            above = self._lead
        return _if_short(above)

    def _of_row(self, row: Sentence, index: int) -> Iterator[Claim]:
        cells = dict(cells_of(row))
        first = cells.get(0) if len(cells) > 1 else None
        for column, cell in cells.items():
            head = self._columns.get(column)
            if cell is first and self._only_names_row(cell, head):
                continue
            above = self._context(row)
            if first is not None and cell is not first:
                above.append(first)
            if head is not None:
                above.append(head)
            yield _claim(row, cell, "fact", index, above)

    def _only_names_row(self, cell: Sentence, head: Sentence | None) -> bool:
        """Whether a row's first cell only says what the row is about.

        It does if the user named it, if it is a mere number, or if it names a feature.
        """
        if cell.text.casefold() in self._folded_question or not _LETTER.search(cell.text):
            return True
        return head is not None and _names_feature(head)


def _claim(
    sentence: Sentence,
    own: Sentence,
    kind: ClaimKind,
    index: int,
    above: Sequence[Sentence] = (),
) -> Claim:
    """Build a claim.

    Args:
        sentence: Its sentence.
        own: Its own words.
        kind: Its kind.
        index: The index of its sentence.
        above: What completes it: the lead-in, heads.
    """
    completed_text = ""
    if above:
        contexts = [_bare(context.text) for context in above]
        completed_text = ": ".join([*contexts, own.text])
    return Claim(
        text=own.text,
        start=own.start,
        end=own.end,
        unit=sentence.unit,
        kind=kind,
        completed_text=completed_text,
        sentence=index,
    )


def _if_short(above: Sentence | None) -> list[Sentence]:
    """Return what completes a claim, if it is short enough to be the beginning of it."""
    return [] if above is None or len(above.text) > _MAX_LEAD else [above]


def is_single_sentence(passage: Passage) -> bool:
    """Return whether a response is a single sentence, without code, a table or the like."""
    return len(passage.sentences) == 1 and all(
        piece.kind in {"prose", "heading", "rule"} for piece in passage.pieces
    )


_CLAIMING = frozenset[ClaimKind]({"fact", "hedged"})
_MAX_LEAD = 160
_LETTER = lazy_pattern(r"[^\W\d_]")
_LETTERS = lazy_pattern(r"[^\W\d_]+")
# "About", "With" and the like are written in lower case in titles, too.
_MAX_FUNCTION_WORD = 5
_DIGIT = lazy_pattern(r"\d")
# "**Opened:** 1932", "opened: 1932", and text after an emoji.
_FIELD = lazy_pattern(
    r"(?:\*\*|__)?[^\W\d_][\w ()/'’-]{0,40}(?:\*\*|__)?[:：](?:\*\*|__)?[ \t]+\S"
    r"|[\u2190-\u2bff\U0001f300-\U0001faff]\ufe0f?[ \t]+\S"
)
_BOLD = lazy_pattern(r"(\*\*|__)[^*_\n]{1,120}\1[:：]?|(\*\*|__)[^*_\n]{1,120}[:：]\2")
# "Yes, it swims." in bold type is a sentence, but not "Important!".
_ENDS_SENTENCE = lazy_pattern(r"(?:\S\s+\S+\s+\S+[.!]|[。！])\Z")
# A head of a column with more words may be a sentence.
_MAX_HEAD_WORDS = 8


@cache
def _numbering() -> re.Pattern[str]:
    """The numbering of a heading, which says nothing: "Chapter 3:"."""
    numbered = all_alternatives("claims", "numbered")
    return re.compile(
        rf"\A(?:(?i:{numbered})\s+)?(?:\d{{1,3}}(?:\.\d{{1,3}}){{0,3}}|[ivxlcIVXLC]{{1,6}})"
        r"(?:[.):–-]\s*|\s+(?=[A-ZÀ-Þ])|\Z)",
    )


@cache
def _addition() -> re.Pattern[str]:
    """What a heading adds to a name: "Founder: Ada Moor", "Ada Moor, founder of Corvel"."""
    prepositions = all_alternatives("claims", "role_prepositions")
    return re.compile(rf"[:：]\s*\S|,\s+[^\W\dA-ZÀ-Þ]\w+\s(?:{prepositions})\b")


@cache
def _statement() -> re.Pattern[str]:
    # "The bridge was never opened", but not "What is new", "Is it safe", "The war in Korea".
    asks, verbs = all_alternatives("claims", "asks"), all_alternatives("claims", "states")
    return re.compile(rf"(?!(?:{asks})\b)\S.*?\s(?:{verbs})\b", re.IGNORECASE)


def _is_label(sentence: Sentence, question: str) -> bool:
    """Whether a heading, a table's header or a line that leads in a list says nothing by itself.

    Args:
        sentence: The heading, header or line.
        question: The question, case-folded.
    """
    text = sentence.text.strip("*_ ")
    if sentence.unit == "head":
        # "Made in", "Opened" are heads of columns; a cell of many words may say more.
        return all(len(cell.text.split()) <= _MAX_HEAD_WORDS for _, cell in cells_of(sentence))
    if sentence.unit in {"sentence", "item"} and text.endswith((":", "：")):
        names_code = "`" in text and _statement().match(text)
        return not _DIGIT.search(text) and not names_code
    if sentence.unit == "heading" or _BOLD.fullmatch(sentence.text):
        words = _numbering().sub("", text).rstrip(":： ")
        # "Profile: Venn windmill" only repeats what was asked about.
        name, _, about = words.replace("：", ":").partition(":")
        if about.strip() and about.strip("*_ ").casefold() in question:
            words = name
        if words.endswith(("?", "？")):
            return True
        if _statement().match(words) or _addition().search(words):
            return False
        return not _DIGIT.search(words) and not _ENDS_SENTENCE.search(words)
    return False


def _fields(sentence: Sentence) -> list[Sentence]:
    """Return the lines of a sentence if there are several and each is a field: "Opened: 1932"."""
    if "\n" not in sentence.text:
        return []
    fields: list[Sentence] = []
    position = sentence.start
    for line in sentence.text.splitlines(keepends=True):
        bare = line.lstrip("> \t")
        text = bare.rstrip()
        if text and not _FIELD.match(bare):
            return []
        if text:
            start = position + len(line) - len(bare)
            fields.append(Sentence(text, start, start + len(text), sentence.unit))
        position += len(line)
    return fields if len(fields) > 1 else []


@cache
def _capitalises_nouns(code: str) -> bool:
    """Whether every noun has a capital in a language, as in German."""
    phrases = load(code).phrases
    return phrases is not None and phrases.has_capitals


def _names_feature(head: Sentence) -> bool:
    """Whether a column names the feature that each row compares."""
    return _bare(head.text).casefold() in all_words("claims", "features")


def _bare(text: str) -> str:
    return text.strip("*_:： \t")


def cells_of(row: Sentence) -> Iterator[tuple[int, Sentence]]:
    """Yield the cells of a table's row that have a letter or a digit, with their columns.

    Args:
        row: The row, or the head of the table.
    """
    start = column = 0
    for match in _BAR.finditer(row.text + "|"):
        if match.group() != "|":
            continue
        inner = row.text[start : match.start()]
        if _LETTER.search(inner) or _DIGIT.search(inner):
            text = inner.strip()
            cell_start = row.start + start + len(inner) - len(inner.lstrip())
            yield column, Sentence(text, cell_start, cell_start + len(text), "row")
        start, column = match.end(), column + 1


# A bar after a backslash or in inline code does not end a cell.
_BAR = lazy_pattern(r"\\.|`[^`\n]{0,400}`|\|", re.DOTALL)
