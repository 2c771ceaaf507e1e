"""Recognizes responses with nothing to check: greetings, refusals, questions and code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from unicodedata import category

from resay.core.non_claims.clauses import (
    REFUSALS,
    SentenceKind,
    clauses_of,
    kinds_of_clause,
    without_gesture,
)
from resay.core.non_claims.phrases import CompiledPhrases
from resay.core.non_claims.sentences import affirms, languages_of, may_claim, sentence_kind
from resay.core.passage import Passage
from resay.core.questions import Question, is_open_question

ResponseKind = Literal["a greeting", "only code", "a refusal", "only questions"]
"""The kind of a response with nothing to check."""
_MAX_SENTENCES = 12
_ANSWERING_SIGNS = frozenset("✓✔✅☑✗✘✕✖❌☒")
# Signs of mathematics, arrows included, and currencies.
_ANSWERING_CATEGORIES = frozenset(("Sm", "Sc"))


def says_anything(text: str) -> bool:
    """Return whether a text has a letter, a digit or a sign that can be an answer.

    "👍" and "..." say nothing, but "<", "€" and "✓" can.
    """
    return any(
        char.isalnum() or char in _ANSWERING_SIGNS or category(char) in _ANSWERING_CATEGORIES
        for char in text
    )


def nothing_to_check(passage: Passage, *, question: str = "") -> ResponseKind | None:
    """Return the kind of a response with nothing to check.

    Recognizes greetings, thanks and farewells, refusals and answers of not knowing, in the
    `compiled_languages`; questions to the user; and code.

    Args:
        passage: The response.
        question: The question.

    Returns:
        The kind, or None if the response needs a check.
    """
    kinds = {piece.kind for piece in passage.pieces if not piece.text.isspace()}
    sentences = [sentence.text for sentence in passage.sentences if sentence.unit != "heading"]
    if len(sentences) > _MAX_SENTENCES or any(may_claim(text) for text in sentences):
        return None
    if "code" in kinds:
        is_code = kinds <= {"prose", "code", "rule", "heading"} and _only_introduces(sentences)
        return "only code" if is_code else None
    if not sentences or not kinds <= {"prose", "rule"}:
        return None
    parsed = Question.of(question, is_open=is_open_question(question))
    for language in languages_of(" ".join(sentences)):
        kind = _response_kind(sentences, language, parsed)
        if kind is not None:
            return kind
    return None


def _only_introduces(sentences: Sequence[str]) -> bool:
    """Return whether sentences only introduce code: "Sure! Here is an example:"."""
    clauses = [clause for text in sentences for clause in clauses_of(text)]
    if not clauses:
        return True
    others = [clause for clause in clauses if not affirms(clause)]
    text = " ".join(others)
    question = Question.of("", is_open=True)
    for language in languages_of(text):
        # "Sure!" alone may be the answer to a question.
        introduces = any("here" in language.classes(word) for word in text.split())
        if introduces and all(kinds_of_clause(clause, language, question) for clause in others):
            return True
    return False


def _response_kind(
    sentences: Sequence[str], language: CompiledPhrases, question: Question
) -> ResponseKind | None:
    kinds: set[SentenceKind] = set()
    for text in sentences:
        kind = sentence_kind(text, clauses_of(without_gesture(text)), language, question)
        if kind is None:
            return None
        kinds.add(kind)
    if kinds & REFUSALS:
        return "a refusal"
    if kinds == {"question"}:
        return "only questions"
    # An apology alone mostly retracts something that should be checked.
    return "a greeting" if kinds in ({"polite"}, {"polite", "question"}) else None
