"""How an answer was mended, on the terminal: what was searched, found and changed."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from resay.core.verdict import Attempt, Edit, Regeneration
from resay.reporting.render.texts import clean, cost

__all__ = ["print_regeneration"]


def print_regeneration(regeneration: Regeneration, console: Console) -> None:
    """Print how an answer was mended, or was to be.

    Args:
        regeneration: How.
        console: Where to.
    """
    console.print(Text.assemble((_headline(regeneration), "bold"), f"  {regeneration.reason}"))
    for number, attempt in enumerate(regeneration.attempts, 1):
        for line in _attempt(number, attempt):
            console.print(Padding(line, (0, 0, 0, 2)))
    for edit in regeneration.edits:
        for line in _edit(edit):
            console.print(Padding(line, (0, 0, 0, 2)))
    for number, source in enumerate(regeneration.sources, 1):
        name = source.id if source.title == source.id else f"{source.title} ({source.id})"
        console.print(Padding(Text(f"[{number}] {clean(name)}", "cyan"), (0, 0, 0, 2)))


def _headline(regeneration: Regeneration) -> str:
    if regeneration.adopted is None:
        return "NOT REGENERATED"
    return "REPAIRED" if regeneration.mode == "repair" else "REWRITTEN"


def _attempt(number: int, attempt: Attempt) -> Iterator[Text]:
    found = f"{len(attempt.documents)} documents"
    scores = f"score {_score(attempt.score_before)} -> {_score(attempt.score_after)}"
    told = f"attempt {number}: {found}, {scores}, {cost(attempt.usage)}, {attempt.elapsed_s:.1f} s"
    yield Text(told, "dim")
    for query in attempt.queries:
        yield Text(f"  searched: {clean(query)}", "dim")
    if attempt.documents:
        yield Text(f"  found: {clean(', '.join(attempt.documents))}", "dim")
    if attempt.note:
        yield Text(f"  {attempt.note}", "yellow")


def _edit(edit: Edit) -> Iterator[Text]:
    yield Text(f"- {clean(edit.before)}", "red")
    sources = f"  ({', '.join(edit.sources)})" if edit.sources else ""
    yield Text(f"+ {clean(edit.after or '(removed)')}{clean(sources)}", "green")


def _score(score: float | None) -> str:
    return "?" if score is None else f"{score:.2f}"
