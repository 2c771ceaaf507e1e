"""Split text and Markdown into chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from resay._internal.patterns import lazy_pattern
from resay.core.segmentation.blocks import Block, parse_layout
from resay.core.segmentation.kinds import Kind
from resay.core.segmentation.sentences import sentence_ends
from resay.retrieval.front_matter import FrontMatter, front_matter

MAX_CHARS = 1200
# Anything longer is a paragraph above a line of dashes.
_MAX_HEADING = 200
_TITLE_SEPARATOR = " > "
_ANCHOR = lazy_pattern(r"(?<!\s)\s*\{#[^{}]*\}\s*\Z")
_LINK = lazy_pattern(r"!?\[([^\[\]]*)\]\([^()]*\)")
_MARKUP = lazy_pattern(r"[*`_\[{]")
_EMPHASIS = lazy_pattern(r"[*`]+|(?<!\w)_+|_+(?!\w)")
# A heading in the first line; a possible heading, or the line below one; a letter or digit.
_FIRST_HEADING = lazy_pattern(
    r"(?:[ \t]*\r?\n)*(?P<heading>#{1,6} [^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+)\n"
)
_MAYBE_HEADING = lazy_pattern(r"[#=-](?:(?<=#)|[ \t]*(?:\Z|[^\S \t]))")
_LETTER_OR_DIGIT = lazy_pattern(r"[^\W_]")
_NO_SPACE = lazy_pattern(r"\S")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading.

    Attributes:
        level: Its depth; 1 is a title, 0 is above all headings.
        text: Its text, without markup.
    """

    level: int
    text: str


def heading_of(block: str) -> Heading:
    """Parse a heading block: `## Title`, or a title with a line of `=` or `-` below."""
    lines = block.strip().splitlines()
    first = lines[0].strip()
    level = len(first) - len(first.lstrip("#"))
    if level:
        return Heading(level, _without_markup(first.strip("#")))
    return Heading(1 if lines[-1].strip().startswith("=") else 2, _without_markup(first))


