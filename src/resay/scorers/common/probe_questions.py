"""Writes questions about claims: reads those that a judge wrote, and keeps the answer out of them.

A judge names the answer that the claim gives: "In which year did the bridge open? | 1932". The
answer must appear in the claim, and must not appear in the question; if it does, the claim with a
gap in place of the answer becomes the question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from resay._internal.patterns import lazy_pattern
from resay.core.quotes import find_quote
from resay.core.segmentation.spans import Span
from resay.lang.language import load
from resay.scorers.common.fences import Fences
from resay.scorers.common.item_numbers import as_number, number_of
from resay.scorers.common.judge_json import json_values
from resay.scorers.common.numbered_lines import parse_numbered
from resay.scorers.common.short_answers import gives_away
from resay.scorers.common.words import stems_of
from resay.scorers.common.yes_no import strip_decoration

_MAX_CHARS = 300
_GAP = "[…]"
_ANSWER_LABEL = (
    r"(?:(?:correct |right )?answer|a|antwort|réponse|respuesta|risposta|resposta|antwoord|ответ"
    r"|答案|答え|正解|답)\s*[:：]"
)
# "When did it open? | 1932", "When did it open? - 1932", "When did it open? Answer: 1932"
_QUESTION_AND_ANSWER = lazy_pattern(
    r"(?:(?:question|q|frage|pregunta|domanda|pergunta|vraag|вопрос|问题|質問|질문)\s*[:：]\s*)?"
    rf"(?P<text>.+?(?:[?？؟](?:\s*(?:[|→/–—-]|=>|->))?|\s*\|))\s*(?:\(?{_ANSWER_LABEL}\s*)?"
    r"(?P<value>[^|]+?)\)?",
    re.IGNORECASE,
)
_IN_JSON = lazy_pattern(r"\"\s*:\s*[\"\d]")
_ANSWER_BELOW = lazy_pattern(rf"\n[\s*_>-]*(?={_ANSWER_LABEL})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ProbeQuestion:
    """A question about a claim.

    Attributes:
        text: The question, which does not contain the answer.
        value: The answer that the claim gives, in its own words.
    """

    text: str
    value: str


NO_QUESTION = ProbeQuestion("", "")
"""Marks a claim about which no question can be asked."""


def render_questions(claims: Sequence[str], conversation: str = "") -> str:
    """Return the prompt that asks for questions about claims.

    Args:
        claims: The claims, to be numbered from 1.
        conversation: The conversation they come from; empty if unknown.
    """
    listed = "\n".join(f"{n}. {' '.join(claim.split())}" for n, claim in enumerate(claims, 1))
    prompt = load("en").prompts.questions
    fences = Fences.around(conversation, listed)
    parts = [prompt.task]
    if conversation:
        parts.append(fences.enclose("conversation", conversation))
    parts += [fences.enclose("claims", listed), prompt.rules]
    return "\n\n".join(parts)


def read_questions(text: str, count: int) -> list[ProbeQuestion | None]:
    """Read the questions that a judge wrote about numbered claims.

    Reads lines with the question and its answer, the answer on a line below, and JSON.

    Args:
        text: The judge's answer.
        count: Number of claims, numbered from 1.

    Returns:
        One entry for each claim; `NO_QUESTION` if none can be asked, None if it cannot be read.
    """
    in_lines = parse_numbered(_ANSWER_BELOW.sub(" ", text), count, _parse_line)
    if any(question is not None for question in in_lines):
        return in_lines
    by_number: dict[int, ProbeQuestion] = {}
    for position, fields in enumerate(_objects_in(text), 1):
        question = _question_in(fields)
        if question is not None:
            number = number_of(fields)
            by_number.setdefault(position if number is None else number, question)
    return [by_number.get(number) for number in range(1, count + 1)]


def _question_in(fields: Mapping[str, Any]) -> ProbeQuestion | None:
    """Return the question of a JSON object with a question and its answer."""
    texts = [value.strip() for value in fields.values() if isinstance(value, str)]
    answer = fields.get("answer")
    if len(texts) == 1 and isinstance(answer, (int, float)):
        texts.append(str(answer))
    # The order of the keys is that of the form asked for.
    return _parse_line(" | ".join(texts)) if len(texts) == 2 else None


def _objects_in(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects of an answer, in order."""
    objects: list[dict[str, Any]] = []
    for value in json_values(text):
        # {"questions": [...]}
        while isinstance(value, dict) and len(cast("dict[str, Any]", value)) == 1:
            value = next(iter(cast("dict[str, Any]", value).values()))
        entries: list[Any] = [value]
        if isinstance(value, list):
            entries = cast("list[Any]", value)
        elif isinstance(value, dict):
            by_number = cast("dict[str, Any]", value)
            if all(isinstance(fields, dict) for fields in by_number.values()):
                entries = [{"claim": as_number(key), **fields} for key, fields in by_number.items()]
        objects += [cast("dict[str, Any]", entry) for entry in entries if isinstance(entry, dict)]
    return objects


