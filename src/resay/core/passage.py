"""Passages: a text split into sentences with offsets, either at once or while it grows."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain, islice, pairwise
from typing import Any, Literal

from resay._internal.event_loops import compute
from resay.core.segmentation import Span, UnalignedError, align
from resay.core.segmentation.blocks import Block, Kind, Layout, is_delimiter_row, parse_layout
from resay.core.segmentation.sentences import load_sentencex, sentence_ends
from resay.errors import ConfigurationError

Splitter = Literal["builtin", "sentencex"]
_SPACE = re.compile(r"\s*")
_SPACE_IN_ROW = " \t\r\n"
_AROUND_ROW = _SPACE_IN_ROW + "|"
_ALNUM = re.compile(r"[^\W_]")
_LINE_BREAK = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# The opening line of a fence around prose.
_FENCE = re.compile(
    r"[\W_]{0,200}(?:(?:\d{1,3}|[a-z]|[ivx]{2,4})[\W_]{1,40}[xX]?[\W_]{0,40})?(?:`{3}|~{3})[ \t]*"
    r"(?:text|txt|plain|plaintext|markdown|md)\s*\Z",
    re.IGNORECASE,
)
# The label of a list item or footnote, and a checkbox, from the first to the last alphanumeric.
_LABEL = re.compile(r"(?:\d{1,3}|[a-z]|[ivx]{2,4})?(?:[.)\]:\s]{0,4}\[?[xX])?")


Unit = Literal["sentence", "item", "heading", "head", "row", "code"]
"""The kind of a sentence: running text, a list item, a heading, a table's header or one row. A
claim may also be a name in code."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence to score, or the equivalent of one: a heading or a table row.

    Attributes:
        text: The sentence as it appears in the passage, without surrounding white space, the list
            marker, quote marker or checkbox before it, the marks of a heading, and the outer bars
            of a row.
        start: Its start in the passage's text, in code points.
        end: Its end (exclusive), in code points.
        unit: Its kind.
    """

    text: str
    start: int
    end: int
    unit: Unit = "sentence"

    @property
    def standalone(self) -> str:
        """Its statement, understandable without context."""
        return self.text


SEPARATOR = "\n\n"
"""What separates the lines of `Passage.of_lines` from the text beside them."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One of the consecutive spans that make up a passage's text.

    Attributes:
        text: The span, with the marker before it and the white space after it.
        start: Its start in the passage's text, in code points.
        end: Its end (exclusive), in code points.
        kind: Its kind. Prose, headings and table lines contain at most one sentence, others none.
    """

    text: str
    start: int
    end: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Passage:
    """A text and its sentences.

    Attributes:
        text: The text, unchanged.
        sentences: The sentences to score, in order: one for every piece of prose, heading and row
            with a letter or a digit.
        pieces: The whole text in order; joined, their texts equal it.
    """

    text: str
    sentences: tuple[Sentence, ...]
    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, text: str, *, splitter: Splitter = "builtin") -> Passage:
        """Split a text, plain or Markdown, into sentences.

        List items and block quotes are prose. A heading is a sentence, and so is each row of a
        table. Code, rules, display math, HTML and link definitions are pieces without sentences.

        Args:
            text: Any text.
            splitter: The rules that end sentences in prose: the built-in ones, or those of
                sentencex (its extra must be installed).

        Returns:
            The passage.

        Raises:
            MissingDependencyError: The splitter is not installed.
            ConfigurationError: There is no splitter of that name.
        """
        ends_in = _ends_in(splitter)
        layout = parse_layout(text)
        sentences: list[Sentence] = []
        pieces: list[Piece] = []
        for block in layout.blocks:
            kind = block.kind
            for (start, end), span, unit in _read(text, layout, block, ends_in):
                pieces.append(Piece(text[start:end], start, end, kind))
                if span is not None:
                    sentences.append(_sentence(text, span, unit))
        return cls(text, tuple(sentences), tuple(pieces))

    @classmethod
    def from_sentences(cls, sentences: Sequence[str], *, text: str | None = None) -> Passage:
        """Make a passage from sentences that were split elsewhere.

        Args:
            sentences: In order. White space around them is dropped; none may be blank.
            text: The text they come from. Each must occur in it after the previous one; white space
                inside a sentence may differ. Text between them becomes part of their pieces. By
                default, the sentences joined by single spaces.

        Returns:
            A passage with exactly these sentences.

        Raises:
            ConfigurationError: A sentence is blank, or does not occur in the text at its place.
        """
        stripped = [sentence.strip() for sentence in sentences]
        if "" in stripped:
            raise ConfigurationError(
                f"sentence {stripped.index('')} of {len(stripped)} is blank; omit it"
            )
        spans = _joined(stripped) if text is None else _aligned(stripped, text)
        text = " ".join(stripped) if text is None else text
        cuts = [0, *_cuts(text, spans), len(text)] if text else []
        pieces = [Piece(text[start:end], start, end, "prose") for start, end in pairwise(cuts)]
        return cls(text, tuple(_sentence(text, span) for span in spans), tuple(pieces))

    @classmethod
    def of_lines(cls, text: str, *, beside: str = "") -> Passage:
        """Make a passage in which each line is a sentence.

        Args:
            text: Lines separated by line feeds; none is blank, and none has white space around it.
            beside: Text that follows them, after a blank line, and is not scored.

        Returns:
            A passage with one sentence per line.
        """
        spans = _joined(text.split("\n"))
        cuts = [*(start for start, _ in spans), len(text)]
        pieces = [Piece(text[start:end], start, end, "prose") for start, end in pairwise(cuts)]
        if beside:
            last = pieces.pop()
            end = last.end + len(SEPARATOR)
            pieces.append(Piece(last.text + SEPARATOR, last.start, end, "prose"))
            pieces.append(Piece(beside, end, end + len(beside), "prose"))
            text = f"{text}{SEPARATOR}{beside}"
        return cls(text, tuple(_sentence(text, span) for span in spans), tuple(pieces))

    def excerpt(self, start: int, end: int) -> str:
        """Return the text between two offsets, without reading the rest of it.

        Args:
            start: The first offset, in code points.
            end: The last offset (exclusive); what is beyond the end of the text is left out.
        """
        return self.text[start:end]

    def only(self, indices: Iterable[int]) -> Passage:
        """Return the passage with only some of its sentences.

        Args:
            indices: The sentences to keep, counted from 0, in any order.

        Returns:
            A passage with the same text and pieces and those sentences, ascending, each once.

        Raises:
            IndexError: An index is out of range.
        """
        chosen = sorted(set(indices))
        for index in chosen[:1] + chosen[-1:]:
            if not 0 <= index < len(self.sentences):
                raise IndexError(f"no sentence {index!r} in a passage of {len(self.sentences)}")
        return replace(self, sentences=tuple(self.sentences[index] for index in chosen))

    def with_sentences(self, sentences: Iterable[Sentence]) -> Passage:
        """Return the passage with other sentences, such as the claims of its own.

        Args:
            sentences: In order; their offsets refer to its text.
        """
        return replace(self, sentences=tuple(sentences))

    @property
    def breaks_off(self) -> bool:
        """Whether the text ends inside its last sentence, if it was cut off there."""
        if not self.sentences:
            return False
        last = self.sentences[-1]
        is_last = _ALNUM.search(self.text, last.end) is None
        return is_last and _WHOLE_END.search(self.text, last.start) is None

    def without_cut_end(self) -> Passage:
        """Return the passage of a text that was cut off, without the sentence it breaks off in.

        What the rest of that sentence would have said is unknown. An only sentence stays.
        """
        if not self.breaks_off or len(self.sentences) == 1:
            return self
        return self.only(range(len(self.sentences) - 1))

    def unscored(self, start: int = 0) -> tuple[Piece, ...]:
        """Return the parts of the text that are in none of its sentences.

        Omits parts without a letter or digit and, before a sentence, one label of a list item or
        footnote (1 to 3 digits, a letter, or a Roman numeral of up to 4 letters) with a checkbox.

        Args:
            start: The offset to begin at, in code points.

        Returns:
            The parts from there on in order, without the white space around them.
        """
        first = bisect_right(self.pieces, start, key=lambda piece: piece.end)
        sentence = bisect_right(self.sentences, start, key=lambda sentence: sentence.end)
        pieces, sentences = islice(self.pieces, first, None), self.sentences[sentence:]
        return tuple(outside(pieces, sentences, start))


_LAST_WORD = re.compile(r"[^\W_]{2,}\Z")
_FEW_WORDS = 3


def last_word(text: str) -> str:
    """Return the word that a text ends in, if it ends in one of several letters; else nothing."""
    match = _LAST_WORD.search(text)
    return match.group() if match else ""


def whole_part(text: str) -> str:
    """Return a text that was cut off, without the sentence it breaks off in.

    Of an only sentence all but the last word is returned, and of a few words all.
    """
    passage = Passage.of(text)
    if not passage.breaks_off:
        return text
    if len(passage.sentences) > 1:
        return text[: passage.sentences[-1].start].rstrip()
    words = text.split()
    if len(words) <= _FEW_WORDS or not last_word(text):
        return text
    return text[: text.rindex(words[-1])].rstrip()


def outside(pieces: Iterable[Piece], sentences: Sequence[Sentence], start: int) -> Iterator[Piece]:
    """Yield the parts of pieces that are in none of the sentences, like `Passage.unscored`.

    Args:
        pieces: Pieces in order; the first ends after `start`.
        sentences: The sentences that end after `start` and begin before the pieces end.
        start: The offset to begin at, in code points.
    """
    index = 0
    for piece in pieces:
        position = max(piece.start, start)
        while index < len(sentences) and sentences[index].start < piece.end:
            sentence = sentences[index]
            before = list(_inner_span(piece, position, sentence.start))
            yield from (span for span in before if not _is_label(span.text))
            position = max(position, sentence.end)
            if sentence.end > piece.end:
                break
            index += 1
        yield from _inner_span(piece, position, piece.end)


def _is_label(text: str) -> bool:
    """Whether the text is nothing but the label of a list item or footnote."""
    first, last = _ALNUM.search(text), _ALNUM.search(text[::-1])
    if first is None or last is None:
        return True
    return _LABEL.fullmatch(text, first.start(), len(text) - last.start()) is not None


def _inner_span(piece: Piece, start: int, end: int) -> Iterator[Piece]:
    """Yield the span without the white space around it, if it has a letter or a digit."""
    inner = piece.text[start - piece.start : end - piece.start] if start < end else ""
    if _ALNUM.search(inner) and not (piece.kind == "prose" and _FENCE.match(inner)):
        start += len(inner) - len(inner.lstrip())
        yield Piece(inner.strip(), start, start + len(inner.strip()), piece.kind)


def _ends_in(splitter: str) -> Callable[[str], Iterator[int]]:
    if splitter == "builtin":
        return sentence_ends
    if splitter == "sentencex":
        return load_sentencex()
    raise ConfigurationError(f"unknown splitter {splitter!r}; use 'builtin' or 'sentencex'")


def _read(
    text: str, layout: Layout, block: Block, ends_in: Callable[[str], Iterator[int]]
) -> Iterator[tuple[Span, Span | None, Unit]]:
    """Yield the pieces of a block, each with its sentence, if any, and the sentence's kind."""
    if block.kind == "prose":
        return _split(text, layout, block, ends_in)
    if block.kind == "table":
        return _rows(layout, block)
    span = _title(layout, block) if block.kind == "heading" else None
    whole: tuple[Span, Span | None, Unit] = (block.start, block.end), span, "heading"
    return iter((whole,))


