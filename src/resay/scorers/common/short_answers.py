"""Reads short answers to numbered questions, and compares them by what they mean.

Numbers, dates and measures are compared by value, everything else by words. "I don't know", an
answer that evades and one that only repeats the question are no answers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, cast

from resay._internal.patterns import lazy_pattern
from resay.core.non_claims import non_claim_kind
from resay.core.quantities import Quantity, negations, quantities
from resay.scorers.common.item_numbers import as_number
from resay.scorers.common.judge_json import json_values
from resay.scorers.common.words import stems_of
from resay.scorers.common.yes_no import parse_yes_no, strip_decoration

_MAX_ANSWER_CHARS = 120
_WORD = lazy_pattern(r"\w+")
_NUMBER_WORDS = (
    r"(?:questions?|answers?|q|a|no|nr|number|frage|antwort|réponse|pregunta|respuesta|domanda"
    r"|risposta|pergunta|resposta|vraag|antwoord|вопрос|ответ|问题|答案|質問|答え|질문|답)"
)
# "1:30" and "1.5 million" begin with no number of a question.
_NUMBERED = lazy_pattern(
    rf"[^\w\n]*(?:{_NUMBER_WORDS}[\s.#:]*)?(?P<number>\d{{1,3}})(?:[)\]*_]*"
    r"(?:\s*[：、）】|=→]|:(?!\d\d(?!\d))|[.](?!\d)|\s+[–—-](?=\s)|->|=>)|[)\]])[)\]*_]*\s*(?P<text>.*)",
    re.IGNORECASE,
)
_FENCE = lazy_pattern(r"^[ \t]*```[a-z]*[ \t]*$", re.MULTILINE)
_ANSWER_NAMES = frozenset(("answer", "antwort", "réponse", "respuesta", "risposta", "resposta"))
_UNKNOWN = lazy_pattern(
    r"\W*(?:(?:it is |it's |that is |that's )?(?:unknown|not (?:publicly )?known|unclear|uncertain"
    r"|unsure|not sure|undisclosed|unspecified|not (?:specified|stated|given|mentioned|provided"
    r"|available|applicable|sure))"
    r"|(?:nobody|no ?one) knows|the (?:conversation|question|text) do(?:es)? not"
    r"|(?:it |that |this )?(?:depends|varies)|various|several|many|(?:see|visit|check|consult) the"
    r"|not that i know|can ?not (?:say|tell)|can't (?:say|tell)|no (?:idea|information|data|answer)"
    r"|(?:the )?(?:information|exact \w+|answer) (?:is )?(?:not|un)"
    r"|n/?a|none|unbekannt|unklar|keine ahnung|verschieden\w*|das kommt darauf"
    r"|inconnue?|cela dépend|desconocid[oa]|depende|sconosciut[oa]|dipende"
    r"|desconhecid[oa]|onbekend|okänt|ukjent|ukendt|tuntematon|nieznan[aey]|neznám[eéoý]|ismeretlen"
    r"|nem tudom|nevím|en tiedä|nu știu|δεν ξέρω|άγνωστο|bilinmiyor"
    r"|(?:saya )?tidak (?:tahu|diketahui)"
    r"|(?:tôi )?không (?:biết|rõ)|не знам|невідомо|неизвестно|غير معروف|अज्ञात"
    r"|未知|不明|不清楚|不知道|わかりません|모름|알 수 없)(?!\w).{0,60}"
    r"|(?:不知道|不清楚|我不知道|不明|未知|わかりません|分かりません|모르|알 수 없).{0,60}",
    re.IGNORECASE | re.DOTALL,
)


def read_short_answers(text: str, questions: Sequence[str]) -> list[str | None]:
    """Read the answers to numbered questions.

    Reads lines such as `1: 1932` and `**2.** Ada Moor`, JSON, the answers in order without their
    numbers, and a single answer on its own.

    Args:
        text: What the model wrote.
        questions: The questions, numbered from 1.

    Returns:
        One entry for each question; None where it says nothing.
    """
    count = len(questions)
    clean = _FENCE.sub("", text)
    by_number = _in_json(text, count) or _in_lines(clean, count)
    if not by_number:
        lines = [line for line in clean.splitlines() if line.strip()]
        # A single answer may have an explanation below it.
        if lines and (count == 1 or len(lines) == count):
            by_number = {number: [line] for number, line in enumerate(lines[:count], 1)}
    answers: list[str | None] = []
    for number, question in enumerate(questions, 1):
        written = {_bare(answer) for answer in by_number.get(number, ())}
        answer = written.pop() if len(written) == 1 else ""
        answers.append(None if says_nothing(answer, question) else answer)
    return answers


def _in_lines(text: str, count: int) -> dict[int, list[str]]:
    """Return the answers of the lines that begin with a question's number, by that number."""
    by_number: dict[int, list[str]] = {}
    number = 0
    for line in text.splitlines():
        match = _NUMBERED.fullmatch(line)
        if match is not None and 1 <= int(match["number"]) <= count:
            number = int(match["number"])
            by_number.setdefault(number, [])
            line = match["text"]
        # The answer may stand below its number or its question.
        if number and line.strip(" \t*_`|") and not _is_question(line):
            by_number[number] = by_number[number] or [line]
    return {number: lines for number, lines in by_number.items() if lines}


