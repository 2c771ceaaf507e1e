"""What the simulated model knows about the fields of an object that it is to fill in.

It knows a field where, in this order,

- the world knows a fact about the subject of the conversation that has at least 60 % of the telling
  words of the field's name, or else of its description: the field gets the number, the date or the
  name in that fact which the user did not say already;
- the user's words hold a value for it. A numeric field gets the number next to a word of its name
  ("3 days"), or else the next number that no field got; what is said to be a year ("in 1932") only
  where the field speaks of a year. A field of text gets what stands in quotes, in order; one that
  asks for a name, a place, a title or the like also gets names; a "query" or "question" gets the
  whole message. The last message that holds numbers, quotes or names is looked at;
- one of its allowed values is said by the user, or in that fact.

Where the conversation ends with the results of tools, an answer also uses their words as the
user's. What it knows is the same in every answer to a conversation. Everything else it makes up,
and so it does with the fields of objects in lists, of which there are not as many each time. Fields
like "answer" and "summary" get what it would say in words: some of it known, some made up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from resay.testing.world import FUNCTION_WORDS, MONTHS, WORD, fold, stems
from simulation.judges.knowledge import recall
from simulation.tools import CALL, name_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from resay.testing.world import Subject, World

__all__ = ["Field", "Knowledge"]

T = TypeVar("T")

_NAMING_LISTED = """address article author book brand cities city companies company countries
country customer entity film item keyword location movie name organisation organization person place
product region song state subject symbol term ticker title topic town who"""
_KINDS_LISTED = """amount count day full id integer list month number string text time total
value"""
_PROSE_LISTED = """answer body content description explanation overview reply response summary
text"""
_ORDERS_LISTED = """compare create describe explain extract find get give list name search show
summarise summarize tell use using write"""
_NAMING = stems(_NAMING_LISTED.split())
_YEARS = stems(["year", "date"])
_ASKING = stems(["prompt", "query", "question"])
# What a field is, not what it is about.
_KINDS = _NAMING | _YEARS | stems(_KINDS_LISTED.split())
_PROSE = stems(_PROSE_LISTED.split())
_ORDERS = frozenset(_ORDERS_LISTED.split())
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|\.\d)")
_YEAR = re.compile(r"(?:in|since|of|from|until|by|before|after)\s+$", re.IGNORECASE)
_DATE = re.compile(rf"\d{{1,2}} (?:{'|'.join(MONTHS)}) \d{{4}}")
_QUOTED = re.compile(r"(?<!\w)(['\"“«「`])([^'\"“”«»「」`\n]+)['\"”»」`](?!\w)")


@dataclass(frozen=True, slots=True)
class Field:
    """A place in an object that is to be filled.

    Attributes:
        name: What the object calls it.
        description: What its schema says about it.
    """

    name: str
    description: str = ""

    @property
    def words(self) -> set[str]:
        """The stems of its name."""
        return stems(name_words(self.name))

    @property
    def described(self) -> set[str]:
        """The stems of its name and its description."""
        return self.words | stems(WORD.findall(self.description))

    @property
    def asks_for_a_name(self) -> bool:
        """Whether it takes the name of what the user speaks of."""
        return bool(self.words & _NAMING)

    @property
    def asks_for_a_year(self) -> bool:
        """Whether it takes a year."""
        return bool(self.described & _YEARS)

    @property
    def asks_for_prose(self) -> bool:
        """Whether it takes a text of several sentences."""
        return bool(self.words & _PROSE)


@dataclass(frozen=True, slots=True)
class _Number:
    value: float
    beside: set[str]
    is_year: bool


@dataclass(slots=True)
class _Said:
    """The values in the user's words that no field got yet.

    Attributes:
        numbers: The numbers.
        quoted: What stands in quotes.
        names: The names.
    """

    numbers: list[_Number] = field(default_factory=list[_Number])
    quoted: list[str] = field(default_factory=list[str])
    names: list[str] = field(default_factory=list[str])


class Knowledge:
    """What is known while one object is filled in. What a field gets no other one gets.

    Args:
        said: The user's messages, or what else holds values to use, oldest first.
        world: What the model knows.
        keys: The names of the fields, which are no values where the user quotes them.
    """

    def __init__(self, said: Sequence[str], world: World, keys: frozenset[str]) -> None:
        texts = [text.replace(CALL, " ") for text in reversed(said)]
        self._subject = next((found for text in texts if (found := world.find(text))), None)
        self._last = texts[0].strip() if texts else ""
        named = [_names_in(_QUOTED.sub(". ", text)) or _subject_in(text, world) for text in texts]
        quoted = [[q for q in _quoted_in(text) if q not in keys] for text in texts]
        self._left = _Said(_last(map(_numbers_in, texts)), _last(quoted), _last(named))
        self._mentioned = {fold(word) for text in texts for word in WORD.findall(text)}

    def number(self, wanted: Field, fits: Callable[[object], bool]) -> float | None:
        """Return the number that is known for a field, None where none is."""
        fact = self._fact(wanted)
        recalled = [n.value for n in _numbers_in(fact) if n.is_year == wanted.asks_for_a_year]
        known = next(filter(fits, recalled), None)
        return self._number_said(wanted, fits) if known is None else known

    def numbers(self) -> list[float]:
        """Return all numbers that are left in the user's words."""
        numbers, self._left.numbers = self._left.numbers, []
        return [number.value for number in numbers if not number.is_year]

    def text(self, wanted: Field, fits: Callable[[object], bool]) -> str | None:
        """Return the text that is known for a field, None where none is."""
        recalled = next(filter(fits, self._recalled(wanted)), None)
        if recalled is not None:
            return recalled
        if wanted.words & _ASKING and fits(self._last):
            return self._last
        for values in (self._left.quoted, self._left.names if wanted.asks_for_a_name else []):
            value = next(filter(fits, values), None)
            if value is not None:
                values.remove(value)
                return value
        return None

    def texts(self, wanted: Field) -> list[str]:
        """Return all names that are left in the user's words, where a list asks for names."""
        if not wanted.asks_for_a_name:
            return self._recalled(wanted)
        names, self._left.names = self._left.names, []
        return names

    def choice(self, wanted: Field, allowed: Sequence[object]) -> object | None:
        """Return the first allowed value that the user said or a fact has, None where none is."""
        for text in (self._last, self._fact(wanted)):
            said = {fold(word) for word in WORD.findall(text)}
            for value in allowed:
                words = WORD.findall(value) if isinstance(value, str) else []
                if words and {fold(word) for word in words} <= said:
                    return value
        return None

    def _number_said(self, wanted: Field, fits: Callable[[object], bool]) -> float | None:
        numbers = [n for n in self._left.numbers if fits(n.value)]
        numbers = [n for n in numbers if wanted.asks_for_a_year or not n.is_year]
        beside = [n for n in numbers if n.beside & (wanted.words - _KINDS or wanted.words)]
        chosen = next(iter(beside or numbers), None)
        if chosen is None:
            return None
        self._left.numbers.remove(chosen)
        return chosen.value

    def _fact(self, wanted: Field) -> str:
        """Return the fact that a field asks for, in the first of its wordings."""
        asked = (wanted.words, stems(WORD.findall(wanted.description)))
        for words in asked:
            telling = " ".join(sorted(words - _KINDS))
            found = recall(self._subject, telling) if self._subject and telling else ()
            if found:
                return found[0]
        return ""

    def _recalled(self, wanted: Field) -> list[str]:
        fact = self._fact(wanted)
        if self._subject is None or not fact:
            return []
        names = [name for name in _names_in(fact) if not self._was_said(name, self._subject)]
        itself = [self._subject.name] if self._subject.name in fact else []
        return names or _DATE.findall(fact) or itself or [fact]

    def _was_said(self, name: str, subject: Subject) -> bool:
        words = {fold(word) for word in WORD.findall(name)}
        return words <= self._mentioned or words <= {fold(w) for w in WORD.findall(subject.name)}


