"""What a question asks for: who or what, an invention, or where to turn."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from resay._internal.patterns import lazy_pattern
from resay.core.details import words_in
from resay.lang.language import all_alternatives

_DIGIT = lazy_pattern(r"\d")
_WITH_DIGIT = lazy_pattern(r"(?<!\w)[\w-]*\d[\w-]*")


def _alternatives(name: str) -> str:
    return all_alternatives("questions", name)


@cache
def _open_question() -> re.Pattern[str]:
    # The words at the beginning of a question have other meanings elsewhere.
    return re.compile(
        rf"\b(?:{_alternatives('open')})\b"
        rf"|(?:\A|[:：\n])\W{{0,4}}(?:{_alternatives('open_at_start')})\b"
        rf"|{_alternatives('open_anywhere')}",
        re.IGNORECASE,
    )


@cache
def _creative() -> re.Pattern[str]:
    return re.compile(_alternatives("creative"), re.IGNORECASE | re.VERBOSE)


@cache
def _where_to_turn() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_alternatives('where_to_turn')})\b", re.IGNORECASE)


@cache
def _verse() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_alternatives('verse')})\b", re.IGNORECASE)


# The longest beginning and end of a message that are searched for its question.
_MAX_QUESTION_CHARS = 1000
# Neither words nor a line break before a word, so that no pattern matches across it.
_CUT_MARK = "\n[.....] "


def asking_part(message: str) -> str:
    """Return the part of a user's message that may ask: all of it, or its beginning and its end.

    A long message consists of material, with the question above or below it. The patterns for
    questions take microseconds a character and hold the interpreter's lock, so they never see the
    material.

    Args:
        message: The message.

    Returns:
        A text of bounded length.
    """
    if len(message) <= 2 * _MAX_QUESTION_CHARS:
        return message
    # Without the words that were cut in two.
    beginning = message[:_MAX_QUESTION_CHARS].rsplit(None, 1)[:1]
    end = message[-_MAX_QUESTION_CHARS:].split(None, 1)[-1:]
    return _CUT_MARK.join([*beginning, *end])


def is_open_question(question: str) -> bool:
    """Return whether a question asks who, what or how, so that yes or no does not answer it."""
    return _open_question().search(asking_part(question)) is not None


def invention_predicate(question: str) -> Callable[[str], bool] | None:
    """Return a predicate for text invented on request: a poem, a name, a favourite season.

    Args:
        question: The question.

    Returns:
        A function that returns whether a sentence of the answer is invented; None if the question
        asks for nothing of that kind.
    """
    question = asking_part(question)
    if _creative().search(question):
        return lambda text: True
    # "Two lines about Rome" may be prose. Verse has several short lines without digits.
    return _is_verse if _verse().search(question) else None


def _is_verse(text: str) -> bool:
    lines = text.strip().splitlines()
    return len(lines) > 1 and all(len(line) <= 60 for line in lines) and not _DIGIT.search(text)


def asks_where_to_turn(question: str) -> bool:
    """Return whether a question asks whom to call or where to look."""
    return _where_to_turn().search(question) is not None


@dataclass(frozen=True, slots=True)
class Question:
    """What the user asked.

    Attributes:
        text: The asking part of the message; empty if unknown.
        words: Its words, case-folded.
        is_open: Whether it asks who, what or how.
    """

    text: str
    words: frozenset[str]
    is_open: bool

    @staticmethod
    def of(message: str, *, is_open: bool) -> Question:
        """Read a user's message.

        Args:
            message: The message; empty if unknown.
            is_open: Whether it asks who, what or how.
        """
        text = asking_part(message)
        return Question(text=text, words=words_in(text), is_open=is_open)

    def without_numbers(self, text: str) -> str:
        """Return a text with "it" for words with digits from the question, such as "X100"."""
        if not _DIGIT.search(text):
            return text
        words = frozenset(_WITH_DIGIT.findall(self.text))
        return _WITH_DIGIT.sub(lambda word: "it" if word[0] in words else word[0], text)
