"""What the rows and notes of all benchmarks say in the same way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from resay.benchmarks.judges import BenchJudge
from resay.benchmarks.measuring import Measured
from resay.benchmarks.table import Column
from resay.core.verdict import tally

__all__ = ["COST_COLUMNS", "cost_of", "failures_of"]

COST_COLUMNS = (
    Column("calls", "calls", 1),
    Column("tokens", "tokens", 0),
    Column("seconds", "s", 4),
)
"""The columns of what `cost_of` returns."""


def cost_of(results: Sequence[Measured], judge: BenchJudge | None) -> dict[str, float | None]:
    """Return the means of calls, tokens and seconds.

    Args:
        results: What was measured, at least one.
        judge: Who was asked, if anybody.

    Returns:
        Values by the keys of `COST_COLUMNS`; `tokens` is None where the judge reports none.
    """
    tokens = fmean(r.usage.tokens for r in results)
    return {
        "calls": round(fmean(r.usage.calls for r in results), 2),
        "tokens": None if judge and not judge.reports_tokens else round(tokens, 1),
        "seconds": round(fmean(r.seconds for r in results), 5),
    }


def failures_of(name: str, results: Sequence[Measured]) -> Iterator[str]:
    """Yield a note about calls that failed, where there are any.

    Args:
        name: The entry's name.
        results: What was measured.
    """
    failures = [failure for result in results for failure in result.scores.failures]
    if failures:
        calls = sum(result.usage.calls for result in results)
        lost = f"{len(failures)} of {calls} calls failed and are left out"
        yield f"{name}: {lost} ({tally(failures)})."