def _parse_line(line: str) -> ProbeQuestion | None:
    """Parse a line with a question and its answer."""
    line = line.strip(" \t*_`|")
    # The fields of a JSON object are read as such.
    if len(line) > 2 * _MAX_CHARS or _IN_JSON.search(line):
        return None
    if strip_decoration(line).rstrip(" .*_`|").casefold() in {"none", "none | none"}:
        return NO_QUESTION
    match = _QUESTION_AND_ANSWER.fullmatch(line)
    if match is None:
        return None
    text = match["text"].rstrip(" \t*_`|→/–—->=").strip(" \t*_`")
    value = strip_decoration(match["value"]).rstrip(" .*_`\"'”’")
    is_question = any(map(str.isalpha, text)) and len(text) <= _MAX_CHARS
    return ProbeQuestion(text, value) if is_question and value else None


def usable(claim: str, written: ProbeQuestion) -> ProbeQuestion | None:
    """Return a question that can be asked about a claim, or None.

    Args:
        claim: The claim.
        written: The question that a model wrote. Its answer must appear in the claim; if the
            question contains it too, the claim with a gap in its place becomes the question.
    """
    span = span_of_answer(written.value, claim)
    if span is None:
        return None
    start, end = span
    value = claim[start:end]
    if not gives_away(written.text, value):
        return ProbeQuestion(written.text, value)
    gapped = " ".join(f"{claim[:start]}{_GAP}{claim[end:]}".split())
    if gives_away(gapped, value) or not stems_of(gapped):
        return None
    return ProbeQuestion(f"What belongs in the gap? {gapped}", value)


def span_of_answer(value: str, claim: str) -> Span | None:
    """Return the span of an answer in a claim, as it stands there or nearly so.

    Args:
        value: The answer.
        claim: The claim, or some of its words.

    Returns:
        Whole words and numbers; None if the claim does not have them.
    """
    if not value:
        return None
    exact = re.compile(_whole_words(value), re.IGNORECASE).search(claim)
    if exact is not None:
        return exact.span()
    span = find_quote(value, claim)
    if span is None:
        return None
    start, end = span
    is_whole = re.compile(_whole_words(claim[start:end])).match(claim, start) is not None
    return span if is_whole else None


def _whole_words(words: str) -> str:
    """Return a pattern for words that are not part of longer ones."""
    before, after = _extending_characters(words[0]), _extending_characters(words[-1])
    return f"(?<!{before}){re.escape(words)}(?!{after})"


def _extending_characters(edge: str) -> str:
    """Return the characters that must not adjoin the edge of a whole word or number."""
    if edge.isdigit():
        return r"\d"
    # Scripts without capitals may not use spaces either.
    return r"[^\W\d_]" if edge.lower() != edge.upper() else r"\b\B"


def independent_groups(questions: Mapping[int, ProbeQuestion]) -> list[list[int]]:
    """Divide questions so that none gives away the answer to another of its group.

    Args:
        questions: The questions by the positions of their claims.

    Returns:
        The positions of each group.
    """
    groups: list[list[int]] = []
    for i, question in questions.items():
        for group in groups:
            others = [questions[j] for j in group]
            if not any(_give_away_each_other(question, other) for other in others):
                group.append(i)
                break
        else:
            groups.append([i])
    return groups


def _give_away_each_other(question: ProbeQuestion, other: ProbeQuestion) -> bool:
    return gives_away(question.text, other.value) or gives_away(other.text, question.value)
