"""Checks of many answers: a run over a file that can be stopped, resumed and distributed."""

from resay.batch.engines import Engine, Local, Ray, engine_of
from resay.batch.estimate import Estimate, estimate
from resay.batch.results import Results, results_page
from resay.batch.rows import Columns, Row, Rows, Where, open_rows
from resay.batch.run import Failure, Progress, Summary, Tally, run_batch
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
