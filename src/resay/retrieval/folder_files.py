"""The searchable files of a folder, and the chunks they are divided into."""

from __future__ import annotations

import hashlib
import io
import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard, cast

import yaml

from resay._internal.importing import load_optional
from resay.core.segmentation.blocks import Block, Kind, lay_out
from resay.core.segmentation.sentences import sentence_ends
from resay.errors import ConfigurationError, MissingDependencyError

_FRONT_MATTER = re.compile(
    r"---[ \t]*\r?\n(?P<body>[\w-]+:.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE
)
_TITLE = re.compile(r"^title:[ \t]*(?P<title>.*)$", re.MULTILINE)
# More than that is no description of a file, and what is nested deeply takes a parser's stack.
_MOST_METADATA = 16_384
_NESTING = re.compile(r"[\[{]|- |\? ")
_MOST_NESTING = 500
# The same in C where PyYAML was built with it, at a tenth of the time.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MetadataValue: TypeAlias = str | int | float
Metadata: TypeAlias = Mapping[str, MetadataValue | tuple[MetadataValue, ...]]
"""What a file says of itself; booleans are integers here as everywhere in Python."""
_ANCHOR = re.compile(r"(?<!\s)\s*\{#[^{}]*\}\s*\Z")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
# A title in the first line; what may be a heading, or the line below one; and a letter or digit.
_FIRST_HEADING = re.compile(
    r"(?:[ \t]*\r?\n)*(?P<heading>#{1,6} [^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+)\n"
)
_MAYBE_HEADING = re.compile(r"#|[=-][ \t]*(?:\Z|[^\S \t])")
_SAYS_SOMETHING = re.compile(r"[^\W_]")
_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading.

    Attributes:
        level: How deep it is; 1 is a title, 0 is above all headings.
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
        metadata: The rest of what it says in numbers, texts and lists of them; None where there is
            none, or what is there is no YAML that can be read: that is text like any other.
    """

    end: int
    title: str
    metadata: Metadata | None = None


def front_matter(text: str) -> FrontMatter:
    """Find the metadata a file begins with."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return FrontMatter(0, "")
    metadata = _metadata(match["body"])
    if metadata is None:
        title = _TITLE.search(match["body"])
        return FrontMatter(match.end(), title["title"].strip().strip("\"' ") if title else "")
    title = metadata.get("title", "")
    return FrontMatter(match.end(), "" if isinstance(title, tuple) else str(title), metadata)


def _metadata(body: str) -> Metadata | None:
    if len(body) > _MOST_METADATA or len(_NESTING.findall(body)) > _MOST_NESTING:
        return None
    try:
        loaded: object = yaml.load(body, _Loader)  # noqa: S506 - either of them is a safe one
    # A date that there is not is no error of YAML's, and neither is a number with too many digits.
    except (yaml.YAMLError, ValueError, OverflowError):
        return None
    if not isinstance(loaded, dict):
        return None
    found: dict[str, MetadataValue | tuple[MetadataValue, ...]] = {}
    for key, value in cast("dict[object, object]", loaded).items():
        if isinstance(value, list):
            found[str(key)] = tuple(filter(_is_value, map(_plain_value, cast("list[Any]", value))))
        elif _is_value(kept := _plain_value(value)):
            found[str(key)] = kept
    return {_encodable(key): value for key, value in found.items()}


def _plain_value(value: Any) -> Any:
    """What JSON has no form for becomes text: a date is written `2024-03-01`."""
    if isinstance(value, date):
        return value.isoformat()
    return _encodable(value) if isinstance(value, str) else value