def _is_question(line: str) -> bool:
    return line.rstrip(" \t*_`|").endswith(("?", "？", "؟", ";"))


def _in_json(text: str, count: int) -> dict[int, list[str]]:
    """Return the answers of an object by number, of a list in order, or of a list of objects."""
    by_number: dict[int, list[str]] = {}
    for value in json_values(text):
        for number, answer in _numbered_in(value, count):
            if 1 <= number <= count:
                by_number.setdefault(number, []).append(answer)
    return by_number


def _numbered_in(value: Any, count: int) -> list[tuple[int, str]]:
    if isinstance(value, dict):
        return _numbered_in_object(cast("dict[Any, Any]", value), count)
    entries = cast("list[Any]", value)
    answers: list[tuple[int, str]] = []
    for position, entry in enumerate(entries, 1):
        plain = _plain(entry)
        if isinstance(entry, dict):
            answers += _about_one_question(cast("dict[Any, Any]", entry), count, position)
        elif plain is not None and len(entries) == count:
            answers.append((position, plain))
    return answers


def _numbered_in_object(fields: dict[Any, Any], count: int) -> list[tuple[int, str]]:
    answers: list[tuple[int, str]] = []
    for key, value in fields.items():
        number, plain = as_number(str(key)), _plain(value)
        if number is not None and plain is not None:
            answers.append((number, plain))
    if answers:
        return answers
    inner = next(iter(fields.values()), None)
    if len(fields) == 1 and isinstance(inner, (dict, list)):
        return _numbered_in(inner, count)
    return _about_one_question(fields, count, 1)


def _about_one_question(fields: dict[Any, Any], count: int, position: int) -> list[tuple[int, str]]:
    """Return the number and the answer of an object about one question.

    Args:
        fields: The object.
        count: Number of questions.
        position: The position of the object, for an object without a number.
    """
    answer: str | None = None
    number: int | None = None
    is_answered = False
    for key, value in fields.items():
        plain = _plain(value)
        if str(key).casefold() in _ANSWER_NAMES:
            answer = answer if is_answered else plain
            is_answered = True
        elif number is None:
            stated = as_number(plain)
            number = stated if stated is not None and 1 <= stated <= count else None
    if answer is None:
        return []
    return [(position if number is None else number, answer)]


def _plain(value: Any) -> str | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return str(value) if is_number or isinstance(value, str) else None


def _bare(text: str) -> str:
    """Return an answer without decoration."""
    bare = strip_decoration(unicodedata.normalize("NFC", text)).strip(" *_`|\"'“”’")
    return bare.rstrip(".。 ")[:_MAX_ANSWER_CHARS]


def says_nothing(answer: str, question: str) -> bool:
    """Return whether an answer is none: it is not known, evades, or repeats the question.

    Args:
        answer: The answer.
        question: The question.
    """
    if not answer or _is_question(answer) or _UNKNOWN.fullmatch(answer):
        return True
    if non_claim_kind(f"{answer}.", is_open=False):
        return True
    if quantities(answer) or parse_yes_no(answer) is not None:
        return False
    words = set(stems_of(answer))
    return bool(words) and words <= set(stems_of(question))


