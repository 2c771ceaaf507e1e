"""How much of a growing text is final: its sentences stay, whatever follows."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from resay._internal.patterns import lazy_pattern
from resay.core.segmentation.blocks import Layout
from resay.core.segmentation.characters import GAP, LINE_BREAKS, STOPS, WIDE_STOPS
from resay.core.segmentation.choices import Splitter
from resay.core.segmentation.code_spans import LONGEST_CODE_SPAN, backtick_pairs
from resay.core.segmentation.spans import Span

# Greek questions end with a semicolon, and Thai and Lao sentences with a space.
_OTHER_STOP = r"(?<=[\u0370-\u03ff\u1f00-\u1fff])[;\u037e]|[\u0e01-\u0e4f\u0e81-\u0edf](?=\s)"
_LINE_END = lazy_pattern(rf"[{LINE_BREAKS}]\Z")
_BOUNDARY = lazy_pattern(
    rf"""
    (?: [{STOPS}] | {_OTHER_STOP} ) (?= \S{{0,64}} \s{{1,16}} (?: \S{{1,39}}\s | \S{{40}} ) )
  | [{WIDE_STOPS}] (?= .{{8}} )
  | [{LINE_BREAKS}] (?= \s{{0,16}} \S{{1,39}} \s{{1,16}} \S{{1,39}} \s )
  | \S {GAP}{{0,16}}
    (?: \u2029 | (?: \r\n | (?!\r\n)[{LINE_BREAKS}] ) {GAP}{{0,16}} [{LINE_BREAKS}] )
    """,
    re.VERBOSE | re.DOTALL,
)
_POSSIBLE_BOUNDARY = lazy_pattern(rf"[{STOPS}{LINE_BREAKS}]|{_OTHER_STOP}")
_MAX_LOOKAHEAD = 200
_MAX_LOOKBEHIND = 17
_TWO_WORDS = lazy_pattern(r"\s*(?:\S+\s+\S+\s|[\u3040-\u30ff\u3400-\u9fff])|.{24}", re.DOTALL)
_ONE_WORD = lazy_pattern(r"\S+\s|\S{40}")
_FIVE_WORDS = lazy_pattern(r"(?:\S+\s+){5}|.{200}", re.DOTALL)
_PAIRS = ("()", "[]", "“”", "‘’", "«»", "„”", "‹›", "「」", "『』", "（）")
_LONGEST_PAIR = 400
# Five words are needed to see who exclaimed: "Stop!" Mr. John Smith said.
_EXCLAIMED = lazy_pattern(r"[!?‽؟][^\s\w]*[\"'”’»›“‘«][^\s\w]*(?:\Z|\s+[A-Z])")
_WIDE_STOP = lazy_pattern(rf"[{WIDE_STOPS}][^\s\w]*\Z")


class BoundaryDetector:
    """Detects cheaply where text may have become final, so that most parts cost nothing."""

    def __init__(self) -> None:
        self._tail = ""

    def feed(self, text: str) -> bool:
        """Process the next part of a text; return whether more of it may have become final."""
        tail = self._tail + text
        # Most parts have no mark that could end a sentence, and finding one takes much longer.
        if _POSSIBLE_BOUNDARY.search(tail) is None:
            self._tail = tail[-_MAX_LOOKBEHIND:]
            return False
        start = 0
        has_boundary = False
        for match in _BOUNDARY.finditer(tail):
            start = match.start() + 1
            has_boundary = True
        possible = _POSSIBLE_BOUNDARY.search(tail, start)
        pending = possible.start() if possible else len(tail)
        self._tail = tail[max(start, pending - _MAX_LOOKBEHIND, len(tail) - _MAX_LOOKAHEAD) :]
        return has_boundary


class FinalEnd(NamedTuple):
    """Where the final part of a text ends.

    Attributes:
        end: The end, in code points.
        may_grow: Whether one more word may move it.
    """

    end: int
    may_grow: bool


def final_end(text: str, layout: Layout, pieces: Sequence[Span], splitter: Splitter) -> FinalEnd:
    """Return the end of the text whose sentences are final.

    Args:
        text: The text so far.
        layout: Its blocks.
        pieces: The spans of its pieces, in order.
        splitter: The rules that end its sentences.
    """
    if not layout.blocks:
        return FinalEnd(0, may_grow=False)
    block = layout.blocks[-1]
    if block.kind != "prose" or _ends_blank(text):
        return FinalEnd(block.end, may_grow=False)
    prose = layout.masked[block.start :]
    if prose.islower():
        # With the first capital letter, sentences no longer begin with small letters.
        return FinalEnd(block.start, may_grow=False)
    limit = block.start + _open_code(prose)
    if splitter == "sentencex":
        limit = min(limit, block.start + _open_pair(prose))
    end = block.start
    in_block = [span for span in pieces if span[0] >= block.start]
    for (_, piece_end), (next_start, _) in pairwise(in_block):
        if next_start >= limit:
            break
        if not _is_decided(layout.masked, piece_end):
            return FinalEnd(end, may_grow=True)
        end = piece_end
    return FinalEnd(end, may_grow=False)


def open_line_start(text: str) -> int:
    """Return the start of the incomplete last line; the end of the text if it is complete."""
    if _LINE_END.search(text, len(text) - 1):
        return len(text)
    return len(text) - len(text.splitlines()[-1])


def has_two_words(text: str, position: int) -> bool:
    """Return whether two words follow a position: as many as the kind of a line depends on."""
    return _TWO_WORDS.match(text, position) is not None


def restart_position(text: str, layout: Layout) -> int:
    """Return the last position from which the text can be split without the text before it.

    A line at the left margin begins a new block there, whatever was open, and leaves no list open
    to which later lines could belong.

    Args:
        text: The text so far.
        layout: Its blocks.
    """
    fence_starts = {start for start, _ in layout.fences}
    marker_starts = {start for start, _ in layout.markers} - fence_starts
    for block in reversed(layout.blocks):
        start = block.start
        # Inside a fence, nothing shows that it was opened.
        fence = bisect_right(layout.fences, (start, -1)) - 1
        if fence >= 0 and start < layout.fences[fence][1]:
            continue
        if text[start].isspace() or text[start] == ">":
            continue
        is_heading = block.kind == "heading" and text[start] == "#"
        if start in marker_starts or is_heading or _ends_blank(text[max(0, start - 200) : start]):
            return start
    return 0


def _is_decided(masked: str, position: int) -> bool:
    """Whether the rules have all the context that they need to end a sentence at a position."""
    before = masked[max(0, position - 80) : position].rstrip()
    after = masked[position:].lstrip()
    is_wide = _WIDE_STOP.search(before) is not None
    if _EXCLAIMED.search(before) or not (is_wide or after[:1].isalnum()):
        return _FIVE_WORDS.match(after) is not None
    if is_wide:
        return len(after) >= 8
    return _ONE_WORD.match(after) is not None


def _open_code(prose: str) -> int:
    """Return the start of inline code that may still be closed."""
    for opener, closer in backtick_pairs(prose):
        if closer is None and len(prose) - opener[1] <= LONGEST_CODE_SPAN:
            return opener[0]
    return len(prose)


def _open_pair(prose: str) -> int:
    """Return the start of brackets or quotes that may still be closed; sentencex honours them."""
    starts: list[int] = []
    for opening, closing in _PAIRS:
        start = prose.rfind(opening)
        if start > prose.rfind(closing):
            starts.append(start)
    if prose.count('"') % 2:
        starts.append(prose.rfind('"'))
    nearby = [start for start in starts if len(prose) - start <= _LONGEST_PAIR]
    return min(nearby, default=len(prose))


def _ends_blank(text: str) -> bool:
    """Whether the last line is blank and complete."""
    lines = text[-200:].splitlines(keepends=True)
    if not lines or not _LINE_END.search(lines[-1]):
        return False
    return lines[-1].endswith("\u2029") or (len(lines) > 1 and lines[-1].isspace())
