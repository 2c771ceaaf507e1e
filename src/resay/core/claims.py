"""Claims: the single statements that the sentences of a response make.

A sentence such as "It opened in 1932 and has 6,512,331 rivets" makes two claims, of which one may
be right and the other invented. A claim is a span of a sentence with one statement, completed with
the context it needs: the subject of its sentence, the lead-in of its list, the headers of its row
and column.

`Rules` finds claims without calls, in linear time, one sentence after the other, so that a response
that is still being written yields the same claims as the whole. It splits sentences at conjunctions
before another predicate or clause, at relative clauses, at appositions and after opening
participles, in English, German, French, Spanish, Italian, Portuguese and Dutch, and only if it
knows the following verb; and lists of names, in any language. Claims that are not split are still
checked, as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, get_args

from resay.core.clauses import Grammars, clauses, words_of
from resay.core.details import (
    has_new_number,
    has_new_predicate,
    has_new_reason,
    new_names,
    words_in,
)
from resay.core.non_claims import (
    NonClaim,
    asking_part,
    invention_predicate,
    is_open_question,
    non_claim_kind,
)
from resay.core.passage import Passage, Sentence
from resay.core.segmentation import Span

ClaimKind = Literal["fact", "hedged", "label"] | NonClaim
"""The kind of a claim: a fact, a statement marked as uncertain, a label such as a table's header or
the lead-in of a list, or another kind that claims nothing."""


@dataclass(frozen=True, slots=True)
class Claim(Sentence):
    """A single statement of a sentence.

    Attributes:
        text: Its own words, exactly `response[start:end]`.
        start: The start of these words in the response, in code points.
        end: Their end (exclusive), in code points.
        unit: The kind of its sentence; a name in a list in running text is an item.
        kind: Whether and what it claims.
        completed_text: The statement, completed with words from elsewhere; empty if its own
            words suffice.
        spans: The spans of the response whose words are in `completed_text`, in order.
        sentence: The index of its sentence in the passage.
    """

    kind: ClaimKind = "fact"
    completed_text: str = ""
    spans: tuple[Span, ...] = ()
    sentence: int = 0

    @property
    def standalone(self) -> str:
        """Its statement, understandable without context."""
        return self.completed_text or self.text

    @property
    def claims(self) -> bool:
        """Whether it claims anything."""
        return self.kind in {"fact", "hedged"}


class Rules:
    """Finds the claims of a response by rules, sentence by sentence.

    Args:
        question: The question that the response answers; empty if unknown.
        splits: Whether to split sentences; otherwise each is one claim.
        skips: Whether to recognize greetings, refusals, labels and the like.
        classify: Returns the kind of a sentence that claims nothing, given it and the question, as
            a `NonClaim`; None for a claim. Called for sentences that the rules take for claims;
            exceptions and other results are ignored.
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
        strict: bool = False,
    ) -> None:
        self.question = question
        self._classify = classify
        self._strict = strict
        self._known = words_in(asking_part(question))
        self._asked = asking_part(question).casefold()
        self._is_open = is_open_question(question)
        self._is_invention = invention_predicate(question)
        self._splits = splits
        self._skips = skips
        self._heading: Sentence | None = None
        self._lead: Sentence | None = None
        self._columns: dict[int, Sentence] = {}
        self._grammars = Grammars()

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
        kind = self._kind(sentence, alone=alone) if self._skips else "fact"
        if sentence.unit == "heading":
            self._heading, self._lead = sentence, None
        elif sentence.unit == "head":
            self._columns = dict(_cells(sentence))
        elif sentence.text.endswith((":", "：")):
            self._lead = sentence
        elif sentence.unit == "sentence":
            self._lead = None
        whole = _claim(sentence, sentence, kind, index)
        if not self._splits:
            return (whole,)
        grammar = self._grammars.of(sentence.text)
        if not whole.claims:
            return (whole,)
        if sentence.unit == "row":
            return tuple(self._of_row(sentence, index)) or (whole,)
        above = self._context(sentence)
        fields = _fields(sentence)
        if fields:
            above = above or self._short(self._heading)
            return tuple(_claim(sentence, field, kind, index, above) for field in fields)
        parts = [
            part
            for clause in clauses(sentence, grammar)
            for part in ((clause,) if clause[1] else _listed(clause[0]))
        ]
        return tuple(
            whole
            if clause is sentence and not above
            else _claim(
                sentence, clause, self._kind_of(clause, kind, parts), index, above, words, subject
            )
            for clause, words, subject in parts
        )

    def _kind_of(self, clause: Sentence, kind: ClaimKind, parts: Sequence[object]) -> ClaimKind:
        """Return the kind of a clause: "…, but the documents do not state the price"."""
        if not self._skips or len(parts) < _SEVERAL or clause.unit == "item":
            return kind
        return non_claim_kind(clause.text, is_open=self._is_open, asked=self.question) or kind

    def _kind(self, sentence: Sentence, *, alone: bool) -> ClaimKind:
        text = sentence.text
        if self._is_invention is not None and self._is_invention(text):
            return "creative"
        is_answer = (
            alone and sentence.unit == "sentence" and not text.rstrip("*_").endswith((":", "："))
        )
        if not is_answer and _is_label(sentence, self._asked) and not self._names_in(sentence):
            return "label"
        kind = non_claim_kind(text, is_open=self._is_open, asked=self.question)
        kind = kind or self._user_kind(text)
        # "Launch moved to May 3"
        words = (word.lower() for word in text.split() if word != "May")
        return kind or ("fact" if _HEDGES.isdisjoint(words) else "hedged")

    def _names_in(self, sentence: Sentence) -> bool:
        """Return whether a label contains a name, a number or a date that was not asked about."""
        if sentence.unit == "head":
            parts = [cell.text for _, cell in _cells(sentence)]
        else:
            parts = [_NUMBERING.sub("", sentence.text.strip("*_ "))]
        for part in parts:
            if has_new_number(part, self._known) or has_new_reason(part, self._known):
                return True
            if self._strict and has_new_predicate(part, self._known):
                return True
        # In these languages every noun is capitalised.
        if self._grammars.of(sentence.text).verb_last:
            return False
        return any(self._names_something(part) for part in parts)

    def _names_something(self, label: str) -> bool:
        names = list(new_names(label, self._known))
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
        return self._short(above)

    @staticmethod
    def _short(above: Sentence | None) -> list[Sentence]:
        return [] if above is None or len(above.text) > _MAX_LEAD else [above]

    def _of_row(self, row: Sentence, index: int) -> Iterator[Claim]:
        cells = dict(_cells(row))
        first = cells.get(0) if len(cells) > 1 else None
        for column, cell in cells.items():
            head = self._columns.get(column)
            # A cell that the user named, a mere number, or the name of a feature only says what the
            # row is about.
            is_known = (
                cell.text.casefold() in self._asked
                or not _LETTER.search(cell.text)
                or (head is not None and _bare(head.text).casefold() in _FEATURE_HEADERS)
            )
            if cell is first and is_known:
                continue
            heads = [one for one in (None if cell is first else first, head) if one is not None]
            yield _claim(row, cell, "fact", index, [*self._context(row), *heads])