def _is_value(value: object) -> TypeGuard[MetadataValue]:
    return isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()


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
# A longer one is a paragraph that somebody drew a line below.
_MAX_HEADING = 200
_PATH = " > "
_NO_SPACE = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a text that neither begins nor ends with white space.

    Attributes:
        start: Where it begins, in code points.
        end: Where it ends (exclusive), in code points; at most `MAX_CHARS` further.
        title: The headings above it, outermost first, or what the text is called.
    """

    start: int
    end: int
    title: str


def split_text(text: str, *, title: str, start: int = 0) -> list[Chunk]:
    """Divide plain text: at blank lines where possible, else between sentences, else anywhere.

    Args:
        text: Any text.
        title: What it is called.
        start: Where to begin.

    Returns:
        The chunks, which hold every character but white space once, in order.
    """
    # Most are short: what fits into one chunk is not divided first to be joined again.
    if len(text) - start <= MAX_CHARS:
        return [Chunk(first, end, title) for first, end in _trimmed(text, start, len(text))]
    blocks = _blocks(text, start)
    pieces = [piece for block in blocks for piece in _pieces(text, block, MAX_CHARS)]
    return [Chunk(first, end, title) for first, end in _packed(pieces)]


def split_markdown(text: str, *, title: str, matter: FrontMatter | None = None) -> list[Chunk]:
    """Divide Markdown: like plain text, and at every heading.

    A heading is in one chunk with what follows it. One that nothing follows is in none: it says
    nothing by itself.

    Args:
        text: Any text.
        title: What it is called where it does not say.
        matter: The metadata it begins with, where they were found already. They are in no chunk,
            unless they cannot be read.

    Returns:
        The chunks, which hold every other character but white space once, in order.
    """
    matter = matter or front_matter(text)
    path = [Heading(0, matter.title)] if matter.title else []
    if _is_one_section(text, matter):
        if first := _FIRST_HEADING.match(text, matter.end):
            path = _below(path, heading_of(first["heading"]))
        return list(_titled(_trimmed(text, matter.end, len(text)), path, title))
    chunks: list[Chunk] = []
    pieces: list[tuple[int, int]] = []
    if matter.metadata is None:
        pieces += _spans(text, 0, matter.end)
    unread, only_headings = bool(pieces), True
    for block in _blocks(text, matter.end):
        heading = heading_of(text[block.start : block.end]) if block.kind == "heading" else None
        if heading is not None:
            if not only_headings:
                chunks += _titled(pieces, path, title)
                pieces, unread = [], False
            path = _below(path, heading)
        # So much less goes beside the headings, which are worth nothing without what follows.
        taken = block.start - pieces[0][0] if pieces and only_headings else 0
        pieces += _pieces(text, block, max(MAX_CHARS - taken, MAX_CHARS // 2))
        short = heading is not None and block.end - block.start <= _MAX_HEADING
        only_headings = short or (only_headings and block.kind == "rule")
    return chunks if only_headings and not unread else [*chunks, *_titled(pieces, path, title)]


def _blocks(text: str, start: int) -> Iterator[Block]:
    for block in lay_out(text[start:]).blocks:
        yield Block(block.kind, block.start + start, block.end + start)


def _is_one_section(text: str, matter: FrontMatter) -> bool:
    """Return whether it is seen at a glance that a text is one chunk, as that of most files is."""
    if len(text) - matter.end > MAX_CHARS or (matter.end and matter.metadata is None):
        return False
    first = _FIRST_HEADING.match(text, matter.end)
    below = first.end() if first is not None else matter.end
    return (
        _MAYBE_HEADING.search(text, below) is None
        and _SAYS_SOMETHING.search(text, below) is not None
    )


def _below(path: Sequence[Heading], heading: Heading) -> list[Heading]:
    return [*(above for above in path if _is_above(above, heading)), heading]


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


_MARKDOWN = (".md", ".markdown")
_TEXT = (".txt", ".rst")
_PDF = ".pdf"
_SUFFIXES = (*_MARKDOWN, *_TEXT, _PDF)
# Fonts have one glyph for several letters, and PDF files then say which glyph.
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)
# Two changes within one tick of a file system's clock look the same; the coarsest ticks in 2 s.
_TICK_NS = 2_000_000_000
_UNSETTLED = -1


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not searched.

    Attributes:
        path: Where it is, seen from the folder.
        reason: Why.
    """

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Found:
    """A file that may be searched.

    Attributes:
        path: Where it is, seen from the folder, with forward slashes.
        file: Where it is.
        size: How many bytes it has.
        mtime_ns: When it was changed, in nanoseconds since the epoch.
    """

    path: str
    file: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A chunk with its text.

    Attributes:
        chunk: Where it is.
        text: What it says.
        page: The page of a PDF file it is on, from 1, in whose text the chunk's offsets count; None
            for other files.
    """

    chunk: Chunk
    text: str = field(repr=False)
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Excerpts:
    """What is searched of a file.

    Attributes:
        parts: Its chunks, in order.
        metadata: What it says of itself at its top.
    """

    parts: tuple[Excerpt, ...]
    metadata: Metadata = field(default_factory=dict[str, Any], repr=False)


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a file.

    Attributes:
        data: They.
        size: How many.
        mtime_ns: When they were changed last; -1 where that is so short ago that a later change
            could bear the same time.
        digest: Their SHA-256.
    """

    data: bytes = field(repr=False)
    size: int
    mtime_ns: int
    digest: bytes = field(repr=False)


