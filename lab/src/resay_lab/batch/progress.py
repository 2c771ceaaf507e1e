"""The progress and the result of a run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from resay_lab.batch.reasons import ReasonCount

Stopped = Literal["interrupted", "budget", "provider"]


@dataclass(slots=True)
class Tally:
    """The totals of a run so far.

    Attributes:
        rows: Number of finished rows.
        decisions: Number of rows per decision.
        errors: Number of failed rows per error type.
        calls: Requests sent for them.
        cost_usd: Their cost; NaN if a price is unknown.
    """

    rows: int = 0
    decisions: Counter[str] = field(default_factory=Counter[str])
    errors: Counter[str] = field(default_factory=Counter[str])
    calls: int = 0
    cost_usd: float = 0.0

    def add(self, decision: str, calls: int, cost_usd: float, error: str) -> None:
        """Count a finished row."""
        self.rows += 1
        if error:
            self.errors[error] += 1
        else:
            self.decisions[decision] += 1
        self.calls += calls
        self.cost_usd += cost_usd

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tally:
        """Return the totals that `to_dict` gave."""
        return cls(
            rows=data["rows"],
            decisions=Counter(data["decisions"]),
            errors=Counter(data["errors"]),
            calls=data["calls"],
            cost_usd=math.nan if data["cost_usd"] is None else data["cost_usd"],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the totals, JSON-ready."""
        return {
            "rows": self.rows,
            "decisions": dict(self.decisions),
            "errors": dict(self.errors),
            "calls": self.calls,
            "cost_usd": None if math.isnan(self.cost_usd) else self.cost_usd,
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run.

    Attributes:
        tally: The totals so far, including rows of earlier sessions.
        total: Number of rows in the whole run; None if unknown.
        new: Number of rows finished in this session.
        elapsed_s: Duration of this session so far.
    """

    tally: Tally
    total: int | None
    new: int
    elapsed_s: float

    @property
    def rate(self) -> float:
        """Rows per second in this session."""
        return self.new / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """Estimated seconds for the remaining rows; None if unknown."""
        if self.total is None or not self.rate:
            return None
        return max(self.total - self.tally.rows, 0) / self.rate


@dataclass(frozen=True, slots=True)
class Failure:
    """A row whose check failed.

    Attributes:
        row: Its number in the input, from 1.
        error: The error's type and message, as in the row's column `error`.
    """

    row: int
    error: str


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of a run.

    Attributes:
        out: The file with the results; it exists once all rows are finished.
        tally: The totals.
        new: Number of rows finished in this session.
        elapsed_s: Duration of this session.
        stopped: Why it stopped before the end, or None. `provider`: no model can be asked. The rows
            that found that are not finished, and `resume` checks them again.
        failures: The first few rows that failed in this session.
        reasons: Why rows of this session have no decision: those that failed first, then the most
            frequent.
    """

    out: Path
    tally: Tally
    new: int
    elapsed_s: float
    stopped: Stopped | None = None
    failures: tuple[Failure, ...] = ()
    reasons: tuple[ReasonCount, ...] = ()
