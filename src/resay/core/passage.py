"""The text under examination, split into sentences with their offsets."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice, pairwise
from typing import Literal

from resay.core.segmentation import (
    Block,
    Kind,
    Layout,
    Span,
    UnalignedError,
    align,
    lay_out,
    load_sentencex,
    sentence_ends,
)
from resay.errors import ConfigurationError

Splitter = Literal["builtin", "sentencex"]

_SPACE = re.compile(r"\s*")
_ALNUM = re.compile(r"[^\W_]")
_LINE_BREAK = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# One label of a list or a footnote, and a checkbox, from the first letter or digit to the last.
_LABEL = re.compile(r"(?:\d{1,3}|[a-z]|[ivx]{2,4})?(?:[.)\]:\s]{0,4}\[?[xX])?")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence to be scored.

    Attributes:
        text: The sentence as it appears in the passage, without surrounding white space and without
            the list marker, quote marker or checkbox in front of it.
        start: Where it begins in the passage's text, in code points.
        end: Where it ends (exclusive), in code points.
    """

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Piece:
    """One of the stretches a passage's text is made of.

    Attributes:
        text: The stretch, with the marker in front of it and the white space after it.
        start: Where it begins in the passage's text, in code points.
        end: Where it ends (exclusive), in code points.
        kind: What it is. Only "prose" is scored, and holds one sentence at most.
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
        sentences: What is scored, in order: one for every prose piece with a letter or a digit.
        pieces: The whole text in order; their texts joined are the text.
    """

    text: str
    sentences: tuple[Sentence, ...]
    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, text: str, *, splitter: Splitter = "builtin") -> Passage:
        """Split a text, plain or Markdown, into sentences.

        Headings, code, tables, rules, display math, HTML and link definitions are pieces without
        sentences; list items and block quotes are prose.

        Args:
            text: Any text.
            splitter: Whose rules end sentences inside prose: ours, or those of sentencex (its extra
                must be installed).

        Returns:
            The passage.

        Raises:
            MissingDependencyError: The splitter is not installed.
            ConfigurationError: There is no splitter of that name.
        """
        ends_in = _ends_in(splitter)
        layout = lay_out(text)
        sentences: list[Sentence] = []
        pieces: list[Piece] = []
        for block in layout.blocks:
            if block.kind != "prose":
                pieces.append(_piece(text, block.start, block.end, block.kind))
                continue
            for piece, span in _split(text, layout, block, ends_in):
                pieces.append(_piece(text, *piece, "prose"))
                if span is not None:
                    sentences.append(_sentence(text, span))
        return cls(text, tuple(sentences), tuple(pieces))

    @classmethod
    def from_sentences(cls, sentences: Sequence[str], *, text: str | None = None) -> Passage:
        """Take sentences that were split elsewhere.

        Args:
            sentences: In order. White space around them is dropped; none may be blank.
            text: The text they come from. Each must occur in it after the one before; white space
                inside a sentence may differ. What is between them becomes part of their pieces.
                Without it the sentences joined by single spaces are the text.

        Returns:
            A passage with exactly these sentences.

        Raises:
            ConfigurationError: A sentence is blank, or does not occur in the text in its place.
        """
        stripped = [sentence.strip() for sentence in sentences]
        if "" in stripped:
            raise ConfigurationError(
                f"sentence {stripped.index('')} of {len(stripped)} is blank; leave it out"
            )
        spans = _joined(stripped) if text is None else _aligned(stripped, text)
        text = " ".join(stripped) if text is None else text
        cuts = [0, *_cuts(text, spans), len(text)] if text else []
        pieces = [_piece(text, start, end, "prose") for start, end in pairwise(cuts)]
        return cls(text, tuple(_sentence(text, span) for span in spans), tuple(pieces))

    def only(self, indices: Iterable[int]) -> Passage:
        """The same passage with some of its sentences.

        Args:
            indices: Which sentences to keep, counted from 0, in any order.

        Returns:
            A passage with the same text and pieces and those sentences, ascending, each once.

        Raises:
            IndexError: There is no such sentence.
        """
        chosen = sorted(set(indices))
        for index in chosen[:1] + chosen[-1:]:
            if not 0 <= index < len(self.sentences):
                raise IndexError(f"no sentence {index!r} in a passage of {len(self.sentences)}")
        return replace(self, sentences=tuple(self.sentences[index] for index in chosen))

    def unscored(self, start: int = 0) -> tuple[Piece, ...]:
        """What of the text appears in none of its sentences.

        Left out is what has no letter and no digit, and before a sentence one label of a list or a
        footnote (1 to 3 digits, a letter, or a Roman number of up to 4 letters) with a checkbox.

        Args:
            start: Where to begin, in code points.

        Returns:
            The stretches from there on in order, without the white space around them.
        """
        first = bisect_right(self.pieces, start, key=lambda piece: piece.end)
        sentence = bisect_right(self.sentences, start, key=lambda sentence: sentence.end)
        pieces, sentences = islice(self.pieces, first, None), self.sentences[sentence:]
        return tuple(outside(pieces, sentences, start))


