"""The command `resay report`: write verdicts to an HTML page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Protocol, cast

import typer

from resay._internal.entry_points import installed_names, load_installed
from resay._internal.patterns import lazy_pattern
from resay.commands import read_text, write_text
from resay.errors import ConfigurationError, MissingDependencyError
from resay.reporting.render.html import Reported, page

app = typer.Typer(add_completion=False)


class Reporter(Protocol):
    """Writes pages about files of another kind; installed in the group `resay.reports`."""

    def accepts(self, path: str, /, *, prefix: str) -> bool:
        """Return whether a file is of that kind."""
        ...

    def results_page(
        self, path: str, /, *, group: str | None, prefix: str, response: str, worst: int
    ) -> tuple[str, int, int]:
        """Return the page, and its numbers of rows and of flagged rows."""
        ...


_DECODER = json.JSONDecoder()
_SPACE = lazy_pattern(r"[ \t\r\n]*")


@app.command()
def report(
    file: Annotated[
        str,
        typer.Argument(
            help="The output of `ask --json`, `check --json` or Verdict.to_dict: one or more JSON"
            " documents, or a list; - reads stdin. Or the output of `batch`.",
            show_default=False,
        ),
    ],
    html: Annotated[
        Path, typer.Option("--html", help="The HTML file to write.", show_default=False)
    ],
    group: Annotated[
        str | None, typer.Option(help="For a batch: count by this column of its input.")
    ] = None,
    response: Annotated[
        str, typer.Option(help="For a batch: the column with the responses.")
    ] = "response",
    worst: Annotated[
        int, typer.Option(min=0, help="For a batch: the number of worst flagged rows to show.")
    ] = 50,
    prefix: Annotated[
        str, typer.Option(help="For a batch: the prefix of the verdict's columns.")
    ] = "",
) -> None:
    """Write verdicts to an HTML page that works offline."""
    if file != "-" and html.resolve() == Path(file).resolve():
        raise ConfigurationError(f"--html {str(html)!r} is also the input file; pass another file")
    for name in installed_names("resay.reports"):
        try:
            reporter: Reporter = load_installed("resay.reports", name)
        # The file may be none of its kind.
        except ConfigurationError as error:
            typer.echo(f"{error}; it is left out", err=True)
            continue
        if reporter.accepts(file, prefix=prefix):
            text, rows, flagged = reporter.results_page(
                file, group=group, prefix=prefix, response=response, worst=worst
            )
            write_text(html, text)
            typer.echo(f"{html}: {rows:,} row{'s' * (rows > 1)}, {flagged:,} flagged")
            return
    if file.endswith(".parquet"):
        raise _missing_lab()
    if group is not None:
        raise ConfigurationError(f"{file!r} is not an output of `resay batch`; omit --group")
    verdicts = [_reported(where, data) for where, data in _documents(file)]
    if not verdicts:
        raise ConfigurationError(
            f"{file!r} contains no verdict; pass an output of `resay check --json`"
        )
    write_text(html, page(verdicts, title="stdin" if file == "-" else Path(file).name))
    flagged = sum(reported.verdict.flagged for reported in verdicts)
    typer.echo(f"{html}: {len(verdicts)} verdict{'s' * (len(verdicts) > 1)}, {flagged} flagged")


def _reported(where: str, data: object) -> Reported:
    if not isinstance(data, dict):
        raise ConfigurationError(f"{where}: a verdict must be an object, not {type(data).__name__}")
    row = cast("dict[str, Any]", data)
    try:
        return Reported.from_dict(row)
    except ConfigurationError as error:
        prefix = _batch_prefix(row)
        if prefix is None:
            raise ConfigurationError(f"{where}: {error}") from None
        if "batch" not in installed_names("resay.reports"):
            raise _missing_lab() from None
        option = f", with --prefix {prefix!r}" if prefix else ""
        raise ConfigurationError(
            f"{where}: this is a row of a batch; pass its .jsonl or .parquet file{option}"
        ) from None


def _missing_lab() -> MissingDependencyError:
    return MissingDependencyError("resay-lab", "lab", "a report of a batch")


def _batch_prefix(row: Mapping[str, object]) -> str | None:
    """Return what the names of a batch's columns begin with; None if this is no row of a batch."""
    for name in row:
        prefix = name.removesuffix("claims")
        if prefix != name and f"{prefix}decision" in row and f"{prefix}error" in row:
            return prefix
    return None


def _documents(file: str) -> Iterator[tuple[str, object]]:
    """Yield the JSON documents in a file, each with its location."""
    text = read_text(file)
    at, line = _after_space(text, 0), 1
    line += text.count("\n", 0, at)
    several = False
    while at < len(text):
        data, end = _parsed(f"{file}:{line}", text, at)
        end = _after_space(text, end)
        several = several or end < len(text)
        where = f"{file}:{line}" if several else file
        if isinstance(data, list):
            for i, item in enumerate(cast("list[object]", data)):
                yield f"{where}[{i}]", item
        else:
            yield where, data
        line += text.count("\n", at, end)
        at = end


def _after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _parsed(where: str, text: str, at: int) -> tuple[object, int]:
    """Return the document that begins at an offset, and its end offset."""
    try:
        return _DECODER.raw_decode(text, at)
    except ValueError as error:
        raise ConfigurationError(f"{where}: not valid JSON: {error}") from None
    except RecursionError:
        raise ConfigurationError(f"{where}: nested too deeply for a verdict") from None
