"""Recognizes sentences that claim nothing: greetings, filler, refusals and questions.

Two questions decide. The first is the form: does every clause have one of the `forms`? These are
made of pronouns, auxiliary verbs, negations and verbs of speaking, and leave most nouns open: "I
can't give … advice". The second is the content: does the sentence contain what the question does
not? A digit, a name, a number or a reason makes it a claim, and so does what it takes for granted:
"I cannot discuss her three convictions" says that she has three, while "I cannot give legal advice"
says nothing about advice.

When in doubt a sentence is a claim: a claim that nobody checks is worse than an unnecessary check.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final, Literal

from resay._internal.patterns import lazy_pattern
from resay.core.details import new_names
from resay.core.non_claims.clauses import (
    MAX_QUESTION_WORDS,
    REFUSALS,
    SentenceKind,
    clauses_of,
    expanded,
    kind_of_clauses,
    kinds_of_clause,
    without_gesture,
)
from resay.core.non_claims.forms import asks_user
from resay.core.non_claims.phrases import CompiledPhrases, compiled_languages
from resay.core.non_claims.presuppositions import adds_detail
from resay.core.questions import Question, asks_where_to_turn
from resay.lang.language import all_alternatives

NonClaim = Literal["filler", "refusal", "question", "creative"]
"""The kind of a sentence that claims nothing."""
_MAX_CHARS = 240
_MAX_SHORT_QUESTION = 6
_DIGIT = lazy_pattern(r"\d")
_LETTER = lazy_pattern(r"[^\W\d_]")
_WORD = lazy_pattern(r"\w+")
_MAX_CACHED_CHARS: Final = 40
_WRITTEN_WORD = lazy_pattern(r"[\w'-]+")
_QUESTION_END = lazy_pattern(r"(?:[?？؟]|か。?)[\s\"'”’»」』)\]*_]*\Z")
_FINITE: Final = frozenset({"be", "have", "do", "able"})


def non_claim_kind(text: str, *, is_open: bool, question: str | None = None) -> NonClaim | None:
    """Return the kind of a sentence that claims nothing.

    Recognizes greetings, thanks, offers and other filler, refusals and statements that something is
    unknown or not in the documents, and questions to the user, in the `compiled_languages`.

    Args:
        text: The sentence.
        is_open: Whether it answers who, what or how: "Sure!" is then filler.
        question: The question. Numbers and names from it are not claimed: "I do not know what the
            X100 costs." Others are, unless it is None.

    Returns:
        The kind, or None for a claim.
    """
    parsed = Question.of(question or "", is_open=is_open)
    text = parsed.without_numbers(text)
    if may_claim(text):
        return None
    spoken = without_gesture(text)
    clauses = clauses_of(spoken)
    if is_open:
        clauses = tuple(clause for clause in clauses if not affirms(clause))
    if not clauses and _LETTER.search(text):
        return None if any(new_names(text, parsed.words)) else "filler"
    for language in languages_of(spoken):
        kind = sentence_kind(text, clauses, language, parsed, checks_detail=question is not None)
        # To a user who asks where to turn, a referral is an answer, which can be wrong.
        if kind == "referral" and asks_where_to_turn(parsed.text):
            return None
        if kind in REFUSALS:
            return "refusal"
        if kind is not None:
            return "question" if kind == "question" else "filler"
    return None


def may_claim(text: str) -> bool:
    """Return whether a sentence is too long to claim nothing, or has a digit."""
    return len(text) > _MAX_CHARS or _DIGIT.search(text) is not None


def affirms(clause: str) -> bool:
    """Return whether a clause only affirms.

    "Sure!" is filler before an answer to who, what or how; otherwise it is the answer itself.
    """
    return _affirmation().fullmatch(clause) is not None


@cache
def _affirmation() -> re.Pattern[str]:
    return re.compile(rf"(?:{all_alternatives('claims', 'affirms')})(?: thing)?")


def languages_of(text: str) -> list[CompiledPhrases]:
    """Return the languages that a text may be in: those that have most of its words.

    A word may belong to several: "no" is a determiner in English, and a negation in Spanish.
    """
    counts: dict[CompiledPhrases, int] = {}
    for language in compiled_languages():
        if language.letters.search(text):
            counts[language] = 0
    for word in _WORD.findall(expanded(text)):
        is_long = len(word) > _MAX_CACHED_CHARS
        languages = _languages_with.__wrapped__(word) if is_long else _languages_with(word)
        for language in languages:
            if language in counts:
                counts[language] += 1
    most = max((counts[language] for language in counts if language.has_classes), default=0)
    return [language for language in counts if counts[language] == most or not language.has_classes]


# Looking a word up in the tables of all languages takes longer than all else that is done with it,
# and most words of a text are common ones (tests/performance/gateway_cpu.py).
@lru_cache(maxsize=8192)
def _languages_with(word: str) -> tuple[CompiledPhrases, ...]:
    """Return the languages in which a word says nothing about the world."""
    return tuple(language for language in compiled_languages() if language.is_empty(word))


def sentence_kind(
    text: str,
    clauses: tuple[str, ...],
    language: CompiledPhrases,
    question: Question,
    *,
    checks_detail: bool = True,
) -> SentenceKind | None:
    """Return what one does with a sentence in a language, or None for a claim.

    Args:
        text: The sentence.
        clauses: Its clauses.
        language: The language.
        question: The question.
        checks_detail: Whether what it adds to the question makes it a claim.
    """
    spoken = without_gesture(text)
    kind = kind_of_clauses(clauses, language, question)
    if kind is None and not language.has_capitals:
        bare_clauses = _without_address(spoken, clauses, question)
        if bare_clauses != clauses:
            kind = kind_of_clauses(bare_clauses, language, question)
    if kind is not None and not (checks_detail and adds_detail(text, kind, language, question)):
        return kind
    if not _asks_user(spoken, clauses, language, question):
        return None
    if checks_detail and adds_detail(text, "question", language, question):
        return None
    return "question"


def _without_address(text: str, clauses: tuple[str, ...], question: Question) -> tuple[str, ...]:
    """Return clauses without the user's own name in them: "hello" for "Hello Tom"."""
    if not question.text:
        return clauses
    names = question.words.intersection(new_names(text, frozenset()))
    if not names:
        return clauses
    bare_clauses: list[str] = []
    for clause in clauses:
        words = clause.split()
        while words and words[-1] in names:
            words.pop()
        # A name alone is an address only beside something else.
        if words or len(clauses) == 1:
            bare_clauses.append(" ".join(words) or clause)
    return tuple(bare_clauses)


