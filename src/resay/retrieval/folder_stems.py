"""The words of texts, with their stems, so that one form of a word finds the others."""

from __future__ import annotations

import sqlite3
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, Protocol

from resay._internal.patterns import lazy_pattern
from resay.lang.language import stop_words
from resay.retrieval.folder_languages import SNOWBALL, require_stems

_WORD = lazy_pattern(r"[^\W_]+")
_NO_WORDS = {code: " " for code in range(128) if not chr(code).isalnum()}

# Marks belong to words: otherwise, words of most Indic scripts would be split at their vowels.
TOKENIZER = "unicode61 remove_diacritics 2 categories 'L* N* M*'"

STEM = "="
"""The prefix of stems among the frequent words. It occurs in no word."""


class _Algorithm(Protocol):
    def stems(self, words: Sequence[str]) -> Iterable[str]: ...


class _Porter:
    """The Porter stemmer of SQLite's FTS5, which can only be called through an index."""

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
        # A word in ASCII is one token, so one row holds them all: rows cost more than words.
        ascii_words = [word for word in words if word.isascii()]
        other_words = [word for word in words if not word.isascii()]
        # Characters that SQLite does not know make no token: such a word is its own stem.
        stems = dict(zip(other_words, other_words, strict=True))
        connection = self._connection
        connection.execute("BEGIN")
        try:
            connection.executemany(
                "INSERT INTO words (rowid, word) VALUES (?, ?)",
                enumerate([" ".join(ascii_words), *other_words]),
            )
            for row, offset, stem in connection.execute("SELECT doc, offset, term FROM stems"):
                stems[other_words[row - 1] if row else ascii_words[offset]] = stem
        finally:
            connection.execute("ROLLBACK")
        return [stems[word] for word in words]


class _Snowball:
    def __init__(self, language: str) -> None:
        require_stems(language)
        self._stemmer: Any = import_module("snowballstemmer").stemmer(SNOWBALL[language])

    def stems(self, words: Sequence[str]) -> Iterable[str]:
        return self._stemmer.stemWords(list(words))


# Enough for the words of a large folder; evicted stems are merely computed again.
_MAX_CACHED = 300_000


class Stemmer:
    """A language's stemmer, with a cache.

    Args:
        language: The language's two-letter code.

    Raises:
        MissingDependencyError: The language's stemmer is not installed.
    """

    def __init__(self, language: str) -> None:
        self._algorithm: _Algorithm = _Porter() if language == "en" else _Snowball(language)
        self._stop_words = stop_words(language)
        self._cache: dict[str, str] = {}
        self._lock = threading.Lock()

    def stems(self, texts: Sequence[Sequence[str]]) -> list[str]:
        """Return each text's stems, in order, separated by spaces.

        Stop words have none.

        Args:
            texts: The words of each text, in lower case.
        """
        with self._lock:
            if len(self._cache) > _MAX_CACHED:
                self._cache = {}
            cache = self._cache
            self._add(list(set[str]().union(*texts).difference(cache)))
        # No loop in Python: tests/performance/folder.py measures this line.
        return ["".join(map(cache.__getitem__, words)) for words in texts]

    def _add(self, words: Sequence[str]) -> None:
        self._cache.update(dict.fromkeys(words, ""))
        content_words = [word for word in words if word not in self._stop_words]
        stems = self._algorithm.stems(content_words)
        for word, stem in zip(content_words, stems, strict=True):
            self._cache[word] = f" {stem}"


@cache
def stemmer(language: str) -> Stemmer:
    """Return a language's stemmer, one per process.

    Raises:
        MissingDependencyError: It is not installed.
    """
    return Stemmer(language)


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, with composed accents."""
    if text.isascii():
        return text.translate(_NO_WORDS).lower().split()
    return _WORD.findall(unicodedata.normalize("NFC", text).lower())
