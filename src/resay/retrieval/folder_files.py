"""Find and read the searchable files of a folder, and split them into chunks."""

from __future__ import annotations

import errno
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
from resay.core.segmentation.blocks import Block, Kind, parse_layout
from resay.core.segmentation.sentences import sentence_ends
from resay.errors import ConfigurationError, MissingDependencyError

_FRONT_MATTER = re.compile(
    r"---[ \t]*\r?\n(?P<body>[\w-]+:.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE
)
_TITLE = re.compile(r"^title:[ \t]*(?P<title>.*)$", re.MULTILINE)
# Longer text is not a file's metadata, and deep nesting could exhaust the parser's stack.
_MOST_METADATA = 16_384
_NESTING = re.compile(r"[\[{]|- |\? ")
_MOST_NESTING = 500
# A line can repeat another by its name (*name, <<: *name), and that one others: their number grows
# exponentially.
_MOST_VALUES = 10_000
# The C implementation, if PyYAML has it, takes a tenth of the time.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MetadataValue: TypeAlias = str | int | float
Metadata: TypeAlias = Mapping[str, MetadataValue | tuple[MetadataValue, ...]]
"""A file's metadata; booleans are integers here, as everywhere in Python."""
_ANCHOR = re.compile(r"(?<!\s)\s*\{#[^{}]*\}\s*\Z")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
# A heading in the first line; a possible heading, or the line below one; a letter or digit.
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
        level: Its depth; 1 is a title, 0 is above all headings.
        text: Its text, without markup.
    """

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """YAML between two lines of dashes at the top of a file.

    Attributes:
        end: Its end offset (exclusive), in code points; 0 if there is none.
        title: Its title; empty if it has none.
        metadata: Its numbers, strings and lists of them; None if there is no front matter, or it
            is not valid YAML and therefore treated as text.
    """

    end: int
    title: str
    metadata: Metadata | None = None


def front_matter(text: str) -> FrontMatter:
    """Parse the front matter of a file."""
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
    loader = _Loader(body)
    try:
        node = loader.get_single_node()
        if node is None or _count_values(node) > _MOST_VALUES:
            return None
        loaded: object = loader.construct_document(node)
    # Impossible dates and overlong numbers raise other errors than YAML's.
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return None
    finally:
        loader.dispose()
    if not isinstance(loaded, dict):
        return None
    found: dict[str, MetadataValue | tuple[MetadataValue, ...]] = {}
    for key, value in cast("dict[object, object]", loaded).items():
        if isinstance(value, list):
            found[str(key)] = tuple(filter(_is_value, map(_plain_value, cast("list[Any]", value))))
        elif _is_value(kept := _plain_value(value)):
            found[str(key)] = kept
    return {_encodable(key): value for key, value in found.items()}


def _count_values(root: yaml.Node) -> float:
    """Return the number of values once all repetitions are written out; infinite for a cycle."""
    counts: dict[int, float] = {}

    def count(node: yaml.Node) -> float:
        if id(node) not in counts:
            # Until it is known: a node that contains itself has no end.
            counts[id(node)] = math.inf
            total = 1.0
            for part in _parts_of(node):
                total += count(part)
            counts[id(node)] = total
        return counts[id(node)]

    return count(root)


def _parts_of(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            yield key
            yield value
    elif isinstance(node, yaml.SequenceNode):
        yield from cast("list[yaml.Node]", node.value)


def _plain_value(value: Any) -> Any:
    """Convert a value without a JSON form to text: a date becomes `2024-03-01`."""
    if isinstance(value, date):
        return value.isoformat()
    return _encodable(value) if isinstance(value, str) else value


def _is_value(value: object) -> TypeGuard[MetadataValue]:
    return isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value))


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()


def heading_of(block: str) -> Heading:
    """Parse a heading block: `## Title`, or a title with a line of `=` or `-` below."""
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
# Anything longer is a paragraph above a line of dashes.
_MAX_HEADING = 200
_PATH = " > "
_NO_SPACE = re.compile(r"\S")


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
    # A fast path, since most texts fit into one chunk.
    if len(text) - start <= MAX_CHARS:
        return [Chunk(first, end, title) for first, end in _trimmed(text, start, len(text))]
    blocks = _blocks(text, start)
    pieces = [piece for block in blocks for piece in _pieces(text, block, MAX_CHARS)]
    return [Chunk(first, end, title) for first, end in _packed(pieces)]


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
        # Leave room for the headings above, which are worth nothing without the text below them.
        taken = block.start - pieces[0][0] if pieces and only_headings else 0
        pieces += _pieces(text, block, max(MAX_CHARS - taken, MAX_CHARS // 2))
        short = heading is not None and block.end - block.start <= _MAX_HEADING
        only_headings = short or (only_headings and block.kind == "rule")
    return chunks if only_headings and not unread else [*chunks, *_titled(pieces, path, title)]


def _blocks(text: str, start: int) -> Iterator[Block]:
    for block in parse_layout(text[start:]).blocks:
        yield Block(block.kind, block.start + start, block.end + start)


def _is_one_section(text: str, matter: FrontMatter) -> bool:
    """Return whether a text is obviously one chunk, like that of most files."""
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
    """Join adjacent spans as long as they fit into a chunk."""
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
    """Split a block into spans that fit, without white space around them."""
    for start, end in _trimmed(text, block.start, block.end):
        if end - start <= room:
            yield start, end
            return
        for first, last in _divided(text, Block(block.kind, start, end)):
            yield from _spans(text, first, last)


def _divided(text: str, block: Block) -> Iterator[tuple[int, int]]:
    """Split prose between sentences, and everything else between lines."""
    start = block.start
    for end in _ends(text[block.start : block.end], block.kind):
        yield start, block.start + end
        start = block.start + end


def _ends(text: str, kind: Kind) -> Iterable[int]:
    if kind == "prose":
        return [*sentence_ends(text), len(text)]
    return accumulate(map(len, text.splitlines(keepends=True)))


def _spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
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
    stretch = text[first : first + MAX_CHARS + 1]
    head = stretch.rsplit(None, 1)[0].rstrip() if not stretch[-1].isspace() else stretch
    return first + (len(head) if MAX_CHARS // 2 <= len(head) <= MAX_CHARS else MAX_CHARS)


def _trimmed(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Strip the white space around a span; return no span if nothing else is left."""
    stretch = text[start:end]
    left = len(stretch) - len(stretch.lstrip())
    return [(start + left, start + len(stretch.rstrip()))] if left < len(stretch) else []


