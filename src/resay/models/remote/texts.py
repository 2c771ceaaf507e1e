"""Cuts texts that are longer than a server reads at once."""

from __future__ import annotations

import asyncio
import math
import re
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from resay.errors import ScorerError

__all__ = ["Part", "cut", "flat", "regroup", "weights", "without_halves"]

T = TypeVar("T")

_WORD_START = re.compile(r"(?<=\S)(?=\s)")
# Servers refuse to count the tokens of very long texts; few languages have tokens this long.
_CHARACTERS_PER_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Part:
    """A text, or a piece of one that the server can read.

    Attributes:
        text: The piece. The pieces of a text joined are that text.
        weight: Its tokens, at least 1; 1 where it is all there is.
    """

    text: str
    weight: int = 1


async def cut(
    texts: Sequence[str],
    room: int | None,
    lengths: Callable[[Sequence[str]], Awaitable[Sequence[int]]],
) -> list[list[Part]]:
    """Cut each text into as few parts of like length as the server can read.

    Cuts are made before white space where there is any. Texts with no more bytes than the server
    reads tokens are not counted: a token covers at least one byte.

    Args:
        texts: Any number of texts.
        room: How many tokens the server reads at once, without special tokens; None = any number.
        lengths: Counts tokens.

    Returns:
        For each text its parts, at least one.

    Raises:
        ScorerError: No piece of a text is short enough.
    """
    if room is None:
        return [[Part(text)] for text in texts]
    long = [text for text in dict.fromkeys(texts) if len(text.encode()) > room]
    pieces = await asyncio.gather(*(_cut(text, room, lengths) for text in long))
    parts = dict(zip(long, pieces, strict=True))
    return [parts.get(text) or [Part(text)] for text in texts]


async def _cut(
    text: str, room: int, lengths: Callable[[Sequence[str]], Awaitable[Sequence[int]]]
) -> list[Part]:
    if room < 1:
        raise ScorerError(f"the server reads {room!r} tokens besides special ones; it needs room")
    pieces = _pieces(text, math.ceil(len(text) / (room * _CHARACTERS_PER_TOKEN)))
    while True:
        counts = await lengths(pieces)
        if max(counts) <= room:
            return [Part(p, max(n, 1)) for p, n in zip(pieces, counts, strict=True)]
        if any(n > room and len(p) < 2 for p, n in zip(pieces, counts, strict=True)):
            raise ScorerError(f"one character has more than the {room!r} tokens the server reads")
        pieces = [
            shorter
            for piece, count in zip(pieces, counts, strict=True)
            for shorter in _pieces(piece, math.ceil(count / room))
        ]


def _pieces(text: str, count: int) -> list[str]:
    """Cut a text into so many pieces of like length, if it has as many characters."""
    count = min(count, len(text))
    if count < 2:
        return [text]
    starts = [match.start() for match in _WORD_START.finditer(text)]
    cuts = [0]
    for number in range(1, count):
        target = len(text) * number // count
        before = bisect_right(starts, target) - 1
        near = before >= 0 and starts[before] > (cuts[-1] + target) / 2
        cuts.append(starts[before] if near else target)
    return [text[a:b] for a, b in zip(cuts, [*cuts[1:], len(text)], strict=True)]


def weights(parts: Sequence[Sequence[Part]]) -> list[list[int]]:
    """Return for each text the weights of its parts."""
    return [[part.weight for part in of_text] for of_text in parts]


def flat(parts: Sequence[Sequence[Part]]) -> list[str]:
    """Return the texts of all parts."""
    return [part.text for of_text in parts for part in of_text]


def regroup(results: Sequence[T], parts: Sequence[Sequence[Part]]) -> list[list[T]]:
    """Put results for `flat` into one list for each text."""
    rest = iter(results)
    return [[next(rest) for _ in of_text] for of_text in parts]


def without_halves(text: str) -> str:
    """Replace halves of surrogate pairs, which no server reads, by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
