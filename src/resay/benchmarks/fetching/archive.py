"""Reading members of zip archives by name. Nothing is ever unpacked to disk."""

from __future__ import annotations

import io
import zlib
from pathlib import PurePosixPath
from zipfile import BadZipFile, ZipFile

from resay.benchmarks.fetching.download import LIMIT_BYTES
from resay.benchmarks.fetching.errors import FetchError

__all__ = ["read_member"]


def read_member(archive: bytes, name: str, address: str) -> bytes:
    """Return what is in a member, whatever folder of the archive it is in.

    Args:
        archive: The zip archive.
        name: The member's name, without folders.
        address: Where the archive is from.

    Returns:
        What is in it.

    Raises:
        FetchError: This is no archive, it is damaged, or it does not have one such member.
    """
    try:
        with ZipFile(io.BytesIO(archive)) as file:
            found = [i for i in file.infolist() if PurePosixPath(i.filename).name == name]
            if len(found) != 1:
                raise FetchError(address, f"the archive has {len(found)} files named {name!r}")
            with file.open(found[0]) as member:
                content = member.read(LIMIT_BYTES + 1)
    except (BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        # RuntimeError and its NotImplementedError: encrypted, or packed in a way unknown here.
        raise FetchError(address, f"not a zip archive that can be read: {error}") from error
    if len(content) > LIMIT_BYTES:
        raise FetchError(address, f"{name!r} in it is larger than {LIMIT_BYTES // 2**20} MiB")
    return content
