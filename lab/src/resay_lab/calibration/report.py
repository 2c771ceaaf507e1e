"""Renders a calibration for the terminal, and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from markupsafe import Markup
from rich.console import Console
from rich.table import Table
from rich.text import Text

from resay.adapters import pages
from resay.adapters.terminal import counted
from resay_lab.calibration.diagrams import diagram_values, static_file, templates
from resay_lab.calibration.drift import Drift
from resay_lab.calibration.figures import percent
from resay_lab.calibration.result import Calibration

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


def print_calibration(calibration: Calibration, console: Console) -> None:
    """Print a calibration.

    Args:
        calibration: The calibration.
        console: The console to print on.
    """
    for line in _lines(calibration):
        console.print(Text(line))
    for warning in calibration.warnings():
        console.print(Text(f"Warning: {warning}.", "bold yellow"))
    console.print()
    _print_table(_rows(calibration), console)
    console.print()
    if calibration.trade_offs:
        _print_table(_trade_off_rows(calibration), console)
        console.print()
    for line in _remarks(calibration):
        console.print(Text(line, "dim"))


def _print_table(rows: Iterable[Sequence[str]], console: Console) -> None:
    table = Table.grid(padding=(0, 3))
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def drift_lines(drift: Drift) -> Iterator[str]:
    """Yield the lines that describe the drift of scores.

    Args:
        drift: The comparison of recent scores with the calibration.
    """
    names = {"responses": "scores of responses", "sentences": "greatest sentence scores"}
    for shift in drift.shifts:
        counts = f"{shift.now} now, {shift.before} in the calibration"
        if shift.drifted is None:
            yield f"{names[shift.unit]}: too few to tell ({counts}); at least 30 of each are needed"
            continue
        where = "higher" if shift.higher else "lower"
        result = f"drifted, {where} than they were" if shift.drifted else "look as they did"
        chance = "p < 0.0001" if shift.p_value < 0.0001 else f"p = {shift.p_value:.4f}"
        yield f"{names[shift.unit]}: {result} ({counts}; distance {shift.distance:.2f}, {chance})"
    if drift.left_out:
        left_out = counted(drift.left_out, "verdict")
        yield f"{left_out} inconclusive or skipped, and left out"
    yield from drift.notes
    if drift.drifted:
        yield "the guarantee does not cover responses like these; label some, and calibrate again"


def html_of(calibration: Calibration) -> str:
    """Return the calibration as a self-contained page, which contains no text of a response.

    Args:
        calibration: The calibration.
    """
    style = pages.stylesheet() + static_file("diagrams.css") + static_file("report.css")
    template = templates().get_template("report.html")
    return template.render(
        diagram_values(calibration),
        lines=_lines(calibration),
        rows=list(_rows(calibration)),
        trade_offs=list(_trade_off_rows(calibration)) if calibration.trade_offs else [],
        warnings=calibration.warnings(),
        remarks=_remarks(calibration),
        # It is ours, and escaping would change its hash.
        stylesheet=Markup(style),  # noqa: S704
        content_security_policy=pages.content_security_policy(style),
    )


def _lines(calibration: Calibration) -> Iterator[str]:
    counts = calibration.counts
    responses = counted(counts.rows, "labelled response")
    yield (
        f"{responses}. Thresholds rest on {len(calibration.outcomes)}:"
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
    alarms_before, alarms_now = calibration.flagged(False)
    hits_before, hits_now = calibration.flagged(True)
    if counts.correct or counts.hallucinated:
        yield (
            f"Flagged before and now: {alarms_before} and {alarms_now} of the {counts.correct}"
            f" correct, {hits_before} and {hits_now} of the {counts.hallucinated} hallucinated."
        )
    for promise in calibration.promises():
        yield f"Promised: {promise}."


def _rows(calibration: Calibration) -> Iterator[tuple[str, ...]]:
    new, old = calibration.policy.threshold, calibration.old.threshold
    yield "", "before", "now"
    yield "threshold.passage", _threshold(old.passage), _threshold(new.passage)
    yield "threshold.sentence", _threshold(old.sentence), _threshold(new.sentence)
    for name, key in _FIGURES:
        figure = getattr(calibration.figures, key)
        if figure.value is not None:
            yield name, percent(getattr(calibration.old_figures, key)), percent(figure)
    for name, key in _RANKINGS:
        figure = getattr(calibration.figures, key)
        if figure.value is not None:
            yield name, "", percent(figure)


def _trade_off_rows(calibration: Calibration) -> Iterator[tuple[str, ...]]:
    """Yield what is caught for the false alarms that one accepts."""
    unit = calibration.trade_offs[0].target.unit
    what = "responses" if unit == "passage" else "sentences"
    kind = "" if unit == "passage" else " (sentences)"
    yield f"if you accept false alarms{kind}", "you catch", "with threshold"
    for trade_off in calibration.trade_offs:
        accepted = f"{100 * trade_off.target.rate:g} %"
        if trade_off.threshold is None:
            missing = f"label {trade_off.missing} more correct {what}"
            yield accepted, "?", missing
            continue
        threshold = trade_off.threshold
        limits = f"sentence: {_threshold(threshold.sentence)}"
        if unit == "passage":
            limits = f"passage: {_threshold(threshold.passage)}, {limits}"
        caught = "?" if trade_off.caught is None else f"{100 * trade_off.caught:.0f} %"
        yield accepted, caught, limits


def _threshold(threshold: float | None) -> str:
    return "null" if threshold is None else f"{threshold:g}"


def _remarks(calibration: Calibration) -> Iterator[str]:
    feedback = calibration.feedback
    whose = "the responses the thresholds rest on"
    if feedback is not None and feedback.uncertain:
        whose = "all entries that were drawn, each with the weight of its draw"
    yield (
        f"Rates are those of {whose}, with 95 % bootstrap intervals; of sentences, on average over"
        " responses. The guarantee is about other responses."
    )
    fitted = calibration.fitted
    if fitted is not None:
        yield (
            f"Weights and bands were learned from {fitted.rows} other responses; before and now"
            " differ in thresholds only."
        )
        for index, share in zip(fitted.banded, fitted.share_settled, strict=False):
            yield f"chain[{index}] settles {100 * share:.0f} % of the sentences of those."
    for note in calibration.notes:
        yield f"{note[0].upper()}{note[1:]}."
