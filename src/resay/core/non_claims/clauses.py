"""The clauses of a sentence, and what one does with each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final, Literal, cast

from resay._internal.patterns import lazy_pattern
from resay.core.non_claims.forms import Act, WordClasses, apology_length, forms_at_start
from resay.core.non_claims.phrases import CompiledPhrases
from resay.core.questions import Question
from resay.lang.language import all_alternatives, languages
from resay.lang.tables import table

SentenceKind = Act | Literal["question"]
"""What one does with a sentence that claims nothing."""
REFUSALS: Final[frozenset[SentenceKind]] = frozenset({"refusal", "silence", "lacks"})
"""The kinds of not knowing and not doing."""
MAX_QUESTION_WORDS: Final = 16
"""The maximum length of a question that may claim nothing."""
# Of several kinds in one sentence, the first.
_BY_STRENGTH: Final[tuple[SentenceKind, ...]] = (
    *("lacks", "refusal", "silence"),
    *("referral", "disclaimer", "polite"),
)
_MAX_REST_WORDS = 9
_MAX_CONJUNCTIONS = 2
_MAX_CLAUSE_WORDS = 32
# `re` does not count these vowel signs and accents as letters.
_SIGNS = r"\u0300-\u036f\u064b-\u0652\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963"
_CLAUSES = lazy_pattern(rf"[^\w\s'{_SIGNS}-]+|[_\n]")
_WORD = lazy_pattern(r"\w+")
_CONTENT: Final = frozenset({"new", "known"})
_AFTER_POINTER: Final = frozenset({"small", "document", "information", "theme", "attributes"})
_NO_CLASSES: Final = WordClasses()


def without_gesture(text: str) -> str:
    """Return a sentence without a gesture at its beginning: "*adjusts glasses* Ah, …"."""
    return _gesture().sub("", text)


def clauses_of(text: str) -> tuple[str, ...]:
    """Return the clauses of a sentence in lower case, without punctuation."""
    clauses: list[str] = []
    for part in _CLAUSES.split(expanded(text)):
        words = [word.strip("-'") for word in part.split()]
        clause = " ".join(word for word in words if word)
        if clause:
            clauses.append(clause)
    return tuple(clauses)


def expanded(text: str) -> str:
    """Return a text in lower case, with contractions expanded."""
    # Case-folding turns a dotted capital I into two characters.
    text = text.casefold().replace("’", "'").replace("i\u0307", "i")
    if "'" in text or "cannot" in text or "n/a" in text:
        for contraction, words in _contractions().items():
            text = contraction.sub(words, text)
    return text


def kind_of_clauses(
    clauses: Sequence[str], language: CompiledPhrases, question: Question
) -> SentenceKind | None:
    """Return the kind of a sentence by its clauses; None if one of them may claim something."""
    kinds: set[SentenceKind] = set()
    for clause in clauses:
        follows_refusal = bool(kinds & REFUSALS) and language.comma_before_question
        if follows_refusal and language.asks_indirectly(clause):
            continue
        clause_kinds = kinds_of_clause(clause, language, question)
        if not clause_kinds and kinds:
            # "Please note, that I am no lawyer"
            clause_kinds = kinds_of_clause(language.without_link(clause), language, question)
        if not clause_kinds and not (len(clauses) > 1 and language.is_small(clause)):
            return None
        kinds |= clause_kinds
    return _strongest(kinds)


def kinds_of_clause(
    clause: str, language: CompiledPhrases, question: Question
) -> set[SentenceKind]:
    """Return the kinds of a clause's coordinated parts; none if one of them may claim something."""
    kind = _kind_of_part(clause, language, question)
    if kind is not None:
        return {kind}
    words = clause.split()
    conjunctions = [i for i, word in enumerate(words) if "joins" in language.classes(word)]
    for index in conjunctions[:_MAX_CONJUNCTIONS]:
        first = " ".join(words[:index])
        first_kinds = kinds_of_clause(first, language, question) if first else None
        if not first_kinds:
            continue
        # "I am no lawyer and can not advise you"
        for subject in ([], words[:1]):
            second = " ".join([*subject, *words[index + 1 :]])
            second_kinds = kinds_of_clause(second, language, question)
            if second_kinds:
                return first_kinds | second_kinds
    return set()


def _strongest(kinds: Iterable[SentenceKind]) -> SentenceKind | None:
    return next((kind for kind in _BY_STRENGTH if kind in kinds), None)


def _kind_of_part(clause: str, language: CompiledPhrases, question: Question) -> Act | None:
    for act, pattern in language.acts.items():
        match = pattern.fullmatch(clause)
        if match is not None and _says_nothing_else(match, language, question):
            return act
    words = _WORD.findall(clause)
    if len(words) > _MAX_CLAUSE_WORDS:
        return None
    classes = language.classes_of(words, question.words)
    start = apology_length(classes)
    if 0 < start < len(classes):
        kinds = kinds_of_clause(" ".join(words[start:]), language, question)
        if kinds:
            return cast("Act", _strongest(kinds))
    if not language.has_classes:
        return None
    for act, end in forms_at_start(classes):
        counts = act != "lacks" or question.is_open or not question.text
        if counts and _claims_nothing_from(classes, end):
            return act
    return None


def _says_nothing_else(idiom: re.Match[str], language: CompiledPhrases, question: Question) -> bool:
    """Whether the words that an idiom is about claim nothing."""
    for words in idiom.groups():
        if words:
            classes = language.classes_of(_WORD.findall(words), question.words)
            if not _claims_nothing_from(classes, 0):
                return False
    return True


def _claims_nothing_from(classes: Sequence[WordClasses], start: int) -> bool:
    """Return whether the end of a clause, from a word on, claims nothing."""
    for index in range(start, len(classes)):
        word = classes[index]
        before = classes[index - 1] if index else _NO_CLASSES
        after = classes[index + 1] if index + 1 < len(classes) else _NO_CLASSES
        if "interrogatives" in word and before.isdisjoint(_CONTENT):
            return len(classes) - index <= MAX_QUESTION_WORDS
        if word & {"condition", "claims", "purpose"} and "you" in after:
            # "If you like", "that you attached"
            return True
        if "claims" not in word:
            continue
        # "About that."
        is_followed = "condition" in before or not after or not after.isdisjoint(_AFTER_POINTER)
        if "pointer" not in word or not is_followed:
            return False
    return len(classes) - start <= _MAX_REST_WORDS


@cache
def _gesture() -> re.Pattern[str]:
    gestures = all_alternatives("claims", "gestures")
    return re.compile(
        rf"\A\s*([*_])(?:{gestures})s?\b(?: (?!her\b|the\b|of\b)[^\W\d_][\w'’-]*){{0,4}}\1\s*",
        re.IGNORECASE,
    )


@cache
def _contractions() -> Mapping[re.Pattern[str], str]:
    contractions: dict[re.Pattern[str], str] = {}
    for language in languages():
        for contraction, words in table(language.code, "contractions").items():
            contractions[re.compile(contraction)] = words
    return contractions
