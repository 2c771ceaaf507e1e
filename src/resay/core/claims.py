"""Claims: what the sentences of a response say, one thing each.

A sentence such as "It opened in 1932 and has 6,512,331 rivets" claims two things, of which one may
be right and the other invented. A claim is a stretch of a sentence that says one of them, with what
it needs to be understood alone: the subject of its sentence, the lead-in of its list, the heads of
its row and column.

`Rules` finds them without calls, in time linear in the length of the text, sentence after sentence,
so that the claims of a response that is still being written are those of the whole. It takes
sentences apart at conjunctions before another predicate or clause, at relative clauses, appositions
and behind opening participles, in English, German, French, Spanish, Italian, Portuguese and Dutch,
and only where it knows the verb that follows; and lists of names, in any language. A claim that
stays joined is still checked, as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, get_args

from resay.core.clauses import Grammars, clauses, words_of
from resay.core.non_claims import NonClaim, asks_openly, claims_nothing, invention_in
from resay.core.passage import Passage, Sentence
from resay.core.segmentation import Span

ClaimKind = Literal["fact", "hedged", "label"] | NonClaim
"""What a claim is: a fact, one that is said to be uncertain, a label such as the head of a table or
the lead-in of a list, or something else that claims nothing."""


@dataclass(frozen=True, slots=True)
class Claim(Sentence):
    """One thing that a sentence says.

    Attributes:
        text: Its own words, exactly `response[start:end]`.
        start: Where they begin in the response, in code points.
        end: Where they end (exclusive), in code points.
        unit: What its sentence is; a name of a list in running text is an item.
        kind: Whether it claims something.
        said: What it says, with the words written out that stand elsewhere; empty where its own
            words are enough.
        spans: The stretches of the response whose words are in `said`, in order.
        sentence: The place of its sentence in the passage.
    """

    kind: ClaimKind = "fact"
    said: str = ""
    spans: tuple[Span, ...] = ()
    sentence: int = 0

    @property
    def standalone(self) -> str:
        """What it says, to be understood without what is around it."""
        return self.said or self.text

    @property
    def claims(self) -> bool:
        """Whether it claims anything."""
        return self.kind in {"fact", "hedged"}


class Rules:
    """Finds the claims of a response by rules, a sentence at a time, in order.

    Args:
        question: What the response answers; empty where that is not known.
        splits: Whether sentences are taken apart; else each is one claim.
        skips: Whether greetings, refusals, labels and the like are told from claims.
        tell: Says of a sentence and the question what it is that claims nothing, as `NonClaim`
            has them; None for a claim. It is asked about what the rules take for a claim; what it
            raises, and any other answer, leaves that as it is.

    Attributes:
        question: What the response answers.
    """

    def __init__(
        self,
        question: str = "",
        *,
        splits: bool = True,
        skips: bool = True,
        tell: Callable[[str, str], object] | None = None,
    ) -> None:
        self.question = question
        self._tell = tell
        self._asked = question.casefold()
        self._is_open = asks_openly(question)
        self._wants = invention_in(question)
        self._splits = splits
        self._skips = skips
        self._heading: Sentence | None = None
        self._lead: Sentence | None = None
        self._columns: dict[int, Sentence] = {}
        self._grammars = Grammars()

    def read(self, sentence: Sentence, place: int, *, alone: bool = False) -> tuple[Claim, ...]:
        """Read the next sentence.

        Args:
            sentence: It, in the order of the response.
            place: Its place in the passage.
            alone: Whether the response says nothing else (`says_one_thing`): "**Oslo**" is then an
                answer, and no title.

        Returns:
            Its claims in order, at least one; where it claims nothing, one that says so.
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
        whole = _claim(sentence, sentence, kind, place)
        if not self._splits:
            return (whole,)
        grammar = self._grammars.of(sentence.text)
        if not whole.claims:
            return (whole,)
        if sentence.unit == "row":
            return tuple(self._of_row(sentence, place)) or (whole,)
        above = self._above(sentence)
        fields = _fields(sentence)
        if fields:
            above = above or self._short(self._heading)
            return tuple(_claim(sentence, field, kind, place, above) for field in fields)
        said = [
            part
            for clause in clauses(sentence, grammar)
            for part in ((clause,) if clause[1] else _listed(clause[0]))
        ]
        return tuple(
            whole
            if clause is sentence and not above
            else _claim(
                sentence, clause, self._kind_of(clause, kind, said), place, above, words, subject
            )
            for clause, words, subject in said
        )

    def _kind_of(self, clause: Sentence, kind: ClaimKind, parts: Sequence[object]) -> ClaimKind:
        """What one of several clauses is: "…, but the documents do not state the price"."""
        if not self._skips or len(parts) < _SEVERAL or clause.unit == "item":
            return kind
        return claims_nothing(clause.text, is_open=self._is_open, asked=self.question) or kind

    def _kind(self, sentence: Sentence, *, alone: bool) -> ClaimKind:
        text = sentence.text
        if self._wants is not None and self._wants(text):
            return "creative"
        is_answer = (
            alone and sentence.unit == "sentence" and not text.rstrip("*_").endswith((":", "："))
        )
        if not is_answer and _is_label(sentence, self._asked):
            return "label"
        told = claims_nothing(text, is_open=self._is_open, asked=self.question)
        nothing = told or self._told(text)
        # "Launch moved to May 3"
        words = (word.lower() for word in text.split() if word != "May")
        return nothing or ("fact" if _HEDGES.isdisjoint(words) else "hedged")

    def _told(self, text: str) -> NonClaim | None:
        if self._tell is None:
            return None
        # It is somebody else's, and whatever happens in it must not cost the answer.
        with suppress(Exception):
            told = self._tell(text, self.question)
            return next((kind for kind in get_args(NonClaim) if kind == told), None)
        return None

    def _above(self, sentence: Sentence) -> list[Sentence]:
        """What an item, or a row, needs from above it to be understood."""
        above = self._heading if sentence.unit in {"item", "row"} else None
        if sentence.unit == "item" and self._lead is not None:
            above = self._lead
        return self._short(above)

    @staticmethod
    def _short(above: Sentence | None) -> list[Sentence]:
        return [] if above is None or len(above.text) > _MAX_LEAD else [above]

    def _of_row(self, row: Sentence, place: int) -> Iterator[Claim]:
        cells = dict(_cells(row))
        first = cells.get(0) if len(cells) > 1 else None
        for column, cell in cells.items():
            head = self._columns.get(column)
            # What the user named, or a mere number, only says what the row is about, and so does
            # the name of a feature.
            is_known = (
                cell.text.casefold() in self._asked
                or not _LETTER.search(cell.text)
                or (head is not None and _bare(head.text).casefold() in _FEATURES)
            )
            if cell is first and is_known:
                continue
            heads = [one for one in (None if cell is first else first, head) if one is not None]
            yield _claim(row, cell, "fact", place, [*self._above(row), *heads])


