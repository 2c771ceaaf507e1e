"""The results of a batch, as JSON Lines or Parquet: written, and read as rows or a data frame."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, cast

from resay.errors import ConfigurationError
from resay_lab.batch.inputs import pyarrow
from resay_lab.batch.json_text import json_bytes


class Results:
    """The rows that a batch wrote.

    Args:
        path: The output file, Parquet or JSON Lines.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield each row with its verdict's columns."""
        return read_output(self.path)

    def to_pandas(self) -> Any:
        """Return all rows as a pandas data frame.

        Raises:
            ConfigurationError: pandas is not installed.
        """
        return _installed("pandas").DataFrame(list(self))

    def to_polars(self) -> Any:
        """Return all rows as a Polars data frame.

        Raises:
            ConfigurationError: Polars is not installed.
        """
        return _installed("polars").DataFrame(list(self), infer_schema_length=None)


def _installed(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise ConfigurationError(f"a data frame needs {package!r}; install it") from error


_BATCH = 2_000


def check_output(out: Path) -> None:
    """Refuse an output that cannot be written, before any call is paid for.

    Raises:
        ConfigurationError: Its extension is unknown, or its folder is missing.
        MissingDependencyError: It needs pyarrow.
    """
    if out.suffix == ".parquet":
        pyarrow("pyarrow.parquet")
    elif out.suffix not in (".jsonl", ".ndjson"):
        raise ConfigurationError(f"{str(out)!r} must end in .jsonl or .parquet")
    if out.parent and not out.parent.is_dir():
        raise ConfigurationError(f"the folder {str(out.parent)!r} does not exist; create it first")


def write_output(out: Path, lines: Iterator[bytes], prefix: str) -> None:
    """Write rows to a file atomically.

    Args:
        out: The file.
        lines: The rows, as JSON objects.
        prefix: The prefix of the verdict's column names.
    """
    new = out.with_name(f"{out.name}.new")
    if out.suffix == ".parquet":
        # The rows are read twice: all columns must be known before the first row is written.
        held = new.with_name(f"{new.name}.rows")
        _write_lines(held, lines)
        _write_parquet(new, lambda: _lines_of(held), prefix)
        held.unlink()
    else:
        _write_lines(new, lines)
    with new.open("rb+") as file:
        os.fsync(file.fileno())
    new.replace(out)
    # The caller deletes the sources of the rows next, so the rename must be durable.
    _sync_folder(out.parent)


def _write_lines(path: Path, lines: Iterator[bytes]) -> None:
    with path.open("wb") as file:
        for line in lines:
            file.write(line)
            file.write(b"\n")


def _lines_of(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for line in file:
            row = json.loads(line)
            if b"\\ud" in line:
                # Half of a character, which JSON can express and Parquet cannot.
                text = json.dumps(row, ensure_ascii=False)
                row = json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
            yield row


def _write_parquet(out: Path, rows: Callable[[], Iterator[dict[str, Any]]], prefix: str) -> None:
    pa, parquet = pyarrow("pyarrow"), pyarrow("pyarrow.parquet")
    fixed = _verdict_fields(pa, prefix)
    schema, mixed = _schema(pa, rows(), fixed)
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        for batch in _batches(rows()):
            for row in batch:
                for name in mixed & row.keys():
                    row[name] = None if row[name] is None else json_bytes(row[name]).decode()
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while batch := list(islice(rows, _BATCH)):
        yield batch


def _verdict_fields(pa: Any, prefix: str) -> dict[str, Any]:
    text, number, whole = pa.string(), pa.float64(), pa.int64()
    span = {"text": text, "start": whole, "end": whole}
    claim = {**span, "score": number, "flagged": pa.bool_(), "by": text, "reason": text}
    counts = ("calls", "prompt_tokens", "completion_tokens", "cancelled")
    usage = {**dict.fromkeys(counts, whole), "cost_usd": number}
    kinds = {
        "decision": text,
        "score": number,
        "reason": text,
        "claims": pa.list_(pa.struct(claim)),
        "usage": pa.struct(usage),
        "error": text,
    }
    return {prefix + name: kind for name, kind in kinds.items()}


def _schema(pa: Any, rows: Iterator[dict[str, Any]], fixed: dict[str, Any]) -> tuple[Any, set[str]]:
    """Return the schema of all rows, and the columns whose values have no common type.

    Such columns are written as JSON strings.
    """
    kinds: dict[str, Any] = {}
    mixed: set[str] = set()
    for batch in _batches(rows):
        names = dict.fromkeys(name for row in batch for name in row if name not in fixed)
        for name in names:
            kinds.setdefault(name, pa.null())
            if name in mixed:
                continue
            try:
                kind = pa.array([row.get(name) for row in batch]).type
                kinds[name] = _common(pa, kinds[name], kind)
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
                mixed.add(name)
                kinds[name] = pa.string()
    # A struct without fields cannot be written.
    for name, kind in kinds.items():
        if pa.types.is_struct(kind) and not kind.num_fields:
            mixed.add(name)
            kinds[name] = pa.string()
    return pa.schema([*kinds.items(), *fixed.items()]), mixed


def _common(pa: Any, first: Any, second: Any) -> Any:
    schemas = [pa.schema([("it", kind)]) for kind in (first, second)]
    return pa.unify_schemas(schemas, promote_options="permissive").field("it").type


def read_output(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of an output.

    Args:
        path: The output of a batch.

    Raises:
        ConfigurationError: It cannot be read.
        MissingDependencyError: It is Parquet, and pyarrow is not installed.
    """
    if not path.is_file():
        raise ConfigurationError(f"cannot read {str(path)!r}: no such file")
    if path.suffix == ".parquet":
        with path.open("rb") as file:
            for batch in pyarrow("pyarrow.parquet").ParquetFile(file).iter_batches(_BATCH):
                yield from cast("list[dict[str, Any]]", batch.to_pylist())
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                row: Any = json.loads(line)
            except ValueError as error:
                raise ConfigurationError(f"{path}:{number}: not valid JSON: {error}") from None
            if not isinstance(row, dict):
                raise ConfigurationError(f"{path}:{number}: a row must be an object")
            yield cast("dict[str, Any]", row)


def _sync_folder(path: Path) -> None:
    """Make sure that the names in a folder survive a power failure."""
    if os.name != "posix":
        return
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
