"""The page about the results of a batch, which `resay report` writes."""

from __future__ import annotations

import heapq
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, cast

from jinja2 import Template

from resay.adapters import pages
from resay.errors import ConfigurationError
from resay_lab.batch.results import Results
from resay_lab.batch.scoring import VERDICT_COLUMNS

_MAX_GROUPS = 100
_CLAIMS_SHOWN = 50
_FAILURES_SHOWN = 5
# An inconclusive row may have a score, but of too few samples for a decision.
_DECIDED = ("flagged", "consistent")


@dataclass(slots=True)
class _Group:
    """Statistics of a group of rows."""

    rows: int = 0
    decisions: Counter[str] = field(default_factory=Counter[str])
    failed: Counter[str] = field(default_factory=Counter[str])
    bins: list[int] = field(default_factory=lambda: [0] * 10)
    total: float = 0.0
    scored: int = 0
    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0

    def add(self, verdict: Mapping[str, Any]) -> None:
        self.rows += 1
        decision, score = verdict["decision"], _score_of(verdict)
        if decision is None:
            self.failed[str(verdict["error"]).partition(":")[0]] += 1
        else:
            self.decisions[str(decision)] += 1
        if score is not None:
            self.scored += 1
            self.total += score
            self.bins[min(9, max(0, int(score * 10)))] += 1
        usage = cast("Mapping[str, Any]", verdict["usage"] or {})
        self.calls += usage.get("calls") or 0
        self.tokens += (usage.get("prompt_tokens") or 0) + (usage.get("completion_tokens") or 0)
        if usage:
            cost = usage.get("cost_usd")
            self.unpriced += cost is None
            self.cost_usd += cost or 0.0

    @property
    def mean(self) -> float | None:
        return self.total / self.scored if self.scored else None

    @property
    def flagged(self) -> int:
        return self.decisions["flagged"]


def accepts(path: str, *, prefix: str) -> bool:
    """Return whether a file is the output of a batch, by its name and its first row.

    Args:
        path: The file; `-` stands for stdin, which no batch is read from.
        prefix: The prefix of the verdict's column names.
    """
    if path.endswith(".parquet"):
        return True
    if not path.endswith((".jsonl", ".ndjson")):
        return False
    with suppress(ConfigurationError):
        return any(_has_verdict(row, prefix) for row in islice(Results(path), 1))
    return False


def _has_verdict(row: Mapping[str, Any], prefix: str) -> bool:
    return all(prefix + name in row for name in VERDICT_COLUMNS)


def results_page(
    path: str | os.PathLike[str],
    *,
    group: str | None = None,
    prefix: str = "",
    response: str = "response",
    worst: int = 50,
) -> tuple[str, int, int]:
    """Return a page about the results of a batch, and its numbers of rows and of flagged rows.

    Args:
        path: The output of the batch.
        group: A column of the input; rows with the same value are counted together.
        prefix: The prefix of the verdict's column names.
        response: The column with the responses.
        worst: Number of rows with the highest scores to show.

    Raises:
        ConfigurationError: The file is no output of a batch, or has no such column.
    """
    whole = _Group()
    groups: dict[str, _Group] = {}
    shown: list[tuple[float, int, dict[str, Any]]] = []
    failures: list[tuple[int, str]] = []
    for number, row in enumerate(Results(path)):
        if not _has_verdict(row, prefix):
            raise ConfigurationError(
                f"{os.fspath(path)!r}, row {number + 1}: the columns of `resay batch` are missing;"
                " pass --prefix if they were written with one"
            )
        verdict = {name: row[prefix + name] for name in VERDICT_COLUMNS}
        whole.add(verdict)
        if verdict["decision"] is None and len(failures) < _FAILURES_SHOWN:
            failures.append((number + 1, str(verdict["error"])))
        if group is not None:
            if group not in row:
                raise ConfigurationError(f"row {number + 1} has no column {group!r}")
            key = str(row[group])
            if key not in groups and len(groups) >= _MAX_GROUPS:
                key = "(others)"
            groups.setdefault(key, _Group()).add(verdict)
        score = _score_of(verdict)
        if score is not None:
            flagged = _flagged_claims(verdict)
            texts = {"id": row.get("id"), "text": row.get(response), "flagged": flagged}
            item = (score, -number, {**verdict, **texts})
            if len(shown) < worst:
                heapq.heappush(shown, item)
            else:
                heapq.heappushpop(shown, item)
    if not whole.rows:
        raise ConfigurationError(f"{os.fspath(path)!r} has no rows")
    page = _template().render(
        title=Path(path).name,
        whole=whole,
        failures=failures,
        group=group,
        groups=sorted(groups.items(), key=lambda item: (-item[1].flagged / item[1].rows, item[0])),
        worst=[(1 - at, row) for _, at, row in sorted(shown, reverse=True)],
    )
    return page, whole.rows, whole.flagged


def _flagged_claims(verdict: Mapping[str, Any]) -> list[tuple[float | None, str]]:
    """Return the scores and texts of the first flagged claims of a row."""
    claims = cast("Sequence[Mapping[str, Any]]", verdict["claims"] or ())
    flagged = (claim for claim in claims if claim.get("flagged"))
    return [
        (claim.get("score"), str(claim.get("text") or ""))
        for claim in islice(flagged, _CLAIMS_SHOWN)
    ]


def _score_of(verdict: Mapping[str, Any]) -> float | None:
    """Return the score that led to a row's decision; None if there is no decision."""
    if verdict["decision"] not in _DECIDED:
        return None
    score = verdict["score"]
    return score if isinstance(score, (int, float)) and math.isfinite(score) else None


@cache
def _template() -> Template:
    filters = {"number": "{:,}".format, "share": "{:.1%}".format}
    return pages.environment("resay_lab.batch", filters=filters).get_template("report.html")
