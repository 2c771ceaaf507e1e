"""The prompt about the claims of an answer and the documents of its request.

Of documents that are too long it shows the passages that share most words with the claims (BM25,
Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009, equation 3.15).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import log

from resay.core.references import Reference
from resay.core.tokens import tokenize
from resay.lang.language import load
from resay.scorers.common.fences import Fences

_CHUNK_CHARS = 1_200
_K1, _B = 1.2, 0.75


def render(
    claims: Sequence[str], documents: Sequence[tuple[int, str]], conversation: str = ""
) -> str:
    """Return the prompt about the claims of an answer and documents.

    Args:
        claims: The claims, to be numbered from 1.
        documents: The index of each document, which the prompt shows plus 1, with its excerpt.
        conversation: The conversation the answer belongs to; empty if unknown.
    """
    wording = load("en").prompts.documents
    listed = "\n".join(f"{i}. {' '.join(claim.split())}" for i, claim in enumerate(claims, 1))
    fences = Fences.around(conversation, listed, *(text for _, text in documents))
    shown = "\n".join(
        fences.enclose("document", text.strip(), number=index + 1) for index, text in documents
    )
    parts = [
        wording.task,
        *([fences.enclose("conversation", conversation)] if conversation else []),
        fences.enclose("documents", shown),
        fences.enclose("claims", listed),
        (wording.about if conversation else "") + wording.rules,
    ]
    return "\n\n".join(parts)


def excerpts(
    references: Sequence[Reference], texts: Sequence[str], max_chars: int
) -> list[tuple[int, str]]:
    """Return the text of references to show a judge: all, or the passages relevant to some texts.

    Args:
        references: The references.
        texts: The claims, and the question.
        max_chars: Maximum number of characters in total.

    Returns:
        The index of each reference with an excerpt, in order, and the excerpt.
    """
    if sum(len(reference.text) for reference in references) <= max_chars:
        return [(index, reference.text) for index, reference in enumerate(references)]
    chunks: list[tuple[int, str]] = []
    for index, reference in enumerate(references):
        chunks += [(index, chunk) for chunk in _chunks(reference.text)]
    chosen: set[int] = set()
    left = max_chars
    for position in _ranked([chunk for _, chunk in chunks], texts):
        _, chunk = chunks[position]
        if len(chunk) <= left:
            chosen.add(position)
            left -= len(chunk)
    chosen_by_reference: dict[int, list[str]] = {}
    for position in sorted(chosen):
        index, chunk = chunks[position]
        chosen_by_reference.setdefault(index, []).append(chunk.strip())
    return [(index, "\n[...]\n".join(parts)) for index, parts in chosen_by_reference.items()]


def _chunks(text: str) -> Iterator[str]:
    """Yield a text in chunks of limited length, cut at paragraphs, lines, sentences or spaces."""
    start = 0
    while start < len(text):
        end = min(start + _CHUNK_CHARS, len(text))
        if end < len(text):
            for mark in ("\n\n", "\n", ". ", " "):
                cut = text.rfind(mark, start + _CHUNK_CHARS // 2, end)
                if cut > 0:
                    end = cut + len(mark)
                    break
        yield text[start:end]
        start = end


def _ranked(chunks: Sequence[str], texts: Sequence[str]) -> list[int]:
    """Return the positions of chunks by their BM25 score for some texts, highest first."""
    counts = [Counter(tokenize(chunk)) for chunk in chunks]
    lengths = [count.total() for count in counts]
    mean_length = sum(lengths) / max(len(lengths), 1) or 1.0
    chunks_with_word: Counter[str] = Counter()
    for count in counts:
        chunks_with_word.update(count.keys())
    weights: dict[str, float] = {}
    for text in texts:
        for word in tokenize(text):
            if word in chunks_with_word:
                n = chunks_with_word[word]
                weights[word] = log(1 + (len(chunks) - n + 0.5) / (n + 0.5))
    scores: list[float] = []
    for count, length in zip(counts, lengths, strict=True):
        norm = _K1 * (1 - _B + _B * length / mean_length)
        terms = [
            weight * count[word] * (_K1 + 1) / (count[word] + norm)
            for word, weight in weights.items()
            if word in count
        ]
        scores.append(sum(terms))
    return sorted(range(len(chunks)), key=lambda position: (-scores[position], position))