def _asks_user(
    text: str, clauses: Sequence[str], language: CompiledPhrases, question: Question
) -> bool:
    if not _QUESTION_END.search(text):
        return False
    words = _WRITTEN_WORD.findall(text)
    has_new_name = any(new_names(text, question.words))
    if len(words) > MAX_QUESTION_WORDS or (has_new_name and not language.has_capitals):
        return False
    # A few words that ask what or which, without a name, contain nothing to check.
    is_short = len(words) <= _MAX_SHORT_QUESTION and _asks_which(words, language)
    if is_short and not any(word[0].isupper() for word in words[1:]):
        return True
    beginning = " ".join(clauses).replace(" such as ", " like ")
    if language.question.match(beginning) is not None:
        return True
    return language.has_classes and _asks_without_assuming(clauses, language, question)


def _asks_which(words: Sequence[str], language: CompiledPhrases) -> bool:
    """Whether words begin with "which", or as "in which" does, but not as "saviez-vous que"."""
    if not words:
        return False
    first = language.classes(words[0].casefold())
    if "which" in first:
        return True
    return bool(first) and len(words) > 1 and "which" in language.classes(words[1].casefold())


def _asks_without_assuming(
    clauses: Sequence[str], language: CompiledPhrases, question: Question
) -> bool:
    """Return whether clauses ask the user something, and take nothing for granted."""
    has_asked = False
    for index, clause in enumerate(clauses):
        classes = language.classes_of(_WORD.findall(clause), question.words)
        if language.assumes(classes, begins=index == 0):
            return False
        if asks_user(classes):
            has_asked = True
            continue
        has_verb = any(not word_classes.isdisjoint(_FINITE) for word_classes in classes)
        # "Do you mean the planet, the element, or the god?"
        is_choice = has_asked and not has_verb
        if not is_choice and not kinds_of_clause(clause, language, question):
            return False
    return has_asked
