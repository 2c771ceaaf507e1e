"""The output of a batch: JSON Lines or Parquet, written whole."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, cast

from resay.batch.rows import json_bytes, pyarrow
from resay.errors import ConfigurationError

_BATCH = 2_000


def check_output(out: Path) -> None:
    """Refuse an output that cannot be written, before anything is paid for.

    Raises:
        ConfigurationError: Its ending says nothing.
        MissingDependencyError: It needs pyarrow.
    """
    if out.suffix == ".parquet":
        pyarrow("pyarrow.parquet")
    elif out.suffix not in (".jsonl", ".ndjson"):
        raise ConfigurationError(f"{str(out)!r} must end in .jsonl or .parquet")
    if out.parent and not out.parent.is_dir():
        raise ConfigurationError(f"{str(out.parent)!r} is no folder; make it first")


def write_output(out: Path, lines: Iterator[bytes], prefix: str) -> None:
    """Write rows into a file that is there whole or not at all.

    Args:
        out: The file.
        lines: The rows, as JSON objects.
        prefix: What the names of the verdict's columns begin with.
    """
    new = out.with_name(f"{out.name}.new")
    if out.suffix == ".parquet":
        # The rows are read twice: their columns must be known before the first is written.
        held = new.with_name(f"{new.name}.rows")
        _write_lines(held, lines)
        _write_parquet(new, lambda: _lines_of(held), prefix)
        held.unlink()
    else:
        _write_lines(new, lines)
    with new.open("rb+") as file:
        os.fsync(file.fileno())
    new.replace(out)
    # What the rows were made of is removed next.
    sync_folder(out.parent)


def _write_lines(path: Path, lines: Iterator[bytes]) -> None:
    with path.open("wb") as file:
        for line in lines:
            file.write(line)
            file.write(b"\n")


def _lines_of(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for line in file:
            yield json.loads(line)


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
    place = {"text": text, "start": whole, "end": whole}
    claim = {**place, "score": number, "flagged": pa.bool_(), "by": text, "why": text}
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
    """Return the schema of all rows, and the columns whose values have nothing in common.

    Such columns are written as JSON texts.
    """
    found: dict[str, Any] = {}
    mixed: set[str] = set()
    for batch in _batches(rows):
        names = dict.fromkeys(name for row in batch for name in row if name not in fixed)
        for name in names:
            found.setdefault(name, pa.null())
            if name in mixed:
                continue
            try:
                kind = pa.array([row.get(name) for row in batch]).type
                found[name] = _common(pa, found[name], kind)
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
                mixed.add(name)
                found[name] = pa.string()
    # A struct without fields cannot be written.
    for name, kind in found.items():
        if pa.types.is_struct(kind) and not kind.num_fields:
            mixed.add(name)
            found[name] = pa.string()
    return pa.schema([*found.items(), *fixed.items()]), mixed


def _common(pa: Any, one: Any, other: Any) -> Any:
    schemas = [pa.schema([("it", kind)]) for kind in (one, other)]
    return pa.unify_schemas(schemas, promote_options="permissive").field("it").type


def read_output(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of an output.

    Args:
        path: What a batch wrote.

    Raises:
        ConfigurationError: It cannot be read.
        MissingDependencyError: It is Parquet, and pyarrow is not installed.
    """
    if not path.is_file():
        raise ConfigurationError(f"cannot read {str(path)!r}: there is no such file")
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
                raise ConfigurationError(
                    f"{path}:{number}: it is not valid JSON: {error}"
                ) from None
            if not isinstance(row, dict):
                raise ConfigurationError(f"{path}:{number}: a row is an object")
            yield cast("dict[str, Any]", row)


def sync_folder(path: Path) -> None:
    """See that the names in a folder outlive the machine's power."""
    if os.name != "posix":
        return
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
