"""The page about the results of a batch, which `resay report` writes."""

from __future__ import annotations

import heapq
import json
import math
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any, cast

from jinja2 import Template
from markupsafe import Markup

from resay.adapters import pages
from resay.errors import ConfigurationError
from resay_lab.batch.reasons import ReasonCounts
from resay_lab.batch.results import Results
from resay_lab.batch.scoring import VERDICT_COLUMNS

_MAX_GROUPS = 100
_CLAIMS_SHOWN = 50
_MAX_REASONS = 30
# The rows that the page can search; with more it would take browsers long to open.
_MAX_TABLE_ROWS = 50_000
_SNIPPET_CHARS = 160
_BINS = 20
_CLAIM_KEYS = ("text", "start", "end", "score", "flagged", "reason")
# An inconclusive row may have a score, but of too few samples for a decision.
_DECIDED = ("flagged", "consistent")
# The thresholds that the reasons of decisions name.
_THRESHOLD = re.compile(r"(?:>|<=) (\d\.\d+)")


@dataclass(slots=True)
class _Group:
    """Statistics of a group of rows."""

    rows: int = 0
    decisions: Counter[str] = field(default_factory=Counter[str])
    flagged_bins: list[int] = field(default_factory=lambda: [0] * _BINS)
    consistent_bins: list[int] = field(default_factory=lambda: [0] * _BINS)
    total: float = 0.0
    scored: int = 0
    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0

    def add(self, verdict: Mapping[str, Any]) -> None:
        self.rows += 1
        decision, score = _decision_of(verdict), _score_of(verdict)
        self.decisions[decision] += 1
        if score is not None:
            self.scored += 1
            self.total += score
            bins = self.flagged_bins if decision == "flagged" else self.consistent_bins
            bins[min(_BINS - 1, max(0, int(score * _BINS)))] += 1
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

    @property
    def shares(self) -> list[tuple[str, int, float]]:
        """The decisions with their counts and shares, the gravest first."""
        return [
            (decision, self.decisions[decision], self.decisions[decision] / self.rows)
            for decision in ("flagged", "inconclusive", "failed", "skipped", "consistent")
            if self.decisions[decision]
        ]


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


class _Report:
    """What the page shows, collected row by row.

    Args:
        worst: The number of flagged rows to show.
        group: The column to group by, or None.
        response: The column with the responses.
    """

    def __init__(self, worst: int, group: str | None, response: str) -> None:
        self._max_worst = worst
        self._group = group
        self._response = response
        self._worst: list[tuple[float, int, dict[str, Any]]] = []
        self.whole = _Group()
        self.groups: dict[str, _Group] = {}
        self.reasons = ReasonCounts()
        self.thresholds: Counter[float] = Counter()
        self.table: list[tuple[object, ...]] = []

    def add(self, number: int, row: Mapping[str, Any], verdict: Mapping[str, Any]) -> None:
        """Add a row.

        Args:
            number: Its number, from 1.
            row: All of its columns.
            verdict: The columns of its verdict.
        """
        self.whole.add(verdict)
        decision, score = _decision_of(verdict), _score_of(verdict)
        reason = str(verdict["error" if decision == "failed" else "reason"] or "")
        key = self._add_to_group(number, row, verdict)
        if decision in _DECIDED:
            self.thresholds.update({float(text) for text in _THRESHOLD.findall(reason)})
        else:
            self.reasons.add(decision, reason, number)
        name = f"row {number}" if row.get("id") is None else str(row["id"])
        text = row.get(self._response)
        text = text if isinstance(text, str) else ""
        if len(self.table) < _MAX_TABLE_ROWS:
            shown = None if score is None else round(score, 4)
            snippet = text[:_SNIPPET_CHARS]
            self.table.append((number, name, decision, shown, key, reason, snippet))
        if decision != "flagged" or score is None:
            return
        claims = [
            {key: claim.get(key) for key in _CLAIM_KEYS}
            for claim in cast("Sequence[Mapping[str, Any]]", verdict["claims"] or ())
        ]
        card = {
            "name": name,
            "score": score,
            "reason": reason,
            "pieces": _pieces(text, claims),
            "flagged": [claim for claim in claims if claim["flagged"]][:_CLAIMS_SHOWN],
        }
        item = (score, -number, card)
        if len(self._worst) < self._max_worst:
            heapq.heappush(self._worst, item)
        else:
            heapq.heappushpop(self._worst, item)

    def _add_to_group(self, number: int, row: Mapping[str, Any], verdict: Mapping[str, Any]) -> str:
        if self._group is None:
            return ""
        if self._group not in row:
            raise ConfigurationError(f"row {number} has no column {self._group!r}")
        key = str(row[self._group])
        if key not in self.groups and len(self.groups) >= _MAX_GROUPS:
            key = "(others)"
        self.groups.setdefault(key, _Group()).add(verdict)
        return key

    @property
    def worst(self) -> list[dict[str, Any]]:
        """The flagged rows with the highest scores, the highest first."""
        return [card for _, _, card in sorted(self._worst, key=lambda item: item[:2], reverse=True)]


