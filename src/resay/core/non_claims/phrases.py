"""The words and phrases of each language that sentences without claims are made of, compiled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import Final

from resay._internal.patterns import lazy_pattern
from resay.core.details import is_new_word
from resay.core.non_claims.forms import CLASSES, Act, WordClasses
from resay.lang.language import languages
from resay.lang.phrases import Phrases

_ACTS: Final[tuple[Act, ...]] = ("polite", "silence", "lacks", "refusal", "disclaimer", "referral")
_WORD: Final = lazy_pattern(r"\w+")
# Between the lines of a pattern; see `Phrases`.
_LINES: Final = lazy_pattern(r"\s*\n\s*(\| )?")
_OPTIONAL: Final = lazy_pattern(r"\w\?")
_MAX_QUESTION_WORDS: Final = 16
_KNOWN: Final = frozenset({"known"})
_NEW: Final = frozenset({"new"})
_SMALL: Final = frozenset({"small"})


class CompiledPhrases:
    """The words and phrases of a language, compiled.

    Attributes:
        letters: A pattern for a letter of its script.
        definite_endings: Endings of nouns that do what a definite article does.
        comma_before_question: Whether a comma precedes indirect questions.
        has_capitals: Whether common nouns are capitalised.
        has_classes: Whether the classes of its words are known.
    """

    def __init__(self, phrases: Phrases) -> None:
        self._phrases = phrases
        self._exact, self._stems = _tables(phrases)
        self._lengths = sorted({len(stem) for stem in self._stems}, reverse=True)
        self._endings: dict[str, WordClasses] = {}
        for word, classes in self._exact.items():
            if word.startswith("*"):
                self._endings[word.strip("*")] = classes
        self._ending_lengths = sorted({len(ending) for ending in self._endings}, reverse=True)
        self.letters = re.compile(f"[{phrases.letters}]")
        self.definite_endings = tuple(phrases.definite_endings.split())
        self.comma_before_question = phrases.comma_before_question
        self.has_capitals = phrases.has_capitals
        self.has_classes = bool(phrases.speaker)
        idioms = " ".join(getattr(phrases, act) for act in _ACTS)
        without_optional = _OPTIONAL.sub("", idioms)
        self._idiom_words = frozenset(_WORD.findall(idioms) + _WORD.findall(without_optional))

    # Most texts are in one language: the patterns of the others are never compiled.
    @cached_property
    def acts(self) -> Mapping[Act, re.Pattern[str]]:
        """The patterns of clauses that claim nothing, by what one does with them."""
        return {act: _clause(getattr(self._phrases, act)) for act in _ACTS}

    @cached_property
    def question(self) -> re.Pattern[str]:
        """The pattern of the beginning of a question to the user."""
        return _clause(self._phrases.question)

    def classes(self, word: str) -> WordClasses:
        """Return the classes of a word; none for a word with a meaning of its own."""
        classes = self._exact.get(word)
        if classes is not None:
            return classes
        for length in self._lengths:
            if length <= len(word) and (classes := self._stems.get(word[:length])):
                return classes
        for length in self._ending_lengths:
            if length < len(word) and (classes := self._endings.get(word[-length:])):
                return classes
        return frozenset()

    def is_empty(self, word: str) -> bool:
        """Return whether a word is one of those that say nothing about the world."""
        return bool(self.classes(word)) or word in self._idiom_words

    def classes_of(self, words: Iterable[str], question_words: frozenset[str]) -> list[WordClasses]:
        """Return the classes of words; those with a meaning of their own are `known` or `new`.

        Args:
            words: The words.
            question_words: The words of the question.
        """
        classes: list[WordClasses] = []
        for word in words:
            own_classes = self.classes(word)
            if own_classes:
                classes.append(own_classes)
            elif is_new_word(word, question_words):
                classes.append(_NEW)
            elif word in question_words or is_new_word(word, frozenset()):
                classes.append(_KNOWN)
            else:
                classes.append(_SMALL)
        return classes

    def assumes(self, classes: Sequence[WordClasses], *, begins: bool) -> bool:
        """Return whether a clause of a question takes something for granted.

        "That I explain it" does not.

        Args:
            classes: The classes of its words.
            begins: Whether the question begins with it.
        """
        # "Who" and "was" ask at the beginning, but not "that" after "did you know".
        asks = begins or bool(classes and "interrogatives" in classes[0])
        for index in range(1 if asks else 0, len(classes)):
            is_offer = index + 1 < len(classes) and "speaker" in classes[index + 1]
            if "assumes" in classes[index] and not is_offer:
                return True
        return False

    def is_small(self, clause: str) -> bool:
        """Return whether a clause has only words without a meaning: "for now"."""
        return all(self.classes(word) & {"small", "vocative"} for word in clause.split())

    def asks_indirectly(self, clause: str) -> bool:
        """Return whether a clause asks and claims nothing: "when it was launched"."""
        classes = [self.classes(word) for word in clause.split()]
        is_question = "interrogatives" in classes[0] and len(classes) <= _MAX_QUESTION_WORDS
        return is_question and not any("turns" in its for its in classes)

    def without_link(self, clause: str) -> str:
        """Return a clause without a conjunction that it begins with: "that"."""
        first, _, others = clause.partition(" ")
        return others if "claims" in self.classes(first) else clause


@cache
def compiled_languages() -> tuple[CompiledPhrases, ...]:
    """Return the languages with phrases."""
    all_phrases = [language.phrases for language in languages()]
    return tuple(CompiledPhrases(phrases) for phrases in all_phrases if phrases is not None)


def _tables(phrases: Phrases) -> tuple[dict[str, WordClasses], dict[str, WordClasses]]:
    """Return the classes of whole words, and of the beginnings of words."""
    exact: dict[str, WordClasses] = {}
    stems: dict[str, WordClasses] = {}
    for field in CLASSES:
        for word in getattr(phrases, field).split():
            table = stems if word.endswith("*") else exact
            word = word.rstrip("*")
            table[word] = table.get(word, frozenset()) | {field}
    lengths = sorted({len(stem) for stem in stems})
    for table in (stems, exact):
        for word in sorted(table, key=len):
            for length in lengths:
                if classes := stems.get(word[:length]):
                    table[word] |= classes
    return exact, stems


def _clause(pattern: str) -> re.Pattern[str]:
    # Clauses are case-folded.
    pattern = pattern.strip().replace("{rest}", r"(\S.*)").replace("ß", "ss")
    return re.compile(_LINES.sub(lambda line: "|" if line[1] else "", pattern))
