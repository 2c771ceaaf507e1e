"""Checks of many answers: a run over a file that can be stopped, resumed and distributed."""

from resay.batch.columns import Columns
from resay.batch.engines import Engine, Local, Ray, engine_of
from resay.batch.estimate import Estimate, estimate
from resay.batch.filters import Where
from resay.batch.inputs import Rows, open_rows
from resay.batch.progress import Failure, Progress, Summary, Tally
from resay.batch.results import Results, results_page
from resay.batch.rows import Row
from resay.batch.run import run_batch
from resay.batch.scoring import RowScorer, Scored

__all__ = [
    "Columns",
    "Engine",
    "Estimate",
    "Failure",
    "Local",
    "Progress",
    "Ray",
    "Results",
    "Row",
    "RowScorer",
    "Rows",
    "Scored",
    "Summary",
    "Tally",
    "Where",
    "engine_of",
    "estimate",
    "open_rows",
    "results_page",
    "run_batch",
]
