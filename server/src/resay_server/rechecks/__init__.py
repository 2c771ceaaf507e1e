"""Recorded answers, checked again by other policies. What is recorded stays as it is."""

from resay_server.rechecks.comparison import ComparedAnswer, Comparison, SideFigures
from resay_server.rechecks.rechecker import (
    Rechecker,
    UncheckableEntryError,
    calls_reason,
    guard_for_rechecks,
    recorded_verdict,
)
from resay_server.rechecks.report import comparison_lines, html_of
from resay_server.rechecks.runs import RECORDED, compare_policies

__all__ = [
    "RECORDED",
    "ComparedAnswer",
    "Comparison",
    "Rechecker",
    "SideFigures",
    "UncheckableEntryError",
    "calls_reason",
    "compare_policies",
    "comparison_lines",
    "guard_for_rechecks",
    "html_of",
    "recorded_verdict",
]
