"""Whether there is anything to check in a response: cheap, and wrong only on the safe side.

A sentence nobody checks is worse than a check for nothing. So a response is left out only when each
of its clauses is one of the phrases in `resay.scorers.gate.phrases`, is code, or is a question put
to the user; a digit anywhere, a word too many, or a language not listed there, and it is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from resay.core.passage import Passage
from resay.scorers.gate.phrases import CONTRACTIONS, Language, languages

__all__ = ["Nothing", "nothing_to_check"]

Nothing = Literal["a greeting", "only code", "a refusal", "only questions"]

_Kind = Literal["polite", "excuse", "refusal", "question"]

_MAX_SENTENCES = 12
_MAX_CHARS = 240
_MAX_REST_WORDS = 8
_MAX_QUESTION_WORDS = 16
_DIGIT = re.compile(r"\d")
_CLAUSES = re.compile(r"[^\w\s'-]+|[_\n]")
_WORD = re.compile(r"[\w'-]+")
_CONNECTORS = re.compile(
    r"\A(?:(?:and|but|so|aber|und|doch|mais|et|pero|y|ma|e|mas|maar|en|unfortunately|however|leider"
    r"|malheureusement|helaas|lamentablemente|purtroppo|infelizmente)\ (?=\S+\ \S))+"
)
_QUESTION = re.compile(r"\?[\s\"'”’»)\]*_]*\Z")
_DOUBTFUL = re.compile(
    r"\b(?:was|were|had|because|since|although|though|as|given|right|correct|isn't|aren't|wasn't"
    r"|weren't|didn't|doesn't|who|whose|waren?|war|dass|weil|que|qui|parce|puisque|porque|perché"
    r"|che|omdat|dat|want)\b"
)
_THAT = re.compile(r"\bthat(?: (?:request|question|topic|task))?\Z")
_INTRODUCES = re.compile(r"here|hier|voici|aquí|aqui|ecco")
_LEADS_IN = re.compile(
    r"""
    (?:sure|certainly|of\ course|absolutely)(?:\ thing)?
    | here\ (?:is|are)\ (?:the|your|an?|some)(?:\ (?:python|javascript|java|sql|bash|simple|short
      |updated|full|complete|corrected|example))*\ (?:code|function|script|example|program|snippet
      |query|command|version|implementation|solution)
    | hier\ ist\ (?:der|ein|das)\ (?:code|beispiel|skript)|voici\ (?:le|un)\ (?:code|exemple|script)
    | aquí\ (?:está|tienes)\ (?:el|un)\ (?:código|ejemplo)|ecco\ (?:il|un)\ (?:codice|esempio)
    | aqui\ está\ (?:o|um)\ (?:código|exemplo)|hier\ is\ (?:de|een)\ (?:code|voorbeeld)
    """,
    re.VERBOSE,
)


def nothing_to_check(passage: Passage) -> Nothing | None:
    """Say what a response is in which there is nothing to check.

    Known are greetings, thanks and farewells, refusals and answers that say they do not know, in
    English, German, French, Spanish, Italian, Portuguese and Dutch; questions to the user; and
    code.

    Args:
        passage: The response.

    Returns:
        What it is, or None when it is to be checked.
    """
    kinds = {piece.kind for piece in passage.pieces if not piece.text.isspace()}
    sentences = [sentence.text for sentence in passage.sentences]
    if len(sentences) > _MAX_SENTENCES or any(_is_too_much(text) for text in sentences):
        return None
    if "code" in kinds:
        is_code = kinds <= {"prose", "code", "rule", "heading"} and _only_leads_in(sentences)
        return "only code" if is_code else None
    if not sentences or not kinds <= {"prose", "rule"}:
        return None
    for language in languages():
        found = _nothing_in(sentences, language)
        if found:
            return found
    return None


def _is_too_much(text: str) -> bool:
    return len(text) > _MAX_CHARS or _DIGIT.search(text) is not None


def _only_leads_in(sentences: list[str]) -> bool:
    clauses = [clause for text in sentences for clause in _clauses(text)]
    if not all(_LEADS_IN.fullmatch(clause) for clause in clauses):
        return False
    # "Sure!" by itself may be the answer to a question.
    return not clauses or any(_INTRODUCES.match(clause) for clause in clauses)


def _nothing_in(sentences: list[str], language: Language) -> Nothing | None:
    kinds: set[_Kind] = set()
    for text in sentences:
        kind = _kind(text, language)
        if kind is None:
            return None
        kinds.add(kind)
    if "refusal" in kinds:
        return "a refusal"
    if kinds == {"question"}:
        return "only questions"
    # An excuse alone mostly takes back something that should be looked at.
    return "a greeting" if "polite" in kinds and "excuse" not in kinds else None


def _kind(text: str, language: Language) -> _Kind | None:
    kinds = {_kind_of_clause(clause, language) for clause in _clauses(text)}
    if None in kinds or not kinds:
        return "question" if _asks_user(text, language) else None
    if "refusal" in kinds:
        return "refusal"
    return "excuse" if "excuse" in kinds else "polite"


def _kind_of_clause(clause: str, language: Language) -> _Kind | None:
    if language.polite.fullmatch(clause):
        return "polite"
    refusal = language.refusal.fullmatch(clause)
    if refusal and _claims_nothing(refusal, language):
        return "refusal"
    excuse = language.excuse.fullmatch(clause)
    return "excuse" if excuse and _claims_nothing(excuse, language) else None


def _claims_nothing(match: re.Match[str], language: Language) -> bool:
    words = _THAT.sub("", next(filter(None, match.groups()), "")).split()
    return len(words) <= _MAX_REST_WORDS and language.claims.isdisjoint(words)


def _asks_user(text: str, language: Language) -> bool:
    if not _QUESTION.search(text):
        return False
    words = _WORD.findall(text)
    named = [word for word in words[1:] if word[0].isupper() and word.partition("'")[0] != "I"]
    if len(words) > _MAX_QUESTION_WORDS or (named and not language.has_capitals):
        return False
    asked = " ".join(_clauses(text))
    return language.question.match(asked) is not None and not _DOUBTFUL.search(asked)


def _clauses(text: str) -> Iterator[str]:
    """The clauses in small letters, without punctuation and without the words that join them."""
    for clause in _CLAUSES.split(text.casefold().replace("’", "'")):
        words = (word.strip("-'") for word in clause.split())
        joined = " ".join(CONTRACTIONS.get(word, word) for word in words if word)
        if joined:
            yield _CONNECTORS.sub("", joined)