def _title(layout: Layout, block: Block) -> Span | None:
    """Return the span of a heading's words, without the marks around or below them."""
    inner = layout.masked[block.start : block.end]
    words = inner.lstrip().splitlines()[0].lstrip("#")
    start = block.start + inner.index(words, len(inner) - len(inner.lstrip()))
    bare = words.rstrip()
    closed = bare.rstrip("#")
    # Hashes close a heading only after a space: "C#" is a name.
    inner = closed if closed[-1:].isspace() else bare
    return _sentence_span(inner, 0, len(inner), start)


def _rows(layout: Layout, block: Block) -> Iterator[tuple[Span, Span | None, Unit]]:
    """Yield the lines of a table. The delimiter row belongs to the header."""
    start = position = block.start
    span: Span | None = None
    unit: Unit = "head"
    lines = layout.masked[block.start : block.end].splitlines(keepends=True)
    for place, line in enumerate(lines):
        if place and not (line.isspace() or is_delimiter_row(line.strip())):
            yield (start, position), span, unit
            start, unit = position, "row"
        if start == position:
            bare, end = _without_bars(line)
            begin = position + len(line) - len(bare)
            span = _sentence_span(bare, 0, end, begin)
        position += len(line)
    yield (start, block.end), span, unit


def _without_bars(line: str) -> tuple[str, int]:
    """Return a row after its first bar, and its end before its last bar.

    Only one bar at each end: the next belongs to an empty cell, which keeps the columns aligned.
    """
    bare, end = line.lstrip(_SPACE_IN_ROW), len(line.rstrip(_SPACE_IN_ROW))
    end -= len(line) - len(bare)
    if not bare.strip(_AROUND_ROW):
        return "", 0
    if bare.startswith("|"):
        inner = bare[1:].lstrip(_SPACE_IN_ROW)
        bare, end = inner, end - (len(bare) - len(inner))
    if bare[:end].endswith("|"):
        end = len(bare[: end - 1].rstrip(_SPACE_IN_ROW))
    return bare, end