def _last(found: Iterable[list[T]]) -> list[T]:
    """Return what the last message holds that holds anything; it comes first."""
    empty: list[T] = []
    return next((values for values in found if values), empty)


def _numbers_in(text: str) -> list[_Number]:
    found: list[_Number] = []
    for match in _NUMBER.finditer(text):
        before, after = text[: match.start()], text[match.end() :]
        value = float(match[0].replace(",", ""))
        around = [*WORD.findall(before)[-1:], *WORD.findall(after)[:1]]
        dated = match[0].isdigit() and len(match[0]) == 4
        is_year = dated and bool(_YEAR.search(before) or before.rstrip().endswith(MONTHS))
        is_day = after.lstrip().startswith(MONTHS)
        if not is_day:
            found.append(
                _Number(int(value) if value.is_integer() else value, stems(around), is_year)
            )
    return found


def _quoted_in(text: str) -> list[str]:
    return [quoted.strip() for _, quoted in _QUOTED.findall(text)]


def _subject_in(text: str, world: World) -> list[str]:
    subject = world.find(text)
    return [subject.name] if subject else []


def _names_in(text: str) -> list[str]:
    """Return the runs of capitalised words; the first word of a sentence is none by itself."""
    names: list[str] = []
    run: list[re.Match[str]] = []
    for match in [*WORD.finditer(text), None]:
        if run and (
            match is None or text[run[-1].end() : match.start()] != " " or not _is_name(match)
        ):
            names += _name(run, text)
            run = []
        if match is not None and _is_name(match):
            run.append(match)
    return list(dict.fromkeys(names))


def _is_name(word: re.Match[str]) -> bool:
    return word[0][0].isupper() and word[0] not in ("JSON", "I") and word[0] not in MONTHS


def _name(run: list[re.Match[str]], text: str) -> list[str]:
    opening = not text[: run[0].start()].strip() or text[: run[0].start()].rstrip()[-1] in ".!?:"
    first = run[0][0].lower()
    if opening and (len(run) == 1 or first in FUNCTION_WORDS or first in _ORDERS):
        run = run[1:]
    return [re.sub(r"['’]s$", "", " ".join(word[0] for word in run))] if run else []
