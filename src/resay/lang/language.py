"""What Resay knows about a language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from resay._internal.lazy_types import lazy_type
from resay.errors import ConfigurationError
from resay.lang.phrases import Phrases
from resay.lang.tables import codes, phrase_set, table, word_set

if TYPE_CHECKING:
    from resay.lang.prompts import Prompts
else:
    Prompts = lazy_type("resay.lang.prompts", "Prompts")


@dataclass(frozen=True, slots=True)
class Sentences:
    """The sentences that a repaired answer has in place of what was wrong.

    Attributes:
        not_in_documents: The documents do not say this.
        no_answer_in_documents: The documents have no answer to `{}`.
        uncertain: The word after a doubtful sentence.
        not_certain: The answer if nothing of it is left.
    """

    not_in_documents: str
    no_answer_in_documents: str
    uncertain: str
    not_certain: str


@dataclass(frozen=True)
class Language:
    """A language, whose parts are read when they are first asked for.

    Attributes:
        code: Its code (ISO 639-1).
    """

    code: str

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """Its most common words, which carry no subject; empty if it has no rules."""
        return word_set(table(self.code, "words").get("stop", ""))

    @cached_property
    def common_words(self) -> frozenset[str]:
        """The words that tell its texts from those in other languages."""
        return self.stop_words or word_set(table(self.code, "words").get("common", ""))

    @cached_property
    def phrases(self) -> Phrases | None:
        """The words and phrases of sentences that claim nothing."""
        fields = table(self.code, "phrases")
        return Phrases(**fields) if fields else None

    @cached_property
    def sentences(self) -> Sentences:
        """The sentences of repaired answers; the English ones, in languages that have none."""
        return Sentences(**(table(self.code, "sentences") or table("en", "sentences")))

    @property
    def numbers(self) -> Mapping[str, str]:
        """The words of numbers and dates, by their meaning; empty if it has none."""
        return table(self.code, "numbers")

    @property
    def units(self) -> Mapping[str, str]:
        """The words of units, by the unit."""
        return table(self.code, "units")

    @property
    def unspaced_units(self) -> Mapping[str, str]:
        """The same in scripts without spaces."""
        return table(self.code, "unspaced_units")

    @property
    def unspaced_times(self) -> Mapping[str, str]:
        """The words for the hour and the halves of a day in scripts without spaces."""
        return table(self.code, "unspaced_times")

    @property
    def alternatives(self) -> str:
        """The pattern of "or"; the English one, in languages that have none."""
        return table(self.code, "questions").get("or") or table("en", "questions")["or"]

    @property
    def opposites(self) -> str:
        """Words that exclude each other, in the notation of `en.toml`; empty if it has none."""
        return table(self.code, "opposites").get("groups", "")

    @property
    def has_prompts(self) -> bool:
        """Whether a judge can be asked in this language."""
        return bool(table(self.code, "prompts"))

    @cached_property
    def prompts(self) -> Prompts:
        """The texts with which judges are asked.

        Raises:
            ConfigurationError: The language has none.
        """
        if not self.has_prompts:
            others = sorted(language.code for language in languages() if language.has_prompts)
            raise ConfigurationError(
                f"there are no prompts in {self.code!r}; use one of {', '.join(map(repr, others))}"
            )
        # Methods that ask a judge have imported it.
        from resay.lang.prompts import read_prompts

        return read_prompts(table(self.code, "prompts"), table("en", "prompts"))


@cache
def load(code: str) -> Language:
    """Return a language.

    Args:
        code: The language's code (ISO 639-1).

    Raises:
        ConfigurationError: The language has no file.
    """
    if code not in codes():
        raise ConfigurationError(
            f"there is no language {code!r}; use one of {', '.join(map(repr, sorted(codes())))}"
        )
    return Language(code)


def stop_words(code: str) -> frozenset[str]:
    """Return the stop words of a language; none if it has no file."""
    return load(code).stop_words if code in codes() else frozenset()


@cache
def languages() -> tuple[Language, ...]:
    """Return the languages, the most likely ones first."""
    return tuple(map(load, codes()))


@cache
def all_words(subject: str, name: str) -> frozenset[str]:
    """Return the words that all languages have under a name.

    Args:
        subject: The table, such as "negation".
        name: The name in it.
    """
    words: set[str] = set()
    for code in codes():
        words |= word_set(table(code, subject).get(name, ""))
    return frozenset(words)


@cache
def all_phrases(subject: str, name: str) -> frozenset[str]:
    """Return the words and phrases, separated by commas, that all languages have under a name.

    Args:
        subject: The table, such as "judge".
        name: The name in it.
    """
    phrases: set[str] = set()
    for code in codes():
        phrases |= phrase_set(table(code, subject).get(name, ""))
    return frozenset(phrases)


@cache
def all_alternatives(subject: str, name: str) -> str:
    """Return the alternatives of a pattern that all languages have under a name, joined by bars.

    Args:
        subject: The table, such as "questions".
        name: The name in it. Line breaks in the pattern do not count.
    """
    patterns = [table(code, subject).get(name, "") for code in codes()]
    return "|".join(pattern.replace("\n", "") for pattern in patterns if pattern)
