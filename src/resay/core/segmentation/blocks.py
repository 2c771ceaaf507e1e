"""Markdown blocks: separate prose from text that must not be split into sentences.

This is not a Markdown renderer. Language models write Markdown loosely, and prose mistaken for code
is a claim that nobody checks. Where CommonMark and caution disagree, the text therefore stays
prose: a setext underline below a full sentence is a rule, tags around text are no HTML block,
display math and comments must be closed, and a fence is not code if it is tagged `markdown`, or if
it is tagged `text` or nothing and its content reads like prose.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from resay._internal.event_loops import stop_if_abandoned
from resay._internal.patterns import lazy_pattern
from resay.core.segmentation.characters import GAP, LINE_BREAKS
from resay.core.segmentation.kinds import Kind
from resay.core.segmentation.sentence_words import ORDINAL_MONTHS
from resay.core.segmentation.spans import Span, blanked

_TAGS = lazy_pattern(r"(?:</?[A-Za-z][^<>]*>\s*)+\Z")


@dataclass(frozen=True, slots=True)
class Fence:
    """The opening line of fenced code.

    Attributes:
        mark: "`" or "~".
        length: The number of marks; the closing line has at least as many.
        quotes: The number of quote markers before it.
    """

    mark: str
    length: int
    quotes: int

    def is_left_by(self, quote: re.Match[str] | None) -> bool:
        """Whether a line is outside of the quotation that the code is in.

        Args:
            quote: The quote markers of the line; None if it has none.
        """
        quotes = quote.group().count(">") if quote else 0
        return quotes < self.quotes

    def closed_by(self, body: str) -> bool:
        """Whether the line closes the code."""
        return len(body) >= self.length and not body.strip(self.mark)


def parse_fence(body: str, quotes: int) -> Fence | None:
    """Return the fence that the line opens, or None; inline code in backticks is not a fence."""
    mark = body[:1]
    if mark not in {"`", "~"} or not body.startswith(mark * 3):
        return None
    info = body.lstrip(mark)
    if mark == "`" and "`" in info:
        return None
    return Fence(mark, len(body) - len(info), quotes)


def is_rule(body: str) -> bool:
    """Whether the line, which is not empty, is a rule: `---`, `* * *`, `___`, `===`."""
    if body[0] not in "-*_=":
        return False
    compact = body.replace(" ", "").replace("\t", "")
    return len(compact) >= 3 and not compact.strip(body[0])


def is_heading(body: str) -> bool:
    """Whether the line is a heading such as `## Title`."""
    if not body.startswith("#"):
        return False
    title = body.lstrip("#")
    return len(body) - len(title) <= 6 and (not title or title[0].isspace())


def is_delimiter_row(body: str) -> bool:
    """Whether the line is the one below a table's header: `|---|:-:|`."""
    if "|" not in body or body.strip("|-: \t"):
        return False
    cells = [cell.strip() for cell in body.strip("|").split("|")]
    return all(cell.strip(":") and not cell.strip(":").strip("-") for cell in cells)


def is_definition(body: str) -> bool:
    """Whether the line is `[label]: destination "title"` with an address-like destination."""
    if not body.startswith("[") or body.startswith("[^"):
        return False
    label, mark, destination = body[1:1000].partition("]:")
    target, _, title = destination.strip().partition(" ")
    if not (mark and label and target) or "[" in label or "]" in label:
        return False
    title = title.strip()
    is_title = not title or (title[0] in "\"'(" and title[-1] in "\"')" and len(title) > 1)
    is_address = target[0] in "<#/" or any(character in target for character in "/:@")
    return is_title and is_address


def is_tags(body: str) -> bool:
    """Whether the line consists of HTML tags only."""
    return _TAGS.match(body) is not None