def _claim(
    sentence: Sentence,
    own: Sentence,
    kind: ClaimKind,
    index: int,
    above: Sequence[Sentence] = (),
    completed_text: str = "",
    subject: Span | None = None,
) -> Claim:
    """Build a claim of a sentence.

    Args:
        sentence: The sentence.
        own: The claim's own words.
        kind: Its kind.
        index: The sentence's index.
        above: Its context: lead-in, headers.
        completed_text: Its words with their subject, if they do not include it.
        subject: The span of that subject.
    """
    spans = [(own.start, own.end)]
    if subject:
        spans.append(subject)
    if above:
        spans += [(one.start, one.end) for one in above]
        completed_text = ": ".join(
            [*(_bare(one.text) for one in above), completed_text or own.text]
        )
    spans.sort()
    unit = "item" if own.unit == "item" else sentence.unit
    return Claim(own.text, own.start, own.end, unit, kind, completed_text, tuple(spans), index)


def _listed(clause: Sentence) -> Iterator[tuple[Sentence, str, Span | None]]:
    """Split a clause that ends with a list of names, such as "Its members are Ana, Tom and Lee".

    Yields:
        As `clauses` does: the clause up to the first name, then each other name, with the words
        before the first.
    """
    text = clause.text
    items = _items(text)
    # "On 4 May, Anna, Tom and Lea"
    is_other = bool(items) and text[: items[0][0]].rstrip()[-1:].isdigit()
    if len(items) < _MANY or is_other or items[0][0] > _MAX_LEAD:
        yield clause, "", None
        return
    head = text[: items[0][0]]
    bare = _ENDS_BEFORE.sub("", head)
    for index, (start, end) in enumerate(items):
        begin = start if index else 0
        # The end of the sentence belongs to the last one.
        end = len(text) if index == len(items) - 1 else end
        own = Sentence(text[begin:end], clause.start + begin, clause.start + end, "item")
        # "Il s'agit d'Ana, de Tom et de Lea"
        before = bare if _PREPOSITIONS.match(own.text) else head
        if index and before.strip():
            where = (clause.start, clause.start + len(before.rstrip()))
            yield own, before + own.text, where
        else:
            yield own, "", None


