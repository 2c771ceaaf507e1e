"""Fits thresholds, weights and bands to labelled responses, with a guarantee.

`calibrate` does it all; its building blocks are public for callers with scores of their own.
"""

from __future__ import annotations

from resay.calibration.agreement import Agreement, agreements
from resay.calibration.api import acalibrate, calibrate, default_targets
from resay.calibration.bands import fit_bands
from resay.calibration.draws import Candidate, draw_entries
from resay.calibration.drift import Drift, Shift, check_drift, read_verdicts
from resay.calibration.figures import Figure, Figures, measure_figures
from resay.calibration.journal_labels import (
    FeedbackCounts,
    LabelledEntries,
    aread_journal_labels,
    read_journal_labels,
)
from resay.calibration.labels import LabelledRow, LabelledSentence, read_labels
from resay.calibration.proposals import Proposal
from resay.calibration.result import Calibration, Counts
from resay.calibration.runner import Outcome
from resay.calibration.targets import Guarantee, Target
from resay.calibration.thresholds import fit_thresholds

__all__ = [
    "Agreement",
    "Calibration",
    "Candidate",
    "Counts",
    "Drift",
    "FeedbackCounts",
    "Figure",
    "Figures",
    "Guarantee",
    "LabelledEntries",
    "LabelledRow",
    "LabelledSentence",
    "Outcome",
    "Proposal",
    "Shift",
    "Target",
    "acalibrate",
    "agreements",
    "aread_journal_labels",
    "calibrate",
    "check_drift",
    "default_targets",
    "draw_entries",
    "fit_bands",
    "fit_thresholds",
    "measure_figures",
    "read_journal_labels",
    "read_labels",
    "read_verdicts",
]