def _claim(
    sentence: Sentence,
    own: Sentence,
    kind: ClaimKind,
    place: int,
    above: Sequence[Sentence] = (),
    said: str = "",
    subject: Span | None = None,
) -> Claim:
    """Return a claim of a sentence.

    Args:
        sentence: The sentence.
        own: The claim's own words.
        kind: Whether it claims something.
        place: The sentence's place.
        above: What it belongs to: lead-in, heads.
        said: Its words with its subject, where that is not among its own.
        subject: Where that subject is.
    """
    spans = [(own.start, own.end)]
    if subject:
        spans.append(subject)
    if above:
        spans += [(one.start, one.end) for one in above]
        said = ": ".join([*(_bare(one.text) for one in above), said or own.text])
    spans.sort()
    unit = "item" if own.unit == "item" else sentence.unit
    return Claim(own.text, own.start, own.end, unit, kind, said, tuple(spans), place)


def _listed(clause: Sentence) -> Iterator[tuple[Sentence, str, Span | None]]:
    """Take a clause apart that ends with a list of names, as "Its members are Ana, Tom and Lee".

    Yields:
        As `clauses` does: the clause up to the first name, then each other name, with what stands
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
    for place, (start, end) in enumerate(items):
        begin = start if place else 0
        # What closes the sentence belongs to the last one.
        end = len(text) if place == len(items) - 1 else end
        own = Sentence(text[begin:end], clause.start + begin, clause.start + end, "item")
        # "Il s'agit d'Ana, de Tom et de Lea"
        before = bare if _PREPOSITIONS.match(own.text) else head
        if place and before.strip():
            where = (clause.start, clause.start + len(before.rstrip()))
            yield own, before + own.text, where
        else:
            yield own, "", None


def _items(text: str) -> list[Span]:
    """Return where the names are that a clause ends with, if they are a list of at least three."""
    text = text.rstrip(_CLOSERS)
    if "、" in text:
        return _items_without_spaces(text.removesuffix("です"))
    last = _LAST_ITEM.search(text) if text.count(",") >= _MANY - 2 else None
    if last is None:
        return []
    found, end = [last.span("item")], last.start()
    while end > 0:
        start = max(text.rfind(", ", 0, end) + 2, 0) if ", " in text[:end] else 0
        # The first one stands behind what is said of all of them.
        item = _ITEM.fullmatch(text, start, end) or _FIRST_ITEM.search(text, start, end)
        if item is None:
            break
        found.append(item.span())
        end = start - 2 if item.start() == start else 0
    return found[::-1]


def _items_without_spaces(text: str) -> list[Span]:
    """Return where the items of a Japanese or Chinese list are that a sentence ends with."""
    begin = max(text.rfind(mark) + 1 for mark in "はが是有：:")
    ends = [(match.start(), match.end()) for match in _ITEM_ENDS.finditer(text, begin)]
    starts = [begin, *(end for _, end in ends)]
    found = list(zip(starts, [*(start for start, _ in ends), len(text)], strict=True))
    return found if all(0 < end - start <= _MAX_ITEM_CHARS for start, end in found) else []


def says_one_thing(passage: Passage) -> bool:
    """Return whether a whole response is one sentence, and no code, table or the like beside it."""
    return len(passage.sentences) == 1 and all(
        piece.kind in {"prose", "heading", "rule"} for piece in passage.pieces
    )


_MAX_LEAD = 160
_SEVERAL = 2
# So many names make a list; two may be one subject.
_MANY = 3
_MAX_ITEM_CHARS = 12
_CLOSERS = " .!。！"
_JOINS = "and|und|et|y|e|ed|en|och|og|i|и|ve|as well as|sowie"
_NAME = (
    r"(?!(?:Yes|No|Sure|Ja|Nein|Oui|Non|Sí|Sim|Não|Well|Also|However)\b)[^\W\d_a-zß-öø-ÿ][\w'’.&-]*"
    r"(?: (?:(?:de|van|von|der|den|la|le|del|di|da|du|do|dos|of|the|bin|al) ){0,2}"
    r"[^\W\d_a-zß-öø-ÿ][\w'’.&-]*){0,4}"
)
_PREPOSITION = r"(?:(?:de|von|di|da|do|of|by|in|to|for|à|a|för|med|with) |d['’])"
_PREPOSITIONS = re.compile(_PREPOSITION)
_ENDS_BEFORE = re.compile(rf"(?<![^\s]){_PREPOSITION}\Z")
_ITEM = re.compile(rf"{_PREPOSITION}?{_NAME}")
_LAST_ITEM = re.compile(rf",? (?:{_JOINS}) (?P<item>{_PREPOSITION}?{_NAME})\Z")
_FIRST_ITEM = re.compile(rf"(?<![^\s'’]){_NAME}\Z")
_ITEM_ENDS = re.compile(r"、|(?:と|和|及|以及)(?=[^、]{1,12}\Z)")
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"\d")
# "**Opened:** 1932", "opened: 1932", and what stands behind a picture.
_FIELD = re.compile(
    r"(?:\*\*|__)?[^\W\d_][\w ()/'’-]{0,40}(?:\*\*|__)?[:：](?:\*\*|__)?[ \t]+\S"
    r"|[\u2190-\u2bff\U0001f300-\U0001faff]\ufe0f?[ \t]+\S"
)
_BOLD = re.compile(r"(\*\*|__)[^*_\n]{1,120}\1[:：]?|(\*\*|__)[^*_\n]{1,120}[:：]\2")
# With what follows it names nothing yet: "The members of the band are:".
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
# What numbers a heading, and says nothing.
_NUMBERING = re.compile(
    r"\A(?:(?i:chapter|section|part|step|day|week|phase|stage|question|option|kapitel|abschnitt|teil"
    r"|schritt|tag|chapitre|partie|étape|jour|capítulo|sección|parte|paso|día|capitolo|sezione"
    r"|passo|giorno|seção|dia|hoofdstuk|deel|stap|dag)\s+)?(?:\d{1,3}(?:\.\d{1,3}){0,3}|[ivxlcIVXLC]{1,6})"
    r"(?:[.):–-]\s*|\s+(?=[A-ZÀ-Þ])|\Z)",
)
# Heads of the column that says what a row compares.
_FEATURES = words_of("""
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
    """Whether a heading, a table's head or a line that leads in a list says nothing by itself."""
    text = sentence.text.strip("*_ ")
    if sentence.unit == "head":
        # "Made in", "Opened" are heads of columns; a cell of many words may say more.
        cells = (cell.text for _, cell in _cells(sentence))
        return not any(len(c.split()) > 4 and Grammars().of(c).says(c) for c in cells)
    if sentence.unit in {"sentence", "item"} and text.endswith((":", "：")):
        return not _DIGIT.search(text) and _leads_in(text)
    if sentence.unit == "heading" or _BOLD.fullmatch(sentence.text):
        words = _NUMBERING.sub("", text).rstrip(":： ")
        # "Profile: Venn windmill" only repeats what was asked about.
        name, _, about = words.replace("：", ":").partition(":")
        if about.strip() and about.strip("*_ ").casefold() in asked:
            words = name
        says = _DIGIT.search(words) or _ADDS.search(words) or Grammars().of(words).says(words)
        return not says or words.endswith(("?", "？"))
    return False