def outside(pieces: Iterable[Piece], sentences: Sequence[Sentence], start: int) -> Iterator[Piece]:
    """What of pieces appears in none of the sentences, as `Passage.unscored` says.

    Args:
        pieces: Pieces in order; the first ends behind `start`.
        sentences: The sentences that end behind `start` and begin before the pieces end.
        start: Where to begin, in code points.
    """
    index = 0
    for piece in pieces:
        position = max(piece.start, start)
        while index < len(sentences) and sentences[index].start < piece.end:
            sentence = sentences[index]
            if piece.kind == "prose":
                before = list(_stretch(piece, position, sentence.start))
                yield from (stretch for stretch in before if not _is_label(stretch.text))
                position = max(position, sentence.end)
            if sentence.end > piece.end:
                break
            index += 1
        yield from _stretch(piece, position, piece.end)


def _is_label(text: str) -> bool:
    """Whether a label that a list or a footnote may have is all that the text says."""
    first, last = _ALNUM.search(text), _ALNUM.search(text[::-1])
    if first is None or last is None:
        return True
    return _LABEL.fullmatch(text, first.start(), len(text) - last.start()) is not None


def _stretch(piece: Piece, start: int, end: int) -> Iterator[Piece]:
    """What of a stretch is not white space, unless it holds no letter and no digit."""
    inner = piece.text[start - piece.start : end - piece.start] if start < end else ""
    if _ALNUM.search(inner):
        start += len(inner) - len(inner.lstrip())
        yield Piece(inner.strip(), start, start + len(inner.strip()), piece.kind)


def _ends_in(splitter: str) -> Callable[[str], Iterator[int]]:
    if splitter == "builtin":
        return sentence_ends
    if splitter == "sentencex":
        return load_sentencex()
    raise ConfigurationError(f"unknown splitter {splitter!r}; use 'builtin' or 'sentencex'")


def _split(
    text: str, layout: Layout, block: Block, ends_in: Callable[[str], Iterator[int]]
) -> Iterator[tuple[Span, Span | None]]:
    """The pieces of a block of prose, each with its sentence if it has one."""
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
        yield (cut, piece_end), _sentence_span(prose, start, end, block.start)
        cut = piece_end


def _sentence_span(prose: str, start: int, end: int, offset: int) -> Span | None:
    sentence = prose[start:end]
    if not _ALNUM.search(sentence):
        return None
    trimmed = sentence.lstrip()
    start += len(sentence) - len(trimmed)
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
    """Where to cut between sentences: a marker on the line of the next one stays with that one."""
    for (_, end), (start, _) in pairwise(spans):
        breaks = [match.end() for match in _LINE_BREAK.finditer(text, end, start)]
        yield breaks[-1] if breaks else min(_after_space(text, end), start)


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _piece(text: str, start: int, end: int, kind: Kind) -> Piece:
    return Piece(text[start:end], start, end, kind)


def _sentence(text: str, span: Span) -> Sentence:
    return Sentence(text[span[0] : span[1]], *span)
