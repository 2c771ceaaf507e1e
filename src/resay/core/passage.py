"""Passages: a text, split into sentences with offsets."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from resay._internal.patterns import lazy_pattern
from resay.core import segmentation
from resay.core.segmentation.characters import LINE_BREAKS, STOPS, after_space
from resay.core.segmentation.choices import Splitter
from resay.core.segmentation.kinds import Kind, SentenceUnit
from resay.core.segmentation.spans import Span
from resay.errors import ConfigurationError

SEPARATOR = "\n\n"
"""What separates the lines of `Passage.of_lines` from the text beside them."""
_ALNUM = lazy_pattern(r"[^\W_]")
_LINE_BREAK = lazy_pattern(rf"[{LINE_BREAKS}]")
# The opening line of a fence around prose.
_FENCE = lazy_pattern(
    r"[\W_]{0,200}(?:(?:\d{1,3}|[a-z]|[ivx]{2,4})[\W_]{1,40}[xX]?[\W_]{0,40})?(?:`{3}|~{3})[ \t]*"
    r"(?:text|txt|plain|plaintext|markdown|md)\s*\Z",
    re.IGNORECASE,
)
# The label of a list item or footnote, and a checkbox, from the first to the last alphanumeric.
_LABEL = lazy_pattern(r"(?:\d{1,3}|[a-z]|[ivx]{2,4})?(?:[.)\]:\s]{0,4}\[?[xX])?")
# The end of a line, and of a sentence with what closes after it.
_WHOLE_END = lazy_pattern(rf"(?:[{STOPS}][\"'”’»)\]}}*_`|]*\s*|[{LINE_BREAKS}]\s*)\Z")
_LAST_WORD = lazy_pattern(r"[^\W_]{2,}\Z")
_FEW_WORDS = 3


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
    unit: SentenceUnit = "sentence"

    @property
    def standalone(self) -> str:
        """Its statement, understandable without context."""
        return self.text


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


class PassageText(Protocol):
    """The text of one passage or of several, in pieces."""

    @property
    def text(self) -> str:
        """The text."""
        ...

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """Its pieces in order; joined, their texts equal it."""
        ...

    def excerpt(self, start: int, end: int) -> str:
        """Return the text between two offsets."""
        ...

    def pieces_after(self, start: int) -> Iterator[Piece]:
        """Yield the pieces that end after an offset."""
        ...


@dataclass(frozen=True, slots=True)
class WholeText:
    """The text of a passage that is complete.

    Attributes:
        text: The text.
        pieces: Its pieces.
    """

    text: str
    pieces: tuple[Piece, ...]

    def excerpt(self, start: int, end: int) -> str:
        """Return the text between two offsets."""
        return self.text[start:end]

    def pieces_after(self, start: int) -> Iterator[Piece]:
        """Yield the pieces that end after an offset."""
        first = bisect_right(self.pieces, start, key=lambda piece: piece.end)
        for index in range(first, len(self.pieces)):
            yield self.pieces[index]


class Passage:
    """A text and its sentences. It does not change.

    Args:
        text: The text.
        sentences: Its sentences.
        pieces: Its pieces.
    """

    # Not a dataclass: while a response is written, there is a passage for each of its sentences,
    # and the text up to there is only joined if a method reads it (`resay.core.growing_passage`).
    __slots__ = ("_sentences", "_source")

    def __init__(self, text: str, sentences: Sequence[Sentence], pieces: tuple[Piece, ...]) -> None:
        self._source: PassageText = WholeText(text, pieces)
        self._sentences = sentences

    @classmethod
    def from_source(cls, source: PassageText, sentences: Sequence[Sentence]) -> Passage:
        """Return a passage whose text is joined when it is first read.

        Args:
            source: The text.
            sentences: Its sentences. Nothing changes them.
        """
        passage = cls.__new__(cls)
        passage._source = source  # noqa: SLF001 - of its own class
        passage._sentences = sentences  # noqa: SLF001 - of its own class
        return passage

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
        find_ends = segmentation.load_splitter(splitter)
        layout = segmentation.parse_layout(text)
        sentences: list[Sentence] = []
        pieces: list[Piece] = []
        for block in layout.blocks:
            for start, end, sentence, unit in segmentation.piece_spans(
                text, layout, block, find_ends
            ):
                pieces.append(Piece(text[start:end], start, end, block.kind))
                if sentence is not None:
                    sentences.append(_sentence(text, sentence, unit))
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
        if text is None:
            text = " ".join(stripped)
            spans = _joined_spans(stripped)
        else:
            spans = _aligned_spans(stripped, text)
        cuts = [0, *_cuts(text, spans), len(text)] if text else []
        pieces = tuple(_prose_piece(text, start, end) for start, end in pairwise(cuts))
        return cls(text, tuple(_sentence(text, span) for span in spans), pieces)

    @classmethod
    def of_lines(cls, text: str, *, beside: str = "") -> Passage:
        """Make a passage in which each line is a sentence.

        Args:
            text: Lines separated by line feeds; none is blank, and none has white space around it.
            beside: Text that follows them, after a blank line, and is not scored.

        Returns:
            A passage with one sentence per line.
        """
        spans = _joined_spans(text.split("\n"))
        cuts = [start for start, _ in spans]
        if beside:
            text = f"{text}{SEPARATOR}{beside}"
            cuts.append(len(text) - len(beside))
        cuts.append(len(text))
        pieces = tuple(_prose_piece(text, start, end) for start, end in pairwise(cuts))
        return cls(text, tuple(_sentence(text, span) for span in spans), pieces)

    @property
    def text(self) -> str:
        """The text, unchanged."""
        return self._source.text

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences to score, in order.

        There is one for every piece of prose, heading and row with a letter or a digit.
        """
        if not isinstance(self._sentences, tuple):
            self._sentences = tuple(self._sentences)
        return self._sentences

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The whole text in order; joined, their texts equal it."""
        return self._source.pieces

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Passage):
            return NotImplemented
        return self._values == other._values

    def __hash__(self) -> int:
        return hash(self._values)

    def __repr__(self) -> str:
        return f"Passage(text={self.text!r}, sentences={self.sentences!r}, pieces={self.pieces!r})"

    @property
    def _values(self) -> tuple[str, tuple[Sentence, ...], tuple[Piece, ...]]:
        return self.text, self.sentences, self.pieces

    def excerpt(self, start: int, end: int) -> str:
        """Return the text between two offsets, without reading the rest of it.

        Args:
            start: The first offset, in code points.
            end: The last offset (exclusive); what is beyond the end of the text is left out.
        """
        return self._source.excerpt(start, end)

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
            if not 0 <= index < len(self._sentences):
                raise IndexError(f"no sentence {index!r} in a passage of {len(self._sentences)}")
        return self.with_sentences(self._sentences[index] for index in chosen)

    def with_sentences(self, sentences: Iterable[Sentence]) -> Passage:
        """Return the passage with other sentences, such as the claims of its own.

        Args:
            sentences: In order; their offsets refer to its text.
        """
        return self.from_source(self._source, tuple(sentences))

    @property
    def breaks_off(self) -> bool:
        """Whether the text ends inside its last sentence, if it was cut off there."""
        if not self._sentences:
            return False
        last = self._sentences[-1]
        is_last = _ALNUM.search(self.text, last.end) is None
        return is_last and _WHOLE_END.search(self.text, last.start) is None

    def without_cut_end(self) -> Passage:
        """Return the passage of a text that was cut off, without the sentence it breaks off in.

        What the rest of that sentence would have said is unknown. An only sentence stays.
        """
        if not self.breaks_off or len(self._sentences) == 1:
            return self
        return self.only(range(len(self._sentences) - 1))

    def unscored(self, start: int = 0) -> tuple[Piece, ...]:
        """Return the parts of the text that are in none of its sentences.

        Omits parts without a letter or digit and, before a sentence, one label of a list item or
        footnote (1 to 3 digits, a letter, or a Roman numeral of up to 4 letters) with a checkbox.

        Args:
            start: The offset to begin at, in code points.

        Returns:
            The parts from there on in order, without the white space around them.
        """
        first = bisect_right(self._sentences, start, key=lambda sentence: sentence.end)
        pieces, sentences = self._source.pieces_after(start), self._sentences[first:]
        return tuple(_outside(pieces, sentences, start))


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


def _outside(pieces: Iterable[Piece], sentences: Sequence[Sentence], start: int) -> Iterator[Piece]:
    """Yield the parts of pieces that are in none of the sentences, as `Passage.unscored` does.

    Args:
        pieces: Pieces in order; the first ends after `start`.
        sentences: The sentences that end after `start`.
        start: The offset to begin at, in code points.
    """
    index = 0
    for piece in pieces:
        position = max(piece.start, start)
        while index < len(sentences) and sentences[index].start < piece.end:
            sentence = sentences[index]
            before = _trimmed(piece, position, sentence.start)
            if before is not None and not _is_label(before.text):
                yield before
            position = max(position, sentence.end)
            if sentence.end > piece.end:
                break
            index += 1
        after = _trimmed(piece, position, piece.end)
        if after is not None:
            yield after


def _is_label(text: str) -> bool:
    """Whether the text is nothing but the label of a list item or footnote."""
    first, last = _ALNUM.search(text), _ALNUM.search(text[::-1])
    if first is None or last is None:
        return True
    return _LABEL.fullmatch(text, first.start(), len(text) - last.start()) is not None


def _trimmed(piece: Piece, start: int, end: int) -> Piece | None:
    """Return a part of a piece without the white space around it; None without a word."""
    part = piece.text[start - piece.start : end - piece.start] if start < end else ""
    if not _ALNUM.search(part) or (piece.kind == "prose" and _FENCE.match(part)):
        return None
    start += len(part) - len(part.lstrip())
    text = part.strip()
    return Piece(text, start, start + len(text), piece.kind)


def _joined_spans(sentences: Sequence[str]) -> list[Span]:
    """Return the spans of sentences in a text that has one character between them."""
    spans: list[Span] = []
    start = 0
    for sentence in sentences:
        spans.append((start, start + len(sentence)))
        start += len(sentence) + 1
    return spans


def _aligned_spans(sentences: Sequence[str], text: str) -> list[Span]:
    try:
        return segmentation.align(sentences, text)
    except segmentation.UnalignedError as error:
        raise ConfigurationError(
            f"sentence {error.index} of {len(sentences)} does not occur in the text after the one"
            " before it; pass the text the sentences were split from, and keep their order"
        ) from error


def _cuts(text: str, spans: Sequence[Span]) -> Iterator[int]:
    """Yield the cuts between sentences; a marker on the next sentence's line stays with it."""
    for (_, end), (start, _) in pairwise(spans):
        breaks = [match.end() for match in _LINE_BREAK.finditer(text, end, start)]
        yield breaks[-1] if breaks else min(after_space(text, end), start)


def _sentence(text: str, span: Span, unit: SentenceUnit = "sentence") -> Sentence:
    start, end = span
    return Sentence(text[start:end], start, end, unit)


def _prose_piece(text: str, start: int, end: int) -> Piece:
    return Piece(text[start:end], start, end, "prose")