_MARKDOWN = (".md", ".markdown")
_TEXT = (".txt", ".rst")
_PDF = ".pdf"
_SUFFIXES = (*_MARKDOWN, *_TEXT, _PDF)
# Fonts may have one glyph for several letters, and PDF files then contain that ligature.
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)
# Beyond these, a file or a folder is skipped, so that it does not stop the others.
_MAX_BYTES = 32 * 1024 * 1024
_TOO_LONG = f"it is longer than {_MAX_BYTES // 1024**2} MiB; split it"
_MAX_PAGES = 3_000
_MAX_FOLDERS = 100
# Two changes within one tick of a file system's clock look the same; the coarsest tick is 2 s.
_TICK_NS = 2_000_000_000
_UNSETTLED = -1


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that cannot be searched.

    Attributes:
        path: Its path relative to the folder.
        reason: The reason.
    """

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Found:
    """A file to search.

    Attributes:
        path: Its path relative to the folder, with forward slashes.
        root: The real path of the folder.
        inside: The names that lead from there to the file, without links.
        size: Its size in bytes.
        mtime_ns: The time of its last change, in nanoseconds since the epoch.
    """

    path: str
    root: str
    inside: tuple[str, ...]
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A chunk with its text.

    Attributes:
        chunk: The chunk.
        text: Its text.
        page: The page of a PDF file, from 1, to whose text the chunk's offsets refer; None for
            other files.
    """

    chunk: Chunk
    text: str = field(repr=False)
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Excerpts:
    """The searchable content of a file.

    Attributes:
        parts: Its chunks, in order.
        metadata: The metadata at its top.
    """

    parts: tuple[Excerpt, ...]
    metadata: Metadata = field(default_factory=dict[str, Any], repr=False)


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a file.

    Attributes:
        data: The bytes.
        size: Their number.
        mtime_ns: The time of the last change; -1 if it is so recent that a later change could have
            the same time.
        digest: Their SHA-256.
    """

    data: bytes = field(repr=False)
    size: int
    mtime_ns: int
    digest: bytes = field(repr=False)


class UnreadableError(Exception):
    """No text can be read from a file.

    Attributes:
        lasting: Whether that will be so until the file changes.
    """

    def __init__(self, reason: str, *, lasting: bool) -> None:
        super().__init__(reason)
        self.lasting = lasting


class _TooLongError(Exception):
    """A PDF file is too long to be read."""


def find_files(folder: Path, leave_out: Path) -> tuple[list[Found], list[Skipped]]:
    """Find the searchable files of a folder and its subfolders.

    Hidden files are ignored. A link is followed if its target is inside the folder and not found
    under its own name.

    Args:
        folder: The folder.
        leave_out: A file to ignore.

    Returns:
        The files, sorted by path, and those that cannot be accessed.

    Raises:
        ConfigurationError: The folder does not exist or cannot be read.
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
    search.walk()
    # Links last, so that files are found under their own names first.
    while search.links:
        search.follow(search.links.pop(0))
        search.walk()
    return sorted(search.found, key=lambda found: found.path), search.skipped


