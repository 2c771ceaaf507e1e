"""What a calibration found, as rows of a table: on a terminal and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from rich.console import Console
from rich.table import Table
from rich.text import Text

from resay.calibration.plot import svg_of
from resay.calibration.result import Calibration, percent

__all__ = ["html_of", "print_calibration"]

_FIGURES = (
    ("correct responses flagged", "passage_fpr"),
    ("hallucinated responses flagged", "passage_recall"),
    ("correct sentences flagged", "sentence_fpr"),
    ("hallucinated sentences flagged", "sentence_recall"),
)
_RANKINGS = (
    ("ROC-AUC, responses", "passage_roc_auc"),
    ("average precision, responses", "passage_average_precision"),
    ("ROC-AUC, sentences", "sentence_roc_auc"),
    ("average precision, sentences", "sentence_average_precision"),
)

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root{{color-scheme:light dark}}
body{{font:15px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}}
svg{{max-width:100%;height:auto}}
table{{border-collapse:collapse;margin:1rem 0}}
th,td{{text-align:left;padding:.25rem 1rem .25rem 0;border-bottom:1px solid #8884}}
</style>
</head>
<body>
<h1>{title}</h1>
{text}
{table}
{svg}</body>
</html>
"""


def print_calibration(calibration: Calibration, console: Console) -> None:
    """Print what was found.

    Args:
        calibration: It.
        console: Where to.
    """
    for line in _lines(calibration):
        console.print(Text(line))
    console.print()
    table = Table.grid(padding=(0, 3))
    for row in _rows(calibration):
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    console.print()
    for line in _remarks(calibration):
        console.print(Text(line, "dim"))


def html_of(calibration: Calibration) -> str:
    """Return what was found as a page that needs nothing else, and holds no word of a response.

    Args:
        calibration: It.
    """
    head, *rows = _rows(calibration)
    body = "\n".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    text = "\n".join(f"<p>{escape(line)}</p>" for line in _lines(calibration))
    remarks = "\n".join(f"<p>{escape(line)}</p>" for line in _remarks(calibration))
    table = f"<table>\n<tr>{_cells('th', head)}</tr>\n{body}\n</table>\n{remarks}"
    title = escape(f"Calibration with {calibration.labels}, {calibration.date}")
    return _PAGE.format(title=title, text=text, table=table, svg=svg_of(calibration))


def _cells(tag: str, row: tuple[str, ...]) -> str:
    return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)


def _lines(calibration: Calibration) -> Iterator[str]:
    counts = calibration.counts
    yield (
        f"{counts.rows} labelled responses. Thresholds rest on {len(calibration.outcomes)}:"
        f" {counts.correct} correct, {counts.hallucinated} hallucinated"
        + (
            f"; sentences: {counts.correct_sentences} correct,"
            f" {counts.hallucinated_sentences} hallucinated."
            if counts.correct_sentences + counts.hallucinated_sentences
            else "."
        )
    )
    if counts.inconclusive:
        yield f"Left out: {counts.inconclusive} whose check is inconclusive, incomplete or skipped."
    for promise in calibration.promises():
        yield f"Promised: {promise}."


def _rows(calibration: Calibration) -> Iterator[tuple[str, ...]]:
    new, old = calibration.policy.threshold, calibration.old.threshold
    yield "", "before", "now"
    yield "threshold.passage", _limit(old.passage), _limit(new.passage)
    yield "threshold.sentence", _limit(old.sentence), _limit(new.sentence)
    for name, key in _FIGURES:
        figure = getattr(calibration.figures, key)
        if figure.value is not None:
            yield name, percent(getattr(calibration.old_figures, key)), percent(figure)
    for name, key in _RANKINGS:
        figure = getattr(calibration.figures, key)
        if figure.value is not None:
            yield name, "", percent(figure)


def _limit(threshold: float | None) -> str:
    return "null" if threshold is None else f"{threshold:g}"


def _remarks(calibration: Calibration) -> Iterator[str]:
    yield (
        "Rates are those of the responses the thresholds rest on, with 95 % bootstrap intervals;"
        " of sentences, on average over responses. What is promised is about other responses."
    )
    fitted = calibration.fitted
    if fitted is not None:
        yield (
            f"Weights and bands were learned from {fitted.rows} other responses; before and now"
            " differ in thresholds only."
        )
        for place, share in zip(fitted.banded, fitted.share_settled, strict=False):
            yield f"chain[{place}] settles {100 * share:.0f} % of the sentences of those."
    for note in calibration.notes:
        yield f"{note[0].upper()}{note[1:]}."
