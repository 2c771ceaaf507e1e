"""Divides what is too long for a model, so that nothing is cut off unseen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from resay.core.passage import Passage
from resay.models.base import Measure

# However a tokenizer counts, one character is at most so many tokens: the bytes of its UTF-8.
_TOKENS_A_CHARACTER = 4


async def windows(passage: Passage, room: int, measure: Measure) -> list[str]:
    """Divide a passage into stretches of whole sentences.

    Args:
        passage: The passage.
        room: How many tokens a stretch may have, at least 4.
        measure: Counts them.

    Returns:
        Texts that together hold all of the passage's; the passage's text alone where it fits. A
        sentence that alone is too long is divided between words.
    """
    whole = passage.text.strip()
    if (await measure.lengths([whole]))[0] <= room:
        return [whole]
    pieces = [piece.text for piece in passage.pieces]
    parts: list[str] = []
    for piece, length in zip(pieces, await measure.lengths(pieces), strict=True):
        parts += [piece] if length <= room else await _words(piece, room, measure)
    return await _packed(parts, room, measure)


async def cut(text: str, room: int, measure: Measure) -> list[str]:
    """Divide a text between words.

    Args:
        text: The text.
        room: How many tokens a part may have, at least 4.
        measure: Counts them.

    Returns:
        Parts that fit; only a word that alone is too long is divided itself.
    """
    return await _packed(await _words(text, room, measure), room, measure)


async def _words(text: str, room: int, measure: Measure) -> list[str]:
    # With the space before them, which some tokenizers count.
    words = [f" {word}" for word in text.split()]
    short = max(room // _TOKENS_A_CHARACTER - 1, 1)
    parts: list[str] = []
    for word, length in zip(words, await measure.lengths(words), strict=True):
        parts += [word] if length < room else _slices(word, short)
    return parts


def _slices(word: str, size: int) -> Iterable[str]:
    return (word[start : start + size] for start in range(0, len(word), size))


async def _packed(parts: Sequence[str], room: int, measure: Measure) -> list[str]:
    # At the start of a text a word may be other tokens than after a space.
    first = await measure.lengths([part.strip() for part in parts])
    sizes = list(map(max, first, await measure.lengths(parts)))
    return [text for text in map(str.strip, _pack(parts, sizes, room)) if text]


def _pack(parts: Sequence[str], sizes: Sequence[int], room: int) -> Iterator[str]:
    text, used = "", 0
    for part, size in zip(parts, sizes, strict=True):
        if text and used + size > room:
            yield text
            text, used = "", 0
        text += part
        used += size
    if text:
        yield text