class _Search:
    """One walk through a folder, which accesses each file once."""

    def __init__(self, root: Path, seen: set[str]) -> None:
        self._root = root
        self._seen = seen
        self.links: list[Path] = []
        self._folders: list[str] = []
        self.found: list[Found] = []
        self.skipped: list[Skipped] = []

    def walk(self) -> None:
        """Enter the subfolders that are left, and theirs."""
        while self._folders:
            path = self._folders.pop()
            self._try(path, self.enter, Path(path))

    def enter(self, folder: Path) -> None:
        """Find the files and links of a folder; its subfolders are left for `walk`."""
        place = os.path.realpath(folder)
        self._seen.add(place)
        if len(folder.relative_to(self._root).parts) > _MAX_FOLDERS:
            name = self._name(str(folder))[0]
            self.skipped.append(Skipped(name, f"it is more than {_MAX_FOLDERS} folders deep"))
            return
        with os.scandir(folder) as entries:
            visible = sorted((e for e in entries if e.name[0] != "."), key=lambda e: e.name)
        for entry in visible:
            if entry.is_symlink():
                self.links.append(Path(entry.path))
            elif entry.is_dir():
                self._folders.append(entry.path)
            else:
                target = f"{place}{'' if place.endswith(os.sep) else os.sep}{entry.name}"
                self._try(entry.path, self._add, entry.path, target, entry.stat)

    def follow(self, link: Path) -> None:
        """Follow a link if its target is in the folder and was not seen before."""
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
        if status.st_size > _MAX_BYTES:
            self.skipped.append(Skipped(name, _TOO_LONG))
        elif is_valid:
            found = Found(
                path=name,
                root=str(self._root),
                inside=Path(target).relative_to(self._root).parts,
                size=status.st_size,
                mtime_ns=status.st_mtime_ns,
            )
            self.found.append(found)
        else:
            self.skipped.append(Skipped(name, "its name is not valid Unicode"))

    def _name(self, path: str) -> tuple[str, bool]:
        """Return a file's relative path as valid Unicode, and whether that is its real name."""
        inside = path[len(str(self._root)) :].lstrip(os.sep).replace(os.sep, "/")
        name = os.fsencode(inside).decode(errors="replace")
        return name, name == inside


def read(found: Found, now_ns: int) -> Content:
    """Read a file.

    Args:
        found: The file.
        now_ns: The time, in nanoseconds since the epoch.

    Raises:
        UnreadableError: The file cannot be read.
    """
    try:
        with _opened(found) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise UnreadableError("it is no longer a file", lasting=False)
            # One byte more, since it may grow.
            data = b"" if status.st_size > _MAX_BYTES else _read_up_to(file, _MAX_BYTES + 1)
            is_long = max(status.st_size, len(data)) > _MAX_BYTES
    except OSError as error:
        reason = str(error.strerror)
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            reason = "it was replaced by a link while the folder was read"
        raise UnreadableError(reason, lasting=False) from error
    if is_long:
        raise UnreadableError(_TOO_LONG, lasting=False)
    settled = status.st_mtime_ns < now_ns - _TICK_NS
    return Content(
        data,
        len(data),
        status.st_mtime_ns if settled else _UNSETTLED,
        hashlib.sha256(data).digest(),
    )


def _opened(found: Found) -> io.FileIO:
    """Open a file, following no link: what is one now was none when the folder was listed."""
    if os.open not in os.supports_dir_fd:
        path = str(Path(found.root, *found.inside))
        if os.path.realpath(path) != path:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        return io.FileIO(path)
    folder = os.open(found.root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in found.inside[:-1]:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            inner = os.open(name, flags, dir_fd=folder)
            os.close(folder)
            folder = inner
        # A pipe would wait for a writer.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        return io.FileIO(os.open(found.inside[-1], flags, dir_fd=folder))
    finally:
        os.close(folder)


def _read_up_to(file: io.FileIO, count: int) -> bytes:
    pieces: list[bytes] = []
    while count > 0 and (piece := file.read(count)):
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def excerpts(path: str, data: bytes) -> Excerpts:
    """Split the content of a file into chunks.

    Args:
        path: The path of the file, whose suffix determines its format.
        data: The content.

    Raises:
        UnreadableError: The file contains no readable text.
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
        if len(pages) > _MAX_PAGES:
            raise _TooLongError(f"it has {len(pages):,} pages")
        texts: list[str] = []
        chars = 0
        for page in pages:
            text = _tidied(page.extract_text())
            texts.append(text)
            chars += len(text)
            # What it says about itself may be wrong, and it is packed.
            if len(texts) > _MAX_PAGES or chars > _MAX_BYTES:
                raise _TooLongError("it has more text than it says")
        return texts
    except _TooLongError as error:
        reason = f"{error}; PDF files of at most {_MAX_PAGES:,} pages are read: split it"
        raise UnreadableError(reason, lasting=True) from None
    except pypdf.errors.DependencyError as error:
        raise UnreadableError(
            f"reading it needs another package: {error}", lasting=False
        ) from error
    except pypdf.errors.FileNotDecryptedError as error:
        raise UnreadableError("it is protected by a password", lasting=True) from error
    except Exception as error:
        # On a damaged file, the reader may raise anything.
        raise UnreadableError("it is damaged, or no PDF file", lasting=True) from error


def _tidied(text: str) -> str:
    # Damaged fonts yield lone surrogates, which cannot be stored as text.
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.translate(_LIGATURES)