def _items(text: str) -> list[Span]:
    """Return the spans of the names that end a clause, if they are a list of three or more."""
    text = text.rstrip(_CLOSERS)
    if "、" in text:
        return _items_without_spaces(text.removesuffix("です"))
    last = _LAST_ITEM.search(text) if text.count(",") >= _MANY - 2 else None
    if last is None:
        return []
    found, end = [last.span("item")], last.start()
    while end > 0:
        start = max(text.rfind(", ", 0, end) + 2, 0) if ", " in text[:end] else 0
        # The first name follows the words that apply to all of them.
        item = _ITEM.fullmatch(text, start, end) or _FIRST_ITEM.search(text, start, end)
        if item is None:
            break
        found.append(item.span())
        end = start - 2 if item.start() == start else 0
    return found[::-1]


def _items_without_spaces(text: str) -> list[Span]:
    """Return the spans of the items of a Japanese or Chinese list at the end of a sentence."""
    begin = max(text.rfind(mark) + 1 for mark in "はが是有：:")
    ends = [(match.start(), match.end()) for match in _ITEM_ENDS.finditer(text, begin)]
    starts = [begin, *(end for _, end in ends)]
    found = list(zip(starts, [*(start for start, _ in ends), len(text)], strict=True))
    return found if all(0 < end - start <= _MAX_ITEM_CHARS for start, end in found) else []


def is_single_sentence(passage: Passage) -> bool:
    """Return whether a response is a single sentence, without code, a table or the like."""
    return len(passage.sentences) == 1 and all(
        piece.kind in {"prose", "heading", "rule"} for piece in passage.pieces
    )


_MAX_LEAD = 160
_SEVERAL = 2
# Names that make a list; two may be a single subject.
_MANY = 3
_MAX_ITEM_CHARS = 12
_CLOSERS = " .!。！"
_CONJUNCTIONS = "and|und|et|y|e|ed|en|och|og|i|и|ve|as well as|sowie"
_NAME = (
    r"(?!(?:Yes|No|Sure|Ja|Nein|Oui|Non|Sí|Sim|Não|Well|Also|However)\b)[^\W\d_a-zß-öø-ÿ][\w'’.&-]*"
    r"(?: (?:(?:de|van|von|der|den|la|le|del|di|da|du|do|dos|of|the|bin|al) ){0,2}"
    r"[^\W\d_a-zß-öø-ÿ][\w'’.&-]*){0,4}"
)
_PREPOSITION = r"(?:(?:de|von|di|da|do|of|by|in|to|for|à|a|för|med|with) |d['’])"
_PREPOSITIONS = re.compile(_PREPOSITION)
_ENDS_BEFORE = re.compile(rf"(?<![^\s]){_PREPOSITION}\Z")
_ITEM = re.compile(rf"{_PREPOSITION}?{_NAME}")
_LAST_ITEM = re.compile(rf",? (?:{_CONJUNCTIONS}) (?P<item>{_PREPOSITION}?{_NAME})\Z")
_FIRST_ITEM = re.compile(rf"(?<![^\s'’]){_NAME}\Z")
_ITEM_ENDS = re.compile(r"、|(?:と|和|及|以及)(?=[^、]{1,12}\Z)")
_LETTER = re.compile(r"[^\W\d_]")
_LETTERS = re.compile(r"[^\W\d_]+")
# "About", "With" and the like are written in lower case in titles, too.
_MAX_FUNCTION_WORD = 5
_DIGIT = re.compile(r"\d")
# "**Opened:** 1932", "opened: 1932", and text after an emoji.
_FIELD = re.compile(
    r"(?:\*\*|__)?[^\W\d_][\w ()/'’-]{0,40}(?:\*\*|__)?[:：](?:\*\*|__)?[ \t]+\S"
    r"|[\u2190-\u2bff\U0001f300-\U0001faff]\ufe0f?[ \t]+\S"
)
_BOLD = re.compile(r"(\*\*|__)[^*_\n]{1,120}\1[:：]?|(\*\*|__)[^*_\n]{1,120}[:：]\2")
# Without what follows it names nothing yet: "The members of the band are:".
_LEADS_IN = re.compile(
    r"\b(?:is|are|was|were|includes?|included|follows?|following|ist|sind|waren?|folgende[nrsm]?"
    r"|sont|est|suivant(?:e|s|es)?|son|es|siguientes?|sono|seguenti?|são|é|seguintes?|zijn"
    r"|volgende)\b([^:：,]{0,40})[:：]\Z",
    re.IGNORECASE,
)
# "Founder: Ada Moor", "Ada Moor, founder of Corvel"
_ADDS = re.compile(
    r"[:：]\s*\S|,\s+[^\W\dA-ZÀ-Þ]\w+\s(?:of|by|in|at|from|for|since|von|aus|bei|de|du|di|do|van|in)\b"
)
# The numbering of a heading, which says nothing.
_NUMBERING = re.compile(
    r"\A(?:(?i:chapter|section|part|step|day|week|phase|stage|question|option|kapitel|abschnitt|teil"
    r"|schritt|tag|chapitre|partie|étape|jour|capítulo|sección|parte|paso|día|capitolo|sezione"
    r"|passo|giorno|seção|dia|hoofdstuk|deel|stap|dag)\s+)?(?:\d{1,3}(?:\.\d{1,3}){0,3}|[ivxlcIVXLC]{1,6})"
    r"(?:[.):–-]\s*|\s+(?=[A-ZÀ-Þ])|\Z)",
)
# Headers of a column that names the feature that a row compares.
_FEATURE_HEADERS = words_of("""
    aspect aspects attribute category characteristic criterion criteria detail dimension factor
    feature features field metric parameter property specification topic aspekt eigenschaft
    kriterium merkmal kategorie aspecto característica criterio propiedad caractéristique critère
    propriété
    catégorie aspetto caratteristica criterio característica critério aspect eigenschap kenmerk
    criterium
""")
_HEDGES = words_of("""
    may might could perhaps possibly probably likely reportedly allegedly presumably supposedly seem
    seems appear appears vielleicht möglicherweise wahrscheinlich vermutlich angeblich wohl könnte
    dürfte peut-être probablement semble quizá quizás probablemente posiblemente parece forse
    probabilmente sembra talvez provavelmente possivelmente misschien waarschijnlijk mogelijk
    vermoedelijk lijkt
""")


