"""The rows of a batch: input formats, column names, ids, and the filter."""

from __future__ import annotations

import ast
import csv
import hashlib
import json
import math
import operator
import re
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sized
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol, cast

from resay._internal.importing import load_optional
from resay.errors import ConfigurationError

_PURPOSE = "reading and writing Parquet files"


class Row(NamedTuple):
    """One row of the input.

    Attributes:
        number: Its position in the input, from 0. Blank lines do not count.
        id: Its id: a hash of its content, with a counter for equal rows; None if the input has an
            id column.
        raw: Its content, as a JSON object.
    """

    number: int
    id: str | None
    raw: bytes


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the input's columns.

    None means the attribute's own name, for rows that have such a column. A column that is named
    must be in each row.

    Attributes:
        response: The text to check.
        question: The question it answers.
        messages: The conversation it answers, in OpenAI's format, in place of a question.
        samples: Other responses to the same question: a list, or a string with a JSON list.
        references: Trusted texts, in the same form.
        id: The row's id.
    """

    response: str | None = None
    question: str | None = None
    messages: str | None = None
    samples: str | None = None
    references: str | None = None
    id: str | None = None

    def arguments(self, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the response of a row and the other arguments for `Guard.check`.

        Args:
            values: The row.

        Raises:
            ConfigurationError: A column is missing, or has the wrong type.
        """
        response = self._value("response", values)
        if not isinstance(response, str):
            raise ConfigurationError(
                f"column {self.response or 'response'!r} must contain text, not"
                f" {type(response).__name__}; pass the name of the column with the responses"
            )
        question: Any = self._value("messages", values) or self._value("question", values)
        if isinstance(question, str):
            question = _list_or_text("messages", question, _is_message)
        given: dict[str, Any] = {"question": question or None}
        if (samples := self._value("samples", values)) is not None:
            given["samples"] = _texts("samples", samples)
        if (references := self._value("references", values)) is not None:
            given["references"] = _texts("references", references)
        return response, given

    def id_of(self, values: Mapping[str, Any]) -> str | None:
        """Return a row's own id; None if it has none."""
        name = self.id or "id"
        return None if values.get(name) is None else str(values[name])

    def to_dict(self) -> dict[str, str | None]:
        """Return the names, JSON-ready."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _value(self, role: str, values: Mapping[str, Any]) -> Any:
        name = getattr(self, role)
        if name is not None and name not in values:
            raise ConfigurationError(f"the row has no column {name!r}")
        return values.get(name or role)


def _texts(role: str, value: Any) -> list[str]:
    if isinstance(value, str):
        if not value.strip():
            return []
        value = _list_or_text(role, value, _is_text)
        value = [value] if isinstance(value, str) else value
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) < len(items):
        raise ConfigurationError(f"column {role!r} must contain a list of strings")
    return texts


# A list as JSON, or as Python's `repr`, which is no JSON.
_LIST = re.compile(r"""\s*\[\s*(?:\{\s*)?["'].*["'](?:\s*\})?\s*,?\s*\]\s*""", re.DOTALL)


def _is_text(item: object) -> bool:
    return isinstance(item, str)


def _is_message(item: object) -> bool:
    return isinstance(item, dict) and "role" in item


def _list_or_text(role: str, text: str, is_item: Callable[[object], bool]) -> Any:
    """Return the list that a text contains as JSON, or the text: "[1] Moor, Ada: …" is no list.

    Args:
        role: The column's role, for messages.
        text: The text.
        is_item: Recognizes the items of such a list; a list without any of them is a text.
    """
    if not text.lstrip().startswith("["):
        return text
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        if not _LIST.fullmatch(text):
            return text
        raise ConfigurationError(
            f"column {role!r} contains a list that is not valid JSON"
        ) from None
    return value if not value or any(map(is_item, value)) else text


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
    known = len(rows) if isinstance(rows, Sized) else None
    # Hugging Face data sets have their own fingerprint.
    return _Listed(lambda: iter(rows), known, getattr(rows, "_fingerprint", None))


def _open_file(path: str) -> Rows:
    ending = path.rpartition(".")[2].lower()
    if "://" not in path:
        if not Path(path).is_file():
            raise ConfigurationError(f"cannot read {path!r}: no such file")
    elif ending in ("jsonl", "ndjson", "csv", "tsv"):
        # Without the URL, which may contain credentials.
        raise ConfigurationError(
            f"only Parquet (.parquet) can be read from a URL; pass the path of a local .{ending}"
            " file"
        )
    if ending in ("jsonl", "ndjson"):
        return _JsonLines(Path(path))
    if ending in ("csv", "tsv"):
        return _Csv(Path(path), "\t" if ending == "tsv" else ",")
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
    def __init__(self, path: Path, delimiter: str) -> None:
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
                for row in csv.DictReader(file, delimiter=self._delimiter):
                    row.pop(cast("Any", None), None)  # what is beyond the last column
                    yield as_json(row)
        except UnicodeDecodeError as error:
            raise ConfigurationError(f"{str(self._path)!r} is not UTF-8 text") from error
        finally:
            csv.field_size_limit(limit)


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
        known: int | None,
        fingerprint: str | None = None,
    ) -> None:
        self._rows = rows
        self._known = known
        self._fingerprint = fingerprint

    @property
    def fingerprint(self) -> str | None:
        return self._fingerprint

    def count(self) -> int | None:
        return self._known

    def __iter__(self) -> Iterator[bytes]:
        return map(as_json, self._rows())


def _of_pandas(frame: Any) -> Iterator[dict[str, Any]]:
    names = [str(name) for name in frame.columns]
    for values in frame.itertuples(index=False, name=None):
        yield dict(zip(names, values, strict=True))


def as_json(row: Mapping[str, Any]) -> bytes:
    """Return a row as a JSON object; values unknown to JSON become strings, NaN becomes null."""
    return json_bytes(row)


def json_bytes(value: object) -> bytes:
    """Return a value as JSON in UTF-8, on one line; see `as_json`."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):  # something that JSON cannot express
        value = _plain(value)
        text = json.dumps(value, ensure_ascii=False)
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a character
        return json.dumps(value).encode()


def _plain(value: Any) -> Any:
    """Return a value as JSON can express it, with whatever it contains."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, (str, bool)):
        return cast("Any", value)
    if isinstance(value, int):
        return int(value) if abs(value) < _TOO_LONG else hex(value)
    if isinstance(value, Mapping):
        entries = cast("Mapping[Any, Any]", value).items()
        return {str(key): _plain(item) for key, item in entries}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in cast("Iterable[Any]", value)]
    if isinstance(value, (bytes, bytearray)):
        return value.decode("utf-8", "backslashreplace")
    # numpy's arrays and numbers
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if hasattr(value, "to_list"):  # a list in Polars
        return _plain(value.to_list())
    return None if type(value).__name__ in ("NaTType", "NAType") else str(value)


# Python refuses to convert longer numbers to text.
_TOO_LONG = 10**4_000


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


def numbered(
    rows: Rows, columns: Columns, where: Where | None = None
) -> Generator[Row, None, None]:
    """Yield the selected rows, each with its number and its id.

    Args:
        rows: The input.
        columns: The names of its columns.
        where: The filter; None for all rows.
    """
    named: bool | None = None
    with closing(_Counted()) as seen:
        for number, raw in enumerate(rows):
            if named is None:
                named = columns.id is not None or "id" in (mapping_of(raw) or {})
            name = None if named else seen.name(raw)
            if where is None or where.wants(mapping_of(raw)):
                yield Row(number, name, raw)


def mapping_of(raw: bytes) -> dict[str, Any] | None:
    """Parse a row; return None if it is no JSON object."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


class _Counted:
    """Name rows by their content, equal ones with a counter.

    The hashes are stored in a temporary SQLite file: they grow with the input, and the memory of
    the process must not.
    """

    def __init__(self) -> None:
        # Rows are read by one thread at a time, but not always the same one.
        self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._file.execute("PRAGMA journal_mode=OFF")
        self._file.execute("CREATE TABLE seen (hash BLOB PRIMARY KEY, n INTEGER) WITHOUT ROWID")
        self._file.execute("BEGIN")

    def name(self, raw: bytes) -> str:
        digest = hashlib.blake2b(raw, digest_size=8).digest()
        if self._file.execute("INSERT OR IGNORE INTO seen VALUES (?, 1)", (digest,)).rowcount:
            return digest.hex()
        self._file.execute("UPDATE seen SET n = n + 1 WHERE hash = ?", (digest,))
        (n,) = self._file.execute("SELECT n FROM seen WHERE hash = ?", (digest,)).fetchone()
        return f"{digest.hex()}-{n}"

    def close(self) -> None:
        self._file.close()


_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_READ = (
    *(ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.Compare),
    *(ast.Name, ast.Load, ast.Constant, ast.List, ast.Tuple, *_COMPARED),
)


class Where:
    """A filter for rows: comparisons of columns, joined by `and`, `or` and `not`.

    Only comparisons, column names, numbers, strings, lists and `len(column)` are supported; nothing
    else of Python is, and no code is run. A row for which a comparison is impossible, such as of a
    string with a number, is not selected.

    Args:
        text: The expression, such as `lang == 'de' and len(response) > 200`.

    Raises:
        ConfigurationError: It is anything else.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError) as error:
            raise ConfigurationError(f"cannot parse --where {text!r}: {error}") from None
        for node in ast.walk(self._tree):
            if not isinstance(node, _READ) and not _is_len(node):
                raise ConfigurationError(
                    f"--where {text!r} may only compare columns, without {type(node).__name__};"
                    " write for example `lang == 'de' and len(response) > 200`"
                )

    def wants(self, row: Mapping[str, Any] | None) -> bool:
        """Return whether a row is selected; an invalid one is, so that it is reported."""
        if row is None:
            return True
        try:
            return bool(_value(self._tree.body, row))
        except (TypeError, KeyError):
            return False


def _is_len(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "len"
        and len(node.args) == 1
        and not node.keywords
    )


def _value(node: ast.expr, row: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.BoolOp):
        every = isinstance(node.op, ast.And)
        return (all if every else any)(_value(value, row) for value in node.values)
    if isinstance(node, ast.UnaryOp):
        value = _value(node.operand, row)
        return not value if isinstance(node.op, ast.Not) else -value
    if isinstance(node, ast.Compare):
        return _compared(node, row)
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(item, row) for item in node.elts]
    if isinstance(node, ast.Call):
        return len(_value(node.args[0], row))
    return row[node.id] if isinstance(node, ast.Name) else cast("ast.Constant", node).value


def _compared(node: ast.Compare, row: Mapping[str, Any]) -> bool:
    left = _value(node.left, row)
    for test, other in zip(node.ops, node.comparators, strict=True):
        right = _value(other, row)
        if not _COMPARED[type(test)](left, right):
            return False
        left = right
    return True
