"""Counts why rows have no decision."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# A message may name any value, and there may be as many of them as rows.
_MAX_REASONS = 1000


@dataclass(slots=True)
class ReasonCount:
    """The rows without a decision for one reason.

    Attributes:
        decision: `failed`, `inconclusive` or `skipped`.
        reason: The reason of the first of them. Those of others may differ in numbers.
        rows: How many there are.
        first_row: The number of the first in the input, from 1.
    """

    decision: str
    reason: str
    rows: int
    first_row: int


class ReasonCounts:
    """Counts rows by reason; reasons that differ only in numbers are one."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], ReasonCount] = {}

    def add(self, decision: str, reason: str, row: int) -> None:
        """Count a row.

        Args:
            decision: `failed`, `inconclusive` or `skipped`.
            reason: Why it has no decision.
            row: Its number in the input, from 1.
        """
        key = (decision, _NUMBER.sub("#", reason))
        if key not in self._counts and len(self._counts) >= _MAX_REASONS:
            key = (decision, "")
            reason = "other reasons"
        count = self._counts.get(key)
        if count is None:
            self._counts[key] = ReasonCount(decision, reason, 1, row)
            return
        count.rows += 1
        # Rows may finish in any order.
        if row < count.first_row:
            count.first_row = row
            count.reason = reason

    def most_common(self, limit: int) -> list[ReasonCount]:
        """Return the reasons with the most rows: first of failed rows, then of the others."""
        order = {"failed": 0, "inconclusive": 1}
        counts = sorted(
            self._counts.values(),
            key=lambda count: (order.get(count.decision, 2), -count.rows, count.first_row),
        )
        return counts[:limit]
