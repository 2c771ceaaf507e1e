"""Fits thresholds, weights and bands to labelled responses, with a guarantee.

`calibrate` does it all; its building blocks are public for callers with scores of their own.
"""

from __future__ import annotations

from resay_lab.calibration.api import acalibrate, calibrate, default_targets
from resay_lab.calibration.bands import fit_bands
from resay_lab.calibration.drift import Drift, Shift, check_drift
from resay_lab.calibration.figures import Figure, Figures, measure_figures
from resay_lab.calibration.journal_labels import (
    FeedbackCounts,
    LabelledEntries,
    aread_journal_labels,
    read_journal_labels,
)
from resay_lab.calibration.labels import LabelledRow, LabelledSentence, read_labels
from resay_lab.calibration.logs import read_verdicts
from resay_lab.calibration.proposals import Proposal
from resay_lab.calibration.result import Calibration, Counts
from resay_lab.calibration.runner import Outcome
from resay_lab.calibration.targets import Guarantee, Target
from resay_lab.calibration.thresholds import fit_thresholds

__all__ = [
    "Calibration",
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
    "aread_journal_labels",
    "calibrate",
    "check_drift",
    "default_targets",
    "fit_bands",
    "fit_thresholds",
    "measure_figures",
    "read_journal_labels",
    "read_labels",
    "read_verdicts",
]
