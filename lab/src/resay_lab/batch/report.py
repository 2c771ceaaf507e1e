"""The page about the results of a batch, which `resay report` writes."""

from __future__ import annotations

import heapq
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, cast

from resay import __version__
from resay.adapters.pages import (
    Html,
    badge,
    chip,
    definition,
    document,
    joined,
    meter,
    scrolling,
    tag,
)
from resay.errors import ConfigurationError
from resay_lab.batch.results import Results
from resay_lab.batch.scoring import VERDICT_COLUMNS

_MAX_GROUPS = 100
_CLAIMS_SHOWN = 50
_FAILURES_SHOWN = 5
# An inconclusive row may have a score, but of too few samples for a decision.
_DECIDED = ("flagged", "consistent")
_MEANING = "Scores lie between 0, supported, and 1. Consistent does not mean true."


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

    @property
    def cost(self) -> str:
        unknown = f", price unknown of {self.unpriced:,}" if self.unpriced else ""
        return f"{self.calls:,} calls, {self.tokens:,} tokens, ${self.cost_usd:,.4f}{unknown}"


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
            item = (score, -number, {**verdict, "id": row.get("id"), "text": row.get(response)})
            if len(shown) < worst:
                heapq.heappush(shown, item)
            else:
                heapq.heappushpop(shown, item)
    if not whole.rows:
        raise ConfigurationError(f"{os.fspath(path)!r} has no rows")
    ranked = [(1 - at, row) for _, at, row in sorted(shown, reverse=True)]
    name = Path(path).name
    return _page(name, whole, failures, group, groups, ranked), whole.rows, whole.flagged


def _score_of(verdict: Mapping[str, Any]) -> float | None:
    """Return the score that led to a row's decision; None if there is no decision."""
    if verdict["decision"] not in _DECIDED:
        return None
    score = verdict["score"]
    return score if isinstance(score, (int, float)) and math.isfinite(score) else None


def _page(
    title: str,
    whole: _Group,
    failures: Sequence[tuple[int, str]],
    group: str | None,
    groups: Mapping[str, _Group],
    worst: Sequence[tuple[int, dict[str, Any]]],
) -> str:
    main = [
        _outcome(whole),
        _failures(failures) if failures else None,
        _distribution(whole),
        _groups(group, groups) if group is not None else None,
        tag("section", tag("h2", f"The {len(worst)} highest scores"), *(_row(*r) for r in worst)),
    ]
    return document(
        title,
        tag("header", tag("h1", tag("bdi", title)), tag("p", f"{whole.rows:,} rows")),
        tag("main", *main, id="main"),
        tag("footer", tag("p", _MEANING), tag("p", f"Resay {__version__}")),
    )


def _outcome(whole: _Group) -> Html:
    decisions = [
        definition(name, f"{count:,} ({count / whole.rows:.1%})")
        for name, count in whole.decisions.most_common()
    ]
    failed = [definition(f"failed: {kind}", f"{n:,}") for kind, n in whole.failed.most_common()]
    mean = "none" if whole.mean is None else f"{whole.mean:.3f}"
    facts = [*decisions, *failed, definition("mean score", mean), definition("cost", whole.cost)]
    return tag("section", tag("h2", "Decisions"), tag("dl", *facts, class_="facts"))


def _failures(failures: Sequence[tuple[int, str]]) -> Html:
    listed = [tag("li", f"row {number:,}: {error}") for number, error in failures]
    return tag("section", tag("h2", "The first failures"), tag("ul", joined(listed)))


def _distribution(whole: _Group) -> Html:
    highest = max(whole.bins) or 1
    rows = [
        tag(
            "tr",
            tag("th", f"{i / 10:.1f}–{(i + 1) / 10:.1f}", scope="row"),
            tag("td", meter(count / highest)),
            tag("td", f"{count:,}", class_="number"),
            tag("td", f"{count / max(whole.scored, 1):.1%}", class_="number"),
        )
        for i, count in enumerate(whole.bins)
    ]
    table = _table(("Score", "", "Rows", "Share"), rows)
    return tag("section", tag("h2", "Scores"), scrolling(table, "Scores"))


def _groups(name: str, groups: Mapping[str, _Group]) -> Html:
    ranked = sorted(groups.items(), key=lambda item: (-item[1].flagged / item[1].rows, item[0]))
    rows: list[Html] = []
    for key, group in ranked:
        share = group.flagged / group.rows
        row = tag(
            "tr",
            tag("th", tag("bdi", key), scope="row"),
            tag("td", f"{group.rows:,}", class_="number"),
            tag("td", f"{group.flagged:,} ({share:.1%})", class_="number"),
            tag("td", chip(group.mean)),
            tag("td", f"{sum(group.failed.values()):,}", class_="number"),
            tag("td", group.cost, class_="number"),
        )
        rows.append(row)
    table = _table((name, "Rows", "Flagged", "Mean score", "Failed", "Cost"), rows)
    return tag("section", tag("h2", "By ", tag("bdi", name)), scrolling(table, f"By {name}"))


def _table(heads: Sequence[str], rows: Sequence[Html]) -> Html:
    columns = tag("tr", *(tag("th", head, scope="col") for head in heads))
    return tag("table", tag("thead", columns), tag("tbody", *rows))


def _row(number: int, row: Mapping[str, Any]) -> Html:
    claims = cast("Sequence[Mapping[str, Any]]", row["claims"] or ())
    flagged = [claim for claim in claims if claim.get("flagged")]
    listed = [
        tag("li", chip(claim.get("score"), flagged=True), " ", str(claim.get("text") or ""))
        for claim in flagged[:_CLAIMS_SHOWN]
    ]
    name = row["id"] if row["id"] is not None else f"row {number}"
    text = row["text"]
    return tag(
        "article",
        tag("h3", badge(row["decision"]), " ", chip(row["score"]), " ", tag("bdi", str(name))),
        tag("p", str(row["reason"]), class_="reason"),
        tag("div", text, class_="answer", dir="auto") if isinstance(text, str) else None,
        tag("ul", joined(listed)) if listed else None,
        class_="card",
    )
