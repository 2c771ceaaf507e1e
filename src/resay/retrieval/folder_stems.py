"""The words of texts and their stems, so that a search for one form of a word finds the others."""

from __future__ import annotations

import re
import sqlite3
import threading
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Protocol

from resay.core.languages import STOP_WORDS
from resay.errors import MissingDependencyError

_WORD = re.compile(r"[^\W_]+")
_NO_WORDS = {code: " " for code in range(128) if not chr(code).isalnum()}

# Marks belong to words: without them, those of most Indic scripts fall apart at their vowels.
TOKENIZER = "unicode61 remove_diacritics 2 categories 'L* N* M* Co'"

_PURPOSE = "finding inflected words of the language {!r}"
SNOWBALL: Mapping[str, str] = MappingProxyType(
    {
        "ca": "catalan",
        "da": "danish",
        "de": "german",
        "el": "greek",
        "es": "spanish",
        "eu": "basque",
        "fi": "finnish",
        "fr": "french",
        "ga": "irish",
        "hu": "hungarian",
        "hy": "armenian",
        "id": "indonesian",
        "it": "italian",
        "lt": "lithuanian",
        "nl": "dutch",
        "no": "norwegian",
        "pt": "portuguese",
        "ro": "romanian",
        "ru": "russian",
        "sr": "serbian",
        "sv": "swedish",
        "tr": "turkish",
    }
)
"""What the languages beside English are called by the package that has their stems."""


@cache
def has_stems(language: str) -> bool:
    """Return whether stems of a language can be made here."""
    return language == "en" or find_spec("snowballstemmer") is not None


def require_stems(language: str) -> None:
    """See that stems of a language can be made here.

    Raises:
        MissingDependencyError: The package with them is not installed.
    """
    if not has_stems(language):
        raise MissingDependencyError("snowballstemmer", "stemming", _PURPOSE.format(language))


class _Algorithm(Protocol):
    def stems(self, words: Sequence[str]) -> Iterable[str]: ...


class _Porter:
    """Porter's stemmer as SQLite's FTS5 has it: the only way there is to call it."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(
            ":memory:", check_same_thread=False, isolation_level=None
        )
        for statement in (
            f'CREATE VIRTUAL TABLE words USING fts5 (word, tokenize = "porter {TOKENIZER}")',
            "CREATE VIRTUAL TABLE stems USING fts5vocab (words, instance)",
        ):
            self._connection.execute(statement)

    def stems(self, words: Sequence[str]) -> Iterable[str]:
        connection = self._connection
        connection.execute("BEGIN")
        try:
            connection.executemany(
                "INSERT INTO words (rowid, word) VALUES (?, ?)", enumerate(words)
            )
            found: dict[int, str] = dict(connection.execute("SELECT doc, term FROM stems"))
        finally:
            connection.execute("ROLLBACK")
        return [found.get(number, word) for number, word in enumerate(words)]


class _Snowball:
    def __init__(self, language: str) -> None:
        require_stems(language)
        self._stemmer: Any = import_module("snowballstemmer").stemmer(SNOWBALL[language])

    def stems(self, words: Sequence[str]) -> Iterable[str]:
        return self._stemmer.stemWords(list(words))


MARK = "\ue000"
"""What stems begin with: for private use, and a letter to the tokenizer, so no word does."""

# Enough for the words of a large folder; what is forgotten is only made again.
_MOST_KEPT = 300_000


class Stemmer:
    """The stems of a language's words, each made once.

    Args:
        language: The language, by its code of two letters.

    Raises:
        MissingDependencyError: The package with its stems is not installed.
    """

    def __init__(self, language: str) -> None:
        self._algorithm: _Algorithm = _Porter() if language == "en" else _Snowball(language)
        self._stop_words = STOP_WORDS.get(language, frozenset())
        self._kept: dict[str, str] = {}
        self._lock = threading.Lock()

    def stems(self, texts: Sequence[Sequence[str]]) -> list[str]:
        """Return the stems of the words of texts, with spaces between, in order.

        Stop words have none.

        Args:
            texts: For each text its words, in small letters.
        """
        with self._lock:
            if len(self._kept) > _MOST_KEPT:
                self._kept = {}
            kept = self._kept
            self._learn(sorted(set[str]().union(*texts).difference(kept)))
        return ["".join(map(kept.__getitem__, words)) for words in texts]

    def _learn(self, words: Sequence[str]) -> None:
        worth = [word for word in words if word not in self._stop_words]
        stems = dict(zip(worth, self._algorithm.stems(worth), strict=True))
        self._kept.update({w: f" {MARK}{stems[w]}" if w in stems else "" for w in words})


@cache
def stemmer(language: str) -> Stemmer:
    """Return the stemmer of a language, one in a process.

    Raises:
        MissingDependencyError: The package with its stems is not installed.
    """
    return Stemmer(language)


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters, accents as one character with their letter."""
    if text.isascii():
        return text.translate(_NO_WORDS).lower().split()
    return _WORD.findall(unicodedata.normalize("NFC", text).lower())
