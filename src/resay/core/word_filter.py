"""Tells whether any word of a text passes a test, when texts share most of their words."""

from __future__ import annotations

from collections.abc import Callable, Collection

# More words are forgotten, so that the memory of a long-lived process stays bounded.
_MAX_WORDS = 32_768


class WordFilter:
    """Tests each distinct word once, and most texts with a single operation on sets.

    Args:
        test: Whether a word passes; always the same for the same word.
    """

    def __init__(self, test: Callable[[str], bool]) -> None:
        self._test = test
        self._passed: set[str] = set()
        self._failed: set[str] = set()

    def passes_any(self, words: Collection[str]) -> bool:
        """Return whether any of the words passes."""
        if self._failed.issuperset(words):
            return False
        return any(map(self.passes, words))

    def passes(self, word: str) -> bool:
        """Return whether a word passes."""
        if word in self._failed:
            return False
        if word in self._passed:
            return True
        if len(self._passed) + len(self._failed) >= _MAX_WORDS:
            # Not cleared: another thread may be reading them.
            self._passed, self._failed = set(), set()
        passes = self._test(word)
        (self._passed if passes else self._failed).add(word)
        return passes