class UnreadableError(Exception):
    """There is no text to be had from a file.

    Attributes:
        lasting: Whether it will be so until the file changes.
    """

    def __init__(self, reason: str, *, lasting: bool) -> None:
        super().__init__(reason)
        self.lasting = lasting


def find_files(folder: Path, leave_out: Path) -> tuple[list[Found], list[Skipped]]:
    """Find the files of a folder and its subfolders.

    Hidden ones are none of them. A link counts where it leads to something in the folder that is
    not found under its own name.

    Args:
        folder: The folder.
        leave_out: A file that is none of them.

    Returns:
        The files, by path, and what cannot be looked at.

    Raises:
        ConfigurationError: There is no such folder, or it cannot be read.
    """
    root = Path(os.path.realpath(folder))
    search = _Search(root, seen={os.path.realpath(leave_out)})
    try:
        search.enter(root)
    except OSError as error:
        raise ConfigurationError(
            f"cannot search the folder {str(folder)!r}: {error.strerror}; name one that exists"
            " and can be read"
        ) from error
    # Only then the links, so that what they lead to keeps its own name.
    while search.links:
        search.follow(search.links.pop(0))
    return sorted(search.found, key=lambda found: found.path), search.skipped


class _Search:
    """One walk through a folder, which asks the disk about each file once."""

    def __init__(self, root: Path, seen: set[str]) -> None:
        self._root = root
        self._seen = seen
        self.links: list[Path] = []
        self.found: list[Found] = []
        self.skipped: list[Skipped] = []

    def enter(self, folder: Path) -> None:
        """Look at what is in a folder, and in those below it."""
        place = os.path.realpath(folder)
        self._seen.add(place)
        with os.scandir(folder) as entries:
            visible = sorted((e for e in entries if e.name[0] != "."), key=lambda e: e.name)
        for entry in visible:
            if entry.is_symlink():
                self.links.append(Path(entry.path))
            elif entry.is_dir():
                self._try(entry.path, self.enter, Path(entry.path))
            else:
                target = f"{place}{'' if place.endswith(os.sep) else os.sep}{entry.name}"
                self._try(entry.path, self._add, entry.path, target, entry.stat)

    def follow(self, link: Path) -> None:
        """Look at what a link leads to, if that is in the folder and was not seen before."""
        target = os.path.realpath(link)
        if target in self._seen or not Path(target).is_relative_to(self._root):
            return
        if Path(target).is_dir():
            self._try(str(link), self.enter, link)
        else:
            self._try(str(link), self._add, str(link), target, link.stat)

    def _try(self, path: str, look: Callable[..., None], *about: Any) -> None:
        try:
            look(*about)
        except OSError as error:
            self.skipped.append(Skipped(self._name(path)[0], str(error.strerror)))

    def _add(self, path: str, target: str, stat_of: Callable[[], os.stat_result]) -> None:
        if not path.lower().endswith(_SUFFIXES):
            return
        status = stat_of()
        if not stat.S_ISREG(status.st_mode) or target in self._seen:
            return
        self._seen.add(target)
        name, is_valid = self._name(path)
        if is_valid:
            self.found.append(Found(name, path, status.st_size, status.st_mtime_ns))
        else:
            self.skipped.append(Skipped(name, "its name is not valid Unicode"))

    def _name(self, path: str) -> tuple[str, bool]:
        """Return what to call a file, and whether that is its name."""
        inside = path[len(str(self._root)) :].lstrip(os.sep).replace(os.sep, "/")
        name = os.fsencode(inside).decode(errors="replace")
        return name, name == inside


