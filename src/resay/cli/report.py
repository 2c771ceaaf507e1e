"""The command `resay report`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from resay.cli.files import read_text
from resay.errors import ConfigurationError
from resay.report.html import Reported, page

__all__ = ["report"]


def report(
    file: Annotated[
        str,
        typer.Argument(
            help="What `ask --json`, `check --json` or Verdict.to_dict wrote: one object, a list,"
            " or one per line; - reads stdin.",
            show_default=False,
        ),
    ],
    html: Annotated[Path, typer.Option("--html", help="The page to write.", show_default=False)],
) -> None:
    """Make a page of verdicts that opens in any browser, without a network."""
    verdicts = [_reported(where, data) for where, data in _documents(file)]
    if not verdicts:
        raise ConfigurationError(f"{file!r} holds no verdict; pass what `resay check --json` wrote")
    if file != "-" and html.resolve() == Path(file).resolve():
        raise ConfigurationError(f"--html {str(html)!r} is the file to read; name another one")
    _write(html, page(verdicts, title="stdin" if file == "-" else Path(file).name))
    flagged = sum(one.verdict.flagged for one in verdicts)
    typer.echo(f"{html}: {len(verdicts)} verdict{'s' * (len(verdicts) > 1)}, {flagged} flagged")


def _reported(where: str, data: object) -> Reported:
    if not isinstance(data, dict):
        raise ConfigurationError(f"{where}: a verdict is an object, not {type(data).__name__}")
    try:
        return Reported.from_dict(cast("dict[str, Any]", data))
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from None


def _documents(file: str) -> Iterator[tuple[str, object]]:
    """Yield what a file holds, each with where that is."""
    text = read_text(file)
    lines = [(i, line) for i, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) > 1 and _reads(lines[0][1]):
        for i, line in lines:
            yield f"{file}:{i}", _parsed(f"{file}:{i}", line)
        return
    if not lines:
        return
    data = _parsed(file, text)
    if isinstance(data, list):
        for i, item in enumerate(cast("list[object]", data)):
            yield f"{file}[{i}]", item
    else:
        yield file, data


def _reads(line: str) -> bool:
    """Return whether a line is a document of its own: then so are the others."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _parsed(where: str, text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"{where}: it is not valid JSON: {error}") from None
    except RecursionError:
        raise ConfigurationError(f"{where}: it is nested too deeply to be a verdict") from None


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"cannot write {str(path)!r}: {error.strerror}") from error
