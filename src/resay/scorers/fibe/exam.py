"""Fill-in-the-blank exams: sentences with variables in place of some of their words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count


@dataclass(frozen=True, slots=True)
class Blank:
    """An expression for students to fill in.

    Attributes:
        value: The expression, as it appears in the sentence.
        hypernym: The kind of thing it is; the hint students get.
    """

    value: str
    hypernym: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """A judge's list of expressions for one sentence.

    Attributes:
        subject: Its subject; nothing up to the end of it is blanked.
        blanks: The expressions to blank; those that do not appear in the sentence are ignored.
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
        values: The words that each variable replaces.
    """

    questions: tuple[str, ...]
    variables: tuple[tuple[str, ...], ...]
    values: Mapping[str, str]

    @property
    def examined(self) -> tuple[int, ...]:
        """The sentences with a blank in them, counted from 0."""
        return tuple(i for i, names in enumerate(self.variables) if names)


def build_exam(sentences: Sequence[str], listings: Sequence[Listing | None]) -> Exam:
    """Replace the expressions that a judge listed by variables.

    Only text after the first occurrence of a sentence's subject is blanked, so that students write
    about the same thing (section 3.1); if the subject does not occur, the whole sentence is. Every
    occurrence of a blank as whole words becomes a variable, longer blanks before shorter ones.
    Equal strings share a variable in all sentences, with the hypernym of the first.

    Args:
        sentences: The sentences.
        listings: The expressions to blank in each; None leaves a sentence as it is.

    Returns:
        The exam. Replacing the variables by their values restores the sentences.
    """
    variables = _Variables(sentences)
    questions: list[str] = []
    variables_by_sentence: list[tuple[str, ...]] = []
    for sentence, listing in zip(sentences, listings, strict=True):
        question, position = "", 0
        names: list[str] = []
        for start, end, hypernym in _masks(sentence, listing) if listing else ():
            names.append(variables.of(sentence[start:end], hypernym))
            question += sentence[position:start] + names[-1]
            position = end
        questions.append(question + sentence[position:])
        variables_by_sentence.append(tuple(dict.fromkeys(names)))
    return Exam(tuple(questions), tuple(variables_by_sentence), variables.values())


class _Variables:
    """Assigns one variable to each value."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self._written = "\n".join(sentences)
        self._numbers = count()
        self._names: dict[str, str] = {}

    def of(self, value: str, hypernym: str) -> str:
        if value not in self._names:
            self._names[value] = f'"{self._new(_hint(value, hypernym))}"'
        return self._names[value]

    def _new(self, hint: str) -> str:
        # A sentence may itself mention variables; ours must be distinct from those.
        names = (f"${hint}_{number}" for number in self._numbers)
        return next(name for name in names if name not in self._written)

    def values(self) -> dict[str, str]:
        return {name: value for value, name in self._names.items()}


def _masks(sentence: str, listing: Listing) -> list[tuple[int, int, str]]:
    """Return the spans of a sentence's blanks in order, each with its hypernym."""
    start = _end_of(listing.subject, sentence)
    is_masked = bytearray(len(sentence))
    masks: list[tuple[int, int, str]] = []
    for blank in sorted(listing.blanks, key=lambda blank: -len(blank.value)):
        for begin, end in _occurrences(blank.value, sentence, start):
            if not any(is_masked[begin:end]):
                is_masked[begin:end] = b"\1" * (end - begin)
                masks.append((begin, end, blank.hypernym))
    return sorted(masks)


def _end_of(subject: str, sentence: str) -> int:
    # Judges write "he" for "He", so case is ignored if there is no exact match.
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
        is_whole = not (_is_inside_word(begin, sentence) or _is_inside_word(end, sentence))
        if is_whole:
            yield begin, end
        match = pattern.search(sentence, end if is_whole else begin + 1)


def _is_inside_word(offset: int, text: str) -> bool:
    """Return whether cutting a text at an offset would split a word or a number."""
    if not 0 < offset < len(text):
        return False
    before, after = text[offset - 1], text[offset]
    if _is_mark(after):
        return True
    if before in ".,":
        return text[offset - 2 : offset - 1].isdigit() and after.isdigit()
    if after in ".,":
        return before.isdigit() and text[offset + 1 : offset + 2].isdigit()
    return _joins(before) and _joins(after)


def _joins(character: str) -> bool:
    # Letters without case ("Lo") are those of scripts that put no space between words, or attach
    # particles to names, so that word boundaries cannot be seen.
    if _is_mark(character):
        return True
    return character.isalnum() and unicodedata.category(character) != "Lo"


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def _hint(value: str, hypernym: str) -> str:
    # A hypernym that contains the value would give the answer away.
    if set(_words(value)) <= set(_words(hypernym)):
        return "term"
    return "_".join(_words(hypernym)) or "term"


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())