def _is_label(sentence: Sentence, asked: str) -> bool:
    """Whether a heading, a table's header or a line that leads in a list says nothing by itself."""
    text = sentence.text.strip("*_ ")
    if sentence.unit == "head":
        # "Made in", "Opened" are headers of columns; a cell of many words may say more.
        cells = (cell.text for _, cell in _cells(sentence))
        return not any(len(c.split()) > 4 and Grammars().of(c).has_verb(c) for c in cells)
    if sentence.unit in {"sentence", "item"} and text.endswith((":", "：")):
        return not _DIGIT.search(text) and _leads_in(text)
    if sentence.unit == "heading" or _BOLD.fullmatch(sentence.text):
        words = _NUMBERING.sub("", text).rstrip(":： ")
        # "Profile: Venn windmill" only repeats what was asked about.
        name, _, about = words.replace("：", ":").partition(":")
        if about.strip() and about.strip("*_ ").casefold() in asked:
            words = name
        says = _DIGIT.search(words) or _ADDS.search(words) or Grammars().of(words).has_verb(words)
        return not says or words.endswith(("?", "？"))
    return False


def _leads_in(text: str) -> bool:
    """Whether a line only introduces what follows: "Members:", "The members of the band are:"."""
    grammar, found = Grammars().of(text), _LEADS_IN.search(text)
    if found is None:
        return "," not in text and not grammar.has_verb(text)
    if "`" in found[1]:
        # "The flag is `--keep`:" names something.
        return False
    # "The founder was Ada Moor:" names somebody; in German every noun is capitalised.
    return grammar.verb_last or not any(word[0].isupper() for word in found[1].split())


def _fields(sentence: Sentence) -> list[Sentence]:
    """Return the lines of a sentence if there are several and each is a field: "Opened: 1932"."""
    if "\n" not in sentence.text:
        return []
    found: list[Sentence] = []
    at = sentence.start
    for line in sentence.text.splitlines(keepends=True):
        bare = line.lstrip("> \t")
        if bare.strip() and not _FIELD.match(bare):
            return []
        if bare.strip():
            start = at + len(line) - len(bare)
            found.append(Sentence(bare.rstrip(), start, start + len(bare.rstrip()), sentence.unit))
        at += len(line)
    return found if len(found) > 1 else []


def _bare(text: str) -> str:
    return text.strip("*_:： \t")


def _cells(row: Sentence) -> Iterator[tuple[int, Sentence]]:
    """Yield the cells of a row that have a letter or a digit, with their columns."""
    start = column = 0
    for match in _BAR.finditer(row.text + "|"):
        if match.group() != "|":
            continue
        inner = row.text[start : match.start()]
        if _LETTER.search(inner) or _DIGIT.search(inner):
            at = row.start + start + len(inner) - len(inner.lstrip())
            yield column, Sentence(inner.strip(), at, at + len(inner.strip()), "row")
        start, column = match.end(), column + 1


# A bar after a backslash or in inline code does not end a cell.
_BAR = re.compile(r"\\.|`[^`\n]{0,400}`|\|", re.DOTALL)
