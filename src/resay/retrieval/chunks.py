"""Dividing a text into pieces small enough to be read by a model beside others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from resay.core.segmentation import Block, Kind, lay_out, sentence_ends

__all__ = [
    "MAX_CHARS",
    "Chunk",
    "FrontMatter",
    "Heading",
    "front_matter",
    "heading_of",
    "split_markdown",
    "split_text",
]

_FRONT_MATTER = re.compile(
    r"---[ \t]*\r?\n(?P<body>[\w-]+:.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE
)
_TITLE = re.compile(r"^title:[ \t]*(?P<title>.*)$", re.MULTILINE)
_ANCHOR = re.compile(r"(?<!\s)\s*\{#[^{}]*\}\s*\Z")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading.

    Attributes:
        level: How deep it is; 1 is a title, 0 stands above all headings.
        text: What it says, without markup.
    """

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """YAML between two lines of dashes at the top of a file.

    Attributes:
        end: Where it ends (exclusive), in code points; 0 where there is none.
        title: The title it gives; empty where it gives none.
    """

    end: int
    title: str


def front_matter(text: str) -> FrontMatter:
    """Find the metadata a Markdown file begins with."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return FrontMatter(0, "")
    title = _TITLE.search(match["body"])
    return FrontMatter(match.end(), title["title"].strip().strip("\"' ") if title else "")


def heading_of(block: str) -> Heading:
    """Read a block that is a heading: `## Title`, or a title with a line of `=` or `-` below."""
    lines = block.strip().splitlines()
    first = lines[0].strip()
    marks = len(first) - len(first.lstrip("#"))
    if marks:
        return Heading(marks, _plain(first.strip("#")))
    return Heading(1 if lines[-1].strip().startswith("=") else 2, _plain(first))


def _plain(markup: str) -> str:
    text = _LINK.sub(r"\1", _ANCHOR.sub("", markup))
    return " ".join(_EMPHASIS.sub("", text).strip("# \t").split())


MAX_CHARS = 1200
_PATH = " > "
_NO_SPACE = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a text that neither begins nor ends with white space.

    Attributes:
        start: Where it begins, in code points.
        end: Where it ends (exclusive), in code points; at most `MAX_CHARS` further.
        title: The headings it stands below, outermost first, or what the text is called.
    """

    start: int
    end: int
    title: str


def split_text(text: str, *, title: str) -> list[Chunk]:
    """Divide plain text: at blank lines where possible, else between sentences, else anywhere.

    Args:
        text: Any text.
        title: What it is called.

    Returns:
        The chunks, which hold every character but white space once, in order.
    """
    pieces = [piece for block in lay_out(text).blocks for piece in _pieces(text, block, MAX_CHARS)]
    return [Chunk(start, end, title) for start, end in _packed(pieces)]


def split_markdown(text: str, *, title: str) -> list[Chunk]:
    """Divide Markdown: like plain text, and at every heading.

    A heading stands in one chunk with what follows it; so does what precedes the first heading as
    metadata (YAML between two lines of dashes).

    Args:
        text: Any text.
        title: What it is called where it does not say.

    Returns:
        The chunks, which hold every character but white space once, in order.
    """
    matter = front_matter(text)
    path = [Heading(0, matter.title)] if matter.title else []
    chunks: list[Chunk] = []
    pieces: list[tuple[int, int]] = list(_spans(text, 0, matter.end))
    only_headings = True
    for block in lay_out(text[matter.end :]).blocks:
        block = Block(block.kind, block.start + matter.end, block.end + matter.end)
        heading = heading_of(text[block.start : block.end]) if block.kind == "heading" else None
        if heading is not None:
            if not only_headings:
                chunks += _titled(pieces, path, title)
                pieces = []
            path = [*(above for above in path if _is_above(above, heading)), heading]
        # So much less goes beside the headings, which are worth nothing without what follows.
        taken = block.start - pieces[0][0] if pieces and only_headings else 0
        pieces += _pieces(text, block, max(MAX_CHARS - taken, MAX_CHARS // 2))
        only_headings = heading is not None or (only_headings and block.kind == "rule")
    return [*chunks, *_titled(pieces, path, title)]


def _is_above(above: Heading, heading: Heading) -> bool:
    return above.level < heading.level and above.text != heading.text


def _titled(
    pieces: Sequence[tuple[int, int]], path: Sequence[Heading], title: str
) -> Iterator[Chunk]:
    name = _PATH.join(heading.text for heading in path if heading.text) or title
    return (Chunk(start, end, name) for start, end in _packed(pieces))


def _packed(pieces: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join neighbours as long as they fit."""
    first: int | None = None
    last = 0
    for start, end in pieces:
        if first is not None and end - first > MAX_CHARS:
            yield first, last
            first = None
        first = start if first is None else first
        last = end
    if first is not None:
        yield first, last


def _pieces(text: str, block: Block, room: int) -> Iterator[tuple[int, int]]:
    """Divide a block into stretches that fit, without white space around them."""
    for start, end in _trimmed(text, block.start, block.end):
        if end - start <= room:
            yield start, end
            return
        for first, last in _divided(text, Block(block.kind, start, end)):
            yield from _spans(text, first, last)


def _divided(text: str, block: Block) -> Iterator[tuple[int, int]]:
    """Divide prose between sentences and everything else between lines."""
    start = block.start
    for end in _ends(text[block.start : block.end], block.kind):
        yield start, block.start + end
        start = block.start + end


def _ends(text: str, kind: Kind) -> Iterable[int]:
    if kind == "prose":
        return [*sentence_ends(text), len(text)]
    return accumulate(map(len, text.splitlines(keepends=True)))


def _spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Divide at white space where a stretch is still too long, and anywhere where there is none."""
    for first, last in _trimmed(text, start, end):
        while last - first > MAX_CHARS:
            cut = _cut(text, first)
            yield from _trimmed(text, first, cut)
            following = _NO_SPACE.search(text, cut, last)
            first = following.start() if following else last
        yield first, last


def _cut(text: str, first: int) -> int:
    """Where to end a stretch that goes on: after the last white space, unless that is far back."""
    stretch = text[first : first + MAX_CHARS + 1]
    head = stretch.rsplit(None, 1)[0].rstrip() if not stretch[-1].isspace() else stretch
    return first + (len(head) if MAX_CHARS // 2 <= len(head) <= MAX_CHARS else MAX_CHARS)


def _trimmed(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Leave out the white space around a stretch; nothing remains of one that is only that."""
    stretch = text[start:end]
    left = len(stretch) - len(stretch.lstrip())
    return [(start + left, start + len(stretch.rstrip()))] if left < len(stretch) else []