def _split(
    text: str, layout: Layout, block: Block, ends_in: Callable[[str], Iterator[int]]
) -> Iterator[tuple[Span, Span | None, Unit]]:
    """Yield the pieces of a block of prose, each with its sentence, if any."""
    unit: Unit = "item" if block.is_item else "sentence"
    prose = layout.masked[block.start : block.end]
    ends = [0]
    for end in ends_in(prose):
        if not prose[ends[-1] : end].isspace():
            ends.append(end)
    if len(ends) > 1 and (not prose[ends[-1] :] or prose[ends[-1] :].isspace()):
        ends.pop()
    cut = block.start
    for start, end in pairwise([*ends, len(prose)]):
        piece_end = block.end if end == len(prose) else _after_space(text, block.start + end)
        yield (cut, piece_end), _sentence_span(prose, start, end, block.start), unit
        cut = piece_end


def _sentence_span(prose: str, start: int, end: int, offset: int) -> Span | None:
    if not _ALNUM.search(prose, start, end):
        return None
    trimmed = prose[start:end].lstrip()
    start = end - len(trimmed)
    return offset + start, offset + start + len(trimmed.rstrip())


def _joined(sentences: Sequence[str]) -> list[Span]:
    ends = list(accumulate(len(sentence) + 1 for sentence in sentences))
    return [(end - 1 - len(text), end - 1) for text, end in zip(sentences, ends, strict=True)]


