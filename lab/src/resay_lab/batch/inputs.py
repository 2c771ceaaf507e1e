"""The input formats of a batch."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import closing
from pathlib import Path
from typing import IO, Any, Protocol, cast

from resay.adapters import load_optional
from resay.errors import ConfigurationError
from resay_lab.batch.json_text import as_json

_PURPOSE = "reading and writing Parquet files"


class Rows(Protocol):
    """An input. Each iteration starts at its first row."""

    @property
    def fingerprint(self) -> str | None:
        """Identifies the input; None if it cannot be identified."""
        ...

    def count(self) -> int | None:
        """Return the number of rows; None if unknown."""
        ...

    def __iter__(self) -> Iterator[bytes]:
        """Yield each row as a JSON object."""
        ...


def open_rows(source: object) -> Rows:
    """Return the rows of an input.

    Args:
        source: The path of a JSON Lines (`.jsonl`, `.ndjson`), CSV (`.csv`, `.tsv`) or Parquet
            (`.parquet`) file, the last of which may also be a URL that fsspec supports; a data set
            of Hugging Face's `datasets`; a pandas or Polars data frame; or any iterable of
            mappings.

    Raises:
        ConfigurationError: It is none of these, or cannot be read.
        MissingDependencyError: Parquet needs pyarrow.
    """
    if isinstance(source, (str, Path)):
        return _open_file(str(source))
    if hasattr(source, "iter_rows"):  # Polars
        return _Listed(lambda: cast("Any", source).iter_rows(named=True), len(cast("Any", source)))
    if hasattr(source, "itertuples"):  # pandas
        return _Listed(lambda: _of_pandas(cast("Any", source)), len(cast("Any", source)))
    if not isinstance(source, Iterable):
        kind = type(source).__qualname__
        raise ConfigurationError(f"rows must be a path, a frame or an iterable, not {kind!r}")
    rows = cast("Iterable[Mapping[str, Any]]", source)
    count = len(rows) if isinstance(rows, Sized) else None
    # Hugging Face data sets have their own fingerprint.
    return _Listed(lambda: iter(rows), count, getattr(rows, "_fingerprint", None))


def mapping_of(raw: bytes) -> dict[str, Any] | None:
    """Parse a row; return None if it is no JSON object."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _open_file(path: str) -> Rows:
    ending = path.rpartition(".")[2].lower()
    is_url = "://" in path
    if not is_url and not Path(path).is_file():
        raise ConfigurationError(f"cannot read {path!r}: no such file")
    if is_url and ending in ("jsonl", "ndjson", "csv", "tsv"):
        # Without the URL, which may contain credentials.
        raise ConfigurationError(
            f"only Parquet (.parquet) can be read from a URL; pass the path of a local .{ending}"
            " file"
        )
    if ending in ("jsonl", "ndjson"):
        return _JsonLines(Path(path))
    if ending in ("csv", "tsv"):
        return _Csv(Path(path), "\t" if ending == "tsv" else None)
    if ending == "parquet":
        return _Parquet(path)
    raise ConfigurationError(f"{path!r} must end in .jsonl, .ndjson, .csv, .tsv or .parquet")


class _JsonLines:
    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def fingerprint(self) -> str | None:
        return _fingerprint(self._path)

    def count(self) -> int | None:
        with self._path.open("rb") as file:
            return sum(1 for line in file if not line.isspace())

    def __iter__(self) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            for number, line in enumerate(file):
                text = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 0 else line.strip()
                if text:
                    yield text


class _Csv:
    """The rows of a CSV file.

    Args:
        path: The file.
        delimiter: What is between cells; None for a comma, or a semicolon if the heading has those.
    """

    def __init__(self, path: Path, delimiter: str | None) -> None:
        self._path = path
        self._delimiter = delimiter

    @property
    def fingerprint(self) -> str | None:
        return _fingerprint(self._path)

    def count(self) -> int | None:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[bytes]:
        limit = csv.field_size_limit(2**31 - 1)
        try:
            with self._path.open(encoding="utf-8-sig", newline="") as file:
                delimiter = self._delimiter or _delimiter_of(file.readline())
                file.seek(0)
                for row in csv.DictReader(file, delimiter=delimiter):
                    row.pop(cast("Any", None), None)  # what is beyond the last column
                    yield as_json(row)
        except UnicodeDecodeError as error:
            raise ConfigurationError(f"{str(self._path)!r} is not UTF-8 text") from error
        finally:
            csv.field_size_limit(limit)


def _delimiter_of(heading: str) -> str:
    """Return what is between cells: spreadsheets write semicolons where commas are decimal."""
    return ";" if ";" in heading and "," not in heading else ","


class _Parquet:
    _BATCH = 512

    def __init__(self, path: str) -> None:
        self._path = path
        self._parquet = pyarrow("pyarrow.parquet")

    @property
    def fingerprint(self) -> str | None:
        return None if "://" in self._path else _fingerprint(Path(self._path))

    def count(self) -> int | None:
        with closing(self._opened()) as file:
            return cast("int", self._parquet.ParquetFile(file).metadata.num_rows)

    def __iter__(self) -> Iterator[bytes]:
        with closing(self._opened()) as file:
            for batch in self._parquet.ParquetFile(file).iter_batches(batch_size=self._BATCH):
                for row in batch.to_pylist():
                    yield as_json(row)

    def _opened(self) -> IO[bytes]:
        if "://" not in self._path:
            return Path(self._path).open("rb")
        fsspec = load_optional(
            "fsspec", package="fsspec", extra="batch", purpose="reading from an address"
        )
        return cast("IO[bytes]", fsspec.open(self._path, "rb").open())


class _Listed:
    def __init__(
        self,
        rows: Callable[[], Iterator[Mapping[str, Any]]],
        count: int | None,
        fingerprint: str | None = None,
    ) -> None:
        self._rows = rows
        self._count = count
        self._fingerprint = fingerprint

    @property
    def fingerprint(self) -> str | None:
        return self._fingerprint

    def count(self) -> int | None:
        return self._count

    def __iter__(self) -> Iterator[bytes]:
        return map(as_json, self._rows())


def _of_pandas(frame: Any) -> Iterator[dict[str, Any]]:
    names = [str(name) for name in frame.columns]
    for values in frame.itertuples(index=False, name=None):
        yield dict(zip(names, values, strict=True))


def pyarrow(module: str) -> Any:
    """Import a module of pyarrow.

    Raises:
        MissingDependencyError: It is not installed.
    """
    return load_optional(module, package="pyarrow", extra="batch", purpose=_PURPOSE)


_BLOCK, _BLOCKS = 65_536, 128


def _fingerprint(path: Path) -> str:
    """Return a hash of a file's size and content; for a large file, of evenly spaced blocks."""
    size = path.stat().st_size
    digest = hashlib.blake2b(str(size).encode(), digest_size=16)
    with path.open("rb") as file:
        if size <= _BLOCK * _BLOCKS:
            digest.update(file.read())
        else:
            for i in range(_BLOCKS):
                file.seek(i * (size - _BLOCK) // (_BLOCKS - 1))
                digest.update(file.read(_BLOCK))
    return digest.hexdigest()