def read(found: Found, now_ns: int) -> Content:
    """Read a file.

    Args:
        found: The file.
        now_ns: The time, in nanoseconds since the epoch.

    Raises:
        UnreadableError: It cannot be read.
    """
    try:
        with io.FileIO(found.file) as file:
            status = os.fstat(file.fileno())
            data = file.readall()
    except OSError as error:
        raise UnreadableError(str(error.strerror), lasting=False) from error
    settled = status.st_mtime_ns < now_ns - _TICK_NS
    return Content(
        data,
        len(data),
        status.st_mtime_ns if settled else _UNSETTLED,
        hashlib.sha256(data).digest(),
    )


def excerpts(path: str, data: bytes) -> Excerpts:
    """Divide the bytes of a file into chunks.

    Args:
        path: What the file is called.
        data: What is in it.

    Raises:
        UnreadableError: There is no text to be had from it.
    """
    name, _, suffix = path.rpartition("/")[2].rpartition(".")
    suffix = f".{suffix.lower()}"
    if suffix == _PDF:
        return Excerpts(tuple(_pages(data, name)))
    text = _decoded(data)
    matter = front_matter(text)
    if suffix in _MARKDOWN:
        chunks = split_markdown(text, title=name, matter=matter)
    else:
        start = 0 if matter.metadata is None else matter.end
        chunks = split_text(text, title=matter.title or name, start=start)
    parts = tuple(Excerpt(chunk, text[chunk.start : chunk.end]) for chunk in chunks)
    return Excerpts(parts, matter.metadata or {})


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError("it is not UTF-8 text; save it as UTF-8", lasting=True) from error


def _pages(data: bytes, title: str) -> Iterator[Excerpt]:
    texts = _page_texts(data)
    if not any(text.strip() for text in texts):
        raise UnreadableError(
            "there is no text in it; if it is a scan, run text recognition (OCR) over it",
            lasting=True,
        )
    for number, text in enumerate(texts, 1):
        for chunk in split_text(text, title=title):
            yield Excerpt(chunk, text[chunk.start : chunk.end], number)


def _page_texts(data: bytes) -> list[str]:
    try:
        pypdf = load_optional("pypdf", package="pypdf", extra="pdf", purpose="reading PDF files")
    except MissingDependencyError as error:
        raise UnreadableError(str(error), lasting=False) from error
    try:
        pages = pypdf.PdfReader(io.BytesIO(data)).pages
        return [_tidied(page.extract_text()) for page in pages]
    except pypdf.errors.DependencyError as error:
        raise UnreadableError(
            f"reading it needs another package: {error}", lasting=False
        ) from error
    except pypdf.errors.FileNotDecryptedError as error:
        raise UnreadableError("it is protected by a password", lasting=True) from error
    except Exception as error:
        # A damaged file makes the reader fail in any way there is.
        raise UnreadableError("it is damaged, or no PDF file", lasting=True) from error


def _tidied(text: str) -> str:
    # Halves of characters, which damaged fonts give, are not text that can be kept.
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.translate(_LIGATURES)
