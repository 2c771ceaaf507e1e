"""Fill-in-the-blank exams: blanks a sentence with variables, and reads what a judge writes.

"A Multiple-Fill-in-the-Blank Exam Approach for Enhancing Zero-Resource Hallucination Detection in
Large Language Models", section 3.1 and appendices E.3.1 and E.3.2. A judge lists the subject and
the blanks of every sentence; which characters they are, and what a student sees in their place, is
decided here and always the same way.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise, zip_longest

__all__ = ["Blank", "Exam", "Listing", "build_exam", "read_exam_answers", "read_listings"]


@dataclass(frozen=True, slots=True)
class Blank:
    """An expression students are to fill in.

    Attributes:
        value: The expression, as it stands in the sentence.
        hypernym: What kind of thing it is; the hint students get.
    """

    value: str
    hypernym: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """What a judge says of one sentence.

    Attributes:
        subject: Its subject; nothing up to the end of it is blanked.
        blanks: What to blank; what does not stand in the sentence is passed over.
    """

    subject: str = ""
    blanks: tuple[Blank, ...] = ()


@dataclass(frozen=True, slots=True)
class Exam:
    """Sentences with variables in place of some of their words.

    Attributes:
        questions: The sentences as students see them.
        variables: For each sentence the variables in it, in order, each once. A variable is
            written with its quotes: `"$year_0"`.
        values: What stood in the place of each variable.
    """

    questions: tuple[str, ...]
    variables: tuple[tuple[str, ...], ...]
    values: Mapping[str, str]

    @property
    def examined(self) -> tuple[int, ...]:
        """The sentences with a blank in them, counted from 0."""
        return tuple(i for i, names in enumerate(self.variables) if names)


def build_exam(sentences: Sequence[str], listings: Sequence[Listing | None]) -> Exam:
    """Blank what a judge listed.

    Only what comes after the first occurrence of a sentence's subject is blanked, so that students
    write about the same thing (section 3.1); without the subject in it, all of the sentence. There
    every occurrence of a blank as whole words becomes a variable, longer blanks before shorter
    ones. Equal strings share a variable in all sentences, with the hypernym of the first.

    Args:
        sentences: The sentences.
        listings: What to blank in each; None leaves a sentence as it is.

    Returns:
        The exam. Putting the values back in the place of the variables gives the sentences.
    """
    variables = _Variables(sentences)
    questions: list[str] = []
    used: list[tuple[str, ...]] = []
    for sentence, listing in zip(sentences, listings, strict=True):
        question, position = "", 0
        names: list[str] = []
        for start, end, hypernym in _masks(sentence, listing) if listing else ():
            names.append(variables.of(sentence[start:end], hypernym))
            question += sentence[position:start] + names[-1]
            position = end
        questions.append(question + sentence[position:])
        used.append(tuple(dict.fromkeys(names)))
    return Exam(tuple(questions), tuple(used), variables.values())


class _Variables:
    """Hands out one variable for each value."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self._written = "\n".join(sentences)
        self._numbers = count()
        self._names: dict[str, str] = {}

    def of(self, value: str, hypernym: str) -> str:
        if value not in self._names:
            self._names[value] = f'"{self._new(_hint(value, hypernym))}"'
        return self._names[value]

    def _new(self, hint: str) -> str:
        # A sentence may talk about variables itself; ours must not be mistaken for its.
        names = (f"${hint}_{number}" for number in self._numbers)
        return next(name for name in names if name not in self._written)

    def values(self) -> dict[str, str]:
        return {name: value for value, name in self._names.items()}


def _masks(sentence: str, listing: Listing) -> list[tuple[int, int, str]]:
    """Where the blanks of a sentence stand, in order, each with its hypernym."""
    start = _end_of(listing.subject, sentence)
    taken = bytearray(len(sentence))
    masks: list[tuple[int, int, str]] = []
    for blank in sorted(listing.blanks, key=lambda blank: -len(blank.value)):
        for begin, end in _occurrences(blank.value, sentence, start):
            if not any(taken[begin:end]):
                taken[begin:end] = b"\1" * (end - begin)
                masks.append((begin, end, blank.hypernym))
    return sorted(masks)


def _end_of(subject: str, sentence: str) -> int:
    # Judges write "he" for "He"; only where there is no "he" as well can it be meant.
    for flags in (0, re.IGNORECASE):
        for _, end in _occurrences(subject, sentence, 0, flags):
            return end
    return 0


def _occurrences(
    value: str, sentence: str, start: int, flags: int = 0
) -> Iterator[tuple[int, int]]:
    if not any(map(str.isalnum, value)):
        return
    pattern = re.compile(re.escape(value), flags)
    match = pattern.search(sentence, start)
    while match:
        begin, end = match.span()
        whole = not (_inside_word(sentence, begin) or _inside_word(sentence, end))
        if whole:
            yield begin, end
        match = pattern.search(sentence, end if whole else begin + 1)


