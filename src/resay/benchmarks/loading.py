"""Reads the files of a benchmark: one JSON document on each line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from resay.errors import ConfigurationError

__all__ = ["Lenient", "choose_rows", "parse_row", "read_lines"]

ModelT = TypeVar("ModelT", bound=BaseModel)


class Lenient(BaseModel):
    """The base of what a line is read into. Copies of a data set come with more than is needed."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def read_lines(path: Path) -> list[bytes]:
    """Return a file's lines.

    Raises:
        ConfigurationError: It cannot be read.
    """
    try:
        return path.read_bytes().splitlines()
    except OSError as error:
        raise ConfigurationError(f"cannot read {str(path)!r}: {error.strerror}") from error


def choose_rows(lines: Sequence[bytes], rows: slice, path: Path) -> range:
    """Return the numbers of the rows a user wants.

    Args:
        lines: The file's lines.
        rows: Which of them are wanted.
        path: The file, for the message.

    Returns:
        Their numbers, from 0.

    Raises:
        ConfigurationError: There is none.
    """
    chosen = range(len(lines))[rows]
    if not chosen:
        raise ConfigurationError(f"no row is left of the {len(lines)} in {str(path)!r}")
    return chosen


def parse_row(model: type[ModelT], lines: Sequence[bytes], index: int, path: Path) -> ModelT:
    """Read one row.

    Args:
        model: What it is read into.
        lines: The file's lines.
        index: The row's number, from 0.
        path: The file, for the message.

    Raises:
        ConfigurationError: There is no such row, or it is not of this shape.
    """
    if index >= len(lines):
        raise ConfigurationError(f"{str(path)!r} has no row {index!r}")
    try:
        return model.model_validate_json(lines[index])
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        what = ": ".join(filter(None, (where, first["msg"])))
        raise ConfigurationError(f"{str(path)!r}, line {index + 1}: {what}") from error
