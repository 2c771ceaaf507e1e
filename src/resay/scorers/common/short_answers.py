"""Reads short answers to numbered questions, and compares them by what they mean.

Numbers, dates and measures are compared by value, everything else by words. "I don't know", an
answer that evades and one that only repeats the question are no answers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, cast

from resay.core.non_claims import non_claim_kind
from resay.core.quantities import Quantity, negations, quantities
from resay.scorers.common.item_numbers import as_number
from resay.scorers.common.judge_json import json_values
from resay.scorers.common.judging import parse_yes_no, strip_decoration
from resay.scorers.common.words import stems_of

_MOST_ANSWER_CHARS = 120
_WORD = re.compile(r"\w+")
_NUMBER_WORDS = (
    r"(?:questions?|answers?|q|a|no|nr|number|frage|antwort|réponse|pregunta|respuesta|domanda"
    r"|risposta|pergunta|resposta|vraag|antwoord|вопрос|ответ|问题|答案|質問|答え|질문|답)"
)
# "1:30" and "1.5 million" begin with no number of a question.
_NUMBERED = re.compile(
    rf"[^\w\n]*(?:{_NUMBER_WORDS}[\s.#:]*)?(?P<number>\d{{1,3}})(?:[)\]*_]*"
    r"(?:\s*[：、）】|=→]|:(?!\d\d(?!\d))|[.](?!\d)|\s+[–—-](?=\s)|->|=>)|[)\]])[)\]*_]*\s*(?P<text>.*)",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^[ \t]*```[a-z]*[ \t]*$", re.MULTILINE)
_ANSWER_NAMES = frozenset(("answer", "antwort", "réponse", "respuesta", "risposta", "resposta"))
_UNKNOWN = re.compile(
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
        fields = cast("dict[Any, Any]", value)
        numbered = [(as_number(str(key)), _plain(inner)) for key, inner in fields.items()]
        pairs = [(n, answer) for n, answer in numbered if n is not None and answer is not None]
        inner = next(iter(fields.values()), None)
        nested = isinstance(inner, (dict, list)) and len(fields) == 1
        return pairs or (_numbered_in(inner, count) if nested else _of_object(fields, count, 1))
    entries = cast("list[Any]", value)
    pairs: list[tuple[int, str]] = []
    for place, entry in enumerate(entries, 1):
        plain = _plain(entry)
        if isinstance(entry, dict):
            pairs += _of_object(cast("dict[Any, Any]", entry), count, place)
        elif plain is not None and len(entries) == count:
            pairs.append((place, plain))
    return pairs


def _of_object(fields: dict[Any, Any], count: int, place: int) -> list[tuple[int, str]]:
    """Return the number and the answer of an object about one question."""
    answers = [_plain(v) for key, v in fields.items() if str(key).casefold() in _ANSWER_NAMES]
    others = [(str(key).casefold(), _plain(v)) for key, v in fields.items()]
    numbers = [as_number(v) for key, v in others if key not in _ANSWER_NAMES]
    number = next((n for n in numbers if n is not None and 1 <= n <= count), place)
    return [(number, answer) for answer in answers[:1] if answer is not None]


def _plain(value: Any) -> str | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return str(value) if is_number or isinstance(value, str) else None


def _bare(text: str) -> str:
    """Return an answer without decoration."""
    bare = strip_decoration(unicodedata.normalize("NFC", text)).strip(" *_`|\"'“”’")
    return bare.rstrip(".。 ")[:_MOST_ANSWER_CHARS]


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
    asked = quantities(question)
    if any(quantity.agrees(other) for quantity in quantities(value) for other in asked):
        return True
    words, there = set(stems_of(value)), set(stems_of(question))
    if not words:
        return value.casefold() in question.casefold()
    return 2 * len(words & there) > len(words)


def agrees(value: str, answer: str) -> bool | None:
    """Return whether two answers say the same; None if they cannot be compared.

    Numbers, dates and measures are compared by value, everything else by its words. Negated words
    count for nothing.

    Args:
        value: One answer.
        answer: The other answer.
    """
    affirmed = _yes_or_no(value)
    if affirmed is not None:
        answered = parse_yes_no(answer)
        return None if answered is None else answered == affirmed
    answer, denied = _affirmed(value, answer)
    if denied is not None:
        return denied
    mine, theirs = quantities(value), quantities(answer)
    if mine:
        if not theirs:
            return None
        if not all(any(one.agrees(other) for other in theirs) for one in mine):
            return False
        # "Apollo 11": a name with a number.
        named = _names_beside(value, mine)
        return not named or not named.isdisjoint(stems_of(answer))
    words, others = set(stems_of(value)), set(stems_of(answer))
    if not words or not others:
        return value.casefold() == answer.casefold()
    shared = len(words & others)
    # One may say more than the other: "Finch", "the painter Harold Finch".
    return 2 * shared > min(len(words), len(others))


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
    mine, theirs = quantities(value), quantities(answer)
    if not mine or len(mine) != len(theirs):
        return False
    pairs = list(zip(mine, theirs, strict=True))
    if not all(one.comparable(other) for one, other in pairs):
        return False
    if all(one.agrees(other) for one, other in pairs):
        return False
    # "More than 100" and "120" may both be right.
    here, there = _words_beside(value, mine), _words_beside(answer, theirs)
    return here ^ there <= _words_beside(question, ())


def _words_beside(text: str, within: Sequence[Quantity]) -> set[str]:
    """Return the words outside the quantities of a text."""
    return set(_WORD.findall(_without(text, within).casefold()))


def _without(text: str, within: Sequence[Quantity]) -> str:
    """Return a text with blanks in place of its quantities."""
    characters = list(text)
    for quantity in within:
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


def _names_beside(value: str, within: Sequence[Quantity]) -> set[str]:
    """Return the stems of capitalised words outside the quantities of a text."""
    names = [word for word in _without(value, within).split() if word[0].isupper()]
    return {stem for word in names for stem in stems_of(word)}
