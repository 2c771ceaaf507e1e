"""What each step of the chain did."""

from __future__ import annotations

from collections.abc import Sequence

from resay.core.verdict import StepRecord
from resay.reporting.render.html.figures import chip, scrolling, seconds
from resay.reporting.render.html.markup import Html, tag
from resay.reporting.render.texts import cost

__all__ = ["step_table"]

_COLUMNS = ("Step", "Sentences", "Score", "Cost", "Time", "Failed calls", "Unreadable", "Notes")


def step_table(steps: Sequence[StepRecord]) -> Html:
    """Return one row per step.

    Args:
        steps: The steps, in order.
    """
    heads = tag("tr", *(tag("th", name, scope="col") for name in _COLUMNS))
    table = tag("table", tag("thead", heads), tag("tbody", *map(_row, steps)))
    return scrolling(table, "What each step did")


def _row(step: StepRecord) -> Html:
    failures = ", ".join(f"{kind} x{count}" for kind, count in step.failures.items())
    skipped = f"skipped: {step.skipped}" if step.skipped else None
    notes = [note for note in (skipped, step.note, step.why) if note]
    return tag(
        "tr",
        tag("th", step.method, scope="row"),
        tag("td", str(step.sentences), class_="number"),
        tag("td", chip(step.score)),
        tag("td", cost(step.usage)),
        tag("td", seconds(step.elapsed_s), class_="number"),
        tag("td", failures or "none"),
        tag("td", str(step.undetermined), class_="number"),
        tag("td", *(tag("p", note, dir="auto") for note in notes), class_="long"),
    )