def _without_markup(markup: str) -> str:
    text = markup
    if _MARKUP.search(text) is not None:
        text = _EMPHASIS.sub("", _LINK.sub(r"\1", _ANCHOR.sub("", text)))
    return " ".join(text.strip("# \t").split())


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of a text that neither begins nor ends with white space.

    Attributes:
        start: The start offset, in code points.
        end: The end offset (exclusive), in code points; at most `start + MAX_CHARS`.
        title: The headings above it, outermost first, or the text's name.
    """

    start: int
    end: int
    title: str


def split_text(text: str, *, title: str, start: int = 0) -> list[Chunk]:
    """Split plain text: at blank lines if possible, else between sentences, else anywhere.

    Args:
        text: Any text.
        title: The text's name.
        start: The offset to start at.

    Returns:
        The chunks, which contain every character but white space once, in order.
    """
    pieces: list[tuple[int, int]] = []
    # A fast path, since most texts fit into one chunk.
    if len(text) - start <= MAX_CHARS:
        pieces += _trimmed(text, start, len(text))
    else:
        for block in _blocks(text, start):
            pieces += _pieces(text, block, MAX_CHARS)
    return list(_join(pieces, title))


def split_markdown(text: str, *, title: str, matter: FrontMatter | None = None) -> list[Chunk]:
    """Split Markdown: like plain text, and at every heading.

    A heading is in one chunk with the text below it. A heading without text below it is dropped,
    since it says nothing by itself.

    Args:
        text: Any text.
        title: The text's name, if the text itself has no title.
        matter: The front matter, if it was parsed already. It is in no chunk, unless it is invalid.

    Returns:
        The chunks, which contain every other character but white space once, in order.
    """
    matter = matter or front_matter(text)
    headings = [Heading(0, matter.title)] if matter.title else []
    if _is_one_section(text, matter):
        if first := _FIRST_HEADING.match(text, matter.end):
            headings = _below(headings, heading_of(first["heading"]))
        return list(_join(_trimmed(text, matter.end, len(text)), _title(headings, title)))
    chunks: list[Chunk] = []
    pieces: list[tuple[int, int]] = []
    if matter.metadata is None:
        pieces += _cut_spans(text, 0, matter.end)
    unread, only_headings = bool(pieces), True
    for block in _blocks(text, matter.end):
        heading = heading_of(text[block.start : block.end]) if block.kind == "heading" else None
        if heading is not None:
            if not only_headings:
                chunks += _join(pieces, _title(headings, title))
                pieces, unread = [], False
            headings = _below(headings, heading)
        # Leave room for the headings above, which are worth nothing without the text below them.
        heading_chars = block.start - pieces[0][0] if pieces and only_headings else 0
        pieces += _pieces(text, block, max(MAX_CHARS - heading_chars, MAX_CHARS // 2))
        is_short = heading is not None and block.end - block.start <= _MAX_HEADING
        only_headings = is_short or (only_headings and block.kind == "rule")
    if not only_headings or unread:
        chunks += _join(pieces, _title(headings, title))
    return chunks


def _blocks(text: str, start: int) -> Iterator[Block]:
    for block in parse_layout(text[start:]).blocks:
        yield Block(block.kind, block.start + start, block.end + start)


def _is_one_section(text: str, matter: FrontMatter) -> bool:
    """Return whether a text is obviously one chunk, like that of most files."""
    if len(text) - matter.end > MAX_CHARS or (matter.end and matter.metadata is None):
        return False
    first = _FIRST_HEADING.match(text, matter.end)
    start = first.end() if first is not None else matter.end
    has_more_headings = _MAYBE_HEADING.search(text, start) is not None
    return not has_more_headings and _LETTER_OR_DIGIT.search(text, start) is not None


def _below(headings: Sequence[Heading], heading: Heading) -> list[Heading]:
    """Return the headings of the section that a heading begins, outermost first."""
    outer = [h for h in headings if h.level < heading.level and h.text != heading.text]
    return [*outer, heading]


def _title(headings: Sequence[Heading], default: str) -> str:
    return _TITLE_SEPARATOR.join(h.text for h in headings if h.text) or default


def _join(pieces: Iterable[tuple[int, int]], title: str) -> Iterator[Chunk]:
    """Join adjacent spans as long as they fit into a chunk."""
    first: int | None = None
    last = 0
    for start, end in pieces:
        if first is not None and end - first > MAX_CHARS:
            yield Chunk(first, last, title)
            first = None
        first = start if first is None else first
        last = end
    if first is not None:
        yield Chunk(first, last, title)


def _pieces(text: str, block: Block, max_chars: int) -> Iterator[tuple[int, int]]:
    """Split a block into spans that fit, without white space around them."""
    for start, end in _trimmed(text, block.start, block.end):
        if end - start <= max_chars:
            yield start, end
            return
        piece_start = start
        for offset in _ends(text[start:end], block.kind):
            piece_end = start + offset
            yield from _cut_spans(text, piece_start, piece_end)
            piece_start = piece_end


def _ends(text: str, kind: Kind) -> Iterable[int]:
    """Return where to split: prose between sentences, and everything else between lines."""
    if kind == "prose":
        return [*sentence_ends(text), len(text)]
    return accumulate(map(len, text.splitlines(keepends=True)))


def _cut_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Split a span that is too long at white space, or anywhere if there is none."""
    for first, last in _trimmed(text, start, end):
        while last - first > MAX_CHARS:
            cut = _cut(text, first)
            yield from _trimmed(text, first, cut)
            following = _NO_SPACE.search(text, cut, last)
            first = following.start() if following else last
        yield first, last


def _cut(text: str, first: int) -> int:
    """Return where to cut a long span: at the last white space, unless that is far back."""
    span = text[first : first + MAX_CHARS + 1]
    head = span if span[-1].isspace() else span.rsplit(None, 1)[0].rstrip()
    return first + (len(head) if MAX_CHARS // 2 <= len(head) <= MAX_CHARS else MAX_CHARS)


def _trimmed(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Strip the white space around a span; return no span if there is nothing else."""
    span = text[start:end]
    indent = len(span) - len(span.lstrip())
    return [(start + indent, start + len(span.rstrip()))] if indent < len(span) else []
