"""Checks of many answers: a run over a file that can be stopped, resumed and distributed."""

from resay_lab.batch.columns import Columns
from resay_lab.batch.engines import Engine, Local, Ray, engine_of
from resay_lab.batch.estimate import Estimate, estimate
from resay_lab.batch.filters import Where
from resay_lab.batch.frames import check_frame
from resay_lab.batch.inputs import Rows, open_rows
from resay_lab.batch.progress import Failure, Progress, Summary, Tally
from resay_lab.batch.reasons import ReasonCount
from resay_lab.batch.report import results_page
from resay_lab.batch.results import Results
from resay_lab.batch.rows import Row
from resay_lab.batch.run import run_batch
from resay_lab.batch.scoring import RowScorer, Scored

__all__ = [
    "Columns",
    "Engine",
    "Estimate",
    "Failure",
    "Local",
    "Progress",
    "Ray",
    "ReasonCount",
    "Results",
    "Row",
    "RowScorer",
    "Rows",
    "Scored",
    "Summary",
    "Tally",
    "Where",
    "check_frame",
    "engine_of",
    "estimate",
    "open_rows",
    "results_page",
    "run_batch",
]