def _pieces(
    text: str, claims: Sequence[Mapping[str, Any]]
) -> list[tuple[str, Mapping[str, Any] | None]]:
    """Cut a text at its claims; return the pieces, each with its claim or None."""
    pieces: list[tuple[str, Mapping[str, Any] | None]] = []
    end = 0
    for claim in sorted(claims, key=lambda claim: claim["start"] or 0):
        start, stop = claim["start"], claim["end"]
        if start is None or stop is None or not end <= start < stop <= len(text):
            continue
        if end < start:
            pieces.append((text[end:start], None))
        pieces.append((text[start:stop], claim))
        end = stop
    if end < len(text):
        pieces.append((text[end:], None))
    return pieces


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
        worst: Number of flagged rows to show, those with the highest scores.

    Raises:
        ConfigurationError: The file is no output of a batch, or has no such column.
    """
    report = _Report(worst, group, response)
    for number, row in enumerate(Results(path), 1):
        if not _has_verdict(row, prefix):
            raise ConfigurationError(
                f"{os.fspath(path)!r}, row {number}: the columns of `resay batch` are missing;"
                " pass --prefix if they were written with one"
            )
        report.add(number, row, {name: row[prefix + name] for name in VERDICT_COLUMNS})
    whole = report.whole
    if not whole.rows:
        raise ConfigurationError(f"{os.fspath(path)!r} has no rows")
    style, script = pages.stylesheet() + _file("report.css"), _file("report.js")
    page = _template().render(
        title=Path(path).name,
        whole=whole,
        group=group,
        groups=sorted(
            report.groups.items(), key=lambda item: (-item[1].flagged / item[1].rows, item[0])
        ),
        thresholds=sorted(report.thresholds),
        reasons=report.reasons.most_common(_MAX_REASONS),
        worst=report.worst,
        table_rows=len(report.table),
        table=_as_script(report.table),
        # Both are ours, and escaping would change their hashes.
        stylesheet=Markup(style),  # noqa: S704
        script=Markup(script),  # noqa: S704
        content_security_policy=pages.content_security_policy(style, script),
    )
    return page, whole.rows, whole.flagged


def _as_script(rows: Sequence[tuple[object, ...]]) -> Markup:
    """Return rows as JSON for a script element, without characters that end or control anything."""
    text = json.dumps([_cells(row) for row in rows], separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - it has no markup


def _cells(row: tuple[object, ...]) -> list[object]:
    return [_printable(cell) if isinstance(cell, str) else cell for cell in row]


def _printable(text: str) -> str:
    """Replace the characters that control a terminal or the direction of text."""
    line = " ".join(text.split())
    return "".join(character if character.isprintable() else "\ufffd" for character in line)


def _decision_of(verdict: Mapping[str, Any]) -> str:
    return "failed" if verdict["decision"] is None else str(verdict["decision"])


def _score_of(verdict: Mapping[str, Any]) -> float | None:
    """Return the score that led to a row's decision; None if there is no decision."""
    if verdict["decision"] not in _DECIDED:
        return None
    score = verdict["score"]
    return score if isinstance(score, (int, float)) and math.isfinite(score) else None


@cache
def _file(name: str) -> str:
    file = resources.files("resay_lab.batch") / "static" / name
    return file.read_text(encoding="utf-8")


@cache
def _template() -> Template:
    filters = {"number": "{:,}".format, "share": "{:.1%}".format, "pixels": "{:.1f}".format}
    return pages.environment("resay_lab.batch", filters=filters).get_template("report.html")
