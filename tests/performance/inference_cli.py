"""The command `python -m performance inference`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeVar

import typer

from performance import inference as inference_bench
from resay.commands import JsonOption
from resay.errors import ConfigurationError
from resay_lab.benchmarks.bench import (
    DataOption,
    MarkdownOption,
    RowsOption,
    bad_parameter,
    format_of,
    print_result,
    slice_of,
)

__all__ = ["inference"]

NameT = TypeVar("NameT", bound=str)


def inference(
    data: DataOption = None,
    shapes: Annotated[
        str,
        typer.Option(
            help="The shapes of DeBERTa-v3 that nli is measured with, separated by commas:"
            f" {', '.join(inference_bench.SHAPES)}."
        ),
    ] = "xsmall,base",
    parts: Annotated[
        str,
        typer.Option(
            help=f"What is measured, separated by commas: {', '.join(inference_bench.PARTS)}."
        ),
    ] = ",".join(inference_bench.PARTS),
    rows: RowsOption = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure the neural methods on this machine, with random weights of published shapes."""
    form = format_of(as_json, as_markdown)
    with bad_parameter("--shapes"):
        chosen_shapes = _named(shapes, inference_bench.SHAPES)
    with bad_parameter("--parts"):
        chosen_parts = _named(parts, inference_bench.PARTS)
    print_result(
        inference_bench.run(data, slice_of(rows), shapes=chosen_shapes, parts=chosen_parts), form
    )


def _named(names: str, choices: Sequence[NameT]) -> list[NameT]:
    """Return what is named, each once."""
    named = dict.fromkeys(name.strip() for name in names.split(",") if name.strip())
    for name in named:
        if name not in choices:
            raise ConfigurationError(f"unknown name {name!r}; choose from {', '.join(choices)}")
    if not named:
        raise ConfigurationError(f"nothing is named in {names!r}; choose from {', '.join(choices)}")
    return [name for name in choices if name in named]
