"""The sentence splitter sentencex, for those who prefer its rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Protocol, TypedDict

from resay._internal.optional import load_optional
from resay.core.segmentation.sentences import sentence_ends

__all__ = ["load_sentencex"]

# sentencex takes time quadratic in the number of quotation marks it is given at once.
_MAX_CHARS = 4096
_KANA = re.compile(r"[\u3040-\u30ff]")


class _Boundary(TypedDict):
    end_index: int


class _Sentencex(Protocol):
    def get_sentence_boundaries(self, language: str, text: str) -> list[_Boundary]: ...


def load_sentencex() -> Callable[[str], Iterator[int]]:
    """Load sentencex.

    Returns:
        A function like `resay.core.segmentation.sentence_ends`. It gives long blocks to sentencex
        in parts that end where the built-in rules end a sentence, and leaves what it cannot read,
        such as lone surrogates, to the built-in rules.

    Raises:
        MissingDependencyError: It is not installed.
    """
    sentencex: _Sentencex = load_optional(
        "sentencex", package="sentencex", extra="sentencex", purpose="splitter 'sentencex'"
    )

    def ends(text: str) -> Iterator[int]:
        start = 0
        for end in _parts(text):
            if start:
                yield start
            for boundary in _boundaries(sentencex, text[start:end]):
                yield start + boundary
            start = end

    return ends


def _parts(text: str) -> Iterator[int]:
    """Where to cut a block so that no part is too long, unless it is one sentence."""
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
    if len(text) > _MAX_CHARS:
        return []
    try:
        found = sentencex.get_sentence_boundaries("ja" if _KANA.search(text) else "en", text)
    except UnicodeEncodeError:
        return list(sentence_ends(text))
    return [boundary["end_index"] for boundary in found[:-1]]