def gives_away(question: str, value: str) -> bool:
    """Return whether a question contains the answer that it asks for.

    It does if it has a number or date of the answer, or more than half of its words.
    """
    in_question = quantities(question)
    for quantity in quantities(value):
        if any(map(quantity.agrees, in_question)):
            return True
    words = set(stems_of(value))
    if not words:
        return value.casefold() in question.casefold()
    return 2 * len(words & set(stems_of(question))) > len(words)


def agrees(value: str, answer: str) -> bool | None:
    """Return whether two answers say the same; None if they cannot be compared.

    Numbers, dates and measures are compared by value, everything else by its words. Negated words
    count for nothing.

    Args:
        value: One answer.
        answer: The other answer.
    """
    is_yes = _yes_or_no(value)
    if is_yes is not None:
        says_yes = parse_yes_no(answer)
        return None if says_yes is None else says_yes == is_yes
    answer, denied = _affirmed(value, answer)
    if denied is not None:
        return denied
    in_value = quantities(value)
    if in_value:
        return _agree_by_quantities(value, in_value, answer)
    words, others = set(stems_of(value)), set(stems_of(answer))
    if not words or not others:
        return value.casefold() == answer.casefold()
    # One may say more than the other: "Finch", "the painter Harold Finch".
    return 2 * len(words & others) > min(len(words), len(others))


def _agree_by_quantities(value: str, in_value: Sequence[Quantity], answer: str) -> bool | None:
    in_answer = quantities(answer)
    if not in_answer:
        return None
    for quantity in in_value:
        if not any(map(quantity.agrees, in_answer)):
            return False
    # "Apollo 11": a name with a number.
    names = _names_beside(value, in_value)
    return not names or not names.isdisjoint(stems_of(answer))


def words_decide(value: str, answer: str, question: str = "") -> bool:
    """Return whether `agrees` is enough to tell that two answers say the same, or do not.

    Other words may mean the same. Another number does not, if it stands in the same place: "before
    1930" and "the 1920s" may be right where "1932" is wrong.

    Args:
        value: One answer.
        answer: The other answer.
        question: The question.
    """
    same = agrees(value, answer)
    if _yes_or_no(value) is not None:
        return True
    if same and not quantities(value):
        # "Royal Academy of Music", "Royal Academy of Arts"
        words, others = set(stems_of(value)), set(stems_of(answer))
        return words <= others or others <= words
    return same is True or (same is False and _differ_by_number(value, answer, question))


def _differ_by_number(value: str, answer: str, question: str) -> bool:
    """Return whether two answers are numbers of the same kind that differ, and nothing else."""
    in_value, in_answer = quantities(value), quantities(answer)
    if not in_value or len(in_value) != len(in_answer):
        return False
    pairs = list(zip(in_value, in_answer, strict=True))
    if not all(quantity.comparable(other) for quantity, other in pairs):
        return False
    if all(quantity.agrees(other) for quantity, other in pairs):
        return False
    # "More than 100" and "120" may both be right.
    differing_words = _words_beside(value, in_value) ^ _words_beside(answer, in_answer)
    return differing_words <= _words_beside(question, ())


def _words_beside(text: str, parsed: Sequence[Quantity]) -> set[str]:
    """Return the words outside the quantities of a text."""
    return set(_WORD.findall(_without_quantities(text, parsed).casefold()))


def _without_quantities(text: str, parsed: Sequence[Quantity]) -> str:
    """Return a text with blanks in place of its quantities."""
    characters = list(text)
    for quantity in parsed:
        characters[quantity.start : quantity.end] = " " * (quantity.end - quantity.start)
    return "".join(characters)


def _yes_or_no(value: str) -> bool | None:
    return None if " " in value else parse_yes_no(value)


def _affirmed(value: str, answer: str) -> tuple[str, bool | None]:
    """Return the part of an answer that is not negated, and False if it only denies the value."""
    negated = negations(answer)
    if not negated or negations(value):
        return answer, None
    before = answer[: negated[0][0]].strip(" ,;:–-")
    if stems_of(before):
        return before, None
    denied = set(stems_of(answer[negated[0][1] :]))
    return answer, False if set(stems_of(value)) & denied else None


def _names_beside(value: str, parsed: Sequence[Quantity]) -> set[str]:
    """Return the stems of capitalised words outside the quantities of a text."""
    names = [word for word in _without_quantities(value, parsed).split() if word[0].isupper()]
    return {stem for word in names for stem in stems_of(word)}