@dataclass(frozen=True, slots=True)
class Block:
    """A span of whole lines of one kind, with the blank lines after it.

    Attributes:
        kind: Its kind.
        start: Its start, in code points.
        end: Its end (exclusive), in code points.
        is_item: Whether it is prose after a list marker.
    """

    kind: Kind
    start: int
    end: int
    is_item: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """The blocks of a text.

    Attributes:
        blocks: Consecutive blocks that cover the text without gaps.
        markers: List, quote, checkbox and footnote markers as (start, end), ascending.
        masked: The text with every character of a marker replaced by a space.
        fences: The spans of fences around prose; their own lines are markers.
        open: The start of code that continues, or may continue, after the end of the text; None if
            the text does not end in code.
        undecided: The start of a fence whose kind, code or prose, depends on what follows; None if
            there is none.
    """

    blocks: tuple[Block, ...]
    markers: tuple[Span, ...]
    masked: str
    fences: tuple[Span, ...] = ()
    open: int | None = None
    undecided: int | None = None


def parse_layout(text: str) -> Layout:
    """Split a text into Markdown blocks.

    Args:
        text: Any text.

    Returns:
        Its blocks and markers; no blocks for an empty text.
    """
    scanner = _Scanner(text)
    start = 0
    for line in text.splitlines(keepends=True):
        stop_if_abandoned()
        scanner.read(start, line)
        start += len(line)
    return scanner.layout()


# Nobody writes deeper nesting on one line, and the work would grow with it.
_MAX_NESTING = 16
_MAX_TITLE_CHARS = 120
_CODE_COLUMN = 4
_QUOTES = lazy_pattern(rf"(?:{GAP}*>)+")
_MARKER = lazy_pattern(
    rf"""
    (?: (?P<quote>>) {GAP}*
      | (?: (?P<bullet>[-*+•‣◦▪●○∙⁃–・])
          | (?P<label>\d{{1,3}}|[a-z](?=\))) [.)] (?!{GAP}+(?:{ORDINAL_MONTHS})\b)
          | \( (?P<enclosed>\d{{1,3}}|[a-z]|[ivx]{{2,4}}) \)
          | (?P<note>\[\^[^\[\]\s]{{1,40}}\]:)
        )
        (?:{GAP}+|(?=\s)|\Z|(?<=[・•●])(?=\w))
        (?:\[[ xX]\](?:{GAP}+|(?=\s)|\Z))?
    )
    """,
    re.VERBOSE,
)
_LEADS_IN = (".", ":", ";", "!", "?", "…", "。", "：", "！", "？", "؟", "।")
_RAW_TAG = lazy_pattern(r"<(pre|script|style|textarea)[\s>]")
_BLANK_LINE = lazy_pattern(r"\n[ \t]*\r?\n|\r[ \t]*\r(?!\n)|\u2029")
_NEXT_LINE = lazy_pattern(rf"{GAP}{{0,200}}(?:\r\n|[{LINE_BREAKS}]){GAP}{{0,200}}([^\s]?)")
_REST_OF_LINE = lazy_pattern(rf"[.,;]?{GAP}{{0,200}}(?:[{LINE_BREAKS}]|\Z)")


_PROSE_INFO = frozenset({"", "text", "txt", "plain", "plaintext", "markdown", "md"})
# The amount of text read to decide whether a fence is around prose.
_AHEAD_CHARS = 2_000
_AHEAD_LINES = 12
_LINE_ENDS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
_CODE_MARKS = lazy_pattern(r"[{}\[\]<>;=|\\$^~`@#]|--|::|\w\(|/\w*/|[│├└─┌┐→]")
_ENDS_SENTENCE = lazy_pattern(r"[\w)\"'”’»%][.!?…][)\"'”’»*_]*\Z|[。！？।؟]\Z")
_LIST_MARK = lazy_pattern(r"(?:[-*+•]|\d{1,3}[.)])\s+")
_LETTERS = lazy_pattern(r"[^\W\d_]+")


def _reads_like_prose(line: str) -> bool:
    """Whether a stripped line inside a fence may be prose."""
    bare = _LIST_MARK.sub("", line, count=1)
    letters = sum(map(len, _LETTERS.findall(bare)))
    spaces = bare.count(" ")
    has_words = spaces >= 2 or not bare.isascii()
    return has_words and not _CODE_MARKS.search(bare) and letters + spaces >= 0.75 * len(bare)


class _ForwardSearch:
    """Finds the next match of a pattern at or after a position that never decreases.

    The last match is cached, so that many openers waiting for the same closer cost one search.
    """

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._search = pattern.search
        self._text = text
        self._span: Span | None = (-1, -1)

    def after(self, position: int) -> Span | None:
        if self._span is not None and self._span[0] < position:
            match = self._search(self._text, position)
            self._span = match.span() if match else None
        return self._span


