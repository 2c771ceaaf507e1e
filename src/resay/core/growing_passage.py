"""A passage that grows while its text arrives."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar, overload

from resay._internal.event_loops import compute
from resay._internal.patterns import lazy_pattern
from resay.core.passage import Passage, Piece, Sentence
from resay.core.segmentation.blocks import parse_layout
from resay.core.segmentation.choices import Splitter
from resay.core.segmentation.finality import (
    BoundaryDetector,
    final_end,
    has_two_words,
    open_line_start,
    restart_position,
)

_ALNUM = lazy_pattern(r"[^\W_]")
# Weight of a character that is split again, in the characters that `compute` counts.
_SPLIT_COST = 8
# Up to this amount of work, a window is split again whenever a sentence may have ended.
_LONG = 16_000
# The work for one piece, in characters.
_PIECE_COST = 40
# Characters to wait before looking again at an end that one more word may not decide.
_RECHECK = 24

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class FinalText:
    """The text that has become final since the last report.

    Attributes:
        passage: The response so far. All its sentences are final, and its offsets are those of the
            whole response. Before the end, its text, sentences and pieces are only assembled on
            access; `only` and `unscored` avoid that for new sentences.
        sentences: The indexes of the sentences to judge now, ascending.
        text: The text to show once they are judged; concatenated, these texts are the response.
        changed: Those of `sentences` that begin in text released before, as part of another
            sentence. Only the last report has any, and rarely.
        start: The start of `text` in the response, in code points.
    """

    passage: Passage
    sentences: tuple[int, ...]
    text: str
    changed: tuple[int, ...] = ()
    start: int = 0


class GrowingPassage:
    """Splits a response into sentences while it arrives.

    The parts of a response may be arbitrarily small: most cost next to nothing, and final text is
    not processed again. Only in a block longer than about 10,000 characters are sentences reported
    late, by up to 1/32 of the excess.

    Args:
        splitter: The rules that end sentences, as in `Passage.of`.
        whole_code: Whether code becomes final only when its whole block is complete.

    Raises:
        MissingDependencyError: The splitter is not installed.
        ConfigurationError: There is no splitter of that name.
    """

    def __init__(self, splitter: Splitter = "builtin", *, whole_code: bool = False) -> None:
        Passage.of("", splitter=splitter)
        self._splitter: Splitter = splitter
        self._whole_code = whole_code
        # Text before the window is never processed again.
        self._base = 0
        self._window = ""
        self._parts: list[str] = []
        self._length = 0
        self._released = 0
        self._sentences: list[Sentence] = []
        self._pieces: list[Piece] = []
        self._boundaries = BoundaryDetector()
        self._next_check: int | None = None
        self._wait_until = 0

    @property
    def text(self) -> str:
        """The response so far."""
        before = [piece.text for piece in self._pieces]
        return "".join([*before, self._window, *self._parts])

    @property
    def released(self) -> int:
        """The length of the text released by `feed`, in code points."""
        return self._released

    def feed(self, text: str) -> FinalText | None:
        """Process the next part of the response.

        Args:
            text: Any number of characters; parts may end anywhere.

        Returns:
            The text that has become final, or None.
        """
        return self._split_window() if self._append(text) else None

    async def afeed(self, text: str) -> FinalText | None:
        """Like `feed`, but off the event loop if it takes long."""
        if not self._append(text):
            return None
        return await compute(self._split_window, chars=_SPLIT_COST * (self._length - self._base))

    async def afinish(self) -> FinalText:
        """Like `finish`, but off the event loop if it takes long."""
        return await compute(self.finish, chars=_SPLIT_COST * self._length)

    def finish(self) -> FinalText:
        """Split the whole response, which is now complete.

        Returns:
            The passage, as `Passage.of` returns it for the whole text; the sentences that were not
            reported with the same bounds; and the rest of the text.
        """
        passage = Passage.of(self.text, splitter=self._splitter)
        reported = {(sentence.start, sentence.end) for sentence in self._sentences}
        new: list[int] = []
        changed: list[int] = []
        for index, sentence in enumerate(passage.sentences):
            if (sentence.start, sentence.end) in reported:
                continue
            new.append(index)
            if sentence.start < self._released:
                changed.append(index)
        return FinalText(
            passage=passage,
            sentences=tuple(new),
            text=passage.text[self._released :],
            changed=tuple(changed),
            start=self._released,
        )

    def _append(self, text: str) -> bool:
        """Store the next part of the response; return whether text may have become final."""
        self._parts.append(text)
        self._length += len(text)
        if self._boundaries.feed(text):
            next_check = max(self._length, self._wait_until)
            self._next_check = min(self._next_check or sys.maxsize, next_check)
        return self._next_check is not None and self._length >= self._next_check

    def _split_window(self) -> FinalText | None:
        window = self._window = "".join([self._window, *self._parts])
        self._parts.clear()
        layout = parse_layout(window)
        line_start = open_line_start(window)
        # The first two words of a line are needed to know its kind.
        if layout.blocks[-1].kind != "prose" or not has_two_words(window, line_start):
            window = window[:line_start]
            layout = parse_layout(window)
        passage = Passage.of(window, splitter=self._splitter)
        piece_spans = [(piece.start, piece.end) for piece in passage.pieces]
        end, may_grow = final_end(window, layout, piece_spans, self._splitter)
        if layout.undecided is not None:
            end = min(end, layout.undecided)
        if self._whole_code and layout.open is not None:
            end = min(end, layout.open)
        final_text: FinalText | None = None
        if self._base + end > self._released:
            final_text = self._finalize(passage, end)
        self._advance(passage, restart_position(window, layout))
        work = len(window) + _PIECE_COST * len(passage.pieces)
        delay = work // 64 if final_text is None else max(0, work - _LONG) // 32
        self._wait_until = self._length + delay
        self._next_check = max(self._length + _RECHECK, self._wait_until) if may_grow else None
        return final_text

    def _finalize(self, passage: Passage, end: int) -> FinalText:
        """Return the text of the window up to a position, as final.

        Args:
            passage: The passage of the window.
            end: The position in the window.
        """
        start, count = self._released, len(self._sentences)
        self._released = self._base + end
        self._sentences += self._sentences_between(passage, start, self._released)
        pieces = [
            _moved(_clipped(piece, end), self._base)
            for piece in passage.pieces
            if piece.start < end
        ]
        source = TextSoFar(Prefix(self._pieces), pieces)
        return FinalText(
            passage=Passage.from_source(source, Prefix(self._sentences)),
            sentences=tuple(range(count, len(self._sentences))),
            text=self._window[start - self._base : end],
            start=start,
        )

    def _sentences_between(self, passage: Passage, start: int, end: int) -> Iterator[Sentence]:
        """Yield the sentences of the window that end in a span of the response.

        If one begins before the span, only the rest of it is yielded.
        """
        base = self._base
        for sentence in passage.sentences:
            first = max(base + sentence.start, start)
            last = base + sentence.end
            text = self._window[first - base : last - base].strip() if first < last <= end else ""
            if _ALNUM.search(text):
                first = base + self._window.index(text, first - base)
                yield Sentence(text, first, first + len(text), sentence.unit)

    def _advance(self, passage: Passage, start: int) -> None:
        """Begin the window at a later position of it."""
        for piece in passage.pieces:
            if piece.end <= start:
                self._pieces.append(_moved(piece, self._base))
        self._window = self._window[start:]
        self._base += start


class Prefix(Sequence[_Item], Generic[_Item]):
    """The items that a list has now, of which it shares the memory. The list may only grow.

    Args:
        items: The list.
    """

    def __init__(self, items: list[_Item]) -> None:
        self._items = items
        self._count = len(items)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[_Item]:
        return islice(self._items, self._count)

    @overload
    def __getitem__(self, index: int) -> _Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_Item]: ...
    def __getitem__(self, index: int | slice) -> _Item | Sequence[_Item]:
        positions = range(self._count)[index]
        if isinstance(positions, int):
            return self._items[positions]
        return [self._items[position] for position in positions]


class TextSoFar:
    """The text of an unfinished response, which is only joined when it is read.

    Otherwise the work and memory of a stream would grow with the square of its length.

    Args:
        earlier: The pieces before the window.
        last: The pieces of the window.
    """

    def __init__(self, earlier: Sequence[Piece], last: Sequence[Piece]) -> None:
        self._earlier = earlier
        self._last = last
        self._pieces: tuple[Piece, ...] | None = None
        self._text: str | None = None

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """All pieces."""
        if self._pieces is None:
            self._pieces = (*self._earlier, *self._last)
        return self._pieces

    @property
    def text(self) -> str:
        """The text."""
        if self._text is None:
            self._text = "".join([piece.text for piece in self.pieces])
        return self._text

    def excerpt(self, start: int, end: int) -> str:
        """Return the text between two offsets."""
        texts: list[str] = []
        for piece in self.pieces_after(start):
            if piece.start >= end:
                break
            texts.append(piece.text[max(start - piece.start, 0) : end - piece.start])
        return "".join(texts)

    def pieces_after(self, start: int) -> Iterator[Piece]:
        """Yield the pieces that end after an offset."""
        for pieces in (self._earlier, self._last):
            first = bisect_right(pieces, start, key=lambda piece: piece.end)
            for index in range(first, len(pieces)):
                yield pieces[index]


def _clipped(piece: Piece, end: int) -> Piece:
    if piece.end <= end:
        return piece
    return Piece(piece.text[: end - piece.start], piece.start, end, piece.kind)


def _moved(piece: Piece, by: int) -> Piece:
    return Piece(piece.text, piece.start + by, piece.end + by, piece.kind)
