"""The tokens of a text: words, numbers and marks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final

from resay.core.quantities.quantity import Quantity
from resay.lang.detection import detect_from_words

CJK: Final = "〇一二三四五六七八九零两兩十百千万萬亿億"
"""Chinese numerals."""
# Scripts without spaces, whose characters are not words.
_UNSPACED: Final = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_FIRST_UNSPACED: Final = "\u3040"


def _token_pattern(words: str, others: str) -> re.Pattern[str]:
    # A group, so that `split` returns the tokens. Only digits need a lookbehind.
    return re.compile(
        rf"""
        ( {words}
      | (?=\d)
        (?: (?<![\d.])\d{{4}}(?:-\d{{1,2}}-|\.\d{{1,2}}\.|/\d{{1,2}}/)\d{{1,2}}(?!\d)
          | (?<![\d.])\d{{1,2}}(?:-\d{{1,2}}-|\.\d{{1,2}}\.|/\d{{1,2}}/)(?:\d{{4}}|\d\d)(?!\d)
          | (?<![\d:.,])\d{{1,2}}:[0-5]\d(?![\d:])
          | \d+(?:[.,]\d+)*
        )
      | {others} )
        """,
        re.VERBOSE,
    )


_LETTER: Final = rf"[^\W\d_{_UNSPACED}]"
# Most letters are of the range that is tested fastest.
_TOKEN: Final = _token_pattern(rf"[a-z]+{_LETTER}*|{_LETTER}+", rf"[{CJK}]+|[-%‰€$£¥₹₩₽¢°~≈/'\"]")
_ASCII_TOKEN: Final = _token_pattern("[a-z]+", "[-%$~/'\"]")


@dataclass(slots=True)
class Token:
    """A word, number or mark in lower case, and its position."""

    text: str
    start: int
    end: int


class Tokens:
    """The tokens of a text, created on access, because most are never needed.

    Args:
        text: The text.

    Attributes:
        original: The text.
        lower: The text in lower case.
        texts: The text of each token, in lower case.
    """

    def __init__(self, text: str) -> None:
        self.original = text
        lower = text.lower()
        # Lower-casing lengthens a few characters; such texts stay unchanged, to keep offsets valid.
        self.lower = lower if len(lower) == len(text) else text
        self._is_ascii = self.lower.isascii()
        pattern = _ASCII_TOKEN if self._is_ascii else _TOKEN
        # What is between tokens, and the tokens, in turns.
        self._pieces: list[str] = pattern.split(self.lower)
        self.texts = self._pieces[1::2]
        self._count = len(self.texts)
        self._tokens: dict[int, Token] = {}

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Token:
        token = self._tokens.get(index)
        if token is None:
            start, text = self.start(index), self.texts[index]
            token = self._tokens[index] = Token(text, start, start + len(text))
        return token

    def start(self, index: int) -> int:
        """Return the start of a token."""
        return self._starts[index]

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate(map(len, self._pieces)))[::2]

    def text_at(self, index: int) -> str:
        """Return the text of a token; empty if there is none at the index."""
        return self.texts[index] if 0 <= index < self._count else ""

    def gap(self, index: int) -> str:
        """Return the text between a token and the one before."""
        return self._pieces[2 * index]

    def has_gap_in(self, index: int, gaps: tuple[str, ...]) -> bool:
        """Whether there are a token and one before it, with one of these texts in between."""
        return 0 < index < self._count and self.gap(index) in gaps

    def is_unspaced(self, position: int) -> bool:
        """Whether a character of the text is of a script without spaces."""
        if self._is_ascii:
            return False
        return position < len(self.original) and self.original[position] >= _FIRST_UNSPACED

    def is_before_unspaced(self, index: int) -> bool:
        """Whether a character of a script without spaces follows a token."""
        return not self._is_ascii and self.is_unspaced(self[index].end)

    def is_free(self, index: int, last: Quantity | None) -> bool:
        """Whether a token is not part of the last quantity."""
        return last is None or last.end <= self[index].start

    @cached_property
    def language(self) -> str | None:
        """The language of the text, if its words tell."""
        return detect_from_words(self.texts)
