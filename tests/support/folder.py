"""Folders of files to search, and searches in them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from resay import Document
from resay.retrieval import FolderRetriever

__all__ = ["GUIDES", "INDEX", "LONG_AGO", "documents", "find", "ids", "write", "write_all"]

INDEX = ".resay-index.sqlite"
LONG_AGO = 1_000_000_000

GUIDES = {
    "bridge.md": "# Harbour Bridge\n\nIt opened in 1932.\n\n## Lamps\n\nThere are 31 of them.\n",
    "tower.txt": "The tower was finished in 1889 and is painted every seven years.",
    "deep/er/canal.rst": "Canal\n=====\n\nShips pass it in ten hours.",
    "unrelated.markdown": "Bread wants flour, water, salt and a hot oven.",
}


def write(file: Path, text: str, when: int = LONG_AGO) -> Path:
    """Write a file with a modification time, in seconds since the epoch."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    os.utime(file, (when, when))
    return file


def write_all(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files, modified just now."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
    return folder


def find(folder: Path, query: str, index: Path | None = None) -> list[Document]:
    """Search a folder as it was when it was indexed."""
    retriever = FolderRetriever(folder, index=index, refresh=False)
    return list(asyncio.run(retriever.retrieve(query, k=20)))


async def documents(folder: Path, query: str, k: int = 10) -> list[Document]:
    """Search a folder as it is now."""
    return list(await FolderRetriever(folder).retrieve(query, k=k))


async def ids(folder: Path, query: str, k: int = 10) -> list[str]:
    """Search a folder as it is now, for the documents' ids."""
    return [document.id for document in await documents(folder, query, k)]