def _aligned(sentences: Sequence[str], text: str) -> list[Span]:
    try:
        return align(sentences, text)
    except UnalignedError as error:
        raise ConfigurationError(
            f"sentence {error.index} of {len(sentences)} does not occur in the text after the one"
            " before it; pass the text the sentences were split from, and keep their order"
        ) from error


def _cuts(text: str, spans: Sequence[Span]) -> Iterator[int]:
    """Yield the cuts between sentences; a marker on the next sentence's line stays with it."""
    for (_, end), (start, _) in pairwise(spans):
        breaks = [match.end() for match in _LINE_BREAK.finditer(text, end, start)]
        yield breaks[-1] if breaks else min(_after_space(text, end), start)


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _sentence(text: str, span: Span, unit: Unit = "sentence") -> Sentence:
    start, end = span
    return Sentence(text[start:end], start, end, unit)


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
        self._boundaries = _BoundaryDetector()
        self._next_check: int | None = None
        self._wait_until = 0

    @property
    def text(self) -> str:
        """The response so far."""
        before = (piece.text for piece in self._pieces)
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
        """Do what `feed` does, off the event loop if it takes long."""
        if not self._append(text):
            return None
        return await compute(self._split_window, chars=_SPLIT_COST * (self._length - self._base))

    async def afinish(self) -> FinalText:
        """Do what `finish` does, off the event loop if it takes long."""
        return await compute(self.finish, chars=_SPLIT_COST * self._length)

    def _append(self, text: str) -> bool:
        """Store the next part of the response; return whether text may have become final."""
        self._parts.append(text)
        self._length += len(text)
        if self._boundaries.feed(text):
            self._next_check = min(
                self._next_check or sys.maxsize, max(self._length, self._wait_until)
            )
        return self._next_check is not None and self._length >= self._next_check

    def finish(self) -> FinalText:
        """Split the whole response, which is now complete.

        Returns:
            The passage, as `Passage.of` returns it for the whole text; the sentences that were not
            reported with the same bounds; and the rest of the text.
        """
        passage = Passage.of(self.text, splitter=self._splitter)
        reported = {(sentence.start, sentence.end) for sentence in self._sentences}
        bounds = [(sentence.start, sentence.end) for sentence in passage.sentences]
        new = tuple(i for i, span in enumerate(bounds) if span not in reported)
        changed = tuple(i for i in new if bounds[i][0] < self._released)
        return FinalText(passage, new, passage.text[self._released :], changed, self._released)

    def _split_window(self) -> FinalText | None:
        window = self._window = "".join([self._window, *self._parts])
        self._parts.clear()
        layout = parse_layout(window)
        line = _open_line(window)
        # The first two words of a line are needed to know its kind.
        if layout.blocks[-1].kind != "prose" or not _TWO_WORDS.match(window, line):
            window = window[:line]
            layout = parse_layout(window)
        passage = Passage.of(window, splitter=self._splitter)
        end, is_undecided = _final_end(layout, passage, self._splitter)
        if layout.undecided is not None:
            end = min(end, layout.undecided)
        if self._whole_code and layout.open is not None:
            end = min(end, layout.open)
        found = self._finalize(passage, end) if self._base + end > self._released else None
        self._advance(passage, _restart(window, layout))
        work = len(window) + _PIECE_COST * len(passage.pieces)
        self._wait_until = self._length + (max(0, work - _LONG) // 32 if found else work // 64)
        self._next_check = max(self._length + _RECHECK, self._wait_until) if is_undecided else None
        return found

    def _finalize(self, passage: Passage, end: int) -> FinalText:
        before, count = self._released, len(self._sentences)
        self._released = self._base + end
        self._sentences += self._between(passage.sentences, before, self._released)
        clipped = (_clipped(piece, end) for piece in passage.pieces if piece.start < end)
        pieces = _PiecesSoFar(self._pieces, [_moved(piece, self._base) for piece in clipped])
        new = tuple(range(count, len(self._sentences)))
        text = self._window[before - self._base : end]
        passage = _LazyPassage.create(self._sentences, len(self._sentences), pieces)
        return FinalText(passage, new, text, start=before)

    def _between(self, sentences: Sequence[Sentence], start: int, end: int) -> Iterator[Sentence]:
        """Yield the sentences that end in a span; if one begins before it, only its rest."""
        base, window = self._base, self._window
        for sentence in sentences:
            at = max(base + sentence.start, start)
            stop = base + sentence.end
            text = window[at - base : stop - base].strip() if at < stop <= end else ""
            if _ALNUM.search(text):
                at = base + window.index(text, at - base)
                yield Sentence(text, at, at + len(text), sentence.unit)

    def _advance(self, passage: Passage, start: int) -> None:
        done = (piece for piece in passage.pieces if piece.end <= start)
        self._pieces += [_moved(piece, self._base) for piece in done]
        self._window = self._window[start:]
        self._base += start


class _PiecesSoFar:
    """The pieces of a growing text up to some position.

    Args:
        earlier: The pieces before the window; more may be appended later.
        last: The pieces of the window.

    Attributes:
        last: The pieces of the window.
    """

    def __init__(self, earlier: Sequence[Piece], last: Sequence[Piece]) -> None:
        self._earlier = earlier
        self._count = len(earlier)
        self.last = last

    @cached_property
    def all(self) -> tuple[Piece, ...]:
        """All pieces."""
        return (*islice(self._earlier, self._count), *self.last)

    def excerpt(self, start: int, end: int) -> str:
        """Return the text between two offsets."""
        first = bisect_right(self._earlier, start, hi=self._count, key=lambda piece: piece.end)
        nearby = (
            piece.text[max(start - piece.start, 0) : end - piece.start]
            for piece in chain(self._earlier[first : self._count], self.last)
            if start < piece.end and piece.start < end
        )
        return "".join(nearby)


class _LazyPassage(Passage):
    """A passage that is assembled only when more than its end is needed.

    Otherwise the work and memory of a stream would grow with the square of its length.
    """

    __slots__ = ("_count", "_pieces", "_sentences")
    _sentences: Sequence[Sentence]
    _count: int
    _pieces: _PiecesSoFar

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a plain passage: `dataclasses.replace` has read all the fields."""
        return Passage(*args, **kwargs)

    @classmethod
    def create(cls, sentences: Sequence[Sentence], count: int, pieces: _PiecesSoFar) -> Passage:
        """Return a passage.

        Args:
            sentences: Its sentences; more may be appended later.
            count: The number of its own sentences.
            pieces: Its pieces.
        """
        passage = object.__new__(cls)
        for name, value in zip(cls.__slots__, (count, pieces, sentences), strict=True):
            object.__setattr__(passage, name, value)
        return passage

    def __getattr__(self, name: str) -> Any:
        """Assemble a missing field."""
        if name == "sentences":
            value: object = tuple(islice(self._sentences, self._count))
        elif name == "pieces":
            value = self._pieces.all
        elif name == "text":
            value = "".join(piece.text for piece in self.pieces)
        else:
            raise AttributeError(name)
        object.__setattr__(self, name, value)
        return value

    def __eq__(self, other: object) -> bool:
        return self._as_passage == (other._as_passage if isinstance(other, _LazyPassage) else other)

    __hash__ = Passage.__hash__

    def __reduce__(self) -> tuple[type[Passage], tuple[object, ...]]:
        return Passage, (self.text, self.sentences, self.pieces)

    @property
    def _as_passage(self) -> Passage:
        return Passage(self.text, self.sentences, self.pieces)

    def only(self, indices: Iterable[int]) -> Passage:
        chosen = sorted(set(indices))
        if not all(0 <= i < self._count for i in chosen):
            return super().only(chosen)
        return self.create([self._sentences[i] for i in chosen], len(chosen), self._pieces)

    def with_sentences(self, sentences: Iterable[Sentence]) -> Passage:
        found = tuple(sentences)
        return self.create(found, len(found), self._pieces)

    def excerpt(self, start: int, end: int) -> str:
        return self._pieces.excerpt(start, end)

    def unscored(self, start: int = 0) -> tuple[Piece, ...]:
        last = self._pieces.last
        if not last or start < last[0].start:
            return super().unscored(start)
        first = bisect_right(last, start, key=lambda piece: piece.end)
        sentence = bisect_right(self._sentences, start, hi=self._count, key=lambda s: s.end)
        sentences = self._sentences[sentence : self._count]
        return tuple(outside(islice(last, first, None), sentences, start))


def _clipped(piece: Piece, end: int) -> Piece:
    if piece.end <= end:
        return piece
    return Piece(piece.text[: end - piece.start], piece.start, end, piece.kind)


def _moved(piece: Piece, by: int) -> Piece:
    return Piece(piece.text, piece.start + by, piece.end + by, piece.kind)


# Weight of a character that is split again, in the characters that `compute` counts.
_SPLIT_COST = 8
# Up to this amount of work, a window is split again whenever a sentence may have ended.
_LONG = 16_000
# The work for one piece, in characters.
_PIECE_COST = 40
# Characters to wait before looking again at an end that one more word may not decide.
_RECHECK = 24
_BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_GAP = rf"[^\S{_BREAKS}]"
_WIDE_STOPS = "。！？｡．။។៕"
_STOPS = rf".!?…‽؟{_WIDE_STOPS}।॥۔։።፧᠃"
# Greek questions end with a semicolon, and Thai and Lao sentences with a space.
_OTHER_STOP = r"(?<=[\u0370-\u03ff\u1f00-\u1fff])[;\u037e]|[\u0e01-\u0e4f\u0e81-\u0edf](?=\s)"
_LINE_END = re.compile(rf"[{_BREAKS}]\Z")
_BOUNDARY = re.compile(
    rf"""
    (?: [{_STOPS}] | {_OTHER_STOP} ) (?= \S{{0,64}} \s{{1,16}} (?: \S{{1,39}}\s | \S{{40}} ) )
  | [{_WIDE_STOPS}] (?= .{{8}} )
  | [{_BREAKS}] (?= \s{{0,16}} \S{{1,39}} \s{{1,16}} \S{{1,39}} \s )
  | \S {_GAP}{{0,16}} (?: \u2029 | (?: \r\n | (?!\r\n)[{_BREAKS}] ) {_GAP}{{0,16}} [{_BREAKS}] )
    """,
    re.VERBOSE | re.DOTALL,
)
# The end of a line, and of a sentence with what closes after it.
_WHOLE_END = re.compile(rf"(?:[{_STOPS}][\"'”’»)\]}}*_`|]*\s*|[{_BREAKS}]\s*)\Z")
_POSSIBLE_BOUNDARY = re.compile(rf"[{_STOPS}{_BREAKS}]|{_OTHER_STOP}")
_MAX_LOOKAHEAD = 200
_MAX_LOOKBEHIND = 17


class _BoundaryDetector:
    """Detects cheaply where text may have become final, so that most parts cost nothing."""

    def __init__(self) -> None:
        self._tail = ""

    def feed(self, text: str) -> bool:
        tail = self._tail + text
        start = 0
        seen = False
        for match in _BOUNDARY.finditer(tail):
            start = match.start() + 1
            seen = True
        first = _POSSIBLE_BOUNDARY.search(tail, start)
        pending = first.start() if first else len(tail)
        self._tail = tail[max(start, pending - _MAX_LOOKBEHIND, len(tail) - _MAX_LOOKAHEAD) :]
        return seen


_TWO_WORDS = re.compile(r"\s*(?:\S+\s+\S+\s|[\u3040-\u30ff\u3400-\u9fff])|.{24}", re.DOTALL)
_ONE_WORD = re.compile(r"\S+\s|\S{40}")
_FIVE_WORDS = re.compile(r"(?:\S+\s+){5}|.{200}", re.DOTALL)
_TICKS = re.compile(r"`+")
_LONGEST_CODE_SPAN = 400
_PAIRS = ("()", "[]", "“”", "‘’", "«»", "„”", "‹›", "「」", "『』", "（）")
_LONGEST_PAIR = 400
# Five words are needed to see who exclaimed: "Stop!" Mr. John Smith said.
_EXCLAIMED = re.compile(r"[!?‽؟][^\s\w]*[\"'”’»›“‘«][^\s\w]*(?:\Z|\s+[A-Z])")
_WIDE_STOP = re.compile(rf"[{_WIDE_STOPS}][^\s\w]*\Z")


def _final_end(layout: Layout, passage: Passage, splitter: Splitter) -> tuple[int, bool]:
    """Return the end of the text whose sentences are final, and whether a word may extend it."""
    if not layout.blocks:
        return 0, False
    block = layout.blocks[-1]
    if block.kind != "prose" or _ends_blank(passage.text):
        return block.end, False
    prose = layout.masked[block.start :]
    if prose.islower():
        # With the first capital letter, sentences no longer begin with small letters.
        return block.start, False
    limit = block.start + _open_code(prose)
    if splitter == "sentencex":
        limit = min(limit, block.start + _open_pair(prose))
    end = block.start
    inside = [piece for piece in passage.pieces if piece.start >= block.start]
    for piece, following in pairwise(inside):
        if following.start >= limit:
            break
        if not _is_decided(layout.masked, piece.end):
            return end, True
        end = piece.end
    return end, False


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
    runs = [match.span() for match in _TICKS.finditer(prose)]
    closers: dict[int, int] = {}
    partner: list[int | None] = [None] * len(runs)
    for index in reversed(range(len(runs))):
        length = runs[index][1] - runs[index][0]
        partner[index] = closers.get(length)
        closers[length] = index
    index = 0
    while index < len(runs):
        closer = partner[index]
        if closer is None and len(prose) - runs[index][1] <= _LONGEST_CODE_SPAN:
            return runs[index][0]
        index = index + 1 if closer is None else closer + 1
    return len(prose)


def _open_pair(prose: str) -> int:
    """Return the start of brackets or quotes that may still be closed; sentencex honours them."""
    opened = [prose.rfind(a) for a, b in _PAIRS if prose.rfind(a) > prose.rfind(b)]
    if prose.count('"') % 2:
        opened.append(prose.rfind('"'))
    return min((at for at in opened if len(prose) - at <= _LONGEST_PAIR), default=len(prose))


def _open_line(window: str) -> int:
    """Return the start of the incomplete last line."""
    if _LINE_END.search(window, len(window) - 1):
        return len(window)
    return len(window) - len(window.splitlines()[-1])


def _ends_blank(text: str) -> bool:
    """Whether the last line is blank and complete."""
    lines = text[-200:].splitlines(keepends=True)
    if not lines or not _LINE_END.search(lines[-1]):
        return False
    return lines[-1].endswith("\u2029") or (len(lines) > 1 and lines[-1].isspace())


def _restart(window: str, layout: Layout) -> int:
    """Return the last position from which the text can be split without the text before it.

    A line at the left margin begins a new block there, whatever was open, and leaves no list open
    to which later lines could belong.
    """
    fences = {start for start, _ in layout.fences}
    markers = {start for start, _ in layout.markers} - fences
    for block in reversed(layout.blocks):
        start = block.start
        # Inside a fence, nothing shows that it was opened.
        after = bisect_right(layout.fences, (start, -1))
        if after and start < layout.fences[after - 1][1]:
            continue
        if window[start].isspace() or window[start] == ">":
            continue
        is_heading = block.kind == "heading" and window[start] == "#"
        before = window[max(0, start - 200) : start]
        if start in markers or is_heading or _ends_blank(before):
            return start
    return 0
