"""What a sentence that claims nothing adds to the question, or takes for granted.

"I cannot discuss her three convictions" says that she has three.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.details import has_new_number, has_new_reason, is_new_word, new_names
from resay.core.non_claims.clauses import REFUSALS, SentenceKind, expanded, without_gesture
from resay.core.non_claims.forms import WordClasses
from resay.core.non_claims.phrases import CompiledPhrases
from resay.core.questions import Question

_WORD = lazy_pattern(r"\w+")
# "Born", "died", which mean something
_CLAIMS_ALONE: Final = frozenset({"claims"})
_RESETTING: Final = frozenset({"claims", "information", "theme", "faculty", "document"})


@dataclass(frozen=True, slots=True)
class _Limits:
    """How many words a sentence may contain that are neither in the question nor in the phrases.

    Attributes:
        bare: Words that follow no article, pronoun or interrogative: "medical advice".
        definite: Words after an article that takes for granted that something exists: "the murder".
        interrogative: Words after one that takes for granted that something happened: "who shot".
    """

    bare: int
    definite: int = 0
    interrogative: int = 1


_LIMITS: Final[Mapping[SentenceKind, _Limits]] = {
    "polite": _Limits(bare=1),
    "disclaimer": _Limits(bare=3),
    "referral": _Limits(bare=3),
    "refusal": _Limits(bare=4),
    "silence": _Limits(bare=3),
    "lacks": _Limits(bare=1),
    "question": _Limits(bare=6, definite=2, interrogative=6),
}
_OFFER: Final = _Limits(bare=6, interrogative=0)


def adds_detail(
    text: str, kind: SentenceKind, language: CompiledPhrases, question: Question
) -> bool:
    """Return whether a sentence contains or takes for granted what the question does not say.

    Without a question, any name may be from it.

    Args:
        text: The sentence.
        kind: What one does with it.
        language: Its language.
        question: The question.
    """
    if has_new_number(text, question.words) or has_new_reason(text, question.words):
        return True
    if not question.text:
        return False
    spoken = without_gesture(text)
    gesture = text.removesuffix(spoken)
    names = {*new_names(gesture, question.words), *new_names(spoken, question.words)}
    if not language.has_capitals and not all(language.is_empty(name) for name in names):
        return True
    return language.has_classes and _presupposes(spoken, kind, language, question.words)


def _presupposes(
    text: str, kind: SentenceKind, language: CompiledPhrases, question_words: frozenset[str]
) -> bool:
    """Return whether a sentence takes for granted what was not said: "her three convictions"."""
    words = _WORD.findall(expanded(text))
    classes = language.classes_of(words, question_words)
    limits = _limits(text, classes, kind, language, question_words)
    # How many new words may follow, and how many might before the last article.
    allowed = allowed_before = limits.bare
    counted: set[str] = set()
    for index, (word, word_classes) in enumerate(zip(words, classes, strict=True)):
        if "others" in word_classes:
            allowed = allowed_before = 0
        elif "interrogatives" in word_classes or (kind == "referral" and "purpose" in word_classes):
            allowed = allowed_before = limits.interrogative
        elif "definites" in word_classes:
            allowed_before = max(allowed, allowed_before)
            allowed = limits.definite
        elif word_classes != _CLAIMS_ALONE and word_classes & _RESETTING:
            # "When the bridge was built", "the ability to"
            allowed = allowed_before
        elif _is_content(word, word_classes, language, counted, question_words):
            # "The launch year"
            is_attribute_next = index + 1 < len(classes) and "attributes" in classes[index + 1]
            if allowed < allowed_before and is_attribute_next:
                continue
            counted.add(word)
            if word.endswith(language.definite_endings):
                allowed = limits.definite
            allowed -= 1
            if allowed < 0:
                return True
    return False


def _is_content(
    word: str,
    classes: WordClasses,
    language: CompiledPhrases,
    counted: set[str],
    question_words: frozenset[str],
) -> bool:
    """Whether a word says something that the question and the words before do not."""
    if classes == _CLAIMS_ALONE and is_new_word(word, question_words):
        return True
    return "new" in classes and word not in counted and not language.is_empty(word)


def _limits(
    text: str,
    classes: Sequence[WordClasses],
    kind: SentenceKind,
    language: CompiledPhrases,
    question_words: frozenset[str],
) -> _Limits:
    """Return how many new words a sentence may contain."""
    limits = _LIMITS[kind]
    if kind == "question":
        # What an offer is about is taken for granted: "Do you want to know who she killed?"
        is_offer = any("learn" in word_classes for word_classes in classes)
        return _OFFER if is_offer else limits
    if kind in REFUSALS and any("others" in word_classes for word_classes in classes):
        # "Fraud by her", "who shot her"
        return _Limits(bare=0, interrogative=0 if kind == "refusal" else 1)
    names = set[str]() if language.has_capitals else set(new_names(text, frozenset()))
    if not question_words.isdisjoint(names):
        # "Fraud by Ada Moor", but "the documents do not say who designed the Kessel Bridge"
        is_silence = kind in {"silence", "lacks"}
        return _Limits(
            bare=1 if is_silence else 0,
            definite=limits.definite,
            interrogative=1 if is_silence else 0,
        )
    if kind == "refusal" and not any("things" in word_classes for word_classes in classes):
        # "Whom she shot", but "who designed it"
        return replace(limits, interrogative=0)
    return limits