def _inside_word(text: str, at: int) -> bool:
    """Whether cutting a text there would cut a word or a number."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if _is_mark(after):
        return True
    if before in ".,":
        return text[at - 2 : at - 1].isdigit() and after.isdigit()
    if after in ".,":
        return before.isdigit() and text[at + 1 : at + 2].isdigit()
    return _joins(before) and _joins(after)


def _joins(character: str) -> bool:
    # Letters without case ("Lo") are those of scripts that leave no space between words, or that
    # write particles onto names: there the edge of a word cannot be seen.
    if _is_mark(character):
        return True
    return character.isalnum() and unicodedata.category(character) != "Lo"


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def _hint(value: str, hypernym: str) -> str:
    # A hypernym with the value in it would give the answer away.
    if set(_words(value)) <= set(_words(hypernym)):
        return "term"
    return "_".join(_words(hypernym)) or "term"


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


# A line that begins with a sentence's number: `[s0]`, `Text=[s0]`, `- **[s0]**`, `2. s0:`.
_EDGE = r"(?:[^\w\n]|_)*"
_HEADER = re.compile(
    rf"^{_EDGE}(?:[0-9]{{1,3}}[.)]{_EDGE})?(?:text\b{_EDGE})?"
    r"s([0-9]{1,4})(?:[\])]|[:.](?=\s))[*_`]*[:：]?[*_`]*",
    re.IGNORECASE | re.MULTILINE,
)
_FIELD = re.compile(
    rf"^{_EDGE}(subject|blanks?)\b[^\w<\n=:：]*[=:：]", re.IGNORECASE | re.MULTILINE
)
_NOTHING = re.compile(r"(?:none|no|nothing|empty|n/a)\b", re.IGNORECASE)
_LAST_COLON = re.compile(r"[:：]([^:：]*)$")
_LETTER = re.compile(r"[^\W\d_]")
_PARAGRAPH_END = re.compile(r"\n\s*\n")


def read_listings(text: str, sentences: int) -> list[Listing | None]:
    """Read a judge's list of subjects and blanks.

    Takes the three lines per sentence that are asked for (`Text=[s0] …`, `Subject=<Alice:person>`,
    `Blanks=<21:day>, <March:month>`), in any order of sentences, with decoration, and without the
    text. Without any number, the lists count in their order when there is one for each sentence.
    Of two lists for one sentence the first counts.

    Args:
        text: What the judge wrote.
        sentences: How many sentences it was given, numbered from 0.

    Returns:
        One entry per sentence; None where nothing could be read.
    """
    parts = _numbered_parts(text) or _parts_in_order(text, sentences)
    found: dict[int, Listing] = {}
    for number, part in parts:
        listing = _listing(part)
        if listing is not None:
            found.setdefault(number, listing)
    return [found.get(i) for i in range(sentences)]


def read_exam_answers(text: str, exam: Exam) -> list[str | None]:
    """Read a student's answers.

    Args:
        text: What the student wrote: each sentence after its number, `[s0] …`.
        exam: What was asked.

    Returns:
        One entry for each sentence of `exam.examined`, on one line; None where it is missing, or
        still has one of its variables in it.
    """
    found: dict[int, str] = {}
    for number, part in _numbered_parts(text):
        sentence = " ".join(_first_paragraph(part).split())
        if sentence and number in exam.examined and _is_filled(sentence, exam.variables[number]):
            found.setdefault(number, sentence)
    return [found.get(i) for i in exam.examined]


def _is_filled(sentence: str, variables: Sequence[str]) -> bool:
    # Students may leave the quotes away.
    return not any(re.search(re.escape(v.strip('"')) + r"(?![0-9])", sentence) for v in variables)


def _numbered_parts(text: str) -> list[tuple[int, str]]:
    return [(int(number), part) for number, part in _parts(_HEADER, text)]


def _parts_in_order(text: str, sentences: int) -> list[tuple[int, str]]:
    starts = [f.start() for f in _FIELD.finditer(text) if f[1].casefold() == "subject"]
    if len(starts) != sentences:
        return []
    return [(i, text[a:b]) for i, (a, b) in enumerate(pairwise([*starts, len(text)]))]


def _parts(mark: re.Pattern[str], text: str) -> list[tuple[str, str]]:
    """What each mark says, and the text from there to the next."""
    marks = list(mark.finditer(text))
    ends = [following.start() for following in marks[1:]]
    return [(m[1], text[m.end() : e]) for m, e in zip_longest(marks, ends)]


def _listing(part: str) -> Listing | None:
    fields: dict[str, str] = {}
    for name, field in _parts(_FIELD, part):
        fields.setdefault(name.casefold().rstrip("s"), _first_paragraph(field))
    blanks = _blanks(fields["blank"]) if "blank" in fields else None
    if blanks is None:
        return None
    subject = fields.get("subject", "")
    named = _bracketed(subject) or [subject.strip("<>")]
    return Listing(_blank(named[0]).value, blanks)


def _blanks(field: str) -> tuple[Blank, ...] | None:
    """Read `<value:hypernym>, …`; None for what is neither that nor a word for nothing."""
    items = _bracketed(field)
    if items:
        return tuple(map(_blank, items))
    line = field.strip("\n\t *_`\"'()[]{}<>-–—.")
    return () if not line or _NOTHING.match(line) else None


def _bracketed(field: str) -> list[str]:
    start, end = field.find("<"), field.rfind(">")
    # Between two items there is anything but these brackets; inside of one there may be a bracket.
    items = re.split(r">[^<>]*<", field[start + 1 : end]) if 0 <= start < end else []
    return [item for item in items if item.strip()]


def _first_paragraph(text: str) -> str:
    return _PARAGRAPH_END.split(text.strip(), maxsplit=1)[0]


def _blank(item: str) -> Blank:
    colon = _LAST_COLON.search(item)
    # In `<10:30>` the colon is the value's own.
    if colon is None or not _LETTER.search(colon[1]):
        return Blank(_bare(item))
    return Blank(_bare(item[: colon.start()]), colon[1].strip())


def _bare(value: str) -> str:
    return " ".join(value.split()).strip("*_` ")