def _leads_in(text: str) -> bool:
    """Whether a line only says what follows it: "Members:", "The members of the band are:"."""
    grammar, found = Grammars().of(text), _LEADS_IN.search(text)
    if found is None:
        return "," not in text and not grammar.says(text)
    if "`" in found[1]:
        # "The flag is `--keep`:" names something.
        return False
    # "The founder was Ada Moor:" names somebody; in German every noun has a capital.
    return grammar.is_last or not any(word[0].isupper() for word in found[1].split())


def _fields(sentence: Sentence) -> list[Sentence]:
    """The lines of a sentence, where each of several is a field: "Opened: 1932"."""
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
    """The cells of a row that hold a letter or a digit, by their columns."""
    start = column = 0
    for match in _BAR.finditer(row.text + "|"):
        if match.group() != "|":
            continue
        inner = row.text[start : match.start()]
        if _LETTER.search(inner) or _DIGIT.search(inner):
            at = row.start + start + len(inner) - len(inner.lstrip())
            yield column, Sentence(inner.strip(), at, at + len(inner.strip()), "row")
        start, column = match.end(), column + 1


# A bar behind a backslash, or in inline code, ends no cell.
_BAR = re.compile(r"\\.|`[^`\n]{0,400}`|\|", re.DOTALL)
