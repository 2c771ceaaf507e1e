"""The splitters that a policy may choose between: the built-in rules, and sentencex."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypedDict

from resay._internal.importing import load_optional
from resay._internal.patterns import lazy_pattern
from resay.core.segmentation.sentences import sentence_ends
from resay.errors import ConfigurationError

# The time of sentencex is quadratic in the number of quotation marks in its input.
_MAX_CHARS = 4096
_KANA = lazy_pattern(r"[\u3040-\u30ff]")


class _Boundary(TypedDict):
    end_index: int


class _Sentencex(Protocol):
    def get_sentence_boundaries(self, language: str, text: str) -> list[_Boundary]: ...


def load_splitter(splitter: str) -> Callable[[str], Iterator[int]]:
    """Return a function that yields the sentence ends in a block of prose, like `sentence_ends`.

    Args:
        splitter: The splitter's name.

    Raises:
        MissingDependencyError: The splitter is not installed.
        ConfigurationError: There is no splitter of that name.
    """
    if splitter == "builtin":
        return sentence_ends
    if splitter == "sentencex":
        return _load_sentencex()
    raise ConfigurationError(f"unknown splitter {splitter!r}; use 'builtin' or 'sentencex'")


def _load_sentencex() -> Callable[[str], Iterator[int]]:
    """Load sentencex.

    Returns:
        A function like `sentence_ends`. It passes long blocks to sentencex in parts that end at
        sentence ends of the built-in rules, and leaves text that sentencex cannot read, such as
        lone surrogates, to the built-in rules.
    """
    sentencex: _Sentencex = load_optional(
        "sentencex", package="sentencex", extra="sentencex", purpose="splitter 'sentencex'"
    )

    def ends(text: str) -> Iterator[int]:
        start = 0
        for end in _part_ends(text):
            if start:
                yield start
            for boundary in _boundaries(sentencex, text[start:end]):
                yield start + boundary
            start = end

    return ends


def _part_ends(text: str) -> Iterator[int]:
    """Yield the ends of the parts of a block; only a single sentence is longer than the limit."""
    start = last = 0
    if len(text) > _MAX_CHARS:
        for end in sentence_ends(text):
            if end - start > _MAX_CHARS and last > start:
                yield last
                start = last
            last = end
        if len(text) - start > _MAX_CHARS and last > start:
            yield last
    yield len(text)


def _boundaries(sentencex: _Sentencex, text: str) -> list[int]:
    """Return the sentence ends in a part, without the end of its last sentence."""
    if len(text) > _MAX_CHARS:
        return []
    language = "ja" if _KANA.search(text) else "en"
    try:
        boundaries = sentencex.get_sentence_boundaries(language, text)
    except UnicodeEncodeError:
        return list(sentence_ends(text))
    return [boundary["end_index"] for boundary in boundaries[:-1]]
