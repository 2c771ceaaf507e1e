"""Which documents support a sentence.

The model names them, and what it names must at least speak of the same; where it names none, those
are taken that have most of the sentence's words, and all of its numbers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from resay.core.tokens import tokenize
from resay.core.verdict import Document

__all__ = ["claims_more", "nearest", "sources_of"]

_MOST = 3
_ENOUGH = 0.6
_SHORTEST = 4


def sources_of(
    sentence: str, named: Collection[str], documents: Sequence[Document]
) -> tuple[str, ...]:
    """Return the ids of the documents that support a sentence.

    Args:
        sentence: The sentence, which was written from the documents.
        named: The ids of those that the model named.
        documents: The documents.

    Returns:
        Ids, the best first; none where no document can be said to support it.
    """
    words = _content(sentence)
    confirmed = [d.id for d in documents if d.id in named and words & _content(d.text)]
    if confirmed:
        return tuple(confirmed)
    numbers = {word for word in words if any(map(str.isdigit, word))}
    shares = [(_share(words, document), document) for document in documents]
    ranked = sorted(shares, key=lambda pair: -pair[0])
    return tuple(
        document.id
        for share, document in ranked[:1]
        if share >= _ENOUGH and numbers <= _content(document.text)
    )


def claims_more(sentence: str, known: str) -> bool:
    """Return whether a sentence names somebody, or a number, that another text does not.

    Args:
        sentence: A sentence that is to claim nothing.
        known: What it may speak of.
    """
    there = set(tokenize(known))
    names = re.findall(r"(?<=\w[\s,;:])[^\W\d_a-z][\w.'’-]*", sentence)
    names += [word for word in sentence.split() if re.search(r"\d", word)]
    return any(word not in there for name in names for word in tokenize(name))


def nearest(sentence: str, documents: Sequence[Document]) -> list[Document]:
    """Return the documents that have most to do with a sentence, in the order they came in."""
    words = _content(sentence)
    shares = [_share(words, document) for document in documents]
    best = sorted(range(len(documents)), key=lambda i: -shares[i])[:_MOST]
    return [documents[i] for i in sorted(best)]


def _share(words: Collection[str], document: Document) -> float:
    there = _content(document.text)
    return sum(word in there for word in words) / len(words) if words else 0.0


def _content(text: str) -> set[str]:
    """Return the words that say something: long ones, numbers, and signs of unspaced scripts."""
    return {
        word
        for word in tokenize(text)
        if len(word) >= _SHORTEST
        or any(map(str.isdigit, word))
        or (not word.isascii() and word.isalnum())
    }
