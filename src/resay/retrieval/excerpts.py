"""The searchable content of a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from resay.retrieval.chunks import Chunk, split_markdown, split_text
from resay.retrieval.folder_files import UnreadableError
from resay.retrieval.front_matter import Metadata, front_matter
from resay.retrieval.pdf import page_texts

_MARKDOWN = (".md", ".markdown")
_PDF = ".pdf"
SUFFIXES = (*_MARKDOWN, ".txt", ".rst", _PDF)
"""The suffixes of the files that can be searched."""


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
        return Excerpts(tuple(_page_excerpts(data, name)))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError("it is not UTF-8 text; save it as UTF-8", lasting=True) from error
    matter = front_matter(text)
    if suffix in _MARKDOWN:
        chunks = split_markdown(text, title=name, matter=matter)
    else:
        start = 0 if matter.metadata is None else matter.end
        chunks = split_text(text, title=matter.title or name, start=start)
    parts = [Excerpt(chunk, text[chunk.start : chunk.end]) for chunk in chunks]
    return Excerpts(tuple(parts), matter.metadata or {})


def _page_excerpts(data: bytes, title: str) -> Iterator[Excerpt]:
    for page, text in enumerate(page_texts(data), 1):
        for chunk in split_text(text, title=title):
            yield Excerpt(chunk, text[chunk.start : chunk.end], page)
