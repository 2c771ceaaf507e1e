"""The files of a folder, and how they are read: never through a link."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

# Beyond this, a file is skipped, so that it does not stop the others.
MAX_BYTES = 32 * 1024 * 1024
TOO_LONG = f"it is longer than {MAX_BYTES // 1024**2} MiB; split it"
# Two changes within one tick of a file system's clock look the same; the coarsest tick is 2 s.
_TICK_NS = 2_000_000_000
_UNSETTLED = -1
_BLOCK_BYTES = 1024 * 1024


class FolderFile(NamedTuple):
    """A file to search.

    Attributes:
        path: Its path relative to the folder, with forward slashes.
        root: The real path of the folder.
        parts: The names that lead from there to the file, without links.
        size: Its size in bytes.
        mtime_ns: The time of its last change, in nanoseconds since the epoch.
    """

    path: str
    root: str
    parts: tuple[str, ...]
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class FileData:
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


class FileReader:
    """Reads the files of a folder: never through a link.

    What is a link now was none when the folder was listed. The last folder stays open, since most
    files are beside the one before. Use as a context manager.
    """

    def __init__(self) -> None:
        self._folder = -1
        self._folder_key: tuple[str, tuple[str, ...]] | None = None

    def __enter__(self) -> FileReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._close_folder()

    def read(self, file: FolderFile, now_ns: int) -> FileData:
        """Read a file.

        Args:
            file: The file.
            now_ns: The time, in nanoseconds since the epoch.

        Raises:
            UnreadableError: The file cannot be read.
        """
        try:
            descriptor = self._open(file)
            try:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise UnreadableError("it is no longer a file", lasting=False)
                data = b""
                if status.st_size <= MAX_BYTES:
                    data = _read_all(descriptor, status.st_size)
            finally:
                os.close(descriptor)
        except OSError as error:
            reason = str(error.strerror)
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                reason = "it was replaced by a link while the folder was read"
            raise UnreadableError(reason, lasting=False) from error
        if max(status.st_size, len(data)) > MAX_BYTES:
            raise UnreadableError(TOO_LONG, lasting=False)
        is_settled = status.st_mtime_ns < now_ns - _TICK_NS
        return FileData(
            data=data,
            size=len(data),
            mtime_ns=status.st_mtime_ns if is_settled else _UNSETTLED,
            digest=hashlib.sha256(data).digest(),
        )

    def _open(self, file: FolderFile) -> int:
        if os.open not in os.supports_dir_fd:
            path = str(Path(file.root, *file.parts))
            if os.path.realpath(path) != path:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            return os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        folder_key = (file.root, file.parts[:-1])
        if folder_key != self._folder_key:
            self._close_folder()
            self._folder = _open_folder(file.root, file.parts[:-1])
            self._folder_key = folder_key
        # A pipe would wait for a writer.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        return os.open(file.parts[-1], flags, dir_fd=self._folder)

    def _close_folder(self) -> None:
        if self._folder_key is not None:
            self._folder_key = None
            os.close(self._folder)


def _open_folder(root: str, names: Sequence[str]) -> int:
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for name in names:
        try:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            subfolder = os.open(name, flags, dir_fd=folder)
        finally:
            os.close(folder)
        folder = subfolder
    return folder


def _read_all(descriptor: int, size: int) -> bytes:
    """Read a file up to its end, or a byte beyond the limit, since it may grow."""
    data = os.read(descriptor, size + 1)
    if len(data) == size:
        return data
    blocks = [data]
    remaining = MAX_BYTES + 1 - len(data)
    while remaining > 0 and (block := os.read(descriptor, min(remaining, _BLOCK_BYTES))):
        blocks.append(block)
        remaining -= len(block)
    return b"".join(blocks)
