"""The command `resay index`: index a folder of documents."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from resay._internal.event_loops import run_sync
from resay._internal.plurals import counted
from resay.core.documents import Document
from resay.retrieval import FolderRetriever, IndexReport, index_folder
from resay.retrieval.folder_languages import STEMMED_LANGUAGES, is_folder_language

app = typer.Typer(add_completion=False)

_MOST_LINES = 20
_MOST_CHARS = 100


@app.command()
def index(
    folder: Annotated[Path, typer.Argument(help="The folder to index.", show_default=False)],
    index: Annotated[
        Path | None,
        typer.Option(help="The index file.", show_default=".resay-index.sqlite in the folder"),
    ] = None,
    search: Annotated[
        str | None, typer.Option(help="Also search for this text.", show_default=False)
    ] = None,
    language: Annotated[
        str,
        typer.Option(help="The language of the files: en, de, ..., auto or none."),
    ] = "auto",
    k: Annotated[int, typer.Option("-k", min=1, help="The number of documents to find.")] = 5,
) -> None:
    """Index a folder of text, Markdown and PDF files to search for evidence."""
    # The report lists damaged files more clearly than pypdf's warnings do.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    if not is_folder_language(language):
        raise typer.BadParameter(
            f"must be auto, none or one of {', '.join(STEMMED_LANGUAGES)}, not {language!r}",
            param_hint="--language",
        )
    _print_report(index_folder(folder, index, language=language))
    if search is not None:
        retriever = FolderRetriever(folder, index=index, refresh=False)
        _print_documents(run_sync(lambda: retriever.retrieve(search, k=k)))


def _print_report(report: IndexReport) -> None:
    _print_paths("added", report.added)
    _print_paths("changed", report.changed)
    _print_paths("removed", report.removed)
    for skipped in report.skipped:
        typer.echo(f"skipped: {skipped.path}: {skipped.reason}")
    typer.echo(
        f"{len(report.added)} added, {len(report.changed)} changed, {len(report.removed)} removed,"
        f" {len(report.unchanged)} unchanged, {len(report.skipped)} skipped;"
        f" {counted(report.documents, 'document')}"
    )


def _print_paths(what: str, paths: Sequence[str]) -> None:
    for path in paths[:_MOST_LINES]:
        typer.echo(f"{what}: {path}")
    if len(paths) > _MOST_LINES:
        typer.echo(f"{what}: and {len(paths) - _MOST_LINES} more")


def _print_documents(documents: Sequence[Document]) -> None:
    if not documents:
        typer.echo("nothing found")
    for document in documents:
        lines = [line for line in document.text.splitlines() if line.strip()]
        # A heading alone does not show whether a section answers the question.
        line = next((line for line in lines if not line.startswith("#")), lines[0])
        short = line if len(line) <= _MOST_CHARS else f"{line[:_MOST_CHARS]}…"
        typer.echo(f"{document.id}  {document.score:.2f}  {short}")
