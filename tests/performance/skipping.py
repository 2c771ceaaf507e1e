"""What cannot be measured on a machine is left out, with the reason."""

from __future__ import annotations

from collections.abc import Callable

import typer

from resay.errors import ConfigurationError
from resay_lab.benchmarks.bench import TableFormat, print_result, progress
from resay_lab.benchmarks.table import ResultTable

__all__ = ["SkippedError", "print_measured"]


class SkippedError(Exception):
    """A part cannot be measured here; says why."""


def print_measured(
    name: str,
    total: int,
    measure: Callable[[Callable[[], object]], ResultTable],
    form: TableFormat,
) -> None:
    """Measure, and print what was found, or why nothing was.

    Args:
        name: The bench's name.
        total: How many steps there are.
        measure: Measures, and calls what it is given after each step.
        form: How it is printed.
    """
    try:
        with progress(name, total) as done:
            table = measure(done)
    except (ConfigurationError, SkippedError) as error:
        typer.echo(f"{name} skipped: {error}", err=True)
        return
    print_result(table, form)
