"""The rows of a benchmark's files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from resay.errors import ConfigurationError

ModelT = TypeVar("ModelT", bound=BaseModel)


class DataRow(BaseModel):
    """Base class of rows; copies of a data set may have more fields than needed."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def read_lines(path: Path) -> list[bytes]:
    """Return a file's lines.

    Raises:
        ConfigurationError: The file cannot be read.
    """
    try:
        return path.read_bytes().splitlines()
    except OSError as error:
        raise ConfigurationError(f"cannot read {str(path)!r}: {error.strerror}") from error


def choose_rows(lines: Sequence[bytes], rows: slice, path: Path) -> range:
    """Return the numbers of the selected rows.

    Args:
        lines: The file's lines.
        rows: Which of them to select.
        path: The file, for the message.

    Returns:
        Their numbers, from 0.

    Raises:
        ConfigurationError: No row is selected.
    """
    chosen = range(len(lines))[rows]
    if not chosen:
        raise ConfigurationError(f"no row is left of the {len(lines)} in {str(path)!r}")
    return chosen


def parse_row(model: type[ModelT], lines: Sequence[bytes], index: int, path: Path) -> ModelT:
    """Parse one row.

    Args:
        model: The model to parse it into.
        lines: The file's lines.
        index: The row's number, from 0.
        path: The file, for the message.

    Raises:
        ConfigurationError: The row does not exist, or does not match the model.
    """
    if index >= len(lines):
        raise ConfigurationError(f"{str(path)!r} has no row {index!r}")
    try:
        return model.model_validate_json(lines[index])
    except ValidationError as error:
        raise ConfigurationError(
            f"{str(path)!r}, line {index + 1}: {first_problem(error)}"
        ) from error


def first_problem(error: Exception) -> str:
    """Return the first line of an error, or the first problem of an invalid model."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
    return str(error).partition("\n")[0]
