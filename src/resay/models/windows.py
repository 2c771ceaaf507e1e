"""Splits texts that are too long for a model, so that nothing is silently truncated."""

from __future__ import annotations

from collections.abc import Sequence

from resay.core.passage import Passage
from resay.models.base import Measure

# In any tokenizer, a character is at most this many tokens: the bytes of its UTF-8.
_MAX_TOKENS_PER_CHAR = 4


async def windows(passage: Passage, max_tokens: int, measure: Measure) -> list[str]:
    """Split a passage into windows of whole sentences.

    Args:
        passage: The passage.
        max_tokens: The maximum number of tokens in a window, at least 4.
        measure: Counts tokens.

    Returns:
        Windows that together cover the passage, or its text alone if that fits. A sentence that is
        too long by itself is split between words.
    """
    whole = passage.text.strip()
    if (await measure.lengths([whole]))[0] <= max_tokens:
        return [whole]
    pieces = [piece.text for piece in passage.pieces]
    parts: list[str] = []
    for piece, length in zip(pieces, await measure.lengths(pieces), strict=True):
        parts += [piece] if length <= max_tokens else await _words(piece, max_tokens, measure)
    return await _join(parts, max_tokens, measure)


async def cut(text: str, max_tokens: int, measure: Measure) -> list[str]:
    """Split a text between words.

    Args:
        text: The text.
        max_tokens: The maximum number of tokens in a part, at least 4.
        measure: Counts tokens.

    Returns:
        Parts that fit. Only a word that is too long by itself is split.
    """
    return await _join(await _words(text, max_tokens, measure), max_tokens, measure)


async def _words(text: str, max_tokens: int, measure: Measure) -> list[str]:
    # Including the preceding space, which some tokenizers count.
    words = [f" {word}" for word in text.split()]
    size = max(max_tokens // _MAX_TOKENS_PER_CHAR - 1, 1)
    parts: list[str] = []
    for word, length in zip(words, await measure.lengths(words), strict=True):
        if length < max_tokens:
            parts.append(word)
        else:
            parts += [word[start : start + size] for start in range(0, len(word), size)]
    return parts


async def _join(parts: Sequence[str], max_tokens: int, measure: Measure) -> list[str]:
    """Join adjacent parts as long as they fit."""
    # At the start of a text, a word may be tokenized differently than after a space.
    sizes_at_start = await measure.lengths([part.strip() for part in parts])
    sizes = map(max, sizes_at_start, await measure.lengths(parts))
    texts: list[str] = []
    text, tokens = "", 0
    for part, size in zip(parts, sizes, strict=True):
        if text and tokens + size > max_tokens:
            texts.append(text)
            text, tokens = "", 0
        text += part
        tokens += size
    texts.append(text)
    return list(filter(None, map(str.strip, texts)))