@dataclass(slots=True)
class _Paragraph:
    """The prose block that the next line may continue."""

    is_item: bool
    lines: int = 0
    last_start: int = 0
    last: str = ""


class _Scanner:
    """Reads lines in order and records the positions of blocks and markers."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: list[int] = []
        self._kinds: list[Kind] = []
        self._items: set[int] = set()
        self._markers: list[Span] = []
        self._paragraph: _Paragraph | None = None
        self._continuing: Literal["table", "code"] | None = None
        self._fence: Fence | None = None
        self._around_prose: tuple[Fence, int] | None = None
        self._fences: list[Span] = []
        self._undecided: int | None = None
        self._raw_until = 0
        self._quotes = 0
        self._list_column: int | None = None
        self._after_blank = False
        self._seen_flush_left = False
        self._closers: dict[str, _ForwardSearch] = {}
        self._blank_lines = _ForwardSearch(_BLANK_LINE, text)

    def layout(self) -> Layout:
        """Return the layout of the text that was read."""
        blocks = self._blocks()
        if self._around_prose is not None:
            self._fences.append((self._around_prose[1], len(self._text)))
        is_in_code = self._fence is not None or self._continuing == "code"
        is_in_fence = self._fence is not None or self._around_prose is not None
        return Layout(
            blocks=blocks,
            markers=tuple(self._markers),
            masked=blanked(self._text, self._markers),
            fences=tuple(self._fences),
            open=blocks[-1].start if is_in_code else None,
            undecided=self._undecided if is_in_fence else None,
        )

    def _blocks(self) -> tuple[Block, ...]:
        if not self._text:
            return ()
        # What comes before the first block belongs to it.
        starts = [0, *self._starts[1:], len(self._text)]
        kinds: list[Kind] = self._kinds or ["prose"]
        blocks: list[Block] = []
        for index, kind in enumerate(kinds):
            block = Block(
                kind=kind,
                start=starts[index],
                end=starts[index + 1],
                is_item=index in self._items,
            )
            blocks.append(block)
        return tuple(blocks)

    def read(self, start: int, line: str) -> None:
        """Read the next line.

        Args:
            start: Its start in the text.
            line: The line, with its line break.
        """
        if start < self._raw_until or (self._fence is not None and self._in_fence(line)):
            return
        quote = _QUOTES.match(line)
        if self._around_prose is not None and self._ends_prose(start, line, quote):
            return
        prefix = quote.end() if quote else 0
        if quote:
            self._markers.append((start, start + prefix))
        body = line[prefix:].strip()
        if not body:
            self._read_blank()
            return
        indent = len(line) - len(line[prefix:].lstrip())
        column = len(line[prefix:indent].expandtabs(_CODE_COLUMN))
        self._read_body(start, indent, body, column, quote.group().count(">") if quote else 0)
        self._seen_flush_left = self._seen_flush_left or column < _CODE_COLUMN
        self._after_blank = False
        if line.endswith("\u2029"):
            self._read_blank()

    def _read_blank(self) -> None:
        self._paragraph = None
        self._after_blank = True
        if self._continuing == "table":
            self._continuing = None

    def _read_body(self, start: int, indent: int, body: str, column: int, quotes: int) -> None:
        """Read a line that is not blank.

        Args:
            start: Its start in the text.
            indent: The number of characters before its body.
            body: The line without quote markers and the white space around it.
            column: The width of the white space before its body.
            quotes: The number of quote markers.
        """
        if quotes > self._quotes:
            self._paragraph = None
        self._quotes = quotes
        if self._continues(body, column) or self._underlines(body):
            return
        if self._opens_indented_code(column):
            self._add("code", start)
            self._continuing = "code"
            return
        if is_rule(body):
            self._list_column = None
            self._add("rule", start)
            return
        markers = self._read_markers(start + indent, body)
        if markers:
            self._paragraph = None
            outermost = column if self._list_column is None else self._list_column
            self._list_column = min(column, outermost)
        elif self._after_blank and column <= (self._list_column or 0):
            self._list_column = None
        self._read_leaf(start, start + indent + markers, body[markers:], is_item=bool(markers))

    def _continues(self, body: str, column: int) -> bool:
        """Whether the line continues an open table or indented code."""
        if self._continuing == "table" and "|" in body:
            return True
        if self._continuing == "code" and column >= _CODE_COLUMN:
            return True
        self._continuing = None
        return False

    def _underlines(self, body: str) -> bool:
        """Whether the line turns the paragraph's last line into a table header or a heading."""
        paragraph = self._paragraph
        if paragraph is None or body[0] not in "|:-=":
            return False
        if "|" in paragraph.last and is_delimiter_row(body):
            if paragraph.lines == 1:
                self._kinds[-1] = "table"
                self._paragraph = None
            else:
                self._add("table", paragraph.last_start)
            self._continuing = "table"
            return True
        if len(body) >= 2 and not body.strip(body[0]) and body[0] in "-=" and _is_title(paragraph):
            self._kinds[-1] = "heading"
            self._paragraph = None
            return True
        return False

    def _opens_indented_code(self, column: int) -> bool:
        # A text that is indented throughout was indented by accident: it stays prose.
        return (
            column >= _CODE_COLUMN
            and self._after_blank
            and self._paragraph is None
            and self._list_column is None
            and self._seen_flush_left
        )

    def _read_markers(self, start: int, body: str) -> int:
        """Record the markers at the start of a line and return their total length."""
        length = 0
        for _ in range(_MAX_NESTING):
            match = _MARKER.match(body, length)
            if match is None or (length == 0 and not self._may_start_item(match, body)):
                break
            if match.end() == len(body) and self._stands_alone(match, start + len(body)):
                break
            self._markers.append((start + length, start + match.end()))
            length = match.end()
        return length

    def _stands_alone(self, match: re.Match[str], end: int) -> bool:
        """Whether a label that ends its line has nothing below it to label.

        "12." and "(b)" are then answers.
        """
        if match["bullet"] or match["quote"] or match["note"] or self._list_column is not None:
            return False
        below = _NEXT_LINE.match(self._text, end)
        return below is None or not below[1]

    def _may_start_item(self, match: re.Match[str], body: str) -> bool:
        paragraph = self._paragraph
        if paragraph is None or match["note"]:
            return True
        if match.end() == len(body):
            return False
        in_list = self._list_column is not None
        if match["bullet"]:
            return in_list or match["bullet"] != "–"
        return in_list or match["label"] in {"0", "1"} or paragraph.last.endswith(_LEADS_IN)

    def _read_leaf(self, start: int, body_start: int, body: str, *, is_item: bool) -> None:
        """Read a line without its list markers.

        Args:
            start: The start of the line in the text.
            body_start: The start of its body.
            body: What follows the markers.
            is_item: Whether there are any.
        """
        fence = parse_fence(body, self._quotes)
        if fence is not None and self._is_around_prose(fence, start, body_start + len(body), body):
            self._around_prose = fence, start
            self._add("prose", start)
            self._markers.append((body_start, body_start + len(body)))
        elif fence is not None:
            self._fence = fence
            self._add("code", start)
        elif is_heading(body):
            self._list_column = None
            self._add("heading", start)
        elif self._is_html(body_start, body):
            self._add("html", start)
        elif self._is_math(body_start, body):
            self._add("math", start)
        elif self._paragraph is None and is_definition(body):
            self._add("definition", start)
        else:
            self._read_prose(start, body, is_item=is_item)

    def _read_prose(self, start: int, body: str, *, is_item: bool) -> None:
        paragraph = self._paragraph
        if paragraph is None:
            self._add("prose", start)
            if is_item:
                self._items.add(len(self._kinds) - 1)
            paragraph = self._paragraph = _Paragraph(is_item)
        paragraph.lines += 1
        paragraph.last_start = start
        paragraph.last = body

    def _is_around_prose(self, fence: Fence, begin: int, start: int, body: str) -> bool:
        """Whether a fence is around prose, judging by its tag or its content.

        Args:
            fence: Its opening line.
            begin: The start of that line in the text.
            start: The end of that line.
            body: The line without markers.
        """
        info = body.strip("`~ \t").lower()
        if self._around_prose is not None or info not in _PROSE_INFO:
            return False
        if info in {"markdown", "md"}:
            return True
        line_count = sentence_ends = 0
        is_prose = True
        lines, is_cut = self._lines_ahead(start)
        for line in lines:
            quote = _QUOTES.match(line) if fence.quotes else None
            inner = line[quote.end() if quote else 0 :].strip()
            if fence.is_left_by(quote) or fence.closed_by(inner):
                break
            if inner:
                line_count += 1
                is_prose = _reads_like_prose(inner)
                sentence_ends += _ENDS_SENTENCE.search(inner) is not None
            is_whole = line[-1:] in _LINE_ENDS
            if is_whole and (not is_prose or line_count == _AHEAD_LINES):
                break
        else:
            if not is_cut:
                self._undecided = begin
        return is_prose and line_count > 0 and (sentence_ends > 0 or bool(info))

    def _lines_ahead(self, start: int) -> tuple[list[str], bool]:
        """Return the next lines after the one that ends at a position, and whether there are more.

        If there are, the last one is left out, because it may be cut.
        """
        lines = self._text[start : start + _AHEAD_CHARS].splitlines(keepends=True)[1:]
        is_cut = len(self._text) >= start + _AHEAD_CHARS
        return (lines[:-1] if is_cut else lines), is_cut

    def _ends_prose(self, start: int, line: str, quote: re.Match[str] | None) -> bool:
        """Whether a line ends a fence around prose and needs no further processing."""
        assert self._around_prose is not None  # noqa: S101 - the caller checks it
        fence, begin = self._around_prose
        if fence.is_left_by(quote):
            self._around_prose = None
            self._fences.append((begin, start))
            return False
        body = line[quote.end() if quote and fence.quotes else 0 :].strip()
        if not fence.closed_by(body):
            return False
        self._around_prose = None
        self._fences.append((begin, start + len(line)))
        self._add("prose", start)
        self._markers.append((start, start + len(line.rstrip())))
        self._after_blank = False
        return True

    def _in_fence(self, line: str) -> bool:
        fence = self._fence
        if fence is None:
            return False
        quote = _QUOTES.match(line) if fence.quotes else None
        if fence.is_left_by(quote):
            self._fence = None
            return False
        if fence.closed_by(line[quote.end() if quote else 0 :].strip()):
            self._fence = None
        self._after_blank = False
        return True

    def _is_html(self, start: int, body: str) -> bool:
        if not body.startswith("<"):
            return False
        if body.startswith("<!--"):
            return self._swallow(start, 4, "-->")
        raw = _RAW_TAG.match(body)
        if raw and self._swallow(start, raw.end(), f"</{raw[1]}>"):
            return True
        return is_tags(body)

    def _is_math(self, start: int, body: str) -> bool:
        if body.startswith("$$"):
            return self._swallow(start, 2, "$$", across_blank_lines=False)
        if body.startswith("\\["):
            return self._swallow(start, 2, "\\]", across_blank_lines=False)
        return False

    def _swallow(
        self, start: int, opener: int, closer: str, *, across_blank_lines: bool = True
    ) -> bool:
        """Skip to a closer that ends its line; return False, without skipping, if there is none.

        Args:
            start: The start of the opener.
            opener: Its length.
            closer: The closer.
            across_blank_lines: Whether there may be blank lines before the closer.
        """
        search = self._closers.get(closer)
        if search is None:
            search = self._closers[closer] = _ForwardSearch(
                re.compile(re.escape(closer)), self._text
            )
        span = search.after(start + opener)
        if span is None or not _REST_OF_LINE.match(self._text, span[1]):
            return False
        if not across_blank_lines:
            blank = self._blank_lines.after(start)
            if blank is not None and blank[0] < span[0]:
                return False
        self._raw_until = span[1]
        return True

    def _add(self, kind: Kind, start: int) -> None:
        self._kinds.append(kind)
        self._starts.append(start)
        self._paragraph = None
        self._continuing = None


def _is_title(paragraph: _Paragraph) -> bool:
    return (
        paragraph.lines == 1
        and not paragraph.is_item
        and len(paragraph.last) <= _MAX_TITLE_CHARS
        and not paragraph.last.endswith(_LEADS_IN)
    )
