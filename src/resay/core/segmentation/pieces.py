"""The pieces of a block of text, and the sentence in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from resay._internal.patterns import lazy_pattern
from resay.core.segmentation.blocks import Block, Layout, is_delimiter_row
from resay.core.segmentation.characters import after_space
from resay.core.segmentation.kinds import SentenceUnit
from resay.core.segmentation.spans import Span

_SPACE_IN_ROW = " \t\r\n"
_ALNUM = lazy_pattern(r"[^\W_]")


class PieceSpan(NamedTuple):
    """The span of a piece, and that of the sentence in it.

    Attributes:
        start: The start of the piece, in code points.
        end: Its end (exclusive).
        sentence: The span of its sentence; None if it has none.
        unit: The kind of its sentence.
    """

    start: int
    end: int
    sentence: Span | None
    unit: SentenceUnit


def piece_spans(
    text: str, layout: Layout, block: Block, find_ends: Callable[[str], Iterator[int]]
) -> Iterator[PieceSpan]:
    """Return the pieces of a block, in order.

    Args:
        text: The text.
        layout: The blocks of the text.
        block: One of them.
        find_ends: Yields the sentence ends in a block of prose.
    """
    if block.kind == "prose":
        return _sentences(text, layout, block, find_ends)
    if block.kind == "table":
        return _rows(layout, block)
    title = _title(layout, block) if block.kind == "heading" else None
    return iter([PieceSpan(block.start, block.end, title, "heading")])


def _sentences(
    text: str, layout: Layout, block: Block, find_ends: Callable[[str], Iterator[int]]
) -> Iterator[PieceSpan]:
    """Yield the pieces of a block of prose."""
    unit: SentenceUnit = "item" if block.is_item else "sentence"
    prose = layout.masked[block.start : block.end]
    ends = [0]
    for end in find_ends(prose):
        if not prose[ends[-1] : end].isspace():
            ends.append(end)
    last = prose[ends[-1] :]
    if len(ends) > 1 and (not last or last.isspace()):
        ends.pop()
    piece_start = block.start
    for start, end in pairwise([*ends, len(prose)]):
        is_last = end == len(prose)
        piece_end = block.end if is_last else after_space(text, block.start + end)
        sentence = _sentence_span(prose, start, end, block.start)
        yield PieceSpan(piece_start, piece_end, sentence, unit)
        piece_start = piece_end


def _rows(layout: Layout, block: Block) -> Iterator[PieceSpan]:
    """Yield the lines of a table. The delimiter row belongs to the header."""
    start = position = block.start
    sentence: Span | None = None
    unit: SentenceUnit = "head"
    lines = layout.masked[block.start : block.end].splitlines(keepends=True)
    for index, line in enumerate(lines):
        begins_row = index > 0 and not (line.isspace() or is_delimiter_row(line.strip()))
        if begins_row:
            yield PieceSpan(start, position, sentence, unit)
            start, unit = position, "row"
        if start == position:
            bare, end = _without_bars(line)
            offset = position + len(line) - len(bare)
            sentence = _sentence_span(bare, 0, end, offset)
        position += len(line)
    yield PieceSpan(start, block.end, sentence, unit)


def _without_bars(line: str) -> tuple[str, int]:
    """Return a row after its first bar, and its end before its last bar.

    Only one bar at each end: the next belongs to an empty cell, which keeps the columns aligned.
    """
    if not line.strip(f"{_SPACE_IN_ROW}|"):
        return "", 0
    bare, end = line.lstrip(_SPACE_IN_ROW), len(line.rstrip(_SPACE_IN_ROW))
    end -= len(line) - len(bare)
    if bare.startswith("|"):
        inner = bare[1:].lstrip(_SPACE_IN_ROW)
        bare, end = inner, end - (len(bare) - len(inner))
    if bare[:end].endswith("|"):
        end = len(bare[: end - 1].rstrip(_SPACE_IN_ROW))
    return bare, end


def _title(layout: Layout, block: Block) -> Span | None:
    """Return the span of a heading's words, without the marks around or below them."""
    heading = layout.masked[block.start : block.end]
    words = heading.lstrip().splitlines()[0].lstrip("#")
    start = block.start + heading.index(words, len(heading) - len(heading.lstrip()))
    words = words.rstrip()
    closed = words.rstrip("#")
    # Hashes close a heading only after a space: "C#" is a name.
    if closed[-1:].isspace():
        words = closed
    return _sentence_span(words, 0, len(words), start)


def _sentence_span(prose: str, start: int, end: int, offset: int) -> Span | None:
    """Return the span of a sentence without the white space around it; None without a word.

    Args:
        prose: The text that contains it.
        start: Its start in that text.
        end: Its end in that text.
        offset: What to add to the span.
    """
    if not _ALNUM.search(prose, start, end):
        return None
    trimmed = prose[start:end].lstrip()
    start = offset + end - len(trimmed)
    return start, start + len(trimmed.rstrip())
